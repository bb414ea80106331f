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

// offByWaits is what is off as threads waited for processors, per column.
type offByWaits struct {
	// times is the variance of times: in square milliseconds, summed over the blocks, each for as much as it counts.
	times []float64
	// parts is the variance of energies, as blocks are divided by these times, in square microjoules, and nearer by how
	// much these come out nearer to shares by time, in microjoules: a part of a block by power times time has less of
	// what is too much time than of what is too little.
	parts, nearer []float64
}

// waited is what is off as threads waited for processors, with these powers. It is nil where no thread waited.
//
// A wait is where it is by chance: in each function as likely as that runs. If all of a block's wait is in one place,
// the part of the block's time that goes by it is in one function, and not divided as what ran: that part to the
// square times the variance of a single draw. Of many waits it is less (squares). Where a function goes on for longer
// than the time near the block, there is only one.
func (r *regression) waited(g grouping) (w *offByWaits) {
	n := r.width()
	var here []float64
	var near window
	everywhere := r.usuallyQueued()
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		if b.queued <= 0 {
			continue
		}
		if w == nil {
			w, here = &offByWaits{make([]float64, n), make([]float64, n), make([]float64, n)}, make([]float64, n)
			near = window{last: -1, sum: make([]float64, n), one: make([]float64, n)}
		}
		used := r.own(i, here)
		if used <= 0 {
			continue
		}
		beside := besideBlock * max(1, int(math.Ceil(b.between/max(1, b.span))))
		near.move(r, max(0, i-beside), min(len(r.c.blocks)-1, i+beside))
		goes := 0.0
		for k, t := range near.sum {
			goes += t / r.stretch[k]
		}
		part, usual := used/(used+b.queued*1e-6), everywhere
		if r.certain[i] {
			usual = r.queuedNear(i)
		}
		w.add(near.sum, g, used, part*part*squares(b, usual)*goes/(1+goes), r.counts(i))
	}
	return w
}

// add adds a block that ran for so long, near which columns ran for these times. One of them has what others ran, or
// lacks as much: the square root of single, of all that it might.
func (w *offByWaits) add(near []float64, g grouping, used, single, counts float64) {
	all, energy := 0.0, 0.0
	for k, t := range near {
		all += t
		energy += g.power[g.of[k]] * t
	}
	for k, t := range near {
		if t <= 0 || t >= all {
			continue
		}
		variance := single * t / all * (1 - t/all)
		w.times[k] += variance * counts
		if mean := energy / all; mean > 0 { // by the first and the second derivative of the part
			own := g.power[g.of[k]]
			others := (energy - own*t) / (all - t)
			off := own * others / mean * 1e3
			w.parts[k] += variance * off * off
			w.nearer[k] += variance / used * off * math.Abs(own-others) / mean
		}
	}
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

// often is how often samples are taken and processor times are read at least within a block of which the times are its
// own, and mostQueued the part of its time that a program waits at most where waits are all that hides whose a time is.
// One that waits for longer has times that are off by more: how much of a window each function runs is learned from
// what waits left of it. Where functions go on for longGo windows, there is hardly a window of several.
const (
	often      = 4
	mostQueued = 0.25
	longGo     = 4
)

// findCertain marks the blocks of which the times are off by no more than the waits in them. Where times are read
// seldom, a block has so much of what its neighbours used and waited, and they of its own, that they are no measure of
// what is usual.
func (r *regression) findCertain() {
	queued, used := 0.0, 0.0
	for i := range r.c.blocks {
		queued += r.c.blocks[i].queued
		for _, e := range r.c.blocks[i].times {
			if e.Column != Neighbours {
				used += float64(e.Time)
			}
		}
	}
	little, goes := queued <= mostQueued*(queued+used), r.meanGo()
	r.certain = make([]bool, len(r.c.blocks))
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		short := max(b.between, b.last)*often <= b.span
		r.certain[i] = short && (little || longGo*b.last*1e-6 <= goes)
	}
}

// meanGo is the mean time of a function in one go, in milliseconds; 0 where it is not known.
func (r *regression) meanGo() float64 {
	time, goes := 0.0, 0.0
	for k, t := range r.total {
		if k < len(r.columns) && r.columns[k] != Neighbours && r.stretch[k] > 0 && !math.IsInf(r.stretch[k], 1) {
			time += t
			goes += t / r.stretch[k]
		}
	}
	return time / max(goes, 1e-300)
}

// counts is for how much block i counts against what is off in its times: as with least squares, where that is certain,
// else in full.
func (r *regression) counts(i int) float64 {
	if r.certain[i] {
		return r.known(i)
	}
	return 1
}

// queuedNear is the part of the time for which threads waited in the blocks beside block i. How busy a machine is
// changes slowly, and that is no wait in one function.
func (r *regression) queuedNear(i int) float64 {
	queued, span := 0.0, 0.0
	for j := max(0, i-besideBlock); j <= min(len(r.c.blocks)-1, i+besideBlock); j++ {
		if j != i {
			queued += r.c.blocks[j].queued
			span += r.c.blocks[j].span
		}
	}
	return queued / max(span, 1)
}

// squares is the sum of the squares of the waits in a block, in square milliseconds, where threads usually wait that
// part of the time. Waits at random have the variance of their sum (a compound Poisson process). Those of an
// exponential distribution have two parts in as many as they are; of a few, where their sum hardly varies, that is
// more.
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

// scatter widens the interval of a column by what its power may be nearer to the mean than it is, as threads waited,
// and by what it may have of the others' energy, or they of its own. If less than leastReliable of what varies in its
// times is its own, it may have anything of the whole energy.
func (r *regression) scatter(k int, e *Estimate, waited *offByWaits, whole float64) {
	if waited == nil || k == r.pool || r.columns[k] == Neighbours || !e.IsResolved() {
		return
	}
	off := whole
	if own := 1 - waited.times[k]/math.Max(r.spread(k, r.counts), 1e-300); own >= leastReliable {
		off = math.Abs(e.Energy-r.mean*r.total[k]*1e3) * (1/own - 1)
	}
	off += waited.nearer[k]
	parts := 1.96 * math.Sqrt(waited.parts[k])
	e.HalfWidth, e.Edges = math.Hypot(e.HalfWidth, parts)+off, math.Hypot(e.Edges, parts)
	e.Blur += off
	e.Scattered = off > Unsure*e.Energy
}
