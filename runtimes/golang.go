package runtimes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// GoToolchain is a Go distribution that builds an instrumented program.
type GoToolchain struct {
	Command string   // the go command
	Root    string   // its GOROOT
	Version string   // as GOVERSION says: go1.26.8
	Arch    string   // GOARCH of the program
	Env     []string // of the go command, nil for this process's
}

// GoOverlay is what the go command's -overlay puts into the standard library.
type GoOverlay struct {
	// Files are the contents by path below GOROOT, with slashes.
	Files map[string][]byte
	// Scheduler says that the scheduler tells which goroutine a thread runs.
	Scheduler bool
	// Reason says in one line what this toolchain does not let through, and
	// what is done instead; "" if all of it works.
	Reason string
}

// Golang returns the runtime for programs that a toolchain builds.
//
// The events are written by files that are added to package runtime, and its
// scheduler calls them: these calls are inserted into the toolchain's own
// source. What comes of it is compiled, linked and run once for each toolchain;
// if that does not work, an implementation takes its place that needs nothing
// of package runtime. What was found is kept below cache, "" for nowhere.
func Golang(ctx context.Context, g GoToolchain, cache, scratch string) (GoOverlay, error) {
	o, err := goScheduler(g)
	if err == nil {
		err = goProbe(ctx, g, o, cache, scratch)
	}
	if err == nil {
		return o, nil
	}
	if ctx.Err() != nil {
		return GoOverlay{}, ctx.Err()
	}
	reason := fmt.Sprintf("%s does not take the checkpoints for its scheduler (%v); goroutines are told apart by their calls only", g.Version, err)
	o, err = goPortable(g)
	if err == nil {
		err = goProbe(ctx, g, o, cache, scratch)
	}
	o.Reason = reason
	return o, err
}

// goInserts are the calls that go into the scheduler, by file and function:
// at the beginning of its body, or before the jump at its end.
var goInserts = []struct {
	file, function, text string
	last                 bool
}{
	{"proc.go", "schedule", " codegreenLeave();", false},
	{"proc.go", "execute", "codegreenArrive(gp); ", true},
	{"coro.go", "coroswitch_m", "codegreenArrive(gnext); ", true},
	{"os_linux.go", "unminit", " codegreenThreadEnd();", false},
}

// goScheduler makes the overlay whose checkpoints are in package runtime.
func goScheduler(g GoToolchain) (GoOverlay, error) {
	o := GoOverlay{Files: map[string][]byte{}, Scheduler: true}
	if g.Arch != "amd64" && g.Arch != "arm64" {
		return o, fmt.Errorf("not written for %s", g.Arch)
	}
	for _, in := range goInserts {
		name := path.Join("src/runtime", in.file)
		source := o.Files[name]
		if source == nil {
			var err error
			if source, err = os.ReadFile(filepath.Join(g.Root, name)); err != nil {
				return o, err
			}
		}
		var err error
		if o.Files[name], err = insert(name, source, in.function, in.text, in.last); err != nil {
			return o, err
		}
	}
	err := o.add(map[string]string{
		"golang/_runtime/codegreen.go":               "src/runtime/zz_codegreen.go",
		"golang/_runtime/codegreen_" + g.Arch + ".s": "src/runtime/zz_codegreen_" + g.Arch + ".s",
		"golang/_ring/codegreen.go":                  "src/container/ring/zz_codegreen.go",
		"golang/_ring/scheduler.go":                  "src/container/ring/zz_scheduler.go",
		"golang/_ring/codegreen.s":                   "src/container/ring/zz_codegreen.s",
	})
	return o, err
}

func (o *GoOverlay) add(names map[string]string) error {
	for from, to := range names {
		b, err := Files.ReadFile(from)
		if err != nil {
			return err
		}
		o.Files[to] = b
	}
	return nil
}

// insert puts a text into a function without moving a line: at the beginning
// of its body, or before the call of gogo at its end.
func insert(name string, source []byte, function, text string, last bool) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != function || f.Body == nil || len(f.Body.List) == 0 {
			continue
		}
		at := f.Body.Lbrace + 1
		if last {
			jump, ok := f.Body.List[len(f.Body.List)-1].(*ast.ExprStmt)
			if !ok || !calls(jump.X, "gogo") {
				return nil, fmt.Errorf("%s: func %s does not end with gogo", name, function)
			}
			at = jump.Pos()
		}
		return slices.Insert(slices.Clone(source), fset.Position(at).Offset, []byte(text)...), nil
	}
	return nil, fmt.Errorf("%s: no func %s", name, function)
}

func calls(x ast.Expr, function string) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == function
}

// goProbe compiles, links and runs a program with the overlay. What is compiled
// here is in the build cache when the user's program asks for it.
func goProbe(ctx context.Context, g GoToolchain, o GoOverlay, cache, scratch string) error {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", g.Version, g.Root, g.Arch)
	for _, name := range o.names() {
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(o.Files[name]))
		h.Write(o.Files[name])
	}
	stamp := filepath.Join(cache, "golang-"+hex.EncodeToString(h.Sum(nil))[:16])
	if cache != "" {
		if b, err := os.ReadFile(stamp); err == nil {
			if len(b) > 0 {
				return errors.New(string(b))
			}
			return nil
		}
	}
	dir, err := os.MkdirTemp(scratch, "golang-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	found := g.try(ctx, o, dir)
	if ctx.Err() != nil {
		return ctx.Err() // nothing is known of the toolchain
	}
	if cache != "" && os.MkdirAll(cache, 0o700) == nil {
		text := ""
		if found != nil {
			text = found.Error()
		}
		os.WriteFile(stamp, []byte(text), 0o600) // else it is tried again
	}
	return found
}

func (o GoOverlay) names() []string {
	var names []string
	for name := range o.Files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write puts the files below dir and returns what the go command's -overlay
// takes, by path: the caller adds its own files.
func (o GoOverlay) Write(root, dir string) (map[string]string, error) {
	replace := map[string]string{}
	for _, name := range o.names() {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, o.Files[name], 0o600); err != nil {
			return nil, err
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = to
	}
	return replace, nil
}

const goProbeMain = `package main

import "container/ring"

func main() {
	base := ring.CodegreenFile(1)
	ring.CodegreenEnter(base + 1)
	defer ring.CodegreenExit(base + 1)
	done := make(chan bool)
	go func() { done <- true }()
	<-done
}
`

func (g GoToolchain) try(ctx context.Context, o GoOverlay, dir string) error {
	replace, err := o.Write(g.Root, filepath.Join(dir, "overlay"))
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"overlay.json": string(overlay), "go.mod": "module probe\n", "main.go": goProbeMain,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	env := g.Env
	if env == nil {
		env = os.Environ()
	}
	env = append(slices.Clone(env), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOTOOLCHAIN=local", "GOARCH="+g.Arch, "CG_CHANNEL=")
	run := func(command string, args ...string) error {
		cmd := exec.CommandContext(ctx, command, args...)
		cmd.Dir, cmd.Env = dir, env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %s", err, firstProblem(out.String()))
		}
		return nil
	}
	program := filepath.Join(dir, "probe")
	if err := run(g.Command, "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "."); err != nil {
		return err
	}
	return run(program)
}

// firstProblem is the first line of a compiler's output that is no headline.
func firstProblem(output string) string {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return "no output"
}

// goPortable makes the overlay that needs nothing of package runtime.
func goPortable(g GoToolchain) (GoOverlay, error) {
	o := GoOverlay{Files: map[string][]byte{}}
	names := map[string]string{}
	for _, name := range []string{"codegreen.go", "portable.go", "cycles.go", "cycles_other.go", "portable_" + goFamily(g.Arch) + ".s"} {
		names["golang/_ring/"+name] = "src/container/ring/zz_" + name
	}
	return o, o.add(names)
}

// goFamily names the assembly file of an architecture.
func goFamily(arch string) string {
	switch arch {
	case "ppc64", "ppc64le":
		return "ppc64x"
	case "mips64", "mips64le":
		return "mips64x"
	case "mips", "mipsle":
		return "mipsx"
	}
	return arch
}
