package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cg/pattern"
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
	// TooDear are the functions that used most and have no places, since these would have made the program too slow:
	// with those of all that used most it took Times the processor time of the run with -g fine.
	TooDear []string `json:"too_dear,omitempty"`
	Times   *float64 `json:"times,omitempty"`
	// EndedAfterS is when a run with the places of all that used most was ended, in seconds, since it took too long,
	// and FineS what the one with -g fine took. Then Times is not known, and only functions that were over by then
	// have places.
	EndedAfterS *float64 `json:"ended_after_s,omitempty"`
	FineS       *float64 `json:"fine_s,omitempty"`
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

// SaysTooDear tells which functions have no places, why, and what to type.
func (p *PlacesOf) SaysTooDear() string {
	names := strings.Join(p.TooDear[:min(len(p.TooDear), 3)], ", ")
	if n := len(p.TooDear); n > 3 {
		names += fmt.Sprintf(" (and %d more)", n-3)
	}
	why := "with them the program "
	if p.EndedAfterS != nil {
		why += fmt.Sprintf("had not ended after %.1f s, and -g fine took %.1f s", *p.EndedAfterS, *p.FineS)
	} else {
		why += fmt.Sprintf("took %.1f times the processor time of -g fine", *p.Times)
	}
	return fmt.Sprintf("--lines auto tells no lines or blocks of %s: %s; --lines %s tells those of them alone", names,
		why, asLines(p.TooDear[:min(len(p.TooDear), 3)]))
}

// asLines are names of functions as --lines takes them, as a word of a shell. A comma would end a name there.
func asLines(names []string) string {
	var globs []string
	for _, name := range names {
		globs = append(globs, strings.ReplaceAll(name, ",", "?"))
	}
	word := strings.Join(globs, ",")
	if plainWord().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainWord = pattern.Later(`^[\w.,:/+@-]+$`)

// Dearest lists functions with a file whose self energies come to a part of those of all functions, the dearest first:
// as few as do. Where no energy is known it goes by processor time, and where none of that is by time. share is what
// they have of the sum.
func (r *Run) Dearest(part float64) (functions []*Function, share float64) {
	weight, all := r.weight()
	if all <= 0 {
		return nil, 0
	}
	var order []*Function
	for i := range r.Functions {
		if f := &r.Functions[i]; weight(f) > 0 {
			order = append(order, f)
		}
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

// Share is what some of its functions have of the sum that Dearest goes by.
func (r *Run) Share(functions []*Function) float64 {
	weight, all := r.weight()
	if all <= 0 {
		return 0
	}
	have := 0.0
	for _, f := range functions {
		have += weight(f)
	}
	return have / all
}

// weight is what functions are ranked by, and the sum of it: 0 where nothing is known.
func (r *Run) weight() (weight func(f *Function) float64, all float64) {
	for _, weight = range []func(f *Function) float64{
		func(f *Function) float64 {
			if f.SelfEnergyJ == nil {
				return 0
			}
			return f.SelfEnergyJ.Float()
		},
		func(f *Function) float64 { return f.CPUTimeS },
		func(f *Function) float64 { return f.SelfTimeS },
	} {
		for i := range r.Functions {
			all += weight(&r.Functions[i])
		}
		if all > 0 {
			break
		}
	}
	return weight, all
}

// littleMore is a processor time in seconds that is too short to tell what places cost.
const littleMore = 0.1

// Affordable are those of some functions of r whose places may be told so that a run takes at most that many times the
// processor time of r. r was made with -g fine, tried with the places of all these functions; times is what that took
// of r's. What it took more is divided by events: arrivals at places, and begins and ends of calls, which are all timed
// with places and not all without. Left out first is what has most arrivals for its processor time; functions of one
// name and file are one here. ok is false where
// the calls alone cost too much. Where tried took less than littleMore more, all are affordable: two runs of a program
// differ by that.
func (r *Run) Affordable(of []*Function, tried *Run, most float64) (some []*Function, times float64, ok bool) {
	took := func(r *Run) float64 { return r.Process.UserS + r.Process.SystemS }
	if took(r) <= 0 || took(tried) <= most*took(r) || took(tried)-took(r) < littleMore {
		return of, took(tried) / max(took(r), 1e-9), true
	}
	costs, events := r.placeCosts(tried)
	sum := events
	for _, c := range costs {
		sum += c.arrivals
	}
	budget := (most - 1) * took(r) / (took(tried) - took(r)) * sum // events that may be
	some = costs.within(of, events, budget)
	return some, took(tried) / took(r), len(some) > 0
}

// AffordableOfEnded is Affordable where tried was ended before its end: of functions all whose calls had ended by then.
// What it took more than these take in r is divided by the events that were told. nil where none is affordable, or all
// had: then what made tried slow is not known.
func (r *Run) AffordableOfEnded(of []*Function, tried *Run, most float64) []*Function {
	costs, sum := r.placeCosts(tried)
	done, calls := 0.0, 0.0
	for _, c := range costs {
		sum += c.arrivals
		calls += c.calls
		if c.whole() {
			done += c.time
		}
	}
	whole := slices.DeleteFunc(slices.Clone(of), func(f *Function) bool { return !costs.of(f).whole() })
	budget := math.Inf(1)
	if more := tried.Process.UserS + tried.Process.SystemS - done; more >= littleMore {
		budget = (most - 1) * (r.Process.UserS + r.Process.SystemS) / more * sum
	}
	if len(whole) == len(of) {
		return nil
	}
	return costs.within(whole, 2*calls, budget)
}

// placeCosts are what is known of the functions of r, by their names, and events the begins and ends of calls in tried.
func (r *Run) placeCosts(tried *Run) (costs placeCosts, events float64) {
	costs = placeCosts{}
	for i := range r.Functions {
		f := &r.Functions[i]
		c := costs.of(f)
		c.time += max(f.CPUTimeS, f.SelfTimeS)
		c.calls += float64(f.Calls)
	}
	for i := range tried.Functions {
		f := &tried.Functions[i]
		events += 2 * float64(f.Calls)
		c := costs.of(f)
		c.tried += float64(f.Calls)
		c.cut = c.cut || f.CallsCut > 0
		for _, p := range f.Places {
			c.arrivals += float64(p.Count)
		}
	}
	return costs, events
}

// placeCosts are what functions and their places cost.
type placeCosts map[funcName]*nameCost

func (costs placeCosts) of(f *Function) *nameCost {
	name := funcName{f.File, f.Name}
	if costs[name] == nil {
		costs[name] = &nameCost{}
	}
	return costs[name]
}

// within are those of some functions whose arrivals come to no more than a budget, with the events that are there
// anyway.
func (costs placeCosts) within(of []*Function, events, budget float64) (some []*Function) {
	order := slices.Clone(of)
	slices.SortStableFunc(order, func(x, y *Function) int {
		a, b := costs.of(x), costs.of(y)
		return cmp.Compare(a.arrivals*b.time, b.arrivals*a.time)
	})
	for _, f := range order {
		c := costs.of(f)
		if !c.taken && events+c.arrivals <= budget {
			events += c.arrivals
			c.taken = true
		}
		if c.taken {
			some = append(some, f)
		}
	}
	return some
}

// funcName is what functions are chosen by whose places are told. Several may share it, such as lambdas.
type funcName struct{ file, name string }

// nameCost is what is known of the functions of a name together.
type nameCost struct {
	time, arrivals float64 // without places, and with them
	calls, tried   float64 // without places, and with them
	cut            bool    // a call had not ended
	taken          bool
}

// whole reports whether all calls of the functions had ended when the run with places was ended.
func (c *nameCost) whole() bool { return c.calls > 0 && c.calls == c.tried && !c.cut }

// notePlaces says of which functions places are told, and which of those that were named are not there.
func (r *Run) notePlaces(f Facts) {
	r.PlacesOf = f.PlacesOf
	if p := f.PlacesOf; p != nil && len(p.TooDear) > 0 {
		r.Warn("lines-dear", p.SaysTooDear())
	}
	if n := len(f.NoPlaces); n > 0 {
		shown := strings.Join(f.NoPlaces[:min(n, 3)], ", ")
		if n > 3 {
			shown += fmt.Sprintf(" (and %d more)", n-3)
		}
		r.Warn("lines-unfound", fmt.Sprintf("--lines: no function with lines or blocks that was loaded is called %s: "+
			"cg report --verbose lists those that there are", shown))
	}
}
