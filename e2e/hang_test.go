package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/simulate"
	"cg/report"
)

// hanging is a machine of two packages, of 20 W and 10 W, whose counters a test
// holds: a reading does not come back before the test ends.
type hanging struct {
	tree  *simulate.Tree
	dir   string
	held  chan struct{} // something for each of the first readings that hang
	until chan struct{}
}

func hangingMachine(t *testing.T) *hanging {
	t.Helper()
	h := &hanging{dir: t.TempDir(), held: make(chan struct{}, 64), until: make(chan struct{})}
	var err error
	h.tree, err = simulate.Mount(h.dir, simulate.Machine{Cpuinfo: "processor\t: 0\n", Zones: []simulate.Zone{
		{Dir: firstZone, Name: "package-0", Counter: counter(20)}, {Dir: secondZone, Name: "package-1", Counter: counter(10)},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { close(h.until) })
	t.Cleanup(func() {
		release()
		h.tree.Close()
	})
	return h
}

func (h *hanging) hold(zones ...string) {
	fault := simulate.Fault{Hold: h.until, Held: func() {
		select {
		case h.held <- struct{}{}:
		default:
		}
	}}
	for _, zone := range zones {
		h.tree.Fault(zone, fault)
	}
}

func (h *hanging) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), append([]string{"--sysroot", h.dir}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

func ended(t *testing.T, err error) {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

const firstZone, secondZone = "intel-rapl:0", "intel-rapl:1"

// Every command ends where the counters hang from the start, and says so.
func TestHangingFromTheStart(t *testing.T) {
	script := filepath.Join(t.TempDir(), "hello.py")
	if err := os.WriteFile(script, []byte("print('hello')\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const first, second = `powercap: .*intel-rapl:0/energy_uj: no answer for 5s: it hangs`, `intel-rapl:1/energy_uj: no answer for 5s`
	for _, test := range []struct {
		name   string
		args   []string
		both   bool
		status int
		says   []string
	}{
		{"info", []string{"info"}, true, 0, []string{`^powercap +failed$`, `^ +` + first + `$`, `^energy +estimated$`}},
		{"info of one", []string{"info"}, false, 0, []string{`^powercap +present +package-1$`, `^ +` + first + `$`, `^energy +measured$`}},
		{"doctor", []string{"doctor"}, true, 1, []string{`^warning +powercap +` + first + `: runs go on without it`, second}},
		{"measure", []string{"measure", script}, true, 0, []string{
			`^hello$`, `sensor-hangs: powercap:\s+.*intel-rapl:0/energy_uj:\s+no\s+answer\s+for\s+5s`, `the\s+estimate\s+stands\s+in`,
		}},
		{"run", []string{"run", "-n", "2", "--", "true"}, true, 0, []string{`sensor-hangs`}},
		{"run of a sensor by name", []string{"run", "-n", "2", "-s", "powercap", "--", "true"}, true, 125, []string{
			`-s powercap: none of these can be read here: ` + first,
		}},
		{"track", []string{"track", "--tracker", "0.1,rapl", "-o", t.TempDir(), "--duration", "0.1"}, true, 1, []string{first}},
		{"track of one", []string{"track", "--tracker", "0.1,rapl", "-o", t.TempDir(), "--duration", "0.3"}, false, 0, []string{
			`goes without: ` + first, `rows in`,
		}},
		{"sampler", []string{"sampler", "-s", "powercap"}, true, 125, []string{first}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // they wait
			if test.args[0] == "measure" {
				python(t)
			}
			h := hangingMachine(t)
			h.hold(firstZone)
			if test.both {
				h.hold(secondZone)
			}
			cmd, out := h.command(test.args...)
			stdin, err := cmd.StdinPipe() // open, for the sampler
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended(t, cmd.Wait())
			if got := cmd.ProcessState.ExitCode(); got != test.status {
				t.Errorf("status %d, want %d", got, test.status)
			}
			for _, pattern := range test.says {
				mustMatch(t, out.String(), pattern)
			}
		})
	}
}

// A signal ends a command that waits for a counter at once, as always.
func TestSignalsWhileACounterHangs(t *testing.T) {
	python(t)
	script := filepath.Join(t.TempDir(), "never.py")
	if err := os.WriteFile(script, []byte("print('was started')\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args   []string
		signal syscall.Signal
		status int // -1 for the signal itself
	}{
		{[]string{"info"}, syscall.SIGTERM, -1},
		{[]string{"info"}, syscall.SIGINT, -1},
		{[]string{"doctor"}, syscall.SIGTERM, -1},
		{[]string{"measure", script}, syscall.SIGTERM, 143},
		{[]string{"measure", script}, syscall.SIGINT, 130},
		{[]string{"run", "--", "true"}, syscall.SIGTERM, 143},
	} {
		t.Run(strings.Join(test.args[:1], " ")+" "+test.signal.String(), func(t *testing.T) {
			t.Parallel()
			h := hangingMachine(t)
			h.hold(firstZone, secondZone)
			cmd, out := h.command(test.args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-h.held
			<-h.held // both packages are asked, and nothing came back
			cmd.Process.Signal(test.signal)
			ended(t, cmd.Wait())
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if got := cmd.ProcessState.ExitCode(); got != test.status || test.status < 0 && status.Signal() != test.signal {
				t.Errorf("%v, want %d\n%s", cmd.ProcessState, test.status, out)
			}
			if strings.Contains(out.String(), "no answer") || strings.Contains(out.String(), "was started") {
				t.Errorf("it went on:\n%s", out)
			}
		})
	}
}

// A counter that hangs while a program is measured: the program, its signals and
// the other counters go on, and the run ends with its report.
func TestHangingWhileMeasuring(t *testing.T) {
	python(t)
	script := filepath.Join(t.TempDir(), "wait.py")
	const text = "import sys\nprint('running', flush=True)\nsys.stdin.read()\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		signal syscall.Signal // 0 for none: the program ends by itself
		status int
		zones  []string
		known  bool // some energy after the first moment
	}{
		{"the program ends", 0, 0, []string{firstZone}, true},
		{"all counters", 0, 0, []string{firstZone, secondZone}, false},
		{"SIGTERM", syscall.SIGTERM, 143, []string{firstZone}, true},
		{"SIGINT", syscall.SIGINT, 130, []string{secondZone}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := hangingMachine(t)
			saved := filepath.Join(t.TempDir(), "run.json")
			cmd, out := h.command("measure", "-o", saved, script)
			stdin := startedBy(t, cmd)
			h.hold(test.zones...)
			for range test.zones { // each is read by the sampler, and then by itself
				<-h.held
				<-h.held
			}
			if test.signal != 0 {
				cmd.Process.Signal(test.signal)
			} else {
				stdin.Close()
			}
			ended(t, cmd.Wait())
			if got := shellStatus(cmd.ProcessState); got != test.status {
				t.Errorf("status %d, want %d\n%s", got, test.status, out)
			}
			b, err := os.ReadFile(saved)
			if err != nil {
				t.Fatal(err)
			}
			r, err := report.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if faults := r.Check(); len(faults) > 0 {
				t.Error(faults)
			}
			failed := 0
			for _, c := range r.Sampler.Counters {
				if c.State == "failed" {
					failed++
					if c.UnknownS <= 0 {
						t.Errorf("%+v", c)
					}
				}
			}
			if failed != len(test.zones) || r.Totals.HiJ != nil || r.Totals.Kind != nemb.Derived {
				t.Errorf("%d failed, %+v", failed, r.Totals)
			}
			warned := false
			for _, w := range r.Warnings {
				warned = warned || w.Slug == "counter-fault" && strings.Contains(w.Message, "had not answered for")
			}
			if !warned {
				w, _ := json.Marshal(r.Warnings)
				t.Errorf("warnings %s", w)
			}
			other := map[string]float64{firstZone: 10, secondZone: 20}[test.zones[0]]
			id := map[string]string{firstZone: "package-1", secondZone: "package-0"}[test.zones[0]]
			want, got := other*r.Totals.DurationS, r.Totals.Domains[id].Float()
			if test.known && (got < 0.8*want || got > 1.2*want) {
				t.Errorf("%s: %g J in %g s of %g W", id, got, r.Totals.DurationS, other)
			}
		})
	}
}

// startedBy starts a command and waits until its program says that it runs; the
// program ends with its standard input.
func startedBy(t *testing.T, cmd *exec.Cmd) io.Closer {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = nil
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if line, err := lines.ReadString('\n'); line != "running\n" {
		t.Fatalf("%q, %v\n%s", line, err, cmd.Stderr)
	}
	return stdin
}

// A counter that takes long to read: the true energy lies in the interval, which is
// as wide as its power in the time that the readings at both ends take.
func TestSlowCounterWidensTheInterval(t *testing.T) {
	t.Parallel()
	python(t)
	const delay = 700 * time.Millisecond
	script := filepath.Join(t.TempDir(), "work.py")
	text := "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	h := hangingMachine(t)
	h.tree.Fault(firstZone, simulate.Fault{Delay: delay})
	r, _, err := measured(t, "--sysroot", h.dir, script)
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.LoJ == nil || r.Totals.HiJ == nil || r.Totals.Kind != nemb.Measured || r.Meta.MeasurementQuality != "ok" {
		t.Fatalf("%+v, %s, %+v", r.Totals, r.Meta.MeasurementQuality, r.Warnings)
	}
	lo, hi, want := r.Totals.LoJ.Float(), r.Totals.HiJ.Float(), 30*r.Totals.DurationS
	if least := 2 * 2 * 20 * delay.Seconds() * 0.5; lo > want || hi < want || hi-lo < least {
		t.Errorf("[%g, %g] J of %g J: it should be wider than %g J", lo, hi, want, least)
	}
	for _, c := range r.Sampler.Counters {
		if slow := c.Domain == "package-0"; slow != (c.SlowestS >= delay.Seconds()) || c.State != "" || c.Failed > 0 {
			t.Errorf("%+v", c)
		}
	}
}

// A counter that hangs while it is recorded leaves empty cells, and a signal ends
// the recording.
func TestHangingWhileTracking(t *testing.T) {
	t.Parallel()
	h := hangingMachine(t)
	dir := t.TempDir()
	cmd, out := h.command("track", "--tracker", "0.05,rapl", "-o", dir, "-f", "1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for rows := 0; rows < 3; {
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			rows = bytes.Count(b, []byte("\n"))
		}
		time.Sleep(5 * time.Millisecond)
	}
	h.hold(firstZone)
	<-h.held
	cmd.Process.Signal(syscall.SIGTERM)
	ended(t, cmd.Wait())
	mustMatch(t, out.String(), `rows without a value: package-0_j: [0-9]+`)
	mustMatch(t, out.String(), `powercap: .*intel-rapl:0/energy_uj: no answer for 5s: it hangs`)
	if cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%v\n%s", cmd.ProcessState, out)
	}
}
