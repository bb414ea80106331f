package checkpoint

import "sync/atomic"

// mostCost is more than an event takes, in nanoseconds.
const mostCost = 1e6

// cost is what a chunk's writer says an event takes, in ticks.
func (c *Channel) cost(h *chunk) float64 { return c.ticks(float64(h.cost)/16, h.flags) }

// ticks is a cost in ticks that a writer with such flags gives, 0 where no event can
// take so long.
func (c *Channel) ticks(cost float64, flags uint32) float64 {
	rate := 1.0 // ticks per nanosecond
	if c.clock != Monotonic {
		rate = float64(atomic.LoadUint64(&c.head.rate)) / (1 << 32)
		if rate <= 0 && c.latest.nanos > c.began.nanos {
			rate = float64(c.latest.tick-c.began.tick) / float64(c.latest.nanos-c.began.nanos)
		}
	}
	if flags&flagSums != 0 {
		cost *= rate
	}
	if cost > mostCost*max(rate, 1) {
		return 0
	}
	return cost
}
