package checkpoint

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The nodes that each tree has.
const (
	// RootNode is where a thread was when its tree began.
	RootNode = 0
	// SideNode is the parent of nodes for frames that were suspended and are
	// on no stack: no path.
	SideNode = 1
	// OtherNode is the parent of nodes that stand for all further calls of
	// their sites, when there are too many paths.
	OtherNode = 2
	// FirstNode is the first of the others.
	FirstNode = 3
)

// Node is a place in the calls of a thread: Kind Enter is a call path, of Site
// called from Parent. With another kind it is where the thread was after such
// an event of a frame that was open before the tree began.
type Node struct {
	Kind   Kind
	Site   SiteID
	Parent uint32
	Born   Tick // of the event that made it
}

// Part is what a node adds to a window.
type Part struct {
	Node  uint32
	Ticks uint64
	Calls uint64
	// Frames that left the thread there and that came back, and the sums of
	// the ticks at which they did, modulo 2^64.
	Outs, OutTicks, Backs, BackTicks uint64
}

// Window is what a thread did between two samples of energy. From Last to the
// begin of the next window it was in Top.
type Window struct {
	Epoch       Tick // the newest sample when it began
	Begin, Last Tick
	Top         uint32
	Parts       []Part
}

// Tally is what a thread has added up itself. The number of windows that were
// taken is what fold returns; those that are not taken are offered again.
type Tally struct {
	Tree  uint64 // its number
	Known bool   // nothing was open when it began
	// BaseTree and BaseNode are where the thread was when the tree began, that
	// fork(2) made in BaseNode of another tree; 0 where it is another's end.
	BaseTree uint64
	BaseNode uint32
	Nodes    []Node // all so far; the index is the number
	Windows  []Window
	// What came since the last Run: events, frames that ended with an outer
	// one, and suspended frames that ended without coming back.
	Events, Unwound, Closed uint64
}

// forest is the memory of the trees. A nil one has none.
type forest struct {
	fd      int
	mem     []byte
	state   []uint32
	gone    []bool
	reading []reading
	used    int // trees that were taken, in all
	refused int // of them, those that hold what no writer writes
	live    int // at the last look
}

// newForest makes the memory, sparse: what a thread uses of it is pages. nil where
// the system does not give as many addresses.
func newForest() *forest {
	if bits.UintSize < 64 {
		return nil
	}
	fd, err := unix.MemfdCreate("cg-trees", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil
	}
	size := page + trees*treeBytes
	if unix.Ftruncate(fd, int64(size)) != nil {
		unix.Close(fd)
		return nil
	}
	// Nobody can cut the memory below the reader.
	unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return nil
	}
	for i, v := range []uint32{treeMagic, treeVersion, trees, treeNodes, windows, uint32(treeBytes)} {
		*(*uint32)(unsafe.Pointer(&mem[4*i])) = v
	}
	return &forest{
		fd: fd, mem: mem, state: unsafe.Slice((*uint32)(unsafe.Pointer(&mem[64])), trees),
		gone: make([]bool, trees), reading: make([]reading, trees),
	}
}

func (f *forest) close() {
	if f == nil {
		return
	}
	unix.Munmap(f.mem)
	unix.Close(f.fd)
	f.mem, f.state = nil, nil
}

// list adds the trees in use to the chunks in use.
func (f *forest) list(to []liveChunk, numbered uint64) []liveChunk {
	if f == nil {
		return to
	}
	f.live = 0
	for i := range f.state {
		s := atomic.LoadUint32(&f.state[i])
		if s == stateFree {
			continue
		}
		f.live++
		if seq := atomic.LoadUint64(&f.at(i).head.seq); seq != 0 && seq <= numbered {
			to = append(to, liveChunk{seq, i, s, true})
			if r := &f.reading[i]; r.seq != seq {
				f.used++
				*r = reading{seq: seq}
			}
		}
	}
	return to
}

// end takes it that every writer has ended.
func (f *forest) end() {
	if f == nil {
		return
	}
	for i := range f.gone {
		f.gone[i] = true
	}
}

// drainTree hands what a thread has added up to fold.
func (c *Channel) drainTree(l liveChunk, fold func(Run) int) int {
	f := c.forest
	t, r := f.at(l.index), &f.reading[l.index]
	h := &t.head
	done := l.state == stateFull || f.gone[l.index]
	r.read = r.read && !done
	latest := c.clock.Now() + clockSkew
	if !r.refused && !r.done && !r.collect(t, Tick(atomic.LoadUint64(&c.head.epoch)), latest, done) {
		r.refused, r.done = true, true
		f.refused++
	}
	if len(r.queue) == 0 && !done {
		return 0
	}
	run := Run{Thread: Thread{h.pid, h.tid}, Start: Tick(h.tick), Last: done && r.done, Cost: c.cost(h)}
	if !r.offered {
		run.begin(h)
	}
	run.Tally = &Tally{
		Tree: r.seq, Known: h.flags&flagUnknown == 0, BaseTree: t.baseTree, BaseNode: t.baseNode,
		Nodes: r.nodes, Windows: r.queue,
	}
	events, unwound := atomic.LoadUint64(&t.events), atomic.LoadUint64(&t.unwound)
	closed := atomic.LoadUint64(&t.closed)
	run.Tally.Events, run.Tally.Unwound, run.Tally.Closed = events-r.events, unwound-r.unwound, closed-r.closed
	r.events, r.unwound, r.closed = events, unwound, closed
	n := len(r.queue)
	taken := min(n, fold(run))
	r.offered = r.offered || taken > 0
	r.queue = append(r.queue[:0:0], r.queue[taken:]...)
	if run.Last && taken == n {
		c.releaseTree(l, Thread{h.pid, h.tid})
	}
	return taken
}

// releaseTree gives a tree back to the writers.
func (c *Channel) releaseTree(l liveChunk, thread Thread) {
	f := c.forest
	t, r := f.at(l.index), &f.reading[l.index]
	if t.head.flags&flagBothWays == 0 {
		delete(c.current, thread)
	}
	n := min(int(t.count), treeNodes)
	if r.refused {
		n = treeNodes
	}
	clear(f.mem[page+l.index*treeBytes:][:page])
	clear(t.nodes[:n])
	for w := range t.ticks {
		clear(t.ticks[w][:n])
	}
	clear(t.span[:n])
	*r = reading{}
	f.gone[l.index] = false
	atomic.StoreUint32(&f.state[l.index], stateFree)
}
