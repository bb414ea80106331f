// Package calls gives the calls that were long joules of their own, and keeps when
// the longest of them were.
//
// A call that takes longCall periods of the counter or more gets what its thread
// used from the last update of the counter before it to the first after it, less
// the thread's power around it for the time outside (nemb.Across). What a thread
// used is its share of the program's energy by processor time.
//
// It takes, window by window, what each thread used and the calls that ended or are
// still open in it. It gives the summary of the calls of each site, and the spans
// of the longest calls. The package follows no stacks and divides no energy.
package calls

import (
	"iter"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
)

const (
	longCall = 20
	// lagged is how many time constants of a counter's filter a call must take. A counter that shows the power of a
	// call so much later lacks that part of the call's energy at its end, times the part by which the power differs
	// from that around it: 3 % at most.
	lagged    = 30
	keptKnots = 64 // per thread
	keptMarks = 64 // open calls of a thread that are long already
	// The power around a call is taken from this much time (nemb.Across), in ns.
	surroundings = 21e6
)

// Window is a sampling window that is over.
type Window struct {
	From, To float64         // ns of CLOCK_MONOTONIC
	At       checkpoint.Tick // that of To
	PerTick  float64         // ns
	Weight   float64         // ns, the program's processor time
	Joules   float64         // the program's, in the measured domains that are in the total
	Machine  float64         // s, the program's part of the window; idle power times it is not the program's
	Moved    bool            // one of these counters moved
	Period   float64         // ns, the longest of these counters'; 0 where none is known
}

// place is where a tick is on CLOCK_MONOTONIC, in nanoseconds.
func (w Window) place(at checkpoint.Tick) float64 { return w.To - float64(int64(w.At-at))*w.PerTick }

// Thread is what a thread did in a window.
type Thread struct {
	ID    checkpoint.Thread
	CPU   float64                    // ns, without what cg's runtime used in it
	Long  []paths.Span               // calls that were long and ended in the window
	Open  iter.Seq2[int, paths.Call] // calls that are open, the outermost first
	Ended bool
}

// Calls measures the long calls of a run.
type Calls struct {
	tree    *paths.Tree
	threads map[checkpoint.Thread]*thread
	order   []*thread
	single  map[checkpoint.SiteID]*perCall
	spans   spans
	weight  float64 // ns, of the window before
	before  float64 // s, the machine time of the window before
	long    int64   // ticks from which on a call is long
	idle    float64 // W, see SetIdle
	lag     float64 // ns, see SetLag
}

// thread is what is kept of a thread for its long calls.
type thread struct {
	id    checkpoint.Thread
	knots []knot  // of what it used, the latest
	used  float64 // J
	time  float64 // s, its part of the machine time
	// cpuBefore is the processor time that it used in the window before, ns.
	cpuBefore float64
	marks     []mark // open calls that are long already
	past      []mark // calls that are over, and what comes after them is not known yet
}

// mark is a long call with the knots around its beginning.
type mark struct {
	paths.Call
	from, to float64 // ns
	knots    []knot
}

// knot is what a thread had used by the update of a counter, with the machine time that
// went with it.
type knot struct {
	nemb.Knot
	time float64 // s
}

// New begins with no call. tree has the paths of the calls.
func New(tree *paths.Tree) *Calls {
	return &Calls{
		tree: tree, threads: map[checkpoint.Thread]*thread{}, single: map[checkpoint.SiteID]*perCall{},
		long: math.MaxInt64,
	}
}

// Long is the number of ticks from which on a call is long.
func (c *Calls) Long() int64 { return c.long }

// Close takes a window and measures the calls that are over. A window whose ticks
// have no length measures none.
func (c *Calls) Close(w Window, threads []Thread) {
	if w.PerTick <= 0 {
		c.forget(threads)
		return
	}
	c.keepSpans(w, threads)
	if w.Period == 0 {
		c.long = int64(spanLeast / w.PerTick)
		return
	}
	c.long = int64(longCall * w.Period / w.PerTick)
	for _, t := range threads {
		state := c.threads[t.ID]
		if state == nil {
			state = &thread{id: t.ID, knots: []knot{{Knot: nemb.Knot{At: w.From}}}}
			c.threads[t.ID] = state
			c.order = append(c.order, state)
		}
		state.use(w, t.CPU, c.weight, c.before)
		for _, span := range t.Long {
			if !c.tree.IsOutermost(span.Node) || c.tree.Site(span.Node) == checkpoint.OwnSite {
				continue
			}
			m := state.marked(span.Call, w)
			m.to = w.place(span.End)
			state.past = append(state.past, m)
		}
		state.marks = c.openMarks(state, w, t.Open)
		c.measurePast(state, w, t.Ended)
	}
	c.forget(threads)
	c.weight, c.before = w.Weight, w.Machine
}

// SetIdle says what part of the energy of calls is idle power, in watts.
func (c *Calls) SetIdle(watts float64) { c.idle = watts }

// SetLag says with which time constant the counters follow their power, in nanoseconds. A site of which a call
// took less than lagged of them has no energies of single calls.
func (c *Calls) SetLag(constant float64) { c.lag = constant }

// forget forgets the threads that have ended.
func (c *Calls) forget(threads []Thread) {
	for _, t := range threads {
		if t.Ended {
			delete(c.threads, t.ID)
		}
	}
	c.order = slices.DeleteFunc(c.order, func(t *thread) bool { return c.threads[t.id] != t })
}

// keepSpans takes the long calls that ended in a window among the spans.
func (c *Calls) keepSpans(w Window, threads []Thread) {
	for _, t := range threads {
		for _, s := range t.Long {
			if site := c.tree.Site(s.Node); site != checkpoint.OwnSite {
				c.spans.keep(Span{
					t.ID, site, checkpoint.Instant(w.place(s.Since)), checkpoint.Instant(w.place(s.End)),
				})
			}
		}
	}
}

// use adds what a thread used in a window. A reading is half a period old on
// average: the window's energy is in part of the time before it, in which the
// program used weightBefore. machineBefore is the machine time of that window.
func (t *thread) use(w Window, cpu, weightBefore, machineBefore float64) {
	wall := w.To - w.From
	behind := min(wall, w.Period)
	late := 0.0
	if wall > 0 {
		late = behind / 2 / wall
	}
	if of := (1-late)*w.Weight + late*weightBefore; of > 0 {
		t.used += w.Joules * ((1-late)*cpu + late*t.cpuBefore) / of
		t.time += ((1-late)*w.Machine + late*machineBefore) * ((1-late)*cpu + late*t.cpuBefore) / of
	}
	t.cpuBefore = cpu
	if w.Moved {
		if len(t.knots) >= keptKnots {
			t.knots = append(t.knots[:0], t.knots[keptKnots/4:]...)
		}
		k := nemb.Knot{At: w.To - behind/2, Slack: behind / 2, Joules: t.used}
		t.knots = append(t.knots, knot{k, t.time})
	}
}

// marked is the mark of a call, an older one where there is one. The beginning of an
// open call may be known by its window alone, which is not later.
func (t *thread) marked(call paths.Call, w Window) mark {
	m := mark{Call: call, from: w.place(call.Since)}
	i := slices.IndexFunc(t.marks, func(of mark) bool {
		return of.Node == call.Node && (of.Since == call.Since || of.Since < call.Since && m.from < w.From)
	})
	if i >= 0 {
		m.knots = t.marks[i].knots
		return m
	}
	window := w.To - w.From
	for _, k := range t.knots {
		if k.At >= m.from-surroundings-window-2*w.Period && k.At <= m.from+window+4*w.Period+2*k.Slack {
			m.knots = append(m.knots, k)
		}
	}
	return m
}

// openMarks keeps the knots around the beginnings of the calls that are open and
// long. What is called from a call that is not long is not long either.
func (c *Calls) openMarks(t *thread, w Window, open iter.Seq2[int, paths.Call]) (marks []mark) {
	for depth, call := range open {
		switch {
		case len(marks) >= keptMarks || depth > 2*keptMarks+1:
			return marks
		case call.Node == paths.Root || call.Since == paths.Never || !c.tree.IsOutermost(call.Node):
		case int64(w.At-call.Since) < c.long:
			return marks
		default:
			marks = append(marks, t.marked(call, w))
		}
	}
	return marks
}

// measurePast measures the calls of a thread that are over, once it is known what
// came after them.
func (c *Calls) measurePast(t *thread, w Window, ended bool) {
	waits := t.past[:0]
	for _, m := range t.past {
		if !ended && w.To < m.to+surroundings+2*w.Period {
			waits = append(waits, m)
			continue
		}
		c.measure(t, m, w.To)
	}
	t.past = waits
}

// measure finds what a call used.
func (c *Calls) measure(t *thread, m mark, now float64) {
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
		knots = append(knots, knot{nemb.Knot{At: max(now, m.to), Joules: t.used}, t.time})
	}
	if len(knots) > 0 && knots[0].At > m.from {
		knots = slices.Insert(knots, 0, knot{nemb.Knot{At: m.from, Joules: knots[0].Joules}, knots[0].time})
	}
	energy, times := make([]nemb.Knot, len(knots)), make([]nemb.Knot, len(knots))
	for i, k := range knots {
		energy[i], times[i] = k.Knot, k.Knot
		times[i].Joules = k.time
	}
	span, ok := nemb.Across(energy, m.from, m.to)
	if !ok {
		return
	}
	machine, _ := nemb.Across(times, m.from, m.to)
	site := c.tree.Site(m.Node)
	p := c.single[site]
	if p == nil {
		p = &perCall{}
		c.single[site] = p
	}
	p.add(one{span.Joules, machine.Joules, m.to - m.from}, span.Method == nemb.Bracketed)
}

// End measures the calls that are over when the run ends.
func (c *Calls) End(now float64) {
	for _, t := range c.order {
		for _, m := range t.past {
			c.measure(t, m, now)
		}
		t.past = nil
	}
}

// Of is the summary of the long calls of a site.
func (c *Calls) Of(site checkpoint.SiteID) Summary {
	if p := c.single[site]; p != nil && p.shortest >= lagged*c.lag {
		return p.summary(c.idle)
	}
	return Summary{}
}

// Spans lists the longest calls in the order in which they began, an outer one
// before what is in it.
func (c *Calls) Spans() []Span { return c.spans.sorted() }
