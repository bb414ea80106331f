package repeated

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"cg/nemb"
	"cg/report"
)

// Function is what a function used over the runs of a program with checkpoints. A run that
// did not call it used nothing in it.
type Function struct {
	Name         string      `json:"name"`
	File         string      `json:"file"`
	Line         int         `json:"line"`
	Language     string      `json:"language"`
	Kind         string      `json:"kind"`
	TextID       string      `json:"text_id,omitempty"` // see report.Site
	EnergyKind   nemb.Method `json:"energy_kind"`
	EnergyMethod string      `json:"energy_method"` // of the last run that called it
	Runs         int         `json:"runs"`          // that called it, of those that count
	Calls        *Statistic  `json:"calls"`
	// SelfEnergyJ is without what it called, InclusiveEnergyJ with it. They are over the
	// runs whose energy is known.
	SelfEnergyJ      *Statistic `json:"self_energy_j"`
	InclusiveEnergyJ *Statistic `json:"inclusive_energy_j"`
	SelfTimeS        *Statistic `json:"self_time_s"`
	SharePercent     *float64   `json:"share_percent"` // mean self energy of the program's mean
	// CallsTime is of the calls of all runs that count together, where it is known.
	CallsTime *report.CallsTime `json:"calls_time,omitempty"`
	// Verdict is that of all runs that count and called it; not told where they differ.
	Verdict report.Verdict `json:"verdict"`
	// Places are the parts of its code, with -g line or -g block, in the order of their lines.
	Places []Place `json:"places,omitempty"`
}

// Cost is what a function used in one run.
type Cost struct {
	Function         int            `json:"function"` // index into functions
	Calls            uint64         `json:"calls"`
	SelfEnergyJ      *report.Joules `json:"self_energy_j"`
	InclusiveEnergyJ *report.Joules `json:"inclusive_energy_j"`
	SelfTimeS        float64        `json:"self_time_s"`
	Verdict          report.Verdict `json:"verdict"`

	CallsTime *report.CallsTime `json:"calls_time,omitempty"`
	Places    []PlaceCost       `json:"places,omitempty"`
}

// spot is where a function is told apart from others.
type spot struct {
	language, name, file string
	line                 int
}

// costs takes in the functions of a run. Functions of one name, file and line are one.
func (c *Command) costs(r *report.Run) []Cost {
	texts := map[spot]string{}
	for _, s := range r.Sites {
		texts[spot{s.Language, s.Name, s.File, s.Line}] = s.TextID
	}
	at := map[spot]int{}
	for i, f := range c.Functions {
		at[spot{f.Language, f.Name, f.File, f.Line}] = i
	}
	whole := r.Whole()
	of := map[int]int{}
	var costs []Cost
	for _, f := range r.Functions {
		key := spot{f.Language, f.Name, f.File, f.Line}
		i, known := at[key]
		if !known {
			i = len(c.Functions)
			at[key] = i
			c.Functions = append(c.Functions, Function{Name: f.Name, File: f.File, Line: f.Line, Language: f.Language,
				Kind: f.Kind, EnergyKind: nemb.Unavailable})
		}
		told := &c.Functions[i]
		told.EnergyMethod, told.TextID = f.EnergyMethod, cmp.Or(texts[key], told.TextID)
		cost := Cost{Function: i, Calls: f.Calls, SelfTimeS: f.SelfTimeS, CallsTime: f.CallsTime,
			Verdict: cmp.Or(f.Verdict, report.NotTold), Places: told.placeCosts(f.Places, whole)}
		if whole {
			cost.SelfEnergyJ, cost.InclusiveEnergyJ = f.SelfEnergyJ, f.InclusiveEnergyJ
		}
		if cost.SelfEnergyJ != nil && (told.EnergyKind == nemb.Unavailable || f.EnergyKind.Weaker(told.EnergyKind)) {
			told.EnergyKind = f.EnergyKind
		}
		if before, twice := of[i]; twice {
			costs[before].add(cost)
			continue
		}
		of[i] = len(costs)
		costs = append(costs, cost)
	}
	return costs
}

// add adds a further cost of the same function.
func (c *Cost) add(more Cost) {
	c.Calls, c.SelfTimeS = c.Calls+more.Calls, c.SelfTimeS+more.SelfTimeS
	c.CallsTime = c.CallsTime.Plus(more.CallsTime)
	c.addPlaces(more.Places)
	c.SelfEnergyJ = sumOf(c.SelfEnergyJ, more.SelfEnergyJ)
	c.InclusiveEnergyJ = sumOf(c.InclusiveEnergyJ, more.InclusiveEnergyJ)
	if c.Verdict != more.Verdict {
		c.Verdict = report.NotTold
	}
}

// functions computes what the functions come to over the runs that count, and puts those
// first that used most.
func (c *Command) functions(used []int) {
	costs := make([][]*Cost, len(c.Measurements)) // by run and function, nil where the run did not call it
	for _, k := range used {
		costs[k] = make([]*Cost, len(c.Functions))
		for n := range c.Measurements[k].Functions {
			cost := &c.Measurements[k].Functions[n]
			costs[k][cost.Function] = cost
		}
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		f.Runs, f.Verdict, f.SharePercent, f.CallsTime = 0, "", nil, nil
		over := func(of func(Cost) *float64) *Statistic {
			var xs []float64
			var at []int
			for _, k := range used {
				m := c.Measurements[k]
				cost := Cost{SelfEnergyJ: nothing(m), InclusiveEnergyJ: nothing(m)}
				if told := costs[k][i]; told != nil {
					cost = *told
				}
				if v := of(cost); v != nil {
					xs, at = append(xs, *v), append(at, k)
				}
			}
			return statistic(xs, at)
		}
		f.Calls = over(func(c Cost) *float64 { n := float64(c.Calls); return &n })
		f.SelfEnergyJ = over(func(c Cost) *float64 { return report.Value(c.SelfEnergyJ) })
		f.InclusiveEnergyJ = over(func(c Cost) *float64 { return report.Value(c.InclusiveEnergyJ) })
		f.SelfTimeS = over(func(c Cost) *float64 { return &c.SelfTimeS })
		f.overPlaces(over)
		if s := f.SelfEnergyJ; s != nil && c.ProgramEnergyJ != nil && c.ProgramEnergyJ.Mean > 0 {
			share := 100 * s.Mean / c.ProgramEnergyJ.Mean
			f.SharePercent = &share
		}
		var called []*Cost
		for _, k := range used {
			cost := costs[k][i]
			if cost == nil {
				continue
			}
			called = append(called, cost)
			f.Runs++
			f.CallsTime = f.CallsTime.Plus(cost.CallsTime)
			if f.Verdict == "" {
				f.Verdict = cost.Verdict
			} else if f.Verdict != cost.Verdict {
				f.Verdict = report.NotTold
			}
		}
		f.Verdict = cmp.Or(f.Verdict, report.NotTold)
		f.ownPower(called)
	}
	c.rank()
}

// nothing is what a run used in a function that it did not call: 0, and not known where
// none of its energies is.
func nothing(m Measurement) *report.Joules {
	if m.ProgramEnergyJ == nil {
		return nil
	}
	return new(report.Joules)
}

// rank puts the functions into the order of what they used themselves, by time where no
// energy is known.
func (c *Command) rank() {
	order := make([]int, len(c.Functions))
	for i := range order {
		order[i] = i
	}
	mean := func(s *Statistic) float64 {
		if s == nil {
			return -1
		}
		return s.Mean
	}
	slices.SortStableFunc(order, func(a, b int) int {
		f, g := c.Functions[a], c.Functions[b]
		return cmp.Or(cmp.Compare(mean(g.SelfEnergyJ), mean(f.SelfEnergyJ)),
			cmp.Compare(mean(g.SelfTimeS), mean(f.SelfTimeS)))
	})
	at := make([]int, len(order))
	ranked := make([]Function, len(order))
	for to, from := range order {
		at[from], ranked[to] = to, c.Functions[from]
	}
	for k := range c.Measurements {
		costs := slices.Clone(c.Measurements[k].Functions)
		for i := range costs {
			costs[i].Function = at[costs[i].Function]
		}
		slices.SortFunc(costs, func(a, b Cost) int { return cmp.Compare(a.Function, b.Function) })
		c.Measurements[k].Functions = costs
	}
	c.Functions = ranked
}

// OfRun is what a measurement tells of functions, as a run: its functions and their sites.
// Nil where the program had no checkpoints.
func (c Command) OfRun(m Measurement, meta report.Meta) *report.Run {
	if len(c.Functions) == 0 {
		return nil
	}
	r := &report.Run{Meta: meta}
	for i, f := range c.Functions {
		r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: f.Name, File: f.File, Line: f.Line,
			Language: f.Language, Kind: f.Kind, TextID: f.TextID})
	}
	for _, cost := range m.Functions {
		f := c.Functions[cost.Function]
		r.Functions = append(r.Functions, report.Function{Name: f.Name, File: f.File, Line: f.Line,
			Language: f.Language, Kind: f.Kind, Calls: cost.Calls, SelfEnergyJ: cost.SelfEnergyJ,
			InclusiveEnergyJ: cost.InclusiveEnergyJ, SelfTimeS: cost.SelfTimeS, CallsTime: cost.CallsTime,
			Places: cost.placesOf(f)})
	}
	return r
}

// Read decodes a file of cg run, or of cg measure --repeat.
func Read(f io.ReadSeeker) (*Result, error) {
	r := &Result{}
	if err := report.Decode(f, r); err != nil {
		return nil, fmt.Errorf("not a saved run: %w", err)
	}
	report.Renew(&r.Meta, r)
	for _, c := range r.All() {
		if len(c.Measurements) == 0 {
			return nil, errors.New("it has no measurement: the command failed before the first was whole")
		}
		if err := c.checkFunctions(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// checkFunctions refuses measurements that tell of functions which there are not.
func (c Command) checkFunctions() error {
	for i, m := range c.Measurements {
		for k, cost := range m.Functions {
			if cost.Function < 0 || cost.Function >= len(c.Functions) {
				return fmt.Errorf("measurements[%d].functions[%d].function: %d is none of the %d functions", i, k,
					cost.Function, len(c.Functions))
			}
			if err := cost.placesKnown(c.Functions[cost.Function]); err != nil {
				return fmt.Errorf("measurements[%d].functions[%d].%w", i, k, err)
			}
		}
	}
	return nil
}

// sumOf is unknown where one of the two is.
func sumOf(a, b *report.Joules) *report.Joules {
	if a == nil || b == nil {
		return nil
	}
	e := *a + *b
	return &e
}
