package languages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"cg/instrument/edit"
	"cg/runtimes"
)

func init() {
	register(&Language{
		Name:       "java",
		Title:      "Java",
		Extensions: []string{".java"},
		Native:     "java.c",

		InterpreterFlag: "java",
		Flag:            flagJava,
		Flags:           []Flag{{"main", "the class to start, where a folder of sources has several (`CLASS`)"}},

		Plan:        planJava,
		PlanVersion: javaPlanVersion(),
		Decode:      decodeJava,
		Render:      renderJava,
		Check:       checkJava,
		Launch:      launchJava,
		Files:       filesJava,
	})
}

// javaTarget splits a command line into flags of the java command, the target,
// and the program's arguments.
type javaTarget struct {
	flags     []string // without the class path
	classpath string   // "" for none given
	path      string   // of a file or a folder
	args      []string
}

// javaValues are the flags of java whose value is the next argument
// (docs.oracle.com/en/java/javase/17/docs/specs/man/java.html).
var javaValues = []string{"-cp", "-classpath", "--class-path", "--source", "--add-modules", "--add-opens", "--add-exports", "--add-reads", "--enable-native-access"}

func flagJava(a string) (more int, target, ok bool) {
	if len(a) < 2 || a[0] != '-' {
		return 0, false, false
	}
	if slices.Contains(javaValues, a) {
		more = 1
	}
	return more, false, true
}

const javaTargets = "name a source file, or a folder of sources"

func splitJava(t Target) (javaTarget, error) {
	var p javaTarget
	for i := 0; i < len(t.Args); i++ {
		a := t.Args[i]
		if !strings.HasPrefix(a, "-") {
			p.path, p.args = a, t.Args[i+1:]
			return p, nil
		}
		name, value, given := strings.Cut(a, "=")
		switch {
		case a == "-jar" || a == "-m" || name == "--module" || a == "-p" || name == "--module-path":
			return p, refuse(2, "%s: classes and modules that are compiled already are not instrumented: %s", a, javaTargets)
		case slices.Contains(javaValues, name) && !given:
			if i++; i == len(t.Args) {
				return p, refuse(2, "%s needs a value", a)
			}
			value = t.Args[i]
			fallthrough
		case slices.Contains(javaValues, name):
			if slices.Contains(javaValues[:3], name) {
				p.classpath = value
				continue
			}
			p.flags = append(p.flags, name, value)
		default:
			p.flags = append(p.flags, a)
		}
	}
	return p, refuse(2, "nothing to run: %s", javaTargets)
}

func checkJava(t Target) error {
	p, err := splitJava(t)
	if err != nil {
		return err
	}
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse(127, "%s: no such file or folder", p.path)
	case err != nil:
		return refuse(126, "%s: %v", p.path, errors.Unwrap(err))
	case !info.IsDir() && filepath.Ext(p.path) != ".java":
		return refuse(2, "%s: not a Java source; %s", p.path, javaTargets)
	}
	_, err = filesJava(t)
	return err
}

// filesJava lists a source file, or the sources below a folder.
func filesJava(t Target) ([]string, error) {
	p, err := splitJava(t)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(1, "%s: no such file or folder", p.path)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		f, err := os.Open(p.path)
		if err != nil {
			return nil, refuse(126, "%s: cannot be read: %v", p.path, errors.Unwrap(err))
		}
		return []string{p.path}, f.Close()
	}
	var files []string
	err = filepath.WalkDir(p.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != p.path && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !d.IsDir() && filepath.Ext(path) == ".java" {
			files = append(files, path)
		}
		return nil
	})
	slices.Sort(files)
	if err == nil && len(files) == 0 {
		return nil, refuse(1, "%s: no Java files in it", p.path)
	}
	return files, err
}

// jdk is a Java development kit.
type jdk struct {
	java, javac string
	version     string
	feature     int // 17 of 17.0.15
}

var javaVersion = regexp.MustCompile(`(?m)^[a-z]+ version "?((\d+)[^"\s]*)`)

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
		return jdk{}, refuse(127, "Java %q not found: install a JDK, 17 or later (apt-get install default-jdk-headless), or name one with --java PATH", name)
	}
	k := jdk{java: path}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return k, err
	}
	k.javac = filepath.Join(filepath.Dir(real), "javac")
	if _, err := os.Stat(k.javac); err != nil {
		if k.javac, err = exec.LookPath("javac"); err != nil {
			return k, refuse(126, "%s comes without a compiler (javac): install a JDK, 17 or later (apt-get install default-jdk-headless), or name one with --java PATH", path)
		}
	}
	// The file beside it says it without starting a virtual machine.
	release, _ := os.ReadFile(filepath.Join(filepath.Dir(real), "..", "release"))
	m := regexp.MustCompile(`(?m)^JAVA_VERSION="((\d+)[^"]*)"`).FindSubmatch(release)
	if m == nil {
		out, err := exec.Command(path, "-version").CombinedOutput()
		if m = javaVersion.FindSubmatch(out); err != nil || m == nil {
			return k, refuse(126, "%s: does not run as Java: %v", path, err)
		}
	}
	k.version = string(m[1])
	k.feature, _ = strconv.Atoi(string(m[2]))
	if k.feature < 17 {
		return k, refuse(126, "%s is Java %s; cg needs 17 or later (choose another with --java PATH)", path, k.version)
	}
	return k, nil
}

// javaFile is a source of the program.
type javaFile struct {
	name  string // as the user wrote it
	text  []byte
	plan  *instrument.Plan // nil for one that is compiled as it is
	first int
	left  []string // "name:line" of the functions that are left alone
}

// launchJava compiles the sources with checkpoints into cg's own folder, and
// starts the main class as java would start it.
func launchJava(t Target, s Setup) (Command, error) {
	target, err := splitJava(t)
	if err != nil {
		return Command{}, err
	}
	k, err := findJDK(t.Interpreter)
	if err != nil {
		return Command{}, err
	}
	names, err := filesJava(t)
	if err != nil {
		return Command{}, err
	}
	folder := len(names) != 1 || names[0] != target.path
	main, err := javaMain(t, names, folder)
	if err != nil {
		return Command{}, err
	}
	plain := Command{Args: append([]string{k.java}, t.Args...), Version: k.version}
	ctx := context.Background()
	jar, err := runtimes.Archive(ctx, k.javac, s.Cache, s.Dir)
	if err != nil {
		return Command{}, err
	}
	files := make([]*javaFile, len(names))
	for i, name := range names {
		files[i] = &javaFile{name: name}
		if files[i].text, err = os.ReadFile(name); err != nil {
			return Command{}, refuse(126, "%s: %v", name, errors.Unwrap(err))
		}
	}
	b := &javaBuild{k: k, s: s, jar: jar, target: target, files: files, main: main}
	classes, output, err := b.compile(ctx)
	if err != nil {
		return Command{}, err
	}
	if classes == "" {
		if folder {
			return Command{}, refuse(1, "javac refuses the program:\n%s", output)
		}
		plain.Without = "the compiler refuses the program" // java says why, in its own words
		return plain, nil
	}
	run := filepath.Join(s.Dir, "run")
	var facts strings.Builder
	for _, kv := range [][2]string{{"channel", s.Channel}, {"server", s.Server}, {"native", s.Native.Path}, {"reason", s.Native.Reason}} {
		fmt.Fprintf(&facts, "%s=%s\n", kv[0], strings.ReplaceAll(kv[1], "\n", " "))
	}
	if err := os.WriteFile(run, []byte(facts.String()), 0o600); err != nil {
		return Command{}, err
	}
	// The runtime is on the boot class path, for every class loader, and on the
	// program's, for virtual machines that it starts with that.
	args := []string{k.java, "-Xbootclasspath/a:" + jar}
	if s.Native.Path == "" { // it learns then when a thread ends; for a price at the start
		args = append(args, "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED")
	}
	if k.feature >= 22 {
		args = append(args, "--enable-native-access=ALL-UNNAMED")
	}
	for i := 0; i < len(target.flags); i++ {
		if target.flags[i] == "--source" { // the compiler's
			i++
			continue
		}
		args = append(args, target.flags[i])
	}
	path := strings.Join([]string{classes, b.classpath(), jar}, string(os.PathListSeparator))
	args = append(append(args, "-cp", path, main), target.args...)
	return Command{Args: args, Env: []string{"CG_RUN=" + run}, Version: k.version}, nil
}

// javaMain finds the class to start: of a file the first that it declares, as
// java does; of a folder the one that was asked for, or the only one that has
// a main.
func javaMain(t Target, names []string, folder bool) (string, error) {
	asked := t.Flags["main"]
	if !folder {
		if asked != "" {
			return "", refuse(2, "--main: %s is one file, whose first class is started", names[0])
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			return "", err
		}
		j, err := parseJava(text)
		if err != nil {
			return "Main", nil // the compiler will say what is wrong
		}
		return j.firstType(), nil
	}
	if asked != "" {
		return asked, nil
	}
	var found []string
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		p, err := planJava(text, instrument.Options{Granularity: instrument.Coarse, Entry: true})
		if err != nil {
			continue
		}
		for _, site := range p.Sites {
			if class, is := strings.CutSuffix(site.Func, ".main"); is {
				found = append(found, class)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", refuse(2, "no class with a main method below the folder: name one with --main CLASS")
	case 1:
		return found[0], nil
	}
	return "", refuse(2, "several classes have a main method (%s): choose one with --main CLASS", strings.Join(found, ", "))
}

// firstType is the binary name of the first class that a file declares.
func (j *javaSource) firstType() string {
	name, scope := "", ""
	j.Children(0, func(c int) {
		switch n := j.Nodes[c]; {
		case n.Type == "package_declaration":
			j.Children(c, func(q int) {
				if t := j.Nodes[q].Type; t == "scoped_identifier" || t == "identifier" {
					scope = j.erased(q)
				}
			})
		case name == "" && strings.HasSuffix(n.Type, "_declaration") && n.Type != "import_declaration" && j.Field(c, "name") >= 0:
			name = javaName(scope, j.name(j.Field(c, "name")))
		}
	})
	return name
}

// javaBuild compiles a program with checkpoints.
type javaBuild struct {
	k      jdk
	s      Setup
	jar    string
	target javaTarget
	files  []*javaFile
	main   string
	skips  []instrument.Skip // told once the program compiles
}

func (b *javaBuild) skip(file, reason string) {
	b.skips = append(b.skips, instrument.Skip{File: file, Reason: reason})
}

func (b *javaBuild) classpath() string {
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
func (b *javaBuild) compile(ctx context.Context) (classes, output string, err error) {
	for _, f := range b.files {
		if err := b.plan(f); err != nil {
			return "", "", err
		}
	}
	pkg := "cg$"
	var texts [][]byte
	for _, f := range b.files {
		texts = append(texts, f.text)
	}
	pkg = javaPackage(texts...)
	for range 100 {
		next := 1
		sources := map[string][]byte{}
		for i, f := range b.files {
			text := f.text
			if f.plan != nil {
				f.first = next
				next += len(f.plan.Sites)
				edits, err := renderJavaIn(pkg, f.text, f.plan, f.first)
				if err == nil {
					text, err = edit.Apply(f.text, edits)
				}
				if err != nil {
					return "", "", fmt.Errorf("%s: %w", f.name, err)
				}
			}
			sources[filepath.Join(strconv.Itoa(i), filepath.Base(f.name))] = text
		}
		if pkg != "cg$" {
			sources["cg/R.java"] = []byte(strings.ReplaceAll(javaRelay, "PKG", pkg))
		}
		classes, output, err = b.javac(ctx, sources, true)
		if err != nil || classes != "" {
			break
		}
		if !b.giveWay(output) {
			originals := map[string][]byte{}
			for i, f := range b.files {
				originals[filepath.Join(strconv.Itoa(i), filepath.Base(f.name))] = f.text
			}
			plain, said, err := b.javac(ctx, originals, false)
			if err != nil || plain == "" {
				return "", said, err
			}
			return "", "", fmt.Errorf("the compiler refuses the program with checkpoints: %s", output)
		}
	}
	if err != nil {
		return "", "", err
	}
	if classes == "" {
		return "", "", fmt.Errorf("the compiler refuses too many parts of the program with checkpoints: %s", output)
	}
	return classes, "", b.number()
}

// javaRelay is the runtime under a name that the program does not hide.
const javaRelay = `package PKG;
public final class R {
    public static void e(int site) { cg$.R.e(site); }
    public static void x(int site) { cg$.R.x(site); }
    public static void ce(int site) { cg$.R.ce(site); }
    public static void cx(int site) { cg$.R.cx(site); }
}
`

func (b *javaBuild) plan(f *javaFile) error {
	o := b.s.Options
	o.Entry = true
	if !o.FileWanted(f.name, true) {
		b.skip(f.name, "left out by --exclude")
		return nil
	}
	o.Exclude = append(slices.Clone(o.Exclude), f.left...)
	p, err := planJava(f.text, o)
	if err != nil {
		b.skip(f.name, err.Error())
		return nil
	}
	p.File = f.name
	f.plan = p
	return nil
}

// number tells cg the sites; they were numbered from 1 in the order of files,
// so that the classes of an unchanged program can be used again.
func (b *javaBuild) number() error {
	for _, k := range b.skips {
		b.s.Skip(k.File, k.Reason)
	}
	for _, f := range b.files {
		if f.plan == nil {
			continue
		}
		first, err := b.s.Number(f.name, f.plan)
		if err != nil {
			return err
		}
		if len(f.plan.Sites) > 0 && first != f.first {
			return fmt.Errorf("%s: its sites are numbered from %d instead of %d", f.name, first, f.first)
		}
	}
	return nil
}

var javacMessage = regexp.MustCompile(`(?m)^(\d+)[/\\][^:\n]+\.java:(\d+): error: (.*)$`)

// giveWay leaves out what the compiler refuses; false if nothing is left.
func (b *javaBuild) giveWay(output string) bool {
	m := javacMessage.FindStringSubmatch(output)
	if m == nil {
		return false
	}
	i, _ := strconv.Atoi(m[1])
	line, _ := strconv.Atoi(m[2])
	if i >= len(b.files) || b.files[i].plan == nil {
		return false
	}
	f := b.files[i]
	if strings.HasPrefix(m[3], "code too large") {
		for _, site := range f.plan.Sites {
			if site.Line <= line && line <= site.EndLine {
				name := fmt.Sprintf("%s:%d", site.Func, site.Line)
				if !slices.Contains(f.left, name) {
					f.left = append(f.left, name)
					b.skip(fmt.Sprintf("%s:%d", f.name, site.Line), site.Func+" left alone: its code is too large with checkpoints")
					return b.plan(f) == nil
				}
			}
		}
	}
	f.plan = nil
	b.skip(f.name, "the compiler refuses it with checkpoints: "+m[3])
	return true
}

// javac compiles sources, once for each content. classes is "" if the compiler
// refuses them; output is what it says, about files as the user named them.
func (b *javaBuild) javac(ctx context.Context, sources map[string][]byte, keep bool) (classes, output string, err error) {
	args := []string{"-proc:none", "-nowarn", "-XDignore.symbol.file"}
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
	args = append(args, "-cp", strings.Join([]string{b.classpath(), b.jar}, string(os.PathListSeparator)))
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range sources {
			if !yield(name) {
				return
			}
		}
	})
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %q\n", b.k.javac, b.k.version, args)
	if cwd, err := os.Getwd(); err == nil { // a relative class path
		fmt.Fprintln(h, cwd)
	}
	for _, name := range names {
		fmt.Fprintf(h, "%s %d\n", name, len(sources[name]))
		h.Write(sources[name])
	}
	base := filepath.Join(b.s.Dir, "java")
	if b.s.Cache != "" && keep {
		base = filepath.Join(b.s.Cache, "java")
	}
	place := filepath.Join(base, hex.EncodeToString(h.Sum(nil))[:24])
	if _, err := os.Stat(place); err == nil {
		return place, "", nil
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", "", err
	}
	part, err := os.MkdirTemp(base, "part-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(part)
	source := filepath.Join(b.s.Dir, "source")
	defer os.RemoveAll(source)
	for _, name := range names {
		file := filepath.Join(source, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return "", "", err
		}
		if err := os.WriteFile(file, sources[name], 0o600); err != nil {
			return "", "", err
		}
	}
	list := filepath.Join(b.s.Dir, "sources")
	if err := os.WriteFile(list, []byte(strings.Join(names, "\n")+"\n"), 0o600); err != nil {
		return "", "", err
	}
	// The paths of the class path are the user's: relative ones made absolute.
	for i, a := range args {
		if i > 0 && args[i-1] == "-cp" {
			args[i] = absolute(a)
		}
	}
	cmd := exec.CommandContext(ctx, b.k.javac, append(append(args, "-d", part), "@"+list)...)
	cmd.Dir = source
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return "", "", err
		}
		if keep {
			return "", out.String(), nil
		}
		text := out.String()
		for i, f := range b.files {
			text = strings.ReplaceAll(text, filepath.Join(strconv.Itoa(i), filepath.Base(f.name))+":", f.name+":")
		}
		return "", strings.TrimSpace(text), nil
	}
	if err := os.Rename(part, place); err != nil {
		if _, there := os.Stat(place); there != nil {
			return "", "", err
		}
	}
	return place, "", nil
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
