package usage_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/checkpoint"
	"cg/monitor"
	"cg/nemb"
	"cg/nemb/population"
	"cg/report"
	"cg/report/reporttest"
	"cg/report/usage"
)

const container = "/docker/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// snapshot is ten seconds of a machine of 20 W, of which nine are used; counts tells
// whether its counter moves.
func snapshot(counts bool, method nemb.Method) *monitor.Snapshot {
	b := monitor.New([]nemb.Domain{
		{ID: "package-0", Kind: "cpu_package", Source: "/sys/a\x1b[2J", Method: method, InTotal: true, Lo: 0.9, Hi: 1.1, Base: 8},
		{ID: "core-0", Kind: "nested", Parent: "package-0", Source: "/sys/b", Method: method, Lo: 1, Hi: 1},
	}, 2, 99)
	b.Watch(monitor.Target{Kind: monitor.PID, Name: "7", ID: population.ID{PID: 7}})
	b.Watch(monitor.Target{Kind: monitor.Container, Name: "web", Path: container[8:]})
	r := &monitor.Reading{}
	r.Host.KnowsBusy = true
	for k := range 11 {
		at := time.Duration(k) * time.Second
		r.At, r.Unix = checkpoint.Instant(at)+1, int64(at)
		r.Energy = []float64{5e6, math.NaN()}
		if counts {
			r.Energy = []float64{5e6 + 20e6*at.Seconds(), 7e6 * at.Seconds()}
		}
		cpu := time.Duration(min(k, 9)) * 300 * time.Millisecond
		r.Host.Busy = 3 * cpu
		r.Host.Processes = []population.Process{
			{ID: population.ID{PID: 7, Start: 0}, Name: "py\nthon", Group: container, CPU: cpu},
			{ID: population.ID{PID: 8, Start: 5}, Name: "sh", Group: "/system.slice/a.service", CPU: cpu * 2 / 3},
			{ID: population.ID{PID: 99, Start: 6}, Name: "cg", Group: "/", CPU: cpu / 3},
		}
		r.Host.Groups = []population.Group{{Path: container, CPU: cpu}, {Path: "/system.slice", CPU: cpu}, {Path: "/system.slice/a.service", CPU: cpu}}
		r.Annotations = []monitor.Annotation{
			{From: 1, ID: "a", Name: "GET /a\x1b[2J", Begin: true, At: r.At - 1e9, CPU: -1, Thread: monitor.Thread{PID: 8}},
			{From: 1, ID: "b", Name: "PUT /b", Begin: true, At: r.At - 5e8, CPU: -1, Thread: monitor.Thread{PID: 8}},
			{From: 1, ID: "b", At: r.At, CPU: -1},
		}
		if k == 10 {
			r.Host.Processes = r.Host.Processes[1:]
		}
		b.Add(r)
	}
	return b.Snapshot()
}

var run = usage.Run{CgVersion: "0", Hostname: "h", CPUModel: "m", IntervalS: 1, Others: []string{"cg measure (pid 3)", "codegreen (pid 4)"}}

func valid(t *testing.T, rules *jsonschema.Schema, b []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if err := rules.Validate(v); err != nil {
		t.Error(err)
	}
}

func TestSchema(t *testing.T) {
	rules := reporttest.Documented(t, "monitor", usage.Schema())
	for _, s := range []*monitor.Snapshot{snapshot(true, nemb.Measured), snapshot(false, nemb.Measured), snapshot(true, nemb.Estimated)} {
		b, err := usage.New(s, run).JSON()
		if err != nil {
			t.Fatal(err)
		}
		valid(t, rules, b)
	}
}

// The lines of a document add up to its total, and the rows say how they are known.
func TestSums(t *testing.T) {
	for method, want := range map[nemb.Method]nemb.Method{nemb.Measured: nemb.Derived, nemb.Estimated: nemb.Estimated} {
		d := usage.New(snapshot(true, method), run)
		sum := report.Joules(0)
		for _, l := range d.Ledger {
			sum += *l.EnergyJ
		}
		if *d.Totals.EnergyJ != 200e6 || sum != 200e6 || d.Totals.EnergyKind != method {
			t.Errorf("%v, lines %v, %v", *d.Totals.EnergyJ, sum, d.Totals.EnergyKind)
		}
		groups := *d.EndedCgroups.EnergyJ
		for _, g := range d.Cgroups {
			if groups += *g.EnergyJ; g.EnergyKind != want {
				t.Errorf("%s is %s", g.Path, g.EnergyKind)
			}
		}
		if groups != *d.Ledger[0].EnergyJ {
			t.Errorf("groups %v, their line %v", groups, *d.Ledger[0].EnergyJ)
		}
		p := d.Processes[0]
		for what, figure := range map[string][2]float64{
			"energy": {p.EnergyJ.Float(), 36}, "least": {p.EnergyLoJ.Float(), 32.4}, "most": {p.EnergyHiJ.Float(), 39.6},
			"power": {*p.PowerW, 3.6}, "share": {*p.SharePercent, 18},
		} {
			if math.Abs(figure[0]-figure[1]) > 2e-5 || p.EnergyKind != want { // whole microjoules of ten windows
				t.Errorf("%s: %v, want %v; %s", what, figure[0], figure[1], p.EnergyKind)
			}
		}
		for _, target := range d.Targets {
			if math.Abs(target.EnergyJ.Float()-36) > 2e-5 || target.Ended != (target.Kind == "pid") {
				t.Errorf("%s: %v", target.Name, *target.EnergyJ)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	var b bytes.Buffer
	for _, s := range []*monitor.Snapshot{snapshot(true, nemb.Measured), snapshot(false, nemb.Measured)} {
		b.WriteString(string(usage.New(s, run).Text(10)))
		b.WriteString("----\n" + string(usage.NewRow(s, 10).Table(10, 70, 24)))
		b.WriteString("----\n" + string(usage.NewRow(s, 10).Line()) + "====\n")
		s.Targets = nil
		b.WriteString(string(usage.NewRow(s, 10).Line()) + "====\n")
	}
	reporttest.Golden(t, "testdata/texts.txt", b.Bytes())
}
