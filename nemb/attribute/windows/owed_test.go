package windows

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// What a thread's checkpoints took and it is not reported to have used is theirs in a later window of the thread; when
// it has ended, of what no thread is known to have used.
func TestCheckpointsAreOwed(t *testing.T) {
	tree := paths.NewTree()
	f, probe := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, checkpoint.OwnSite, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Probe(probe)
	w.Begin(sample(0, 0, account.Usage{}))
	ended := false
	step := func(at int64, energy nemb.Energy, program, cpu time.Duration, parts ...paths.Part) {
		u := account.Usage{Program: program}
		var threads []Thread
		if parts != nil {
			u.Threads = []account.ThreadUsage{{Thread: id(1), CPU: cpu}}
			threads = []Thread{{ID: id(1), Parts: parts, Ended: ended}}
		}
		w.Close(sample(at*ms, energy, u), false, threads)
	}
	check := func(when string, functions, checkpoints, outside time.Duration) {
		t.Helper()
		if got := w.Times[f].CPU; !near(got, nanos(functions)) {
			t.Errorf("%s: the function used %v, want %v", when, time.Duration(got), functions)
		}
		if got := w.Times[probe].CPU; !near(got, nanos(checkpoints)) {
			t.Errorf("%s: checkpoints took %v, want %v", when, time.Duration(got), checkpoints)
		}
		if got := w.Domains[0].Paths[paths.Root]; !near(got, float64(outside.Microseconds())) {
			t.Errorf("%s: outside are %g uJ, want %d", when, got, outside.Microseconds())
		}
	}
	part := func(n int32, ticks int64) paths.Part { return paths.Part{Node: n, Ticks: uint64(ticks)} }
	const µs = time.Microsecond // of which each has a microjoule
	step(10, 1000, 1000*µs, 1000*µs, part(f, 6*ms), part(probe, 4*ms))
	check("reported late", 0, 1000*µs, 0)
	step(20, 6000, 6000*µs, 6000*µs, part(f, 10*ms))
	check("a window later", 2000*µs, 4000*µs, 0)
	ended = true
	step(30, 7000, 7000*µs, 7000*µs, part(f, 6*ms), part(probe, 3*ms))
	check("it has ended", 2000*µs, 5000*µs, 0)
	step(40, 12000, 12000*µs, 0)
	check("after its end", 2000*µs, 7000*µs, 3000*µs)
	step(50, 13000, 13000*µs, 0)
	check("nothing is owed twice", 2000*µs, 7000*µs, 4000*µs)
}

// What ended threads owe is paid soon after, or not at all, and has a limit.
func TestDebtsExpire(t *testing.T) {
	x := &threadTimes{probe: 1}
	for range 5 {
		x.owe(30e6)
	}
	if paid := x.pay(1e9); !near(paid, mostOwing) {
		t.Errorf("%g ns of five debts of 30 ms", paid)
	}
	x.owe(20e6)
	x.at = 300e6
	x.owe(10e6)
	if paid := x.pay(5e6); !near(paid, 5e6) {
		t.Errorf("%g ns, want 5 ms", paid)
	}
	x.at = 600e6 // of the first debt 15 ms are left, and nobody owes them any more
	if paid := x.pay(1e9); !near(paid, 10e6) {
		t.Errorf("%g ns, want 10 ms", paid)
	}
	if paid := x.pay(1e9); paid != 0 {
		t.Errorf("%g ns are paid twice", paid)
	}
}

// Of threads that nobody has read, those that had events have run.
func TestGuesses(t *testing.T) {
	g := guesses{of: make([]guess, 3)}
	g.add(0, 10, 4)
	g.add(1, 10, 20)
	g.add(2, 10, -1)
	for _, c := range []struct {
		all  float64
		want [3]float64
	}{
		{0, [3]float64{}},
		{7, [3]float64{2, 5, 0}},
		{14, [3]float64{4, 10, 0}},
		{22, [3]float64{7, 10, 5}},
		{30, [3]float64{10, 10, 10}},
	} {
		for i, want := range c.want {
			if got := g.share(i, c.all); !near(got, want) {
				t.Errorf("of %g thread %d gets %g, want %g", c.all, i, got, want)
			}
		}
	}
}

// What a thread used before its time is read for the first time was guessed, or is the program's outside of its threads,
// and is not given again with that reading.
func TestFirstReading(t *testing.T) {
	tree := paths.NewTree()
	f := tree.Path(paths.Root, 1, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	step := func(at int, read bool, ticks uint64) Window {
		u := account.Usage{Program: time.Duration(at) * time.Millisecond}
		if read {
			u.Threads = []account.ThreadUsage{{Thread: id(1), CPU: u.Program}}
		}
		return w.Close(sample(int64(at)*ms, nemb.Energy(1000*at), u), false,
			[]Thread{{ID: id(1), Parts: []paths.Part{{Node: f, Ticks: ticks}}}})
	}
	for at := 1; at <= 3; at++ {
		step(at, false, ms)
	}
	step(4, false, 3*ms) // its words came early
	step(5, false, 0)
	out := step(6, true, ms/2)
	if !near(out.Weight, ms) || !near(out.Threads[0].CPU, ms) {
		t.Errorf("of 1 ms the program has %v, the thread %v", time.Duration(out.Weight), time.Duration(out.Threads[0].CPU))
	}
	if out = step(7, true, ms); !near(out.Threads[0].CPU, ms) {
		t.Errorf("then the thread has %v of 1 ms", time.Duration(out.Threads[0].CPU))
	}
	if got := w.Times[f].CPU + w.Domains[0].Paths[paths.Root]*1e3; !near(got, 7*ms) {
		t.Errorf("all have %v of 7 ms", time.Duration(got))
	}
}

// A thread that is read for the first time has nothing of what another is known to have used, whichever is told first.
func TestFirstReadingBesideOthers(t *testing.T) {
	for _, order := range [][]uint32{{1, 2}, {2, 1}} {
		tree := paths.NewTree()
		f := tree.Path(paths.Root, 1, 0)
		w := New([]nemb.Domain{counter}, 2, tree)
		w.Begin(sample(0, 0, account.Usage{}))
		step := func(at int, program time.Duration, cpu map[uint32]time.Duration, ticks map[uint32]uint64) Window {
			u := account.Usage{Program: program}
			var threads []Thread
			for _, n := range order {
				if used, ok := cpu[n]; ok {
					u.Threads = append(u.Threads, account.ThreadUsage{Thread: id(n), CPU: used})
				}
				threads = append(threads, Thread{ID: id(n), Parts: []paths.Part{{Node: f, Ticks: ticks[n]}}})
			}
			return w.Close(sample(int64(at)*ms, nemb.Energy(1000*at), u), false, threads)
		}
		// Thread 1 is read from the first window on. What thread 2 used beside it was guessed by then, and the kernel
		// tells of it in the last window, of which thread 1 has all.
		const of = time.Millisecond
		step(1, 2*of, map[uint32]time.Duration{1: of}, map[uint32]uint64{1: ms, 2: ms})
		step(2, 4*of, map[uint32]time.Duration{1: 2 * of}, map[uint32]uint64{1: ms, 2: ms})
		out := step(12, 14*of, map[uint32]time.Duration{1: 12 * of, 2: 2 * of}, map[uint32]uint64{1: 10 * ms})
		sum := 0.0
		for _, thread := range out.Threads {
			sum += thread.CPU
		}
		if sum > 10.001*ms {
			t.Errorf("threads in the order %v: they have %v of 10 ms", order, time.Duration(sum))
		}
	}
}

// Who looks from outside sees a thread wait at each look of a window in which it used something: that it used where it
// was seen, and not outside its functions. Where one look saw it run, it ran there.
func TestWaitsHaveWhatIsUsed(t *testing.T) {
	tree := paths.NewTree()
	f, g := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
	w := New([]nemb.Domain{counter}, 2, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	step := func(at int64, used time.Duration, parts ...paths.Part) {
		u := account.Usage{Program: used, Threads: []account.ThreadUsage{{Thread: id(1), CPU: used}}}
		w.Close(sample(at*ms, nemb.Energy(used.Microseconds()), u), false, []Thread{{ID: id(1), Parts: parts}})
	}
	step(10, 10*time.Millisecond, paths.Part{Node: f, Ticks: 10 * ms})
	step(20, 14*time.Millisecond, paths.Part{Node: f, Ticks: 10 * ms, Waited: 10 * ms})
	step(30, 15*time.Millisecond, paths.Part{Node: f, Ticks: 8 * ms, Waited: 8 * ms}, paths.Part{Node: g, Ticks: 2 * ms})
	for n, want := range map[int32]time.Duration{f: 14 * time.Millisecond, g: time.Millisecond, paths.Root: 0} {
		if got := w.Times[n].CPU; !near(got, nanos(want)) {
			t.Errorf("path %d used %v, want %v", n, time.Duration(got), want)
		}
	}
}
