package stacks

import (
	"container/heap"
	"slices"

	"cg/checkpoint"
)

// queue holds the words of a thread that are not folded yet.
type queue struct {
	words   []checkpoint.Word
	pieces  []piece
	next    int             // of the pieces
	tail    checkpoint.Tick // of the latest word
	current uint64          // the strand of the latest word
	ending  bool            // the thread ends with them
}

// piece is what a strand reported on a thread in one go.
type piece struct {
	strand   *strand         // nil: none
	start    checkpoint.Tick // when it came to the thread
	first    checkpoint.Tick // of its first word
	from, to int             // of the thread's words
}

// batch is a heap of the threads that have words, by the start of the next
// piece.
type batch []*Thread

func (b batch) Len() int { return len(b) }
func (b batch) Less(i, j int) bool {
	return b[i].pieces[b[i].next].start < b[j].pieces[b[j].next].start
}
func (b batch) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b *batch) Push(x any)   { *b = append(*b, x.(*Thread)) }
func (b *batch) Pop() any {
	last := len(*b) - 1
	t := (*b)[last]
	*b = (*b)[:last]
	return t
}

// mergeBefore folds what is kept before a run that says that the thread is
// another, or that words are missing.
func (st *Stacks) mergeBefore(r checkpoint.Run) {
	if r.Image {
		st.Merge()
	}
	if t := st.threads[r.Thread]; t != nil && len(t.pieces) > 0 && t.start != r.Start && (r.First || r.Lost > 0) {
		st.Merge()
	}
}

// keep takes the words of a run that are earlier than until, for Merge.
func (st *Stacks) keep(t *Thread, words []checkpoint.Word, at, until checkpoint.Tick) int {
	if len(t.pieces) == 0 {
		t.tail = t.last
		st.strands.batch = append(st.strands.batch, t)
		// The strand may have been elsewhere meanwhile: what it reports here
		// without another word on who it is brings it back.
		id := t.current
		if words[0].Kind() == checkpoint.Strand {
			id = 0
		}
		st.begin(t, id, at)
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
		t.current = id
		st.begin(t, id, at)
		p = &t.pieces[len(t.pieces)-1]
	}
	t.tail = last
	return i
}

// begin begins a piece of a thread.
func (st *Stacks) begin(t *Thread, id uint64, at checkpoint.Tick) {
	p := piece{start: at, first: at, from: len(t.words), to: len(t.words)}
	if id != 0 {
		p.strand = st.strandOf(t.proc, id, at)
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
func (st *Stacks) Merge() {
	if len(st.strands.batch) == 0 {
		return
	}
	threads := slices.Clone(st.strands.batch)
	for _, t := range threads {
		for _, p := range t.pieces {
			if s := p.strand; s != nil && s.unsorted {
				slices.Sort(s.starts[s.next:])
				s.unsorted = false
			}
		}
	}
	heap.Init(&st.strands.batch)
	for len(st.strands.batch) > 0 {
		t := st.strands.batch[0]
		st.piece(t)
		if t.next < len(t.pieces) {
			heap.Fix(&st.strands.batch, 0)
		} else {
			heap.Pop(&st.strands.batch)
		}
	}
	for _, t := range threads {
		t.words, t.pieces, t.next = t.words[:0], t.pieces[:0], 0
		if t.ending {
			t.ending = false
			st.end(t, true)
		}
	}
}

// piece folds the next piece of a thread, up to where its strand reports
// something on another thread.
func (st *Stacks) piece(t *Thread) {
	p := &t.pieces[t.next]
	s := p.strand
	if s != nil || t.next > 0 || p.from < p.to {
		st.switchTo(t, s, p.start)
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
		n = st.fold(t, words, p.first, until)
	}
	if n == len(words) {
		t.next++
		if s != nil && s.on != t {
			st.retire(s)
		}
		return
	}
	at, _ := words[n].TickAfter(p.first, p.first.Era())
	at = max(at, until)
	p.from, p.start, p.first = p.from+n, at, at
	i, _ := slices.BinarySearch(s.starts[s.next:], at)
	s.starts = slices.Insert(s.starts, s.next+i, at)
}
