package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/fixture"
	"cg/nemb/processor"
	"cg/nemb/sampler"
	"cg/nemb/simulate"
	"cg/nemb/sysfs"
)

// cycleRate is the rate of the processor's cycle counter.
func cycleRate(t testing.TB) float64 {
	t.Helper()
	if checkpoint.SystemClock() != checkpoint.CycleCounter {
		t.Skip("this machine's cycle counter is no clock")
	}
	a, at := checkpoint.CycleCounter.Now(), checkpoint.Monotime()
	time.Sleep(50 * time.Millisecond)
	return float64(checkpoint.CycleCounter.Now()-a) / time.Duration(checkpoint.Monotime()-at).Seconds()
}

// pmu writes a power PMU whose events are the cycle counter of the msr PMU:
// each draws the watts that are given. A machine that has no processor yet gets
// one of Intel's: else it would have that of the machine which runs the test.
func pmu(t testing.TB, root nemb.Root, cpumask string, watts map[string]float64) {
	t.Helper()
	number, err := os.ReadFile("/sys/bus/event_source/devices/msr/type")
	if err != nil {
		t.Skipf("no msr PMU to stand in for RAPL: %v", err)
	}
	const dir = "sys/bus/event_source/devices/power/"
	texts := map[string]string{dir + "type": string(number), dir + "cpumask": cpumask + "\n"}
	for name, w := range watts {
		event := dir + "events/" + name
		texts[event] = "event=0x00\n"
		texts[event+".unit"] = "Joules\n"
		texts[event+".scale"] = fmt.Sprintf("%.20e\n", w/cycleRate(t))
	}
	if _, err := os.Stat(filepath.Join(root.Dir, "proc/cpuinfo")); err != nil {
		texts["proc/cpuinfo"] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
	}
	fixture.Files(t, root, texts)
}

// openPMU opens the power PMU, or skips where events of the machine may not
// be opened.
func openPMU(t testing.TB, root nemb.Root) (nemb.Found, nemb.Sensor) {
	t.Helper()
	found, err := nemb.Discover(root, []string{"perf"})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Denied) > 0 && os.Geteuid() != 0 {
		t.Skip(found.Denied[0])
	}
	if len(found.Sensors) != 1 {
		t.Fatalf("%+v", found)
	}
	t.Cleanup(func() { found.Close() })
	return found, found.Sensors[0]
}

func TestPerf(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	pmu(t, root, "0", map[string]float64{"energy-pkg": 100, "energy-cores": 40, "energy-ram": 10, "energy-psys": 150})
	_, sensor := openPMU(t, root)
	var ids []string
	for _, d := range sensor.Domains() {
		ids = append(ids, fmt.Sprintf("%s<%s/%s %v", d.ID, d.Parent, d.Kind, d.InTotal))
		if d.Method != nemb.Measured || d.Wrap != 0 || d.Most == 0 {
			t.Errorf("%+v", d)
		}
	}
	if got, want := strings.Join(ids, ", "), "package-0</cpu_package true, core<package-0/nested false, dram</dram true, psys</psys false"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// The sampler's thread reads all of them in one call.
	counters := sensor.(nemb.Counting).Counters()
	for i, c := range counters {
		if c.Form != counter.Group || c.FD != counters[0].FD || c.At != uint64(i) {
			t.Errorf("counter %d: %+v", i, c)
		}
	}
	s, err := sampler.Start([]nemb.Sensor{sensor}, sampler.Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	samples := s.Stop()
	fixture.Check(t, samples)
	for d, watts := range []float64{100, 40, 10, 150} {
		if got := fixture.Power(samples, d); math.Abs(got/watts-1) > 0.01 {
			t.Errorf("%s: %g W, want %g W", sensor.Domains()[d].ID, got, watts)
		}
	}
	sensor.Close()
	if err := sensor.Read(make([]nemb.Energy, 4)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
}

func TestPerfPackagesAndDies(t *testing.T) {
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil || sysfs.Count(strings.TrimSpace(string(online))) < 2 {
		t.Skip("takes two processors")
	}
	tests := []struct {
		name, vendor, topology, want string
	}{
		{"sockets", processor.Intel, "0/0 1/0", "package-0 dram-0 package-1 dram-1"},
		{"sockets in another order", processor.Intel, "1/0 0/0", "package-0 dram-0 package-1 dram-1"},
		{"dies", processor.Intel, "0/0 0/1", "package-0-die-0 dram-0-die-0 package-0-die-1 dram-0-die-1"},
		{"AMD counts per package", processor.AMD, "0/0 0/1", "package-0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := nemb.Root{Dir: t.TempDir()}
			pmu(t, root, "0-1", map[string]float64{"energy-pkg": 100, "energy-ram": 10})
			texts := map[string]string{"proc/cpuinfo": "processor\t: 0\nvendor_id\t: " + test.vendor + "\n"}
			for i, place := range strings.Fields(test.topology) {
				pkg, die, _ := strings.Cut(place, "/")
				texts[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", i)] = pkg + "\n"
				texts[fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/die_id", i)] = die + "\n"
			}
			fixture.Files(t, root, texts)
			_, sensor := openPMU(t, root)
			var ids []string
			for _, d := range sensor.Domains() {
				ids = append(ids, d.ID)
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if err := sensor.Read(make([]nemb.Energy, len(ids))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPerfBroken(t *testing.T) {
	const dir = "sys/bus/event_source/devices/power/"
	for _, test := range []struct{ name, file, text, want string }{
		{"no number", dir + "type", "x\n", "want a number"},
		{"no mask", dir + "cpumask", "\n", "want a list of processors"},
		{"other unit", dir + "events/energy-pkg.unit", "Watts\n", "want Joules"},
		{"no scale", dir + "events/energy-pkg.scale", "0\n", "want joules per count"},
		{"other terms", dir + "events/energy-pkg", "umask=1\n", "want event=NUMBER"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := nemb.Root{Dir: t.TempDir()}
			pmu(t, root, "0", map[string]float64{"energy-pkg": 100})
			fixture.Files(t, root, map[string]string{test.file: test.text})
			found, err := nemb.Discover(root, []string{"perf"})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(found.Sensors) != 0 {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
	// A kernel without this PMU.
	root := nemb.Root{Dir: t.TempDir()}
	pmu(t, root, "0", map[string]float64{"energy-pkg": 100})
	fixture.Files(t, root, map[string]string{dir + "type": "987654\n"})
	found, err := nemb.Discover(root, []string{"perf"})
	if err != nil || !slices.Equal(found.Absent, []string{"perf"}) {
		t.Errorf("%+v, %v", found, err)
	}
}

// Kernels list energy-psys of servers without asking for its register. A virtual
// machine has none, so perf is no source there, and what it costs is estimated. Where
// a package is counted too, or the machine is a real one, the event is read.
func TestPerfPsysOfAVirtualMachine(t *testing.T) {
	intel := "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nflags\t\t: fpu"
	for _, test := range []struct {
		name, cpuinfo string
		watts         map[string]float64
		want          string
	}{
		{"alone", intel + " hypervisor\n", map[string]float64{"energy-psys": 150}, ""},
		{"beside a package", intel + " hypervisor\n", map[string]float64{"energy-psys": 150, "energy-pkg": 100}, "package-0 psys"},
		{"a real machine", intel + "\n", map[string]float64{"energy-psys": 150}, "psys"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := nemb.Root{Dir: t.TempDir()}
			fixture.Files(t, root, map[string]string{"proc/cpuinfo": test.cpuinfo})
			pmu(t, root, "0", test.watts)
			if test.want == "" {
				found, err := nemb.Discover(root, []string{"perf"})
				if err != nil || !slices.Equal(found.Absent, []string{"perf"}) || len(found.Denied) > 0 {
					t.Errorf("%+v, %v", found, err)
				}
				if text := errors.Join(found.Seen[0].Errors...).Error(); !strings.Contains(text, "energy-psys unasked") {
					t.Error(text)
				}
				return
			}
			_, sensor := openPMU(t, root)
			var ids []string
			for _, d := range sensor.Domains() {
				ids = append(ids, d.ID)
			}
			if got := strings.Join(ids, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// A package whose processor cannot be asked (it is offline) would be missing
// in the total: then perf is no source.
func TestPerfNotByHalves(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	pmu(t, root, "0,4095", map[string]float64{"energy-pkg": 100})
	fixture.Files(t, root, map[string]string{
		"sys/devices/system/cpu/cpu0/topology/physical_package_id":    "0\n",
		"sys/devices/system/cpu/cpu4095/topology/physical_package_id": "1\n",
	})
	found, err := nemb.Discover(root, []string{"perf"})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	if len(found.Denied) > 0 && os.Geteuid() != 0 {
		t.Skip(found.Denied[0])
	}
	if len(found.Sensors) != 0 || len(found.Seen[0].Errors) != 1 || !strings.Contains(found.Seen[0].Errors[0].Error(), "not for package-1, on processor 4095") {
		t.Errorf("%+v", found)
	}
}

// Powercap and perf seen together are one source: perf counts, powercap
// compares, what only one of them knows is that one's.
func TestPerfBesidePowercap(t *testing.T) {
	zones := func(watts float64) simulate.Machine {
		return simulate.Machine{Cpuinfo: "processor\t: 0\nvendor_id\t: GenuineIntel\n", Zones: []simulate.Zone{
			{Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Power: simulate.Constant(watts)},
				Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "dram", Counter: simulate.Counter{Power: simulate.Constant(3)}}}},
		}}
	}
	for _, test := range []struct {
		name   string
		watts  float64
		doubts string
	}{
		{"agree", 50, ""},
		{"disagree", 80, "package-0: two sources disagree"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, mounted := fixture.Mount(t, zones(test.watts))
			// Nothing can be written into the mounted tree: the PMU stands
			// beside a link to it.
			root := nemb.Root{Dir: t.TempDir()}
			pmu(t, root, "0", map[string]float64{"energy-pkg": 50, "energy-cores": 20})
			fixture.Files(t, root, map[string]string{"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n"})
			if err := os.MkdirAll(root.Sys("class"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(mounted.Sys("class/powercap"), root.Sys("class/powercap")); err != nil {
				t.Fatal(err)
			}
			found, err := nemb.Discover(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer found.Close()
			if len(found.Denied) > 0 {
				t.Skip(found.Denied[0])
			}
			var got []string
			for _, d := range found.Domains() {
				got = append(got, fmt.Sprintf("%s %v", d.ID, d.InTotal))
			}
			// energy-cores counts what powercap does not know, and is left out.
			if s := strings.Join(got, ", "); s != "package-0 true, dram true" {
				t.Error(s)
			}
			if found.Domains()[0].Source != "perf: power/energy-pkg/ on processor 0" || !strings.Contains(found.Domains()[1].Source, "intel-rapl:0:0") {
				t.Errorf("%+v", found.Domains())
			}
			if len(found.Notes) != 1 || !strings.Contains(found.Notes[0].Text, "energy-cores: left out") {
				t.Errorf("%+v", found.Notes)
			}
			time.Sleep(200 * time.Millisecond)
			doubts := found.Doubts()
			for end := time.Now().Add(time.Minute); test.doubts != "" && len(doubts) == 0 && time.Now().Before(end); {
				doubts = found.Doubts() // it takes longer to show where processors stand still
			}
			if test.doubts == "" && len(doubts) > 0 || test.doubts != "" && (len(doubts) != 1 || !strings.HasPrefix(doubts[0].Text, test.doubts)) {
				t.Errorf("%+v", doubts)
			}
		})
	}
}

// What is denied to one source and read by another is no matter.
func TestDeniedToOneSource(t *testing.T) {
	tree, mounted := fixture.Mount(t, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Power: simulate.Constant(50)}},
	}})
	root := nemb.Root{Dir: t.TempDir()}
	pmu(t, root, "0", map[string]float64{"energy-pkg": 50})
	if err := os.MkdirAll(root.Sys("class"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mounted.Sys("class/powercap"), root.Sys("class/powercap")); err != nil {
		t.Fatal(err)
	}
	tree.Fault("intel-rapl:0", simulate.Fault{Open: unix.EACCES})
	openPMU(t, root) // skips where perf is denied
	found, err := nemb.Discover(root, nil)
	if err != nil || len(found.Denied) != 0 || len(found.Sensors) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	for _, s := range found.Seen {
		if want := map[string]nemb.State{"perf": nemb.Present, "powercap": nemb.NoEntry, "estimate": nemb.Spare}[s.Source.Name]; want != "" && s.State != want {
			t.Errorf("%s is %s, want %s", s.Source.Name, s.State, want)
		}
	}
	found.Close()
}
