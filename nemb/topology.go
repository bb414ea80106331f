package nemb

import (
	"slices"
	"strings"

	"cg/nemb/processor"
)

// Place is the place of a domain among the others, as reports tell it.
type Place struct {
	TopLevel bool     `json:"top_level"` // counts in the total
	Kind     string   `json:"kind"`
	Includes []string `json:"includes"` // domains whose energy is part of it
}

// Topology tells the place of each domain. The energies of top-level domains
// add up to the machine's.
func Topology(domains []Domain) map[string]Place {
	places := map[string]Place{}
	for _, d := range domains {
		p := Place{TopLevel: d.InTotal, Kind: d.Kind, Includes: []string{}}
		for _, o := range domains {
			if o.Parent == d.ID && !o.InTotal || d.Whole && !o.Whole && o.Parent == "" {
				p.Includes = append(p.Includes, o.ID)
			}
		}
		places[d.ID] = p
	}
	return places
}

// Support tells how much the domains distinguish: full, scalar_only or none.
func Support(domains []Domain) string {
	switch len(domains) {
	case 0:
		return "none"
	case 1:
		return "scalar_only"
	}
	return "full"
}

// total tells which domains add up to the machine's energy: the packages, and
// the memory, and the GPUs. What lies in another (Parent) is in it, and
// what measures the whole machine (psys, an ACPI power meter, a battery)
// counts only where no package does, since it includes the packages and,
// on older machines, counts less than they draw. Then it is the first of its
// kind alone, and it includes the GPUs as well. The estimate is of a machine with
// its memory: of what is measured, only the GPUs count besides it.
func total(domains []Domain) []bool {
	in := make([]bool, len(domains))
	first := func(kind string) int {
		return slices.IndexFunc(domains, func(d Domain) bool {
			return d.Kind == kind && d.Parent == "" && d.Method != Estimated
		})
	}
	if whole := first("psys"); whole >= 0 && first("cpu_package") < 0 {
		in[whole] = true
		return in
	}
	modelled := slices.ContainsFunc(domains, func(d Domain) bool { return d.Method == Estimated && d.Parent == "" })
	for i, d := range domains {
		in[i] = d.Parent == "" && (d.Kind == "cpu_package" || d.Kind == "dram" && !modelled || d.Kind == "gpu" ||
			d.Method == Estimated)
	}
	return in
}

// Covers tells whether one name of a domain stands for what the other counts:
// it is the same, or one is a die of the other: package-0-die-1 of package-0, and
// core-0-die-1 of core, where the machine has one package.
func Covers(a, b string) bool { return a == b || isDieOf(a, b) || isDieOf(b, a) }

func isDieOf(die, whole string) bool {
	rest, is := strings.CutPrefix(die, whole+"-")
	if !is {
		return false
	}
	return strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "-die-") || strings.HasPrefix(rest, "die-")
}

// implausiblyMuch is a power in watts that a domain of a machine cannot draw,
// by the thermal design power of its processor; readings above it mean that
// the counter's unit is not what it is taken for.
//
// A package may draw four times its TDP for a while (a laptop's of 15 W is
// allowed 64 W), a server's twice. Memory draws some 10 W per module when
// busy; two sockets of a Granite Rapids of 350 W that idled showed 200 W and
// 6 W (icl-utk-edu/papi#635).
func implausiblyMuch(kind string, cpu processor.CPU) float64 {
	tdp, sockets := cpu.TDP, float64(max(1, cpu.Sockets))
	if cpu.March == "" {
		tdp = 500
	}
	switch kind {
	case "cpu_package", "nested":
		return 3*tdp + 100
	case "dram":
		return 0.35*tdp + 20
	case "psys":
		return (4*tdp+200)*sockets + 3000
	}
	return 3000
}
