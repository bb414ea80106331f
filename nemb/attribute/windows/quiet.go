package windows

import (
	"math"
	"time"

	"cg/nemb"
	"cg/nemb/account"
)

// What a machine draws while its processors do little bounds its idle power from
// above. Windows are joined to stretches, long enough for the age of a counter's
// readings to matter little, and stretches of like use of the processors are taken
// together: chosen by use and not by power, their mean is not what noise made least.
const (
	stretchPeriods = 20
	leastStretch   = 20 * time.Millisecond
	// The least power of this many stretches in a row counts, too.
	longRow = 50
	// From so much of such time on, the mean of the stretches of one use is told.
	enough = 200 * time.Millisecond
	// idleUse is the use up to which a machine is nearly idle.
	idleUse = 0.05
	// leastContrast is by how much more the processors must be in use in a class that shows what their use adds.
	leastContrast = 0.02
)

// uses are the upper ends of the classes of use (see nemb.UseOf).
var uses = [...]float64{0.01, 0.02, 0.03, idleUse, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, math.Inf(1)}

// quiet is what the windows of a domain tell of its idle power. Its memory does not grow.
type quiet struct {
	run     stretch
	open    stretch
	others  float64   // of open, what other processes used, ns
	unsure  []stretch // those since the time of others moved
	waited  float64   // how long these are together, ns
	row     class
	classes [len(uses)]class
	least   float64 // W, of the rows, with their error; 0 before the first
}

// The time of other processes is told in ticks. Most stretches in which others used a third of a processor have none:
// by their own figures they would be times without use, at the power of a third of a processor. So a tick is that of
// all stretches since the one before, and a machine is idle from longestUnsure without any on. At the end of a run
// leastUnsure of that is enough.
const (
	longestUnsure = time.Second
	leastUnsure   = 100 * time.Millisecond
)

// stretch is some windows together.
type stretch struct {
	energy float64 // uJ
	wall   float64 // ns
	busy   float64 // ns, the processor time that anybody used
}

// class is the stretches of like use.
type class struct {
	stretch
	n       int
	squares float64 // of power, times wall
	// The same of batches of stretches that follow each other: what a machine draws varies slowly, too, and neighbours
	// are off together.
	batch, batches stretch
	of             int // stretches in batch
	nBatches       int
	batchSquares   float64
}

// A batch is so many stretches, and there must be so many of them to tell an error.
const (
	batchOf      = 10
	leastBatches = 4
)

func (s *stretch) add(of stretch) {
	s.energy += of.energy
	s.wall += of.wall
	s.busy += of.busy
}

// use is that of the processors.
func (s stretch) use(cpus float64) float64 { return nemb.UseOf(s.busy/s.wall, cpus) }

// power is the mean in watts.
func (s stretch) power() float64 { return s.energy / s.wall * 1e3 }

func (c *class) add(s stretch) {
	c.stretch.add(s)
	c.n++
	c.squares += s.power() * s.power() * s.wall
	c.batch.add(s)
	if c.of++; c.of == batchOf {
		c.batches.add(c.batch)
		c.batchSquares += c.batch.power() * c.batch.power() * c.batch.wall
		c.nBatches++
		c.batch, c.of = stretch{}, 0
	}
}

// error is the standard error of the mean power: by stretches, or by batches of them where that is more (the method of
// batch means).
func (c *class) error() float64 {
	if c.n < 2 {
		return c.power()
	}
	mean := c.power()
	variance := max(0, c.squares/c.wall-mean*mean) / float64(c.n-1)
	if c.nBatches >= leastBatches {
		mean = c.batches.power()
		variance = max(variance, (c.batchSquares/c.batches.wall-mean*mean)/float64(c.nBatches-1))
	}
	return math.Sqrt(variance)
}

// add takes a window, of whose use so much was other processes', and whether the counter moved in it, which has that
// period.
func (q *quiet) add(w stretch, others float64, moved bool, period time.Duration, cpus float64) {
	if w.wall <= 0 {
		return
	}
	q.run.add(w)
	q.open.add(w)
	q.others += others
	// A stretch ends as the counter moves.
	if !moved || q.open.wall < float64(max(leastStretch, stretchPeriods*period)) {
		return
	}
	q.addRow(q.open)
	tick := min(q.others, float64(account.Tick))
	q.open.busy -= tick
	q.unsure = append(q.unsure, q.open)
	q.waited += q.open.wall
	q.open, q.others = stretch{}, 0
	if tick > 0 || q.waited >= float64(longestUnsure) {
		q.sort(tick, cpus)
	}
}

// sort puts the stretches since the time of others moved into their classes, with so much of that.
func (q *quiet) sort(tick, cpus float64) {
	for _, s := range q.unsure {
		s.busy += tick * s.wall / q.waited
		use := s.use(cpus)
		i := 0
		for use > uses[i] {
			i++
		}
		q.classes[i].add(s)
	}
	q.unsure, q.waited = q.unsure[:0], 0
}

// end takes what is left at the end of a run.
func (q *quiet) end(cpus float64) {
	if q.waited >= float64(leastUnsure) {
		q.sort(0, cpus)
	}
}

// addRow adds a stretch to the rows.
func (q *quiet) addRow(s stretch) {
	q.row.add(s)
	if q.row.n == longRow {
		if p := q.row.power() + surest*q.row.error(); q.least == 0 || p < q.least {
			q.least = p
		}
		q.row = class{}
	}
}

// sure is how many standard errors are added to a bound. The least of many is chosen
// among rows: surest covers that.
const (
	sure   = 2
	surest = 4
)

// bound is a power in watts below which the idle power lies, and what is seen of it. It is
// +Inf where the run shows none. seen is set where the processors were nearly idle for
// long enough, and more in use at other times: then lo and power are those of their power without the little that ran.
func (q *quiet) bound(cpus float64) (p nemb.IdlePower, seen bool) {
	p.Hi = math.Inf(1)
	if q.least > 0 {
		p.Hi = q.least
	}
	first := true
	for i := range q.classes {
		c := &q.classes[i]
		if c.wall < float64(enough) {
			continue
		}
		p.Hi = min(p.Hi, c.power()+sure*c.error())
		if first && uses[i] <= idleUse {
			p.Power, p.Lo, seen = q.withoutUse(c.power(), sure*c.error(), c.use(cpus), cpus)
		}
		first = false
	}
	if seen && p.Hi < p.Power { // the two are apart by chance: by as much the power may be lower
		p.Lo, p.Power = max(0, p.Hi-(p.Power-p.Lo)-(p.Power-p.Hi)), p.Hi
	}
	return p, seen
}

// withoutUse finds what is left of a power at little use when nothing runs: by the steepest line through it and a
// class of more use, as the first processor that works costs more than the next ones. For the same reason more may be
// to be taken off: twice as much, or all by which the power rises until many work may be what the first one costs. off
// is by how much the power may be too high. Where no class has more use, the run as a whole takes the place of one.
// known is false where it has no more use, either: then what runs may draw anything.
func (q *quiet) withoutUse(power, off, use, cpus float64) (idle, lo float64, known bool) {
	drop, most, one := 0.0, 0.0, nemb.UseOf(1, cpus)
	line := func(s stretch) {
		more := s.use(cpus)
		if more < max(2*use, use+leastContrast) {
			return
		}
		known = true
		rise := use * (s.power() - power)
		drop, most = max(drop, rise/(more-use)), max(most, 2*rise/(more-use))
		if more > one && one > use {
			most = max(most, rise/(one-use))
		}
	}
	for i := range q.classes {
		if c := &q.classes[i]; c.wall >= float64(enough) {
			line(c.stretch)
		}
	}
	if !known && q.run.wall > 0 {
		line(q.run)
	}
	drop = min(drop, power)
	return power - drop, max(0, power-most-off), known || use <= 0
}

// idleNoise is by how much what a domain draws idle in a time of so many microseconds may be off from its mean (95 %),
// in microjoules, where the run shows how its idle power varies, or what was measured before it: as a sum of so
// many times as are independent. The shorter the time, the more it may be of what the program used.
func (w *Windows) idleNoise(d int, micro float64) float64 {
	b := &w.Domains[d]
	if !w.isConstant(d) {
		return 0
	}
	for i, c := range b.constant.quiet.classes {
		if c.wall < float64(enough) {
			continue
		}
		if c.n > 1 && uses[i] <= idleUse {
			return sure * c.error() * math.Sqrt(c.wall*1e-3*micro)
		}
		break
	}
	domain := &b.Domain // BaseHi has what its counter may be off as well
	span := float64(domain.BaseSpan) * 1e-3
	return max(0, domain.BaseHi/max(1, domain.Hi)-domain.Base) * math.Sqrt(span*micro)
}

// IdlePower is a domain's idle power as far as the run, what was measured before it, and
// what is published tell.
func (w *Windows) IdlePower(d int) nemb.IdlePower {
	b := &w.Domains[d]
	domain := &b.Domain
	b.constant.quiet.end(w.cpus)
	bound, seen := b.constant.quiet.bound(w.cpus)
	seen = seen && !w.OthersUnknown
	p := nemb.IdlePower{}
	switch {
	case domain.BaseHi > 0:
		p = nemb.IdlePower{Power: domain.Base, Lo: domain.BaseLo, Hi: domain.BaseHi, Method: domain.BaseMethod}
		if p.Method == "" {
			p.Method = nemb.IdleBaseline
		}
		if p.Lo > 0 {
			q, off := &b.constant.quiet, p.Power-p.Lo
			_, p.Lo, _ = q.withoutUse(p.Power, off, domain.BaseUseHi, w.cpus)
			p.Power, _, _ = q.withoutUse(p.Power, off, domain.BaseUse, w.cpus)
		}
	case seen:
		p = bound
		p.Method = nemb.IdleRun
	case domain.Remembered.Method == nemb.IdleRemembered:
		p = domain.Remembered
	default:
		p = w.published(b)
		if most := domain.Remembered.Hi; most > 0 {
			bound.Hi = min(bound.Hi, most)
		}
	}
	if p.Hi = min(p.Hi, bound.Hi); p.Hi < p.Power {
		p.Power = p.Hi
		if p.Method == nemb.IdlePublished {
			p.Method = nemb.IdleBound
		}
	}
	if w.OthersUnknown { // who may have run then as well
		p.Lo = 0
	}
	if p.Hi < p.Lo { // what was measured before does not hold: it may be as little as nothing
		p.Lo = 0
	}
	return p
}

// published is the idle power of machines of that age: the published share of what the
// machine would draw with all processors in use, which follows from what it drew over the
// run. It may be nothing, or the most that the share may be.
func (w *Windows) published(b *Domain) nemb.IdlePower {
	wall := nanos(w.prev.Time - w.first.Time)
	if wall <= 0 {
		return nemb.IdlePower{Method: nemb.IdlePublished}
	}
	u, first := w.prev.Usage, w.first.Usage
	busy := nanos(u.Program-first.Program) + nanos(u.Own-first.Own) + nanos(u.Other-first.Other)
	part := min(1, max(0, busy)/(w.cpus*wall)) // of all processors
	power := float64(b.Total-b.Unattributed) / wall * 1e3
	of := func(share float64) float64 { return power * share / (share + (1-share)*part) }
	share := b.Domain.IdleShare
	return nemb.IdlePower{Power: of(share), Hi: of(max(share, b.Domain.IdleShareMost)), Method: nemb.IdlePublished}
}

// Seen is what a run showed of a domain's idle power, for later runs on the machine: a
// power that was measured (IdleRun), or what it does not exceed (IdleBound). Its Hi is 0
// where the run showed nothing.
func (w *Windows) Seen(d int) nemb.IdlePower {
	if !w.isConstant(d) {
		return nemb.IdlePower{}
	}
	p, seen := w.Domains[d].constant.quiet.bound(w.cpus)
	switch {
	case seen && !w.OthersUnknown:
		p.Method = nemb.IdleRun
	case math.IsInf(p.Hi, 1):
		return nemb.IdlePower{}
	default:
		p.Power, p.Method = p.Hi, nemb.IdleBound
	}
	return p
}
