package codegreen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// zone is a folder of powercap. wrap is what its counter wraps at in uJ, 0 where it
// does not say. The rule for all of them is cg's own
// (runtimes/sdk/spec/cases/powercap.json of cg).
type zone struct {
	driver string
	nums   []int // 0 1 of intel-rapl:0:1
	path   string
	name   string
	wrap   uint64
	parent *zone
	id     string

	repeats bool // what another driver reads, too
}

var (
	zoneFolder = later(`^([a-z][a-z0-9-]*)((?::[0-9]+)+)$`)
	dieName    = later(`^(package-[0-9]+)-die-[0-9]+$`)
	memoryName = later(`^dram(-[0-9]+)?$`)
	systemName = later(`^psys(-[0-9]+)?$`)
)

// later compiles an expression when it is used first: a program that begins pays nothing for it.
func later(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// readZone reads the files that say what a zone is; nil for one of power limits only.
func readZone(path string) (*zone, error) {
	if _, err := os.Stat(filepath.Join(path, "energy_uj")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := zoneFolder().FindStringSubmatch(filepath.Base(path))
	z := &zone{driver: m[1], path: path}
	for n := range strings.SplitSeq(m[2][1:], ":") {
		v, _ := strconv.Atoi(n)
		z.nums = append(z.nums, v)
	}
	var err error
	if z.name, err = textOf(filepath.Join(path, "name")); err != nil {
		return nil, err
	}
	if z.name == "" {
		return nil, fmt.Errorf("%s: no name", filepath.Join(path, "name"))
	}
	text, err := textOf(filepath.Join(path, "max_energy_range_uj"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if last, err := strconv.ParseUint(text, 10, 63); err == nil && last > 0 {
		z.wrap = last + 1
	}
	z.id = z.name
	return z, nil
}

func (z *zone) kind() string {
	switch {
	case strings.HasPrefix(z.name, "package-"):
		return "cpu_package"
	case memoryName().MatchString(z.name):
		return "dram"
	case systemName().MatchString(z.name):
		return "psys"
	}
	return ""
}

// unit is what its counter counts in, in uJ, if it has as many bits as RAPL's counters.
func (z *zone) unit() float64 { return float64(z.wrap) / (1 << counterBits) }

func (z *zone) domain() domain {
	unit := z.unit()
	if !(unit > 0 && unit <= 1e6) {
		unit = 1e6 / (1 << unit61Power)
	}
	return domain{ID: z.id, Kind: z.kind(), InTotal: true, Method: kinds[0], Source: filepath.Join(z.path, "energy_uj"),
		PeriodNs: raplPeriodNs, StepUj: uint64(math.Ceil(unit)), Lo: 1, Hi: 1}
}

// processor is what /proc/cpuinfo says of one.
type processor struct{ vendor, family, model string }

func processorOf(root string) (p processor) {
	if info, err := os.Stat(filepath.Join(root, "proc")); root == "" || err != nil || !info.IsDir() {
		root = "/"
	}
	b, _ := os.ReadFile(filepath.Join(root, "proc/cpuinfo"))
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "vendor_id":
			p.vendor = value
		case "cpu family":
			p.family = value
		case "model":
			p.model = value
		}
	}
	return p
}

// memoryUnit is the unit of a server's memory counter in uJ, 0 where none is fixed.
func (p processor) memoryUnit() float64 {
	model, err := strconv.Atoi(p.model)
	switch {
	case err != nil || p.vendor != "GenuineIntel" || p.family != "6":
	case slices.Contains(unit15Models, model):
		return 1e6 / (1 << unit15Power)
	case slices.Contains(unit61Models, model):
		return 1e6 / (1 << unit61Power)
	}
	return 0
}

// doubt is what is wrong with the unit of a zone, "" for nothing.
func (z *zone) doubt(p processor) string {
	unit, want := z.unit(), p.memoryUnit()
	switch {
	case z.wrap == 0 || z.kind() == "psys": // which counts whole joules on some servers
	case z.kind() == "dram" && want > 0 && (unit > unitFactor*want || unit < want/unitFactor):
		how := fmt.Sprintf("%.1f times too low", want/unit)
		if unit > want {
			how = fmt.Sprintf("%.1f times too high", unit/want)
		}
		const form = "%s: the kernel takes its unit for %.1f uJ, and memory beside this processor counts %.1f uJ: " +
			"its energy is %s"
		return fmt.Sprintf(form, z.id, unit, want, how)
	case unit > unitMostUj || unit < unitLeastUj:
		const form = "%s: max_energy_range_uj means a unit of %.3g uJ, and RAPL counts in %v to %v uJ"
		return fmt.Sprintf(form, z.id, unit, unitLeastUj, unitMostUj)
	}
	return ""
}

// arranged gives zones, in the order of their numbers, their parents and ids, and
// returns those that make up the machine's energy, once each.
func arranged(zones []*zone) []*zone {
	slices.SortFunc(zones, func(a, b *zone) int {
		return cmp.Or(strings.Compare(a.driver, b.driver), slices.Compare(a.nums, b.nums))
	})
	packages, several := map[string]bool{}, false
	for _, z := range zones {
		if strings.HasPrefix(z.name, "package-") {
			several = several || packages[z.driver]
			packages[z.driver] = true
		}
	}
	var kept, counted []*zone
	for _, z := range zones {
		for _, o := range kept {
			if o.driver == z.driver && slices.Equal(o.nums, z.nums[:len(z.nums)-1]) {
				z.parent = o
			}
		}
		switch {
		case z.parent != nil && !strings.HasPrefix(z.parent.id, "package-"):
			z.id = z.name + "-" + z.parent.id
		case z.parent != nil && several:
			z.id = z.name + strings.TrimPrefix(z.parent.id, "package")
		case z.parent == nil && several && z.name == "dram":
			z.id = "dram-0"
		}
		// The same zone through another driver: intel-rapl-mmio:0 reads the package of intel-rapl:0.
		z.repeats = slices.ContainsFunc(kept, func(o *zone) bool {
			return o.id == z.id && o.driver != z.driver && !o.repeats
		})
		for n := 1; !z.repeats && slices.ContainsFunc(kept, func(o *zone) bool { return o.id == z.id }); n++ {
			z.id = fmt.Sprintf("%s-%d", z.name, n)
		}
		kept = append(kept, z)
	}
	first := func(kind string) int {
		return slices.IndexFunc(kept, func(z *zone) bool { return !z.repeats && z.kind() == kind })
	}
	if whole := first("psys"); whole >= 0 && first("cpu_package") < 0 {
		return kept[whole : whole+1]
	}
	for _, z := range kept {
		if kind := z.kind(); !z.repeats && (kind == "cpu_package" || kind == "dram") {
			counted = append(counted, z)
		}
	}
	return counted
}

// shows tells whether a die shows the counter of another of its package, which read
// before when this one read value: some Threadripper do, and the sum would count it
// twice. again reads the other's once more.
func (z *zone) shows(o *zone, value, before uint64, again func() (uint64, error)) bool {
	die, other := dieName().FindStringSubmatch(z.id), dieName().FindStringSubmatch(o.id)
	if die == nil || other == nil || die[1] != other[1] || before > value {
		return false
	}
	now, err := again()
	return err == nil && value <= now && now > 0 && now-before < mirrorUj
}

// unwrapped is the energy in uJ between two readings of a counter, elapsed ns apart;
// false where it is not known: it was reset, or may have gone round more than once
// (runtimes/sdk/spec/cases/unwrap.json of cg).
func unwrapped(before, now, wrap uint64, elapsed int64) (uint64, bool) {
	if wrap > 0 && (before >= wrap || now >= wrap) || wrap == 0 && now < before {
		return 0, false
	}
	used := now - before
	if now < before {
		used += wrap
	}
	if float64(used) > implausibleW*1e-3*float64(max(0, elapsed)) {
		return 0, false
	}
	return used, wrap == 0 || float64(used)+float64(wrap) > sustainedW*1e-3*float64(elapsed)
}
