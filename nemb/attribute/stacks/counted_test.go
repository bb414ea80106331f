package stacks

import (
	"testing"

	"cg/checkpoint"
)

func newCounting() *counting {
	return &counting{known: &knowledge{sites: map[checkpoint.SiteID]*sample{}}, paths: map[int32]*pathSample{}}
}

// The ticks of an interval that was drawn may be read later than that it was.
func TestDrawnTicksThatComeLater(t *testing.T) {
	c := newCounting()
	for _, drawn := range [][2]checkpoint.Drawn{
		{{Intervals: 10, Ticks: 1000}, {Intervals: 2, Ticks: 9000}},
		{{Intervals: 1}, {Intervals: 1}},
		{},
		{{Ticks: 100}, {Ticks: 4500}},
	} {
		c.learn(5, 7, drawn, 10)
	}
	for name, s := range map[string]*sample{"path": &c.paths[5].sample, "any thread": c.known.paths[5],
		"site": c.known.sites[7], "all": &c.known.every} {
		if s.n != 11 || s.ticks != 11*90 || s.longs != 3 || s.long != 3*4490 {
			t.Errorf("%s: %g intervals of %g ticks, %g long ones of %g", name, s.n, s.ticks, s.longs, s.long)
		}
	}
}

// An interval that lasts over a sample is a long one if its thread takes it for one.
func TestIntervalsOverASample(t *testing.T) {
	c := newCounting()
	c.crossed(5, 7, 999, 1000)
	if c.known.every.longs != 0 {
		t.Errorf("%g long intervals", c.known.every.longs)
	}
	c.crossed(5, 7, 1000, 1000)
	if c.known.every.longs != 1 || c.paths[5].long != 1000 {
		t.Errorf("%g long intervals, %g ticks", c.known.every.longs, c.paths[5].long)
	}
}

// Each thread's checkpoints cost what its process measured, whichever thread is read last.
func TestEventsCostTheirThread(t *testing.T) {
	st := New()
	st.Begin(0)
	nodes := []checkpoint.Node{{}, {}, {}, {Site: 1}}
	run := func(tid uint32, timed, counted float64) {
		w := checkpoint.Window{Begin: 10, Last: 20, Top: 3, Counting: true,
			Parts: []checkpoint.Part{{Node: 3, Ticks: 10, Counted: 4}}}
		st.Fold(checkpoint.Run{
			Thread: checkpoint.Thread{PID: tid, TID: tid}, First: true, Start: 10, Cost: timed,
			Tally: &checkpoint.Tally{Paths: uint64(tid), Nodes: nodes, Windows: []checkpoint.Window{w}, Events: 100,
				CountedCost: counted},
		}, 100, 100)
	}
	run(1, 20, 2)
	run(2, 60, 10)
	st.Charge(100, nobody)
	for i, own := range []uint64{4 * 2, 4 * 10} {
		got := uint64(0)
		for _, p := range st.Threads()[i].Parts() {
			if p.Node == st.Probe() {
				got += p.Ticks
			}
		}
		if got != own {
			t.Errorf("thread %d: checkpoints took %d ticks, want %d", i+1, got, own)
		}
	}
	if n, timed, counted := st.Counted(); n != 8 || timed != 40 || counted != 6 {
		t.Errorf("%g intervals, %g and %g ticks", n, timed, counted)
	}
}
