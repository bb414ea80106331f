package python

import (
	"encoding/binary"
	"unicode/utf8"

	"cg/checkpoint"
)

// code is a code object that was read. It may be freed, and another come to lie where it was, so
// its fields are compared each time.
type code struct {
	site     checkpoint.SiteID
	filename uint64 // addresses of the texts
	name     uint64
	line     uint32
}

// longestText is more characters than a name of a function or a file has.
const longestText = 1 << 12

// siteOf is the site of the code object at an address, which must be one.
func (p *Process) siteOf(at uint64) (checkpoint.SiteID, error) {
	l := &p.runtime.layout
	kind, err := p.memory.word(at + l.objectType)
	if err != nil {
		return 0, err
	}
	if kind != p.runtime.codeType {
		return 0, errAbsent
	}
	filename, err := p.memory.word(at + l.code.filename)
	if err != nil {
		return 0, err
	}
	name, err := p.memory.word(at + l.code.name)
	if err != nil {
		return 0, err
	}
	b, err := p.memory.bytes(at+l.code.line, 4)
	if err != nil {
		return 0, err
	}
	line := binary.LittleEndian.Uint32(b)
	c := p.codes[at]
	if c != nil && c.filename == filename && c.name == name && c.line == line {
		return c.site, nil
	}
	f := Function{Line: int(line)}
	if f.File, err = p.text(filename); err != nil {
		return 0, err
	}
	if f.Name, err = p.text(name); err != nil {
		return 0, err
	}
	if l.code.qualname != 0 {
		qualname, err := p.memory.word(at + l.code.qualname)
		if err != nil {
			return 0, err
		}
		if f.Qualname, err = p.text(qualname); err != nil {
			return 0, err
		}
	}
	if len(p.codes) >= mostCodes { // of a program that makes code all the time
		clear(p.codes)
	}
	p.codes[at] = &code{site: p.site(f), filename: filename, name: name, line: line}
	return p.codes[at].site, nil
}

// mostCodes is how many code objects are kept.
const mostCodes = 1 << 16

// text reads a str (Include/cpython/unicodeobject.h): one that is compact, as names are.
func (p *Process) text(at uint64) (string, error) {
	l := &p.runtime.layout.text
	head, err := p.memory.bytes(at, int(max(l.ascii, l.state+4)))
	if err != nil {
		return "", err
	}
	length := binary.LittleEndian.Uint64(head[l.length:])
	state := binary.LittleEndian.Uint32(head[l.state:])
	kind, compact, ascii := state>>2&7, state>>5&1 == 1, state>>6&1 == 1
	if length > longestText || !compact || kind != 1 && kind != 2 && kind != 4 {
		return "", errAbsent
	}
	from := l.wide
	if ascii {
		from = l.ascii
	}
	b, err := p.memory.bytes(at+from, int(length)*int(kind))
	if err != nil {
		return "", err
	}
	if ascii {
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
