package laboratory

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cg/report"
)

// values compares what cg says of each function with what the page says.
func (c Case) values(r *report.Run, p *page) (all []Value) {
	self, inclusive := p.uses()
	unit := 1.0
	less, more := 1.0, 1.0
	if c.Estimate {
		unit, less, more = estimated(r, self)
	}
	for i := range self {
		name := "f" + strconv.Itoa(i)
		f := find(r, name)
		v := Value{Function: name, Truth: self[i].joules}
		w := Value{Function: name, Inclusive: true, Truth: inclusive[i].joules}
		if c.Estimate {
			v.Truth, w.Truth = self[i].seconds, inclusive[i].seconds
		}
		if f != nil {
			v.told(f, f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
			w.told(f, f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ)
		}
		for _, v := range []*Value{&v, &w} {
			v.Figure, v.Lo, v.Hi = v.Figure/unit, v.Lo/unit/less, v.Hi/unit/more
			if v.Truth > 0 {
				all = append(all, *v)
			}
		}
	}
	return all
}

// program compares what cg says of the whole program with what the page says, where counters say it.
func (c Case) program(r *report.Run, p *page) (v Value) {
	self, _ := p.uses()
	for _, f := range self {
		v.Truth += f.joules
	}
	if t := r.Totals; !c.Estimate && t.ProgramEnergyJ != nil && t.ProgramEnergyLoJ != nil && t.ProgramEnergyHiJ != nil {
		v.Figure, v.Lo, v.Hi = t.ProgramEnergyJ.Float(), t.ProgramEnergyLoJ.Float(), t.ProgramEnergyHiJ.Float()
		v.Told = true
	}
	return v
}

// untold says why no value has an interval, "" where one has.
func untold(r *report.Run, values []Value) string {
	reasons := map[string]bool{}
	for _, v := range values {
		if v.Told {
			return ""
		}
		reasons[cmp.Or(v.Unresolved, "no reason is told")] = true
	}
	for _, w := range r.Warnings {
		if w.Slug == "counter-fault" { // what was told has no upper bound
			return w.Message
		}
	}
	return cmp.Or(r.WhyNotKnown(), strings.Join(slices.Sorted(maps.Keys(reasons)), ", "), "no function is told")
}

// estimated is what a second of the functions' processor time has, in joules, and by which parts the program's energy
// may be less or more: a model gives every second the same, and its power may be off by as much for all functions
// together, which is no matter of their parts. The functions' time is as the page has it: what a call uses before it
// reads its clock first and after it read it last, a microsecond, is in no cell, and each function has as much of that.
func estimated(r *report.Run, self []use) (unit, less, more float64) {
	seconds, joules := 0.0, 0.0
	for i, u := range self {
		seconds += u.seconds
		if f := find(r, "f"+strconv.Itoa(i)); f != nil && f.SelfEnergyJ != nil {
			joules += f.SelfEnergyJ.Float()
		}
	}
	if seconds <= 0 || joules <= 0 {
		return 1, 1, 1
	}
	program := r.Totals.ProgramEnergyJ.Float()
	return joules / seconds, r.Totals.ProgramEnergyLoJ.Float() / program, r.Totals.ProgramEnergyHiJ.Float() / program
}

func (v *Value) told(f *report.Function, figure, lo, hi *report.Joules) {
	v.Unresolved, v.Method, v.Hi = f.Unresolved, f.EnergyMethod, math.Inf(1)
	if figure == nil {
		return
	}
	v.Figure, v.Told = figure.Float(), lo != nil && hi != nil
	if lo != nil {
		v.Lo = lo.Float()
	}
	if hi != nil {
		v.Hi = hi.Float()
	}
}

// find is the function of a name, whatever the language puts before it.
func find(r *report.Run, name string) *report.Function {
	for i := range r.Functions {
		f := &r.Functions[i]
		if f.Name == name || strings.HasSuffix(f.Name, "."+name) || strings.HasSuffix(f.Name, "::"+name) {
			return f
		}
	}
	return nil
}
