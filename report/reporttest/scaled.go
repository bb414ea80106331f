package reporttest

import (
	"math"
	"testing"

	"cg/nemb"
	"cg/report"
)

// Scaled is the Example under another id with every energy times a factor.
func Scaled(t testing.TB, kind nemb.Method, id string, factor float64) *report.Run {
	r := Example(t, kind)
	r.Meta.RunID, r.Meta.StartedAt, r.Meta.Hostname, r.Meta.CPUModel, r.Meta.Granularity = id,
		"2026-01-02T03:04:05.000000+00:00", "host", "a processor", "fine"
	times := func(all ...*report.Joules) {
		for _, j := range all {
			if j != nil {
				*j = report.Joules(math.Round(float64(*j) * factor))
			}
		}
	}
	totals := &r.Totals
	times(totals.EnergyJ, totals.LoJ, totals.HiJ, totals.ProgramEnergyJ, totals.ProgramEnergyLoJ,
		totals.ProgramEnergyHiJ)
	for id, e := range totals.Domains {
		totals.Domains[id] = report.Joules(math.Round(float64(e) * factor))
	}
	for i := range r.Functions {
		f := &r.Functions[i]
		times(f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ)
	}
	return r
}
