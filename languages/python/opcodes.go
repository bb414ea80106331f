package python

// opcodes is what the weaver knows of the instructions of one version of CPython
// (Include/opcode.h, Lib/opcode.py).
type opcodes struct {
	caches            [256]byte // units behind an instruction
	forward, backward [256]bool // jumps

	extendedArg, loadConst, negative, pop, swap, subscript, returnValue, returnConst, yieldValue, resume, send,
	endSend, yieldFrom, pushExc, copy, popExcept, reraise, intrinsic, withExcept, backAgain byte

	yieldHasDepth  bool // the operand of a yield is the number of blocks around it
	resumeHasDepth bool // the operand of a resume says that only one block is around it
}

// opcodesOf are those of a version, by the number with which its .pyc files begin.
var opcodesOf = map[string]*opcodes{
	"3495": { // 3.11
		caches: [256]byte{25: 4, 60: 1, 92: 1, 95: 4, 106: 4, 107: 2, 116: 5, 122: 1, 160: 10, 166: 1, 171: 4},
		forward: [256]bool{93: true, 110: true, 111: true, 112: true, 114: true, 115: true, 123: true, 128: true,
			129: true},
		backward:    [256]bool{134: true, 140: true, 173: true, 174: true, 175: true, 176: true},
		extendedArg: 144, loadConst: 100, negative: 11, pop: 1, swap: 99, subscript: 25, returnValue: 83,
		returnConst: 83, yieldValue: 86, resume: 151, send: 123, yieldFrom: 69, pushExc: 35, copy: 120, popExcept: 89,
		reraise: 119, withExcept: 49, backAgain: 134,
	},
	"3531": { // 3.12
		caches:      [256]byte{25: 1, 60: 1, 92: 1, 93: 1, 95: 4, 106: 9, 107: 1, 116: 4, 122: 1, 123: 1, 141: 1, 171: 3},
		forward:     [256]bool{93: true, 110: true, 114: true, 115: true, 123: true, 128: true, 129: true},
		backward:    [256]bool{134: true, 140: true},
		extendedArg: 144, loadConst: 100, negative: 11, pop: 1, swap: 99, subscript: 25, returnValue: 83,
		returnConst: 121, yieldValue: 150, resume: 151, send: 123, endSend: 5, yieldFrom: 69, pushExc: 35, copy: 120,
		popExcept: 89, reraise: 119, intrinsic: 173, withExcept: 49, backAgain: 134,
		yieldHasDepth: true,
	},
	"3571": { // 3.13
		caches: [256]byte{5: 1, 39: 1, 40: 3, 45: 1, 53: 3, 58: 1, 59: 1, 72: 1, 77: 1, 82: 9, 91: 4, 93: 1, 97: 1,
			98: 1, 99: 1, 100: 1, 104: 1, 108: 4, 117: 1},
		forward:     [256]bool{72: true, 79: true, 97: true, 98: true, 99: true, 100: true, 104: true},
		backward:    [256]bool{77: true, 78: true},
		extendedArg: 71, loadConst: 83, negative: 42, pop: 32, swap: 115, subscript: 5, returnValue: 36,
		returnConst: 103, yieldValue: 118, resume: 149, send: 104, endSend: 12, yieldFrom: 21, pushExc: 33, copy: 61,
		popExcept: 31, reraise: 102, intrinsic: 55, withExcept: 44, backAgain: 78,
		resumeHasDepth: true,
	},
}

// Operands.
const (
	resumeKind   = 3 // of a resume: where it stands
	resumeStart  = 0
	resumeYield  = 1
	resumeDepth1 = 4
	stopHandler  = 3 // of the intrinsic: turns a StopIteration that leaves a generator into a RuntimeError
)
