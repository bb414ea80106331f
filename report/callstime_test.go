package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cg/nemb/attribute"
)

// timesOf is what is told of calls that each took so long, in nanoseconds, with bins as a program has them.
func timesOf(calls []float64) *CallsTime {
	slices.Sort(calls)
	bins := map[int]attribute.TimeBin{}
	for _, ns := range calls {
		k := int(math.Floor(4 * math.Log2(ns)))
		b := bins[k]
		bins[k] = attribute.TimeBin{From: math.Exp2(float64(k) / 4), To: math.Exp2(float64(k+1) / 4), Calls: b.Calls + 1}
	}
	t := attribute.Times{N: uint64(len(calls)), Of: float64(len(calls)), Min: time.Duration(calls[0]),
		Max: time.Duration(calls[len(calls)-1]) + 1}
	for _, b := range bins {
		t.Bins = append(t.Bins, b)
	}
	return callsTime(t)
}

// Times of several runs add up: their quantiles are those of all calls, within bounds that are a bin
// and a little apart, in whichever order they are added.
func TestCallsTimesAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []float64
	var runs []*CallsTime
	for run := range 40 {
		var calls []float64
		for range 1000 {
			calls = append(calls, math.Exp(random.NormFloat64()+float64(8+run%5)))
		}
		all = append(all, calls...)
		runs = append(runs, timesOf(calls))
	}
	var sum, backwards *CallsTime
	for i, r := range runs {
		sum, backwards = sum.Plus(r), backwards.Plus(runs[len(runs)-1-i])
	}
	slices.Sort(all)
	if sum.N != 40_000 || sum.Calls != 40_000 || sum.MinS > all[0]*1e-9 || sum.MaxS < all[len(all)-1]*1e-9 ||
		len(sum.Bins) > 400 || !slices.EqualFunc(sum.Bins, backwards.Bins, slices.Equal) {
		t.Errorf("%+v", sum)
	}
	for _, q := range []struct {
		part, lo, value float64
		hi              *float64
	}{{.5, sum.MedianLoS, sum.MedianS, sum.MedianHiS}, {.95, sum.P95LoS, sum.P95S, sum.P95HiS}} {
		truth := all[int(q.part*40_000)] * 1e-9
		if q.hi == nil || q.lo > truth || *q.hi < truth || *q.hi > 1.35*q.lo || math.Abs(q.value/truth-1) > .15 {
			t.Errorf("%g: %g, from %g to %v, want %g", q.part, q.value, q.lo, q.hi, truth)
		}
	}
	c := check{}
	c.times("", Function{CallsTime: sum})
	if len(c.faults) > 0 {
		t.Errorf("%v", c.faults)
	}
}

// Calls of bursts stand for others: the interval of a sum has what neither part's bursts show.
func TestCallsTimesOfBurstsAddUp(t *testing.T) {
	few, many := timesOf([]float64{100, 200, 400, 800}), timesOf([]float64{100, 100, 100, 100})
	few.BurstSquares, many.BurstSquares = 16, 16
	if sum := few.Plus(many); sum.BurstSquares != 32 || sum.MedianLoS != sum.MinS || sum.P95HiS != nil {
		t.Errorf("%+v", sum)
	}
}

// A file of an older cg has no bins: its times are no part of a sum.
func TestCallsTimesOfAnOlderFile(t *testing.T) {
	old, known := &CallsTime{N: 3, MinS: 1, MaxS: 2}, timesOf([]float64{100, 200})
	if known.Plus(old) != known || old.Plus(known) != known || old.Plus(nil) != nil || known.Plus(nil) != known ||
		(*CallsTime)(nil).Plus(old) != nil {
		t.Error("it is")
	}
}

// A file may have bins that are none: they are no part of a sum, and are found.
func TestCallsTimesOfAChangedFile(t *testing.T) {
	known := timesOf([]float64{100, 200})
	for _, b := range [][]float64{{}, {1}, {1, 2}, {1, 2, 3, 4}, {-1, 2, 2}, {2, 1, 2}, {0, 1e300, 2}, {0, 1025, 2}, {.5, 1, 2},
		{1, 2, 0}} {
		changed := *known
		changed.Bins = append([][]float64{b}, known.Bins...)
		if known.Plus(&changed) != known || changed.Plus(known) != known || changed.Plus(nil) != nil ||
			(*CallsTime)(nil).Plus(&changed) != nil {
			t.Errorf("%v adds up", b)
		}
		c := check{}
		if c.times("", Function{CallsTime: &changed}); len(c.faults) == 0 {
			t.Errorf("%v is not found", b)
		}
	}
}

// Bounds become wider as they are saved, never narrower, and 0 s stays.
func TestStepsOfTimes(t *testing.T) {
	for _, ns := range []float64{0, .3, 1, 1.01, 2, 3, 100, 1e6, 1e12} {
		from, to := stepOf(ns, math.Floor), stepOf(ns, math.Ceil)
		if StepS(from) > ns*1e-9*(1+1e-12) || StepS(to) < ns*1e-9*(1-1e-12) || to-from > 1 {
			t.Errorf("%g ns: steps %g to %g, %g to %g s", ns, from, to, StepS(from), StepS(to))
		}
	}
}
