package stacks

import (
	"iter"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// Thread is a thread of the program.
type Thread struct {
	ID      checkpoint.Thread
	start   checkpoint.Tick // of the chunk in which it began
	top     paths.Call
	stack   []paths.Call    // the frames below top
	last    checkpoint.Tick // up to which its time is charged
	stamp   checkpoint.Tick // of its last word, between two folds; in one of the last that was before last
	behind  int             // the place of that one in the fold, -1 for none
	pending []paths.Part
	forks   []fork
	ended   bool
	gone    bool                // the kernel knows it no more
	cost    checkpoint.Tick     // of an event
	sites   []checkpoint.SiteID // the whole stack, where MaxDepth cuts it
	long    []paths.Span
	adding  *adding // nil where its events are words
	nowhere bool    // it adds up, and is on no strand
	forked  Forked
	looked  *looked // nil where its events are reported

	at     checkpoint.SiteID  // the place at which its innermost call is, 0 for none
	placed map[PlaceOn]uint64 // ticks of the open window

	// Of a thread whose stack is that of the strand it is on, see strand.go.
	proc   *proc // nil for other threads
	on     *strand
	joined checkpoint.Tick // since when its strand is on it
	idle   uint64          // ticks of the open window on no strand
	queue
}

// fork is the stack that a thread had at a fork(2).
type fork struct {
	at    checkpoint.Tick
	stack []paths.Call
	sites []checkpoint.SiteID
}

// Parts is the thread's time in the open window, by path, once it is charged.
func (t *Thread) Parts() []paths.Part { return t.pending }

// Forked is when the process of a thread was made by fork(2), and the processor time that the thread used from
// then to its first event. It is 0 of other threads.
type Forked struct {
	At   checkpoint.Tick
	Used time.Duration
}

// Forked is what the thread used before its first event.
func (t *Thread) Forked() Forked { return t.forked }

// Idle is the ticks of the open window in which the thread was on no strand.
func (t *Thread) Idle() uint64 { return t.idle }

// Ended reports whether the thread ended in the open window.
func (t *Thread) Ended() bool { return t.ended }

// TakeLong takes the calls that were long and ended since it was last asked, in the
// order of their ends. They were on the thread from begin to end.
func (t *Thread) TakeLong() []paths.Span {
	long := t.long
	t.long = t.long[:0]
	return long
}

// Open gives the calls that are open, the outermost first, each with its depth.
// Since is Never for those that have not been on the thread from their beginning.
// Of a thread that adds up it is the begin of the window in which they began.
func (t *Thread) Open() iter.Seq2[int, paths.Call] {
	if t.adding != nil {
		return slices.All(t.adding.open)
	}
	return func(yield func(int, paths.Call) bool) {
		for i, c := range t.stack {
			if !yield(i, t.own(c)) {
				return
			}
		}
		yield(len(t.stack), t.own(t.top))
	}
}

// own is a call of which the beginning counts only if it was on the thread.
func (t *Thread) own(c paths.Call) paths.Call {
	if !t.saw(c) {
		c.Since = paths.Never
	}
	return c
}

// saw reports whether a call has been on the thread since its beginning.
func (t *Thread) saw(c paths.Call) bool { return t.on == nil || c.Since >= t.joined }

// noteLong notes a call that was long, unless it has been on another thread. It is
// rare, and in line it would slow the loop of fold.
//
//go:noinline
func (t *Thread) noteLong(c paths.Call, at checkpoint.Tick) {
	if t.saw(c) {
		t.long = append(t.long, paths.Span{Call: c, End: at})
	}
}

// thread finds the state of the run's thread, starting it where it is new.
func (st *Stacks) thread(r checkpoint.Run) *Thread {
	t := st.threads[r.Thread]
	switch {
	case t == nil:
		t = &Thread{ID: r.Thread, start: r.Start}
		st.threads[r.Thread] = t
		st.order = append(st.order, t)
		st.Stats.Threads++
		st.inherit(t, r)
		st.follow(t, r)
	case r.First && t.start != r.Start: // exec, or the ids were given out again
		st.abandon(t)
		t.start, t.ended, t.forks = r.Start, false, nil
		t.last, t.stamp, t.gone = r.Start, 0, false
		st.inherit(t, r)
		st.follow(t, r)
	case r.Lost > 0 && t.start != r.Start:
		t.start = r.Start
		st.abandon(t)
		st.endStrands(t)
	}
	if r.Lost > 0 {
		st.Stats.Lost += r.Lost
	}
	if t.last == 0 {
		t.last = r.Start
	}
	return t
}

// inherit gives a forked thread the stack its parent had.
func (st *Stacks) inherit(t *Thread, r checkpoint.Run) {
	if !r.Forked {
		return
	}
	parent := st.threads[r.Parent]
	if parent == nil {
		return
	}
	for i, f := range parent.forks {
		if f.at == r.ForkTick {
			t.stack = append(t.stack[:0], f.stack[:len(f.stack)-1]...)
			t.top = f.stack[len(f.stack)-1]
			t.sites = f.sites
			// Its parent's calls did not begin in the child.
			t.top.Since = paths.Never
			for i := range t.stack {
				t.stack[i].Since = paths.Never
			}
			parent.forks = append(parent.forks[:i], parent.forks[i+1:]...)
			return
		}
	}
}

// fork keeps the stack for the child, the newest few: most children of
// fork(2) call exec and never ask.
func (t *Thread) fork(f fork) {
	if len(t.forks) >= 64 {
		t.forks = append(t.forks[:0], t.forks[1:]...)
	}
	t.forks = append(t.forks, f)
}

func (t *Thread) push(f paths.Call) {
	t.stack = append(t.stack, t.top)
	t.top = f
}

func (t *Thread) pop() {
	t.top = t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
}

// cutShort counts frames that end where nobody has seen them end.
func (st *Stacks) cutShort(frames ...paths.Call) {
	for _, f := range frames {
		if f.Node != paths.Root {
			st.cut[st.nodes[f.Node].site]++
		}
	}
}

// skip is unwindTo where the frames should have reported their end: they were left
// by longjmp(3), say.
func (st *Stacks) skip(t *Thread, site checkpoint.SiteID) bool {
	before, top := len(t.stack), t.top
	open := t.stack
	if !st.unwindTo(t, site) {
		return false
	}
	if n := len(t.stack); n < before {
		st.cutShort(open[n+1:]...)
		st.cutShort(top)
	}
	return true
}

// unwindTo ends the frames above the innermost one of site. It reports whether
// there is one; without one nothing changes.
func (st *Stacks) unwindTo(t *Thread, site checkpoint.SiteID) bool {
	if t.top.Node == paths.Root {
		return false
	}
	if st.nodes[t.top.Node].site == site {
		return true
	}
	for i := len(t.stack) - 1; i > 0; i-- {
		if st.nodes[t.stack[i].Node].site == site {
			st.Stats.Unwound += uint64(len(t.stack) - i)
			t.top = t.stack[i]
			t.stack = t.stack[:i]
			return true
		}
	}
	return false
}

// cutPath is cutShort for the frames of a path, so many times.
func (st *Stacks) cutPath(n int32, times uint64) {
	for ; n > paths.Root; n = st.Tree.Parent(n) {
		st.Stats.OpenAtEnd += times
		st.cut[st.Tree.Site(n)] += times
	}
}

// abandon ends every frame of a thread whose continuation is unknown.
func (st *Stacks) abandon(t *Thread) {
	if t.looked != nil { // no call of it has a known begin
		return
	}
	if t.adding != nil {
		if !t.nowhere {
			st.cutPath(t.top.Node, 1)
		}
		st.leaveTree(t)
		t.top = paths.Call{}
		return
	}
	if t.on != nil {
		st.leave(t, t.last)
	}
	if t.top.Node != paths.Root {
		st.Stats.OpenAtEnd += uint64(len(t.stack))
		st.cutShort(t.stack...)
		st.cutShort(t.top)
	}
	t.stack, t.top, t.sites = t.stack[:0], paths.Call{}, nil
}

func (st *Stacks) end(t *Thread, last bool) {
	switch {
	case last && len(t.pieces) > 0:
		t.ending = true // with its last word
	case last && !t.ended:
		st.abandon(t)
		t.ended = true
		st.unfollow(t)
	}
}
