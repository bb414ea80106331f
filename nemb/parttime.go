package nemb

import (
	"math"
	"sort"
	"time"
)

// PartTime says that a device samples its power for a part of each window alone, and takes the rest of the window to be
// like it. The zero PartTime samples all the time.
type PartTime struct {
	Part   float64 // of the window
	Window time.Duration
}

// Unsampled is by how much an energy between two moments may be off by that, in joules (95 %). What the power did in
// the part of a window that is not sampled is not known; that it changes there as it does from one window to the next
// is the best guess, and windows err independently of each other. A load that keeps step with the windows errs more,
// and nothing shows it.
func (p PartTime) Unsampled(k []Knot, from, to float64) float64 {
	window := float64(p.Window)
	if p.Part <= 0 || p.Part >= 1 || window <= 0 || to <= from || len(k) < 2 {
		return 0
	}
	at := func(t float64) int { return sort.Search(len(k), func(i int) bool { return k[i].At > t }) }
	first := max(0, at(from-window)-1)
	// Where the counter moves more often than once in a window, it does not tell where that begins.
	most := 0.0
	for i, n := first, 0; i < len(k) && k[i].At < k[first].At+window && n < 16; i, n = i+1, n+1 {
		most = max(most, p.squares(k[i:], from, to))
	}
	return 2 * (1 - p.Part) * math.Sqrt(most)
}

// squares is the sum of squares of what each window of a span has more or less than the one before, in joules, where
// the first window begins with the first knot.
func (p PartTime) squares(k []Knot, from, to float64) (sum float64) {
	window := float64(p.Window)
	before, known := 0.0, false
	for i := 0; k[i].At < to+window; {
		end := k[i].At + 0.95*window
		j := i + sort.Search(len(k)-i, func(j int) bool { return k[i+j].At >= end })
		if j == len(k) {
			break
		}
		now := (k[j].Joules - k[i].Joules) * window / (k[j].At - k[i].At)
		if known && k[j].At > from {
			sum += (now - before) * (now - before)
		}
		before, known, i = now, true, j
	}
	return sum
}
