// Package perfetto writes runs over time as a trace for ui.perfetto.dev.
package perfetto

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/report"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/report/timeline"
)

func init() {
	format.Register(format.Format{
		Name: "perfetto", JSON: true,
		Title:   "a trace for ui.perfetto.dev: power, processors in use, tasks and, from an event log, calls over time",
		Endings: []string{".perfetto.json", ".trace.json"}, Parts: true, Time: true,
		Writers: []format.Writer{format.Writes(write), format.Writes(writeStream),
			format.Writes(iotrace.WritePerfetto)},
	})
}

// The parts of a Chrome trace that are used here: "Trace Event Format",
// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
type traceFile struct {
	Unit   string            `json:"displayTimeUnit"`
	Other  map[string]string `json:"otherData"`
	Events []traceEvent      `json:"traceEvents"`
}

// write writes a file, event by event.
func (f traceFile) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	other, err := json.Marshal(f.Other)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, `{"displayTimeUnit":%q,"otherData":%s,"traceEvents":[`, f.Unit, other)
	for i, e := range f.Events {
		if i > 0 {
			b.WriteByte(',')
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	b.WriteString("]}\n")
	return b.Flush()
}

type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"` // M metadata, C counter, X slice
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	At    *traceTime     `json:"ts,omitempty"`
	Long  *traceTime     `json:"dur,omitempty"`
	Args  map[string]any `json:"args"`
}

// traceTime is a time in nanoseconds that is written as the format's microseconds, to the
// last digit.
type traceTime int64

func (m traceTime) MarshalJSON() ([]byte, error) {
	sign := ""
	if m < 0 {
		m, sign = -m, "-"
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, m/1000, m%1000), nil
}

// write writes a counter for the power of each domain and for the
// processors in use, tasks as slices and, from an event log, the calls of each thread
// and what state it was in. Time is CLOCK_MONOTONIC.
func write(w io.Writer, r *report.Run, o format.Options) error {
	pid := max(r.Meta.PID, 1) // 0 is the idle task
	calls, err := timeline.Of(r, o)
	if err != nil {
		return err
	}
	f := traceFile{Unit: "ms", Events: []traceEvent{}, Other: map[string]string{
		"exporter": r.Meta.Tool + " " + r.Meta.CgVersion, "run": r.Meta.RunID, "clock": "CLOCK_MONOTONIC",
		"energies": string(r.Totals.Kind), "source": r.Totals.Source, "functions": timeline.NoCalls,
	}}
	metadata := func(name string, tid int, key string, value any) {
		f.Events = append(f.Events, traceEvent{Name: name, Phase: "M", PID: pid, TID: tid,
			Args: map[string]any{key: value}})
	}
	free := pid // the first number that no thread has
	if calls != nil {
		f.Other["functions"] = calls.Note
		for _, th := range calls.Threads() {
			free = max(free, int(th.TID)+1)
		}
	}
	metadata("process_name", 0, "name", r.Title())
	metadata("process_labels", 0, "labels", "energies are "+string(r.Totals.Kind))

	// A counter holds until its next event, and a power is the mean since the
	// sample before: it is written where that sample was.
	counter := func(name string, at int64, args map[string]any) {
		t := traceTime(at)
		f.Events = append(f.Events, traceEvent{Name: name, Phase: "C", PID: pid, At: &t, Args: args})
	}
	for i, s := range r.Samples {
		if i == 0 {
			continue
		}
		prev := r.Samples[i-1]
		for _, id := range (report.Several{r}).Domains() {
			if watts, ok := s.DomainW[id]; ok {
				counter(r.PowerName(id), prev.TNs, map[string]any{"watts": watts})
			}
		}
		if span := float64(s.TNs-prev.TNs) * 1e-9; span > 0 {
			counter("processors in use", prev.TNs, map[string]any{
				"program": millionths((s.ProgramCPUS - prev.ProgramCPUS) / span),
				"cg":      millionths((s.OwnCPUS - prev.OwnCPUS) / span),
				"others":  millionths((s.OtherCPUS - prev.OtherCPUS) / span),
			})
		}
	}

	if r.GPUMetrics != nil {
		for _, g := range r.GPUMetrics.Devices {
			counters(g, counter)
		}
	}

	for lane, tasks := range lanes(r.Tasks) {
		name := "tasks"
		if lane > 0 {
			name = fmt.Sprintf("tasks, beside others (%d)", lane)
		}
		tid := free + lane
		metadata("thread_name", tid, "name", name)
		metadata("thread_sort_index", tid, "sort_index", lane)
		for _, t := range tasks {
			at, long := traceTime(t.StartedAtMonoNs), traceTime(t.LastedNs())
			f.Events = append(f.Events, traceEvent{Name: t.Name, Phase: "X", PID: pid, TID: tid, At: &at, Long: &long,
				Args: facts(t)})
		}
	}
	if calls != nil {
		f.threads(calls, r.ThreadNames(), pid, free+len(lanes(r.Tasks)))
	}
	return f.write(w)
}

// counters writes the counters of a GPU.
func counters(g report.GPUMetricsOfGPU, counter func(name string, at int64, args map[string]any)) {
	for k, m := range g.Metrics {
		for _, s := range g.Samples {
			if k < len(s.Values) && s.Values[k] != nil { // a file that was changed can have less
				counter(g.Title()+" "+m.Name, s.FromNs, map[string]any{"value": *s.Values[k]})
			}
		}
	}
}

// threads writes the calls of each thread as slices and, on a line of its own with a
// number from free on, its states.
func (f *traceFile) threads(calls *timeline.Timeline, names map[checkpoint.Thread]string, pid, free int) {
	metadata := func(pid, tid int, name, key string, value any) {
		f.Events = append(f.Events, traceEvent{Name: name, Phase: "M", PID: pid, TID: tid,
			Args: map[string]any{key: value}})
	}
	slice := func(name string, pid, tid int, from, to checkpoint.Instant, args map[string]any) {
		at, long := traceTime(from), traceTime(max(0, to-from))
		f.Events = append(f.Events, traceEvent{Name: name, Phase: "X", PID: pid, TID: tid, At: &at, Long: &long,
			Args: args})
	}
	places := map[checkpoint.SiteID]map[string]any{} // shared by all slices of a site
	place := func(site checkpoint.SiteID) map[string]any {
		m := places[site]
		if m == nil {
			m = map[string]any{}
			if at := calls.Places[site]; at.File != "" {
				m["source"] = fmt.Sprintf("%s:%d", at.File, at.Line)
			}
			places[site] = m
		}
		return m
	}
	named := map[int]bool{pid: true}
	for _, th := range calls.Threads() {
		p, tid := int(th.PID), int(th.TID)
		if !named[p] {
			named[p] = true
			metadata(p, 0, "process_name", "name", fmt.Sprintf("process %d of the program", p))
		}
		title := cmp.Or(names[th], fmt.Sprintf("thread %d", tid))
		metadata(p, tid, "thread_name", "name", title)
		if states := calls.States(th); len(states) > 0 {
			metadata(p, free, "thread_name", "name", title+", state by its processor time")
			for _, s := range states {
				slice(s.Name, p, free, s.From, s.To, map[string]any{"processor": millionths(s.Share)})
			}
			free++
		}
	}
	for _, s := range calls.Slices {
		slice(calls.Name(s), int(s.Thread.PID), int(s.Thread.TID), s.From, s.To, place(s.Site))
	}
}

func millionths(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// facts are what a viewer shows beside a task. What is not known is left out.
func facts(t report.Task) map[string]any {
	m := map[string]any{"energy_kind": string(t.Kind)}
	put := func(name string, e *report.Joules) {
		if e != nil {
			m[name] = *e
		}
	}
	put("energy_j", t.EnergyJ)
	put("energy_lo_j", t.LoJ)
	put("energy_hi_j", t.HiJ)
	if share := t.ProgramShare; share != nil {
		put("program_energy_j", share.ProgramEnergyJ)
		put("program_energy_lo_j", share.ProgramEnergyLoJ)
		put("program_energy_hi_j", share.ProgramEnergyHiJ)
	}
	if t.AvgPowerW != nil {
		m["avg_power_w"] = *t.AvgPowerW
	}
	if t.Status != "" {
		m["status"] = t.Status
	}
	if t.Package != nil {
		m["package"] = *t.Package
	}
	return m
}

// lanes shares out tasks to as few lanes as it takes that in each of them two
// tasks are apart or one is within the other, in the order of their starts.
func lanes(tasks []report.Task) [][]report.Task {
	tasks = slices.Clone(tasks)
	slices.SortStableFunc(tasks, func(a, b report.Task) int {
		return cmp.Or(cmp.Compare(a.StartedAtMonoNs, b.StartedAtMonoNs), cmp.Compare(b.LastedNs(), a.LastedNs()))
	})
	var out [][]report.Task
	var open [][]int64 // the ends of the tasks that are not over, the innermost last
	for _, t := range tasks {
		end := t.StartedAtMonoNs + t.LastedNs()
		lane := 0
		for ; lane < len(out); lane++ {
			o := open[lane]
			for len(o) > 0 && o[len(o)-1] <= t.StartedAtMonoNs {
				o = o[:len(o)-1]
			}
			open[lane] = o
			if len(o) == 0 || end <= o[len(o)-1] {
				break
			}
		}
		if lane == len(out) {
			out, open = append(out, nil), append(open, nil)
		}
		out[lane], open[lane] = append(out[lane], t), append(open[lane], end)
	}
	return out
}
