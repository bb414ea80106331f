package html

import (
	"slices"
	"testing"

	"cg/report"
)

// The page tells no power of a test that others of it outlived.
func TestOutlivedTasks(t *testing.T) {
	tasks := tasksOf(&report.Run{Tasks: []report.Task{{}, {Outlived: true}, {}}}, func(string) int { return 0 })
	if !slices.Equal(tasks.Outlived, []int{1}) || len(tasks.Name) != 3 {
		t.Errorf("%+v", tasks)
	}
}

// A function of a run without checkpoints has stack samples where others have calls, of which none are known.
func TestSampledFunctions(t *testing.T) {
	r := &report.Run{Functions: []report.Function{{StackSamples: 7}, {Calls: 3}}}
	text := func(string) int { return 0 }
	if got := functionsOf(r, text).Calls; !slices.Equal(got, []uint64{0, 3}) {
		t.Errorf("calls %v", got)
	}
	r.StackSampling = &report.StackSampling{}
	if got := functionsOf(r, text).Calls; !slices.Equal(got, []uint64{7, 0}) {
		t.Errorf("samples %v", got)
	}
}
