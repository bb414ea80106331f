package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cg/attach"
	"cg/checkpoint"
	"cg/measure"
	"cg/nemb/attribute"
	"cg/statistics"
)

// InnerFunction is a function without checkpoints, such as one of an extension module, that was seen on a processor
// below a function that has them. It has the part of that function's self energy that its stack samples are of all of
// that function's. The bounds are those of that energy, times those of the part (95 %).
type InnerFunction struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"` // 0 where it is not known
	Language string `json:"language"`
	// StackSamples is how often it was seen itself, StackSamplesInclusive itself or what it called.
	StackSamples          int     `json:"stack_samples"`
	StackSamplesInclusive int     `json:"stack_samples_inclusive"`
	SelfEnergyJ           *Joules `json:"self_energy_j"`
	SelfEnergyLoJ         *Joules `json:"self_energy_lo_j"`
	SelfEnergyHiJ         *Joules `json:"self_energy_hi_j"`
	InclusiveEnergyJ      *Joules `json:"inclusive_energy_j"`
	InclusiveEnergyLoJ    *Joules `json:"inclusive_energy_lo_j"`
	InclusiveEnergyHiJ    *Joules `json:"inclusive_energy_hi_j"`
}

// InnerIn is an inner function with the function that it is in.
type InnerIn struct {
	InnerFunction
	Function *Function
}

// DearestInner lists the inner functions of all functions, the dearest first: by energy, else by samples.
func (r *Run) DearestInner() (all []InnerIn) {
	for i := range r.Functions {
		for _, f := range r.Functions[i].Inner {
			all = append(all, InnerIn{f, &r.Functions[i]})
		}
	}
	energy := func(f InnerIn) Joules {
		if f.SelfEnergyJ == nil {
			return 0
		}
		return *f.SelfEnergyJ
	}
	slices.SortStableFunc(all, func(x, y InnerIn) int {
		return cmp.Or(cmp.Compare(energy(y), energy(x)), cmp.Compare(y.StackSamples, x.StackSamples))
	})
	return all
}

// InnerNote says what the energies of inner functions are worth.
func (r *Run) InnerNote() string {
	return "by stack samples, the self energy of a function with checkpoints is divided among what it called without " +
		"them; what each of these draws is not told apart"
}

// confidence is that of intervals.
const confidence = 0.95

// inner gives the functions what they called that has no checkpoints. sites are in the order of their ids.
func (r *Run) inner(o *measure.Inner, costs []attribute.Cost, sites []checkpoint.Site) {
	if o == nil {
		return
	}
	of := map[checkpoint.SiteID]attach.Inside{}
	for _, f := range o.Functions {
		of[f.Site] = f
	}
	k := 0 // functions are those of costs that have a site, in the same order
	for _, c := range costs {
		s, there := siteOf(sites, c.Site)
		if !there || s.Kind == checkpoint.Task {
			continue
		}
		r.Functions[k].inside(of[c.Site])
		k++
	}
}

// inside gives a function what was seen in it.
func (f *Function) inside(seen attach.Inside) {
	f.InnerSamples = seen.Looks
	for _, p := range seen.Parts {
		g := InnerFunction{Name: p.Site.Func, File: p.Site.File, Line: p.Site.Line, Language: p.Site.Language,
			StackSamples: p.Looks, StackSamplesInclusive: p.Under}
		g.SelfEnergyJ, g.SelfEnergyLoJ, g.SelfEnergyHiJ = f.part(p.Looks)
		g.InclusiveEnergyJ, g.InclusiveEnergyLoJ, g.InclusiveEnergyHiJ = f.part(p.Under)
		f.Inner = append(f.Inner, g)
	}
}

// part is the part of a function's self energy that some of its samples stand for, with bounds.
func (f *Function) part(samples int) (energy, lo, hi *Joules) {
	if f.SelfEnergyJ == nil || f.SelfEnergyLoJ == nil || f.SelfEnergyHiJ == nil {
		return nil, nil, nil
	}
	least, most := statistics.BinomialInterval(samples, f.InnerSamples, confidence)
	scaled := func(j *Joules, part float64) *Joules {
		e := Joules(math.Round(float64(*j) * part))
		return &e
	}
	return scaled(f.SelfEnergyJ, float64(samples)/float64(f.InnerSamples)), scaled(f.SelfEnergyLoJ, least),
		scaled(f.SelfEnergyHiJ, most)
}

// innerSampling tells of the looks at a program with checkpoints, if there were any.
func (r *Run) innerSampling(o *measure.Outcome) {
	if o.Inner == nil {
		return
	}
	r.InnerSampling = stackSampling(o, &o.Inner.Looks)
	r.InnerSampling.Outside, r.InnerSampling.Own = o.Inner.Outside, o.Inner.Own
	if why := o.Inner.Looks.NoMachine; why != nil {
		r.Warn("stacks-unread", fmt.Sprintf("functions of machine code are in no stack sample (%v): what extension "+
			"modules use is their Python function's", why))
	}
	r.warnOfStackSampling(r.InnerSampling, &o.Inner.Looks)
}
