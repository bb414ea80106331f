package nemb

import (
	"slices"
	"time"
)

// Recording keeps the samples of a run of any length in bounded memory: when
// there are more than Limit, every other one is left out from then on. The
// energy between two samples that are kept is exact, because energies are
// cumulative; what is lost is detail in time. The first sample and the last
// are always there.
//
// Where it can, a sample whose reading failed is left out rather than the one
// after it. A gap in what was left out makes the next sample kept a gap.
type Recording struct {
	Limit int // at least 2; 0 means 65536
	// Domains are those of the samples; the Tally of each is of these.
	Domains []Domain

	tallier tallier
	samples []Sample
	every   int // every n-th is kept
	seen    int
	due     int    // samples since one should have been kept
	left    bool   // the last sample was left out
	last    Sample // then; its memory is used again
}

const recordingLimit = 1 << 16

// Add takes in the next sample. It keeps its own copy of what it keeps.
func (r *Recording) Add(s Sample) {
	r.tallier.domains = r.Domains
	s.Tally = r.tallier.add(s)
	if r.every == 0 {
		r.every = 1
	}
	if r.seen%r.every == 0 || r.due > 0 {
		r.due++
	}
	r.seen++
	s.Gap = s.Gap || r.left && r.last.Gap
	if r.due == 0 || s.Failed && r.due < r.every {
		r.leave(s)
		return
	}
	r.due, r.left = 0, false
	s.Energy = slices.Clone(s.Energy)
	r.samples = append(r.samples, s)
	limit := r.Limit
	if limit == 0 {
		limit = recordingLimit
	}
	if len(r.samples) < max(2, limit) {
		return
	}
	kept := r.samples[:1]
	for i := 2; i < len(r.samples); i += 2 {
		s := r.samples[i]
		s.Gap = s.Gap || r.samples[i-1].Gap
		kept = append(kept, s)
	}
	if n := len(r.samples); n%2 == 0 { // the newest was left out
		r.leave(r.samples[n-1])
	}
	clear(r.samples[len(kept):])
	r.samples = kept
	r.every *= 2
}

func (r *Recording) leave(s Sample) {
	energy := append(r.last.Energy[:0], s.Energy...)
	r.left, r.last = true, s
	r.last.Energy = energy
}

// Samples returns what was kept, and the last sample.
func (r *Recording) Samples() []Sample {
	samples := slices.Clone(r.samples)
	if r.left {
		last := r.last
		last.Energy = slices.Clone(last.Energy)
		samples = append(samples, last)
	}
	return samples
}

// Interval is the median of the times between all samples that were added, to
// 1 %; 0 for fewer than three.
func (r *Recording) Interval() time.Duration { return r.tallier.median() }
