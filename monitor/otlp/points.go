package otlp

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/semconv/v1.37.0/hwconv"

	"cg/monitor"
	"cg/monitor/series"
	"cg/nemb"
)

// Names of what the semantic conventions have no name for.
const (
	keyMethod    = attribute.Key("cg.method") // measured, derived or estimated
	keySource    = attribute.Key("cg.source")
	keyLine      = attribute.Key("cg.ledger.line")
	keyStart     = attribute.Key("cg.process.start_ticks")
	keyUnit      = attribute.Key("cg.unit")
	keyKind      = attribute.Key("cg.target.kind")
	keyName      = attribute.Key("cg.target.name")
	keyRequest   = attribute.Key("cg.request.name")
	keyRest      = attribute.Key("cg.rest") // the point is all that have no point of their own
	joules       = "J"
	instrumented = "cg/monitor"
)

// points makes messages of snapshots.
type points struct {
	config *Config
	series *series.Kept
	gpus   *series.Kept // of the energy of GPUs alone
}

// message is a snapshot as OpenTelemetry's metrics. Sums begin when cg began to read, those of a
// process or control group when it got its series, those of a target when it began to be watched. An
// energy that is not known has no point.
func (p *points) message(s *monitor.Snapshot) *metricdata.ResourceMetrics {
	p.series.Update(s)
	at := stamps{start: time.Unix(0, s.BeganUnix), now: time.Unix(0, s.AtUnix)}
	metrics := append(domains(s, at), machine(s, at)...)
	if s.Known() {
		_, share := series.Methods(s)
		metrics = append(metrics, shares(p.series, s, "", share)...)
		if s.DividesGPUs() {
			of := s.OfGPUs()
			p.gpus.Update(of)
			metrics = append(metrics, append(gpus(s, at, share), shares(p.gpus, of, "gpu.", share)...)...)
		}
	}
	metrics = append(metrics, requests(s, at)...)
	kept := metrics[:0]
	for _, m := range metrics {
		if hasPoints(m) {
			kept = append(kept, m)
		}
	}
	return &metricdata.ResourceMetrics{
		Resource: resource.NewWithAttributes(semconv.SchemaURL,
			semconv.ServiceName("cg"), semconv.ServiceVersion(p.config.Version),
			semconv.ServiceInstanceID(p.config.Run),
			semconv.HostName(p.config.Host), semconv.HostCPUModelName(p.config.CPU), semconv.OSTypeLinux),
		ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: kept,
			Scope: instrumentation.Scope{Name: instrumented, Version: p.config.Version, SchemaURL: semconv.SchemaURL}}},
	}
}

type stamps struct{ start, now time.Time }

func (at stamps) float(v float64, attributes ...attribute.KeyValue) metricdata.DataPoint[float64] {
	return metricdata.DataPoint[float64]{Attributes: attribute.NewSet(attributes...), StartTime: at.start, Time: at.now,
		Value: v}
}

func (at stamps) whole(v int, attributes ...attribute.KeyValue) metricdata.DataPoint[int64] {
	return metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attributes...), StartTime: at.start, Time: at.now,
		Value: int64(v)}
}

// since is at with a later beginning.
func (at stamps) since(unix int64) stamps { return stamps{time.Unix(0, unix), at.now} }

func sum[N int64 | float64](name, unit, help string, points []metricdata.DataPoint[N]) metricdata.Metrics {
	return metricdata.Metrics{Name: name, Unit: unit, Description: help,
		Data: metricdata.Sum[N]{DataPoints: points, Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}}
}

func hasPoints(m metricdata.Metrics) bool {
	switch data := m.Data.(type) {
	case metricdata.Sum[float64]:
		return len(data.DataPoints) > 0
	case metricdata.Sum[int64]:
		return len(data.DataPoints) > 0
	case metricdata.Gauge[int64]:
		return len(data.DataPoints) > 0
	}
	return false
}

// domains are the parts of the machine.
// https://opentelemetry.io/docs/specs/semconv/hardware/common/
func domains(s *monitor.Snapshot, at stamps) []metricdata.Metrics {
	var energies []metricdata.DataPoint[float64]
	var failed, readable []metricdata.DataPoint[int64]
	for i := range s.Domains {
		d := &s.Domains[i]
		who := []attribute.KeyValue{semconv.HwID(series.Valid(d.Domain.ID)),
			hardware(&d.Domain), keySource.String(series.Valid(d.Domain.Source))}
		if d.Domain.Parent != "" {
			who = append(who, semconv.HwParent(d.Domain.Parent))
		}
		failed = append(failed, at.whole(d.Failed, who...))
		state := at.whole(0, who...)
		if d.Readable {
			state.Value = 1
		}
		readable = append(readable, state)
		if d.Known() {
			who = append(who, keyMethod.String(string(d.Domain.Method)))
			energies = append(energies, at.float(d.Total.Joules(), who...))
		}
	}
	return []metricdata.Metrics{
		sum(hwconv.Energy{}.Name(), joules, "Energy of a part of the machine; parts may be in others.", energies),
		sum("cg.sensor.failed_readings", "{reading}", "Readings of a counter that failed.", failed),
		{Name: "cg.sensor.readable", Unit: "1", Description: "1 where the last reading of a counter succeeded, else 0.",
			Data: metricdata.Gauge[int64]{DataPoints: readable}},
	}
}

// hardware is the type of a domain in the conventions.
func hardware(d *nemb.Domain) attribute.KeyValue {
	switch {
	case d.Kind == nemb.KindGPU:
		return semconv.HwTypeGpu
	case d.Kind == "dram" || d.ID == "memory":
		return semconv.HwTypeMemory
	case d.Kind == "psys":
		return semconv.HwTypeEnclosure
	}
	return semconv.HwTypeCPU
}

// machine is the whole, its division, and what was asked for.
func machine(s *monitor.Snapshot, at stamps) []metricdata.Metrics {
	whole, share := series.Methods(s)
	var total, ledger, targets, times []metricdata.DataPoint[float64]
	for _, t := range series.Targets(s.Targets) {
		who := []attribute.KeyValue{keyKind.String(string(t.Kind)), keyName.String(series.Valid(t.Name))}
		since := at.since(t.BeganUnix)
		times = append(times, since.float(t.CPU.Seconds(), who...))
		if s.Known() {
			targets = append(targets, since.float(t.Joules, append(who, keyMethod.String(share))...))
		}
	}
	if s.Known() {
		total = append(total, at.float(s.Total().Joules(), semconv.HwID("machine"), keyMethod.String(whole)))
		for _, l := range s.Ledger() {
			ledger = append(ledger, at.float(l.Energy.Joules(), keyLine.String(l.Name), keyMethod.String(share)))
		}
	}
	return []metricdata.Metrics{
		sum(hwconv.HostEnergy{}.Name(), joules, "Energy of the machine: of the parts that make up the total.", total),
		sum("cg.ledger.energy", joules, "Division of the machine's energy: the lines add up to it.", ledger),
		sum("cg.target.energy", joules, "Energy of what cg was asked to watch.", targets),
		sum("cg.target.cpu.time", "s", "Processor time of what cg was asked to watch.", times),
		sum("cg.readings", "{reading}", "Readings of the machine.",
			[]metricdata.DataPoint[int64]{at.whole(s.Readings)}),
		sum("cg.readings.missed", "{reading}", "Intervals without a reading.",
			[]metricdata.DataPoint[int64]{at.whole(s.Missed)}),
	}
}

// requests are the routes. Their number is bounded by the book.
func requests(s *monitor.Snapshot, at stamps) []metricdata.Metrics {
	_, share := series.Methods(s)
	var energies []metricdata.DataPoint[float64]
	var numbers []metricdata.DataPoint[int64]
	for _, r := range s.Routes {
		who := []attribute.KeyValue{keyRequest.String(r.Name)}
		numbers = append(numbers, at.whole(r.Count, who...))
		if s.Known() {
			energies = append(energies, at.float(r.Joules, append(who, keyMethod.String(share))...))
		}
	}
	return []metricdata.Metrics{
		sum("cg.request.energy", joules, "Energy of requests of a name, of what their processes have.", energies),
		sum("cg.requests", "{request}", "Requests of a name that have ended.", numbers),
	}
}

// whose is by what energies are divided.
var whose = map[string]string{"": ": by processor time, of GPUs by what their drivers tell",
	"gpu.": ": of GPUs alone, by what their drivers tell"}

// shares are the processes and control groups.
func shares(kept *series.Kept, s *monitor.Snapshot, of, method string) []metricdata.Metrics {
	return []metricdata.Metrics{processes(kept, s, of, method), groups(kept, s, of, method)}
}

// gpus are the ledgers of GPUs whose drivers are asked who uses them, and what they have of targets.
func gpus(s *monitor.Snapshot, at stamps, method string) []metricdata.Metrics {
	var ledger, targets []metricdata.DataPoint[float64]
	for i := range s.Domains {
		d := &s.Domains[i]
		if !d.Divided || !d.Known() {
			continue
		}
		for _, l := range d.Lines() {
			ledger = append(ledger, at.float(l.Energy.Joules(), semconv.HwID(series.Valid(d.Domain.ID)),
				keyLine.String(l.Name), keyMethod.String(method)))
		}
	}
	for _, t := range series.Targets(s.Targets) {
		targets = append(targets, at.since(t.BeganUnix).float(t.GPU.Joules, keyKind.String(string(t.Kind)),
			keyName.String(series.Valid(t.Name)), keyMethod.String(method)))
	}
	return []metricdata.Metrics{
		sum("cg.gpu.ledger.energy", joules,
			"Division of a GPU's energy by what its driver tells of processes.", ledger),
		sum("cg.target.gpu.energy", joules, "Energy of GPUs of what cg was asked to watch.", targets),
	}
}

func processes(kept *series.Kept, s *monitor.Snapshot, of, method string) metricdata.Metrics {
	at := stamps{now: time.Unix(0, s.AtUnix)}
	var all []metricdata.DataPoint[float64]
	kept.Processes(s, func(v series.Value) {
		who := []attribute.KeyValue{keyMethod.String(method), keyRest.Bool(v.Labels == nil)}
		if v.Labels != nil {
			pid, _ := strconv.Atoi(v.Labels[0])
			who = append(who, semconv.ProcessPID(pid), keyStart.String(v.Labels[1]),
				semconv.ProcessExecutableName(v.Labels[2]), semconv.ProcessLinuxCgroup(v.Labels[3]))
		}
		all = append(all, at.since(v.Since).float(v.Joules, who...))
	})
	return sum("cg.process."+of+"energy", joules, "Energy of a process, without idle power"+whose[of]+".", all)
}

func groups(kept *series.Kept, s *monitor.Snapshot, of, method string) metricdata.Metrics {
	at := stamps{now: time.Unix(0, s.AtUnix)}
	var all []metricdata.DataPoint[float64]
	kept.Groups(s, func(v series.Value) {
		who := []attribute.KeyValue{keyMethod.String(method), keyRest.Bool(v.Labels == nil)}
		if v.Labels != nil {
			who = append(who, semconv.ProcessLinuxCgroup(v.Labels[0]))
			if v.Labels[1] != "" {
				who = append(who, keyUnit.String(v.Labels[1]))
			}
			if v.Labels[2] != "" {
				who = append(who, semconv.ContainerID(v.Labels[2]))
			}
		}
		all = append(all, at.since(v.Since).float(v.Joules, who...))
	})
	return sum("cg.cgroup."+of+"energy", joules,
		"Energy of a control group, without those below it"+whose[of]+".", all)
}
