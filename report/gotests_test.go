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
	r.machineInTasks(steadyMachine(1000), nil)
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

// What is told of a share is not the power of a test that others of it outlived.
func TestGoTestsOutlived(t *testing.T) {
	joules := attribute.Value{Energy: 2e6, Lo: 1e6, Hi: 3e6}
	cost := func(site checkpoint.SiteID, cut uint64) attribute.Cost {
		return attribute.Cost{Site: site, Calls: 2, Cut: cut, InclusiveTime: 100 * time.Millisecond, Inclusive: joules}
	}
	begun := map[checkpoint.SiteID]checkpoint.Instant{1: 0, 2: 50 * msInstant, 3: 0}
	took := Span{Iterations: 1, Took: 200 * time.Millisecond}
	parallel := Span{Iterations: 1, Took: 200 * time.Millisecond, Paused: 60 * msInstant, Continued: 200 * msInstant}
	for _, test := range []struct {
		name string
		x    Span
		cut  uint64 // of TestB
		want map[string]bool
	}{
		{"in a row", took, 0, map[string]bool{}},
		{"parallel", parallel, 0, map[string]bool{"TestA": true}},
		{"a goroutine that did not end", took, 1, map[string]bool{"TestB": true}},
	} {
		tests := goTests([]attribute.Cost{cost(1, 0), cost(2, 0), cost(3, test.cut)}, begun, map[checkpoint.SiteID]Span{1: took, 2: test.x, 3: took})
		for name, task := range tests {
			if w := task.UsedPowerW(); (w == nil) != test.want[name] || task.Outlived != test.want[name] || task.ProgramEnergyJ == nil {
				t.Errorf("%s: %s: %+v", test.name, name, task)
			}
		}
	}
}

// A test that did not end was there until the program's end at most, however many
// goroutines it had.
func TestGoTestsThatDidNotEnd(t *testing.T) {
	tests := goTests([]attribute.Cost{
		{Site: 1, Calls: 8, InclusiveTime: 3 * time.Second, Suspended: 4 * time.Second},
		{Site: 3, Calls: 1, InclusiveTime: 100 * time.Millisecond, Suspended: 50 * time.Millisecond},
	}, map[checkpoint.SiteID]checkpoint.Instant{1: 400 * msInstant, 3: 0}, map[checkpoint.SiteID]Span{1: {}, 3: {}})
	for name, want := range map[string]float64{"TestA": 0.6, "TestB": 0.15} {
		if got := tests[name].DurationS; got != want {
			t.Errorf("%s lasted %g s, want %g", name, got, want)
		}
	}
}
