package codegreen

import (
	"math"
	"sort"
)

// habits are how a counter follows its power: each update counts the mean power over window, which ended delay before
// it, for all of a period (nemb/RING.md of cg). The zero habits follow at once.
type habits struct {
	PeriodNs int64 `json:"period_ns"`
	WindowNs int64 `json:"window_ns"`
	DelayNs  int64 `json:"delay_ns"`
}

// reach is how far from a moment lag looks, in ns.
func (h habits) reach() int64 { return 2 * (h.PeriodNs + h.WindowNs + h.DelayNs) }

// ahead is how long after a moment a counter that is late has told what was used before, in ns; 0 for one that is not.
func (h habits) ahead() int64 {
	if h.PeriodNs <= 0 || h.DelayNs <= 0 && h.WindowNs <= h.PeriodNs {
		return 0
	}
	return min(gpuCounterMostNs, h.WindowNs+h.DelayNs+2*h.PeriodNs)
}

// lag is by how much an energy between two moments may be off since the counter is late, in J: cg's own
// nemb.Habits.Lag.
func (h habits) lag(k []knot, from, to float64) float64 {
	longer := float64(max(0, h.WindowNs-h.PeriodNs))
	late := float64(h.DelayNs) + longer/2
	if late <= 0 || h.PeriodNs <= 0 || to <= from || len(k) < 2 {
		return 0
	}
	lacks := func(t float64) float64 { return joulesAt(k, t+late) - joulesAt(k, t) }
	hides := func(t float64) float64 {
		if longer == 0 {
			return 0
		}
		middle := t + late
		after := joulesAt(k, middle+longer) - joulesAt(k, middle)
		before := joulesAt(k, middle) - joulesAt(k, middle-longer)
		return math.Hypot((after-before)/4, h.wavers(k, middle))
	}
	off := math.Abs(lacks(to)-lacks(from)) + math.Hypot(hides(from), hides(to))
	if longer > 0 && to-from < 2*float64(h.WindowNs) {
		off = max(off, h.alone(k, from, to))
	}
	return off
}

// alone is by how much an energy may be off where the power was another one between two moments than around them: until
// all of it is told, around them at least the lowest power is drawn that is told from then to there, and at most the
// highest.
func (h habits) alone(k []knot, from, to float64) float64 {
	period, settled := float64(h.PeriodNs), float64(h.WindowNs+h.DelayNs+h.PeriodNs)
	told, all := joulesAt(k, to)-joulesAt(k, from), joulesAt(k, to+settled)-joulesAt(k, from)
	least, most := math.Inf(1), 0.0 // in J a period
	for t := from; t < to+settled; t += period {
		joules := joulesAt(k, t+period) - joulesAt(k, t)
		least, most = min(least, joules), max(most, joules)
	}
	return max(all-least*settled/period-told, told-all+most*settled/period)
}

// lag is by how much the energy of domain d from start to end may be off since its counter is late, in J.
func (s *samples) lag(d int, start, end int64) float64 {
	return s.domains[d].Habits.lag(s.knots[d], float64(start), float64(end))
}

// reach is how far from the ends of tasks samples are looked at, in ns.
func (s *samples) reach(interval int64) int64 {
	most := max(5*aroundNs, 20*interval)
	for _, d := range s.domains {
		most = max(most, d.Habits.reach())
	}
	return most
}

// wavers is by how much a counter of means may be off at a moment since the power changes faster than they show (95 %).
func (h habits) wavers(k []knot, at float64) float64 {
	period, n := float64(h.PeriodNs), float64(h.WindowNs)/float64(h.PeriodNs)
	squares, steps := 0.0, 0.0
	for t := at - float64(h.WindowNs); t < at+float64(h.WindowNs); t += period {
		change := joulesAt(k, t+2*period) - 2*joulesAt(k, t+period) + joulesAt(k, t)
		squares, steps = squares+change*change, steps+1
	}
	return 2.3 * n * math.Sqrt(squares/steps/2) * math.Sqrt(n/12)
}

// joulesAt is what a counter told at a moment: linear between knots, and on either side of all of them with the mean
// power of the outermost second.
func joulesAt(k []knot, t float64) float64 {
	n := len(k)
	i := sort.Search(n, func(i int) bool { return k[i].at > t })
	a, b := k[max(0, i-1)], k[min(i, n-1)]
	switch i {
	case 0:
		b = k[sort.Search(n-1, func(i int) bool { return k[i].at >= k[0].at+1e9 })]
	case n:
		i := sort.Search(n-1, func(i int) bool { return k[i].at > k[n-1].at-1e9 })
		a, b = k[max(0, min(i, n-2))], k[n-1]
		if b.at <= a.at {
			return b.joules
		}
		return b.joules + (b.joules-a.joules)*(t-b.at)/(b.at-a.at)
	}
	if b.at <= a.at {
		return a.joules
	}
	return a.joules + (b.joules-a.joules)*(t-a.at)/(b.at-a.at)
}

// changes adds up, update by update, what a counter may hide that samples a part of the time alone: cg's own
// nemb.Changes.
type changes struct {
	last []knot // those of the last two periods
	sum  float64
}

// add takes the next update, and gives the squares of what is hidden up to it, in J (95 %).
func (c *changes) add(h habits, k knot) float64 {
	if h.WindowNs <= 0 || h.WindowNs >= h.PeriodNs {
		return 0
	}
	period := float64(h.PeriodNs)
	c.last = append(c.last, k)
	n := len(c.last) - 1
	before := func(i int) int { // the last that was a period before another, -1 where there is none
		if i < 0 {
			return -1
		}
		end := c.last[i].at - 0.95*period
		for i--; i >= 0 && c.last[i].at > end; i-- {
		}
		return i
	}
	i := before(n)
	j := before(i)
	if j < 0 {
		return c.sum
	}
	now := (k.joules - c.last[i].joules) * period / (k.at - c.last[i].at)
	was := (c.last[i].joules - c.last[j].joules) * period / (c.last[i].at - c.last[j].at)
	hides := 2 * (1 - float64(h.WindowNs)/period) * (now - was)
	c.sum += hides * hides * min(1, (k.at-c.last[n-1].at)/period)
	c.last = append(c.last[:0], c.last[j:]...)
	return c.sum
}

// hidden is what the counter of domain d may hide of the parts of a task, which are in the order of time, in J. The
// update that shows a change may come after several of them, and is in one alone.
func (s *samples) hidden(d int, parts []part) float64 {
	k := s.knots[d]
	before := func(i int) float64 {
		if i == 0 {
			return 0
		}
		return k[i-1].hidden
	}
	squares, counted := 0.0, 0
	for _, p := range parts {
		until := p.end + s.domains[d].Habits.PeriodNs
		i := max(counted, sort.Search(len(k), func(i int) bool { return k[i].at > float64(p.start) }))
		j := sort.Search(len(k), func(i int) bool { return k[i].at >= float64(until) })
		if j > i {
			squares, counted = squares+before(j)-before(i), j
		}
	}
	return math.Sqrt(max(0, squares))
}
