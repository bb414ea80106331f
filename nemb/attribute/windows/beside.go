package windows

import (
	"math"

	"cg/nemb"
	"cg/nemb/attribute/paths"
)

// Each of two processes may draw more or less than its processor time says. What ran beside the program is known for
// each call path, so that what it may have drawn can be in the path's interval.

// besidePaths is what ran beside each call path: of the processor time of cg and of other processes in a window, and
// of the time and the energy that go with it, each path has the part that it has of the program's.
type besidePaths struct {
	cpu, machine []float64   // us; machine as Window.Machine
	energy       [][]float64 // per domain, uJ; idle power is still in it where it is set aside at the end
	background   besideBackground
}

// besideBackground is what ran beside the background threads, in the same units.
type besideBackground struct {
	cpu, machine float64
	energy       []float64
}

func (x *besidePaths) grow(domains, n int) {
	x.cpu, x.machine = extend(x.cpu, n), extend(x.machine, n)
	if x.energy == nil {
		x.energy, x.background.energy = make([][]float64, domains), make([]float64, domains)
	}
	for d := range x.energy {
		x.energy[d] = extend(x.energy[d], n)
	}
}

// Beside is what ran beside a call path.
type Beside struct {
	Energy float64 // by processor time, without idle power, in microjoules
	Time   float64 // us of processors
}

// Add adds what ran beside another path.
func (b *Beside) Add(c Beside) { b.Energy, b.Time = b.Energy+c.Energy, b.Time+c.Time }

// Off is by how much the energy of the program's part may be too high and too low, in microjoules, where it was divided
// by processor time, and others may have drawn anything from nothing to a power in watts.
func (b Beside) Off(most float64) (down, up float64) {
	return max(0, most*b.Time-b.Energy), max(0, b.Energy)
}

// PathBeside is what ran beside a call path in a domain. After Settle.
func (w *Windows) PathBeside(d int, n int32) Beside {
	x := &w.beside
	return w.besideOf(d, x.energy[d][n], x.machine[n], x.cpu[n])
}

// besideOf sets idle power aside.
func (w *Windows) besideOf(d int, energy, machine, cpu float64) Beside {
	return Beside{Energy: max(0, energy-w.Domains[d].constant.power.Power*machine), Time: cpu}
}

// shareBeside divides what ran beside a window among the call paths: its time, once the window's own is divided.
func (w *Windows) shareBeside(out *Window, outside float64) {
	if out.Beside.CPU <= 0 {
		return
	}
	x, open := &w.beside, &w.past.open
	open.beside.machine = w.share(x.machine, out.Beside.Machine, out.Weight, outside)
	open.beside.cpu = w.share(x.cpu, out.Beside.CPU*1e-3, out.Weight, outside)
	part := w.inBackground(out)
	x.background.machine += part * out.Beside.Machine
	x.background.cpu += part * out.Beside.CPU * 1e-3
}

// spendBeside divides the energy that a domain had beside a window.
func (w *Windows) spendBeside(d int, out *Window, energy, outside float64) {
	if energy <= 0 {
		return
	}
	in := w.share(w.beside.energy[d], energy, out.Weight, outside)
	if w.past.open.outside > 0 {
		w.past.open.domains[d].beside = in
	}
	w.beside.background.energy[d] += w.inBackground(out) * energy
}

// inBackground is the part of a window's processor time that background threads used.
func (w *Windows) inBackground(out *Window) float64 {
	sum := 0.0
	for _, part := range w.backgroundParts(out) {
		sum += part
	}
	return sum
}

// moveBeside moves what ran beside a part of what is outside the threads in a window that is over.
func (w *Windows) moveBeside(p *pastWindow, node int32, part float64) {
	x := &w.beside
	move := func(of []float64, from *float64) {
		moved := part * *from
		of[paths.Root] -= moved
		of[node] += moved
		*from -= moved
	}
	move(x.machine, &p.beside.machine)
	move(x.cpu, &p.beside.cpu)
	for d := range p.domains {
		move(x.energy[d], &p.domains[d].beside)
	}
}

// Doubt puts into the bounds of a domain that what ran beside the program may have drawn anything from nothing to a
// power in watts.
func (w *Windows) Doubt(d int, most float64) {
	b := &w.Domains[d]
	rest := &w.beside.background
	all := w.besideOf(d, rest.energy[d], rest.machine, rest.cpu)
	for n := range w.beside.cpu {
		all.Add(w.PathBeside(d, int32(n)))
	}
	down, up := all.Off(most)
	b.ProgramLo, b.ProgramHi = max(0, b.ProgramLo-down), b.ProgramHi+up
}

// DivideBeside divides the energy of a domain between the program and what ran beside it anew, once idle power is set
// aside: so many microjoules more are the program's than by processor time, by which each second has the same energy,
// whoever used it, and they may be off by so many (95 %). What others used while the program did not run is not
// divided. What the paths have of the program's stays in proportion.
func (w *Windows) DivideBeside(d int, more, off float64) {
	b := &w.Domains[d]
	all, before := b.Program+b.Own+b.Other, float64(b.Program)
	if before <= 0 {
		return
	}
	b.Program = nemb.Energy(math.Round(min(float64(all), max(0, before+more))))
	rest := all - b.Program
	if beside := b.Own + b.Other; beside > 0 {
		b.Own = nemb.Energy(float64(rest) * float64(b.Own) / float64(beside))
	} else {
		b.Own = 0
	}
	b.Other = rest - b.Own
	scale := float64(b.Program) / before
	for n := range b.Paths {
		b.Paths[n] *= scale
	}
	for i := range b.Background {
		b.Background[i] *= scale
	}
	b.Direct *= scale
	b.ProgramLo = max(0, b.ProgramLo*scale-off)
	b.ProgramHi = max(float64(b.Program), min(b.ProgramHi*scale+off, float64(all)+max(0, b.ProgramHi-before)))
}
