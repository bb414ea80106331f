package c

import (
	"bytes"
	"slices"
	"strings"

	"cg/pattern"
)

// Source that is saved has the events of places before the preprocessor has seen it. A directive in a function may
// stand between statements, as long as the grammar places what it chooses from as whole statements. A macro may be
// anything: those that the file itself defines are known.

// directive goes through what a directive chooses from, before which the code is in a place, and gives that in which it
// is behind it.
func (w *placer) directive(i int, from here, at int) int {
	switch w.tree.Nodes[i].Type {
	case "preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else":
	default:
		return at
	}
	before := at
	w.tree.Children(i, func(c int) {
		switch n := w.tree.Nodes[c]; {
		case n.Field == "alternative":
			w.directive(c, from, before)
		case n.Named && n.Field != "condition" && n.Field != "name":
			at = w.statement(c, from, at)
		}
	})
	return unknown
}

// doubtBeforePreprocessor says why no event is safe in a block that the preprocessor has not seen, "" where all are. A
// macro can be the head of a statement, whose end the grammar then misses.
func (w *placer) doubtBeforePreprocessor(body int) string {
	for k := body; k < w.tree.After(body); k++ {
		n := w.tree.Nodes[k]
		switch {
		case n.Missing:
			return "it has a macro or a directive that the grammar does not place"
		case n.Type == "preproc_include":
			return "it includes a file"
		case n.Type == "preproc_call" && !placedDirective().MatchString(w.tree.Text(k)):
			return "it has a pragma, or another directive that may belong to a statement"
		case n.Type == "switch_statement" && !w.places.Lines && w.hidesCases(k):
			return "a directive or a macro chooses its cases"
		}
	}
	spans := directives(w.source[w.of.open:w.of.close])
	for _, m := range w.of.marks {
		at := m.at - w.of.open
		if slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] < at && at < s[1] }) {
			return "it has a directive that the grammar does not place"
		}
	}
	return ""
}

// placedDirective are directives besides those that choose, which belong to no statement.
var placedDirective = pattern.Later(`^#\s*(undef|error|warning|pragma\s+(GCC|clang)\s+diagnostic)\b`)

// hidesCases reports whether the grammar does not see where the cases of a switch end: at a directive that chooses from
// its statements, or where a macro has a case.
func (w *placer) hidesCases(i int) (is bool) {
	body := w.tree.Field(i, "body")
	if body < 0 {
		return false
	}
	w.tree.Children(body, func(c int) { is = is || strings.HasPrefix(w.tree.Nodes[c].Type, "preproc_if") })
	known, text := w.macros(), w.tree.Text(body)
	scan([]byte(text), func(start, end int) int {
		is = is || known[text[start:end]] == caseMacro
		return end
	})
	return is
}

// directives are where the directives of a text begin and end: at the end of a line that no backslash continues.
func directives(text []byte) (spans [][2]int) {
	first := true // nothing but spaces stands before it in its line
	for at := 0; at < len(text); {
		if first && text[at] == '#' {
			end := at
			for end < len(text) && (text[end] != '\n' || continued(text[:end])) {
				end++
			}
			spans = append(spans, [2]int{at, end})
			at = end
			continue
		}
		next := skip(text, at)
		switch {
		case next > at && text[at] == '/': // a comment
			first = first || bytes.IndexByte(text[at:next], '\n') >= 0
			at = next
			continue
		case next > at:
			at, first = next, false
			continue
		}
		first = text[at] == '\n' || first && (text[at] == ' ' || text[at] == '\t')
		at++
	}
	return spans
}

// continued reports whether the next line belongs to the last of a text.
func continued(text []byte) bool { return bytes.HasSuffix(bytes.TrimRight(text, "\r"), []byte("\\")) }

// A fileMacro is what stands for a macro that a file defines, for the grammar.
type fileMacro int

const (
	otherMacro fileMacro = iota
	blockMacro           // a statement in braces
	caseMacro            // it has a case, or a label of a switch
)

var (
	definePattern = pattern.Later(`^#\s*(define|undef)\s+(\w+)`)
	casePattern   = pattern.Later(`\b(case\b|default\s*:)`)
)

// macros are the macros of the file whose statements the grammar cannot place. One with definitions that differ in
// that, or that is undefined again, is none.
func (p *parser) macros() map[string]fileMacro {
	if p.known != nil {
		return p.known
	}
	p.known = map[string]fileMacro{}
	for _, span := range directives(p.source) {
		line := p.source[span[0]:span[1]]
		found := definePattern().FindSubmatchIndex(line)
		if found == nil {
			continue
		}
		name := string(line[found[4]:found[5]])
		kind := kindOf(line[found[5]:])
		if was, is := p.known[name]; is && was != kind || string(line[found[2]:found[3]]) == "undef" {
			kind = otherMacro
		}
		p.known[name] = kind
	}
	return p.known
}

// kindOf says what a macro is, by what stands behind its name.
func kindOf(definition []byte) fileMacro {
	body := withoutComments(definition)
	if len(body) > 0 && body[0] == '(' {
		end := closing(body, 0)
		if end < 0 {
			return otherMacro
		}
		body = body[end:]
	}
	body = bytes.TrimSpace(bytes.ReplaceAll(body, []byte("\\\n"), []byte("  ")))
	switch {
	case bytes.HasPrefix(body, []byte("{")) && closing(body, 0) == len(body):
		return blockMacro
	case casePattern().Match(body) && isWholeLabel(body):
		return caseMacro
	}
	return otherMacro
}

// isWholeLabel reports whether what stands behind a macro with a case is a statement of its own: the macro ends in the
// label, or in a whole statement.
func isWholeLabel(body []byte) bool {
	return !bytes.ContainsAny(body, "{}") && bytes.ContainsAny(body[len(body)-1:], ":;") &&
		bytes.Count(body, []byte("(")) == bytes.Count(body, []byte(")"))
}

// withoutComments is a text with blanks in the place of comments.
func withoutComments(text []byte) []byte {
	out := bytes.Clone(text)
	for at := 0; at < len(out); at++ {
		if next := skip(out, at); next > at {
			if out[at] == '/' {
				blank(out[at:next])
			}
			at = next - 1
		}
	}
	return out
}

// hasMacros reports whether a function uses a macro of its file that the grammar takes for another thing.
func (p *parser) hasMacros(f *planned) (has bool) {
	known := p.macros()
	scan(bytes.Clone(p.source[f.open:f.close]), func(start, end int) int {
		has = has || known[string(p.source[f.open+start:f.open+end])] != otherMacro
		return end
	})
	return has
}

// replaceMacros puts statements in the place of the uses of macros that the grammar does not place: of one in braces an
// expression, and of one with a case a label. Nothing moves.
func (p *parser) replaceMacros(text []byte) {
	known, plain := p.macros(), withoutComments(text)
	for _, span := range directives(text) {
		blank(plain[span[0]:span[1]])
	}
	scan(text, func(start, end int) int {
		kind := known[string(plain[start:end])]
		before := bytes.TrimRight(plain[:start], " \t\r\n")
		if kind == otherMacro || len(before) > 0 && !bytes.ContainsAny(before[len(before)-1:], ";{}):") &&
			!bytes.HasSuffix(before, []byte("else")) && !bytes.HasSuffix(before, []byte("do")) {
			return end
		}
		to := end
		if startsWith(text[end:], "(") {
			if to = closing(text, end+bytes.IndexByte(text[end:], '(')); to < 0 {
				return end
			}
		}
		semicolon := startsWith(text[to:], ";")
		switch {
		case kind == blockMacro && !semicolon && to-start > 1:
			blank(text[start+1 : to])
			text[to-1] = ';'
		case kind == caseMacro && to-start > 1:
			if blank(text[start+1 : to]); !startsWith(text[to:], ":") {
				text[to-1] = ':'
			}
		}
		return to
	})
}
