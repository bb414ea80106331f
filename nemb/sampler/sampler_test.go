package sampler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/counter"
	"cg/nemb/fixture"
	"cg/nemb/sensor"
	"cg/nemb/simulate"
)

// ramp is a sensor without files whose counter the test sets.
type ramp struct {
	mu    sync.Mutex
	raw   nemb.Energy
	err   error
	reads int
	every time.Duration
	block chan struct{} // a reading waits for it, unless it is nil
}

func (r *ramp) set(raw nemb.Energy, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw, r.err = raw, err
}

func (r *ramp) Every() time.Duration { return r.every }

func (r *ramp) Domains() []nemb.Domain {
	return []nemb.Domain{{ID: "gpu0", Kind: "gpu", Method: nemb.Measured, InTotal: true, Period: time.Millisecond, Lo: 1, Hi: 1}}
}

func (r *ramp) Read(dst []nemb.Energy) error {
	r.mu.Lock()
	block := r.block
	r.mu.Unlock()
	if block != nil {
		<-block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.err == nil {
		dst[0] = r.raw
	}
	return r.err
}

func (r *ramp) Close() error { return nil }

func machine(c simulate.Counter) simulate.Machine {
	return simulate.Machine{Zones: []simulate.Zone{{Dir: "intel-rapl:0", Name: "package-0", Counter: c}}}
}

func openOne(t testing.TB, root nemb.Root) nemb.Sensor {
	t.Helper()
	found, err := nemb.Discover(root, []string{"powercap"})
	if err != nil || len(found.Sensors) != 1 {
		t.Fatal(found, err)
	}
	t.Cleanup(func() { found.Close() })
	return found.Sensors[0]
}

func TestSamplerMeasures(t *testing.T) {
	m := machine(simulate.Counter{Power: simulate.Constant(20), Range: 262143328850, Start: 262143328850 - 4e6}) // wraps after 0.2 s
	m.Zones[0].Zones = []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "dram", Counter: simulate.Counter{Power: simulate.Constant(3), Start: 5}}}
	tree, root := fixture.Mount(t, m)
	for _, clock := range []checkpoint.Clock{checkpoint.Monotonic, checkpoint.SystemClock()} {
		a := account.New()
		s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: clock, Program: a})
		if err != nil {
			t.Fatal(err)
		}
		wraps := time.Since(tree.Epoch) < 190*time.Millisecond // it began before the wrap
		var samples []nemb.Sample
		for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			h := s.Horizon()
			closed := checkpoint.Tick(0)
			if n := len(samples); n > 0 {
				closed = samples[n-1].At
			}
			fresh := s.Poll()
			samples = append(samples, fresh...)
			if h > clock.Now() || h < closed {
				t.Errorf("horizon %d after %d, now %d", h, closed, clock.Now())
			}
			before := len(samples)
			samples = append(samples, s.Poll()...)
			for _, later := range samples[before:] {
				if later.At < h {
					t.Errorf("a sample at %d, behind the horizon %d", later.At, h)
				}
			}
		}
		called := clock.Now()
		samples = append(samples, s.Stop()...)
		fixture.Check(t, samples)
		last := samples[len(samples)-1]
		if last.At < called {
			t.Errorf("last sample at %d, stopped at %d", last.At, called)
		}
		for d, watts := range []float64{20, 3} {
			if got := fixture.Power(samples, d); math.Abs(got/watts-1) > 0.01 {
				t.Errorf("%v, domain %d: %g W, want %g W", clock, d, got, watts)
			}
		}
		st := s.Stats()
		if st.Samples != len(samples) || st.Dropped != 0 || st.OwnCPU <= 0 {
			t.Errorf("%d samples, %+v", len(samples), st)
		}
		if last.Usage.Own <= 0 || last.Usage.Program != 0 {
			t.Errorf("usage %+v", last.Usage)
		}
		if f := s.Faults()[0]; wraps && f.Wraps != 1 || f.Any() {
			t.Errorf("%+v", f)
		}
		t.Logf("%v: %+v, %s", clock, st, st.Mechanism())
		if s.Poll() != nil || s.Stop() != nil || s.Stats() != st {
			t.Error("not stopped")
		}
		a.Close()
	}
}

func TestSamplerFailedReading(t *testing.T) {
	for _, fault := range []simulate.Fault{{Read: syscall.EIO}, {Read: syscall.ENODEV}, {Text: "\n"}, {Text: "12x\n"},
		{Text: "-1\n"}, {Text: "99999999999999999999\n"}, {Text: strings.Repeat("0", 30)}} {
		t.Run(fmt.Sprintf("%v%q", fault.Read, fault.Text), func(t *testing.T) {
			tree, root := fixture.Mount(t, machine(simulate.Counter{Power: simulate.Constant(20)}))
			s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
			if err != nil {
				t.Fatal(err)
			}
			var samples []nemb.Sample
			until := func(ok func(nemb.Sample) bool) {
				t.Helper()
				for range 5000 {
					for _, x := range s.Poll() {
						if samples = append(samples, x); ok(x) {
							return
						}
					}
					time.Sleep(time.Millisecond)
				}
				t.Fatal("nothing happened in 5 s")
			}
			until(func(x nemb.Sample) bool { return x.Energy[0] > 0 })
			tree.Fault("intel-rapl:0", fault)
			s.Poll()
			bad := 0
			until(func(x nemb.Sample) bool { bad++; return bad > 20 })
			held := samples[len(samples)-1]
			if prev := samples[len(samples)-2]; !held.Gap || !prev.Gap || held.Energy[0] != prev.Energy[0] {
				t.Errorf("failed readings gave %+v, %+v", prev, held)
			}
			tree.Fault("intel-rapl:0", simulate.Fault{})
			until(func(x nemb.Sample) bool { return x.Energy[0] > held.Energy[0] })
			samples = append(samples, s.Stop()...)
			fixture.Check(t, samples)
			first, last := samples[0], samples[len(samples)-1]
			if got := last.Energy[0].Joules() / time.Duration(last.Time-first.Time).Seconds(); math.Abs(got/20-1) > 0.4 {
				t.Errorf("%g W: energy was lost or made up", got)
			}
			if s.Stats().Gaps < 20 {
				t.Errorf("%+v", s.Stats())
			}
		})
	}
}

func TestSamplerReset(t *testing.T) {
	dir := t.TempDir()
	root := zoneTreeAt(t, dir, "7000000")
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	zoneTreeAt(t, dir, "0000300")
	samples := s.Stop()
	fixture.Check(t, samples)
	if last := samples[len(samples)-1]; last.Energy[0] != 0 {
		t.Errorf("a reset counted as %d uJ", last.Energy[0])
	}
	gap := false
	for _, x := range samples[1:] {
		gap = gap || x.Gap
	}
	if !gap {
		t.Error("no gap at the reset")
	}
}

// zoneTreeAt makes package-0 show an energy. The text keeps its length, so
// that a reader never sees half of it.
func zoneTreeAt(t *testing.T, dir, energy string) nemb.Root {
	t.Helper()
	root := nemb.Root{Dir: dir}
	zone := root.Sys("class/powercap/intel-rapl:0")
	os.MkdirAll(zone, 0o755)
	for file, text := range map[string]string{"name": "package-0", "max_energy_range_uj": "262143328850"} {
		os.WriteFile(filepath.Join(zone, file), []byte(text+"\n"), 0o644)
	}
	f, err := os.OpenFile(filepath.Join(zone, "energy_uj"), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(energy+"\n"), 0); err != nil {
		t.Fatal(err)
	}
	return root
}

// A stop does not wait for the deadline, and the last sample is taken then.
func TestSamplerStops(t *testing.T) {
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	begin := time.Now()
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Minute, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Poll(); len(got) != 1 {
		t.Errorf("%d samples at the start, want 1", len(got))
	}
	zoneTreeAt(t, root.Dir, "7000500")
	called := checkpoint.Monotonic.Now()
	last := s.Stop()
	if len(last) != 1 || last[0].Energy[0] != 500 || last[0].At < called || last[0].Gap {
		t.Errorf("%+v, called at %d", last, called)
	}
	if took := time.Since(begin); took > 30*time.Second {
		t.Errorf("took %v of an interval of a minute", took)
	}
}

// The ring holds 4096 samples; what does not fit, when nothing drains it, is
// counted.
func TestSamplerFullRing(t *testing.T) {
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: MinInterval, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock() // the drain waits
	for s.stats().Dropped == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	s.mu.Unlock()
	samples := s.Poll()
	for len(samples) < 4098 {
		samples = append(samples, s.Poll()...)
	}
	samples = append(samples, s.Stop()...)
	fixture.Check(t, samples)
	gap := slices.ContainsFunc(samples[min(len(samples), 4096):], func(s nemb.Sample) bool { return s.Gap })
	if !gap {
		t.Errorf("no gap where samples were dropped: %+v", s.Stats())
	}
}

// Nothing is dropped when nobody polls: the ring is drained.
func TestSamplerDrains(t *testing.T) {
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: MinInterval, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	for s.Stats().Samples < 6000 {
		time.Sleep(10 * time.Millisecond)
	}
	samples := s.Stop()
	fixture.Check(t, samples)
	// The first two are one: it is kept outside the ring, too.
	if st := s.Stats(); st.Dropped > 0 || len(samples) != st.Samples {
		t.Errorf("%d samples, %+v", len(samples), st)
	}
}

func TestSamplerSlowSensor(t *testing.T) {
	r := &ramp{raw: 100, every: 5 * time.Millisecond}
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	s, err := Start([]nemb.Sensor{openOne(t, root), r}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		raw nemb.Energy
		err error
		gap bool
		sum nemb.Energy
	}{{1100, nil, false, 1000}, {0, errors.New("lost"), true, 1000}, {5100, nil, false, 5000}, {7, nil, true, 5000}, {107, nil, false, 5100}}
	var samples []nemb.Sample
	for len(samples) == 0 {
		samples = s.Poll()
	}
	for i, step := range steps {
		r.set(step.raw, step.err)
		gap := false
		for tries := 0; ; tries++ {
			h := s.Horizon()
			closed := checkpoint.Tick(0)
			if n := len(samples); n > 0 {
				closed = samples[n-1].At
			}
			got := s.Poll()
			for j, x := range got {
				gap = gap || x.Gap
				// In the one window that is open at h lies no sample.
				if j > 0 && x.At < h && got[j-1].At < closed {
					t.Errorf("a sample at %d after %d, horizon %d", x.At, closed, h)
				}
			}
			samples = append(samples, got...)
			if more := s.Poll(); len(more) > 0 {
				if more[0].At < h {
					t.Errorf("a sample at %d behind the horizon %d", more[0].At, h)
				}
				samples = append(samples, more...)
			}
			if n := len(samples); n > 0 && samples[n-1].Energy[1] == step.sum && (gap || !step.gap) && !(step.err == nil && samples[n-1].Failed) {
				break
			}
			if tries > 5000 {
				t.Fatalf("step %d: %d uJ and gap %v never came", i, step.sum, step.gap)
			}
			time.Sleep(time.Millisecond)
		}
	}
	samples = append(samples, s.Stop()...)
	fixture.Check(t, samples)
	if f := s.Faults(); f[1].Domain != "gpu0" || f[1].Failed == 0 || f[1].Resets != 1 || f[1].Unknown <= 0 || f[0].Any() {
		t.Errorf("%+v", f)
	}
	if d := s.Domains(); d[1].Method != nemb.Derived || d[0].Method != nemb.Measured {
		t.Errorf("%+v", d)
	}
	if _, err := Start([]nemb.Sensor{&ramp{err: errors.New("lost")}}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic}); err == nil {
		t.Error("started without a first reading")
	}
}

// A sensor that hangs holds up neither the samples of the others nor the end.
func TestSamplerHangingSensor(t *testing.T) {
	r := &ramp{every: time.Millisecond}
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	s, err := Start([]nemb.Sensor{openOne(t, root), r}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	r.mu.Lock()
	r.block = hang
	r.mu.Unlock()
	var samples []nemb.Sample
	for len(samples) < 300 || !samples[len(samples)-1].Gap {
		samples = append(samples, s.Poll()...)
		time.Sleep(time.Millisecond)
	}
	samples = append(samples, s.Stop()...)
	close(hang)
	fixture.Check(t, samples)
	if f := s.Faults(); f[1].Hung < giveUp || f[1].Unknown < giveUp || !f[1].Any() || f[0].Any() {
		t.Errorf("%+v", f)
	}
	// What the others used is known, up to the end.
	if samples[len(samples)-1].Failed {
		t.Errorf("the last sample closes no window: %+v", samples[len(samples)-1])
	}
}

// linear is a model of 10 W at rest and 21 W for each busy processor.
type linear struct{}

func (linear) Domains() []nemb.Domain {
	return []nemb.Domain{{ID: "machine", Kind: "psys", Method: nemb.Estimated, InTotal: true}}
}

func (linear) Model(elapsed, busy time.Duration) nemb.Energy {
	return nemb.Energy(1e6 * (10*elapsed.Seconds() + 21*busy.Seconds()))
}

func (linear) Read([]nemb.Energy) error { return errors.New("the sampler computes it") }
func (linear) Close() error             { return nil }

func TestSamplerEstimates(t *testing.T) {
	s, err := Start([]nemb.Sensor{linear{}}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	samples := s.Poll()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
	}
	samples = append(samples, s.Stop()...)
	fixture.Check(t, samples)
	first, last := samples[0], samples[len(samples)-1]
	elapsed := time.Duration(last.Time - first.Time).Seconds()
	// 10 W at rest; this test alone kept one of the processors busy.
	if got := last.Energy[0].Joules(); got <= 10*elapsed || last.Usage.Own != 0 {
		t.Errorf("%g J in %g s, usage %+v", got, elapsed, last.Usage)
	}
}

// The thread runs before all others where it may. What cg starts meanwhile
// does not, and has the timer slack that cg has.
func TestSamplerKeepsItsPriority(t *testing.T) {
	slack, err := os.ReadFile("/proc/self/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	for _, ordinary := range []bool{false, true} {
		s, err := Start(nil, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic, Ordinary: ordinary})
		if err != nil {
			t.Fatal(err)
		}
		st := s.Stats()
		thread := 0
		tasks, _ := filepath.Glob("/proc/self/task/*")
		for _, task := range tasks {
			if name, _ := os.ReadFile(task + "/comm"); string(name) == "cg-sampler\n" {
				thread, _ = strconv.Atoi(filepath.Base(task))
			}
		}
		policy, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(thread), 0, 0)
		want := uintptr(unix.SCHED_RESET_ON_FORK)
		if st.Realtime {
			want |= unix.SCHED_FIFO
		}
		if thread == 0 || errno != 0 || (st.Realtime || st.Slice) && policy != want {
			t.Errorf("thread %d: policy %#x, want %#x, %v", thread, policy, want, errno)
		}
		if ordinary && st.Realtime {
			t.Errorf("an ordinary thread is %s", st.Mechanism())
		}
		out, err := exec.Command("cat", "/proc/self/stat", "/proc/self/timerslack_ns").Output()
		if err != nil {
			t.Fatal(err)
		}
		stat, theirs, _ := strings.Cut(string(out), "\n")
		fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
		// From field 3 on; 40 is rt_priority, 41 policy (proc_pid_stat(5)).
		if fields[40-3] != "0" || fields[41-3] != "0" || theirs != string(slack) {
			t.Errorf("a child has priority %s, policy %s, timer slack %s", fields[37], fields[38], theirs)
		}
		t.Log(st.Mechanism())
		s.Stop()
	}
}

// A counter of the machine's energy that does not move is not one.
func TestSamplerStuck(t *testing.T) {
	dir := t.TempDir()
	root := zoneTreeAt(t, dir, "7000000")
	zone := root.Sys("class/powercap/intel-rapl:0:0")
	os.MkdirAll(zone, 0o755)
	os.WriteFile(filepath.Join(zone, "name"), []byte("uncore\n"), 0o644)
	os.WriteFile(filepath.Join(zone, "energy_uj"), []byte("12\n"), 0o644)
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	samples := s.Poll()
	for last := samples[0]; last.Time-samples[0].Time <= checkpoint.Instant(stuck); time.Sleep(10 * time.Millisecond) {
		if got := s.Poll(); len(got) > 0 {
			last = got[len(got)-1]
		}
	}
	s.Stop()
	faults, domains := s.Faults(), s.Domains()
	if !faults[0].Stuck() || domains[0].Method != nemb.Derived {
		t.Errorf("%+v is %s", faults[0], domains[0].Method)
	}
	if faults[1].Any() || domains[1].Method != nemb.Measured {
		t.Errorf("a part that is off: %+v is %s", faults[1], domains[1].Method)
	}
}

func TestSamplerRefuses(t *testing.T) {
	root := zoneTreeAt(t, t.TempDir(), "7000000")
	sensor := openOne(t, root)
	for _, test := range []struct {
		sensors []nemb.Sensor
		config  Config
		want    string
	}{
		{nil, Config{Interval: time.Microsecond, Clock: checkpoint.Monotonic}, "interval"},
		{nil, Config{Interval: 2 * time.Minute, Clock: checkpoint.Monotonic}, "interval"},
		{nil, Config{Interval: time.Second}, "unknown clock"},
		{[]nemb.Sensor{sensor, sensor}, Config{Interval: time.Second, Clock: checkpoint.Monotonic}, "two domains are called package-0"},
	} {
		if _, err := Start(test.sensors, test.config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.config, err)
		}
	}
	os.WriteFile(root.Sys("class/powercap/intel-rapl:0/energy_uj"), nil, 0o644)
	if _, err := Start([]nemb.Sensor{sensor}, Config{Interval: time.Second, Clock: checkpoint.Monotonic}); err == nil ||
		!strings.Contains(err.Error(), "first reading of package-0") {
		t.Error(err)
	}
}

func TestHorizon(t *testing.T) {
	const ms = checkpoint.Instant(time.Millisecond)
	tests := []struct {
		name                string
		deadline, now       checkpoint.Instant
		tick, atMost, least checkpoint.Tick // 3 ticks a ns, from tick 1000 at instant 0
	}{
		{"before the deadline", 100 * ms, 99 * ms, 1000 + 297e6, 1000 + 297e6, 1000 + 297e6},
		{"late by 1 ms", 100 * ms, 101 * ms, 1000 + 303e6, 1000 + 300e6, 1000 + 299.9e6},
		{"late by 60 ms", 100 * ms, 160 * ms, 1000 + 480e6, 1000 + 300e6, 1000 + 299.8e6},
		{"just started", ms / 4, ms / 2, 1000 + 1.5e6, 1000, 1000},
	}
	for _, test := range tests {
		if got := horizon(test.deadline, 1000, test.tick, 0, test.now); got > test.atMost || got < test.least {
			t.Errorf("%s: %d, want %d to %d", test.name, got, test.least, test.atMost)
		}
	}
}

func TestCurve(t *testing.T) {
	late := time.Duration(0)
	th := func(tid uint32, cpu time.Duration) account.ThreadUsage {
		return account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: tid}, CPU: cpu, Late: late}
	}
	var c curve
	c.add(0, account.Usage{Threads: []account.ThreadUsage{th(1, 10)}})
	late = 4
	c.add(100, account.Usage{Program: 100, Own: 10, Other: 50, Threads: []account.ThreadUsage{th(1, 20), th(2, 150)}})
	late = 0
	c.add(200, account.Usage{Program: 110, Own: 20, Other: 50, Threads: []account.ThreadUsage{th(2, 160)}})
	for at, want := range map[checkpoint.Instant]string{
		-5:  "0s 0s 0s [{1/1 10ns 0s 0 0s 0s}]",
		50:  "50ns 5ns 25ns [{1/1 15ns 0s 0 10ns 4ns} {1/2 100ns 0s 0 100ns 4ns}]",
		100: "100ns 10ns 50ns [{1/1 20ns 0s 0 0s 4ns} {1/2 150ns 0s 0 0s 4ns}]",
		150: "105ns 15ns 50ns [{1/2 155ns 0s 0 10ns 4ns}]",
		999: "110ns 20ns 50ns [{1/2 160ns 0s 0 0s 0s}]",
	} {
		u := c.at(at)
		if got := fmt.Sprint(u.Program, u.Own, u.Other, u.Threads); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
	if c.at(50).Read != [2]checkpoint.Instant{0, 100} || c.at(100).Read != [2]checkpoint.Instant{} {
		t.Errorf("between readings %v, at one %v", c.at(50).Read, c.at(100).Read)
	}
}

// Between two readings the time of waiting for a processor is linear, too; a new thread waited no longer than the time
// that passed.
func TestQueuedBetween(t *testing.T) {
	var c curve
	th := func(tid uint32, queued time.Duration) account.ThreadUsage {
		return account.ThreadUsage{Thread: checkpoint.Thread{PID: 1, TID: tid}, Queued: queued}
	}
	c.add(0, account.Usage{Threads: []account.ThreadUsage{th(1, 10)}})
	c.add(100, account.Usage{Threads: []account.ThreadUsage{th(1, 50), th(2, 120)}})
	if u := c.at(25); u.Threads[0].Queued != 20 || u.Threads[1].Queued != 45 {
		t.Errorf("%+v", u.Threads)
	}
}

// Between two readings usage is linear, and begins at 0.
func TestBackgroundBetween(t *testing.T) {
	var c curve
	c.add(0, account.Usage{Program: 100, Background: []time.Duration{40, 7}})
	c.add(10, account.Usage{Program: 200, Background: []time.Duration{60, 7}})
	base := c.at(0)
	for at, want := range map[checkpoint.Instant][]time.Duration{0: {0, 0}, 5: {10, 0}, 10: {20, 0}, 99: {20, 0}} {
		if got := c.at(at).Since(base).Background; !slices.Equal(got, want) {
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	if got := c.usage[1].Background[0]; got != 60 {
		t.Errorf("the reading itself has become %v", got)
	}
}

// BenchmarkTick is one sample of one counter in a file, as the thread takes
// it: two stamps, one pread, the parsing. Beside it the bare clock.
func BenchmarkTick(b *testing.B) {
	dir := b.TempDir()
	zone := filepath.Join(dir, "sys/class/powercap/intel-rapl:0")
	os.MkdirAll(zone, 0o755)
	for file, text := range map[string]string{"name": "package-0", "energy_uj": "123456789012", "max_energy_range_uj": "262143328850"} {
		os.WriteFile(filepath.Join(zone, file), []byte(text+"\n"), 0o644)
	}
	sensor := openOne(b, nemb.Root{Dir: dir})
	clock := checkpoint.SystemClock()
	b.Run("sample", func(b *testing.B) { benchTick(sensor.(nemb.Counting).Counters(), clock, b.N) })
	b.Run("clock", func(b *testing.B) { benchClock(clock, b.N) })
	b.Run("gopread", func(b *testing.B) {
		for range b.N {
			sensor.(nemb.Counting).Counters()[0].Read()
		}
	})
}

// A sample that comes more than two intervals after the one before is a gap.
func TestSamplerGap(t *testing.T) {
	const ms = checkpoint.Instant(time.Millisecond)
	s := &Sampler{config: Config{Interval: 10 * time.Millisecond}, first: &nemb.Sample{}}
	for _, test := range []struct {
		at  checkpoint.Instant
		gap bool
	}{{10 * ms, false}, {30 * ms, false}, {50*ms + 1, true}, {60 * ms, false}, {200 * ms, true}} {
		sample := nemb.Sample{Time: test.at}
		s.fill(&sample, nil)
		if sample.Gap != test.gap || sample.Failed {
			t.Errorf("at %v: %+v", time.Duration(test.at), sample)
		}
	}
	if s.gaps != 2 || s.failed != 0 {
		t.Errorf("%d gaps, %d failed", s.gaps, s.failed)
	}
}

// Whoever watches the epoch sees each sample's own tick.
func TestEpoch(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	epoch := (*uint64)(unsafe.Pointer(&mem[0]))
	s, err := Start(nil, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic, Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	first := atomic.LoadUint64(epoch)
	if first == 0 {
		t.Error("the first sample is not known")
	}
	samples := s.Stop()
	defer s.Close()
	if last := samples[len(samples)-1].At; uint64(last) != atomic.LoadUint64(epoch) || uint64(last) <= first {
		t.Errorf("epoch %d, first %d, the last sample is of %d", *epoch, first, last)
	}
}

// A sampler reads text and words side by side, and a word that cannot be read
// is a gap.
func TestSamplerReadsWords(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "word")
	if err := os.WriteFile(name, le(1<<14), 0o644); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	words := sensor.NewFile("msr")
	words.Add(nemb.Domain{ID: "w", Wrap: 1 << 38, Period: time.Millisecond}, counter.Counter{FD: int32(fd), Form: counter.Word, Mask: 1<<32 - 1, Scale: 1e6 / (1 << 14)})
	words.Keep(fd)
	defer words.Close()
	root := zoneTreeAt(t, dir, "7000000")
	s, err := Start([]nemb.Sensor{words, openOne(t, root)}, Config{Interval: time.Minute, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	if first := s.Poll(); len(first) != 1 || first[0].Failed {
		t.Fatalf("%+v", first)
	}
	os.WriteFile(name, le(3<<14), 0o644)
	zoneTreeAt(t, dir, "7000500")
	last := s.Stop()
	if len(last) != 1 || last[0].Energy[0] != 2e6 || last[0].Energy[1] != 500 || last[0].Failed {
		t.Errorf("%+v", last)
	}

	if s, err = Start([]nemb.Sensor{words}, Config{Interval: time.Minute, Clock: checkpoint.Monotonic}); err != nil {
		t.Fatal(err)
	}
	os.Truncate(name, 3)
	if last = s.Stop(); !last[len(last)-1].Failed || last[len(last)-1].Energy[0] != 0 {
		t.Errorf("a failed reading gave %+v", last)
	}
}

// A counter is judged by what its readings were: the time that a later one made
// good, and the largest step where it is brought up to date seldom.
func TestFaultsOfReadings(t *testing.T) {
	var f Faults
	for _, r := range []struct {
		v     counter.Verdict
		delta nemb.Energy
		since time.Duration // the last good reading
	}{
		{counter.Advanced, 5, time.Second}, {counter.Failed, 0, time.Second}, {counter.Failed, 0, 2 * time.Second}, {counter.Advanced, 50, 3 * time.Second},
		{counter.Stale, 0, time.Second}, {counter.Failed, 0, time.Second}, {counter.Reset, 0, 2 * time.Second}, {counter.Advanced, 7, time.Second},
	} {
		f.note(r.v, r.delta, r.since)
	}
	if f.Failed != 3 || f.Late != 3*time.Second || f.Unknown != 2*time.Second || f.Jump != 50 {
		t.Errorf("%+v", f)
	}
	for period, want := range map[time.Duration]nemb.Energy{30 * time.Second: 50, time.Millisecond: 36} {
		s := &Sampler{domains: []nemb.Domain{{Step: 36, Period: period}}, faults: []Faults{{Jump: 50}}}
		if got := s.Domains()[0].Step; got != want {
			t.Errorf("updates each %v: a step of %d, want %d", period, got, want)
		}
	}
}

// BenchmarkTickOf compares one sample of four domains: the members of one perf
// group, and four files. Files here are on tmpfs or the like; those of RAPL
// cost the kernel a call to another processor on top.
func BenchmarkTickOf(b *testing.B) {
	root := nemb.Root{Dir: b.TempDir()}
	fixture.Files(b, root, map[string]string{"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n"})
	watts := map[string]float64{"energy-pkg": 100, "energy-cores": 40, "energy-ram": 10, "energy-psys": 150}
	if err := simulate.WritePMU(root.Dir, "0", watts); err != nil {
		b.Skip(err)
	}
	found, err := nemb.Discover(root, []string{"perf"})
	if err != nil || len(found.Sensors) != 1 {
		b.Fatalf("%+v, %v", found, err)
	}
	defer found.Close()
	perf := found.Sensors[0]
	texts := map[string]string{}
	for i, name := range []string{"package-0", "core", "dram", "psys"} {
		zone := fmt.Sprintf("sys/class/powercap/intel-rapl:%d/", i)
		texts[zone+"name"], texts[zone+"energy_uj"] = name+"\n", "123456789012\n"
	}
	other := nemb.Root{Dir: b.TempDir()}
	fixture.Files(b, other, texts)
	zones := openOne(b, other)
	clock := checkpoint.SystemClock()
	b.Run("perf", func(b *testing.B) { benchTick(perf.(nemb.Counting).Counters(), clock, b.N) })
	b.Run("files", func(b *testing.B) { benchTick(zones.(nemb.Counting).Counters(), clock, b.N) })
}

// le is a word as a file has it.
func le(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
