package stacks

import (
	"testing"

	"cg/checkpoint"
)

// Two functions of a virtual machine have 5000 calls in each of ten windows. Their checkpoints cost 300 ticks more in the
// first, until they are compiled. A program that is compiled before it runs has no such doubt.
func TestWarming(t *testing.T) {
	for _, warms := range []bool{true, false} {
		st := New()
		st.Begin(0)
		nodes := []checkpoint.Node{{}, {}, {}, {Site: 1}, {Site: 2}}
		truth := [2]float64{1000, 2000}
		for i := range checkpoint.Tick(10) {
			more := uint64(0)
			if i == 0 {
				more = 300
			}
			w := checkpoint.Window{Epoch: 0, Begin: 1 + i*10_000_000, Last: 1 + i*10_000_000, Top: 3}
			for k, own := range truth {
				each := uint64(own) + 8 + more
				w.Parts = append(w.Parts, checkpoint.Part{Node: uint32(3 + k), Counted: 5000,
					Drawn: [2]checkpoint.Drawn{{Intervals: 300, Ticks: 300 * (uint64(own) + 20 + more)}}})
				w.Counted += 5000 * each
				w.Last += checkpoint.Tick(5000 * each)
			}
			st.Fold(checkpoint.Run{
				Thread: checkpoint.Thread{PID: 1, TID: 1}, First: i == 0, Start: 1, Cost: 20,
				Tally: &checkpoint.Tally{Paths: 1, Nodes: nodes, Windows: []checkpoint.Window{w}, Events: 10000,
					CountedCost: 8, Warms: warms},
			}, 1<<40, 1<<40)
		}
		st.Charge(1<<40, nobody)
		all := st.Warming()
		if !warms {
			if len(all) != 0 {
				t.Errorf("%v", all)
			}
			continue
		}
		for k := range truth {
			if want := 5000*300 + 50000*early*8.; all[1+k] < 0.98*want || all[1+k] > 1.02*want {
				t.Errorf("function %d: %.0f ticks may be of checkpoints, want %.0f", k, all[1+k], want)
			}
		}
	}
}

// No more than interpreted checkpoints may cost is theirs, and of a path without a mean of its own that of its
// function counts.
func TestWarmingBounds(t *testing.T) {
	st := New()
	a := st.path(0, 7, 0)
	b := st.path(a, 7, 0)
	w := &st.known.warming
	w.draw(a, 7, meanOf, meanOf*200)
	w.draw(b, 7, 10, 10*5000)
	w.count(a, 1000, 1000*250, 20, 5)
	w.count(b, 10, 10*5000, 20, 5)
	if all := st.Warming(); all[a] != 1000*(50+early*5) || all[b] != 10*interpreted*20 {
		t.Errorf("%v", all)
	}
}

// Calls that are timed cost more, too, until they are compiled: 300 ticks each in the first of ten windows.
func TestWarmingOfTimedCalls(t *testing.T) {
	st := New()
	st.Begin(0)
	nodes := []checkpoint.Node{{}, {}, {}, {Site: 1}}
	for i := range checkpoint.Tick(10) {
		each := uint64(1000 + 20)
		if i == 0 {
			each += 300
		}
		w := checkpoint.Window{Begin: 1 + i*10_000_000, Last: 1 + i*10_000_000 + checkpoint.Tick(5000*each), Top: 3}
		w.Parts = []checkpoint.Part{{Node: 3, Calls: 5000, Ticks: 5000 * each}}
		st.Fold(checkpoint.Run{
			Thread: checkpoint.Thread{PID: 1, TID: 1}, First: i == 0, Start: 1, Cost: 20,
			Tally: &checkpoint.Tally{Paths: 1, Nodes: nodes, Windows: []checkpoint.Window{w}, Events: 10000, Warms: true},
		}, 1<<40, 1<<40)
	}
	st.Charge(1<<40, nobody)
	if all, want := st.Warming(), 5000*300.; all[1] < 0.98*want || all[1] > 1.02*want {
		t.Errorf("%.0f ticks may be of checkpoints, want %.0f", all[1], want)
	}
}
