package nvml

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/fixture"
	"cg/nemb/sampler"
	"cg/nemb/simulate"
)

// fakeNVML makes a machine with the library of simulate.
func fakeNVML(t *testing.T, conf string, define ...string) (root nemb.Root, path string) {
	t.Helper()
	root = nemb.Root{Dir: t.TempDir()}
	path, err := simulate.NVML(filepath.Join(root.Dir, "lib"), conf, define...)
	if err != nil {
		t.Fatal(err)
	}
	return root, path
}

// describe lists what a source opened, and each error as absent, denied or
// broken.
func describe(sensors []nemb.Sensor, err error) (domains, errs []string) {
	for _, s := range sensors {
		for _, d := range s.Domains() {
			domains = append(domains, fmt.Sprintf("%s %s %s", d.ID, d.Method, d.Source))
		}
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range slices.DeleteFunc(all, func(err error) bool { return err == nil }) {
		kind := "broken"
		if errors.Is(err, fs.ErrNotExist) {
			kind = "absent"
		} else if errors.Is(err, fs.ErrPermission) {
			kind = "denied"
		}
		errs = append(errs, kind+": "+err.Error())
	}
	return domains, errs
}

func TestNVML(t *testing.T) {
	const counter, power = "measured NVML total energy", "derived NVML power, integrated"
	tests := []struct {
		name, conf string
		domains    []string
		errs       []string // beginnings
	}{
		{"two", "gpus 2\n", []string{"gpu0 " + counter, "gpu1 " + counter}, nil},
		{"no counter on one", "gpus 2\nfail 1 energy 3\n", []string{"gpu0 " + counter, "gpu1 " + power}, nil},
		{"no fields either", "fail * energy 3\nfail * instant 3\nfail * average 3\n", []string{"gpu0 " + power}, nil},
		{"nothing", "fail * energy 3\nfail * instant 3\nfail * average 3\nfail * power 3\n", nil, []string{"absent: nvml: gpu0 tells neither energy nor power"}},
		{"a lost one", "gpus 3\nfail 1 energy 15\n", []string{"gpu0 " + counter, "gpu2 " + counter},
			[]string{"denied: nvml: gpu1: total energy: the GPU is lost: reset it (nvidia-smi --gpu-reset) or reboot (NVML 15)"}},
		{"no handle", "gpus 2\nfail 0 handle 4\n", []string{"gpu1 " + counter}, []string{"denied: nvml: gpu0: denied: the user needs access to /dev/nvidia*"}},
		{"an instance", "mig 0\n", []string{"gpu0 " + counter + ", of the whole GPU: a MIG instance has none of its own"}, nil},
		{"no driver", "fail * init 9\n", nil, []string{"absent: nvml: initialize: the driver is not loaded (NVML 9)"}},
		{"old driver", "fail * init 18\n", nil, []string{"denied: nvml: initialize: the driver and its library are of different versions"}},
		{"no GPU", "gpus 0\n", nil, []string{"absent: nvml: the driver knows no GPU"}},
		{"cannot count", "fail * count 999\n", nil, []string{"denied: nvml: count the GPUs: unknown error of the driver (NVML 999)"}},
	}
	root, path := fakeNVML(t, "")
	for _, test := range tests {
		if err := simulate.NVMLConf(path, test.conf); err != nil {
			t.Fatal(err)
		}
		sensors, err := nemb.OpenSource(root, "nvml")
		domains, errs := describe(sensors, err)
		if !slices.Equal(domains, test.domains) {
			t.Errorf("%s: %q, want %q", test.name, domains, test.domains)
		}
		if !slices.EqualFunc(errs, test.errs, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", test.name, errs, test.errs)
		}
		for _, s := range sensors {
			if d := s.Domains()[0]; d.Kind != "gpu" || !d.InTotal || d.Lo != 0.95 || d.Hi != 1.05 {
				t.Errorf("%s: %+v", test.name, d)
			}
			if err := errors.Join(s.Close(), s.Close()); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if err := s.Read(make([]nemb.Energy, 1)); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s: read after close: %v", test.name, err)
			}
		}
	}
}

func TestNVMLNoLibrary(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	if _, err := nemb.OpenSource(root, "nvml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no library: %v", err)
	}
	os.Mkdir(filepath.Join(root.Dir, "lib"), 0o755)
	os.WriteFile(filepath.Join(root.Dir, "lib", "libnvidia-ml.so.1"), []byte("text"), 0o644)
	if _, err := nemb.OpenSource(root, "nvml"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "install the driver") {
		t.Errorf("no library but a text: %v", err)
	}
}

// A driver without a function is one that does not support it.
func TestNVMLMissingFunctions(t *testing.T) {
	for _, test := range []struct {
		define  []string
		domains []string
		err     string
	}{
		{[]string{"NO_ENERGY"}, []string{"gpu0 derived NVML power, integrated"}, ""},
		{[]string{"NO_ENERGY", "NO_FIELDS"}, []string{"gpu0 derived NVML power, integrated"}, ""},
		{[]string{"NO_ENERGY", "NO_FIELDS", "NO_POWER"}, nil, "absent: nvml: gpu0 tells neither energy nor power"},
		{[]string{"NO_INIT"}, nil, "denied: nvml: initialize: this driver has no such function (NVML 13)"},
	} {
		root, _ := fakeNVML(t, "", test.define...)
		sensors, err := nemb.OpenSource(root, "nvml")
		domains, errs := describe(sensors, err)
		if !slices.Equal(domains, test.domains) || !strings.HasPrefix(strings.Join(errs, ""), test.err) || (test.err == "") != (len(errs) == 0) {
			t.Errorf("%v: %q, %q", test.define, domains, errs)
		}
		for _, s := range sensors {
			s.Close()
		}
		if g, err := nemb.OpenMetric(root, "nvml-nvlink"); test.define[0] == "NO_ENERGY" && len(test.define) > 1 && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: NVLink: %v", test.define, err)
		} else if g != nil {
			g.Close()
		}
	}
}

// Every function that go-nvml calls is in link.c, and none that it
// does not.
func TestNVMLFunctionsAreDefined(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "pkg/nvml/nvml.go"))
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, m := range regexp.MustCompile(`C\.(nvml[A-Za-z0-9_]+)\(`).FindAllStringSubmatch(string(text), -1) {
		called[m[1]] = true
	}
	if text, err = os.ReadFile("link.c"); err != nil {
		t.Fatal(err)
	}
	defined := map[string]bool{"nvmlErrorString": true}
	for _, m := range regexp.MustCompile(`(?:FORWARD|ABSENT)\((nvml[A-Za-z0-9_]+)\)`).FindAllStringSubmatch(string(text), -1) {
		defined[m[1]] = true
	}
	for name := range called {
		if !defined[name] {
			t.Errorf("link.c lacks ABSENT(%s)", name)
		}
	}
	for name := range defined {
		if !called[name] {
			t.Errorf("link.c defines %s, which go-nvml does not call", name)
		}
	}
	if len(called) < 300 {
		t.Errorf("only %d functions found", len(called))
	}
}

// The counter, and the integral of power where there is none, over a second.
func TestNVMLEnergy(t *testing.T) {
	root, _ := fakeNVML(t, "gpus 2\nwatts 0 300\nwatts 1 50\nfail 1 energy 3\n")
	sensors, err := nemb.OpenSource(root, "nvml")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{300, 50} {
		defer sensors[i].Close()
		var from, to [1]nemb.Energy
		if err := sensors[i].Read(from[:]); err != nil {
			t.Fatal(err)
		}
		begin := checkpoint.Monotime()
		for range 20 {
			time.Sleep(25 * time.Millisecond)
			if err := sensors[i].Read(to[:]); err != nil {
				t.Fatal(err)
			}
		}
		elapsed := float64(checkpoint.Monotime()-begin) * 1e-9
		watts := (to[0] - from[0]).Joules() / elapsed
		if math.Abs(watts-want) > 0.05*want {
			t.Errorf("gpu%d: %.1f W, want %.0f W", i, watts, want)
		}
	}
}

// A GPU that is lost while it is sampled makes gaps, repeats its energy and is
// not asked again; the other goes on.
func TestNVMLLostWhileSampled(t *testing.T) {
	root, path := fakeNVML(t, "gpus 2\n")
	sensors, err := nemb.OpenSource(root, "nvml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sensors {
		defer s.Close()
	}
	s, err := sampler.Start(sensors, sampler.Config{Interval: 5 * time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	poll := func(n int) (all []nemb.Sample) {
		for len(all) < n {
			time.Sleep(10 * time.Millisecond)
			all = append(all, s.Poll()...)
		}
		return all
	}
	before := poll(30)
	if err := simulate.NVMLConf(path, "gpus 2\nfail 0 energy 15\n"); err != nil {
		t.Fatal(err)
	}
	poll(5) // what was read before and after
	if err := simulate.NVMLConf(path, "gpus 2\n"); err != nil {
		t.Fatal(err)
	}
	after := poll(30)
	after = append(after, s.Stop()...)
	if last := before[len(before)-1]; last.Failed || last.Energy[0] == 0 {
		t.Errorf("before: %+v", last)
	}
	for _, sample := range after {
		if !sample.Failed || !sample.Gap || sample.Energy[0] != after[0].Energy[0] {
			t.Fatalf("a lost GPU: %+v", sample)
		}
	}
	if first, last := after[0], after[len(after)-1]; last.Energy[1] <= first.Energy[1] {
		t.Errorf("the other stood still: %v, %v", first.Energy, last.Energy)
	}
}

// What is published of the A100 and the H100 is assumed of their neighbours, and of nothing older. A power that is said
// to be a mean is one of a second, but on the A100.
func TestPublishedHabits(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		architecture nvml.DeviceArchitecture
		major, minor int
		code         nvml.Return
		want         nemb.HabitsOrigin
		part         float64
		average      time.Duration
	}{
		{nvml.DEVICE_ARCH_TURING, 7, 5, nvml.SUCCESS, nemb.HabitsUnknown, 1, 0},
		{nvml.DEVICE_ARCH_AMPERE, 8, 0, nvml.SUCCESS, nemb.HabitsPublished, 0.25, 25 * ms},
		{nvml.DEVICE_ARCH_AMPERE, 8, 6, nvml.SUCCESS, nemb.HabitsAssumed, 0.25, 1000 * ms},
		{nvml.DEVICE_ARCH_ADA, 8, 9, nvml.SUCCESS, nemb.HabitsAssumed, 0.25, 1000 * ms},
		{nvml.DEVICE_ARCH_HOPPER, 9, 0, nvml.SUCCESS, nemb.HabitsPublished, 0.25, 1000 * ms},
		{nvml.DEVICE_ARCH_UNKNOWN, 9, 0, nvml.SUCCESS, nemb.HabitsUnknown, 1, 0},
		{0, 9, 0, nvml.ERROR_FUNCTION_NOT_FOUND, nemb.HabitsUnknown, 1, 0},
	} {
		g := &gpu{device: &mock.Device{
			GetArchitectureFunc:          func() (nvml.DeviceArchitecture, nvml.Return) { return test.architecture, test.code },
			GetCudaComputeCapabilityFunc: func() (int, int, nvml.Return) { return test.major, test.minor, nvml.SUCCESS }}}
		if h := g.published(); h.Origin != test.want || h.Part() != test.part {
			t.Errorf("%d.%d: %+v, want %s %v", test.major, test.minor, h, test.want, test.part)
		}
		if h := g.publishedPower(averageReading); h.Window != test.average {
			t.Errorf("%d.%d: a mean of %v, want %v", test.major, test.minor, h.Window, test.average)
		}
	}
}

// After a reading of power that failed, what was drawn meanwhile is not known:
// the integral starts over, which is a reset of a counter.
func TestNVMLIntegralAfterGap(t *testing.T) {
	code, power := nvml.SUCCESS, uint32(100_000)
	device := &mock.Device{
		GetTotalEnergyConsumptionFunc: func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED },
		GetArchitectureFunc: func() (nvml.DeviceArchitecture, nvml.Return) {
			return nvml.DEVICE_ARCH_UNKNOWN, nvml.ERROR_NOT_SUPPORTED
		},
		GetFieldValuesFunc:    func([]nvml.FieldValue) nvml.Return { return nvml.ERROR_FUNCTION_NOT_FOUND },
		GetPowerUsageFunc:     func() (uint32, nvml.Return) { return power, code },
		IsMigDeviceHandleFunc: func() (bool, nvml.Return) { return false, nvml.SUCCESS },
		GetMigModeFunc:        func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, 0, nvml.SUCCESS },
	}
	shutdowns := 0
	lib, err := startNVML(&mock.Interface{
		InitFunc:                   func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:               func() nvml.Return { shutdowns++; return nvml.SUCCESS },
		DeviceGetCountFunc:         func() (int, nvml.Return) { return 1, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(int) (nvml.Device, nvml.Return) { return device, nvml.SUCCESS },
	})
	if err != nil {
		t.Fatal(err)
	}
	sensors, err := nvmlSensors(lib)
	if err != nil {
		t.Fatal(err)
	}
	if d := sensors[0].Domains()[0]; d.Method != nemb.Derived || !strings.Contains(d.Source, "its MIG instances") {
		t.Errorf("%+v", d)
	}
	var e [1]nemb.Energy
	for i, step := range []struct {
		code nvml.Return
		ok   bool
		v    counter.Verdict
	}{{nvml.SUCCESS, true, counter.Advanced}, {nvml.SUCCESS, true, counter.Advanced}, {nvml.ERROR_TIMEOUT, false, 0}, {nvml.SUCCESS, true, counter.Reset}, {nvml.SUCCESS, true, counter.Advanced},
		{nvml.ERROR_TIMEOUT, false, 0}, {nvml.SUCCESS, true, counter.Reset}, {nvml.ERROR_TIMEOUT, false, 0}, {nvml.SUCCESS, true, counter.Reset}} {
		code = step.code
		before := e[0]
		time.Sleep(2 * time.Millisecond)
		if err := sensors[0].Read(e[:]); (err == nil) != step.ok {
			t.Errorf("step %d: %v", i, err)
		}
		if !step.ok && e[0] != before {
			t.Errorf("step %d: %d after %d", i, e[0], before)
		}
		if _, v := counter.Unwrap(before, e[0], 0, time.Second); step.ok && v != step.v {
			t.Errorf("step %d: %d after %d: %v", i, e[0], before, v)
		}
	}
	if sensors[0].Close(); shutdowns != 1 {
		t.Errorf("%d shut-downs", shutdowns)
	}
}

func TestNVMLMetrics(t *testing.T) {
	root, path := fakeNVML(t, "gpus 2\nwatts 0 300\n")
	for _, test := range []struct {
		name string
		want string
	}{
		{"nvml-power", "gpu0.power_w=300 W gpu1.power_w=100 W gpu0.average_power_w=300 W gpu1.average_power_w=100 W"},
		{"nvml-temp", "gpu0.temperature_c=40 C gpu1.temperature_c=41 C"},
		{"nvml-clock", "gpu0.clock_mhz=1400 MHz gpu1.clock_mhz=1401 MHz gpu0.memory_clock_mhz=5001 MHz gpu1.memory_clock_mhz=5001 MHz"},
		{"nvml-util", "gpu0.gpu_percent=90 % gpu1.gpu_percent=89 % gpu0.memory_percent=30 % gpu1.memory_percent=31 %"},
		{"nvml-memory", "gpu0.memory_used_bytes=4294967296 bytes gpu1.memory_used_bytes=4294967296 bytes"},
		{"nvml-nvlink", "gpu0.nvlink_tx_kib=138000 KiB gpu1.nvlink_tx_kib=138001 KiB gpu0.nvlink_rx_kib=139000 KiB gpu1.nvlink_rx_kib=139001 KiB"},
		{"nvml-pcie", "gpu0.pcie_tx_kib_s=1000 KiB/s gpu1.pcie_tx_kib_s=1001 KiB/s gpu0.pcie_rx_kib_s=2000 KiB/s gpu1.pcie_rx_kib_s=2001 KiB/s"},
	} {
		g, err := nemb.OpenMetric(root, test.name)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		values := make([]float64, len(g.Columns()))
		if err := g.Read(values); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		var got []string
		for i, c := range g.Columns() {
			got = append(got, fmt.Sprintf("%s.%s=%.0f %s", c.Scope, c.Name, values[i], c.Unit))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", test.name, strings.Join(got, " "), test.want)
		}
		if err := g.Close(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	// What one GPU does not tell is missing; what fails later is not a number.
	if err := simulate.NVMLConf(path, "gpus 2\nfail 0 instant 3\n"); err != nil {
		t.Fatal(err)
	}
	g, err := nemb.OpenMetric(root, "nvml-power")
	if !errors.Is(err, fs.ErrNotExist) || g == nil || len(g.Columns()) != 3 {
		t.Fatalf("%v, %v", g, err)
	}
	defer g.Close()
	if err := simulate.NVMLConf(path, "gpus 2\nfail 1 instant 15\n"); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, 3)
	if err := g.Read(values); err == nil || !math.IsNaN(values[0]) || values[1] != 100 || !math.IsNaN(values[2]) {
		t.Errorf("%v, %v", values, err) // gpu1, gpu0, gpu1: lost
	}
	if _, err := nemb.OpenMetric(root, "nvml-smell"); !errors.Is(err, nemb.ErrUnknownMetric) {
		t.Error(err)
	}
	if got := nemb.Metrics(); len(got) < 6 || !slices.IsSortedFunc(got, func(a, b nemb.Metric) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("%d metrics", len(got))
	}
}

// The throughput of PCIe takes 20 ms to read, and nobody waits for it.
func TestNVMLPCIeBlocks(t *testing.T) {
	root, _ := fakeNVML(t, "block 20\n")
	g, err := nemb.OpenMetric(root, "nvml-pcie")
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, 2)
	best := time.Hour
	for range 100 {
		begin := time.Now()
		g.Read(values)
		best = min(best, time.Since(begin))
	}
	if best > 10*time.Millisecond {
		t.Errorf("%v", best)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// What measures the whole machine includes its GPUs, whoever tells them.
func TestGPUsInTotal(t *testing.T) {
	root, _ := fakeNVML(t, "gpus 2\n")
	fixture.Files(t, root, map[string]string{
		"proc/cpuinfo": "processor\t: 0\n", "sys/class/hwmon/hwmon0/name": "power_meter\n", "sys/class/hwmon/hwmon0/power1_average": "900000000\n",
	})
	in := func() string {
		t.Helper()
		found, err := nemb.Discover(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		var ids []string
		for _, d := range found.Domains() {
			if d.InTotal {
				ids = append(ids, d.ID)
			}
		}
		return strings.Join(ids, " ")
	}
	if got := in(); got != "system" {
		t.Errorf("with a meter of the machine: %s", got)
	}
	fixture.Files(t, root, map[string]string{"sys/class/powercap/intel-rapl:0/name": "package-0\n", "sys/class/powercap/intel-rapl:0/energy_uj": "1\n"})
	if got := in(); got != "package-0 gpu0 gpu1" {
		t.Errorf("with a package: %s", got)
	}
}
