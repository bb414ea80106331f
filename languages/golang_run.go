package languages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
	"cg/runtimes"
)

func init() {
	register(&Language{
		Name:       "go",
		Title:      "Go",
		Extensions: []string{".go"},
		Recognizes: recognizesGo,
		SDK:        sdkGo,

		InterpreterFlag: "go",
		Flag:            flagGo,
		Flags:           []Flag{{Name: "build-flags", Usage: "`FLAGS` for go build, such as '-tags x -race'"}},
		Switches:        []Flag{{Name: "inline", Usage: "checkpoints also in functions that the compiler inlines"}},

		Plan:        planGo,
		PlanAs:      planGoAs,
		PlanVersion: goPlanVersion(),
		Decode:      decodeGo,
		Check:       checkGo,
		Launch:      launchGo,
		Files:       filesGo,
	})
}

// recognizesGo takes a folder with Go files or a go.mod, and patterns of packages
// below one.
func recognizesGo(target string) bool {
	folder, dots := strings.CutSuffix(target, "/...")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return false
	}
	if dots {
		return true
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return len(files) > 0 || err == nil
}

func checkGo(t Target) error {
	target, err := splitGo(t)
	if err != nil {
		return err
	}
	return target.there()
}

// there refuses files that are not there, before go does.
func (p goTarget) there() error {
	for _, name := range p.names {
		_, err := os.Stat(name)
		if (strings.HasSuffix(name, ".go") || !p.test && strings.HasPrefix(name, "/")) && errors.Is(err, fs.ErrNotExist) {
			return refuse(127, "%s: no such file or folder", name)
		}
	}
	return nil
}

// begin makes ready what all uses of a target need.
func beginGo(ctx context.Context, t Target, s Setup) (*goBuild, []*goPackage, error) {
	target, err := splitGo(t)
	if err == nil {
		err = target.there()
	}
	if err != nil {
		return nil, nil, err
	}
	tool, err := findGo(ctx, t.Interpreter)
	if err != nil {
		return nil, nil, err
	}
	b := &goBuild{t: tool, s: s, o: s.Options, target: target, base: filepath.Join(s.Cache, "go")}
	if s.Cache == "" {
		b.base = filepath.Join(s.Dir, "go")
	}
	if err := os.MkdirAll(b.base, 0o700); err != nil {
		return nil, nil, err
	}
	if err := tool.relocate(b.base); err != nil {
		return nil, nil, err
	}
	packages, err := tool.list(ctx, target)
	if err != nil {
		return nil, nil, err
	}
	if target.test {
		return b, packages, nil
	}
	var named []string
	main := false
	for _, p := range packages {
		if !p.DepOnly {
			named = append(named, p.ImportPath)
			main = main || p.Name == "main"
		}
	}
	switch {
	case len(named) > 1:
		return b, packages, refuse(2, "%s: %d packages (%s, ...): name one to run", target.names[0], len(named), named[0])
	case !main:
		return b, packages, refuse(2, "%s: not a main package: name one that is, or test %[1]s", target.names[0])
	}
	return b, packages, nil
}

// look asks for the functions that the compiler inlines, unless they are to have
// checkpoints, too.
func (b *goBuild) look(ctx context.Context, t Target, packages []*goPackage) error {
	if t.Flags["inline"] == "true" || b.o.Granularity == instrument.Coarse {
		return nil
	}
	places, ok, err := b.t.inlined(ctx, b.target, packages)
	if err != nil {
		return err
	}
	if !ok {
		if err := b.plainly(ctx); err != nil {
			return err
		}
	}
	b.places = places
	return nil
}

// launchGo builds the program with checkpoints into cg's own folder, or has go
// test do so.
func launchGo(t Target, s Setup) (Command, error) {
	ctx := context.Background()
	b, packages, err := beginGo(ctx, t, s)
	if err != nil {
		return Command{}, err
	}
	if err := b.look(ctx, t, packages); err != nil {
		return Command{}, err
	}
	c := Command{Version: b.t.version, Meta: map[string]string{}}
	if b.t.minor > goNewest {
		c.Untested = fmt.Sprintf("Go %s: cg is tested with Go 1.%d and 1.%d", b.t.version, goOldest, goNewest)
	}
	if b.target.test {
		if c.Args, err = b.tests(ctx, packages); err != nil {
			return c, err
		}
		c.Env = b.t.env
	} else {
		program, err := b.program(ctx, packages)
		if err != nil {
			return c, err
		}
		c.Args = append([]string{program}, b.target.args...)
	}
	if n := b.counted(); n > 0 {
		c.Meta["inlined_functions"] = fmt.Sprint(n)
	}
	c.Meta["portable"] = b.portable
	c.Env = append(c.Env, "CG_CHANNEL="+s.Channel)
	return c, nil
}

// tests gives the command line of go test. All packages are compiled before, so that
// what is measured is the tests, and the links before them. A result that go
// has kept tells nothing of energy: the tests are run.
func (b *goBuild) tests(ctx context.Context, packages []*goPackage) ([]string, error) {
	var flags []string
	for range 100 {
		if err := b.prepare(ctx, packages); err != nil {
			return nil, err
		}
		overlay, err := b.write()
		if err != nil {
			return nil, err
		}
		if flags, err = b.tools(); err != nil {
			return nil, err
		}
		flags = append(flags, "-overlay="+overlay)
		refused, err := b.compiled(ctx, flags)
		if err != nil {
			return nil, err
		}
		if len(refused) == 0 {
			break
		}
		var own []string // what the user has -overlay for
		if b.target.overlay != "" {
			own = []string{"-overlay=" + b.target.overlay}
		}
		plainly, err := b.compiled(ctx, own)
		if err != nil {
			return nil, err
		}
		ours := slices.DeleteFunc(refused, func(line string) bool { return slices.Contains(plainly, line) })
		if !b.giveWay([]byte(strings.Join(ours, "\n"))) {
			break // go test tells it
		}
	}
	args := append([]string{b.t.path, "test"}, flags...)
	if !b.target.counted {
		args = append(args, "-count=1")
	}
	return append(args, b.target.args...), b.number()
}

// compiled compiles the packages of a target and their tests, and returns what the
// compiler says of those that it refuses.
func (b *goBuild) compiled(ctx context.Context, flags []string) ([]string, error) {
	args := append([]string{"list", "-e", "-test", "-deps", "-export", "-f", "{{with .Error}}{{.Err}}{{end}}"}, b.target.listed...)
	for _, flags := range b.target.gcflags {
		args = append(args, "-gcflags="+flags)
	}
	out, said, err := b.t.output(ctx, append(append(args, flags...), b.target.names...)...)
	if err != nil {
		return nil, refuse(1, "%s", goSaid(said, err))
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); goMessage.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// filesGo lists the program's own files.
func filesGo(t Target) ([]string, error) {
	files, _, err := goFiles(t, instrument.Options{Granularity: instrument.Fine})
	return files, err
}

func goFiles(t Target, o instrument.Options) ([]string, *goBuild, error) {
	ctx := context.Background()
	target, err := splitGo(t)
	if err != nil {
		return nil, nil, err
	}
	if target.there() != nil {
		return nil, nil, refuse(1, "%s: no such file or folder", target.names[0])
	}
	cache, err := os.MkdirTemp("", "cg-analyze-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(cache)
	b, packages, err := beginGo(ctx, t, Setup{Dir: cache, Options: o})
	if b == nil || packages == nil {
		return nil, nil, err
	}
	if err := b.look(ctx, t, packages); err != nil { // what does not compile is planned all the same
		b.places = nil
	}
	if err := b.choose(ctx, packages); err != nil {
		return nil, nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	var files []string
	for _, u := range b.units {
		if err := b.make(u, nil); err != nil {
			return nil, nil, err
		}
		for _, name := range u.files {
			if r, err := filepath.Rel(cwd, name); err == nil && !strings.HasPrefix(r, "../") {
				name = r
			}
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), b, nil
}

// planGoAs plans files as parts of their packages.
func planGoAs(t Target, _ []string, o instrument.Options) (func(file string) instrument.Planner, error) {
	_, b, err := goFiles(t, o)
	if err != nil {
		return nil, err
	}
	return func(file string) instrument.Planner {
		return func(text []byte, o instrument.Options) (*instrument.Plan, error) {
			g, err := parseGo(text)
			if err != nil {
				return nil, err
			}
			var c goContext
			if name, err := filepath.Abs(file); err == nil {
				for _, u := range b.units {
					if of, is := u.planned[name]; is {
						c, o.Entry = of, u.command
					}
				}
			}
			p, _ := g.plan(o, c)
			return p, nil
		}
	}, nil
}

// sdkGo is a module. Its go.mod has another name here: what is below a go.mod
// is not embedded.
func sdkGo() (map[string][]byte, error) {
	all, err := runtimes.Folder("golang/_sdk")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, content := range all {
		switch {
		case name == "module.txt":
			files["go.mod"] = content
		case !strings.HasSuffix(name, "_test.go"):
			files[name] = content
		}
	}
	return files, nil
}
