package runtimes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/launcher"
	"cg/long"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
)

// goKind is one way in which a Go program is built with the runtime.
type goKind struct {
	name     string
	portable bool
	release  string   // of Go, "" for the one that is installed
	arch     string   // of the program, "" for this machine's
	folder   string   // below testdata/golang
	args     []string // of go build
	env      []string
}

// goTool is the Go command that the tests use.
var goTool = sync.OnceValues(func() (GoToolchain, error) { return goToolOf("") })

// goToolOf is the toolchain of a release, "" for the one that is installed. One
// that lies in the module cache is reached by a link: the go command lets no
// file there be replaced.
func goToolOf(release string) (GoToolchain, error) {
	cmd := exec.Command("go", "env", "GOROOT", "GOVERSION", "GOARCH")
	if release != "" {
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+release)
	}
	out, err := cmd.Output()
	if err != nil {
		return GoToolchain{}, err
	}
	f := strings.Fields(string(out))
	g := GoToolchain{Command: filepath.Join(f[0], "bin", "go"), Root: f[0], Version: f[1], Arch: f[2]}
	if release != "" {
		link := filepath.Join(javaDir, release)
		if err := os.Symlink(g.Root, link); err != nil && !errors.Is(err, os.ErrExist) {
			return g, err
		}
		g.Command, g.Root = filepath.Join(link, "bin", "go"), link
		g.Env = append(os.Environ(), "GOROOT="+link, "GOTOOLCHAIN=local")
	}
	return g, nil
}

var goPrograms sync.Map // of paths, by the name of the kind

// goBuild returns testdata/golang as a program.
func goBuild(t testing.TB, k goKind) string {
	t.Helper()
	if p, ok := goPrograms.Load(k.name); ok {
		return p.(string)
	}
	g, err := goToolOf(k.release)
	if err != nil {
		t.Fatal(err)
	}
	if k.arch != "" {
		g.Arch, k.env = k.arch, append(k.env, "GOARCH="+k.arch)
	}
	var o GoOverlay
	if k.portable {
		o, err = goPortable(g)
	} else {
		o, err = goScheduler(g)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(javaDir, "golang-"+k.name)
	overlay := goOverlay(t, g, o, dir)
	program := filepath.Join(dir, "program")
	cmd := exec.Command(g.Command, slices.Concat([]string{"build", "-overlay", overlay, "-o", program}, k.args, []string{"."})...)
	cmd.Dir = filepath.Join("testdata/golang", k.folder)
	cmd.Env = slices.Concat(os.Environ(), g.Env, []string{"GOFLAGS=", "GOWORK=off"}, k.env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	goPrograms.Store(k.name, program)
	return program
}

// goOverlay writes an overlay and returns the file for the go command.
func goOverlay(t testing.TB, g GoToolchain, o GoOverlay, dir string) string {
	t.Helper()
	replace, err := o.Write(g.Root, filepath.Join(dir, "overlay"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

var goKinds = []goKind{{name: "scheduler"}, {name: "portable", portable: true}}

// goEach runs a test with both implementations.
func goEach(t *testing.T, test func(t *testing.T, k goKind)) {
	for _, k := range goKinds {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// strand is a goroutine of a process, or of the program it has become.
type strand struct {
	pid, image uint32
	id         uint64
}

type goEvent struct {
	at   checkpoint.Tick
	kind checkpoint.Kind
	site checkpoint.SiteID
	tid  uint32
}

// skew is by how many ticks the counters of two processors may differ, between which a thread moves: some 20 us. A
// stamp of another moment is further off.
const skew = 1 << 16

// goOutcome is what a program did and reported.
type goOutcome struct {
	stdout, stderr string
	status         int
	lost, waits    uint64
	strands        map[strand][]goEvent // in the order of time
	threads        map[checkpoint.Thread]bool
	left           int                          // words that say that a thread leaves its goroutine
	backwards      int                          // words whose tick is before that of their thread's word before, by more than skew
	added          map[checkpoint.SiteID]uint64 // calls that the program has added up
}

// goRun runs a program with a channel; one that says ready is killed then.
func goRun(t testing.TB, k goKind, prepare func(*checkpoint.Channel), args ...string) goOutcome {
	t.Helper()
	program := goBuild(t, k)
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	channel.ReserveNumbers(100) // the program's numbers do not begin at 1
	base, err := channel.Number("m", "main.go", "lines", 16)
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(channel)
	}
	channel.WriteWords()
	o := goOutcome{strands: map[strand][]goEvent{}, threads: map[checkpoint.Thread]bool{},
		added: map[checkpoint.SiteID]uint64{}}
	on := map[checkpoint.Thread]strand{}
	last := map[checkpoint.Thread]checkpoint.Tick{}
	images := map[uint32]uint32{}
	fold := func(r checkpoint.Run) int {
		if r.Tally != nil {
			for _, w := range r.Tally.Windows {
				for _, p := range w.Parts {
					o.added[r.Tally.Nodes[p.Node].Site-checkpoint.SiteID(base)] += p.Calls
				}
			}
			return len(r.Tally.Windows)
		}
		if !r.Strands || r.Added == k.portable {
			t.Errorf("%v: words of no strands, or in no tree: %v, %v", r.Thread, r.Strands, r.Added)
		}
		o.threads[r.Thread] = true
		if len(r.Words) > 0 && r.Cost <= 0 {
			t.Errorf("%v: it does not say what an event costs", r.Thread)
		}
		if r.Image {
			images[r.Thread.PID]++
		}
		if r.First {
			delete(on, r.Thread)
			last[r.Thread] = r.Start
		}
		for i := 0; i < len(r.Words); i++ {
			w := r.Words[i]
			kind, site := w.Kind(), w.Site()
			at := w.Tick(channel.Clock().Now() + skew)
			if at+skew < last[r.Thread] {
				o.backwards++
			}
			last[r.Thread] = at
			if kind == checkpoint.Strand {
				var rest checkpoint.Word
				if w.IsWide() {
					if i+1 == len(r.Words) {
						return i
					}
					i++
					rest = r.Words[i]
				}
				id := w.StrandID(rest)
				if id == 0 {
					o.left++
				}
				on[r.Thread] = strand{r.Thread.PID, images[r.Thread.PID], id}
				continue
			}
			s := on[r.Thread]
			if s.id == 0 {
				t.Fatalf("%v: %v of %d on no strand", r.Thread, kind, site)
			}
			o.strands[s] = append(o.strands[s], goEvent{at, kind, site - checkpoint.SiteID(base), r.Thread.TID})
		}
		return len(r.Words)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "CG_CHANNEL="+channel.Path(), fmt.Sprintf("KEY=%d", checkpoint.FileKey("m", "main.go", "lines")))
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var stdout strings.Builder
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&stdout, lines.Text())
			if lines.Text() == "ready" {
				cmd.Process.Kill()
			}
		}
		done <- cmd.Wait()
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(2 * time.Minute)
wait:
	for {
		select {
		case err = <-done:
			break wait
		case <-tick.C:
			channel.Drain(fold)
		case <-limit:
			cmd.Process.Kill()
			t.Fatal("the program does not end")
		}
	}
	channel.Finish(fold)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if o.status = exit.ExitCode(); o.status < 0 {
			o.status = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	} else if err != nil {
		t.Fatal(err)
	}
	for _, events := range o.strands {
		sort.SliceStable(events, func(i, j int) bool { return events[i].at < events[j].at })
	}
	o.stdout, o.stderr = stdout.String(), errs.String()
	for site, n := range o.added {
		if words := uint64(o.calls(site)); site > 0 && site < 16 && words != n && channel.Lost() == 0 {
			t.Errorf("site %d: %d calls were added up, and %d are words", site, n, words)
		}
	}
	if len(o.added) == 0 == (!k.portable && len(o.strands) > 0) || channel.RefusedTrees() != 0 {
		t.Errorf("%d sites were added up, %d trees refused", len(o.added), channel.RefusedTrees())
	}
	o.lost, o.waits = channel.Lost(), channel.Waits()
	return o
}

// calls counts the enters of a site.
func (o goOutcome) calls(site checkpoint.SiteID) int {
	n := 0
	for _, events := range o.strands {
		for _, e := range events {
			if e.kind == checkpoint.Enter && e.site == site {
				n++
			}
		}
	}
	return n
}

// nested counts the frames that are open in the end, and fails on an exit that
// is not of the innermost one.
func (o goOutcome) nested(t *testing.T) (open int) {
	t.Helper()
	wrong := 0
	for _, events := range o.strands {
		var stack []checkpoint.SiteID
		for _, e := range events {
			if e.kind == checkpoint.Enter {
				stack = append(stack, e.site)
				continue
			}
			if n := len(stack); n == 0 || stack[n-1] != e.site {
				wrong++
				continue
			}
			stack = stack[:len(stack)-1]
		}
		open += len(stack)
	}
	if wrong != 0 {
		t.Errorf("%d exits are not of the innermost frame", wrong)
	}
	return open
}

func (o goOutcome) quiet(t *testing.T, stdout string, status int) {
	t.Helper()
	if o.stdout != stdout || o.status != status || status == 0 && o.stderr != "" {
		t.Errorf("status %d, stdout %q, stderr %q; want %d, %q", o.status, o.stdout, o.stderr, status, stdout)
	}
	if o.lost != 0 {
		t.Errorf("%d events lost", o.lost)
	}
	if o.backwards != 0 {
		t.Errorf("the ticks of %d words ran backwards", o.backwards)
	}
}

// What each program tells: the calls of its sites, and the frames that it
// leaves open.
func TestGoPrograms(t *testing.T) {
	for _, c := range []struct {
		args   []string
		stdout string
		status int
		calls  map[checkpoint.SiteID]int
		open   int
	}{
		{args: []string{"counts"}, stdout: "-497890\n", calls: map[checkpoint.SiteID]int{1: 1, 2: 1973, 3: 1000}},
		{args: []string{"unknown"}, calls: map[checkpoint.SiteID]int{1: 1, 2: 1}},
		{args: []string{"many", "5000"}, calls: map[checkpoint.SiteID]int{1: 1, 2: 5000, 4: 5000}},
		// A panic that nobody recovers runs the deferred exits.
		{args: []string{"panic", "3"}, status: 2, calls: map[checkpoint.SiteID]int{1: 1, 2: 5, 4: 7}},
		{args: []string{"goexit"}, calls: map[checkpoint.SiteID]int{1: 1, 4: 1}},
		{args: []string{"ready", "100000"}, stdout: "ready\n", status: 137, calls: map[checkpoint.SiteID]int{1: 1, 3: 100000, 4: 1}, open: 2},
		{args: []string{"child", "2"}, calls: map[checkpoint.SiteID]int{1: 3, 2: 45}},
		{args: []string{"exec"}, stdout: "-497890\n", calls: map[checkpoint.SiteID]int{1: 2, 2: 1973 + 15, 3: 1000, 4: 1}, open: 2},
		{args: []string{"pull", "3000"}, stdout: "8000\n", calls: map[checkpoint.SiteID]int{1: 1, 2: 5000, 3: 3000, 4: 1}},
		{args: []string{"locked", "200"}, calls: map[checkpoint.SiteID]int{1: 1, 2: 1000, 4: 200}},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			goEach(t, func(t *testing.T, k goKind) {
				o := goRun(t, k, nil, c.args...)
				o.quiet(t, c.stdout, c.status)
				for site, want := range c.calls {
					if got := o.calls(site); got != want {
						t.Errorf("site %d: %d calls, want %d", site, got, want)
					}
				}
				if open := o.nested(t); open != c.open {
					t.Errorf("%d frames are open, want %d", open, c.open)
				}
			})
		})
	}
}

// 64 goroutines on four processors: every goroutine's events are nested.
func TestGoMigration(t *testing.T) {
	goEach(t, func(t *testing.T, k goKind) {
		per := 16_000
		if k.portable {
			per = 2000
		}
		o := goRun(t, k, nil, "migrate", fmt.Sprint(per))
		o.quiet(t, "", 0)
		if open := o.nested(t); open != 0 {
			t.Errorf("%d frames are open", open)
		}
		events, moved := 0, 0
		for _, s := range o.strands {
			events += len(s)
			for i := 1; i < len(s); i++ {
				if s[i].tid != s[i-1].tid {
					moved++
				}
			}
		}
		t.Logf("%d events of %d goroutines on %d threads, %d moves, %d departures told", events, len(o.strands), len(o.threads), moved, o.left)
		if events < 64*per || len(o.strands) < 65 || moved == 0 {
			t.Errorf("%d events, %d goroutines, %d moves", events, len(o.strands), moved)
		}
		if !k.portable && o.left < moved {
			t.Errorf("%d departures told of %d", o.left, moved)
		}
	})
}

// 256 goroutines on 64 processors and more threads: the ticks of no thread run backwards.
func TestGoCrowd(t *testing.T) { goEach(t, goCrowd) }

func goCrowd(t *testing.T, k goKind) {
	per := 2000
	if k.portable {
		per = 200
	}
	o := goRun(t, k, nil, "crowd", fmt.Sprint(per))
	o.quiet(t, "", 0)
	if open := o.nested(t); open != 0 || len(o.strands) < 257 {
		t.Errorf("%d frames are open, %d goroutines", open, len(o.strands))
	}
	t.Logf("%d goroutines on %d threads", len(o.strands), len(o.threads))
}

// The probe lets this toolchain through, keeps what it found, and falls back in
// one line where the scheduler's source is another.
func TestGoProbe(t *testing.T) {
	g, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	cache := Cache{Dir: t.TempDir()}
	o, err := Golang(context.Background(), g, cache, t.TempDir())
	if err != nil || o.Reason != "" || !o.Scheduler {
		t.Fatalf("%v, %q", err, o.Reason)
	}
	g.Command = "/none" // not asked again
	if _, err := Golang(context.Background(), g, cache, t.TempDir()); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct{ source, want string }{
		"gone":   {"package runtime\n", "no execute"},
		"other":  {"package runtime\nfunc execute() { f() }\n", "does not end with a jump"},
		"broken": {"package", "expected"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := goInsert{"proc.go", "execute", goJump, "x; "}.into([]byte(c.source))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestGoProbeFaults: what the toolchain itself says of the checkpoints is kept, and
// a fault that passes is not.
func TestGoProbeFaults(t *testing.T) {
	const works = "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && printf '#!/bin/sh\\n%s\\n' \"$RUN\" >$2 && chmod +x $2; shift; done\n"
	for _, c := range []struct {
		name, tool, run, want string
		kept                  bool
	}{
		{"works", works, "exit 0", "", true},
		{"compiler", "#!/bin/sh\necho '# runtime' >&2\necho '/go/src/runtime/proc.go:7:2: undefined: x' >&2\nexit 1\n", "", "proc.go:7:2: undefined: x", true},
		{"linker", "#!/bin/sh\necho 'runtime.f: relocation target runtime.g not defined' >&2\nexit 1\n", "", "relocation target runtime.g not defined", true},
		{"crash", works, "echo 'fatal error: schedule' >&2; exit 2", "fatal error: schedule", true},
		{"segment", works, "kill -SEGV $$", "segmentation fault", true},
		{"disk", "#!/bin/sh\necho '/go/src/runtime/proc.go:7:2: write /tmp/x.o: no space left on device' >&2\nexit 1\n", "", "no space left", false},
		{"disk of the linker", "#!/bin/sh\necho 'unexpected fault address 0x7f0000000000' >&2\necho 'fatal error: fault' >&2\necho '[signal SIGBUS: bus error code=0x2 addr=0x7f pc=0x4]' >&2\necho 'cmd/link/internal/ld/data.go:1187 +0x1b' >&2\nexit 1\n", "", "unexpected fault", false},
		{"emptied build cache", "#!/bin/sh\necho '/go/src/fmt/print.go:8:2: could not import errors (open /c/go-build/1-d: no such file or directory)' >&2\nexit 1\n", "", "no such file", false},
		{"memory", "#!/bin/sh\necho 'runtime/proc.go:7: fatal error: runtime: out of memory' >&2\nexit 1\n", "", "out of memory", false},
		{"remote disk", "#!/bin/sh\necho '/go/src/runtime/proc.go:7:2: read /go/src/runtime/proc.go: stale NFS file handle' >&2\nexit 1\n", "", "stale NFS", false},
		{"folder", "#!/bin/sh\necho 'go: creating work dir: permission denied' >&2\nexit 1\n", "", "permission denied", false},
		{"compiler killed", "#!/bin/sh\necho 'go build runtime: /go/pkg/tool/compile: signal: killed' >&2\nexit 1\n", "", "signal: killed", false},
		{"killed", "#!/bin/sh\nkill -9 $$\n", "", "signal: killed", false},
		{"program killed", works, "kill -9 $$", "signal: killed", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache, dir := Cache{Dir: t.TempDir()}, t.TempDir()
			tool := filepath.Join(dir, "go")
			if err := os.WriteFile(tool, []byte(c.tool), 0o700); err != nil {
				t.Fatal(err)
			}
			g := GoToolchain{Command: tool, Root: dir, Version: "go1.26.0", Arch: "amd64", Env: append(os.Environ(), "RUN="+c.run)}
			probe := func() string {
				if err := g.probe(context.Background(), GoOverlay{}, cache, t.TempDir(), ""); err != nil {
					return err.Error()
				}
				return ""
			}
			got := probe()
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			g.Command = "/none"
			if again := probe(); (again == got) != c.kept {
				t.Errorf("afterwards %q", again)
			}
			if kept, err := os.ReadDir(cache.Dir); err != nil || (len(kept) == 1) != c.kept {
				t.Errorf("%v, %v", kept, err)
			}
		})
	}
}

// watts is a sensor of a machine that draws the same power all the time.
type watts float64

func (watts) Domains() []nemb.Domain {
	return []nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}}
}

func (w watts) Read(dst []nemb.Energy) error {
	dst[0] = nemb.Energy(float64(w) * float64(checkpoint.Monotime()) * 1e-3)
	return nil
}

func (watts) Close() error { return nil }

// goMeasure measures a program at 10 W.
func goMeasure(t testing.TB, k goKind, env []string, args ...string) (o *measure.Outcome, cost func(site int) attribute.Cost) {
	t.Helper()
	goMeasured(t, k, env, 0, func(c *checkpoint.Channel, outcome *measure.Outcome) {
		base, err := c.Number("m", "main.go", "lines", 16)
		if err != nil {
			t.Fatal(err)
		}
		o, cost = outcome, func(site int) attribute.Cost {
			for _, c := range outcome.Attributed.Costs {
				if int(c.Site) == base+site {
					return c
				}
			}
			t.Errorf("site %d has no cost", site)
			return attribute.Cost{}
		}
	}, args...)
	return o, cost
}

// goMeasured measures a program at 10 W and looks at what came of it while the
// channel is there.
func goMeasured(t testing.TB, k goKind, env []string, status int, look func(*checkpoint.Channel, *measure.Outcome), args ...string) {
	t.Helper()
	channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	if _, err := channel.Number("m", "main.go", "lines", 16); err != nil {
		t.Fatal(err)
	}
	account := account.New()
	defer account.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	o, err := measure.Run(measure.Config{
		Command: launcher.Cmd{Args: append([]string{goBuild(t, k)}, args...), Stdin: null, Stdout: null, Stderr: os.Stderr, Pty: launcher.Never,
			Env: slices.Concat(os.Environ(), env, []string{"CG_CHANNEL=" + channel.Path(), fmt.Sprintf("KEY=%d", checkpoint.FileKey("m", "main.go", "lines"))})},
		Sensors: []nemb.Sensor{watts(10)}, Account: account, Interval: 10 * time.Millisecond, Channel: channel,
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Result.Status != status || o.Lost != 0 || !o.Attributed.Total.Balanced() {
		t.Errorf("status %d, %d lost, %+v", o.Result.Status, o.Lost, o.Attributed.Total)
	}
	look(channel, o)
}

// The side that waits gets no energy, wherever the two run. Without the
// scheduler nobody tells when a thread leaves a goroutine.
func TestGoBlocked(t *testing.T) {
	for _, k := range goKinds[:1] {
		for _, procs := range []string{"1", "2"} {
			o, cost := goMeasure(t, k, []string{"GOMAXPROCS=" + procs}, "blocked", "20")
			produce, consume := cost(4), cost(5)
			t.Logf("GOMAXPROCS=%s: produce %v %v, consume %v %v, suspended %v; %+v", procs, produce.Self.Energy, produce.CPUTime, consume.Self.Energy, consume.CPUTime, consume.Suspended, o.Attributed.Stats)
			if consume.Self.Energy*50 > produce.Self.Energy {
				t.Errorf("GOMAXPROCS=%s: the consumer has %d uJ, the producer %d", procs, consume.Self.Energy, produce.Self.Energy)
			}
			if s := o.Attributed.Stats; s.Unwound+s.Closed != 0 {
				t.Errorf("%+v", s)
			}
			// One of the two consumers waits for ever.
			if consume.Suspended < 600*time.Millisecond || consume.Suspended > 2*o.Attributed.Wall {
				t.Errorf("GOMAXPROCS=%s: %+v", procs, consume)
			}
		}
	}
}

// The tests of a package are tasks: each with its name, how often and how long
// it ran, and the goroutines that it started.
func TestGoTesting(t *testing.T) {
	long.Skip(t, "")
	g, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range goKinds {
		t.Run(k.name, func(t *testing.T) {
			o, err := goScheduler(g)
			if k.portable {
				o, err = goPortable(g)
			}
			if err != nil {
				t.Fatal(err)
			}
			o, reason, err := o.WithTests(context.Background(), g, Cache{}, t.TempDir())
			if err != nil || reason != "" {
				t.Fatal(err, reason)
			}
			dir := t.TempDir()
			program := filepath.Join(dir, "tests.test")
			cmd := exec.Command(g.Command, "test", "-vet=off", "-overlay", goOverlay(t, g, o, dir), "-c", "-o", program, ".")
			cmd.Dir, cmd.Env = "testdata/golang/tests", append(os.Environ(), "GOFLAGS=", "GOWORK=off")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go test: %v\n%s", err, out)
			}
			goPrograms.Store("tests-"+k.name, program)
			spans, found := goSpans(t, goKind{name: "tests-" + k.name}, []string{"GOMAXPROCS=2"}, "-test.bench=.", "-test.benchtime=20ms", "-test.count=2")
			for name, want := range map[string]int{
				"TestBurns": 2, "TestSleeps": 2, "TestStarts": 2, "TestSubs": 2, "TestSubs/a_b": 2, "TestSubs/c": 2, "TestSubs/serial": 2,
				"TestSkips": 2, "Example_burns": 1, "FuzzSeeds": 2, "FuzzSeeds/seed#0": 2,
				"BenchmarkN-2": 2, "BenchmarkLoop-2": 2, "BenchmarkParallel-2": 2, "BenchmarkSubs/x-2": 2,
			} {
				if len(found[name]) != want {
					t.Errorf("%s: %d tasks, want %d", name, len(found[name]), want)
				}
				delete(found, name)
			}
			for name := range found {
				t.Errorf("%s is a task", name)
			}
			for _, s := range spans {
				t.Logf("%-24s %d x %v: %v of processor, %v on threads, %v away, %d uJ", s.name, s.Iterations, s.Took, s.CPUTime, s.InclusiveTime, s.Suspended, s.Inclusive.Energy)
				per := s.Took / time.Duration(max(1, s.Iterations))
				if s.name == "TestSubs/a_b" || s.name == "TestSubs/c" { // parallel: they wait for the one that is not
					if s.Paused == 0 || s.Continued-s.Paused < checkpoint.Instant(10*time.Millisecond) || time.Duration(s.Continued-s.Paused) > s.Took {
						t.Errorf("%s waits from %d to %d of %v", s.name, s.Paused, s.Continued, s.Took)
					}
				} else if s.Paused != 0 || s.Continued != 0 {
					t.Errorf("%s waits from %d to %d", s.name, s.Paused, s.Continued)
				}
				timed := s.name == "BenchmarkN-2" || s.name == "BenchmarkLoop-2"
				switch {
				case s.home != "example.com/tests":
					t.Errorf("%s is at home in %q", s.name, s.home)
				case s.Bench && s.Iterations < 2 || timed && per < 20*time.Microsecond:
					t.Errorf("%s: %d in %v", s.name, s.Iterations, s.Took)
				// What it did is what it was there for: less by what its own end took.
				case timed && (s.InclusiveTime+s.Suspended)*2 < s.Took || s.name == "TestBurns" && s.InclusiveTime*2 < s.Took:
					t.Errorf("%s: %v on threads of %v", s.name, s.InclusiveTime, s.Took)
				case s.name == "TestSleeps" && !k.portable && s.Suspended*2 < s.Took:
					t.Errorf("a test that sleeps is there for %v, and away for %v", s.InclusiveTime, s.Suspended)
				case s.name == "TestStarts" && !k.portable && s.InclusiveTime*2 < s.Took:
					t.Errorf("what a test starts is not its: %v", s.InclusiveTime)
				case s.name == "BenchmarkParallel-2" && !k.portable && s.InclusiveTime*2 < time.Duration(s.Iterations)*20*time.Microsecond:
					t.Errorf("%d parallel iterations took %v on threads", s.Iterations, s.InclusiveTime)
				}
			}
		})
	}
}

// goSpan is a task that counts.
type goSpan struct {
	name, home string
	instrument.Span
	attribute.Cost
}

// goSpans measures a program and returns its tasks, also by name.
func goSpans(t *testing.T, k goKind, env []string, args ...string) (spans []goSpan, names map[string][]goSpan) {
	t.Helper()
	names = map[string][]goSpan{}
	server := &instrument.Server{Language: "go"}
	if err := server.Listen(filepath.Join(t.TempDir(), "server")); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	goMeasured(t, k, env, 0, func(c *checkpoint.Channel, o *measure.Outcome) {
		server.Channel = c
		told, sites := server.Spans(), server.Sites()
		costs := map[checkpoint.SiteID]attribute.Cost{}
		for _, c := range o.Attributed.Costs {
			costs[c.Site] = c
		}
		if s := o.Attributed.Stats; s.Unwound+s.Closed != 0 {
			t.Errorf("%+v", s)
		}
		for id, span := range told {
			if span.Bench && span.Iterations == 0 {
				continue
			}
			s := goSpan{sites[id-1].Func, sites[id-1].File, span, costs[id]}
			spans = append(spans, s)
			names[s.name] = append(names[s.name], s)
		}
	}, args...)
	return spans, names
}

// However a program is built, it tells the same.
func TestGoBuilds(t *testing.T) {
	long.Skip(t, "")
	for _, k := range []goKind{
		{name: "race", args: []string{"-race"}, env: []string{"CGO_ENABLED=1"}},
		{name: "race-portable", portable: true, args: []string{"-race"}, env: []string{"CGO_ENABLED=1"}},
		{name: "cover", args: []string{"-cover"}},
		{name: "no-cgo", env: []string{"CGO_ENABLED=0"}},
		{name: "cgo", args: []string{"-tags", "netcgo"}, env: []string{"CGO_ENABLED=1"}},
		{name: "external", args: []string{"-ldflags=-linkmode=external"}, env: []string{"CGO_ENABLED=1"}},
		{name: "static", args: []string{"-ldflags=-linkmode=external -extldflags=-static"}, env: []string{"CGO_ENABLED=1"}},
		{name: "pie", args: []string{"-buildmode=pie"}},
		{name: "trimpath", args: []string{"-trimpath"}},
		{name: "stripped", args: []string{"-ldflags=-s -w"}},
		{name: "no-optimizing", args: []string{"-gcflags=all=-N -l"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			if slices.Contains(k.env, "CGO_ENABLED=1") {
				compiler(t)
			}
			if strings.HasPrefix(k.name, "cover") {
				t.Setenv("GOCOVERDIR", t.TempDir())
			}
			goSame(t, k)
			if !k.portable {
				f := newGoTrees(t, 1<<16, 16)
				f.keepTo(100)
				if s := f.run(t, k, nil, "counts"); s.calls(2) != 1973 || s.calls(3) != 1000 || s.events != 2*2974 {
					t.Errorf("with a budget: %d and %d calls, %d events", s.calls(2), s.calls(3), s.events)
				}
			}
			if strings.HasPrefix(k.name, "race") {
				goCrowd(t, k)
				// What has no order but that of its checkpoints is a race.
				if o := goRun(t, k, nil, "race"); o.status != 66 || !strings.Contains(o.stderr, "DATA RACE") {
					t.Errorf("status %d: %s", o.status, o.stderr)
				}
			}
		})
	}
}

// goSame runs what tells whether a program was built right.
func goSame(t *testing.T, k goKind) {
	o := goRun(t, k, nil, "counts")
	o.quiet(t, "-497890\n", 0)
	if o.calls(2) != 1973 || o.calls(3) != 1000 || o.nested(t) != 0 {
		t.Errorf("%d and %d calls", o.calls(2), o.calls(3))
	}
	o = goRun(t, k, nil, "migrate", "500")
	o.quiet(t, "", 0)
	if o.nested(t) != 0 || o.calls(4) == 0 {
		t.Error("migrate")
	}
	o = goRun(t, k, nil, "pull", "3000")
	o.quiet(t, "8000\n", 0)
	if o.nested(t) != 0 || o.calls(2) != 5000 {
		t.Errorf("pull: %d calls", o.calls(2))
	}
}

// The release before this one, which the go command gets. CG_GO names others.
func TestGoReleases(t *testing.T) {
	long.Skip(t, "another release of Go compiles its library four times")
	for _, release := range append([]string{"go1.25.5"}, strings.Fields(os.Getenv("CG_GO"))...) {
		t.Run(release, func(t *testing.T) {
			g, err := goToolOf(release)
			if err != nil {
				if os.Getenv("CI") != "true" {
					t.Skipf("%s cannot be had here: %v", release, err)
				}
				t.Fatal(err)
			}
			o, err := Golang(context.Background(), g, Cache{}, t.TempDir())
			if err != nil || o.Reason != "" {
				t.Fatal(err, o.Reason)
			}
			if _, reason, err := o.WithTests(context.Background(), g, Cache{}, t.TempDir()); err != nil || reason != "" {
				t.Error(err, reason)
			}
			goSame(t, goKind{name: release, release: release})
			goSame(t, goKind{name: release + "-portable", release: release, portable: true})
		})
	}
}

// A reader that is behind is waited for: nothing is lost, and the program's
// other goroutines go on.
func TestGoWaits(t *testing.T) {
	goEach(t, func(t *testing.T, k goKind) {
		n := 100_000
		if k.portable {
			n = 20_000
		}
		o := goRun(t, k, nil, "overload", fmt.Sprint(n))
		o.quiet(t, "", 0)
		if got := o.calls(3); got != 50*n || o.nested(t) != 0 {
			t.Errorf("%d calls, want %d", got, 50*n)
		}
		t.Logf("%d waits", o.waits)
	})
}

// BenchmarkGo gives what checkpoints cost in nanoseconds: the least means of
// rounds that take turns with an empty call, a reading of the clock, time.Since
// and a defer in a loop. An operation of "none" has no channel.
func BenchmarkGo(b *testing.B) {
	if a := runtime.GOARCH; a != "amd64" && a != "arm64" {
		b.Skip("the reference reads a counter that " + a + " has not")
	}
	for _, k := range append([]goKind{{name: "none"}}, goKinds...) {
		b.Run(k.name, func(b *testing.B) {
			rounds := fmt.Sprint(300 * b.N)
			var out string
			if k.name == "none" {
				text, err := exec.Command(goBuild(b, goKinds[0]), "bench", rounds).Output()
				if err != nil {
					b.Fatal(err)
				}
				out = string(text)
			} else {
				out = goRun(b, k, nil, "bench", rounds).stdout
			}
			for line := range strings.Lines(out) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				ns, err := strconv.ParseFloat(value, 64)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(ns, name+"-ns")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The other architecture is assembled and linked.
func TestGoArchitectures(t *testing.T) {
	g, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if arch == g.Arch {
			continue
		}
		g.Arch = arch
		overlays := map[string]func(GoToolchain) (GoOverlay, error){"scheduler": goScheduler}
		if !long.Without(t, "the portable runtime, which has nothing of an architecture") {
			overlays["portable"] = goPortable
		}
		for name, overlay := range overlays {
			o, err := overlay(g)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			cmd := exec.Command(g.Command, "build", "-overlay", goOverlay(t, g, o, dir), "-o", filepath.Join(dir, "program"), ".")
			cmd.Dir, cmd.Env = "testdata/golang", append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOARCH="+arch, "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s/%s: %v\n%s", arch, name, err, out)
			}
		}
	}
}

// A program whose reader has gone, or that has no channel, or one of another
// version, does what it does without cg.
func TestGoWithoutReader(t *testing.T) {
	goEach(t, func(t *testing.T, k goKind) {
		program := goBuild(t, k)
		run := func(path string, args ...string) string {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, args...)
			cmd.Env = append(os.Environ(), "CG_CHANNEL="+path, fmt.Sprintf("KEY=%d", checkpoint.FileKey("m", "main.go", "lines")))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v", args[0], err)
			}
			return string(out)
		}
		other := filepath.Join(t.TempDir(), "other")
		if err := os.WriteFile(other, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"", "/none", other, "/dev/null"} {
			if out := run(path, "counts"); out != "-497890\n" {
				t.Errorf("%q: %q", path, out)
			}
		}
		channel, err := checkpoint.New(checkpoint.SystemClock(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := channel.Number("m", "main.go", "lines", 16); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/proc/%d/fd/%s", os.Getpid(), filepath.Base(channel.Path()))
		held, err := os.OpenFile(path, os.O_RDWR, 0) // the file outlives the channel
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		time.AfterFunc(100*time.Millisecond, func() { channel.Close() })
		// More than fits: it waits until it sees that nobody reads.
		if out := run(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), held.Fd()), "overload", "200000"); out != "" {
			t.Errorf("%q", out)
		}
	})
}

// With fewer chunks than threads, what is not written is counted. What is added up
// is whole.
func TestGoLoses(t *testing.T) {
	goEach(t, func(t *testing.T, k goKind) {
		program := goBuild(t, k)
		channel, err := checkpoint.New(checkpoint.SystemClock(), 2)
		if err != nil {
			t.Fatal(err)
		}
		defer channel.Close()
		if _, err := channel.Number("m", "main.go", "lines", 16); err != nil {
			t.Fatal(err)
		}
		channel.WriteWords()
		cmd := exec.Command(program, "threads", "6")
		cmd.Env = append(os.Environ(), "CG_CHANNEL="+channel.Path(), fmt.Sprintf("KEY=%d", checkpoint.FileKey("m", "main.go", "lines")))
		events, told, added := 0, uint64(0), uint64(0)
		fold := func(r checkpoint.Run) int {
			if r.Tally != nil {
				added += r.Tally.Events
				return len(r.Tally.Windows)
			}
			for _, w := range r.Words {
				if w.Site() != 0 && w.Kind() != checkpoint.Strand {
					events++
				}
			}
			told += r.Lost
			return len(r.Words)
		}
		done := make(chan error, 1)
		go func() { out, err := cmd.CombinedOutput(); t.Log(string(out)); done <- err }()
		for open := true; open; {
			select {
			case err := <-done:
				if open = false; err != nil {
					t.Error(err)
				}
			case <-time.After(time.Millisecond):
				channel.Drain(fold)
			}
		}
		channel.Finish(fold)
		const want = 2 + 6*2*1000
		if channel.Lost() == 0 || uint64(events)+channel.Lost() != want {
			t.Errorf("%d written and %d lost, want %d together", events, channel.Lost(), want)
		}
		if added != want && !k.portable {
			t.Errorf("%d events added up, want %d", added, want)
		}
	})
}

// Threads of C call Go, with frames of Go below and without, and end.
func TestGoCallsFromC(t *testing.T) {
	compiler(t)
	for _, k := range goKinds {
		t.Run(k.name, func(t *testing.T) {
			o := goRun(t, goKind{name: "cgo-" + k.name, portable: k.portable, folder: "cgo", env: []string{"CGO_ENABLED=1"}}, nil)
			o.quiet(t, "", 0)
			if o.nested(t) != 0 || o.calls(4) != 20*4*100 || o.calls(5) != 20*4*10 {
				t.Errorf("%d and %d calls", o.calls(4), o.calls(5))
			}
			t.Logf("%d threads", len(o.threads))
		})
	}
}

// Where the scheduler does not take checkpoints, another implementation takes
// their place and says so in a line: here on a processor of 32 bits.
func TestGoFallback(t *testing.T) {
	g, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	if g.Arch != "amd64" {
		t.Skip("only amd64 runs programs for 386")
	}
	g.Arch = "386"
	g.Env = append(os.Environ(), "CGO_ENABLED=0")
	o, err := Golang(context.Background(), g, Cache{}, t.TempDir())
	if err != nil || o.Scheduler || !strings.Contains(o.Reason, "not written for 386") || strings.Contains(o.Reason, "\n") {
		t.Fatalf("%v, %q", err, o.Reason)
	}
	goSame(t, goKind{name: "386", portable: true, arch: "386", env: []string{"CGO_ENABLED=0"}})
}

// TestGolangAlone runs the tests of the package that a saved tree has, in Go. The other
// architecture is compiled.
func TestGolangAlone(t *testing.T) {
	dir := t.TempDir()
	files, err := GolangAlone("codegreen")
	if err != nil {
		t.Fatal(err)
	}
	if files["alone_test.go"], err = os.ReadFile("testdata/golang/_alone/alone_test.go"); err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = []byte("module codegreen\n\ngo 1.25.0\n")
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ env, args string }{
		{"GOARCH=" + runtime.GOARCH, "test -count=1 ./..."},
		{"GOARCH=" + runtime.GOARCH, "vet ./..."},
		{"GOARCH=arm64", "build ./..."},
	} {
		cmd := exec.Command("go", strings.Fields(c.args)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CODEGREEN_REPORTER=", "GOWORK=off", "CGO_ENABLED=0", c.env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s go %s: %v\n%s", c.env, c.args, err, out)
		}
	}
}

// TestGolangCompiler: it is built once for each toolchain, in its own modules.
func TestGolangCompiler(t *testing.T) {
	g, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	cache := Cache{Dir: t.TempDir()}
	if p, err := GolangCompiler(context.Background(), GoToolchain{Command: "false", Version: g.Version, Root: g.Root}, cache); err == nil || p != "" || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q, %v", p, err)
	}
	g.Env = append(os.Environ(), "GOFLAGS=-mod=vendor -tags=x", "GO111MODULE=off")
	first, err := GolangCompiler(context.Background(), g, cache)
	if err != nil {
		t.Fatal(err)
	}
	g.Command = "/none"
	if again, err := GolangCompiler(context.Background(), g, cache); err != nil || again != first {
		t.Errorf("%q, %v", again, err)
	}
	if entries, err := os.ReadDir(cache.Dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	// Every other command, and what it compiles without checkpoints, runs as it is.
	out, err := exec.Command(first, t.TempDir(), "/bin/echo", "a", "b").CombinedOutput()
	if err != nil || string(out) != "a b\n" {
		t.Errorf("%q, %v", out, err)
	}
}
