package report

import (
	"cmp"
	"slices"

	"cg/kernels"
	"cg/measure"
	"cg/nemb"
)

// GPURange is what a range of NVTX used on GPUs: by what was launched in it and in no range within it, and with these.
// The task of the same name has the machine's energy while it ran.
type GPURange struct {
	Name      string  `json:"name"` // with the ranges around it: step/forward
	Runs      uint64  `json:"runs"`
	TimeS     float64 `json:"time_s"`          // of the range
	Launches  uint64  `json:"launches"`        // on GPUs that have a domain, as the times
	SelfTimeS float64 `json:"self_gpu_time_s"` // on GPUs
	GPUTimeS  float64 `json:"inclusive_gpu_time_s"`
	Self      GPUUse  `json:"self"`
	Inclusive GPUUse  `json:"inclusive"`
}

// rangeName is a range's name behind those of the ranges around it.
func rangeName(r *kernels.Range) string {
	if r.Around == nil {
		return r.Name
	}
	return rangeName(r.Around) + "/" + r.Name
}

// rangeSum is what was launched in a range.
type rangeSum struct{ self, all activitySum }

// rangesOf are those of the program, by falling energy, or time where that is not known. known is whether launches on
// all GPUs are told, and energies of one at least: then that of a range without a launch is 0.
func (s *kernelSums) rangesOf(all []*kernels.Range, known bool) (list []GPURange) {
	for _, r := range all {
		sum := s.ranges[r]
		if sum == nil {
			sum = &rangeSum{}
		}
		one := GPURange{Name: rangeName(r), Runs: r.Count, TimeS: r.Time.Seconds(), Launches: sum.self.runs,
			SelfTimeS: sum.self.time.Seconds(), GPUTimeS: sum.all.time.Seconds(), Self: sum.self.within(&sum.all),
			Inclusive: sum.all.use()}
		if known && sum.all.runs == 0 {
			one.Self, one.Inclusive = noUse(), noUse()
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b GPURange) int {
		return cmp.Or(cmp.Compare(value(b.Inclusive.EnergyJ), value(a.Inclusive.EnergyJ)),
			cmp.Compare(b.GPUTimeS, a.GPUTimeS), cmp.Compare(b.TimeS, a.TimeS))
	})
	return list
}

// ranges makes tasks of the ranges that the program named by NVTX, where they were gathered. Their energies are
// divided among them alone: a test that runs meanwhile keeps its own.
func (r *Run) ranges(o *measure.Outcome) {
	if o.Kernels == nil || len(r.Tasks) == 0 {
		return
	}
	program, names := r.Tasks[0], map[*kernels.Range]string{}
	var tasks []Task
	for _, g := range o.Kernels.Log.Ranges {
		if len(g.Spans) == 0 {
			continue
		}
		t := Task{Name: rangeName(g), Depth: 1, Parent: &program.Name, Iterations: &g.Count,
			Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{}, stretches: stretchesOf(g.Spans),
			Provenance: Provenance{Kind: nemb.Unavailable, Method: "sampled", Source: r.Totals.Source}}
		for up := g.Around; up != nil; up = up.Around {
			t.Depth++
		}
		if name, there := names[g.Around]; there {
			t.Parent = &name
		}
		names[g] = t.Name
		t.StartedAtMonoNs, t.EndedAtMonoNs = t.stretches[0].from, t.stretches[len(t.stretches)-1].to
		t.clock(program)
		tasks = append(tasks, t)
	}
	slices.SortStableFunc(tasks, func(a, b Task) int { return cmp.Compare(a.StartedAtMonoNs, b.StartedAtMonoNs) })
	r.machineIn(tasks, o.Series, o.Attributed.GPUs)
	r.Tasks = append(r.Tasks, tasks...)
	r.Totals.NTasks = len(r.Tasks)
}

// IsRange reports whether a task is a range of NVTX. They alone tell how often they ran, and have no share of the
// program.
func (t *Task) IsRange() bool { return t.Iterations != nil && t.ProgramShare == nil }

// TaskWord is what a task of a run is called: a test where all are tests, else a task, as those of a session, ranges
// and routes.
func (r *Run) TaskWord() string {
	if r.part == PartSession || slices.ContainsFunc(r.Tasks, func(t Task) bool { return t.IsRange() || t.IsRoute() }) {
		return "task"
	}
	return "test"
}

// stretchesOf are the times of spans that may overlap, as those of several threads do.
func stretchesOf(spans []kernels.Span) (all []stretch) {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b kernels.Span) int { return cmp.Compare(a.From, b.From) })
	for _, s := range spans {
		if n := len(all); n > 0 && int64(s.From) <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, int64(s.To))
			continue
		}
		all = append(all, stretch{int64(s.From), int64(s.To)})
	}
	return all
}
