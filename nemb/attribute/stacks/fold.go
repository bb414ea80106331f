package stacks

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// Fold takes the words of a run that are earlier than until and returns how
// many these were. now is a reading of the clock not before the last word: it
// completes the 40 bits of the words' ticks. Words of strands are kept until
// Merge: Fold every run with the same until before it.
func (st *Stacks) Fold(r checkpoint.Run, now, until checkpoint.Tick) int {
	if r.Tally != nil {
		return st.foldSums(r, until)
	}
	if r.Strands {
		st.mergeBefore(r)
	}
	if len(r.Words) == 0 {
		st.end(st.thread(r), r.Last)
		return 0
	}
	at := r.Words[0].Tick(now)
	if at < r.Start { // the reader was stopped for longer than 40 bits last
		at = r.Start
	}
	if at >= until { // nor is there its parent's word of the fork yet
		return 0
	}
	t := st.thread(r)
	t.cost = checkpoint.Tick(r.Cost + .5)
	t.gone = false
	var taken int
	if r.Strands {
		if t.proc == nil { // its chunks before were of no strands
			st.follow(t, r)
		}
		taken = st.keep(t, r.Words, at, until)
	} else {
		taken = st.fold(t, r.Words, at, until)
	}
	if taken == len(r.Words) {
		st.end(t, r.Last)
	}
	return taken
}

// fold takes words of a thread, or of the strand that is on it. at is the full
// tick of the first.
//
// The loop keeps few values: one more than fits the registers costs 4 % of its time,
// a field of st that is read where it is needed costs nothing.
func (st *Stacks) fold(t *Thread, words []checkpoint.Word, at, until checkpoint.Tick) int {
	last := t.last
	if last == 0 {
		last = at
	}
	top := t.top
	stack := t.stack
	nodes := st.nodes
	era := at.Era()
	taken := len(words)
	t.behind = -1
	cost, spent := int64(t.cost), uint64(0)

	for i, w := range words {
		at := era | w.Low()
		if at < last {
			if at, era = w.TickAfter(last, era); at < last {
				if last >= until {
					taken = i
					break
				}
				st.noteBehind(t, at, i)
				at = last
			}
		}
		if at >= until {
			taken = i
			break
		}
		n := &nodes[top.Node]
		if n.ticks <= 0 {
			st.touched = append(st.touched, top.Node)
		}
		// Of the time between two events one half of each is theirs.
		n.ticks += int64(at-last) - cost
		spent += uint64(at - last)
		last = at
		kind, site := w.Kind(), w.Site()
		if st.MaxDepth > 0 && st.deeper(t, kind, site) {
			continue
		}
		switch {
		case kind == checkpoint.Enter:
			called := n.child
			if n.childSite != site || called < 0 {
				if site == 0 { // no checkpoint enters it
					continue
				}
				called = st.path(top.Node, site, at)
				nodes = st.nodes
			}
			nodes[called].calls++
			stack = append(stack, top)
			top = paths.Call{Since: at, Node: called}
		case kind == checkpoint.Exit && n.site == site && top.Node != paths.Root:
			if int64(at-top.Since) >= st.Long {
				t.noteLong(top, at)
			}
			top = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
		default:
			t.stack, t.top = stack, top
			st.foldRare(t, w, at)
			stack, top, nodes = t.stack, t.top, st.nodes
		}
	}
	t.stack, t.top, t.last = stack, top, last
	if taken > 0 && t.behind != taken-1 {
		t.stamp = last
	}
	st.Stats.Events += uint64(taken)
	if over := spent - st.flush(t); over > 0 {
		st.chargeCheckpoints(t, over)
	}
	if len(t.pending) > 4096 {
		t.pending = st.combine(t.pending)
	}
	return taken
}

// noteBehind notes a word that is before its thread's time, and its place among those that are folded. That time
// may be of a word that was ahead, or the end of a window whose words came late: what ran backwards is only a word
// that is before the word before it.
//
//go:noinline
func (st *Stacks) noteBehind(t *Thread, at checkpoint.Tick, i int) {
	if t.behind != i-1 || at < t.stamp {
		st.Stats.Backwards++
	}
	t.stamp, t.behind = at, i
}

// foldRare folds a word that neither enters a site nor leaves the innermost
// frame.
func (st *Stacks) foldRare(t *Thread, w checkpoint.Word, at checkpoint.Tick) {
	site := w.Site()
	switch w.Kind() {
	case checkpoint.Exit:
		switch {
		case st.skip(t, site):
			if int64(at-t.top.Since) >= st.Long {
				t.noteLong(t.top, at)
			}
			t.pop()
		default:
			st.Stats.Closed++
			st.suspensions.ended(site, at)
		}
	case checkpoint.Suspend:
		if st.unwindTo(t, site) {
			t.pop()
		}
		st.suspensions.suspended(site, at)
	case checkpoint.Resume:
		if site == 0 {
			return
		}
		t.push(paths.Call{Since: paths.Never, Node: st.path(t.top.Node, site, at)})
		st.suspensions.resumed(site, at)
	case checkpoint.Unwind:
		if site != 0 && st.nodes[t.top.Node].site != site && !st.unwindTo(t, site) {
			t.push(paths.Call{Since: paths.Never, Node: st.path(t.top.Node, site, at)})
			st.suspensions.ended(site, at)
		}
	case checkpoint.Close:
		st.Stats.Closed++
		st.suspensions.ended(site, at)
	case checkpoint.Fork:
		t.fork(fork{at, append(slices.Clone(t.stack), t.top), slices.Clone(t.sites)})
	}
}
