package windows

import (
	"iter"
	"maps"
	"math"
	"slices"

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
// The kernel reports times late: a thread seems to be on no processor, until it seems to use more than there is.
// What it was away in a span is what it still was some time later. By as much as the times may be late, the time
// of a function may be another's that came before it.
//
// A thread that was not on a processor waited by itself, or was queued for one. What decides where others of the
// machine take its processor knows nothing of its functions: each is expected to lose its part of the time, and
// what it lost more or less adds up by squares. Where the thread waited by itself, its functions decide: in all
// spans it may be the same that waited, and so with the time for which the thread was queued when it was woken.
// There, and next to it, the errors add up. The scheduler tells for how long a thread was queued, when that is
// over: where it is all the time for which the thread did not run, it did not wait by itself.

// likely is how many standard deviations an interval (95 %) reaches to either side.
const likely = 1.96

// divided is what is not known of how threads divide their times.
type divided struct {
	tree   *paths.Tree
	probe  int32 // the path of what checkpoints cost, 0 for none
	rate   func(checkpoint.SiteID) *rate
	shares siteShares // scratch memory
	spans  map[checkpoint.Thread]*spans
	doubts map[checkpoint.SiteID]*siteDoubt
	weight float64 // the processor time of all windows, ns
	// Of weight, in ns: what is in no thread, and what of that may be what the kernel reported late of threads.
	outside, late float64
}

// span is what a thread did from one reading to the next, but for the time between a reading and the last sample
// before it.
type span struct {
	length, there, used float64 // ns: of the windows, in its functions, and on a processor
	sites               map[checkpoint.SiteID]*siteTime
	away                float64 // at its end, what of all spans was there and not used, ns
	queued              float64 // at its end, what the thread has been queued for, ns
	late                float64 // by which the kernel's time was, at its end, at most, ns
	guessed             bool    // nobody had read the thread's time
	// read are the readings around the last sample, which was at. Within is what was used between them, ns.
	read   [2]checkpoint.Instant
	at     checkpoint.Instant
	within float64
}

// spans are those of a thread.
type spans struct {
	open    *span   // nil: none
	waiting []*span // which may not have been reported
	lost    []*lost // whose waits may not have been reported
	before  *lost   // the last of those that are settled
	waited  bool    // by itself, in the last of lost that was settled
	// Of all spans before those that wait, in ns: in which it was away, and what it was queued for.
	away, queued float64
	late         float64 // ns by which the kernel's times were seen to be late, at most
}

// siteTime is the time in a site, by itself and with what it called, in nanoseconds.
type siteTime struct{ there, used Share }

// siteDoubt is by how much the processor time of a site may be off.
type siteDoubt struct{ self, inclusive doubt }

// lost is a span, or neighbours in which the thread used nothing, of which it is known for how long it was away.
type lost struct {
	*span
	absent  float64 // for how long it was away
	blocked float64 // of that, for what it is not reported to have been queued
	moved   float64 // what may be of the span before it or of this one
	behind  float64 // what may be of the span before it, since it was reported late
	from    *lost   // the span before it
}

// waits tells whether the thread waited by itself.
func (l *lost) waits() bool { return l.blocked > 0.01*l.there }

// mostLost is in how many spans a wait may have begun that the scheduler has not reported yet, and mostHeld how many
// sites these hold.
const (
	mostLost = 64
	mostHeld = 1 << 14
)

// doubt is that of a time: by how much it may be less and more than told, as a sum, besides what adds up by
// squares. least and most is how far it can be off at all.
type doubt struct {
	used        float64 // that is told
	less, more  float64 // either may be below 0: another time is expected
	least, most float64
	variance    float64
	largest     float64 // by which one span may be off
}

// add adds an error that lies between -less and more, and adds up.
func (d *doubt) add(less, more float64) {
	d.less, d.more = d.less+less, d.more+more
	d.least, d.most = d.least+less, d.most+more
}

// chance adds one that is by chance as far to either side.
func (d *doubt) chance(off float64) {
	d.least, d.most = d.least+off, d.most+off
	d.variance += off * off
}

// bounds is by how much less, and by how much more a time may be.
func (d *doubt) bounds() (less, more float64) {
	off := math.Hypot(d.largest, likely*math.Sqrt(d.variance)) // in few spans: all or nothing in one
	return max(0, min(d.least, d.less+off)), max(0, min(d.most, d.more+off))
}

// close takes a window of threads.
func (x *divided) close(s, prev nemb.Sample, perTick float64, threads []*threadTime) {
	for _, t := range threads {
		p := x.of(t.id, prev)
		if p.open != nil && (p.open.read[1] == 0 || p.open.read != s.Usage.Read) {
			x.end(p)
		}
		if p.open == nil {
			p.open = &span{sites: map[checkpoint.SiteID]*siteTime{}, queued: p.reported()}
		}
		x.add(p.open, t, float64(s.Time-prev.Time), perTick)
		p.open.read, p.open.at = s.Usage.Read, s.Time
	}
	for _, u := range s.Usage.Threads {
		if p := x.spans[u.Thread]; p != nil && p.open != nil {
			p.open.within, p.open.queued, p.open.late = nanos(u.Within), nanos(u.Queued), nanos(u.Late)
			if p.queued < 0 {
				p.queued = p.open.queued
			}
		}
	}
	late := 0.0
	for _, t := range threads {
		late += x.spans[t.id].open.late
	}
	x.late = max(x.late, late)
	for _, t := range threads {
		if t.ended {
			x.finish(t.id)
		}
	}
}

// of is the spans of a thread, which begin with a sample.
func (x *divided) of(id checkpoint.Thread, first nemb.Sample) *spans {
	p := x.spans[id]
	if p == nil {
		p = &spans{queued: -1} // not known
		for _, u := range first.Usage.Threads {
			if u.Thread == id {
				p.queued = nanos(u.Queued)
			}
		}
		x.spans[id] = p
	}
	return p
}

// reported is what the thread is reported to have been queued for, by now.
func (p *spans) reported() float64 {
	if n := len(p.waiting); n > 0 {
		return p.waiting[n-1].queued
	}
	return p.queued
}

// add adds a window to the span of a thread. What its checkpoints took is of no function.
func (x *divided) add(p *span, t *threadTime, length, perTick float64) {
	p.length += length
	p.guessed = p.guessed || !t.known
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
				d.self.add(t.less*time.Self*all, t.more*time.Self*all)
				d.inclusive.add(t.less*time.Inclusive*all, t.more*time.Inclusive*all)
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
	l := &lost{span: s, absent: away, blocked: away, from: p.before}
	if b := p.before; b != nil && s.used > 0 {
		l.behind = max(p.late, b.late)
		if b.used > 0 {
			l.moved = b.beyond()
		}
	}
	p.before = p.lose(l, max(0, s.queued-p.queued))
	p.queued = s.queued
	p.waiting = slices.Delete(p.waiting, 0, 1)
	keep := 1
	if slices.ContainsFunc(p.lost, (*lost).waits) {
		keep = mostLost
	}
	held := 0
	for i, l := range slices.Backward(p.lost) {
		if held += len(l.sites); held > mostHeld {
			keep = min(keep, len(p.lost)-1-i)
		}
	}
	x.divide(p, max(1, keep))
}

// lose adds a span in which the thread is reported to have been queued for so long. What is more than it was
// away, it was in those before. It returns what holds the span.
func (p *spans) lose(l *lost, queued float64) *lost {
	if n := len(p.lost); n > 0 && p.lost[n-1].used <= 0 && l.used <= 0 {
		p.lost[n-1].join(l)
	} else {
		p.lost = append(p.lost, l)
	}
	for i := len(p.lost) - 1; i >= 0 && queued > 0; i-- {
		part := min(queued, p.lost[i].blocked)
		p.lost[i].blocked -= part
		queued -= part
	}
	return p.lost[len(p.lost)-1]
}

// join makes a span and the next one, in both of which the thread used nothing, one.
func (l *lost) join(next *lost) {
	both := *next.span
	both.sites = map[checkpoint.SiteID]*siteTime{}
	for _, s := range []*span{l.span, next.span} {
		for site, of := range s.sites {
			at := both.sites[site]
			if at == nil {
				at = &siteTime{}
				both.sites[site] = at
			}
			at.there.Self += of.there.Self
			at.there.Inclusive += of.there.Inclusive
		}
	}
	both.there += l.there
	both.guessed = both.guessed || l.guessed
	l.span, l.absent, l.blocked = &both, l.absent+next.absent, l.blocked+next.blocked
}

// divide adds what is not known of the spans of which it is known for how long the thread was away, but for so
// many of the last.
func (x *divided) divide(p *spans, but int) {
	n := max(0, len(p.lost)-but)
	for i, l := range p.lost[:n] {
		waits := l.waits()
		near := p.waited || waits || p.waitsAfter(i)
		p.waited = waits || p.waited && p.idle(i)
		for site, of := range l.sites {
			d := x.doubt(site)
			d.self.used, d.inclusive.used = d.self.used+of.used.Self, d.inclusive.used+of.used.Inclusive
			l.divide(&d.self, of.there.Self, of.used.Self, near)
			l.divide(&d.inclusive, of.there.Inclusive, of.used.Inclusive, near)
			x.learn(l, site, of, near)
		}
		if near {
			x.shift(l)
		} else if l.from != nil {
			x.move(l.from.span, l.span, l.moved)
			x.move(l.from.span, l.span, l.behind/math.Sqrt(3)) // anything up to it
		}
		l.from = nil // it is needed no longer
	}
	p.lost = slices.Delete(p.lost, 0, n)
}

// idle tells whether all that is told to have been used in one of lost may be its neighbours'.
func (p *spans) idle(i int) bool {
	may := p.lost[i].moved
	if i+1 < len(p.lost) {
		may += p.lost[i+1].moved
	}
	return p.lost[i].used <= may
}

// waitsAfter tells whether the thread waited by itself before it ran next.
func (p *spans) waitsAfter(i int) bool {
	for i++; i < len(p.lost); i++ {
		if p.lost[i].waits() || !p.idle(i) {
			return p.lost[i].waits()
		}
	}
	return false
}

// learn corrects the rate of a site that a span has been added to: what others took away tells nothing of the site.
func (x *divided) learn(l *lost, site checkpoint.SiteID, of *siteTime, waited bool) {
	if !l.guessed && !waited {
		x.rate(site).cpu += max(0, of.there.Self-of.used.Self)
	}
}

// move adds what is not known of the sites of two spans where so much may by chance be of either.
func (x *divided) move(one, two *span, moved float64) {
	if moved <= 0 || one.used <= 0 || two.used <= 0 {
		return
	}
	for site := range one.or(two) {
		a, b, d := one.part(site), two.part(site), x.doubt(site)
		d.self.chance(moved * math.Abs(a.Self-b.Self))
		d.inclusive.chance(moved * math.Abs(a.Inclusive-b.Inclusive))
	}
}

// shift adds by how much the limits of sites in a span and the one before it are off together, of which so much
// may be of either, each time the same.
func (x *divided) shift(l *lost) {
	if l.moved+l.behind <= 0 {
		return
	}
	for site := range l.from.or(l.span) {
		a, b, d := l.from.in(site), l.in(site), x.doubt(site)
		d.self.add(l.shifted(a.Self, b.Self))
		d.inclusive.add(l.shifted(a.Inclusive, b.Inclusive))
	}
}

// shifted is by how much a site's limits are off that was so long there in the span before it, and in it.
func (l *lost) shifted(before, here float64) (less, more float64) {
	used, fromUsed := l.ran(), l.from.ran()
	from := max(-l.moved-l.behind, -used, -l.from.absent)
	to := min(l.moved, fromUsed, l.absent)
	least, most := l.limits(here, used)
	fromLeast, fromMost := l.from.limits(before, fromUsed)
	// The sum has its least and its most at the ends, or where one of the limits begins or ceases to grow.
	for _, moved := range []float64{
		from, to, l.there - here - used, here - used, fromUsed - (l.from.there - before), fromUsed - before,
	} {
		moved = min(to, max(from, moved))
		lo, hi := l.limits(here, used+moved)
		fromLo, fromHi := l.from.limits(before, fromUsed-moved)
		less, more = max(less, least+fromLeast-lo-fromLo), max(more, hi+fromHi-most-fromMost)
	}
	return less, more
}

// ran is for how long the thread was on a processor.
func (l *lost) ran() float64 { return max(0, l.there-l.absent) }

// limits is the least and the most that a site used that was there for so long, of what the thread used.
func (l *lost) limits(there, used float64) (least, most float64) {
	return max(0, used-(l.there-there)), min(there, used)
}

// or are the sites of two spans, each once.
func (p *span) or(two *span) iter.Seq[checkpoint.SiteID] {
	return func(yield func(checkpoint.SiteID) bool) {
		for site := range two.sites {
			if !yield(site) {
				return
			}
		}
		for site := range p.sites {
			if two.sites[site] == nil && !yield(site) {
				return
			}
		}
	}
}

// in is the time in a site.
func (p *span) in(site checkpoint.SiteID) Share {
	if of := p.sites[site]; of != nil {
		return of.there
	}
	return Share{}
}

// part is a site's part of what a span used.
func (p *span) part(site checkpoint.SiteID) Share {
	if of := p.sites[site]; of != nil {
		return Share{of.used.Self / p.used, of.used.Inclusive / p.used}
	}
	return Share{}
}

// divide adds what is not known of a site that the thread was in for some time, which is taken to have used a part of
// it. waited is whether the thread waited by itself in the span or next to it. What the site lost by chance lies
// no further apart than if it had lost all or nothing (Bhatia and Davis, American Mathematical Monthly 107, 2000).
func (l *lost) divide(d *doubt, there, used float64, waited bool) {
	if there <= 0 || l.absent <= 0 || l.there <= 0 {
		return
	}
	least, most := max(0, l.absent-(l.there-there)), min(there, l.absent) // of its time in which it was away
	part := there / l.there
	expected := min(most, max(least, l.absent*part))
	if l.there > l.used {
		part = min(1, max(0, (there-used)/(l.there-l.used)))
	}
	taken := min(most, max(least, l.absent*part))
	if waited {
		d.add(most-taken, taken-least)
		return
	}
	d.less += expected - taken
	d.more += taken - expected
	d.least += most - taken
	d.most += taken - least
	d.variance += (most - expected) * (expected - least)
	d.largest = max(d.largest, most-expected, expected-least)
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
	x.divide(p, 0)
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
	late := min(w.divided.outside, w.divided.late, w.divided.weight/2)
	in := func(d *doubt) Bounds {
		less, more := d.bounds()
		more += (d.used + more) * late / (w.divided.weight - late)
		return Bounds{Lo: less * power * b.Domain.Lo, Hi: more * power * b.Domain.Hi}
	}
	return in(&of.self), in(&of.inclusive)
}
