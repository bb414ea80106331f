package report

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

const msInstant = checkpoint.Instant(time.Millisecond)

// goTests are the tasks of tests of a Go program that ran for a second at 20 W, by name.
func goTests(costs []attribute.Cost, begun map[checkpoint.SiteID]checkpoint.Instant, spans map[checkpoint.SiteID]Span) map[string]Task {
	var sites []checkpoint.Site
	for i, name := range []string{"TestA", "TestA/x", "TestB"} {
		sites = append(sites, checkpoint.Site{ID: checkpoint.SiteID(i + 1), Language: "go", Func: name, File: "acme/a", Kind: checkpoint.Task})
	}
	r := &Run{Tasks: []Task{{Name: "go test", EndedAtMonoNs: 1e9}}}
	r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.Kind, r.Totals.ProgramEnergyJ = new(Joules), new(Joules), nemb.Measured, new(Joules)
	r.Tests(attribute.Result{Costs: costs}, sites, begun, spans)
	r.machineInTasks(steadyMachine(1000))
	tests := map[string]Task{}
	for _, t := range r.Tasks[1:] {
		tests[t.Name] = t
	}
	return tests
}

// Each goroutine that a Go test starts is a call of its span, as each parallel subtest is.
// What the machine used meanwhile is known all the same.
func TestGoTestsWithGoroutines(t *testing.T) {
	cost := func(site checkpoint.SiteID, calls uint64) attribute.Cost {
		return attribute.Cost{Site: site, Calls: calls, InclusiveTime: 100 * time.Millisecond}
	}
	tests := goTests([]attribute.Cost{cost(1, 3), cost(2, 2), cost(3, 5)},
		map[checkpoint.SiteID]checkpoint.Instant{1: 0, 2: 50 * msInstant, 3: 0},
		map[checkpoint.SiteID]Span{
			1: {Iterations: 1, Took: 100 * time.Millisecond}, 3: {Iterations: 1, Took: 100 * time.Millisecond},
			2: {Iterations: 1, Took: 850 * time.Millisecond, Paused: 50 * msInstant, Continued: 100 * msInstant},
		})
	for name, want := range map[string]float64{"TestA": 1, "TestA/x": 16, "TestB": 1} {
		task := tests[name]
		if task.EnergyJ == nil || task.Domains["package-0"].Float() != want {
			t.Errorf("%s: %+v, want %g J of the processors", name, task, want)
		}
	}
}
