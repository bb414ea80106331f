package rapl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cg/nemb"
	"cg/nemb/sysfs"
)

// Place is a processor that stands for a package or die.
type Place struct {
	CPU, Package int
	die          int  // -1 where the package is one
	alone        bool // it is the machine's only one
}

// Domain is the ID of the domain there that the kernel gives a name. Where the machine
// has one package, that is the name itself, except of the package.
func (p Place) Domain(name string) string {
	if p.alone && name != "package" || name == "psys" && p.Package == 0 {
		return name
	}
	return name + p.Suffix()
}

// Suffix is what the names of the domains there end in.
func (p Place) Suffix() string {
	if p.die < 0 {
		return fmt.Sprintf("-%d", p.Package)
	}
	return fmt.Sprintf("-%d-die-%d", p.Package, p.die)
}

// Places tells which package and die each processor of a mask stands for
// (Documentation/admin-guide/cputopology.rst), packages in order.
func Places(root nemb.Root, cpus []int) []Place {
	var places []Place
	count := map[int]int{}
	for i, cpu := range cpus {
		topology := root.Sys("devices/system/cpu", fmt.Sprintf("cpu%d", cpu), "topology")
		p := Place{CPU: cpu, Package: i, die: 0}
		if pkg, err := sysfs.Number(filepath.Join(topology, "physical_package_id")); err == nil && pkg >= 0 {
			p.Package = pkg
			p.die, _ = sysfs.Number(filepath.Join(topology, "die_id"))
		}
		count[p.Package]++
		places = append(places, p)
	}
	for i := range places {
		if count[places[i].Package] == 1 {
			places[i].die = -1
		}
	}
	slices.SortStableFunc(places, func(a, b Place) int {
		if a.Package != b.Package {
			return a.Package - b.Package
		}
		return a.die - b.die
	})
	return marked(places)
}

// marked marks the place that is the only one.
func marked(places []Place) []Place {
	for i := range places {
		places[i].alone = len(places) == 1
	}
	return places
}

// Whole lists one place for each package of places in order, which stands for all of it.
func Whole(places []Place) []Place {
	places = slices.CompactFunc(places, func(a, b Place) bool { return a.Package == b.Package })
	for i := range places {
		places[i].die = -1
	}
	return marked(places)
}

// Packages lists one processor of each package, by the topology below
// devices/system/cpu; processor 0 where it tells nothing.
func Packages(root nemb.Root) []Place {
	var cpus []int
	entries, _ := os.ReadDir(root.Sys("devices/system/cpu"))
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "cpu%d", &n); err == nil && e.Name() == fmt.Sprintf("cpu%d", n) {
			cpus = append(cpus, n)
		}
	}
	if len(cpus) == 0 {
		cpus = []int{0}
	}
	return Whole(Places(root, cpus))
}
