package ring

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Spans that no source line makes, as the run of a test: the program itself
// gives them numbers, in the channel's table of files.

//go:linkname codegreenClock runtime.nanotime
func codegreenClock() int64

// CodegreenSpan returns a number for a span that begins about now, 0 without a
// channel. bench says that it is the run of a benchmark, which counts only if
// CodegreenMeasured is called for it.
//
//go:norace
func CodegreenSpan(file, name string, bench bool) uint32 {
	if codegreenTableOfFiles == nil || len(file)+len(name) > 1<<16 {
		return 0
	}
	lines := "T\t" + codegreenDecimal(uint64(codegreenClock())) + "\t0\t" + name
	if bench {
		lines = "T\t" + codegreenDecimal(uint64(codegreenClock())) + "\t1\t" + name
	}
	return codegreenNumber("\x00"+file+"\x00"+lines, 4)
}

// CodegreenSpanEnter begins a span on this goroutine and on those that it
// starts. It returns what CodegreenSpanExit takes.
//
//go:norace
func CodegreenSpanEnter(site uint32) (outer uint32, exit func()) {
	if site == 0 {
		return 0, nil
	}
	return codegreenTask(site), CodegreenEnter(site)
}

// CodegreenSpanExit ends a span.
//
//go:norace
func CodegreenSpanExit(site, outer uint32, exit func()) {
	if site != 0 {
		exit()
		codegreenTask(outer)
	}
}

// CodegreenMeasured reports how long a span took and how many iterations it had.
//
//go:norace
func CodegreenMeasured(site uint32, iterations, nanos int64) {
	if t := codegreenTable; t != nil && site != 0 {
		atomic.Store64(&t[site], uint64(iterations)&(1<<62-1))
		atomic.Store64(&t[site+1], uint64(nanos)&(1<<62-1))
	}
}

// CodegreenPause reports that a span waits for others to begin or end, and CodegreenContinue
// that it goes on. A span waits once at most.
//
//go:norace
func CodegreenPause(site uint32) {
	if t := codegreenTable; t != nil && site != 0 {
		atomic.Store64(&t[site+2], uint64(codegreenClock())&(1<<62-1))
	}
}

//go:norace
func CodegreenContinue(site uint32) {
	if t := codegreenTable; t != nil && site != 0 {
		atomic.Store64(&t[site+3], uint64(codegreenClock())&(1<<62-1))
	}
}

//go:norace
func codegreenDecimal(n uint64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// codegreenDigest continues a digest with a part.
//
//go:norace
func codegreenDigest(h uint64, part string) uint64 {
	const k = 0x9e3779b97f4a7c15
	h = (h ^ uint64(len(part))) * k
	h ^= h >> 32
	for len(part) > 0 {
		var b [8]byte
		n := copy(b[:], part)
		h = (h ^ *(*uint64)(unsafe.Pointer(&b))) * k
		h ^= h >> 32
		part = part[n:]
	}
	return h
}

// codegreenNumber gives out count numbers for names that nobody else has, and
// returns the first, 0 when there is none.
//
//go:norace
func codegreenNumber(names string, count uint64) uint32 {
	h := codegreenFirstPage
	size := uint64(8+len(names)+7) &^ 7
	key := max(1, codegreenDigest(0, names))
	for i := uint64(0); i < codegreenProbes; i++ {
		width := uint64(codegreenFiles)
		if i < 32 {
			width = 256 << (i / 8 * 2)
		}
		f := &codegreenTableOfFiles[(key+i)%width]
		if atomic.Load64(&f.key) != 0 {
			continue
		}
		if atomic.Load64(&h.named)+size > codegreenNames || atomic.Load64(&h.given)+count >= codegreenSites-1 {
			return 0
		}
		if !atomic.Cas64(&f.key, 0, key) {
			continue
		}
		at := uint64(atomic.Xadd64(&h.named, int64(size))) - size
		base := uint64(atomic.Xadd64(&h.given, int64(count))) - count
		if at+size > codegreenNames || base+count >= codegreenSites-1 {
			return 0
		}
		*(*uint64)(unsafe.Add(codegreenNameBytes, at)) = uint64(len(names))
		copy(unsafe.Slice((*byte)(unsafe.Add(codegreenNameBytes, at+8)), len(names)), names)
		atomic.Store64(&f.value, at/8<<42|base<<21|count)
		return uint32(base) + 1
	}
	return 0
}
