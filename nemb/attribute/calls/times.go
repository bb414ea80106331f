package calls

import (
	"math"
	"time"

	"cg/checkpoint"
)

// Times is how long single calls of a site took, with what they called. What calls took that
// were counted and not timed follows from those that were drawn.
type Times struct {
	N           uint64        // calls that were timed
	Of          float64       // calls for which these stand: about all
	Min, Max    time.Duration // of these
	Median, P95 Quantile
	// Squares is the sum over the bursts of the square of the calls that a burst stands for.
	Squares float64
	Bins    []Bin // the calls for which those that were timed stand, by their times, rising
}

// Bin is how many calls took From to To, in nanoseconds.
type Bin struct{ From, To, Calls float64 }

// Quantile is a time that a part of the calls did not exceed. It lies between Lo and Hi: the
// bounds of the bins, and of what a sample of calls tells (95 %). Hi is -1 where too few
// calls were drawn to tell.
type Quantile struct{ Value, Lo, Hi time.Duration }

// likely is how many standard deviations of an estimate are the half-width of its interval.
const likely = 1.96

// TimesOf summarizes the times of calls, of which the checkpoints took so many ticks in each
// call. A tick is so many nanoseconds.
func TimesOf(of *checkpoint.Times, cost, perTick float64) Times {
	d := distribution{of: of}
	for _, n := range of.Bins {
		d.all += n
	}
	if d.all <= 0 || perTick <= 0 {
		return Times{}
	}
	span := func(ticks float64) time.Duration { return time.Duration(max(0, ticks-cost)*perTick + .5) }
	quantile := func(q float64) Quantile {
		off := d.off(q)
		lo, _ := d.bin(q - off)
		_, hi := d.bin(q + off)
		v := Quantile{Value: span(d.at(q)), Lo: span(lo), Hi: span(hi)}
		if off > 0 && q+off >= 1 {
			v.Hi = -1
		}
		return v
	}
	var bins []Bin
	for i, n := range of.Bins {
		if n > 0 {
			from, to := d.edges(i)
			bins = append(bins, Bin{max(0, from-cost) * perTick, max(0, to-cost) * perTick, n})
		}
	}
	return Times{N: of.Exact + of.Drawn, Of: d.all, Squares: of.Squares, Bins: bins,
		Min: span(float64(of.Least)), Max: span(float64(of.Most)),
		Median: quantile(0.5), P95: quantile(0.95)}
}

// distribution is the times of calls, and how many these stand for.
type distribution struct {
	of  *checkpoint.Times
	all float64
}

// off is by how much the part of the calls below a time may be off. The calls of a burst may
// be all alike, so each burst counts as one, and as much as the calls for which it stands.
func (d distribution) off(q float64) float64 {
	return likely * math.Sqrt(q*(1-q)*d.of.Squares) / d.all
}

// find is the bin in which a part of the calls ends, with how much of it, from 0 to 1.
func (d distribution) find(q float64) (bin int, part float64) {
	left := q * d.all
	for i, n := range d.of.Bins {
		if n <= 0 {
			continue
		}
		if bin = i; left <= n {
			return i, max(0, left/n)
		}
		left -= n
	}
	return bin, 1
}

// bin is what the bin has in which a part of the calls ends, in ticks.
func (d distribution) bin(q float64) (from, to float64) {
	i, _ := d.find(q)
	return d.edges(i)
}

// edges are what a bin has, in ticks. A thread that is not at its end yet may have a call in a
// bin that lies outside of the least and the most.
func (d distribution) edges(i int) (from, to float64) {
	a, b := checkpoint.TimeBin(i)
	from, to = float64(a), float64(b)
	if i == checkpoint.TimeBins-1 {
		to = float64(d.of.Most)
	}
	least, most := float64(d.of.Least), float64(d.of.Most)
	return min(max(from, least), most), min(max(to, least), most)
}

// at is the time that a part of the calls did not exceed, as if the calls of a bin were
// spread evenly.
func (d distribution) at(q float64) float64 {
	_, part := d.find(q)
	from, to := d.bin(q)
	return from + part*(to-from)
}
