package attribute

import (
	"math"
	"math/rand/v2"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
)

// The intervals of inclusive energies take all replicas up to so many call paths,
// and a few beyond.
const (
	manyNodes   = 1 << 16
	fewReplicas = 40
)

// siteDraws are other self energies of the sites in a domain that the data would
// have shown as likely. A site is known by its index.
type siteDraws struct {
	index   map[checkpoint.SiteID]int
	of      []int32     // per node, the index of its site
	factors [][]float64 // per site, of its energy; nil: the factor is always 1
	draws   int
}

// inclusiveHalfWidth is the half-width of the interval (95 %) around the
// inclusive energy of each site in a domain. A group of functions of which only
// the sum is known keeps its sum. nodes is their energy in microjoules.
func (x *explanation) inclusiveHalfWidth(d int, nodes []nemb.Energy) map[checkpoint.SiteID]float64 {
	f := x.fits[d]
	if f == nil {
		return nil
	}
	s := x.drawSites(d, nodes)
	under, unit := make([]float64, x.tree.Len()), make([]float64, len(s.index))
	for i := range unit {
		unit[i] = 1
	}
	reference, drawn := make([]float64, len(unit)), make([]float64, len(unit))
	x.sumInclusive(nodes, s.of, unit, under, reference)
	squares := make([]float64, len(unit))
	draws := s.draws
	if x.tree.Len() > manyNodes { // what an interval is worth does not depend on it
		draws = min(draws, fewReplicas)
	}
	factor := make([]float64, len(unit))
	for r := range draws {
		for i, factors := range s.factors {
			factor[i] = 1
			if factors != nil {
				factor[i] = factors[r]
			}
		}
		clear(drawn)
		x.sumInclusive(nodes, s.of, factor, under, drawn)
		for i := range drawn {
			squares[i] += (drawn[i] - reference[i]) * (drawn[i] - reference[i])
		}
	}
	halfWidth := map[checkpoint.SiteID]float64{}
	for id, at := range s.index {
		edges := 0.0
		if r := f.Columns[regression.Site(id)]; r != nil {
			edges = r.Edges
		}
		halfWidth[id] = math.Hypot(f.Quantile*math.Sqrt(squares[at]/float64(draws)), edges*x.scale[d])
	}
	return halfWidth
}

// sumInclusive adds up the inclusive energy of each site, where the self energy
// of a site's nodes is multiplied by the site's factor. under is scratch memory,
// per node.
func (x *explanation) sumInclusive(nodes []nemb.Energy, of []int32, factor, under, sums []float64) {
	for i, e := range nodes {
		under[i] = float64(e) * factor[of[i]]
	}
	for n := int32(x.tree.Len()) - 1; n > paths.Root; n-- {
		under[x.tree.Parent(n)] += under[n]
		if x.tree.IsOutermost(n) {
			sums[of[n]] += under[n]
		}
	}
}

// drawSites takes the replicas of the fit for the sites that it resolves. Others
// are drawn from a normal distribution as wide as their bounds.
func (x *explanation) drawSites(d int, nodes []nemb.Energy) siteDraws {
	s := siteDraws{index: map[checkpoint.SiteID]int{}, of: make([]int32, x.tree.Len()), draws: regression.Replicas}
	var energy []nemb.Energy
	for i, site := range x.tree.Sites() {
		at, ok := s.index[site]
		if !ok {
			at = len(s.factors)
			s.index[site] = at
			s.factors, energy = append(s.factors, nil), append(energy, 0)
		}
		s.of[i] = int32(at)
		energy[at] += nodes[i]
	}
	random := rand.New(rand.NewPCG(7, uint64(len(s.factors))))
	for id, at := range s.index {
		if r := x.estimate(d, regression.Site(id)); r != nil {
			s.factors[at] = r.Replicas
		}
	}
	// In the order of nodes, so that the same run draws the same.
	for i, site := range x.tree.Sites() {
		at := s.of[i]
		if s.factors[at] != nil || int32(i) == paths.Root {
			continue
		}
		s.factors[at] = make([]float64, s.draws)
		bounds, _ := x.windows.Bounds(site, d)
		width := max(0, bounds.Hi-bounds.Lo)
		for r := range s.factors[at] {
			s.factors[at][r] = 1
			if e := float64(energy[at]); e > 0 && x.windows.HasBounds(site) {
				s.factors[at][r] += random.NormFloat64() * width / 4 / e
			}
		}
	}
	return s
}
