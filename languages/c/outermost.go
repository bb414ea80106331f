package c

import (
	"bytes"

	"cg/checkpoint"
	"cg/pattern"
)

// outermost calls f with each byte of a text that is in no brackets of any kind, the brackets
// themselves included, and in no comment or string.
func outermost(b []byte, f func(at int)) {
	for at, depth := 0, 0; at < len(b); at++ {
		for next := skip(b, at); next > at && next < len(b); next = skip(b, at) {
			at = next
		}
		switch b[at] {
		case '{', '(', '[':
			if depth++; depth == 1 {
				f(at)
			}
		case '}', ')', ']':
			if depth = max(depth-1, 0); depth == 0 {
				f(at)
			}
		default:
			if depth == 0 && b[at] > ' ' {
				f(at)
			}
		}
	}
}

// blankParameters blanks the declarations of parameters in definitions of the old form, as in
// int f(a) int a; { }. The grammar does not have all of them. A brace behind a semicolon is
// nothing else, outside of functions.
func blankParameters(out []byte) {
	list, last := -1, -1 // the bracket that closes the parameters; what stands before
	outermost(bytes.Clone(out), func(at int) {
		switch c := out[at]; {
		case last >= 0 && out[last] == ')' && isWord(c):
			list = last
		case c == '{' && list >= 0 && out[last] == ';':
			blank(out[list+1 : at])
			list = -1
		case c == '{' || c == '}' || c == '=':
			list = -1
		}
		last = at
	})
}

// directivePattern is what stands in a source file for the preprocessor.
var directivePattern = pattern.Later(`(?m)^[ \t]*#(?:\\\n|.)*`)

// addLost adds the functions of C that the grammar has not placed. A block behind a closing
// parenthesis is one, outside of functions: of the name before the parameters. Without a type
// before the name, the grammar takes it for a type.
func (p *parser) addLost() {
	known := map[int]bool{}
	for _, f := range p.funcs {
		known[f.open] = true
	}
	source := p.tree.Source
	if !p.made {
		source = bytes.Clone(source)
		for _, d := range directivePattern().FindAllIndex(source, -1) {
			blank(source[d[0]:d[1]])
		}
	}
	open, name, last := -1, -1, -1 // the first bracket of a declaration and the name before it
	outermost(source, func(at int) {
		switch c := source[at]; {
		case c == '(' && open < 0:
			open, name = at, last
		case c == ';' || c == '}' || c == '=':
			open = -1
		case c == '{':
			if open >= 0 && source[last] == ')' && !known[at] {
				p.lost(source[:name+1], at)
			}
			open = -1
		}
		last = at
	})
}

// lost adds the function whose name a text ends with, and whose block begins at a brace.
func (p *parser) lost(named []byte, brace int) {
	start := wordBefore(named, len(named))
	end := closing(p.tree.Source, brace)
	if start == len(named) || end < 0 {
		return
	}
	name := string(named[start:])
	f := function{name: name, kind: checkpoint.Function, at: start, open: brace, close: end - 1, alone: p.leave[name],
		body: -1}
	begin := bytes.LastIndexAny(named, ";}") + 1
	if why := attributeAlone(string(p.source[begin:brace])); why != "" {
		f.alone = why
	}
	p.funcs = append(p.funcs, f)
}

// labels is where the declarations of labels (GNU C) end that a block begins with: behind its
// brace where there are none. What is declared stands behind them.
func (p *parser) labels(brace int) int {
	source, end := p.tree.Source, brace+1
	for at := end; at < len(source); {
		if next := skip(source, at); next > at {
			at = next
			continue
		}
		if source[at] <= ' ' {
			at++
			continue
		}
		const word = "__label__"
		if !bytes.HasPrefix(source[at:], []byte(word)) || isWord(source[at+len(word)]) {
			break
		}
		n := bytes.IndexByte(source[at:], ';')
		if n < 0 {
			break
		}
		at += n + 1
		end = at
	}
	return end
}
