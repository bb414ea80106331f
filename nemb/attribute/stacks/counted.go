package stacks

import (
	"maps"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// Where checkpoints have a budget, a thread reads its clock in bursts only, and between
// these it counts (checkpoint/FORMAT.md, Counted events). Of the intervals between two
// events that were counted it is known in which path they lay, and how long all of them
// took together. The time is divided by how many each path has and by what such an
// interval takes, of which the bursts are a sample.
//
// Most intervals are alike, and a few are very much longer: the thread waited, or was
// stopped. One of these in a burst would make all that are counted in its path as long,
// so they have a mean of their own, over the whole run. What a window's time is more
// than that of ordinary intervals is a sum of two: these are not quite as they were, or there
// was a long one. It is split by how far each of the two varies.

const (
	// recent is how many drawn intervals of a path its mean is taken over: those of the
	// open window and, where these are fewer, of some before, as a program changes.
	recent = 256
	// drift is by what part the intervals of a window differ together from those that
	// were drawn.
	drift = 0.01
	// scarce is how many drawn intervals of a site, or of all, count for a path
	// of which fewer were drawn.
	scarce = 1
	// few is how much wider the spread of some windows may be, over their number.
	few = 4
)

// sample is what is known of intervals of a kind, in ticks. What their checkpoints cost
// is taken off.
type sample struct {
	n, ticks float64 // the recent ones
	all      float64 // of the whole run
	batches  float64 // windows in which some were drawn
	spread   float64 // sum over these of n * (mean of the window - mean before)^2
	longs    float64 // intervals that lasted long, of the whole run
	long     float64 // their ticks
}

// learn takes what was drawn in a window.
func (s *sample) learn(n, ticks, longs, long float64) {
	s.longs += longs
	s.long += long
	if n <= 0 {
		if s.n > 0 { // of intervals that came before
			s.ticks += ticks
		}
		return
	}
	if s.n > 0 {
		d := ticks/n - s.ticks/s.n
		s.spread += d * d * n * s.n / (n + s.n)
		s.batches++
	}
	if kept := max(0, recent-n); s.n > kept {
		s.n, s.ticks = kept, s.ticks/s.n*kept
	}
	s.n += n
	s.ticks += ticks
	s.all += n
}

// mean is that of an ordinary interval, where before is what is known besides.
func (s *sample) mean(before float64) float64 { return (s.ticks + scarce*before) / (s.n + scarce) }

// pulled is by how much a mean is off where what is known besides does not hold for it.
func (s *sample) pulled(mean, before float64) float64 {
	if s.n == 0 {
		return mean
	}
	return math.Abs(before-s.ticks/s.n) * scarce / (s.n + scarce)
}

// variance is that of an ordinary interval: not less than if it were memoryless while
// little is known.
func (s *sample) variance(mean float64) float64 {
	return (s.spread + mean*mean) / (s.batches + 1) * (1 + few/(s.batches+1))
}

// rate is the ticks that long intervals take, for each interval that was drawn. What is known
// besides of such intervals counts as much as one long one.
func (s *sample) rate(besides *sample) float64 {
	n, ticks := s.all+s.longs, s.long
	if besides.longs > 0 {
		more := (besides.all + besides.longs) / besides.longs
		n, ticks = n+more, ticks+besides.long/besides.longs
	}
	return ratio(ticks, n)
}

// pathSample is the sample of a thread's path, and what was divided.
type pathSample struct {
	sample
	counted, expected float64    // intervals, and what they take if they are as those that were drawn
	squares           float64    // sum over windows of counted^2 / intervals of which the mean was taken
	pull              float64    // what it may be off as others were drawn in its place
	ordinary, lasting float64    // what they were given of both kinds
	odd               float64    // what it was given without knowing of long ones
	likely            float64    // what it would have been given by how many intervals it has
	owed              [2]float64 // ticks of drawn intervals, at most 0: see learn
}

// knowledge is what is known of counted intervals of all threads.
type knowledge struct {
	paths     []*sample // per path, nil where none was drawn
	sites     map[checkpoint.SiteID]*sample
	every     sample    // of all paths together
	doubts    []float64 // per path, of threads that have ended: variances in ticks
	intervals float64   // that were counted
	costs     eventCosts
	warming   warming
}

// counting is what is known of the intervals that a thread counted. What they took
// together is exact for the thread, and threads that run the same functions may do other
// things in them.
type counting struct {
	known *knowledge
	paths map[int32]*pathSample
	warms bool    // the program is compiled as it runs
	cost  float64 // of an event that is timed, in ticks
	// ticks, long and odd are what its paths were given.
	ticks, long, odd float64
	doubt            float64 // of long, where it is all or nothing
	shift            float64 // what ordinary ones were given more than is expected where there are long ones
	lent             float64 // the same, of the windows in which there are long ones
}

// eventCosts is what events cost their threads, in ticks: sums over events whose cost is
// known.
type eventCosts struct{ events, timed, counted float64 }

// learn takes how many events a thread had, and what one of them costs that is timed,
// and one that is counted.
func (c *eventCosts) learn(events, timed, counted float64) {
	if timed > 0 {
		c.events += events
		c.timed += events * timed
		c.counted += events * counted
	}
}

// share is the intervals of a path that a thread counted in a window.
type share struct {
	node int32
	n    float64
}

func (c *counting) of(n int32) *pathSample {
	if c.paths[n] == nil {
		c.paths[n] = &pathSample{}
	}
	return c.paths[n]
}

// of is what all threads drew in a path.
func (k *knowledge) of(n int32) *sample {
	if more := int(n) + 1 - len(k.paths); more > 0 {
		k.paths = append(k.paths, make([]*sample, more)...)
	}
	if k.paths[n] == nil {
		k.paths[n] = &sample{}
	}
	return k.paths[n]
}

// samples are those that learn from an interval of a path, the thread's own first.
func (c *counting) samples(n int32, site checkpoint.SiteID) [4]*sample {
	k := c.known
	if k.sites[site] == nil {
		k.sites[site] = &sample{}
	}
	return [4]*sample{&c.of(n).sample, k.of(n), k.sites[site], &k.every}
}

// learn takes what a thread drew in a path. A writer adds to the number of intervals
// before it adds to their ticks, so that the ticks may come with a later window.
func (c *counting) learn(n int32, site checkpoint.SiteID, drawn [2]checkpoint.Drawn, cost float64) {
	if drawn == [2]checkpoint.Drawn{} {
		return
	}
	p := c.of(n)
	k, longs := float64(drawn[0].Intervals), float64(drawn[1].Intervals)
	ticks := p.own(0, float64(drawn[0].Ticks)-k*cost)
	long := p.own(1, float64(drawn[1].Ticks)-longs*cost)
	for _, s := range c.samples(n, site) {
		s.learn(k, ticks, longs, long)
	}
	if c.warms {
		c.known.warming.draw(n, site, k, ticks)
	}
}

// own is what intervals took without their checkpoints. Less than nothing is taken off the next.
func (p *pathSample) own(kind int, ticks float64) float64 {
	ticks += p.owed[kind]
	p.owed[kind] = min(0, ticks)
	return max(0, ticks)
}

// crossed takes an interval of a path that was counted and lasted at least so many ticks,
// since it was seen at the end of a window. Long ones are seen more often than they are
// drawn. lasting is from when on the thread takes an interval for a long one.
func (c *counting) crossed(n int32, site checkpoint.SiteID, ticks, lasting float64) {
	if ticks < max(lasting, 1) {
		return
	}
	for _, s := range c.samples(n, site) {
		s.learn(0, 0, 1, ticks)
	}
}

// divide gives each of a thread's paths its part of the ticks that its counted intervals
// took together, where a checkpoint that is counted costs so much. It returns what of them the checkpoints took.
func (c *counting) divide(tree *paths.Tree, shares []share, ticks, cost float64,
	give func(node int32, ticks uint64)) uint64 {
	intervals := 0.0
	for _, s := range shares {
		intervals += s.n
	}
	if intervals <= 0 || ticks <= 0 {
		return 0
	}
	over := min(ticks, math.Round(intervals*cost))
	ordinary, long := c.expect(tree, shares)
	rest := ticks - over
	lasted := long.given(rest, ordinary)
	odd := 0.0 // more than ordinary intervals take, and whose it is nothing shows
	if long.sum <= 0 {
		odd = max(0, rest-ordinary.sum-2*math.Sqrt(ordinary.variance))
	}
	for i, s := range shares {
		p, of := c.of(s.node), s.n/intervals
		if ordinary.sum > 0 {
			of = ordinary.parts[i] / ordinary.sum
		}
		part, lasting := (rest-lasted)*of, lasted*ratio(long.parts[i], long.sum)
		p.odd += odd * of
		p.likely += odd * s.n / intervals
		p.counted += s.n
		p.squares += s.n * s.n / (p.n + scarce)
		p.pull += s.n * ordinary.pull[i]
		p.expected += ordinary.parts[i]
		p.ordinary += part
		p.lasting += lasting
		c.ticks += part
		c.long += lasting
		if c.warms {
			c.known.warming.count(s.node, s.n, part, c.cost, cost)
		}
		give(s.node, uint64(part+lasting+.5))
	}
	c.odd += odd
	c.shift += rest - lasted - ordinary.sum
	if long.sum > 0 {
		c.lent += rest - lasted - ordinary.sum
	}
	c.doubt += lasted / math.Sqrt(c.known.every.longs+1)
	c.known.intervals += intervals
	return uint64(over)
}

// expected is the ticks that the intervals of a window are expected to take, by path, with
// the variance of their sum.
type expected struct {
	parts         []float64
	pull          []float64 // of an interval's mean, as far as it is not the path's own
	sum, variance float64
}

// given is what of the ticks long intervals took, where the others are expected to take
// so many.
func (long expected) given(ticks float64, ordinary expected) float64 {
	if long.sum <= 0 {
		return 0
	}
	more := ticks - ordinary.sum - long.sum
	all := ordinary.variance + long.variance
	return min(ticks, max(0, long.sum+more*long.variance/max(all, 1)))
}

// expect is what the intervals of a window take, if they are as those that were drawn: by
// the thread in the path, and where these are few by others there, and by others of the site.
func (c *counting) expect(tree *paths.Tree, shares []share) (ordinary, long expected) {
	every := c.known.every.mean(1)
	for _, s := range shares {
		of, p, all := every, c.of(s.node), c.known.of(s.node)
		if site := c.known.sites[tree.Site(s.node)]; site != nil {
			of = site.mean(every)
		}
		of = all.mean(of)
		mean, rate := p.sample.mean(of), p.rate(all)
		variance := p.variance(mean)
		ordinary.parts = append(ordinary.parts, s.n*mean)
		ordinary.pull = append(ordinary.pull, p.pulled(mean, of))
		ordinary.sum += s.n * mean
		ordinary.variance += variance * s.n * (1 + s.n/(p.n+scarce))
		long.parts = append(long.parts, s.n*rate)
		long.sum += s.n * rate
		long.variance += s.n * rate * ratio(all.long, all.longs)
	}
	ordinary.variance += drift * drift * ordinary.sum * ordinary.sum
	return ordinary, long
}

// doubts adds the variance of what each path was given of the thread's counted intervals,
// in ticks: how far the sample may be off, as the sum over all its paths is known.
func (c *counting) doubts(to []float64) []float64 {
	all := 0.0
	own := map[int32]float64{}
	nodes := slices.Sorted(maps.Keys(c.paths))
	for _, n := range nodes {
		p := c.paths[n]
		if p.counted <= 0 {
			continue
		}
		mean := p.expected / p.counted
		own[n] = p.variance(mean)*(p.counted+p.squares) + p.pull*p.pull
		all += own[n]
	}
	for _, n := range nodes {
		p := c.paths[n]
		if p.counted <= 0 {
			continue
		}
		part := ratio(p.ordinary, c.ticks)
		sum := (1-part)*(1-part)*own[n] + part*part*(all-own[n]+c.shift*c.shift)
		part = ratio(p.lasting, c.long)
		sum += c.doubt*c.doubt*part*(1-part) + part*part*c.lent*c.lent
		part = ratio(p.odd, c.odd)
		likely := ratio(p.likely, c.odd) // that all of it is the path's
		sum += c.odd * c.odd * (likely*(1-part)*(1-part) + (1-likely)*part*part)
		if more := int(n) + 1 - len(to); more > 0 {
			to = append(to, make([]float64, more)...)
		}
		to[n] += sum
	}
	return to
}

func ratio(part, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return part / all
}
