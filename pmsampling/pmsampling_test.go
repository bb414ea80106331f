package pmsampling

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cg/nemb/leaks"
	"cg/pmsampling/cupti"
	"cg/pmsampling/simulate"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

const metrics = `metric sm__cycles_active.avg counter sm gpc_cycle 50
metric sm__cycles_active.avg.pct_of_peak_sustained_elapsed counter sm percent 25 75 10
metric dram__throughput.avg.pct_of_peak_sustained_elapsed throughput dram percent nan
`

// library makes a machine.
func library(t *testing.T, conf string, define ...string) (*cupti.Library, string) {
	t.Helper()
	root := t.TempDir()
	if err := simulate.CUPTI(root+"/lib", metrics+conf, define...); err != nil {
		t.Fatal(err)
	}
	l, err := cupti.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return l, root + "/lib"
}

var active = Config{Metrics: []string{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}}

// begun makes a collector that runs.
func begun(t *testing.T, l *cupti.Library, config Config) *Collector {
	t.Helper()
	c := New(l, 0)
	if err := errors.Join(c.Enable(), c.Configure(config), c.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Disable(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestEnums(t *testing.T) {
	got := fmt.Sprint(int(GPUSysclkInterval), int(GPUTimeInterval), int(StopOther), int(StopCounterDataFull), int(StopEndOfRecords),
		int(KeepOldest), int(KeepLatest))
	if got != "0 1 0 1 2 0 1" {
		t.Error(got)
	}
	if s := fmt.Sprint(GPUTimeInterval, StopEndOfRecords, KeepLatest, TriggerMode(7)); s != "GPU_TIME_INTERVAL END_OF_RECORDS KEEP_LATEST 7" {
		t.Error(s)
	}
}

// Each call at each wrong time.
func TestOrder(t *testing.T) {
	l, _ := library(t, "")
	c := New(l, 0)
	decode := func() error { _, err := c.Decode(10); return err }
	configure := func() error { return c.Configure(active) }
	for i, step := range []struct {
		call func() error
		want string // "" for none
	}{
		{c.Disable, ""},
		{c.Start, "enable the collector before start"}, {c.Stop, "enable the collector before stop"},
		{decode, "enable the collector before decode"}, {configure, "enable the collector before configure"},
		{c.Enable, ""}, {c.Enable, "PM sampling is already enabled on GPU 0"},
		{c.Start, "configure the collector before start"}, {c.Stop, "configure the collector before stop"},
		{decode, "configure the collector before decode"},
		{configure, ""}, {c.Stop, "PM sampling has already stopped"}, {configure, ""},
		{c.Start, ""}, {c.Start, "PM sampling has already started"}, {configure, "PM sampling is running: stop it before configure"},
		{decode, ""}, {c.Stop, ""}, {decode, ""}, {c.Start, ""}, {c.Stop, ""},
		{c.Disable, ""}, {c.Disable, ""}, {c.Stop, "enable the collector before stop"}, {c.Enable, ""}, {c.Disable, ""},
	} {
		err := step.call()
		if step.want == "" && err != nil || step.want != "" && (err == nil || err.Error() != step.want || !errors.Is(err, ErrState)) {
			t.Fatalf("step %d: %v, want %q", i, err, step.want)
		}
	}
}

func TestValues(t *testing.T) {
	l, dir := library(t, "")
	c := New(l, 0)
	if err := c.Enable(); err != nil {
		t.Fatal(err)
	}
	defer c.Disable()
	for _, test := range []struct {
		config Config
		kind   error
		want   string
	}{
		{Config{}, ErrValue, "name one metric at least"},
		{Config{Metrics: []string{""}}, ErrValue, "has no name"},
		{Config{Metrics: []string{"a", "a"}}, ErrValue, "metric a is named twice"},
		{Config{Metrics: active.Metrics, Trigger: 2}, ErrValue, "there is no trigger mode 2"},
		{Config{Metrics: active.Metrics, Append: -1}, ErrValue, "there is no append mode -1"},
		{Config{Metrics: active.Metrics, Interval: 1 << 63}, ErrValue, "less than 2^63"},
		{Config{Metrics: []string{"sm__cycle_active.avg"}}, cupti.ErrMetric, "metrics sm__cycle_active.avg of GH100: no such metric (CUPTI 17)"},
		{Config{Metrics: active.Metrics, Set: "None"}, nil, "metrics of chip GH100: a parameter is invalid"},
	} {
		err := c.Configure(test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) || test.kind != nil && !errors.Is(err, test.kind) {
			t.Errorf("%+v: %v, want %q", test.config, err, test.want)
		}
	}
	simulate.Conf(dir, metrics+"passes 3\n")
	if err := c.Configure(active); err == nil || !strings.Contains(err.Error(), "these metrics need 3 passes") {
		t.Error(err)
	}
	simulate.Conf(dir, metrics)
	if err := c.Configure(active); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1, MostSamples + 1} {
		if _, err := c.Decode(n); !errors.Is(err, ErrValue) {
			t.Errorf("%d samples: %v", n, err)
		}
	}
}

// What stands in the way is told apart.
func TestRefusals(t *testing.T) {
	l, dir := library(t, "")
	for name, test := range map[string]struct {
		conf string
		kind error
		want string
	}{
		"denied":            {"fail cuptiPmSamplingEnable 35", cupti.ErrDenied, "NVreg_RestrictProfilingToAdminUsers=0"},
		"denied at once":    {"fail cuptiPmSamplingGetCounterAvailability 35", cupti.ErrDenied, "--cap-add=SYS_ADMIN"},
		"another profiles":  {"fail cuptiPmSamplingEnable 26", cupti.ErrBusy, "another program profiles this GPU (dcgm"},
		"enabled elsewhere": {"fail cuptiPmSamplingEnable 7", cupti.ErrBusy, "another program profiles this GPU"},
		"too old a GPU":     {"capability 7 0", cupti.ErrUnsupported, "compute capability 7.0: PM sampling begins with 7.5"},
		"MIG":               {"fail cuptiPmSamplingEnable 43", cupti.ErrUnsupported, "an instance of a GPU (MIG) cannot"},
		"memory":            {"fail cuptiPmSamplingEnable 8", cupti.ErrMemory, "out of memory"},
		"GA100 by time":     {"chip GA100", cupti.ErrUnsupported, "use cycles (GPU_SYSCLK_INTERVAL"},
		"broken":            {"fail cuptiPmSamplingSetConfig 999", nil, "it failed inside (CUPTI 999)"},
		"no nvperf":         {"fail cuptiProfilerHostInitialize 15", nil, "libnvperf_host.so"},
		"availability":      {"fail cuptiPmSamplingGetCounterAvailability 999", nil, ""},
	} {
		simulate.Conf(dir, metrics+test.conf+"\n")
		c := New(l, 0)
		config := active
		config.Trigger = GPUTimeInterval
		err := c.Enable()
		if err == nil {
			err = c.Configure(config)
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) ||
			test.kind != nil && !errors.Is(err, test.kind) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err := c.Disable(); err != nil {
			t.Error(err)
		}
	}
	if err := New(l, 1).Enable(); !errors.Is(err, cupti.ErrDevice) || !strings.Contains(err.Error(), "there is no GPU 1") {
		t.Errorf("no such GPU: %v", err)
	}
	if err := New(l, -1).Enable(); !errors.Is(err, cupti.ErrDevice) {
		t.Errorf("no such GPU: %v", err)
	}
}

// Samples, indices and values.
func TestCounterData(t *testing.T) {
	l, _ := library(t, "samples 25\ndecode 25\nincomplete 1\n")
	config := Config{Metrics: []string{active.Metrics[0], "sm__cycles_active.avg", "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
		Interval: 1000, Trigger: GPUTimeInterval}
	d, err := begun(t, l, config).Decode(30)
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 24 || d.Total != 30 || d.Populated != 25 || d.Reason != StopEndOfRecords || d.Overflow || d.Chip != "GH100" {
		t.Errorf("%+v", d)
	}
	first, _ := d.At(0)
	last, _ := d.At(-1)
	if again, err := d.At(-24); err != nil || again.Start != first.Start {
		t.Errorf("%v, %v", again, err)
	}
	if last.Start-first.Start != 23000 || first.End-first.Start != 1000 || last.End != d.Ends[23] {
		t.Errorf("%v to %v", first, last)
	}
	for _, i := range []int{24, -25} {
		if _, err := d.At(i); !errors.Is(err, ErrValue) {
			t.Errorf("sample %d: %v", i, err)
		}
	}
	if _, err := d.Range(3, 25); !errors.Is(err, ErrValue) {
		t.Error(err)
	}
	n := 0
	for s, err := range d.All() {
		want := []float64{25, 50}
		if n/10%2 == 1 {
			want[0] = 75
		}
		if err != nil || !slices.Equal(s.Values[:2], want) || !math.IsNaN(s.Values[2]) {
			t.Fatalf("sample %d: %v, %v, want %v", n, s, err, want)
		}
		n++
	}
	if n != 24 {
		t.Errorf("%d samples", n)
	}
	// Elsewhere: what the fields hold is enough.
	other := &CounterData{Image: d.Image, Metrics: d.Metrics, Chip: d.Chip, Completed: d.Completed, Starts: d.Starts, Ends: d.Ends}
	if _, err := other.At(0); !errors.Is(err, cupti.ErrAbsent) {
		t.Errorf("without an evaluator: %v", err)
	}
	e := NewEvaluator(l, "GH100")
	defer e.Close()
	other.EvaluateWith(e)
	if s, err := other.At(12); err != nil || s.Values[0] != 75 {
		t.Errorf("%v, %v", s, err)
	}
	other.Chip = "GA100"
	if _, err := other.At(0); !errors.Is(err, ErrValue) {
		t.Errorf("of another chip: %v", err)
	}
	other.Chip, other.Image = "GH100", []byte("no image of CUPTI's")
	if _, err := other.At(0); err == nil {
		t.Error("a wrong image has values")
	}
}

// What does not fit into an image is lost, and the reason says so.
func TestFull(t *testing.T) {
	l, _ := library(t, "")
	d, err := begun(t, l, active).Decode(10)
	if err != nil || d.Len() != 10 || d.Reason != StopCounterDataFull {
		t.Errorf("%+v, %v", d, err)
	}
}

// Older libraries get what they know: shorter structures, and names with suffixes.
func TestOlderLibraries(t *testing.T) {
	for _, define := range []string{"", "OLD", "OLDER"} {
		l, _ := library(t, "", strings.Fields(define)...)
		c := begun(t, l, active)
		if d, err := c.Decode(200); err != nil || d.Len() != 100 {
			t.Errorf("%q: %v", define, err)
		}
		c.Disable()
		host, err := l.Host("GH100", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := host.Properties("sm__cycles_active", cupti.Counter)
		suffixes, err2 := host.Suffixes("sm__cycles_active", cupti.Counter)
		if err != nil || err2 != nil || p.Description != "what sm__cycles_active counts" || len(suffixes) != 2 {
			t.Errorf("%q: %+v %v %v %v", define, p, suffixes, err, err2)
		}
		host.Close()
		latest := active
		latest.Append = KeepLatest
		c = New(l, 0)
		err = errors.Join(c.Enable(), c.Configure(latest))
		if (define == "OLDER") != (err != nil) {
			t.Errorf("%q: the latest: %v", define, err)
		}
		c.Disable()
		sets, err := l.Sets("GH100")
		if (define == "") != (err == nil && slices.Equal(sets, []string{"Triage"})) || define != "" && !errors.Is(err, cupti.ErrUnsupported) {
			t.Errorf("%q: sets %v, %v", define, sets, err)
		}
	}
}

func TestSessionCounts(t *testing.T) {
	for name, test := range map[string]struct {
		conf string
		want Counts
	}{
		"all":           {"samples 250\n", Counts{Samples: 250}},
		"flaws":         {"samples 250\nlost 5\nempty 2\nstale 3\n", Counts{Samples: 245, Missing: 5, Empty: 2, Stale: 3}},
		"incomplete":    {"samples 250\nincomplete 1\n", Counts{Samples: 248, Incomplete: 2, Missing: 1}},
		"another clock": {"samples 250\nclock 1e18 40\n", Counts{Samples: 250}},
	} {
		l, _ := library(t, test.conf)
		config := active
		config.Trigger = GPUTimeInterval
		s, err := Begin(l, 0, config)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Drain()
		if err != nil || b.Len() == 0 {
			t.Fatalf("%s: %v", name, err)
		}
		all, err := b.Samples()
		if err != nil || len(all) != len(b.Good) {
			t.Fatalf("%s: %v", name, err)
		}
		if at := all[0].From; at < s.Whole.Before.Mono-1e6 || at > s.Whole.After.Mono+1e6 {
			t.Errorf("%s: the first sample is at %d, between %+v", name, at, s.Whole)
		}
		last, err := s.End()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := last.Samples(); err != nil { // the GPU is given back
			t.Error(err)
		}
		if err := s.Close(); err != nil || s.Counts != test.want {
			t.Errorf("%s: %+v, want %+v (%v)", name, s.Counts, test.want, err)
		}
	}
}

// After an overflow sampling begins anew.
func TestOverflow(t *testing.T) {
	l, _ := library(t, "samples 1000\noverflow 2\n")
	s, err := Begin(l, 0, active)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 4 {
		b, err := s.Drain()
		if err != nil || b.Len() != 100 {
			t.Fatal(err)
		}
		if _, err := b.Samples(); err != nil {
			t.Error(err)
		}
	}
	if s.Counts.Overflows != 2 || s.Counts.Samples != 400 {
		t.Errorf("%+v", s.Counts)
	}
	if flaws := s.Counts.Flaws(); len(flaws) != 1 || !strings.Contains(flaws[0], "overflowed 2 times") {
		t.Error(flaws)
	}
}

func TestClock(t *testing.T) {
	c := Clock{cupti.Pair{Mono: 1000, GPU: 5_000_000, Uncertainty: 20}, cupti.Pair{Mono: 1_001_000, GPU: 6_000_100, Uncertainty: 30}}
	for gpu, want := range map[int64]int64{5_000_000: 1000, 6_000_100: 1_001_000, 5_500_050: 501_000, 4_000_000: -998_900, 7_000_200: 2_001_000} {
		if at := int64(c.At(gpu)); at != want {
			t.Errorf("%d is at %d, want %d", gpu, at, want)
		}
	}
	if s := c.String(); s != "the GPU's clock ran +100.0 ppm (+-50.0) against CLOCK_MONOTONIC; times are right to 30 ns" {
		t.Error(s)
	}
	same := Clock{c.Before, c.Before}
	if at := same.At(5_000_007); at != 1007 || !strings.Contains(same.String(), "not known") {
		t.Errorf("%d %s", at, same)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	if _, err := cupti.Open(root); !errors.Is(err, cupti.ErrAbsent) || !strings.Contains(err.Error(), "pip install nvidia-cuda-cupti") {
		t.Errorf("nothing: %v", err)
	}
	if err := simulate.CUPTI(root+"/lib", "", "NO_PM"); err != nil {
		t.Fatal(err)
	}
	if _, err := cupti.Open(root); !errors.Is(err, cupti.ErrUnsupported) || !strings.Contains(err.Error(), "it has no PM sampling, which begins with CUDA 12.6") {
		t.Errorf("too old: %v", err)
	}
}
