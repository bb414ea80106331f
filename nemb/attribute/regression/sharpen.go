package regression

import "math"

// A reading is as old as the counter's last update, and of the last window of a block only the mean age is taken off.
// So the times of a block are off by what ran in the rest of that time: in calls that are shorter than a window by
// chance another function. Least squares take that for what the functions did, and their powers come out nearer to each
// other than they are. What the edges add to the products of the columns is about known (Fuller,
// Measurement Error Models, 1987, section 2.2): what the functions had without is within their intervals.

// hidden is what the edges of blocks add to the products of the groups' times. The energy shows an age between 0 and
// that of the oldest reading T, all as likely. Of what ran in a window of length W, calls of length s are drawn in that
// time: the variance of what a function has of it is s (T/2 - T^2/3W) c (1 - c), where it has a part c of the window,
// and no more than T^2/12 c (1 - c), that of one change at any moment. Of a column of which it is not known how long its
// calls take, nothing is taken off.
func (r *regression) hidden(g grouping) *gram {
	n := r.width()
	all := newGram(n)
	c, rough := make([]float64, n), make([]float64, n)
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		oldest := b.last
		if r.c.period > 0 {
			oldest = min(oldest, r.c.period)
		}
		if sum := r.edge(b, c); sum <= 0 || oldest <= 0 {
			continue
		}
		span := oldest * 1e-6
		for k := range rough {
			if rough[k] = 0; !math.IsInf(r.stretch[k], 1) {
				rough[k] = math.Sqrt(min(span*span/12, r.stretch[k]*span*(0.5-oldest/(3*b.last))))
			}
		}
		level := r.at(i) * math.Sqrt(r.known(i))
		for k := range c {
			for l := range k {
				all.xx[k*n+l] -= level * level * c[k] * c[l] * rough[k] * rough[l]
			}
			all.xx[k*n+k] += level * level * c[k] * (1 - c[k]) * rough[k] * rough[k]
		}
	}
	out := newGram(n)
	out.add(all, 2/(1+r.theta)) // two neighbours have it, filtered
	away := newGram(n)
	r.hiddenAway(away)
	out.add(away, 1/(1-r.theta*r.theta)) // filtered
	return out.grouped(g.of, g.n)
}

// edge is what part each column has of the last window of a block, and the time of all, in milliseconds.
func (r *regression) edge(b *block, part []float64) (sum float64) {
	clear(part)
	for _, e := range b.edge {
		if r.has(e.Column) {
			part[r.of(e.Column)] += float64(e.Time) * 1e-6
			sum += float64(e.Time) * 1e-6
		}
	}
	for k := range part {
		part[k] /= max(sum, 1e-300)
	}
	return sum
}

// sharpened is what the columns have without what is hidden, of groups that are resolved. No more is taken off than
// leaves leastReliable of what varies in each of them alone.
func (r *regression) sharpened(g grouping) *shares {
	all, hidden := r.all.grouped(g.of, g.n), r.hidden(g)
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
