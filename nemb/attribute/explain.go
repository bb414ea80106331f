package attribute

import (
	"math"
	"math/rand/v2"

	"cg/checkpoint"
	"cg/nemb"
)

// Methods of a function's energy.
const (
	// Regression: power from a regression of the program's energy on time in
	// functions, times time; each block of windows shared out in proportion.
	Regression = "regression"
	// TimeShare: each window's energy in proportion to processor time.
	TimeShare = "time-share"
)

// The intervals of inclusive energies take all replicates up to so many call
// paths, and a few beyond.
const (
	manyNodes     = 1 << 16
	fewReplicates = 40
)

// explanation is what the regressions say, domain by domain.
type explanation struct {
	fits  []*fit      // nil where there is none
	nodes [][]float64 // microjoules, per domain, per node
	// beside is the same per background class.
	beside [][]float64
	scale  []float64 // of the fits' energies
	// main is the domain in which the program used most of those that count, -1
	// if none does.
	main int
}

// told reports whether domain d's fit says what a column used.
func (x *explanation) told(d int, k column) bool {
	f := x.fits[d]
	if f == nil {
		return false
	}
	reason, ok := f.reason[k]
	return ok && (reason == Resolved || reason == Collinear)
}

// explain turns the powers that were found into the energies of call paths. The
// paths of a function share its energy by processor time. What the data do not
// tell keeps its share by time, window by window.
func (a *Attributor) explain() *explanation {
	n := len(a.domains)
	x := &explanation{fits: make([]*fit, n), nodes: make([][]float64, n), beside: make([][]float64, n), scale: make([]float64, n), main: -1}
	calls := a.goes()
	for _, c := range a.blocks {
		c.finish()
		for i, d := range c.domains {
			x.fits[d] = c.fit(i, calls)
		}
	}
	most := nemb.Energy(0)
	for d := range a.domains {
		x.nodes[d] = a.energy[d]
		if a.beside != nil {
			x.beside[d] = a.beside[d]
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

// goes is how long each column runs in one go, in nanoseconds of processor time:
// from a call of it, or the end of a call that it made, to the next. Suspensions
// make it shorter still.
func (a *Attributor) goes() map[column]float64 {
	times, cpu := map[column]float64{}, map[column]float64{}
	for i, n := range a.nodes {
		k := column(n.site)
		cpu[k] += a.tallies[i].cpu
		if i != root {
			calls := float64(n.calls &^ counted)
			times[k] += calls
			times[column(a.nodes[n.parent].site)] += calls
		}
	}
	for k, n := range times {
		if n > 0 {
			cpu[k] /= n
		}
	}
	return cpu
}

// apply shares the program's energy in a domain out as a fit says; false where
// it says nothing.
func (a *Attributor) apply(x *explanation, d int, f *fit) bool {
	share, cpu := map[column]float64{}, map[column]float64{}
	for i, n := range a.nodes {
		k := column(n.site)
		share[k] += a.energy[d][i]
		cpu[k] += a.tallies[i].cpu
	}
	share[outsideSites] -= a.direct[d]
	for i, e := range x.beside[d] {
		share[column(-1-i)] += e
	}
	all, kept, found, doubt := 0.0, 0.0, 0.0, 0.0
	for k, e := range share {
		all += e
		if x.told(d, k) {
			found += f.energy[k]
			continue
		}
		kept += e
		// Time may give it too much, or too little, and the others the rest.
		off := e / 2
		if of, ok := f.energy[k]; ok {
			off = math.Hypot(of-e, min(f.apart[k], e))
		}
		doubt += off * off
	}
	if found <= 0 {
		return false
	}
	x.scale[d] = (all - kept) / found
	for k, e := range f.energy {
		if x.told(d, k) {
			off := e / found * math.Sqrt(doubt)
			f.apart[k], f.stray[k] = math.Hypot(f.apart[k], off), math.Hypot(f.stray[k], off)
		}
	}
	energy := func(k column) float64 {
		if x.told(d, k) {
			return f.energy[k] * x.scale[d]
		}
		return share[k]
	}
	nodes := make([]float64, len(a.nodes))
	for i, n := range a.nodes {
		k := column(n.site)
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
		case !x.told(d, k):
			nodes[i] = a.energy[d][i]
		case cpu[k] > 0:
			nodes[i] = energy(k) * a.tallies[i].cpu / cpu[k]
		}
	}
	x.nodes[d] = nodes
	if a.beside != nil {
		x.beside[d] = make([]float64, len(a.Background))
		for i := range x.beside[d] {
			x.beside[d][i] = energy(column(-1 - i))
		}
	}
	return true
}

// selfBounds is the interval of a site's energy e in a domain.
func (a *Attributor) selfBounds(x *explanation, d int, site checkpoint.SiteID, e nemb.Energy) bounds {
	hard := bounds{}
	if b := a.bounds[site]; b != nil {
		hard = b.selfOf[d]
	}
	k := column(site)
	if !x.told(d, k) {
		return hard
	}
	lo, hi := a.known(d)
	f := x.fits[d]
	apart := f.apart[k] * x.scale[d]
	if f.reason[k] == Collinear {
		return bounds{hard.lo, min(hard.hi, (f.shared[k]*x.scale[d]+apart)*hi)}
	}
	return bounds{max(hard.lo, (float64(e)-apart)*lo), min(hard.hi, (float64(e)+apart)*hi)}
}

// known is how well the program's energy in a domain is known, as factors.
func (a *Attributor) known(d int) (lo, hi float64) {
	b := a.books[d]
	if b.program == 0 {
		return 1, 1
	}
	return b.lo / float64(b.program) * a.domains[d].Lo, b.hi / float64(b.program) * a.domains[d].Hi
}

// inclusiveApart is by how much the inclusive energy of each site in a domain
// may be off (95 %): what is told of several functions together stays so in
// their sum. nodes is their energy in microjoules.
func (a *Attributor) inclusiveApart(x *explanation, d int, nodes []nemb.Energy) map[checkpoint.SiteID]float64 {
	f := x.fits[d]
	if f == nil {
		return nil
	}
	type place struct {
		factors        []float64
		squares        float64
		sum, reference float64
	}
	var places []place
	index := map[checkpoint.SiteID]int{}
	of := make([]int32, len(a.nodes))
	site := make([]nemb.Energy, 0)
	for i, n := range a.nodes {
		at, ok := index[n.site]
		if !ok {
			at = len(places)
			index[n.site] = at
			places = append(places, place{})
			site = append(site, 0)
		}
		of[i] = int32(at)
		site[at] += nodes[i]
	}
	random := rand.New(rand.NewPCG(7, uint64(len(places))))
	for id, at := range index {
		if k := column(id); x.told(d, k) {
			places[at].factors = f.drawn[k]
		}
	}
	// In the order of nodes, so that the same run draws the same.
	for i, n := range a.nodes {
		p := &places[of[i]]
		if p.factors != nil || i == root {
			continue
		}
		p.factors = make([]float64, replicates)
		b := a.bounds[n.site]
		for r := range p.factors {
			p.factors[r] = 1
			if e := float64(site[of[i]]); b != nil && e > 0 {
				p.factors[r] += random.NormFloat64() * max(0, b.selfOf[d].hi-b.selfOf[d].lo) / 4 / e
			}
		}
	}
	under := make([]float64, len(a.nodes))
	sweep := func(factor func(at int32) float64, into func(p *place, e float64)) {
		for i, e := range nodes {
			under[i] = float64(e) * factor(of[i])
		}
		for i := len(a.nodes) - 1; i > root; i-- {
			under[a.nodes[i].parent] += under[i]
			if a.outermost[i] {
				into(&places[of[i]], under[i])
			}
		}
	}
	sweep(func(int32) float64 { return 1 }, func(p *place, e float64) { p.reference += e })
	times := replicates
	if len(a.nodes) > manyNodes { // what an interval is worth does not depend on it
		times = fewReplicates
	}
	for r := range times {
		sweep(func(at int32) float64 {
			if len(places[at].factors) == 0 {
				return 1
			}
			return places[at].factors[r]
		}, func(p *place, e float64) { p.sum += e })
		for i := range places {
			p := &places[i]
			p.squares += (p.sum - p.reference) * (p.sum - p.reference)
			p.sum = 0
		}
	}
	apart := map[checkpoint.SiteID]float64{}
	for id, at := range index {
		apart[id] = math.Hypot(f.quantile*math.Sqrt(places[at].squares/float64(times)), f.stray[column(id)]*x.scale[d])
	}
	return apart
}

// verdict says how a site's energy was found and why it is not told better.
func (a *Attributor) verdict(x *explanation, c *Cost) {
	c.Method = TimeShare
	if x.main < 0 {
		return
	}
	k, f := column(c.Site), x.fits[x.main]
	if x.told(x.main, k) {
		c.Method = Regression
	}
	if c.Method == Regression && f.reason[k] == Resolved || a.domains[x.main].Method != nemb.Measured {
		return // however well it is known what is the program's
	}
	if float64(c.Self.Hi-c.Self.Lo) <= 2*unsure*float64(c.Self.Energy) {
		return
	}
	c.Reason = TooLittle
	if f == nil {
		return
	}
	if reason := f.reason[k]; reason != Resolved {
		c.Reason = reason
	}
	for _, other := range f.group[k] {
		if other != k && other >= 0 && column(checkpoint.OwnSite) != other {
			c.Group = append(c.Group, other.site())
		}
	}
}
