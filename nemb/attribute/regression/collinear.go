package regression

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

const (
	opposed  = -0.7 // correlation of two unsure powers from which on they make one group
	reliable = 0.9  // the part of what varies in a column that has to be more than its edges
	guessed  = 0.5  // of the mean: the standard deviation of a power that is fixed to it
	slight   = 0.1  // of another's time: a column this short that is unsure has the mean power, the other its own
	minor    = 0.25 // of another's time: a column this short, which the data cannot separate from it, has the mean power
)

// grouping puts the columns that the data cannot separate into one group.
type grouping struct {
	of     []int     // the group of each column
	n      int       // groups
	reason []Reason  // per column, what speaks against its power
	power  []float64 // W, per group
}

// merge makes one group of two, which is collinear.
func (g *grouping) merge(a, b int) {
	into, from := min(a, b), max(a, b)
	for i := range g.of {
		switch k := g.of[i]; {
		case k == from:
			g.of[i] = into
		case k > from:
			g.of[i]--
		}
		if g.of[i] == into {
			g.reason[i] = Collinear
		}
	}
	g.n--
}

// mark gives the columns of a group a reason.
func (g *grouping) mark(group int, reason Reason) {
	for i, k := range g.of {
		if k == group {
			g.reason[i] = reason
		}
	}
}

// groupCollinear groups the columns that the data cannot separate, one pair after
// the other, until all that is left is separate or unsure by itself.
func (r *regression) groupCollinear() (g grouping, ok bool) {
	g = grouping{of: make([]int, r.width()), n: r.width(), reason: make([]Reason, r.width())}
	for i := range g.of {
		g.of[i] = i
	}
	r.fixColumns()
	for i, is := range r.fixed {
		if is {
			g.reason[i] = Noisy
		}
	}
	edges := r.edges()
	for {
		s, ok := r.separation(&g, edges)
		if !ok {
			return grouping{}, false
		}
		times := make([]float64, g.n)
		for i, k := range g.of {
			times[k] += r.total[i]
		}
		if k := s.mostMinor(times); k >= 0 {
			r.fixed[k] = true
			g.mark(k, Noisy)
			continue
		}
		blurred := s.mostBlurred()
		a, b, found := s.mostOpposed(blurred)
		if blurred < 0 && !found {
			for i, k := range g.of {
				if s.unsure[k] && g.reason[i] == Resolved {
					g.reason[i] = Noisy
				}
			}
			return g, true
		}
		if blurred >= 0 && (!found || times[blurred] < minor*times[b]) {
			// The data cannot separate it from a column with much more time, or
			// from all of those that have a power all the same: its own power
			// is fixed to the mean.
			r.fixed[blurred] = true
			g.mark(blurred, Noisy)
			continue
		}
		g.merge(a, b)
		r.fixed = slices.Delete(r.fixed, max(a, b), max(a, b)+1)
		r.fixedTo = slices.Delete(r.fixedTo, max(a, b), max(a, b)+1)
	}
}

// separation is how well the data separate the groups.
type separation struct {
	inverse *mat.SymDense
	fixed   []bool
	unsure  []bool    // the interval of its power says nothing
	own     []float64 // what varies in a group alone, less what the edges make of that
}

// separation finds the powers of the groups and how well they are separate.
func (r *regression) separation(g *grouping, edges *gram) (s separation, ok bool) {
	all := r.all.grouped(g.of, g.n)
	if g.power, ok = r.solve(all); !ok {
		return s, false
	}
	noise := all.rss(g.power) / max(1, all.count-float64(g.n))
	if s.inverse, ok = r.pulled(all, r.means(g.n)).inverse(); !ok {
		return s, false
	}
	blurred := edges.grouped(g.of, g.n)
	s.fixed, s.unsure, s.own = r.fixed, make([]bool, g.n), make([]float64, g.n)
	for k := range g.n {
		s.unsure[k] = 1.96*math.Sqrt(noise*s.inverse.At(k, k)) > Unsure*max(g.power[k], r.mean/4)
		s.own[k] = 1 - blurred.at(k, k)*s.inverse.At(k, k)
	}
	return s, true
}

// mostMinor is the shortest of the unsure groups that the data cannot separate from one
// with much more time, -1 where there is none. The powers of the others are then known
// better: a caller that runs a little before each call that it makes hides nothing of
// what it calls.
func (s separation) mostMinor(times []float64) int {
	group := -1
	for a := range times {
		if !s.unsure[a] || s.fixed[a] || group >= 0 && times[a] >= times[group] {
			continue
		}
		for b := range times {
			if b != a && !s.fixed[b] && times[a] < slight*times[b] && s.correlation(a, b) < opposed {
				group = a
				break
			}
		}
	}
	return group
}

// mostBlurred is the group of which the edges of blocks hide most, -1 where they
// hide little of all.
func (s separation) mostBlurred() int {
	group, least := -1, reliable
	for k, own := range s.own {
		if !s.fixed[k] && own < least {
			group, least = k, own
		}
	}
	return group
}

// mostOpposed is the pair of groups with the most negative correlation of their
// powers: of a blurred group and another, or where none is blurred (-1) of two
// that are unsure.
func (s separation) mostOpposed(blurred int) (first, second int, found bool) {
	strongest := 0.0
	for a := range s.own {
		for b := range s.own {
			c := 0.0
			switch {
			case a == b || s.fixed[a] || s.fixed[b]:
			case blurred >= 0:
				if a == blurred && s.own[b] < reliable {
					c = s.correlation(a, b)
				}
			case s.unsure[a] && s.unsure[b]:
				if c = s.correlation(a, b); c >= opposed {
					c = 0
				}
			}
			if c < strongest {
				strongest, first, second, found = c, a, b, true
			}
		}
	}
	return first, second, found
}

func (s separation) correlation(a, b int) float64 {
	return s.inverse.At(a, b) / math.Sqrt(s.inverse.At(a, a)*s.inverse.At(b, b))
}

// edges is what the chance of updates makes of the columns: the part of the
// normal equations that comes from not knowing when, in the last window of a
// block, the counter was updated. The moment is off by a twelfth of the square of
// what is possible, and what ran in that time is drawn from what ran in the
// window, in pieces of a call's length. Two neighbouring blocks see it.
func (r *regression) edges() *gram {
	n := r.width()
	g := newGram(n)
	c, rough := make([]float64, n), make([]float64, n)
	for i := range r.c.blocks {
		b := &r.c.blocks[i]
		all := r.edge(b, c)
		if all == 0 || b.last == 0 {
			continue
		}
		off := all / math.Sqrt(12)
		if r.c.period > 0 {
			off *= min(1, r.c.period/b.last)
		}
		for k := range c {
			rough[k] = math.Sqrt(min(1, r.stretch[k]/off))
		}
		known := r.known(i)
		for k := range c {
			if c[k] == 0 {
				continue
			}
			for l := range k {
				g.xx[k*n+l] -= known * off * off * c[k] * c[l] * rough[k] * rough[l]
			}
			g.xx[k*n+k] += known * off * off * c[k] * (1 - c[k]) * rough[k] * rough[k]
		}
	}
	out := newGram(n)
	out.add(g, 2/(1+r.theta))
	return out
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
