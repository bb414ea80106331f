package stacks

import (
	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// A place is a part of the code of a function, such as a line. The sums of a thread have it as a node below the call
// that is there. Its time is that of the call's path; besides it is kept by place. Place 0 of a function is its
// code outside all places.

// PlaceOn is a place of the innermost function of a call path.
type PlaceOn struct {
	Node  int32
	Place checkpoint.SiteID
}

// PlaceTime is what a place used: how often a call came there, and its time in nanoseconds, by the clock and by
// processor.
type PlaceTime struct {
	Count     uint64
	Wall, CPU float64
}

// spend notes ticks of a thread in a path, at a place of its innermost call, where the program has places.
func (st *Stacks) spend(t *Thread, node int32, place checkpoint.SiteID, ticks uint64) {
	function := st.Tree.Site(node)
	if st.places == nil || function == 0 || function == checkpoint.OwnSite || ticks == 0 {
		return
	}
	if t.placed == nil {
		t.placed = map[PlaceOn]uint64{}
	}
	t.placed[PlaceOn{node, place}] += ticks
}

// arrive notes how often calls of a path came to a place.
func (st *Stacks) arrive(node int32, place checkpoint.SiteID, times uint64) {
	if times > 0 {
		st.place(PlaceOn{node, place}).Count += times
	}
}

func (st *Stacks) place(on PlaceOn) *PlaceTime {
	if st.places == nil {
		st.places = map[PlaceOn]*PlaceTime{}
	}
	p := st.places[on]
	if p == nil {
		p = &PlaceTime{}
		st.places[on] = p
	}
	return p
}

// BookPlaces books the times of a thread's places in a window, in which it used a processor for cpu nanoseconds. Each
// of its paths has its part of these by time.
func (st *Stacks) BookPlaces(t *Thread, perTick, cpu float64) {
	if len(t.placed) == 0 {
		return
	}
	all := uint64(0)
	for _, p := range t.pending {
		all += p.Ticks
	}
	if st.window == nil {
		st.window = map[int32]map[checkpoint.SiteID]float64{}
	}
	for on, ticks := range t.placed {
		p := st.place(on)
		used := cpu * ratio(float64(ticks), float64(all))
		p.Wall += float64(ticks) * perTick
		p.CPU += used
		if used > 0 {
			if st.window[on.Node] == nil {
				st.window[on.Node] = map[checkpoint.SiteID]float64{}
			}
			st.window[on.Node][on.Place] += used
		}
	}
	clear(t.placed)
}

// WindowPlaces has the processor time of each place of a call path, of those that BookPlaces has booked since the last
// EndWindow. nil where it has none.
func (st *Stacks) WindowPlaces(node int32) map[checkpoint.SiteID]float64 { return st.window[node] }

// Places has what each place used, nil where the program has none.
func (st *Stacks) Places() map[PlaceOn]*PlaceTime { return st.places }

// pass charges a thread's time up to a moment, to its path and its place there.
func (st *Stacks) pass(t *Thread, at checkpoint.Tick) {
	before := len(t.pending)
	t.pass(at)
	if len(t.pending) > before {
		p := t.pending[before]
		st.spend(t, p.Node, t.at, p.Ticks)
	}
}

// placeOf is where a node lies that is a place of the call above it.
func (st *Stacks) placeOf(above place, n checkpoint.Node) place {
	if !above.deep && above.node != paths.Root {
		above.place = n.Place()
		st.place(PlaceOn{above.node, above.place})
	}
	return above
}
