package measure

import (
	"cmp"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

// BlockDomain is the domain of the energy that result blocks tell.
const BlockDomain = "result-block"

// BlockSource is its source.
const BlockSource = "the joules of the program's result block"

// MethodBlock is the method of an energy that a result block tells.
const MethodBlock = "result-block"

// OfBlocks is the run that result blocks tell, with the energies that the program read
// itself: what its joules rose by between two checkpoints is the energy of what ran
// between them. Where no block has joules, calls and times are known, and no energy.
func OfBlocks(blocks []Block) *Outcome {
	series := blockSeries(blocks)
	o := &Outcome{Blocks: blocks, Series: series, Domains: series.Domains}
	functions := o.fromBlocks(series, attribute.Result{})
	for i := range o.Attributed.Costs { // readings of one counter, at the edges themselves
		c := &o.Attributed.Costs[i]
		c.Self.Lo, c.Self.Hi = c.Self.Energy, c.Self.Energy
		c.Inclusive.Lo, c.Inclusive.Hi = c.Inclusive.Energy, c.Inclusive.Energy
		c.Method, c.Reason, c.Group = MethodBlock, attribute.Resolved, nil
	}
	o.addPlaces(functions)
	if n := len(series.Samples); n > 0 {
		o.Begin, o.End = series.Samples[0].Time, series.Samples[n-1].Time
	}
	return o
}

// blockSeries is the energy at each checkpoint. The joules of different processes begin
// anew, so they are those of the block whose joules rise most. Checkpoints of one time are
// a nanosecond apart, in their order.
func blockSeries(blocks []Block) nemb.Series {
	domain := nemb.Domain{
		ID: BlockDomain, Kind: "independent", Source: BlockSource, Method: nemb.Derived, InTotal: true, Program: true,
		Lo: 1, Hi: 1,
	}
	counts := slices.IndexFunc(blocks, func(b Block) bool { return rise(b) == rise(blocks...) && rise(b) > 0 })
	s := nemb.Series{}
	if counts >= 0 {
		s.Domains = []nemb.Domain{domain}
	}
	type reading struct {
		at     int64
		joules *float64
	}
	var all []reading
	for b := range blocks {
		for _, m := range blocks[b].Measurements {
			r := reading{at: m.Timestamp}
			if b == counts {
				r.joules = m.Joules
			}
			if m.Timestamp > 0 {
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b reading) int { return cmp.Compare(a.at, b.at) })
	var first, last float64
	known := false
	for _, r := range all {
		if r.joules != nil {
			if !known {
				first, last, known = *r.joules, *r.joules, true
			}
			last = max(last, *r.joules)
		}
		s.Samples = append(s.Samples, blockSample(r.at, last-first, counts >= 0))
	}
	if n := len(all); n > 0 { // what is at the last moment is before the end
		s.Samples = append(s.Samples, blockSample(all[n-1].at+1, last-first, counts >= 0))
	}
	return s
}

func blockSample(at int64, joules float64, counts bool) nemb.Sample {
	s := nemb.Sample{At: checkpoint.Tick(at), Time: checkpoint.Instant(at)}
	if counts {
		s.Energy = []nemb.Energy{nemb.Energy(math.Round(joules * 1e6))}
	}
	return s
}

// rise is what the joules of the block rise by, the most of several.
func rise(blocks ...Block) (most float64) {
	for _, b := range blocks {
		first, last := math.NaN(), 0.0
		for _, m := range b.Measurements {
			if j := m.Joules; j != nil && m.Timestamp > 0 && *j >= 0 && *j < 1e15 {
				if math.IsNaN(first) {
					first = *j
				}
				last = max(last, *j)
			}
		}
		if last > first {
			most = max(most, last-first)
		}
	}
	return most
}

// settle gives checkpoints of one time times that rise, and joules where a block has
// powers alone: a power is the mean since the checkpoint before.
func (b *Block) settle() {
	slices.SortStableFunc(b.Measurements, func(x, y Measurement) int { return cmp.Compare(x.Timestamp, y.Timestamp) })
	powers := !slices.ContainsFunc(b.Measurements, func(m Measurement) bool { return m.Joules != nil })
	before, joules := int64(0), 0.0
	for i := range b.Measurements {
		m := &b.Measurements[i]
		if m.Timestamp <= 0 {
			continue
		}
		m.Timestamp = max(m.Timestamp, before+1)
		if powers && m.Watts != nil && *m.Watts >= 0 {
			if before > 0 {
				joules += *m.Watts * float64(m.Timestamp-before) * 1e-9
			}
			sum := joules
			m.Joules = &sum
		}
		before = m.Timestamp
	}
}
