package golang

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"cg/instrument"
	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// build writes the files of a program with checkpoints, and the overlay by
// which the go command takes them for the user's.
type build struct {
	command *goCommand
	setup   languages.Setup
	options instrument.Options
	target  arguments
	kept    runtimes.Cache
	folder  string // its folder
	overlay map[string]string
	units   []*unit
	places  map[string][][2]int // functions that the compiler inlines, by file
	bare    map[string][]int    // functions that stay without checkpoints if it does: their braces, by file
	skips   []instrument.Skip   // packages and files, reported once the program builds
	runtime map[string][]byte   // what rides in the program, by path below GOROOT
	// choosesBare is set where the functions in bare are to be found.
	choosesBare bool
	// compiler is the command that runs the compiler and asks it what it inlines, "" if all
	// that is written has checkpoints.
	compiler   string
	generation string          // of what is kept for that
	embedded   map[string]bool // files whose text the program has, too
	embedder   string          // the command that gives the compiler their originals, "" if they stay as they are
	inlined    int             // functions that the compiler inlines, and so have no checkpoints
	portable   string          // why the checkpoints of this toolchain are slower, "" if not
}

// prepare plans and writes all files that are wanted.
func (b *build) prepare(ctx context.Context, packages []*listedPackage) error {
	user, err := b.userOverlay()
	if err != nil {
		return err
	}
	b.overlay = user
	if b.units == nil {
		if err := b.chooseUnits(ctx, packages); err != nil {
			return err
		}
	}
	b.chooseEmbedder(ctx)
	if b.choosesBare && b.bare == nil {
		if err := b.chooseBare(packages, user); err != nil {
			return err
		}
	}
	// A unit waits for the one that it continues, which stands before it.
	var wait sync.WaitGroup
	limit := make(chan bool, runtime.GOMAXPROCS(0))
	errs := make([]error, len(b.units))
	for i := 0; i < len(b.units); {
		from := i
		for i++; i < len(b.units) && b.units[i].before == b.units[i-1]; i++ {
		}
		limit <- true
		wait.Go(func() {
			defer func() { <-limit }()
			for k := from; k < i && errs[from] == nil; k++ {
				errs[from] = b.planUnit(b.units[k], user)
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, u := range b.units {
		for _, f := range u.made.Files {
			if f.Text != "" {
				b.overlay[f.Name] = filepath.Join(b.folder, f.Text)
			}
		}
	}
	return b.overlayRuntime(ctx)
}

func (b *build) toolchain() runtimes.GoToolchain {
	g := runtimes.GoToolchain{Command: b.command.path, Root: b.command.root, Version: "go" + b.command.version,
		Arch: b.command.arch}
	if b.command.env != nil {
		g.Env = append(os.Environ(), b.command.env...)
	}
	return g
}

// overlayRuntime puts the files that ride in the program into the overlay.
func (b *build) overlayRuntime(ctx context.Context) error {
	if b.runtime == nil {
		g := b.toolchain()
		o, err := runtimes.Golang(ctx, g, b.setup.Cache, b.setup.Dir)
		if err != nil {
			return fmt.Errorf("go %s: %w", b.command.version, err)
		}
		b.portable = o.Reason
		if err := canPlace(b.options.Granularity, o); err != nil {
			return err
		}
		if b.target.test {
			var reason string
			if o, reason, err = o.WithTests(ctx, g, b.setup.Cache, b.setup.Dir); err != nil {
				return fmt.Errorf("go %s: %w", b.command.version, err)
			}
			b.portable = strings.TrimPrefix(b.portable+"; "+reason, "; ")
			b.portable = strings.TrimSuffix(b.portable, "; ")
		}
		b.runtime = o.Files
	}
	for name, content := range b.runtime {
		file, err := b.store(content, filepath.Ext(name))
		if err != nil {
			return err
		}
		b.overlay[filepath.Join(b.command.root, filepath.FromSlash(name))] = file
	}
	return nil
}

// userOverlay reads the overlay that the user gives: its files are what is
// compiled, and what gets checkpoints.
func (b *build) userOverlay() (map[string]string, error) {
	name := b.target.overlay
	if flags, err := splitWords(b.command.flags); err == nil && name == "" {
		for _, f := range flags {
			if key, value, ok := strings.Cut(strings.TrimLeft(f, "-"), "="); ok && key == "overlay" {
				name = value
			}
		}
	}
	out := map[string]string{}
	if name == "" {
		return out, nil
	}
	text, err := os.ReadFile(name)
	var o struct{ Replace map[string]string }
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, languages.Refuse(1, "-overlay %s: %v", name, err)
	}
	for from, to := range o.Replace {
		if from, err = filepath.Abs(from); err != nil {
			return nil, err
		}
		if to != "" {
			if to, err = filepath.Abs(to); err != nil {
				return nil, err
			}
		}
		out[from] = to
	}
	return out, nil
}

// writeOverlay keeps the overlay as the go command reads it.
func (b *build) writeOverlay() (string, error) {
	text, err := json.MarshalIndent(struct{ Replace map[string]string }{b.overlay}, "", "\t")
	if err != nil {
		return "", err
	}
	return b.store(text, ".json")
}

// compilerFlags are flags for what the overlay does not reach. They give the compiler's
// command the functions to choose from, the linker of a relocated toolchain the folder of
// the standard library, and cover, which reads files where they lie, the written ones.
// nil if none is needed, or if the user's flags have a -toolexec of their own.
func (b *build) compilerFlags() ([]string, error) {
	relocated, covers := b.command.root != b.command.home, b.measuresCoverage()
	if !relocated && !covers && b.embedder == "" || b.hasOwnToolexec() {
		return nil, nil
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	before := ""
	if b.embedder != "" {
		if before = quote(b.embedder) + " "; b.compiler == "" {
			before += "-embed "
		}
		before += quote(b.folder) + " "
		if !relocated && !covers && !strings.ContainsAny(b.embedder+b.folder, `'"`) {
			return []string{"-toolexec=" + strings.TrimSpace(before)}, nil
		}
	}
	var script strings.Builder
	script.WriteString("#!/bin/sh\ntool=$1\nshift\ncase $tool in\n")
	if relocated {
		fmt.Fprintf(&script, "*/link) GOROOT=%s; export GOROOT ;;\n", quote(b.command.home))
	}
	if covers {
		script.WriteString("*/cover) for a; do\n\tshift\n\tcase $a in\n")
		for _, u := range b.units {
			for _, f := range u.made.Files {
				if to := b.overlay[f.Name]; to != "" {
					fmt.Fprintf(&script, "\t%s) a=%s ;;\n", quote(f.Name), quote(to))
				}
			}
		}
		script.WriteString("\tesac\n\tset -- \"$@\" \"$a\"\ndone ;;\n")
	}
	script.WriteString("esac\nexec " + before + "\"$tool\" \"$@\"\n")
	file, err := b.store([]byte(script.String()), ".sh")
	if err != nil {
		return nil, err
	}
	return []string{"-toolexec=" + file}, os.Chmod(file, 0o700)
}

// program builds the program and returns its path, and what the go command said
// of it. What the compiler refuses only with checkpoints is built without them: the
// function, else the file.
func (b *build) program(ctx context.Context, packages []*listedPackage) (program string, said []byte, err error) {
	for range 100 {
		if err := b.prepare(ctx, packages); err != nil {
			return "", nil, err
		}
		overlay, err := b.writeOverlay()
		if err != nil {
			return "", nil, err
		}
		tools, err := b.compilerFlags()
		if err != nil {
			return "", nil, err
		}
		h := sha256.New()
		cwd, err := os.Getwd()
		if err != nil {
			return "", nil, err
		}
		fmt.Fprintf(h, "%s %s %s %q %q %q", b.command.root, b.command.version, cwd, overlay, b.target.build,
			b.target.names)
		for _, p := range packages { // those that are named stand last
			if !p.DepOnly {
				h.Write([]byte(p.ImportPath))
			}
		}
		bin, err := b.kept.Sub(filepath.Join("bin", hex.EncodeToString(h.Sum(nil))[:24]))
		if err != nil {
			return "", nil, err
		}
		program := filepath.Join(bin.Dir, programName(b.target, packages))
		before := checkKeptProgram(bin, program)
		args := append([]string{"build"}, b.target.build...)
		args = append(append(args, tools...), "-overlay="+overlay, "-o", program)
		_, said, err := b.command.output(ctx, append(args, b.target.names...)...)
		if err == nil {
			b.kept.Used(filepath.Join("bin", filepath.Base(bin.Dir)))
			if info, err := os.Stat(program); err != nil || info.IsDir() {
				return "", nil, languages.Refuse(1, "%s: go build made no program of it",
					strings.Join(b.target.names, " "))
			}
			if err := noteProgram(bin, program, before); err != nil {
				return "", nil, err
			}
			builds, err := b.builds(ctx, program, append(tools, "-overlay="+overlay))
			if err != nil {
				return "", nil, err
			}
			return program, said, b.numberSites(b.chosenByCompiler(builds))
		}
		if !errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil {
			return "", nil, err
		}
		if err := b.buildUninstrumented(ctx); err != nil {
			return "", nil, err
		}
		if !b.leaveOutRefused(said) {
			return "", nil, fmt.Errorf("the compiler refuses the program with checkpoints: %s", reason(said, err))
		}
	}
	return "", nil, errors.New("the compiler refuses too many parts of the program with checkpoints")
}

// programName is the name that go build gives a program.
func programName(target arguments, packages []*listedPackage) string {
	if strings.HasSuffix(target.names[0], ".go") {
		return strings.TrimSuffix(filepath.Base(target.names[0]), ".go")
	}
	for _, p := range packages {
		if !p.DepOnly {
			name := filepath.Base(p.ImportPath)
			if up := filepath.Dir(p.ImportPath); up != "." && regexp.MustCompile(`^v[2-9]\d*$`).MatchString(name) {
				name = filepath.Base(up)
			}
			return name
		}
	}
	return "main"
}

// buildUninstrumented builds the program as it is. The error holds go's own message if it
// refuses that.
func (b *build) buildUninstrumented(ctx context.Context) error {
	folder := filepath.Join(b.setup.Dir, "plain") + "/" // any number of packages go there
	args := append([]string{"build", "-o", folder}, b.target.overlaid(b.target.build)...)
	_, said, err := b.command.output(ctx, append(args, b.target.names...)...)
	os.RemoveAll(folder)
	if err != nil {
		return languages.Refuse(1, "go refuses the program:\n%s", reason(said, err))
	}
	return nil
}

var compilerMessage = pattern.Later(`(?m)^(.+\.go):(\d+)(?::\d+)?: `)

// leaveOutRefused leaves out the functions or files that the compiler's message names.
// false says that it names none.
func (b *build) leaveOutRefused(said []byte) bool {
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	given := map[string]bool{} // now: one function may have several messages
	for _, m := range compilerMessage().FindAllSubmatch(said, -1) {
		name := string(m[1])
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		line, _ := strconv.Atoi(string(m[2]))
		for _, u := range b.units {
			for _, f := range u.made.Files {
				if f.Name == name && f.Plan != nil && f.Text != "" && !u.without[name] {
					u.leaveOut(b, f, line, given)
				}
			}
		}
	}
	return len(given) > 0
}
