// Package languages is the registry of the languages that cg instruments.
//
// It defines what a language is: how to find what the user wants to run, plan its source
// files, and start it with checkpoints. A language is a package below this one that
// registers itself, and a line in languages/all.
package languages

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/runtimes"
)

// Target is what the user asked to run.
type Target struct {
	// Args is the target and the program's arguments, as on the command line:
	// a file, a directory, or what the language takes in their place.
	Args []string
	// Interpreter is the one to use, "" for the one the user would get.
	Interpreter string
	// Flags are the values of the language's own flags that were given.
	Flags map[string]string
}

// Flag is a flag of cg that one language has, with a value.
type Flag struct {
	Name, Usage string
	// Target says that the flag names what is measured: the arguments are a
	// command then.
	Target bool
}

// ThreadClass is work that the implementation of a language does besides the
// program, on threads of its own: its name in the ledger, and patterns
// (path.Match) of the threads' names, which the kernel cuts at 15 bytes.
type ThreadClass struct {
	Name    string
	Threads []string
}

// Setup is where a program that is launched finds what belongs to cg.
type Setup struct {
	Dir            string // of this run, removed afterwards
	Cache          runtimes.Cache
	Channel        string // path of the checkpoint channel
	Server         string // path of the instrument server's socket
	PlanKey        string // stands for the options of the plans, for caches of woven code
	FineKey        string // PlanKey of a Fine granularity, for what is woven as with that
	Coarse         bool
	Foreign        bool // files that are not the program's own may be wanted too
	Native         Native
	OwnCheckpoints bool // run the program as it is: it has checkpoints of its own

	// For languages whose sources are rewritten before the program starts.
	Options instrument.Options
	// NumberSites numbers the sites of a file; the first gets the number returned.
	NumberSites func(file string, p *instrument.Plan) (first int, err error)
	// DropSite says that a number stands for no site: it has no checkpoints after all.
	DropSite func(id int)
	// Skip lists a file, or file:line of a function, without checkpoints.
	Skip func(file, reason string)
	// TakeNumbers takes n numbers, which follow base; PlaceSites puts sites there (package
	// instrument), for classes that keep their numbers from run to run.
	TakeNumbers func(n int) (base int, err error)
	PlaceSites  func(file, lines string, first int) error
}

// Native is the native part of the runtimes, compiled for this machine.
type Native struct {
	Path    string // of the library, "" when there is none
	Content []byte // of the file
	Reason  string // why there is none
}

// Command is how the program is started.
type Command struct {
	Args []string
	Env  []string // added to the environment
	// Version is the version of the language's implementation, for the report.
	Version string
	// Meta are fields of the report's meta that this language adds.
	Meta map[string]string
	// ReadsInputTwice says that standard input is read twice: it must be a file.
	ReadsInputTwice bool
	// Uninstrumented says why the program runs without checkpoints, "" if it has them.
	Uninstrumented string
	// Untested says why this implementation may not get along with cg, "" for
	// one that is tested.
	Untested string

	// BuildOutput is what the user's own tools said while they built the program, for
	// standard error.
	BuildOutput []byte

	// Dir is where it is started, "" for where cg is.
	Dir string
	// Marks and Change are of launcher.Lines: they turn what a build in cg's own
	// folder says into what it would have said in the user's.
	Marks  []string
	Change func(line []byte, stderr bool) []byte
	// RunAgain is asked when the program has ended, with a status of 0 if somebody
	// ended it: whether it is to be prepared and run again. nil for never.
	RunAgain func(status int) Verdict
	// Ended is asked when the program has ended, with the number of its sites: why it ran without
	// checkpoints, "" if it had some. nil if that is known before.
	Ended func(sites int) (uninstrumented string)
	// Tests says how the tests ended, by what their tasks are called. nil if
	// nobody knows.
	Tests func(tasks []string) map[string]Test
	// Ahead is asked when the program meets a file that is new to cg: whether the cache has got it meanwhile.
	// nil where nothing is put there ahead of the program.
	Ahead func(module, path string) bool
	// Keep takes what cg has answered to a request to rewrite a file (instrument.Server). nil where nothing is kept.
	Keep func(request []string, f instrument.RewrittenFile)
	// Release lets go of what the command holds, after the run. nil for nothing.
	Release func()
}

// Call is what is left of a call of a compiler.
type Call struct {
	Exec   []string // the command that takes the place of this process, nil if all is done
	Stderr []byte   // what the compiler has said so far
}

// Verdict is whether a program is run again.
type Verdict struct {
	Why            string // it is, "" if it is not
	Stdout, Stderr []byte // what Change has kept back, to be written if it is not
}

// Test is how a test ended: passed, failed, error or skipped, the worst of Runs
// runs.
type Test struct {
	Status string
	Runs   int
}

// Planned is how the files of a target are planned and read.
type Planned struct {
	Planner func(file string) instrument.Planner
	Read    func(file string) ([]byte, error)
}

// Language is what cg knows of one language: what each must have, and what only
// some can do.
type Language struct {
	Core
	Capabilities
}

// Core is what every language has. A test names a field that is not set.
type Core struct {
	Name       string // as on the command line
	Title      string // for people
	Targets    string // what a target can be, for the help and for messages
	Extensions []string
	// Decode turns the bytes of a file into the text that Plan takes: UTF-8. It
	// keeps the number and the order of lines.
	Decode func(source []byte) ([]byte, error)
	// Plan finds the sites of a source file.
	Plan instrument.Planner
	// PlanVersion changes with the planner: caches of woven code depend on it.
	PlanVersion func() string
	// Check refuses a target that cannot be run, in one clear line.
	Check func(t Target) error
	// Launch prepares a run of the target with checkpoints.
	Launch func(t Target, s Setup) (Command, error)
	// Files lists the source files of a target for analysis, without running it.
	Files func(t Target) ([]string, error)
}

// Capabilities is what only some languages can do. Each is nil where a language
// cannot.
type Capabilities struct {
	// Aliases are other names of the language on the command line.
	Aliases []string
	// Interpreter is for a language whose programs are run or built by a command
	// that the user can choose.
	Interpreter *Interpreter
	// Options is for a language that has flags of cg for itself.
	Options *Options
	// Runtime is for a language whose implementation or checkpoints run native
	// code in the program.
	Runtime *Runtime
	// Places says that the runtime tells lines and blocks of functions apart.
	Places bool
	// FindPlaces adds the places of the functions of a plan to it, behind these, for a language whose plans have
	// none: its runtime finds them as a program loads a text.
	FindPlaces func(source []byte, p *instrument.Plan, o instrument.Options) error
	// Modules are the names of modules as which a file may be loaded, for a language whose reports have them before
	// the names of functions, and whose plans do not.
	Modules func(file string) []string
	// Inner says that stack samples tell which functions without checkpoints a function with them called.
	Inner bool
	// WhyNothing says why a program has no checkpoints where nothing else tells, "" where its modules are not
	// the program's own, as a rule.
	WhyNothing string
	// Recognize reports whether a target that has no file's ending, such as a
	// folder, is of this language.
	Recognize func(target string) bool
	// Packages turns those of some globs that name an installed package into globs of its
	// files.
	Packages func(t Target, include []string, cache runtimes.Cache) ([]string, error)
	// PlanTarget plans the files of a target together, for a language where more than a
	// file's text decides what its sites are and how they are called.
	PlanTarget func(t Target, files []string, o instrument.Options) (Planned, error)
	// PlanFor gives the planner of a file, for a language whose programs have files of another grammar,
	// too. nil where Plan is that of all files.
	PlanFor func(file string) instrument.Planner
	// Outline plans a text that Plan cannot place, by asking the interpreter for
	// its syntax tree. Nothing of the text is run.
	Outline instrument.Planner
	// Weave puts checkpoints into code that the interpreter has compiled.
	Weave instrument.Weaver
	// Rewrite puts checkpoints into texts that the program loads and its runtime sends to cg.
	Rewrite instrument.Rewriter
	// SaveFile is for a language whose files run without cg one by one, each
	// rewritten on its own.
	SaveFile *SaveFile
	// SaveTarget writes the target below a folder, rewritten so that it runs
	// without cg, and lists what it wrote besides copies: for a language whose files
	// do so only together. A language has SaveFile or SaveTarget, not both.
	SaveTarget func(t Target, o instrument.Options, dir string) (written []string, err error)
	// Wrap stands in the place of a compiler that a build calls, with the arguments that Launch
	// has given its stand-in and those of the compiler behind them.
	Wrap func(args []string) (Call, error)
	// OwnsProject reports whether a folder has a build of this language, for a flag with which
	// the target is a command.
	OwnsProject func(folder string) bool
	// SDK is for a language whose programs can measure parts of themselves.
	SDK *SDK
}

// Interpreter is the command that runs or builds the programs of a language.
type Interpreter struct {
	// Flag is the flag of cg that chooses Target.Interpreter.
	Flag string
	// Argument reports of an argument before the target whether it is a flag of the
	// interpreter, how many more arguments it takes, and whether it stands in the
	// target's place.
	Argument func(a string) (more int, target, ok bool)
	// TargetFlags are flags of the interpreter that stand in a target's place, with
	// their value behind them. nil if there are none.
	TargetFlags []string
	// Versions are command lines that tell a version: of the program that runs or builds those of the language,
	// the first that is found in PATH.
	Versions [][]string
	// Interprets reports whether scripts that begin with "#!command" are of this
	// language. nil if there are no such scripts.
	Interprets func(command string) bool
}

// Options are flags of cg that one language has. One of the Switches takes no
// value; if it is given it is "true" among Target.Flags.
type Options struct{ Flags, Switches []Flag }

// Runtime is the native code that runs in a program.
type Runtime struct {
	// Library is the C file of the checkpoints, below runtimes/native.
	Library string
	// Background are the threads of the implementation that have lines of their
	// own in the ledger. nil if there are none.
	Background []ThreadClass
}

// SaveFile rewrites files that run without cg.
type SaveFile struct {
	// Render gives the edits that turn the text into one that reports its
	// checkpoints itself. first numbers its first site.
	Render func(text []byte, p *instrument.Plan, first int) ([]edit.Edit, error)
	// SupportFiles names the files that rewritten text needs in its folder, with
	// their content.
	SupportFiles func() (map[string][]byte, error)
}

// SDK is the package with which a program measures parts of itself.
type SDK struct {
	// Files are its files by their names, with their content: what cg sdk writes.
	Files func() (map[string][]byte, error)
	// Offer gives variables of the environment under which a program that is run as
	// it is finds the SDK, unless it has one of its own. nil if it cannot be found so.
	Offer func(cache runtimes.Cache, scratch string) (map[string]string, error)
}

// RunsAlone reports whether the language has programs that are rewritten once and
// run without cg.
func (l *Language) RunsAlone() bool { return l.SaveFile != nil || l.SaveTarget != nil }

// flags is Options, without flags where there are none.
func (l *Language) flags() Options {
	if l.Options == nil {
		return Options{}
	}
	return *l.Options
}

// Flags are the flags of cg that this language has, with a value.
func (l *Language) Flags() []Flag { return l.flags().Flags }

// Switches are the flags of cg that this language has, without a value.
func (l *Language) Switches() []Flag { return l.flags().Switches }

// InterpreterFlag is the flag of cg that chooses the interpreter, "" without one.
func (l *Language) InterpreterFlag() string {
	if l.Interpreter == nil {
		return ""
	}
	return l.Interpreter.Flag
}

// CacheFolder is a folder of the cache, or of the run's where nothing can be kept there.
func (s Setup) CacheFolder(folder string) (runtimes.Cache, error) {
	if c, err := s.Cache.Sub(folder); err == nil {
		return c, nil
	}
	return runtimes.Cache{Dir: s.Dir}.Sub(folder)
}

var all []*Language

// Register adds a language. Each calls it from the init of its package.
func Register(l *Language) { all = append(all, l) }

// All lists the languages by name.
func All() []*Language {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b *Language) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// WithSDKs is an environment in which programs of every language find their SDK,
// as far as that can be; nil is our own.
func WithSDKs(env []string, cache runtimes.Cache, scratch string) []string {
	if env == nil {
		env = os.Environ()
	}
	for _, l := range All() {
		if l.SDK == nil || l.SDK.Offer == nil {
			continue
		}
		more, err := l.SDK.Offer(cache, scratch)
		if err != nil {
			continue // what cannot be offered is not there
		}
		for name, value := range more {
			env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Named finds a language by its name or an alias, nil if there is none.
func Named(name string) *Language {
	for _, l := range all {
		if l.Name == name || slices.Contains(l.Aliases, name) {
			return l
		}
	}
	return nil
}

// ForFile finds the language of a target: of a file by its ending, of a flag in
// a target's place by the language that has it. nil if there is none.
func ForFile(name string) *Language {
	for _, l := range all {
		if slices.Contains(l.Extensions, filepath.Ext(name)) ||
			l.Interpreter != nil && slices.Contains(l.Interpreter.TargetFlags, name) {
			return l
		}
	}
	return nil
}

// ForTarget finds the language of a target by its ending, or by what is there.
func ForTarget(name string) *Language {
	if l := ForFile(name); l != nil {
		return l
	}
	for _, l := range All() {
		if l.Recognize != nil && l.Recognize(name) {
			return l
		}
	}
	return nil
}

// ForInterpreter finds the language of a command that runs its scripts, such as python3.12
// or the path of one. nil if it is none.
func ForInterpreter(command string) *Language {
	for _, l := range all {
		if i := l.Interpreter; i != nil && i.Interprets != nil && i.Interprets(command) {
			if _, err := exec.LookPath(command); err == nil {
				return l
			}
		}
	}
	return nil
}

// ForScript finds the language of a script by its first line, and the
// interpreter that this line names. name is a path, or a command that the
// shell would find. nil if it is none.
func ForScript(name string) (l *Language, path, interpreter string) {
	path = name
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		if path, err = exec.LookPath(name); err != nil {
			return nil, "", ""
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", ""
	}
	defer f.Close()
	line := make([]byte, 256) // BINPRM_BUF_SIZE: what the kernel reads
	n, _ := io.ReadFull(f, line)
	first, _, _ := strings.Cut(string(line[:n]), "\n")
	command, is := strings.CutPrefix(first, "#!")
	if !is {
		return nil, "", ""
	}
	words := strings.Fields(command)
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		for words = words[1:]; len(words) > 0 && strings.HasPrefix(words[0], "-"); words = words[1:] {
		}
	}
	for _, l := range all {
		if i := l.Interpreter; len(words) > 0 && i != nil && i.Interprets != nil && i.Interprets(words[0]) {
			return l, path, words[0]
		}
	}
	return nil, "", ""
}

// Sources lists the files with an ending below a folder, in order, but for
// hidden folders and those that skip names. An error if there is none: title is
// the name of the language for people.
func Sources(title, folder, ending string, skip ...string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != folder && (strings.HasPrefix(name, ".") || slices.Contains(skip, name)) {
			return filepath.SkipDir
		}
		if !d.IsDir() && filepath.Ext(name) == ending {
			files = append(files, path)
		}
		return nil
	})
	slices.Sort(files)
	if err == nil && len(files) == 0 {
		return nil, Refuse(1, "%s: no %s files in it", folder, title)
	}
	return files, err
}

// Below returns the path of something below a folder, relative to it.
func Below(folder, path string) (rel string, is bool) {
	rel, err := filepath.Rel(folder, path)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// SourceVersion is the version of what a language plans or writes: the digest of the
// source files that decide it. Caches of woven code are kept by it. It is computed when it is first asked for.
func SourceVersion(sources embed.FS) func() string {
	return sync.OnceValue(func() string { return digestOf(sources) })
}

func digestOf(sources embed.FS) string {
	h := sha256.New()
	fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var content []byte
			if content, err = sources.ReadFile(path); err == nil {
				h.Write(content)
			}
		}
		if err != nil {
			panic(err) // the files are in the program
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil))
}

// Names lists the names of all languages, for messages.
func Names() string {
	var names []string
	for _, l := range All() {
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

// Error is a target that cannot be run, with the exit status for it.
type Error struct {
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Refuse is an Error with a text.
func Refuse(status int, format string, args ...any) error {
	return &Error{status, fmt.Errorf(format, args...)}
}
