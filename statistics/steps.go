package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Step is a place in a sequence from which on its values are others.
type Step struct {
	At int     // of the first value after it
	P  float64 // of one so clear somewhere in the sequence if there were none but those found before it
}

// StepAlpha is the part of histories without a step that may be given one.
const StepAlpha = 0.01

// leastStretch is how many values there are between two steps, and before and after all: fewer
// do not tell a step from an outlier.
const leastStretch = 3

// shuffles is how many random orders stand for all. Those that cannot change the answer any
// more are left out.
const shuffles = 499

// Steps finds where a sequence of independent values changes, whatever their distribution is:
// the divisive estimation of Matteson and James (A Nonparametric Approach for Multiple Change
// Point Analysis of Multivariate Data, JASA 109, 2014), as Daly et al. use it for the
// benchmarks of MongoDB (The Use of Change Point Detection to Identify Software Performance
// Regressions in a Continuous Integration System, ICPE 2020).
//
// The sequence is cut where the energy distance between the two sides is largest, then the
// stretches are, as long as the largest distance of all stretches is larger than in all but
// alpha of the orders in which the values of each stretch are shuffled. So no more than alpha
// of sequences without a step are given one. Values that depend on each other, such as those
// of a machine that gets slower by itself, are not held to that.
//
// The result is in the order of the sequence, and the same for the same values.
func Steps(values []float64, alpha float64) []Step {
	random := rand.New(rand.NewPCG(1, uint64(len(values))))
	var found []Step
	stretches := []stretch{newStretch(0, values)}
	shuffled := slices.Clone(values)
	for {
		best := 0
		for i, s := range stretches {
			if s.distance > stretches[best].distance {
				best = i
			}
		}
		cut := stretches[best]
		if !(cut.distance > 0) {
			break
		}
		p, is := rarely(stretches, shuffled, cut.distance, alpha, random)
		if !is {
			break
		}
		found = append(found, Step{At: cut.from + cut.cut, P: p})
		stretches = slices.Replace(stretches, best, best+1, newStretch(cut.from, cut.values[:cut.cut]),
			newStretch(cut.from+cut.cut, cut.values[cut.cut:]))
	}
	slices.SortFunc(found, func(a, b Step) int { return a.At - b.At })
	return found
}

// rarely tells how often shuffled stretches have a distance, and whether that is at most alpha.
func rarely(stretches []stretch, shuffled []float64, distance, alpha float64, random *rand.Rand) (p float64, is bool) {
	most := int(alpha*(shuffles+1)) - 1
	reached := 0
	for range shuffles {
		largest := 0.0
		for i := range stretches {
			s := &stretches[i]
			part := shuffled[s.from : s.from+len(s.values)]
			copy(part, s.values)
			random.Shuffle(len(part), func(i, k int) { part[i], part[k] = part[k], part[i] })
			_, d := s.sums.best(part)
			largest = max(largest, d)
		}
		// The sums are of the same terms in another order.
		if largest >= distance*(1-1e-9) {
			if reached++; reached > most {
				return 1, false
			}
		}
	}
	return float64(reached+1) / (shuffles + 1), true
}

// stretch is a part of the sequence without a step that was found.
type stretch struct {
	from     int
	values   []float64
	cut      int     // where the distance is largest
	distance float64 // of the two sides there; 0: there is no place for a cut
	sums     sums
}

// sums are those that best adds up, by the place of a cut.
type sums struct {
	before []float64 // distances of the pairs before the cut
	across []float64 // of the pairs of which one is before it
	part   []float64 // 1/n
}

func newStretch(from int, values []float64) stretch {
	n := len(values)
	s := stretch{from: from, values: values,
		sums: sums{make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)}}
	for i := 1; i <= n; i++ {
		s.sums.part[i] = 1 / float64(i)
	}
	s.cut, s.distance = s.sums.best(values)
	return s
}

// best finds the cut with the largest distance between what is before it and what follows up
// to any later place: (5) and (7) of Matteson and James. So a step that is taken back later is
// seen as well as one that stays. It takes time for each pair of values.
func (s *sums) best(values []float64) (cut int, distance float64) {
	clear(s.across)
	all := 0.0 // distances of the pairs so far
	for last, v := range values {
		s.before[last] = all
		toLeft := 0.0
		for at := range last {
			s.across[at] += toLeft
			toLeft += math.Abs(values[at] - v)
		}
		s.across[last] = toLeft
		all += toLeft
		scale := 2 * s.part[last+1]
		for at := leastStretch; at <= last+1-leastStretch; at++ {
			a, b := float64(at), float64(last+1-at)
			after := all - s.before[at] - s.across[at]
			q := scale * (s.across[at] - s.before[at]*b*s.part[at-1] - after*a*s.part[last-at])
			if q > distance {
				cut, distance = at, q
			}
		}
	}
	return cut, distance
}
