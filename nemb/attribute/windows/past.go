package windows

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
)

// What a process does between its fork(2) and its first event is known with that event. Until then it
// counts as outside the threads, in each window with that window's power. So the windows in which
// something was outside the threads are kept, and the thread takes its part of them with its first
// event: no more time than it used, and no more of a window than was outside in it. A child
// that executes another program has no such event, and takes nothing.

// Forked is what a thread used before the window in which it is listed first: from the fork(2) that made its
// process to its first event. The zero value is for other threads.
type Forked struct {
	At   checkpoint.Tick
	Used float64 // ns of processor time
}

// Claimed is processor time of a window that is over, or of neighbours, that was taken to be outside all
// threads and was used in a call path. From and To are nanoseconds since the first window began.
type Claimed struct {
	Node     int32
	From, To float64
	Time     float64 // ns
}

// mostPast is how many windows are kept, about. Beyond it neighbours are joined: the longer ago
// something was, the coarser is what is known of when it was.
const mostPast = 1024

// past is the windows in which the program used processors outside its threads, by time.
type past struct {
	windows []pastWindow
	open    pastWindow
	joins   bool // the open one with those that follow
}

// clone is a copy that shares nothing.
func (p *past) clone() past {
	c := past{windows: slices.Clone(p.windows)}
	for i := range c.windows {
		w := &c.windows[i]
		w.domains, w.claimants = slices.Clone(w.domains), slices.Clone(w.claimants)
	}
	return c
}

// pastWindow is one of them, or neighbours. What is outside is what nobody has claimed.
type pastWindow struct {
	from, to   checkpoint.Tick
	begun, end float64 // ns since the first window began
	joined     bool    // it is several, which the counter shows as one
	weight     float64 // the processor time by which its energy was divided, ns
	outside    float64 // ns
	machine    float64 // of what is outside, in microseconds
	beside     pastBeside
	domains    []pastDomain
	claimants  []claimant
}

// pastBeside is what ran beside what is outside in a window, both in microseconds.
type pastBeside struct{ cpu, machine float64 }

// pastDomain is a domain's energy in a window.
type pastDomain struct {
	outside float64 // of what is outside, in microjoules
	beside  float64 // of what ran beside that, in microjoules
	program programEnergy
}

// begin takes the window that is about to be divided by a processor time, of which some was outside; with those that it
// is joined with.
func (p *past) begin(out *Window, weight, outside, first float64) {
	if !p.joins {
		p.open = pastWindow{from: out.Begin.At, begun: nanos(out.Begin.Time) - first}
	}
	p.open.joined = p.joins
	p.joins = true
	p.open.to, p.open.end = out.End.At, nanos(out.End.Time)-first
	p.open.weight += weight
	if p.open.outside += outside; p.open.outside > 0 && p.open.domains == nil {
		p.open.domains = make([]pastDomain, len(out.Spent))
	}
}

// spend and spent say what of a domain's energy is outside, and what the program used of it.
func (p *past) spend(d int, outside float64) {
	if p.open.outside > 0 {
		p.open.domains[d].outside = outside
	}
}

func (p *past) spent(d int, program programEnergy) {
	if p.open.outside > 0 {
		p.open.domains[d].program = program
	}
}

// keep puts the window that was divided to the others.
func (p *past) keep() {
	p.joins = false
	if p.open.outside <= 0 || p.open.to <= p.open.from { // a sample that was behind the one before it
		return
	}
	if p.windows = append(p.windows, p.open); len(p.windows) < mostPast {
		return
	}
	kept := p.windows[:0]
	for i := 0; i+1 < len(p.windows); i += 2 {
		kept = append(kept, p.windows[i].with(p.windows[i+1]))
	}
	clear(p.windows[len(kept):])
	p.windows = kept
}

// with is a window and the one that follows it as one.
func (w pastWindow) with(next pastWindow) pastWindow {
	w.to, w.end, w.joined = next.to, next.end, w.joined || next.joined
	w.weight += next.weight
	w.outside += next.outside
	w.machine += next.machine
	w.beside.cpu, w.beside.machine = w.beside.cpu+next.beside.cpu, w.beside.machine+next.beside.machine
	for d, of := range next.domains {
		w.domains[d].outside += of.outside
		w.domains[d].beside += of.beside
		w.domains[d].program = w.domains[d].program.plus(of.program)
	}
	w.claimants = slices.DeleteFunc(w.claimants, func(of claimant) bool {
		return !slices.Contains(next.claimants, of) // it gets the whole of both with its next claim
	})
	return w
}

func (e programEnergy) plus(f programEnergy) programEnergy {
	return programEnergy{e.energy + f.energy, e.lo + f.lo, e.hi + f.hi, e.machine + f.machine, e.beside + f.beside}
}

// after is the index of the first window that ends after a moment.
func (p *past) after(at checkpoint.Tick) int {
	n, _ := slices.BinarySearchFunc(p.windows, at, func(w pastWindow, at checkpoint.Tick) int {
		if w.to <= at {
			return -1
		}
		return 1
	})
	return n
}

// claim is the time that a call path gets from a window that is over.
type claim struct {
	window int
	node   int32
	time   float64 // ns
}

// claims divides what a thread used since it was forked among the windows since: in proportion to what was
// outside all threads. No thread uses more than the length of a window. What is more than that and than it
// had of the open window, which are so many ticks, was accounted late: that goes wherever something was outside.
func (p *past) claims(f Forked, node int32, perTick, open float64) (all []claim, sum float64) {
	windows, first := p.windows, p.after(f.At)
	if p.joins && p.open.outside > 0 { // what is joined so far
		windows = append(slices.Clip(windows), p.open)
	}
	all = make([]claim, 0, len(windows)-first)
	free, room, most := make([]float64, 0, cap(all)), make([]float64, 0, cap(all)), 0.0
	for _, w := range windows[first:] {
		since := float64(w.to - max(w.from, f.At))
		free = append(free, w.outside*since/float64(w.to-w.from))
		room = append(room, min(free[len(free)-1], since*perTick))
		most += room[len(room)-1]
	}
	if most <= 0 {
		return nil, 0
	}
	part, rest := min(1, f.Used/most), 0.0
	for i := range free {
		time := part * room[i]
		all = append(all, claim{first + i, node, time})
		free[i] -= time
		rest += free[i]
		sum += time
	}
	if more := f.Used - sum - open*perTick; more > 0 && rest > 0 {
		part = min(1, more/rest)
		for i := range all {
			all[i].time += part * free[i]
			sum += part * free[i]
		}
	}
	return all, sum
}

// claim gives a thread that was forked what it used before the window that is about to be divided, which
// begins at from. In that window its time is what is left.
func (w *Windows) claim(thread *Thread, from checkpoint.Tick, perTick float64) []Claimed {
	t, f := w.threads.of(thread.ID), thread.Forked
	if len(thread.Parts) == 0 || t.forked == f.At {
		return nil
	}
	t.forked = f.At
	longest := 0 // where it was in all that time
	for i, p := range thread.Parts {
		if p.Ticks > thread.Parts[longest].Ticks {
			longest = i
		}
	}
	p := thread.Parts[longest]
	if f.At >= from || p.Node == paths.Root {
		return nil
	}
	before := min(p.Ticks, uint64(from-f.At))
	claims, sum := w.paces[0].past.claims(f, p.Node, perTick, float64(p.Ticks-before))
	if sum <= 0 {
		return nil
	}
	for k := 1; k < len(w.paces); k++ { // their windows are others
		of, _ := w.paces[k].past.claims(f, p.Node, perTick, float64(p.Ticks-before))
		w.move(k, of)
	}
	t.longest, t.before, t.booked = longest, uint64(float64(before)*min(1, sum/f.Used)), sum
	w.threads.covered += sum
	w.threads.beyond -= sum
	for _, c := range claims {
		w.Times[c.node].CPU += c.time
	}
	return w.move(0, claims)
}

// move moves the energy of claims on windows of a pace from outside the threads to their call paths.
func (w *Windows) move(k int, claims []claim) (all []Claimed) {
	x := w.paces[k]
	for _, c := range claims {
		if c.window == len(x.past.windows) { // which is joined with the next one
			x.joined.paths[paths.Root] -= c.time
			x.joined.paths[c.node] += c.time
			x.past.open.outside -= c.time
			continue
		}
		p := &x.past.windows[c.window]
		if c.time <= 0 || p.outside <= 0 {
			continue
		}
		part := min(1, c.time/p.outside)
		machine := part * p.machine
		x.machine.paths[paths.Root] -= machine
		x.machine.paths[c.node] += machine
		for d := range w.Domains {
			if w.Domains[d].pace != k {
				continue
			}
			e := part * p.domains[d].outside
			w.Domains[d].Paths[paths.Root] -= e
			w.Domains[d].Paths[c.node] += e
			p.domains[d].outside -= e
		}
		w.moveBeside(k, p, c.node, part)
		w.claimBounds(k, p, c)
		p.machine -= machine
		p.outside -= c.time
		all = append(all, Claimed{c.node, p.begun, p.end, c.time})
	}
	return all
}

// claimBounds lets the bounds of the sites of a claim have it.
func (w *Windows) claimBounds(k int, p *pastWindow, c claim) {
	self := true
	for n := c.node; n > paths.Root; n = w.tree.Parent(n) {
		if self {
			w.claimBound(k, p, claimant{w.tree.Site(n), true}, c.time)
		}
		if w.tree.IsOutermost(n) {
			w.claimBound(k, p, claimant{w.tree.Site(n), false}, c.time)
		}
		self = false
	}
}

// claimBound lets a site's bounds have so much time of a window: of a counter, any part of the whole
// window; of a model, the time's share, except where windows are joined.
func (w *Windows) claimBound(k int, p *pastWindow, of claimant, time float64) {
	isNew := !slices.Contains(p.claimants, of)
	b := w.bounds.bound(of.site, len(w.Domains))
	energy, machine := b.inclusiveOf, b.inclusiveMachine
	if of.self {
		energy, machine = b.selfOf, b.selfMachine
	}
	for d := range w.Domains {
		least, most := 0.0, 0.0
		switch domain := &w.Domains[d].Domain; {
		case w.Domains[d].pace != k || !domain.InTotal || domain.Program || !domain.FollowsProcessors():
			continue
		case domain.Method != nemb.Measured && !p.joined:
			least, most = time/p.weight, time/p.weight
		case isNew:
			most = 1
		}
		p.domains[d].program.add(&energy[d], &machine[d], &w.Domains[d].Domain, least, most)
	}
	if isNew && len(p.claimants) < mostClaimants {
		p.claimants = append(p.claimants, of)
	}
}

// claimant is a site whose bounds have the whole of a window: by itself, or with what it called.
type claimant struct {
	site checkpoint.SiteID
	self bool
}

// mostClaimants is how many a window remembers. The bounds of others get the whole window with each
// claim: they are wider than they need be.
const mostClaimants = 256
