package windows

import (
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// threadTimes finds the processor time of each thread in a window, and the share
// of each of its call paths.
type threadTimes struct {
	threads map[checkpoint.Thread]*threadTime
	now     []*threadTime // those of the open window
	rates   map[checkpoint.SiteID]*rate
	probe   int32   // the path of what checkpoints cost, 0 for none
	covered float64 // program time of the threads, ns
	beyond  float64 // program time outside the threads, as an envelope, ns
	owing   []debt  // of threads that have ended, oldest first
	room    float64 // program time that nobody has been given by the end of the open window, ns; +Inf where not known
	at      float64 // when the open window ends, ns
}

// debt is what checkpoints of threads took that have ended, and is in no thread's time, in nanoseconds.
type debt struct{ ns, until float64 }

// threadTime is what is known of a thread's processor time.
type threadTime struct {
	id     checkpoint.Thread
	cpu    float64 // nanoseconds, at the last sample
	known  bool    // cpu has been read
	credit float64 // nanoseconds it was there and is not reported to have used, yet
	owed   float64 // nanoseconds of its checkpoints that are not in what it is reported to have used, yet

	// Of the open window.
	ended     bool
	idle      uint64
	used      float64 // ns
	less      float64 // of used, what is a guess, and by how much more it may be
	more      float64
	sitesOnly bool // used is a guess for its sites alone
	parts     []paths.Part
	shares    []float64 // of used, per part
	longest   int       // the part of which before ticks lie before the window
	before    uint64

	forked checkpoint.Tick // when its process was, of the claim that it has made (past.go)
	booked float64         // ns that it has had until the kernel's reading of its time, with that claim; 0 without
}

// late is by how much the kernel's time of a running thread is behind at most:
// a scheduler tick, 10 ms at 100 Hz, in nanoseconds.
const late = 10e6

// mostOwing bounds what a thread owes for its checkpoints: where cg has to wait for a processor, it reads the times of
// threads so late. What costs less than was measured at the start of the program is not owed for ever.
// The same is the most that all ended threads owe together.
const mostOwing = 100e6

// owingFor is for how long after the end of a thread its debt is paid: what is used later is other work.
const owingFor = 500e6

// read is the processor times that a sample has, by thread.
func read(s nemb.Sample) map[checkpoint.Thread]float64 {
	read := make(map[checkpoint.Thread]float64, len(s.Usage.Threads))
	for _, u := range s.Usage.Threads {
		read[u.Thread] = nanos(u.CPU)
	}
	return read
}

// Killed returns a function that reports whether the kernel knew a thread before a
// sample and does not know it in the sample.
func (w *Windows) Killed(s nemb.Sample) func(checkpoint.Thread) bool {
	read := read(s)
	return func(id checkpoint.Thread) bool {
		t := w.threads.threads[id]
		_, there := read[id]
		return t != nil && t.known && !there
	}
}

// sure is what the threads that were read before used since then, in nanoseconds.
func (x *threadTimes) sure(read map[checkpoint.Thread]float64, threads []Thread) (sum float64) {
	for _, thread := range threads {
		if t := x.threads[thread.ID]; t != nil && t.known {
			if now, ok := read[t.id]; ok {
				sum += max(0, now-t.cpu)
			}
		}
	}
	return sum
}

// close finds what every thread used in the window that s ends, and what they used
// together. Where the kernel does not say, a thread counts as running whenever it
// is inside a site. program is what all of them used at most, 0 where that is not
// known.
func (x *threadTimes) close(tree *paths.Tree, s nemb.Sample, perTick, program float64, threads []Thread) (sum float64) {
	read := read(s)
	x.now, x.at = x.now[:0], float64(s.Time)
	guesses := guesses{of: make([]guess, len(threads))}
	room := x.room - x.sure(read, threads)
	for i, thread := range threads {
		t := x.take(thread)
		now, ok := read[t.id]
		here := (t.present() + float64(t.idle)) * perTick
		t.used = 0
		switch {
		case ok && t.known:
			t.used = max(0, now-t.cpu)
		case ok:
			t.used = max(0, now-t.booked)
		}
		// A thread uses no more than the time it is there, but for what the
		// kernel reported late of the window before. What was read of the next
		// window already, since cg had to wait for a processor, is the next one's.
		early := max(0, t.used-here-t.credit)
		t.used -= early
		if !t.known && t.booked == 0 { // but not what it used before its first checkpoint
			early = 0
			t.used = min(t.used, max(here, room))
			room = max(0, room-t.used)
		}
		early = min(early, late)
		if !t.known && !ok || t.ended {
			// Never read, or last read before the window: it may have used
			// all the time that it was in its sites.
			if more := min(t.inside()*perTick, here) - t.used; more > 0 {
				guesses.add(i, more, x.due(t, perTick)-t.used)
				t.sitesOnly = t.used == 0
			}
		}
		t.credit = min(late, t.credit+here-t.used)
		if ok {
			t.cpu, t.known = now-early, true
		}
		sum += t.used
	}
	// Guesses share what the program used and no thread is known to have.
	left := guesses.most
	if program > 0 {
		left = min(left, max(0, program-sum))
	}
	for i, t := range x.now {
		guess := guesses.share(i, left)
		t.used += guess
		if t.less, t.more = 0, 0; len(read) > 0 { // else the program's time is all that is known of any thread
			t.less, t.more = guess, max(0, guesses.of[i].most-guess)
		}
		if program > 0 {
			t.more = min(t.more, max(0, program-sum-guess))
		}
		if t.booked > 0 {
			t.booked += t.used
		}
		t.addIdle(perTick)
		x.addCheckpoints(t)
		x.apportion(t, tree, perTick)
	}
	return sum + left
}

// of is what is known of a thread's processor time.
func (x *threadTimes) of(id checkpoint.Thread) *threadTime {
	t := x.threads[id]
	if t == nil {
		t = &threadTime{id: id}
		x.threads[id] = t
	}
	return t
}

// take begins the window of a thread.
func (x *threadTimes) take(thread Thread) *threadTime {
	t := x.of(thread.ID)
	t.parts, t.idle, t.ended, t.sitesOnly = thread.Parts, thread.Idle, thread.Ended, false
	x.now = append(x.now, t)
	return t
}

// present is the time in ticks that a thread was in its call paths, or outside all
// sites.
func (t *threadTime) present() float64 {
	sum := 0.0
	for i := range t.parts {
		sum += t.ticks(i)
	}
	return sum
}

// ticks is the time of a part in the window.
func (t *threadTime) ticks(part int) float64 {
	if part == t.longest {
		return float64(t.parts[part].Ticks - t.before)
	}
	return float64(t.parts[part].Ticks)
}

// busy is the time of a part in the window in which the thread may have been on a processor.
func (t *threadTime) busy(part int) float64 {
	return max(0, t.ticks(part)-float64(t.parts[part].Waited))
}

// inside is the time in ticks that a thread was in sites.
func (t *threadTime) inside() float64 {
	sum := 0.0
	for i, p := range t.parts {
		if p.Node != paths.Root {
			sum += t.ticks(i)
		}
	}
	return sum
}

// addIdle gives a thread of strands a part outside all sites: what it used for none
// of them. What a thread uses it uses for its strands, and only what is more than
// their time without one: in the scheduler, or in garbage collection.
func (t *threadTime) addIdle(perTick float64) {
	if more := t.used - t.present()*perTick; t.idle > 0 && more > 0 && perTick > 0 {
		t.parts = append(slices.Clip(t.parts), paths.Part{Node: paths.Root, Ticks: min(t.idle, uint64(more/perTick))})
	}
}

// due is the processor time in nanoseconds that a thread has used for its checkpoints and is not reported to have used.
func (x *threadTimes) due(t *threadTime, perTick float64) float64 {
	due := t.owed
	for i, p := range t.parts {
		if x.probe != 0 && p.Node == x.probe {
			due += t.ticks(i) * perTick
		}
	}
	return due
}

// guess is what a thread may have used that nobody has read, and what of it its checkpoints did use, in nanoseconds.
type guess struct{ most, due float64 }

// guesses are those of the threads of a window.
type guesses struct {
	of        []guess
	most, due float64 // of all
}

func (g *guesses) add(i int, most, due float64) {
	due = min(most, max(0, due))
	g.of[i] = guess{most, due}
	g.most += most
	g.due += due
}

// share is what a thread gets of what all of these used together: a thread that had many events has run.
func (g *guesses) share(i int, all float64) float64 {
	of := g.of[i]
	if all <= g.due || g.most <= g.due {
		return all * ratio(of.due, g.due)
	}
	return of.due + (of.most-of.due)*(all-g.due)/(g.most-g.due)
}

func ratio(part, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return part / all
}

// pay takes what threads that have ended owe for their checkpoints from what no thread is known to have used, as if one
// more thread had used it. It returns how much.
func (x *threadTimes) pay(outside float64) (paid float64) {
	x.owing = slices.DeleteFunc(x.owing, func(d debt) bool { return d.until < x.at })
	for i := range x.owing {
		part := max(0, min(x.owing[i].ns, outside-paid))
		x.owing[i].ns -= part
		paid += part
	}
	x.owing = slices.DeleteFunc(x.owing, func(d debt) bool { return d.ns <= 0 })
	if paid <= 0 {
		return 0
	}
	x.covered += paid
	x.beyond -= paid
	x.now = append(x.now, &threadTime{used: paid, parts: []paths.Part{{Node: x.probe}}, shares: []float64{1}})
	return paid
}

// owe notes what a thread owes that has ended in the open window.
func (x *threadTimes) owe(ns float64) {
	all := 0.0
	for _, d := range x.owing {
		all += d.ns
	}
	ns = min(ns, mostOwing-all)
	if n := len(x.owing); ns > 0 && n > 0 && x.owing[n-1].until == x.at+owingFor {
		x.owing[n-1].ns += ns
	} else if ns > 0 {
		x.owing = append(x.owing, debt{ns, x.at + owingFor})
	}
}

// addCheckpoints gives a thread that owes for its checkpoints a part for them.
func (x *threadTimes) addCheckpoints(t *threadTime) {
	of := func(p paths.Part) bool { return p.Node == x.probe }
	if t.owed > 0 && t.used > 0 && x.probe != 0 && !slices.ContainsFunc(t.parts, of) {
		t.parts = append(slices.Clip(t.parts), paths.Part{Node: x.probe})
	}
}

// rate is the processor time of a site, and the time that its threads were in
// it, in nanoseconds.
type rate struct{ cpu, wall float64 }

// rated is the time in a site, in nanoseconds, from which on what it used decides
// its rate; before, it counts as running whenever a thread is in it.
const rated = 2e6

func (r *rate) value() float64 { return (r.cpu + rated) / (r.wall + rated) }

// apportion gives the parts of a thread their shares of what it used in the open
// window: in proportion to the time in each, and to the part of its time that its
// site is known to run. A function that waits gets what it burns so, though
// others computed in the same window. The rates follow from what they gave rise
// to before (expectation and maximisation by turns: Dempster, Laird, Rubin,
// Journal of the Royal Statistical Society B 39, 1977).
func (x *threadTimes) apportion(t *threadTime, tree *paths.Tree, perTick float64) {
	t.shares = t.shares[:0]
	sum, checkpoints := 0.0, -1
	for i, p := range t.parts {
		share := 0.0
		switch {
		case x.probe != 0 && p.Node == x.probe:
			checkpoints = i
		case !t.sitesOnly || p.Node != paths.Root:
			share = t.busy(i) * x.rate(tree.Site(p.Node)).value()
			sum += share
		}
		t.shares = append(t.shares, share)
	}
	waited := sum <= 0
	if waited && t.used > 0 {
		sum = t.shareWaits(x.probe)
	}
	// Checkpoints wait for nothing: their time is processor time. Of a thread that has a processor now and then
	// the kernel may report it with a later window.
	runtime := 0.0
	if checkpoints >= 0 {
		t.owed += t.ticks(checkpoints) * perTick
	}
	if checkpoints >= 0 && t.used > 0 {
		if runtime = 1; sum > 0 {
			runtime = min(1, t.owed/t.used)
		}
		t.shares[checkpoints] = runtime
	}
	t.owed = min(mostOwing, max(0, t.owed-t.used*runtime))
	if t.ended {
		x.owe(t.owed)
	}
	for i := range t.parts {
		if i != checkpoints && sum > 0 {
			t.shares[i] *= (1 - runtime) / sum
		}
	}
	t.limit(checkpoints, perTick)
	for i, p := range t.parts {
		if i != checkpoints && sum > 0 && !waited && t.known {
			r := x.rate(tree.Site(p.Node))
			r.cpu += t.used * t.shares[i]
			r.wall += t.busy(i) * perTick
		}
	}
}

// shareWaits shares what a thread used in a window in which each look saw it wait: it ran between the looks, where they
// saw it. The sum of the shares is returned.
func (t *threadTime) shareWaits(probe int32) (sum float64) {
	for i, p := range t.parts {
		if p.Waited > 0 && (probe == 0 || p.Node != probe) {
			t.shares[i] = t.ticks(i)
			sum += t.shares[i]
		}
	}
	return sum
}

// rounds is how often limit passes on by rates what is too much; then it does so by the room that is left.
const rounds = 3

// limit takes from parts what is more than a thread can have used in them: it runs at most for the time that
// it is there, but for what the kernel reports late of all of them. The other parts get it.
func (t *threadTime) limit(checkpoints int, perTick float64) {
	used, there := 0.0, 0.0 // of the parts that have shares
	part := func(i int) bool { return i != checkpoints && t.shares[i] > 0 }
	for i := range t.parts {
		if part(i) {
			used += t.used * t.shares[i]
			there += t.busy(i) * perTick
		}
	}
	if used <= 0 || there <= 0 {
		return
	}
	stretch := max(1, used/there) * perTick / t.used
	for round := 0; ; round++ {
		over, open, room := 0.0, 0.0, 0.0
		for i := range t.parts {
			if most := t.busy(i) * stretch; part(i) && t.shares[i] > most {
				over += t.shares[i] - most
				t.shares[i] = most
			} else if part(i) && t.shares[i] < most {
				open += t.shares[i]
				room += most - t.shares[i]
			}
		}
		if over <= 1e-12 || room <= 0 || round > rounds {
			return
		}
		for i := range t.parts {
			if most := t.busy(i) * stretch; part(i) && t.shares[i] < most {
				if round < rounds {
					t.shares[i] *= 1 + over/open
				} else {
					t.shares[i] += over * (most - t.shares[i]) / room
				}
			}
		}
	}
}

func (x *threadTimes) rate(site checkpoint.SiteID) *rate {
	r := x.rates[site]
	if r == nil {
		r = &rate{}
		x.rates[site] = r
	}
	return r
}

// away is by how much less the threads of the open window used than they do in as long a time in their call paths, in
// nanoseconds; below 0 where it is more. What the kernel reports late is in it, and is taken off later. Checkpoints are
// never away.
func (x *threadTimes) away(tree *paths.Tree, perTick float64) (sum float64) {
	for _, t := range x.now {
		for i, p := range t.parts {
			if x.probe != 0 && p.Node == x.probe {
				sum += t.used * t.shares[i]
				continue
			}
			sum += t.busy(i) * perTick * x.rate(tree.Site(p.Node)).value()
		}
		sum -= t.used
	}
	return sum
}

// queued is for how long threads that were there in both of two samples waited for a processor between them, in
// nanoseconds, and how often they got one.
func queued(prev, s nemb.Sample) (sum, turns float64) {
	i, before := 0, prev.Usage.Threads
	for _, now := range s.Usage.Threads { // both by thread
		for i < len(before) && account.CompareThreads(before[i].Thread, now.Thread) < 0 {
			i++
		}
		if i < len(before) && before[i].Thread == now.Thread {
			sum += max(0, nanos(now.Queued-before[i].Queued))
			turns += max(0, now.Turns-before[i].Turns)
		}
	}
	return sum, turns
}

// hasShares reports whether the parts of a thread have shares.
func (t *threadTime) hasShares() bool {
	return slices.ContainsFunc(t.shares, func(share float64) bool { return share > 0 })
}

// roomOf is what is left of the program's time of the run for a thread that is read for the first time: until then
// it was guessed what the thread used, or it is the program's outside of its threads. None of that is given twice,
// but what the thread was there for in the open window: the account may be late.
func (x *threadTimes) roomOf(program float64) float64 {
	if program <= 0 {
		return math.Inf(1)
	}
	return max(0, program-x.covered-x.beyond)
}

// outside is the program's processor time of the window that no thread used.
// program is that of the run, covered what the threads used in the window. The
// kernel brings thread times up to date a few milliseconds late, so the difference
// is taken of the whole run, as an envelope: it never counts lateness as use.
func (x *threadTimes) outside(program, covered float64) float64 {
	x.covered += covered
	beyond := program - x.covered
	if beyond <= x.beyond {
		return 0
	}
	delta := beyond - x.beyond
	x.beyond = beyond
	return delta
}
