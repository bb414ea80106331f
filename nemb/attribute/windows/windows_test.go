package windows

import (
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

const ms = 1_000_000

var counter = nemb.Domain{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1}

// sample is one of a clock whose ticks are nanoseconds.
func sample(at int64, e nemb.Energy, u account.Usage) nemb.Sample {
	return nemb.Sample{At: checkpoint.Tick(at), Time: checkpoint.Instant(at), Energy: []nemb.Energy{e}, Usage: u}
}

func id(tid uint32) checkpoint.Thread { return checkpoint.Thread{PID: 1, TID: tid} }

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b)+1e-9 }

// A window's energy goes to the program, cg and the others by processor time, the
// program's to its threads and paths, and to what no thread used.
func TestDivide(t *testing.T) {
	tree := paths.NewTree()
	one := tree.Path(paths.Root, 1, 0)
	two := tree.Path(one, 2, 0)
	again := tree.Path(two, 1, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Classes = 1
	w.Begin(sample(0, 0, account.Usage{Background: []time.Duration{0}}))
	usage := account.Usage{
		Program: 10 * ms, Own: 2 * ms, Other: 8 * ms, Background: []time.Duration{ms},
		Threads: []account.ThreadUsage{{Thread: id(1), CPU: 6 * ms}, {Thread: id(2), CPU: 2 * ms}},
	}
	out := w.Close(sample(10*ms, 2000, usage), false, []Thread{
		{ID: id(1), Parts: []paths.Part{
			{Node: one, Ticks: 5 * ms}, {Node: two, Ticks: 2 * ms}, {Node: again, Ticks: 3 * ms},
		}},
		{ID: id(2), Parts: []paths.Part{{Node: paths.Root, Ticks: 10 * ms}}},
	})
	b := w.Domains[0]
	if b.Total != 2000 || b.Program != 1000 || b.Own != 200 || b.Other != 800 || b.Idle+b.Unattributed != 0 {
		t.Errorf("%+v", b)
	}
	for n, want := range map[int32]float64{paths.Root: 300, one: 300, two: 120, again: 180} {
		if got := b.Paths[n]; !near(got, want) {
			t.Errorf("path %d has %g uJ, want %g", n, got, want)
		}
	}
	if !near(b.Background[0], 100) || out.Weight != 10*ms || out.Spent[0] != 1000 || !out.Moved[0] {
		t.Errorf("%+v, %+v", b, out)
	}
	// A recursive call counts once in what a site has of the window.
	if s := out.Sites[1]; !near(s.Self, .48) || !near(s.Inclusive, .6) {
		t.Errorf("site 1: %+v", s)
	}
	if s := out.Sites[2]; !near(s.Self, .12) || !near(s.Inclusive, .3) {
		t.Errorf("site 2: %+v", s)
	}
	if w.Times[two].Wall != 2*ms || !near(w.Times[two].CPU, 1.2*ms) || !near(out.Threads[0].CPU, 6*ms) {
		t.Errorf("%+v, %+v", w.Times, out.Threads)
	}
}

// What a thread used for cg's runtime is a part of its own.
func TestRuntimeShare(t *testing.T) {
	tree := paths.NewTree()
	own := tree.Add(paths.Root, checkpoint.OwnSite, 0)
	one := tree.Path(paths.Root, 1, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	out := w.Close(sample(10*ms, 1000, account.Usage{Program: 10 * ms}), false, []Thread{
		{ID: id(1), Parts: []paths.Part{{Node: own, Ticks: 2 * ms}, {Node: one, Ticks: 8 * ms}}},
	})
	if u := out.Threads[0]; u.CPU != 10*ms || !near(u.Runtime, .2) {
		t.Errorf("%+v", u)
	}
}

// The energy of a window that could not be read is nobody's.
func TestFailedWindow(t *testing.T) {
	w := New([]nemb.Domain{counter}, 2, paths.NewTree())
	w.Begin(sample(0, 0, account.Usage{}))
	w.Close(sample(10*ms, 100, account.Usage{Program: 10 * ms}), true, nil)
	if b := w.Domains[0]; b.Total != 100 || b.Unattributed != 100 || b.Program != 0 {
		t.Errorf("%+v", b)
	}
}

// A window that holds less than the measured idle power leaves a debt, of a second
// at most.
func TestIdleDebt(t *testing.T) {
	d := counter
	d.Base, d.BaseLo, d.BaseHi = 10, 9, 11
	b := &Domain{Domain: d}
	if i := b.measuredIdle(60_000, 10*ms); i.energy != 60_000 || !near(i.slack, 6_000) { // of 100,000
		t.Errorf("%+v", i)
	}
	if i := b.measuredIdle(240_000, 10*ms); i.energy != 140_000 || !near(i.lo*100, 86) || !near(i.hi*100, 114) {
		t.Errorf("%+v", i)
	}
	b.measuredIdle(0, float64(time.Hour))
	if want := 10e6; b.idleDebt != want {
		t.Errorf("%g uJ are due, want %g", b.idleDebt, want)
	}
	// A counter that moves every 30 s shows the idle power of all of them at once.
	d.Period = 30 * time.Second
	b = &Domain{Domain: d}
	for range 29 {
		b.measuredIdle(0, float64(time.Second))
	}
	if i := b.measuredIdle(500e6, float64(time.Second)); i.energy != 300e6 || !near(i.lo*200, 170) || !near(i.hi*200, 230) {
		t.Errorf("a counter of 30 s: %+v", i)
	}
}

// A site used what its counter showed in the windows that it had to itself, at
// least, and at most that of all in which it ran. A counter may be a period late.
func TestBounds(t *testing.T) {
	tree := paths.NewTree()
	one, two := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
	d := counter
	d.Period = 10 * time.Millisecond
	w := New([]nemb.Domain{d}, 1, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	for i, ran := range []int32{one, one, one, two, two} {
		at := int64(i+1) * 10 * ms
		w.Close(sample(at, nemb.Energy(i+1)*100, account.Usage{Program: time.Duration(at)}), false, []Thread{
			{ID: id(1), Parts: []paths.Part{{Node: ran, Ticks: 10 * ms}}},
		})
	}
	// The first window of a site may show what was before it.
	if self, inclusive := w.Bounds(1, 0); self != (Bounds{200, 400}) || inclusive != self {
		t.Errorf("1: %+v, %+v", self, inclusive)
	}
	if self, _ := w.Bounds(2, 0); self != (Bounds{100, 200}) {
		t.Errorf("2: %+v", self)
	}
	if w.HasBounds(3) {
		t.Error("3 never ran")
	}
}

// A sample that is behind the one before it stands still.
func TestSteady(t *testing.T) {
	w := New([]nemb.Domain{counter}, 1, paths.NewTree())
	w.Begin(w.Steady(sample(100, 50, account.Usage{Program: 7})))
	s := w.Steady(sample(90, 40, account.Usage{Program: 6}))
	if s.At != 100 || s.Time != 100 || s.Energy[0] != 50 || s.Usage.Program != 7 || w.Stats.Disordered != 1 {
		t.Errorf("%+v, %+v", s, w.Stats)
	}
	s = w.Steady(nemb.Sample{At: 200, Time: 200})
	if !s.Failed || len(s.Energy) != 1 || s.Energy[0] != 50 || w.Stats.Disordered != 2 {
		t.Errorf("%+v, %+v", s, w.Stats)
	}
	if s = w.Steady(sample(300, 60, account.Usage{Program: 8})); s.Energy[0] != 60 || w.Stats.Disordered != 2 {
		t.Errorf("%+v, %+v", s, w.Stats)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		e       nemb.Energy
		weights [3]float64
		want    [3]nemb.Energy
	}{
		{100, [3]float64{1, 1, 2}, [3]nemb.Energy{25, 25, 50}},
		{10, [3]float64{1, 1, 1}, [3]nemb.Energy{4, 3, 3}},
		{10, [3]float64{0, -5, 3}, [3]nemb.Energy{0, 0, 10}},
		{10, [3]float64{}, [3]nemb.Energy{}},
	} {
		if got := split(c.e, c.weights[:]...); got != c.want {
			t.Errorf("%d by %v: %v, want %v", c.e, c.weights, got, c.want)
		}
	}
}

// A thread is killed that the kernel knew and does not know any more.
func TestKilled(t *testing.T) {
	tree := paths.NewTree()
	w := New([]nemb.Domain{counter}, 1, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	known := account.Usage{Program: ms, Threads: []account.ThreadUsage{{Thread: id(1), CPU: ms}}}
	w.Close(sample(ms, 1, known), false, []Thread{{ID: id(1)}, {ID: id(2)}})
	if killed := w.Killed(sample(2*ms, 2, known)); killed(id(1)) || killed(id(2)) {
		t.Error("a thread that is known, or never was, is killed")
	}
	if killed := w.Killed(sample(2*ms, 2, account.Usage{})); !killed(id(1)) || killed(id(2)) || killed(id(3)) {
		t.Error("a thread that is gone is not killed")
	}
}

// What checkpoints cost a thread is processor time, however long the thread waited for
// a processor in the window.
func TestCheckpointsRun(t *testing.T) {
	tree := paths.NewTree()
	one := tree.Path(paths.Root, 1, 0)
	probe := tree.Add(paths.Root, checkpoint.OwnSite, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Probe(probe)
	w.Begin(sample(0, 0, account.Usage{}))
	usage := account.Usage{Program: 5 * ms, Threads: []account.ThreadUsage{
		{Thread: id(1), CPU: 2.5 * ms}, {Thread: id(2), CPU: 2.5 * ms}}}
	w.Close(sample(10*ms, 5000, usage), false, []Thread{
		{ID: id(1), Parts: []paths.Part{{Node: one, Ticks: 8 * ms}, {Node: probe, Ticks: 2 * ms}}},
		{ID: id(2), Parts: []paths.Part{{Node: one, Ticks: 6 * ms}, {Node: probe, Ticks: 4 * ms}}},
	})
	if got := w.Times[probe].CPU; !near(got, 4.5*ms) {
		t.Errorf("checkpoints ran for %g ns", got)
	}
	if got := w.Domains[0].Paths[one]; !near(got, 500) {
		t.Errorf("the function has %g uJ, want 500", got)
	}
}

// A thread whose checkpoints take a fifth of its time is on its processor as much as it is without: it is away only where
// it lost the processor.
func TestCheckpointsAreNotAway(t *testing.T) {
	tree := paths.NewTree()
	one, probe := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, checkpoint.OwnSite, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Probe(probe)
	w.Begin(sample(0, 0, account.Usage{}))
	at, used := int64(0), time.Duration(0)
	step := func(lost time.Duration, checkpoints uint64) float64 {
		at += 10 * ms
		used += 10*ms - lost
		parts := []paths.Part{{Node: one, Ticks: 10*ms - checkpoints}}
		if checkpoints > 0 {
			parts = append(parts, paths.Part{Node: probe, Ticks: checkpoints})
		}
		u := account.Usage{Program: used, Threads: []account.ThreadUsage{{Thread: id(1), CPU: used}}}
		return w.Close(sample(at, nemb.Energy(at/1000), u), false, []Thread{{ID: id(1), Parts: parts}}).Away
	}
	for phase := range 10 {
		checkpoints := uint64(phase%2) * 2 * ms
		for range 5 {
			if away := step(0, checkpoints); math.Abs(away) > 1 {
				t.Errorf("with %d ns of checkpoints it was away for %g ns", checkpoints, away)
			}
		}
	}
	for _, checkpoints := range []uint64{0, 2 * ms} {
		if away := step(3*ms, checkpoints); away < 2.5*ms || away > 3*ms {
			t.Errorf("with %d ns of checkpoints it was away for %g ns, want some 3 ms", checkpoints, away)
		}
	}
}

// Where energy is divided as it comes, the idle power that an earlier run measured is set aside.
func TestRememberedIdle(t *testing.T) {
	d := counter
	d.IdleShare, d.IdleShareMost = .5, .6
	d.Remembered = nemb.IdlePower{Power: 4, Lo: 3, Hi: 5, Method: nemb.IdleRemembered}
	w := New([]nemb.Domain{d}, 2, paths.NewTree())
	w.Begin(sample(0, 0, account.Usage{}))
	w.Close(sample(1000*ms, 10e6, account.Usage{Program: 1000 * ms}), false, nil)
	b := w.Domains[0]
	if b.Idle != 4e6 || b.Program != 6e6 || !near(b.ProgramLo, 5e6) || !near(b.ProgramHi, 7e6) {
		t.Errorf("%+v", b)
	}
}

// A function that is known to wait, and one that is known to run, are on a thread that ran nearly all the time: the
// one that runs has no more processor time than it was there, and the other has the rest.
func TestNobodyRunsLongerThanItIsThere(t *testing.T) {
	tree := paths.NewTree()
	waits, runs := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
	w := New([]nemb.Domain{counter}, 1, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	cpu := time.Duration(0)
	step := func(at int64, used int, parts ...paths.Part) Window {
		cpu += time.Duration(used)
		u := account.Usage{Program: cpu, Threads: []account.ThreadUsage{{Thread: id(1), CPU: cpu}}}
		return w.Close(sample(at*ms, nemb.Energy(cpu)/1000, u), false, []Thread{{ID: id(1), Parts: parts}})
	}
	for i := range int64(50) { // it waits
		step(20*i+10, 0, paths.Part{Node: waits, Ticks: 10 * ms})
		step(20*i+20, 10*ms, paths.Part{Node: runs, Ticks: 10 * ms})
	}
	before := w.Times[runs].CPU
	out := step(1010, 9*ms, paths.Part{Node: waits, Ticks: 9 * ms}, paths.Part{Node: runs, Ticks: 1 * ms})
	if got := w.Times[runs].CPU - before; !near(got, 1*ms) {
		t.Errorf("it used %g ns in 1e6", got)
	}
	if self := out.Sites[1].Self; !near(self, 8./9) {
		t.Errorf("the other has %g of it", self)
	}
	// What the kernel reports late of a window is more than all were there.
	before = w.Times[runs].CPU
	step(1020, 0, paths.Part{Node: waits, Ticks: 5 * ms}, paths.Part{Node: runs, Ticks: 5 * ms})
	step(1021, 8*ms, paths.Part{Node: waits, Ticks: ms / 2}, paths.Part{Node: runs, Ticks: ms / 2})
	if got := w.Times[runs].CPU - before; !near(got, 4*ms) {
		t.Errorf("late: it used %g ns", got)
	}
}
