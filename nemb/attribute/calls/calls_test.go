package calls

import (
	"iter"
	"math"
	"testing"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
)

const ms = 1_000_000

func open(calls ...paths.Call) iter.Seq2[int, paths.Call] {
	return func(yield func(int, paths.Call) bool) {
		for i, c := range calls {
			if !yield(i, c) {
				return
			}
		}
	}
}

// play plays a run of a second in windows of a millisecond. The program has one
// thread and draws 20 W, and 50 W more from 300 to 400 ms, while it is in a call.
func play(period float64, site checkpoint.SiteID) *Calls {
	tree := paths.NewTree()
	node := tree.Path(paths.Root, site, 0)
	call := paths.Call{Since: 300 * ms, Node: node}
	c := New(tree)
	for at := checkpoint.Tick(ms); at <= 1000*ms; at += ms {
		w := Window{
			From: float64(at - ms), To: float64(at), At: at, PerTick: 1, Weight: ms,
			Joules: 0.020, Moved: true, Period: period,
		}
		if at > 300*ms && at <= 400*ms {
			w.Joules = 0.070
		}
		t := Thread{ID: checkpoint.Thread{PID: 1, TID: 1}, CPU: ms, Open: open(paths.Call{})}
		if at > 300*ms && at < 400*ms {
			t.Open = open(paths.Call{}, call)
		}
		if at == 400*ms && int64(at-call.Since) >= c.Long() {
			t.Long = []paths.Span{{Call: call, End: at}}
		}
		c.Close(w, []Thread{t})
	}
	c.End(1000 * ms)
	return c
}

// A call of a hundred periods has the joules that its thread used in it.
func TestLongCall(t *testing.T) {
	c := play(ms, 7)
	got := c.Of(7)
	if got.N != 1 || got.Method() != nemb.Bracketed || math.Abs(got.Mean.Joules()-7) > 0.07 || got.Min != got.Max {
		t.Errorf("%+v by %s, want 7 J", got, got.Method())
	}
	if c.Long() != 20*ms {
		t.Errorf("a call is long from %d ticks on", c.Long())
	}
	spans := c.Spans()
	if len(spans) != 1 || spans[0] != (Span{checkpoint.Thread{PID: 1, TID: 1}, 7, 300 * ms, 400 * ms}) {
		t.Errorf("%+v", spans)
	}
}

// A counter that follows its power slowly shows the energy of a call late: what took less than 30 of its time constants
// has none.
func TestCallsBelowAFilter(t *testing.T) {
	c := play(ms, 7)
	c.SetLag(3 * ms)
	if c.Of(7).N != 1 {
		t.Error("a call of 33 time constants is not told")
	}
	c.SetLag(4 * ms)
	if got := c.Of(7); got != (Summary{}) {
		t.Errorf("a call of 25 time constants is told: %+v", got)
	}
}

// Where no period is known a call is a span alone. What cg's runtime does is
// neither.
func TestSpansAlone(t *testing.T) {
	c := play(0, 7)
	if got := c.Of(7); got != (Summary{}) || len(c.Spans()) != 1 {
		t.Errorf("%+v, %v", got, c.Spans())
	}
	c = play(ms, checkpoint.OwnSite)
	if got := c.Of(checkpoint.OwnSite); got != (Summary{}) || len(c.Spans()) != 0 {
		t.Errorf("%+v, %v", got, c.Spans())
	}
}

// A call within one of its own site is a part of that.
func TestRecursiveCall(t *testing.T) {
	tree := paths.NewTree()
	outer := tree.Path(paths.Root, 1, 0)
	inner := tree.Path(outer, 1, 0)
	c := New(tree)
	whole, part := paths.Call{Since: 20 * ms, Node: outer}, paths.Call{Since: 30 * ms, Node: inner}
	for at := checkpoint.Tick(ms); at <= 120*ms; at += ms {
		t := Thread{ID: checkpoint.Thread{PID: 1, TID: 1}, CPU: ms, Open: open(), Ended: at == 120*ms}
		switch {
		case at == 60*ms:
			t.Open, t.Long = open(paths.Call{}, whole), []paths.Span{{Call: part, End: at}}
		case at == 80*ms:
			t.Long = []paths.Span{{Call: whole, End: at}}
		case at > 20*ms && at < 80*ms:
			t.Open = open(paths.Call{}, whole, part)
		}
		w := Window{
			From: float64(at - ms), To: float64(at), At: at, PerTick: 1, Weight: ms, Joules: 0.01, Moved: true, Period: ms,
		}
		c.Close(w, []Thread{t})
	}
	if got := c.Of(1); got.N != 1 || math.Abs(got.Mean.Joules()-0.6) > 0.02 {
		t.Errorf("%+v, want one of 0.6 J", got)
	}
	if len(c.order) != 0 {
		t.Errorf("%d threads are kept", len(c.order))
	}
}

// A thread that ends in a window without a length is forgotten as any other.
func TestThreadsAreForgotten(t *testing.T) {
	c := New(paths.NewTree())
	w := Window{To: ms, At: ms, PerTick: 1, Weight: ms, Period: ms}
	one := Thread{ID: checkpoint.Thread{PID: 1, TID: 1}, Open: open()}
	c.Close(w, []Thread{one})
	if len(c.threads) != 1 {
		t.Fatalf("%d threads", len(c.threads))
	}
	one.Ended = true
	w.From, w.PerTick = w.To, 0
	c.Close(w, []Thread{one})
	if len(c.threads) != 0 || len(c.order) != 0 {
		t.Errorf("%d and %d threads are kept", len(c.threads), len(c.order))
	}
}

// A call is found below as many frames as are looked at, and not below more.
func TestDeepCalls(t *testing.T) {
	tree := paths.NewTree()
	node := tree.Path(paths.Root, 7, 0)
	for depth, want := range map[int]int{1: 1, 2*keptMarks + 1: 1, 2*keptMarks + 2: 0} {
		c := New(tree)
		stack := make([]paths.Call, depth+1) // calls of the root, and ours on top
		stack[depth] = paths.Call{Since: 1, Node: node}
		w := Window{To: 1000 * ms, At: 1000 * ms, PerTick: 1, Weight: ms, Period: ms}
		c.Close(w, []Thread{{ID: checkpoint.Thread{PID: 1, TID: 1}, Open: open(stack...)}})
		if got := len(c.order[0].marks); got != want {
			t.Errorf("%d marks below %d frames, want %d", got, depth, want)
		}
	}
}
