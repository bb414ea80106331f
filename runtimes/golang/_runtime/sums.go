// Sums of checkpoints: each thread has a tree, with the time and the calls of the
// paths that the program's tree has.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenWindows   = 8
	codegreenTreeHead  = 4096
	codegreenNodeBytes = 192
	codegreenRecords   = 64 // of long calls
	codegreenTickField = 64 // of a node
)

// codegreenTrees is the head of the trees.
type codegreenTrees struct {
	magic, version, trees, nodes, windows uint32
	functions                             uint32 // of each tree: whose times it has room for
	bytes                                 uint64
	_                                     [4]uint64
	states                                [1 << 16]uint32
}

// codegreenTree is the head of a tree.
type codegreenTree struct {
	chunk           codegreenChunk
	paths           uint32
	countedCost     uint32
	lasting, _      uint32
	_               [6]uint64
	place           uint64
	events          uint64
	unwound, closed uint64
	aways           uint64
	window          uint64
	count, timed    uint32
	longs           uint64
	taken           uint64
	busy, _         uint32 // the reader's: see codegreenRan
	_               [6]uint64
	windows         [codegreenWindows]codegreenWindow
	joined          uint64
	_               [7]uint64
	long            [codegreenRecords]codegreenRecord
	stretches       [codegreenWindows]uint64
}

type codegreenWindow struct {
	epoch, begin, last uint64
	top, counting      uint32
}

type codegreenRecord struct {
	enter, exit uint64
	node, _     uint32
	_           uint64
}

// codegreenNode is a node of a tree: a call, or a place in its code. The two children are sites, and above 32 bits
// their nodes, that the thread went to from there, or places, with codegreenPlaceNode. The program's tree
// has site and parent. A thread's has in their place where the times of the site's
// calls are (see codegreenTimed), and the weight of the latest timed call.
type codegreenNode struct {
	site, parent uint32
	child        uint64
	calls        uint64
	begun        uint64 // tick: of a path, when it was made; of a thread, when its latest timed call was entered
	away         int64
	awayTicks    uint64
	mean, short  uint32 // of the node's calls, and whether they are short: see codegreenTook
	other        uint64
	ticks        [codegreenWindows]uint64
	counted      [codegreenWindows]uint32
	drawn        [2]uint64
	drawnTicks   [2]uint64
}

const (
	_ = -(codegreenNodeBytes - unsafe.Sizeof(codegreenNode{}))
	_ = -(576 - unsafe.Offsetof(codegreenTree{}.long))
	_ = -(256 - unsafe.Offsetof(codegreenTree{}.windows))
	_ = -(128 - unsafe.Offsetof(codegreenTree{}.place))
	_ = -(200 - unsafe.Offsetof(codegreenTree{}.busy))
	_ = -(2624 - unsafe.Offsetof(codegreenTree{}.stretches))
	_ = -(codegreenDrawnAt - unsafe.Offsetof(codegreenNode{}.drawn))
)

//go:nosplit
//go:nowritebarrierrec
func codegreenTreeOf(s *codegreenSlot) *codegreenTree {
	return (*codegreenTree)(unsafe.Pointer(s.tree))
}

//go:nosplit
//go:nowritebarrierrec
func codegreenNodeOf(s *codegreenSlot, node uint32) *codegreenNode {
	return (*codegreenNode)(unsafe.Pointer(s.nodes + uintptr(node)*codegreenNodeBytes))
}

// codegreenCalibrate measures what an event costs, in a tree that nobody sees, and in
// words besides where they are written: the least of some batches, since whatever comes
// between makes a batch longer.
func codegreenCalibrate(h *codegreenHeader, s *codegreenSlot) {
	nodes := codegreenTreeHead + uintptr(codegreenForest.nodes)/2
	times := nodes + 8*codegreenNodeBytes
	size := times + unsafe.Sizeof(codegreenTimes{})
	p, err := mmap(nil, size, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE, -1, 0)
	if err != 0 {
		return
	}
	gp := getg()
	codegreenHead = h // its windows, and no other thread has anything to write yet
	codegreenOpen(h, s, uintptr(p), codegreenTick())
	s.times = uintptr(p) + times - unsafe.Sizeof(codegreenTimes{})
	(*codegreenTimes)(add(p, times)).least = ^uint64(0)
	codegreenNodeOf(s, 3).site = 1
	s.strand = gp.goid
	codegreenWords = h.words != 0
	if codegreenByCycle && !codegreenWords {
		s.fast = gp.goid
	}
	gp.codegreenSlot = 0
	codegreenNodeOf(s, 0).child = 3<<32 | 1
	codegreenCost = codegreenMeasure(s, 0)
	codegreenSure = codegreenPairs * 2 * uint64(codegreenCost) / 16
	if codegreenPaced() {
		gp.codegreenSlot = uintptr(unsafe.Pointer(s))
		codegreenNodeOf(s, 3).short = 1
		s.pace.mean = 0
		codegreenCost = codegreenMeasure(s, 0)
		codegreenNodeOf(s, 3).short = 1
		codegreenCounted = codegreenMeasure(s, 1<<30)
		codegreenSure = codegreenPairs * 2 * uint64(codegreenCost) / 16
	}
	gp.codegreenSlot, gp.codegreenNode = 0, 0
	codegreenWords = false
	*s = codegreenSlot{owner: s.owner}
	munmap(p, size)
}

// codegreenMeasure is what an event costs, in sixteenths of a tick.
func codegreenMeasure(s *codegreenSlot, pause uint32) uint32 {
	const batches, batch = 16, 100
	least := ^uint64(0)
	for range batches {
		s.next = uintptr(unsafe.Pointer(&codegreenBuffer))
		s.chunk, s.end = 1, s.next+unsafe.Sizeof(codegreenBuffer)
		s.pace.pause, s.pace.until = pause, 0
		begin := codegreenTick()
		for range batch {
			codegreenEnter(1)()
		}
		least = min(least, codegreenTick()-begin)
	}
	return uint32(min(least*16/(2*batch), 1<<28-1))
}

// codegreenClaim takes the lowest free tree, and returns where it is mapped and its index
// plus 1.
//
//go:nowritebarrierrec
func codegreenClaim() (at uintptr, index uint32) {
	f := codegreenForest
	for i := uint32(0); i < f.trees; i++ {
		state := &f.states[i]
		if atomic.Load(state) != 0 || !atomic.Cas(state, 0, 1) {
			continue
		}
		if at = codegreenMap(uintptr(i)); at == 0 {
			atomic.StoreRel(state, 0)
			return 0, 0
		}
		return at, i + 1
	}
	return 0, 0
}

// codegreenGrow takes a tree for a thread; false where the event is lost.
//
//go:nowritebarrierrec
func codegreenGrow(h *codegreenHeader, s *codegreenSlot) bool {
	if s.missed%codegreenRetry == 0 && (atomic.Load(&codegreenPathTree) != 0 || codegreenPlant(h)) {
		if at, index := codegreenClaim(); at != 0 {
			t := (*codegreenTree)(unsafe.Pointer(at))
			flags := uint32(0)
			if s.had == 0 {
				flags |= codegreenFirst
			}
			seq := uint64(atomic.Xadd64(&h.head, 1))
			tick := codegreenTick()
			codegreenFill(&t.chunk, tick, uint32(s.owner), flags, s.missed)
			t.paths, t.countedCost, t.lasting = codegreenPathTree, codegreenCounted, uint32(min(codegreenSure, 1<<31))
			codegreenOpen(h, s, at, tick)
			codegreenBeginTimes(s)
			s.index, s.had, s.missed, s.strand, s.fast = index, 1, 0, 0, 0
			atomic.Store64(&t.chunk.seq, seq)
			return true
		}
	}
	s.missed++
	return false
}

// codegreenOpen lets a slot write to a tree, which begins.
//
//go:nowritebarrierrec
func codegreenOpen(h *codegreenHeader, s *codegreenSlot, at uintptr, tick uint64) {
	t := (*codegreenTree)(unsafe.Pointer(at))
	s.tree, s.last, s.window = at, tick, 0
	s.pace = codegreenPace{mean: codegreenBurst * codegreenFirstGap, random: tick | 1, was: 1}
	s.nodes = at + codegreenTreeHead + uintptr(codegreenForest.nodes)/2
	if s.epoch = atomic.Load64(&h.epoch); s.epoch > tick {
		s.epoch = 0 // a sample came between
	}
	t.windows[0].epoch, t.windows[0].begin = s.epoch, tick
	codegreenWindowOpen(h, s)
	codegreenStand(s, tick, codegreenNowhere)
}

// codegreenWindowOpen lets a slot write to the window that is open.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenWindowOpen(h *codegreenHeader, s *codegreenSlot) {
	i := uintptr(s.window % codegreenWindows)
	s.ticks = codegreenTickField + i*8
	s.touched = s.tree + codegreenTreeHead + i*uintptr(codegreenForest.nodes/16)
	s.long = atomic.Load64(&h.long)
	codegreenPaceOf(s, i)
}

// codegreenFell leaves a thread's tree to the reader.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenFell(s *codegreenSlot) {
	if s.tree == 0 {
		return
	}
	if codegreenBudget != 0 { // what was counted ends
		node := uint32(codegreenTreeOf(s).place & codegreenNowhere)
		codegreenStand(s, codegreenAdd(codegreenHead, s, codegreenCycles(), true), node)
	}
	f, at := codegreenForest, s.tree
	codegreenEndTimes(s)
	s.tree, s.strand, s.fast = 0, 0, 0
	atomic.StoreRel(&f.states[s.index-1], 2)
	munmap(unsafe.Pointer(at), uintptr(f.bytes))
}

// codegreenNow reads the clock, and adds the time up to it.
//
//go:nowritebarrierrec
func codegreenNow(h *codegreenHeader, s *codegreenSlot) uint64 {
	tick := codegreenTick()
	if s.tree != 0 {
		tick = codegreenAdd(h, s, tick, true)
	}
	return tick
}

// codegreenAdd adds the time since the thread's last event to the node in which it
// was, and returns the tick. If a sample was taken meanwhile, its window ends, and the time
// is in neither: the reader knows where the thread was. While the reader has not taken the oldest
// window, there is no room for another, and the open one goes on. always says that the event
// is timed whatever the budget is.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenAdd(h *codegreenHeader, s *codegreenSlot, tick uint64, always bool) uint64 {
	t := codegreenTreeOf(s)
	codegreenSettle(s)
	if int64(tick-s.last) < 0 {
		tick = s.last
	}
	node := uint32(t.place & codegreenNowhere)
	if node != codegreenNowhere {
		codegreenTouch(s, node)
	}
	if epoch := atomic.Load64(&h.epoch); epoch != s.epoch && tick >= epoch {
		// Without room for a window the next event asks again.
		if s.window+1-atomic.Load64(&t.taken) < codegreenWindows {
			s.epoch = epoch
			w := &t.windows[s.window%codegreenWindows]
			w.last, w.top = s.last, node
			s.window++
			w = &t.windows[s.window%codegreenWindows]
			w.epoch, w.begin = epoch, tick
			codegreenWindowOpen(h, s)
			atomic.StoreRel64(&t.window, s.window)
			s.last = tick
			if p := &s.pace; codegreenBudget != 0 { // the interval is in no window
				p.was = 0
				if always || node == codegreenNowhere {
					p.was = 1
				}
				p.codegreenTurn()
			}
			return tick
		}
	}
	switch {
	case node == codegreenNowhere:
		s.pace.was = 1
	case codegreenBudget != 0:
		codegreenInterval(s, node, tick-s.last, always)
	default:
		*(*uint64)(unsafe.Pointer(s.nodes + uintptr(node)*codegreenNodeBytes + s.ticks)) += tick - s.last
	}
	s.last = tick
	return tick
}

// codegreenTouch says that a node changes in the open window.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenTouch(s *codegreenSlot, node uint32) {
	*(*uint8)(unsafe.Pointer(s.touched + uintptr(node>>4))) = 1
}

// codegreenStand says that the thread is in a node from here on.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenStand(s *codegreenSlot, tick uint64, node uint32) {
	s.pace.stamp = tick << 24
	atomic.StoreRel64(&codegreenTreeOf(s).place, tick<<24|uint64(node))
}

// codegreenAway counts that a goroutine left the thread in a node's call, 1, or came to it, -1.
//
//go:nowritebarrierrec
func codegreenAway(s *codegreenSlot, node uint32, by int64, tick uint64) {
	node = codegreenCallOf(node)
	t, n := codegreenTreeOf(s), codegreenNodeOf(s, node)
	codegreenTouch(s, node)
	aways := t.aways
	atomic.StoreRel64(&t.aways, aways+1)
	publicationBarrier()
	n.away += by
	n.awayTicks -= uint64(by) * tick
	atomic.StoreRel64(&t.aways, aways+2)
}

// codegreenEnd looks at how long a call of a node took that ends: it notes its time, whether it is
// short, and leaves a record where it is long enough. The thread's node has the tick at which it was
// entered; a place of the call has it while the call is there. That tick is the call's own unless the
// goroutine was away from the thread meanwhile. It is not known of a call whose enter was counted, nor of
// one within which recursion that is folded came to the same node.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenEnd(s *codegreenSlot, gp *g, node uint32, tick uint64) {
	n := codegreenNodeOf(s, node)
	begun := n.begun
	n.begun = 0
	if begun == 0 || begun < gp.codegreenSince {
		return
	}
	codegreenTook(n, tick>>8-begun>>8)
	took := tick - begun
	codegreenNote(s, n, node, took)
	if took < s.long {
		return
	}
	t := codegreenTreeOf(s)
	r := &t.long[t.longs%codegreenRecords]
	r.enter, r.exit, r.node = begun, tick, codegreenCallOf(node)
	atomic.StoreRel64(&t.longs, t.longs+1)
}
