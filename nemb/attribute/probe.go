package attribute

import "cg/checkpoint"

// What an event costs lies around its tick, about half of it before and half
// after: reading the clock is most of it, and the tick is what the clock was in
// the middle of that. So between any two events of a thread lies the cost of
// one, and a call's enter and exit take half a cost before and half after from
// its caller, and a whole one from itself. That time is nobody's function: it
// is booked on a node of its own.

// probed books ticks of a thread on its checkpoints.
func (a *Attributor) probed(t *thread, ticks uint64) {
	if a.probe == 0 {
		a.probe = a.add(checkpoint.OwnSite, root)
	}
	t.pending = append(t.pending, part{node: a.probe, ticks: ticks})
}
