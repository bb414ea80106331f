package report

import (
	"fmt"
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute"
)

// resolve takes over why a function's energy is not told better.
func (f *Function) resolve(c attribute.Cost, sites []checkpoint.Site) {
	f.Unresolved = string(c.Reason)
	for _, other := range c.Group {
		name := LineUninstrumented
		if n := int(other); n > 0 && n <= len(sites) {
			name = sites[n-1].Func
		}
		if name != f.Name && !slices.Contains(f.UnresolvedWith, name) {
			f.UnresolvedWith = append(f.UnresolvedWith, name)
		}
	}
}

func callsEnergy(c attribute.Cost) *CallsEnergy {
	if c.Calls == 0 {
		return nil
	}
	calls := float64(c.Calls)
	e := &CallsEnergy{MeanJ: c.Inclusive.Energy.Joules() / calls, MeanLoJ: c.Inclusive.Lo.Joules() / calls,
		MeanHiJ: c.Inclusive.Hi.Joules() / calls}
	if s := c.Single; s.N > 0 {
		e.N, e.Method = s.N, s.Method()
		e.MinJ, e.MedianJ, e.P95J, e.MaxJ = joules(s.Min), joules(s.Median), joules(s.P95), joules(s.Max)
	}
	return e
}

// much is the part of the functions' energy that is not resolved from which on
// the run warns.
const much = 0.1

// unresolved warns where much of the functions' energy is split by time only.
func (r *Run) unresolved() {
	if !r.Totals.Kind.IsRead() {
		return
	}
	var all, open Joules
	n, waited := 0, 0
	for _, f := range r.Functions {
		if f.SelfEnergyJ == nil {
			continue
		}
		all += *f.SelfEnergyJ
		if f.Unresolved != "" {
			open += *f.SelfEnergyJ
			n++
			if f.Unresolved == string(attribute.Noisy) && f.EnergyMethod == attribute.Regression {
				waited++
			}
		}
	}
	if all == 0 || float64(open) <= much*float64(all) {
		return
	}
	text := fmt.Sprintf("%d functions with %.0f %% of the functions' energy are not told apart from others that ran "+
		"beside them, and share by time: a longer run tells more, or more samples (-p high)",
		n, 100*float64(open)/float64(all))
	if waited > 0 {
		text += fmt.Sprintf("; %d of them share by a power that is near to the mean, as the program waited for "+
			"processors: fewer other programs beside it tell more", waited)
	}
	r.Warn("not-resolvable", text)
}

// Why says in words why a function is not resolved.
func (f Function) Why() string {
	if len(f.UnresolvedWith) == 0 {
		return f.Unresolved
	}
	s := f.Unresolved + " with "
	for i, name := range f.UnresolvedWith {
		switch {
		case i == 3 && len(f.UnresolvedWith) > 4:
			return s + fmt.Sprintf(" and %d more", len(f.UnresolvedWith)-i)
		case i > 0:
			s += ", "
		}
		s += name
	}
	return s
}
