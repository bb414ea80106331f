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

// shareMachine divides the length of a window, and of those that are joined with it.
func (w *Windows) shareMachine(out *Window, used processorTimes) {
	m := &w.machine
	if len(m.background) < w.Classes {
		m.background = make([]float64, w.Classes)
	}
	busy := max(0, used.program) + max(0, used.own) + max(0, used.other)
	if busy <= 0 {
		return
	}
	micro := used.wall * 1e-3
	out.Machine = micro * max(0, used.program) / busy
	out.Beside.Others = max(0, used.other)
	out.Beside.CPU = max(0, used.own) + max(0, used.other)
	out.Beside.Machine = micro * out.Beside.CPU / busy
	m.program += out.Machine
	m.own += micro * max(0, used.own) / busy
	m.other += micro * max(0, used.other) / busy
	w.past.open.machine = w.share(m.paths, out.Machine, out.Weight, used.outside)
	w.shareBeside(out, used.outside)
	if w.joinedWeight(out.Weight) <= 0 {
		m.direct += out.Machine
		return
	}
	for i, part := range w.backgroundParts(out) {
		m.background[i] += out.Machine * part
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
		b := &w.Domains[d]
		p := w.IdlePower(d)
		b.constant.power, powers[d] = p, p
		part := func(e *nemb.Energy, time float64) {
			idle := min(*e, nemb.Energy(math.Round(max(0, p.Power*time))))
			*e -= idle
			b.Idle += idle
		}
		all := float64(b.Program)
		part(&b.Program, w.machine.program)
		part(&b.Own, w.machine.own)
		part(&b.Other, w.machine.other)
		noise := w.idleNoise(d, w.machine.program)
		b.ProgramLo = min(float64(b.Program), max(0, all-p.Hi*w.machine.program-noise))
		b.ProgramHi = max(float64(b.Program), min(all, all-p.Lo*w.machine.program+noise))
		w.settlePaths(b, p.Power)
	}
	return powers
}

// settlePaths sets idle power aside from the program's paths. One that has less than it,
// since a counter shows energy late, has nothing, and the others bear what is missing.
func (w *Windows) settlePaths(b *Domain, power float64) {
	b.Direct = max(0, b.Direct-power*w.machine.direct)
	sum := 0.0
	for n := range b.Paths {
		b.Paths[n] = max(0, b.Paths[n]-power*w.machine.paths[n])
		sum += b.Paths[n]
	}
	for i := range b.Background {
		b.Background[i] = max(0, b.Background[i]-power*w.machine.background[i])
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

// PathMachine is the machine time of a call path, in microseconds.
func (w *Windows) PathMachine(n int32) float64 { return w.machine.paths[n] }

// Known is how well the program's energy in a domain is known, as factors.
func (w *Windows) Known(d int) (lo, hi float64) {
	b := &w.Domains[d]
	if b.Program == 0 {
		return 1, 1
	}
	return b.ProgramLo / float64(b.Program) * b.Domain.Lo, b.ProgramHi / float64(b.Program) * b.Domain.Hi
}

// Part is the interval of a part e of the program's energy in a domain. e itself is known
// within so much either way; machine is the machine time that goes with it. Idle power may be much lower than it is
// taken for. Where that doubles the program's energy, functions may have drawn less than what is set aside from them.
// The others then bear what these lack, so nothing bounds a part from above but what the windows show.
func (w *Windows) Part(d int, e, within, machine float64) Bounds {
	b := &w.Domains[d]
	if w.isConstant(d) {
		p, noise := b.constant.power, w.idleNoise(d, machine)
		known := Bounds{
			Lo: (e - within - (p.Hi-p.Power)*machine - noise) * b.Domain.Lo,
			Hi: (e + within + (p.Power-p.Lo)*machine + noise) * b.Domain.Hi,
		}
		if (p.Power-p.Lo)*w.machine.program > float64(b.Program) {
			known.Hi = math.Inf(1)
		}
		return known
	}
	lo, hi := w.Known(d)
	return Bounds{Lo: (e - within) * lo, Hi: (e + within) * hi}
}
