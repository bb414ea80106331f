package golang

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
	"cg/languages"
	"cg/runtimes"
	"cg/scratch"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "go",
			Title:       "Go",
			Extensions:  []string{".go"},
			Decode:      decodeGo,
			Plan:        planGo,
			PlanVersion: goPlanVersion(),
			Check:       checkGo,
			Launch:      launchGo,
			Files:       filesGo,
		},
		Capabilities: languages.Capabilities{
			Interpreter: &languages.Interpreter{Flag: "go", Argument: flagGo},
			Options: &languages.Options{
				Flags:    []languages.Flag{{Name: "build-flags", Usage: "`FLAGS` for go build, such as '-tags x -race'"}},
				Switches: []languages.Flag{{Name: "inline", Usage: "checkpoints also in functions that the compiler inlines"}},
			},
			Recognize:  recognizesGo,
			PlanTarget: planGoAs,
			SaveTarget: saveGo,
			SDK:        &languages.SDK{Files: sdkGo},
		},
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

func checkGo(t languages.Target) error {
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
			return languages.Refuse(127, "%s: no such file or folder", name)
		}
	}
	return nil
}

// begin makes ready what all uses of a target need.
func beginGo(ctx context.Context, t languages.Target, s languages.Setup) (*goBuild, []*goPackage, error) {
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
	kept, err := s.Kept("go")
	if err != nil {
		return nil, nil, err
	}
	b := &goBuild{t: tool, s: s, o: s.Options, target: target, kept: kept, base: kept.Dir}
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
		return b, packages, languages.Refuse(2, "%s: %d packages (%s, ...): name one to run", target.names[0], len(named), named[0])
	case !main:
		return b, packages, languages.Refuse(2, "%s: not a main package: name one that is, or test %[1]s", target.names[0])
	}
	return b, packages, nil
}

// launchGo builds the program with checkpoints into cg's own folder, or has go
// test do so.
func launchGo(t languages.Target, s languages.Setup) (languages.Command, error) {
	ctx := context.Background()
	b, packages, err := beginGo(ctx, t, s)
	if err != nil {
		return languages.Command{}, err
	}
	if s.Off {
		return b.alone(ctx, packages)
	}
	if err := b.look(ctx, t, packages); err != nil {
		return languages.Command{}, err
	}
	c := languages.Command{Version: b.t.version, Meta: map[string]string{}}
	if b.t.minor > goNewest {
		c.Untested = fmt.Sprintf("Go %s: cg is tested with Go 1.%d and 1.%d", b.t.version, goOldest, goNewest)
	}
	if b.target.test {
		if c.Args, err = b.tests(ctx, packages); err != nil {
			return c, err
		}
		c.Env = b.t.env
	} else {
		program, said, err := b.program(ctx, packages)
		if err != nil {
			return c, err
		}
		c.Said = said
		c.Args = append([]string{program}, b.target.args...)
	}
	if n := b.left; n > 0 {
		c.Meta["inlined_functions"] = fmt.Sprint(n)
	}
	c.Meta["portable"] = b.portable
	c.Env = append(c.Env, "CG_CHANNEL="+s.Channel)
	return c, nil
}

// alone starts a program that bears checkpoints of its own.
func (b *goBuild) alone(ctx context.Context, packages []*goPackage) (languages.Command, error) {
	c := languages.Command{Version: b.t.version, Env: b.t.env, Meta: map[string]string{}}
	if b.target.test {
		c.Args = []string{b.t.path, "test"}
		if b.target.overlay != "" {
			c.Args = append(c.Args, "-overlay="+b.target.overlay)
		}
		if !b.target.counted {
			c.Args = append(c.Args, "-count=1")
		}
		c.Args = append(c.Args, b.target.args...)
		return c, nil
	}
	program := filepath.Join(b.s.Dir, "alone", goProgramName(b.target, packages))
	args := append([]string{"build", "-o", program}, b.target.overlaid(b.target.build)...)
	_, said, err := b.t.output(ctx, append(args, b.target.names...)...)
	if err != nil {
		return c, languages.Refuse(1, "go refuses the program:\n%s", goSaid(said, err))
	}
	c.Said, c.Args = said, append([]string{program}, b.target.args...)
	return c, nil
}

// tests gives the command line of go test. All packages are compiled before, so that
// what is measured is the tests, and the links before them. A result that go
// has kept tells nothing of energy: the tests are run.
func (b *goBuild) tests(ctx context.Context, packages []*goPackage) ([]string, error) {
	var flags, builds []string
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
		var refused []string
		if refused, builds, err = b.compiled(ctx, flags); err != nil {
			return nil, err
		}
		if len(refused) == 0 {
			break
		}
		var own []string // what the user has -overlay for
		if b.target.overlay != "" {
			own = []string{"-overlay=" + b.target.overlay}
		}
		plainly, _, err := b.compiled(ctx, own)
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
	return append(args, b.target.args...), b.number(b.chosen(builds))
}

// compiled compiles the packages of a target and their tests, and returns what the
// compiler says of those that it refuses, and the build IDs of the others.
func (b *goBuild) compiled(ctx context.Context, flags []string) (refused, builds []string, err error) {
	args := append([]string{"list", "-e", "-test", "-deps", "-export", "-f", goBuildIDs + "{{with .Error}}\n{{.Err}}{{end}}"}, b.target.listed...)
	for _, flags := range b.target.gcflags {
		args = append(args, "-gcflags="+flags)
	}
	out, said, err := b.t.output(ctx, append(append(args, flags...), b.target.names...)...)
	if err != nil {
		return nil, nil, languages.Refuse(1, "%s", goSaid(said, err))
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); goMessage.MatchString(line) {
			refused = append(refused, line)
		} else {
			builds = append(builds, line)
		}
	}
	return refused, builds, nil
}

// filesGo lists the program's own files.
func filesGo(t languages.Target) ([]string, error) {
	b, _, done, err := analyzeGo(t, instrument.Options{Granularity: instrument.Fine})
	if err != nil {
		return nil, err
	}
	defer done()
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var files []string
	for _, u := range b.units {
		for _, name := range u.files {
			if r, err := filepath.Rel(cwd, name); err == nil && !strings.HasPrefix(r, "../") {
				name = r
			}
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// analyzeGo chooses the files of a target that is not run. What it keeps goes with
// done.
func analyzeGo(t languages.Target, o instrument.Options) (b *goBuild, packages []*goPackage, done func(), err error) {
	ctx := context.Background()
	target, err := splitGo(t)
	if err != nil {
		return nil, nil, nil, err
	}
	if target.there() != nil {
		return nil, nil, nil, languages.Refuse(1, "%s: no such file or folder", target.names[0])
	}
	folder, err := scratch.NewFolder(os.TempDir())
	if err != nil {
		return nil, nil, nil, err
	}
	dir := folder.Path
	b, packages, err = beginGo(ctx, t, languages.Setup{Dir: dir, Options: o})
	if b != nil && packages != nil { // what cannot be run is analyzed
		err = b.choose(ctx, packages)
	}
	if err != nil {
		folder.Remove()
		return nil, nil, nil, err
	}
	return b, packages, func() { folder.Remove() }, nil
}

// planGoAs plans files as parts of their packages, and reads what the user's
// overlay has in their place.
func planGoAs(t languages.Target, _ []string, o instrument.Options) (languages.Planned, error) {
	b, packages, done, err := analyzeGo(t, o)
	if err != nil {
		return languages.Planned{}, err
	}
	defer done()
	if b.looks(t) {
		if err := b.lookBefore(context.Background(), packages); err != nil { // what does not compile is planned all the same
			b.places = nil
		}
	}
	user, err := b.userOverlay()
	if err != nil {
		return languages.Planned{}, err
	}
	type place struct {
		context goContext
		command bool
	}
	places := map[string]place{}
	for _, u := range b.units {
		if err := b.make(u, user); err != nil {
			return languages.Planned{}, err
		}
		for name, c := range u.planned {
			places[name] = place{c, u.command}
		}
	}
	whole := func(file string) string {
		if name, err := filepath.Abs(file); err == nil {
			return name
		}
		return file
	}
	return languages.Planned{
		Planner: func(file string) instrument.Planner {
			return func(text []byte, o instrument.Options) (*instrument.Plan, error) {
				g, err := parseGo(text)
				if err != nil {
					return nil, err
				}
				of := places[whole(file)]
				o.Entry = of.command
				p, _ := g.plan(o, of.context)
				return p, nil
			}
		},
		Read: func(file string) ([]byte, error) {
			if to, is := user[whole(file)]; is {
				file = to
			}
			return os.ReadFile(file)
		},
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
