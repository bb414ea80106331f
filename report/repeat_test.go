package report

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
)

// repeated are rounds of two commands, the second of which takes a tenth more.
func repeated(kind nemb.Method, rounds int) *Repeated {
	r := &Repeated{Meta: evened(example(kind)).Meta, Warnings: []Warning{}, Commands: make([]Command, 2)}
	r.Meta.StartedAt, r.Meta.Argv = "2026-01-02T03:04:05.000000+00:00", []string{"cg", "run"}
	for i, argv := range [][]string{{"sh", "-c", "make 'all'"}, {"./bench", "a|b"}} {
		c := &r.Commands[i]
		c.Argv, c.Measurements = argv, []Measurement{}
		c.Backend = Backend{Name: "powercap", Kind: kind}
		for k := range rounds {
			e := Joules(float64(10_000_000+100_000*(k*k%7)) * (1 + 0.1*float64(i)))
			if k == 8 {
				e *= 3
			}
			m := Measurement{Warmup: k == 0, Round: k, DurationS: 2, CPUS: 1.5 + 0.1*float64(i),
				Domains: map[string]Joules{}}
			if kind != nemb.Unavailable {
				machine, power := 2*e, 2*e.Float()/2
				m.EnergyJ, m.ProgramEnergyJ, m.PowerW = &machine, &e, &power
				m.Domains = map[string]Joules{"package-0": machine - 1_000_000, "dram-0": 1_000_000}
			}
			c.Measurements = append(c.Measurements, m)
		}
		c.Summarize(false)
	}
	r.Compare()
	return r
}

func TestRepeated(t *testing.T) {
	r := repeated(nemb.Measured, 13)
	if len(r.Commands) != 2 || r.Argv[0] != "sh" ||
		r.Runs != (Runs{Attempted: 13, EnergyValid: 13, WarmupRuns: 1, MeasurementRuns: 12}) {
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
	if d := r.Domains; math.Abs(d["package-0"]+d["dram-0"]-r.EnergyJ.Mean) > 1e-9 || r.DomainsPowerW["dram-0"] != 0.5 {
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
	if a := repeated(nemb.Unavailable, 13).Commands[1].AgainstFirst; a.Of != "cpu_s" ||
		math.Abs(a.Change-1.6/1.5+1) > 1e-6 {
		t.Errorf("%+v", a)
	}
	// Two rounds tell no interval.
	if a := repeated(nemb.Measured, 3).Commands[1].AgainstFirst; a.Lo != nil || a.P != nil {
		t.Errorf("%+v", a)
	}
}

// A budget is exceeded when the lower end of the interval is above it.
func TestBudget(t *testing.T) {
	c := repeated(nemb.Measured, 13).Commands[0]
	for budget, want := range map[float64]bool{*c.ProgramEnergyJ.CI95Lower - 0.01: true, *c.ProgramEnergyJ.CI95Lower +
		0.01: false, c.ProgramEnergyJ.Mean: false} {
		c.BudgetJ = &budget
		if c.Summarize(false); *c.BudgetExceeded != want {
			t.Errorf("%g J: %v", budget, *c.BudgetExceeded)
		}
	}
	c = repeated(nemb.Unavailable, 13).Commands[0]
	budget := 1.0
	c.BudgetJ = &budget
	if c.Summarize(false); c.BudgetExceeded != nil {
		t.Error("a budget is kept with energies that are not known")
	}
	c = repeated(nemb.Measured, 13).Commands[0]
	for i := range c.Measurements {
		none := Joules(0)
		c.Measurements[i].ProgramEnergyJ = &none
	}
	c.BudgetJ = &budget
	if c.Summarize(false); c.BudgetExceeded != nil {
		t.Error("a budget is kept with energies of 0")
	}
}

func TestRepeatedGolden(t *testing.T) {
	schema := documented(t, "repeated", SchemaOf(reflect.TypeFor[Repeated](), "Repeated runs measured by cg"))
	for name, r := range map[string]*Repeated{
		"measured": repeated(nemb.Measured, 13), "estimated": repeated(nemb.Estimated, 2),
		"unknown": repeated(nemb.Unavailable, 4),
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
