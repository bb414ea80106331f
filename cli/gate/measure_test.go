package gate

import (
	"testing"

	"cg/gate"
	"cg/report"
)

func TestWarningsOfEnergies(t *testing.T) {
	for _, c := range []struct {
		metric  gate.Metric
		budgets map[string]float64
		slug    string
		want    bool
	}{
		{gate.Instructions, nil, "estimated", false},
		{gate.CPUTime, nil, "noise", false},
		{gate.CPUTime, nil, "machine-changed", true},
		{gate.CPUTime, map[string]float64{"": 2}, "estimated", true}, // the budget is of joules
		{gate.CPUEnergy, nil, "estimated", true},
		{gate.Energy, nil, "noise", true},
	} {
		k := &check{plan: gate.Plan{Metric: c.metric, Budgets: c.budgets}}
		if got := k.concerns(report.Warning{Slug: c.slug}); got != c.want {
			t.Errorf("%s, %v: %s: %v, want %v", c.metric, c.budgets, c.slug, got, c.want)
		}
	}
}
