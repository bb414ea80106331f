package stacks

import (
	"slices"
	"testing"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

func word(at checkpoint.Tick, kind checkpoint.Kind, site checkpoint.SiteID) checkpoint.Word {
	return checkpoint.Pack(at, kind, site)
}

// fold folds words of a thread that begins at tick 1.
func fold(st *Stacks, tid uint32, words ...checkpoint.Word) {
	id := checkpoint.Thread{PID: 1, TID: tid}
	st.Fold(checkpoint.Run{Thread: id, First: true, Start: 1, Words: words}, 1<<30, 1<<30)
}

func nobody(checkpoint.Thread) bool { return false }

// ticks is the time of a thread by the sites of its paths, the outermost first.
func ticks(st *Stacks, t *Thread) map[string]uint64 {
	all := map[string]uint64{}
	for _, p := range t.Parts() {
		name := ""
		for n := p.Node; n != paths.Root; n = st.Tree.Parent(n) {
			name = string(rune('0'+st.Tree.Site(n))) + name
		}
		all[name] += p.Ticks
	}
	return all
}

func expect(t *testing.T, got map[string]uint64, want map[string]uint64) {
	t.Helper()
	for path, n := range want {
		if got[path] != n {
			t.Errorf("path %q has %d ticks, want %d", path, got[path], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// The time of a window goes to the path that was innermost, up to the window's end;
// the next window begins with the stack of the last.
func TestParts(t *testing.T) {
	st := New()
	fold(st, 1, word(10, checkpoint.Enter, 1), word(30, checkpoint.Enter, 2), word(60, checkpoint.Exit, 2),
		word(65, checkpoint.Enter, 2))
	st.Charge(100, nobody)
	expect(t, ticks(st, st.Threads()[0]), map[string]uint64{"": 9, "1": 25, "12": 65})
	st.EndWindow()
	st.Charge(150, nobody)
	expect(t, ticks(st, st.Threads()[0]), map[string]uint64{"12": 50})
	if two := st.Tree.Path(st.Tree.Path(paths.Root, 1, 0), 2, 0); st.Calls(two) != 2 {
		t.Errorf("%d calls of 2 in 1", st.Calls(two))
	}
}

// What an event costs is taken from the path before it, and kept by itself.
func TestCostOfEvents(t *testing.T) {
	st := New()
	id := checkpoint.Thread{PID: 1, TID: 1}
	st.Fold(checkpoint.Run{Thread: id, First: true, Start: 1, Cost: 4, Words: []checkpoint.Word{
		word(11, checkpoint.Enter, 1), word(31, checkpoint.Exit, 1),
	}}, 1<<30, 1<<30)
	st.Charge(31, nobody)
	got := ticks(st, st.Threads()[0])
	if probe := st.Probe(); probe == 0 || st.Tree.Site(probe) != checkpoint.OwnSite {
		t.Fatalf("the node of checkpoints is %d", probe)
	}
	own := string(rune('0' + checkpoint.OwnSite))
	expect(t, got, map[string]uint64{"": 6, "1": 16, own: 8})
}

// Open lists the calls that are open, TakeLong those that were long, once.
func TestLongAndOpenCalls(t *testing.T) {
	st := New()
	st.Long = 20
	fold(st, 1, word(10, checkpoint.Enter, 1), word(20, checkpoint.Enter, 2), word(40, checkpoint.Exit, 2),
		word(41, checkpoint.Enter, 3), word(60, checkpoint.Exit, 3), word(70, checkpoint.Enter, 4))
	thread := st.Threads()[0]
	long := thread.TakeLong()
	if len(long) != 1 || st.Tree.Site(long[0].Node) != 2 || long[0].Since != 20 || long[0].End != 40 ||
		len(thread.TakeLong()) != 0 {
		t.Errorf("%+v", long)
	}
	var open []checkpoint.SiteID
	for _, c := range thread.Open() {
		if c.Node != paths.Root {
			open = append(open, st.Tree.Site(c.Node))
		}
	}
	if !slices.Equal(open, []checkpoint.SiteID{1, 4}) {
		t.Errorf("open: %v", open)
	}
}

// A thread that the kernel knows no more ended when it was last charged, its open
// calls with it.
func TestKilledThread(t *testing.T) {
	st := New()
	fold(st, 1, word(10, checkpoint.Enter, 1))
	st.Charge(50, nobody)
	st.EndWindow()
	st.Charge(90, func(checkpoint.Thread) bool { return true })
	if parts := st.Threads()[0].Parts(); len(parts) != 0 || st.Cut(1) != 1 || st.Stats.OpenAtEnd != 1 {
		t.Errorf("%v, %d cut, %+v", parts, st.Cut(1), st.Stats)
	}
}

// A thread is forgotten at the end of the window in which it ended.
func TestEndedThread(t *testing.T) {
	st := New()
	id := checkpoint.Thread{PID: 1, TID: 1}
	run := checkpoint.Run{Thread: id, First: true, Last: true, Start: 1, Words: []checkpoint.Word{
		word(10, checkpoint.Enter, 1), word(20, checkpoint.Exit, 1),
	}}
	st.Fold(run, 1<<30, 1<<30)
	fold(st, 2, word(10, checkpoint.Enter, 1))
	st.Charge(50, nobody)
	if all := st.Threads(); len(all) != 2 || !all[0].Ended() || all[1].Ended() {
		t.Fatalf("%d threads", len(all))
	}
	expect(t, ticks(st, st.Threads()[0]), map[string]uint64{"": 9, "1": 10})
	st.EndWindow()
	if all := st.Threads(); len(all) != 1 || all[0].ID.TID != 2 {
		t.Errorf("%d threads are left", len(all))
	}
}

// Times of suspension count from leave to return, and to the end where a frame does
// not come back.
func TestSuspended(t *testing.T) {
	st := New()
	st.Begin(5)
	fold(st, 1, word(10, checkpoint.Enter, 1), word(20, checkpoint.Suspend, 1), word(50, checkpoint.Resume, 1),
		word(60, checkpoint.Exit, 1), word(70, checkpoint.Enter, 2), word(80, checkpoint.Suspend, 2))
	for site, want := range map[checkpoint.SiteID]float64{1: 30, 2: 20, 3: 0} {
		if got := st.Suspended(site, 100); got != want {
			t.Errorf("site %d: %g, want %g", site, got, want)
		}
	}
}

// A strand's stack goes with it from thread to thread, whichever is folded first.
func TestStrandMoves(t *testing.T) {
	st := New()
	run := func(tid uint32, words ...checkpoint.Word) {
		st.Fold(checkpoint.Run{
			Thread: checkpoint.Thread{PID: 1, TID: tid}, First: true, Start: 1, Strands: true, Words: words,
		}, 1<<30, 1<<30)
	}
	run(2, word(50, checkpoint.Strand, 7), word(60, checkpoint.Enter, 2), word(80, checkpoint.Strand, 0))
	run(1, word(10, checkpoint.Strand, 7), word(10, checkpoint.Enter, 1), word(40, checkpoint.Strand, 0))
	st.Merge()
	st.Charge(100, nobody)
	all := map[uint32]*Thread{}
	for _, th := range st.Threads() {
		all[th.ID.TID] = th
	}
	expect(t, ticks(st, all[1]), map[string]uint64{"1": 30})
	expect(t, ticks(st, all[2]), map[string]uint64{"1": 10, "12": 20})
	if all[1].Idle() != 9+60 || all[2].Idle() != 49+20 {
		t.Errorf("idle: %d and %d", all[1].Idle(), all[2].Idle())
	}
	if processes, strands := st.Strands(); processes != 1 || strands != 1 {
		t.Errorf("%d processes, %d strands", processes, strands)
	}
	st.End(100)
	if st.Stats.OpenAtEnd != 2 {
		t.Errorf("%+v", st.Stats)
	}
}

// Below MaxDepth time is the caller's.
func TestJoinedWithCallers(t *testing.T) {
	st := New()
	st.MaxDepth = 1
	fold(st, 1, word(10, checkpoint.Enter, 1), word(20, checkpoint.Enter, 2), word(60, checkpoint.Exit, 2),
		word(70, checkpoint.Exit, 1))
	st.Charge(70, nobody)
	if got := ticks(st, st.Threads()[0]); got["1"] != 60 || got["12"] != 0 {
		t.Error(got)
	}
}

// Every call of a site beyond the limit of paths is counted, also the next one from
// the same caller.
func TestTruncatedCallsAreCounted(t *testing.T) {
	st := New()
	for site := checkpoint.SiteID(10); st.Tree.Len() < paths.Max; site++ {
		st.Tree.Path(paths.Root, site, 0)
	}
	var words []checkpoint.Word
	for at := checkpoint.Tick(10); at < 210; at += 20 {
		words = append(words, word(at, checkpoint.Enter, 1), word(at+10, checkpoint.Exit, 1))
	}
	fold(st, 1, words...)
	if st.Tree.Truncated != 10 {
		t.Errorf("%d of 10 calls are counted as truncated", st.Tree.Truncated)
	}
}

// Threads of strands that add up share the paths. Their time without a strand is
// nobody's, and a strand that left one thread and came back on another was away.
func TestSumsOfStrands(t *testing.T) {
	st := New()
	st.Begin(0)
	nodes := []checkpoint.Node{{}, {}, {}, {Site: 1}, {Site: 2, Parent: 3}}
	run := func(tid uint32, last bool, w checkpoint.Window) {
		n := st.Fold(checkpoint.Run{
			Thread: checkpoint.Thread{PID: 1, TID: tid}, First: true, Start: 5, Last: last,
			Tally: &checkpoint.Tally{Paths: 7, Strands: true, Nodes: nodes, Windows: []checkpoint.Window{w}},
		}, 100, 100)
		if n != 1 {
			t.Fatalf("thread %d: %d windows", tid, n)
		}
	}
	left, later := uint64(20), uint64(40)
	run(1, false, checkpoint.Window{Begin: 10, Last: 50, Top: checkpoint.NoNode, Parts: []checkpoint.Part{
		{Node: 3, Ticks: 8, Calls: 2}, {Node: 4, Ticks: 2, Calls: 3, Away: 1, AwayTicks: -left},
	}})
	run(2, false, checkpoint.Window{Begin: 10, Last: 60, Top: 4, Parts: []checkpoint.Part{
		{Node: 4, Ticks: 15, Away: -1, AwayTicks: 35}, {Node: 3, Ticks: 5, Away: 1, AwayTicks: -later},
	}})
	st.Charge(100, nobody)
	all := st.Threads()
	expect(t, ticks(st, all[0]), map[string]uint64{"1": 8, "12": 2, "": 5})
	expect(t, ticks(st, all[1]), map[string]uint64{"1": 5, "12": 15 + 40, "": 5})
	if all[0].Idle() != 30+50 || all[1].Idle() != 30 {
		t.Errorf("idle: %d and %d", all[0].Idle(), all[1].Idle())
	}
	one := st.Tree.Path(paths.Root, 1, 0)
	two := st.Tree.Path(one, 2, 0)
	if st.Calls(one) != 2 || st.Calls(two) != 3 {
		t.Errorf("%d and %d calls", st.Calls(one), st.Calls(two))
	}
	st.EndWindow()
	st.End(100)
	if st.Away(two) != 15 || st.Away(one) != 60 {
		t.Errorf("away for %g and %g ticks", st.Away(two), st.Away(one))
	}
	// Open are 1 and 2 on the second thread, and 1 of the strand that is away.
	if st.Stats.OpenAtEnd != 3 || st.Cut(1) != 2 || st.Cut(2) != 1 {
		t.Errorf("%+v, %d and %d cut", st.Stats, st.Cut(1), st.Cut(2))
	}
	if len(st.sums.trees) != 0 {
		t.Errorf("%d trees are kept", len(st.sums.trees))
	}
}

// Only a word whose tick is before that of its thread's word before ran backwards: not what follows one that was
// ahead, and not what is read after the end of its window.
func TestBackwards(t *testing.T) {
	const end = 0 // in place of a word: a window ends at tick 500
	for what, c := range map[string]struct {
		ticks [][]checkpoint.Tick // of runs
		want  uint64
	}{
		"forward":                {[][]checkpoint.Tick{{10, 20, 20}, {30, 40}}, 0},
		"one is ahead":           {[][]checkpoint.Tick{{10, 900, 30, 40, 50}, {60, 70, 910}}, 1},
		"the last is ahead":      {[][]checkpoint.Tick{{10, 900}, {30, 40, 50}}, 1},
		"two are behind":         {[][]checkpoint.Tick{{10, 30, 20, 40, 35}, {50}}, 2},
		"down and down":          {[][]checkpoint.Tick{{90, 80, 70}, {60, 65}}, 3},
		"late":                   {[][]checkpoint.Tick{{10, 20}, {end}, {30, 40, 50}, {60}}, 0},
		"late, and behind":       {[][]checkpoint.Tick{{10, 20}, {end}, {15, 40, 50}, {45}}, 2},
		"ahead of a window":      {[][]checkpoint.Tick{{10, 900, 30}, {40}, {end}, {50, 60}}, 1},
		"over the end of an era": {[][]checkpoint.Tick{{1<<40 - 5, 1<<40 + 5}, {1<<40 + 6, 1<<40 + 3}}, 1},
	} {
		for _, strands := range []bool{false, true} {
			st := New()
			r := checkpoint.Run{Thread: checkpoint.Thread{PID: 1, TID: 1}, First: true, Start: 1, Strands: strands}
			var all []checkpoint.Word
			fold := func(until checkpoint.Tick) {
				r.Words = all
				n := st.Fold(r, 1<<41, until)
				st.Merge()
				all, r.First = all[n:], false
			}
			for _, run := range c.ticks {
				if run[0] == end {
					st.Charge(500, nobody)
					st.EndWindow()
					continue
				}
				for i, at := range run {
					if strands && i == 0 {
						all = append(all, word(at, checkpoint.Strand, 7))
					}
					all = append(all, word(at, checkpoint.Enter, 1), word(at, checkpoint.Exit, 1))
				}
				fold(500) // what is ahead is not taken, nor what follows it
				fold(1 << 42)
			}
			if got := st.Stats.Backwards; got != c.want || len(all) > 0 {
				t.Errorf("%s, strands %v: %d, want %d; %d words are left", what, strands, got, c.want, len(all))
			}
		}
	}
}
