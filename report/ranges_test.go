package report

import (
	"fmt"
	"strings"
	"testing"

	"cg/kernels"
	"cg/measure"
	"cg/nemb/attribute/gpus"
)

// What a range used is 0 only where it is known that it launched nothing: not where its launches are on a GPU whose
// energy is not divided, or on one that has no domain.
func TestRangesUnknown(t *testing.T) {
	step, quiet := &kernels.Range{Name: "step", Count: 3}, &kernels.Range{Name: "quiet", Count: 1}
	forward := &kernels.Range{Name: "forward", Around: step, Count: 3}
	run := func(unknown int, divided, undivided *kernels.Range) string {
		gpu := func(domain string, r *kernels.Range, parts []gpus.Part) measure.KernelsOfGPU {
			return measure.KernelsOfGPU{Domain: domain, Parts: parts, GPU: &kernels.GPU{
				Activities: []*kernels.Activity{{Name: "k", Range: r, Count: 3, Time: 1e6}}}}
		}
		r := &Run{GPUs: &GPUs{}}
		r.kernels(&measure.Kernels{Log: &kernels.Log{Ranges: []*kernels.Range{step, forward, quiet}}, Unknown: unknown,
			GPUs: []measure.KernelsOfGPU{gpu("gpu0", divided, []gpus.Part{{Energy: 2e6, Lo: 1e6, Hi: 3e6}}),
				gpu("gpu1", undivided, nil)}}, nil, nil)
		text := ""
		for _, g := range r.GPUs.Ranges {
			energy := func(j *Joules) string {
				if j == nil {
					return "?"
				}
				return fmt.Sprint(j.Float())
			}
			text += fmt.Sprintf("%s %d: %s of %s; ", g.Name, g.Launches, energy(g.Self.EnergyJ), energy(g.Inclusive.EnergyJ))
		}
		return text
	}
	for _, k := range []struct {
		name               string
		unknown            int
		divided, undivided *kernels.Range
		want               string
	}{
		{"all known", 0, step, step, "step 6: 2 of 2; step/forward 0: 0 of 0; quiet 0: 0 of 0; "},
		{"launched where energy is not divided", 0, step, quiet, "step 3: 2 of 2; step/forward 0: 0 of 0; quiet 3: ? of ?; "},
		{"a GPU without a domain", 1, step, step, "step 6: 2 of 2; step/forward 0: ? of ?; quiet 0: ? of ?; "},
		{"within", 0, forward, nil, "step 0: 0 of 2; step/forward 3: 2 of 2; quiet 0: 0 of 0; "},
		{"itself where it is not divided", 0, forward, step, "step 3: ? of 2; step/forward 3: 2 of 2; quiet 0: 0 of 0; "},
	} {
		if got := run(k.unknown, k.divided, k.undivided); got != k.want {
			t.Errorf("%s: %s\nwant %s", k.name, got, k.want)
		}
	}
}

func TestTaskWord(t *testing.T) {
	program, n := Task{Name: "app"}, uint64(3)
	test := Task{Name: "bench", Iterations: &n, ProgramShare: &ProgramShare{}}
	for want, r := range map[string]*Run{
		"test":  {Tasks: []Task{program, test}},
		"task":  {Tasks: []Task{program, test, {Name: "step", Iterations: &n}}},
		"task ": {Tasks: []Task{program, {Name: "GET /", Units: []Unit{{Name: "request", Count: 2}}}}},
	} {
		want = strings.TrimSpace(want)
		if got := r.TaskWord(); got != want {
			t.Errorf("%s: %s", want, got)
		}
	}
}
