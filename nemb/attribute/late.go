package attribute

import (
	"math"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// crawling is the time from which on a reading that is so old is the way of its
// counter, and not an accident of one sample.
const crawling = 250 * time.Millisecond

// stale tells by how much the reading of each domain may be off at the ends of a
// window: a period of its counter, or what a reading takes that takes longer
// (nemb.Sample.Late). The longest of them is beside it.
func (a *Attributor) stale(s, prev nemb.Sample, perTick float64) (each []checkpoint.Tick, longest checkpoint.Tick) {
	each = make([]checkpoint.Tick, len(a.domains))
	if perTick <= 0 {
		return each, 0
	}
	for d := range a.domains {
		domain := &a.domains[d]
		late := max(lateness(s, d), lateness(prev, d))
		if late > domain.Period && late >= crawling {
			a.crawls(d, late)
		}
		each[d] = checkpoint.Tick(nanos(max(domain.Period, late)) / perTick)
		longest = max(longest, each[d])
	}
	return each, longest
}

// crawls makes a time the period of a domain's counter.
func (a *Attributor) crawls(d int, period time.Duration) {
	a.domains[d].Period = period
	a.data.Lengthen(d, nanos(period))
}

func lateness(s nemb.Sample, d int) time.Duration {
	if d < len(s.Late) {
		return s.Late[d]
	}
	return 0
}

// off is by how much what is told of the energy of anybody in a domain may be off,
// for the steps of its counter and the time that the readings at the ends took.
func (a *Attributor) off(d int) float64 { return a.step(d) + a.late(d) }

// late is by how much a domain's total may be off in microjoules, since the
// readings at its ends took time: what its mean power is in that time.
func (a *Attributor) late(d int) float64 {
	wall := nanos(a.prev.Time - a.first.Time)
	ends := lateness(a.first, d) + lateness(a.prev, d)
	if ends == 0 || wall <= 0 {
		return 0
	}
	return math.Ceil(float64(a.books[d].total) * nanos(ends) / wall)
}
