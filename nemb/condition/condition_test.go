package condition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cg/nemb"
)

// machine is a captured machine: the files of a text.
func machine(t *testing.T, text string) nemb.Root {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return nemb.Root{Dir: dir}
}

const server = `
-- sys/class/hwmon/hwmon0/name --
coretemp
-- sys/class/hwmon/hwmon0/temp1_input --
61000
-- sys/class/hwmon/hwmon0/temp2_input --
64500
-- sys/class/hwmon/hwmon1/name --
nvme
-- sys/class/hwmon/hwmon1/temp1_input --
88000
-- sys/class/thermal/thermal_zone0/type --
x86_pkg_temp
-- sys/class/thermal/thermal_zone0/temp --
70000
-- sys/devices/system/cpu/cpu0/cpufreq/scaling_governor --
powersave
-- sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq --
2400000
-- sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count --
3
-- sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count --
4
-- sys/devices/system/cpu/cpu1/cpufreq/scaling_governor --
performance
-- sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq --
3600000
-- sys/class/powercap/intel-rapl:0/name --
package-0
-- sys/class/powercap/intel-rapl:0/enabled --
1
-- sys/class/powercap/intel-rapl:0/constraint_0_name --
long_term
-- sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw --
150000000
-- sys/fs/cgroup/cgroup.controllers --
cpu memory
-- sys/fs/cgroup/memory.max --
max
-- sys/fs/cgroup/ci/cpu.max --
150000 100000
-- sys/fs/cgroup/ci/memory.max --
4294967296
-- sys/fs/cgroup/ci/job/cpu.max --
max 100000
-- sys/fs/cgroup/ci/job/memory.max --
8589934592
-- sys/fs/cgroup/ci/job/cpuset.cpus.effective --
0-3
-- proc/self/cgroup --
0::/ci/job
-- proc/meminfo --
MemTotal:       16000000 kB
MemAvailable:    8000000 kB
-- proc/loadavg --
1.50 1.00 0.50 2/300 1234
-- proc/cpuinfo --
processor	: 0
flags		: fpu
`

func TestRead(t *testing.T) {
	for _, test := range []struct{ name, files, want string }{
		{"a server", server, `{"temperature_c":64.5,"frequency_mhz":3000,"governors":["performance","powersave"],"throttle_count":7,"power_caps_w":{"package-0 (0)/long_term":150},` +
			`"limits_known":true,"cpu_limit":1.5,"memory_limit_bytes":4294967296,"cpuset":"0-3","virtual_machine":false,"memory_available_bytes":8192000000,"load_1m":1.5}`},
		{"a thermal zone", "-- sys/class/thermal/thermal_zone1/type --\ncpu-thermal\n-- sys/class/thermal/thermal_zone1/temp --\n42000\n-- proc/x --\n",
			`{"temperature_c":42,"frequency_mhz":null,"governors":[],"throttle_count":null,"power_caps_w":{},"cpu_limit":null,"memory_limit_bytes":null,"cpuset":"","virtual_machine":false,"memory_available_bytes":null,"load_1m":null}`},
		{"a Ryzen whose Tctl has an offset", "-- sys/class/hwmon/hwmon0/name --\nk10temp\n-- sys/class/hwmon/hwmon0/temp1_input --\n77000\n-- sys/class/hwmon/hwmon0/temp1_label --\nTctl\n" +
			"-- sys/class/hwmon/hwmon0/temp2_input --\n50000\n-- sys/class/hwmon/hwmon0/temp2_label --\nTdie\n-- proc/x --\n",
			`{"temperature_c":50,"frequency_mhz":null,"governors":[],"throttle_count":null,"power_caps_w":{},"cpu_limit":null,"memory_limit_bytes":null,"cpuset":"","virtual_machine":false,"memory_available_bytes":null,"load_1m":null}`},
		{"one that tells Tctl alone, and two memories", "-- sys/class/hwmon/hwmon0/name --\nk10temp\n-- sys/class/hwmon/hwmon0/temp1_input --\n60000\n-- sys/class/hwmon/hwmon0/temp1_label --\nTctl\n-- proc/x --\n" +
			"-- sys/class/powercap/intel-rapl:0:1/name --\ndram\n-- sys/class/powercap/intel-rapl:0:1/constraint_0_name --\nlong_term\n-- sys/class/powercap/intel-rapl:0:1/constraint_0_power_limit_uw --\n9000000\n" +
			"-- sys/class/powercap/intel-rapl:1:1/name --\ndram\n-- sys/class/powercap/intel-rapl:1:1/constraint_0_name --\nlong_term\n-- sys/class/powercap/intel-rapl:1:1/constraint_0_power_limit_uw --\n8000000\n",
			`{"temperature_c":60,"frequency_mhz":null,"governors":[],"throttle_count":null,"power_caps_w":{"dram (0:1)/long_term":9,"dram (1:1)/long_term":8},"cpu_limit":null,"memory_limit_bytes":null,"cpuset":"","virtual_machine":false,"memory_available_bytes":null,"load_1m":null}`},
		{"control groups of version 1", "-- proc/self/cgroup --\n3:cpuset:/ci\n-- proc/self/status --\nName:\tcg\nCpus_allowed:\tf\nCpus_allowed_list:\t0-2,7\n",
			`{"temperature_c":null,"frequency_mhz":null,"governors":[],"throttle_count":null,"power_caps_w":{},"cpu_limit":null,"memory_limit_bytes":null,"cpuset":"0-2,7","virtual_machine":false,"memory_available_bytes":null,"load_1m":null}`},
		{"a group of version 2, and cg kept on some of its processors", "-- sys/fs/cgroup/cgroup.controllers --\ncpu\n-- sys/fs/cgroup/cpuset.cpus.effective --\n0-7,12\n" +
			"-- proc/self/cgroup --\n0::/\n-- proc/self/status --\nCpus_allowed_list:\t1,3-5,12-63\n",
			`{"temperature_c":null,"frequency_mhz":null,"governors":[],"throttle_count":null,"power_caps_w":{},"limits_known":true,"cpu_limit":null,"memory_limit_bytes":null,"cpuset":"1,3-5,12","virtual_machine":false,"memory_available_bytes":null,"load_1m":null}`},
		{"rubbish", "-- sys/class/hwmon/hwmon0/name --\nk10temp\n-- sys/class/hwmon/hwmon0/temp1_input --\nhot\n-- sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count --\n?\n" +
			"-- sys/fs/cgroup/cpu.max --\n1 0\n-- proc/self/cgroup --\n0::/../x\n-- proc/meminfo --\nMemAvailable: x\n-- proc/loadavg --\nNaN\n",
			`{"temperature_c":null,"frequency_mhz":null,"governors":[],"throttle_count":null,"power_caps_w":{},"cpu_limit":null,"memory_limit_bytes":null,"cpuset":"","virtual_machine":false,"memory_available_bytes":null,"load_1m":null}`},
	} {
		got, err := json.Marshal(Read(machine(t, test.files)))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.name, err, got, test.want)
		}
	}
}

func TestLine(t *testing.T) {
	before := Read(machine(t, server))
	after := Read(machine(t, strings.NewReplacer("64500", "71000", "count --\n3\n", "count --\n5\n").Replace(server)))
	want := "64 to 71 °C, 3000 MHz, governor performance, powersave, slowed down for heat 2 times, power limit package-0 (0)/long_term 150 W, " +
		"at most 1.5 processors, at most 4.0 GiB of memory, 7.6 GiB of memory free, load 1.5"
	if got := (Around{before, after}).Line(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := (Around{}).Line(); got != "" {
		t.Error(got)
	}
	if got := (Around{Before: State{VirtualMachine: true}}).Line(); got != "a virtual machine" {
		t.Error(got)
	}
}

// Those that measured before or after a run are named once, so many at most. That nobody did is not the same as that
// nobody looked.
func TestLineOfOthers(t *testing.T) {
	one, two := Other{"cg monitor", 7, "all processes"}, Other{"wattameter", 8, ""}
	a := Around{Before: State{Others: []Other{one}}, After: State{Others: []Other{one, two}}}
	if got := a.Line(); got != "at the same time cg monitor (pid 7: all processes), wattameter (pid 8) measured" {
		t.Error(got)
	}
	for pid := range 9 {
		a.After.Others = append(a.After.Others, Other{"x", 100 + pid, ""})
	}
	if got := a.Line(); !strings.HasSuffix(got, " and 8 others measured") {
		t.Error(got)
	}
	for _, test := range []struct {
		others []Other
		want   bool
	}{{nil, false}, {[]Other{}, true}} {
		if text, err := json.Marshal(State{Others: test.others}); err != nil ||
			strings.Contains(string(text), `"others":[]`) != test.want {
			t.Errorf("%#v: %s, %v", test.others, text, err)
		}
	}
}

func TestDiffers(t *testing.T) {
	first := Read(machine(t, server))
	if all := Differs(first, first); len(all) > 0 {
		t.Error(all)
	}
	for _, test := range []struct{ from, to, want string }{
		{"\nperformance\n", "\npowersave\n", "the governor: performance, powersave and powersave"},
		{"150000000", "100000000", "the power limit package-0 (0)/long_term: 150 W and 100 W"},
		{"0-3", "0-1", "the processors that cg may use: 0-3 and 0-1"},
		{"150000 100000", "max 100000", "the limit of processor time: 1.5 processors and none"},
		{"4294967296", "max", "the limit of memory: 4096 MiB and 8192 MiB"},
		{": fpu", ": fpu hypervisor", "virtualisation: none and a virtual machine"},
		{"64500", "20000", ""}, {"1.50 1.00", "9.00 1.00", ""}, {"scaling_governor", "gone", ""},
		{"-- proc/self/cgroup --\n0::/ci/job", "-- proc/self/x --", ""}, // version 1: a limit is not known, and not none
	} {
		second := Read(machine(t, strings.ReplaceAll(server, test.from, test.to)))
		if got := strings.Join(Differs(first, second), "; "); got != test.want {
			t.Errorf("%q: %q, want %q", test.to, got, test.want)
		}
	}
	hot := Read(machine(t, strings.ReplaceAll(server, "count --\n3\n", "count --\n5\n")))
	if n := Throttled(first, hot); n != 2 || Throttled(hot, first) != 0 || Throttled(State{}, hot) != 0 {
		t.Errorf("slowed down %d times", n)
	}
	if got := (Around{first, hot}).Changed(); got != "" {
		t.Error(got)
	}
}

func TestBoth(t *testing.T) {
	for _, k := range [][3]string{
		{"0-7", "0", "0"}, {"0-7", "0-7", "0-7"}, {"0-3", "0-127", "0-3"}, {"0-3", "2-5", "2-3"}, {"0,2,4-6", "0-5", "0,2,4-5"},
		{"", "0-1", "0-1"}, {"0-1", "", "0-1"}, {"", "", ""}, {"0-1", "what", "0-1"}, {"0-1", "0-99999999", "0-1"}, {"0-1", "2", "2"},
	} {
		if got := both(k[0], k[1]); got != k[2] {
			t.Errorf("%s and %s: %s, not %s", k[0], k[1], got, k[2])
		}
	}
}
