package repeated

import (
	"fmt"
	"math"
	"slices"

	"cg/footprint"
	"cg/report"
	"cg/statistics"
)

// Unit is what a unit of a command's work takes: a token, a request, a frame. Its quotients are of the means over
// the runs that count and whose energy and count are known, with their intervals (statistics.Linearized).
type Unit struct {
	Name    string     `json:"name"`
	Pattern string     `json:"pattern"` // where the program's output has the count
	Runs    int        `json:"runs"`    // that both figures are known of
	Count   *Statistic `json:"count"`   // in a run
	// EnergyJ is of the command's share of the machine's energy, MachineJ of the whole. They are null where the
	// energy is not known, or nothing of it was seen.
	EnergyJ  *Quotient `json:"program_energy_j"`
	MachineJ *Quotient `json:"energy_j"`
	PerJ     *Quotient `json:"count_per_j"` // units for a joule of the command's share
	// CO2eG are the grams of CO2 equivalents for a unit, of the machine's energy and of making the machine: the
	// software carbon intensity (ISO/IEC 21031:2024), where --carbon asked for it.
	CO2eG *footprint.Range `json:"co2e_g,omitempty"`
}

// Quotient is one of means.
type Quotient struct {
	Ratio float64 `json:"ratio"`
	// The interval is null for fewer than three runs, and where counts differ so much that none can be told.
	CI95Lower *float64 `json:"ci95_lower"`
	CI95Upper *float64 `json:"ci95_upper"`
}

// perUnit computes what a unit of work takes. Which units there are is known.
func (c *Command) perUnit(used []int) {
	for i := range c.Units {
		u := &c.Units[i]
		var counts []float64
		var at []int
		for _, k := range used {
			if n, is := c.Measurements[k].Counts[u.Name]; is {
				counts, at = append(counts, n), append(at, k)
			}
		}
		u.Count = statistic(counts, at)
		over := func(of func(Measurement) *report.Joules) (*Quotient, int) {
			var joules, counts []float64
			for _, k := range used {
				m := c.Measurements[k]
				if n, is := m.Counts[u.Name]; is && of(m) != nil {
					joules, counts = append(joules, of(m).Float()), append(counts, n)
				}
			}
			return quotient(joules, counts), len(counts)
		}
		u.MachineJ, _ = over(func(m Measurement) *report.Joules { return m.EnergyJ })
		u.EnergyJ, u.Runs = over(func(m Measurement) *report.Joules { return m.ProgramEnergyJ })
		u.PerJ = u.EnergyJ.inverse()
	}
}

// quotient is that of the means, nil where nothing was seen.
func quotient(over, under []float64) *Quotient {
	xs := statistics.Linearized(over, under)
	if xs == nil {
		return nil
	}
	s := statistics.Summarize(xs)
	if !(s.Mean > 0) || math.IsInf(1/s.Mean, 0) {
		return nil
	}
	q := &Quotient{Ratio: s.Mean}
	if len(xs) >= FewestForInterval && !statistics.Uncertain(under) {
		lo, hi := max(0, min(s.Lo, s.Mean)), max(s.Hi, s.Mean)
		q.CI95Lower, q.CI95Upper = &lo, &hi
	}
	return q
}

// inverse is one by a quotient; its upper end is not known where the quotient may be 0.
func (q *Quotient) inverse() *Quotient {
	if q == nil {
		return nil
	}
	out := &Quotient{Ratio: 1 / q.Ratio}
	if q.CI95Lower != nil && q.CI95Upper != nil {
		out.CI95Lower = statistics.Known(1 / *q.CI95Upper)
		if *q.CI95Lower > 0 {
			out.CI95Upper = statistics.Known(1 / *q.CI95Lower)
		}
	}
	return out
}

// Linearized are the values of runs whose mean is the energy of a unit, by their indices in the measurements.
func (c *Command) Linearized(name string) map[int]float64 {
	var at []int
	var joules, counts []float64
	for i, m := range c.Measurements {
		if n, is := m.Counts[name]; is && m.ProgramEnergyJ != nil && (!m.Warmup || c.Runs.WarmupIncludedInStats) {
			at, joules, counts = append(at, i), append(joules, m.ProgramEnergyJ.Float()), append(counts, n)
		}
	}
	out := map[int]float64{}
	if statistics.Uncertain(counts) {
		return out
	}
	for k, x := range statistics.Linearized(joules, counts) {
		out[at[k]] = x
	}
	return out
}

// account fills in what a unit emits. The use is that of a run.
func (u *Unit) account(rates *footprint.Rates, use footprint.Use) error {
	u.CO2eG = nil
	if u.MachineJ == nil || u.Count == nil {
		return nil
	}
	// Rates are of energies and times. So many units at once are far from their smallest steps.
	n := u.Count.Mean
	scaled := func(v float64) float64 { return v * n }
	use.Joules = footprint.Range{Value: scaled(u.MachineJ.Ratio), Lo: scaled(u.MachineJ.Ratio),
		Hi: scaled(u.MachineJ.Ratio)}
	if lo, hi := u.MachineJ.CI95Lower, u.MachineJ.CI95Upper; lo != nil && hi != nil {
		use.Joules.Lo, use.Joules.Hi = scaled(*lo), scaled(*hi)
	}
	of, err := rates.Of(use)
	if of != nil && of.Carbon != nil {
		g := of.Carbon.Grams
		u.CO2eG = &footprint.Range{Value: g.Value / n, Lo: g.Lo / n, Hi: g.Hi / n}
	}
	return err
}

// checkCarbon holds what a unit emits against what a run does.
func (u Unit) checkCarbon(c Command) (faults []string) {
	g := u.CO2eG
	switch {
	case g == nil:
		return nil
	case c.Footprint == nil || c.Footprint.Carbon == nil || u.Count == nil || u.MachineJ == nil:
		return []string{"co2e_g: it is there, and what it was computed from is not"}
	case g.Lo < 0 || g.Lo > g.Value || g.Value > g.Hi:
		faults = append(faults, fmt.Sprintf("co2e_g: %g is outside of its interval, %g to %g", g.Value, g.Lo, g.Hi))
	}
	differ := func(a, b float64) bool { return math.Abs(a-b) > 1e-6*b }
	if differ(u.MachineJ.Ratio*u.Count.Mean, c.EnergyJ.Mean) { // some runs have an energy or a count alone
		return faults
	}
	if want := c.Footprint.Carbon.Grams.Value / u.Count.Mean; differ(g.Value, want) {
		faults = append(faults, fmt.Sprintf("co2e_g: %g, but a run's emissions and its count make it %g", g.Value,
			want))
	}
	return faults
}

// Interval is that of a quotient in words, "" where it is not known.
func (q *Quotient) Interval(show func(float64) string) string {
	if q == nil || q.CI95Lower == nil {
		return ""
	}
	if q.CI95Upper == nil {
		return "[" + show(*q.CI95Lower) + ", ?]"
	}
	return "[" + show(*q.CI95Lower) + ", " + show(*q.CI95Upper) + "]"
}

// In is a quotient in words, "?" where it is not known.
func (q *Quotient) In(show func(float64) string) string {
	if q == nil {
		return "?"
	}
	return show(q.Ratio)
}

// UnitNames are the units of all commands, each once.
func (r *Result) UnitNames() (names []string) {
	for _, c := range r.All() {
		for _, u := range c.Units {
			if !slices.Contains(names, u.Name) {
				names = append(names, u.Name)
			}
		}
	}
	return names
}
