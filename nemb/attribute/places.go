package attribute

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/regression"
	"cg/nemb/attribute/stacks"
)

// The places of a function, such as its lines, mostly run in fixed proportion: then nothing but time says what each of
// them used. A place that runs long enough by itself is another matter. So places are contexts of their function for
// the regression, as callers are: one has a power of its own where that explains the energies clearly better, and what
// is left of the function is divided among the others by processor time.

// differs is the standard deviation of the powers of a function's places, as a part of its power, before anything is
// known of them: that of the contexts of a function (regression).
const differs = 0.5

// placeOf is a place of a function.
type placeOf struct{ function, place checkpoint.SiteID }

// placedPart is what a call path has of its processor time in a place.
type placedPart struct {
	place  checkpoint.SiteID
	column regression.Column
	part   float64
}

// addPath adds processor time of a call path in a window to the column of the path, or to those of its places there.
func (a *Attributor) addPath(n int32, used float64) {
	places := a.stacks.WindowPlaces(n)
	all := 0.0
	sorted := slices.Sorted(maps.Keys(places)) // the same data give the same sums
	for _, place := range sorted {
		all += places[place]
	}
	if all <= 0 {
		a.times[a.contexts.path(n)] += used
		return
	}
	for _, place := range sorted {
		a.times[a.contexts.at(stacks.PlaceOn{Node: n, Place: place})] += used * places[place] / all
	}
}

// sortedPlaces are the places of a run, by path.
func sortedPlaces(st *stacks.Stacks) []stacks.PlaceOn {
	return slices.SortedFunc(maps.Keys(st.Places()), func(x, y stacks.PlaceOn) int {
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.Place, y.Place))
	})
}

// runsOfPlaces adds how long each place ran, in how many goes within its function, and says which paths have places.
func (a *Attributor) runsOfPlaces(runs map[regression.Column]regression.Run) (placed map[int32]bool) {
	placed = map[int32]bool{}
	for _, on := range sortedPlaces(a.stacks) {
		p := a.stacks.Places()[on]
		if p.CPU <= 0 {
			continue
		}
		placed[on.Node] = true
		k := a.contexts.at(on)
		r := runs[k]
		r.Time += p.CPU
		r.Within += float64(p.Count)
		runs[k] = r
	}
	return placed
}

// findPlaces notes which part of its processor time each path has in each place.
func (x *explanation) findPlaces(st *stacks.Stacks) {
	x.placed, x.placedFunctions = map[int32][]placedPart{}, map[regression.Column]bool{}
	all := map[int32]float64{}
	for _, on := range sortedPlaces(st) {
		if cpu := st.Places()[on].CPU; cpu > 0 {
			x.placed[on.Node] = append(x.placed[on.Node], placedPart{on.Place, x.contexts.at(on), cpu})
			x.placedFunctions[x.contexts.function(x.tree.Site(on.Node))] = true
			all[on.Node] += cpu
		}
	}
	for n, parts := range x.placed {
		for i := range parts {
			parts[i].part /= all[n]
		}
	}
}

// placesByTime divides the energy of each path among its places by processor time, in a domain without powers.
func (x *explanation) placesByTime(d int) {
	x.places[d] = map[placeOf]float64{}
	for _, n := range slices.Sorted(maps.Keys(x.placed)) {
		x.shareNode(d, n, x.windows.Domains[d].Paths[n])
	}
}

// shareNode divides the energy of a path among its places by processor time.
func (x *explanation) shareNode(d int, n int32, energy float64) {
	for _, p := range x.placed[n] {
		x.places[d][placeOf{x.tree.Site(n), p.place}] += energy * p.part
	}
}

// divideNode gives each place of a path its energy, by the power of the place where it has one and else by that of its
// function, and says what they have together. parts is that of partTimes.
func (x *explanation) divideNode(d int, n int32, power float64, parts map[regression.Column]float64) (all float64) {
	for _, p := range x.placed[n] {
		e := power
		if k, part := x.fits[d].Part(p.column); part != nil {
			e = part.Energy * x.scale[d] / max(parts[k], 1e-300)
		}
		e *= x.windows.Times[n].CPU * p.part
		all += e
		x.places[d][placeOf{x.tree.Site(n), p.place}] += e
	}
	return all
}

// doubts says by how much the powers of contexts may be off (regression.Fit.Doubts), also those of callers of functions
// that have places.
func (x *explanation) doubts(d int) map[regression.Column]float64 {
	doubts := x.fits[d].Doubts
	if len(x.placed) == 0 {
		return doubts
	}
	called := map[regression.Column]regression.Column{} // a function, by a path of it
	paths := map[regression.Column]int{}                // how many it has
	for n := range x.placed {
		k := x.contexts.path(n)
		if _, known := called[k]; !known {
			called[k] = x.contexts.function(x.tree.Site(n))
			paths[called[k]]++
		}
	}
	doubts = maps.Clone(doubts)
	if doubts == nil {
		doubts = map[regression.Column]float64{}
	}
	for k, function := range called {
		if _, has := doubts[k]; !has && k != function && paths[function] > 1 {
			doubts[k] = differs
		}
	}
	return doubts
}

// listPlaces lists what each place used. costs are those of the functions.
func (o *outcome) listPlaces(costs []Cost) (all []Place) {
	of := map[placeOf]*Place{}
	for _, on := range sortedPlaces(o.stacks) {
		t := o.stacks.Places()[on]
		key := placeOf{o.tree.Site(on.Node), on.Place}
		p := of[key]
		if p == nil {
			p = &Place{Function: key.function, Site: key.place, Method: TimeShare}
			of[key] = p
		}
		p.Count += t.Count
		p.Time += time.Duration(t.Wall)
		p.CPU += time.Duration(t.CPU)
	}
	function := map[checkpoint.SiteID]*Cost{}
	for i := range costs {
		function[costs[i].Site] = &costs[i]
	}
	sums := map[checkpoint.SiteID]float64{}
	energy := func(key placeOf) (e float64) {
		for d := range o.places {
			if o.windows.Domains[d].Domain.InTotal {
				e += o.places[d][key]
			}
		}
		return e
	}
	keys := slices.SortedFunc(maps.Keys(of), func(x, y placeOf) int {
		return cmp.Or(cmp.Compare(x.function, y.function), cmp.Compare(x.place, y.place))
	})
	rest := map[checkpoint.SiteID]time.Duration{} // of a function, in places without a power of their own
	for _, key := range keys {
		sums[key.function] += energy(key)
		if o.powerOf(key) == nil {
			rest[key.function] += of[key].CPU
		}
	}
	for _, key := range keys {
		p, c := of[key], function[key.function]
		if c != nil && sums[key.function] > 0 {
			p.Energy = float64(c.Self.Energy) * energy(key) / sums[key.function]
			o.boundPlace(p, c, ratioOf(float64(p.CPU), float64(rest[key.function])))
		}
		all = append(all, *p)
	}
	return all
}

// powerOf is what the fit of the main domain shows of a place, nil where it has no power of its own.
func (o *outcome) powerOf(p placeOf) *regression.Estimate {
	if o.main < 0 || o.estimate(o.main, o.contexts.function(p.function)) == nil || p.place == 0 {
		return nil
	}
	k := o.contexts.place(p.function, p.place)
	if at, e := o.fits[o.main].Part(k); at == k {
		return e
	}
	return nil
}

// asGoodAsAll is the part of the time of several places from which on one of them is as good as all.
const asGoodAsAll = 0.98

// boundPlace sets the interval of a place's energy, and says how it was found: that of its function, and besides how
// far the power of the place is known. The edges of blocks count twice: they are those of the place and of what runs
// before and behind it, which is mostly the same function. part is what the place has of the time of all places of its
// function without a power of their own.
func (o *outcome) boundPlace(p *Place, c *Cost, part float64) {
	width := 0.0
	if e := o.powerOf(placeOf{p.Function, p.Site}); e != nil {
		p.Method, width = Regression, ratioOf(e.HalfWidth+e.Edges, e.Energy)
	} else {
		doubt := differs
		if o.main >= 0 && o.estimate(o.main, o.contexts.function(p.Function)) != nil {
			f, k := o.fits[o.main], o.contexts.place(p.Function, p.Site)
			if known, has := f.Doubts[k]; has {
				doubt = min(doubt, known)
			}
			if _, e := f.Part(k); e != nil { // others have powers of their own: this has what is left of the function
				width = ratioOf(e.HalfWidth+e.Edges, e.Energy)
				if part > asGoodAsAll {
					p.Method = Regression
				}
			}
		}
		width = math.Hypot(width, likely*doubt*(1-part)) // what it may have more, the others have less
	}
	p.bound(c, width)
}

// PlaceByTime is what a place used that has a part of the time of its function, where nothing else tells it.
func PlaceByTime(c *Cost, site checkpoint.SiteID, count uint64, part float64) Place {
	p := Place{Function: c.Site, Site: site, Count: count, Method: TimeShare,
		Time: time.Duration(part * float64(c.SelfTime)), CPU: time.Duration(part * float64(c.CPUTime)),
		Energy: part * float64(c.Self.Energy)}
	p.bound(c, likely*differs*(1-part))
	return p
}

// bound sets the interval of a place's energy: that of its function, and how far the power of the place is known, as a
// part of it.
func (p *Place) bound(c *Cost, width float64) {
	self := float64(c.Self.Energy)
	below, above := ratioOf(self-float64(c.Self.Lo), self), ratioOf(float64(c.Self.Hi)-self, self)
	p.Lo = nemb.Energy(max(0, p.Energy*(1-math.Hypot(below, width))))
	p.Hi = nemb.Energy(math.Ceil(min(p.Energy*(1+math.Hypot(above, width)), max(p.Energy, float64(c.Self.Hi)))))
}

// ratioOf is a part of a whole, 0 where there is none.
func ratioOf(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return part / whole
}
