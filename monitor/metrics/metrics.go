// Package metrics shows what a monitor counted to Prometheus: over HTTP, and as a file for
// node_exporter's textfile collector.
//
// It takes snapshots (Exporter.Update) and gives counters in joules, in the conventions of
// https://prometheus.io/docs/practices/naming/. Series of processes and control groups are
// bounded: so many of each have one, those that draw most, and the others are one series
// whose labels are "other". Their sum is, at any moment, the line of processes in the
// machine's ledger. A new series is 0 for a minute, and one that ended is shown with its last
// value for five more (for one where others have no place), so that rate() and increase()
// over all series count each joule once for all who ask as often. An energy that is not
// known has no series.
package metrics

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"cg/monitor"
	"cg/monitor/series"
)

// other is the label of what has no series of its own.
const other = "other"

// Exporter holds the last snapshot for those who ask. Its methods may be called from any
// goroutine.
type Exporter struct {
	version, run string
	registry     *prometheus.Registry

	mu       sync.Mutex
	snapshot *monitor.Snapshot
	series   *series.Kept
	gpus     *series.Kept // of the energy of GPUs alone
	text     []byte       // of the last snapshot, nil before somebody asked
}

// New makes an exporter with so many series of processes, and of control groups, at most.
// run is the id of the run.
func New(version, run string, most int) *Exporter {
	e := &Exporter{version: version, run: run, series: series.New(most, series.Begins),
		gpus: series.New(most, series.Begins)}
	e.registry = prometheus.NewRegistry()
	e.registry.MustRegister(e)
	return e
}

// Registry gathers what the exporter shows.
func (e *Exporter) Registry() *prometheus.Registry { return e.registry }

// SetMost changes how many series of processes, and of control groups, there are at most.
func (e *Exporter) SetMost(most int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.series.SetMost(most)
	e.gpus.SetMost(most)
}

// Update takes the next snapshot.
func (e *Exporter) Update(s *monitor.Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot, e.text = s, nil
	e.series.Update(s)
	if s.DividesGPUs() {
		e.gpus.Update(s.OfGPUs())
	}
}

// A family is a metric with its labels.
type family struct {
	name, help  string
	labels      []string
	description *prometheus.Desc
	kind        prometheus.ValueType
}

func counter(name, help string, labels ...string) family {
	return family{name, help, labels, prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

func gauge(name, help string, labels ...string) family {
	return family{name, help, labels, prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

// The metrics (docs/monitor.md).
var families = sync.OnceValue(func() map[string]family {
	const method = "method"
	return map[string]family{
		"domain": counter("cg_energy_joules_total", "Energy of a part of the machine since cg started.",
			"domain", "source", method),
		"machine": counter("cg_machine_energy_joules_total",
			"Energy of the machine since cg started: of the domains that make up the total.", method),
		"ledger": counter("cg_ledger_energy_joules_total",
			"Division of the machine's energy: the lines add up to cg_machine_energy_joules_total.", "line", method),
		"process": counter("cg_process_energy_joules_total",
			"Energy of a process by processor time, without idle power; other is all that have no series.",
			"pid", "start", "process", "cgroup", method),
		"cgroup": counter("cg_cgroup_energy_joules_total",
			"Energy of a control group by processor time, without those below it; other is all that have no series.",
			"cgroup", "unit", "container", method),
		"target": counter("cg_target_energy_joules_total", "Energy of what cg was asked to watch.",
			"kind", "name", method),
		"target cpu": counter("cg_target_cpu_seconds_total", "Processor time of what cg was asked to watch.",
			"kind", "name"),
		"gpu ledger": counter("cg_gpu_ledger_energy_joules_total",
			"Division of a GPU's energy by what its driver tells of processes.", "domain", "line", method),
		"gpu process": counter("cg_process_gpu_energy_joules_total",
			"Energy of GPUs of a process, by what their drivers tell, without idle power; other is all without series.",
			"pid", "start", "process", "cgroup", method),
		"gpu cgroup": counter("cg_cgroup_gpu_energy_joules_total",
			"Energy of GPUs of a control group, without those below it; other is all that have no series.",
			"cgroup", "unit", "container", method),
		"gpu target": counter("cg_target_gpu_energy_joules_total", "Energy of GPUs of what cg was asked to watch.",
			"kind", "name", method),
		"request": counter("cg_request_energy_joules_total",
			"Energy of requests of a name, of what their processes have; other is all names beyond 200.",
			"name", method),
		"requests": counter("cg_requests_total", "Requests of a name that have ended.", "name"),
		"readable": gauge("cg_sensor_readable", "1 where the last reading of a domain's counter succeeded, else 0.",
			"domain", "source"),
		"total": gauge("cg_sensor_in_machine", "1 where a domain counts in the machine's energy, else 0.",
			"domain", "source"),
		"failed": counter("cg_sensor_failed_readings_total", "Readings of a domain's counter that failed.",
			"domain", "source"),
		"readings": counter("cg_readings_total", "Readings of the machine since cg started."),
		"missed":   counter("cg_missed_readings_total", "Intervals without a reading since cg started."),
		"start":    gauge("cg_start_time_seconds", "When cg started, in seconds since 1970."),
		"info":     gauge("cg_info", "1, with the version of cg and the id of this run.", "version", "run"),
	}
})

// Describe lists the metrics.
func (e *Exporter) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families() {
		to <- f.description
	}
}

// Collect shows the last snapshot. Who asks slowly keeps nobody waiting.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	e.mu.Lock()
	all := e.collect()
	e.mu.Unlock()
	for _, s := range all {
		m, err := prometheus.NewConstMetric(s.description, s.kind, s.value, s.values...)
		if err != nil {
			m = prometheus.NewInvalidMetric(s.description, err)
		}
		to <- m
	}
}

// sample is a metric with its labels' values.
type sample struct {
	family
	value  float64
	values []string
}

// page is a list of metrics in the making.
type page struct{ metrics []sample }

func (p *page) add(name string, value float64, labels ...string) {
	for i := range labels {
		labels[i] = series.Valid(labels[i])
	}
	p.metrics = append(p.metrics, sample{families()[name], value, labels})
}

// collect lists what the last snapshot shows, the lock being held.
func (e *Exporter) collect() []sample {
	p := &page{}
	p.add("info", 1, e.version, e.run)
	s := e.snapshot
	if s == nil {
		return p.metrics
	}
	p.add("readings", float64(s.Readings))
	p.add("missed", float64(s.Missed))
	p.add("start", float64(s.BeganUnix)*1e-9)
	for i := range s.Domains {
		d := &s.Domains[i]
		p.add("readable", one(d.Readable), d.Domain.ID, d.Domain.Source)
		p.add("total", one(d.Domain.InTotal), d.Domain.ID, d.Domain.Source)
		p.add("failed", float64(d.Failed), d.Domain.ID, d.Domain.Source)
		if d.Known() {
			p.add("domain", d.Total.Joules(), d.Domain.ID, d.Domain.Source, string(d.Domain.Method))
		}
	}
	for _, r := range s.Routes {
		p.add("requests", float64(r.Count), r.Name)
	}
	targets := series.Targets(s.Targets)
	for _, t := range targets {
		p.add("target cpu", t.CPU.Seconds(), string(t.Kind), t.Name)
	}
	if !s.Known() {
		return p.metrics
	}
	whole, share := series.Methods(s)
	p.add("machine", s.Total().Joules(), whole)
	for _, l := range s.Ledger() {
		p.add("ledger", l.Energy.Joules(), l.Name, share)
	}
	for _, t := range targets {
		p.add("target", t.Joules, string(t.Kind), t.Name, share)
	}
	for _, r := range s.Routes {
		p.add("request", r.Joules, r.Name, share)
	}
	p.shares(e.series, s, "", share)
	if s.DividesGPUs() {
		p.gpus(s, targets, share)
		p.shares(e.gpus, s.OfGPUs(), "gpu ", share)
	}
	return p.metrics
}

// shares adds the series of processes and control groups.
func (p *page) shares(kept *series.Kept, s *monitor.Snapshot, of, method string) {
	kept.Processes(s, func(v series.Value) {
		if v.Labels == nil {
			v.Labels = []string{other, "", other, ""}
		}
		p.add(of+"process", v.Joules, append(v.Labels[:4:4], method)...)
	})
	kept.Groups(s, func(v series.Value) {
		if v.Labels == nil {
			v.Labels = []string{other, "", ""}
		}
		p.add(of+"cgroup", v.Joules, append(v.Labels[:3:3], method)...)
	})
}

// gpus adds the ledgers of GPUs whose drivers are asked who uses them, and what they have of targets.
func (p *page) gpus(s *monitor.Snapshot, targets []monitor.TargetState, method string) {
	for i := range s.Domains {
		if d := &s.Domains[i]; d.Divided && d.Known() {
			for _, l := range d.Lines() {
				p.add("gpu ledger", l.Energy.Joules(), d.Domain.ID, l.Name, method)
			}
		}
	}
	for _, t := range targets {
		p.add("gpu target", t.GPU.Joules, string(t.Kind), t.Name, method)
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// ErrAddress is what is wrong with an address to serve at.
type ErrAddress struct{ Address string }

func (e *ErrAddress) Error() string {
	return fmt.Sprintf("%q is no address: use :PORT for this machine alone, or ADDRESS:PORT", e.Address)
}
