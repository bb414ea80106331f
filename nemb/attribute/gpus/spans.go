package gpus

import (
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// divider divides the spans of a run.
type divider struct {
	curve   Curve
	spans   []span
	energy  []nemb.Energy
	base    nemb.IdlePower // what is set aside; no Method where it is not known
	most    float64        // watts that the idle power does not exceed
	mayHold bool           // the program may have held a context
	empty   bool           // base is of a GPU on which nobody held a context
	asked   bool           // spans end when the driver was asked, and not where its samples do
}

// settled is how long a GPU's power takes at least to fall when kernels end: clocks stay up for a
// while, and the power that some drivers tell is the mean of a second (Yang et al., arXiv
// 2312.02741).
const settled = time.Second

// watts is the mean power of a span, and by how much the counter may be off: what it counts in
// one period at that power, at both ends.
func (v *divider) watts(energy nemb.Energy, length float64) (watts, off float64) {
	watts = float64(energy) / length * 1e3 // uJ/ns
	return watts, watts * min(1, float64(v.curve.Period)/length)
}

// idle finds the idle power: that which was measured before the run, or else the mean over the
// time in which nobody computed. Time in which nobody held a context either comes first, as
// contexts keep clocks up.
func (v *divider) idle(base nemb.IdlePower) {
	v.most = v.leastPower()
	if base.Hi > 0 {
		v.base, v.empty = base, true
		if base.Power > v.most { // others computed while it was measured
			v.base.Power, v.base.Lo, v.base.Hi, v.empty = v.most, 0, v.most, false
		}
		return
	}
	for _, accepts := range []func(s *span) bool{
		func(s *span) bool { return !s.programHolds && !s.othersHold && !s.unknownHolds },
		func(*span) bool { return true },
	} {
		if v.base = v.meanQuiet(accepts); v.base.Method != nemb.IdleUnknown {
			v.empty = !accepts(&span{programHolds: true})
			return
		}
	}
	v.base = nemb.IdlePower{Hi: v.most}
}

// meanQuiet is the mean power of quiet spans, less the time in which power still falls, and that in which kernels may
// have begun behind the sample by which the driver answers. Its interval has what the counter may be off, and how much
// more than that the spans differ.
func (v *divider) meanQuiet(accepts func(*span) bool) nemb.IdlePower {
	type power struct{ watts, off float64 }
	var all []power
	sum, seconds, squares := 0.0, 0.0, 0.0
	begins := checkpoint.Instant(math.MaxInt64) // when somebody computes next
	for i, s := range slices.Backward(v.spans) {
		if s.state != quiet {
			begins = s.from
		}
		if s.state != quiet || !accepts(&s) {
			continue
		}
		if i > 0 && v.spans[i-1].state == active {
			s.from += checkpoint.Instant(max(settled, v.curve.Settled))
		}
		if v.asked {
			s.to = min(s.to, begins-checkpoint.Instant(nemb.LongestUseSample))
		}
		if s.length() < float64(2*v.curve.Period) || s.length() <= 0 {
			continue
		}
		joules := v.curve.at(float64(s.to)) - v.curve.at(float64(s.from))
		watts, off := v.watts(nemb.Energy(joules*1e6), s.length())
		all = append(all, power{watts, off})
		sum += joules
		seconds += s.length() * 1e-9
		squares += off * off * s.length() * s.length() * 1e-18
	}
	if seconds <= 0 {
		return nemb.IdlePower{}
	}
	mean := sum / seconds
	less := math.Sqrt(squares) / seconds
	more := less
	for _, p := range all {
		less, more = max(less, mean-p.watts-p.off), max(more, p.watts-p.off-mean)
	}
	return nemb.IdlePower{Power: mean, Lo: max(0, mean-less), Hi: mean + more, Method: nemb.IdleRun}
}

// leastPower is the least mean power over a second or more: the idle power is no higher.
func (v *divider) leastPower() float64 {
	least := math.Inf(1)
	energy, length := nemb.Energy(0), 0.0
	for i := range v.spans {
		energy += v.energy[i]
		length += v.spans[i].length()
		if length < float64(time.Second) && !(i == len(v.spans)-1 && math.IsInf(least, 1)) {
			continue
		}
		watts, off := v.watts(energy, length)
		least = min(least, watts+off)
		energy, length = 0, 0
	}
	return least
}

// aside is the idle energy of a span, in microjoules, with its bounds.
func (v *divider) aside(i int) (energy nemb.Energy, lo, hi float64) {
	micro := v.spans[i].length() * 1e-3 // W * ns = 1e-3 uJ
	e := float64(v.energy[i])
	energy = min(v.energy[i], nemb.Energy(math.Round(v.base.Power*micro)))
	return energy, min(e, v.base.Lo*micro), min(e, v.base.Hi*micro)
}

// divide divides a span.
func (v *divider) divide(d *Division, i int) {
	s, e := &v.spans[i], v.energy[i]
	idle, idleLo, idleHi := v.aside(i)
	p := part{from: s.from, to: s.to}
	least, most := float64(e)-idleHi, float64(e)-idleLo // of what is not idle
	switch s.state {
	case unseen:
		d.Idle += idle
		d.Unattributed += e - idle
		if v.mayHold {
			p.hi = most
		}
	case quiet:
		v.hold(d, &p, i, idle)
	default:
		d.AtOnce = d.AtOnce || s.atOnce
		shares := nemb.Split(e-idle, []float64{s.program.part, s.other.part, s.unknown.part})
		d.Idle += e - shares[0] - shares[1] - shares[2]
		d.Program += shares[0]
		d.Other += shares[1]
		d.Unattributed += shares[2]
		p.program = float64(shares[0])
		lo, hi := s.bounds(v.mayHold)
		p.lo, p.hi = min(p.program, lo*least), max(p.program, hi*most)
	}
	d.ProgramLo += p.lo
	d.ProgramHi += p.hi
	d.parts = append(d.parts, p)
}

// hidden is what a process may have used that the driver rounds to nothing.
const hidden = 0.01

// rounded is the part of the time that the program's kernels may have run without being
// told.
func (s *span) rounded(mayHold bool) float64 {
	if mayHold && (s.programHolds || s.unknownHolds) && s.program.part == 0 {
		return hidden
	}
	return 0
}

// bounds are those of the program's part of what is not idle.
func (s *span) bounds(mayHold bool) (lo, hi float64) {
	mine := s.program.hi + s.unknown.hi + s.rounded(mayHold)
	others := s.other.hi + s.unknown.hi
	if (s.othersHold || s.unknownHolds) && s.other.part == 0 {
		others += hidden
	}
	if s.program.lo > 0 {
		lo = s.program.lo / (s.program.lo + others)
	}
	if mine > 0 {
		hi = mine / (mine + s.other.lo)
	}
	if s.atOnce && s.program.part > 0 && s.other.part+s.unknown.part > 0 {
		return 0, 1
	}
	return lo, hi
}

// hold divides a span in which nobody computed. What a GPU draws more than without contexts is
// that of the processes that hold them, by the memory that they hold.
func (v *divider) hold(d *Division, p *part, i int, idle nemb.Energy) {
	s, e := &v.spans[i], v.energy[i]
	above := e - idle
	_, idleLo, idleHi := v.aside(i)
	if !v.empty || !s.programHolds && !s.othersHold && !s.unknownHolds {
		d.Idle += e
		p.hi = s.rounded(v.mayHold) * (float64(e) - idleLo)
		return
	}
	d.Idle += idle
	parts := nemb.Split(above, s.residency())
	d.Program += parts[0]
	d.Other += parts[1]
	d.Unattributed += parts[2]
	p.program = float64(parts[0])
	if s.programHolds || s.unknownHolds {
		p.hi = max(p.program, float64(e)-idleLo)
	}
	if !s.othersHold && !s.unknownHolds {
		p.lo = min(p.program, max(0, float64(e)-idleHi))
	}
}

// residency is what the program, others and nobody have of what contexts draw: all, where one
// alone holds some, else by memory, and nobody where that of one is not known.
func (s *span) residency() []float64 {
	shares := []float64{s.programMemory, s.otherMemory, s.unknownMemory}
	holders, known := 0, true
	for i, holds := range []bool{s.programHolds, s.othersHold, s.unknownHolds} {
		if holds {
			holders++
			known = known && shares[i] > 0
		}
	}
	switch {
	case holders > 1 && !known:
		return []float64{0, 0, 1}
	case holders == 1 && s.programHolds:
		return []float64{1, 0, 0}
	case holders == 1 && s.othersHold:
		return []float64{0, 1, 0}
	case holders == 1:
		return []float64{0, 0, 1}
	}
	return shares
}

// edges widens the bounds by what lies at the edges of spans: a sample of the driver does not
// end when its time stamp says, nor does the counter move then. Where the program's part
// changes, so much of the neighbours' energy may belong to the other side. Edges err
// independently of each other.
func (v *divider) edges(d *Division) {
	squares := 0.0
	for i := 1; i < len(v.spans); i++ {
		a, b := &v.spans[i-1], &v.spans[i]
		if a.length() <= 0 || b.length() <= 0 {
			continue
		}
		mine := func(k int) float64 { return d.parts[k].program / v.spans[k].length() } // uJ/ns
		width := min(a.length(), b.length(), float64(nemb.LongestUseSample)) + float64(v.curve.Period)
		off := math.Abs(mine(i)-mine(i-1)) * width
		squares += off * off
		d.parts[i].lo, d.parts[i-1].lo = max(0, d.parts[i].lo-off), max(0, d.parts[i-1].lo-off)
		d.parts[i].hi += off
		d.parts[i-1].hi += off
	}
	d.ProgramLo -= math.Sqrt(squares)
	d.ProgramHi += math.Sqrt(squares)
}
