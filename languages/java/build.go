package java

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
	"cg/tool"
)

// sourceFile is a source of the program.
type sourceFile struct {
	name   string // as the user wrote it
	text   []byte
	parsed *parsedSource // nil for one that does not parse: fault
	fault  error
	plan   *filePlan // nil for one that is compiled as it is, or not at all if a jar has it
	first  int
	left   []string // "name:line" of the functions that are left alone
	// unplaced are the functions whose code is not told apart, as wish has them.
	unplaced map[string]string
}

// build compiles a program with checkpoints.
type build struct {
	jdk      jdk
	setup    languages.Setup
	jar      string
	target   commandLine
	isFolder bool     // a folder's, not one file
	from     *jarFile // nil for sources alone
	files    []*sourceFile
	main     string            // the class to start
	module   string            // that the sources declare, "" for none
	skips    []instrument.Skip // reported once the program compiles
	said     []byte            // warnings of the compiler, of one file
	pkg      string            // of the runtime, as the sources call it
	sources  map[string][]byte // with checkpoints
}

// isOneFile reports whether the target is a single source file, which java by itself
// compiles and runs.
func (b *build) isOneFile() bool { return !b.isFolder && b.from == nil }

func (b *build) skip(file, reason string) {
	b.skips = append(b.skips, instrument.Skip{File: file, Reason: reason})
}

func (b *build) classpath() string {
	if b.from != nil {
		if b.target.classpath != "" {
			return b.from.jar + string(os.PathListSeparator) + b.target.classpath
		}
		return b.from.jar
	}
	if b.target.classpath != "" {
		return b.target.classpath
	}
	if path := os.Getenv("CLASSPATH"); path != "" {
		return path
	}
	return "."
}

// compile returns the folder of the classes. "" says that the compiler refuses
// the program as it is, too; output is what it says then. What it refuses only
// with checkpoints is compiled without them, function by function where it says
// "code too large", else file by file.
func (b *build) compile(ctx context.Context) (classes, output string, err error) {
	for _, f := range b.files {
		if err := b.planFile(f); err != nil {
			return "", "", err
		}
	}
	var texts [][]byte
	for _, f := range b.files {
		texts = append(texts, f.text)
	}
	b.pkg = runtimePackage(texts...)
	compiles := false // without checkpoints
	for range 100 {
		next := 1
		sources := map[string][]byte{}
		for i, f := range b.files {
			text := f.text
			if b.from != nil && (f.plan == nil || len(f.plan.Sites) == 0) {
				continue // the jar has it
			}
			if f.plan != nil {
				f.first = next
				next += len(f.plan.Sites)
				edits, err := render(b.pkg, f.text, f.plan, f.first)
				if err == nil {
					text, err = edit.Apply(f.text, edits)
				}
				if err != nil {
					return "", "", fmt.Errorf("%s: %w", f.name, err)
				}
			}
			sources[sourceName(i, f)] = text
		}
		if len(sources) == 0 && b.from != nil {
			break
		}
		if b.pkg != "cg$" {
			sources["cg/R.java"] = []byte(strings.ReplaceAll(relayClass, "PKG", b.pkg))
		}
		b.sources = sources
		classes, output, err = b.javac(ctx, sources, true)
		if err != nil || classes != "" {
			break
		}
		if b.from != nil {
			if !b.leaveToJar(output) {
				return "", output, nil
			}
			continue
		}
		if !compiles { // or else its code is at fault, not the checkpoints
			plain, said, err := b.javac(ctx, b.originals(), false)
			if err != nil || plain == "" {
				return "", said, err
			}
			compiles = true
		}
		if !b.leaveOutRefused(output) {
			return "", "", fmt.Errorf("the compiler refuses the program with checkpoints: %s", output)
		}
	}
	if err != nil {
		return "", "", err
	}
	if classes == "" && b.from != nil {
		return "", "", b.numberSites()
	}
	if classes == "" {
		return "", "", fmt.Errorf("the compiler refuses too many parts of the program with checkpoints: %s", output)
	}
	return classes, "", b.numberSites()
}

// sourceName is what the compiler is told of a file.
func sourceName(i int, f *sourceFile) string {
	return filepath.Join(strconv.Itoa(i), filepath.Base(f.name))
}

// originals are the sources without checkpoints.
func (b *build) originals() map[string][]byte {
	all := map[string][]byte{}
	for i, f := range b.files {
		all[sourceName(i, f)] = f.text
	}
	return all
}

// relayClass is the runtime under a name that the program does not hide.
const relayClass = `package PKG;
public final class R {
    public static void e(int site) { cg$.R.e(site); }
    public static void x(int site) { cg$.R.x(site); }
    public static void p(int site) { cg$.R.p(site); }
}
`

func (b *build) planFile(f *sourceFile) error {
	o := b.setup.Options
	o.Entry = true
	if b.setup.OwnCheckpoints {
		return nil
	}
	if !o.FileWanted(f.name, true) {
		b.skip(f.name, "left out by --exclude")
		return nil
	}
	o.Exclude = append(slices.Clone(o.Exclude), f.left...)
	if f.parsed == nil {
		b.skip(f.name, f.fault.Error())
		return nil
	}
	f.plan = f.parsed.plan(o, wish{file: f.name, unplaced: f.unplaced})
	f.plan.File = f.name
	return nil
}

// numberSites gives cg the sites; they were numbered from 1 in the order of files,
// so that the classes of an unchanged program can be used again.
func (b *build) numberSites() error {
	for _, k := range b.skips {
		b.setup.Skip(k.File, k.Reason)
	}
	for _, f := range b.files {
		if f.plan == nil {
			continue
		}
		first, err := b.setup.NumberSites(f.name, f.plan.Plan)
		if err != nil {
			return err
		}
		if len(f.plan.Sites) > 0 && first != f.first {
			return fmt.Errorf("%s: its sites are numbered from %d instead of %d", f.name, first, f.first)
		}
	}
	return nil
}

var compilerMessage = pattern.Later(`(?m)^(\d+)[/\\][^:\n]+\.java:(\d+): error: (.*)$`)

// leaveOutRefused leaves out what the compiler refuses: each function that it finds too
// large, else the first file that it names. false if nothing is left.
func (b *build) leaveOutRefused(output string) bool {
	all := compilerMessage().FindAllStringSubmatch(output, -1)
	done := false
	for _, m := range all {
		if f, line := b.refused(m); f != nil && strings.HasPrefix(m[3], "code too large") {
			done = b.leaveOutFunctions(f, line) || done
		}
	}
	for _, m := range all {
		if f, _ := b.refused(m); f != nil && !done {
			if !b.leaveOutPlaces(f, m[3]) {
				f.plan = nil
				b.skip(f.name, "the compiler refuses it with checkpoints: "+m[3])
			}
			return true
		}
	}
	return done
}

// refused is the file that an error is about, nil if it has no checkpoints, and the line.
func (b *build) refused(m []string) (f *sourceFile, line int) {
	i, _ := strconv.Atoi(m[1])
	line, _ = strconv.Atoi(m[2])
	if i >= len(b.files) || b.files[i].plan == nil {
		return nil, line
	}
	return b.files[i], line
}

// leaveOutPlaces leaves out the places of all functions of a file that the compiler refuses. false if there are none.
func (b *build) leaveOutPlaces(f *sourceFile, message string) bool {
	if len(f.plan.marks) == 0 {
		return false
	}
	f.unplace(anyFunction, message)
	return b.planFile(f) == nil
}

func (f *sourceFile) unplace(function, message string) {
	if f.unplaced == nil {
		f.unplaced = map[string]string{}
	}
	f.unplaced[function] = refusesPlaces + message
}

// leaveOutFunctions leaves out the functions that begin at a line, else the innermost one
// around it: first as one without places. false if there is none.
func (b *build) leaveOutFunctions(f *sourceFile, line int) bool {
	var at, around []int
	for i, site := range f.plan.Sites {
		if site.Kind.IsPlace() {
			continue
		}
		if site.Line == line {
			at = append(at, i)
		} else if site.Line < line && line <= site.EndLine {
			around = []int{i} // those inside follow it
		}
	}
	if len(at) == 0 {
		at = around
	}
	done := false
	for _, i := range at {
		site := f.plan.Sites[i]
		name := fmt.Sprintf("%s:%d", site.Func, site.Line)
		if f.plan.placed(i) {
			f.unplace(name, "code too large")
			done = true
		} else if !slices.Contains(f.left, name) {
			f.left = append(f.left, name)
			b.skip(fmt.Sprintf("%s:%d", f.name, site.Line),
				site.Func+" left alone: its code is too large with checkpoints")
			done = true
		}
	}
	return done && b.planFile(f) == nil
}

// leaveToJar leaves the sources that the compiler refuses to the jar's own classes:
// a library that they need may not be here. false if nothing is left.
func (b *build) leaveToJar(output string) bool {
	gone := false
	for _, m := range compilerMessage().FindAllStringSubmatch(output, -1) {
		i, _ := strconv.Atoi(m[1])
		if i >= len(b.files) || b.files[i].plan == nil {
			continue
		}
		if strings.HasPrefix(m[3], "code too large") && b.leaveOutRefused(m[0]) {
			return true
		}
		if maybeFromCheckpoints().MatchString(m[3]) && b.leaveOutPlaces(b.files[i], m[3]) {
			gone = true
			continue
		}
		b.files[i].plan = nil
		b.skip(b.files[i].name, "its class is the jar's: the compiler refuses the source: "+m[3])
		gone = true
	}
	return gone
}

// javac compiles sources, once for each content. classes is "" if the compiler
// refuses them; output is its message then, about files as the user named them. keep
// keeps the classes for later runs.
func (b *build) javac(ctx context.Context, sources map[string][]byte, keep bool) (classes, output string, err error) {
	args := b.javacArguments()
	names := slices.Sorted(maps.Keys(sources))
	setup := b.setup
	if !keep {
		setup.Cache = runtimes.Cache{}
	}
	cache, err := setup.CacheFolder("java")
	if err != nil {
		return "", "", err
	}
	key := b.classesKey(args, names, sources)
	if key == "" {
		key, setup.Cache = "classes", runtimes.Cache{}
		if cache, err = setup.CacheFolder("java"); err != nil {
			return "", "", err
		}
	} else if place, ok := cache.FindTree(key); ok {
		_, b.said, _ = cache.Find(key, messagesEnding)
		return place, "", nil
	}
	folder := filepath.Join(b.setup.Dir, "source")
	defer os.RemoveAll(folder)
	list, err := b.writeSources(folder, names, sources)
	if err != nil {
		return "", "", err
	}
	// The paths of the class path are the user's: relative ones made absolute.
	for i, a := range args {
		if i > 0 && args[i-1] == "-cp" {
			args[i] = absolute(a)
		}
	}
	var out bytes.Buffer
	place, err := cache.KeepTree(key, func(part string) error {
		all := slices.Concat([]string{runtimes.NoPerfData}, args, []string{"-d", part, "@" + list})
		cmd := exec.CommandContext(ctx, b.jdk.javac, all...)
		cmd.Dir, cmd.Env = folder, b.compilerEnvironment()
		cmd.Stdout, cmd.Stderr = &out, &out
		return tool.Run(cmd)
	})
	switch {
	case err == nil:
		return place, "", b.keepMessages(cache, key, out.Bytes())
	case !errors.As(err, new(*exec.ExitError)):
		return "", "", err
	case keep:
		return "", out.String(), nil
	}
	return "", strings.TrimSpace(string(b.originalMessages(out.Bytes()))), nil
}

// javacArguments are the compiler's arguments but for the sources and the place of the
// classes.
func (b *build) javacArguments() []string {
	args := []string{"-XDignore.symbol.file"}
	if !b.isFolder { // as java does for a file; a jar has what processors made
		args = append(args, "-proc:none")
	}
	if b.isOneFile() {
		args = append(args, b.launcherArguments()...)
	} else {
		args = append(args, "-nowarn")
	}
	if b.target.encoding != "" {
		args = append(args, "-encoding", b.target.encoding)
	}
	if b.from != nil {
		args = append(args, "-Xmaxerrs", "100000")
		args = append(args, b.from.javac...)
		if b.from.feature < b.jdk.feature {
			level := strconv.Itoa(max(8, b.from.feature))
			args = append(args, "-source", level, "-target", level)
		}
	}
	for i := 0; i+1 < len(b.target.flags); i++ {
		if b.target.flags[i] == "--source" {
			args = append(args, "--source", b.target.flags[i+1])
		}
	}
	for _, f := range b.target.flags {
		if f == "--enable-preview" {
			args = append(args, f)
		}
	}
	args = append(args, b.target.compilerFlags()...)
	if b.module != "" {
		args = append(args, readsUnnamed(b.module)...)
	}
	return append(args, "-cp", strings.Join([]string{b.classpath(), b.jar}, string(os.PathListSeparator)))
}

// writeSources writes the sources below a folder, and a list of them beside it.
func (b *build) writeSources(folder string, names []string, sources map[string][]byte) (list string, err error) {
	for _, name := range names {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, sources[name], 0o600); err != nil {
			return "", err
		}
	}
	list = filepath.Join(b.setup.Dir, "sources")
	return list, os.WriteFile(list, []byte(strings.Join(names, "\n")+"\n"), 0o600)
}

// absolute makes the parts of a class path independent of the working folder.
func absolute(path string) string {
	parts := filepath.SplitList(path)
	for i, p := range parts {
		if a, err := filepath.Abs(p); err == nil {
			parts[i] = a
		}
		if strings.HasSuffix(p, "*") {
			parts[i] = filepath.Join(filepath.Dir(parts[i]), "*")
		}
	}
	return strings.Join(parts, string(os.PathListSeparator))
}
