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
// function. Of each thread, up to 10 ms in which it was on no processor cannot be told from what the kernel reports
// late.
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
	spans  map[checkpoint.Thread]*span
	doubts map[checkpoint.SiteID]*siteDoubt
	weight float64 // the processor time of all windows, ns
}

// span is what a thread did from one reading to the next, but for the time between a reading and the last sample
// before it.
type span struct {
	length, there, used float64                         // ns: of the windows, in its functions, and on a processor
	sites               map[checkpoint.SiteID]*siteTime // 0: outside all sites
	before              map[checkpoint.SiteID]Share     // of what was used in the span before
	moved               float64                         // ns that may be of this span or of the one before
	// read are the readings around the last sample, which was at.
	read [2]checkpoint.Instant
	at   checkpoint.Instant
	// Of all spans so far, in ns: there without used, of that what is no lateness of the kernel, and queued.
	away, real, queued float64
	begun              time.Duration // what was queued before; -1: not known
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
		if p.read[1] == 0 || p.read != s.Usage.Read {
			x.end(p)
		}
		x.add(p, t, float64(s.Time-prev.Time), perTick)
		p.read, p.at = s.Usage.Read, s.Time
	}
	for _, u := range s.Usage.Threads {
		if p := x.spans[u.Thread]; p != nil {
			if p.begun < 0 {
				p.begun = u.Queued
			}
			p.queued = nanos(u.Queued - p.begun)
		}
	}
	for _, t := range threads {
		if t.ended {
			x.finish(t.id)
		}
	}
}

func (x *divided) of(id checkpoint.Thread) *span {
	p := x.spans[id]
	if p == nil {
		p = &span{sites: map[checkpoint.SiteID]*siteTime{}, begun: -1}
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
	p.there += there.used
	p.used += used.used
	for _, of := range []*threadTime{&there, &used} {
		of.used = 1 // the shares are times
		x.shares.close(x.tree, 1, []*threadTime{of})
		for site, time := range x.shares.of {
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
		}
	}
}

// end ends a span at the last sample that it has. What may not have been reported yet is no time away.
func (x *divided) end(p *span) {
	p.away += p.there - p.used
	real := max(p.real, p.away-late)
	away := real - p.real
	p.real = real
	systematic := 0.0
	if real > 0 {
		systematic = min(1, max(0, 1-p.queued/real))
	}
	now := map[checkpoint.SiteID]Share{}
	for site, of := range p.sites {
		if site == 0 || site == checkpoint.OwnSite {
			continue
		}
		d := x.doubt(site)
		p.divide(&d.self, of.there.Self, of.used.Self, away, systematic)
		p.divide(&d.inclusive, of.there.Inclusive, of.used.Inclusive, away, systematic)
		if p.used > 0 {
			now[site] = Share{of.used.Self / p.used, of.used.Inclusive / p.used}
		}
	}
	if p.used > 0 && p.before != nil {
		for site := range p.before {
			now[site] = Share{now[site].Self, now[site].Inclusive}
		}
		for site, of := range now {
			d, before := x.doubt(site), p.before[site]
			self, inclusive := p.moved*math.Abs(of.Self-before.Self), p.moved*math.Abs(of.Inclusive-before.Inclusive)
			d.self.add(self, self, systematic)
			d.inclusive.add(inclusive, inclusive, systematic)
		}
	}
	p.before, p.moved = now, p.beyond()
	p.length, p.there, p.used = 0, 0, 0
	clear(p.sites)
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
// other side of that. By the mean of the span it used a part of that time.
func (p *span) beyond() float64 {
	before, after := nanos(p.at-p.read[0]), nanos(p.read[1]-p.at)
	if p.length <= 0 || before <= 0 || after <= 0 {
		return 0
	}
	use := min(1, max(0, p.used/p.length))
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

// finish ends the last span of a thread.
func (x *divided) finish(id checkpoint.Thread) {
	x.end(x.spans[id])
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
