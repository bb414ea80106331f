package calls

import (
	"testing"

	"cg/checkpoint"
)

// spread is times of a thousand calls, ten in each of a hundred bins.
func spread() checkpoint.Times {
	const first, bins = 40, 100
	of := checkpoint.Times{Exact: 1000}
	for i := range bins {
		of.Bins[first+i] = 10
	}
	of.Least, _ = checkpoint.TimeBin(first)
	_, of.Most = checkpoint.TimeBin(first + bins - 1)
	return of
}

// A thread that is still running may have counted a call and not yet said that it is the
// longest, or the shortest.
func TestTimesOfARunningThread(t *testing.T) {
	for _, bounds := range [][2]uint64{{100, 120}, {1 << 30, 1 << 31}, {20000, 20001}} {
		times := spread()
		times.Least, times.Most = bounds[0], bounds[1]
		got := TimesOf(&times, 0, 1)
		for _, q := range []Quantile{got.Median, got.P95} {
			if q.Lo < got.Min || q.Lo > q.Value || q.Value > q.Hi || q.Hi > got.Max {
				t.Errorf("%v: %+v of %+v", bounds, q, got)
			}
		}
	}
}
