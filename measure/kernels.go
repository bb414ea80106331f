package measure

import (
	"cg/kernels"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
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
		d := w.domainOf(g, len(log.GPUs), series.Domains)
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

// domainOf finds the domain of a GPU by its UUID, or the only one there is; -1 for none.
func (w *watch) domainOf(g *kernels.GPU, of int, domains []nemb.Domain) int {
	if w == nil {
		return -1
	}
	for i := range w.of {
		own, tells := w.of[i].sensor.(identified)
		same := tells && g.UUID != "" && own.UUID() == g.UUID
		unsaid := (!tells || own.UUID() == "" || g.UUID == "") && of == 1 && len(w.of) == 1
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
		Total: last.Energy[d] - first.Energy[d],
	}
}
