package c

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
)

// A place is a part of a function's code: a line, or a block, which is a loop or an arm of a branch. What is in no
// block is a place of its own, the rest. Between statements stand events that say to which place the code goes. A
// place lasts until the next event of its call, so there is one at the end of a loop's body, behind which its head
// runs, and one behind a block.

// mark is what stands before an offset: the event of a place, or a brace that makes one statement a block.
type mark struct {
	at, place int // an index into the function's places, unknown for none
	brace     string
}

// unknown is no place: that in which the code is may be any.
const unknown = -1

// event says that a call has gone to a place, by the number of its site in the unit.
const event = `if (%[1]s) __codegreen_place(%[1]s, __codegreen_sites[%[2]d]); `

// placeEdits are those of a function whose site has a number in the unit; those of its places follow.
func (f *planned) placeEdits(number int) (edits []edit.Edit) {
	call := "__codegreen_call"
	if f.suspends {
		call += ".__call"
	}
	for _, m := range f.marks {
		text := m.brace
		if m.place != unknown {
			text += fmt.Sprintf(event, call, number+1+m.place)
		}
		edits = append(edits, edit.Edit{Start: m.at, End: m.at, New: text})
	}
	return edits
}

// placer finds the places of one function.
type placer struct {
	*parser
	of     *planned
	file   string
	places instrument.PlaceList
	doubt  string // why no event is safe, "" where all are
}

// here is where a statement stands: the place of its block, and where continue goes in the loop around it.
type here struct{ place, loop int }

// putPlaces adds to a function the places of its code and their events; why says why there are none.
func (p *parser) putPlaces(f *planned, o instrument.Options) (why string) {
	body := f.body
	whole := body >= 0 && isWhole(p.tree, body)
	if !whole || o.Alone && !p.made && p.hasMacros(f) {
		switch again, of := p.again(f); {
		case of >= 0:
			p, body = again, of
		case !whole:
			return "a part of it is not placed by the grammar"
		}
	}
	w := &placer{parser: p, of: f, file: p.region(f.open).file}
	w.places.Lines = o.Granularity == instrument.Lines
	from := here{unknown, unknown}
	if !w.places.Lines {
		from.place = w.add(checkpoint.RestPlace, f.at, f.close)
	}
	w.all(body, from, from.place)
	if bytes.Contains(w.source[f.open:f.close], []byte("_Pragma")) {
		w.doubt = "the preprocessor has left a _Pragma in it"
	}
	if w.doubt == "" && o.Alone {
		w.doubt = w.doubtBeforePreprocessor(body)
	}
	if w.doubt != "" {
		f.marks = nil
	}
	if len(f.marks) > 0 {
		f.places = w.places.All
	}
	return w.doubt
}

// add gives the place from one offset to another. Statements in one line are one place.
func (w *placer) add(kind checkpoint.SiteKind, start, end int) int {
	_, line, col := w.text.place(start)
	_, endLine, _ := w.text.place(max(start, end-1))
	return w.places.Add(start, checkpoint.Site{
		Func: w.of.site.Func, Line: line, Col: col, EndLine: endLine, Kind: kind,
	})
}

func (w *placer) put(at, place int, brace string) {
	w.of.marks = append(w.of.marks, mark{at, place, brace})
}

// start is where what belongs to a statement begins: attributes, and other words that the grammar did not get, and
// pragmas. A pragma may be lines and markers before the statement (the preprocessor makes them of _Pragma), and nothing
// may come between the two: it begins where the token before it ends. parallel says that a directive of OpenMP or
// OpenACC rules the statement: other threads run it, or not all of them do.
func (w *placer) start(i int) (at int, parallel bool) {
	start, from := w.tree.Nodes[i].Start, w.tokenBefore(i)
	at = start
	pragma, first := false, false // first: nothing but spaces stands before it in its line
	for k := from; k < start; {
		c := w.source[k]
		if first && c == '#' {
			end := start
			if n := bytes.IndexByte(w.source[k:start], '\n'); n >= 0 {
				end = k + n
			}
			line := w.source[k:end]
			if _, marker := parseMarker(line); !marker {
				if at < start {
					w.doubt = "what stands before a pragma is not placed by the grammar"
				}
				pragma, parallel = true, parallel || rules(string(line))
			}
			k = end
			continue
		}
		switch next := skip(w.source, k); {
		case next > k && c == '/': // a comment that the preprocessor kept
			k = next
			continue
		case c == '\n':
			first = true
		case c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v':
			if at, first = min(at, k), false; w.region(k).file != w.region(start).file {
				w.doubt = "what stands before a statement is of another file"
			}
			if next > k {
				k = next
				continue
			}
		}
		k++
	}
	if pragma {
		at = from
	}
	return at, parallel
}

// tokenBefore is where the token ends that stands before a node.
func (w *placer) tokenBefore(i int) int {
	for k := i - 1; k >= 0; k-- {
		n := w.tree.Nodes[k]
		if w.tree.After(k) == k+1 && n.Type != "comment" && n.Start < n.End && n.End <= w.tree.Nodes[i].Start {
			return n.End
		}
	}
	return w.of.open + 1
}

// rules reports whether a statement belongs to a pragma of OpenMP or OpenACC.
func rules(pragma string) bool {
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(pragma, "#")), "pragma"))
	return len(words) > 1 && (words[0] == "omp" || words[0] == "acc") && !standsAlone[words[1]]
}

// standsAlone are directives of OpenMP that no statement belongs to.
var standsAlone = map[string]bool{"barrier": true, "taskwait": true, "taskyield": true, "flush": true, "cancel": true,
	"threadprivate": true}

// silent are statements without code of their own.
var silent = map[string]bool{"comment": true, "compound_statement": true, "labeled_statement": true,
	"case_statement": true, "break_statement": true, "goto_statement": true, "do_statement": true,
	"try_statement": true, "type_definition": true, "using_declaration": true, "alias_declaration": true,
	"static_assert_declaration": true, "namespace_alias_definition": true, "struct_specifier": true,
	"class_specifier": true, "union_specifier": true, "enum_specifier": true, "function_definition": true,
	"template_declaration": true, "attribute_declaration": true, "catch_clause": true}

// jumps are statements behind which the code does not go on.
var jumps = []string{"return_statement", "break_statement", "continue_statement", "goto_statement",
	"throw_statement", "co_return_statement"}

var loops = map[string]bool{"for_statement": true, "while_statement": true, "for_range_loop": true,
	"do_statement": true}

// hasCode reports whether a statement has code of its own.
func (w *placer) hasCode(i int) bool {
	n := w.tree.Nodes[i]
	text := w.tree.Text(i)
	switch n.Type {
	case "expression_statement":
		return text != ";" && text != ""
	case "attributed_statement":
		return !strings.HasSuffix(strings.TrimSpace(text), "]];")
	case "declaration":
		if strings.HasPrefix(text, "__label__") || strings.HasPrefix(text, "extern") {
			return false
		}
		t := w.tree.Field(i, "type")
		simple := t < 0 || !w.dialect.scoped || strings.HasSuffix(w.tree.Nodes[t].Type, "primitive_type") ||
			w.tree.Nodes[t].Type == "sized_type_specifier"
		return !simple || strings.ContainsAny(text, "=({")
	}
	return n.Named && !silent[n.Type]
}

// placeOf is the place of a statement, unknown if it has none.
func (w *placer) placeOf(i int, from here) int {
	n := w.tree.Nodes[i]
	switch {
	case n.Type == "continue_statement":
		return from.loop
	case w.region(n.Start).file != w.file:
		return unknown
	case !w.places.Lines && loops[n.Type]:
		return w.add(checkpoint.BlockPlace, n.Start, n.End)
	case !w.hasCode(i):
		return unknown
	case w.places.Lines:
		return w.add(checkpoint.LinePlace, n.Start, w.headEnd(i))
	}
	return from.place
}

// headEnd is where a statement ends, or what it has before its blocks.
func (w *placer) headEnd(i int) int {
	for _, field := range []string{"consequence", "body"} {
		if c := w.tree.Field(i, field); c >= 0 {
			return w.tree.Nodes[i].Start + 1
		}
	}
	return w.tree.Nodes[i].End
}

// all goes through the statements of a block, which begins in a place, and gives that in which it ends.
func (w *placer) all(block int, from here, at int) int {
	colon := w.tree.Nodes[block].Type != "case_statement" // its statements are behind its colon
	w.tree.Children(block, func(c int) {
		switch n := w.tree.Nodes[c]; {
		case !colon:
			colon = n.Type == ":"
		case n.Named:
			at = w.statement(c, from, at)
		}
	})
	return at
}

// statement goes through a statement, before which the code is in a place, and gives that in which it is behind it.
func (w *placer) statement(i int, from here, at int) int {
	if strings.HasPrefix(w.tree.Nodes[i].Type, "preproc_") {
		return w.directive(i, from, at)
	}
	start, parallel := w.start(i)
	if place := w.placeOf(i, from); place != unknown && place != at {
		w.put(start, place, "")
		at = place
	}
	if parallel {
		return unknown
	}
	switch t := w.tree.Nodes[i].Type; {
	case t == "compound_statement":
		return w.all(i, from, at)
	case t == "labeled_statement" || t == "case_statement":
		return w.labelled(i, from)
	case t == "if_statement":
		w.arm(w.tree.Field(i, "consequence"), i, from, at)
		if other := w.tree.Field(i, "alternative"); other >= 0 {
			w.tree.Children(other, func(c int) {
				if !w.tree.Nodes[c].Named || w.tree.Nodes[c].Type == "comment" {
					return
				}
				if w.tree.Nodes[c].Type == "if_statement" { // it has its own arms
					w.block(c, from, at, unknown)
				} else {
					w.arm(c, other, from, at)
				}
			})
		}
	case loops[t]:
		w.loop(i, from, at)
	case t == "switch_statement":
		w.block(w.tree.Field(i, "body"), from, unknown, unknown)
	case t == "try_statement":
		w.tree.Children(i, func(c int) {
			switch w.tree.Nodes[c].Type {
			case "compound_statement":
				w.all(c, from, at)
			case "catch_clause":
				w.arm(w.tree.Field(c, "body"), c, from, unknown)
			}
		})
	case !w.hasCode(i) && t != "function_definition":
		return at
	case w.of.suspends || t == "attributed_statement":
	default:
		return at
	}
	return unknown
}

// labelled goes through what is behind a label, to which the code may come from anywhere.
func (w *placer) labelled(i int, from here) (at int) {
	at = unknown
	if w.tree.Nodes[i].Type == "labeled_statement" {
		w.tree.Children(i, func(c int) {
			if n := w.tree.Nodes[c]; n.Named && n.Field != "label" && n.Start < n.End {
				at = w.statement(c, from, at)
			}
		})
		return at
	}
	if !w.places.Lines && w.tree.Nodes[w.tree.After(i)-1].Type != ":" {
		n := w.tree.Nodes[i]
		from.place = w.add(checkpoint.BlockPlace, n.Start, n.End)
	}
	return w.all(i, from, at)
}

// arm goes through an arm of a branch, which is from the begin of head to its own end.
func (w *placer) arm(i, head int, from here, at int) {
	if i < 0 {
		return
	}
	if !w.places.Lines && w.region(w.tree.Nodes[head].Start).file == w.file {
		from.place, at = w.add(checkpoint.BlockPlace, w.tree.Nodes[head].Start, w.tree.Nodes[i].End), unknown
	}
	w.block(i, from, at, unknown)
}

// block goes through a statement that need not have braces. At its end the code goes back to a place.
func (w *placer) block(i int, from here, at, back int) {
	if i < 0 {
		return
	}
	n := w.tree.Nodes[i]
	if n.Type == "compound_statement" {
		if at = w.all(i, from, at); back != unknown && back != at && !w.ends(i) {
			w.put(n.End-1, back, "")
		}
		return
	}
	if n.Type == "expression_statement" && !w.hasCode(i) {
		return
	}
	begin, _ := w.start(i)
	before := len(w.of.marks)
	w.put(begin, unknown, "{ ")
	at = w.statement(i, from, at)
	if back != unknown && back != at && !slices.Contains(jumps, n.Type) {
		w.put(n.End, back, " ")
	}
	if len(w.of.marks) == before+1 {
		w.of.marks = w.of.marks[:before]
		return
	}
	w.put(n.End, unknown, " }")
}

// ends reports whether the code never comes to the end of a block.
func (w *placer) ends(block int) bool {
	last := -1
	w.tree.Children(block, func(c int) {
		if n := w.tree.Nodes[c]; n.Named && n.Type != "comment" {
			last = c
		}
	})
	return last >= 0 && slices.Contains(jumps, w.tree.Nodes[last].Type)
}

// loop goes through the body of a loop.
func (w *placer) loop(i int, from here, at int) {
	n, body := w.tree.Nodes[i], w.tree.Field(i, "body")
	back := at
	switch {
	case w.region(n.Start).file != w.file:
		back = unknown
	case n.Type == "do_statement" && w.places.Lines:
		if c := w.tree.Field(i, "condition"); c >= 0 && w.region(w.tree.Nodes[c].Start).file == w.file {
			back = w.add(checkpoint.LinePlace, w.tree.Nodes[c].Start, w.tree.Nodes[c].End)
		}
		at = unknown
	case w.places.Lines && w.isEndless(i):
		at, back = unknown, unknown
	}
	from.loop = back
	if !w.places.Lines {
		from.place = at
	}
	w.block(body, from, at, back)
}

// isEndless reports whether a loop has no head that runs each time.
func (w *placer) isEndless(i int) bool {
	condition := w.tree.Field(i, "condition")
	switch w.tree.Nodes[i].Type {
	case "for_statement":
		return condition < 0 && w.tree.Field(i, "update") < 0
	case "while_statement":
		text := strings.Trim(string(withoutComments([]byte(w.tree.Text(condition)))), "() \t\n")
		return text == "1" || text == "true"
	}
	return false
}
