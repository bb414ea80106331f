package report

import (
	"testing"

	"cg/checkpoint"
	"cg/nemb"
)

// Of a benchmark's runs the one that is reported is a task.
func TestBenchmarkTasks(t *testing.T) {
	for name, c := range map[string]struct {
		span Span
		want int
	}{
		"reported": {Span{Bench: true, Iterations: 10, Took: 200_000_000}, 3},
		"ramp":     {Span{Bench: true}, 2},
		"test":     {Span{Iterations: 1, Took: 200_000_000}, 3},
	} {
		r, tests := suiteWith(nemb.Measured, map[checkpoint.SiteID]Span{2: c.span})
		if len(r.Tasks) != c.want || r.Totals.NTasks != c.want {
			t.Errorf("%s: %d tasks, want %d", name, len(r.Tasks), c.want)
		}
		if c.want == 3 && (tests[0].DurationS != 0.2 || (tests[0].Iterations != nil) != c.span.Bench ||
			*tests[0].Package != "/home/u/test_shop.py") {
			t.Errorf("%s: %+v", name, tests[0])
		}
		if b, err := r.JSON(); err != nil {
			t.Error(err)
		} else {
			validate(t, b)
		}
	}
}
