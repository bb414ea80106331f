package c

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/syntax"
	"cg/pattern"
)

// function is the definition of a function in a text. Offsets are in bytes.
type function struct {
	name  string
	kind  checkpoint.SiteKind
	at    int    // where its name stands
	open  int    // the brace that opens its body
	begin int    // where its checkpoint goes: behind the brace, and behind declarations of labels
	close int    // the brace that closes it
	back  []back // calls that return again after a longjmp
	short bool   // no loop, no call, and little else: what a compiler inlines
	alone string // why it is left alone, "" if it is not
	// spread says that it is declared to be inlined: its code may be in many places.
	spread bool
	// suspends says that it is a coroutine, which waits at waits.
	suspends  bool
	waits     []wait
	templated bool // a template makes it, which may have several instances
	body      int  // the node of its block in the tree, -1 where the grammar has lost it
}

// back is a call of setjmp or the like.
type back struct{ start, end int }

// returnsTwice are the functions of which longjmp makes a second return (setjmp(3)), as
// the C libraries of Linux have them behind their macros.
var returnsTwice = map[string]bool{"setjmp": true, "_setjmp": true, "sigsetjmp": true, "__sigsetjmp": true}

// shortest is how many nodes of the grammar a short function has at the most: some ten
// operations.
const shortest = 48

// parser collects the functions of a text.
type parser struct {
	*text
	dialect *dialect
	tree    *syntax.Tree
	funcs   []function
	// leave says why the attributes of any declaration of a name leave its function alone.
	leave map[string]string
	plain *plain               // of a text of C++
	known map[string]fileMacro // macros of a text that the preprocessor has not seen, once they are looked for
}

// parse finds the functions of a text. It refuses none: what the grammar cannot place has
// no functions, or has them by their braces.
func (d *dialect) parse(t *text) (*parser, error) {
	blanked := t.forParser()
	if !d.scoped {
		blankParameters(blanked)
	}
	tree, err := d.grammar().Parse(blanked, syntax.Deadline)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", instrument.ErrSyntax, err)
	}
	p := &parser{text: t, dialect: d, tree: tree, leave: declaredAlone(t.source, blanked)}
	if d.scoped {
		p.plain = newPlain(p)
	}
	for i, n := range tree.Nodes {
		if n.Type == "function_definition" || n.Type == "lambda_expression" {
			p.function(i)
		}
	}
	if !d.scoped {
		p.addLost()
	}
	for i := range p.funcs {
		f := &p.funcs[i]
		if f.begin = p.labels(f.open); f.begin > f.close {
			f.begin = f.open + 1
		}
	}
	slices.SortStableFunc(p.funcs, func(a, b function) int { return a.open - b.open })
	p.placeBacks()
	return p, nil
}

// function adds the function of a definition.
func (p *parser) function(i int) {
	body := p.body(i)
	name, at, kind := p.declared(i)
	if body < 0 || name == "" || p.tree.Nodes[body].Missing || headWords[name] {
		return
	}
	n, b := p.tree.Nodes[i], p.tree.Nodes[body]
	f := function{name: p.scope(i) + name, kind: kind, at: at, open: b.Start, body: body}
	// The text has no macros any more: the braces are as the compiler counts them.
	end := closing(p.tree.Source, b.Start)
	if end < 0 || !p.made && end != b.End {
		f.close, f.alone = b.End-1, "its braces are not placed by the grammar"
		p.funcs = append(p.funcs, f)
		return
	}
	f.close = end - 1
	f.short = p.isShort(body) && (p.plain == nil || p.plain.isBody(i, body))
	declared := string(p.source[n.Start:b.Start]) + p.before(n.Start)
	f.alone, f.spread = attributeAlone(declared), spreadPattern().MatchString(declared)
	if f.alone == "" {
		f.alone = p.leave[name]
	}
	if p.dialect.scoped {
		p.takeScoped(&f, i, body)
	}
	p.funcs = append(p.funcs, f)
}

// headWords are the words in front of parentheses and a block that are no names: behind a directive, the grammar takes
// an else for a type.
var headWords = map[string]bool{"if": true, "for": true, "while": true, "switch": true}

var spreadPattern = pattern.Later(`\b_*(always_)?inline_*\b`)

// takeScoped adds to a function what only those of C++ are.
func (p *parser) takeScoped(f *function, i, body int) {
	var placed bool
	f.waits, f.suspends, placed = p.waits(body)
	f.templated = p.isTemplated(i, body)
	f.short = f.short && !f.suspends
	switch {
	case f.alone != "":
	case f.suspends && !placed:
		f.alone = unplacedWaits
	default:
		f.alone = p.scopedAlone(i, body)
	}
}

// body is the block of a function, -1 if it has none: of one that is a try block as a whole,
// the block behind try.
func (p *parser) body(i int) (body int) {
	body = -1
	p.tree.Children(i, func(c int) {
		switch p.tree.Nodes[c].Type {
		case "compound_statement":
			body = c
		case "try_statement":
			p.tree.Children(c, func(b int) {
				if p.tree.Nodes[b].Type == "compound_statement" && body < 0 {
					body = b
				}
			})
		}
	})
	return body
}

// before is what the grammar did not get of what stands right before a declaration: attributes.
func (p *parser) before(start int) string {
	from, first := start, p.region(start).start
	for from > first && strings.IndexByte(" \t\n", p.tree.Source[from-1]) >= 0 {
		from--
	}
	return string(p.source[from:start])
}

// alone are words of an attribute that leaves a function alone, and why.
var alone = []struct{ word, why string }{
	{"naked", "has the attribute naked: it has no frame"},
	{"interrupt", "has the attribute interrupt"},
	{"signal", "has the attribute signal"},
	{"no_instrument_function", "has the attribute no_instrument_function"},
	{"no_profile_instrument_function", "has the attribute no_profile_instrument_function"},
	{"gnu_inline", "has the attribute gnu_inline: it is for inlining only"},
}

// attributeAlone says why the attributes of a declaration leave its function alone.
func attributeAlone(declaration string) (why string) {
	attributesAlone([]byte(declaration), func(_ int, because string) { why = because })
	return why
}

// attributesAlone finds the attributes, __attribute__((...)) and [[...]], that leave a function
// alone.
func attributesAlone(b []byte, f func(at int, why string)) {
	look := func(at, end int) {
		scan(b[at:end], func(from, to int) int {
			for _, a := range alone {
				if strings.Trim(string(b[at+from:at+to]), "_") == a.word {
					f(at, a.why)
				}
			}
			return to
		})
	}
	for at := 0; at < len(b); {
		if next := skip(b, at); next > at {
			at = next
			continue
		}
		begin, end := at, at+1
		switch {
		case b[at] == '[' && end < len(b) && b[end] == '[':
		case isWord(b[at]):
			for end < len(b) && isWord(b[end]) {
				end++
			}
			if w := string(b[at:end]); w != "__attribute__" && w != "__attribute" {
				at = end
				continue
			}
			begin = end
		default:
			at = end
			continue
		}
		at = end
		if close := closing(b, begin); close > 0 {
			look(begin, close)
			at = close
		}
	}
}

// declaredAlone are the names that a declaration with such an attribute has, a definition or
// not: gcc takes the attributes of all of them. blanked is the text as the grammar gets it,
// without headers of the system.
func declaredAlone(source, blanked []byte) map[string]string {
	names := map[string]string{}
	attributesAlone(source, func(at int, why string) {
		from := bytes.LastIndexAny(source[:at], ";{}") + 1
		to := len(source)
		if n := bytes.IndexAny(source[at:], ";{"); n >= 0 {
			to = at + n
		}
		scan(blanked[from:to], func(start, end int) int {
			if rest := bytes.TrimLeft(blanked[from+end:to], " \t\n"); len(rest) > 0 && rest[0] == '(' {
				names[string(blanked[from+start:from+end])] = why
			}
			return end
		})
	})
	return names
}

// isShort reports whether a body has no loop, no call and no jump back, and little else.
func (p *parser) isShort(body int) bool {
	named := 0
	for k := body + 1; k < p.tree.After(body); k++ {
		n := p.tree.Nodes[k]
		switch n.Type {
		case "for_statement", "while_statement", "do_statement", "goto_statement", "call_expression",
			"gnu_asm_expression", "function_definition", "ERROR", "for_range_loop", "new_expression",
			"delete_expression", "throw_statement", "try_statement":
			return false
		}
		if n.Named {
			named++
		}
	}
	return named <= shortest
}

// placeBacks finds the calls of setjmp, and gives them to the innermost function around.
func (p *parser) placeBacks() {
	for i, n := range p.tree.Nodes {
		if n.Type != "call_expression" {
			continue
		}
		f := p.tree.Field(i, "function")
		if f < 0 || p.tree.Nodes[f].Type != "identifier" || !returnsTwice[p.tree.Text(f)] {
			continue
		}
		for k := len(p.funcs) - 1; k >= 0; k-- {
			if p.funcs[k].open < n.Start && n.End <= p.funcs[k].close {
				p.funcs[k].back = append(p.funcs[k].back, back{n.Start, n.End})
				break
			}
		}
	}
}
