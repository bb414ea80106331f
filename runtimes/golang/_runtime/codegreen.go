// Checkpoints, added to package runtime: the sums of the program's call paths
// and, from the scheduler, which goroutine each thread runs. FORMAT.md of
// package checkpoint is the specification of what is written.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenSlotCount = 4096
	codegreenMask      = codegreenSlotCount - 1
	codegreenShift     = 8    // of the size of a slot
	codegreenPage      = 4096 // of the head of the channel
	codegreenSites     = 1 << 21
	codegreenRetry     = 512     // events that are lost before a tree or a chunk is asked for again
	codegreenEntered   = 1 << 31 // of g.codegreenBorn: the goroutine has entered its span

	codegreenNothing = 0xffffff // in place of a node: there is none
	codegreenNowhere = 0xffffff // in place of a tree's node: the thread is on no goroutine

	codegreenFirst  = 1
	codegreenResync = 2
	codegreenFollow = 32  // strand words say whose goroutine the words are
	codegreenImage  = 64  // first of the program
	codegreenPathed = 128 // a tree of paths alone
	codegreenTwice  = 512 // what the words say is in a tree, too
)

// codegreenSlot is what a thread writes with. It lies at the M's number, or a
// few behind where another thread has that one. Assembly reads and writes the first
// half alone.
type codegreenSlot struct {
	fast    uint64  // goroutine whose events assembly adds up, 0: none
	last    uint64  // tick of the latest event
	epoch   uint64  // of the open window
	tree    uintptr // 0: none
	nodes   uintptr // of the tree
	ticks   uintptr // where in a node the ticks of the open window are
	touched uintptr // bytes of the open window
	long    uint64  // a call of so many ticks is long

	owner     uint64  // the thread's number in the kernel, 0: free
	strand    uint64  // goroutine that the thread runs, as far as was written
	window    uint64  // the open one
	next, end uintptr // of words in the chunk
	missed    uint32  // events since the last tree
	unwritten uint32  // events without a word since the last chunk
	index     uint32  // of the tree, plus 1
	chunk     uint32  // its index, plus 1
	had       uint8   // the thread has had a tree
	wrote     uint8   // and a chunk
	turns     uint32  // goroutines that came to the slot
	pace      codegreenPace
	times     uintptr // of calls, in the tree: where those of function 0 would be; 0: none
	rows      uintptr // by site: see codegreenTimed
	_         [2]uint64
}

const (
	_ = 1<<codegreenShift - unsafe.Sizeof(codegreenSlot{})
	_ = unsafe.Sizeof(codegreenSlot{}) - 1<<codegreenShift
)

// codegreenHeader is the channel's first page.
type codegreenHeader struct {
	magic, version, chunks, chunkBytes uint32
	clock, reader                      uint32
	closed                             uint64
	stamp, tick, nanos, rate           uint64
	head                               uint64
	_                                  [7]uint64
	lost, waits                        uint64
	full, limit                        uint64
	_                                  [12]uint64
	epoch                              uint64
	_                                  [7]uint64
	trees, words                       uint32
	long                               uint64
	budget, _                          uint32
}

// codegreenChunk is the head of a chunk, and of a tree.
type codegreenChunk struct {
	seq                  uint64
	tick                 uint64
	pid, tid             uint32
	flags, cost          uint32
	parentPID, parentTID uint32
	forkTick             uint64
	lost                 uint64
	pidSpace             uint64
}

// codegreenChannel is what package ring knows of the channel once it has checked it.
type codegreenChannel struct {
	head, chunks unsafe.Pointer // its first page, which the states of the chunks follow
	trees        unsafe.Pointer // head of the trees, nil: there are none
	tree         func(index uintptr) uintptr
	nap          func(nanos int64) bool
	space        uint64
	pid          uint32
}

var (
	codegreenSlots [codegreenSlotCount]codegreenSlot

	codegreenHead    *codegreenHeader // nil: nobody listens
	codegreenStates  uintptr
	codegreenChunks  uintptr
	codegreenForest  *codegreenTrees // nil: words alone
	codegreenWords   bool            // events are words, too
	codegreenByCycle bool            // the clock is the processor's counter
	codegreenPID     uint32
	codegreenSpace   uint64
	codegreenOrphan  uint32 // the reader is gone
	codegreenCost    uint32 // of an event, in sixteenths of a tick
	// codegreenBacks is an array, in memory that is no heap, of what the function values point to that
	// end calls: the address of their code. Each caller's node has one, so that a call keeps its caller
	// in its own frame, and nothing is allocated. Where events are words alone, each site has one.
	codegreenBacks uintptr
	// codegreenNap sleeps as in a system call, and reports whether the reader
	// is still there.
	codegreenNap func(nanos int64) bool
	// codegreenMap maps a tree, 0 where that fails.
	codegreenMap func(index uintptr) uintptr
	// codegreenRoom is how many times the stack of a goroutine may be as large as without
	// checkpoints, which make frames larger.
	codegreenRoom uintptr = 1
)

// Written in assembly, which is never preempted: what is loaded of the thread
// holds until the sums are stored.

// codegreenEnter takes the goroutine into a call of a site. It returns what takes it out
// again. Nothing is allocated for it.
//
//go:linkname codegreenEnter
func codegreenEnter(site uint32) (exit func())

// codegreenExit takes the goroutine out of a call, to the caller's node. It is called by the function
// values in codegreenBacks alone: the context register says by which.
func codegreenExit()

// codegreenExitWord is codegreenExit where events are words alone.
func codegreenExitWord()

// codegreenPlace takes the call that the goroutine is in to a place in its code, by its site, if it is
// a call of the function whose site is so many numbers before that one. Else nothing happens: what has no
// checkpoints of its own is its caller's, and so is the body of a loop over a function that has some.
//
//go:linkname codegreenPlace
func codegreenPlace(site, back uint32)

func codegreenCycles() uint64

// codegreenBegin starts the writing to a channel that has been checked.
//
//go:linkname codegreenBegin container/ring.codegreenBegin
func codegreenBegin(c *codegreenChannel) {
	h := (*codegreenHeader)(c.head)
	backs := uintptr(codegreenSites)
	if c.trees != nil {
		backs = uintptr((*codegreenTrees)(c.trees).nodes)
	}
	p, err := mmap(nil, 8*backs, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE, -1, 0)
	if err != 0 {
		return
	}
	codegreenBacks = uintptr(p)
	codegreenStates, codegreenChunks = uintptr(c.head)+codegreenPage, uintptr(c.chunks)
	codegreenPID, codegreenSpace = c.pid, c.space
	codegreenNap, codegreenMap = c.nap, c.tree
	codegreenByCycle = h.clock == 1
	codegreenForest = (*codegreenTrees)(c.trees)
	codegreenRoom = 2
	if codegreenForest != nil {
		codegreenBackTo(0)
	}
	mp := acquirem()
	if s := codegreenFind(mp); s != nil {
		if codegreenForest == nil {
			codegreenCalibrateWords()
		} else {
			codegreenPlant(h)
			if h.words == 0 && codegreenByCycle {
				codegreenBudget = uint64(h.budget)
			}
			codegreenCalibrate(h, s)
		}
		codegreenWords = codegreenForest == nil || h.words != 0
		if codegreenWords { // the first chunk is numbered before any other thread can take one
			codegreenTake(h, s)
		}
	}
	atomicstorep(unsafe.Pointer(&codegreenHead), c.head)
	releasem(mp)
}

// codegreenFind returns the slot of an M's thread, nil when there are too many.
func codegreenFind(mp *m) *codegreenSlot {
	home := uintptr(mp.id)
	for i := uintptr(0); i < 64; i++ {
		if s := &codegreenSlots[(home+i)&codegreenMask]; atomic.Load64(&s.owner) == mp.procid {
			return s
		}
	}
	for i := uintptr(0); i < 64; i++ {
		s := &codegreenSlots[(home+i)&codegreenMask]
		if atomic.Load64(&s.owner) == 0 && atomic.Cas64(&s.owner, 0, mp.procid) {
			*s = codegreenSlot{owner: mp.procid, turns: s.turns + 1}
			return s
		}
	}
	return nil
}

func codegreenTick() uint64 {
	if codegreenByCycle {
		return codegreenCycles()
	}
	return uint64(nanotime())
}

// codegreenPin keeps the goroutine on its thread, and returns what the thread writes
// with; nil, and the goroutine is free, where the event is lost. Where words are
// written there is room for one and what goes before it, or unwritten is not 0: a reader
// that is behind is waited for as long as it lives, ten seconds at the most.
// Then every word is counted as lost, so that whole stretches are lost and never
// single words unseen.
func codegreenPin(h *codegreenHeader) *codegreenSlot {
	begin, nap := int64(0), int64(20_000)
	for {
		mp := acquirem()
		s := codegreenFind(mp)
		if s == nil || codegreenForest != nil && s.tree == 0 && !codegreenGrow(h, s) {
			releasem(mp)
			atomic.Xadd64(&h.lost, 1)
			return nil
		}
		if !codegreenWords || s.chunk != 0 && s.end-s.next >= 32 ||
			(s.unwritten%codegreenRetry == 0 || begin != 0) && codegreenTake(h, s) {
			return s
		}
		if atomic.Load64(&h.full) == 0 && s.unwritten == 0 && codegreenTake(h, s) {
			return s // the reader has been there meanwhile
		}
		now := nanotime()
		if s.unwritten != 0 || atomic.Load64(&h.full) == 0 || begin != 0 && now-begin >= 10e9 {
			s.unwritten++
			atomic.Xadd64(&h.lost, 1)
			return s
		}
		releasem(mp)
		if begin == 0 {
			begin = now
			atomic.Xadd64(&h.waits, 1)
		}
		if !codegreenNap(nap) || atomic.Load64(&h.closed) != 0 {
			atomic.Store(&codegreenOrphan, 1)
			return nil
		}
		nap = min(2*nap, 1_000_000)
	}
}

// codegreenBackOf is the function value that ends a call of a caller's node, or of a site.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenBackOf(number uint32) (exit func()) {
	*(*uintptr)(unsafe.Pointer(&exit)) = codegreenBacks + uintptr(number)*8
	return exit
}

// codegreenBackTo makes the function value that ends a call of a caller's node.
//
//go:nowritebarrierrec
func codegreenBackTo(node uint32) {
	*(*uintptr)(unsafe.Pointer(codegreenBacks + uintptr(node)*8)) = abi.FuncPCABIInternal(codegreenExit)
}

// codegreenBackWord is the function value that ends a call that is in words alone.
func codegreenBackWord(site uint32) func() {
	at := (*uint64)(unsafe.Pointer(codegreenBacks + uintptr(site)*8))
	atomic.Store64(at, uint64(abi.FuncPCABIInternal(codegreenExitWord)))
	return codegreenBackOf(site)
}

// codegreenNoExit ends a call that has no event.
func codegreenNoExit() {}

// codegreenExitLost ends a call whose enter was lost.
func codegreenExitLost() {
	if h := codegreenHead; codegreenOrphan == 0 {
		atomic.Xadd64(&h.lost, 1)
	}
}

// codegreenEnterSlowly is codegreenEnter where there is more to do than to go on to a
// node that is known.
func codegreenEnterSlowly(site uint32) (exit func()) {
	h, gp := codegreenHead, getg()
	if h == nil || site == 0 || site >= codegreenSites || codegreenOrphan != 0 || gp != gp.m.curg {
		return codegreenNoExit
	}
	s := codegreenPin(h)
	if s == nil {
		return codegreenExitLost
	}
	tick := codegreenNow(h, s)
	if s.strand != gp.goid {
		codegreenSwitch(s, gp, tick)
	}
	if s.tree == 0 {
		exit = codegreenBackWord(site)
	} else {
		codegreenTreeOf(s).events++
		caller := gp.codegreenNode
		node := codegreenCall(s, caller, site, tick)
		if node == codegreenNothing {
			codegreenStand(s, tick, caller)
			releasem(gp.m)
			return codegreenNoExit
		}
		gp.codegreenNode = node
		n := codegreenNodeOf(s, node)
		n.begun, n.parent = tick, codegreenWholeCall
		codegreenStand(s, tick, node)
		exit = codegreenBackOf(caller)
	}
	if codegreenWords && s.unwritten == 0 {
		codegreenStore(s, tick<<24|uint64(site))
	}
	releasem(gp.m)
	return exit
}

// codegreenExitSlowly is codegreenExit where there is more to do than to go back.
func codegreenExitSlowly(caller uint32) {
	h, gp := codegreenHead, getg()
	if codegreenOrphan != 0 || gp != gp.m.curg {
		return
	}
	s := codegreenPin(h)
	if s == nil {
		gp.codegreenNode = caller
		return
	}
	tick := codegreenNow(h, s)
	if s.strand != gp.goid {
		codegreenSwitch(s, gp, tick)
	}
	codegreenTreeOf(s).events++
	node := gp.codegreenNode
	codegreenEnd(s, gp, node, tick)
	gp.codegreenNode = caller
	codegreenStand(s, tick, caller)
	if codegreenWords && s.unwritten == 0 {
		codegreenStore(s, tick<<24|1<<21|uint64(codegreenPath(codegreenCallOf(node)).site))
	}
	releasem(gp.m)
}

// codegreenExitWordSlowly writes that a call of a site ends, where events are words alone.
func codegreenExitWordSlowly(site uint32) {
	h, gp := codegreenHead, getg()
	if codegreenOrphan != 0 || gp != gp.m.curg {
		return
	}
	s := codegreenPin(h)
	if s == nil {
		return
	}
	tick := codegreenNow(h, s)
	if s.strand != gp.goid {
		codegreenSwitch(s, gp, tick)
	}
	if s.unwritten == 0 {
		codegreenStore(s, tick<<24|1<<21|uint64(site))
	}
	releasem(gp.m)
}

// codegreenSwitch records that a thread runs a goroutine from here on, and with
// its first time on a thread which span it is part of.
//
//go:nowritebarrierrec
func codegreenSwitch(s *codegreenSlot, gp *g, tick uint64) {
	if s.strand != 0 { // nobody has said that it left
		codegreenLeft(s, tick)
	}
	span := gp.codegreenBorn
	if span != 0 && span < codegreenEntered {
		gp.codegreenBorn = span | codegreenEntered
	} else {
		span = 0
	}
	gp.codegreenSince = tick
	s.strand = gp.goid
	s.turns++
	if s.tree != 0 {
		if gp.codegreenNode != 0 {
			codegreenAway(s, gp.codegreenNode, -1, tick)
		}
		if span != 0 {
			if node := codegreenCall(s, gp.codegreenNode, span, tick); node != codegreenNothing {
				gp.codegreenNode = node
			}
		}
		codegreenStand(s, tick, gp.codegreenNode)
		if codegreenByCycle && !codegreenWords {
			s.fast = gp.goid
			if codegreenBudget != 0 {
				gp.codegreenSlot = uintptr(unsafe.Pointer(s))
			}
		}
	}
	if codegreenWords && s.unwritten == 0 && s.end-s.next >= 24 {
		codegreenSwitchWords(s, gp.goid, tick)
		if span != 0 {
			codegreenStore(s, tick<<24|uint64(span))
		}
	}
}

// codegreenLeft records that a thread runs its goroutine no more.
//
//go:nowritebarrierrec
func codegreenLeft(s *codegreenSlot, tick uint64) {
	s.strand, s.fast = 0, 0
	if t := codegreenTreeOf(s); t != nil {
		if node := uint32(t.place & codegreenNowhere); node != 0 && node != codegreenNowhere {
			codegreenAway(s, node, 1, tick)
		}
		codegreenStand(s, tick, codegreenNowhere)
	}
}

// codegreenTurn is what a goroutine keeps that leaves a thread and could go on: the
// thread's slot, and which goroutine there it was. If it comes back and is still the
// last one there, its thread has had nothing else to do.
//
//go:nowritebarrierrec
func codegreenTurn(s *codegreenSlot) uint64 {
	slot := (uintptr(unsafe.Pointer(s)) - uintptr(unsafe.Pointer(&codegreenSlots))) >> codegreenShift
	return uint64(slot+1)<<32 | uint64(s.turns)
}

// codegreenLeave is called by the scheduler when a thread stops to run a
// goroutine: what it does from here on is nobody's.
//
//go:nowritebarrierrec
func codegreenLeave() {
	h := codegreenHead
	if h == nil {
		return
	}
	mp := getg().m
	s := &codegreenSlots[uintptr(mp.id)&codegreenMask]
	if s.owner != mp.procid {
		if s = codegreenFind(mp); s == nil {
			return
		}
	}
	if s.strand == 0 {
		return
	}
	switch gp := mp.curg; readgstatus(gp) &^ _Gscan {
	case _Grunnable, _Gpreempted:
		gp.codegreenTurn = codegreenTurn(s)
	}
	// A chunk is taken before the clock is read: none of its words is before its beginning.
	room := codegreenWords && s.unwritten == 0 && (s.end-s.next >= 8 || codegreenTake(h, s))
	tick := codegreenNow(h, s)
	codegreenLeft(s, tick)
	if room {
		codegreenStore(s, tick<<24|codegreenStrand)
	}
}

// codegreenArrive is called by the scheduler when a thread is about to run a
// goroutine.
//
//go:nowritebarrierrec
func codegreenArrive(gp *g) {
	h := codegreenHead
	if h == nil || codegreenOrphan != 0 {
		return
	}
	turn := gp.codegreenTurn
	gp.codegreenTurn = 0
	mp := getg().m
	s := &codegreenSlots[uintptr(mp.id)&codegreenMask]
	if s.owner != mp.procid {
		if s = codegreenFind(mp); s == nil {
			return
		}
	}
	if s.strand == gp.goid {
		return
	}
	if codegreenForest != nil && s.tree == 0 {
		inside := gp.codegreenNode != 0 || gp.codegreenBorn != 0 && gp.codegreenBorn < codegreenEntered
		if !inside || s.missed != 0 || !codegreenGrow(h, s) {
			return // the next event does it
		}
	}
	if codegreenWords && s.end-s.next < 24 && (s.unwritten != 0 || !codegreenTake(h, s)) && s.tree == 0 {
		return
	}
	stayed, since := turn == codegreenTurn(s), gp.codegreenSince
	tick := codegreenNow(h, s)
	codegreenSwitch(s, gp, tick)
	if stayed {
		gp.codegreenSince = since
	}
}

// codegreenTask says which span the goroutines are part of that this one starts.
//
//go:linkname codegreenTask
func codegreenTask(site uint32) (before uint32) {
	gp := getg()
	before, gp.codegreenTask = gp.codegreenTask, site
	return before
}

// codegreenSpawn is called when a goroutine is made.
//
//go:nowritebarrierrec
func codegreenSpawn(newg, callergp *g) {
	site := callergp.codegreenTask
	newg.codegreenTask, newg.codegreenBorn = site, site
	newg.codegreenNode, newg.codegreenTurn, newg.codegreenSlot = 0, 0, 0
}

// codegreenGone is called, on the scheduler's stack, when a goroutine has ended.
//
//go:nowritebarrierrec
func codegreenGone(gp *g) {
	span, node := gp.codegreenBorn, gp.codegreenNode
	gp.codegreenTask, gp.codegreenBorn, gp.codegreenNode = 0, 0, 0
	h := codegreenHead
	if h == nil || span < codegreenEntered && node == 0 {
		return
	}
	s := codegreenFind(getg().m)
	if s == nil || s.strand != gp.goid {
		return
	}
	tick := codegreenNow(h, s)
	if s.tree != 0 {
		codegreenStand(s, tick, 0)
	}
	if span >= codegreenEntered && codegreenWords && s.unwritten == 0 && s.end-s.next >= 8 {
		codegreenStore(s, tick<<24|1<<21|uint64(span&^codegreenEntered))
	}
}

// codegreenThreadEnd is called when the Go runtime leaves a thread.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenThreadEnd() {
	h := codegreenHead
	if h == nil {
		return
	}
	mp := getg().m
	for i := uintptr(0); i < 64; i++ {
		s := &codegreenSlots[(uintptr(mp.id)+i)&codegreenMask]
		if s.owner == mp.procid {
			codegreenRelease(h, s)
			codegreenFell(s)
			atomic.Store64(&s.owner, 0)
			return
		}
	}
}
