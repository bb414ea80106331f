package html

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
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

// A run on a GPU that is of no kernel, as a file that was changed can have, is left out.
func TestRunOfNoKernel(t *testing.T) {
	r := &report.Run{GPUs: &report.GPUs{Kernels: []report.GPUKernel{{Domain: "gpu0", Name: "k", Runs: 1}},
		KernelRuns: []report.GPURun{{Kernel: -1}, {Kernel: 0, EndedAtMonoNs: 5}, {Kernel: 1}}}}
	line, err := pageTimelineOf(r, 0, format.Options{})
	if err != nil || len(line.GPUs) != 1 || len(line.GPUs[0].From) != 1 {
		t.Errorf("%+v, %v", line, err)
	}
}

// The page has the threads' names, of all languages, and not what no view of it shows.
func TestWhatAPageHas(t *testing.T) {
	n := uint64(2)
	r := &report.Run{GPUMetrics: &report.GPUMetrics{TriggerMode: "time"}, GPUs: &report.GPUs{Ranges: []report.GPURange{{Name: "step"}}},
		Threads: []report.Thread{{PID: 7, TID: 7, Comm: "java"}, {PID: 7, TID: 8, Comm: "pool-1-thread-1"}, {PID: 7, TID: 9, Comm: "java"}},
		Tasks:   []report.Task{{}, {Name: "step", Iterations: &n}}}
	b, err := json.Marshal(pageRunOf(r, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"thread_names":["java","pool-1-thread-1"]`, `"task_word":"task"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	for _, no := range []string{`"gpu_metrics":{`, `"ranges":[`, `"threads":[`} {
		if strings.Contains(string(b), no) {
			t.Errorf("%s in %s", no, b)
		}
	}
}

// The page of a command that ran many times tells its hours, from 0.01 on.
func TestPageHasHours(t *testing.T) {
	r := reporttest.Repeated(t, nemb.Measured, 2)
	r.Commands[0].Hours = &report.Hours{Core: 1536}
	if b := reporttest.Write(t, "html", r, format.Options{}); !strings.Contains(string(b), "Hours: 1536 core-hours of processor time") {
		t.Error("no hours")
	}
}
