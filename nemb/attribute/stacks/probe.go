package stacks

import (
	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// What an event costs lies around its tick, about half of it before and half
// after: reading the clock is most of it, and the tick is what the clock was in
// the middle of that. So between any two events of a thread lies the cost of
// one, and a call's enter and exit take half a cost before and half after from
// its caller, and a whole one from itself. That time is nobody's function: it
// is booked on a node of its own.

// chargeCheckpoints charges ticks of a thread to its checkpoints.
func (st *Stacks) chargeCheckpoints(t *Thread, ticks uint64) {
	if st.probe == 0 {
		st.probe = st.Tree.Add(paths.Root, checkpoint.OwnSite, t.last)
		st.grow()
	}
	t.pending = append(t.pending, paths.Part{Node: st.probe, Ticks: ticks})
}
