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
