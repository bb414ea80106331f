// Package unwind finds the caller of a machine function by the section .eh_frame of its file.
//
// It takes that section and, for each frame, the registers and the memory of the stack, and gives
// the registers of the caller. The format is that of the Linux Standard Base Core Specification
// 5.0, part 10.6, and DWARF 5, part 6.4. Whatever stands in the section, an answer or an error
// comes in bounded time.
package unwind

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// ErrNone is of an address that no entry describes.
var ErrNone = errors.New("no frame description entry")

// errBad is of a section that breaks the format, or has what no compiler writes.
var errBad = errors.New("a frame description entry is broken")

// Table is the entries of a file by address.
type Table struct {
	section []byte
	address uint64 // of the section, as linked
	entries []entry
}

// entry is a frame description entry (FDE): addresses as linked.
type entry struct {
	start, end uint64
	program    []byte
	common     *common
}

// common is a common information entry (CIE).
type common struct {
	code      uint64
	data      int64
	returns   uint64 // the register (column) of the return address
	encoding  byte
	augmented bool
	signal    bool // its code is the return of a signal handler
	program   []byte
}

// Parse reads a section. What cannot be read of it is left out.
func Parse(section []byte, address uint64) *Table {
	t := &Table{section: section, address: address}
	known := map[uint64]*common{}
	for at := uint64(0); at+4 <= uint64(len(section)); {
		length := uint64(binary.LittleEndian.Uint32(section[at:]))
		body := at + 4
		if length == 0 || length == 0xffffffff || length < 4 || length > uint64(len(section))-body {
			break
		}
		end := body + length
		if pointer := uint64(binary.LittleEndian.Uint32(section[body:])); pointer != 0 && pointer <= body {
			t.describe(known, body-pointer, body+4, end)
		}
		at = end
	}
	slices.SortFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.start, b.start) })
	return t
}

// describe adds the entry of which the fields stand from one place to another.
func (t *Table) describe(known map[uint64]*common, of, from, to uint64) {
	c, ok := known[of]
	if !ok {
		c = t.common(of)
		known[of] = c
	}
	if c == nil {
		return
	}
	r := t.reader(from, to)
	start := r.pointer(c.encoding)
	size := r.pointer(c.encoding & 0x0f)
	if c.augmented {
		r.skip(r.unsigned())
	}
	if r.failed || size == 0 || start+size < start {
		return
	}
	t.entries = append(t.entries, entry{start: start, end: start + size, program: r.rest(), common: c})
}

// common reads the common information entry at a place, nil for none.
func (t *Table) common(at uint64) *common {
	head := t.reader(at, uint64(len(t.section)))
	length := head.number(4)
	if head.failed || length > uint64(len(t.section))-at-4 {
		return nil
	}
	r := t.reader(at+4, at+4+length)
	if id := r.number(4); id != 0 {
		return nil
	}
	version := r.number(1)
	augmentation := r.text()
	c := &common{}
	c.code, c.data = r.unsigned(), r.signed()
	if version == 1 {
		c.returns = r.number(1)
	} else {
		c.returns = r.unsigned()
	}
	if augmentation == "" {
		c.program = r.rest()
		return c.checked(r)
	}
	if augmentation[0] != 'z' {
		return nil
	}
	c.augmented = true
	end := r.unsigned()
	if end > uint64(len(r.bytes)-r.at) {
		return nil
	}
	end += uint64(r.at)
	for _, letter := range augmentation[1:] {
		switch letter {
		case 'R':
			c.encoding = byte(r.number(1))
		case 'P':
			r.pointer(byte(r.number(1)) &^ indirect)
		case 'L':
			r.number(1)
		case 'S':
			c.signal = true
		}
	}
	if r.failed || uint64(r.at) > end {
		return nil
	}
	r.at = int(end)
	c.program = r.rest()
	return c.checked(r)
}

func (c *common) checked(r *reader) *common {
	if r.failed || c.returns >= columns {
		return nil
	}
	return c
}

// find is the entry of an address, nil for none.
func (t *Table) find(pc uint64) *entry {
	n, _ := slices.BinarySearchFunc(t.entries, pc, func(e entry, pc uint64) int {
		if e.start <= pc {
			return -1
		}
		return 1
	})
	if n == 0 || t.entries[n-1].end <= pc {
		return nil
	}
	return &t.entries[n-1]
}

// Range is what the entry of an address describes, from start on and before end, as linked; false where there is none.
func (t *Table) Range(pc uint64) (start, end uint64, ok bool) {
	e := t.find(pc)
	if e == nil {
		return 0, 0, false
	}
	return e.start, e.end, true
}

func (t *Table) reader(from, to uint64) *reader {
	return &reader{bytes: t.section[from:to], address: t.address + from}
}

// The parts of the encoding of a pointer (Linux Standard Base, 10.5.1).
const (
	relative = 0x10 // to where it stands
	indirect = 0x80
)

// reader reads numbers one after another. After the end it gives zeros, and has failed.
type reader struct {
	bytes   []byte
	at      int
	address uint64 // of bytes, as linked
	failed  bool
}

func (r *reader) rest() []byte { return r.bytes[r.at:] }

func (r *reader) skip(n uint64) {
	if n > uint64(len(r.bytes)-r.at) {
		r.failed = true
		n = uint64(len(r.bytes) - r.at)
	}
	r.at += int(n)
}

// number reads a number of 1, 2, 4 or 8 bytes.
func (r *reader) number(size int) (n uint64) {
	if len(r.bytes)-r.at < size {
		r.failed = true
		r.at = len(r.bytes)
		return 0
	}
	for i := range size {
		n |= uint64(r.bytes[r.at+i]) << (8 * i)
	}
	r.at += size
	return n
}

// unsigned and signed read LEB128 (DWARF 5, 7.6).
func (r *reader) unsigned() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := r.number(1)
		if n |= b & 0x7f << min(shift, 63); b < 0x80 {
			return n
		}
	}
}

func (r *reader) signed() (n int64) {
	for shift := 0; ; {
		b := r.number(1)
		n |= int64(b&0x7f) << min(shift, 63)
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				n |= -1 << shift
			}
			return n
		}
	}
}

// longestText is more than an augmentation has.
const longestText = 16

func (r *reader) text() string {
	from := r.at
	for r.number(1) != 0 && r.at-from < longestText {
	}
	if r.failed {
		return ""
	}
	return string(r.bytes[from : r.at-1])
}

// pointer reads one in its encoding. Those that are not relative to where they stand are absolute.
func (r *reader) pointer(encoding byte) uint64 {
	here := r.address + uint64(r.at)
	var n uint64
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c:
		n = r.number(8)
	case 0x01:
		n = r.unsigned()
	case 0x02:
		n = r.number(2)
	case 0x03:
		n = r.number(4)
	case 0x09:
		n = uint64(r.signed())
	case 0x0a:
		n = uint64(int16(r.number(2)))
	case 0x0b:
		n = uint64(int32(r.number(4)))
	default:
		r.failed = true
	}
	switch encoding & 0xf0 {
	case 0:
	case relative:
		n += here
	default:
		r.failed = true
	}
	return n
}
