package regression

import "math"

// A thread that is in its functions and on no processor lost its processor to another program, or waits. cg knows for
// how long in a block, and not in which function: each has its part of that by the time that the thread was in it. So
// the times of a block are off where threads were away for longer than usual. Least squares would take that for what
// the functions did, and find powers that are too near to each other (Fuller, Measurement Error Models, 1987, section
// 1.1). Such blocks count for less (weighted least squares): as much as what the energies leave unexplained at all is
// of that and of what the times are off by, as if all was one function's. What is left of it is in the intervals.
//
// The edges of blocks do no such thing. What they take off of a block's times is what is expected of the functions that
// ran in its last window, so that the errors do not go with the times (Berkson, Journal of the American Statistical
// Association 45, 1950, 164-180).

// weigh finds for how much each block counts, with these powers.
func (r *regression) weigh(p []float64) {
	spread := r.spreadOf(p)
	if r.noise <= 0 || spread <= 0 {
		return
	}
	usual := r.usuallyAway()
	r.weights = make([]float64, len(r.c.blocks))
	for i := range r.c.blocks {
		off := max(0, r.away(i, usual)) * spread
		r.weights[i] = 1 / (1 + off*off/r.noise)
	}
}

// usuallyAway is the part of the time of all blocks in which threads were away.
func (r *regression) usuallyAway() float64 {
	away, span := 0.0, 0.0
	for i := range r.c.blocks {
		away += r.c.blocks[i].away
		span += r.c.blocks[i].span
	}
	return away / max(span, 1)
}

// away is by how much longer than usual, or shorter, threads were away in a block, in milliseconds. Where they are away
// at random, the variance of that is the sum of the squares of all times for which they were (a compound Poisson
// process), and so the variance by which the times of functions are off.
func (r *regression) away(i int, usual float64) float64 {
	b := &r.c.blocks[i]
	return (b.away - usual*b.span) * 1e-6
}

// awayUntold is what of away the waits for processors of the block do not tell: what those hide is in the intervals
// by itself (waited). The kernel tells a wait when it is over, perhaps in the next block.
func (r *regression) awayUntold(i int, usual, queued float64) float64 {
	b, away := &r.c.blocks[i], r.away(i, usual)
	if rest := away - (b.queued-queued*b.span)*1e-6; r.certain[i] && math.Abs(rest) < math.Abs(away) {
		return rest
	}
	return away
}

// hidden is what the products of the columns have of that threads were away.
func (r *regression) hidden() *gram {
	usual, queued := r.usuallyAway(), r.usuallyQueued()
	n := r.width()
	all, c := newGram(n), make([]float64, n)
	for i := range r.c.blocks {
		r.dense(i, c)
		sum := 0.0
		for k := range c {
			if c[k] = max(0, c[k]); k < len(r.columns) && r.columns[k] == Neighbours {
				c[k] = 0
			}
			sum += c[k]
		}
		off := r.at(i) * r.awayUntold(i, usual, queued)
		if off *= off * r.known(i); sum <= 0 || off == 0 {
			continue
		}
		for k := range c {
			if c[k] == 0 {
				continue
			}
			for l := range k {
				all.xx[k*n+l] -= off * c[k] / sum * c[l] / sum
			}
			all.xx[k*n+k] += off * c[k] / sum * (1 - c[k]/sum)
		}
	}
	out := newGram(n)
	out.add(all, 1/(1-r.theta*r.theta)) // filtered
	return out
}

// sharpened is what the columns have without what is hidden, of groups that are resolved. No more is taken off than
// leaves leastReliable of what varies in each of them alone.
func (r *regression) sharpened(g grouping) *shares {
	all, hidden := r.all.grouped(g.of, g.n), r.hidden().grouped(g.of, g.n)
	for i, k := range g.of {
		if g.reason[i] != Resolved || r.fixed[k] {
			hidden.clear(k)
		}
	}
	inverse, ok := r.pulled(all, r.means(g.n)).inverse()
	if !ok {
		return r.shareOut(g)
	}
	part := 1.0
	for k := range g.n {
		if of := hidden.at(k, k) * inverse.At(k, k); of > 1-leastReliable {
			part = min(part, (1-leastReliable)/of)
		}
	}
	all.add(hidden, -part)
	if power, ok := r.pulled(all, r.means(g.n)).nonnegative(r.mean); ok {
		g.power = power
	}
	return r.shareOut(g)
}

// spreadOf is the standard deviation of the power over the program's processor time, in watts.
func (r *regression) spreadOf(p []float64) float64 {
	time, sum, squares := 0.0, 0.0, 0.0
	for k, t := range r.total {
		if k < len(r.columns) && r.columns[k] == Neighbours {
			continue
		}
		time += t
		sum += t * p[k]
		squares += t * p[k] * p[k]
	}
	if time <= 0 {
		return 0
	}
	mean := sum / time
	return math.Sqrt(max(0, squares/time-mean*mean))
}

// known is for how much block i counts.
func (r *regression) known(i int) float64 {
	if r.weights == nil {
		return 1
	}
	return r.weights[i]
}

// allKnown is for how much all blocks count.
func (r *regression) allKnown() float64 {
	if r.weights == nil {
		return float64(len(r.c.blocks))
	}
	sum := 0.0
	for _, w := range r.weights {
		sum += w
	}
	return sum
}
