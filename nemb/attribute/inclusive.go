package attribute

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
	"cg/nemb/attribute/windows"
)

// The intervals of inclusive energies take all replicas up to so many call paths,
// and a few beyond.
const (
	manyNodes   = 1 << 16
	fewReplicas = 40
)

// siteDraws are other self energies of the sites in a domain that the data would
// have shown as likely. A site is known by its index, as are the parts of sites' energies
// of which one factor is drawn: those of contexts, where these may have other powers.
type siteDraws struct {
	index map[checkpoint.SiteID]int
	sites []int32     // per node, the index of its site
	parts []drawnPart // of sites
	of    []int32     // per node, the index of its part
	draws int
}

// drawnPart is a part of a site's energy of which one factor is drawn.
type drawnPart struct {
	whole   regression.Column // the column that has its energy
	energy  float64
	factors []float64 // nil: the factor is always 1
}

// inclusiveHalfWidth is the half-width of the interval (95 %) around the
// inclusive energy of each site in a domain. A group of functions of which only
// the sum is known keeps its sum, and so does a function whose contexts may have other
// powers than its own. nodes is their energy in microjoules.
func (x *explanation) inclusiveHalfWidth(d int, nodes []nemb.Energy) map[checkpoint.SiteID]float64 {
	f := x.fits[d]
	if f == nil {
		return nil
	}
	s := x.drawSites(d, nodes)
	under, factor := make([]float64, x.tree.Len()), make([]float64, len(s.parts))
	for i := range factor {
		factor[i] = 1
	}
	reference, drawn := make([]float64, len(s.index)), make([]float64, len(s.index))
	x.sumInclusive(nodes, &s, factor, under, reference)
	squares := make([]float64, len(s.index))
	draws := s.draws
	if x.tree.Len() > manyNodes { // what an interval is worth does not depend on it
		draws = min(draws, fewReplicas)
	}
	for r := range draws {
		for i, part := range s.parts {
			factor[i] = 1
			if part.factors != nil {
				factor[i] = part.factors[r]
			}
		}
		clear(drawn)
		x.sumInclusive(nodes, &s, factor, under, drawn)
		for i := range drawn {
			squares[i] += (drawn[i] - reference[i]) * (drawn[i] - reference[i])
		}
	}
	clear(drawn)
	x.sumBlur(d, nodes, &s, under, drawn)
	halfWidth := map[checkpoint.SiteID]float64{}
	for id, at := range s.index {
		edges := 0.0
		if r := f.Columns[x.contexts.function(id)]; r != nil {
			edges = r.Edges
		}
		halfWidth[id] = math.Hypot(f.Quantile*math.Sqrt(squares[at]/float64(draws)), edges*x.scale[d]) + drawn[at]
	}
	return halfWidth
}

// sumBlur adds up by how much the inclusive energy of each site may be off as times are a
// sample: the sum over what is in it. under is scratch memory, per node.
func (x *explanation) sumBlur(d int, nodes []nemb.Energy, s *siteDraws, under, sums []float64) {
	clear(under)
	for i, e := range nodes {
		if r := x.estimate(d, x.contexts.function(x.tree.Site(int32(i)))); r != nil && r.Blur > 0 && r.Energy > 0 {
			under[i] = r.Blur * float64(e) / r.Energy
		}
	}
	for n := int32(x.tree.Len()) - 1; n > paths.Root; n-- {
		under[x.tree.Parent(n)] += under[n]
		if x.tree.IsOutermost(n) {
			sums[s.sites[n]] += under[n]
		}
	}
}

// sumInclusive adds up the inclusive energy of each site, where the self energy
// of a node is multiplied by the factor of its part. under is scratch memory, per node.
func (x *explanation) sumInclusive(nodes []nemb.Energy, s *siteDraws, factor, under, sums []float64) {
	for i, e := range nodes {
		under[i] = float64(e) * factor[s.of[i]]
	}
	for n := int32(x.tree.Len()) - 1; n > paths.Root; n-- {
		under[x.tree.Parent(n)] += under[n]
		if x.tree.IsOutermost(n) {
			sums[s.sites[n]] += under[n]
		}
	}
}

// drawSites takes the replicas of the fit for the sites that it resolves, and draws how
// the energy of one is divided among its contexts, as far as the data leave that open.
// Others are drawn from a normal distribution as wide as their bounds.
func (x *explanation) drawSites(d int, nodes []nemb.Energy) siteDraws {
	n := x.tree.Len()
	s := siteDraws{
		index: map[checkpoint.SiteID]int{}, sites: make([]int32, n), of: make([]int32, n), draws: regression.Replicas,
	}
	index, doubts := map[regression.Column]int{}, x.doubts(d)
	// In the order of nodes, so that the same run draws the same.
	var columns []regression.Column // per part
	for i, site := range x.tree.Sites() {
		if _, ok := s.index[site]; !ok {
			s.index[site] = len(s.index)
		}
		s.sites[i] = int32(s.index[site])
		k, whole := x.drawnColumn(d, int32(i), doubts)
		at, ok := index[k]
		if !ok {
			at = len(s.parts)
			index[k] = at
			s.parts, columns = append(s.parts, drawnPart{whole: whole}), append(columns, k)
		}
		s.of[i] = int32(at)
		s.parts[at].energy += float64(nodes[i])
	}
	random := rand.New(rand.NewPCG(7, uint64(len(s.parts))))
	for i := range s.parts {
		p := &s.parts[i]
		if k, e := x.fits[d].Part(p.whole); e != nil && k == p.whole && !x.placedFunctions[k] {
			p.factors = slices.Clone(e.Replicas)
		} else if e := x.estimate(d, p.whole); e != nil {
			p.factors = slices.Clone(e.Replicas)
		} else {
			p.factors = x.drawUnresolved(d, p.whole, p.energy, random)
		}
	}
	x.drawContexts(doubts, columns, s.parts, random)
	return s
}

// drawnColumn is the column of which one factor is drawn for a call path, and the one that
// has its energy: a function, or the context of the path, as far as its power is its own
// or may be another than that of its function.
func (x *explanation) drawnColumn(d int, n int32, doubts map[regression.Column]float64) (k, whole regression.Column) {
	function := x.contexts.function(x.tree.Site(n))
	if x.estimate(d, function) == nil || function < regression.First {
		return function, function
	}
	k = x.fits[d].Kept(x.contexts.path(n))
	whole = function
	if at, part := x.part(d, n); part != nil {
		whole = at
	}
	for ; k != whole; k = x.contexts.of(k) {
		if _, has := doubts[k]; has {
			break
		}
	}
	return k, whole
}

// drawUnresolved draws factors of the energy of a function that the fit does not resolve,
// from a normal distribution as wide as its bounds, or as what the fit says of its energy
// if that is less; nil for what is no function. Where the counter is filtered, one of which the fit says nothing has
// what its windows show at most, or guess times its part by time.
func (x *explanation) drawUnresolved(d int, k regression.Column, energy float64, random *rand.Rand) []float64 {
	site := x.contexts.site(k)
	if site == 0 {
		return nil
	}
	bounds, _ := x.alone(d, site)
	e := x.fits[d].Columns[k]
	if e == nil && x.lag(d) > 0 { // so little ran that all of the program's energy would drown its callers'
		shown, _ := x.windows.Bounds(site, d)
		bounds = windows.Bounds{Hi: max(shown.Hi, guess*energy)}
	}
	width := max(0, bounds.Hi-bounds.Lo) / 4
	if e != nil {
		width = min(width, math.Hypot(e.HalfWidth*x.scale[d]/x.fits[d].Quantile, e.Energy*x.scale[d]-energy))
	}
	factors := make([]float64, regression.Replicas)
	for r := range factors {
		factors[r] = 1
		if energy > 0 && x.windows.HasBounds(site) {
			factors[r] += random.NormFloat64() * width / energy
		}
	}
	return factors
}

// drawContexts multiplies the factors of contexts whose powers may differ. What has the
// energy of several keeps its sum.
func (x *explanation) drawContexts(doubts map[regression.Column]float64, columns []regression.Column,
	parts []drawnPart, random *rand.Rand) {
	if len(doubts) == 0 {
		return
	}
	drawn := map[regression.Column][]float64{}
	for _, k := range slices.Sorted(maps.Keys(doubts)) {
		drawn[k] = make([]float64, regression.Replicas)
		for r := range drawn[k] {
			drawn[k][r] = math.Exp(doubts[k] * random.NormFloat64())
		}
	}
	of := map[regression.Column][]int{}
	for i := range parts {
		if whole := parts[i].whole; whole >= regression.First {
			of[whole] = append(of[whole], i)
		}
	}
	for _, whole := range slices.Sorted(maps.Keys(of)) {
		group := of[whole]
		for r := range regression.Replicas {
			before, after := 0.0, 0.0
			for _, i := range group {
				p := &parts[i]
				before += p.energy * p.factors[r]
				for k := columns[i]; k != whole; k = x.contexts.of(k) {
					if f := drawn[k]; f != nil {
						p.factors[r] *= f[r]
					}
				}
				after += p.energy * p.factors[r]
			}
			if after > 0 {
				for _, i := range group {
					parts[i].factors[r] *= before / after
				}
			}
		}
	}
}
