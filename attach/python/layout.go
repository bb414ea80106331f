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

// marks is the least owner of a frame that only marks a call from C, or where the interpreter was entered:
// FRAME_OWNED_BY_CSTACK up to 3.13 (Include/internal/pycore_frame.h), FRAME_OWNED_BY_INTERPRETER and what
// 3.14 has behind it (pycore_interpframe_structs.h).
const marks = 3

// tags are the bits of a reference that are none of its address: that of a frame to its code is a _PyStackRef from
// 3.14 on (Include/internal/pycore_stackref.h). Objects lie at multiples of 16.
const tags = 3

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

// words are the places of numbers in _Py_DebugOffsets (Include/internal/pycore_runtime.h of 3.13,
// pycore_debug_offsets.h since): 64-bit words from its start, the cookie being the first. Each version
// has its own, which its releases share.
type words struct {
	interpreters, next, threads                  int
	threadNext, threadFrame, threadID, native    int
	previous, executable, owner                  int
	filename, name, qualname, line, instructions int
	kind                                         int // PyObject: ob_type
	textState, textLength, textASCII             int
}

// wordVersion is the version's place, and debugWords is how many words the longest description has that cg reads.
const (
	wordVersion = 1
	debugWords  = 93
)

// described are the versions that describe themselves in a way that cg knows.
var described = map[int]words{
	13: {interpreters: 5, next: 8, threads: 9, threadNext: 21, threadFrame: 23, threadID: 24, native: 25, previous: 29,
		executable: 30, owner: 33, filename: 35, name: 36, qualname: 37, line: 39, instructions: 43, kind: 45,
		textState: 68, textLength: 69, textASCII: 70},
	14: {interpreters: 5, next: 8, threads: 9, threadNext: 24, threadFrame: 26, threadID: 27, native: 28, previous: 32,
		executable: 33, owner: 36, filename: 40, name: 41, qualname: 42, line: 44, instructions: 48, kind: 51,
		textState: 78, textLength: 79, textASCII: 80},
	15: {interpreters: 5, next: 8, threads: 9, threadNext: 24, threadFrame: 26, threadID: 30, native: 31, previous: 40,
		executable: 41, owner: 44, filename: 48, name: 49, qualname: 50, line: 52, instructions: 56, kind: 59,
		textState: 90, textLength: 91, textASCII: 92},
}

// into are the words and where each goes.
func (w *words) into(l *layout) map[int]*uint64 {
	return map[int]*uint64{
		w.interpreters: &l.interpreters, w.next: &l.interpreter.next, w.threads: &l.interpreter.threads,
		w.threadNext: &l.thread.next, w.threadFrame: &l.thread.frame, w.threadID: &l.thread.id,
		w.native:   &l.thread.native,
		w.previous: &l.frame.previous, w.executable: &l.frame.code, w.owner: &l.frame.owner,
		w.filename: &l.code.filename, w.name: &l.code.name, w.qualname: &l.code.qualname, w.line: &l.code.line,
		w.instructions: &l.code.instructions, w.kind: &l.objectType,
		w.textState: &l.text.state, w.textLength: &l.text.length, w.textASCII: &l.text.ascii,
	}
}

// mostOffset is more than the offset of a field is.
const mostOffset = 1 << 16

// wideExtra is what a text with other characters than ASCII has before them beside what one of
// ASCII has (PyCompactUnicodeObject: utf8_length and utf8).
const wideExtra = 16

// debugLayout reads the layout that an interpreter of 3.13 or later tells of itself.
func debugLayout(text []byte) (l layout, err error) {
	if len(text) < 8*debugWords || string(text[:8]) != debugCookie {
		return l, fmt.Errorf("it does not begin with %q", debugCookie)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(text[8*i:]) }
	v := word(wordVersion)
	w, ok := described[int(v>>16&0xff)]
	if !ok || v>>24 != 3 {
		return l, fmt.Errorf("it is of Python %d.%d, and cg knows those of 3.13 to 3.%d", v>>24&0xff, v>>16&0xff,
			newest)
	}
	for i, to := range w.into(&l) {
		if *to = word(i); *to >= mostOffset {
			return l, fmt.Errorf("it holds an offset of %d bytes", *to)
		}
	}
	l.text.wide = l.text.ascii + wideExtra
	return l, nil
}
