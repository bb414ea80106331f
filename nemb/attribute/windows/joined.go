package windows

import (
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// A counter that moves once a second shows in one sample what was drawn in a hundred. Divided by who used the
// processors in that sample's window alone, a program that waited then would have nothing of it, and whoever ran all.
// So the times of such windows are kept, and added to those of the window in which a counter moves.

// slowly is how many times as long as the time between samples the period of a counter is, at least, for windows to be
// joined until it moves.
const slowly = 4

// joined is what ran in windows that are joined with the open one.
type joined struct {
	open       bool
	since      nemb.Sample // the sample with which the first began
	used       processorTimes
	weight     float64 // by which the program's energy is divided, with arrears
	background []float64
	paths      []float64 // of weight, per call path
}

// waits reports whether the window that a sample would close, of this length, tells nothing yet: no counter that
// follows the processors has moved in it, and each moves much less often than samples are taken. What is joined already
// waits until one moves, however long that takes.
func (w *Windows) waits(s nemb.Sample, every time.Duration) bool {
	if !w.begun || s.Failed || len(s.Energy) != len(w.Domains) {
		return false
	}
	waits := false
	for d := range w.Domains {
		domain := &w.Domains[d].Domain
		if !domain.FollowsProcessors() {
			continue
		}
		if s.Energy[d] > w.prev.Energy[d] || domain.Program || !w.joined.open && domain.Period < slowly*every {
			return false
		}
		waits = true
	}
	return waits
}

// join adds the window to those that it is joined with, if it waits or others do.
func (w *Windows) join(out *Window, used processorTimes, waits bool) {
	x := &w.joined
	if !waits && !x.open {
		return
	}
	w.hasJoined = true
	if !x.open {
		*x = joined{since: out.Begin, background: make([]float64, w.Classes), paths: x.paths}
		clear(x.paths)
	}
	x.open = false // so that share divides by this window's times
	x.paths = extend(x.paths, w.tree.Len())
	weight := out.Weight + w.arrears.late
	if weight > 0 {
		w.share(x.paths, weight, out.Weight, used.outside)
	}
	x.open = true
	x.weight += weight
	x.used.wall += used.wall
	x.used.program += max(0, used.program)
	x.used.own += max(0, used.own)
	x.used.other += max(0, used.other)
	for i, of := range out.Background {
		x.background[i] += of
	}
}

// joinedTimes is who used the processors in the window and those that are joined with it, and how long they are.
func (w *Windows) joinedTimes(used processorTimes) processorTimes {
	if !w.joined.open {
		return used
	}
	all := w.joined.used
	all.outside = used.outside
	return all
}

// showsJoined reports whether the counters show what was drawn in the window and those that are joined with it. At the
// end of a run they may not yet. Then no idle power of that time is in their energy.
func (w *Windows) showsJoined(out *Window) bool {
	if !w.joined.open {
		return true
	}
	for d, e := range out.End.Energy {
		if e > out.Begin.Energy[d] && w.Domains[d].Domain.FollowsProcessors() {
			return true
		}
	}
	return false
}

// ends is by how much a domain's total may be off in microjoules, where windows were joined: its counter shows in the
// run what was drawn up to a period before, and lacks as much at the end.
func (w *Windows) ends(d int) float64 {
	wall, domain := nanos(w.prev.Time-w.first.Time), &w.Domains[d].Domain
	if !w.hasJoined || wall <= 0 || !domain.FollowsProcessors() {
		return 0
	}
	return max(float64(w.Domains[d].Total)/wall, w.Domains[d].highest) * min(wall, nanos(domain.Period))
}

// joinedWeight is the processor time by which the energy of the window and those that are joined with it is divided.
func (w *Windows) joinedWeight(weight float64) float64 {
	if w.joined.open {
		return w.joined.weight
	}
	return weight + w.arrears.late
}

// backgroundParts is what each class of background threads has of the program's energy.
func (w *Windows) backgroundParts(out *Window) []float64 {
	weight, of := w.joinedWeight(out.Weight), out.Background
	if w.joined.open {
		of = w.joined.background
	}
	parts := make([]float64, len(of))
	for i := range of {
		parts[i] = ratio(of[i], weight)
	}
	return parts
}

// staleJoined is by how much a counter's reading may be off in the window, given its period: all that is joined with it
// may be in it.
func (w *Windows) staleJoined(s nemb.Sample, each []checkpoint.Tick, longest checkpoint.Tick) checkpoint.Tick {
	if !w.joined.open {
		return longest
	}
	for d := range each {
		each[d] = max(each[d], s.At-w.joined.since.At)
		longest = max(longest, each[d])
	}
	return longest
}
