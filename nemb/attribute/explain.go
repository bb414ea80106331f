package attribute

import (
	"maps"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/regression"
)

// Methods of a function's energy.
const (
	// Regression: power from a regression of the program's energy on time in
	// functions, times time; each block of windows shared out in proportion.
	Regression = "regression"
	// TimeShare: each window's energy in proportion to processor time.
	TimeShare = "time-share"
)

// Reason says why the data do not show a function's energy.
type Reason = regression.Reason

const (
	Resolved  = regression.Resolved
	TooLittle = regression.TooLittle
	Collinear = regression.Collinear
	Noisy     = regression.Noisy
)

// unsure is the part of a value from which on half of its interval says that the
// value is not known.
const unsure = 0.5

// explanation is what the regressions show, domain by domain.
type explanation struct {
	fits  []*regression.Fit // nil where there is none
	nodes [][]float64       // microjoules, per domain, per node
	// background is the same per background class.
	background [][]float64
	scale      []float64 // of the fits' energies
	// main is the domain in which the program used most of those that count, -1
	// if none does.
	main int
}

// estimate is what domain d's fit shows of a column, nil where it shows nothing.
func (x *explanation) estimate(d int, k regression.Column) *regression.Estimate {
	f := x.fits[d]
	if f == nil || !f.Columns[k].IsResolved() {
		return nil
	}
	return f.Columns[k]
}

// explain turns the powers that were found into the energies of call paths. The
// paths of a function share its energy by processor time. What the data do not
// show keeps its share by time, window by window.
func (a *Attributor) explain() *explanation {
	n := len(a.domains)
	x := &explanation{
		fits: a.data.Fits(n, a.meanStretch()), nodes: make([][]float64, n), background: make([][]float64, n),
		scale: make([]float64, n), main: -1,
	}
	most := nemb.Energy(0)
	for d := range a.domains {
		x.nodes[d] = a.energy[d]
		if a.beside != nil {
			x.background[d] = a.beside[d]
		}
		if e := a.books[d].program; a.domains[d].InTotal && e > most {
			most, x.main = e, d
		}
		if f := x.fits[d]; f != nil && !a.apply(x, d, f) {
			x.fits[d] = nil
		}
	}
	return x
}

// meanStretch is how long each column runs in one go, in nanoseconds of processor
// time: from a call of it, or the end of a call that it made, to the next.
// Suspensions make it shorter still.
func (a *Attributor) meanStretch() map[regression.Column]float64 {
	times, cpu := map[regression.Column]float64{}, map[regression.Column]float64{}
	for i, n := range a.nodes {
		k := regression.Site(n.site)
		cpu[k] += a.tallies[i].cpu
		if i != root {
			calls := float64(n.calls &^ counted)
			times[k] += calls
			times[regression.Site(a.nodes[n.parent].site)] += calls
		}
	}
	for k, n := range times {
		if n > 0 {
			cpu[k] /= n
		}
	}
	return cpu
}

// apply shares the program's energy in a domain out as a fit shows; false where
// it shows nothing.
func (a *Attributor) apply(x *explanation, d int, f *regression.Fit) bool {
	share, cpu := a.shareByTime(x, d)
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
	a.divide(x, d, share, cpu)
	return true
}

// shareByTime is what each column has of the program's energy in a domain by
// processor time, in microjoules, and the processor time of each.
func (a *Attributor) shareByTime(x *explanation, d int) (share, cpu map[regression.Column]float64) {
	share, cpu = map[regression.Column]float64{}, map[regression.Column]float64{}
	for i, n := range a.nodes {
		k := regression.Site(n.site)
		share[k] += a.energy[d][i]
		cpu[k] += a.tallies[i].cpu
	}
	share[regression.Outside] -= a.direct[d]
	for i, e := range x.background[d] {
		share[regression.Background(i)] += e
	}
	return share, cpu
}

// divide divides the energy of each column among its call paths.
func (a *Attributor) divide(x *explanation, d int, share, cpu map[regression.Column]float64) {
	energy := func(k regression.Column) float64 {
		if r := x.estimate(d, k); r != nil {
			return r.Energy * x.scale[d]
		}
		return share[k]
	}
	nodes := make([]float64, len(a.nodes))
	for i, n := range a.nodes {
		k := regression.Site(n.site)
		switch {
		case n.site == 0: // the root, and words that are none of a site's
			if own := a.energy[d][i]; i == root {
				nodes[i] = a.direct[d]
				own -= a.direct[d]
				if share[k] > 0 {
					nodes[i] += energy(k) * own / share[k]
				}
			} else if share[k] > 0 {
				nodes[i] = energy(k) * own / share[k]
			}
		case x.estimate(d, k) == nil:
			nodes[i] = a.energy[d][i]
		case cpu[k] > 0:
			nodes[i] = energy(k) * a.tallies[i].cpu / cpu[k]
		}
	}
	x.nodes[d] = nodes
	if a.beside != nil {
		x.background[d] = make([]float64, len(a.Background))
		for i := range x.background[d] {
			x.background[d][i] = energy(regression.Background(i))
		}
	}
}

// selfBounds is the interval of a site's energy e in a domain.
func (a *Attributor) selfBounds(x *explanation, d int, site checkpoint.SiteID, e nemb.Energy) bounds {
	hard := bounds{}
	if b := a.bounds[site]; b != nil {
		hard = b.selfOf[d]
	}
	r := x.estimate(d, regression.Site(site))
	if r == nil {
		return hard
	}
	lo, hi := a.known(d)
	halfWidth := r.HalfWidth * x.scale[d]
	if r.Reason == Collinear {
		return bounds{hard.lo, min(hard.hi, (r.Shared*x.scale[d]+halfWidth)*hi)}
	}
	return bounds{max(hard.lo, (float64(e)-halfWidth)*lo), min(hard.hi, (float64(e)+halfWidth)*hi)}
}

// known is how well the program's energy in a domain is known, as factors.
func (a *Attributor) known(d int) (lo, hi float64) {
	b := a.books[d]
	if b.program == 0 {
		return 1, 1
	}
	return b.lo / float64(b.program) * a.domains[d].Lo, b.hi / float64(b.program) * a.domains[d].Hi
}

// verdict says how a site's energy was found and why it is not resolved, where
// it is not.
func (a *Attributor) verdict(x *explanation, c *Cost) {
	c.Method = TimeShare
	if x.main < 0 {
		return
	}
	k, f := regression.Site(c.Site), x.fits[x.main]
	r := x.estimate(x.main, k)
	if r != nil {
		c.Method = Regression
	}
	if r != nil && r.Reason == Resolved || a.domains[x.main].Method != nemb.Measured {
		return // however well it is known what is the program's
	}
	if float64(c.Self.Hi-c.Self.Lo) <= 2*unsure*float64(c.Self.Energy) {
		return
	}
	c.Reason = TooLittle
	if f == nil || f.Columns[k] == nil {
		return
	}
	if reason := f.Columns[k].Reason; reason != Resolved {
		c.Reason = reason
	}
	for _, other := range f.Columns[k].Group {
		if other != k && !other.IsBackground() && other != regression.Site(checkpoint.OwnSite) {
			c.Group = append(c.Group, other.Site())
		}
	}
}
