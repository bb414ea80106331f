package report

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

// TestOrdinals: places that kind and lines do not tell apart have numbers in the order of their columns, whatever the
// order of their sites, and those of other functions and files do not count.
func TestOrdinals(t *testing.T) {
	site := func(id checkpoint.SiteID, file, function string, kind checkpoint.SiteKind, line, col, end int) checkpoint.Site {
		return checkpoint.Site{ID: id, File: file, Func: function, Kind: kind, Line: line, Col: col, EndLine: end}
	}
	got := ordinalsOf([]checkpoint.Site{
		site(1, "a", "f", checkpoint.Function, 3, 1, 3), site(2, "a", "f", checkpoint.BlockPlace, 3, 40, 3),
		site(3, "a", "f", checkpoint.BlockPlace, 3, 20, 3), site(4, "a", "f", checkpoint.BlockPlace, 3, 30, 4),
		site(5, "a", "g", checkpoint.BlockPlace, 3, 60, 3), site(6, "b", "f", checkpoint.BlockPlace, 3, 60, 3),
		site(7, "a", "f", checkpoint.BlockPlace, 3, 40, 3),
	})
	if want := map[checkpoint.SiteID]int{2: 1, 7: 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// faultOf reports whether a run has a fault of a field.
func faultOf(r *Run, field string) bool {
	return slices.ContainsFunc(r.Check(), func(f string) bool { return strings.HasPrefix(f, field+": ") })
}

// TestCheckPlaces: the places of a function have its time and its energy, and nothing else.
func TestCheckPlaces(t *testing.T) {
	whole := func() (*Run, *Function) {
		r := example(nemb.Measured)
		f := &r.Functions[0]
		line := Place{Kind: "line", Line: f.Line, EndLine: f.Line, SelfTimeS: f.SelfTimeS / 4, CPUTimeS: f.CPUTimeS / 4}
		rest := Place{Kind: "rest", SelfTimeS: f.SelfTimeS - line.SelfTimeS, CPUTimeS: f.CPUTimeS - line.CPUTimeS}
		some := *f.SelfEnergyJ / 4
		others := *f.SelfEnergyJ - some
		line.SelfEnergyJ, rest.SelfEnergyJ = &some, &others
		f.Places = []Place{line, rest}
		return r, f
	}
	r, f := whole()
	field := "functions[0] (" + f.Name + ")."
	for name, change := range map[string]func(p *Place){
		"self_energy_j":           func(p *Place) { *p.SelfEnergyJ++ },
		"self_time_s":             func(p *Place) { p.SelfTimeS += 1e-6 },
		"cpu_time_s":              func(p *Place) { p.CPUTimeS += 1e-6 },
		"places[0].self_energy_j": func(p *Place) { p.SelfEnergyJ = nil },
	} {
		if faultOf(r, field+name) {
			t.Errorf("nothing was changed: %q", r.Check())
		}
		changed, f := whole()
		if change(&f.Places[0]); !faultOf(changed, field+name) {
			t.Errorf("%s was changed: %q", name, changed.Check())
		}
	}
}

// TestCheckInner: what a function called without checkpoints has the part of its energy that the stack samples are.
func TestCheckInner(t *testing.T) {
	r := example(nemb.Measured)
	f := &r.Functions[0]
	f.InnerSamples = 400
	g := InnerFunction{Name: "fast", StackSamples: 100, StackSamplesInclusive: 300}
	g.SelfEnergyJ, g.SelfEnergyLoJ, g.SelfEnergyHiJ = f.part(100)
	g.InclusiveEnergyJ, g.InclusiveEnergyLoJ, g.InclusiveEnergyHiJ = f.part(300)
	f.Inner = []InnerFunction{g}
	field := "functions[0] (" + f.Name + ").inner[0]."
	if faultOf(r, field+"self_energy_j") || faultOf(r, field+"inclusive_energy_j") || faultOf(r, field+"stack_samples") {
		t.Fatalf("nothing was changed: %q", r.Check())
	}
	if *f.Inner[0].SelfEnergyJ++; !faultOf(r, field+"self_energy_j") {
		t.Errorf("an energy was changed: %q", r.Check())
	}
	if f.Inner[0].StackSamples = 401; !faultOf(r, field+"stack_samples") {
		t.Errorf("there are more samples than all: %q", r.Check())
	}
}

// TestPlacesHaveEnergies: a line has the energy that the attribution gives it, and not its part of the time, with its
// interval and how it was found; what is in no line has the rest, and all of it is the function's.
func TestPlacesHaveEnergies(t *testing.T) {
	sites := []checkpoint.Site{{ID: 1, Func: "f", Kind: checkpoint.Function, Line: 1, EndLine: 9},
		{ID: 2, Func: "f", Kind: checkpoint.LinePlace, Line: 3, EndLine: 3},
		{ID: 3, Func: "f", Kind: checkpoint.LinePlace, Line: 5, EndLine: 5}}
	j := Joules(1001)
	r := &Run{Functions: []Function{{Name: "f", Line: 1, SelfEnergyJ: &j}}}
	r.Meta.Granularity = "line"
	cost := attribute.Cost{Site: 1, Self: attribute.Value{Energy: 1001}, SelfTime: 100, CPUTime: 100}
	r.places([]attribute.Place{
		{Function: 1, Time: 20, CPU: 20, Energy: 100, Lo: 50, Hi: 150, Method: attribute.TimeShare},
		{Function: 1, Site: 2, Count: 1, Time: 40, CPU: 40, Energy: 701, Lo: 690, Hi: 710, Method: attribute.Regression},
		{Function: 1, Site: 3, Count: 1, Time: 40, CPU: 40, Energy: 200, Lo: 100, Hi: 300, Method: attribute.TimeShare},
	}, []attribute.Cost{cost}, sites)
	places := r.Functions[0].Places
	if len(places) != 3 {
		t.Fatalf("%+v", places)
	}
	for i, want := range []struct {
		energy, lo, hi Joules
		method         string
	}{{701, 690, 710, "regression"}, {200, 100, 300, "time-share"}, {100, 50, 150, "time-share"}} {
		if p := places[i]; *p.SelfEnergyJ != want.energy || *p.SelfEnergyLoJ != want.lo || *p.SelfEnergyHiJ != want.hi ||
			p.EnergyMethod != want.method {
			t.Errorf("%d: %d, %d to %d, %s; want %+v", i, *p.SelfEnergyJ, *p.SelfEnergyLoJ, *p.SelfEnergyHiJ,
				p.EnergyMethod, want)
		}
	}
	if note := r.PlacesNote(); !strings.HasSuffix(note, "its lines by time, but for 1 whose power the data show") {
		t.Errorf("%q", note)
	}
}
