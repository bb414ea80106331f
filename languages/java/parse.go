package java

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"cg/instrument"
	"cg/instrument/syntax"
	"cg/pattern"
)

// parsedSource is a parsed file. The tree is that of a text of the same length
// which the grammar reads as javac reads the source.
type parsedSource struct {
	*syntax.Tree
	source  []byte
	escapes [][2]int // offsets of Unicode escapes outside which the texts agree
	lines   []int    // offsets of the starts of lines
}

// parse parses source, or says at which line the grammar gives up.
func parse(source []byte) (*parsedSource, error) {
	j := &parsedSource{source: source, lines: []int{0}}
	text := j.grammarText()
	for i, b := range source {
		if b == '\n' || b == '\r' && (i+1 == len(source) || source[i+1] != '\n') {
			j.lines = append(j.lines, i+1)
		}
	}
	t, err := grammar().Parse(text, syntax.Deadline)
	if err != nil {
		return nil, err
	}
	if n, _ := t.Faults(); n > 0 {
		if known := replaceUnknownSyntax(t); known != nil {
			if again, err := grammar().Parse(known, syntax.Deadline); err == nil {
				if n, _ := again.Faults(); n == 0 {
					t = again
				}
			}
		}
	}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Error || n.Missing {
			line, _ := j.place(n.Start)
			return nil, fmt.Errorf("%w: the grammar does not place the text at line %d", instrument.ErrSyntax, line)
		}
	}
	j.Tree = t
	return j, nil
}

// grammarText makes the text for the grammar, of the same length. A Unicode escape
// (JLS 3.3) is replaced by its character and spaces, which in a name stand behind the
// name; a lone carriage return ends a line; bytes that are not UTF-8 stand for letters.
func (j *parsedSource) grammarText() []byte {
	text := j.source
	own := func() {
		if len(text) > 0 && &text[0] == &j.source[0] {
			text = bytes.Clone(text)
		}
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		own()
		for i, b := range text {
			if b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
				text[i] = '\n'
			}
		}
	}
	if !utf8.Valid(text) {
		own()
		for i, b := range text {
			if b >= utf8.RuneSelf {
				text[i] = 'u'
			}
		}
	}
	if n := len(text); n > 0 && text[n-1] == 0x1a { // the end of a file for CP/M (JLS 3.5)
		own()
		text[n-1] = ' '
	}
	if bytes.Contains(text, []byte(`\u`)) {
		own()
		j.replaceEscapes(text)
	}
	return text
}

// replaceEscapes replaces the Unicode escapes of a text in place, and notes where they
// were.
func (j *parsedSource) replaceEscapes(text []byte) {
	backslash := -1 // the offset behind an escape that is a backslash and begins an escape of a literal
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			i++
			continue
		}
		r, end := unicodeEscape(text, i)
		switch {
		case end == i:
			if backslash != i && i+1 < len(text) && text[i+1] == '\\' {
				i++ // the next one is escaped
			}
			i++
			continue
		case isNamePart(r):
			end = j.replaceName(text, i)
		case r == '\\' && backslash != i:
			blank(text[i : end-1]) // it belongs to what follows
			text[end-1] = '\\'
			backslash = end
		default:
			blank(text[i:end])
			if r == '\r' {
				r = '\n'
			}
			if r == '\n' || r >= ' ' && r < utf8.RuneSelf { // a zero would end the text
				text[i] = byte(r)
			}
			j.escapes = append(j.escapes, [2]int{i, end})
		}
		i = end
	}
}

// replaceName replaces the escapes of the name that has one at an offset, and returns
// where the name ends.
func (j *parsedSource) replaceName(text []byte, at int) (end int) {
	from := at
	for from > 0 && isNamePart(rune(text[from-1])) {
		from--
	}
	var word []byte
	end = from
	for end < len(text) {
		if isNamePart(rune(text[end])) {
			word = append(word, text[end])
			end++
		} else if r, to := unicodeEscape(text, end); to > end && isNamePart(r) {
			if utf16.IsSurrogate(r) {
				r = 'u'
			}
			word = utf8.AppendRune(word, r)
			end = to
		} else {
			break
		}
	}
	copy(text[from:end], word)
	blank(text[from+len(word) : end])
	j.escapes = append(j.escapes, [2]int{from, end})
	return end
}

// unicodeEscape reads the Unicode escape at an offset; end is where it began if there
// is none.
func unicodeEscape(text []byte, at int) (r rune, end int) {
	digits := at + 1
	for digits < len(text) && text[digits] == 'u' {
		digits++
	}
	if text[at] != '\\' || digits == at+1 || digits+4 > len(text) {
		return 0, at
	}
	c, err := strconv.ParseUint(string(text[digits:digits+4]), 16, 16)
	if err != nil {
		return 0, at
	}
	return rune(c), digits + 4
}

// isNamePart reports whether a character may be part of a name. Of a text in UTF-8
// it takes every byte beyond ASCII for one.
func isNamePart(r rune) bool {
	return r == '_' || r == '$' || utf16.IsSurrogate(r) ||
		unicode.In(r, unicode.L, unicode.Nd, unicode.Nl, unicode.M, unicode.Sc, unicode.Pc) ||
		r >= utf8.RuneSelf && r <= 0xff
}

func blank(text []byte) {
	for i := range text {
		text[i] = ' '
	}
}

var unknownAnnotation = pattern.Later(`\|\s*(@[\w$.]+)|(@[\w$.]*[\w$])\s*\.\.\.`)

// unknownPatterns matches several patterns of one case, up to the last unnamed
// variable.
var unknownPatterns = pattern.Later(`\bcase\s[\s\w$.,()<>?&\[\]]*\b_\s*\)*`)

// replaceUnknownSyntax rewrites what the grammar does not know into what it takes, at
// the same length: module imports (JEP 511), constructors that call another one
// behind other statements (JEP 513), several patterns in one case (JEP 456),
// annotations of "..." and of alternatives in a catch. nil if there is none of that.
func replaceUnknownSyntax(t *syntax.Tree) []byte {
	var text []byte
	var leaves []int
	for i := range t.Nodes {
		if n := &t.Nodes[i]; t.After(i) == i+1 && n.End > n.Start && !strings.HasSuffix(n.Type, "comment") {
			leaves = append(leaves, i)
		}
	}
	put := func(from, to int, with string) {
		if text == nil {
			text = bytes.Clone(t.Source)
		}
		blank(text[from:to])
		copy(text[from:], with)
	}
	// Where the tree is broken not every character is in a token.
	for _, m := range unknownAnnotation().FindAllSubmatchIndex(t.Source, -1) {
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				put(m[g], m[g+1], "")
			}
		}
	}
	for _, m := range unknownPatterns().FindAllIndex(t.Source, -1) {
		depth, label := 0, t.Source[m[0]:m[1]]
		for i, c := range label {
			switch c {
			case '(', '<':
				depth++
			case ')', '>':
				depth--
			}
			if c == ',' && depth == 0 { // the first pattern stands for all
				put(m[0]+i, m[1], "")
				break
			}
		}
	}
	before := ""
	for k := 0; k+1 < len(leaves); k++ {
		n, next := &t.Nodes[leaves[k]], &t.Nodes[leaves[k+1]]
		was, follows := t.Text(leaves[k]), t.Text(leaves[k+1])
		switch {
		case was == "import" && follows == "module":
			put(next.Start, next.End, "")
		case follows != "(" || before == "{" || before == ">": // the first statement is known
		case was == "super":
			put(n.Start, n.End, "Super")
		case was == "this":
			put(n.Start, n.End, "This")
		}
		before = was
	}
	return text
}

// place is the line and the column of an offset, from 1.
func (j *parsedSource) place(at int) (line, col int) {
	line = sort.Search(len(j.lines), func(i int) bool { return j.lines[i] > at })
	return line, at - j.lines[line-1] + 1
}

// behindEscape moves an offset inside an escape behind it: a brace may be one.
func (j *parsedSource) behindEscape(at int) int {
	i := sort.Search(len(j.escapes), func(i int) bool { return j.escapes[i][1] > at })
	if i < len(j.escapes) && j.escapes[i][0] < at {
		return j.escapes[i][1]
	}
	return at
}

// name is the text of a node as people read it.
func (j *parsedSource) name(i int) string {
	raw := j.source[j.Nodes[i].Start:j.Nodes[i].End]
	if !utf8.Valid(raw) { // most likely ISO 8859-1
		var b strings.Builder
		for _, c := range raw {
			b.WriteRune(rune(c))
		}
		return b.String()
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		return j.Text(i)
	}
	return string(raw)
}

// erased is a type as overloads differ by it: without annotations and type
// arguments.
func (j *parsedSource) erased(i int) string {
	switch j.Nodes[i].Type {
	case "type_arguments", "annotation", "marker_annotation", "modifiers", "line_comment", "block_comment":
		return ""
	}
	if j.After(i) == i+1 {
		return j.name(i)
	}
	var b strings.Builder
	j.Children(i, func(c int) { b.WriteString(j.erased(c)) })
	return b.String()
}

// parameters lists the types of formal parameters.
func (j *parsedSource) parameters(i int) []string {
	var types []string
	if i < 0 {
		return nil
	}
	j.Children(i, func(p int) {
		switch j.Nodes[p].Type {
		case "formal_parameter":
			s := j.erased(j.Field(p, "type"))
			if d := j.Field(p, "dimensions"); d >= 0 {
				s += j.erased(d)
			}
			types = append(types, s)
		case "spread_parameter":
			s := ""
			j.Children(p, func(c int) {
				if n := j.Nodes[c]; n.Named && n.Type != "variable_declarator" {
					s += j.erased(c)
				}
			})
			types = append(types, s+"...")
		}
	})
	return types
}
