package windows

import (
	"math"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// crawling is the time from which on a reading that is so old is the way of its
// counter, and not an accident of one sample.
const crawling = 250 * time.Millisecond

// stale is by how much the reading of each domain may be off at the ends of a
// window: a period of its counter, or how long a reading took, where that is longer
// (nemb.Sample.Late). longest is the longest of them. Where readings take so
// long for good, that becomes the domain's period.
func (w *Windows) stale(s, prev nemb.Sample, perTick float64) (each []checkpoint.Tick, longest checkpoint.Tick) {
	each = make([]checkpoint.Tick, len(w.Domains))
	if perTick <= 0 {
		return each, 0
	}
	for d := range w.Domains {
		domain := &w.Domains[d].Domain
		late := max(lateness(s, d), lateness(prev, d))
		if late > domain.Period && late >= crawling {
			domain.Period = late
		}
		each[d] = checkpoint.Tick(nanos(max(domain.Period, late)) / perTick)
		longest = max(longest, each[d])
	}
	return each, longest
}

func lateness(s nemb.Sample, d int) time.Duration {
	if d < len(s.Late) {
		return s.Late[d]
	}
	return 0
}

// Off is by how much the energy of anybody in a domain may be off, for the steps of
// its counter, the time that the readings at the ends took, and a counter that moves seldom, in microjoules.
func (w *Windows) Off(d int) float64 { return w.step(d) + w.Late(d) + w.ends(d) }

// step is by how much an energy that is a part of what domain d's counter showed
// may be off since the counter moves in steps, in microjoules: by one. Where most
// windows see none, a step counts in the window in which it came, though it was
// drawn in those before as well: then each adds an error of its own.
func (w *Windows) step(d int) float64 {
	step := float64(w.Domains[d].Domain.Step)
	if step <= 0 {
		return 0
	}
	if n := float64(w.Domains[d].Total) / step; n < float64(w.closed) {
		return step * (1 + math.Sqrt(n))
	}
	return step
}

// Late is by how much a domain's total may be off in microjoules, since the
// readings at its ends took time: what its mean power is in that time.
func (w *Windows) Late(d int) float64 {
	wall := nanos(w.prev.Time - w.first.Time)
	ends := lateness(w.first, d) + lateness(w.prev, d)
	if ends == 0 || wall <= 0 {
		return 0
	}
	return math.Ceil(float64(w.Domains[d].Total) * nanos(ends) / wall)
}
