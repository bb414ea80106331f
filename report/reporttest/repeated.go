package reporttest

import (
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/repeated"
)

// Repeated are rounds of two commands, the second of which takes a tenth more.
func Repeated(t testing.TB, kind nemb.Method, rounds int) *repeated.Result {
	r := &repeated.Result{Meta: Example(t, kind).Meta, Warnings: []report.Warning{},
		Commands: make([]repeated.Command, 2)}
	source := Example(t, nemb.Measured).Totals.Source
	r.Meta.StartedAt, r.Meta.Argv = "2026-01-02T03:04:05.000000+00:00", []string{"cg", "run"}
	for i, argv := range [][]string{{"sh", "-c", "make 'all'"}, {"./bench", "a|b"}} {
		c := &r.Commands[i]
		c.Argv, c.Measurements = argv, []repeated.Measurement{}
		c.Backend = report.Backend{Name: source, Kind: kind}
		for k := range rounds {
			e := report.Joules(float64(10_000_000+100_000*(k*k%7)) * (1 + 0.1*float64(i)))
			if k == 8 {
				e *= 3
			}
			m := repeated.Measurement{Warmup: k == 0, Round: k, DurationS: 2, CPUS: 1.5 + 0.1*float64(i),
				Domains: map[string]report.Joules{}}
			if kind != nemb.Unavailable {
				machine, power := 2*e, 2*e.Float()/2
				m.EnergyJ, m.ProgramEnergyJ, m.PowerW = &machine, &e, &power
				m.Domains = map[string]report.Joules{"package-0": machine - 1_000_000, "dram": 1_000_000}
			}
			c.Measurements = append(c.Measurements, m)
		}
		c.Summarize(false)
	}
	r.Compare()
	return r
}
