package gpus

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// Division is whose the energy of a GPU is. Program + Other + Idle + Unattributed is the
// energy of the run.
type Division struct {
	Method string // Utilization, Processes, Accounting or Unattributed
	// Reason says why there is energy in Unattributed, Resolved where there is next to none.
	Reason                             Reason
	Program, Other, Idle, Unattributed nemb.Energy
	// ProgramLo and ProgramHi bound Program, in microjoules, without the bounds of the counter.
	ProgramLo, ProgramHi float64
	// Hidden is by how much Total and Program may be off by the habits of the counter, in microjoules: it samples a
	// part of the time alone, or is late.
	Hidden float64
	// IdlePower is what Idle holds; without a Method where it is not known.
	IdlePower nemb.IdlePower
	// Unused is set where the program is known to have had no context on the GPU.
	Unused bool
	// AtOnce is set where kernels of several processes ran side by side (MPS).
	AtOnce bool
	parts  []part
}

// Total is the energy that was divided.
func (d *Division) Total() nemb.Energy { return d.Program + d.Other + d.Idle + d.Unattributed }

// IsKnown tells whether the program's part is known.
func (d *Division) IsKnown() bool { return d.Method != Unattributed || d.Unused }

// part is what the program had in a span, in microjoules.
type part struct {
	from, to        checkpoint.Instant
	program, lo, hi float64
}

// Curve is the energy of a GPU over time: its knots, and the end of the run on either side.
type Curve struct {
	Knots    []nemb.Knot // by rising time, joules that never fall
	From, To checkpoint.Instant
	Total    nemb.Energy // between From and To
	Period   time.Duration
	Settled  time.Duration // after a change of power all of it is told, 0 for one second
	Habits   nemb.Habits   // of the counter
}

// at is the energy from the begin of the curve up to a moment, in joules: linear between
// knots, and none before the first or after the last.
func (c *Curve) at(t float64) float64 {
	k := c.Knots
	i, _ := slices.BinarySearchFunc(k, t, func(k nemb.Knot, t float64) int { return cmp.Compare(k.At, t) })
	switch {
	case len(k) == 0:
		return 0
	case i == 0:
		return k[0].Joules
	case i == len(k):
		return k[i-1].Joules
	}
	a, b := k[i-1], k[i]
	if b.At <= a.At {
		return b.Joules
	}
	return a.Joules + (b.Joules-a.Joules)*(t-a.At)/(b.At-a.At)
}

// cut gives the whole microjoules of spans that follow each other from From to To. Their sum
// is Total.
func (c *Curve) cut(spans []span) []nemb.Energy {
	cuts := make([]nemb.Energy, len(spans))
	first := c.at(float64(c.From))
	whole := c.at(float64(c.To)) - first
	before := nemb.Energy(0)
	for i := range spans {
		now := c.Total
		if part := c.at(float64(spans[i].to)) - first; i < len(spans)-1 {
			now = 0
			if whole > 0 {
				now = nemb.Energy(math.Round(float64(c.Total) * min(1, max(0, part/whole))))
			}
		}
		now = min(c.Total, max(before, now))
		cuts[i], before = now-before, now
	}
	return cuts
}

// Divide divides the energy of a run. base is the idle power that was measured before it; its
// Hi is 0 where none was.
func (l *Log) Divide(c Curve, base nemb.IdlePower) Division {
	d := Division{Method: Unattributed, Unused: l.knowsHeld && l.began != 0 && !l.held && !l.gone && !l.foreign}
	var spans []span
	switch {
	case c.To <= c.From:
		d.Unattributed, d.Reason, d.ProgramHi = c.Total, NoSamples, float64(c.Total)
		return d
	case l.knows && len(l.spans) > 0:
		d.Method, spans = l.method, filled(l.spans, c, span{})
	case l.lifetimes:
		d.Method, spans = Accounting, filled(l.restFrom(c.From), c, l.lived(c))
	default:
		spans = filled(l.rest, c, span{})
	}
	v := divider{curve: c, spans: spans, energy: c.cut(spans), mayHold: !d.Unused, asked: !l.knows || len(l.spans) == 0}
	v.idle(base)
	for i := range v.spans {
		v.divide(&d, i)
	}
	v.edges(&d)
	v.late(&d)
	v.whole(&d, l.knowsHeld)
	if d.Method == Unattributed { // who held contexts is known at most, and not who computed
		d.Unattributed += d.Program + d.Other
		d.Program, d.Other, d.ProgramLo = 0, 0, 0
		for i := range d.parts {
			d.parts[i].program, d.parts[i].lo = 0, 0
		}
	}
	d.IdlePower = v.base
	d.ProgramLo = max(0, min(d.ProgramLo, float64(d.Program)))
	d.ProgramHi = max(float64(d.Program), min(d.ProgramHi, float64(c.Total)))
	if float64(d.Unattributed) > 0.01*float64(c.Total) {
		d.Reason = l.why()
	}
	return d
}

// why is the reason for which energy is nobody's.
func (l *Log) why() Reason {
	switch {
	case l.began == 0:
		return NotAsked
	case l.foreign:
		return Namespace
	case l.gone:
		return Vanished
	case l.knows && len(l.spans) > 0:
		return Interrupted
	case l.refused != nemb.NotRefused:
		return Reason(l.refused)
	}
	return NoSamples
}

// filled are the spans within a curve, and between them ones like another.
func filled(spans []span, c Curve, like span) []span {
	var all []span
	at := c.From
	gap := func(to checkpoint.Instant, holds span) {
		if to > at {
			s := like
			s.from, s.to = at, to
			if s.state == unseen {
				s.programHolds, s.othersHold, s.unknownHolds = holds.programHolds, holds.othersHold, holds.unknownHolds
			}
			all = append(all, s)
			at = to
		}
	}
	var last span
	for _, s := range spans {
		if s.to <= at {
			continue
		}
		if s.from >= c.To {
			break
		}
		gap(max(at, s.from), s)
		s.from, s.to = at, min(s.to, c.To)
		if s.to > s.from {
			all = append(all, s)
			at, last = s.to, s
		}
	}
	gap(c.To, last)
	return all
}

// restFrom are the quiet spans of a curve that begins then. The first answer tells of the driver's last sample, so what
// little of the run was before it is as quiet as the time behind it.
func (l *Log) restFrom(from checkpoint.Instant) []span {
	if len(l.rest) == 0 || l.rest[0].from != l.began || l.began-from > checkpoint.Instant(nemb.AskEvery) {
		return l.rest
	}
	all := slices.Clone(l.rest)
	all[0].from = min(all[0].from, from)
	return all
}

// lived is a span of a run of which only the processes' lifetimes are known. The rounding of
// the first figures and of the last adds up.
func (l *Log) lived(c Curve) span {
	length := float64(c.To - c.From)
	grown := func(k int) share {
		a, b := l.firstLives[k], l.endLive[k]
		return share{
			part: max(0, b.busy-a.busy) / length, lo: max(0, b.lo-a.hi) / length, hi: max(0, b.hi-a.lo) / length,
		}
	}
	s := span{state: active, program: grown(0), other: grown(1), unknown: grown(2), programHolds: l.held}
	if s.program.part+s.other.part+s.unknown.part <= 0 {
		s.state = quiet
	}
	return s
}

// ProgramBetween is what the program used between two moments, in microjoules, with its
// bounds, in which a span that lies in it only in part counts for none or for all.
func (d *Division) ProgramBetween(from, to checkpoint.Instant) (energy, lo, hi float64) {
	ends := func(p part, t checkpoint.Instant) int { return cmp.Compare(p.to, t) }
	i, _ := slices.BinarySearchFunc(d.parts, from, ends)
	for ; i < len(d.parts) && d.parts[i].from < to; i++ {
		p := d.parts[i]
		inside := float64(min(to, p.to)-max(from, p.from)) / float64(p.to-p.from)
		if inside <= 0 {
			continue
		}
		energy += p.program * min(1, inside)
		hi += p.hi
		if inside >= 1 {
			lo += p.lo
		}
	}
	return energy, lo, hi
}
