// Words of checkpoints: each event in a chunk of the channel, for files that show single
// calls, and where there are no trees.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenStrand = 6 << 21 // kind 6, site 0
	codegreenWide   = 1 << 20 // in the site of a strand word: another word follows
)

var (
	codegreenBegan  uint32 // the first chunk is taken
	codegreenBuffer [256]uint64
)

// codegreenCalibrateWords measures what an event costs that is a word alone: the least
// of some batches, since whatever comes between makes a batch longer.
func codegreenCalibrateWords() {
	const batches, batch = 16, uint64(len(codegreenBuffer))
	least := ^uint64(0)
	for range batches {
		begin := codegreenTick()
		for k := range codegreenBuffer {
			codegreenBuffer[k] = codegreenTick()<<24 | 1
		}
		least = min(least, codegreenTick()-begin)
	}
	if c := least * 16 / batch; c < 1<<28 {
		codegreenCost = uint32(c)
	}
}

// codegreenRelease leaves the slot's chunk to the reader.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenRelease(h *codegreenHeader, s *codegreenSlot) {
	if s.chunk != 0 {
		atomic.Xadd64(&h.full, 1)
		atomic.StoreRel((*uint32)(unsafe.Pointer(codegreenStates+uintptr(s.chunk-1)*4)), 2)
	}
	s.chunk, s.next, s.end = 0, 0, 0
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
		at := codegreenChunks + i*uintptr(h.chunkBytes)
		c := (*codegreenChunk)(unsafe.Pointer(at))
		flags := uint32(codegreenFollow)
		if s.wrote == 0 {
			flags |= codegreenFirst
		}
		if codegreenBegan == 0 {
			codegreenBegan = 1
			flags |= codegreenImage
		}
		if codegreenForest != nil {
			flags |= codegreenTwice
		}
		seq := uint64(atomic.Xadd64(&h.head, 1))
		codegreenFill(c, codegreenTick(), uint32(s.owner), flags, s.unwritten)
		atomic.Store64(&c.seq, seq)
		s.unwritten = 0
		s.wrote, s.chunk = 1, uint32(i)+1
		s.next = at + unsafe.Sizeof(codegreenChunk{})
		s.end = at + uintptr(h.chunkBytes)
		if s.strand != 0 { // a chunk begins on no goroutine
			codegreenSwitchWords(s, s.strand, c.tick)
		}
		return true
	}
	return false
}

// codegreenFill fills in the head of a chunk or a tree, but for its number.
//
//go:nowritebarrierrec
func codegreenFill(c *codegreenChunk, tick uint64, tid, flags, lost uint32) {
	c.tick = tick
	c.pid, c.tid, c.pidSpace = codegreenPID, tid, codegreenSpace
	if lost != 0 {
		flags |= codegreenResync
		c.lost = uint64(lost)
	}
	c.flags, c.cost = flags, codegreenCost
}

// codegreenSwitchWords says whose goroutine the next words are. There is room.
//
//go:nowritebarrierrec
func codegreenSwitchWords(s *codegreenSlot, goid, tick uint64) {
	if goid < codegreenWide {
		codegreenStore(s, tick<<24|codegreenStrand|goid)
		return
	}
	codegreenStore(s, tick<<24|codegreenStrand|codegreenWide|goid&(codegreenWide-1))
	codegreenStore(s, goid>>20<<24|codegreenStrand|codegreenWide)
}

//go:nosplit
//go:nowritebarrierrec
func codegreenStore(s *codegreenSlot, word uint64) {
	atomic.Store64((*uint64)(unsafe.Pointer(s.next)), word)
	s.next += 8
}
