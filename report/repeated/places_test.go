package repeated_test

import (
	"bytes"
	"strings"
	"testing"

	"cg/nemb/attribute"
	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// TestPlacesOverRuns: a line has a mean and an interval over the runs, 0 for one that did not come there, and the lines
// stand in the order of the source whichever run saw them first.
func TestPlacesOverRuns(t *testing.T) {
	place := func(line int, count uint64, energy float64) report.Place {
		j := report.Joules(energy * 1e6)
		return report.Place{Kind: "line", Line: line, EndLine: line, Count: count, SelfTimeS: energy, SelfEnergyJ: &j}
	}
	r := &repeated.Result{Commands: []repeated.Command{{Measurements: []repeated.Measurement{}}}}
	for k, places := range [][]report.Place{
		{place(7, 1, 1)}, {place(3, 4, 0.5), place(7, 1, 2)}, {place(3, 2, 0.25), place(7, 1, 3)},
	} {
		run := used(t, 4, 1)
		run.Functions[0].Places = append(places, report.Place{Kind: "rest", Line: 1, EndLine: 9})
		r.Add(0, k, false, run)
	}
	r.Commands[0].Summarize(false)
	r.Compare()
	var places []repeated.Place
	for _, f := range r.All()[0].Functions {
		if len(f.Places) > 0 {
			places = f.Places
		}
	}
	if len(places) != 3 || places[0].Line != 3 || places[1].Line != 7 || !places[2].IsRest() {
		t.Fatalf("%+v", places)
	}
	if three := places[0]; three.Count.Mean != 2 || three.SelfEnergyJ.Mean != 0.25 || three.SelfTimeS.Mean != 0.25 {
		t.Errorf("line 3: %+v", three)
	}
	seven := places[1].SelfEnergyJ
	if seven.Mean != 2 || seven.CI95Lower == nil || *seven.CI95Lower >= 2 || *seven.CI95Upper <= 2 {
		t.Errorf("line 7: %+v", seven)
	}
	b, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	again, err := repeated.Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.All()[0].DearestPlaces(); len(got) != 2 || got[0].Line != 7 || got[1].Line != 3 {
		t.Errorf("the dearest: %+v", got)
	}
	bad := strings.Replace(string(b), `"place": 1`, `"place": 9`, 1)
	if _, err := repeated.Read(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "none of the 3 places") {
		t.Errorf("a place that is not there: %v", err)
	}
}

// TestOwnPowerOverRuns: in how many runs the data show the power of a line itself, of those that count.
func TestOwnPowerOverRuns(t *testing.T) {
	const share, own = report.MethodShare, attribute.Regression
	for _, c := range []struct {
		name    string
		methods []string // of the runs that count, behind one that warms up
		want    int
		column  string
		note    string
	}{
		{"never", []string{share, share}, 0, "", "by time: no line had a power of its own that the data show"},
		{"once", []string{share, own, share}, 1, "1 of 3", "but for 1 whose own power the data show in some or all"},
		{"always", []string{own, own}, 2, "2 of 2", "but for 1 whose own power the data show in each run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &repeated.Result{Commands: []repeated.Command{{Measurements: []repeated.Measurement{}}}}
			for k, method := range append([]string{own}, c.methods...) {
				run := used(t, 4, 1)
				e := report.Joules(4e6)
				run.Functions[0].Places = []report.Place{
					{Kind: "line", Line: 3, EndLine: 3, Count: 1, SelfTimeS: 1, SelfEnergyJ: &e, EnergyMethod: method},
					{Kind: "rest", Line: 1, EndLine: 9, SelfEnergyJ: new(report.Joules), EnergyMethod: own}}
				r.Add(0, k, k == 0, run)
			}
			r.Commands[0].Summarize(false)
			r.Compare()
			command := &r.All()[0]
			got := command.DearestPlaces()[0]
			if got.OwnPowerRuns != c.want || got.OwnPower() != c.column {
				t.Errorf("%d, %q; want %d, %q", got.OwnPowerRuns, got.OwnPower(), c.want, c.column)
			}
			if note := command.PlacesNote(); !strings.Contains(note, c.note) {
				t.Errorf("%s", note)
			}
			b := reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: 100}})
			if c.column != "" != strings.Contains(string(b), "own power\n") ||
				!strings.Contains(string(b), c.column+"\n") || !strings.Contains(string(b), c.note[:12]) {
				t.Errorf("%s", b)
			}
		})
	}
}

// TestBlocksOnOneLineStayApart: a run that came to the second of two blocks on a line alone does not take it for the
// first, and what a run's places do not add up to is a fault.
func TestBlocksOnOneLineStayApart(t *testing.T) {
	r := &repeated.Result{Commands: []repeated.Command{{Measurements: []repeated.Measurement{}}}}
	for k, ordinals := range [][]int{{1}, {0, 1}, {0}} {
		run := used(t, 4, 1)
		f := &run.Functions[0]
		rest := report.Place{Kind: "rest", Line: 1, EndLine: 9, SelfTimeS: f.SelfTimeS, SelfEnergyJ: new(report.Joules)}
		*rest.SelfEnergyJ = *f.SelfEnergyJ
		for _, n := range ordinals {
			f.Places = append(f.Places, report.Place{Kind: "block", Line: 3, EndLine: 3, Ordinal: n, Count: uint64(n + 1),
				SelfEnergyJ: new(report.Joules)})
		}
		f.Places = append(f.Places, rest)
		r.Add(0, k, false, run)
	}
	r.Commands[0].Summarize(false)
	r.Compare()
	places := r.All()[0].Functions[0].Places
	if len(places) != 3 || places[0].Ordinal != 0 || places[1].Ordinal != 1 || !places[2].IsRest() {
		t.Fatalf("%+v", places)
	}
	if first, second := places[0].Count.Mean, places[1].Count.Mean; first != 2./3 || second != 4./3 {
		t.Errorf("they were come to %g and %g times, want 2/3 and 4/3", first, second)
	}
	of := func() (faults []string) {
		for _, f := range r.Check("") {
			if strings.Contains(f, "its places") {
				faults = append(faults, f)
			}
		}
		return faults
	}
	if faults := of(); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	r.All()[0].Measurements[1].Functions[0].Places[0].SelfTimeS = 1
	if faults := of(); len(faults) != 1 || !strings.Contains(faults[0], "measurements[1].functions[0].self_time_s") {
		t.Errorf("a time was changed: %q", faults)
	}
}
