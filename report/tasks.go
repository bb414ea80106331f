package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/runtimes/sdk/spec"
)

// ProgramShare is the program's part of the machine's energy in a task, with its 95 %
// interval; null where it is not known. Of a session's file tasks have it where all at the
// top level do.
type ProgramShare struct {
	ProgramEnergyJ   *Joules `json:"program_energy_j"`
	ProgramEnergyLoJ *Joules `json:"program_energy_lo_j"`
	ProgramEnergyHiJ *Joules `json:"program_energy_hi_j"`
}

// Used is what a task is said to have used, with its interval: the program's share where
// it has one, else the machine's energy. Nil where that is not known.
func (t Task) Used() (e, lo, hi *Joules) {
	if s := t.ProgramShare; s != nil {
		return s.ProgramEnergyJ, s.ProgramEnergyLoJ, s.ProgramEnergyHiJ
	}
	return t.EnergyJ, t.LoJ, t.HiJ
}

// UsedPowerW is the mean power of what a task used, nil where that is not known, or is of
// a longer time than the task.
func (t Task) UsedPowerW() *float64 {
	e, _, _ := t.Used()
	if e == nil || t.DurationS <= 0 || t.Outlived {
		return nil
	}
	w := e.Float() / t.DurationS
	return &w
}

// UsedKind is the kind of what a task of a run used. What the machine used in a task may
// not be known where its program's share is: the share is then of the run's kind.
func (r *Run) UsedKind(t Task) nemb.Method {
	if e, _, _ := t.Used(); e == nil {
		return nemb.Unavailable
	}
	if t.Kind == nemb.Unavailable {
		return r.Totals.Kind
	}
	return t.Kind
}

// wholeOf makes the energies of a task those of the whole run.
func (t *Task) wholeOf(of Totals) {
	copied := func(j *Joules) *Joules {
		if j == nil {
			return nil
		}
		c := *j
		return &c
	}
	t.EnergyJ, t.AvgPowerW, t.Provenance = copied(of.EnergyJ), of.AvgPowerW, of.Provenance
	t.LoJ, t.HiJ = copied(of.LoJ), copied(of.HiJ)
	t.Domains, t.DomainsPowerW = maps.Clone(of.Domains), maps.Clone(of.DomainsPowerW)
	t.ProgramShare = &ProgramShare{copied(of.ProgramEnergyJ), copied(of.ProgramEnergyLoJ), copied(of.ProgramEnergyHiJ)}
}

// machineInTasks gives the tasks within the program the machine's energy while they ran.
// Tasks that ran at the same time share it: at each moment it is divided equally among
// those that have no task within them.
func (r *Run) machineInTasks(series nemb.Series, divisions []*gpus.Division) {
	if len(r.Tasks) > 1 {
		r.machineIn(r.Tasks[1:], series, divisions)
	}
}

// machineIn does so for some tasks, whatever others there are.
func (r *Run) machineIn(tasks []Task, series nemb.Series, divisions []*gpus.Division) {
	if r.Totals.EnergyJ == nil || len(series.Samples) < 2 {
		return
	}
	s := sharing{domains: series.Domains, tasks: tasks, share: make([]float64, len(series.Domains))}
	for d := range series.Domains {
		s.knots = append(s.knots, series.Knots(d))
	}
	s.divide()
	for i := range s.tasks {
		s.tell(i, r.Totals)
		s.gpusInTasks(i, divisions)
	}
}

// sharing divides the energy of domains among tasks that may overlap.
type sharing struct {
	domains []nemb.Domain
	knots   [][]nemb.Knot // of each domain
	tasks   []Task
	states  []sharingTask
	// share is what a task has of each domain's energy, in joules, that has shared since
	// the beginning.
	share   []float64
	leaves  int   // that share now
	crowded int64 // ns since the beginning in which several shared
}

// sharingTask is how far a task is.
type sharingTask struct {
	within int   // the task around it, -1 for none
	open   bool  // it runs: it has begun, does not wait, and has not ended
	inside int   // tasks within it that run
	leaf   bool  // it runs and has none within it
	shared bool  // it was not alone
	since  int64 // sharing.crowded when it began or went on
	// leaves are those that share now, of it and the tasks within it. What these all have
	// had of a domain is settled + leaves * sharing.share.
	leaves  int
	settled []float64
	before  []float64 // what they had had when it began or went on
	joules  []float64 // what they had while it ran
}

// had is what a task and the tasks within it have had of a domain, in joules.
func (s *sharing) had(t *sharingTask, d int) float64 {
	return t.settled[d] + float64(t.leaves)*s.share[d]
}

// stretch is a time in which a task ran, in nanoseconds of CLOCK_MONOTONIC.
type stretch struct{ from, to int64 }

// ran are the times in which a task ran, in their order: two where it waited in between, many for a range.
func (t Task) ran() []stretch {
	if t.stretches != nil {
		return t.stretches
	}
	end := t.StartedAtMonoNs + t.LastedNs()
	if t.StartedAtMonoNs <= t.paused && t.paused < t.continued && t.continued <= end {
		return []stretch{{t.StartedAtMonoNs, t.paused}, {t.continued, end}}
	}
	return []stretch{{t.StartedAtMonoNs, end}}
}

// moment is where a task begins or goes on, or where it ends or waits.
type moment struct {
	at     int64
	task   int
	begins bool
	order  int // of those at one time
}

// moments are all begins and ends in their order. At one time those that end go first,
// the inner ones before the outer ones, but a task does not end before it begins.
func moments(tasks []Task) []moment {
	var all []moment
	for i, t := range tasks {
		for _, s := range t.ran() {
			end := moment{s.to, i, false, -i - 1}
			if s.to == s.from {
				end.order = 2*len(tasks) - i
			}
			all = append(all, moment{s.from, i, true, i}, end)
		}
	}
	slices.SortFunc(all, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	return all
}

// around finds the task that each lies in: in Go a test whose name goes on with a slash.
func around(tasks []Task) []sharingTask {
	type name struct{ of, name string }
	known := map[name]int{}
	states := make([]sharingTask, len(tasks))
	for i, t := range tasks {
		of := ""
		if t.Package != nil {
			of = *t.Package
		}
		states[i].within = -1
		for outer := t.Name; states[i].within < 0; {
			k := strings.LastIndexByte(outer, '/')
			if k < 0 {
				break
			}
			outer = outer[:k]
			if up, ok := known[name{of, outer}]; ok {
				states[i].within = up
			}
		}
		known[name{of, t.Name}] = i
	}
	return states
}

// divide finds what part of the machine's energy each task has in each domain: its own, and
// what the tasks within it have while it runs itself. It looks at each begin and each end
// once, however many tasks are open meanwhile.
func (s *sharing) divide() {
	s.states = around(s.tasks)
	n := len(s.domains)
	sums := make([]float64, 3*n*len(s.states))
	for i := range s.states {
		t, own := &s.states[i], sums[3*n*i:]
		t.settled, t.before, t.joules = own[:n], own[n:2*n], own[2*n:3*n]
	}
	var at int64
	for _, m := range moments(s.tasks) {
		s.pass(at, m.at)
		at = m.at
		t := &s.states[m.task]
		t.open = m.begins
		if m.begins {
			t.since = s.crowded
			for d := range t.before {
				t.before[d] = s.had(t, d)
			}
		} else {
			t.shared = t.shared || s.crowded > t.since
			for d := range t.joules {
				t.joules[d] += s.had(t, d) - t.before[d]
			}
		}
		s.turn(m.task)
		if t.within < 0 {
			continue
		}
		up := &s.states[t.within]
		if m.begins {
			up.inside++
		} else {
			up.inside--
		}
		s.turn(t.within)
	}
}

// pass lets time pass in which nothing begins or ends.
func (s *sharing) pass(from, to int64) {
	if s.leaves == 0 || to <= from {
		return
	}
	if s.leaves > 1 {
		s.crowded += to - from
	}
	for d, domain := range s.domains {
		span, ok := nemb.Across(s.knots[d], float64(from), float64(to))
		if ok && (s.leaves == 1 || domain.FollowsProcessors()) { // nothing tells whose the energy of a GPU is
			s.share[d] += span.Joules / float64(s.leaves)
		}
	}
}

// turn makes a task one that shares, or one that does not.
func (s *sharing) turn(i int) {
	t := &s.states[i]
	leaf := t.open && t.inside == 0
	if leaf == t.leaf {
		return
	}
	t.leaf = leaf
	by := 1
	if !leaf {
		by = -1
	}
	s.leaves += by
	for ; i >= 0; i = s.states[i].within {
		t := &s.states[i]
		t.leaves += by
		for d := range s.share {
			t.settled[d] -= float64(by) * s.share[d]
		}
	}
}

// used is the machine's energy in a domain while a task ran, and how much less and more
// it may be, in joules; false where it is not known.
func (s *sharing) used(d int, t *Task) (joules, less, more float64, method string, ok bool) {
	method = spec.MethodBracket
	for _, r := range t.ran() {
		from, to := float64(r.from), float64(r.to)
		span, ok := nemb.Across(s.knots[d], from, to)
		if !ok {
			return 0, 0, 0, "", false
		}
		if span.Method != spec.MethodBracket {
			method = span.Method
			l, m := unseen(s.knots[d], from, to, s.domains[d].Period)
			less, more = less+l, more+m
		}
		off := math.Hypot(span.Slack, s.domains[d].Habits.Off(s.knots[d], from, to))
		joules, less, more = joules+span.Joules, less+off, more+off
	}
	return joules, less, more, method, true
}

// tell fills in the energy of a task. It is not known where that of a domain is not.
func (s *sharing) tell(i int, totals Totals) {
	t, state := &s.tasks[i], &s.states[i]
	if t.again {
		return
	}
	p := Provenance{Kind: totals.Kind, Method: spec.MethodBracket, Source: totals.Source}
	var sum nemb.Energy
	var lo, hi float64
	for d, domain := range s.domains {
		used, less, more, method, ok := s.used(d, t)
		if !ok {
			if domain.InTotal {
				return
			}
			continue
		}
		part := used
		if state.shared {
			part, p.Method = max(0, min(part, state.joules[d])), spec.MethodShared
			if used > 0 {
				less, more = less*part/used, more*part/used
			}
		} else if method != spec.MethodBracket {
			p.Method = method
		}
		e := nemb.Energy(math.Round(part * 1e6))
		t.Domains[domain.ID] = Joules(e)
		if w := power(e, time.Duration(math.Round(t.DurationS*1e9))); w != nil {
			t.DomainsPowerW[domain.ID] = *w
		}
		if domain.InTotal {
			sum += e
			lo += max(0, part-less-domain.Step.Joules()) * domain.Lo
			hi += (part + more + domain.Step.Joules()) * domain.Hi
		}
	}
	t.EnergyJ = joules(sum)
	if t.DurationS > 0 {
		w := t.EnergyJ.Float() / t.DurationS
		t.AvgPowerW = &w
	}
	p.LoJ, p.HiJ = joules(nemb.Energy(math.Floor(lo*1e6))), joules(nemb.Energy(math.Ceil(hi*1e6)))
	*p.LoJ, *p.HiJ = min(*p.LoJ, *t.EnergyJ), max(*p.HiJ, *t.EnergyJ)
	if totals.HiJ == nil {
		p.HiJ = nil
	}
	t.Provenance = p
}

// apart is how many periods of a counter its updates may be apart and be seen one by one.
const apart = 1.5

// unseen is how much less and more a span may have, in joules, than the mean power between
// two updates makes it, where samples are further apart than the counter's period: when
// in between the energy was used is not known.
func unseen(k []nemb.Knot, from, to float64, period time.Duration) (less, more float64) {
	behind := func(t float64) int { // the update after t
		return min(max(1, sort.Search(len(k), func(i int) bool { return k[i].At > t })), len(k)-1)
	}
	add := func(i int, from, to float64) { // the part of the span between two updates
		a, b := k[i-1], k[i]
		if b.At-a.At <= apart*float64(period) {
			return
		}
		inside := (b.Joules - a.Joules) * min(1, max(0, (to-from)/(b.At-a.At)))
		less += inside
		more += b.Joules - a.Joules - inside
	}
	i, j := behind(from), behind(to)
	if i == j {
		add(i, from, to)
		return less, more
	}
	add(i, from, k[i].At)
	add(j, k[j-1].At, to)
	return less, more
}

// Gauge is what a gauge showed during a task, in its own unit.
type Gauge struct {
	Mean     float64 `json:"mean"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Readings int     `json:"readings"`
}

// LastedNs is how long a task was, in nanoseconds.
func (t Task) LastedNs() int64 { return max(t.EndedAtMonoNs-t.StartedAtMonoNs, 0) }
