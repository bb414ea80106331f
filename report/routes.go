package report

import (
	"cmp"
	"fmt"
	"slices"

	"cg/measure"
	"cg/monitor"
	"cg/nemb"
)

// requestUnit is the unit of work of a task that is a route.
const requestUnit = "request"

// IsRoute reports whether a task of a run is all requests of a route (annotate_request): what it counts are requests.
func (t *Task) IsRoute() bool {
	return len(t.Units) == 1 && t.Units[0].Name == requestUnit && t.Iterations == nil
}

// routes makes a task of each route of the program's requests. Its energy is the program's alone, and has nothing of
// GPUs. All routes together have no more than the program.
func (r *Run) routes(o *measure.Outcome) {
	if len(o.Routes) == 0 || len(r.Tasks) == 0 {
		return
	}
	program, known, scale, sum := r.Tasks[0], r.Totals.ProgramEnergyJ != nil && r.byFunction(), 1.0, 0.0
	for i := range o.Routes {
		sum += o.Routes[i].Joules
	}
	total := o.Attributed.Total
	if whole := (total.Program() - total.GPU).Joules(); sum > whole { // its idle power is that of the whole run
		scale = whole / sum
	}
	var tasks []Task
	for i := range o.Routes {
		tasks = append(tasks, r.route(&o.Routes[i], program, known, scale))
	}
	slices.SortStableFunc(tasks, func(a, b Task) int { return cmp.Compare(a.StartedAtMonoNs, b.StartedAtMonoNs) })
	r.Tasks = append(r.Tasks, tasks...)
	r.Totals.NTasks = len(r.Tasks)
	if n := o.RequestsIgnored; n > 0 {
		r.Warn("requests-ignored", fmt.Sprintf("%d beginnings and ends of requests were of no use: they were of "+
			"processes that are not there, of too many requests at once, or ends without a beginning", n))
	}
}

// route is the task of a route, with so much of what the book says it used.
func (r *Run) route(route *monitor.Route, program Task, known bool, scale float64) Task {
	count := float64(route.Count + route.Open)
	t := Task{
		Name: route.Name, Depth: 1, Parent: &program.Name, Domains: map[string]Joules{},
		DomainsPowerW: map[string]float64{}, ProgramShare: &ProgramShare{},
		StartedAtMonoNs: int64(route.Began), EndedAtMonoNs: int64(route.Ended),
		Provenance: Provenance{Kind: nemb.Unavailable, Method: "sampled", Source: r.Totals.Source},
		Units:      []Unit{{Name: requestUnit, Count: count}},
	}
	if route.Open > 0 {
		t.EndedAtMonoNs = program.EndedAtMonoNs
	}
	t.clock(program)
	t.DurationS, t.SuspendedS = route.Time.Seconds(), 0
	if !known {
		return t
	}
	of := func(v float64) *Joules { return joules(nemb.Energy(max(0, v) * 1e6)) }
	value := of(route.Joules * scale)
	lo, hi := min(*of(route.Lo * scale), *value), max(*of(route.Hi), *value)
	*t.ProgramShare = ProgramShare{value, &lo, &hi}
	each := func(j Joules) *float64 {
		v := j.Float() / count
		return &v
	}
	u := &t.Units[0]
	u.ProgramJ, u.ProgramLo, u.ProgramHi = each(*value), each(lo), each(hi)
	return t
}
