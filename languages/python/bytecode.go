package python

import "slices"

// instr is an instruction with its prefixes and caches.
type instr struct {
	op       byte
	behind   bool // the target of a jump is what is inserted behind an instruction
	prefixes int32
	start    int32 // its first unit: two bytes
	units    int32
	arg      uint32
	target   int // the instruction that it jumps to, -1 for none
	location int
	block    int // the entry of the exception table around it, -1 for none
}

// insert is a checkpoint at an instruction: in front of it, where jumps to the instruction
// meet it, or behind it, where they do not.
type insert struct {
	at       int
	after    bool
	constant uint32
	looks    bool // at the value on top of the stack
	nowhere  bool // has no line; else that of the instruction
}

// location is a place in the source, as the table of lines has it
// (Objects/locations.md of 3.11). Columns are in bytes, from 0.
type location struct {
	form              byte // all, lineOnly or nowhere
	line, endLine     int
	column, endColumn int
}

const (
	oneLine  = 10 // and the next two, by how many lines it is behind the last one
	lineOnly = 13
	all      = 14
	nowhere  = 15
)

// varint reads a number of six bits a byte, the lowest first.
func varint(b string) (n int, rest string) {
	for shift := 0; len(b) > 0; shift += 6 {
		c := b[0]
		b = b[1:]
		n |= int(c&63) << shift
		if c&64 == 0 {
			return n, b
		}
	}
	return n, ""
}

func appendVarint(b []byte, n int) []byte {
	for n >= 64 {
		b = append(b, byte(n&63|64))
		n >>= 6
	}
	return append(b, byte(n))
}

func signed(n int) int {
	if n&1 != 0 {
		return -(n >> 1)
	}
	return n >> 1
}

func unsigned(n int) int {
	if n < 0 {
		return -n<<1 | 1
	}
	return n << 1
}

// block is an entry of the exception table: units from start to end, the instruction that
// handles, the depth of the stack there, and whether the place is kept.
type block struct {
	start, end int32
	target     int
	depth      int
	keeps      bool
	stops      bool // the interpreter's own handler around the whole body of a generator
}

// read takes a code object apart.
func (w *splicer) read() error {
	w.instrs, w.inserts, w.marks = w.instrs[:0], w.inserts[:0], w.marks[:0]
	w.raw = w.code.items[codeBytes].bytes()
	if len(w.raw)%2 != 0 {
		return w.describe("half an instruction")
	}
	units := int32(len(w.raw) / 2)
	w.at = slices.Grow(w.at[:0], int(units)+1)[:units+1]
	for u := int32(0); u < units; {
		in := instr{start: u, target: -1, block: -1}
		for ; u < units && w.raw[2*u] == w.extendedArg; u++ {
			in.arg = in.arg<<8 | uint32(w.raw[2*u+1])
			in.prefixes++
		}
		if u >= units {
			return w.describe("a prefix alone")
		}
		in.op, in.arg = w.raw[2*u], in.arg<<8|uint32(w.raw[2*u+1])
		in.units = in.prefixes + 1 + int32(w.caches[in.op])
		u = in.start + in.units
		if u > units {
			return w.describe("half an instruction")
		}
		for k := in.start; k < u; k++ {
			w.at[k] = int32(len(w.instrs))
		}
		w.instrs = append(w.instrs, in)
	}
	w.at[units] = int32(len(w.instrs))
	if err := w.readJumps(units); err != nil {
		return err
	}
	if err := w.readLocations(units); err != nil {
		return err
	}
	return w.readBlocks(units)
}

// instruction is the one that begins at a unit.
func (w *splicer) instruction(unit, units int32) (int, error) {
	if unit < 0 || unit >= units {
		return 0, w.describe("a jump out of the code")
	}
	i := int(w.at[unit])
	if w.instrs[i].start != unit {
		return 0, w.describe("a jump into an instruction")
	}
	return i, nil
}

func (w *splicer) readJumps(units int32) error {
	for i := range w.instrs {
		in := &w.instrs[i]
		to := in.start + in.units
		switch {
		case in.arg > 1<<24:
			continue
		case w.forward[in.op]:
			to += int32(in.arg)
		case w.backward[in.op]:
			to -= int32(in.arg)
		default:
			continue
		}
		var err error
		if in.target, err = w.instruction(to, units); err != nil {
			return err
		}
	}
	return nil
}

// readLocations gives each instruction its location.
func (w *splicer) readLocations(units int32) error {
	w.locations = w.locations[:0]
	table, line, unit := w.code.items[codeLines].bytes(), int(w.code.line), int32(0)
	for len(table) > 0 {
		head, n := table[0], 1
		for n < len(table) && table[n] < 128 {
			n++
		}
		rest := table[1:n]
		table = table[n:]
		l := readLocation(head>>3&15, rest, &line)
		if k := len(w.locations) - 1; k < 0 || w.locations[k] != l {
			w.locations = append(w.locations, l)
		}
		for end := unit + int32(head&7) + 1; unit < end; unit++ {
			if unit >= units {
				return w.describe("locations of no code")
			}
			in := &w.instrs[w.at[unit]]
			if in.start == unit {
				in.location = len(w.locations) - 1
			} else if in.location != len(w.locations)-1 {
				return w.describe("an instruction with two locations")
			}
		}
	}
	if unit != units {
		return w.describe("code without a location")
	}
	return nil
}

// readLocation reads an entry of a form. line is the last one, and becomes that of the entry.
func readLocation(form byte, rest string, line *int) location {
	at := func(i int) int {
		if i < len(rest) {
			return int(rest[i])
		}
		return 0
	}
	switch {
	case form == nowhere:
		return location{form: nowhere}
	case form < oneLine:
		column := int(form)<<3 | at(0)>>4
		return location{all, *line, *line, column, column + at(0)&15}
	case form < lineOnly:
		*line += int(form - oneLine)
		return location{all, *line, *line, at(0), at(1)}
	}
	delta, rest := varint(rest)
	*line += signed(delta)
	if form == lineOnly {
		return location{form: lineOnly, line: *line}
	}
	lines, rest := varint(rest)
	column, rest := varint(rest)
	end, _ := varint(rest)
	return location{all, *line, *line + lines, column - 1, end - 1}
}

// append writes an entry for some units as the interpreter's compiler does. line is that of the
// entry before.
func (l location) append(b []byte, units, line int) []byte {
	head := func(form int) byte { return byte(128 | form<<3 | (units - 1)) }
	delta, length := l.line-line, l.endColumn-l.column
	switch {
	case l.form == nowhere:
		return append(b, head(nowhere))
	case l.form == lineOnly:
		return appendVarint(append(b, head(lineOnly)), unsigned(delta))
	case l.column >= 0 && l.endColumn >= 0 && l.line == l.endLine:
		if delta == 0 && l.column < 80 && length >= 0 && length < 16 {
			return append(b, head(l.column>>3), byte(l.column&7<<4|length))
		}
		if delta >= 0 && delta < 3 && l.column < 128 && l.endColumn < 128 {
			return append(b, head(oneLine+delta), byte(l.column), byte(l.endColumn))
		}
	}
	b = appendVarint(append(b, head(all)), unsigned(delta))
	return appendVarint(appendVarint(appendVarint(b, l.endLine-l.line), l.column+1), l.endColumn+1)
}

// readBlocks gives each instruction the entry of the exception table that is around it.
func (w *splicer) readBlocks(units int32) error {
	w.blocks = w.blocks[:0]
	table := w.code.items[codeExceptions].bytes()
	for len(table) > 0 {
		var n [4]int
		for i := range n {
			for more := true; more; table = table[1:] {
				if len(table) == 0 {
					return w.describe("half an exception table")
				}
				n[i] = (n[i]<<6 | int(table[0]&63)) & (1<<30 - 1)
				more = table[0]&64 != 0
			}
		}
		if n[0] < 0 || n[1] < 0 || n[2] < 0 || n[2] > int(units) || n[0]+n[1] > int(units) {
			return w.describe("an exception table of no code")
		}
		target, err := w.instruction(int32(n[2]), units)
		if err != nil {
			return err
		}
		b := block{start: int32(n[0]), end: int32(n[0] + n[1]), target: target, depth: n[3] >> 1, keeps: n[3]&1 != 0}
		first := w.instrs[target]
		b.stops = w.intrinsic != 0 && first.op == w.intrinsic && first.arg == stopHandler && b.depth == 0
		for u := b.start; u < b.end; u++ {
			w.instrs[w.at[u]].block = len(w.blocks)
		}
		w.blocks = append(w.blocks, b)
	}
	return nil
}
