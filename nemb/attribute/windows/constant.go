package windows

import (
	"math"

	"cg/nemb"
)

// Idle power is a constant of the machine. Set aside as a share of each window's
// energy it would grow with what the program draws, and press the powers of
// functions together. It is known at the end of a run, so windows are divided whole
// until then, and with each of them its length. What anybody used is the energy that
// he got, less the idle power times the time that he got.

// machineTime is the length of the windows in which somebody ran, divided as their
// energy is: by processor time, in microseconds. Times watts it is microjoules.
type machineTime struct {
	program, own, other float64
	paths               []float64 // the program's, per call path
	direct              float64   // see Domain.Direct
	background          []float64
}

// constantIdle is what a domain has for Settle.
type constantIdle struct {
	quiet quiet
	power nemb.IdlePower // that was set aside, 0 W before Settle
}

// isConstant reports whether a domain's idle power is set aside at the end.
func (w *Windows) isConstant(d int) bool {
	domain := &w.Domains[d].Domain
	return w.Constant && !domain.Program && domain.FollowsProcessors() &&
		(domain.BaseHi > 0 || domain.Base <= 0 && domain.IdleShare > 0 && w.cpus > 0)
}

// machineShares is the machine time of a window: the program's, and what ran beside it has.
type machineShares struct{ program, beside float64 }

// shareMachine divides the length of a window, and of those that are joined with it.
func (w *Windows) shareMachine(p *pace, out *Window, used processorTimes) {
	m := &p.machine
	if len(m.background) < w.Classes {
		m.background = make([]float64, w.Classes)
	}
	busy := max(0, used.program) + max(0, used.own) + max(0, used.other)
	if busy <= 0 {
		return
	}
	micro := used.wall * 1e-3
	cpu := max(0, used.own) + max(0, used.other)
	p.now = machineShares{micro * max(0, used.program) / busy, micro * cpu / busy}
	m.program += p.now.program
	m.own += micro * max(0, used.own) / busy
	m.other += micro * max(0, used.other) / busy
	p.past.open.machine = w.share(p, m.paths, p.now.program, out.Weight, used.outside)
	w.shareBeside(p, out, cpu, used.outside)
	if w.joinedWeight(p, out.Weight) <= 0 {
		m.direct += p.now.program
		return
	}
	for i, part := range w.backgroundParts(p, out) {
		m.background[i] += p.now.program * part
	}
}

// Settle sets aside the idle power of each domain, once all windows are closed, and
// returns it per domain. It is 0 W where it was set aside window by window.
func (w *Windows) Settle() []nemb.IdlePower {
	powers := make([]nemb.IdlePower, len(w.Domains))
	for d := range w.Domains {
		if !w.isConstant(d) {
			continue
		}
		b, machine := &w.Domains[d], &w.pace(d).machine
		p := w.IdlePower(d)
		b.constant.power, powers[d] = p, p
		part := func(e *nemb.Energy, time float64) {
			idle := min(*e, nemb.Energy(math.Round(max(0, p.Power*time))))
			*e -= idle
			b.Idle += idle
		}
		all := float64(b.Program)
		part(&b.Program, machine.program)
		part(&b.Own, machine.own)
		part(&b.Other, machine.other)
		noise := w.idleNoise(d, machine.program)
		b.ProgramLo = min(float64(b.Program), max(0, all-p.Hi*machine.program-noise))
		b.ProgramHi = max(float64(b.Program), min(all, all-p.Lo*machine.program+noise))
		b.settlePaths(machine, p.Power)
	}
	return powers
}

// settlePaths sets idle power aside from the program's paths. One that has less than it,
// since a counter shows energy late, has nothing, and the others bear what is missing.
func (b *Domain) settlePaths(machine *machineTime, power float64) {
	b.Direct = max(0, b.Direct-power*machine.direct)
	sum := 0.0
	for n := range b.Paths {
		b.Paths[n] = max(0, b.Paths[n]-power*machine.paths[n])
		sum += b.Paths[n]
	}
	for i := range b.Background {
		b.Background[i] = max(0, b.Background[i]-power*machine.background[i])
		sum += b.Background[i]
	}
	if sum <= 0 {
		return
	}
	scale := float64(b.Program) / sum
	for n := range b.Paths {
		b.Paths[n] *= scale
	}
	for i := range b.Background {
		b.Background[i] *= scale
	}
	b.Direct = min(b.Paths[0], b.Direct*scale)
}

// PathMachine is the machine time of a call path in a domain, in microseconds.
func (w *Windows) PathMachine(d int, n int32) float64 { return w.pace(d).machine.paths[n] }

// Known is how well the program's energy in a domain is known, as factors.
func (w *Windows) Known(d int) (lo, hi float64) {
	b := &w.Domains[d]
	if b.Program == 0 {
		return 1, 1
	}
	return b.ProgramLo / float64(b.Program) * b.Domain.Lo, b.ProgramHi / float64(b.Program) * b.Domain.Hi
}

// chanceOf is by how much an idle power that was measured in this run or before it may be off by chance (95 %). Its
// interval may reach further to one side, for reasons that are the same all the time.
func chanceOf(p nemb.IdlePower) float64 {
	switch p.Method {
	case nemb.IdleBaseline, nemb.IdleBefore, nemb.IdleRun:
		return max(0, min(p.Hi-p.Power, p.Power-p.Lo))
	}
	return 0
}

// Part is the interval of a part e of the program's energy in a domain. e itself is known
// within so much either way; machine is the machine time that goes with it. By how much a measured idle power is off by
// chance, what varies in it meanwhile, and what is off in e have nothing to do with each other: they add up by squares.
// Idle power may be much lower than it is taken for. Where that doubles the program's energy, functions may have drawn
// less than what is set aside from them. The others then bear what these lack, so nothing bounds a part from above but
// what the windows show.
func (w *Windows) Part(d int, e, within, machine float64) Bounds {
	b := &w.Domains[d]
	if w.isConstant(d) {
		p := b.constant.power
		chance := chanceOf(p)
		within = math.Hypot(within, math.Hypot(chance*machine, w.idleNoise(d, machine)))
		known := Bounds{
			Lo: (e - within - (p.Hi-p.Power-chance)*machine) * b.Domain.Lo,
			Hi: (e + within + (p.Power-p.Lo-chance)*machine) * b.Domain.Hi,
		}
		if (p.Power-p.Lo)*w.pace(d).machine.program > float64(b.Program) {
			known.Hi = math.Inf(1)
		}
		return known
	}
	lo, hi := w.Known(d)
	return Bounds{Lo: (e - within) * lo, Hi: (e + within) * hi}
}
