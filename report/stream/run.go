package stream

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
)

// mostTasks is how many tasks of a stream a format shows that is made for runs: the longest.
const mostTasks = 5000

// AsRun is the Writer of a stream for a format that writes runs.
func AsRun(write func(w io.Writer, r *report.Run, o format.Options) error) format.Writer {
	return format.Writes(func(w io.Writer, s *Stream, o format.Options) error {
		r, err := s.Run()
		if err != nil {
			return err
		}
		return write(w, r, o)
	})
}

// Run is what formats for runs show of a stream: functions and call paths of its tasks, and the longest tasks.
// Energies are not known. A step of a clock that is none of time counts as a nanosecond.
func (s *Stream) Run() (*report.Run, error) {
	sums, err := s.Sums()
	if err != nil {
		return nil, err
	}
	r := report.PartOf("hespas")
	r.Meta = report.Meta{SchemaVersion: report.SchemaVersion, Tool: "hespas", CgVersion: s.Version, RunID: "stream",
		Granularity: "fine", MeasurementQuality: "checkpoints_only", DomainSupport: "none", Argv: []string{},
		CgEnv: map[string]string{}}
	r.Warnings = []report.Warning{}
	if tasks := (tallest{most: mostTasks}); sums.Spans > 0 {
		if err := s.Replay(Handler{Span: tasks.add}); err != nil {
			return nil, err
		}
		r.Tasks = tasks.inOrder()
	}
	r.Totals = report.Totals{Domains: map[string]report.Joules{}, NTasks: sums.Spans}
	r.Totals.Kind = nemb.Unavailable
	whole := report.Task{Name: "stream", Domains: map[string]report.Joules{}}
	whole.Kind = nemb.Unavailable
	for _, c := range sums.Clocks {
		if long := float64(c.To-c.From) * 1e-9; long >= r.Totals.DurationS {
			r.Totals.DurationS, whole.DurationS = long, long
			whole.StartedAtMonoNs, whole.EndedAtMonoNs = c.From, c.To
		}
	}
	r.Tasks = append([]report.Task{whole}, r.Tasks...)
	r.Meta.DurationTotalS = r.Totals.DurationS
	r.Paths = append(r.Paths, report.Path{Parent: -1})
	ids := map[nameKey]uint32{}
	for i, n := range sums.Names {
		id := uint32(i + 1)
		name := titled(n.Clock, n.Name)
		ids[nameKey{n.Clock, n.Name}] = id
		r.Sites = append(r.Sites, report.Site{ID: id, Name: name, Kind: "function", Calls: uint64(n.Calls)})
		r.Functions = append(r.Functions, report.Function{Name: name, Kind: "function", Calls: uint64(n.Calls),
			EnergyKind: nemb.Unavailable, SelfTimeS: float64(n.Self) * 1e-9, InclusiveTimeS: float64(n.Total) * 1e-9,
			Domains: map[string]report.Joules{}, Unresolved: "no sensor"})
	}
	for _, p := range sums.Paths {
		path := report.Path{Parent: p.Parent + 1, Site: ids[nameKey{p.Clock, p.Name}], Calls: uint64(p.Calls),
			SelfTimeS: float64(p.Self) * 1e-9}
		if path.Site == 0 {
			path.Task = titled(p.Clock, p.Name)
		}
		r.Paths = append(r.Paths, path)
	}
	if len(sums.Clocks) > 1 || len(sums.Clocks) == 1 && sums.Clocks[0].Name != "" {
		r.Warn("hespas-order",
			fmt.Sprintf("events in a unit that is none of time are only in an order: %s", clocks(sums)))
	}
	if n := sums.Spans - len(r.Tasks) + 1; n > 0 {
		r.Warn("hespas-tasks", fmt.Sprintf("the %d longest of %d tasks are shown one by one; the sums are of all",
			len(r.Tasks)-1, sums.Spans))
	}
	return r, nil
}

func clocks(s *Sums) string {
	text := ""
	for _, c := range s.Clocks {
		if c.Name != "" {
			text += fmt.Sprintf("%d events in %q; ", c.Events, c.Name)
		}
	}
	return text + "a step is shown as a nanosecond (--rate gives cycles a place in time)"
}

// titled is a name with the clock that it is on, if that is none of time.
func titled(clock, name string) string {
	if clock == "" {
		return name
	}
	return name + " [" + clock + "]"
}

// tallest keeps the longest spans, as tasks.
type tallest struct {
	most  int
	tasks []report.Task
}

func (t *tallest) Len() int           { return len(t.tasks) }
func (t *tallest) Less(i, k int) bool { return t.tasks[i].LastedNs() < t.tasks[k].LastedNs() }
func (t *tallest) Swap(i, k int)      { t.tasks[i], t.tasks[k] = t.tasks[k], t.tasks[i] }
func (t *tallest) Push(x any)         { t.tasks = append(t.tasks, x.(report.Task)) }
func (t *tallest) Pop() any {
	last := t.tasks[len(t.tasks)-1]
	t.tasks = t.tasks[:len(t.tasks)-1]
	return last
}

func (t *tallest) add(s *Span) error {
	task := s.Task()
	if len(t.tasks) < t.most {
		heap.Push(t, task)
	} else if task.LastedNs() > t.tasks[0].LastedNs() {
		t.tasks[0] = task
		heap.Fix(t, 0)
	}
	return nil
}

func (t *tallest) inOrder() []report.Task {
	slices.SortStableFunc(t.tasks, func(a, b report.Task) int {
		return cmp.Or(cmp.Compare(a.StartedAtMonoNs, b.StartedAtMonoNs), cmp.Compare(a.Depth, b.Depth),
			cmp.Compare(a.Name, b.Name))
	})
	return t.tasks
}

// Task is a span as a task of a run. Its energy is that of its metadata, if they have one.
func (s *Span) Task() report.Task {
	t := report.Task{Name: titled(s.Clock, s.Name), Depth: s.Depth + 1, StartedAtMonoNs: s.From, EndedAtMonoNs: s.To,
		DurationS: float64(s.To-s.From) * 1e-9, Domains: map[string]report.Joules{}}
	if s.Parent != nil {
		name := titled(s.Parent.Clock, s.Parent.Name)
		t.Parent = &name
	}
	t.Kind = nemb.Unavailable
	if e, ok := s.Energy(); ok {
		var j report.Joules
		if json.Unmarshal(strconv.AppendFloat(nil, e, 'f', 6, 64), &j) == nil {
			t.EnergyJ = &j
			t.Kind = nemb.Derived
			t.Method = "metadata"
		}
	}
	return t
}
