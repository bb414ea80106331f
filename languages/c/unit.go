package c

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
	"cg/tool"
)

// compiler is the user's.
type compiler struct {
	words   []string // its command
	version string   // what it says of itself, in one line
	key     string   // of its file, for names in the cache
}

// findCompiler finds the compiler that was asked for, else that of CC or CXX, else cc or c++.
func (d *dialect) findCompiler(ctx context.Context, asked string) (compiler, error) {
	if asked == "" {
		asked = os.Getenv(d.variable)
	}
	words := strings.Fields(asked)
	if len(words) == 0 {
		words = []string{d.command}
	}
	_, err := exec.LookPath(words[0])
	if err != nil && asked != "" {
		return compiler{}, languages.Refuse(127, "%s: no such compiler: %v", words[0], errors.Unwrap(err))
	}
	if err != nil {
		return compiler{}, languages.Refuse(127, "no %s compiler found (%s): install gcc or clang, or name one with "+
			"--%s PATH", d.title, d.command, d.flag)
	}
	return describe(ctx, words)
}

// asked is the compiler that the command line names for a language: the flag of the target's language is there
// for that language alone.
func (d *dialect) asked(t languages.Target, of *dialect) string {
	if of != d {
		return ""
	}
	return t.Interpreter
}

// describe asks a compiler for its version. words are its command.
func describe(ctx context.Context, words []string) (compiler, error) {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return compiler{}, languages.Refuse(127, "%s: no such compiler: %v", words[0], errors.Unwrap(err))
	}
	c := compiler{words: append([]string{path}, words[1:]...)}
	info, err := os.Stat(path)
	if err != nil {
		return c, languages.Refuse(126, "%s", err)
	}
	out, err := tool.CombinedOutput(exec.CommandContext(ctx, path, "--version"))
	if err != nil {
		return c, languages.Refuse(126, "%s --version: %v", path, err)
	}
	c.version, _, _ = strings.Cut(string(out), "\n")
	c.key = fmt.Sprint(c.words, info.Size(), info.ModTime().UnixNano(), c.version)
	return c, nil
}

// run runs the compiler, and returns what it said. The error is that of its exit.
func (c compiler) run(ctx context.Context, args ...string) (said []byte, err error) {
	return tool.CombinedOutput(exec.CommandContext(ctx, c.words[0], append(slices.Clone(c.words[1:]), args...)...))
}

// unit is a source file on its way to an object.
type unit struct {
	dialect  *dialect
	compiler compiler
	flags    []string // the user's, without the linker's
	file     string   // as the user wrote it
	owner    owner
	choices  choices
	loaded   bool   // the program finds the checkpoints when it begins, and has them not in itself
	unkept   bool   // the object is not kept
	more     string // what else the object depends on
	out      string // where the object is made, because that decides what else is made; "" for anywhere
	kept     runtimes.Cache
	dir      string // of the run, for files in between
	key      string // of the files there
}

// object is a compiled unit, as it is kept.
type object struct {
	Said  string // what the compiler said of the user's text
	Short int    // functions without checkpoints because they are short
	Left  []left // what was left alone

	path, digest string
}

// left is a function, or a file, that is left alone, and why.
type left struct{ Place, Why string }

const (
	objectEnding = ".o"
	notesEnding  = ".json"
)

// compile makes the object of a unit, or finds the one that was made of the same text.
func (u *unit) compile(ctx context.Context) (*object, error) {
	name := filepath.Join(u.dir, u.key)
	warned, err := u.compiler.run(ctx, append(slices.Clone(u.flags), "-E", u.file, "-o", name+".i")...)
	if err != nil {
		_, said, plain := u.plain(ctx, name)
		if plain == nil { // it fails now and then
			said = warned
		}
		return nil, languages.Refuse(1, "the compiler refuses the program:\n%s", reason(said, err))
	}
	source, err := os.ReadFile(name + ".i")
	if err != nil {
		return nil, err
	}
	key, known := u.digest(source, warned), !readsMore(source) && !u.unkept
	if o, is := u.find(key); is && known {
		return o, nil
	}
	content, o, err := u.build(ctx, name, source, warned)
	if err != nil {
		return nil, err
	}
	if !known {
		if o.path, o.digest = u.objectName(name), digest(content); u.out != "" {
			return o, nil
		}
		return o, os.WriteFile(o.path, content, 0o600)
	}
	return o, u.keep(key, name, content, o)
}

// readsMore reports whether the assembler reads files for a text: what they hold is in the
// object, and not in the text.
func readsMore(source []byte) bool {
	return bytes.Contains(source, []byte(".incbin")) || bytes.Contains(source, []byte(".include"))
}

// digest stands for everything that an object depends on.
func (u *unit) digest(source, warned []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%q\x00%+v\x00%v\x00%v\x00%q\x00%s\x00", planVersion(), u.dialect.name,
		u.compiler.key, u.flags, u.owner, u.choices, u.loaded, warned, u.more)
	h.Write(source)
	return hex.EncodeToString(h.Sum(nil))[:24]
}

func (u *unit) find(key string) (o *object, is bool) {
	_, notes, is := u.kept.Find(key, notesEnding)
	o = &object{}
	if !is || json.Unmarshal(notes, o) != nil {
		return nil, false
	}
	path, content, is := u.kept.Find(key, objectEnding)
	o.path, o.digest = path, digest(content)
	return o, is
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (u *unit) keep(key, name string, content []byte, o *object) error {
	notes, err := json.Marshal(o)
	if err != nil {
		return err
	}
	o.digest = digest(content)
	if _, err = u.kept.Keep(key, notesEnding, notes, 0o600); err == nil {
		o.path, err = u.kept.Keep(key, objectEnding, content, 0o600)
	}
	if err != nil { // nothing can be kept
		o.path = name + objectEnding
		return os.WriteFile(o.path, content, 0o600)
	}
	return nil
}

// objectName is where the text with checkpoints is compiled to.
func (u *unit) objectName(name string) string {
	if u.out != "" {
		return u.out
	}
	return name + objectEnding
}

// plain compiles the unit as it is.
func (u *unit) plain(ctx context.Context, name string) (content, said []byte, err error) {
	out := name + "-plain.o"
	if said, err = u.compiler.run(ctx, append(slices.Clone(u.flags), "-c", u.file, "-o", out)...); err != nil {
		return nil, said, err
	}
	content, err = os.ReadFile(out)
	return content, said, err
}

// most is how often functions are left out because the compiler refuses a text.
const most = 20

// build compiles the text with checkpoints. What the compiler says is said of the user's
// own text: where it says anything, that is compiled, too.
func (u *unit) build(ctx context.Context, name string, source, warned []byte) ([]byte, *object, error) {
	o := &object{}
	bare, uncomputed, apart := refused{map[string]string{}, map[string]string{}}, false, false
	var content []byte
	var quiet []string // flags for a text that the compiler has spoken of
	for round := 0; ; round++ {
		p, err := u.dialect.planUnit(source, u.owner, u.choices, bare)
		if err != nil {
			return u.leaveBare(ctx, name, o, err.Error())
		}
		p.loaded = u.loaded
		if o.note(p); len(p.funcs) == 0 {
			return u.leaveBare(ctx, name, o, "")
		}
		p.uncomputed, p.apart = uncomputed, apart
		rewritten, err := p.rewrite()
		if err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(name+"-cg.i", rewritten, 0o600); err != nil {
			return nil, nil, err
		}
		said, refused := u.compilePreprocessed(ctx, name, quiet)
		if quiet == nil && (refused != nil || len(said)+len(warned) > 0) {
			_, own, err := u.plain(ctx, name)
			if err != nil {
				return nil, nil, languages.Refuse(1, "the compiler refuses the program:\n%s", reason(own, err))
			}
			o.Said, quiet = string(own), []string{"-w", "-Wno-error"}
			if refused != nil {
				said, refused = u.compilePreprocessed(ctx, name, quiet)
			}
		}
		if refused == nil {
			content, err = os.ReadFile(u.objectName(name))
			return content, o, err
		}
		if !uncomputed && bytes.Contains(said, []byte("__builtin_is_constant_evaluated")) {
			uncomputed = true
			continue
		}
		if !apart && bytes.Contains(said, []byte("always_inline")) && bytes.Contains(said, []byte("__codegreen_")) {
			apart = true
			continue
		}
		if !p.leaveOut(said, bare) || round == most {
			return u.leaveBare(ctx, name, o, "the compiler refuses it with checkpoints: "+firstLine(said))
		}
	}
}

// compilePreprocessed compiles the text with checkpoints.
func (u *unit) compilePreprocessed(ctx context.Context, name string, more []string) (said []byte, err error) {
	args := without(withoutHeaders(u.flags), preprocessing)
	if strings.Contains(u.compiler.version, "clang") {
		args = append(args, "-Qunused-arguments")
	}
	args = append(append(args, more...), "-x", u.dialect.preprocessed, "-c", name+"-cg.i", "-o", u.objectName(name))
	c := exec.CommandContext(ctx, u.compiler.words[0], append(slices.Clone(u.compiler.words[1:]), args...)...)
	c.Env = append(os.Environ(), "LC_ALL=C", "LANGUAGE=C") // nobody but leaveOut reads what it says
	return tool.CombinedOutput(c)
}

// bareError says that a unit whose object is made in its place is to be compiled as it is, and why.
type bareError struct{ left []left }

func (e *bareError) Error() string { return "it gets no checkpoints" }

// leaveBare gives the object without checkpoints. why is for the list, "" for a unit that has none
// to be listed.
func (u *unit) leaveBare(ctx context.Context, name string, o *object, why string) ([]byte, *object, error) {
	if u.out != "" {
		if why != "" {
			o.Left = []left{{u.file, why}}
		}
		return nil, nil, &bareError{o.Left}
	}
	content, said, err := u.plain(ctx, name)
	if err != nil {
		return nil, nil, languages.Refuse(1, "the compiler refuses the program:\n%s", reason(said, err))
	}
	if o.Said = string(said); why != "" {
		o.Left = []left{{u.file, why}}
	}
	return content, o, nil
}

// note takes over what a plan leaves out.
func (o *object) note(p *unitPlan) {
	o.Short, o.Left = p.short, nil
	for i, l := range p.left {
		o.Left = append(o.Left, left{placeName(p.paths[i], l.Line), l.Name + " " + l.Reason})
	}
}

// messagePattern is how compilers say where an error is.
var messagePattern = pattern.Later(`(?m)^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$`)

// leaveOut notes the functions in which the compiler has found errors: of those around a line, the innermost, first as
// one without places. It reports whether there was one.
func (p *unitPlan) leaveOut(said []byte, to refused) (any bool) {
	for _, m := range messagePattern().FindAllSubmatch(said, -1) {
		line, err := strconv.Atoi(string(m[2]))
		if err != nil {
			continue
		}
		var around []planned
		for _, f := range p.funcs {
			r := p.text.region(f.open)
			if r.file == string(m[1]) && f.site.Line <= line && line <= f.site.EndLine {
				around = append(around, f)
			}
		}
		for _, f := range around {
			if slices.ContainsFunc(around, func(in planned) bool { return f.open < in.open && in.close < f.close }) {
				continue
			}
			any = true
			if len(f.marks) > 0 {
				to.places[placeName(f.path, f.site.Line)] = "the compiler refuses them: " + string(m[3])
				continue
			}
			to.functions[placeName(f.path, f.site.Line)] = "is refused by the compiler with checkpoints: " +
				string(m[3])
		}
	}
	return any
}

// reason is what a tool said, or else why it ended.
func reason(said []byte, err error) string {
	if text := strings.TrimSpace(string(said)); text != "" {
		return text
	}
	return err.Error()
}

func firstLine(said []byte) string {
	for line := range bytes.Lines(said) {
		if bytes.Contains(line, []byte("error")) {
			return strings.TrimSpace(string(line))
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	return line
}
