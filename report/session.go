package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cg/nemb"
)

// sessionTool is meta.tool of a session's file (docs/session.md).
const sessionTool = "codegreen.Session"

// sessionFile is what a session adds to a run's envelope. Fields that it has
// in another form than a run hide those.
type sessionFile struct {
	Meta struct {
		Meta
		Sampler struct {
			Via        string  `json:"via"`
			IntervalMs float64 `json:"interval_ms"`
			Samples    int     `json:"samples"`
			Lost       int     `json:"lost"`
			Gaps       int     `json:"gaps"`
		} `json:"sampler"`
		Timeseries json.RawMessage `json:"timeseries"`
	} `json:"meta"`
	Tasks []struct {
		Task
		Timeseries keptSamples     `json:"timeseries"`
		Noise      json.RawMessage `json:"noise"`
	} `json:"tasks"`
	Totals struct {
		Totals
		NoiseWarnings json.RawMessage `json:"noise_warnings"`
	} `json:"totals"`
	Warnings []Warning `json:"warnings"`
}

// readSession reads the file of a session as a run: its first task is the
// session, the others lie in it, call paths are those of tasks, and the samples
// are those of all tasks.
func readSession(text io.ReadSeeker) (*Run, error) {
	keep, err := sessionTimes(text)
	if err != nil {
		return nil, fmt.Errorf("not a session's file: %w", err)
	}
	var f sessionFile
	if err := Decode(text, &f, jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(keep.read))); err != nil {
		return nil, fmt.Errorf("not a session's file: %w", err)
	}
	r := &Run{
		part: PartSession, Meta: f.Meta.Meta, Totals: f.Totals.Totals, Warnings: orEmpty(f.Warnings),
		Functions: []Function{}, Sites: []Site{},
		Ledger: []Line{}, Skipped: []Skip{}, Samples: []Sample{},
	}
	s := f.Meta.Sampler
	r.Sampler = Sampler{IntervalMs: s.IntervalMs, Mechanism: s.Via, Samples: s.Samples, Dropped: s.Lost, Gaps: s.Gaps,
		Counters: []Counter{}}
	t := &r.Totals
	t.NoiseWarnings = nil
	if t.Kind == "" {
		return nil, errors.New("not a session's file: it has no totals.energy_kind")
	}
	if len(t.Units) == 0 {
		t.Units = nil
	}
	if r.undivided = t.ProgramEnergyJ == nil; r.undivided {
		t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ = t.EnergyJ, t.LoJ, t.HiJ
	}
	name := "session"
	if f.Meta.SessionName != nil && *f.Meta.SessionName != "" {
		name = *f.Meta.SessionName
	}
	whole := Task{Name: name, EnergyJ: t.EnergyJ, DurationS: t.WallDurationS, Domains: t.Domains,
		DomainsPowerW: map[string]float64{}, Provenance: t.Provenance,
		ProgramShare: &ProgramShare{t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ}}
	samples := []Sample{}
	for i, o := range f.Tasks {
		if o.Depth < 0 || o.Depth > 0 && i == 0 {
			return nil, fmt.Errorf("tasks[%d].depth: %d, but no task is around it", i, o.Depth)
		}
		if i == 0 || o.StartedAtMonoNs < whole.StartedAtMonoNs {
			whole.StartedAtMonoNs, whole.StartedAt = o.StartedAtMonoNs, o.StartedAt
		}
		if o.EndedAtMonoNs > whole.EndedAtMonoNs {
			whole.EndedAtMonoNs, whole.EndedAt = o.EndedAtMonoNs, o.EndedAt
		}
		if o.Depth == 0 {
			samples = append(samples, o.Timeseries...)
		}
		r.Tasks = append(r.Tasks, o.Task)
	}
	r.Tasks = append([]Task{whole}, r.Tasks...)
	for i := range r.Tasks {
		if r.undivided {
			r.Tasks[i].ProgramShare = nil
		}
	}
	r.Renew()
	for i := range r.Tasks[1:] {
		task := &r.Tasks[i+1]
		task.Depth++
		if task.Parent == nil {
			task.Parent = &name
		}
	}
	r.taskPaths()
	slices.SortStableFunc(samples, func(a, b Sample) int { return cmp.Compare(a.TNs, b.TNs) })
	r.Samples = slices.CompactFunc(samples, func(a, b Sample) bool { return a.TNs == b.TNs })
	r.resample()
	return r, nil
}

// Undivided tells that the program's energies are the machine's: the file of a session has
// no share of the program, as no run of cg was around it, or an older package wrote it.
func (r *Run) Undivided() bool { return r.undivided }

// keptSamples are those of a task's samples that a run keeps.
type keptSamples []Sample

// keptTimes are the moments of the samples that are kept.
type keptTimes map[int64]bool

// sessionTimes chooses among the samples of all tasks at depth 0, in the order of
// time, every n-th and the last: a large file is nearly all samples, which take
// more memory than text.
func sessionTimes(text io.ReadSeeker) (keptTimes, error) {
	var f struct {
		Tasks []struct {
			Depth      int `json:"depth"`
			Timeseries []struct {
				TNs int64 `json:"t_ns"`
			} `json:"timeseries"`
		} `json:"tasks"`
	}
	if err := Decode(text, &f); err != nil {
		return nil, err
	}
	var times []int64
	for _, t := range f.Tasks {
		for _, s := range t.Timeseries {
			if t.Depth == 0 {
				times = append(times, s.TNs)
			}
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	keep := keptTimes{}
	step := 1 + (len(times)-2)/(MaxSamples-1)
	for i, t := range times {
		if i%step == 0 || i == len(times)-1 {
			keep[t] = true
		}
	}
	_, err := text.Seek(0, io.SeekStart)
	return keep, err
}

// read reads the samples of a task.
func (keep keptTimes) read(d *jsontext.Decoder, out *keptSamples) error {
	if d.PeekKind() != '[' {
		return jsonv2.SkipFunc
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		var s Sample
		if err := jsonv2.UnmarshalDecode(d, &s); err != nil {
			return err
		}
		if keep[s.TNs] {
			*out = append(*out, s)
		}
	}
	_, err := d.ReadToken()
	return err
}

// resample computes powers anew for the samples that are left.
func (r *Run) resample() {
	for i := range r.Samples {
		s := &r.Samples[i]
		if i == 0 {
			continue
		}
		prev := r.Samples[i-1]
		span := float64(s.TNs-prev.TNs) * 1e-9
		if span <= 0 || s.EnergyJ == nil || prev.EnergyJ == nil {
			continue
		}
		w := math.Round((s.EnergyJ.Float()-prev.EnergyJ.Float())/span*1e3) / 1e3
		s.PowerW, s.DomainW = &w, map[string]float64{}
		for id, e := range s.DomainJ {
			s.DomainW[id] = math.Round((e.Float()-prev.DomainJ[id].Float())/span*1e3) / 1e3
		}
	}
}

// taskPaths makes call paths of tasks: those of a name in one of a name are one
// path. A task lies in the last one of a smaller depth on its thread, which is
// the last that began before it and has the name of its parent.
func (r *Run) taskPaths() {
	known := r.Totals.EnergyJ != nil
	energy := make([]float64, 1, len(r.Tasks))
	r.Paths = []Path{{Parent: -1, Calls: 1, SelfTimeS: r.Totals.GapDurationS}}
	type place struct {
		parent int
		name   string
	}
	at := map[place]int{}
	of := make([]int, len(r.Tasks)) // path of each task
	for i, t := range r.Tasks[1:] {
		i++
		parent := 0
		for k := i - 1; k > 0 && t.Depth > 1; k-- {
			o := r.Tasks[k]
			if o.Depth == t.Depth-1 && o.Name == *t.Parent && o.EndedAtMonoNs >= t.EndedAtMonoNs {
				parent = of[k]
				break
			}
		}
		n, ok := at[place{parent, t.Name}]
		if !ok {
			n = len(r.Paths)
			at[place{parent, t.Name}] = n
			r.Paths = append(r.Paths, Path{Parent: parent, Task: t.Name})
			energy = append(energy, 0)
		}
		of[i] = n
		r.Paths[n].Calls++
		r.Paths[n].SelfTimeS += t.DurationS
		used, _, _ := t.Used()
		if used != nil {
			energy[n] += used.Float()
		}
		if parent > 0 {
			r.Paths[parent].SelfTimeS = max(0, r.Paths[parent].SelfTimeS-t.DurationS)
			if used != nil {
				energy[parent] -= used.Float()
			}
		}
	}
	for i := range r.Paths {
		if known {
			e := Joules(math.Round(max(0, energy[i]) * 1e6))
			r.Paths[i].SelfEnergyJ = &e
		}
	}
}

// session holds the file of a session against itself. Tasks at depth 1 are
// those at depth 0 of the file.
func (c *check) session(r *Run) {
	c.tasks(r)
	var sum, program Joules
	var lasted float64
	domains := map[string]Joules{}
	count, known := 0, true
	for _, t := range r.Tasks[1:] {
		if t.Depth != 1 {
			continue
		}
		count++
		lasted += t.DurationS
		if known = known && t.EnergyJ != nil; t.EnergyJ == nil {
			continue
		}
		sum += *t.EnergyJ
		if t.ProgramShare != nil && t.ProgramEnergyJ != nil {
			program += *t.ProgramEnergyJ
		}
		for id, e := range t.Domains {
			domains[id] += e
		}
	}
	t := r.Totals
	if t.NTasks != len(r.Tasks)-1 || t.NTopLevelTasks != count {
		c.fault("totals.n_tasks", "%d, %d of them at the top level, but there are %d and %d", t.NTasks,
			t.NTopLevelTasks, len(r.Tasks)-1, count)
	}
	if t.EnergyJ == nil && !r.undivided {
		c.fault("totals.program_energy_j", "it is known, and the machine's is not")
	}
	if (t.EnergyJ != nil) != (known && count > 0) {
		c.fault("totals.energy_j", "it is known when that of every task is, and else not")
	} else if t.EnergyJ != nil {
		c.sum("totals.energy_j", "the tasks at the top level", *t.EnergyJ, sum)
		for _, id := range slices.Sorted(maps.Keys(t.Domains)) {
			c.sum("totals.domains."+id, "the tasks at the top level", t.Domains[id], domains[id])
		}
		c.interval("totals.energy_j", t.LoJ, t.EnergyJ, t.HiJ)
		if !r.undivided {
			c.sum("totals.program_energy_j", "the tasks at the top level", *t.ProgramEnergyJ, program)
			c.interval("totals.program_energy_j", t.ProgramEnergyLoJ, t.ProgramEnergyJ, t.ProgramEnergyHiJ)
		}
	} else if t.Kind != nemb.Unavailable {
		c.fault("totals.energy_kind", "%s, but there is no energy", t.Kind)
	}
	c.ratio("totals.avg_power_w", "energy by duration", t.AvgPowerW, t.EnergyJ, t.DurationS)
	near := func(field, of string, got, want float64) {
		if math.Abs(got-want) > 1e-6+1e-9*math.Abs(want) {
			c.fault(field, "%g s, but %s are %g s", got, of, want)
		}
	}
	near("totals.task_duration_s", "the tasks at the top level", t.TaskDurationS, lasted)
	near("totals.gap_duration_s", "wall, tasks and what overlaps", t.GapDurationS,
		t.WallDurationS-t.TaskDurationS+t.ConcurrentOverlapS)
}

// orEmpty is a list that is [] in JSON, and not null, when there is none.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
