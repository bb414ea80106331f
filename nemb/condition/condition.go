// Package condition tells what a machine is like at a moment, where that makes the energies of two runs hard to
// compare: its temperature, its clock and what limits both, the limits of cg's control group, its memory and load.
//
// It takes a system root and reads small files of /sys and /proc below it. What a machine does not tell is null, and
// no error. It changes nothing.
package condition

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/nemb"
	"cg/nemb/sysfs"
)

// State is what a machine is like at a moment. What is not known is nil or empty.
type State struct {
	// TemperatureC is that of the hottest sensor of the processors, in degrees Celsius.
	TemperatureC *float64 `json:"temperature_c"`
	// FrequencyMHz is the mean clock of the processors (scaling_cur_freq).
	FrequencyMHz *float64 `json:"frequency_mhz"`
	// Governors are those of the processors' frequency, each once.
	Governors []string `json:"governors"`
	// ThrottleCount is how often processors were slowed down for their heat, since the machine was started, added up
	// over processors (thermal_throttle).
	ThrottleCount *int64 `json:"throttle_count"`
	// PowerCapsW are the limits of powercap, in watts, by zone, its number and constraint: package-0 (0)/long_term, and
	// dram (0:1)/long_term for that of the first package. An older cg told no number.
	PowerCapsW map[string]float64 `json:"power_caps_w"`
	// CPULimit, MemoryLimitBytes and CPUSet are those of cg's control group and the groups above it (version 2): of
	// so many processors (cpu.max), of memory (memory.max), and which processors. CPUSet has those of them on which cg
	// itself may run (Cpus_allowed_list of /proc/self/status), and all of these where no group of version 2 tells any.
	// LimitsKnown tells that the groups were read: a limit of nil is then none, and else not known.
	LimitsKnown      bool     `json:"limits_known,omitempty"`
	CPULimit         *float64 `json:"cpu_limit"`
	MemoryLimitBytes *int64   `json:"memory_limit_bytes"`
	CPUSet           string   `json:"cpuset"`
	// Cores are the processors on which the program was kept (--cores), "" where it was on any of the CPUSet.
	Cores          string `json:"cores,omitempty"`
	VirtualMachine bool   `json:"virtual_machine"`
	// MemoryAvailableBytes is MemAvailable of /proc/meminfo, Load1m the load of the last minute.
	MemoryAvailableBytes *int64   `json:"memory_available_bytes"`
	Load1m               *float64 `json:"load_1m"`
	// Others are the programs that measure on the machine at the same time; nil where nobody looked, as an older cg
	// did not. Read does not look.
	Others []Other `json:"others,omitzero"`
}

// Around is the state of a machine before and after a run.
type Around struct {
	Before State `json:"before"`
	After  State `json:"after"`
}

// Read reads the state of now.
func Read(root nemb.Root) State {
	s := State{Governors: []string{}, PowerCapsW: map[string]float64{}, VirtualMachine: root.CPU().Virtual}
	s.clocks(root)
	s.caps(root)
	s.group(root)
	if t, ok := Temperature(root); ok {
		s.TemperatureC = &t
	}
	if n, ok := field(root.Proc("meminfo"), "MemAvailable:"); ok {
		bytes := int64(n) * 1024
		s.MemoryAvailableBytes = &bytes
	}
	if words := strings.Fields(sysfs.Line(root.Proc("loadavg"))); len(words) > 0 {
		if load, err := strconv.ParseFloat(words[0], 64); err == nil && load >= 0 {
			s.Load1m = &load
		}
	}
	if sysfs.Line(root.Sys("hypervisor/type")) != "" {
		s.VirtualMachine = true
	}
	return s
}

// chips are the drivers of sensors in processors (Documentation/hwmon).
var chips = []string{"coretemp", "k10temp", "zenpower", "cpu_thermal", "scpi_sensors", "smpro_hwmon"}

// Temperature is that of the hottest sensor of the processors, in degrees Celsius: those of hwmon, else of the thermal
// zones of the processors or their package. ok is false where there is none.
func Temperature(root nemb.Root) (celsius float64, ok bool) {
	take := func(name string) {
		if n, err := sysfs.Number(name); err == nil && n > -100_000 && n < 200_000 {
			if t := float64(n) / 1000; !ok || t > celsius {
				celsius, ok = t, true
			}
		}
	}
	monitors, _ := filepath.Glob(root.Sys("class/hwmon/hwmon*"))
	for _, dir := range monitors {
		if slices.Contains(chips, sysfs.Line(filepath.Join(dir, "name"))) {
			for _, input := range inputsOf(dir) {
				take(input)
			}
		}
	}
	if ok {
		return celsius, ok
	}
	zones, _ := filepath.Glob(root.Sys("class/thermal/thermal_zone*"))
	for _, dir := range zones {
		if kind := sysfs.Line(filepath.Join(dir, "type")); strings.Contains(kind, "cpu") ||
			strings.Contains(kind, "pkg") || strings.Contains(kind, "soc") {
			take(filepath.Join(dir, "temp"))
		}
	}
	return celsius, ok
}

// inputsOf are the temperatures of a chip. AMD's Tctl is for control of the fans, and above the true temperature on
// some processors (Documentation/hwmon/k10temp.rst): it counts only where the chip tells no other.
func inputsOf(dir string) []string {
	inputs, _ := filepath.Glob(filepath.Join(dir, "temp*_input"))
	others := slices.DeleteFunc(slices.Clone(inputs), func(input string) bool {
		return sysfs.Line(strings.TrimSuffix(input, "input")+"label") == "Tctl"
	})
	if len(others) > 0 {
		return others
	}
	return inputs
}

// clocks reads what tells of the processors' frequency.
func (s *State) clocks(root nemb.Root) {
	processors, _ := filepath.Glob(root.Sys("devices/system/cpu/cpu[0-9]*"))
	sum, n := 0.0, 0
	throttled := map[string]int64{} // by core or package: all of its processors count the same events
	for _, dir := range processors {
		if governor := sysfs.Line(filepath.Join(dir, "cpufreq/scaling_governor")); governor != "" &&
			!slices.Contains(s.Governors, governor) {
			s.Governors = append(s.Governors, governor)
		}
		if kHz, err := sysfs.Number(filepath.Join(dir, "cpufreq/scaling_cur_freq")); err == nil && kHz > 0 {
			sum, n = sum+float64(kHz)/1000, n+1
		}
		pkg := sysfs.Line(filepath.Join(dir, "topology/physical_package_id"))
		core := pkg + "/" + sysfs.Line(filepath.Join(dir, "topology/core_id"))
		if pkg == "" {
			pkg, core = dir, dir
		}
		for file, of := range map[string]string{"core_throttle_count": "core " + core,
			"package_throttle_count": "package " + pkg} {
			if times, err := sysfs.Number(filepath.Join(dir, "thermal_throttle", file)); err == nil {
				throttled[of] = max(throttled[of], int64(times))
			}
		}
	}
	for _, times := range throttled {
		if s.ThrottleCount == nil {
			s.ThrottleCount = new(int64)
		}
		*s.ThrottleCount += times
	}
	slices.Sort(s.Governors)
	if n > 0 {
		mean := sum / float64(n)
		s.FrequencyMHz = &mean
	}
}

// caps reads the limits of powercap (Documentation/power/powercap/powercap.rst) that are switched on.
func (s *State) caps(root nemb.Root) {
	limits, _ := filepath.Glob(root.Sys("class/powercap/intel-rapl:*/constraint_*_power_limit_uw"))
	for _, file := range limits {
		dir, base := filepath.Split(file)
		uW, err := sysfs.Number(file)
		if enabled, known := sysfs.Number(filepath.Join(dir, "enabled")); err != nil || known == nil && enabled == 0 {
			continue
		}
		prefix := strings.TrimSuffix(base, "power_limit_uw")
		zone, kind := sysfs.Line(filepath.Join(dir, "name")), sysfs.Line(filepath.Join(dir, prefix+"name"))
		if zone != "" && kind != "" && uW > 0 {
			_, number, _ := strings.Cut(filepath.Base(dir), ":")
			s.PowerCapsW[fmt.Sprintf("%s (%s)/%s", zone, number, kind)] = float64(uW) * 1e-6
		}
	}
}

// group reads the limits of cg's control group (Documentation/admin-guide/cgroup-v2.rst): the tightest of it and of
// the groups above.
func (s *State) group(root nemb.Root) {
	member, _ := os.ReadFile(root.Proc("self/cgroup"))
	at := ""
	for line := range strings.Lines(string(member)) {
		if p, is := strings.CutPrefix(strings.TrimSpace(line), "0::/"); is && !strings.Contains(p, "..") {
			at = "/" + p
		}
	}
	for ; at != ""; at = path.Dir(at) {
		dir := root.Sys("fs/cgroup", at)
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			s.LimitsKnown = true
		}
		words := strings.Fields(sysfs.Line(filepath.Join(dir, "cpu.max")))
		if len(words) == 2 {
			quota, err := strconv.ParseFloat(words[0], 64)
			period, wrong := strconv.ParseFloat(words[1], 64)
			if limit := quota / period; err == nil && wrong == nil && limit > 0 && !math.IsInf(limit, 0) &&
				(s.CPULimit == nil || limit < *s.CPULimit) {
				s.CPULimit = &limit
			}
		}
		limit, err := strconv.ParseInt(sysfs.Line(filepath.Join(dir, "memory.max")), 10, 64)
		if err == nil && limit > 0 && (s.MemoryLimitBytes == nil || limit < *s.MemoryLimitBytes) {
			s.MemoryLimitBytes = &limit
		}
		if s.CPUSet == "" {
			s.CPUSet = sysfs.Line(filepath.Join(dir, "cpuset.cpus.effective"))
		}
		if at == "/" {
			break
		}
	}
	s.CPUSet = both(s.CPUSet, text(root.Proc("self/status"), "Cpus_allowed_list:"))
}

// both are the processors that are in two lists such as 0-3,6 (cpuset(7), list format). A list that is empty or none
// tells nothing.
func both(a, b string) string {
	one, other := processors(a), processors(b)
	switch {
	case len(other) == 0 || slices.Equal(one, other):
		return a
	case len(one) == 0:
		return b
	}
	var parts []string
	for i := 0; i < len(one); i++ {
		first := one[i]
		if _, in := slices.BinarySearch(other, first); !in {
			continue
		}
		last := first
		for i+1 < len(one) && one[i+1] == last+1 {
			if _, in := slices.BinarySearch(other, last+1); !in {
				break
			}
			i, last = i+1, last+1
		}
		if part := strconv.Itoa(first); first == last {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+"-"+strconv.Itoa(last))
		}
	}
	if len(parts) == 0 { // they changed between the two
		return b
	}
	return strings.Join(parts, ",")
}

// mostProcessors bounds what a list names: Linux has fewer.
const mostProcessors = 1 << 16

// processors are those of a list, by number; none where it is no list.
func processors(list string) (all []int) {
	for part := range strings.SplitSeq(list, ",") {
		from, to, is := strings.Cut(strings.TrimSpace(part), "-")
		if !is {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, wrong := strconv.Atoi(to)
		if err != nil || wrong != nil || a < 0 || b < a || b >= mostProcessors {
			return nil
		}
		for n := a; n <= b; n++ {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// field is the number behind a name in a file such as /proc/meminfo.
func field(file, name string) (int, bool) {
	n, err := strconv.Atoi(text(file, name))
	return n, err == nil && n >= 0
}

// text is the word behind a name in such a file, "" where there is none.
func text(file, name string) string {
	content, _ := os.ReadFile(file)
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			return words[1]
		}
	}
	return ""
}

// Differs tells in what two states differ that makes energies hard to compare, each as "the governor: powersave and
// performance". What one of them does not tell is no difference.
func Differs(a, b State) (all []string) {
	differ := func(what, one, other string) {
		if one != other && one != "" && other != "" {
			all = append(all, what+": "+one+" and "+other)
		}
	}
	differ("the governor", strings.Join(a.Governors, ", "), strings.Join(b.Governors, ", "))
	if len(a.PowerCapsW) > 0 && len(b.PowerCapsW) > 0 {
		for _, name := range slices.Sorted(maps.Keys(a.PowerCapsW)) {
			if w, is := b.PowerCapsW[name]; is {
				differ("the power limit "+name, watts(a.PowerCapsW[name]), watts(w))
			}
		}
	}
	differ("the processors that cg may use", a.CPUSet, b.CPUSet)
	differ("the processors of the program", cmp.Or(a.Cores, "all"), cmp.Or(b.Cores, "all"))
	if !a.LimitsKnown || !b.LimitsKnown { // what is not known is no difference: two limits may be compared
		if a.CPULimit == nil || b.CPULimit == nil {
			a.CPULimit, b.CPULimit = nil, nil
		}
		if a.MemoryLimitBytes == nil || b.MemoryLimitBytes == nil {
			a.MemoryLimitBytes, b.MemoryLimitBytes = nil, nil
		}
	}
	differ("the limit of processor time", limited(a.CPULimit, "processors"), limited(b.CPULimit, "processors"))
	differ("the limit of memory", limited(inMiB(a.MemoryLimitBytes), "MiB"), limited(inMiB(b.MemoryLimitBytes), "MiB"))
	if a.VirtualMachine != b.VirtualMachine {
		kind := map[bool]string{true: "a virtual machine", false: "none"}
		differ("virtualisation", kind[a.VirtualMachine], kind[b.VirtualMachine])
	}
	return all
}

func watts(w float64) string { return strconv.FormatFloat(w, 'g', 6, 64) + " W" }

// limited is a limit as people read it.
func limited(limit *float64, unit string) string {
	if limit == nil {
		return "none"
	}
	return strconv.FormatFloat(*limit, 'g', 6, 64) + " " + unit
}

func inMiB(bytes *int64) *float64 {
	if bytes == nil {
		return nil
	}
	v := float64(*bytes) / (1 << 20)
	return &v
}

// Throttled tells how often processors were slowed down between two states, 0 where that is not told.
func Throttled(before, after State) int64 {
	if before.ThrottleCount == nil || after.ThrottleCount == nil {
		return 0
	}
	return max(0, *after.ThrottleCount-*before.ThrottleCount)
}

// Changed tells what happened to the machine during a run, "" for nothing.
func (a Around) Changed() string {
	if all := Differs(a.Before, a.After); len(all) > 0 {
		return fmt.Sprintf("while the program ran, the machine changed: %s", strings.Join(all, "; "))
	}
	return ""
}
