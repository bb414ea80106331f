package report

import (
	"fmt"
	"math"
)

// Unit is what a unit of the work of a session's task takes (task.count, docs/session.md): a token, a request, a
// frame. Energies are in joules, and not rounded to microjoules. They are null where the task's is not known.
type Unit struct {
	Name      string   `json:"name"`
	Count     float64  `json:"count"`
	EnergyJ   *float64 `json:"energy_j"` // of the machine, as the task's
	LoJ       *float64 `json:"energy_lo_j"`
	HiJ       *float64 `json:"energy_hi_j"`
	PerJ      *float64 `json:"count_per_j"` // units for a joule of the machine's; null where it used none
	PerLoJ    *float64 `json:"count_per_j_lo"`
	PerHiJ    *float64 `json:"count_per_j_hi"`
	ProgramJ  *float64 `json:"program_energy_j"`
	ProgramLo *float64 `json:"program_energy_lo_j"`
	ProgramHi *float64 `json:"program_energy_hi_j"`
}

// Machine is the machine's energy for a unit with its bounds.
func (u Unit) Machine() (value, lo, hi *float64) { return u.EnergyJ, u.LoJ, u.HiJ }

// Program is the program's share of it.
func (u Unit) Program() (value, lo, hi *float64) { return u.ProgramJ, u.ProgramLo, u.ProgramHi }

// UnitUsed is what takes the program's energy of a unit, of a session without cg around it the machine's.
func (r *Run) UnitUsed() func(Unit) (value, lo, hi *float64) {
	if r.undivided {
		return Unit.Machine
	}
	return Unit.Program
}

// CountedUnit is a unit of a task, or of the whole session.
type CountedUnit struct {
	Task  string // the session's name for all of it
	Depth int    // 0 for the session
	Unit
}

// CountedUnits lists units of work of the session, and of each of its tasks.
func (r *Run) CountedUnits() (all []CountedUnit) {
	for i, t := range r.Tasks {
		units := t.Units
		if i == 0 {
			units = r.Totals.Units
		}
		for _, u := range units {
			all = append(all, CountedUnit{t.Name, t.Depth, u})
		}
	}
	return all
}

// units holds what units of work take against the energies they are of.
func (c *check) units(field string, units []Unit, energy *Joules) {
	for i, u := range units {
		at := fmt.Sprintf("%sunits[%d] (%s).", field, i, u.Name)
		if !(u.Count > 0) {
			c.fault(at+"count", "%g: a count is above 0", u.Count)
			continue
		}
		for _, of := range [][3]*float64{{u.LoJ, u.EnergyJ, u.HiJ}, {u.PerLoJ, u.PerJ, u.PerHiJ},
			{u.ProgramLo, u.ProgramJ, u.ProgramHi}} {
			lo, v, hi := of[0], of[1], of[2]
			if v != nil && (lo != nil && *lo > *v || hi != nil && *hi < *v) {
				c.fault(at+"energy_j", "%g is outside of its interval", *v)
			}
		}
		differ := func(a, b float64) bool { return math.Abs(a-b) > 1e-9*math.Max(math.Abs(a), math.Abs(b)) }
		if e := u.EnergyJ; e != nil && energy != nil && differ(*e*u.Count, energy.Float()) {
			c.fault(at+"energy_j", "%g J, but the energy and the count make it %g J", *e, energy.Float()/u.Count)
		}
		if e, n := u.EnergyJ, u.PerJ; e != nil && n != nil && differ(*e**n, 1) {
			c.fault(at+"count_per_j", "%g, but a unit takes %g J", *n, *e)
		}
	}
}
