package measure

import (
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb/attribute"
)

// BlockPlace is what a result block says of a place of a function, such as a line (docs/formats.md).
type BlockPlace struct {
	Function string              `json:"function"` // its name, as in the id of its checkpoints
	File     string              `json:"file"`
	Kind     checkpoint.SiteKind `json:"kind"`
	Line     int                 `json:"line"`
	Column   int                 `json:"column"`
	EndLine  int                 `json:"end_line"`
	// FunctionLine and FunctionEndLine are the lines of the function.
	FunctionLine    int    `json:"function_line"`
	FunctionEndLine int    `json:"function_end_line"`
	Count           uint64 `json:"count"`   // how often a call came there
	TimeNs          int64  `json:"time_ns"` // and how long it was there, without what it called
}

// usable reports whether it can be the place of a function: what stands in a block is what a program printed.
func (p BlockPlace) usable() bool {
	return p.Kind.IsPlace() && p.Line >= 0 && p.EndLine >= 0 && p.FunctionLine >= 0 && p.FunctionEndLine >= 0 &&
		p.TimeNs >= 0 && p.TimeNs < int64(1<<62)
}

// blockSum is what the blocks of a run say of a place together.
type blockSum struct {
	function, site checkpoint.SiteID
	count          uint64
	time           time.Duration
}

// addPlaces gives the functions of blocks the places that these tell, and adds the places to the sites. What a function
// used itself is divided among its places by their times. What is in none of them is its rest. Checkpoints of a block
// have no more of a function than its name: where several have one, it is not known which of them used what, and none
// has places.
func (o *Outcome) addPlaces() {
	sites := o.BlockSites
	functions := map[string]checkpoint.SiteID{}
	for _, s := range sites {
		functions[s.Func] = s.ID
	}
	o.SharedPlaces = sharedNames(o.Blocks, functions)
	for _, name := range o.SharedPlaces {
		delete(functions, name)
	}
	known := map[checkpoint.Site]*blockSum{} // by its site without a number
	var sums []*blockSum
	for _, b := range o.Blocks {
		for _, p := range b.Places {
			function := functions[p.Function]
			if function == 0 || !p.usable() {
				continue
			}
			of := &sites[function-1]
			of.File, of.Line, of.EndLine = p.File, p.FunctionLine, p.FunctionEndLine
			s := checkpoint.Site{Func: p.Function, File: p.File, Line: p.Line, Col: p.Column, EndLine: p.EndLine,
				Kind: p.Kind}
			sum := known[s]
			if sum == nil {
				sum = &blockSum{function: function, site: checkpoint.SiteID(len(sites) + 1)}
				known[s], sums = sum, append(sums, sum)
				s.ID = sum.site
				sites = append(sites, s)
			}
			sum.count += p.Count
			sum.time += min(time.Duration(p.TimeNs), 1<<62-sum.time)
		}
	}
	o.BlockSites, o.Attributed.Places = sites, divideByTime(o.Attributed.Costs, sums)
}

// sharedNames are the names of functions of which places tell several files or first lines.
func sharedNames(blocks []Block, functions map[string]checkpoint.SiteID) (names []string) {
	type source struct {
		file string
		line int
	}
	known := map[string]source{}
	for _, b := range blocks {
		for _, p := range b.Places {
			if functions[p.Function] == 0 || !p.usable() {
				continue
			}
			at := source{p.File, p.FunctionLine}
			if was, is := known[p.Function]; !is {
				known[p.Function] = at
			} else if was != at {
				names = append(names, p.Function)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// divideByTime divides what functions used themselves among their places. A call was in no place for what is left of
// its own time.
func divideByTime(costs []attribute.Cost, sums []*blockSum) (places []attribute.Place) {
	of := map[checkpoint.SiteID][]*blockSum{}
	for _, s := range sums {
		of[s.function] = append(of[s.function], s)
	}
	for i := range costs {
		c, placed := &costs[i], 0.0
		for _, s := range of[c.Site] {
			placed += float64(s.time)
		}
		all := max(placed, float64(c.SelfTime), 1)
		for _, s := range of[c.Site] {
			if s.count > 0 {
				places = append(places, attribute.PlaceByTime(c, s.site, s.count, float64(s.time)/all))
			}
		}
		if len(of[c.Site]) > 0 {
			places = append(places, attribute.PlaceByTime(c, 0, 0, 1-placed/all))
		}
	}
	return places
}
