package nemb

import (
	"math"
	"sort"
	"time"
)

// Habits are how what a device tells of its power follows it. Each update of its counter counts the mean power over
// Window, which ended Delay before the update, for all of Period: of a Window that is shorter than Period the rest is
// taken to be like it. The zero Habits follow the power at once, and all the time.
type Habits struct {
	Period, Window, Delay time.Duration
	// WindowOff and DelayOff are by how much those that were measured may be off (95 %).
	WindowOff, DelayOff time.Duration
	Origin              HabitsOrigin
	Measured            HabitsRecord // with Origin HabitsMeasured
}

// HabitsOrigin says how habits are known.
type HabitsOrigin string

// The origins, the best first.
const (
	HabitsMeasured  HabitsOrigin = "measured"  // on this GPU, by cg doctor --gpu
	HabitsPublished HabitsOrigin = "published" // of GPUs of this architecture
	HabitsAssumed   HabitsOrigin = "assumed"   // those of the nearest architecture of which they are published
	HabitsUnknown   HabitsOrigin = ""          // it is taken to follow at once
)

// HabitsRecord is of which GPU, with which driver, and when habits were measured.
type HabitsRecord struct {
	GPU, Driver string
	At          time.Time
}

// Part is the part of the time in which the power is sampled.
func (h Habits) Part() float64 {
	if h.Window <= 0 || h.Period <= 0 || h.Window >= h.Period {
		return 1
	}
	return float64(h.Window) / float64(h.Period)
}

// Off is by how much an energy between two moments may be off by these habits, in joules (95 %).
func (h Habits) Off(k []Knot, from, to float64) float64 {
	return math.Hypot(h.Unsampled(k, from, to), h.Lag(k, from, to))
}

// Settled is how long after a change of power all of it is told.
func (h Habits) Settled() time.Duration { return h.Window + h.Delay + h.Period }

// Lag is by how much an energy between two moments may be off since the counter is late: what it still lacks at the end
// was drawn before, and what it lacked at the begin was drawn before that, too. Where the power is the same at both
// ends, that is the same energy. A window that is longer than the period makes the counter later by half of what it is
// longer, and hides when in it the power changed. What a span that is not much longer than the window used is told for
// the most part after it, where no end shows it: see alone.
func (h Habits) Lag(k []Knot, from, to float64) float64 {
	if !h.IsLate() || to <= from || len(k) < 2 {
		return 0
	}
	first, firstOff := h.Lacks(k, from)
	last, lastOff := h.Lacks(k, to)
	return math.Abs(last-first) + max(math.Hypot(firstOff, lastOff), h.Burst(k, from, to))
}

// IsLate tells whether what a counter lacks at a moment is told later.
func (h Habits) IsLate() bool { return h.Period > 0 && (h.Delay > 0 || h.Window > h.Period) }

// Lacks is what the counter has not told at a moment of what was drawn before, in joules, and by how much that may be
// off since its means hide when in them the power changed (95 %).
func (h Habits) Lacks(k []Knot, at float64) (joules, off float64) {
	if !h.IsLate() || len(k) < 2 {
		return 0, 0
	}
	longer := float64(max(0, h.Window-h.Period))
	middle := at + float64(h.Delay) + longer/2
	joules = joulesAt(k, middle) - joulesAt(k, at)
	if longer > 0 {
		after := joulesAt(k, middle+longer) - joulesAt(k, middle)
		before := joulesAt(k, middle) - joulesAt(k, middle-longer)
		off = math.Hypot((after-before)/4, h.wavers(k, middle))
	}
	return joules, off
}

// Burst is by how much an energy between two moments may be off beyond what the counter lacks at each, in joules, where
// it is told for the most part after them: 0 for a span of two windows or more.
func (h Habits) Burst(k []Knot, from, to float64) float64 {
	if h.Window <= h.Period || !h.IsLate() || to <= from || to-from >= 2*float64(h.Window) || len(k) < 2 {
		return 0
	}
	first, _ := h.Lacks(k, from)
	last, _ := h.Lacks(k, to)
	return max(0, h.alone(k, from, to)-math.Abs(last-first))
}

// alone is by how much an energy may be off where the power was another one between two moments than around them: until
// all of it is told, around them at least the lowest power is drawn that is told from then to there, and at most the
// highest.
func (h Habits) alone(k []Knot, from, to float64) float64 {
	period, settled := float64(h.Period), float64(h.Settled())
	told, all := joulesAt(k, to)-joulesAt(k, from), joulesAt(k, to+settled)-joulesAt(k, from)
	least, most := math.Inf(1), 0.0 // in J a period
	for t := from; t < to+settled; t += period {
		joules := joulesAt(k, t+period) - joulesAt(k, t)
		least, most = min(least, joules), max(most, joules)
	}
	return max(all-least*settled/period-told, told-all+most*settled/period)
}

// wavers is by how much a counter of means may be off at a moment since the power changes faster than they show (95 %).
// From one mean to the next one period is taken in and another left out, so that the counter's steps change by what
// these differ, times the period's part of the window. Periods are taken to be independent of each other.
func (h Habits) wavers(k []Knot, at float64) float64 {
	period, n := float64(h.Period), float64(h.Window)/float64(h.Period)
	squares, steps := 0.0, 0.0
	for t := at - float64(h.Window); t < at+float64(h.Window); t += period {
		change := joulesAt(k, t+2*period) - 2*joulesAt(k, t+period) + joulesAt(k, t)
		squares, steps = squares+change*change, steps+1
	}
	one := n * math.Sqrt(squares/steps/2) // of one period's energy, a standard deviation
	// The mean counts the periods before the moment with a weight that falls from 1 to 1/2, and those after it with
	// 1/2 to 0.
	return 2.3 * one * math.Sqrt(n/12) // of some twenty changes (Student)
}

// joulesAt is what a counter told at a moment: linear between knots, and on either side of all of them with the mean
// power of the outermost second.
func joulesAt(k []Knot, t float64) float64 {
	i := sort.Search(len(k), func(i int) bool { return k[i].At > t })
	a, b := max(0, i-1), min(i, len(k)-1)
	switch {
	case i == 0:
		a, b = 0, sort.Search(len(k)-1, func(i int) bool { return k[i].At >= k[0].At+1e9 })
	case i == len(k):
		a, b = sort.Search(len(k)-1, func(i int) bool { return k[i].At > k[len(k)-1].At-1e9 }), len(k)-1
		a = max(0, min(a, b-1))
		if k[b].At <= k[a].At {
			return k[b].Joules
		}
		return k[b].Joules + (k[b].Joules-k[a].Joules)*(t-k[b].At)/(k[b].At-k[a].At)
	}
	if k[b].At <= k[a].At {
		return k[a].Joules
	}
	return k[a].Joules + (k[b].Joules-k[a].Joules)*(t-k[a].At)/(k[b].At-k[a].At)
}

// Unsampled is by how much an energy between two moments may be off since a part of the time alone is sampled, in
// joules (95 %). What the power did in the part of a period that is not sampled is not known; that it changes there as
// it does from one period to the next is the best guess, and periods err independently of each other. A load that keeps
// step with the periods errs more, and nothing shows it.
func (h Habits) Unsampled(k []Knot, from, to float64) float64 {
	period, part := float64(h.Period), h.Part()
	if part >= 1 || to <= from || len(k) < 2 {
		return 0
	}
	at := func(t float64) int { return sort.Search(len(k), func(i int) bool { return k[i].At > t }) }
	first := max(0, at(from-period)-1)
	// Where the counter moves more often than once in a period, it does not tell where that begins.
	most := 0.0
	for i, n := first, 0; i < len(k) && k[i].At < k[first].At+period && n < 16; i, n = i+1, n+1 {
		most = max(most, h.squares(k[i:], from, to))
	}
	return 2 * (1 - part) * math.Sqrt(most)
}

// squares is the sum of squares of what each period of a span has more or less than the one before, in joules, where
// the first period begins with the first knot.
func (h Habits) squares(k []Knot, from, to float64) (sum float64) {
	period := float64(h.Period)
	before, known := 0.0, false
	for i := 0; k[i].At < to+period; {
		end := k[i].At + 0.95*period
		j := i + sort.Search(len(k)-i, func(j int) bool { return k[i+j].At >= end })
		if j == len(k) {
			break
		}
		now := (k[j].Joules - k[i].Joules) * period / (k[j].At - k[i].At)
		if known && k[j].At > from {
			sum += (now - before) * (now - before)
		}
		before, known, i = now, true, j
	}
	return sum
}
