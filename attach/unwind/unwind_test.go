package unwind

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"cg/nemb/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m)) }

// linked is where the test's section is linked to be, code where its function is.
const linked, code = 0x2000, 0x1000

// section has one function of 0x40 bytes: push %rbp at 0, mov %rsp,%rbp at 1, sub at 4, and from
// 0x30 on an epilogue whose frame is told by an expression, rsp + 8.
func section() []byte {
	number := binary.LittleEndian.AppendUint32
	common := append(number(nil, 0), 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b) // data -8, returns 16, pcrel sdata4
	common = append(common, 0x0c, 7, 8, 0x90, 1)                           // def_cfa rsp+8; ra at cfa-8
	b := append(number(nil, uint32(len(common))), common...)
	here := len(b)
	at := uint32(linked + here + 8)
	entry := number(nil, uint32(here+4))
	entry = number(entry, uint32(0x100000000+code-int64(at)))
	entry = append(number(entry, 0x40), 0)
	entry = append(entry,
		0x41, 0x0e, 16, 0x86, 2, // at 1: cfa rsp+16, rbp at cfa-16
		0x43, 0x0d, 6, // at 4: cfa rbp+16
		0x02, 0x2c, 0x0a, 0x0f, 2, 0x77, 8, 0xc6, // at 0x30: remember; cfa is rsp+8; rbp is the caller's
		0x41, 0x0b) // at 0x31: as before
	return append(append(number(b, uint32(len(entry))), entry...), 0, 0, 0, 0)
}

func TestStep(t *testing.T) {
	table := Parse(section(), linked)
	const bias, top = 0x500000, 0x7000
	stack := map[uint64]uint64{top: 0x9000, top + 8: bias + 0x1234, top - 32: 1}
	memory := func(at uint64) (uint64, bool) { v, ok := stack[at]; return v, ok }
	for _, test := range []struct {
		name            string
		offset          uint64
		stack, frame    uint64 // the pointers
		callerPointer   uint64
		wantFramePointr uint64
	}{
		{"at the start", 0, top + 8, 0x9000, top + 16, 0x9000},
		{"behind push", 1, top, 0x9000, top + 16, 0x9000},
		{"in the body", 4, top - 32, top, top + 16, 0x9000},
		{"in the epilogue", 0x30, top + 8, 0x9000, top + 16, 0x9000},
		{"behind it", 0x31, top - 32, top, top + 16, 0x9000},
	} {
		f := Frame{Exact: true}
		f.Registers[Address] = bias + code + test.offset
		f.Registers[StackPointer], f.Registers[FramePointer] = test.stack, test.frame
		more, err := table.Step(&f, bias, memory)
		if err != nil || !more || f.Registers[Address] != bias+0x1234 || f.Exact ||
			f.Registers[StackPointer] != test.callerPointer || f.Registers[FramePointer] != test.wantFramePointr {
			t.Errorf("%s: %v, %v, %x", test.name, more, err, f.Registers)
		}
	}
	f := Frame{Exact: true}
	f.Registers[Address] = bias + code + 0x40
	if _, err := table.Step(&f, bias, memory); !errors.Is(err, ErrNone) {
		t.Errorf("behind the function: %v", err)
	}
	f.Registers[Address], f.Registers[StackPointer] = bias+code, 0
	if more, err := table.Step(&f, bias, memory); more || err == nil {
		t.Errorf("a stack that is not there: %v, %v", more, err)
	}
}

// Whatever stands in a section, steps end, and none goes down the stack.
func FuzzStep(f *testing.F) {
	f.Add(section(), uint64(code+4))
	f.Add(bytes.Replace(section(), []byte{0x0a}, []byte{0x0b}, 1), uint64(code+0x30))
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		table := Parse(b, linked)
		frame := Frame{Exact: true}
		frame.Registers[Address], frame.Registers[StackPointer] = pc, 1<<20
		memory := func(at uint64) (uint64, bool) { return pc + at&0xff, at>>20 < 16 }
		for range 64 {
			before := frame
			if more, err := table.Step(&frame, 0, memory); !more || err != nil {
				return
			}
			if !frame.Exact && frame.Registers[StackPointer] <= before.Registers[StackPointer] {
				t.Fatalf("%x, then %x", before.Registers, frame.Registers)
			}
		}
	})
}
