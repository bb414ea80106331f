package checkpoint

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of trees that FORMAT.md specifies.
const (
	treeMagic   = 0x52544743 // "CGTR"
	treeVersion = 1
	trees       = 512
	treeNodes   = 16384
	windows     = 8

	flagUnknown = 256 // what was open before the tree is not in it
	flagBeside  = 512 // for tests: its events are written, too
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

type treeWindow struct {
	epoch, begin, last uint64
	top, _             uint32
}

type treeNode struct {
	event, parent uint32
	_, _          uint32
	calls, born   uint64
}

type treeSpan struct{ outs, outTicks, backs, backTicks uint64 }

type tree struct {
	head     chunk
	baseTree uint64
	baseNode uint32
	_        uint32
	_        [6]uint64
	place    uint64 // 128
	events   uint64
	unwound  uint64
	closed   uint64
	spans    uint64
	window   uint64 // 168
	count    uint32
	_        [3]uint32
	taken    uint64 // 192
	_        [7]uint64
	windows  [windows]treeWindow // 256
	_        [page - 512]byte
	nodes    [treeNodes]treeNode // 4096
	ticks    [windows][treeNodes]uint64
	span     [treeNodes]treeSpan
}

const treeBytes = int(unsafe.Sizeof(tree{}))

// mostWindows is how many windows of a thread wait for their samples. The
// writer goes on with its latest when there are more.
const mostWindows = 1024

// reading is what the reader knows of a tree.
type reading struct {
	seq     uint64
	told    bool // its windows have begun to be taken
	nodes   []Node
	seen    [windows][]uint64
	calls   []uint64
	span    []treeSpan
	spans   uint64     // the number of what span is of
	copied  []treeSpan // what is newer, nil in newer where nothing is
	newer   []treeSpan
	window  uint64 // the next to be taken
	queue   []Window
	place   uint64 // of the open window when it was read
	read    bool   // the open window has been read at that place
	done    bool   // everything has been read
	refused bool   // it holds what no writer writes

	start, latest           Tick // what a time in it lies between
	events, unwound, closed uint64
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

// plant makes the memory, sparse: what a thread uses of it is pages. nil where
// the system does not give as many addresses.
func plant() *forest {
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

func (f *forest) at(i int) *tree {
	return (*tree)(unsafe.Pointer(&f.mem[page+i*treeBytes]))
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

// AddUp asks the threads to add up themselves from their next chunk on: those
// of runtimes that can.
func (c *Channel) AddUp() { atomic.StoreUint32(&c.head.addUp, 1) }

// TellAll keeps threads from adding up themselves: they wait for the reader
// instead. Call it before the program starts.
func (c *Channel) TellAll() { c.head.trees = 0 }

// Epoch is where the sampler writes the tick of its newest sample.
func (c *Channel) Epoch() *uint64 { return &c.head.epoch }

// Adders is how many threads have begun to add up themselves, and how many
// do now.
func (c *Channel) Adders() (all, now int) {
	if c.forest == nil {
		return 0, 0
	}
	return c.forest.used, c.forest.live
}

// Refused is how many trees hold what no writer writes; what they tell from
// there on is not read.
func (c *Channel) Refused() int {
	if c.forest == nil {
		return 0
	}
	return c.forest.refused
}

// drainTree hands what a thread has added up to fold.
func (c *Channel) drainTree(l liveChunk, fold func(Run) int) int {
	f := c.forest
	t, r := f.at(l.index), &f.reading[l.index]
	h := &t.head
	done := l.state == stateFull || f.gone[l.index]
	r.read = r.read && !done
	latest := c.clock.Now() + 1<<30 // more than the clocks of two processors differ by
	if !r.refused && !r.done && !r.collect(t, Tick(atomic.LoadUint64(&c.head.epoch)), latest, done) {
		r.refused, r.done = true, true
		f.refused++
	}
	if len(r.queue) == 0 && !done {
		return 0
	}
	run := Run{Thread: Thread{h.pid, h.tid}, Start: Tick(h.tick), Last: done && r.done, Cost: c.cost(h)}
	if !r.told {
		run.First = h.flags&flagFirst != 0
		run.Forked = h.flags&flagForked != 0
		run.Parent = Thread{h.parentPID, h.parentTID}
		run.ForkTick = Tick(h.forkTick)
		if h.flags&flagResync != 0 {
			run.Lost = h.lost
		}
	}
	run.Tally = &Tally{
		Tree: r.seq, Known: h.flags&flagUnknown == 0, BaseTree: t.baseTree, BaseNode: t.baseNode,
		Nodes: r.nodes, Windows: r.queue,
	}
	events, unwound, closed := atomic.LoadUint64(&t.events), atomic.LoadUint64(&t.unwound), atomic.LoadUint64(&t.closed)
	run.Tally.Events, run.Tally.Unwound, run.Tally.Closed = events-r.events, unwound-r.unwound, closed-r.closed
	r.events, r.unwound, r.closed = events, unwound, closed
	n := len(r.queue)
	taken := min(n, fold(run))
	r.told = r.told || taken > 0
	r.queue = append(r.queue[:0:0], r.queue[taken:]...)
	if run.Last && taken == n {
		c.fell(l, Thread{h.pid, h.tid})
	}
	return taken
}

// fell gives a tree back to the writers.
func (c *Channel) fell(l liveChunk, thread Thread) {
	f := c.forest
	t, r := f.at(l.index), &f.reading[l.index]
	if t.head.flags&flagBeside == 0 {
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

// collect takes the windows that are over out of the shared memory. It takes
// the open one, too, where the thread has told nothing since the sample of
// epoch, or has ended. It reports whether all was as writers write it.
func (r *reading) collect(t *tree, epoch, latest Tick, done bool) bool {
	if t.head.pid == 0 || t.head.tid == 0 || Tick(t.head.tick) > latest {
		return false
	}
	r.start, r.latest = Tick(t.head.tick), latest
	// A thread that tells something meanwhile begins a window, or had not heard
	// of the sample yet: look again.
	for range 100 {
		if again, ok := r.look(t, epoch, done); !again || !ok {
			return ok
		}
	}
	return true
}

// look is collect, but that it may have to be done again.
func (r *reading) look(t *tree, epoch Tick, done bool) (again, ok bool) {
	now := atomic.LoadUint64(&t.window)
	if now < r.window || now-r.window >= windows {
		return false, false
	}
	for ; r.window < now && len(r.queue) < mostWindows; r.window++ {
		w := &t.windows[r.window%windows]
		parts, ok := r.parts(t, r.window, func() bool { return true })
		if !ok || !r.add(Window{Tick(w.epoch), Tick(w.begin), Tick(w.last), w.top, parts}) {
			return false, false
		}
		r.read = false
		atomic.StoreUint64(&t.taken, r.window+1)
	}
	if r.window < now {
		return false, true // there is no more room in the queue
	}
	place := atomic.LoadUint64(&t.place)
	w := t.windows[now%windows]
	if !done && (Tick(w.epoch) >= epoch || r.read && r.place == place) {
		return false, true
	}
	same := func() bool {
		return done || atomic.LoadUint64(&t.place) == place && atomic.LoadUint64(&t.window) == now
	}
	parts, ok := r.parts(t, now, same)
	if !ok {
		return false, false
	}
	if parts == nil && !same() {
		return true, true
	}
	// The low 40 bits of a tick of the open window, which is short.
	last := w.begin
	if d := (place>>tickShift - w.begin) & (1<<40 - 1); d < 1<<39 {
		last += d
	}
	r.read, r.place = true, place
	r.done = done
	return false, r.add(Window{Tick(w.epoch), Tick(w.begin), Tick(last), uint32(place & (1<<tickShift - 1)), parts})
}

// add puts a window into the queue.
func (r *reading) add(w Window) bool {
	if int(w.Top) >= len(r.nodes) || w.Top == SideNode || w.Top == OtherNode {
		return false
	}
	if w.Begin < r.start || w.Begin > r.latest || w.Last > r.latest {
		return false
	}
	w.Last = max(w.Last, w.Begin)
	r.queue = append(r.queue, w)
	return true
}

// parts reads what nodes have added to a window since it was read last. It
// changes nothing, and gives nothing, where same is false afterwards. It
// reports whether all was as writers write it.
func (r *reading) parts(t *tree, window uint64, same func() bool) (parts []Part, ok bool) {
	spans := r.away(t) // before the count: its nodes are all there then
	n := int(atomic.LoadUint32(&t.count))
	if n < FirstNode || n > treeNodes || n < len(r.nodes) {
		return nil, false
	}
	for i := len(r.nodes); i < n; i++ {
		node := &t.nodes[i]
		k, s := Kind(node.event>>kindShift), SiteID(node.event)&SiteID(siteMask)
		if i < FirstNode {
			k, s = Enter, 0
		} else if s == 0 || k > Unwind || k == Resume || node.parent >= uint32(i) {
			return nil, false
		}
		r.nodes = append(r.nodes, Node{k, s, node.parent, Tick(node.born)})
		r.calls = append(r.calls, 0)
		r.span = append(r.span, treeSpan{})
	}
	slot := window % windows
	if seen := r.seen[slot]; len(seen) < n {
		r.seen[slot] = append(seen, make([]uint64, n-len(seen))...)
	}
	seen := r.seen[slot]
	for i := range n {
		p := Part{Node: uint32(i)}
		p.Ticks = atomic.LoadUint64(&t.ticks[slot][i]) - seen[i]
		p.Calls = atomic.LoadUint64(&t.nodes[i].calls) - r.calls[i]
		if i < len(r.newer) {
			s, was := r.newer[i], r.span[i]
			p.Outs, p.OutTicks = s.outs-was.outs, s.outTicks-was.outTicks
			p.Backs, p.BackTicks = s.backs-was.backs, s.backTicks-was.backTicks
		}
		if p != (Part{Node: uint32(i)}) {
			parts = append(parts, p)
		}
	}
	if !same() {
		return nil, true
	}
	for _, p := range parts {
		if p.Ticks > uint64(r.latest-r.start) || p.Calls > 1<<48 || p.Outs > 1<<48 || p.Backs > 1<<48 {
			return nil, false // or a sum that fell
		}
	}
	for _, p := range parts {
		seen[p.Node] += p.Ticks
		r.calls[p.Node] += p.Calls
		s := &r.span[p.Node]
		s.outs, s.outTicks = s.outs+p.Outs, s.outTicks+p.OutTicks
		s.backs, s.backTicks = s.backs+p.Backs, s.backTicks+p.BackTicks
	}
	r.spans = spans
	return parts, true
}

// away copies what the tree tells of frames that left and came back, if there is
// more of it and it is whole. It gives the number of the copy.
func (r *reading) away(t *tree) uint64 {
	r.newer = nil
	for range 100 {
		before := atomic.LoadUint64(&t.spans)
		if before == r.spans {
			break
		}
		if before%2 != 0 {
			continue
		}
		n := min(treeNodes, int(atomic.LoadUint32(&t.count)))
		r.copied = append(r.copied[:0], t.span[:n]...)
		if atomic.LoadUint64(&t.spans) == before {
			r.newer = r.copied
			return before
		}
	}
	return r.spans
}
