// Times of calls: how long those of each function took that were timed. FORMAT.md, "Times of calls", has
// the rules.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenWholeCall = 64  // what a call adds to a bin that stands for itself
	codegreenTimeBins  = 176 // of which each octave of ticks has four
	codegreenTimeless  = 1<<32 - 1
)

// codegreenTimes is how long calls of a function took on a thread. The writer's are burst, the latest in
// which one was drawn, and part, what those that were drawn in it added to bins.
type codegreenTimes struct {
	site, burst  uint32
	exact, drawn uint64
	squares      uint64
	least, most  uint64
	part, _      uint64
	bins         [codegreenTimeBins]uint64
}

const (
	_ = -(1472 - unsafe.Sizeof(codegreenTimes{}))
	_ = unsafe.Sizeof(codegreenTimes{}) - 1472
	_ = -(180 - unsafe.Offsetof(codegreenTree{}.timed))
)

// codegreenWhole is so many bytes in whole pages of the file.
func codegreenWhole(bytes uintptr) uintptr { return (bytes + codegreenPage - 1) &^ (codegreenPage - 1) }

// codegreenBeginTimes begins the times of a thread whose tree is new. Without memory it has none.
//
//go:nowritebarrierrec
func codegreenBeginTimes(s *codegreenSlot) {
	f := codegreenForest
	nodes := codegreenWhole(codegreenTreeHead + uintptr(f.nodes)/2)
	at := nodes + codegreenWhole(uintptr(f.nodes)*codegreenNodeBytes)
	s.times, s.rows = 0, 0
	if f.functions == 0 || at+uintptr(f.functions)*unsafe.Sizeof(codegreenTimes{}) > uintptr(f.bytes) {
		return
	}
	p, err := mmap(nil, 4*codegreenSites, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE, -1, 0)
	if err == 0 {
		s.times, s.rows = s.tree+at-unsafe.Sizeof(codegreenTimes{}), uintptr(p)
	}
}

// codegreenEndTimes gives the memory back.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenEndTimes(s *codegreenSlot) {
	if s.rows != 0 {
		munmap(unsafe.Pointer(s.rows), 4*codegreenSites)
	}
	s.times, s.rows = 0, 0
}

// codegreenTimed is 1 + the number of the times in which calls of a node are, codegreenTimeless where there are
// none. The node keeps it.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenTimed(s *codegreenSlot, n *codegreenNode, node uint32) uint32 {
	if n.site != 0 {
		return n.site
	}
	n.site = codegreenTimeless
	site := codegreenPath(codegreenCallOf(node)).site
	if s.times == 0 || site >= codegreenSites {
		return n.site
	}
	row := (*uint32)(unsafe.Pointer(s.rows + 4*uintptr(site)))
	if *row == 0 {
		t := codegreenTreeOf(s)
		if t.timed >= codegreenForest.functions {
			return n.site
		}
		*row = t.timed + 1
		c := codegreenTimesOf(s, *row)
		c.site, c.least = site, ^uint64(0)
		atomic.StoreRel(&t.timed, *row)
	}
	n.site = *row
	return n.site
}

//go:nosplit
//go:nowritebarrierrec
func codegreenTimesOf(s *codegreenSlot, row uint32) *codegreenTimes {
	return (*codegreenTimes)(unsafe.Pointer(s.times + uintptr(row)*unsafe.Sizeof(codegreenTimes{})))
}

// codegreenNote notes the time of a call of a node. Its weight is for how many calls it stands, in parts of
// codegreenWholeCall, and above 16 bits the number of its burst, 0 where it stands for itself.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenNote(s *codegreenSlot, n *codegreenNode, node uint32, took uint64) {
	row := codegreenTimed(s, n, node)
	if row == codegreenTimeless {
		return
	}
	c := codegreenTimesOf(s, row)
	weight, burst := uint64(codegreenWholeCall), uint32(0)
	if codegreenBudget != 0 {
		weight, burst = uint64(n.parent&0xffff), n.parent>>16
	}
	switch {
	case burst != 0:
		if c.burst != burst {
			c.burst, c.part = burst, 0
		}
		more := weight * (2*c.part + weight)
		if c.squares += more; c.squares < more {
			c.squares = ^uint64(0)
		}
		c.part += weight
		c.drawn++
	case weight != 0:
		c.exact++
	}
	c.bins[codegreenTimeBin(took)] += weight
	c.least, c.most = min(c.least, took), max(c.most, took)
}

// codegreenTimeBin is the bin of a time: what a floating-point number has of it in its exponent, and in the
// first two digits behind. Assembly has the same.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenTimeBin(took uint64) uint64 {
	if took < 4 {
		return took
	}
	f := float64(int64(took))
	return min(*(*uint64)(unsafe.Pointer(&f))>>50-4*1024, codegreenTimeBins-1)
}
