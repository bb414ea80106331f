package attribute

import (
	"math"
	"math/rand/v2"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// A call that takes longCall periods of the counter or more gets joules of its
// own: what its thread used from the last update of the counter before it to the
// first after it, less the thread's power around it for the time outside
// (nemb.Across). What a thread used is its share of the program's energy by
// processor time.

const (
	longCall  = 20
	keptKnots = 64  // per thread
	keptMarks = 64  // open calls of a thread that are long already
	keptCalls = 256 // of a site, at random, for the median and the like
	// The power around a call is taken from this much time (nemb.Across), in ns.
	surroundings = 21e6
	edgeMethod   = "edge knots"
)

// Calls is what is known of single calls of a site, with what they called.
type Calls struct {
	N                     uint64 // calls that were long enough to be told
	Min, Median, P95, Max nemb.Energy
	Mean                  nemb.Energy
	// Bracketed is how many were told by bracketing; the others by linear
	// interpolation between the updates at each end.
	Bracketed uint64
}

// Method names how the calls were told.
func (c Calls) Method() string {
	switch c.Bracketed {
	case 0:
		return edgeMethod
	case c.N:
		return nemb.Bracketed
	}
	return nemb.Bracketed + ", " + edgeMethod
}

// longCalls is what a thread keeps for its long calls.
type longCalls struct {
	joined checkpoint.Tick // since when its strand is on it
	knots  []nemb.Knot     // of what it used, the latest
	used   float64         // J
	// cpuBefore is the processor time that it used in the window before, ns.
	cpuBefore float64
	over      []span // long calls that ended in the open window
	marks     []mark // open calls that are long already
	past      []mark // calls that are over, and what comes after them is not known yet
}

// span is a call that is over.
type span struct {
	frame
	end checkpoint.Tick
}

// mark is a long call with the knots around its beginning.
type mark struct {
	frame
	from, to float64 // ns
	knots    []nemb.Knot
}

// long notes a call that was long, unless it has been on another thread.
func (t *thread) long(f frame, at checkpoint.Tick) {
	if t.on == nil || f.since >= t.joined {
		t.over = append(t.over, span{f, at})
	}
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

func (c *perCall) calls() Calls {
	if c == nil || c.n == 0 {
		return Calls{}
	}
	kept := slices.Sorted(slices.Values(c.kept))
	at := func(q float64) nemb.Energy {
		return energy(kept[int(math.Round(q*float64(len(kept)-1)))])
	}
	return Calls{
		N: c.n, Bracketed: c.bracketed, Min: energy(c.least), Max: energy(c.most), Mean: energy(c.sum / float64(c.n)),
		Median: at(0.5), P95: at(0.95),
	}
}

func energy(joules float64) nemb.Energy { return nemb.Energy(math.Round(max(0, joules) * 1e6)) }

// period is the longest of the counters that count, in nanoseconds; 0 where
// nothing is measured or no period is known.
func (a *Attributor) period() float64 {
	longest := 0.0
	for _, d := range a.domains {
		if d.InTotal && d.Method == nemb.Measured && !d.Program {
			longest = max(longest, nanos(d.Period))
		}
	}
	return longest
}

// singles takes the window that s ends into what threads used, and tells the
// calls that are over.
func (a *Attributor) singles(s, prev nemb.Sample, wall, perTick, weight float64, cpu map[*thread]float64) {
	period := a.period()
	if perTick <= 0 {
		return
	}
	place := placing(s, perTick)
	a.stretches(place)
	if period == 0 {
		a.longest = int64(spanLeast / perTick)
		for _, t := range a.threads {
			t.over = t.over[:0]
		}
		return
	}
	a.longest = int64(longCall * period / perTick)
	moved, joules := false, 0.0
	for d, domain := range a.domains {
		if domain.InTotal && domain.Method == nemb.Measured && !domain.Program {
			moved = moved || s.Energy[d] > prev.Energy[d]
			joules += a.spent[d] * 1e-6
		}
	}
	now, behind := nanos(s.Time), min(wall, period)
	late := 0.0
	if wall > 0 {
		late = behind / 2 / wall
	}
	for _, t := range a.threads {
		if len(t.knots) == 0 {
			t.knots = append(t.knots, nemb.Knot{At: nanos(prev.Time)})
		}
		// A reading is half a period old on average: the window's energy is in
		// part of the time before it.
		used := cpu[t] * (1 - a.runtimeShare(t))
		if of := (1-late)*weight + late*a.weight; of > 0 {
			t.used += joules * ((1-late)*used + late*t.cpuBefore) / of
		}
		t.cpuBefore = used
		if moved {
			if len(t.knots) >= keptKnots {
				t.knots = append(t.knots[:0], t.knots[keptKnots/4:]...)
			}
			t.knots = append(t.knots, nemb.Knot{At: now - behind/2, Slack: behind / 2, Joules: t.used})
		}
		for _, c := range t.over {
			if !a.outermost[c.node] || a.nodes[c.node].site == checkpoint.OwnSite {
				continue
			}
			m := t.marked(c.frame, place(c.since), period)
			m.to = place(c.end)
			t.past = append(t.past, m)
		}
		t.over = t.over[:0]
		a.remember(t, s.At, place, period)
		waits := t.past[:0]
		for _, m := range t.past {
			if !t.ended && now < m.to+surroundings+2*period {
				waits = append(waits, m)
				continue
			}
			a.tell(t, m, now)
		}
		t.past = waits
	}
	a.weight = weight
}

// runtimeShare is the part of what a thread used in the open window that went to the
// runtime, checkpoints above all: no call used it.
func (a *Attributor) runtimeShare(t *thread) float64 {
	share := 0.0
	for _, p := range t.pending {
		if a.nodes[p.node].site == checkpoint.OwnSite {
			share += p.share
		}
	}
	return min(1, share)
}

// marked is the mark of a call, an older one where there is one.
func (t *thread) marked(f frame, from, period float64) mark {
	if i := slices.IndexFunc(t.marks, func(m mark) bool { return m.frame == f }); i >= 0 {
		return t.marks[i]
	}
	m := mark{frame: f, from: from}
	for _, k := range t.knots {
		if k.At >= from-surroundings-2*period && k.At <= from+4*period+2*k.Slack {
			m.knots = append(m.knots, k)
		}
	}
	return m
}

// remember keeps the knots around the beginnings of the calls that are open and long.
func (a *Attributor) remember(t *thread, now checkpoint.Tick, place func(checkpoint.Tick) float64, period float64) {
	var marks []mark
	look := func(f frame) bool {
		switch {
		case f.node == root || f.since == never || !a.outermost[f.node] || t.on != nil && f.since < t.joined:
		case int64(now-f.since) < a.longest:
			return false
		default:
			marks = append(marks, t.marked(f, place(f.since), period))
		}
		return len(marks) < keptMarks
	}
	for i, f := range t.stack {
		if i > 2*keptMarks || !look(f) {
			t.marks = marks
			return
		}
	}
	look(t.top)
	t.marks = marks
}

// tell finds what a call used.
func (a *Attributor) tell(t *thread, m mark, now float64) {
	knots := m.knots
	last := math.Inf(-1)
	if len(knots) > 0 {
		last = knots[len(knots)-1].At
	}
	for _, k := range t.knots {
		if k.At > last {
			knots = append(knots, k)
		}
	}
	// What began with the run, or ends with it or its thread.
	if n := len(knots); n > 0 && knots[n-1].At < m.to {
		knots = append(knots, nemb.Knot{At: max(now, m.to), Joules: t.used})
	}
	if len(knots) > 0 && knots[0].At > m.from {
		knots = slices.Insert(knots, 0, nemb.Knot{At: m.from, Joules: knots[0].Joules})
	}
	span, ok := nemb.Across(knots, m.from, m.to)
	if !ok {
		return
	}
	site := a.nodes[m.node].site
	c := a.single[site]
	if c == nil {
		c = &perCall{}
		a.single[site] = c
	}
	c.add(span.Joules, span.Method == nemb.Bracketed)
}

// told tells the calls that are over when the run ends.
func (a *Attributor) told() {
	for _, t := range a.threads {
		for _, m := range t.past {
			a.tell(t, m, nanos(a.prev.Time))
		}
		t.past = nil
	}
}
