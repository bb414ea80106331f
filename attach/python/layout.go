package python

import (
	"encoding/binary"
	"fmt"
)

// Layout is where the fields of an interpreter's structures lie, in bytes from their start.
// A field of 0 that no version has at 0 is absent.
type layout struct {
	interpreters uint64 // _PyRuntimeState: the first PyInterpreterState
	interpreter  struct{ next, threads uint64 }
	thread       struct {
		next, id uint64
		native   uint64 // the kernel's number; 0 before 3.11
		frame    uint64 // the innermost frame, or what points to it where viaC
	}
	viaC   bool   // 3.11, 3.12: a _PyCFrame lies between a thread and its frame
	cFrame uint64 // in _PyCFrame: the innermost frame
	frame  struct {
		code, previous uint64
		owner          uint64 // 0 before 3.11: frames are objects
	}
	code struct {
		filename, name, line uint64
		qualname             uint64 // 0 before 3.11
		instructions         uint64 // where the bytecode begins; 0 before 3.11
	}
	objectType uint64 // PyObject: its type
	text       struct {
		length, state uint64
		ascii, wide   uint64 // where the characters begin
	}
}

// varSize is where an object of a variable size has how many elements it has (PyVarObject: ob_size).
const varSize = 16

// frameSize is no more than an object of a frame has before its variables (PyFrameObject, before 3.11).
const frameSize = 352

// ownedByC is the owner of a frame that only marks a call from C (FRAME_OWNED_BY_CSTACK,
// Include/internal/pycore_frame.h).
const ownedByC = 3

// tables are the layouts of versions that do not tell their own, on processors with 64 bits.
// They are the same in all releases of a version. testdata/offsets.c prints them from the
// headers of an interpreter.
var tables = map[int]layout{
	8: frameObjects(), 9: frameObjects(), 10: frameObjects(), 11: python311(), 12: python312(),
}

func frameObjects() (l layout) {
	l.interpreters = 32
	l.interpreter.next, l.interpreter.threads = 0, 8
	l.thread.next, l.thread.id, l.thread.frame = 8, 176, 24
	l.frame.code, l.frame.previous = 32, 24
	l.code.filename, l.code.name, l.code.line = 104, 112, 40
	l.objectType = 8
	l.text.length, l.text.state, l.text.ascii, l.text.wide = 16, 32, 48, 72
	return l
}

func python311() (l layout) {
	l.interpreters = 40
	l.interpreter.next, l.interpreter.threads = 0, 16
	l.thread.next, l.thread.id, l.thread.native, l.thread.frame = 8, 152, 160, 56
	l.viaC, l.cFrame = true, 8
	l.frame.code, l.frame.previous, l.frame.owner = 32, 48, 69
	l.code.filename, l.code.name, l.code.qualname, l.code.line = 112, 120, 128, 72
	l.code.instructions = 184
	l.objectType = 8
	l.text.length, l.text.state, l.text.ascii, l.text.wide = 16, 32, 48, 72
	return l
}

func python312() (l layout) {
	l.interpreters = 40
	l.interpreter.next, l.interpreter.threads = 0, 72
	l.thread.next, l.thread.id, l.thread.native, l.thread.frame = 8, 136, 144, 56
	l.viaC, l.cFrame = true, 0
	l.frame.code, l.frame.previous, l.frame.owner = 0, 8, 70
	l.code.filename, l.code.name, l.code.qualname, l.code.line = 112, 120, 128, 68
	l.code.instructions = 192
	l.objectType = 8
	l.text.length, l.text.state, l.text.ascii, l.text.wide = 16, 32, 40, 56
	return l
}

// debugCookie begins _Py_DebugOffsets, which is where _PyRuntime begins from 3.13 on.
const debugCookie = "xdebugpy"

// The numbers of 3.13's _Py_DebugOffsets (Include/internal/pycore_runtime.h) by their
// place: 64-bit words from its start, the cookie being the first.
const (
	wordVersion      = 1
	wordInterpreters = 5
	wordNext         = 8
	wordThreads      = 9
	wordThreadNext   = 21
	wordThreadFrame  = 23
	wordThreadID     = 24
	wordNative       = 25
	wordPrevious     = 29
	wordExecutable   = 30
	wordOwner        = 33
	wordFilename     = 35
	wordName         = 36
	wordQualname     = 37
	wordLine         = 39
	wordInstructions = 43
	wordType         = 45
	wordTextState    = 68
	wordTextLength   = 69
	wordTextASCII    = 70
	debugWords       = 73
)

// words are those that are offsets, and mostOffset is more than one of a field is.
var words = []int{
	wordInterpreters, wordNext, wordThreads, wordThreadNext, wordThreadFrame, wordThreadID, wordNative, wordPrevious,
	wordExecutable, wordOwner, wordFilename, wordName, wordQualname, wordLine, wordInstructions, wordType,
	wordTextState, wordTextLength,
	wordTextASCII,
}

const mostOffset = 1 << 16

// wideExtra is what a text with other characters than ASCII has before them beside what one of
// ASCII has (PyCompactUnicodeObject: utf8_length and utf8).
const wideExtra = 16

// debugLayout reads the layout that an interpreter of 3.13 tells of itself.
func debugLayout(text []byte) (l layout, err error) {
	if len(text) < 8*debugWords || string(text[:8]) != debugCookie {
		return l, fmt.Errorf("it does not begin with %q", debugCookie)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(text[8*i:]) }
	if v := word(wordVersion); v>>16 != 0x030d {
		return l, fmt.Errorf("it is of Python %d.%d, and cg knows that of 3.13", v>>24&0xff, v>>16&0xff)
	}
	l.interpreters = word(wordInterpreters)
	l.interpreter.next, l.interpreter.threads = word(wordNext), word(wordThreads)
	l.thread.next, l.thread.id, l.thread.native = word(wordThreadNext), word(wordThreadID), word(wordNative)
	l.thread.frame = word(wordThreadFrame)
	l.frame.code, l.frame.previous, l.frame.owner = word(wordExecutable), word(wordPrevious), word(wordOwner)
	l.code.filename, l.code.name, l.code.qualname = word(wordFilename), word(wordName), word(wordQualname)
	l.code.line, l.code.instructions = word(wordLine), word(wordInstructions)
	l.objectType = word(wordType)
	l.text.length, l.text.state, l.text.ascii = word(wordTextLength), word(wordTextState), word(wordTextASCII)
	l.text.wide = l.text.ascii + wideExtra
	for _, i := range words {
		if v := word(i); v >= mostOffset {
			return l, fmt.Errorf("it holds an offset of %d bytes", v)
		}
	}
	return l, nil
}
