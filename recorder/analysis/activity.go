package analysis

import "math"

// Activity is how long ranks read and wrote, over time.
type Activity struct {
	// BinS is the length of a bin in seconds; bins begin at 0.
	BinS float64 `json:"bin_s"`
	// RanksPerRow is how many ranks a row has, the last maybe fewer.
	RanksPerRow int `json:"ranks_per_row"`
	// ReadS and WriteS are seconds of each row in each bin, summed over its ranks.
	ReadS  [][]float64 `json:"read_s"`
	WriteS [][]float64 `json:"write_s"`
}

// The picture of activity has at most so many rows and bins.
const (
	maxRows = 512
	bins    = 512
)

// activity collects an Activity. A bin is twice as long whenever the last one is passed.
type activity struct {
	per        int
	ticks      int64 // of a bin
	resolution float64
	sums       [2][][]float64 // in ticks
	last       int64
}

func newActivity(ranks int, resolution float64) activity {
	per := (ranks + maxRows - 1) / maxRows
	a := activity{per: per, ticks: 1, resolution: resolution}
	for i := range a.sums {
		a.sums[i] = make([][]float64, (ranks+per-1)/per)
	}
	return a
}

// add takes in a call of a rank, by its place among those read.
func (a *activity) add(rank int, what kind, from, to int64) {
	for to/a.ticks >= bins {
		a.double()
	}
	which := 0
	if what == writing {
		which = 1
	}
	a.last = max(a.last, to)
	row := a.sums[which][rank/a.per]
	if row == nil {
		row = make([]float64, bins)
		a.sums[which][rank/a.per] = row
	}
	first, last := from/a.ticks, to/a.ticks
	if first == last {
		row[first] += float64(to - from)
		return
	}
	row[first] += float64((first+1)*a.ticks - from)
	for i := first + 1; i < last; i++ {
		row[i] += float64(a.ticks)
	}
	row[last] += float64(to - last*a.ticks)
}

func (a *activity) double() {
	a.ticks *= 2
	for _, rows := range a.sums {
		for _, row := range rows {
			if row == nil {
				continue
			}
			for i := range bins / 2 {
				row[i] = row[2*i] + row[2*i+1]
			}
			clear(row[bins/2:])
		}
	}
}

// finish gives the picture, without the empty bins behind the last call.
func (a *activity) finish() Activity {
	n := int(a.last/a.ticks) + 1
	out := Activity{BinS: float64(a.ticks) * a.resolution, RanksPerRow: a.per}
	cut := func(rows [][]float64) (all [][]float64) {
		for _, row := range rows {
			line := make([]float64, n)
			for i := range min(n, len(row)) {
				line[i] = math.Round(row[i]*a.resolution*1e9) / 1e9
			}
			all = append(all, line)
		}
		return all
	}
	out.ReadS, out.WriteS = cut(a.sums[0]), cut(a.sums[1])
	return out
}
