package calls

import (
	"testing"
	"time"

	"cg/checkpoint"
)

// spread is times of a thousand calls, ten in each of a hundred bins.
func spread() checkpoint.Times {
	const first, bins = 40, 100
	of := checkpoint.Times{Drawn: 1000}
	for i := range bins {
		of.Bins[first+i] = 10
	}
	of.Least, _ = checkpoint.TimeBin(first)
	_, of.Most = checkpoint.TimeBin(first + bins - 1)
	return of
}

// A burst counts as much as the calls for which it stands: a few that stand for many make the
// interval wide, however many others there are, of this thread or of another.
func TestWeightsOfBursts(t *testing.T) {
	other := spread()
	for _, c := range []struct {
		bursts, each float64 // and the square of what each stands for
		of           []checkpoint.Times
		lo, hi       int // bins
	}{
		{bursts: 0, lo: 49, hi: 49},
		{bursts: 1000, each: 1, lo: 46, hi: 53},                                     // off by 0.031
		{bursts: 100, each: 10 * 10, lo: 40, hi: 59},                                // 0.098
		{bursts: 25, each: 20 * 20, lo: 40, hi: 59},                                 // 0.098, of half of the calls
		{bursts: 100, each: 10 * 10, of: []checkpoint.Times{other}, lo: 45, hi: 54}, // 0.049
	} {
		times := spread()
		times.Squares = c.bursts * c.each
		for i := range c.of {
			times.Add(&c.of[i])
		}
		from, _ := checkpoint.TimeBin(40 + c.lo)
		_, to := checkpoint.TimeBin(40 + c.hi)
		got := TimesOf(&times, 0, 1).Median
		if got.Lo != time.Duration(from) || got.Hi != time.Duration(to) {
			t.Errorf("%g of %g: %+v, want %d to %d", c.bursts, c.each, got, from, to)
		}
	}
	times := spread()
	times.Squares = 1000 * 1000
	if got := TimesOf(&times, 0, 1); got.Median.Hi != -1 || got.P95.Hi != -1 {
		t.Errorf("one burst: %+v", got)
	}
}

// A thread that is still running may have counted a call and not yet said that it is the
// longest, or the shortest.
func TestTimesOfARunningThread(t *testing.T) {
	for _, bounds := range [][2]uint64{{100, 120}, {1 << 30, 1 << 31}, {20000, 20001}} {
		times := spread()
		times.Least, times.Most = bounds[0], bounds[1]
		times.Squares = 5000
		got := TimesOf(&times, 0, 1)
		for _, q := range []Quantile{got.Median, got.P95} {
			if q.Lo < got.Min || q.Lo > q.Value || q.Value > q.Hi || q.Hi > got.Max {
				t.Errorf("%v: %+v of %+v", bounds, q, got)
			}
		}
	}
}
