package iotrace_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
	"cg/recorder"
	"cg/recorder/analysis"
	"cg/recorder/recordertest"
	"cg/report"
	"cg/report/cluster"
	"cg/report/iotrace"
)

func joules(j float64) *report.Joules {
	v := report.Joules(math.Round(j * 1e6))
	return &v
}

// merged is a run of three ranks on two nodes, from 100 s on: of n0 with 10 W ranks 0 and 2 have a half and a
// quarter, of n1 with 20 W for a second and 40 W then rank 1 has a half.
func merged() *cluster.Run {
	at := func(s float64) int64 { return int64(s * 1e9) }
	bound := int64(5_000_000)
	return &cluster.Run{
		Meta: cluster.Meta{ClockBoundNs: &bound},
		Nodes: []cluster.Node{
			{Name: "n0", Kind: nemb.Measured, EnergyJ: joules(30), EnergyLoJ: joules(27), EnergyHiJ: joules(33), StartedUnixNs: at(100),
				UpdatedUnixNs: at(103), Samples: []cluster.Sample{{UnixNs: at(101), PowerW: 10}, {UnixNs: at(103), PowerW: 10}}},
			{Name: "n1", Kind: nemb.Measured, EnergyJ: joules(100), StartedUnixNs: at(100), UpdatedUnixNs: at(103),
				Samples: []cluster.Sample{{UnixNs: at(101), PowerW: 20}, {UnixNs: at(103), PowerW: 40}}},
		},
		Ranks: []cluster.Rank{{Rank: 0, Node: "n0", EnergyJ: joules(15)}, {Rank: 1, Node: "n1", EnergyJ: joules(50)},
			{Rank: 2, Node: "n0", EnergyJ: joules(7.5)}, {Rank: 3, Node: "n1", EnergyJ: joules(1)}},
	}
}

// Each rank has its part of its node's energy at the time, and the intervals hold the node's bounds.
func TestMetersOfARun(t *testing.T) {
	const second = 10_000_000
	dir := filepath.Join(t.TempDir(), "trace")
	w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.V25, Start: 100})
	for range 3 {
		w.Rank([]recordertest.Record{{Start: 0, End: second, Func: "write", Args: []string{"/f", "%p", "1"}},
			{Start: second, End: 3 * second, Func: "read", Args: []string{"/g", "%p", "1"}}})
	}
	w.Close(t)
	trace, err := recorder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	meters, err := iotrace.Meters(merged(), "run.json", 3)
	if err != nil {
		t.Fatal(err)
	}
	a, err := analysis.Of(trace, analysis.Options{Meters: meters})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range a.Ranks {
		got += fmt.Sprintf("%.4f [%.4f %.4f] %.4f W|", r.IOEnergy.J, r.IOEnergy.LoJ, r.IOEnergy.HiJ, *r.IOEnergy.W)
	}
	if want := "15.0000 [13.5000 16.5000] 5.0000 W|50.0000 [50.0000 50.0000] 16.6667 W|7.5000 [6.7500 8.2500] 2.5000 W|"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, f := range a.Functions {
		want := map[string]float64{"write": 5 + 10 + 2.5, "read": 10 + 40 + 5}[f.Name]
		if math.Abs(f.Energy.J-want) > 1e-9 || f.Energy.Kind != "measured" {
			t.Errorf("%s: %+v, want %g J", f.Name, f.Energy, want)
		}
	}
	for _, f := range a.Files {
		if want := map[string]float64{"/f": 17.5, "/g": 55}[f.Name]; math.Abs(f.Energy.J-want) > 1e-9 {
			t.Errorf("%s: %+v, want %g J", f.Name, f.Energy, want)
		}
	}
	notes := strings.Join(a.Notes, "\n")
	if !strings.Contains(notes, "each by its part of the whole run") || !strings.Contains(notes, "the clocks of two nodes are up to 0.005000 s apart") {
		t.Error(notes)
	}
}

// Samples that were left out, or none, are made up for by the node's energy; what is not known is an error.
func TestMetersOfPoorRuns(t *testing.T) {
	d := merged()
	d.Nodes[0].Samples = nil
	d.Nodes[1].Samples = d.Nodes[1].Samples[1:]
	meters, err := iotrace.Meters(d, "run.json", 3)
	if err != nil || len(meters[0].Unix) != 2 || meters[0].Joules[1] != 30 || meters[1].Joules[len(meters[1].Joules)-1] != 100 {
		t.Errorf("%+v, %v", meters, err)
	}
	for want, change := range map[string]func(d *cluster.Run){
		"run.json: node n1: its energy is not known": func(d *cluster.Run) { d.Nodes[1].EnergyJ = nil },
		"run.json: rank 2 has no energy":             func(d *cluster.Run) { d.Ranks[2].EnergyJ = nil },
		"run.json: node n0: it has no samples":       func(d *cluster.Run) { d.Nodes[0].Samples, d.Nodes[0].UpdatedUnixNs = nil, 0 },
	} {
		d := merged()
		change(d)
		if _, err := iotrace.Meters(d, "run.json", 3); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
