package stacks

import (
	"testing"

	"cg/checkpoint"
)

// TestPlaces: the time of a thread is that of its function's path, and besides that of the places in which it was,
// the time behind its last event included. What is called from a place is called from the function.
func TestPlaces(t *testing.T) {
	const mark = checkpoint.SiteID(1) << 31
	nodes := make([]checkpoint.Node, checkpoint.FirstNode, checkpoint.FirstNode+4)
	nodes = append(nodes, checkpoint.Node{Site: 1}, checkpoint.Node{Site: 5 | mark, Parent: 3},
		checkpoint.Node{Site: 6 | mark, Parent: 3}, checkpoint.Node{Site: 2, Parent: 3})
	st := New()
	st.Begin(0)
	taken := st.Fold(checkpoint.Run{
		Thread: checkpoint.Thread{PID: 1, TID: 1}, Start: 1000, First: true,
		Tally: &checkpoint.Tally{Paths: 1, Nodes: nodes, Windows: []checkpoint.Window{{
			Epoch: 1000, Begin: 1000, Last: 1700, Top: 4,
			Parts: []checkpoint.Part{{Node: 3, Ticks: 100, Calls: 1}, {Node: 4, Ticks: 200, Calls: 2},
				{Node: 5, Ticks: 300, Calls: 1}, {Node: 6, Ticks: 100, Calls: 7}},
		}}},
	}, 2000, 2000)
	if taken != 1 {
		t.Fatalf("%d windows were taken", taken)
	}
	st.Charge(2000, func(checkpoint.Thread) bool { return false })
	for _, thread := range st.Threads() {
		st.BookPlaces(thread, 1, 500)
	}
	caller := st.path(0, 1, 0)
	called := st.path(caller, 2, 0)
	want := map[PlaceOn]PlaceTime{
		{caller, 0}: {0, 100, 50}, {caller, 5}: {2, 500, 250}, {caller, 6}: {1, 300, 150}, {called, 0}: {0, 100, 50},
	}
	got := st.Places()
	for on, w := range want {
		if p := got[on]; p == nil || *p != w {
			t.Errorf("%v: %v, want %v", on, p, w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d places, want %d", len(got), len(want))
	}
	if w := st.WindowPlaces(caller); len(w) != 3 || w[5] != 250 || w[0] != 50 {
		t.Errorf("%v in the window", w)
	}
	if st.EndWindow(); st.WindowPlaces(caller) != nil {
		t.Error("a window that is over has places")
	}
	if st.Calls(caller) != 1 || st.Calls(called) != 7 || st.Tree.Len() != 3 {
		t.Errorf("%d and %d calls on %d paths", st.Calls(caller), st.Calls(called), st.Tree.Len())
	}
}
