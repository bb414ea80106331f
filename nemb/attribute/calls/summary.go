package calls

import (
	"math"
	"math/rand/v2"
	"slices"

	"cg/nemb"
)

// keptCalls is how many calls of a site are kept, at random, for the median and
// the like.
const keptCalls = 256

// edgeMethod names linear interpolation between the updates at each end of a call.
const edgeMethod = "edge knots"

// Summary is what is known of single calls of a site, with what they called.
type Summary struct {
	N                     uint64 // calls that were long enough to be measured
	Min, Median, P95, Max nemb.Energy
	Mean                  nemb.Energy
	// Bracketed is how many were measured by bracketing; the others by linear
	// interpolation between the updates at each end.
	Bracketed uint64
}

// Method names how the calls were measured.
func (c Summary) Method() string {
	switch c.Bracketed {
	case 0:
		return edgeMethod
	case c.N:
		return nemb.Bracketed
	}
	return nemb.Bracketed + ", " + edgeMethod
}

// perCall sums up the calls of a site.
type perCall struct {
	n, bracketed uint64
	sum          float64
	least, most  float64
	kept         []float64 // J, a sample of keptCalls
	random       *rand.Rand
}

func (c *perCall) add(joules float64, bracketed bool) {
	if c.n == 0 {
		c.least = math.Inf(1)
	}
	c.n++
	if bracketed {
		c.bracketed++
	}
	c.sum += joules
	c.least, c.most = min(c.least, joules), max(c.most, joules)
	if len(c.kept) < keptCalls {
		c.kept = append(c.kept, joules)
		return
	}
	// Each of the n is as likely as any other to be kept (Vitter, ACM TOMS 11,
	// 1985, algorithm R).
	if c.random == nil {
		c.random = rand.New(rand.NewPCG(1, 2))
	}
	if i := c.random.Uint64N(c.n); i < keptCalls {
		c.kept[i] = joules
	}
}

func (c *perCall) summary() Summary {
	if c == nil || c.n == 0 {
		return Summary{}
	}
	kept := slices.Sorted(slices.Values(c.kept))
	at := func(q float64) nemb.Energy {
		return energy(kept[int(math.Round(q*float64(len(kept)-1)))])
	}
	return Summary{
		N: c.n, Bracketed: c.bracketed, Min: energy(c.least), Max: energy(c.most), Mean: energy(c.sum / float64(c.n)),
		Median: at(0.5), P95: at(0.95),
	}
}

func energy(joules float64) nemb.Energy { return nemb.Energy(math.Round(max(0, joules) * 1e6)) }
