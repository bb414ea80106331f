package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cg/nemb/attribute"
)

// CallsTime is how long a call of a function took, with what it called. Each quantile has the
// bounds that it lies between; an upper one is null where too few calls were timed to tell.
type CallsTime struct {
	N         uint64   `json:"n"`     // calls that were timed
	MinS      float64  `json:"min_s"` // of these
	MedianS   float64  `json:"median_s"`
	MedianLoS float64  `json:"median_lo_s"`
	MedianHiS *float64 `json:"median_hi_s"`
	P95S      float64  `json:"p95_s"`
	P95LoS    float64  `json:"p95_lo_s"`
	P95HiS    *float64 `json:"p95_hi_s"`
	MaxS      float64  `json:"max_s"` // of those that were timed
	// Calls is for how many calls those that were timed stand: about as many as there were.
	// An older cg told neither it nor Bins.
	Calls float64 `json:"calls,omitempty"`
	// BurstSquares is the sum of the squares of the calls for which each burst stands.
	BurstSquares float64 `json:"burst_squares,omitempty"`
	// Bins are from, to, and how many of Calls took as long. From and to are steps: step k is
	// 2^(k/16) ns, and step 0 is 0 s. Bins of several runs may overlap.
	Bins [][]float64 `json:"bins,omitempty"`
}

const (
	stepsOfOctave = 16
	mostStep      = 64 * stepsOfOctave // some 585 years
	// likely is how many standard deviations are the half-width of an interval of 95 %.
	likely = 1.96
)

// StepS is how long the calls are that end a step of CallsTime.Bins, in seconds.
func StepS(step float64) float64 {
	if step <= 0 {
		return 0
	}
	return math.Exp2(step/stepsOfOctave) * 1e-9
}

// stepOf is the step of a time, rounded by round, so that bounds become wider.
func stepOf(ns float64, round func(float64) float64) float64 {
	if ns <= 0 {
		return 0
	}
	return round(max(.5, math.Log2(ns)*stepsOfOctave))
}

// hundredth rounds a number of calls as it is saved.
func hundredth(calls float64) float64 { return math.Round(calls*100) / 100 }

// isBin reports whether a bin is one of CallsTime.Bins.
func isBin(b []float64) bool {
	return len(b) == 3 && 0 <= b[0] && b[0] <= b[1] && b[1] <= mostStep && b[0] == math.Trunc(b[0]) &&
		b[1] == math.Trunc(b[1]) && b[2] > 0
}

// HasBins reports whether there are bins that can be added up and drawn. An older cg saved none, and a file
// that somebody changed may have others.
func (t *CallsTime) HasBins() bool {
	return t != nil && len(t.Bins) > 0 && !slices.ContainsFunc(t.Bins, func(b []float64) bool { return !isBin(b) })
}

// keep adds the bins of others, and puts them in order.
func (t *CallsTime) keep(bins [][]float64) {
	of := map[[2]float64]float64{}
	for _, b := range slices.Concat(t.Bins, bins) {
		of[[2]float64{b[0], b[1]}] += b[2]
	}
	t.Bins = nil
	for edges, calls := range of {
		t.Bins = append(t.Bins, []float64{edges[0], edges[1], hundredth(calls)})
	}
	slices.SortFunc(t.Bins, func(a, b []float64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
}

// Plus is the times of two sets of calls of a function, nil where neither has any that can be
// added up (see HasBins).
func (t *CallsTime) Plus(more *CallsTime) *CallsTime {
	switch {
	case !t.HasBins() && !more.HasBins():
		return nil
	case !more.HasBins():
		return t
	case !t.HasBins():
		return more
	}
	sum := &CallsTime{N: t.N + more.N, MinS: min(t.MinS, more.MinS), MaxS: max(t.MaxS, more.MaxS),
		Calls: hundredth(t.Calls + more.Calls), BurstSquares: t.BurstSquares + more.BurstSquares, Bins: t.Bins}
	sum.keep(more.Bins)
	sum.MedianLoS, sum.MedianS, sum.MedianHiS = sum.quantile(.5)
	sum.P95LoS, sum.P95S, sum.P95HiS = sum.quantile(.95)
	return sum
}

// quantile is the time that a part of the calls did not exceed, with its bounds: those of the bins, and
// of what the bursts show (95 %), where each counts as one, and as much as it stands for.
func (t *CallsTime) quantile(q float64) (lo, value float64, hi *float64) {
	all := 0.0
	for _, b := range t.Bins {
		all += b[2]
	}
	end := func(q float64, edge int) float64 {
		order := slices.SortedFunc(slices.Values(t.Bins), func(a, b []float64) int {
			return cmp.Compare(a[edge], b[edge])
		})
		left := q * all
		for _, b := range order {
			if left -= b[2]; left <= 0 {
				return min(max(StepS(b[edge]), t.MinS), t.MaxS)
			}
		}
		return min(max(StepS(order[len(order)-1][edge]), t.MinS), t.MaxS)
	}
	off := likely * math.Sqrt(q*(1-q)*t.BurstSquares) / all
	lo = end(max(0, q-off), 0)
	if off == 0 || q+off < 1 {
		hi = new(end(min(1, q+off), 1))
	}
	return lo, max(lo, (end(q, 0)+end(q, 1))/2), hi
}

// callsTime is what is told of times of calls, nil where there are none.
func callsTime(t attribute.Times) *CallsTime {
	if t.N == 0 {
		return nil
	}
	bound := func(d time.Duration) *float64 {
		if d < 0 {
			return nil
		}
		s := d.Seconds()
		return &s
	}
	told := &CallsTime{N: t.N, MinS: t.Min.Seconds(), MaxS: t.Max.Seconds(),
		MedianS: t.Median.Value.Seconds(), MedianLoS: t.Median.Lo.Seconds(), MedianHiS: bound(t.Median.Hi),
		P95S: t.P95.Value.Seconds(), P95LoS: t.P95.Lo.Seconds(), P95HiS: bound(t.P95.Hi),
		Calls: hundredth(t.Of), BurstSquares: hundredth(t.Squares)}
	var bins [][]float64
	for _, b := range t.Bins {
		bins = append(bins, []float64{stepOf(b.From, math.Floor), stepOf(b.To, math.Ceil), b.Calls})
	}
	told.keep(bins)
	return told
}

// times holds what is told of how long calls took against each other.
func (c *check) times(field string, f Function) {
	t := f.CallsTime
	if t == nil {
		return
	}
	field += "calls_time."
	if t.N == 0 {
		c.fault(field+"n", "0, but there are times of calls")
	}
	if t.MinS > t.MedianLoS || t.P95HiS != nil && *t.P95HiS > t.MaxS {
		c.fault(field+"min_s", "the bounds lie outside of %g to %g s", t.MinS, t.MaxS)
	}
	for _, q := range []struct {
		name      string
		value, lo float64
		hi        *float64
	}{{"median_s", t.MedianS, t.MedianLoS, t.MedianHiS}, {"p95_s", t.P95S, t.P95LoS, t.P95HiS}} {
		if q.value < q.lo || q.hi != nil && q.value > *q.hi {
			c.fault(field+q.name, "%g s is not within its bounds", q.value)
		}
	}
	sum := 0.0
	for _, b := range t.Bins {
		if !isBin(b) {
			c.fault(field+"bins", "%v is no bin of calls", b)
			return
		}
		sum += b[2]
	}
	if math.Abs(sum-t.Calls) > float64(len(t.Bins)+1)/100+1e-9*sum {
		c.fault(field+"bins", "the bins have %g calls, and not %g", sum, t.Calls)
	}
	if t.MedianS > t.P95S {
		c.fault(field+"p95_s", "%g s is less than the median, %g s", t.P95S, t.MedianS)
	}
}
