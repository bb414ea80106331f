package measure

import (
	"math"
	"testing"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb/attribute"
)

// virtualCost is what an event costs in testdata/budget.c.
const virtualCost = 120

// timesOf is how long the calls of each site took, of those that call nothing.
func (v *virtual) timesOf() map[checkpoint.SiteID]attribute.Times {
	all := map[checkpoint.SiteID]attribute.Times{}
	for _, c := range v.result.Costs {
		if _, known := v.times[c.Site]; known {
			all[c.Site] = c.Times
		}
	}
	return all
}

// Where each call is timed, the shortest and the longest are exact, and the others within
// a bin, which is no wider than a quarter.
func TestTimesOfTimedCalls(t *testing.T) {
	path := program(t, "budget")
	for _, name := range []string{"uneven", "tailed", "many", "hiccups", "nested"} {
		v := runVirtual(t, path, name, 1, 0)
		all := v.timesOf()
		if len(all) == 0 {
			t.Errorf("%s: no times", name)
		}
		for site, got := range all {
			want := v.times[site]
			if got.N != v.calls[site] || got.Of != float64(got.N) || float64(got.Min) != want[0] || float64(got.Max) != want[3] {
				t.Errorf("%s: site %d: %+v, want %v", name, site, got, want)
			}
			for i, q := range []attribute.Quantile{got.Median, got.P95} {
				// A bin is of what the clock showed, with the checkpoint.
				if truth := want[1+i]; float64(q.Lo) > truth || float64(q.Hi) < truth ||
					q.Hi-q.Lo > q.Lo/4+virtualCost/4+1 || q.Value < q.Lo || q.Value > q.Hi {
					t.Errorf("%s: site %d: %+v, want %g", name, site, q, truth)
				}
			}
		}
	}
}

// Where calls are timed in bursts, the times of all are within their intervals in 95 of 100,
// though other shares of them are drawn at other times.
func TestTimesOfDrawnCalls(t *testing.T) {
	path := program(t, "budget")
	seeds := long.Rounds(t, 2, 9)
	within, all, narrow := 0, 0, 0
	for _, name := range []string{"even", "uneven", "slower", "phases", "periodic", "tailed", "many", "sparse_first",
		"hiccups", "callers", "recursive", "stopped", "seldom", "lagging"} {
		for seed := range seeds {
			v := runVirtual(t, path, name, seed+1, 0.1)
			for site, got := range v.timesOf() {
				want := v.times[site]
				if got.N == 0 || got.N > v.calls[site] || float64(got.Min) < want[0] || float64(got.Max) > want[3] {
					t.Errorf("%s, seed %d: site %d: %+v, want %v", name, seed+1, site, got, want)
				}
				for i, q := range []attribute.Quantile{got.Median, got.P95} {
					all++
					if truth := want[1+i]; float64(q.Lo) <= truth && (float64(q.Hi) >= truth || q.Hi < 0) {
						within++
					} else {
						t.Logf("%s, seed %d, site %d: %d, %d to %d, want %g of %d", name, seed+1, site, q.Value, q.Lo,
							q.Hi, truth, got.N)
					}
					if q.Hi >= 0 && float64(q.Hi) <= 1.5*float64(q.Lo)+virtualCost {
						narrow++
					}
				}
			}
		}
	}
	if within*100 < 95*all || narrow*2 < all {
		t.Errorf("%d of %d are within their intervals, %d of these are narrow", within, all, narrow)
	}
	t.Logf("%d of %d within, %d narrow", within, all, narrow)
}

// Where few calls are drawn at first, and then many, the intervals are as wide as the few
// make them.
func TestTimesOfUnlikeShares(t *testing.T) {
	path := program(t, "budget")
	within, all, wide := 0, 0, 0
	for seed := range 40 {
		v := runVirtual(t, path, "thinner", seed+1, 0.025)
		got, want := v.timesOf()[2], v.times[2]
		for i, q := range []attribute.Quantile{got.Median, got.P95} {
			all++
			if truth := want[1+i]; float64(q.Lo) <= truth && (float64(q.Hi) >= truth || q.Hi < 0) {
				within++
			}
			if i == 0 && (q.Hi < 0 || q.Lo == got.Min) {
				wide++
				t.Logf("seed %d: the median is known to %+v of %+v", seed+1, q, got)
			}
		}
	}
	if within*100 < 95*all || wide > 4 {
		t.Errorf("%d of %d are within their intervals, of %d medians nothing is known", within, all, wide)
	}
	t.Logf("%d of %d within", within, all)
}

// Calls that were drawn stand for as many as there were, also where the share of the events that is timed
// becomes another with each window: what a share brings about lasts no longer than the share.
func TestTimesOfChangingShares(t *testing.T) {
	path := program(t, "budget")
	for seed := range 5 {
		v := runVirtual(t, path, "lagging", seed+1, 0.1)
		all := v.timesOf()
		for site, off := range map[checkpoint.SiteID]float64{2: 0.05, 3: 0.5} {
			got, calls := all[site], float64(v.calls[site])
			if got.N == 0 || float64(got.N) > calls*2/3 || math.Abs(got.Of-calls) > off*calls {
				t.Errorf("seed %d: %d calls of site %d stand for %.0f, want %.0f", seed+1, got.N, site, got.Of, calls)
			}
		}
	}
}

// A sum of squares that has no more room says that nothing is known.
func TestTimesOfHeavyBursts(t *testing.T) {
	v := runVirtual(t, program(t, "budget"), "heavy", 1, 0.1)
	got := v.timesOf()
	if len(got) != 2 || got[2].Median.Hi != -1 || got[2].P95.Hi != -1 || got[3].Median.Hi < 0 {
		t.Errorf("%+v", got)
	}
}
