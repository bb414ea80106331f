// Package rapl knows what the ways to the RAPL counters of Intel and AMD have in common:
// the zones of powercap, the packages and dies of a machine, the units of the counters,
// and the registers behind them. It opens no sensor.
package rapl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/nemb"
	"cg/nemb/sensor"
	"cg/nemb/sysfs"
	"cg/pattern"
)

// Zone is one directory that has name, energy_uj and max_energy_range_uj.
type Zone struct {
	Path   string
	Name   string // what the zone measures: package-0, core, dram, psys
	ID     string // of its domain
	Wrap   nemb.Energy
	Parent *Zone
	// Repeats is the driver that reads the same domain, "" for none.
	Repeats string

	driver string // intel-rapl, intel-rapl-mmio
	nums   []int  // 0 1 of intel-rapl:0:1
}

var zoneName = pattern.Later(`^([a-z][a-z0-9-]*)((?::[0-9]+)+)$`)

// step is the unit of a zone's counter, which is its range by 2^32, but where that
// is none that RAPL counts in.
func (z *Zone) step() nemb.Energy {
	if unit := UnitOf(z.Wrap); unit > 0 && unit <= 1 {
		return Step(unit)
	}
	return Step(Unit61)
}

// Zones lists the zones below root in the order of their numbers,
// with parents before children and repetitions marked.
func Zones(root nemb.Root) (zones []*Zone, errs []error) {
	paths, err := zonePaths(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, fmt.Errorf("powercap: %w", err))
	}
	masked := 0
	for _, path := range paths {
		if !zoneName().MatchString(filepath.Base(path)) {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			masked++ // a link to nowhere
			continue
		}
		z, err := readZone(path)
		if err != nil {
			errs = append(errs, err)
		} else if z != nil {
			zones = append(zones, z)
		}
	}
	if masked > 0 && len(zones) == 0 {
		errs = append(errs, &nemb.Denied{
			What: "powercap: " + root.Sys("devices/virtual/powercap"), Err: fs.ErrPermission,
			Why: "there are counters and this container hides them",
			Fix: "docker run --security-opt systempaths=unconfined ...",
		})
	}
	nameZones(zones)
	return zones, errs
}

// zonePaths lists what may be zones: what is below class/powercap, or where that names
// none, the folders of the devices.
func zonePaths(root nemb.Root) (paths []string, err error) {
	entries, err := os.ReadDir(root.Sys("class/powercap"))
	for _, e := range entries {
		paths = append(paths, root.Sys("class/powercap", e.Name()))
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return zoneName().MatchString(e.Name()) }) {
		return paths, err
	}
	err = filepath.WalkDir(root.Sys("devices/virtual/powercap"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && zoneName().MatchString(d.Name()) {
			paths = append(paths, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return paths, err
}

// readZone reads what a zone is; nil for one of power limits only.
func readZone(path string) (*Zone, error) {
	if _, err := os.Stat(filepath.Join(path, "energy_uj")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := zoneName().FindStringSubmatch(filepath.Base(path))
	z := &Zone{driver: m[1], Path: path}
	for n := range strings.SplitSeq(m[2][1:], ":") {
		v, _ := strconv.Atoi(n)
		z.nums = append(z.nums, v)
	}
	name, err := os.ReadFile(filepath.Join(path, "name"))
	if z.Name = sysfs.Text(name); err == nil && z.Name == "" {
		err = errors.New("no name")
	}
	if err != nil {
		return nil, fmt.Errorf("powercap: %s: %w", filepath.Join(path, "name"), sensor.Broken(err))
	}
	if text, err := os.ReadFile(filepath.Join(path, "max_energy_range_uj")); err == nil {
		if v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63); err == nil && v > 0 {
			z.Wrap = nemb.Energy(v) + 1
		}
	}
	return z, nil
}

// nameZones sorts zones and gives each its parent and an ID of its own: the kernel's
// name, which it gives to each package's core and dram, too. Where there are several
// packages, those get the package's number: core-1, dram-1.
func nameZones(zones []*Zone) {
	slices.SortFunc(zones, func(a, b *Zone) int {
		if c := strings.Compare(a.driver, b.driver); c != 0 {
			return c
		}
		return slices.Compare(a.nums, b.nums)
	})
	packages := map[string]int{} // of each driver
	for _, z := range zones {
		if strings.HasPrefix(z.Name, "package-") {
			packages[z.driver]++
		}
	}
	several := slices.ContainsFunc(zones, func(z *Zone) bool { return packages[z.driver] > 1 })
	for i, z := range zones {
		before := zones[:i]
		for _, o := range before {
			if o.driver == z.driver && slices.Equal(o.nums, z.nums[:len(z.nums)-1]) {
				z.Parent = o
			}
		}
		z.ID = z.domainID(several)
		// The same zone through another driver: intel-rapl-mmio:0 reads the
		// package that intel-rapl:0 reads, through memory instead of an MSR.
		repeated := func(o *Zone) bool { return o.ID == z.ID && o.driver != z.driver && o.Repeats == "" }
		if k := slices.IndexFunc(before, repeated); k >= 0 {
			z.Repeats = before[k].driver
			continue
		}
		for n := 1; slices.ContainsFunc(before, func(o *Zone) bool { return o.ID == z.ID }); n++ {
			z.ID = fmt.Sprintf("%s-%d", z.Name, n)
		}
	}
}

// domainID is what the domain of a zone is called by its name and its parent, where
// the machine has several packages or one.
func (z *Zone) domainID(several bool) string {
	inPackage := z.Parent != nil && strings.HasPrefix(z.Parent.ID, "package-")
	switch {
	case z.Parent != nil && !inPackage:
		return z.Name + "-" + z.Parent.ID
	case several && inPackage:
		return z.Name + strings.TrimPrefix(z.Parent.ID, "package")
	case several && z.Name == "dram":
		return "dram-0"
	}
	return z.Name
}

// Counters lists the file energy_uj of every zone.
func Counters(root nemb.Root) []string {
	zones, _ := Zones(root)
	base, err := filepath.EvalSymlinks(root.Sys())
	if err != nil {
		return nil
	}
	var all []string
	for _, z := range zones {
		// Zones are links. What lies outside the root is none of its counters.
		name, err := filepath.EvalSymlinks(filepath.Join(z.Path, "energy_uj"))
		if err == nil && strings.HasPrefix(name, strings.TrimSuffix(base, "/")+"/") {
			all = append(all, name)
		}
	}
	return all
}

// memoryName and systemName are what zones other than the packages are called.
var (
	memoryName = pattern.Later(`^dram(-[0-9]+)?$`)
	systemName = pattern.Later(`^psys(-[0-9]+)?$`)
)

// Domains says what the zones are. Neither of a package and its memory includes the
// other, whether the kernel shows memory as a sub-zone of its package or as a
// zone of its own. Core and uncore are parts of a package, psys
// includes everything.
func Domains(zones []*Zone) []nemb.Domain {
	domains := make([]nemb.Domain, len(zones))
	for i, z := range zones {
		d := nemb.Domain{ID: z.ID, Method: nemb.Measured, Wrap: z.Wrap, Period: Period, Step: z.step(), Lo: 1, Hi: 1}
		switch {
		case strings.HasPrefix(z.Name, "package-"):
			d.Kind = "cpu_package"
		case memoryName().MatchString(z.Name):
			d.Kind = "dram"
		case systemName().MatchString(z.Name):
			d.Kind = "psys"
		case z.Parent != nil:
			d.Kind, d.Parent = "nested", z.Parent.ID
		default:
			d.Kind = "independent"
		}
		domains[i] = d
	}
	return domains
}
