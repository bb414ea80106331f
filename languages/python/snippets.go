package python

import (
	"bytes"
	"strings"
	"unicode"
)

// text is a source of which parts are looked at again.
type text struct {
	source []byte
	lines  []int // where each begins
}

// part is the text of a location.
func (t *text) part(l location) []byte {
	if t.lines == nil {
		t.lines = append(t.lines, 0)
		for i, c := range t.source {
			if c == '\n' {
				t.lines = append(t.lines, i+1)
			}
		}
	}
	if l.line < 1 || l.endLine < l.line || l.endLine > len(t.lines) {
		return nil
	}
	begin, end := t.lines[l.line-1]+l.column, t.lines[l.endLine-1]+l.endColumn
	if l.column < 0 || begin > end || end > len(t.source) {
		return nil
	}
	return t.source[begin:end]
}

// defines reports whether the definition of a function stands at a location.
func (t *text) defines(l location) bool {
	part := t.part(l)
	return len(part) > 3 && string(part[:3]) == "def" && bytes.IndexByte([]byte(" \t\f\\"), part[3]) >= 0
}

// decoratedByCompiler reports whether a line of a source may be a decorator by which a function is
// translated (compiledBy). It may find some more.
func decoratedByCompiler(source []byte) bool {
	for begin := 0; ; {
		next := bytes.IndexByte(source[begin:], '@')
		if next < 0 {
			return false
		}
		at := begin + next
		begin = at + 1
		if before := source[bytes.LastIndexByte(source[:at], '\n')+1 : at]; len(bytes.TrimSpace(before)) > 0 {
			continue // an operator, or in a text
		}
		line, _, _ := bytes.Cut(source[begin:], []byte("\n"))
		if !knownDecorator(string(bytes.TrimSpace(line))) {
			return true
		}
	}
}

// knownDecorator reports whether the text behind an @ at the begin of a line is that of no
// decorator by which a function is translated.
func knownDecorator(line string) bool {
	end := strings.IndexFunc(line, func(c rune) bool {
		return c != '.' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	name, rest := line, ""
	if end >= 0 {
		name, rest = line[:end], strings.TrimSpace(line[end:])
	}
	switch {
	case name == "": // no decorator, or one that goes on in parentheses or on another line
		return rest != "" && rest[0] != '(' && rest[0] != '\\'
	case strings.HasSuffix(name, "."):
		return false
	case strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "\\"):
		return false
	case name == "partial" || strings.HasSuffix(name, ".partial"):
		return false
	}
	return compilerNamed(name) == ""
}
