package windows

import (
	"maps"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// What a thread used is known from one reading of its time to the next, which cg makes late where it has to wait for
// a processor. How that is divided among the functions in which the thread was meanwhile follows from what they use
// at other times, and may be otherwise: each used no more than the time that the thread was in it, and no less than
// what does not fit into the others. So it is exact where a thread had a processor all the time, or was in one
// function.
//
// The kernel reports times late: a thread seems to be on no processor, until it seems to use more than there is. What
// it was away in a span is what it still was some time later. By as much as the times were seen to be late, the time
// of a function may be another's that came before it or after it.
//
// A thread that was not on a processor slept, or was queued for one. How it was queued does not depend on what it
// does: then the errors of the readings are independent of each other, and their sum is within the bound of
// Hoeffding (Probability inequalities for sums of bounded random variables, Journal of the American Statistical
// Association 58, 1963) in 95 of 100 runs. Where it slept, a function may have slept each time: the errors add up.

// hoeffding is the bound of a sum of independent errors, in 95 of 100 runs: this times the root of the sum of the
// squares of the widths within which they lie.
var hoeffding = math.Sqrt(math.Log(2/0.05) / 2)

// divided is what is not known of how threads divide their times.
type divided struct {
	tree   *paths.Tree
	probe  int32      // the path of what checkpoints cost, 0 for none
	shares siteShares // scratch memory
	spans  map[checkpoint.Thread]*spans
	doubts map[checkpoint.SiteID]*siteDoubt
	weight float64 // the processor time of all windows, ns
}

// span is what a thread did from one reading to the next, but for the time between a reading and the last sample
// before it.
type span struct {
	length, there, used float64 // ns: of the windows, in its functions, and on a processor
	sites               map[checkpoint.SiteID]*siteTime
	away                float64 // at its end, what of all spans was there and not used, ns
	// read are the readings around the last sample, which was at. Within is what was used between them, ns.
	read   [2]checkpoint.Instant
	at     checkpoint.Instant
	within float64
}

// spans are those of a thread.
type spans struct {
	open    *span   // nil: none
	waiting []*span // which may not have been reported
	before  *span   // the last of those that are settled
	// Of all settled spans, in ns: in which it was away, and what it was queued for, by now.
	away, queued float64
	begun        time.Duration // what was queued before; -1: not known
	late         float64       // ns by which the kernel's times were seen to be late, at most
}

// siteTime is the time in a site, by itself and with what it called, in nanoseconds.
type siteTime struct{ there, used Share }

// siteDoubt is by how much the processor time of a site may be off.
type siteDoubt struct{ self, inclusive doubt }

// doubt is that of a time: the errors that add up and the squares of those that are independent.
type doubt struct{ less, more, squares float64 }

// add adds an error that lies between -less and more. So much of it adds up.
func (d *doubt) add(less, more, systematic float64) {
	d.less += systematic * less
	d.more += systematic * more
	width := (1 - systematic) * (less + more)
	d.squares += width * width
}

// bounds is by how much less, and by how much more a time may be.
func (d *doubt) bounds() (less, more float64) {
	random := hoeffding * math.Sqrt(d.squares)
	return d.less + random, d.more + random
}

// close takes a window of threads.
func (x *divided) close(s, prev nemb.Sample, perTick float64, threads []*threadTime) {
	for _, t := range threads {
		p := x.of(t.id)
		if p.open != nil && (p.open.read[1] == 0 || p.open.read != s.Usage.Read) {
			x.end(p)
		}
		if p.open == nil {
			p.open = &span{sites: map[checkpoint.SiteID]*siteTime{}}
		}
		x.add(p.open, t, float64(s.Time-prev.Time), perTick)
		p.open.read, p.open.at = s.Usage.Read, s.Time
	}
	for _, u := range s.Usage.Threads {
		if p := x.spans[u.Thread]; p != nil {
			if p.begun < 0 {
				p.begun = u.Queued
			}
			p.queued = nanos(u.Queued - p.begun)
			if p.open != nil {
				p.open.within = nanos(u.Within)
			}
		}
	}
	for _, t := range threads {
		if t.ended {
			x.finish(t.id)
		}
	}
}

func (x *divided) of(id checkpoint.Thread) *spans {
	p := x.spans[id]
	if p == nil {
		p = &spans{begun: -1}
		x.spans[id] = p
	}
	return p
}

// add adds a window to the span of a thread. What its checkpoints took is of no function.
func (x *divided) add(p *span, t *threadTime, length, perTick float64) {
	p.length += length
	there, used := threadTime{parts: t.parts}, threadTime{parts: t.parts}
	for i, part := range t.parts {
		busy, share := t.busy(i)*perTick, t.used*t.shares[i]
		if x.probe != 0 && part.Node == x.probe {
			busy, share = 0, 0
		}
		there.shares, used.shares = append(there.shares, busy), append(used.shares, share)
		there.used += busy
		used.used += share
	}
	all := ratio(1, used.used)
	p.there += there.used
	p.used += used.used
	for _, of := range []*threadTime{&there, &used} {
		of.used = 1 // the shares are times
		x.shares.close(x.tree, 1, []*threadTime{of})
		for site, time := range x.shares.of {
			if site == checkpoint.OwnSite {
				continue
			}
			at := p.sites[site]
			if at == nil {
				at = &siteTime{}
				p.sites[site] = at
			}
			to := &at.there
			if of == &used {
				to = &at.used
			}
			to.Self += time.Self
			to.Inclusive += time.Inclusive
			if d := x.doubt(site); of == &used && t.less+t.more > 0 { // nobody has read the thread's time
				d.self.add(t.less*time.Self*all, t.more*time.Self*all, 1)
				d.inclusive.add(t.less*time.Inclusive*all, t.more*time.Inclusive*all, 1)
			}
		}
	}
}

// end ends the open span, and settles those for which what came later is enough.
func (x *divided) end(p *spans) {
	p.open.away = p.open.there - p.open.used
	if n := len(p.waiting); n > 0 {
		p.open.away += p.waiting[n-1].away
	} else if p.before != nil {
		p.open.away += p.before.away
	}
	p.waiting, p.open = append(p.waiting, p.open), nil
	after := 0.0
	for _, s := range p.waiting[1:] {
		after += s.length
	}
	for after >= late {
		x.settle(p)
		after -= p.waiting[0].length
	}
}

// settle takes the first of the spans that wait.
func (x *divided) settle(p *spans) {
	s := p.waiting[0]
	until := s.away
	for _, later := range p.waiting[1:] {
		until = min(until, later.away)
	}
	away := max(0, until-p.away)
	p.away += away
	p.late = max(p.late, s.away-until)
	systematic := 0.0
	if p.away > 0 {
		systematic = min(1, max(0, 1-p.queued/p.away))
	}
	for site, of := range s.sites {
		d := x.doubt(site)
		s.divide(&d.self, of.there.Self, of.used.Self, away, systematic)
		s.divide(&d.inclusive, of.there.Inclusive, of.used.Inclusive, away, systematic)
	}
	if b := p.before; b != nil && b.used > 0 && s.used > 0 {
		x.move(b, s, b.beyond(), systematic)
		x.move(b, s, p.late/2, 0)
	}
	p.before = s
	p.waiting = slices.Delete(p.waiting, 0, 1)
}

// move adds what is not known of the sites of two spans where so much may be of either.
func (x *divided) move(one, two *span, moved, systematic float64) {
	if moved <= 0 {
		return
	}
	add := func(site checkpoint.SiteID) {
		a, b, d := one.part(site), two.part(site), x.doubt(site)
		self, inclusive := moved*math.Abs(a.Self-b.Self), moved*math.Abs(a.Inclusive-b.Inclusive)
		d.self.add(self, self, systematic)
		d.inclusive.add(inclusive, inclusive, systematic)
	}
	for site := range two.sites {
		add(site)
	}
	for site := range one.sites {
		if two.sites[site] == nil {
			add(site)
		}
	}
}

// part is a site's part of what a span used.
func (p *span) part(site checkpoint.SiteID) Share {
	if of := p.sites[site]; of != nil {
		return Share{of.used.Self / p.used, of.used.Inclusive / p.used}
	}
	return Share{}
}

// divide adds what is not known of a site that a thread was in for some time, which is taken to have used a part of
// it. So long it was on no processor.
func (p *span) divide(d *doubt, there, used, away, systematic float64) {
	if there <= 0 || away <= 0 {
		return
	}
	least, most := max(0, away-(p.there-there)), min(there, away)
	part := there / p.there
	if p.there > p.used {
		part = min(1, max(0, (there-used)/(p.there-p.used)))
	}
	taken := min(most, max(least, away*part))
	d.add(max(0, most-taken), max(0, taken-least), systematic)
}

// beyond is how much of what the thread used between the two readings around the span's last sample may lie on the
// other side of that.
func (p *span) beyond() float64 {
	before, after := nanos(p.at-p.read[0]), nanos(p.read[1]-p.at)
	if before <= 0 || after <= 0 {
		return 0
	}
	use := min(1, max(0, p.within/(before+after)))
	return max(min(use*after, (1-use)*before), min(use*before, (1-use)*after))
}

func (x *divided) doubt(site checkpoint.SiteID) *siteDoubt {
	d := x.doubts[site]
	if d == nil {
		d = &siteDoubt{}
		x.doubts[site] = d
	}
	return d
}

// finish settles all spans of a thread.
func (x *divided) finish(id checkpoint.Thread) {
	p := x.spans[id]
	if p == nil {
		return
	}
	if p.open != nil {
		x.end(p)
	}
	for len(p.waiting) > 0 {
		x.settle(p)
	}
	delete(x.spans, id)
}

// finishAll does so with those that have not ended.
func (x *divided) finishAll() {
	for _, id := range slices.SortedFunc(maps.Keys(x.spans), account.CompareThreads) {
		x.finish(id)
	}
}

// Divided is by how much the bounds of a site are to be widened, in microjoules, as the times of threads are divided
// among functions: to lower values by Lo, to higher ones by Hi. It is of a domain that follows a model: what a
// counter shows tells the powers of functions. Valid at the end of a run.
func (w *Windows) Divided(site checkpoint.SiteID, d int) (self, inclusive Bounds) {
	of, b := w.divided.doubts[site], &w.Domains[d]
	if of == nil || w.divided.weight <= 0 || !b.Domain.InTotal || b.Domain.Method == nemb.Measured ||
		!b.Domain.FollowsProcessors() {
		return Bounds{}, Bounds{}
	}
	power := float64(b.Program) / w.divided.weight
	in := func(d *doubt) Bounds {
		less, more := d.bounds()
		return Bounds{Lo: less * power * b.Domain.Lo, Hi: more * power * b.Domain.Hi}
	}
	return in(&of.self), in(&of.inclusive)
}
