package laboratory

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// page is the memory that a program and the counters share. A worker has a cell for each function and each of its
// callers, the worker itself first:
//
//	worker 0: by the worker: f0 f1 ... | by f0: f0 f1 ... | by f1: ...
//	worker 1: ...
//
// A cell is two float64: the energy in nanojoules, and the processor time in nanoseconds. One thread writes a cell,
// and stores of 8 bytes are whole, so a reader sees each value as it was at some moment.
type page struct {
	functions, workers int
	bytes              []byte
	words              []uint64
	// What was counted so far, and with the power that the machine made of it; nil where that is what the program says.
	counted, weighed []float64
}

// weigh makes the page count what the machine makes of the power of what runs.
func (p *page) weigh(is bool) {
	if is {
		p.counted = make([]float64, len(p.words)/2)
		p.weighed = make([]float64, len(p.words)/2)
	}
}

// count takes what was used since it was last called, by workers who drew this part of the power that they say.
func (p *page) count(level func(worker int) float64) {
	if p.counted == nil {
		return
	}
	each := len(p.counted) / p.workers
	for w := range p.workers {
		part := level(w)
		for i := w * each; i < (w+1)*each; i++ {
			now := math.Float64frombits(atomic.LoadUint64(&p.words[2*i])) * 1e-9
			p.weighed[i] += part * (now - p.counted[i])
			p.counted[i] = now
		}
	}
}

// newPage makes the file of a page.
func newPage(path string, functions, workers int) (*page, error) {
	p := &page{functions: functions, workers: workers}
	size := workers * (functions + 1) * functions * 16
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("laboratory: %w", err)
	}
	p.bytes, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("laboratory: %s: mmap: %w", path, err)
	}
	p.words = unsafe.Slice((*uint64)(unsafe.Pointer(&p.bytes[0])), size/8)
	return p, nil
}

func (p *page) close() { _ = unix.Munmap(p.bytes) }

func (p *page) cell(worker, caller, function int) (joules, seconds float64) {
	at := ((worker*(p.functions+1)+caller+1)*p.functions + function) * 2
	joules = math.Float64frombits(atomic.LoadUint64(&p.words[at])) * 1e-9
	if p.weighed != nil {
		joules = p.weighed[at/2]
	}
	return joules, math.Float64frombits(atomic.LoadUint64(&p.words[at+1])) * 1e-9
}

// sums are the energy of each worker, and the processor time of all.
func (p *page) sums(joules []float64) (seconds float64) {
	for w := range p.workers {
		joules[w] = 0
		for caller := -1; caller < p.functions; caller++ {
			for f := range p.functions {
				e, s := p.cell(w, caller, f)
				joules[w] += e
				seconds += s
			}
		}
	}
	return seconds
}

// use is what functions used.
type use struct{ joules, seconds float64 }

// uses are what each function used itself, and with the functions that it called. No function is its own caller.
func (p *page) uses() (self, inclusive []use) {
	self, inclusive = make([]use, p.functions), make([]use, p.functions)
	for w := range p.workers {
		for caller := -1; caller < p.functions; caller++ {
			for f := range p.functions {
				e, s := p.cell(w, caller, f)
				self[f].joules += e
				self[f].seconds += s
				inclusive[f].joules += e
				inclusive[f].seconds += s
				if caller >= 0 {
					inclusive[caller].joules += e
					inclusive[caller].seconds += s
				}
			}
		}
	}
	return self, inclusive
}
