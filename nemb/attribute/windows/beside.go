package windows

import (
	"math"

	"cg/nemb"
	"cg/nemb/attribute/paths"
)

// Each of two processes may draw more or less than its processor time says. What ran beside the program is known for
// each call path, so that what it may have drawn can be in the path's interval.

// besideTimes is what ran beside each call path, and beside the background threads: of the processor time of cg and of
// other processes in a window, and of the time and the energy that go with it (besideEnergy), each path has the part
// that it has of the program's.
type besideTimes struct {
	cpu, machine []float64 // us; machine as Window.Machine
	background   struct{ cpu, machine float64 }
}

// besideEnergy is the energy of it, in microjoules. Idle power is still in it where it is set aside at the end.
type besideEnergy struct {
	paths      [][]float64 // per domain
	background []float64   // per domain
}

func (x *besideEnergy) grow(domains, n int) {
	if x.paths == nil {
		x.paths, x.background = make([][]float64, domains), make([]float64, domains)
	}
	for d := range x.paths {
		x.paths[d] = extend(x.paths[d], n)
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
	x := &w.pace(d).beside
	return w.besideOf(d, w.beside.paths[d][n], x.machine[n], x.cpu[n])
}

// besideOf sets idle power aside.
func (w *Windows) besideOf(d int, energy, machine, cpu float64) Beside {
	return Beside{Energy: max(0, energy-w.Domains[d].constant.power.Power*machine), Time: cpu}
}

// shareBeside divides what ran beside a window among the call paths: its time, once the window's own is divided.
func (w *Windows) shareBeside(p *pace, out *Window, cpu, outside float64) {
	if cpu <= 0 {
		return
	}
	x, open := &p.beside, &p.past.open
	open.beside.machine = w.share(p, x.machine, p.now.beside, out.Weight, outside)
	open.beside.cpu = w.share(p, x.cpu, cpu*1e-3, out.Weight, outside)
	part := w.inBackground(p, out)
	x.background.machine += part * p.now.beside
	x.background.cpu += part * cpu * 1e-3
}

// spendBeside divides the energy that a domain had beside a window.
func (w *Windows) spendBeside(d int, out *Window, energy, outside float64) {
	if energy <= 0 {
		return
	}
	p := w.pace(d)
	in := w.share(p, w.beside.paths[d], energy, out.Weight, outside)
	if p.past.open.outside > 0 {
		p.past.open.domains[d].beside = in
	}
	w.beside.background[d] += w.inBackground(p, out) * energy
}

// inBackground is the part of a window's processor time that background threads used.
func (w *Windows) inBackground(p *pace, out *Window) float64 {
	sum := 0.0
	for _, part := range w.backgroundParts(p, out) {
		sum += part
	}
	return sum
}

// moveBeside moves what ran beside a part of what is outside the threads in a window that is over.
func (w *Windows) moveBeside(k int, p *pastWindow, node int32, part float64) {
	x := &w.paces[k].beside
	move := func(of []float64, from *float64) {
		moved := part * *from
		of[paths.Root] -= moved
		of[node] += moved
		*from -= moved
	}
	move(x.machine, &p.beside.machine)
	move(x.cpu, &p.beside.cpu)
	for d := range p.domains {
		if w.Domains[d].pace == k {
			move(w.beside.paths[d], &p.domains[d].beside)
		}
	}
}

// Doubt puts into the bounds of a domain that what ran beside the program may have drawn anything from nothing to a
// power in watts.
func (w *Windows) Doubt(d int, most float64) {
	b := &w.Domains[d]
	x := &w.pace(d).beside
	all := w.besideOf(d, w.beside.background[d], x.background.machine, x.background.cpu)
	for n := range x.cpu {
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
