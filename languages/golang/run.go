package golang

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
	"cg/scratch"
)

// isTarget takes a folder with Go files or a go.mod, and patterns of packages
// below one.
func isTarget(target string) bool {
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

func check(t languages.Target) error {
	target, err := parseArguments(t)
	if err != nil {
		return err
	}
	return target.checkFiles()
}

// checkFiles refuses files that are not there, before go does.
func (p arguments) checkFiles() error {
	for _, name := range p.names {
		_, err := os.Stat(name)
		if (strings.HasSuffix(name, ".go") || !p.test && strings.HasPrefix(name, "/")) &&
			errors.Is(err, fs.ErrNotExist) {
			return languages.Refuse(127, "%s: no such file or folder", name)
		}
	}
	return nil
}

// prepareTarget prepares what all uses of a target need.
func prepareTarget(ctx context.Context, t languages.Target, s languages.Setup) (*build, []*listedPackage, error) {
	target, err := parseArguments(t)
	if err == nil {
		err = target.checkFiles()
	}
	if err != nil {
		return nil, nil, err
	}
	tool, err := findCommand(ctx, t.Interpreter)
	if err != nil {
		return nil, nil, err
	}
	kept, err := s.CacheFolder("go")
	if err != nil {
		return nil, nil, err
	}
	b := &build{command: tool, setup: s, options: s.Options, target: target, kept: kept, folder: kept.Dir}
	if err := tool.relocate(b.folder); err != nil {
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
		return b, packages, languages.Refuse(2, "%s: %d packages (%s, ...): name one to run", target.names[0],
			len(named), named[0])
	case !main:
		return b, packages, languages.Refuse(2, "%s: not a main package: name one that is, or test %[1]s",
			target.names[0])
	}
	return b, packages, nil
}

// launch builds the program with checkpoints into cg's own folder, or has go
// test do so.
func launch(t languages.Target, s languages.Setup) (languages.Command, error) {
	ctx := context.Background()
	b, packages, err := prepareTarget(ctx, t, s)
	if err != nil {
		return languages.Command{}, err
	}
	if s.OwnCheckpoints {
		return b.launchOwnCheckpoints(ctx, packages)
	}
	if err := b.chooseInlined(ctx, t, packages); err != nil {
		return languages.Command{}, err
	}
	c := languages.Command{Version: b.command.version, Meta: map[string]string{}}
	if b.command.minor > newestMinor {
		c.Untested = fmt.Sprintf("Go %s: cg is tested with Go 1.%d and 1.%d", b.command.version, oldestMinor,
			newestMinor)
	}
	if b.target.test {
		if c.Args, err = b.testCommand(ctx, packages); err != nil {
			return c, err
		}
		c.Env = b.command.env
	} else {
		program, said, err := b.program(ctx, packages)
		if err != nil {
			return c, err
		}
		c.BuildOutput = said
		c.Args = append([]string{program}, b.target.args...)
	}
	if n := b.inlined; n > 0 {
		c.Meta["inlined_functions"] = fmt.Sprint(n)
	}
	c.Meta["portable"] = b.portable
	c.Env = append(c.Env, "CG_CHANNEL="+s.Channel)
	return c, nil
}

// launchOwnCheckpoints starts a program that has checkpoints of its own.
func (b *build) launchOwnCheckpoints(ctx context.Context, packages []*listedPackage) (languages.Command, error) {
	c := languages.Command{Version: b.command.version, Env: b.command.env, Meta: map[string]string{}}
	if b.target.test {
		c.Args = []string{b.command.path, "test"}
		if b.target.overlay != "" {
			c.Args = append(c.Args, "-overlay="+b.target.overlay)
		}
		if !b.target.counted {
			c.Args = append(c.Args, "-count=1")
		}
		c.Args = append(c.Args, b.target.args...)
		return c, nil
	}
	program := filepath.Join(b.setup.Dir, "alone", programName(b.target, packages))
	args := append([]string{"build", "-o", program}, b.target.overlaid(b.target.build)...)
	_, said, err := b.command.output(ctx, append(args, b.target.names...)...)
	if err != nil {
		return c, languages.Refuse(1, "go refuses the program:\n%s", reason(said, err))
	}
	c.BuildOutput, c.Args = said, append([]string{program}, b.target.args...)
	return c, nil
}

// testCommand gives the command line of go test. All packages are compiled before, so that
// what is measured is the tests, and the links before them. A result that go
// has kept has no energy: the tests are run.
func (b *build) testCommand(ctx context.Context, packages []*listedPackage) ([]string, error) {
	var flags, builds []string
	for range 100 {
		if err := b.prepare(ctx, packages); err != nil {
			return nil, err
		}
		overlay, err := b.writeOverlay()
		if err != nil {
			return nil, err
		}
		if flags, err = b.compilerFlags(); err != nil {
			return nil, err
		}
		flags = append(flags, "-overlay="+overlay)
		var refused []string
		if refused, builds, err = b.compileTests(ctx, flags); err != nil {
			return nil, err
		}
		if len(refused) == 0 {
			break
		}
		var own []string // what the user has -overlay for
		if b.target.overlay != "" {
			own = []string{"-overlay=" + b.target.overlay}
		}
		plainly, _, err := b.compileTests(ctx, own)
		if err != nil {
			return nil, err
		}
		ours := slices.DeleteFunc(refused, func(line string) bool { return slices.Contains(plainly, line) })
		if !b.leaveOutRefused([]byte(strings.Join(ours, "\n"))) {
			break // go test reports it
		}
	}
	args := append([]string{b.command.path, "test"}, flags...)
	if !b.target.counted {
		args = append(args, "-count=1")
	}
	return append(args, b.target.args...), b.numberSites(b.chosenByCompiler(builds))
}

// compileTests compiles the packages of a target and their tests, and returns what the
// compiler says of those that it refuses, and the build IDs of the others.
func (b *build) compileTests(ctx context.Context, flags []string) (refused, builds []string, err error) {
	args := append([]string{"list", "-e", "-test", "-deps", "-export", "-f",
		buildIDFormat + "{{with .Error}}\n{{.Err}}{{end}}"}, b.target.listed...)
	for _, flags := range b.target.gcflags {
		args = append(args, "-gcflags="+flags)
	}
	out, said, err := b.command.output(ctx, append(append(args, flags...), b.target.names...)...)
	if err != nil {
		return nil, nil, languages.Refuse(1, "%s", reason(said, err))
	}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); compilerMessage().MatchString(line) {
			refused = append(refused, line)
		} else {
			builds = append(builds, line)
		}
	}
	return refused, builds, nil
}

// sourceFiles lists the program's own files.
func sourceFiles(t languages.Target) ([]string, error) {
	b, _, done, err := analyzeTarget(t, instrument.Options{Granularity: instrument.Fine})
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

// analyzeTarget chooses the files of a target that is not run. What it keeps goes with
// done.
func analyzeTarget(t languages.Target, o instrument.Options) (b *build, packages []*listedPackage, done func(),
	err error) {
	ctx := context.Background()
	target, err := parseArguments(t)
	if err != nil {
		return nil, nil, nil, err
	}
	if target.checkFiles() != nil {
		return nil, nil, nil, languages.Refuse(1, "%s: no such file or folder", target.names[0])
	}
	folder, err := scratch.NewFolder(os.TempDir())
	if err != nil {
		return nil, nil, nil, err
	}
	dir := folder.Path
	b, packages, err = prepareTarget(ctx, t, languages.Setup{Dir: dir, Options: o})
	if b != nil && packages != nil { // what cannot be run is analyzed
		err = b.chooseUnits(ctx, packages)
	}
	if err != nil {
		folder.Remove()
		return nil, nil, nil, err
	}
	return b, packages, func() { folder.Remove() }, nil
}

// planTarget plans files as parts of their packages, and reads what the user's
// overlay has in their place.
func planTarget(t languages.Target, _ []string, o instrument.Options) (languages.Planned, error) {
	b, packages, done, err := analyzeTarget(t, o)
	if err != nil {
		return languages.Planned{}, err
	}
	defer done()
	if b.leavesInlinedBare(t) {
		// what does not compile is planned all the same
		if err := b.listInlined(context.Background(), packages); err != nil {
			b.places = nil
		}
	}
	user, err := b.userOverlay()
	if err == nil && b.leavesInlinedBare(t) {
		err = b.chooseBare(packages, user)
	}
	if err != nil {
		return languages.Planned{}, err
	}
	type place struct {
		context packageContext
		command bool
	}
	places := map[string]place{}
	for _, u := range b.units {
		if err := b.planUnit(u, user); err != nil {
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
				g, err := parseFile(text)
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

// sdkFiles is a module, with one inside for OpenTelemetry. Their go.mod have another name here: what is below a
// go.mod is not embedded.
func sdkFiles() (map[string][]byte, error) {
	all, err := runtimes.Folder("golang/_sdk")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, content := range all {
		dir, base := path.Split(name)
		switch {
		case base == "module.txt":
			files[dir+"go.mod"] = content
		case name != "of_program.go" && !strings.HasSuffix(name, "_test.go"):
			files[name] = content
		}
	}
	return files, nil
}
