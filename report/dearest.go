package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// PlacesOf says of which functions lines or blocks are told apart, where that was not asked of all.
type PlacesOf struct {
	// Chosen is "auto" for functions that a run with -g fine showed, "report" for those of an earlier report, "names"
	// for functions that were named.
	Chosen string `json:"chosen"`
	// Functions is how many were chosen by a run or a report, SharePercent what they used there, in percent of the self
	// energy of all functions, or of their time where no energy was known.
	Functions    int      `json:"functions,omitempty"`
	SharePercent *float64 `json:"share_percent,omitempty"`
}

// Says tells of which functions places are told, to be put behind a statement; "" for all of them.
func (p *PlacesOf) Says() string {
	switch {
	case p == nil:
		return ""
	case p.Chosen == "auto":
		return "; they are told of the functions that used most in a run with -g fine before" + p.share()
	case p.Chosen == "report":
		return "; they are told of the functions that used most in an earlier report" + p.share()
	}
	return "; they are told of the functions that --lines names"
}

func (p *PlacesOf) share() string {
	if p.SharePercent == nil {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% of what all functions used there)", *p.SharePercent)
}

// Dearest lists functions with a file whose self energies come to a part of those of all functions, the dearest first:
// as few as do. Where no energy is known it goes by processor time, and where none of that is by time. share is what
// they have of the sum.
func (r *Run) Dearest(part float64) (functions []*Function, share float64) {
	weights := []func(f *Function) float64{
		func(f *Function) float64 {
			if f.SelfEnergyJ == nil {
				return 0
			}
			return f.SelfEnergyJ.Float()
		},
		func(f *Function) float64 { return f.CPUTimeS },
		func(f *Function) float64 { return f.SelfTimeS },
	}
	for _, weight := range weights {
		all := 0.0
		var order []*Function
		for i := range r.Functions {
			if f := &r.Functions[i]; weight(f) > 0 {
				all += weight(f)
				order = append(order, f)
			}
		}
		if all <= 0 {
			continue
		}
		slices.SortStableFunc(order, func(x, y *Function) int { return cmp.Compare(weight(y), weight(x)) })
		have := 0.0
		for _, f := range order {
			if have >= part*all {
				break
			}
			if f.File != "" {
				have += weight(f)
				functions = append(functions, f)
			}
		}
		return functions, have / all
	}
	return nil, 0
}

// notePlaces says of which functions places are told, and which of those that were named are not there.
func (r *Run) notePlaces(f Facts) {
	r.PlacesOf = f.PlacesOf
	if n := len(f.NoPlaces); n > 0 {
		shown := strings.Join(f.NoPlaces[:min(n, 3)], ", ")
		if n > 3 {
			shown += fmt.Sprintf(" (and %d more)", n-3)
		}
		r.Warn("lines-unfound", fmt.Sprintf("--lines: no function with lines or blocks that was loaded is called %s: "+
			"cg report --verbose lists those that there are", shown))
	}
}
