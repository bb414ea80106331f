package regression

import "math"

// A thread that waits for a processor is in one function meanwhile, and uses nothing. What it used in a block is
// divided among its functions by the time that it was in each, so the function in which it waited has some of the
// others'. And its processor time is read from time to time: what it used from one reading to the next is spread evenly
// over the time between, so a block has some of its neighbour's. The times of functions then scatter around the true
// ones, and powers come out nearer to the mean than they are, as with times that are a sample (blur.go). They are still
// nearer to the truth than the mean is.

// Of this many blocks on either side, or readings of the times, are the functions of which a block's time may be.
// Functions that do not run near each other do not have each other's time.
const besideBlock = 2

// waited is the variance by which the times of columns are off as threads waited for processors: in square
// milliseconds, summed over the blocks, per column. It is nil where no thread waited.
//
// A wait is where it is by chance: in each function as likely as that runs. If all of a block's wait is in one place,
// the part of the block's time that goes by it is in one function, and not divided as what ran: that part to the
// square times the variance of a single draw. Of many waits it is less (squares). Where a function goes on for longer
// than the time near the block, there is only one.
func (r *regression) waited() (variance []float64) {
	n := r.width()
	var here []float64
	var near window
	usual := r.usuallyQueued()
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		if b.queued <= 0 {
			continue
		}
		if variance == nil {
			variance, here = make([]float64, n), make([]float64, n)
			near = window{last: -1, sum: make([]float64, n), one: make([]float64, n)}
		}
		used := r.own(i, here)
		if used <= 0 {
			continue
		}
		beside := besideBlock * max(1, int(math.Ceil(b.between/max(1, b.span))))
		near.move(r, max(0, i-beside), min(len(r.c.blocks)-1, i+beside))
		all, goes := 0.0, 0.0
		for k, t := range near.sum {
			all += t
			goes += t / r.stretch[k]
		}
		part := used / (used + b.queued*1e-6)
		part *= part * squares(b, usual) * goes / (1 + goes)
		for k, t := range near.sum {
			variance[k] += part * t / all * (1 - t/all)
		}
	}
	return variance
}

// window is the time of each column in the blocks from first to last: the next block's differs by a few of them.
type window struct {
	first, last int
	sum, one    []float64
}

// move makes it the blocks from first to last.
func (w *window) move(r *regression, first, last int) {
	add := func(i int, sign float64) {
		r.own(i, w.one)
		for k, t := range w.one {
			w.sum[k] = max(0, w.sum[k]+sign*t)
		}
	}
	for ; w.last < last; w.last++ {
		add(w.last+1, 1)
	}
	for ; w.first > first; w.first-- {
		add(w.first-1, 1)
	}
	for ; w.last > last; w.last-- {
		add(w.last, -1)
	}
	for ; w.first < first; w.first++ {
		add(w.first, -1)
	}
}

// usuallyQueued is the part of the time of all blocks for which threads waited.
func (r *regression) usuallyQueued() float64 {
	queued, span := 0.0, 0.0
	for i := range r.c.blocks {
		queued += r.c.blocks[i].queued
		span += r.c.blocks[i].span
	}
	return queued / max(span, 1)
}

// squares is the sum of the squares of the waits in a block, in square milliseconds. Waits at random have the variance
// of their sum (a compound Poisson process). Those of an exponential distribution have two parts in as many as they
// are; of a few, where their sum hardly varies, that is more.
func squares(b *block, usual float64) float64 {
	all, off := b.queued*1e-6, (b.queued-usual*b.span)*1e-6
	return min(all*all, max(off*off, 2*all*all/max(1, b.turns)))
}

// own is the program's time of each column in a block, and the sum, in milliseconds.
func (r *regression) own(i int, x []float64) (sum float64) {
	r.dense(i, x)
	for k, t := range x {
		if x[k] = max(0, t); k < len(r.columns) && r.columns[k] == Neighbours {
			x[k] = 0
		}
		sum += x[k]
	}
	return sum
}

// scatter widens the interval of a column by what its power may be nearer to the mean than it is, as threads waited. If
// less than leastReliable of what varies in its times is its own, it may have anything of the whole energy.
func (r *regression) scatter(k int, e *Estimate, waited []float64, whole float64) {
	if waited == nil || k == r.pool || r.columns[k] == Neighbours || !e.IsResolved() {
		return
	}
	off := whole
	if own := 1 - waited[k]/math.Max(r.spread(k), 1e-300); own >= leastReliable {
		off = math.Abs(e.Energy-r.mean*r.total[k]*1e3) * (1/own - 1)
	}
	e.HalfWidth, e.Blur = e.HalfWidth+off, e.Blur+off
	e.Scattered = off > Unsure*e.Energy
}
