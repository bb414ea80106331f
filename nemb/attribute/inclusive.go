package attribute

import (
	"math"
	"math/rand/v2"

	"cg/checkpoint"
	"cg/nemb"
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
	factors [][]float64 // per site, of its energy; nil for none but the one
	draws   int
}

// inclusiveHalfWidth is the half-width of the interval (95 %) around the
// inclusive energy of each site in a domain. A group of functions of which only
// the sum is known keeps its sum. nodes is their energy in microjoules.
func (a *Attributor) inclusiveHalfWidth(x *explanation, d int, nodes []nemb.Energy) map[checkpoint.SiteID]float64 {
	f := x.fits[d]
	if f == nil {
		return nil
	}
	s := a.drawSites(x, d, nodes)
	under, unit := make([]float64, len(a.nodes)), make([]float64, len(s.index))
	for i := range unit {
		unit[i] = 1
	}
	reference, drawn := make([]float64, len(unit)), make([]float64, len(unit))
	a.sumInclusive(nodes, s.of, unit, under, reference)
	squares := make([]float64, len(unit))
	draws := s.draws
	if len(a.nodes) > manyNodes { // what an interval is worth does not depend on it
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
		a.sumInclusive(nodes, s.of, factor, under, drawn)
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
func (a *Attributor) sumInclusive(nodes []nemb.Energy, of []int32, factor, under, sums []float64) {
	for i, e := range nodes {
		under[i] = float64(e) * factor[of[i]]
	}
	for i := len(a.nodes) - 1; i > root; i-- {
		under[a.nodes[i].parent] += under[i]
		if a.outermost[i] {
			sums[of[i]] += under[i]
		}
	}
}

// drawSites takes the replicas of the fit for the sites that it resolves. Others
// are drawn from a normal distribution as wide as their bounds.
func (a *Attributor) drawSites(x *explanation, d int, nodes []nemb.Energy) siteDraws {
	s := siteDraws{index: map[checkpoint.SiteID]int{}, of: make([]int32, len(a.nodes)), draws: regression.Replicas}
	var energy []nemb.Energy
	for i, n := range a.nodes {
		at, ok := s.index[n.site]
		if !ok {
			at = len(s.factors)
			s.index[n.site] = at
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
	for i, n := range a.nodes {
		at := s.of[i]
		if s.factors[at] != nil || i == root {
			continue
		}
		s.factors[at] = make([]float64, s.draws)
		b := a.bounds[n.site]
		for r := range s.factors[at] {
			s.factors[at][r] = 1
			if e := float64(energy[at]); b != nil && e > 0 {
				s.factors[at][r] += random.NormFloat64() * max(0, b.selfOf[d].hi-b.selfOf[d].lo) / 4 / e
			}
		}
	}
	return s
}
