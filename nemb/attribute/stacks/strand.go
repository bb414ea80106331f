package stacks

import (
	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// A strand is a goroutine, or whatever else has a stack of its own and goes from
// thread to thread. While it is on a thread, its stack is the thread's.
//
// Several threads report of one strand, and their runs come thread by thread.
// Merge puts the words of a strand in order: it folds a thread's words piece by
// piece, a piece being what one strand reported on one thread, and ends a piece
// early where the same strand reported something on another thread.

// strand is a goroutine, or the like, that has frames or is on a thread.
type strand struct {
	id    uint64
	proc  *proc
	on    *Thread
	left  checkpoint.Tick // since when it is on no thread
	born  checkpoint.Tick
	top   paths.Call // with stack and sites: as those of a Thread, while it is on none
	stack []paths.Call
	sites []checkpoint.SiteID
	// starts, from next on, are when the pieces of the strand begin that are
	// still to be folded.
	starts   []checkpoint.Tick
	next     int
	unsorted bool
}

// more reports whether pieces of the strand are still to be folded.
func (s *strand) more() bool { return s.next < len(s.starts) }

// strands is those of all processes.
type strands struct {
	procs map[uint32]*proc
	batch batch
	spare []*strand
}

// proc is a process with strands.
type proc struct {
	pid     uint32
	threads int
	strands map[uint64]*strand
}

// follow begins a thread whose words are of strands.
func (st *Stacks) follow(t *Thread, r checkpoint.Run) {
	if !r.Strands {
		return
	}
	p := st.strands.procs[r.Thread.PID]
	if p == nil {
		p = &proc{pid: r.Thread.PID, strands: map[uint64]*strand{}}
		st.strands.procs[r.Thread.PID] = p
	}
	if r.Image { // exec(2): nothing of what was there comes back
		for _, s := range p.strands {
			if s.born < r.Start {
				st.drop(s, r.Start)
			}
		}
	}
	if t.proc == nil {
		p.threads++
	}
	t.proc, t.current = p, 0
}

// unfollow ends such a thread. With a process's last thread its strands end.
func (st *Stacks) unfollow(t *Thread) {
	p := t.proc
	if p == nil {
		return
	}
	t.proc = nil
	if p.threads--; p.threads == 0 {
		st.lapse(p, t.last)
		delete(st.strands.procs, p.pid)
	}
}

// lapse ends the strands of a process.
func (st *Stacks) lapse(p *proc, at checkpoint.Tick) {
	for _, s := range p.strands {
		st.drop(s, at)
	}
}

// drop ends a strand with its frames.
func (st *Stacks) drop(s *strand, at checkpoint.Tick) {
	if s.on != nil {
		st.leave(s.on, at)
	}
	if s.top.Node != paths.Root {
		st.Stats.OpenAtEnd += uint64(len(s.stack))
		st.cutShort(s.stack...)
		st.cutShort(s.top)
		st.returned(s, at)
	}
	s.stack, s.top, s.sites = s.stack[:0], paths.Call{}, nil
	st.retire(s)
}

// endStrands ends the strands that may have reported what a thread lost.
func (st *Stacks) endStrands(t *Thread) {
	if t.proc == nil {
		return
	}
	t.current = 0
	for _, s := range t.proc.strands {
		if s.on == nil {
			st.drop(s, t.last)
		}
	}
}

// retire gives up a strand that has no frames, is nowhere and has no pieces.
func (st *Stacks) retire(s *strand) {
	if s.on != nil || s.top.Node != paths.Root || s.more() || s.proc == nil {
		return
	}
	delete(s.proc.strands, s.id)
	if len(st.strands.spare) < 1024 && cap(s.stack) < 256 && cap(s.starts) < 256 {
		*s = strand{stack: s.stack[:0], starts: s.starts[:0]}
		st.strands.spare = append(st.strands.spare, s)
	}
}

// strandOf finds a strand of a process.
func (st *Stacks) strandOf(p *proc, id uint64, at checkpoint.Tick) *strand {
	s := p.strands[id]
	if s == nil {
		if n := len(st.strands.spare); n > 0 {
			s, st.strands.spare = st.strands.spare[n-1], st.strands.spare[:n-1]
		} else {
			s = &strand{}
		}
		s.id, s.proc, s.born = id, p, at
		p.strands[id] = s
	}
	return s
}

// pass charges a thread's time up to a moment.
func (t *Thread) pass(at checkpoint.Tick) {
	if at <= t.last {
		return
	}
	if t.nowhere || t.proc != nil && t.on == nil {
		t.idle += uint64(at - t.last)
	} else {
		t.pending = append(t.pending, paths.Part{Node: t.top.Node, Ticks: uint64(at - t.last)})
	}
	t.last = at
}

// switchTo puts a strand on a thread, nil for none.
func (st *Stacks) switchTo(t *Thread, s *strand, at checkpoint.Tick) {
	t.pass(at)
	if len(t.pending) > 4096 {
		t.pending = st.combine(t.pending)
	}
	if t.on == s {
		return
	}
	if t.on != nil {
		st.leave(t, at)
	}
	if s == nil {
		return
	}
	if s.on != nil {
		s.on.pass(at)
		st.leave(s.on, at)
	}
	if s.top.Node != paths.Root {
		st.returned(s, at)
	}
	t.stack, t.top, t.sites = s.stack, s.top, s.sites
	s.stack, s.top, s.sites, s.left = nil, paths.Call{}, nil, 0
	s.on, t.on = t, s
	t.joined = at
}

// leave takes its strand from a thread.
func (st *Stacks) leave(t *Thread, at checkpoint.Tick) {
	s := t.on
	s.stack, s.top, s.sites = t.stack, t.top, t.sites
	t.stack, t.top, t.sites = nil, paths.Call{}, nil
	s.on, t.on = nil, nil
	s.left = at
	st.retire(s)
}

// returned counts the time for which a strand was away to its innermost frame.
func (st *Stacks) returned(s *strand, at checkpoint.Tick) {
	if at > s.left && s.left != 0 {
		st.away[s.top.Node] += float64(at - s.left)
	}
	s.left = at
}

// Strands is how many processes with strands are known, and the most strands that
// are kept of one.
func (st *Stacks) Strands() (processes, most int) {
	for _, p := range st.strands.procs {
		most = max(most, len(p.strands))
	}
	return len(st.strands.procs), most
}
