package node

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"cg/instrument/edit"
)

// A sourceMap tells what the parts of a text were made of (ECMA-426, version 3). Lines and columns are from 0, and
// columns count UTF-16's units.
type sourceMap struct {
	fields map[string]json.RawMessage // as they are, but for the mappings
	lines  [][]segment                // of each line of the text
}

// segment is a part of a line, up to the next one. source, of the map's sources, is -1 where nobody wrote the part;
// name is -1 without one.
type segment struct {
	col                      int
	source, line, from, name int
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

var errMappings = errors.New("its source map cannot be read")

// readMap reads a map of JSON. One of several sections is refused.
func readMap(text []byte) (*sourceMap, error) {
	m := &sourceMap{}
	var mappings string
	if json.Unmarshal(text, &m.fields) != nil || json.Unmarshal(m.fields["mappings"], &mappings) != nil {
		return nil, errMappings
	}
	last := segment{}
	for line := range strings.SplitSeq(mappings, ";") {
		var segments []segment
		last.col = 0
		for part := range strings.SplitSeq(line, ",") {
			numbers, err := readNumbers(part)
			if err != nil {
				return nil, err
			}
			if len(numbers) == 0 {
				continue
			}
			s := segment{source: -1, name: -1}
			last.col += numbers[0]
			if s.col = last.col; len(numbers) >= 4 {
				last.source, last.line, last.from = last.source+numbers[1], last.line+numbers[2], last.from+numbers[3]
				s.source, s.line, s.from = last.source, last.line, last.from
			}
			if len(numbers) >= 5 {
				last.name += numbers[4]
				s.name = last.name
			}
			segments = append(segments, s)
		}
		slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.col, b.col) })
		m.lines = append(m.lines, segments)
	}
	return m, nil
}

// readNumbers reads the numbers of a segment: five bits a digit, the lowest first, and the lowest of all is the sign.
func readNumbers(part string) (numbers []int, err error) {
	number, shift := 0, 0
	for i := range len(part) {
		digit := strings.IndexByte(digits, part[i])
		if digit < 0 || shift > 30 {
			return nil, errMappings
		}
		number |= (digit & 31) << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		if number&1 != 0 {
			number = -(number >> 1)
		} else {
			number >>= 1
		}
		numbers = append(numbers, number)
		number, shift = 0, 0
	}
	if shift != 0 {
		return nil, errMappings
	}
	return numbers, nil
}

// appendNumber appends a number as readNumbers reads it.
func appendNumber(to []byte, n int) []byte {
	n <<= 1
	if n < 0 {
		n = -n | 1
	}
	for n > 31 {
		to = append(to, digits[n&31|32])
		n >>= 5
	}
	return append(to, digits[n])
}

// write gives the map as JSON.
func (m *sourceMap) write() ([]byte, error) {
	var out []byte
	last := segment{}
	for i, line := range m.lines {
		if i > 0 {
			out = append(out, ';')
		}
		last.col = 0
		for j, s := range line {
			if j > 0 {
				out = append(out, ',')
			}
			out = appendNumber(out, s.col-last.col)
			if last.col = s.col; s.source < 0 {
				continue
			}
			out = appendNumber(out, s.source-last.source)
			out = appendNumber(out, s.line-last.line)
			out = appendNumber(out, s.from-last.from)
			last.source, last.line, last.from = s.source, s.line, s.from
			if s.name >= 0 {
				out = appendNumber(out, s.name-last.name)
				last.name = s.name
			}
		}
	}
	mappings, err := json.Marshal(string(out))
	if err != nil {
		return nil, err
	}
	m.fields["mappings"] = mappings
	return json.Marshal(m.fields)
}

// mapOfItself is the map of a text that nothing has made: each of its words stands for itself.
func mapOfItself(text []byte, file string) (*sourceMap, error) {
	name, err := json.Marshal([]string{file})
	if err != nil {
		return nil, err
	}
	m := &sourceMap{fields: map[string]json.RawMessage{
		"version": json.RawMessage("3"), "names": json.RawMessage("[]"), "sources": name}}
	for i, line := range linesOf(text) {
		var segments []segment
		col, inWord := 0, false
		for at := line[0]; at < line[1]; {
			r, size := utf8.DecodeRune(text[at:])
			isWord := r == '_' || r == '$' || r >= 0x80 || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z'
			if !(isWord && inWord) && r > ' ' {
				segments = append(segments, segment{col, 0, i, col, -1})
			}
			inWord = isWord
			at, col = at+size, col+units(r)
		}
		m.lines = append(m.lines, segments)
	}
	return m, nil
}

// shift moves the map to the text with insertions, none of which has a line's end but behind all else.
func (m *sourceMap) shift(text []byte, edits []edit.Edit) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit.Edit) int { return cmp.Compare(a.Start, b.Start) })
	next := 0
	for i, line := range linesOf(text) {
		if i >= len(m.lines) {
			return
		}
		at, col, more := line[0], 0, 0
		for j := range m.lines[i] {
			s := &m.lines[i][j]
			for {
				for ; next < len(edits) && edits[next].Start <= at; next++ {
					more += columns([]byte(edits[next].New))
				}
				if col >= s.col || at >= line[1] {
					break
				}
				r, size := utf8.DecodeRune(text[at:])
				at, col = at+size, col+units(r)
			}
			s.col += more
		}
		for next < len(edits) && edits[next].Start <= line[1] {
			next++
		}
	}
}

// part is a segment of a map, with its line.
type part struct {
	at position
	segment
}

// partsOf are the parts of the text that stand in a source, as they follow each other.
func (m *sourceMap) partsOf(source int) (parts []part) {
	for i, line := range m.lines {
		for _, s := range line {
			if s.source == source {
				parts = append(parts, part{position{i, s.col}, s})
			}
		}
	}
	return parts
}

// between tells which of n places, in order, lie between two: those from first up to behind.
func between(n int, at func(i int) position, from, to position) (first, behind int) {
	first = sort.Search(n, func(i int) bool { return at(i).compare(from) >= 0 })
	return first, first + sort.Search(n-first, func(i int) bool { return at(first+i).compare(to) >= 0 })
}

// linesOf gives where the lines of a text begin and end, as JavaScript counts them.
func linesOf(text []byte) (lines [][2]int) {
	start := 0
	for at := 0; at < len(text); {
		size := 0
		switch {
		case text[at] == '\n':
			size = 1
		case text[at] == '\r':
			if size = 1; bytes.HasPrefix(text[at:], []byte("\r\n")) {
				size = 2
			}
		case bytes.HasPrefix(text[at:], []byte("\u2028")), bytes.HasPrefix(text[at:], []byte("\u2029")):
			size = 3
		}
		if size == 0 {
			at++
			continue
		}
		lines = append(lines, [2]int{start, at})
		at += size
		start = at
	}
	return append(lines, [2]int{start, len(text)})
}

// position is a place of a text: a line and a column.
type position struct{ line, col int }

// compare is negative, 0 or positive where a place is in front of another one, the same, or behind it.
func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(p.line, other.line), cmp.Compare(p.col, other.col))
}

// positions finds places of a text.
type positions struct {
	lines [][2]int
	wide  []wide
}

// wide is a character of more bytes than units.
type wide struct {
	end  int // the byte behind it
	more int // bytes than units that the text has up to there
}

func positionsOf(text []byte) positions {
	p, more := positions{lines: linesOf(text)}, 0
	for at := 0; at < len(text); {
		if text[at] < utf8.RuneSelf {
			at++
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		at += size
		if size > units(r) {
			more += size - units(r)
			p.wide = append(p.wide, wide{at, more})
		}
	}
	return p
}

// at is the place of a byte.
func (p positions) at(b int) position {
	i, found := slices.BinarySearchFunc(p.lines, b, func(line [2]int, b int) int { return cmp.Compare(line[0], b) })
	if !found {
		i--
	}
	return position{i, p.units(b) - p.units(p.lines[i][0])}
}

// units are UTF-16's of the text up to a byte.
func (p positions) units(b int) int {
	i, _ := slices.BinarySearchFunc(p.wide, b+1, func(w wide, b int) int { return cmp.Compare(w.end, b) })
	if i == 0 {
		return b
	}
	return b - p.wide[i-1].more
}

// columns are UTF-16's units of a text.
func columns(text []byte) int {
	n := 0
	for _, r := range string(text) {
		n += units(r)
	}
	return n
}

func units(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// sourceLines are the lines of a source's text, where the map has it; 0 where it has not.
func (m *sourceMap) sourceLines(source int) int {
	var contents []*string
	if json.Unmarshal(m.fields["sourcesContent"], &contents) != nil || source >= len(contents) ||
		contents[source] == nil {
		return 0
	}
	return 1 + strings.Count(strings.TrimRight(*contents[source], "\r\n"), "\n")
}
