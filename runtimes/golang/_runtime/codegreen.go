// Checkpoints, added to package runtime: the events of the program's functions
// and, from the scheduler, which goroutine each thread runs. FORMAT.md of
// package checkpoint is the specification of what is written.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenSlotCount = 4096
	codegreenPage      = 4096 // of the head of the channel
	codegreenMask      = codegreenSlotCount - 1
	codegreenSites     = 1 << 21
	codegreenStrand    = 6 << 21 // kind 6, site 0
	codegreenWide      = 1 << 20 // in the site of a strand word: another word follows
	codegreenRetry     = 512     // events that are lost before a chunk is asked for again
	codegreenEntered   = 1 << 31 // of g.codegreenBorn: the goroutine has entered its span

	codegreenFirst  = 1
	codegreenResync = 2
	codegreenFollow = 32 // strand words say whose goroutine the words are
	codegreenImage  = 64 // first chunk of the program
)

// codegreenSlot is what a thread writes with. It lies at the M's number, or a
// few behind where another thread has that one.
type codegreenSlot struct {
	owner  uint64  // the thread's number in the kernel, 0: free
	strand uint64  // goroutine that the reader takes the thread's words for
	next   uintptr // where the next word goes
	fast   uintptr // end of the chunk, 0 where a call reads the clock

	end     uintptr // of the chunk
	missed  uint64  // events since the last chunk
	index   uint32  // of the chunk, plus 1
	started uint32  // the thread has had a chunk
	_       uint64
}

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
}

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

var (
	codegreenSlots [codegreenSlotCount]codegreenSlot

	codegreenHead   *codegreenHeader // nil: nobody listens
	codegreenStates uintptr
	codegreenChunks uintptr
	codegreenPID    uint32
	codegreenSpace  uint64
	codegreenOrphan uint32 // the reader is gone
	codegreenBegan  uint32 // the first chunk is taken
	codegreenBuffer [256]uint64
	codegreenCost   uint32 // of an event, in sixteenths of a tick
	// codegreenNap sleeps as in a system call, and reports whether the reader
	// is still there.
	codegreenNap func(nanos int64) bool
)

// Written in assembly, which is never preempted: what is loaded of the thread
// holds until the word is stored.

//go:linkname codegreenEnter
func codegreenEnter(site uint32)

//go:linkname codegreenExit
func codegreenExit(site uint32)

func codegreenCycles() uint64

// codegreenBegin starts the writing to a channel that has been checked. head is its
// first page, which the states of the chunks follow.
//
//go:linkname codegreenBegin container/ring.codegreenBegin
func codegreenBegin(head, chunks unsafe.Pointer, pid uint32, space uint64, nap func(int64) bool) {
	codegreenStates, codegreenChunks = uintptr(head)+codegreenPage, uintptr(chunks)
	codegreenPID, codegreenSpace, codegreenNap = pid, space, nap
	codegreenCalibrate((*codegreenHeader)(head).clock == 1)
	// The first chunk is numbered before any other thread can take one.
	mp := acquirem()
	h := (*codegreenHeader)(head)
	if s := codegreenFind(mp); s != nil {
		codegreenTake(h, s)
	}
	atomicstorep(unsafe.Pointer(&codegreenHead), head)
	releasem(mp)
}

// codegreenCalibrate measures what an event costs, a call that reads the clock
// and stores: the least of some batches, since whatever comes between makes a
// batch longer.
func codegreenCalibrate(cycles bool) {
	const batches, batch = 16, uint64(len(codegreenBuffer))
	tick := func() uint64 {
		if cycles {
			return codegreenCycles()
		}
		return uint64(nanotime())
	}
	least := ^uint64(0)
	for range batches {
		begin := tick()
		for k := range codegreenBuffer {
			codegreenBuffer[k] = tick()<<24 | 1
		}
		least = min(least, tick()-begin)
	}
	if c := least * 16 / batch; c < 1<<28 {
		codegreenCost = uint32(c)
	}
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
			s.strand, s.next, s.fast, s.end, s.missed, s.index, s.started = 0, 0, 0, 0, 0, 0, 0
			return s
		}
	}
	return nil
}

func codegreenTick() uint64 {
	if codegreenHead != nil && codegreenHead.clock != 1 {
		return uint64(nanotime())
	}
	return codegreenCycles()
}

// codegreenRelease leaves the slot's chunk to the reader.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenRelease(h *codegreenHeader, s *codegreenSlot) {
	if s.index != 0 {
		atomic.Xadd64(&h.full, 1)
		atomic.StoreRel((*uint32)(unsafe.Pointer(codegreenStates+uintptr(s.index-1)*4)), 2)
	}
	s.index, s.next, s.end, s.fast, s.strand = 0, 0, 0, 0, 0
}

// codegreenTake gets the lowest free chunk for a thread, in place of the one it
// has. False when none is free, or when the reader is behind.
//
//go:nowritebarrierrec
func codegreenTake(h *codegreenHeader, s *codegreenSlot) bool {
	for s.next < s.end { // a chunk with room is that of a thread that ended
		codegreenStore(s, codegreenTick()<<24|codegreenStrand)
	}
	codegreenRelease(h, s)
	if atomic.Load64(&h.full) >= h.limit {
		return false
	}
	for i := uintptr(0); i < uintptr(h.chunks); i++ {
		state := (*uint32)(unsafe.Pointer(codegreenStates + i*4))
		if atomic.Load(state) != 0 || !atomic.Cas(state, 0, 1) {
			continue
		}
		seq := atomic.Xadd64(&h.head, 1)
		at := codegreenChunks + i*uintptr(h.chunkBytes)
		c := (*codegreenChunk)(unsafe.Pointer(at))
		if h.clock == 1 {
			c.tick = codegreenCycles()
		} else {
			c.tick = uint64(nanotime())
		}
		c.pid, c.tid, c.pidSpace = codegreenPID, uint32(s.owner), codegreenSpace
		c.flags, c.cost = codegreenFollow, codegreenCost
		if s.started == 0 {
			c.flags |= codegreenFirst
		}
		if codegreenBegan == 0 {
			codegreenBegan = 1
			c.flags |= codegreenImage
		}
		if s.missed != 0 {
			c.flags |= codegreenResync
			c.lost = s.missed
			s.missed = 0
		}
		atomic.Store64(&c.seq, seq)
		s.started, s.index = 1, uint32(i)+1
		s.next = at + unsafe.Sizeof(codegreenChunk{})
		s.end = at + uintptr(h.chunkBytes)
		if h.clock == 1 {
			s.fast = s.end
		}
		return true
	}
	return false
}

// codegreenSwitch records that a thread's next words are of a goroutine, and with
// its first words which span it is part of. There is room for three words.
//
//go:nowritebarrierrec
func codegreenSwitch(s *codegreenSlot, gp *g, tick uint64) {
	goid := gp.goid
	s.strand = goid
	if goid < codegreenWide {
		codegreenStore(s, tick<<24|codegreenStrand|goid)
	} else {
		codegreenStore(s, tick<<24|codegreenStrand|codegreenWide|goid&(codegreenWide-1))
		codegreenStore(s, goid>>20<<24|codegreenStrand|codegreenWide)
	}
	if site := gp.codegreenBorn; site != 0 && site < codegreenEntered {
		gp.codegreenBorn = site | codegreenEntered
		codegreenStore(s, tick<<24|uint64(site))
	}
}

//go:nosplit
//go:nowritebarrierrec
func codegreenStore(s *codegreenSlot, word uint64) {
	atomic.Store64((*uint64)(unsafe.Pointer(s.next)), word)
	s.next += 8
}

// codegreenSlowly writes an event, kind << 21 | site, where there is more to do
// than to store it: a new chunk, another goroutine, a clock that is read by a
// call. A reader that is behind is waited for as long as it lives, ten seconds
// at the most; without a chunk every event is counted as lost, so that whole
// stretches are lost and never single events unseen.
func codegreenSlowly(bits uint32) {
	h := codegreenHead
	if h == nil || bits&(codegreenSites-1) == 0 || bits >= codegreenSites<<1 || atomic.Load(&codegreenOrphan) != 0 {
		return
	}
	var begin, nap int64
	for {
		mp := acquirem()
		s := codegreenFind(mp)
		if s == nil {
			releasem(mp)
			atomic.Xadd64(&h.lost, 1)
			return
		}
		if s.index != 0 && s.end-s.next >= 32 || (s.missed%codegreenRetry == 0 || begin != 0) && codegreenTake(h, s) {
			tick := codegreenTick()
			if s.strand != mp.curg.goid {
				codegreenSwitch(s, mp.curg, tick)
			}
			codegreenStore(s, tick<<24|uint64(bits))
			releasem(mp)
			return
		}
		if atomic.Load64(&h.full) == 0 && s.missed == 0 && codegreenTake(h, s) {
			releasem(mp) // the reader has been there meanwhile
			continue
		}
		now := nanotime()
		wait := s.missed == 0 && atomic.Load64(&h.full) > 0 && (begin == 0 || now-begin < 10e9)
		if !wait {
			s.missed++
			atomic.Xadd64(&h.lost, 1)
			releasem(mp)
			return
		}
		releasem(mp)
		if begin == 0 {
			begin, nap = now, 20_000
			atomic.Xadd64(&h.waits, 1)
		}
		if !codegreenNap(nap) || atomic.Load64(&h.closed) != 0 {
			atomic.Store(&codegreenOrphan, 1)
			return
		}
		nap = min(2*nap, 1_000_000)
	}
}

// codegreenLeave is called by the scheduler when a thread stops to run a
// goroutine: what it does from here on is nobody's.
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
	if s.end-s.next < 8 && !codegreenTake(h, s) {
		s.strand = 0
		return
	}
	codegreenStore(s, codegreenTick()<<24|codegreenStrand)
	s.strand = 0
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
	if s.end-s.next < 24 && (s.missed != 0 || !codegreenTake(h, s)) {
		return // the next event does it
	}
	codegreenSwitch(s, gp, codegreenTick())
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
}

// codegreenGone is called, on the scheduler's stack, when a goroutine has ended.
func codegreenGone(gp *g) {
	site := gp.codegreenBorn
	gp.codegreenTask, gp.codegreenBorn = 0, 0
	h := codegreenHead
	if h == nil || site < codegreenEntered {
		return
	}
	s := codegreenFind(getg().m)
	if s == nil || s.end-s.next < 24 && (s.missed != 0 || !codegreenTake(h, s)) {
		return
	}
	tick := codegreenTick()
	if s.strand != gp.goid {
		codegreenSwitch(s, gp, tick)
	}
	codegreenStore(s, tick<<24|1<<21|uint64(site&^codegreenEntered))
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
			atomic.Store64(&s.owner, 0)
			return
		}
	}
}
