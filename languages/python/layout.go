package python

import (
	"encoding/binary"
	"slices"
)

// layout is code while it is written.
type layout struct {
	starts   []int32 // of what is in front of each instruction, in units; the end of the code last
	mains    []int32 // of each instruction
	prefixes []int32 // of each instruction
	code     []byte
	lines    []byte
	table    []byte

	location, units int // a location that is not written yet, and how many units have it
	line            int // the last one
	blocks          []block
}

// Blocks that the weaver adds, beside those of the program, which count from 0.
const (
	noBlock  = -1
	ourBlock = -2 // the function's body: an exception that leaves it meets the exit
	endBlock = -3 // the exit of an exception
)

// handler is how many units the exit of an exception has: up to its reraise, and behind it.
const handlerEnd = 3

// write makes the code with what is inserted.
func (w *splicer) write(scope codeScope) {
	guarded, exit := scope.guarded(), uint32(0)
	if guarded {
		// The first mark is that of the exit.
		exit = uint32(len(w.code.items[codeConsts].items) - len(w.marks))
		w.deepen()
	}
	w.place()
	w.emit(guarded, exit)
	size := little(w.code.raw[12:]) + 1
	if guarded {
		size = max(size, 6) // two exceptions with their places, the one before, and what is compared
	}
	w.code.raw = w.code.raw[:12] + string(binary.LittleEndian.AppendUint32(nil, size)) + w.code.raw[16:]
	w.code.items[codeBytes] = newBytes(w.out.code)
	w.code.items[codeLines] = newBytes(w.out.lines)
	w.code.items[codeExceptions] = newBytes(w.out.table)
}

// deepen notes in the instructions of a generator that one block more is around them.
func (w *splicer) deepen() {
	for i := range w.instrs {
		switch in := &w.instrs[i]; {
		case w.yieldHasDepth && in.op == w.yieldValue:
			in.arg++
		case w.resumeHasDepth && in.op == w.resume && in.arg&resumeKind != resumeStart:
			in.arg &^= resumeDepth1
		}
	}
}

// prefixesOf is how many prefixes an operand needs.
func prefixesOf(arg uint32) int32 {
	switch {
	case arg < 1<<8:
		return 0
	case arg < 1<<16:
		return 1
	case arg < 1<<24:
		return 2
	}
	return 3
}

// size is how many units an insert has.
func (w *splicer) size(n insert) int32 {
	if n.looks {
		return prefixesOf(n.constant) + 3 + int32(w.caches[w.subscript])
	}
	return prefixesOf(n.constant) + 3
}

// place finds where every instruction stands: longer jumps need prefixes, which make
// others longer.
func (w *splicer) place() {
	o, n := &w.out, len(w.instrs)
	o.starts = slices.Grow(o.starts[:0], n+1)[:n+1]
	o.mains = slices.Grow(o.mains[:0], n)[:n]
	o.prefixes = o.prefixes[:0]
	for i := range w.instrs {
		o.prefixes = append(o.prefixes, max(w.instrs[i].prefixes, prefixesOf(w.instrs[i].arg)))
	}
	for again := true; again; {
		at, k := int32(0), 0
		for i := range w.instrs {
			in := &w.instrs[i]
			o.starts[i] = at
			for ; k < len(w.inserts) && w.inserts[k].at == i && !w.inserts[k].after; k++ {
				at += w.size(w.inserts[k])
			}
			o.mains[i] = at
			at += w.units(i, in)
			for ; k < len(w.inserts) && w.inserts[k].at == i; k++ {
				at += w.size(w.inserts[k])
			}
		}
		o.starts[n] = at
		again = false
		for i := range w.instrs {
			in := &w.instrs[i]
			if in.target < 0 {
				continue
			}
			end, to := o.mains[i]+w.units(i, in), o.starts[in.target]
			if in.behind {
				to = o.mains[in.target] + w.units(in.target, &w.instrs[in.target])
			}
			in.arg = uint32(max(to-end, end-to))
			if p := prefixesOf(in.arg); p > o.prefixes[i] {
				o.prefixes[i] = p
				again = true
			}
		}
	}
}

// units is how many units an instruction has, as it is written.
func (w *splicer) units(i int, in *instr) int32 {
	return in.units - in.prefixes + w.out.prefixes[i]
}

// emit writes the instructions, the table of lines and that of exceptions.
func (w *splicer) emit(guarded bool, exit uint32) {
	o := &w.out
	o.code, o.lines, o.table, o.blocks = o.code[:0], o.lines[:0], o.table[:0], o.blocks[:0]
	o.location, o.units, o.line = -1, 0, int(w.code.line)
	k, inside := 0, false
	for i := range w.instrs {
		in := &w.instrs[i]
		around := in.block
		stops := around >= 0 && w.blocks[around].stops
		returns := in.op == w.returnValue || in.op == w.returnConst
		ownHandler := w.intrinsic != 0 && in.op == w.intrinsic && in.arg == stopHandler
		if guarded && inside && (around == noBlock || stops) && !returns && !ownHandler && !w.afterIntrinsic(i) {
			around = ourBlock
		}
		for ; k < len(w.inserts) && w.inserts[k].at == i && !w.inserts[k].after; k++ {
			w.event(w.inserts[k], in.location, around)
		}
		w.put(in.op, in.arg, w.out.prefixes[i], in.location, around)
		for ; k < len(w.inserts) && w.inserts[k].at == i; k++ {
			w.event(w.inserts[k], in.location, around)
			inside = true
		}
	}
	if guarded {
		w.handler(exit)
	}
	w.flushLocation()
	w.writeBlocks(guarded)
}

// afterIntrinsic reports whether an instruction is the end of the interpreter's own handler
// around a generator.
func (w *splicer) afterIntrinsic(i int) bool {
	return w.intrinsic != 0 && i > 0 && w.instrs[i-1].op == w.intrinsic && w.instrs[i-1].arg == stopHandler &&
		w.instrs[i].op == w.reraise
}

// event writes a checkpoint.
func (w *splicer) event(n insert, location, block int) {
	if n.nowhere {
		location = -1
	}
	w.put(w.loadConst, n.constant, prefixesOf(n.constant), location, block)
	if n.looks {
		w.put(w.swap, 2, 0, location, block)
		w.put(w.subscript, 0, 0, location, block)
		return
	}
	w.put(w.negative, 0, 0, location, block)
	w.put(w.pop, 0, 0, location, block)
}

// put writes an instruction.
func (w *splicer) put(op byte, arg uint32, prefixes int32, location, around int) {
	o := &w.out
	begin := int32(len(o.code) / 2)
	for p := prefixes; p > 0; p-- {
		o.code = append(o.code, w.extendedArg, byte(arg>>(8*p)))
	}
	o.code = append(o.code, op, byte(arg))
	for range w.caches[op] {
		o.code = append(o.code, 0, 0)
	}
	end := int32(len(o.code) / 2)
	w.note(location, int(end-begin))
	if around == noBlock {
		return
	}
	b := block{start: begin, end: end, target: around}
	if around >= 0 {
		old := w.blocks[around]
		b.target, b.depth, b.keeps = int(o.starts[old.target]), old.depth, old.keeps
	}
	if k := len(o.blocks) - 1; k >= 0 {
		last := &o.blocks[k]
		if last.end == begin && last.target == b.target && last.depth == b.depth && last.keeps == b.keeps {
			last.end = end
			return
		}
	}
	o.blocks = append(o.blocks, b)
}

// handler writes the exit of a function that an exception leaves: the checkpoint, and the
// exception goes on from where it came from, as behind a finally.
func (w *splicer) handler(exit uint32) {
	outer := noBlock
	for i := range w.blocks {
		if w.blocks[i].stops {
			outer = i
		}
	}
	w.out.starts[len(w.instrs)] = int32(len(w.out.code) / 2)
	w.put(w.pushExc, 0, 0, -1, endBlock)
	w.event(insert{constant: exit, nowhere: true}, -1, endBlock)
	w.put(w.reraise, 2, 0, -1, endBlock)
	w.put(w.copy, 3, 0, -1, outer)
	w.put(w.popExcept, 0, 0, -1, outer)
	w.put(w.reraise, 1, 0, -1, outer)
}

// note adds units of a location to the table of lines.
func (w *splicer) note(location, units int) {
	if location != w.out.location {
		w.flushLocation()
		w.out.location = location
	}
	w.out.units += units
}

func (w *splicer) flushLocation() {
	o := &w.out
	l := location{form: nowhere}
	if o.location >= 0 {
		l = w.locations[o.location]
	}
	for o.units > 0 {
		n := min(o.units, 8)
		o.units -= n
		o.lines = l.append(o.lines, n, o.line)
		if l.form != nowhere {
			o.line = l.line
		}
	}
}

// writeBlocks writes the table of exceptions.
func (w *splicer) writeBlocks(guarded bool) {
	o := &w.out
	handler := int(o.starts[len(w.instrs)])
	end := len(o.code)/2 - handlerEnd
	for _, b := range o.blocks {
		switch b.target {
		case ourBlock:
			b.target, b.depth, b.keeps = handler, 0, true
		case endBlock:
			b.target, b.depth, b.keeps = end, 2, true
		}
		keeps := 0
		if b.keeps {
			keeps = 1
		}
		first := byte(128)
		for _, n := range [4]int{int(b.start), int(b.end - b.start), b.target, b.depth<<1 | keeps} {
			for shift := 24; shift >= 0; shift -= 6 {
				if shift > 0 && n>>shift == 0 {
					continue
				}
				part := byte(n >> shift & 63)
				if shift > 0 {
					part |= 64
				}
				o.table = append(o.table, part|first)
				first = 0
			}
		}
	}
}
