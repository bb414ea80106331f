package runtimes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"cg/pattern"
	"cg/tool"
)

//go:embed all:golang
var golangFiles embed.FS

func init() { register("golang", golangFiles, "go/*/*") }

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
	// Scheduler says that the scheduler reports which goroutine a thread runs.
	Scheduler bool
	// Reason says in one line what this toolchain does not let through, and
	// what is done instead; "" if all of it works.
	Reason string
}

// Golang returns the runtime for programs that a toolchain builds.
//
// The events are written by files that are added to package runtime, and its
// scheduler calls them: these calls are inserted into the toolchain's own
// source. What comes of it is compiled, linked and run once for each toolchain,
// unless that was done with the same files when the packages of cg were made
// (Prebuild); if that does not work, an implementation takes its place that needs
// nothing of package runtime. What was found is kept below cache.
func Golang(ctx context.Context, g GoToolchain, cache Cache, scratch string) (GoOverlay, error) {
	o, err := goScheduler(g)
	if err == nil {
		err = g.probe(ctx, o, cache, scratch, goProbeMain)
	}
	if err == nil {
		return o, nil
	}
	if ctx.Err() != nil {
		return GoOverlay{}, ctx.Err()
	}
	reason := fmt.Sprintf("%s (%v); goroutines are told apart by their calls only",
		goVerdict(err, "the scheduler of "+g.Version), err)
	o, err = goPortable(g)
	if err == nil {
		err = g.probe(ctx, o, cache, scratch, goProbeMain)
	}
	o.Reason = reason
	return o, err
}

// WithTests adds that package testing reports each test, example and benchmark as
// a task. Where this toolchain's testing does not let it, the overlay stays as
// it is, and the reason says so in one line.
func (o GoOverlay) WithTests(ctx context.Context, g GoToolchain, cache Cache, scratch string) (all GoOverlay,
	reason string, err error) {
	tests, err := goTesting(g)
	if err == nil {
		all = o
		all.Files = maps.Clone(o.Files)
		maps.Copy(all.Files, tests.Files)
		err = g.probe(ctx, all, cache, scratch, goProbeTesting)
	}
	if ctx.Err() != nil {
		return o, "", ctx.Err()
	}
	if err != nil {
		return o, fmt.Sprintf("%s (%v); tests are not told apart", goVerdict(err, "package testing of "+g.Version),
			err), nil
	}
	return all, "", nil
}

// goScheduler makes the overlay whose checkpoints are in package runtime.
func goScheduler(g GoToolchain) (GoOverlay, error) {
	o := GoOverlay{Files: map[string][]byte{}, Scheduler: true}
	if g.Arch != "amd64" && g.Arch != "arm64" {
		return o, fmt.Errorf("not written for %s", g.Arch)
	}
	if err := o.insert(g.Root, goSchedulerInserts); err != nil {
		return o, err
	}
	err := o.add(map[string]string{
		"golang/_runtime/codegreen.go":               "src/runtime/zz_codegreen.go",
		"golang/_runtime/sums.go":                    "src/runtime/zz_codegreen_sums.go",
		"golang/_runtime/paths.go":                   "src/runtime/zz_codegreen_paths.go",
		"golang/_runtime/places.go":                  "src/runtime/zz_codegreen_places.go",
		"golang/_runtime/budget.go":                  "src/runtime/zz_codegreen_budget.go",
		"golang/_runtime/usual.go":                   "src/runtime/zz_codegreen_usual.go",
		"golang/_runtime/share.go":                   "src/runtime/zz_codegreen_share.go",
		"golang/_runtime/times.go":                   "src/runtime/zz_codegreen_times.go",
		"golang/_runtime/words.go":                   "src/runtime/zz_codegreen_words.go",
		"golang/_runtime/codegreen_" + g.Arch + ".s": "src/runtime/zz_codegreen_" + g.Arch + ".s",
		"golang/_ring/codegreen.go":                  "src/container/ring/zz_codegreen.go",
		"golang/_ring/span.go":                       "src/container/ring/zz_span.go",
		"golang/_ring/scheduler.go":                  "src/container/ring/zz_scheduler.go",
		"golang/_ring/codegreen.s":                   "src/container/ring/zz_codegreen.s",
	})
	return o, err
}

// goTesting makes the overlay in which package testing reports its tests and
// benchmarks.
func goTesting(g GoToolchain) (GoOverlay, error) {
	o := GoOverlay{Files: map[string][]byte{}}
	if err := o.insert(g.Root, goTestingInserts); err != nil {
		return o, err
	}
	return o, o.add(map[string]string{"golang/_testing/codegreen.go": "src/testing/zz_codegreen.go"})
}

// insert puts texts into the toolchain's source.
func (o *GoOverlay) insert(root string, inserts []goInsert) error {
	for _, in := range inserts {
		source := o.Files[in.file]
		if source == nil {
			var err error
			if source, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(in.file))); err != nil {
				return err
			}
		}
		var err error
		if o.Files[in.file], err = in.into(source); err != nil {
			return err
		}
	}
	return nil
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

// goRefusal is a toolchain's own answer: it will be the same the next time.
type goRefusal struct{ text string }

func (r goRefusal) Error() string { return r.text }

// goVerdict says what a fault means for what was probed.
func goVerdict(err error, what string) string {
	if errors.As(err, new(goPassing)) {
		return what + " could not be tried with checkpoints this time"
	}
	return what + " does not take checkpoints"
}

// goPassing is a fault of the machine: a full disk, a process that was killed.
type goPassing struct{ error }

var (
	goRefuses = pattern.Later(`\.(go|s):\d+|relocation target|undefined|not defined|unresolved`)
	goPasses  = pattern.Later(`signal: |\[signal SIGBUS|no space left|disk quota|cannot allocate memory|` +
		`out of memory|resource temporarily|too many open files|input/output error|read-only file system|` +
		`permission denied|no such file or directory|stale NFS file handle|short write|` +
		`text file busy|device or resource busy|timed out`)
)

// goFault separates what a command says of the checkpoints and what happened to
// the command. built says that it is the program that was built.
func goFault(err error, output string, built bool) error {
	text := fmt.Sprintf("%s: %s", err, firstProblem(output))
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return goPassing{errors.New(text)}
	}
	signal := syscall.Signal(exit.ExitCode() - 128) // as tool.Run reports it
	if signal > 0 {
		text = fmt.Sprintf("signal: %s: %s", signal, firstProblem(output))
	}
	ended := slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP,
		syscall.SIGXCPU}, signal)
	if ended || !built && (goPasses().MatchString(output) || !goRefuses().MatchString(output)) {
		return goPassing{errors.New(text)}
	}
	return goRefusal{text}
}

// tried is a digest of the files of an overlay and of the program that is run with it.
func (o GoOverlay) tried(arch, main string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00", arch, main)
	for _, name := range o.names() {
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(o.Files[name]))
		h.Write(o.Files[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// probe compiles, links and runs a program with the overlay. What is compiled
// here is in the build cache when the user's program asks for it. What the
// toolchain says is kept, a fault that passes is not.
func (g GoToolchain) probe(ctx context.Context, o GoOverlay, cache Cache, scratch, main string) error {
	tried := o.tried(g.Arch, main)
	if brought(prebuiltTried(tried)) != nil {
		return nil
	}
	sum := sha256.Sum256([]byte("3\x00" + g.Version + "\x00" + g.Root + "\x00" + tried))
	stamp := "golang-" + hex.EncodeToString(sum[:])[:16]
	if b, err := cache.Read(stamp); err == nil {
		if len(b) > 0 {
			return goRefusal{string(b)}
		}
		return nil
	}
	dir, err := os.MkdirTemp(scratch, "golang-probe-")
	if err != nil {
		return goPassing{err}
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	found := g.try(ctx, o, dir, main)
	if ctx.Err() != nil {
		return goPassing{ctx.Err()} // nothing is known of the toolchain
	}
	if cache.Dir == "" || errors.As(found, new(goPassing)) {
		return found
	}
	text := ""
	if found != nil {
		text = found.Error()
	}
	_ = cache.Write(stamp, []byte(text)) // where that fails, it is tried again
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
	defer ring.CodegreenEnter(base + 1)()
	done := make(chan bool)
	go func() { done <- true }()
	<-done
}
`

const goProbeTesting = `package main

import "testing"

func main() {
	b := testing.AllocsPerRun(1, func() {})
	if b < 0 {
		panic(b)
	}
}
`

func (g GoToolchain) try(ctx context.Context, o GoOverlay, dir, main string) error {
	replace, err := o.Write(g.Root, filepath.Join(dir, "overlay"))
	if err != nil {
		return goPassing{err}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"overlay.json": string(overlay), "go.mod": "module probe\n", "main.go": main,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return goPassing{err}
		}
	}
	env := g.Env
	if env == nil {
		env = os.Environ()
	}
	env = append(slices.Clone(env), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOTOOLCHAIN=local", "GOARCH="+g.Arch,
		"CG_CHANNEL=")
	run := func(built bool, command string, args ...string) error {
		cmd := exec.CommandContext(ctx, command, args...)
		cmd.Dir, cmd.Env = dir, env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := tool.Run(cmd); err != nil {
			return goFault(err, out.String(), built)
		}
		return nil
	}
	program := filepath.Join(dir, "probe")
	if err := run(false, g.Command, "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program,
		"."); err != nil {
		return err
	}
	return run(true, program)
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
	for _, name := range []string{"codegreen.go", "span.go", "portable.go", "cycles.go", "cycles_other.go",
		"portable_" + goFamily(g.Arch) + ".s"} {
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

// GolangAlone is the package of checkpoints for a tree that runs without cg: its
// files by their path below the package's folder. path is its import path.
func GolangAlone(path string) (map[string][]byte, error) {
	out := map[string][]byte{}
	take := func(folder string, wanted func(name string) bool, change func([]byte) []byte) error {
		return walk(folder, func(name string, content []byte) error {
			if wanted(name) {
				out[name] = change(content)
			}
			return nil
		})
	}
	err := take("golang/_alone", func(string) bool { return true }, func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("\t\"codegreen\"\n"), fmt.Appendf(nil, "\t%q\n", path))
	})
	if err == nil { // they know the goroutine
		err = take("golang/_ring", func(name string) bool {
			return strings.HasPrefix(name, "portable_") || strings.HasPrefix(name, "cycles")
		}, func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("\npackage ring\n"), []byte("\npackage codegreen\n"))
		})
	}
	return out, err
}

// GolangCompiler is the command that stands before the compiler (-toolexec) and
// leaves checkpoints in what it does not inline. The build of cg brought it along, or it is built once for each
// toolchain. It is kept below cache.
func GolangCompiler(ctx context.Context, g GoToolchain, cache Cache) (string, error) {
	source, err := Files.ReadFile(golangCompileSource)
	if err != nil {
		return "", err
	}
	program, by := brought(prebuiltCompiler(source, runtime.GOARCH)), g.Version+"\x00"+g.Root
	if program != nil {
		by = prebuiltCommand
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", by, source)
	key := "golang-compile-" + hex.EncodeToString(h.Sum(nil))[:16]
	if program, _, ok := cache.Find(key, ""); ok {
		return program, nil
	}
	if err := os.MkdirAll(cache.Dir, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(cache.Dir, "golang-part-") // which the program is run from
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if program == nil {
		if program, err = g.compiler(ctx, source, dir); err != nil {
			return "", err
		}
	}
	file := filepath.Join(dir, "compile")
	if err := os.WriteFile(file, program, 0o700); err != nil {
		return "", err
	}
	// Without arguments it says how it is used: it can be run from there.
	var exit *exec.ExitError
	if err := exec.CommandContext(ctx, file).Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		return "", fmt.Errorf("%s: %w", dir, cmp.Or(err, errors.ErrUnsupported))
	}
	return cache.Keep(key, "", program, 0o700)
}

const golangCompileSource = "golang/_compile/main.go"

// compiler builds the command of GolangCompiler in a folder. The toolchain's Arch does not matter: its Env has the
// architecture, else it is that of this process.
func (g GoToolchain) compiler(ctx context.Context, source []byte, dir string) ([]byte, error) {
	for name, content := range map[string]string{"go.mod": "module compile\n\ngo 1.25\n", "main.go": string(source)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, g.Command, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=",
		"-o", "built", ".")
	cmd.Dir = dir
	if cmd.Env = g.Env; cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clone(cmd.Env), "GOFLAGS=", "GOWORK=off", "GO111MODULE=on", "GOTOOLCHAIN=local",
		"CGO_ENABLED=0")
	if out, err := tool.CombinedOutput(cmd); err != nil {
		return nil, fmt.Errorf("%w: %s", err, firstProblem(string(out)))
	}
	return os.ReadFile(filepath.Join(dir, "built"))
}
