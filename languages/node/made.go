package node

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/pattern"
)

// Of a text that something has made (a transpiler, a runner of tests) the runtime sends what it knows, behind the text
// (runtimes/node/made.cjs):
//
//	LF "//# cg made " WAY " " SOURCE " " MAP
//
// WAY is "apart" where the text is the body of a function and runs in a context of its own (node:vm), where a global
// name is slow to find: names of checkpoints are variables there. Else it is "here". SOURCE is the one of the map's
// sources that is the file itself; sites stand where they are in it, and what was not written there gets none. It is -1
// where the file is the text. MAP is the map in Base64, or "=" and the file's path where there is none. The answer has
// the map of the text with checkpoints in this place, in Base64.
const madeMark = "\n//# cg made "

// made is what the runtime says of a text, and the map that the text had.
type made struct {
	*sourceMap
	positions // of the text
	apart     bool
	source    int
	written   []part // that stand in the source
}

// cutMade takes what the runtime says off a text; nil where it says nothing.
func cutMade(source []byte) (text []byte, m *made, err error) {
	at := bytes.LastIndex(source, []byte(madeMark))
	if at < 0 || bytes.IndexByte(source[at+1:], '\n') >= 0 {
		return source, nil, nil
	}
	text = source[:at]
	words := strings.SplitN(string(source[at+len(madeMark):]), " ", 3)
	if len(words) != 3 {
		return nil, nil, errMappings
	}
	m = &made{apart: words[0] == "apart", positions: positionsOf(text)}
	if m.source, err = strconv.Atoi(words[1]); err != nil {
		return nil, nil, errMappings
	}
	if file, itself := strings.CutPrefix(words[2], "="); itself {
		m.sourceMap, err = mapOfItself(text, file)
		return text, m, err
	}
	content, err := base64.StdEncoding.DecodeString(words[2])
	if err != nil {
		return nil, nil, errMappings
	}
	if m.sourceMap, err = readMap(content); err != nil {
		return nil, nil, err
	}
	if m.places() {
		m.written = m.partsOf(m.source)
	}
	return text, m, nil
}

// places reports whether sites stand where they are in what the text was made of.
func (m *made) places() bool { return m != nil && m.source >= 0 }

// isWritten reports whether a part of the text was written by somebody.
func (m *made) isWritten(start, end int) bool {
	if !m.places() {
		return true
	}
	first, behind := m.partsIn(start, end)
	return first < behind
}

// partsIn tells which of what was written makes a part of the text.
func (m *made) partsIn(start, end int) (first, behind int) {
	return between(len(m.written), func(i int) position { return m.written[i].at }, m.at(start), m.at(end))
}

// move has a site, from a byte to a byte of the text, stand where it was written.
func (m *made) move(s *checkpoint.Site, start, end int) {
	i, behind := m.partsIn(start, end)
	if i >= behind {
		return
	}
	first, last := m.written[i].segment, m.written[behind-1].segment
	if s.Kind == checkpoint.Module {
		s.EndLine = max(m.sourceLines(m.source), last.line+1)
		return
	}
	s.Line, s.Col, s.EndLine = first.line+1, first.from+1, max(first.line, last.line)+1
}

// siteNumber is the call of a checkpoint up to its site's number.
var siteNumber = pattern.Later(`(cg\$[cersx]\( ?)(\d+)`)

// finish gives the edits of a text that something has made: those with the checkpoints, and the map's.
func (m *made) finish(text, source []byte, edits []edit.Edit) ([]edit.Edit, error) {
	for i := range edits { // a number takes as many columns whatever is added to it: maps are of columns
		edits[i].New = siteNumber().ReplaceAllStringFunc(edits[i].New, func(call string) string {
			at := strings.LastIndexAny(call, "( ") + 1
			n, _ := strconv.Atoi(call[at:])
			return fmt.Sprintf("%s0x%06x", call[:at], n)
		})
	}
	m.shift(text, edits)
	content, err := m.write()
	if err != nil {
		return nil, err
	}
	end := madeMark + base64.StdEncoding.EncodeToString(content)
	return append(edits, edit.Edit{Start: len(text), End: len(source), New: end}), nil
}

// variables begins the body of a text that runs apart.
const variables = "var cg$e=globalThis.cg$e,cg$x=globalThis.cg$x,cg$c=globalThis.cg$c,cg$s=globalThis.cg$s," +
	"cg$r=globalThis.cg$r;"

// withVariables puts them in front of the module's first checkpoint, where the text runs apart.
func (m *made) withVariables(q instrument.Point, begin string) string {
	if m == nil || !m.apart || q.Role != instrument.Module {
		return begin
	}
	if rest, behind := strings.CutPrefix(begin, "; "); behind {
		return "; " + variables + rest
	}
	return variables + begin
}
