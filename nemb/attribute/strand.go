package attribute

import (
	"container/heap"
	"slices"

	"cg/checkpoint"
)

// A strand has a stack of its own and goes from thread to thread, as a
// goroutine does. While it is on a thread, its stack is the thread's.
//
// The threads tell of a strand one behind the other, and their runs come thread
// by thread. Merge puts the words of a strand in order: it folds a thread's
// words piece by piece, a piece being what one strand told on one thread, and
// breaks a piece off where the same strand told something on another thread.

// strand is one that has frames, or is on a thread.
type strand struct {
	id    uint64
	proc  *proc
	on    *thread
	left  checkpoint.Tick // since when it is on no thread
	born  checkpoint.Tick
	top   frame // with stack and sites as in thread, while it is on none
	stack []frame
	sites []checkpoint.SiteID
	// starts, from next on, are when the pieces of the strand begin that are
	// still to be folded.
	starts   []checkpoint.Tick
	next     int
	unsorted bool
}

// more reports whether pieces of the strand are still to be folded.
func (s *strand) more() bool { return s.next < len(s.starts) }

// proc is a process with strands.
type proc struct {
	pid     uint32
	threads int
	strands map[uint64]*strand
}

// queue holds the words of a thread that are not folded yet.
type queue struct {
	words  []checkpoint.Word
	pieces []piece
	next   int             // of the pieces
	tail   checkpoint.Tick // of the latest word
	told   uint64          // the strand of the latest word
	ending bool            // the thread ends with them
}

// piece is what a strand told on a thread in one go.
type piece struct {
	strand   *strand         // nil: none
	start    checkpoint.Tick // when it came to the thread
	first    checkpoint.Tick // of its first word
	from, to int             // of the thread's words
}

// batch is a heap of the threads that have words, by the start of the next
// piece.
type batch []*thread

func (b batch) Len() int { return len(b) }
func (b batch) Less(i, j int) bool {
	return b[i].pieces[b[i].next].start < b[j].pieces[b[j].next].start
}
func (b batch) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *batch) Push(x any)   { *b = append(*b, x.(*thread)) }
func (b *batch) Pop() any {
	last := len(*b) - 1
	t := (*b)[last]
	*b = (*b)[:last]
	return t
}

// follow begins a thread whose words are of strands.
func (a *Attributor) follow(t *thread, r checkpoint.Run) {
	if !r.Strands {
		return
	}
	p := a.procs[r.Thread.PID]
	if p == nil {
		p = &proc{pid: r.Thread.PID, strands: map[uint64]*strand{}}
		a.procs[r.Thread.PID] = p
	}
	if r.Image { // exec(2): nothing of what was there comes back
		for _, s := range p.strands {
			if s.born < r.Start {
				a.drop(s, r.Start)
			}
		}
	}
	if t.proc == nil {
		p.threads++
	}
	t.proc, t.told = p, 0
}

// unfollow ends such a thread. With a process's last thread its strands end.
func (a *Attributor) unfollow(t *thread) {
	p := t.proc
	if p == nil {
		return
	}
	t.proc = nil
	if p.threads--; p.threads == 0 {
		a.lapse(p, t.last)
		delete(a.procs, p.pid)
	}
}

// lapse ends the strands of a process.
func (a *Attributor) lapse(p *proc, at checkpoint.Tick) {
	for _, s := range p.strands {
		a.drop(s, at)
	}
}

// drop ends a strand with its frames.
func (a *Attributor) drop(s *strand, at checkpoint.Tick) {
	if s.on != nil {
		a.leave(s.on, at)
	}
	if s.top.node != root {
		a.Stats.OpenAtEnd += uint64(len(s.stack))
		a.cut(s.stack...)
		a.cut(s.top)
		a.returned(s, at)
	}
	s.stack, s.top, s.sites = s.stack[:0], frame{}, nil
	a.retire(s)
}

// forget ends the strands that may have told what a thread lost.
func (a *Attributor) forget(t *thread) {
	if t.proc == nil {
		return
	}
	t.told = 0
	for _, s := range t.proc.strands {
		if s.on == nil {
			a.drop(s, t.last)
		}
	}
}

// retire gives up a strand that has no frames, is nowhere and has no pieces.
func (a *Attributor) retire(s *strand) {
	if s.on != nil || s.top.node != root || s.more() || s.proc == nil {
		return
	}
	delete(s.proc.strands, s.id)
	if len(a.spare) < 1024 && cap(s.stack) < 256 && cap(s.starts) < 256 {
		*s = strand{stack: s.stack[:0], starts: s.starts[:0]}
		a.spare = append(a.spare, s)
	}
}

// strand finds a strand of a process.
func (a *Attributor) strand(p *proc, id uint64, at checkpoint.Tick) *strand {
	s := p.strands[id]
	if s == nil {
		if n := len(a.spare); n > 0 {
			s, a.spare = a.spare[n-1], a.spare[:n-1]
		} else {
			s = &strand{}
		}
		s.id, s.proc, s.born = id, p, at
		p.strands[id] = s
	}
	return s
}

// settled folds what is kept before a run that says that the thread is another,
// or that words are missing.
func (a *Attributor) settled(r checkpoint.Run) {
	if r.Image {
		a.Merge()
	}
	if t := a.threads[r.Thread]; t != nil && len(t.pieces) > 0 && t.start != r.Start && (r.First || r.Lost > 0) {
		a.Merge()
	}
}

// keep takes the words of a run that are earlier than until, for Merge.
func (a *Attributor) keep(t *thread, words []checkpoint.Word, at, until checkpoint.Tick) int {
	if len(t.pieces) == 0 {
		t.tail = t.last
		a.batch = append(a.batch, t)
		// The strand may have been elsewhere meanwhile: what it tells here
		// without another word on who it is brings it back.
		id := t.told
		if words[0].Kind() == checkpoint.Strand {
			id = 0
		}
		a.begin(t, id, at)
	}
	p := &t.pieces[len(t.pieces)-1]
	era := at.Era()
	last := t.tail
	i := 0
	for ; i < len(words); i++ {
		w := words[i]
		at, next := w.TickAfter(last, era)
		at, era = max(at, last), next // fold counts those that run backwards
		if at >= until {
			break
		}
		if w.Kind() != checkpoint.Strand {
			if p.from == len(t.words) {
				p.first = at
			}
			t.words = append(t.words, w)
			p.to = len(t.words)
			last = at
			continue
		}
		var rest checkpoint.Word
		if w.IsWide() {
			if i+1 == len(words) {
				break // the other half is not written yet
			}
			i++
			rest = words[i]
		}
		id := w.StrandID(rest)
		last = at
		t.told = id
		a.begin(t, id, at)
		p = &t.pieces[len(t.pieces)-1]
	}
	t.tail = last
	return i
}

// begin begins a piece of a thread.
func (a *Attributor) begin(t *thread, id uint64, at checkpoint.Tick) {
	p := piece{start: at, first: at, from: len(t.words), to: len(t.words)}
	if id != 0 {
		p.strand = a.strand(t.proc, id, at)
		s := p.strand
		if !s.more() {
			s.starts, s.next = s.starts[:0], 0
		}
		s.unsorted = s.unsorted || s.more() && at < s.starts[len(s.starts)-1]
		s.starts = append(s.starts, at)
	}
	t.pieces = append(t.pieces, p)
}

// Merge folds the words of strands that were kept.
func (a *Attributor) Merge() {
	if len(a.batch) == 0 {
		return
	}
	threads := slices.Clone(a.batch)
	for _, t := range threads {
		for _, p := range t.pieces {
			if s := p.strand; s != nil && s.unsorted {
				slices.Sort(s.starts[s.next:])
				s.unsorted = false
			}
		}
	}
	heap.Init(&a.batch)
	for len(a.batch) > 0 {
		t := a.batch[0]
		a.piece(t)
		if t.next < len(t.pieces) {
			heap.Fix(&a.batch, 0)
		} else {
			heap.Pop(&a.batch)
		}
	}
	for _, t := range threads {
		t.words, t.pieces, t.next = t.words[:0], t.pieces[:0], 0
		if t.ending {
			t.ending = false
			a.end(t, true)
		}
	}
}

// piece folds the next piece of a thread, up to where its strand tells
// something on another thread.
func (a *Attributor) piece(t *thread) {
	p := &t.pieces[t.next]
	s := p.strand
	if s != nil || t.next > 0 || p.from < p.to {
		a.switchTo(t, s, p.start)
	}
	until := ^checkpoint.Tick(0)
	if s != nil {
		s.next++
		if s.more() {
			until = s.starts[s.next]
		}
	}
	words := t.words[p.from:p.to]
	if until <= p.start { // at the same tick: the order is any
		until = p.start + 1
	}
	n := len(words)
	if n > 0 {
		n = a.fold(t, words, p.first, until)
	}
	if n == len(words) {
		t.next++
		if s != nil && s.on != t {
			a.retire(s)
		}
		return
	}
	at, _ := words[n].TickAfter(p.first, p.first.Era())
	at = max(at, until)
	p.from, p.start, p.first = p.from+n, at, at
	i, _ := slices.BinarySearch(s.starts[s.next:], at)
	s.starts = slices.Insert(s.starts, s.next+i, at)
}

// pass charges a thread's time up to a moment.
func (t *thread) pass(at checkpoint.Tick) {
	if at <= t.last {
		return
	}
	if t.proc != nil && t.on == nil {
		t.idle += uint64(at - t.last)
	} else {
		t.pending = append(t.pending, part{node: t.top.node, ticks: uint64(at - t.last)})
	}
	t.last = at
}

// switchTo puts a strand on a thread, nil for none.
func (a *Attributor) switchTo(t *thread, s *strand, at checkpoint.Tick) {
	t.pass(at)
	if len(t.pending) > 4096 {
		t.pending = a.combine(t.pending)
	}
	if t.on == s {
		return
	}
	if t.on != nil {
		a.leave(t, at)
	}
	if s == nil {
		return
	}
	if s.on != nil {
		s.on.pass(at)
		a.leave(s.on, at)
	}
	if s.top.node != root {
		a.returned(s, at)
	}
	t.stack, t.top, t.sites = s.stack, s.top, s.sites
	s.stack, s.top, s.sites, s.left = nil, frame{}, nil, 0
	s.on, t.on = t, s
	t.joined = at
}

// leave takes its strand from a thread.
func (a *Attributor) leave(t *thread, at checkpoint.Tick) {
	s := t.on
	s.stack, s.top, s.sites = t.stack, t.top, t.sites
	t.stack, t.top, t.sites = nil, frame{}, nil
	s.on, t.on = nil, nil
	s.left = at
	a.retire(s)
}

// returned counts the time for which a strand was away to its innermost frame.
func (a *Attributor) returned(s *strand, at checkpoint.Tick) {
	if at > s.left && s.left != 0 {
		a.tallies[s.top.node].away += float64(at - s.left)
	}
	s.left = at
}
