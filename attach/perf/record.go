package perf

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

var order = binary.LittleEndian

// Kind is what a record tells.
type Kind int

// The kinds of records that are read. Others are passed over.
const (
	Sample    Kind = iota // a thread ran there
	Map                   // a process mapped code
	Exec                  // a process runs another program
	Fork                  // a thread or a process was started
	Exit                  // a thread has ended
	Lost                  // there was no room for records
	Throttled             // the kernel took no samples for a while, as they took it too long
)

// Registers are those of a thread, as DWARF numbers them on x86-64 (System V ABI, figure 3.36): 7 is
// the stack pointer, 6 the frame pointer, 16 the address of the instruction.
type Registers [17]uint64

// Record is one of the kernel's (perf_event_open(2), MMAP layout).
type Record struct {
	Kind     Kind
	PID, TID uint32 // of a fork those of the new one
	Parent   uint32 // of a fork, the process
	At       checkpoint.Instant
	// Of a sample. Stack begins at the stack pointer.
	Registers Registers
	Stack     []byte
	Mapping   Mapping // of a Map
	Lost      uint64  // of a Lost: records

	by    uint32 // the thread whose event wrote it
	event uint64 // the number of that event, or of the one that it inherited
}

// Mapping is a part of a file in the memory of a process.
type Mapping struct {
	Start, End, Offset uint64
	Major, Minor       uint32 // of the file's device, and
	Inode              uint64 // its number there: 0 for no file
	Name               string // as the process names it
}

const (
	headerBytes = 8
	trailer     = 24 // process, thread, time and event behind a record that is no sample
)

// registersMask is the registers of a sample (arch/x86/include/uapi/asm/perf_regs.h): those of
// placed, in this order.
const registersMask = 0xff01ff

// placed is where DWARF has the registers of a sample.
var placed = [...]int{0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15}

// parse reads a record.
func parse(b []byte) (*Record, bool) {
	kind, misc := order.Uint32(b), order.Uint16(b[4:])
	b = b[headerBytes:]
	if kind == unix.PERF_RECORD_SAMPLE {
		return sample(b)
	}
	if len(b) < trailer {
		return nil, false
	}
	end := b[len(b)-trailer:]
	b = b[:len(b)-trailer]
	r := &Record{PID: order.Uint32(end), TID: order.Uint32(end[4:]), At: checkpoint.Instant(order.Uint64(end[8:])),
		event: order.Uint64(end[16:])}
	r.by = r.TID
	switch {
	case kind == unix.PERF_RECORD_MMAP2 && len(b) > 64 && misc&unix.PERF_RECORD_MISC_MMAP_BUILD_ID == 0:
		r.Kind, r.PID, r.TID = Map, order.Uint32(b), order.Uint32(b[4:])
		m := &r.Mapping
		m.Start, m.Offset = order.Uint64(b[8:]), order.Uint64(b[24:])
		m.End = m.Start + order.Uint64(b[16:])
		m.Major, m.Minor, m.Inode = order.Uint32(b[32:]), order.Uint32(b[36:]), order.Uint64(b[40:])
		name, _, _ := bytes.Cut(b[64:], []byte{0})
		m.Name = string(name)
	case kind == unix.PERF_RECORD_COMM && len(b) >= 8 && misc&unix.PERF_RECORD_MISC_COMM_EXEC != 0:
		r.Kind, r.PID, r.TID = Exec, order.Uint32(b), order.Uint32(b[4:])
	case (kind == unix.PERF_RECORD_FORK || kind == unix.PERF_RECORD_EXIT) && len(b) >= 24:
		r.Kind = Fork
		if kind == unix.PERF_RECORD_EXIT {
			r.Kind = Exit
		}
		r.PID, r.Parent, r.TID = order.Uint32(b), order.Uint32(b[4:]), order.Uint32(b[8:])
		r.At = checkpoint.Instant(order.Uint64(b[16:]))
	case kind == unix.PERF_RECORD_LOST && len(b) >= 16:
		r.Kind, r.Lost = Lost, order.Uint64(b[8:])
	case kind == unix.PERF_RECORD_THROTTLE:
		r.Kind = Throttled
	default:
		return nil, false
	}
	return r, true
}

// abi64 is PERF_SAMPLE_REGS_ABI_64. Programs of 32 bits are not read.
const abi64 = 2

// sample reads a sample. What has no registers of a program, such as a thread of the kernel, is none.
func sample(b []byte) (*Record, bool) {
	const fixed = 4 + 4 + 8 + 8 + 8 + 8*len(placed)
	if len(b) < fixed+8 || order.Uint64(b[24:]) != abi64 {
		return nil, false
	}
	r := &Record{Kind: Sample, PID: order.Uint32(b), TID: order.Uint32(b[4:]),
		At: checkpoint.Instant(order.Uint64(b[8:])), event: order.Uint64(b[16:])}
	r.by = r.TID
	for i, to := range placed {
		r.Registers[to] = order.Uint64(b[32+8*i:])
	}
	b = b[fixed:]
	size := order.Uint64(b)
	if b = b[8:]; size == 0 {
		return r, true
	}
	if size > uint64(len(b)) || uint64(len(b))-size < 8 {
		return nil, false
	}
	r.Stack = b[:min(size, order.Uint64(b[size:]))]
	return r, true
}
