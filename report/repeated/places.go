package repeated

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute"
	"cg/report"
)

// Place is a line, a block or the rest of a function over runs (report.Place). In a run that did not come there it has
// used nothing.
type Place struct {
	Kind    string `json:"kind"` // line, block or rest
	Line    int    `json:"line"`
	EndLine int    `json:"end_line"`
	Ordinal int    `json:"ordinal,omitempty"` // see report.Place
	// Text is the line as the source has it, of the last run that quotes it.
	Text        string     `json:"text,omitempty"`
	Count       *Statistic `json:"count"`
	SelfEnergyJ *Statistic `json:"self_energy_j"`
	SelfTimeS   *Statistic `json:"self_time_s"`
	// OwnPowerRuns is in how many of the runs that count the data show its power (report.Place.EnergyMethod is
	// "regression"). In the others its energy is a part of its function's, by time.
	OwnPowerRuns int `json:"own_power_runs,omitempty"`
}

// PlaceCost is what a place used in one run.
type PlaceCost struct {
	Place       int            `json:"place"` // index into the places of the function
	Count       uint64         `json:"count"`
	SelfEnergyJ *report.Joules `json:"self_energy_j"`
	SelfTimeS   float64        `json:"self_time_s"`
	// EnergyMethod is that of report.Place: "regression" or "time-share", "" where no energy is known.
	EnergyMethod string `json:"energy_method,omitempty"`
}

// PlaceIn is a place with the function that it is in.
type PlaceIn struct {
	Place
	Function *Function
}

// DearestPlaces lists the places of all functions that took time, the dearest first: by mean energy, else by time.
func (c *Command) DearestPlaces() (all []PlaceIn) {
	for i := range c.Functions {
		for _, p := range c.Functions[i].Places {
			if p.SelfTimeS != nil && p.SelfTimeS.Mean > 0 {
				all = append(all, PlaceIn{p, &c.Functions[i]})
			}
		}
	}
	mean := func(s *Statistic) float64 {
		if s == nil {
			return 0
		}
		return s.Mean
	}
	slices.SortStableFunc(all, func(x, y PlaceIn) int {
		return cmp.Or(cmp.Compare(mean(y.SelfEnergyJ), mean(x.SelfEnergyJ)),
			cmp.Compare(mean(y.SelfTimeS), mean(x.SelfTimeS)))
	})
	return all
}

// PlacesNote says what the energies of places over runs are worth.
func (c *Command) PlacesNote() string {
	what, some, always := "line", 0, 0
	for _, f := range c.Functions {
		for _, p := range f.Places {
			if p.Kind == "block" {
				what = "block"
			}
			if p.OwnPowerRuns > 0 && !p.IsRest() {
				some++
				if p.OwnPowerRuns >= f.Runs {
					always++
				}
			}
		}
	}
	note := "in each run the energy of a function is divided among its " + what + "s by time"
	switch {
	case some == 0:
		return note + ": no " + what + " had a power of its own that the data show"
	case some == always:
		return fmt.Sprintf("%s, but for %d whose own power the data show in each run", note, some)
	}
	return fmt.Sprintf("%s, but for %d whose own power the data show in some or all of the runs", note, some)
}

// OwnPower says in how many of the runs that called its function the data show the power of a place, "" for none.
func (p PlaceIn) OwnPower() string {
	if p.OwnPowerRuns == 0 || p.IsRest() {
		return ""
	}
	return fmt.Sprintf("%d of %d", p.OwnPowerRuns, p.Function.Runs)
}

// IsRest reports whether a place is what is in no other place of its function.
func (p Place) IsRest() bool { return p.Kind == string(checkpoint.RestPlace) }

// placeCosts are those of a run of the function. A place is known by its kind, its lines and its ordinal.
func (f *Function) placeCosts(all []report.Place, whole bool) (costs []PlaceCost) {
	for _, p := range all {
		i := slices.IndexFunc(f.Places, func(q Place) bool {
			return q.Kind == p.Kind && q.Line == p.Line && q.EndLine == p.EndLine && q.Ordinal == p.Ordinal
		})
		if i < 0 {
			i = len(f.Places)
			f.Places = append(f.Places, Place{Kind: p.Kind, Line: p.Line, EndLine: p.EndLine, Ordinal: p.Ordinal})
		}
		f.Places[i].Text = cmp.Or(p.Text, f.Places[i].Text)
		cost := PlaceCost{Place: i, Count: p.Count, SelfTimeS: p.SelfTimeS}
		if whole {
			cost.SelfEnergyJ, cost.EnergyMethod = p.SelfEnergyJ, p.EnergyMethod
		}
		costs = append(costs, cost)
	}
	return costs
}

// placesOf are the places of a run's cost of the function, as a run has them.
func (c Cost) placesOf(f Function) (all []report.Place) {
	for _, cost := range c.Places {
		p := f.Places[cost.Place]
		all = append(all, report.Place{Kind: p.Kind, Line: p.Line, EndLine: p.EndLine, Ordinal: p.Ordinal,
			Text: p.Text, Count: cost.Count, SelfTimeS: cost.SelfTimeS, SelfEnergyJ: cost.SelfEnergyJ,
			EnergyMethod: cost.EnergyMethod})
	}
	return all
}

// addPlaces adds those of another function of the same name and line in one run.
func (c *Cost) addPlaces(more []PlaceCost) {
	for _, p := range more {
		i := slices.IndexFunc(c.Places, func(q PlaceCost) bool { return q.Place == p.Place })
		if i < 0 {
			c.Places = append(c.Places, p)
			continue
		}
		q := &c.Places[i]
		q.Count, q.SelfTimeS = q.Count+p.Count, q.SelfTimeS+p.SelfTimeS
		q.SelfEnergyJ = sumOf(q.SelfEnergyJ, p.SelfEnergyJ)
		if q.EnergyMethod != p.EnergyMethod {
			q.EnergyMethod = report.MethodShare
		}
	}
}

// at is what a place used in a run of its function.
func (c Cost) at(place int) PlaceCost {
	for _, p := range c.Places {
		if p.Place == place {
			return p
		}
	}
	none := PlaceCost{Place: place}
	if c.SelfEnergyJ != nil {
		none.SelfEnergyJ = new(report.Joules)
	}
	return none
}

// overPlaces sums up the places of a function.
func (f *Function) overPlaces(over func(func(Cost) *float64) *Statistic) {
	for i := range f.Places {
		p := &f.Places[i]
		p.Count = over(func(c Cost) *float64 { n := float64(c.at(i).Count); return &n })
		p.SelfEnergyJ = over(func(c Cost) *float64 { return report.Value(c.at(i).SelfEnergyJ) })
		p.SelfTimeS = over(func(c Cost) *float64 { s := c.at(i).SelfTimeS; return &s })
	}
}

// ownPower counts the runs in which the data show the power of each place; costs are those of the function in the runs
// that count.
func (f *Function) ownPower(costs []*Cost) {
	for i := range f.Places {
		f.Places[i].OwnPowerRuns = 0
		for _, c := range costs {
			if c.at(i).EnergyMethod == attribute.Regression {
				f.Places[i].OwnPowerRuns++
			}
		}
	}
}

// sortPlaces puts the places of each function in the order of their lines, the rest last.
func (c *Command) sortPlaces() {
	before := func(x, y Place) int {
		rest := func(p Place) int {
			if p.IsRest() {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(rest(x), rest(y)), cmp.Compare(x.Line, y.Line), cmp.Compare(x.EndLine, y.EndLine),
			cmp.Compare(x.Ordinal, y.Ordinal))
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		if slices.IsSortedFunc(f.Places, before) {
			continue
		}
		order := make([]int, len(f.Places))
		for n := range order {
			order[n] = n
		}
		slices.SortStableFunc(order, func(a, b int) int { return before(f.Places[a], f.Places[b]) })
		at, sorted := make([]int, len(order)), make([]Place, len(order))
		for to, from := range order {
			at[from], sorted[to] = to, f.Places[from]
		}
		f.Places = sorted
		for k := range c.Measurements {
			for n := range c.Measurements[k].Functions {
				if cost := &c.Measurements[k].Functions[n]; cost.Function == i {
					cost.movePlaces(at)
				}
			}
		}
	}
}

// movePlaces gives the places of a cost their new indices.
func (c *Cost) movePlaces(at []int) {
	c.Places = slices.Clone(c.Places)
	for i := range c.Places {
		c.Places[i].Place = at[c.Places[i].Place]
	}
	slices.SortFunc(c.Places, func(a, b PlaceCost) int { return cmp.Compare(a.Place, b.Place) })
}

// placesKnown is an error where a cost names a place that its function does not have.
func (c Cost) placesKnown(f Function) error {
	for i, p := range c.Places {
		if p.Place < 0 || p.Place >= len(f.Places) {
			return fmt.Errorf("places[%d].place: %d is none of the %d places of %s", i, p.Place, len(f.Places), f.Name)
		}
	}
	return nil
}

// checkPlaces holds the places of a function in a run against its own figures, which they have together.
func (c Cost) checkPlaces(field string) (faults []string) {
	if len(c.Places) == 0 {
		return nil
	}
	var energy report.Joules
	seconds := 0.0
	for _, p := range c.Places {
		seconds += p.SelfTimeS
		if p.SelfEnergyJ != nil {
			energy += *p.SelfEnergyJ
		}
	}
	if c.SelfEnergyJ != nil && *c.SelfEnergyJ != energy {
		faults = append(faults, fmt.Sprintf("%sself_energy_j: %g J, but its places add up to %g J", field,
			c.SelfEnergyJ.Float(), energy.Float()))
	}
	if math.Abs(c.SelfTimeS-seconds) > 1e-9*float64(1+len(c.Places)) {
		faults = append(faults, fmt.Sprintf("%sself_time_s: %g s, but its places add up to %g s", field, c.SelfTimeS,
			seconds))
	}
	return faults
}
