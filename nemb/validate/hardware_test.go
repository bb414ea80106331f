package validate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/fixture"
	"cg/nemb/simulate"
)

// sawtooth is a series of a counter of 2 W that is sampled each millisecond and moves each 5 ms by 10 mJ, with a failed
// reading.
func sawtooth() nemb.Series {
	s := nemb.Series{Domains: []nemb.Domain{{ID: "package-0", Period: 5 * time.Millisecond}}}
	for i := range 2001 {
		at := checkpoint.Instant(i) * 1e6
		s.Samples = append(s.Samples, nemb.Sample{Time: at, Energy: []nemb.Energy{nemb.Energy(i / 5 * 10000)}, Failed: i == 7})
	}
	return s
}

// watch is a source with the samples of a series.
func watch(s nemb.Series) *watched {
	w := &watched{}
	w.take(s.Samples[:10])
	w.take(s.Samples[10:])
	return w
}

func TestMoves(t *testing.T) {
	w := watch(sawtooth())
	got := w.movesOf(0)
	want := &Moves{N: 399, MedianMs: 5, P05Ms: 5, P95Ms: 5, LeastUJ: 10000}
	if !reflect.DeepEqual(got, want) || w.samples != 2001 {
		t.Errorf("%+v, want %+v; %d samples", got, want, w.samples)
	}
	still := sawtooth()
	for i := range still.Samples {
		still.Samples[i].Energy = []nemb.Energy{7}
	}
	if got := watch(still).movesOf(0); got != nil {
		t.Errorf("a counter that stands: %+v", got)
	}
	if got := (&watched{}).movesOf(0); got != nil {
		t.Errorf("without a sample: %+v", got)
	}
}

// What is kept of the longest phases, both of which are sampled each millisecond, is bounded, and shows the same. The
// counter moves by 1 mJ each millisecond, in the second phase by 2 mJ each two.
func TestLongPhases(t *testing.T) {
	const phase = 600_000 // samples
	w := &watched{}
	at := func(i int) nemb.Energy { return nemb.Energy(i) * 1000 }
	for i := range 2 * phase {
		energy := at(i)
		if i >= phase {
			energy = at(i / 2 * 2)
		}
		w.take([]nemb.Sample{{Time: checkpoint.Instant(i) * 1e6, Width: time.Duration(10+i%11) * time.Microsecond,
			Energy: []nemb.Energy{energy}, Failed: i%10 == 7}})
	}
	series := nemb.Series{Domains: []nemb.Domain{{ID: "package-0", Period: time.Millisecond}}, Samples: w.kept.Samples()}
	m := w.movesOf(0)
	if n := len(series.Samples); n > 1<<16 || cap(w.moves[0].spans.kept) > 2*mostThinned || cap(w.widths.kept) > 2*mostThinned {
		t.Errorf("%d samples, %d times between moves, and %d widths are kept", n,
			cap(w.moves[0].spans.kept), cap(w.widths.kept))
	}
	if m.MedianMs != 1 || m.P05Ms != 1 || m.P95Ms != 2 || m.LeastUJ != 1000 || w.samples != 2*phase {
		t.Errorf("%+v", m)
	}
	if q := quantile(w.widths.kept, 0.5); q != 15 {
		t.Errorf("a reading takes %g us, want 15", q)
	}
	for n, from := range []checkpoint.Instant{1e8, phase*1e6 + 1e8} {
		p := steadiness(series, 0, from, from+phase*1e6-2e8)
		if p == nil || math.Abs(p.Watts-1) > 1e-4 || p.Percent > 3 || p.Spans < 5990 {
			t.Errorf("phase %d: %+v", n, p)
		}
	}
}

func TestSteadiness(t *testing.T) {
	p := steadiness(sawtooth(), 0, 1e8, 19e8)
	if p == nil || math.Abs(p.Watts-2) > 1e-3 || p.Percent > 0.1 || p.Spans != 18 || p.SpanMs != 100 {
		t.Errorf("%+v", p)
	}
	if p := steadiness(sawtooth(), 0, 1e8, 99e8); p != nil {
		t.Errorf("longer than the series: %+v", p)
	}
}

// Powers that are the same agree within a percent and what their counters leave open; the machine has no less than what
// is in it; and what is not known is no agreement.
func TestPairs(t *testing.T) {
	domain := func(source, id, kind string, watts ...float64) HardwareDomain {
		d := HardwareDomain{Source: source, ID: id, Kind: kind}
		for _, w := range watts {
			if w < 0 {
				d.Power = append(d.Power, nil)
				continue
			}
			d.Power = append(d.Power, &Steadiness{Watts: w, SlackW: 0.01})
		}
		return d
	}
	h := &Hardware{Sources: []HardwareSource{{Name: "perf"}, {Name: "powercap"}, {Name: "ipmi"}, {Name: "hwmon"}},
		Domains: []HardwareDomain{
			domain("perf", "package-0", "cpu_package", 20, 100), domain("perf", "dram", "dram", 2, 5),
			domain("powercap", "package-0", "cpu_package", 20.1, 100.5), domain("powercap", "dram", "dram", 2, 6),
			domain("powercap", "psys", "psys", 40, 90), domain("ipmi", "machine", "independent", -1, 180),
		}}
	h.Domains[5].whole = true
	h.pair()
	var got []string
	for _, p := range h.Pairs {
		agree := "?"
		if p.Agree != nil {
			agree = map[bool]string{true: "yes", false: "no"}[*p.Agree]
		}
		got = append(got, strings.Join([]string{p.First, string(p.Relation), strings.Join(p.Second, "+"), agree}, " "))
	}
	want := []string{
		"perf/package-0 same powercap/package-0 yes",
		"perf/dram same powercap/dram no",
		"powercap/psys includes perf/package-0+perf/dram no",
		"ipmi/machine includes perf/package-0+perf/dram yes",
		"perf/dram beside perf/package-0 ?",
		"powercap/dram beside powercap/package-0 ?",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if p := h.Pairs[3]; p.RatioPercent[0] != nil || p.FirstW[0] != nil || math.Abs(*p.RatioPercent[1]-180/1.05) > 0.01 {
		t.Errorf("%+v", p)
	}
	if err := h.Fault(); err == nil || err.Error() != "perf/dram and powercap/dram do not agree\n"+
		"powercap/psys and perf/package-0 + perf/dram do not agree" {
		t.Error(err)
	}
	if err := (&Hardware{}).Fault(); !errors.Is(err, ErrNothingMeasured) {
		t.Error(err)
	}
}

func TestWhere(t *testing.T) {
	for source, want := range map[string]string{
		"/tmp/x/sys/class/powercap/intel-rapl:0/energy_uj": "/sys/class/powercap/intel-rapl:0/energy_uj",
		"perf: power/energy-pkg/ on processor 0":           "perf: power/energy-pkg/ on processor 0",
		"NVML total energy of GPU-1234":                    "",
		"redfish: https://bmc.example.org":                 "",
	} {
		if got := where(source, "/tmp/x/"); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

// A simulated machine shows what it is made of, and nothing of who looks.
func TestHardware(t *testing.T) {
	counter := func(watts float64, period time.Duration) simulate.Counter {
		return simulate.Counter{Power: simulate.Constant(watts), Unit: simulate.UnitIntel, Period: period, Range: 262143328850}
	}
	_, root := fixture.Mount(t, simulate.Machine{Cpuinfo: "processor\t: 0\nmodel name\t: Simulated\n", Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: counter(20, time.Millisecond), Zones: []simulate.Zone{
			{Dir: "intel-rapl:0:0", Name: "dram", Counter: counter(3, 4*time.Millisecond)}}},
		{Dir: "intel-rapl:1", Name: "psys", Counter: counter(50, time.Millisecond)},
	}})
	h, err := LookAtHardware(context.Background(), root, time.Second, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	for _, private := range []string{root.Dir, `"` + host + `"`, home + "/", os.Args[0]} {
		if strings.Contains(string(text), private) {
			t.Errorf("%q is in %s", private, text)
		}
	}
	watts := map[string]float64{"package-0": 20, "dram": 3, "psys": 50}
	for _, d := range h.Domains {
		if d.Source != "powercap" || len(d.Power) != 2 || d.Power[0] == nil || d.Moves == nil || d.Failed > 0 {
			t.Errorf("%+v", d)
			continue
		}
		if off := math.Abs(d.Power[0].Watts/watts[d.ID] - 1); off > 0.05 || !strings.HasPrefix(d.Where, "/sys/class/powercap/") {
			t.Errorf("%s: %+v, %s", d.ID, d.Power[0], d.Where)
		}
		delete(watts, d.ID)
	}
	if len(watts) > 0 || len(h.Phases) != 2 || h.Fault() != nil {
		t.Errorf("not seen: %v; %+v; %v", watts, h.Phases, h.Fault())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := LookAtHardware(ctx, root, time.Hour, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A counter that stands beside one that moves is a disagreement, whichever of the two it is; where all stand, nothing
// is measured.
func TestStandingCounters(t *testing.T) {
	still := func(source string) HardwareDomain {
		return HardwareDomain{Source: source, ID: "package-0", Kind: "cpu_package", Power: []*Steadiness{nil, nil}, still: true}
	}
	moving := still("")
	moving.still, moving.Power = false, []*Steadiness{{Watts: 20, SlackW: 0.1}, {Watts: 100, SlackW: 0.1}}
	zero := moving
	zero.Power = []*Steadiness{{}, {Watts: 100, SlackW: 0.1}}
	slow := moving
	slow.Power = []*Steadiness{{Watts: 1, SlackW: 2}, {Watts: 1, SlackW: 2}}
	unknown := still("")
	unknown.still = false
	no := "perf/package-0 and powercap/package-0 do not agree"
	for _, test := range []struct {
		name          string
		first, second HardwareDomain
		want          string
	}{
		{"the first stands", still(""), moving, no},
		{"the second stands", moving, still(""), no},
		{"no power at rest", zero, moving, no},
		{"one may not have moved yet", still(""), slow, ""},
		{"one is not known", unknown, moving, ""},
		{"both stand", still(""), still(""), ErrNothingMoved.Error()},
	} {
		test.first.Source, test.second.Source = "perf", "powercap"
		h := &Hardware{Domains: []HardwareDomain{test.first, test.second}}
		h.pair()
		got := ""
		if err := h.Fault(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	s := sawtooth()
	if stood(s, 0) {
		t.Error("one that moves stands")
	}
	for i := range s.Samples {
		s.Samples[i].Energy = []nemb.Energy{7}
	}
	if !stood(s, 0) {
		t.Error("one that stands moves")
	}
	s.Domains[0].Period = time.Second
	if stood(s, 0) {
		t.Error("one that may have had no time to move stands")
	}
}
