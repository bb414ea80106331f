package report

import (
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/nemb/attribute/gpus"
)

// dividedRun is a run of which a package used 40 J, half of them the program, and a GPU 100 J.
func dividedRun(division *gpus.Division, alone bool) (*Run, *measure.Outcome) {
	gpu := nemb.Domain{ID: "gpu0", Kind: nemb.KindGPU, Method: nemb.Measured, InTotal: true, Lo: 0.95, Hi: 1.05}
	ledger := attribute.Ledger{Total: 100e6, Unattributed: 100e6}
	if division != nil && division.Method != gpus.Unattributed {
		ledger = attribute.Ledger{Total: 100e6, GPU: division.Program, Other: division.Other, Idle: division.Idle,
			Unattributed: division.Unattributed, ProgramLo: 50e6, ProgramHi: 70e6}
	}
	domains, ledgers := []nemb.Domain{gpu}, []attribute.Ledger{ledger}
	total := ledger
	if !alone {
		domains = append(domains, nemb.Domain{ID: "package-0", Kind: "cpu_package", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1})
		ledgers = append(ledgers, attribute.Ledger{Total: 40e6, Uninstrumented: 20e6, Other: 20e6, ProgramLo: 20e6, ProgramHi: 20e6})
		total.Total, total.Uninstrumented = total.Total+40e6, 20e6
		total.Other, total.ProgramLo, total.ProgramHi = total.Other+20e6, total.ProgramLo+20e6, total.ProgramHi+20e6
	}
	result := attribute.Result{Domains: ledgers, Total: total, Wall: time.Second, Paths: []attribute.Path{{Parent: -1, Self: total.Uninstrumented}},
		GPUs: []*gpus.Division{division, nil}[:len(domains)]}
	r := &Run{}
	r.Attributed(domains, result, nil)
	o := &measure.Outcome{Attributed: result, Domains: domains}
	r.warnOfGPUs(o)
	return r, o
}

// What the driver tells of a GPU is in the report, and what it does not tell, with the reason.
func TestGPUs(t *testing.T) {
	known := &gpus.Division{Method: gpus.Utilization, Program: 60e6, Other: 10e6, Idle: 30e6}
	gap := &gpus.Division{Method: gpus.Utilization, Program: 60e6, Unattributed: 40e6, Reason: gpus.Interrupted}
	for _, test := range []struct {
		name     string
		division *gpus.Division
		alone    bool
		program  *Joules
		line     string
		warning  string
		lines    string
	}{
		{"known", known, false, joules(80e6), "60.0 J [50.0 J, 70.0 J] of the program on gpu0, by the driver's samples of what processes use; not told apart by function", "",
			"functions uninstrumented program on GPUs other processes idle cg unattributed"},
		{"known, alone", known, true, joules(60e6), "60.0 J [50.0 J, 70.0 J] of the program on gpu0", "",
			"program on GPUs other processes idle unattributed"},
		{"a gap", gap, false, joules(80e6), "60.0 J", "gpu0 used 40.0 J, and nothing tells whose that is", "functions uninstrumented program on GPUs other processes idle cg unattributed"},
		{"MIG", &gpus.Division{Method: gpus.Unattributed, Unattributed: 100e6, Reason: "mig"}, true, nil, "", "gpu0: it is divided into MIG instances",
			"idle unattributed"},
		{"MIG, and no context", &gpus.Division{Method: gpus.Unattributed, Unattributed: 100e6, Reason: "mig", Unused: true}, false, joules(20e6),
			"0 J [0 J, 0 J] of the program on gpu0, on which it held no context", "", "functions uninstrumented program on GPUs other processes idle cg unattributed"},
		{"an AMD GPU", &gpus.Division{Method: gpus.Unattributed, Unattributed: 100e6, Reason: gpus.NotAsked}, false, joules(20e6), "", "gpu0 used 100 J, and nothing tells whose that is",
			"functions uninstrumented other processes idle cg unattributed"},
	} {
		r, _ := dividedRun(test.division, test.alone)
		p := r.Totals.ProgramEnergyJ
		if (p == nil) != (test.program == nil) || p != nil && *p != *test.program {
			t.Errorf("%s: the program has %v", test.name, p)
		}
		if line := r.GPUs.Line(""); !strings.HasPrefix(line, test.line) || test.line == "" && line != "" {
			t.Errorf("%s: %q", test.name, line)
		}
		said := ""
		for _, w := range r.Warnings {
			if w.Slug == "gpu-unattributed" {
				said = w.Message
			}
		}
		if !strings.Contains(said, test.warning) || test.warning == "" && said != "" {
			t.Errorf("%s: %q", test.name, said)
		}
		var names []string
		for _, l := range r.Ledger {
			names = append(names, l.Name)
		}
		if got := strings.Join(names, " "); got != test.lines {
			t.Errorf("%s: %s", test.name, got)
		}
		c := &check{}
		c.totals(r)
		c.ledger(r)
		c.gpus(r)
		c.paths(r)
		for _, fault := range c.faults {
			if !strings.HasPrefix(fault, "totals.n_tasks") {
				t.Errorf("%s: %s", test.name, fault)
			}
		}
	}
}

// A figure that was changed by hand is found.
func TestCheckGPUs(t *testing.T) {
	r, _ := dividedRun(&gpus.Division{Method: gpus.Utilization, Program: 60e6, Other: 10e6, Idle: 30e6}, false)
	*r.GPUs.Devices[0].OtherJ++
	c := &check{}
	c.gpus(r)
	if len(c.faults) != 2 {
		t.Errorf("%q", c.faults)
	}
}

// A task has the program's part of a GPU while it ran alone; of two at once neither does, and
// the interval of each has it.
func TestGPUsInTasks(t *testing.T) {
	log := &gpus.Log{}
	for s := range int64(5) {
		o := nemb.Occupancy{From: at(max(0, s-1)), To: at(s), KnowsUses: true, KnowsContexts: true}
		if o.At = 1 + o.To; s > 0 {
			o.Uses = []nemb.Use{{PID: 1, Part: 1, Lo: 1, Hi: 1}}
		}
		log.Add(o, func(int) gpus.Owner { return gpus.Program })
	}
	curve := gpus.Curve{To: at(4), Total: 400e6, Knots: []nemb.Knot{{}, {At: 4e9, Joules: 400}}}
	division := log.Divide(curve, nemb.IdlePower{})
	task := func(from, to int64) Task {
		return Task{StartedAtMonoNs: from * 1e9, EndedAtMonoNs: to * 1e9, DurationS: float64(to - from), Domains: map[string]Joules{},
			DomainsPowerW: map[string]float64{}, ProgramShare: &ProgramShare{joules(1), joules(1), joules(1)}}
	}
	r := &Run{Tasks: []Task{{}, task(0, 1), task(2, 3), task(2, 4)}}
	r.Totals.EnergyJ, r.Totals.HiJ, r.Totals.Kind = new(Joules), new(Joules), nemb.Measured
	series := nemb.Series{Domains: []nemb.Domain{{ID: "gpu0", Kind: nemb.KindGPU, InTotal: true, Lo: 1, Hi: 1}}}
	for s := range int64(5) {
		series.Samples = append(series.Samples, nemb.Sample{Time: at(s), Energy: []nemb.Energy{nemb.Energy(s * 100e6)}})
	}
	r.machineInTasks(series, []*gpus.Division{&division})
	for i, want := range []float64{100, 0, 0} {
		task := r.Tasks[i+1]
		e, lo, hi := task.ProgramEnergyJ.Float(), task.ProgramEnergyLoJ.Float(), task.ProgramEnergyHiJ.Float()
		if e < want-0.01 || e > want+0.01 || lo > e || hi < 99.9 {
			t.Errorf("task %d: %v J in [%v, %v], want %v", i, e, lo, hi, want)
		}
	}
}

// at is a moment, in seconds.
func at(s int64) checkpoint.Instant { return checkpoint.Instant(s) * checkpoint.Instant(time.Second) }

// A file whose samples of counters are not those of its metrics is found.
func TestCheckGPUMetrics(t *testing.T) {
	v := 1.0
	c := &check{}
	c.gpuMetrics(&GPUMetrics{Devices: []GPUMetricsOfGPU{{Metrics: []GPUMetric{{Name: "a"}, {Name: "b"}},
		Samples: []GPUMetricSample{{0, 1, []*float64{&v, nil}}, {1, 2, []*float64{&v}}, {3, 2, []*float64{&v, &v}}}}}})
	if got, want := strings.Join(c.faults, "; "), "gpu_metrics.devices[0].samples[1].values: 1, but there are 2 metrics; "+
		"gpu_metrics.devices[0].samples[2].to_ns: 2 is before its start, 3"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
