// Package usage is the document of cg monitor: who used the energy of a machine, and how
// much, in a span of time.
//
// It takes a monitor's snapshot and gives the document that is saved (Document), the rows
// that are written at each interval (Row), and both as text. Processes and control groups
// are in the order of their energy. Each row says whether its energy is measured, derived
// or estimated; one that is not known is null.
package usage

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"

	"cg/monitor"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/population"
	"cg/report"
)

// Document is what cg monitor saves: docs/monitor.schema.json.
type Document struct {
	SchemaVersion string    `json:"schema_version"`
	Document      string    `json:"document"` // "monitor"
	CgVersion     string    `json:"cg_version"`
	Hostname      string    `json:"hostname"`
	CPUModel      string    `json:"cpu_model"`
	BeginUnixNs   int64     `json:"begin_unix_ns"`
	EndUnixNs     int64     `json:"end_unix_ns"`
	DurationS     float64   `json:"duration_s"`
	IntervalS     float64   `json:"interval_s"`
	Readings      int       `json:"readings"`
	Missed        int       `json:"missed"`
	HasCgroups    bool      `json:"has_cgroups"`
	Totals        Total     `json:"totals"`
	Ledger        []Line    `json:"ledger"`
	Domains       []Domain  `json:"domains"`
	Targets       []Target  `json:"targets"`
	Cgroups       []Group   `json:"cgroups"`
	EndedCgroups  Value     `json:"ended_cgroups"` // those that ended too long ago to be listed
	Processes     []Process `json:"processes"`
	Requests      []Route   `json:"requests"` // by name, those that used most first
	// IgnoredAnnotations is how many were of no use: of processes that are not there, of too
	// many requests at once, ends without a beginning.
	IgnoredAnnotations int `json:"ignored_annotations"`
	// Others are the programs that measured on the machine at the same time, at the beginning or the
	// end. What their programs used is among the processes here, too.
	Others []string `json:"others"`
}

// Route is all requests of one name. What no thread is known of is known by time only: then
// the interval begins at 0 and ends with all that the process used.
type Route struct {
	Name        string         `json:"name"`
	Requests    int            `json:"requests"`  // that have ended
	CutShort    int            `json:"cut_short"` // of these, by the end of their connection or process
	Open        int            `json:"open"`      // that have not
	EnergyJ     *report.Joules `json:"energy_j"`
	EnergyLoJ   *report.Joules `json:"energy_lo_j"`
	EnergyHiJ   *report.Joules `json:"energy_hi_j"`
	EnergyKind  nemb.Method    `json:"energy_kind"`
	PerRequestJ *report.Joules `json:"per_request_j"` // the mean of those that have begun
	TimeS       float64        `json:"time_s"`        // of those that have ended, together
}

// Row is the state at one interval: a line of --jsonl.
type Row struct {
	UnixNs    int64     `json:"unix_ns"`
	ElapsedS  float64   `json:"elapsed_s"`
	WindowS   float64   `json:"window_s"`
	Missed    int       `json:"missed"`
	Total     Total     `json:"total"`
	Ledger    []Line    `json:"ledger"`
	Domains   []Domain  `json:"domains"`
	Targets   []Target  `json:"targets"`
	Cgroups   []Group   `json:"cgroups"`
	Processes []Process `json:"processes"`
	Requests  []Route   `json:"requests"`
}

// Total is the energy of the machine.
type Total struct {
	EnergyJ    *report.Joules `json:"energy_j"`
	EnergyKind nemb.Method    `json:"energy_kind"`
	PowerW     *float64       `json:"power_w"` // the mean of a document, of the last window of a row
}

// Line is a line of the machine's ledger.
type Line struct {
	Name    string         `json:"name"`
	EnergyJ *report.Joules `json:"energy_j"`
}

// Domain is a part of the machine with its ledger.
type Domain struct {
	Domain         string         `json:"domain"`
	Kind           string         `json:"kind"`
	EnergyJ        *report.Joules `json:"energy_j"`
	EnergyKind     nemb.Method    `json:"energy_kind"`
	EnergySource   string         `json:"energy_source"`
	PowerW         *float64       `json:"power_w"`
	InTotal        bool           `json:"in_total"`
	Ledger         []Line         `json:"ledger"`
	FailedReadings int            `json:"failed_readings"`
	Readable       bool           `json:"readable"` // the last reading succeeded
	// GPUMethod is process for a GPU whose energy is divided by what its driver tells of processes. GPUReason is why
	// its last energy is unattributed, in part or all of it.
	GPUMethod string `json:"gpu_method,omitempty"`
	GPUReason string `json:"gpu_reason,omitempty"`
}

// Value is an energy that was divided by processor time, and that of GPUs by what their drivers tell, with its bounds.
type Value struct {
	EnergyJ      *report.Joules `json:"energy_j"`
	EnergyLoJ    *report.Joules `json:"energy_lo_j"`
	EnergyHiJ    *report.Joules `json:"energy_hi_j"`
	EnergyKind   nemb.Method    `json:"energy_kind"`
	PowerW       *float64       `json:"power_w"`
	SharePercent *float64       `json:"share_percent"` // of the machine's energy
	CPUTimeS     float64        `json:"cpu_time_s"`
	Ended        bool           `json:"ended"`
	// Of EnergyJ, what is GPUs'. They are there where the driver of a GPU is asked who uses it.
	GPUEnergyJ   *report.Joules `json:"gpu_energy_j,omitempty"`
	GPUEnergyLoJ *report.Joules `json:"gpu_energy_lo_j,omitempty"`
	GPUEnergyHiJ *report.Joules `json:"gpu_energy_hi_j,omitempty"`
}

// Target is what was watched.
type Target struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Processes int    `json:"processes"` // that are there
	Value
}

// Group is a control group, without those below it.
type Group struct {
	Path             string `json:"path"`
	Unit             string `json:"unit"`
	Container        string `json:"container"`
	ContainerRuntime string `json:"container_runtime"`
	Value
}

// Process is a process, with those of its children that nobody saw.
type Process struct {
	PID        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	Name       string `json:"name"`
	Cgroup     string `json:"cgroup"`
	Value
}

// Run is what a snapshot does not know of a run.
type Run struct {
	CgVersion, Hostname, CPUModel string
	IntervalS                     float64
	Others                        []string
}

// New makes the document of a snapshot. Who used nothing is left out.
func New(s *monitor.Snapshot, run Run) *Document {
	seconds := s.Elapsed().Seconds()
	d := &Document{
		SchemaVersion: report.SchemaVersion, Document: documentName, CgVersion: run.CgVersion, Hostname: run.Hostname,
		CPUModel: run.CPUModel, BeginUnixNs: s.BeganUnix, EndUnixNs: s.AtUnix, DurationS: seconds,
		IntervalS: run.IntervalS, Readings: s.Readings, Missed: s.Missed, HasCgroups: s.HasGroups,
		Totals: total(s, mean(s.Total().Joules(), seconds)), Ledger: lines(s.Ledger(), s.Known()),
		Domains: domains(s, seconds), Targets: targets(s, seconds), Cgroups: groups(s, seconds),
		Processes: processes(s, seconds), Requests: routes(s), IgnoredAnnotations: s.Ignored,
		Others: append([]string{}, run.Others...),
	}
	removed := monitor.Share{Energy: s.Removed, Ended: true}
	for i, e := range s.Removed {
		if domain := &s.Domains[i]; domain.Domain.InTotal {
			removed.Joules += e.Joules()
			removed.Lo += e.Joules() * domain.Lo
			removed.Hi += e.Joules() * domain.Hi
			if gpu := &removed.GPU; domain.Divided {
				gpu.Joules += e.Joules()
				gpu.Lo += e.Joules() * domain.Lo
				gpu.Hi += e.Joules() * domain.Hi
			}
		}
	}
	d.EndedCgroups = value(s, &removed, seconds)
	return d
}

// NewRow makes the row of a snapshot, with the processes and groups that drew most in its
// window, so many of each at most.
func NewRow(s *monitor.Snapshot, most int) *Row {
	r := &Row{
		UnixNs: s.AtUnix, ElapsedS: s.Elapsed().Seconds(), WindowS: s.Window.Seconds(), Missed: s.Missed,
		Total: total(s, s.Watts()), Ledger: lines(s.Ledger(), s.Known()), Domains: domains(s, 0),
		Targets: targets(s, 0),
		Cgroups: groups(s, 0), Processes: processes(s, 0), Requests: routes(s),
	}
	r.Requests = r.Requests[:min(most, len(r.Requests))]
	r.Cgroups = byPower(r.Cgroups, most, func(g *Group) *Value { return &g.Value })
	r.Processes = byPower(r.Processes, most, func(p *Process) *Value { return &p.Value })
	return r
}

func byPower[T any](rows []T, most int, of func(*T) *Value) []T {
	slices.SortStableFunc(rows, func(a, b T) int {
		return cmp.Compare(zero(of(&b).PowerW), zero(of(&a).PowerW))
	})
	return rows[:min(most, len(rows))]
}

// mean is a power over so many seconds, 0 over none.
func mean(joules, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return joules / seconds
}

// zero is a figure to sort by.
func zero[T any](v *T) (z T) {
	if v != nil {
		z = *v
	}
	return z
}

func total(s *monitor.Snapshot, watts float64) Total {
	t := Total{EnergyKind: s.Method()}
	if s.Known() {
		t.EnergyJ, t.PowerW = new(report.Joules(s.Total())), &watts
	}
	return t
}

func lines(of []monitor.Line, known bool) []Line {
	all := []Line{}
	for _, l := range of {
		line := Line{Name: l.Name}
		if known {
			line.EnergyJ = new(report.Joules(l.Energy))
		}
		all = append(all, line)
	}
	return all
}

func domains(s *monitor.Snapshot, seconds float64) []Domain {
	all := []Domain{}
	for i := range s.Domains {
		d := &s.Domains[i]
		row := Domain{
			Domain: d.Domain.ID, Kind: d.Domain.Kind, EnergyKind: d.Method(), EnergySource: d.Domain.Source,
			InTotal: d.Domain.InTotal, Ledger: lines(d.Lines(), d.Known()), FailedReadings: d.Failed,
			Readable: d.Readable,
		}
		if d.Divided {
			row.GPUMethod, row.GPUReason = gpus.ByProcess, string(d.Reason)
		}
		if d.Known() {
			row.EnergyJ, row.PowerW = new(report.Joules(d.Total)), new(d.Watts)
			if seconds > 0 {
				row.PowerW = new(d.Total.Joules() / seconds)
			}
		}
		all = append(all, row)
	}
	return all
}

// value is a share; its power is the mean of so many seconds, or, with 0, of the last
// window.
func value(s *monitor.Snapshot, share *monitor.Share, seconds float64) Value {
	v := Value{EnergyKind: s.ShareMethod(), CPUTimeS: share.CPU.Seconds(), Ended: share.Ended}
	if !s.Known() {
		return v
	}
	v.EnergyJ, v.EnergyLoJ, v.EnergyHiJ = joules(share.Joules), joules(share.Lo), joules(share.Hi)
	if s.DividesGPUs() {
		gpu := &share.GPU
		v.GPUEnergyJ, v.GPUEnergyLoJ, v.GPUEnergyHiJ = joules(gpu.Joules), joules(gpu.Lo), joules(gpu.Hi)
	}
	v.PowerW = new(share.Watts)
	if seconds > 0 {
		v.PowerW = new(share.Joules / seconds)
	}
	if whole := s.Total().Joules(); whole > 0 {
		v.SharePercent = new(100 * share.Joules / whole)
	}
	return v
}

func joules(v float64) *report.Joules { return new(report.Joules(math.Round(max(0, v) * 1e6))) }

func targets(s *monitor.Snapshot, seconds float64) []Target {
	all := []Target{}
	for i := range s.Targets {
		t := &s.Targets[i]
		all = append(all, Target{string(t.Kind), t.Name, t.Processes, value(s, &t.Share, seconds)})
	}
	return all
}

func groups(s *monitor.Snapshot, seconds float64) []Group {
	all := []Group{}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.CPU == 0 && g.Joules == 0 {
			continue
		}
		row := Group{Path: g.Path, Unit: population.UnitOf(g.Path), Value: value(s, &g.Share, seconds)}
		if c, ok := population.ContainerOf(g.Path); ok {
			row.Container, row.ContainerRuntime = c.ID, c.Runtime
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(zero(b.EnergyJ), zero(a.EnergyJ)), cmp.Compare(b.CPUTimeS, a.CPUTimeS),
			cmp.Compare(a.Path, b.Path))
	})
	return all
}

func processes(s *monitor.Snapshot, seconds float64) []Process {
	all := []Process{}
	for i := range s.Processes {
		p := &s.Processes[i]
		if p.Share.CPU == 0 && p.Joules == 0 {
			continue
		}
		all = append(all, Process{p.PID, p.Start, p.Name, p.Group, value(s, &p.Share, seconds)})
	}
	slices.SortFunc(all, func(a, b Process) int {
		return cmp.Or(cmp.Compare(zero(b.EnergyJ), zero(a.EnergyJ)), cmp.Compare(b.CPUTimeS, a.CPUTimeS),
			cmp.Compare(a.PID, b.PID),
			cmp.Compare(a.StartTicks, b.StartTicks))
	})
	return all
}

func routes(s *monitor.Snapshot) []Route {
	all := []Route{}
	for i := range s.Routes {
		r := &s.Routes[i]
		row := Route{Name: r.Name, Requests: r.Count, CutShort: r.Cut, Open: r.Open, EnergyKind: s.ShareMethod(),
			TimeS: r.Time.Seconds()}
		if s.Known() {
			row.EnergyJ, row.EnergyLoJ, row.EnergyHiJ = joules(r.Joules), joules(r.Lo), joules(r.Hi)
			row.PerRequestJ = joules(r.Joules / float64(max(1, r.Count+r.Open)))
		}
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Route) int {
		return cmp.Or(cmp.Compare(zero(b.EnergyJ), zero(a.EnergyJ)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// JSON encodes a document: docs/monitor.schema.json.
func (d *Document) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(d, "", "  ")
	return append(b, '\n'), err
}

// Schema is the JSON Schema of a document.
func Schema() map[string]any {
	return report.SchemaOf(reflect.TypeFor[Document](), "Who used a machine's energy, by cg monitor")
}
