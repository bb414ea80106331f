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

// one is what a call used: the energy with idle power, in joules, and the machine time that
// goes with it, in seconds. Idle power is known at the end of a run. length is how long it took, in nanoseconds.
type one struct{ joules, machine, length float64 }

func (o one) without(idle float64) float64 { return o.joules - idle*o.machine }

// perCall sums up the calls of a site.
type perCall struct {
	n, bracketed uint64
	sum          one
	shortest     float64 // ns
	least, most  one     // by joules, of all calls
	kept         []one   // a sample of keptCalls
	random       *rand.Rand
}

func (c *perCall) add(call one, bracketed bool) {
	if c.n == 0 {
		c.least, c.most, c.shortest = call, call, call.length
	}
	c.n++
	c.shortest = min(c.shortest, call.length)
	if bracketed {
		c.bracketed++
	}
	c.sum.joules += call.joules
	c.sum.machine += call.machine
	if call.joules < c.least.joules {
		c.least = call
	}
	if call.joules > c.most.joules {
		c.most = call
	}
	if len(c.kept) < keptCalls {
		c.kept = append(c.kept, call)
		return
	}
	// Each of the n is as likely as any other to be kept (Vitter, ACM TOMS 11,
	// 1985, algorithm R).
	if c.random == nil {
		c.random = rand.New(rand.NewPCG(1, 2))
	}
	if i := c.random.Uint64N(c.n); i < keptCalls {
		c.kept[i] = call
	}
}

// summary is that without idle power. The least and the most of more calls than are kept
// are those of the calls that used least and most with it.
func (c *perCall) summary(idle float64) Summary {
	var kept []float64
	for _, call := range c.kept {
		kept = append(kept, call.without(idle))
	}
	slices.Sort(kept)
	at := func(q float64) nemb.Energy {
		return energy(kept[int(math.Round(q*float64(len(kept)-1)))])
	}
	return Summary{
		N: c.n, Bracketed: c.bracketed, Mean: energy(c.sum.without(idle) / float64(c.n)),
		Min: energy(min(c.least.without(idle), kept[0])), Max: energy(max(c.most.without(idle), kept[len(kept)-1])),
		Median: at(0.5), P95: at(0.95),
	}
}

func energy(joules float64) nemb.Energy { return nemb.Energy(math.Round(max(0, joules) * 1e6)) }
