package stacks

import (
	"math"
	"testing"

	"cg/checkpoint"
)

// Of threads that were looked at and have ended, what the looks tell stays, and nothing else.
func TestEndedThreadsAreForgotten(t *testing.T) {
	const threads = 2000
	st := New()
	st.Begin(0)
	at := checkpoint.Tick(0)
	for i := range uint32(threads) {
		id := checkpoint.Thread{PID: 1, TID: i + 1}
		for k := range checkpoint.Tick(4) { // three in the inner function, one in the outer
			path := []checkpoint.SiteID{1, 2}
			if k == 3 {
				path = path[:1]
			}
			st.Look(Look{Thread: id, At: at + 100 + 100*k, Path: path})
		}
		at += 1000
		st.Charge(at, func(of checkpoint.Thread) bool { return of != id })
		if n := len(st.Threads()); n > 2 {
			t.Fatalf("%d threads are kept", n)
		}
		st.EndWindow()
		if len(st.threads) != 1 {
			t.Fatalf("%d threads are known", len(st.threads))
		}
	}
	seen := st.Seen()
	outer := st.Tree.Path(0, 1, 0)
	inner := st.Tree.Path(outer, 2, 0)
	if s := seen[inner]; s.Looks != 3*threads || s.LooksUnder != s.Looks || s.RelativeUnder != s.Relative {
		t.Errorf("inner: %+v", s)
	}
	if s := seen[outer]; s.Looks != threads || s.LooksUnder != 4*threads || s.RelativeUnder > 1e-12 {
		t.Errorf("outer: %+v", s)
	}
	// All threads are alike, so the variance of all is that of one by their number.
	one := New()
	one.Begin(0)
	for k := range checkpoint.Tick(4) {
		path := []checkpoint.SiteID{1, 2}
		if k == 3 {
			path = path[:1]
		}
		one.Look(Look{Thread: checkpoint.Thread{PID: 1, TID: 1}, At: 100 + 100*k, Path: path})
	}
	one.Charge(1000, func(checkpoint.Thread) bool { return false })
	if got, want := seen[inner].Relative*threads, one.Seen()[inner].Relative; math.Abs(got/want-1) > 0.01 || want == 0 {
		t.Errorf("variance %g, of one thread %g", got, want)
	}
	if again := st.Seen(); again[inner] != seen[inner] || again[outer] != seen[outer] {
		t.Errorf("%+v, when asked once more %+v", seen[inner], again[inner])
	}
}

// Looks that saw different functions leave open what ran between them for how long, and no longer than the thread may
// have been on a processor: not while it was seen to wait, nor all of a time in which nobody looked.
func TestBlurIsOfProcessorTime(t *testing.T) {
	const ms = 1000 // ticks
	for name, of := range map[string]struct {
		waits int             // looks between, each 1 ms after the one before, that see the thread wait
		after checkpoint.Tick // to the look that sees the other function
		want  float64         // ms^2, for each of the two functions
	}{
		"nothing between":   {0, ms, 0.5},
		"a wait of 20 ms":   {21, ms, 2},
		"a look 20 ms late": {0, 20 * ms, 4.5}, // three times as long as others
	} {
		st := New()
		st.Begin(0)
		at := checkpoint.Tick(0)
		look := func(after checkpoint.Tick, site checkpoint.SiteID, waiting bool) {
			at += after
			st.Look(Look{Thread: checkpoint.Thread{PID: 1, TID: 1}, At: at, Path: []checkpoint.SiteID{site}, Waiting: waiting})
		}
		for range 50 {
			look(ms, 1, false)
		}
		for range of.waits {
			look(ms, 1, true)
		}
		look(of.after, 2, false)
		for _, site := range []checkpoint.SiteID{1, 2} {
			if got := st.Blur()[site] / ms / ms; math.Abs(got/of.want-1) > 0.1 {
				t.Errorf("%s: site %d: %g ms^2, want %g", name, site, got, of.want)
			}
		}
	}
}
