package repeated_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
)

func TestRepeated(t *testing.T) {
	r := reporttest.Repeated(t, nemb.Measured, 13)
	if len(r.Commands) != 2 || r.Argv[0] != "sh" ||
		r.Runs != (repeated.Runs{Attempted: 13, EnergyValid: 13, WarmupRuns: 1, MeasurementRuns: 12}) {
		t.Fatalf("%+v", r.Runs)
	}
	sum := 0.0
	for _, m := range r.Measurements[1:] {
		sum += m.ProgramEnergyJ.Float()
	}
	s := r.ProgramEnergyJ
	if math.Abs(s.Mean-sum/12) > 1e-9 || *s.CI95Lower > s.Mean || *s.CI95Upper < s.Mean || len(s.Outliers) != 1 ||
		s.Outliers[0] != 8 {
		t.Errorf("%+v, the mean is %g", s, sum/12)
	}
	if d := r.Domains; math.Abs(d["package-0"]+d["dram"]-r.EnergyJ.Mean) > 1e-9 || r.DomainsPowerW["dram"] != 0.5 {
		t.Errorf("%v %v, %g in all", d, r.DomainsPowerW, r.EnergyJ.Mean)
	}
	if a := r.Commands[1].AgainstFirst; a == nil || math.Abs(a.Change-0.1) > 1e-6 || a.Rounds != 12 || *a.P > 0.001 {
		t.Errorf("%+v", a)
	}
	// The warm-up counts when asked for.
	c := r.Commands[0]
	c.Summarize(true)
	if c.ProgramEnergyJ.Mean == s.Mean || !c.Runs.WarmupIncludedInStats {
		t.Error("the warm-up does not count")
	}
	// Without energies the processor's time is compared.
	if a := reporttest.Repeated(t, nemb.Unavailable, 13).Commands[1].AgainstFirst; a.Of != "cpu_s" ||
		math.Abs(a.Change-1.6/1.5+1) > 1e-6 {
		t.Errorf("%+v", a)
	}
	// Two rounds tell no interval.
	if a := reporttest.Repeated(t, nemb.Measured, 3).Commands[1].AgainstFirst; a.Lo != nil || a.P != nil {
		t.Errorf("%+v", a)
	}
}

// A budget is exceeded when the lower end of the interval is above it.
func TestBudget(t *testing.T) {
	c := reporttest.Repeated(t, nemb.Measured, 13).Commands[0]
	for budget, want := range map[float64]bool{*c.ProgramEnergyJ.CI95Lower - 0.01: true, *c.ProgramEnergyJ.CI95Lower +
		0.01: false, c.ProgramEnergyJ.Mean: false} {
		c.BudgetJ = &budget
		if c.Summarize(false); *c.BudgetExceeded != want {
			t.Errorf("%g J: %v", budget, *c.BudgetExceeded)
		}
	}
	c = reporttest.Repeated(t, nemb.Unavailable, 13).Commands[0]
	budget := 1.0
	c.BudgetJ = &budget
	if c.Summarize(false); c.BudgetExceeded != nil {
		t.Error("a budget is kept with energies that are not known")
	}
	c = reporttest.Repeated(t, nemb.Measured, 13).Commands[0]
	for i := range c.Measurements {
		none := report.Joules(0)
		c.Measurements[i].ProgramEnergyJ = &none
	}
	c.BudgetJ = &budget
	if c.Summarize(false); c.BudgetExceeded != nil {
		t.Error("a budget is kept with energies of 0")
	}
}

func TestRepeatedGolden(t *testing.T) {
	schema := reporttest.Documented(t, "repeated", repeated.Schema())
	for name, r := range map[string]*repeated.Result{
		"measured": reporttest.Repeated(t, nemb.Measured, 13), "estimated": reporttest.Repeated(t, nemb.Estimated, 2),
		"unknown": reporttest.Repeated(t, nemb.Unavailable, 4),
	} {
		b, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Error(name, err)
		}
	}
}

// Of several runs those count whose energy is known.
func TestRepeatedWithoutEnergy(t *testing.T) {
	good, least := reporttest.Saved[report.Run](t, "faults-none"), reporttest.Saved[report.Run](t, "faults-part")
	none := reporttest.Saved[report.Run](t, "faults-zero")
	for _, tt := range []struct {
		name    string
		runs    []*report.Run
		valid   int
		kind    nemb.Method
		quality string
		says    string
	}{
		{"all", []*report.Run{good, good, good}, 3, nemb.Measured, report.QualityOK, "Runs      3\n"},
		{"one is not known", []*report.Run{good, none, good}, 2, nemb.Measured, report.QualityOK,
			"Runs      3; the energy of 1 is not known\n"},
		{"one is told in part", []*report.Run{least, good, good}, 2, nemb.Measured, report.QualityOK,
			"Runs      3; the energy of 1 is not known\n"},
		{"most are not known", []*report.Run{none, good, none}, 1, nemb.Measured, report.QualityZero,
			"Runs      3; the energy of 2 is not known\n"},
		{"half are not known", []*report.Run{none, good}, 1, nemb.Measured, report.QualityZero,
			"Runs      2; the energy of 1 is not known\n"},
		{"none", []*report.Run{least, none, least}, 0, nemb.Unavailable, report.QualityFailed, "Program   ?"},
	} {
		r := &repeated.Result{Warnings: []report.Warning{}, Commands: []repeated.Command{{Argv: []string{"work"}}}}
		for i, run := range tt.runs {
			r.Add(0, i, false, run)
		}
		r.Commands[0].Summarize(false)
		r.Compare()
		if r.Runs.EnergyValid != tt.valid || r.Backend.Kind != tt.kind || r.Meta.MeasurementQuality != tt.quality {
			t.Errorf("%s: %d, %s, %s", tt.name, r.Runs.EnergyValid, r.Backend.Kind, r.Meta.MeasurementQuality)
		}
		if text := string(reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: 200}})); !strings.Contains(text, tt.says) {
			t.Errorf("%s:\n%s", tt.name, text)
		}
		if tt.valid > 0 && math.Abs(r.EnergyJ.Mean-good.Totals.EnergyJ.Float()) > 1e-9 {
			t.Errorf("%s: %g J", tt.name, r.EnergyJ.Mean)
		}
	}
}
