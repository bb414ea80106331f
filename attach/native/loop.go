package native

import (
	"debug/elf"
	"encoding/binary"
	"slices"
)

// evalLoop is the function of CPython that executes bytecode.
const evalLoop = "_PyEval_EvalFrameDefault"

// mostLoop is more bytes than the loop has.
const mostLoop = 1 << 20

// findLoop gives the loop's other parts its name. GCC may put a part of a function behind all functions
// (-freorder-blocks-and-partition). That part has a symbol of its own, which ends in .cold. A stripped file lacks
// it. In Debian's Python 3.14 it is most of the loop. Between the parts are jumps that no two functions have: into
// the middle of what another entry of .eh_frame describes.
func (i *image) findLoop(e *elf.File) {
	n := slices.IndexFunc(i.functions, func(f function) bool { return f.name == evalLoop })
	if n < 0 || i.table == nil {
		return
	}
	loop := i.functions[n]
	code := codeOf(e, loop.start, loop.end)
	into := map[uint64]int{} // jumps into the middle of a part, by its start
	for at := range code {
		to, ok := jump(code[at:], loop.start+uint64(at))
		if !ok || to >= loop.start && to < loop.end {
			continue
		}
		if start, _, ok := i.table.Range(to); ok && start < to {
			into[start]++
		}
	}
	for start, jumps := range into {
		if _, end, _ := i.table.Range(start); jumps >= leastJumps && end <= start+mostLoop {
			within := func(f function) bool { return f.start >= start && f.start < end }
			i.functions = slices.DeleteFunc(i.functions, within)
			i.functions = append(i.functions, function{start: start, end: end, name: evalLoop})
		}
	}
	i.sortFunctions()
}

// leastJumps is how many bytes of the loop must look like jumps into one entry: bytes that are none look like one to
// somewhere in a file of some MiB by chance, one of a thousand, and seldom twice into the same entry.
const leastJumps = 3

// jump is where a near jump leads, conditional or not, with a displacement of 32 bits (Intel SDM vol. 2, JMP and
// Jcc), the code being at an address as linked.
func jump(code []byte, at uint64) (to uint64, ok bool) {
	length := 5
	switch {
	case len(code) >= 5 && code[0] == 0xe9:
	case len(code) >= 6 && code[0] == 0x0f && code[1]&0xf0 == 0x80:
		length = 6
	default:
		return 0, false
	}
	by := int32(binary.LittleEndian.Uint32(code[length-4:]))
	return at + uint64(length) + uint64(by), true
}

// codeOf is what a file has from an address on and before another, as linked, none where that is not all in it.
func codeOf(e *elf.File, start, end uint64) []byte {
	if end <= start || end-start > mostLoop {
		return nil
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && start >= p.Vaddr && end <= p.Vaddr+p.Filesz {
			code := make([]byte, end-start)
			if _, err := p.ReadAt(code, int64(start-p.Vaddr)); err != nil {
				return nil
			}
			return code
		}
	}
	return nil
}
