package golang

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cg/instrument"
	"cg/languages"
	"cg/long"
	"cg/runtimes"
)

const casesFolder = "../../testdata/programs/go/cases"

// stubRuntime stands for what rides in the program: it counts in the file that
// CG_COUNTS names.
const stubRuntime = `package ring

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var counts = func() *[2]atomic.Uint64 {
	name, _ := syscall.Getenv("CG_COUNTS")
	fd, err := syscall.Open(name, syscall.O_RDWR, 0)
	if err != nil {
		return new([2]atomic.Uint64)
	}
	b, err := syscall.Mmap(fd, 0, 16, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	syscall.Close(fd)
	return (*[2]atomic.Uint64)(unsafe.Pointer(&b[0]))
}()

func CodegreenFile(key uint64) uint32   { return uint32(key>>1 | 1) &^ 1 << 24 >> 24 }
func CodegreenEnter(site uint32) func() { counts[0].Add(1); return exit }
func exit()                             { counts[1].Add(1) }
`

var stubRide = map[string][]byte{"src/container/ring/zz_stub.go": []byte(stubRuntime)}

// planWithStub prepares a target of this folder with the stub.
func planWithStub(t testing.TB, target languages.Target, o instrument.Options) (*build, []*listedPackage,
	map[string]string) {
	t.Helper()
	skipped := map[string]string{}
	b, packages, err := prepareTarget(context.Background(), target, languages.Setup{
		Dir: t.TempDir(), Cache: runtimes.Cache{Dir: t.TempDir()}, Options: o,
		NumberSites: func(string, *instrument.Plan) (int, error) { return 1, nil },
		Skip:        func(file, reason string) { skipped[file] = reason },
		DropSite:    func(int) {},
	})
	if packages == nil {
		t.Fatal(err)
	}
	b.runtime = stubRide
	if err := b.chooseInlined(context.Background(), target, packages); err != nil {
		t.Fatal(err)
	}
	return b, packages, skipped
}

var (
	framePattern     = regexp.MustCompile(`(?m)^(\S.*)\(.*\)$`)
	offsetPattern    = regexp.MustCompile(`(?m) \+0x[0-9a-f]+$`)
	hexPattern       = regexp.MustCompile(`0x[0-9a-f]+\??`)
	goroutinePattern = regexp.MustCompile(`goroutine \d+`)
)

// normalTrace leaves of a trace what stands for the program: not the addresses, the
// arguments and the numbers of goroutines.
func normalTrace(s string) string {
	s = goroutinePattern.ReplaceAllString(offsetPattern.ReplaceAllString(s, ""), "goroutine N")
	return hexPattern.ReplaceAllString(framePattern.ReplaceAllString(s, "$1(...)"), "0xH")
}

type result struct{ stdout, stderr, status string }

func runProgram(t testing.TB, dir, program, counts string) result {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CG_COUNTS="+counts)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return result{o.String(), normalTrace(e.String()), cmd.ProcessState.String()}
}

// buildAll builds all programs of a folder into one.
func buildAll(t testing.TB, tool, from string, flags ...string) string {
	t.Helper()
	dir := t.TempDir() + "/"
	cmd := exec.Command(tool, append(append([]string{"build", "-ldflags=-s -w"}, flags...), "-o", dir, "./...")...)
	cmd.Dir = from
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %q: %v\n%s", flags, err, out)
	}
	return dir
}

// TestPrograms builds every fixture as it is and with checkpoints: in what the
// compiler does not inline, and in all. They print the same, traces included, and
// end the same; what was entered was left. So do the saved copies, of which one asks the compiler in a build before.
func TestPrograms(t *testing.T) {
	t.Chdir(casesFolder)
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	fine := instrument.Options{Granularity: instrument.Fine}
	plain := buildAll(t, "go", ".")
	names, err := filepath.Glob(plain + "*")
	if err != nil || len(names) < 24 {
		t.Fatal(len(names), err)
	}
	asked := map[string]uint64{} // entered by program, as the compiler says while it compiles
	short := long.Without(t, "the compiler asked before, and saved copies with checkpoints in all")
	for _, mode := range []struct {
		name   string
		target languages.Target
		before bool
	}{
		{"as inlined", languages.Target{Args: []string{"./..."}}, false},
		{"as inlined, asked before", languages.Target{Args: []string{"./..."}}, true},
		{"all", languages.Target{Args: []string{"./..."}, Flags: map[string]string{"inline": "true"}}, false},
	} {
		if short && mode.before {
			continue
		}
		b, packages, _ := planWithStub(t, mode.target, fine)
		if (b.compiler == "") != (mode.name == "all") {
			t.Fatalf("%s: the compiler is asked by %q", mode.name, b.compiler)
		}
		if mode.before {
			b.compiler = ""
			if err := b.listInlined(context.Background(), packages); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.prepare(context.Background(), packages); err != nil {
			t.Fatal(err)
		}
		overlay, err := b.writeOverlay()
		if err != nil {
			t.Fatal(err)
		}
		flags, err := b.compilerFlags()
		if err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "-overlay="+overlay)
		with := buildAll(t, "go", ".", flags...)
		builds, err := b.builds(context.Background(), filepath.Join(t.TempDir(), "none"), flags)
		if err == nil {
			err = b.numberSites(b.chosenByCompiler(builds))
		}
		if err != nil || (b.inlined > 10) != strings.HasPrefix(mode.name, "as inlined") {
			t.Errorf("%s: %v, %d functions are inlined", mode.name, err, b.inlined)
		}
		var alone, saved string
		if !mode.before && !(short && mode.name == "all") {
			alone = t.TempDir()
			of := fine
			if mode.name == "all" {
				of.Granularity = instrument.Lines
			}
			if _, err := saveTarget(mode.target, of, alone); err != nil {
				t.Fatal(err)
			}
			saved = buildAll(t, "go", alone)
		}
		for _, name := range names {
			name = filepath.Base(name)
			t.Run(mode.name+"/"+name, func(t *testing.T) {
				source, err := os.ReadFile(filepath.Join(name, "main.go"))
				if name == "initorder" {
					source, err = os.ReadFile(filepath.Join(name, "b.go"))
				}
				if err != nil {
					t.Fatal(err)
				}
				counts := filepath.Join(t.TempDir(), "counts")
				if err := os.WriteFile(counts, make([]byte, 16), 0o600); err != nil {
					t.Fatal(err)
				}
				want, got := runProgram(t, name, plain+name, ""), runProgram(t, name, with+name, counts)
				if got != want {
					t.Errorf("stdout %s\nstderr %s\n%s\nwant\nstdout %s\nstderr %s\n%s", got.stdout, got.stderr,
						got.status, want.stdout, want.stderr, want.status)
				}
				if want.stdout+want.stderr == "" {
					t.Error("prints nothing")
				}
				n, err := os.ReadFile(counts)
				if err != nil {
					t.Fatal(err)
				}
				entered, left := binary.NativeEndian.Uint64(n), binary.NativeEndian.Uint64(n[8:])
				if unmeasured := bytes.Contains(source, []byte("// unmeasured:")); (entered == 0) != unmeasured {
					t.Errorf("%d entered", entered)
				}
				if unbalanced := bytes.Contains(source, []byte("// unbalanced:")) ||
					strings.Contains(want.stderr, "\ngoroutine "); entered != left && !unbalanced {
					t.Errorf("%d entered, %d left", entered, left)
				}
				varies := bytes.Contains(source, []byte("// varies:"))
				if mode.name == "as inlined" {
					asked[name] = entered
				}
				if mode.before {
					if entered != asked[name] && !varies {
						t.Errorf("%d entered, and %d asked before", asked[name], entered)
					}
					return
				}
				if saved == "" {
					return
				}
				got = runProgram(t, filepath.Join(alone, name), saved+name, "")
				got.stderr = strings.ReplaceAll(got.stderr, alone, cwd)
				out, block, told := cutBlock(got.stdout)
				if got.stdout = out; got != want {
					t.Errorf("saved: stdout %s\nstderr %s\n%s\nwant\nstdout %s\nstderr %s\n%s", got.stdout, got.stderr,
						got.status, want.stdout, want.stderr, want.status)
				}
				// What kills the process from inside leaves nobody to tell.
				if untold := strings.Contains(want.stderr, "fatal error: all goroutines") ||
					bytes.Contains(source, []byte("// untold:")); told == (untold || entered == 0) {
					t.Errorf("saved: told %v", told)
				}
				if n := uint64(strings.Count(block, `"enter:`)); told && n != entered && !varies {
					t.Errorf("saved: %d entered, want %d", n, entered)
				}
			})
		}
	}
}

// cutBlock takes the result block out of what a program prints.
func cutBlock(s string) (out, block string, told bool) {
	before, rest, is := strings.Cut(s, "--- CODEGREEN_RESULT_START ---\n")
	block, after, ends := strings.Cut(rest, "\n--- CODEGREEN_RESULT_END ---\n")
	if !is || !ends {
		return s, "", false
	}
	return before + after, block, json.Valid([]byte(block))
}

// writeModule writes a module and makes it the working folder.
func writeModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// refusing is the stub with sites of eight bits: the compiler refuses the checkpoints
// of a file's functions behind the 255th. many are functions that take 254 of them.
func refusing() (stub map[string][]byte, many string) {
	var b strings.Builder
	for i := range 254 {
		fmt.Fprintf(&b, "func f%d() { defer f0() }; ", i)
	}
	text := strings.ReplaceAll(stubRuntime, "uint32", "uint8")
	return map[string][]byte{"src/container/ring/zz_stub.go": []byte(text)}, b.String()
}

// TestGivesWay: what the compiler refuses with checkpoints only is built
// without, and reported; the rest has them.
func TestGivesWay(t *testing.T) {
	stub, many := refusing()
	writeModule(t, map[string]string{
		"go.mod": "module acme\n\ngo 1.25.0\n",
		"main.go": "package main\n\nimport \"acme/p\"\n\nfunc main() { for range 2 { println(last(p.Last(1))) } }; " + many +
			"\n\n//go:noinline\nfunc last(n int) int { return n }\n",
		"p/p.go":   "package p\n\nfunc first() { defer f0() }; " + many + "\nvar V = func() int { return 1 }()\n\n//go:noinline\nfunc Last(n int) int { return n }\n",
		"p/p.s":    "",
		"p/asm.go": "package p\n\nfunc Asm()\n",
	})
	target := languages.Target{Args: []string{"."}, Flags: map[string]string{"inline": "true"}}
	b, packages, skipped := planWithStub(t, target, instrument.Options{Granularity: instrument.Fine})
	b.runtime = stub
	program, _, err := b.program(context.Background(), packages)
	if err != nil {
		t.Fatal(err)
	}
	counts := filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(counts, make([]byte, 16), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runProgram(t, ".", program, counts); got.stderr != "1\n1\n" {
		t.Errorf("%+v", got)
	}
	if n, err := os.ReadFile(counts); err != nil || binary.NativeEndian.Uint64(n) != 1 {
		t.Errorf("%v, %d entered; want 1: main", err, n)
	}
	cwd, _ := os.Getwd()
	for name, why := range map[string]string{
		"main.go:8": "main.last left alone: the compiler refuses it with checkpoints",
		"p/p.go:4":  "acme/p.init.func1 left alone: the compiler refuses it with checkpoints",
		"p/p.go:7":  "acme/p.Last left alone: the compiler refuses it with checkpoints",
	} {
		if skipped[filepath.Join(cwd, name)] != why {
			t.Errorf("%s: %q", name, skipped[filepath.Join(cwd, name)])
		}
	}
	if len(skipped) != 3 {
		t.Errorf("%q", skipped)
	}
}

// TestTestsGiveWay: so it is with tests; what does not compile without
// checkpoints either is go test's to tell.
func TestTestsGiveWay(t *testing.T) {
	stub, many := refusing()
	writeModule(t, map[string]string{
		"go.mod":          "module acme\n\ngo 1.25.0\n",
		"a/a.go":          "package a\n\nfunc first() { defer f0() }; " + many + "\n\n//go:noinline\nfunc Last(n int) int { return n }\n",
		"a/a_test.go":     "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Log(Last(1)) }\n",
		"wrong/w.go":      "package wrong\n\nfunc F() int { return \"x\" }\n",
		"wrong/w_test.go": "package wrong\n\nimport \"testing\"\n\nfunc TestW(t *testing.T) {}\n",
	})
	target := languages.Target{Args: []string{"test", "./..."}, Flags: map[string]string{"inline": "true"}}
	b, packages, skipped := planWithStub(t, target, instrument.Options{Granularity: instrument.Fine})
	b.runtime = stub
	args, err := b.testCommand(context.Background(), packages)
	if err != nil {
		t.Fatal(err)
	}
	cwd, _ := os.Getwd()
	if why := skipped[filepath.Join(cwd,
		"a/a.go:6")]; why != "acme/a.Last left alone: the compiler refuses it with checkpoints" {
		t.Errorf("%q", skipped)
	}
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("ok  \tacme/a")) || !bytes.Contains(out,
		[]byte("FAIL\tacme/wrong [build failed]")) || !bytes.Contains(out, []byte("wrong/w.go:3:23: cannot use")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestBuildsThatAreNone: what go list tells of a package that does not compile stands
// among the build IDs, and removes nothing that is kept.
func TestBuildsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	cache := runtimes.Cache{Dir: dir}
	for name, text := range map[string]string{"inlined/abc_-1": "key 0\nkey 7\n", "text/x.json": "{}", generationFile: "1"} {
		if _, err := cache.Sub(filepath.Dir(name)); err != nil {
			t.Fatal(err)
		}
		if err := cache.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	b := &build{kept: cache, folder: dir}
	got := b.chosenByCompiler([]string{"", ".", "..", "../wrong/w.go:3:23: cannot use", "# acme/wrong", "abc_-1/def",
		"./x.go", "none/def"})
	if fmt.Sprint(got) != "map[key:[7]]" {
		t.Error(got)
	}
	for _, name := range []string{"inlined/abc_-1", "text/x.json", generationFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestChosenOften: a package that is compiled for its tests, too, has no checkpoints where
// each of its compilations took them out.
func TestChosenOften(t *testing.T) {
	cache := runtimes.Cache{Dir: t.TempDir()}
	if _, err := cache.Sub("inlined"); err != nil {
		t.Fatal(err)
	}
	for action, text := range map[string]string{
		"plain": "k 0\nk 1\n", "tests": "k 0\nk 1\nk 2\n", "none": "l 0\n", "once": "m 0\nm 3\n",
	} {
		if err := cache.Write("inlined/"+action, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	b := &build{kept: cache, folder: cache.Dir}
	if got := fmt.Sprint(b.chosenByCompiler([]string{"plain/p", "tests/p", "none/p", "once/p"})); got != "map[k:[1] m:[3]]" {
		t.Error(got)
	}
}

// TestLinkedBuilds: what the linker was given are the packages that the go command lists, and
// nobody asks it.
func TestLinkedBuilds(t *testing.T) {
	writeModule(t, map[string]string{"go.mod": "module acme\n\ngo 1.25.0\n",
		"main.go": "package main\n\nimport \"acme/a\"\n\nfunc main() { a.F() }\n",
		"a/a.go":  "package a\n\nfunc F() { G(); G() }\n\nfunc G() { println() }\n"})
	b, packages, _ := planWithStub(t, languages.Target{Args: []string{"."}},
		instrument.Options{Granularity: instrument.Fine})
	program, _, err := b.program(context.Background(), packages)
	if err != nil {
		t.Fatal(err)
	}
	if b.inlined != 2 {
		t.Errorf("%d functions are inlined, want 2", b.inlined)
	}
	kept := filepath.Join("linked", linkAction(program))
	got, err := b.kept.Read(kept)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := b.writeOverlay()
	if err != nil {
		t.Fatal(err)
	}
	flags, err := b.compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.folder, kept)); err != nil {
		t.Fatal(err)
	}
	listed, err := b.builds(context.Background(), program, append(flags, "-overlay="+overlay))
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(got))
	slices.Sort(linked)
	slices.Sort(listed)
	listed = slices.DeleteFunc(listed, func(build string) bool { return build == "" })
	if !slices.Equal(linked, listed) {
		t.Errorf("linked\n%q\nlisted\n%q", linked, listed)
	}
	if again, err := b.kept.Read(kept); err != nil || len(again) == 0 {
		t.Errorf("what the go command listed is not kept: %v", err)
	}
}

// TestKept: a unit that is made is found again, and made anew when a file of it
// changes or what was kept is gone.
func TestKept(t *testing.T) {
	writeModule(t, map[string]string{"go.mod": "module acme\n\ngo 1.25.0\n",
		"main.go": "package main\n\nfunc main() { for { break } }\n"})
	b, packages, _ := planWithStub(t, languages.Target{Args: []string{"."},
		Flags: map[string]string{"inline": "true"}}, instrument.Options{Granularity: instrument.Fine})
	prepared := func() (text string, fresh bool) {
		t.Helper()
		b.units = nil
		if err := b.prepare(context.Background(), packages); err != nil {
			t.Fatal(err)
		}
		u := b.units[0]
		return filepath.Join(b.folder, u.made.Files[0].Text), u.planned != nil
	}
	first, fresh := prepared()
	if !fresh {
		t.Error("not made at first")
	}
	if again, fresh := prepared(); fresh || again != first {
		t.Error("made again")
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if again, fresh := prepared(); !fresh || again != first {
		t.Error("not made again when it was gone")
	}
	if err := os.WriteFile("main.go", []byte("package main\n\nfunc main() { for { return } }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, fresh := prepared(); !fresh || again == first {
		t.Error("not made again when it changed")
	}
}
