package java

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cg/instrument"
	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// commandLine splits a command line into flags of the java command, the target,
// and the program's arguments.
type commandLine struct {
	flags     []string // without the class path
	classpath string   // "" for none given
	path      string   // of a file, a folder or a jar
	jar       bool
	encoding  string
	args      []string
}

// valueFlags are the flags of java whose value is the next argument
// (docs.oracle.com/en/java/javase/17/docs/specs/man/java.html).
var valueFlags = []string{"-cp", "-classpath", "--class-path", "--source", "--add-modules", "--add-opens",
	"--add-exports", "--add-reads", "--enable-native-access",
	"-p", "--module-path", "--upgrade-module-path", "--limit-modules", "--patch-module"}

func interpreterFlag(a string) (more int, target, ok bool) {
	if len(a) < 2 || a[0] != '-' {
		return 0, false, false
	}
	if a == "-jar" {
		return 1, true, true
	}
	if slices.Contains(valueFlags, a) {
		more = 1
	}
	return more, false, true
}

// targets is what a target can be.
const (
	targets    = "a source file, a folder of sources, or a jar that has its sources beside it"
	targetHelp = "name " + targets
)

func splitArgs(t languages.Target) (commandLine, error) {
	p := commandLine{encoding: t.Flags["encoding"]}
	for i := 0; i < len(t.Args); i++ {
		a := t.Args[i]
		if !strings.HasPrefix(a, "-") {
			p.path, p.args, p.jar = a, t.Args[i+1:], p.jar || filepath.Ext(a) == ".jar"
			return p, nil
		}
		name, value, given := strings.Cut(a, "=")
		switch {
		case a == "-jar":
			p.jar = true
		case a == "-m" || name == "--module":
			return p, languages.Refuse(2, "%s: classes and modules that are compiled already are not instrumented: %s",
				a, targetHelp)
		case slices.Contains(valueFlags, name) && !given:
			if i++; i == len(t.Args) {
				return p, languages.Refuse(2, "%s needs a value", a)
			}
			value = t.Args[i]
			fallthrough
		case slices.Contains(valueFlags, name):
			if slices.Contains(valueFlags[:3], name) {
				p.classpath = value
				continue
			}
			p.flags = append(p.flags, name, value)
		default:
			p.flags = append(p.flags, a)
		}
	}
	return p, languages.Refuse(2, "nothing to run: %s", targetHelp)
}

func check(t languages.Target) error {
	if _, is := t.Flags["project"]; is {
		return checkProject(t)
	}
	p, err := splitArgs(t)
	if err != nil {
		return err
	}
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return languages.Refuse(127, "%s: no such file or folder", p.path)
	case err != nil:
		return languages.Refuse(126, "%s: %v", p.path, errors.Unwrap(err))
	case p.jar && info.IsDir():
		return languages.Refuse(2, "%s: is a folder, not a jar", p.path)
	case p.jar:
		_, err := jarSources(p.path, t.Flags["sources"])
		return err
	case t.Flags["sources"] != "":
		return languages.Refuse(2, "--sources is for a jar, and %s is none", p.path)
	case !info.IsDir() && filepath.Ext(p.path) != ".java":
		return languages.Refuse(2, "%s: not a Java source; %s", p.path, targetHelp)
	}
	_, err = sourceFiles(t)
	return err
}

// sourceFiles lists a source file, or the sources below a folder.
func sourceFiles(t languages.Target) ([]string, error) {
	p, err := splitArgs(t)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, languages.Refuse(1, "%s: no such file or folder", p.path)
	}
	if err != nil {
		return nil, err
	}
	if p.jar {
		return nil, languages.Refuse(2, "%s: name the folder of its sources", p.path)
	}
	if !info.IsDir() {
		f, err := os.Open(p.path)
		if err != nil {
			return nil, languages.Refuse(126, "%s: cannot be read: %v", p.path, errors.Unwrap(err))
		}
		return []string{p.path}, f.Close()
	}
	return languages.Sources("Java", p.path, ".java")
}

// jdk is a Java development kit.
type jdk struct {
	java, javac string
	version     string
	feature     int // 17 of 17.0.15
}

var versionPattern = pattern.Later(`(?m)^[a-z]+ version "?((\d+)[^"\s]*)`)

// findJDK finds the java command that the shell would run, or the one that was
// named by its path or by its home, and the compiler beside it.
func findJDK(name string) (jdk, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, "bin", "java")
	}
	if name == "" {
		name = "java"
		if home := os.Getenv("JAVA_HOME"); home != "" {
			if _, err := os.Stat(filepath.Join(home, "bin", "java")); err == nil {
				name = filepath.Join(home, "bin", "java")
			}
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return jdk{}, languages.Refuse(127,
			"Java %q not found: install a JDK, 17 or later (apt-get install default-jdk-headless), or name one with "+
				"--java PATH", name)
	}
	k := jdk{java: path}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real) // the compiler runs in another folder
	}
	if err != nil {
		return k, err
	}
	k.javac = filepath.Join(filepath.Dir(real), "javac")
	if _, err := os.Stat(k.javac); err != nil {
		if k.javac, err = exec.LookPath("javac"); err != nil {
			return k, languages.Refuse(126,
				"%s comes without a compiler (javac): install a JDK, 17 or later (apt-get install "+
					"default-jdk-headless), or name one with --java PATH", path)
		}
	}
	// The file beside it says it without starting a virtual machine.
	release, _ := os.ReadFile(filepath.Join(filepath.Dir(real), "..", "release"))
	m := regexp.MustCompile(`(?m)^JAVA_VERSION="((\d+)[^"]*)"`).FindSubmatch(release)
	if m == nil {
		out, err := exec.Command(path, strings.TrimPrefix(runtimes.NoPerfData, "-J"), "-version").CombinedOutput()
		if m = versionPattern().FindSubmatch(out); err != nil || m == nil {
			return k, languages.Refuse(126, "%s: does not run as Java: %v", path, err)
		}
	}
	k.version = string(m[1])
	k.feature, _ = strconv.Atoi(string(m[2]))
	if k.feature < 17 {
		return k, languages.Refuse(126, "%s is Java %s; cg needs 17 or later (choose another with --java PATH)", path,
			k.version)
	}
	return k, nil
}

// launch compiles the sources with checkpoints into cg's own folder, and starts
// the main class as java would start it.
func launch(t languages.Target, s languages.Setup) (languages.Command, error) {
	if g := s.Options.Granularity; g.HasPlaces() && s.Native.Path == "" {
		return languages.Command{}, languages.Refuse(126,
			"-g %s needs cg's native library in the virtual machine, and there is none (%s): use -g fine", g,
			s.Native.Reason)
	}
	if _, is := t.Flags["project"]; is && s.OwnCheckpoints {
		return languages.Command{}, languages.Refuse(2, "--instrumented does not go with --project")
	} else if is {
		return launchProject(t, s)
	}
	b, err := readTarget(t, s)
	if err != nil {
		return languages.Command{}, err
	}
	ctx := context.Background()
	if b.jar, err = runtimes.Archive(ctx, b.jdk.javac, s.Cache, s.Dir); err != nil {
		return languages.Command{}, err
	}
	asItIs := languages.Command{Args: append([]string{b.jdk.java}, t.Args...), Version: b.jdk.version}
	if s.OwnCheckpoints && !b.isFolder {
		return asItIs, nil
	}
	if !b.isFolder && b.from == nil && b.jdk.feature >= multiFileRelease {
		if ok, err := b.readSiblings(); err != nil {
			return languages.Command{}, err
		} else if !ok {
			asItIs.Uninstrumented = "its folder is not that of its package, and java does not start it"
			return asItIs, nil
		}
	}
	if b.isFolder {
		if b.module, err = moduleName(b.files); err != nil {
			return languages.Command{}, err
		}
	}
	classes, output, err := b.compile(ctx)
	switch {
	case err != nil:
		return languages.Command{}, err
	case output != "" && b.from != nil:
		return languages.Command{}, languages.Refuse(1, "javac refuses the sources of %s:\n%s", b.target.path, output)
	case classes == "" && b.from != nil:
		return languages.Command{}, languages.Refuse(1, "%s: %s", b.target.path, b.whyNothing())
	case classes == "" && b.isFolder:
		return languages.Command{}, languages.Refuse(1, "javac refuses the program:\n%s", output)
	case classes == "" && tooLargeAlone(output): // java would find out anew
		return languages.Command{}, languages.Refuse(1, "javac refuses the program:\n%s", errorLines(output))
	case classes == "":
		asItIs.Uninstrumented = "the compiler refuses the program" // java says why, in its own words
		return asItIs, nil
	}
	run, err := writeRun(s)
	if err != nil {
		return languages.Command{}, err
	}
	c := languages.Command{Args: b.javaCommand(classes), Version: b.jdk.version,
		BuildOutput: b.originalMessages(b.said)}
	if t.Flags[launcherFlag] != "" {
		if c, err = b.launcherCommand(); err != nil {
			return languages.Command{}, err
		}
	}
	c.Env = append([]string{"CG_RUN=" + run}, runtimes.CGuests(ctx, s.Cache, s.Dir, s.Channel, "")...)
	return c, nil
}

// readTarget reads the sources of a target and finds the class to start.
func readTarget(t languages.Target, s languages.Setup) (*build, error) {
	target, err := splitArgs(t)
	if err != nil {
		return nil, err
	}
	k, err := findJDK(t.Interpreter)
	if err != nil {
		return nil, err
	}
	b := &build{jdk: k, setup: s, target: target}
	if err := b.readSources(t); err != nil {
		return nil, err
	}
	if t.Flags[launcherFlag] != "" && !b.isOneFile() {
		return nil, languages.Refuse(2, "--%s is for a single source file, and %s is none", launcherFlag, target.path)
	}
	b.main, err = b.mainClass(t)
	return b, err
}

// javaCommand is the command line that starts the compiled program.
func (b *build) javaCommand(classes string) []string {
	// The runtime is on the boot class path, for every class loader, and on the
	// program's, for virtual machines that it starts with that.
	native, fine := b.setup.Native.Path != "", !b.setup.Coarse
	args := append([]string{b.jdk.java}, runtimes.JavaFlags(b.jdk.feature, b.jar, native, fine)...)
	var flags []string
	for i := 0; i < len(b.target.flags); i++ {
		if b.target.flags[i] == "--source" { // the compiler's
			i++
			continue
		}
		flags = append(flags, b.target.flags[i])
	}
	if b.from != nil {
		flags = append(flags, b.from.options...)
	}
	if b.module != "" {
		args = append(args, b.inModule(flags, classes)...)
	} else {
		path := strings.Join([]string{classes, b.classpath(), b.jar}, string(os.PathListSeparator))
		args = append(append(args, flags...), "-cp", path, b.main)
	}
	return append(args, b.target.args...)
}

// writeRun writes what the runtime reads of this run, and returns the file's path.
func writeRun(s languages.Setup) (string, error) {
	run := filepath.Join(s.Dir, "run")
	var facts strings.Builder
	for _, kv := range [][2]string{{"channel", s.Channel}, {"server", s.Server}, {"native", s.Native.Path},
		{"reason", s.Native.Reason}} {
		fmt.Fprintf(&facts, "%s=%s\n", kv[0], strings.ReplaceAll(kv[1], "\n", " "))
	}
	return run, os.WriteFile(run, []byte(facts.String()), 0o600)
}

// readSources reads and parses the sources of the target.
func (b *build) readSources(t languages.Target) error {
	if b.target.jar {
		sources, err := jarSources(b.target.path, t.Flags["sources"])
		if err != nil {
			return err
		}
		if b.from, err = openJar(b.target.path, sources); err != nil {
			return err
		}
		if b.from.feature > b.jdk.feature {
			return languages.Refuse(126, "%s needs Java %d, and %s is Java %s (choose another with --java PATH)",
				b.target.path, b.from.feature, b.jdk.java, b.jdk.version)
		}
		b.files, err = b.from.read()
		return err
	}
	names, err := sourceFiles(t)
	if err != nil {
		return err
	}
	b.isFolder = len(names) != 1 || names[0] != b.target.path
	return b.addSources(names)
}

// addSources reads and parses further sources.
func (b *build) addSources(names []string) (err error) {
	for _, name := range names {
		f := &sourceFile{name: name}
		if f.text, err = os.ReadFile(name); err != nil {
			return languages.Refuse(126, "%s: %v", name, errors.Unwrap(err))
		}
		f.parsed, f.fault = parse(f.text)
		b.files = append(b.files, f)
	}
	return nil
}

// readSiblings adds the sources that a single file needs of those beside it.
// False says that java does not start the file.
func (b *build) readSiblings() (ok bool, err error) {
	names, ok := siblingSources(b.files[0].name, b.files[0].text)
	if !ok {
		return false, nil
	}
	return true, b.addSources(names)
}

// whyNothing says why no class of a jar is made anew.
func (b *build) whyNothing() string {
	if len(b.skips) > 0 {
		return "none of its sources can be compiled with checkpoints: " + b.skips[0].File + ": " + b.skips[0].Reason
	}
	return "none of its functions is wanted"
}

// mainClass finds the class to start: of a file the first that it declares, as
// java does; of a jar the one that it names; of a folder the one that was asked
// for, or the only one that has a main.
func (b *build) mainClass(t languages.Target) (string, error) {
	asked := t.Flags["main"]
	if b.from != nil {
		if asked == "" && b.from.main == "" {
			return "", languages.Refuse(2, "%s: its manifest names no Main-Class: name one with --main CLASS",
				b.target.path)
		}
		return cmp.Or(asked, b.from.main), nil
	}
	if !b.isFolder {
		f := b.files[0]
		if asked != "" {
			return "", languages.Refuse(2, "--main: %s is one file, whose first class is started", f.name)
		}
		if f.parsed == nil {
			return "Main", nil // the compiler will say what is wrong
		}
		return f.parsed.firstType(f.name), nil
	}
	if asked != "" && b.mayHave(asked) {
		return asked, nil
	}
	var found []string
	for _, f := range b.files {
		if f.parsed == nil {
			continue
		}
		for _, site := range f.parsed.plan(instrument.Options{Granularity: instrument.Coarse, Entry: true},
			wish{}).Sites {
			if class, is := strings.CutSuffix(site.Func, ".main"); is {
				found = append(found, class)
			}
		}
	}
	switch {
	case asked != "" && len(found) > 0:
		return "", languages.Refuse(2, "--main: no class %s below the folder: those with a main method are %s", asked,
			strings.Join(found, ", "))
	case asked != "":
		return "", languages.Refuse(2, "--main: no class %s below the folder, and none with a main method", asked)
	case len(found) == 0:
		return "", languages.Refuse(2, "no class with a main method below the folder: name one with --main CLASS")
	case len(found) == 1:
		return found[0], nil
	}
	return "", languages.Refuse(2, "several classes have a main method (%s): choose one with --main CLASS",
		strings.Join(found, ", "))
}

// mayHave reports whether a class may be among the sources, or on the class path.
func (b *build) mayHave(class string) bool {
	if b.target.classpath != "" || os.Getenv("CLASSPATH") != "" {
		return true
	}
	_, name, is := strings.Cut(class, "/") // of a module
	if !is {
		name = class
	}
	name, _, _ = strings.Cut(name, "$")
	for _, f := range b.files {
		if f.parsed == nil || slices.Contains(f.parsed.types(), name) {
			return true
		}
	}
	return false
}

// types are the binary names of the classes that a file declares, without those
// in others.
func (j *parsedSource) types() (names []string) {
	scope := j.packageName()
	j.Children(0, func(c int) {
		if f := j.Field(c, "name"); f >= 0 && strings.HasSuffix(j.Nodes[c].Type, "_declaration") {
			names = append(names, qualified(scope, j.name(f)))
		}
	})
	return names
}

// firstType is the binary name of the first class that a file declares. A file
// with methods or fields outside of classes is one itself, of its own name.
func (j *parsedSource) firstType(file string) string {
	name, scope := "", j.packageName()
	j.Children(0, func(c int) {
		switch n := j.Nodes[c]; n.Type {
		case "method_declaration", "field_declaration", "local_variable_declaration":
			name = strings.TrimSuffix(filepath.Base(file), ".java")
		case "import_declaration", "package_declaration", "module_declaration":
		default:
			if f := j.Field(c, "name"); name == "" && f >= 0 && strings.HasSuffix(n.Type, "_declaration") {
				name = qualified(scope, j.name(f))
			}
		}
	})
	return name
}

// packageName is the package of a file, "" for the unnamed one.
func (j *parsedSource) packageName() (name string) {
	j.Children(0, func(c int) {
		if j.Nodes[c].Type == "package_declaration" {
			j.Children(c, func(q int) {
				if t := j.Nodes[q].Type; t == "scoped_identifier" || t == "identifier" {
					name = j.erased(q)
				}
			})
		}
	})
	return name
}
