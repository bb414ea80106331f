package measure

import (
	"time"

	"cg/checkpoint"
	"cg/nemb/attribute"
)

// BlockPlace is what a result block says of a place of a function, such as a line (docs/formats.md).
type BlockPlace struct {
	Function string              `json:"function"` // its name, as in the ids of its checkpoints
	Number   int                 `json:"site"`     // that of the function, as there
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
	return p.Kind.IsPlace() && p.Number > 0 && p.Line >= 0 && p.EndLine >= 0 && p.FunctionLine >= 0 &&
		p.FunctionEndLine >= 0 && p.TimeNs >= 0 && p.TimeNs < int64(1<<62)
}

// blockFunction is a function of result blocks. Several functions may have one name: those with places are told apart
// by number, which belongs to one program, and by what their places say of the source. Of the others the name is all
// that is known: where checkpoints stand in the source by hand, those of one function have several numbers.
type blockFunction struct {
	name, file   string
	line, number int
}

// function is the one that a place is in.
func (p BlockPlace) function() blockFunction {
	return blockFunction{name: p.Function, file: p.File, line: p.FunctionLine, number: p.Number}
}

// placed are the functions of a block with places, by number.
func (b *Block) placed() map[int]blockFunction {
	functions := map[int]blockFunction{}
	for _, p := range b.Places {
		if _, is := functions[p.Number]; !is && p.usable() {
			functions[p.Number] = p.function()
		}
	}
	return functions
}

// blockFunctions are the numbers that functions of blocks have as sites.
type blockFunctions map[blockFunction]checkpoint.SiteID

// add gives the site of the function of a checkpoint, a new one where it has none. placed are those of its block.
func (functions blockFunctions) add(sites *[]checkpoint.Site, placed map[int]blockFunction,
	p blockPoint) checkpoint.SiteID {
	f, is := placed[p.number]
	if !is || f.name != p.name {
		f = blockFunction{name: p.name}
	}
	site := functions[f]
	if site == 0 {
		site = checkpoint.SiteID(len(*sites) + 1)
		functions[f] = site
		*sites = append(*sites, checkpoint.Site{ID: site, Func: p.name, Kind: checkpoint.Function})
	}
	return site
}

// blockSum is what the blocks of a run say of a place together.
type blockSum struct {
	function, site checkpoint.SiteID
	count          uint64
	time           time.Duration
}

// addPlaces gives the functions of blocks the places that these tell, and adds the places to the sites. What a function
// used itself is divided among its places by their times. What is in none of them is its rest. Several places of a
// block may stand at one position, such as an else and the loop that it begins with: they have one order in all blocks.
func (o *Outcome) addPlaces(functions blockFunctions) {
	type placeOf struct {
		function checkpoint.SiteID
		place    checkpoint.Site // without a number
		before   int             // how many there are of the same
	}
	sites := o.BlockSites
	known := map[placeOf]*blockSum{}
	var sums []*blockSum
	for _, b := range o.Blocks {
		before := map[placeOf]int{}
		for _, p := range b.Places {
			function := functions[p.function()]
			if function == 0 || !p.usable() {
				continue
			}
			f := &sites[function-1]
			f.File, f.Line, f.EndLine = p.File, p.FunctionLine, p.FunctionEndLine
			s := checkpoint.Site{Func: p.Function, File: p.File, Line: p.Line, Col: p.Column, EndLine: p.EndLine,
				Kind: p.Kind}
			of := placeOf{function: function, place: s}
			before[of]++
			of.before = before[of] - 1
			sum := known[of]
			if sum == nil {
				sum = &blockSum{function: function, site: checkpoint.SiteID(len(sites) + 1)}
				known[of], sums = sum, append(sums, sum)
				s.ID = sum.site
				sites = append(sites, s)
			}
			sum.count += p.Count
			sum.time += min(time.Duration(p.TimeNs), 1<<62-sum.time)
		}
	}
	o.BlockSites, o.Attributed.Places = sites, divideByTime(o.Attributed.Costs, sums)
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
