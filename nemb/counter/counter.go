// Package counter reads counters of energy behind file descriptors, as the sampler's
// thread does in C, and tells the energy between two of their readings (Unwrap), also where
// they start over. It opens no files and knows no sensor.
package counter

// #cgo CFLAGS: -O2 -Wall
// #include "counter.h"
import "C"

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counter is one energy counter behind a file descriptor. What it shows,
// masked and times scale, is microjoules. It is laid out as the struct cg_counter
// of counter.h, so that C reads a slice of them.
type Counter struct {
	FD    int32
	Form  Form
	At    uint64  // Word: offset in the file; Group: index in the group
	Mask  uint64  // of the binary forms
	Scale float64 // of the binary forms
}

// Both are of one size, or this does not compile.
var (
	_ [unsafe.Sizeof(Counter{}) - C.sizeof_struct_cg_counter]byte
	_ [C.sizeof_struct_cg_counter - unsafe.Sizeof(Counter{})]byte
)

// Form is what reading a counter gives.
type Form int32

const (
	Text      Form = C.CG_TEXT  // a decimal number of microjoules (sysfs)
	Word      Form = C.CG_WORD  // a word of 64 bits at an offset (/dev/cpu/N/msr)
	Group     Form = C.CG_GROUP // perf events, their number first (PERF_FORMAT_GROUP)
	Elsewhere Form = C.CG_NONE  // not read: somebody else does
)

// GroupMost is the largest number of events in one group.
const GroupMost = C.CG_GROUP_MOST

// ReadAll reads as the sampler's thread does, once. failed is the index
// of the first counter that could not be read, -1 for none. at tells meanwhile
// which one it is at.
func ReadAll(counters []Counter, dst []Energy, at *int32) (failed int) {
	words := make([]Energy, len(counters)+1)
	if len(counters) > 0 {
		C.cg_read((*C.struct_cg_counter)(unsafe.Pointer(&counters[0])), C.int(len(counters)),
			(*C.uint64_t)(unsafe.Pointer(&words[0])), (*C.int32_t)(at))
	}
	for i := range counters {
		if words[i] == Unread {
			return i
		}
		dst[i] = words[i]
	}
	return -1
}

// Read reads the counter alone.
func (c Counter) Read() (Energy, error) {
	var e [1]Energy
	if ReadAll([]Counter{c}, e[:], new(int32)) < 0 {
		return e[0], nil
	}
	return 0, c.Why()
}

// Why tells why the counter cannot be read, by reading it once more.
func (c Counter) Why() error {
	var b [(1 + GroupMost) * 8]byte
	var n int
	var err error
	switch c.Form {
	case Group:
		n, err = unix.Read(int(c.FD), b[:])
	case Word:
		n, err = unix.Pread(int(c.FD), b[:8], int64(c.At))
	default:
		n, err = unix.Pread(int(c.FD), b[:], 0)
	}
	switch {
	case err != nil:
		return err
	case c.Form == Text:
		return fmt.Errorf("reads %q: want a decimal number of microjoules", b[:min(n, 40)])
	}
	return fmt.Errorf("reads %d bytes: want a counter of 64 bits", n)
}
