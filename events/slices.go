package events

import (
	"cmp"
	"math/bits"
	"slices"

	"cg/checkpoint"
)

// Slice is a stretch of time for which a call was on a thread.
type Slice struct {
	Thread checkpoint.Thread
	// Strand is whose stack it was, a goroutine's, 0 for the thread's own.
	Strand   uint64
	Site     checkpoint.SiteID
	Depth    int // how many calls were around it
	From, To checkpoint.Instant
	// Entered is set where the call began with the slice, Left where it ended with it: a call
	// that was suspended, or went to another thread, is several slices.
	Entered, Left bool
	// Cut is set where the end is not known: the thread ended, or the run did.
	Cut bool
}

// Lasted is how long the slice is, in nanoseconds.
func (s Slice) Lasted() int64 { return int64(max(0, s.To-s.From)) }

// frame is a call that is open.
type frame struct {
	site    checkpoint.SiteID
	from    checkpoint.Tick
	entered bool
}

// stack is the calls of a thread or of a strand.
type stack struct {
	frames []frame
	on     *lane // nil: it runs nowhere, and none of its frames is open
	strand uint64
}

// lane is a thread.
type lane struct {
	thread checkpoint.Thread
	start  checkpoint.Tick
	last   checkpoint.Tick
	own    *stack // of a thread without strands, or for what precedes them
	stack  *stack // that is on it, nil for none
	latest uint64 // the strand of the latest strand word
	forks  []snapshot
	near   int
}

type snapshot struct {
	at     checkpoint.Tick
	frames []frame
}

// word is one that waits for those of other threads.
type word struct {
	at   checkpoint.Tick
	kind checkpoint.Kind
	site uint64
	lane *lane
	ends bool // no word: the thread has ended
}

// folder turns words into slices.
type folder struct {
	log     *Log
	yield   func(Slice)
	lanes   map[checkpoint.Thread]*lane
	strands map[uint32]map[uint64]*stack // per process
	waiting []word
}

// Slices folds the log into slices. Of slices of one thread, an inner one comes
// before the one around it; threads come in any order.
func (l *Log) Slices(yield func(Slice)) error {
	f := &folder{log: l, yield: yield, lanes: map[checkpoint.Thread]*lane{}, strands: map[uint32]map[uint64]*stack{}}
	err := l.blocks(func(kind byte, b []byte) error {
		switch kind {
		case blockRun:
			r, err := openRun(b)
			if err != nil {
				return err
			}
			f.run(&r)
		case blockWindow:
			f.merge()
		}
		return nil
	})
	f.merge()
	var lanes []*lane
	for _, ln := range f.lanes {
		lanes = append(lanes, ln)
	}
	slices.SortFunc(lanes, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(a.thread.PID, b.thread.PID), cmp.Compare(a.thread.TID, b.thread.TID))
	})
	for _, ln := range lanes {
		f.abandon(ln)
	}
	return err
}

// run takes a block of words.
func (f *folder) run(r *run) {
	ln := f.lanes[r.Thread]
	switch {
	case ln == nil:
		ln = &lane{thread: r.Thread, start: r.Start, last: r.Start}
		ln.own = &stack{on: ln}
		ln.stack = ln.own
		f.lanes[r.Thread] = ln
		f.inherit(ln, r)
	case r.First && ln.start != r.Start: // exec(2), or the ids were given out again
		f.merge()
		f.abandon(ln)
		ln.start, ln.last, ln.forks, ln.latest = r.Start, r.Start, nil, 0
		f.inherit(ln, r)
	case r.Lost > 0 && ln.start != r.Start:
		f.merge()
		f.abandon(ln)
		ln.start = r.Start
	}
	if r.Image {
		delete(f.strands, r.Thread.PID)
	}
	for {
		at, kind, site, ok := r.next()
		if !ok {
			break
		}
		if r.Strands {
			f.waiting = append(f.waiting, word{at: at, kind: kind, site: site, lane: ln})
			continue
		}
		f.word(ln, at, kind, site)
	}
	switch {
	case r.Last && r.Strands: // behind what other threads still tell of its strands
		f.waiting = append(f.waiting, word{at: ^checkpoint.Tick(0), lane: ln, ends: true})
	case r.Last:
		f.abandon(ln)
	}
}

// inherit gives a forked thread the calls that its parent was in.
func (f *folder) inherit(ln *lane, r *run) {
	if !r.Forked {
		return
	}
	parent := f.lanes[r.Parent]
	if parent == nil {
		return
	}
	for _, s := range parent.forks {
		if s.at == r.ForkTick {
			for _, fr := range s.frames {
				ln.own.frames = append(ln.own.frames, frame{fr.site, r.Start, false})
			}
			return
		}
	}
}

// merge folds the words that waited for those of other threads, in the order of
// time.
func (f *folder) merge() {
	slices.SortStableFunc(f.waiting, func(a, b word) int { return cmp.Compare(a.at, b.at) })
	for _, w := range f.waiting {
		if w.ends {
			f.abandon(w.lane)
			continue
		}
		if w.kind != checkpoint.Strand && w.lane.latest != 0 {
			f.switchTo(w.lane, w.lane.latest, w.at) // it may have been elsewhere meanwhile
		}
		f.word(w.lane, w.at, w.kind, w.site)
	}
	f.waiting = f.waiting[:0]
}

// switchTo puts a strand on a thread, 0 for none.
func (f *folder) switchTo(ln *lane, id uint64, at checkpoint.Tick) {
	if ln.stack != nil && ln.stack.strand == id && ln.stack != ln.own {
		return
	}
	f.leave(ln, at)
	if id == 0 {
		return
	}
	of := f.strands[ln.thread.PID]
	if of == nil {
		of = map[uint64]*stack{}
		f.strands[ln.thread.PID] = of
	}
	s := of[id]
	if s == nil {
		s = &stack{strand: id}
		of[id] = s
	}
	if s.on != nil {
		f.leave(s.on, at)
	}
	s.on, ln.stack = ln, s
	for i := range s.frames {
		s.frames[i].from, s.frames[i].entered = at, false
	}
}

// leave takes what is on a thread from it.
func (f *folder) leave(ln *lane, at checkpoint.Tick) {
	s := ln.stack
	ln.stack = nil
	if s == nil {
		return
	}
	for i := len(s.frames) - 1; i >= 0; i-- {
		f.yieldFrame(ln, s, i, at, ending{})
	}
	s.on = nil
	if s == ln.own {
		s.frames = s.frames[:0]
	} else if len(s.frames) == 0 {
		delete(f.strands[ln.thread.PID], s.strand)
	}
}

// ending is how a slice ends, see Slice.
type ending struct{ left, cut bool }

// yieldFrame yields the slice of frame i of a stack.
func (f *folder) yieldFrame(ln *lane, s *stack, i int, at checkpoint.Tick, e ending) {
	fr := s.frames[i]
	from := f.log.instant(fr.from, &ln.near)
	to := max(from, f.log.instant(at, &ln.near))
	f.yield(Slice{
		Thread: ln.thread, Strand: s.strand, Site: fr.site, Depth: i,
		From: from, To: to, Entered: fr.entered, Left: e.left, Cut: e.cut,
	})
}

// pop ends the frames from i on. left says that the lowest of them ended, and is not only
// suspended; the frames above it ended with it.
func (f *folder) pop(ln *lane, i int, at checkpoint.Tick, left bool) {
	s := ln.stack
	for k := len(s.frames) - 1; k >= i; k-- {
		f.yieldFrame(ln, s, k, at, ending{left: left || k > i})
	}
	s.frames = s.frames[:i]
}

// find is the innermost frame of a site, -1 where there is none.
func (s *stack) find(site checkpoint.SiteID) int {
	for i := len(s.frames) - 1; i >= 0; i-- {
		if s.frames[i].site == site {
			return i
		}
	}
	return -1
}

// word folds one word; checkpoint/FORMAT.md says what each kind means.
func (f *folder) word(ln *lane, at checkpoint.Tick, kind checkpoint.Kind, number uint64) {
	at = max(at, ln.last)
	ln.last = at
	if kind == checkpoint.Strand {
		ln.latest = number
		f.switchTo(ln, number, at)
		return
	}
	if ln.stack == nil { // a word of no strand
		ln.stack, ln.own.on = ln.own, ln
	}
	s, site := ln.stack, checkpoint.SiteID(number)
	switch kind {
	case checkpoint.Enter, checkpoint.Resume:
		s.frames = append(s.frames, frame{site, at, kind == checkpoint.Enter})
	case checkpoint.Exit, checkpoint.Suspend:
		if i := s.find(site); i >= 0 {
			f.pop(ln, i, at, kind == checkpoint.Exit)
		}
	case checkpoint.Unwind:
		if i := s.find(site); i >= 0 {
			f.pop(ln, i+1, at, true)
		} else {
			s.frames = append(s.frames, frame{site, at, false})
		}
	case checkpoint.Fork:
		if len(ln.forks) >= 64 { // most children call exec(2) and never ask
			ln.forks = append(ln.forks[:0], ln.forks[1:]...)
		}
		ln.forks = append(ln.forks, snapshot{at, slices.Clone(s.frames)})
	}
}

// abandon ends what is on a thread whose continuation is unknown.
func (f *folder) abandon(ln *lane) {
	s := ln.stack
	if s == nil {
		return
	}
	for i := len(s.frames) - 1; i >= 0; i-- {
		f.yieldFrame(ln, s, i, ln.last, ending{cut: true})
	}
	s.frames, s.on = nil, nil
	if s.strand != 0 {
		delete(f.strands[ln.thread.PID], s.strand)
	}
	ln.own.on, ln.stack = ln, ln.own
	ln.own.frames = ln.own.frames[:0]
}

// Threads tells the processor time of threads, window by window. What it passes is
// valid until it returns.
func (l *Log) Threads(each func(Window)) error {
	return l.blocks(func(kind byte, b []byte) error {
		if kind != blockWindow {
			return nil
		}
		w, err := window(b)
		if err == nil {
			each(w)
		}
		return err
	})
}

// Longest yields about the n longest slices. It returns how many slices there are,
// and the length in nanoseconds from which on it yielded every slice. A slice that
// is left out is shorter than those around it, so the others still lie within one
// another.
func (l *Log) Longest(n int, yield func(Slice)) (all uint64, shortest int64, err error) {
	var count [512]uint64
	if err := l.Slices(func(s Slice) { count[size(s.Lasted())]++; all++ }); err != nil {
		return 0, 0, err
	}
	least, sum := len(count), uint64(0)
	for least > 0 && sum+count[least-1] <= uint64(n) {
		least--
		sum += count[least]
	}
	if all > sum {
		shortest = lower(least)
	}
	return all, shortest, l.Slices(func(s Slice) {
		if size(s.Lasted()) >= least {
			yield(s)
		}
	})
}

// size sorts durations into classes, eight for each power of two; lower is the
// shortest of a class.
func size(ns int64) int {
	v := uint64(max(0, ns))
	if v < 8 {
		return int(v)
	}
	shift := bits.Len64(v) - 4
	return shift*8 + int(v>>shift)
}

func lower(class int) int64 {
	if class < 16 {
		return int64(class)
	}
	shift := class/8 - 1
	return int64(class-shift*8) << shift
}
