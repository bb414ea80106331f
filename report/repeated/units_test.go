package repeated_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"cg/footprint"
	"cg/nemb"
	"cg/report"
	"cg/report/repeated"
	"cg/report/reporttest"
)

// counted are runs whose programs did units of work: 4 J for each, of the machine 8 J.
func counted(t *testing.T, counts ...float64) *repeated.Result {
	r := reporttest.Repeated(t, nemb.Measured, len(counts)+1) // the first warms up
	for i := range r.Commands {
		c := &r.Commands[i]
		c.Units = []repeated.Unit{{Name: "token", Pattern: "(?P<token>.)"}}
		for k := range c.Measurements {
			m := &c.Measurements[k]
			n := 1.0
			if k > 0 {
				n = counts[k-1]
			}
			e := report.Joules(4e6 * n)
			machine := 2 * e
			m.EnergyJ, m.ProgramEnergyJ, m.Counts = &machine, &e, map[string]float64{"token": n}
			m.Domains = map[string]report.Joules{"package-0": machine, "dram": 0}
		}
		c.Summarize(false)
	}
	r.Compare()
	return r
}

func TestUnits(t *testing.T) {
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-9*want {
			t.Errorf("%s: %v, want %g", what, got, want)
		}
	}
	u := counted(t, 9, 10, 11).Units[0]
	near("count", &u.Count.Mean, 10)
	for name, c := range map[string]struct {
		q    *repeated.Quotient
		want float64
	}{"program": {u.EnergyJ, 4}, "machine": {u.MachineJ, 8}, "per J": {u.PerJ, 0.25}} {
		near(name, &c.q.Ratio, c.want) // energy goes with the count, so the quotient does not spread
		near(name, c.q.CI95Lower, c.want)
		near(name, c.q.CI95Upper, c.want)
	}
	if u := counted(t, 9, 10).Units[0]; u.EnergyJ.CI95Lower != nil || u.Runs != 2 {
		t.Errorf("two runs have the interval %v", *u.EnergyJ.CI95Lower)
	}
	if u := counted(t, 1, 1, 20).Units[0]; u.EnergyJ.CI95Lower != nil {
		t.Error("counts that differ by the factor 20 have an interval")
	}
	r := counted(t, 5, 5, 5)
	r.Commands[0].Measurements[2].Counts, r.Commands[0].Measurements[3].ProgramEnergyJ = nil, nil
	r.Commands[0].Summarize(false)
	if u := r.Commands[0].Units[0]; u.Runs != 1 || u.EnergyJ.Ratio != 4 {
		t.Errorf("of one run with both figures: %+v", u)
	}
}

func TestUnitsAreVerified(t *testing.T) {
	rates, err := footprint.New(footprint.Settings{Carbon: true, Intensity: "300..400", Embodied: "10 g/h, a source"},
		func(string) (*footprint.Series, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	r := counted(t, 9, 10, 11)
	r.Meta.EndedAt = r.Meta.StartedAt
	r.Account(rates)
	u := &r.Commands[0].Units[0]
	hours := (2 * time.Second).Hours()
	if want := 8/3.6e6*350 + 10*hours/10; u.CO2eG == nil || math.Abs(u.CO2eG.Value-want) > 1e-9 {
		t.Fatalf("co2e_g: %v, want %g", u.CO2eG, want)
	}
	faults := r.Check(r.Meta.CgVersion)
	clean := len(faults)
	if strings.Contains(strings.Join(faults, "\n"), "units[") {
		t.Errorf("units that agree have the faults %q", faults)
	}
	for field, spoil := range map[string]func(){
		"co2e_g: ":               func() { u.CO2eG.Value *= 1.01; u.CO2eG.Hi = 1 },
		"co2e_g: it is there":    func() { r.Commands[0].Footprint = nil },
		"program_energy_j.ratio": func() { u.EnergyJ.Ratio = 5 },
		"count.mean":             func() { u.Count.Mean = 5 },
	} {
		r = counted(t, 9, 10, 11)
		r.Meta.EndedAt = r.Meta.StartedAt
		r.Account(rates)
		u = &r.Commands[0].Units[0]
		spoil()
		if faults := r.Check(r.Meta.CgVersion); len(faults) <= clean || !strings.Contains(strings.Join(faults, "\n"), field) {
			t.Errorf("%s: not found in %q", field, faults)
		}
	}
}
