package validate

import (
	"math"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/sampler"
)

// watched is a source whose counters are sampled. What it keeps of the samples is bounded, however long a phase is.
type watched struct {
	found   nemb.Found
	s       *sampler.Sampler
	index   int // of Hardware.Sources
	samples int
	kept    nemb.Recording
	widths  thinned // us
	moves   []moving
}

// take takes the next samples.
func (w *watched) take(samples []nemb.Sample) {
	w.samples += len(samples)
	for _, s := range samples {
		w.kept.Add(s)
		w.widths.add(float64(s.Width) / 1e3)
		if s.Failed {
			continue
		}
		if w.moves == nil {
			w.moves = make([]moving, len(s.Energy))
		}
		for d := range w.moves {
			w.moves[d].add(s.Time, s.Energy[d])
		}
	}
}

// movesOf are the times between samples in which domain d's counter had moved; nil for fewer than two.
func (w *watched) movesOf(d int) *Moves {
	if d >= len(w.moves) || len(w.moves[d].spans.kept) == 0 {
		return nil
	}
	m := &w.moves[d]
	spans := m.spans.kept
	return &Moves{N: m.spans.n, MedianMs: quantile(spans, 0.5), P05Ms: quantile(spans, 0.05),
		P95Ms: quantile(spans, 0.95), LeastUJ: uint64(m.least)}
}

// moving is what is known of a counter's moves.
type moving struct {
	known, moved bool
	energy       nemb.Energy        // of the sample before
	since        checkpoint.Instant // the last one in which it had moved
	least        nemb.Energy
	spans        thinned // ms
}

func (m *moving) add(at checkpoint.Instant, energy nemb.Energy) {
	if by := energy - m.energy; m.known && by > 0 {
		if !m.moved {
			m.least = math.MaxUint64
		} else {
			m.spans.add(float64(at-m.since) / 1e6)
		}
		m.least, m.moved, m.since = min(m.least, by), true, at
	}
	m.known, m.energy = true, energy
}

// mostThinned is how many values a thinned keeps: enough for quantiles to a part of a percent.
const mostThinned = 1 << 14

// thinned keeps values at equal distances of any number of them.
type thinned struct {
	n     int
	every int // this many to one that is kept
	kept  []float64
}

func (t *thinned) add(v float64) {
	t.every = max(1, t.every)
	if t.n++; (t.n-1)%t.every > 0 {
		return
	}
	if t.kept = append(t.kept, v); len(t.kept) < mostThinned {
		return
	}
	for i := range mostThinned / 2 {
		t.kept[i] = t.kept[2*i]
	}
	t.kept = t.kept[:mostThinned/2]
	t.every *= 2
}
