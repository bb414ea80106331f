package compare

import (
	"maps"
	"slices"
	"strings"

	"cg/report"
	"cg/report/repeated"
)

// unitsOf are the energies of units of a command's work, by the index of the measurement. Their mean is
// the quotient of the means.
func unitsOf(c repeated.Command) map[int]map[string]bound {
	out := map[int]map[string]bound{}
	for _, u := range c.Units {
		for at, x := range c.Linearized(u.Name) {
			if out[at] == nil {
				out[at] = map[string]bound{}
			}
			out[at][u.Name] = bound{value: &x}
		}
	}
	return out
}

// unitsOfSession are the energies of units of work that the tasks of a session counted.
func unitsOfSession(r *report.Run, of func(report.Unit) (value, lo, hi *float64)) map[string]bound {
	out := map[string]bound{}
	if r.Whole() {
		for _, u := range r.Totals.Units {
			value, lo, hi := of(u)
			out[u.Name] = bound{value, lo, hi}
		}
	}
	return out
}

// unitsOfBoth are the units of work that a run of each side counts.
func unitsOfBoth(sides [2]*sideRuns) []string {
	seen := [2]map[string]bool{{}, {}}
	for i, s := range sides {
		for _, r := range s.runs {
			for name := range r.units {
				seen[i][name] = true
			}
		}
	}
	maps.DeleteFunc(seen[0], func(name string, _ bool) bool { return !seen[1][name] })
	return slices.Sorted(maps.Keys(seen[0]))
}

// IsEnergy reports whether it is the change of an energy: of a run, or of a unit of its work.
func (c Change) IsEnergy() bool { return c.Unit == "J" || strings.HasPrefix(c.Unit, "J/") }
