package report

import (
	"strings"
	"testing"
	"time"

	"cg/measure"
	"cg/nemb/attribute"
)

// Where checkpoints take more than they may, the report says what kept them from it.
func TestOverheadIsExplained(t *testing.T) {
	const more = "checkpoints took 30 % of the time of the functions, more than --overhead 10%: "
	for name, c := range map[string]struct {
		overhead float64
		cost     CheckpointCost
		events   uint64
		want     []string // in the warning, none for nil
	}{
		"counting alone": {0.1, CheckpointCost{TimeS: .6, TimedNs: 35, CountedNs: 9, Counted: 50_000_000}, 60_000_000,
			[]string{more, "a call that is counted takes 18 ns, one that is timed 70 ns", "counting alone takes 27 %", "--exclude"}},
		"long calls": {0.1, CheckpointCost{TimeS: .6, TimedNs: 35, CountedNs: 9, Counted: 1000}, 18_000_000,
			[]string{more, "a call that is counted takes 18 ns, one that is timed 70 ns; leave out"}},
		"no counting": {0.1, CheckpointCost{TimeS: .6, EventNs: 30}, 20_000_000,
			[]string{more, "this runtime times each event, 30 ns"}},
		"within":    {0.1, CheckpointCost{TimeS: .24, TimedNs: 35, CountedNs: 9, Counted: 1000}, 18_000_000, nil},
		"short":     {0.001, CheckpointCost{TimeS: .04, TimedNs: 35, CountedNs: 9, Counted: 1000}, 4_000_000, nil},
		"no budget": {0, CheckpointCost{TimeS: 1.5, EventNs: 30}, 50_000_000, nil},
	} {
		r := &Run{}
		r.Channel.Cost, r.Channel.Events = &c.cost, c.events
		r.warnOfOverhead(&measure.Outcome{Overhead: c.overhead,
			Attributed: attribute.Result{Costs: []attribute.Cost{{SelfTime: 2 * time.Second}}}})
		if len(r.Warnings) != min(1, len(c.want)) || c.cost.BudgetPercent != 100*c.overhead {
			t.Errorf("%s: %v, a budget of %g %%", name, r.Warnings, c.cost.BudgetPercent)
			continue
		}
		for _, part := range c.want {
			if w := r.Warnings[0]; w.Slug != "overhead" || !strings.Contains(w.Message, part) {
				t.Errorf("%s: %s: %s, without %q", name, w.Slug, w.Message, part)
			}
		}
	}
}
