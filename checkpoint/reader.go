package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Run is what one thread wrote into one chunk and nobody has taken yet.
type Run struct {
	Thread Thread
	// First is set on the first words of a thread: whatever an earlier thread
	// of the same ids left open is over.
	First bool
	// Lost counts the events that this thread could not write before these
	// words; its stack is unknown then and starts empty.
	Lost uint64
	// Forked is set with First in a process made by fork(2): the thread goes
	// on with the stack that Parent had at its Fork word of tick ForkTick.
	Forked   bool
	Parent   Thread
	ForkTick Tick
	// Start is the full tick at which the chunk was taken. It precedes every
	// word of the chunk.
	Start Tick
	// Words are raw words in the order of writing; none is 0.
	Words []Word
	// Cost is the time in ticks that each of them took its thread, half of it
	// before the word's tick and half after; 0 where the writer does not tell.
	Cost float64
	// Strands is set where strand words tell whose stack the words belong to.
	// Image is set with First when the program has just begun: the strands of
	// an earlier program of this process are gone.
	Strands, Image bool
	// Last is set when the thread has ended and wrote nothing after Words.
	Last bool
	// Tally is set, and Words is empty, where the thread adds up itself.
	Tally *Tally
	// Name is what the program calls the thread, as far as it said: only a thread that adds up does.
	Name string
	// Added is set where the events of Words are in a Tally, too.
	Added bool
}

// source is a thread in one of its ways to record: a thread may write words and add
// up besides.
type source struct {
	Thread
	tree bool
}

type liveChunk struct {
	seq   uint64
	index int
	state uint32
	tree  bool // it is a tree
}

// begin takes what the header of a chunk, or of a tree, says of the first of its
// runs.
func (r *Run) begin(h *chunk) {
	r.First = h.flags&flagFirst != 0
	r.Forked = h.flags&flagForked != 0
	r.Parent = Thread{h.parentPID, h.parentTID}
	r.ForkTick = Tick(h.forkTick)
	if h.flags&flagResync != 0 {
		r.Lost = h.lost
	}
}

// Drain hands every unread run to fold, each thread's runs in the order of
// writing, and frees the chunks that are done with. fold returns how many
// words it took; the rest is offered again by the next Drain, and so is
// everything the thread wrote later. Drain returns the number of words taken.
func (c *Channel) Drain(fold func(Run) int) (total int) {
	c.touch(func() { total = c.drain(fold) })
	return total
}

func (c *Channel) drain(fold func(Run) int) int {
	total := 0
	c.live = c.live[:0]
	// Chunks taken while the list is made wait for the next Drain: of two
	// such chunks of a thread, the list could miss the earlier one.
	numbered := atomic.LoadUint64(&c.head.head)
	latest := c.clock.Now() + clockSkew
	for i := range c.state {
		// The state is read before the words: a full chunk gets no more.
		if s := atomic.LoadUint32(&c.state[i]); s != stateFree {
			if seq := atomic.LoadUint64(&c.chunk(i).seq); seq != 0 && seq <= numbered && !c.implausible(i, latest) {
				c.live = append(c.live, liveChunk{seq, i, s, false})
			}
		}
	}
	c.live = c.forest.list(c.live, numbered)
	slices.SortFunc(c.live, func(a, b liveChunk) int { return cmp.Compare(a.seq, b.seq) })
	c.findEnded()
	for _, l := range c.live {
		h := c.headOf(l)
		thread := Thread{h.pid, h.tid}
		if l.tree && h.flags&flagPaths != 0 {
			c.drainPaths(l)
			continue
		}
		if c.mustWait(l, h) {
			continue
		}
		if l.tree {
			total += c.drainTree(l, fold)
			continue
		}
		from := c.next[l.index]
		words := c.words(l.index)[from:]
		n := slices.Index(words, 0)
		if n < 0 {
			n = len(words)
		}
		words = words[:n:n]
		if n > 0 && h.flags&flagSums != 0 {
			words = c.fromSums(words)
		}
		done := l.state == stateFull || c.gone[l.index]
		run := Run{
			Thread: thread,
			Start:  Tick(h.tick),
			Words:  words,
			Last:   done && from+n < chunkWords,
		}
		run.Cost = c.cost(h)
		run.Strands, run.Added = h.flags&flagFollow != 0, h.flags&flagAdded != 0
		if from == 0 {
			run.begin(h)
			run.Image = h.flags&flagImage != 0
			if run.Forked && h.flags&flagSums != 0 {
				run.ForkTick = c.forkTick(h.forkTick)
			}
		}
		taken := 0
		if n > 0 || done {
			taken = fold(run)
		}
		total += taken
		c.next[l.index] += taken
		if done && taken == n {
			c.free(l.index, thread)
		}
	}
	return total
}

// mustWait reports whether a chunk or tree comes behind another of its thread that
// is not finished. Where it is the first of a thread, the other is: exec, or the ids
// were given out again.
func (c *Channel) mustWait(l liveChunk, h *chunk) bool {
	s := source{Thread{h.pid, h.tid}, l.tree}
	if cur := c.current[s]; cur != 0 && cur != l.seq {
		if h.flags&flagFirst != 0 {
			c.markGone(cur)
		}
		return true
	}
	other := c.current[source{s.Thread, !l.tree}]
	begins := h.flags&(flagFirst|flagAdded) == flagFirst && c.current[s] == 0
	if begins && other != 0 && other < l.seq && !(l.tree && c.isAdded(other)) {
		c.markGone(other)
	}
	c.current[s] = l.seq
	return false
}

// isAdded reports whether the events of the chunk of a number are in a tree, too.
func (c *Channel) isAdded(seq uint64) bool {
	for _, l := range c.live {
		if l.seq == seq {
			return c.headOf(l).flags&flagAdded != 0
		}
	}
	return false
}

// free gives a chunk back to the writers.
func (c *Channel) free(i int, thread Thread) {
	delete(c.current, source{thread, false})
	released := atomic.LoadUint32(&c.state[i]) == stateFull && c.chunk(i).flags&flagTaken == 0
	clear(unsafe.Slice((*uint64)(unsafe.Pointer(c.chunk(i))), chunkHead/8+c.next[i]))
	c.next[i], c.gone[i] = 0, false
	if released {
		atomic.AddUint64(&c.head.full, ^uint64(0))
	}
	atomic.StoreUint32(&c.state[i], stateFree)
}

// markGone marks the chunk or tree of a number.
func (c *Channel) markGone(seq uint64) {
	for _, l := range c.live {
		if l.seq == seq {
			*c.isGone(l) = true
		}
	}
}

// headOf is the header of a chunk, or of a tree, which begins like one.
func (c *Channel) headOf(l liveChunk) *chunk {
	if l.tree {
		return &c.forest.at(l.index).head.head
	}
	return c.chunk(l.index)
}

// isGone is the mark of a chunk or tree whose writer has ended without
// releasing it.
func (c *Channel) isGone(l liveChunk) *bool {
	if l.tree {
		return &c.forest.gone[l.index]
	}
	return &c.gone[l.index]
}

// findEnded marks, ten times a second, the chunks whose writers were killed or
// ended without telling. Writers in another pid namespace have other numbers
// there than in our /proc: nothing can be said of them until the program ends.
func (c *Channel) findEnded() {
	now := Monotime()
	if now-c.lastSearch < Instant(100*time.Millisecond) {
		return
	}
	c.lastSearch = now
	for _, l := range c.live {
		if l.state != stateOwned || *c.isGone(l) {
			continue
		}
		h := c.headOf(l)
		if h.pidSpace == 0 || h.pidSpace != c.space {
			continue
		}
		path := fmt.Sprintf("/proc/%d/task/%d", h.pid, h.tid)
		if h.flags&flagPaths != 0 {
			path = fmt.Sprintf("/proc/%d", h.pid)
		}
		if err := unix.Access(path, unix.F_OK); err == unix.ENOENT {
			*c.isGone(l) = true
		}
	}
}

// Finish drains what the ended program left, whether released or not: call it
// once every writer is known to have ended.
func (c *Channel) Finish(fold func(Run) int) int {
	total := 0
	for i := range c.gone {
		c.gone[i] = true
	}
	c.forest.end()
	for {
		n := c.Drain(fold)
		total += n
		if n == 0 {
			c.touch(c.inspect)
			return total
		}
	}
}
