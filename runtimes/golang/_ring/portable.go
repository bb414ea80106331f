package ring

import (
	"internal/runtime/atomic"
	"syscall"
	"unsafe"
)

// Events without help from package runtime. The thread is asked of the kernel,
// with a system call for each event. The goroutine is known by the address of
// its g, and only when it records an event: a thread whose goroutine has left is
// taken to run it until another one records something.

const (
	codegreenSlotCount = 4096
	codegreenStrand    = 6 << 21
	codegreenWide      = 1 << 20
	codegreenRetry     = 512

	codegreenFirst  = 1
	codegreenResync = 2
	codegreenFollow = 32
	codegreenImage  = 64
)

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

// codegreenSlot is what a thread writes with. Its chunk is the thread's as long
// as it has the sequence number: of a thread that ended, cg takes it back.
type codegreenSlot struct {
	owner     uint32 // the thread's number in the kernel
	started   bool
	strand    uintptr
	next, end uintptr
	chunk     *codegreenChunk
	state     *uint32
	seq       uint64
	missed    uint64
}

var (
	codegreenSlots  [codegreenSlotCount]codegreenSlot
	codegreenHead   *codegreenHeader
	codegreenStates unsafe.Pointer
	codegreenChunks unsafe.Pointer
	codegreenPID    uint32
	codegreenSpace  uint64
	codegreenBegan  uint32
	codegreenOrphan uint32
	codegreenCost   uint32 // of an event, in sixteenths of a tick
	codegreenBuffer [64]uint64
)

// The processor that runs the goroutine is kept between these two: it is not
// preempted and stays on its thread.

//go:linkname codegreenPin runtime.procPin
func codegreenPin() int

//go:linkname codegreenUnpin runtime.procUnpin
func codegreenUnpin()

//go:linkname codegreenNanotime runtime.nanotime
func codegreenNanotime() int64

// codegreenG returns the address of the goroutine's g.
func codegreenG() uintptr

// codegreenExits has what 256 sites' calls end by. Each is made once.
type codegreenExits struct {
	known [256]uint32 // not 0: it is there
	exits [256]func()
}

var (
	codegreenAllExits  [codegreenSites / 256]*codegreenExits
	codegreenHaveExits [codegreenSites / 256]uint32 // 0: there is none, 1: somebody makes it, 2: it is there
)

// CodegreenEnter records that a call of a site begins. It returns what records that the
// call ends.
//
//go:norace
func CodegreenEnter(site uint32) (exit func()) {
	if site >= codegreenSites {
		return codegreenNoExit
	}
	codegreenEvent(site)
	if i := site / 256; atomic.Load(&codegreenHaveExits[i]) == 2 {
		if p := codegreenAllExits[i]; atomic.Load(&p.known[site%256]) != 0 {
			return p.exits[site%256]
		}
	}
	return codegreenMakeExit(site)
}

// codegreenMakeExit makes what a site's calls end by, and keeps it unless another goroutine
// makes room for it at the moment.
//
//go:norace
func codegreenMakeExit(site uint32) (exit func()) {
	exit = func() { codegreenEvent(1<<21 | site) }
	i := site / 256
	if atomic.Load(&codegreenHaveExits[i]) == 0 && atomic.Cas(&codegreenHaveExits[i], 0, 1) {
		codegreenAllExits[i] = new(codegreenExits)
		atomic.Store(&codegreenHaveExits[i], 2)
	}
	if atomic.Load(&codegreenHaveExits[i]) == 2 {
		p := codegreenAllExits[i]
		p.exits[site%256] = exit
		atomic.Store(&p.known[site%256], 1)
	}
	return exit
}

// codegreenNoExit ends a call of a file that the channel does not know.
func codegreenNoExit() {}

// codegreenPlot maps no trees: the events are words alone, which cg adds up.
func codegreenPlot(string, uint32) (unsafe.Pointer, func(uintptr) uintptr) { return nil, nil }

// codegreenTask is of use with the scheduler only: here a span is what its own
// goroutine does.
func codegreenTask(uint32) uint32 { return 0 }

//go:norace
func codegreenBegin(c *codegreenChannel) {
	codegreenStates, codegreenChunks = unsafe.Add(c.head, codegreenPage), c.chunks
	codegreenPID, codegreenSpace = c.pid, c.space
	h := (*codegreenHeader)(c.head)
	// The first chunk is numbered before any other thread can take one.
	codegreenPin()
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	if s := codegreenFind(uint32(tid)); s != nil {
		codegreenCalibrate(h)
		s.take(h)
	}
	codegreenUnpin()
	codegreenHead = h
}

// codegreenCalibrate measures what an event costs, by what codegreenEvent does
// for each: the least of some batches, since whatever comes between makes a
// batch longer.
//
//go:norace
func codegreenCalibrate(h *codegreenHeader) {
	const batches, batch = 16, uint64(len(codegreenBuffer))
	least := ^uint64(0)
	for range batches {
		begin := codegreenTick(h)
		for k := range codegreenBuffer {
			codegreenPin()
			tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
			codegreenFind(uint32(tid)).holds()
			atomic.Store64(&codegreenBuffer[k], codegreenTick(h)<<24|1)
			codegreenUnpin()
		}
		least = min(least, codegreenTick(h)-begin)
	}
	if c := least * 16 / batch; c < 1<<28 {
		codegreenCost = uint32(c)
	}
}

// codegreenFind returns the slot of a thread, nil when there are too many.
//
//go:norace
func codegreenFind(tid uint32) *codegreenSlot {
	for i := uint32(0); i < 64; i++ {
		if s := &codegreenSlots[(tid+i)%codegreenSlotCount]; atomic.Load(&s.owner) == tid {
			return s
		}
	}
	for i := uint32(0); i < 64; i++ {
		s := &codegreenSlots[(tid+i)%codegreenSlotCount]
		old := atomic.Load(&s.owner)
		if (old == 0 || s.chunk != nil && !s.holds()) && atomic.Cas(&s.owner, old, tid) {
			s.started, s.chunk, s.missed = false, nil, 0
			return s
		}
	}
	return nil
}

// holds reports whether the slot's chunk is still its own.
//
//go:norace
func (s *codegreenSlot) holds() bool {
	return s.chunk != nil && atomic.Load64(&s.chunk.seq) == s.seq && s.chunk.pid == codegreenPID &&
		s.chunk.tid == s.owner
}

//go:norace
func codegreenTick(h *codegreenHeader) uint64 {
	if h.clock == 1 {
		return codegreenCycles()
	}
	return uint64(codegreenNanotime())
}

// take gets the lowest free chunk, in place of the one that the slot has.
//
//go:norace
func (s *codegreenSlot) take(h *codegreenHeader) bool {
	if s.holds() {
		for s.next < s.end { // a chunk with room is that of a thread that ended
			s.store(codegreenTick(h)<<24 | codegreenStrand)
		}
		atomic.Xadd64(&h.full, 1)
		atomic.Store(s.state, 2)
	} else if s.chunk != nil {
		s.started = false // an earlier thread's
	}
	s.chunk = nil
	if atomic.Load64(&h.full) >= h.limit {
		return false
	}
	for i := uintptr(0); i < uintptr(h.chunks); i++ {
		state := (*uint32)(unsafe.Add(codegreenStates, i*4))
		if atomic.Load(state) != 0 || !atomic.Cas(state, 0, 1) {
			continue
		}
		s.state, s.seq = state, uint64(atomic.Xadd64(&h.head, 1))
		c := (*codegreenChunk)(unsafe.Add(codegreenChunks, i*uintptr(h.chunkBytes)))
		c.tick = codegreenTick(h)
		c.pid, c.tid, c.pidSpace = codegreenPID, s.owner, codegreenSpace
		c.flags, c.cost = codegreenFollow, codegreenCost
		if !s.started {
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
		atomic.Store64(&c.seq, s.seq)
		s.chunk, s.started, s.strand = c, true, 0
		s.next = uintptr(unsafe.Pointer(c)) + unsafe.Sizeof(codegreenChunk{})
		s.end = uintptr(unsafe.Pointer(c)) + uintptr(h.chunkBytes)
		return true
	}
	return false
}

//go:norace
func (s *codegreenSlot) store(word uint64) {
	atomic.Store64((*uint64)(unsafe.Pointer(s.next)), word)
	s.next += 8
}

// codegreenEvent writes an event, kind << 21 | site. It waits for cg as the
// writers in other languages do.
//
//go:norace
func codegreenEvent(bits uint32) {
	h := codegreenHead
	if h == nil || bits >= codegreenSites<<1 || atomic.Load(&codegreenOrphan) != 0 {
		return
	}
	var begin, nap int64
	for {
		codegreenPin()
		tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
		s := codegreenFind(uint32(tid))
		if s == nil {
			codegreenUnpin()
			atomic.Xadd64(&h.lost, 1)
			return
		}
		if s.holds() && s.end-s.next >= 24 || (s.missed%codegreenRetry == 0 || begin != 0) && s.take(h) {
			tick := codegreenTick(h)
			if g := codegreenG(); s.strand != g {
				s.strand = g
				s.store(tick<<24 | codegreenStrand | codegreenWide | uint64(g)&(codegreenWide-1))
				s.store(uint64(g)>>20<<24 | codegreenStrand | codegreenWide)
			}
			s.store(tick<<24 | uint64(bits))
			codegreenUnpin()
			return
		}
		if atomic.Load64(&h.full) == 0 && s.missed == 0 && s.take(h) {
			codegreenUnpin()
			continue
		}
		now := codegreenNanotime()
		if s.missed != 0 || atomic.Load64(&h.full) == 0 || begin != 0 && now-begin >= 10e9 {
			s.missed++
			codegreenUnpin()
			atomic.Xadd64(&h.lost, 1)
			return
		}
		codegreenUnpin()
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
