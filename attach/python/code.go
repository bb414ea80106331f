package python

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"cg/checkpoint"
)

// code is a code object that was read. It may be freed, and another come to lie where it was, so
// its fields are compared each time.
type code struct {
	site  checkpoint.SiteID
	names [3]textID // of filename, name and qualname
	line  uint32
	span  Span
}

// Span is a part of the memory of a process: from From on, before To.
type Span struct{ From, To uint64 }

// mostBytecode is more units of bytecode than a function has.
const mostBytecode = 1 << 23

// spanOf is where the bytecode of a code object lies, none where that cannot be, and before 3.11.
func (p *Process) spanOf(at uint64) (s Span, err error) {
	from := p.runtime.layout.code.instructions
	if from == 0 {
		return s, nil
	}
	n, err := p.memory.word(at + varSize)
	if err != nil || n > mostBytecode {
		return s, err
	}
	return Span{at + from, at + from + 2*n + 1}, nil // behind the last one it is that instruction's, too
}

// textID tells a str from another that came to lie where it was: its address, and its hash, or -1
// where none was made of it so far.
type textID struct{ at, hash uint64 }

// textID reads a field that is a str.
func (p *Process) textID(field uint64) (id textID, err error) {
	if id.at, err = p.memory.word(field); err == nil {
		id.hash, err = p.memory.word(id.at + p.runtime.layout.text.length + 8)
	}
	return id, err
}

// longestText is how many characters of a name or a file are kept: few have as many. What claims to
// have more than mostText is no text.
const (
	longestText = 1 << 12
	mostText    = 1 << 26
)

// codeAt is the code object at an address, which must be one.
func (p *Process) codeAt(at uint64) (*code, error) {
	l := &p.runtime.layout
	kind, err := p.memory.word(at + l.objectType)
	if err != nil {
		return nil, err
	}
	if kind != p.runtime.codeType {
		return nil, errAbsent
	}
	var names [3]textID
	for i, field := range []uint64{l.code.filename, l.code.name, l.code.qualname} {
		if field == 0 { // no qualified names before 3.11
			continue
		}
		if names[i], err = p.textID(at + field); err != nil {
			return nil, err
		}
	}
	b, err := p.memory.bytes(at+l.code.line, 4)
	if err != nil {
		return nil, err
	}
	line := binary.LittleEndian.Uint32(b)
	c := p.codes[at]
	if c != nil && c.names == names && c.line == line {
		return c, nil
	}
	f := Function{Line: int(line)}
	for i, to := range []*string{&f.File, &f.Name, &f.Qualname} {
		if names[i].at == 0 {
			continue
		}
		if *to, err = p.text(names[i].at); err != nil {
			return nil, err
		}
	}
	if len(p.codes) >= mostCodes { // of a program that makes code all the time
		clear(p.codes)
	}
	c = &code{names: names, line: line}
	if c.span, err = p.spanOf(at); err != nil {
		return nil, err
	}
	c.site = p.site(f)
	p.codes[at] = c
	return c, nil
}

// mostCodes is how many code objects are kept.
const mostCodes = 1 << 16

// text reads a str (Include/cpython/unicodeobject.h): one that is compact, as names are.
func (p *Process) text(at uint64) (string, error) {
	l := &p.runtime.layout.text
	head, err := p.memory.bytes(at, int(max(l.length+8, l.state+4)))
	if err != nil {
		return "", err
	}
	length := binary.LittleEndian.Uint64(head[l.length:])
	state := binary.LittleEndian.Uint32(head[l.state:])
	kind, compact, ascii := state>>2&7, state>>5&1 == 1, state>>6&1 == 1
	if length > mostText || !compact || kind != 1 && kind != 2 && kind != 4 {
		return "", errAbsent
	}
	from := l.wide
	if ascii {
		from = l.ascii
	}
	b, err := p.memory.bytes(at+from, int(min(length, longestText))*int(kind))
	if err != nil {
		return "", err
	}
	if ascii {
		if kind != 1 || slices.ContainsFunc(b, func(c byte) bool { return c >= utf8.RuneSelf }) {
			return "", errAbsent
		}
		return string(b), nil
	}
	var out []byte
	for i := 0; i+int(kind) <= len(b); i += int(kind) {
		var r uint32
		switch kind {
		case 1:
			r = uint32(b[i])
		case 2:
			r = uint32(binary.LittleEndian.Uint16(b[i:]))
		default:
			r = binary.LittleEndian.Uint32(b[i:])
		}
		out = utf8.AppendRune(out, rune(min(r, utf8.MaxRune)))
	}
	return string(out), nil
}
