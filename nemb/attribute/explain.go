package attribute

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
	"cg/nemb/attribute/windows"
)

// explanation is what the regressions show, domain by domain.
type explanation struct {
	windows  *windows.Windows
	tree     *paths.Tree
	contexts *contexts
	fits     []*regression.Fit // nil where there is none
	noisy    []*regression.Fit // per domain, a fit that tells no function apart from the noise, nil where there is none
	nodes    [][]float64       // microjoules, per domain, per node
	// background is the same per background class.
	background [][]float64
	scale      []float64 // of the fits' energies
	// main is the domain in which the program used most of those that count, -1
	// if none does.
	main int
	idle []nemb.IdlePower // per domain, see windows.Settle
	// machine is the machine time of each site (windows.PathMachine), and of its calls with what they called, per
	// domain.
	machine, inclusiveMachine []map[checkpoint.SiteID]float64
	// most is what that which ran beside the program may have drawn, in watts of processor time, per domain.
	most []float64
	// placed are the places of call paths, of those whose functions have them, and places the energy of each, in
	// microjoules, per domain. placedFunctions are the columns of these functions.
	placed          map[int32][]placedPart
	placedFunctions map[regression.Column]bool
	places          []map[placeOf]float64
	// beside is what ran beside each site, and beside its calls with what they called, per domain.
	beside, inclusiveBeside []map[checkpoint.SiteID]windows.Beside
}

// estimate is what domain d's fit shows of a function, or of what is none, nil where it
// shows nothing.
func (x *explanation) estimate(d int, k regression.Column) *regression.Estimate {
	f := x.fits[d]
	if f == nil || !f.Columns[k].IsResolved() {
		return nil
	}
	return f.Columns[k]
}

// explain turns the powers that were found into the energies of call paths. The
// paths of a function share its energy by processor time, where their contexts have no
// powers of their own. What the data do not show keeps its share by time, window by window.
func (a *Attributor) explain() *explanation {
	n := len(a.windows.Domains)
	idle := a.windows.Settle()
	watts := make([]float64, n)
	for d, p := range idle {
		watts[d] = p.Power
	}
	a.blur()
	x := &explanation{
		windows: a.windows, tree: a.stacks.Tree, contexts: a.contexts, fits: a.data.Fits(watts, a.runs()),
		most: make([]float64, n), places: make([]map[placeOf]float64, n), noisy: make([]*regression.Fit, n),
		nodes: make([][]float64, n), background: make([][]float64, n), scale: make([]float64, n), main: -1, idle: idle,
	}
	x.findPlaces(a.stacks)
	x.doubtBeside()
	x.machineTimes()
	most := nemb.Energy(0)
	for d := range a.windows.Domains {
		domain := &a.windows.Domains[d]
		x.nodes[d], x.background[d] = domain.Paths, domain.Background
		if domain.Domain.InTotal && domain.Program > most {
			most, x.main = domain.Program, d
		}
		if f := x.fits[d]; f != nil && !x.apply(d, f) {
			x.fits[d], x.noisy[d] = nil, f
		}
		if x.fits[d] == nil {
			x.placesByTime(d)
		}
	}
	return x
}

// blur tells the regression how far times may be off that come from looks.
func (a *Attributor) blur() {
	first, last := a.windows.First(), a.windows.Last()
	sites := a.stacks.Blur()
	if sites == nil || last.At <= first.At {
		return
	}
	perTick := nanos(last.Time-first.Time) / float64(last.At-first.At)
	columns := map[regression.Column]float64{}
	for site, variance := range sites {
		columns[a.contexts.function(site)] += variance * perTick * perTick
	}
	a.data.Blur(columns)
}

// runs is how long each column ran, and in how many goes: from a call of it, or the end
// of a call that it made, to the next. Suspensions make these shorter still.
func (a *Attributor) runs() map[regression.Column]regression.Run {
	tree := a.stacks.Tree
	runs := map[regression.Column]regression.Run{}
	add := func(n int32, time, count float64) {
		k := a.contexts.path(n)
		r := runs[k]
		r.Time += time
		r.Count += count
		runs[k] = r
	}
	places := a.runsOfPlaces(runs)
	for i := range tree.Sites() {
		n := int32(i)
		if !places[n] {
			add(n, a.windows.Times[n].CPU, 0)
		}
		if n != paths.Root {
			calls := float64(a.stacks.Calls(n))
			add(n, 0, calls)
			add(tree.Parent(n), 0, calls)
		}
	}
	return runs
}

// apply shares the program's energy in a domain out as a fit shows; false where
// it shows nothing.
func (x *explanation) apply(d int, f *regression.Fit) bool {
	share, cpu := x.shareByTime(d)
	all, kept, found, variance := 0.0, 0.0, 0.0, 0.0
	for _, k := range slices.Sorted(maps.Keys(share)) { // the same data give the same sums
		e := share[k]
		all += e
		if r := x.estimate(d, k); r != nil {
			found += r.Energy
			continue
		}
		kept += e
		// Time may give it too much, or too little, and the others the rest.
		off := e / 2
		if r := f.Columns[k]; r != nil {
			off = math.Hypot(r.Energy-e, min(r.HalfWidth, e))
		}
		variance += off * off
	}
	if found <= 0 {
		return false
	}
	x.scale[d] = (all - kept) / found
	for _, r := range f.Columns {
		if r.IsResolved() {
			off := r.Energy / found * math.Sqrt(variance)
			r.HalfWidth, r.Edges = math.Hypot(r.HalfWidth, off), math.Hypot(r.Edges, off)
		}
	}
	x.divide(d, share, cpu)
	return true
}

// shareByTime is what each column has of the program's energy in a domain by
// processor time, in microjoules, and the processor time of each.
func (x *explanation) shareByTime(d int) (share, cpu map[regression.Column]float64) {
	share, cpu = map[regression.Column]float64{}, map[regression.Column]float64{}
	for n, site := range x.tree.Sites() {
		k := x.contexts.function(site)
		share[k] += x.windows.Domains[d].Paths[n]
		cpu[k] += x.windows.Times[n].CPU
	}
	share[regression.Outside] -= x.windows.Domains[d].Direct
	for i, e := range x.background[d] {
		share[regression.Background(i)] += e
	}
	return share, cpu
}

// divide divides the energy of each column among its call paths.
func (x *explanation) divide(d int, share, cpu map[regression.Column]float64) {
	energy := func(k regression.Column) float64 {
		if r := x.estimate(d, k); r != nil {
			return r.Energy * x.scale[d]
		}
		return share[k]
	}
	parts := x.partTimes(d)
	byTime := &x.windows.Domains[d]
	nodes := make([]float64, x.tree.Len())
	x.places[d] = map[placeOf]float64{}
	for n, site := range x.tree.Sites() {
		k := x.contexts.function(site)
		context, part := x.part(d, int32(n))
		switch {
		case site == 0: // the root, and words that are none of a site's
			own := byTime.Paths[n]
			if int32(n) == paths.Root {
				nodes[n] = byTime.Direct
				own -= byTime.Direct
			}
			if share[k] > 0 {
				nodes[n] += energy(k) * own / share[k]
			}
		case x.estimate(d, k) == nil:
			nodes[n] = byTime.Paths[n]
			x.shareNode(d, int32(n), nodes[n])
		case x.placed[int32(n)] != nil:
			nodes[n] = x.divideNode(d, int32(n), energy(k)/max(cpu[k], 1e-300), parts)
		case part != nil:
			nodes[n] = part.Energy * x.scale[d] * x.windows.Times[n].CPU / max(parts[context], 1e-300)
		case cpu[k] > 0:
			nodes[n] = energy(k) * x.windows.Times[n].CPU / cpu[k]
		}
	}
	x.nodes[d] = nodes
	if classes := len(byTime.Background); classes > 0 {
		x.background[d] = make([]float64, classes)
		for i := range x.background[d] {
			x.background[d][i] = energy(regression.Background(i))
		}
	}
}

// part is what domain d's fit shows of the context of a call path, and the column of
// that; nil where its function has one power, or the path has places.
func (x *explanation) part(d int, n int32) (regression.Column, *regression.Estimate) {
	f := x.fits[d]
	if f == nil || n == paths.Root || x.placed[n] != nil {
		return regression.Outside, nil
	}
	return f.Part(x.contexts.path(n))
}

// partTimes is the processor time of the contexts that have a power of their own.
func (x *explanation) partTimes(d int) map[regression.Column]float64 {
	times := map[regression.Column]float64{}
	for n := range x.tree.Sites() {
		if k, part := x.part(d, int32(n)); part != nil {
			times[k] += x.windows.Times[n].CPU
		}
	}
	for _, n := range slices.Sorted(maps.Keys(x.placed)) {
		for _, p := range x.placed[n] {
			if k, part := x.fits[d].Part(p.column); part != nil {
				times[k] += x.windows.Times[n].CPU * p.part
			}
		}
	}
	return times
}

// selfBounds is the interval of a site's energy e in a domain.
func (x *explanation) selfBounds(d int, site checkpoint.SiteID, e nemb.Energy) windows.Bounds {
	hard, _ := x.hardBounds(d, site)
	r := x.estimate(d, x.contexts.function(site))
	if r == nil {
		return hard
	}
	halfWidth := r.HalfWidth * x.scale[d]
	beside := x.beside[d][site]
	if r.Reason == Collinear {
		machine := x.machine[d][site]
		for _, other := range r.Group {
			if k := x.contexts.site(other); k != site {
				machine += x.machine[d][k]
				beside.Add(x.beside[d][k])
			}
		}
		known := x.doubted(d, r.Shared*x.scale[d], x.windows.Part(d, r.Shared*x.scale[d], halfWidth, machine), beside)
		return windows.Bounds{Lo: hard.Lo, Hi: min(hard.Hi, known.Hi)}
	}
	known := x.doubted(d, float64(e), x.windows.Part(d, float64(e), halfWidth, x.machine[d][site]), beside)
	return windows.Bounds{Lo: max(hard.Lo, known.Lo), Hi: min(hard.Hi, known.Hi)}
}

// machineTimes adds up the machine times of sites.
func (x *explanation) machineTimes() {
	for d := range x.windows.Domains {
		self, inclusive := x.machineOf(d)
		x.machine, x.inclusiveMachine = append(x.machine, self), append(x.inclusiveMachine, inclusive)
	}
}

func (x *explanation) machineOf(d int) (self, inclusive map[checkpoint.SiteID]float64) {
	self, inclusive = map[checkpoint.SiteID]float64{}, map[checkpoint.SiteID]float64{}
	under := make([]float64, x.tree.Len())
	for n := int32(x.tree.Len()) - 1; n >= 0; n-- {
		own := x.windows.PathMachine(d, n)
		under[n] += own
		site := x.tree.Site(n)
		self[site] += own
		if n == paths.Root {
			break
		}
		under[x.tree.Parent(n)] += under[n]
		if x.tree.IsOutermost(n) {
			inclusive[site] += under[n]
		}
	}
	return self, inclusive
}

// verdict says how a site's energy was found and why it is not resolved, where
// it is not.
func (x *explanation) verdict(c *Cost) {
	c.Method = TimeShare
	if x.main < 0 {
		return
	}
	k, f := x.contexts.function(c.Site), cmp.Or(x.fits[x.main], x.noisy[x.main])
	r := x.estimate(x.main, k)
	if r != nil {
		c.Method = Regression
	}
	if r != nil && r.Reason == Resolved && !r.Scattered || x.windows.Domains[x.main].Domain.Method != nemb.Measured {
		return // however well it is known what is the program's
	}
	if float64(c.Self.Hi-c.Self.Lo)-c.besideDoubt <= 2*regression.Unsure*float64(c.Self.Energy) {
		return
	}
	c.Reason = TooLittle
	if f == nil || f.Columns[k] == nil {
		return
	}
	if r := f.Columns[k]; r.Reason != Resolved {
		c.Reason = r.Reason
	} else if r.Scattered {
		c.Reason = Noisy
	}
	for _, other := range f.Columns[k].Group {
		if other != k && !other.IsBackground() && other != regression.Runtime {
			c.Group = append(c.Group, x.contexts.site(other))
		}
	}
}
