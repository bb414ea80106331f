package measure

import (
	"cg/kernels"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/pmsampling/beside"
)

// Kernels is what ran on GPUs for the program, and what each used.
type Kernels struct {
	Log *kernels.Log
	// GPUs are those whose energy could be divided among activities.
	GPUs []KernelsOfGPU
	// Unknown is how many GPUs ran something, and are none of those whose energy is known.
	Unknown int
}

// KernelsOfGPU is what each activity on a GPU used.
type KernelsOfGPU struct {
	Domain string
	GPU    *kernels.GPU
	// Parts are by the activities' keys; nil where nothing tells what the program used. Rest is what it used while
	// nothing of it ran.
	Parts []gpus.Part
	Rest  nemb.Energy
}

// identified is a sensor of one GPU that tells the GPU's UUID.
type identified interface{ UUID() string }

// byKernel divides the program's part of each GPU's energy among what ran on it.
func (w *watch) byKernel(log *kernels.Log, series nemb.Series, divisions []*gpus.Division) *Kernels {
	if log == nil {
		return nil
	}
	k := &Kernels{Log: log}
	for _, g := range log.GPUs {
		d := w.domainOf(g.UUID, len(log.GPUs), series.Domains)
		if d < 0 {
			k.Unknown++
			continue
		}
		of := KernelsOfGPU{Domain: series.Domains[d].ID, GPU: g}
		if division := divisions[d]; division != nil && division.IsKnown() {
			of.Parts, of.Rest = division.ByWork(curveOf(series, d), &g.Work)
			for i := range of.Parts {
				p := &of.Parts[i]
				p.Lo, p.Hi = p.Lo*series.Domains[d].Lo, p.Hi*series.Domains[d].Hi
			}
		}
		k.GPUs = append(k.GPUs, of)
	}
	return k
}

// Counters are performance counters of GPUs that were sampled while the program ran.
type Counters struct {
	Recorder *beside.Recorder
	GPUs     []CountersOfGPU
}

// CountersOfGPU are those of one.
type CountersOfGPU struct {
	Domain string // "" where nothing tells its energy
	*beside.GPU
}

// counted ends sampling.
func (w *watch) counted(r *beside.Recorder, domains []nemb.Domain) *Counters {
	if r == nil {
		return nil
	}
	c := &Counters{Recorder: r}
	all := r.End()
	for _, g := range all {
		of := CountersOfGPU{GPU: g}
		if d := w.domainOf(g.UUID, len(all), domains); d >= 0 {
			of.Domain = domains[d].ID
		}
		c.GPUs = append(c.GPUs, of)
	}
	return c
}

// domainOf finds the domain of a GPU by its UUID, or the only one there is; -1 for none.
func (w *watch) domainOf(uuid string, of int, domains []nemb.Domain) int {
	if w == nil {
		return -1
	}
	for i := range w.of {
		own, tells := w.of[i].sensor.(identified)
		same := tells && uuid != "" && own.UUID() == uuid
		unsaid := (!tells || own.UUID() == "" || uuid == "") && of == 1 && len(w.of) == 1
		for d := range domains {
			if (same || unsaid) && domains[d].ID == w.of[i].domain {
				return d
			}
		}
	}
	return -1
}

// curveOf is the energy of a domain over a run that has samples.
func curveOf(series nemb.Series, d int) gpus.Curve {
	first, last := series.Samples[0], series.Samples[len(series.Samples)-1]
	return gpus.Curve{
		Knots: series.Knots(d), From: first.Time, To: last.Time, Period: series.Domains[d].Period,
		Total: last.Energy[d] - first.Energy[d], Settled: series.Domains[d].Habits.Settled(),
		Habits: series.Domains[d].Habits,
	}
}
