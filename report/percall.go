package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cg/footprint"
	nearest "cg/near"
	"cg/nemb"
	"cg/report/figures"
)

// PerCall is what a call of a function takes, with what it called (cg measure --per). It is the function's inclusive
// energy by its calls, in joules, and not rounded to microjoules. Energies are null where the function's is not known.
type PerCall struct {
	Function string      `json:"function"` // its qualified name
	Calls    uint64      `json:"calls"`
	EnergyJ  *float64    `json:"energy_j"`
	LoJ      *float64    `json:"energy_lo_j"`
	HiJ      *float64    `json:"energy_hi_j"`
	PerJ     *float64    `json:"calls_per_j"` // calls for a joule; null where they used none
	PerLoJ   *float64    `json:"calls_per_j_lo"`
	PerHiJ   *float64    `json:"calls_per_j_hi"`
	Kind     nemb.Method `json:"energy_kind"`
	// CO2eG are the grams of CO2 equivalents for a call, of its energy and of making the machine in the time that
	// calls took: the software carbon intensity (ISO/IEC 21031:2024), where --carbon asked for it.
	CO2eG *footprint.Range `json:"co2e_g,omitempty"`
}

// AddPerCall says what a call of a function takes. The name is its qualified name, or the end of that behind a dot, a
// slash or a colon, where no other function has it. The error says why there is no such figure.
func (r *Run) AddPerCall(name string) error {
	f, err := r.calledFunction(name)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(r.PerCall, func(p PerCall) bool { return p.Function == f.Name }) {
		return fmt.Errorf("%q is %s, which was named already", name, f.Name)
	}
	n := float64(f.Calls)
	over := func(e *Joules) *float64 {
		if e == nil {
			return nil
		}
		v := e.Float() / n
		return &v
	}
	under := func(e *Joules) *float64 {
		if e == nil || *e == 0 {
			return nil
		}
		v := n / e.Float()
		return &v
	}
	r.PerCall = append(r.PerCall, PerCall{Function: f.Name, Calls: f.Calls, Kind: f.EnergyKind,
		EnergyJ: over(f.InclusiveEnergyJ), LoJ: over(f.InclusiveEnergyLoJ), HiJ: over(f.InclusiveEnergyHiJ),
		PerJ: under(f.InclusiveEnergyJ), PerLoJ: under(f.InclusiveEnergyHiJ), PerHiJ: under(f.InclusiveEnergyLoJ)})
	return nil
}

// calledFunction is the function of that name.
func (r *Run) calledFunction(name string) (*Function, error) {
	isEnd := func(whole string) bool {
		before, is := strings.CutSuffix(whole, name)
		return is && before != "" && strings.ContainsRune("./:#", rune(before[len(before)-1]))
	}
	for _, is := range []func(string) bool{func(whole string) bool { return whole == name }, isEnd} {
		var found []*Function
		for i := range r.Functions {
			if f := &r.Functions[i]; f.Calls > 0 && is(f.Name) {
				found = append(found, f)
			}
		}
		if len(found) > 1 {
			var places []string
			for _, f := range found {
				places = append(places, fmt.Sprintf("%s (%s:%d)", f.Name, f.File, f.Line))
			}
			if found[0].Name == found[1].Name {
				return nil, fmt.Errorf("%s: functions have the same name, and none can be chosen",
					strings.Join(places, " and "))
			}
			return nil, fmt.Errorf("%q may be %s: name one by its whole name", name, strings.Join(places, " or "))
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if i := slices.IndexFunc(r.Sites, func(s Site) bool { return is(s.Name) }); name != "" && i >= 0 {
			return nil, fmt.Errorf("%s was not called", r.Sites[i].Name)
		}
	}
	var all []string // whole ones, and their ends
	for _, s := range r.Sites {
		all = append(all, s.Name, s.Name[strings.LastIndexAny(s.Name, "./:#")+1:])
	}
	otherwise := "functions that run have one with -g fine"
	if r.Meta.Granularity == "fine" {
		otherwise = "functions lists those that have one"
	}
	return nil, fmt.Errorf("no function %q has a checkpoint: %s", name, nearest.Or(name, all, otherwise))
}

// accountCalls fills in what calls emit, at the rates of the run.
func (r *Run) accountCalls(rates *footprint.Rates, use footprint.Use) error {
	for i := range r.PerCall {
		p := &r.PerCall[i]
		p.CO2eG = nil
		f, err := r.calledFunction(p.Function)
		if err != nil || f.InclusiveEnergyJ == nil || f.InclusiveEnergyLoJ == nil || f.InclusiveEnergyHiJ == nil {
			continue
		}
		use.Joules = footprint.Range{Value: f.InclusiveEnergyJ.Float(), Lo: f.InclusiveEnergyLoJ.Float(),
			Hi: f.InclusiveEnergyHiJ.Float()}
		// Threads that run at the same time need the machine once.
		use.Lasted = time.Duration(min(f.InclusiveTimeS, r.Totals.DurationS) * 1e9)
		of, err := rates.Of(use)
		if err != nil {
			return err
		}
		if of != nil && of.Carbon != nil {
			n, g := float64(p.Calls), of.Carbon.Grams
			p.CO2eG = &footprint.Range{Value: g.Value / n, Lo: g.Lo / n, Hi: g.Hi / n}
		}
	}
	return nil
}

// perCall holds what calls take against their functions.
func (c *check) perCall(r *Run) {
	for i, p := range r.PerCall {
		field := fmt.Sprintf("per_call[%d] (%s).", i, p.Function)
		f, err := r.calledFunction(p.Function)
		if err != nil {
			c.fault(field+"function", "%v", err)
			continue
		}
		if p.Calls != f.Calls {
			c.fault(field+"calls", "%d, but the function has %d", p.Calls, f.Calls)
			continue
		}
		for _, of := range []struct {
			name string
			got  *float64
			all  *Joules
		}{{"energy_j", p.EnergyJ, f.InclusiveEnergyJ}, {"energy_lo_j", p.LoJ, f.InclusiveEnergyLoJ},
			{"energy_hi_j", p.HiJ, f.InclusiveEnergyHiJ}} {
			if (of.got == nil) != (of.all == nil) ||
				of.got != nil && math.Abs(*of.got*float64(p.Calls)-of.all.Float()) > 1e-9*of.all.Float() {
				c.fault(field+of.name, "it is not the function's inclusive energy by its calls")
			}
		}
		if p.EnergyJ != nil && p.PerJ != nil && math.Abs(*p.EnergyJ**p.PerJ-1) > 1e-9 {
			c.fault(field+"calls_per_j", "%g, but a call takes %g J", *p.PerJ, *p.EnergyJ)
		}
		if g := p.CO2eG; g != nil && (g.Lo < 0 || g.Lo > g.Value || g.Value > g.Hi) {
			c.fault(field+"co2e_g", "%g is outside of its interval, %g to %g", g.Value, g.Lo, g.Hi)
		}
	}
}

// Lines are what a call takes in a few words, each with a name.
func (p PerCall) Lines() (lines [][2]string) {
	mark := Mark(p.Kind)
	figure := func(v, lo, hi *float64, show func(float64) string) string {
		if v == nil {
			return "?"
		}
		least, most := "?", "?"
		if lo != nil {
			least = show(*lo)
		}
		if hi != nil {
			most = show(*hi)
		}
		return fmt.Sprintf("%s%s  [%s, %s]", mark, show(*v), least, most)
	}
	lines = append(lines,
		[2]string{"Per call", figure(p.EnergyJ, p.LoJ, p.HiJ, figures.SmallJoules) + "  of " + p.Function},
		[2]string{"Calls/J", figure(p.PerJ, p.PerLoJ, p.PerHiJ, figures.Amount) +
			fmt.Sprintf("  of %s calls", figures.Count(p.Calls))})
	if g := p.CO2eG; g != nil {
		lines = append(lines, [2]string{"SCI", fmt.Sprintf("%s%s CO2e/call  [%s, %s]", mark, figures.Grams(g.Value),
			figures.Grams(g.Lo), figures.Grams(g.Hi))})
	}
	return lines
}
