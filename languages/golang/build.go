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
	"cg/runtimes"
)

// goBuild writes the files of a program with checkpoints, and the overlay by
// which the go command takes them for the user's.
type goBuild struct {
	t          *goTool
	s          languages.Setup
	o          instrument.Options
	target     goTarget
	kept       runtimes.Cache
	base       string // its folder
	overlay    map[string]string
	units      []*goUnit
	places     map[string][][2]int // functions that the compiler inlines, by file
	skips      []instrument.Skip   // packages and files, told once the program builds
	ride       map[string][]byte   // what rides in the program, by path below GOROOT
	compiler   string              // what stands before the compiler and asks it, "" if all that is written has checkpoints
	generation string              // of what is kept for that
	left       int                 // functions that the compiler inlines, and so have no checkpoints
	portable   string              // why the checkpoints of this toolchain are slower, "" if not
}

// prepare plans and writes all files that are wanted.
func (b *goBuild) prepare(ctx context.Context, packages []*goPackage) error {
	user, err := b.userOverlay()
	if err != nil {
		return err
	}
	b.overlay = user
	if b.units == nil {
		if err := b.choose(ctx, packages); err != nil {
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
				errs[from] = b.make(b.units[k], user)
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
				b.overlay[f.Name] = filepath.Join(b.base, f.Text)
			}
		}
	}
	return b.addRuntime(ctx)
}

func (b *goBuild) toolchain() runtimes.GoToolchain {
	g := runtimes.GoToolchain{Command: b.t.path, Root: b.t.root, Version: "go" + b.t.version, Arch: b.t.arch}
	if b.t.env != nil {
		g.Env = append(os.Environ(), b.t.env...)
	}
	return g
}

// addRuntime puts the files that ride in the program into the overlay.
func (b *goBuild) addRuntime(ctx context.Context) error {
	if b.ride == nil {
		g := b.toolchain()
		o, err := runtimes.Golang(ctx, g, b.s.Cache, b.s.Dir)
		if err != nil {
			return fmt.Errorf("go %s: %w", b.t.version, err)
		}
		b.portable = o.Reason
		if b.target.test {
			var reason string
			if o, reason, err = o.WithTests(ctx, g, b.s.Cache, b.s.Dir); err != nil {
				return fmt.Errorf("go %s: %w", b.t.version, err)
			}
			b.portable = strings.TrimPrefix(b.portable+"; "+reason, "; ")
			b.portable = strings.TrimSuffix(b.portable, "; ")
		}
		b.ride = o.Files
	}
	for name, content := range b.ride {
		file, err := b.store(content, filepath.Ext(name))
		if err != nil {
			return err
		}
		b.overlay[filepath.Join(b.t.root, filepath.FromSlash(name))] = file
	}
	return nil
}

// userOverlay reads the overlay that the user gives: its files are what is
// compiled, and what gets checkpoints.
func (b *goBuild) userOverlay() (map[string]string, error) {
	name := b.target.overlay
	if flags, err := splitWords(b.t.flags); err == nil && name == "" {
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

// write keeps the overlay as the go command reads it.
func (b *goBuild) write() (string, error) {
	text, err := json.MarshalIndent(struct{ Replace map[string]string }{b.overlay}, "", "\t")
	if err != nil {
		return "", err
	}
	return b.store(text, ".json")
}

// tools are the flags by which the toolchain's commands see what the overlay does
// not tell them: the compiler which functions are to have checkpoints, the linker of
// a relocated toolchain where the standard library is, and cover, which reads the
// files where they are, the written ones. nil where there is no need, or the user has
// commands run by one of their own.
func (b *goBuild) tools() ([]string, error) {
	relocated, covers := b.t.root != b.t.home, b.covers()
	if !relocated && !covers && b.compiler == "" || strings.Contains(b.t.flags, "-toolexec") || b.target.has("toolexec") {
		return nil, nil
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	before := ""
	if b.compiler != "" {
		before = quote(b.compiler) + " " + quote(b.base) + " "
		if !relocated && !covers && !strings.ContainsAny(b.compiler+b.base, `'"`) {
			return []string{"-toolexec=" + strings.TrimSpace(before)}, nil
		}
	}
	var script strings.Builder
	script.WriteString("#!/bin/sh\ntool=$1\nshift\ncase $tool in\n")
	if relocated {
		fmt.Fprintf(&script, "*/link) GOROOT=%s; export GOROOT ;;\n", quote(b.t.home))
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
func (b *goBuild) program(ctx context.Context, packages []*goPackage) (program string, said []byte, err error) {
	for range 100 {
		if err := b.prepare(ctx, packages); err != nil {
			return "", nil, err
		}
		overlay, err := b.write()
		if err != nil {
			return "", nil, err
		}
		tools, err := b.tools()
		if err != nil {
			return "", nil, err
		}
		h := sha256.New()
		cwd, err := os.Getwd()
		if err != nil {
			return "", nil, err
		}
		fmt.Fprintf(h, "%s %s %s %q %q %q", b.t.root, b.t.version, cwd, overlay, b.target.build, b.target.names)
		for _, p := range packages { // those that are named stand last
			if !p.DepOnly {
				h.Write([]byte(p.ImportPath))
			}
		}
		bin, err := b.kept.Sub(filepath.Join("bin", hex.EncodeToString(h.Sum(nil))[:24]))
		if err != nil {
			return "", nil, err
		}
		program := filepath.Join(bin.Dir, goProgramName(b.target, packages))
		before := goBefore(bin, program)
		args := append([]string{"build"}, b.target.build...)
		args = append(append(args, tools...), "-overlay="+overlay, "-o", program)
		_, said, err := b.t.output(ctx, append(args, b.target.names...)...)
		if err == nil {
			b.kept.Used(filepath.Join("bin", filepath.Base(bin.Dir)))
			if info, err := os.Stat(program); err != nil || info.IsDir() {
				return "", nil, languages.Refuse(1, "%s: go build made no program of it", strings.Join(b.target.names, " "))
			}
			if err := goAfter(bin, program, before); err != nil {
				return "", nil, err
			}
			builds, err := b.builds(ctx, bin, program, append(tools, "-overlay="+overlay))
			if err != nil {
				return "", nil, err
			}
			return program, said, b.number(b.chosen(builds))
		}
		if !errors.As(err, new(*exec.ExitError)) || ctx.Err() != nil {
			return "", nil, err
		}
		if err := b.plainly(ctx); err != nil {
			return "", nil, err
		}
		if !b.giveWay(said) {
			return "", nil, fmt.Errorf("the compiler refuses the program with checkpoints: %s", goSaid(said, err))
		}
	}
	return "", nil, errors.New("the compiler refuses too many parts of the program with checkpoints")
}

// goProgramName is the name that go build gives a program.
func goProgramName(target goTarget, packages []*goPackage) string {
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

// plainly builds the program as it is, and tells what go says if it refuses that.
func (b *goBuild) plainly(ctx context.Context) error {
	folder := filepath.Join(b.s.Dir, "plain") + "/" // any number of packages go there
	args := append([]string{"build", "-o", folder}, b.target.overlaid(b.target.build)...)
	_, said, err := b.t.output(ctx, append(args, b.target.names...)...)
	os.RemoveAll(folder)
	if err != nil {
		return languages.Refuse(1, "go refuses the program:\n%s", goSaid(said, err))
	}
	return nil
}

var goMessage = regexp.MustCompile(`(?m)^(.+\.go):(\d+)(?::\d+)?: `)

// giveWay leaves out what the compiler refuses; false if nothing is left.
func (b *goBuild) giveWay(said []byte) bool {
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	given := map[string]bool{} // now: one function may have several messages
	for _, m := range goMessage.FindAllSubmatch(said, -1) {
		name := string(m[1])
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		line, _ := strconv.Atoi(string(m[2]))
		for _, u := range b.units {
			for _, f := range u.made.Files {
				if f.Name == name && f.Plan != nil && f.Text != "" && !u.without[name] {
					u.leave(b, f, line, given)
				}
			}
		}
	}
	return len(given) > 0
}
