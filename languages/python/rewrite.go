package python

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/instrument/syntax"
)

// unit is what a block moves to the right when a try is put around it.
const unit = "    "

// render writes a plan into the text of a module: calls of the module
// codegreen_runtime, which stands in its folder. Bodies get a try and a finally and
// move to the right; the lines of strings stay what they are.
func render(text []byte, p *instrument.Plan, first int) ([]edit.Edit, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	r := &textWriter{t: t, text: text, file: p.File, first: first, runtime: "__cg__", linesBefore: map[int]string{},
		blocksAtRow: map[int]int{}, continued: map[int]bool{}}
	for strings.Contains(string(text), r.runtime) {
		r.runtime += "_"
	}
	for _, n := range t.Nodes {
		if n.Type == "line_continuation" {
			r.continued[n.End] = true
		}
	}
	at := map[int]int{} // byte offset -> node that begins there and has a point
	for i := len(t.Nodes) - 1; i >= 0; i-- {
		switch t.Nodes[i].Type {
		case "function_definition", "lambda", "yield", "await", "for_statement", "with_statement", "try_statement",
			"list_comprehension", "set_comprehension", "dictionary_comprehension":
			if t.Nodes[i].Named {
				at[t.Nodes[i].Start] = i
			}
		}
	}
	// Inner points first: at one place, the inner block ends before the outer.
	points := append([]instrument.Point(nil), p.Points...)
	sort.SliceStable(points, func(i, j int) bool {
		a, b := points[i], points[j]
		return a.Start > b.Start || a.Start == b.Start && a.End < b.End
	})
	deep := r.tooDeep(points, at)
	shown := r.selfDocumenting()
	places := r.newSavedPlaces(p, deep)
	for _, q := range points {
		places.write(q.Start)
		if q.Role == instrument.Module {
			places.write(-1)
			r.module(q.Site, p.Sites)
			continue
		}
		i, ok := at[q.Start]
		// a try inside a lambda cannot be; an await may begin at one place with another
		for ok && t.Nodes[i].End != q.End {
			i++
			ok = i < len(t.Nodes) && t.Nodes[i].Start == q.Start
		}
		if !ok {
			return nil, fmt.Errorf("line %d: the plan does not fit the text", q.Line)
		}
		if deep[q.Site] || shown[i] {
			continue
		}
		switch q.Role {
		case instrument.Body:
			r.block(t.Field(i, "body"), i, "enter", "exit", q.Site)
		case instrument.Lambda:
			b := t.Nodes[t.Field(i, "body")]
			r.open(b.Start, "%s.leave(%d, %[1]s.enter(%[2]d) or (", r.runtime, r.siteNumber(q.Site))
			r.insert(b.End, "))")
		case instrument.Pause:
			r.pause(i, q.Site)
		case instrument.Handlers:
			r.handlers(i, q.Site)
		}
	}
	places.write(-1)
	r.indentMoved()
	return r.edits, nil
}

// tooDeep finds the sites whose functions nest so many blocks that the
// interpreter, which takes 20, may refuse one more.
func (r *textWriter) tooDeep(points []instrument.Point, at map[int]int) map[int]bool {
	out := map[int]bool{}
	for _, q := range points {
		i, ok := at[q.Start]
		if q.Role != instrument.Body || !ok {
			continue
		}
		var ends []int // of the blocks around a node, one for each level
		for k := r.t.Field(i, "body"); k < r.t.After(i); k++ {
			for len(ends) > 0 && k >= ends[len(ends)-1] {
				ends = ends[:len(ends)-1]
			}
			levels := 0
			switch n := r.t.Nodes[k]; {
			case n.Type == "try_statement":
				levels = 3 // the finally, the handlers, the name of a handler
			case n.Type == "for_statement" || n.Type == "with_statement":
				levels = 1
				if r.t.Nodes[k+1].Type == "async" {
					levels = 3
				}
			case n.Type == "while_statement":
				levels = 1
			case n.Type == "with_item":
				levels = 2 // one in between, if it is async
			}
			for range levels {
				ends = append(ends, r.t.After(k))
			}
			if len(ends) >= 20 {
				out[q.Site] = true
				break
			}
		}
	}
	return out
}

// selfDocumenting finds the expressions that a string shows as they are written: f"{x=}".
// Nothing may be inserted there.
func (r *textWriter) selfDocumenting() map[int]bool {
	out := map[int]bool{}
	for i, n := range r.t.Nodes {
		if n.Type != "=" || r.t.Nodes[n.Parent].Type != "interpolation" {
			continue
		}
		for k := n.Parent; k < i; k++ {
			out[k] = true
		}
	}
	return out
}

type textWriter struct {
	t           *syntax.Tree
	text        []byte
	file        string
	first       int
	runtime     string
	edits       []edit.Edit    // what closes, inner first
	opens       []edit.Edit    // what opens, inner first
	moved       [][2]int       // rows from, to
	linesBefore map[int]string // lines in front of a line, by its offset
	blocksAtRow map[int]int    // blocks that begin at a row

	continued map[int]bool // offsets of lines that a backslash joins to the one before
}

func (r *textWriter) siteNumber(site int) int { return r.first + site }

func (r *textWriter) insert(at int, format string, args ...any) {
	r.edits = append(r.edits, edit.Edit{Start: at, End: at, New: fmt.Sprintf(format, args...)})
}

// insertLine puts lines in front of the line of an offset. Outer points come later
// and their lines stand before those of inner ones.
func (r *textWriter) insertLine(at int, format string, args ...any) {
	at = r.lineStart(at)
	r.linesBefore[at] = fmt.Sprintf(format, args...) + r.linesBefore[at]
}

// open inserts what encloses the text from at on, with a space behind a word that ends there: "return[" is two tokens.
func (r *textWriter) open(at int, format string, args ...any) {
	space := ""
	if at > 0 && isWord(r.text[at-1]) {
		space = " "
	}
	r.opens = append(r.opens, edit.Edit{Start: at, End: at, New: space + fmt.Sprintf(format, args...)})
}

// isWord reports whether a byte may be one of a keyword or number.
func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|' ' && b|' ' <= 'z'
}

func (r *textWriter) call(what string, site int) string {
	return fmt.Sprintf("%s.%s(%d)", r.runtime, what, r.siteNumber(site))
}

// lineStart is the offset at which the line of an offset begins.
func (r *textWriter) lineStart(at int) int {
	for at > 0 && r.text[at-1] != '\n' && !(r.text[at-1] == '\r' && (at == len(r.text) || r.text[at] != '\n')) {
		at--
	}
	return at
}

// indent is the white space before the first character of the line of at.
func (r *textWriter) indent(at int) string {
	s := r.lineStart(at)
	e := s
	for e < len(r.text) && (r.text[e] == ' ' || r.text[e] == '\t' || r.text[e] == '\f') {
		e++
	}
	return string(r.text[s:e])
}

// startsLine reports whether only white space stands before at on its line, and the
// line continues none.
func (r *textWriter) startsLine(at int) bool {
	s := r.lineStart(at)
	return s+len(r.indent(at)) == at && !r.continued[s]
}

// statements lists the statements of a block or module.
func (r *textWriter) statements(block int) []int {
	var out []int
	r.t.Children(block, func(c int) {
		if n := r.t.Nodes[c]; n.Named && n.Type != "comment" && n.Type != "line_continuation" {
			out = append(out, c)
		}
	})
	return out
}

func (r *textWriter) documented(stmts []int) bool {
	if len(stmts) == 0 || r.t.Nodes[stmts[0]].Type != "expression_statement" {
		return false
	}
	only, n := -1, 0
	r.t.Children(stmts[0], func(c int) { only = c; n++ })
	if n != 1 {
		return false
	}
	literal := func(i int) bool {
		prefix := strings.ToLower(strings.TrimRight(r.t.Text(i+1), `"'`))
		return r.t.Nodes[i].Type == "string" && !strings.ContainsAny(prefix, "bf")
	}
	switch r.t.Nodes[only].Type {
	case "string":
		return literal(only)
	case "concatenated_string":
		all := true
		r.t.Children(only, func(c int) { all = all && literal(c) })
		return all
	}
	return false
}

// block puts a try around the statements of a block, behind its docstring.
// head is the statement the block belongs to.
func (r *textWriter) block(block, head int, before, after string, site int) {
	stmts := r.statements(block)
	if before == "enter" && r.documented(stmts) {
		if len(stmts) == 1 {
			n := r.t.Nodes[stmts[0]]
			if r.startsLine(n.Start) {
				in := "\n" + r.indent(n.Start) + r.mark(n.Row, 0)
				r.insert(n.End, "%s", in+r.call(before, site)+in+r.call(after, site))
			} else {
				r.insert(n.End, "; %s; %s", r.call(before, site), r.call(after, site))
			}
			return
		}
		stmts = stmts[1:]
	}
	if len(stmts) == 0 {
		return
	}
	end := r.call(after, site)
	if after == "again" {
		end = r.call("unwind", site) + "; " + end // whatever it called is over
	}
	n, last := r.t.Nodes[stmts[0]], r.t.Nodes[stmts[len(stmts)-1]]
	if r.startsLine(n.Start) {
		r.blocksAtRow[n.Row]++
		in := r.indent(n.Start) + r.mark(n.Row, r.blocksAtRow[n.Row])
		r.insertLine(n.Start, "%s", in+r.call(before, site)+"\n"+in+"try:\n")
		r.insert(last.End, "%s", "\n"+in+"finally:\n"+in+unit+end)
		r.moved = append(r.moved, [2]int{n.Row, last.EndRow})
		return
	}
	// On the line of the head, or behind a docstring.
	in := r.indent(r.t.Nodes[head].Start)
	row := r.t.Nodes[head].Row
	if doc := r.t.Nodes[r.statements(block)[0]]; doc.Start != n.Start && r.startsLine(doc.Start) {
		in, row = r.indent(doc.Start), doc.Row
	} else {
		in += unit
	}
	lead := "\n" + in + r.mark(row, 0)
	if doc := r.t.Nodes[r.statements(block)[0]]; doc.Start != n.Start && !r.startsLine(doc.Start) {
		r.open(doc.Start, "%s", lead)
	}
	r.open(n.Start, "%s", lead+r.call(before, site)+lead+"try:"+lead+unit)
	r.insert(last.End, "%s", lead+"finally:"+lead+unit+end)
	if last.EndRow > n.Row { // statements behind the docstring's line
		r.moved = append(r.moved, [2]int{n.Row + 1, last.EndRow})
	}
}

// mark stands for the white space by which the line of a row moves, but for
// own blocks that begin there; move replaces it once all blocks are known.
func (r *textWriter) mark(row, own int) string { return fmt.Sprintf("\x00%d %d\x00", row, own) }

// indentMoved shifts the lines inside the blocks that got a try.
func (r *textWriter) indentMoved() {
	for at, lines := range r.linesBefore {
		r.insert(at, "%s", lines)
	}
	depth := map[int]int{}
	for _, m := range r.moved {
		for row := m[0]; row <= m[1]; row++ {
			depth[row]++
		}
	}
	slices.Reverse(r.opens)
	r.edits = append(r.edits, r.opens...)
	for i := range r.edits {
		parts := strings.Split(r.edits[i].New, "\x00")
		for k := 1; k < len(parts); k += 2 {
			row, own := 0, 0
			fmt.Sscan(parts[k], &row, &own)
			parts[k] = strings.Repeat(unit, depth[row]-own)
		}
		r.edits[i].New = strings.Join(parts, "")
	}
	// The white space of a line comes first of what is inserted there, and
	// behind what the line has: tabs stay where they are.
	// Inside brackets that means nothing to the interpreter, but the grammar
	// wants no line further to the left than its statement.
	var lines []edit.Edit
	done := map[int]bool{}
	for i := range r.t.Nodes {
		n := r.t.Nodes[i]
		first := r.lineStart(n.Start)+len(r.indent(n.Start)) == n.Start
		if depth[n.Row] > 0 && !done[n.Row] && first && n.End > n.Start && n.Type != "module" {
			done[n.Row] = true
			lines = append(lines, edit.Edit{Start: n.Start, End: n.Start, New: strings.Repeat(unit, depth[n.Row])})
		}
		if n.Type == "string" {
			for row := n.Row + 1; row <= n.EndRow; row++ {
				done[row] = true
			}
		}
	}
	r.edits = append(lines, r.edits...)
}

// pause writes "resume(n, (yield suspend(n, value)))", and the like.
func (r *textWriter) pause(i, site int) {
	n := r.t.Nodes[i]
	k := r.siteNumber(site)
	switch n.Type {
	case "yield", "await":
		value := -1
		r.t.Children(i, func(c int) {
			if r.t.Nodes[c].Named && r.t.Nodes[c].Type != "comment" && value < 0 {
				value = c
			}
		})
		// The grammar takes "await x ** 2" for "await (x ** 2)".
		for n.Type == "await" && r.t.Nodes[value].Type == "binary_operator" {
			value = r.t.Field(value, "left")
			n.End = r.t.Nodes[value].End
		}
		how := "suspend"
		switch {
		case n.Type == "await" || r.t.Nodes[i+2].Type == "from" && r.t.Nodes[i+2].Parent == i:
			how = "wait"
		case asynchronous(r.t, i):
			how = "give"
		}
		r.open(n.Start, "%s.resume(%d, (", r.runtime, k)
		if value < 0 {
			r.insert(n.End, " %s.%s(%d, None)", r.runtime, how, k)
		} else {
			r.open(r.t.Nodes[value].Start, "%s.%s(%d, (", r.runtime, how, k)
			r.insert(n.End, "))")
		}
		r.insert(n.End, "))")
	case "list_comprehension", "set_comprehension", "dictionary_comprehension":
		r.open(n.Start, "%s.resume(%d, (", r.runtime, k)
		e := r.t.Nodes[firstIterable(r.t, i)]
		r.open(e.Start, "%s.suspend(%d, (", r.runtime, k)
		r.insert(e.End, "))")
		r.insert(n.End, "))")
	case "for_statement":
		e := r.t.Nodes[r.t.Field(i, "right")]
		r.open(e.Start, "%s.over(%d, (", r.runtime, k)
		r.insert(e.End, "))")
		r.block(r.t.Field(i, "body"), i, "resume", "again", site)
		r.elseUnwind(i, site)
		r.aroundStatement(i, site)
	case "with_statement":
		between := ""
		for c := i; c < r.t.Field(i, "body"); c++ {
			if r.t.Nodes[c].Type != "with_item" {
				continue
			}
			item := r.t.Field(c, "value")
			if r.t.Nodes[item].Type == "as_pattern" {
				item++
			}
			e := r.t.Nodes[item]
			r.open(e.Start, "%s%s.over(%d, (", between, r.runtime, k)
			r.insert(e.End, "))")
			between = r.call("between", site) + ", "
		}
		r.block(r.t.Field(i, "body"), i, "resume", "again", site)
		r.aroundStatement(i, site)
	}
}

// asynchronous reports whether a node is in the body of an async def, and of no
// other function in it.
func asynchronous(t *syntax.Tree, i int) bool {
	for i = t.Nodes[i].Parent; i >= 0; i = t.Nodes[i].Parent {
		switch t.Nodes[i].Type {
		case "lambda":
			return false
		case "function_definition":
			return t.Nodes[i+1].Type == "async"
		}
	}
	return false
}

// aroundStatement reports that a statement begins, and that it ends, however it is
// left: wherever its last await left the frame, it runs again.
func (r *textWriter) aroundStatement(i, site int) {
	n := r.t.Nodes[i]
	r.blocksAtRow[n.Row]++
	in := r.indent(n.Start) + r.mark(n.Row, r.blocksAtRow[n.Row])
	r.insertLine(n.Start, "%s", in+r.call("begin", site)+"\n"+in+"try:\n")
	r.insert(n.End, "%s", "\n"+in+"finally:\n"+in+unit+r.call("end", site))
	r.moved = append(r.moved, [2]int{n.Row, n.EndRow})
}

// handlers puts an unwind at the start of each handler of a try statement.
func (r *textWriter) handlers(i, site int) {
	r.t.Children(i, func(c int) {
		switch r.t.Nodes[c].Type {
		case "except_clause", "except_group_clause", "finally_clause":
		default:
			return
		}
		r.unwindAt(c, site)
	})
}

// elseUnwind puts an unwind at the start of the else of a loop.
func (r *textWriter) elseUnwind(i, site int) {
	r.t.Children(i, func(c int) {
		if r.t.Nodes[c].Type == "else_clause" {
			r.unwindAt(c, site)
		}
	})
}

// unwindAt puts an unwind at the start of the block of a clause.
func (r *textWriter) unwindAt(clause, site int) {
	r.t.Children(clause, func(b int) {
		if r.t.Nodes[b].Type != "block" {
			return
		}
		stmts := r.statements(b)
		if len(stmts) == 0 {
			return
		}
		n := r.t.Nodes[stmts[0]]
		if r.startsLine(n.Start) {
			r.insertLine(n.Start, "%s", r.indent(n.Start)+r.mark(n.Row, r.blocksAtRow[n.Row])+r.call("unwind",
				site)+"\n")
		} else {
			r.open(n.Start, "%s; ", r.call("unwind", site))
		}
	})
}

// module writes the import, the names of the sites, and the module's own
// checkpoints. Its exit stands at the end; when an exception ends the program
// before, the runtime supplies it.
func (r *textWriter) module(site int, sites []checkpoint.Site) {
	head := fmt.Sprintf("import codegreen_runtime as %s; %[1]s.sites(__name__, {%s}); %s", r.runtime,
		strings.Join(r.siteNames(sites), ", "), r.call("enter", site))
	stmts := r.statements(0)
	if r.documented(stmts) {
		stmts = stmts[1:]
	}
	for len(stmts) > 0 && r.t.Nodes[stmts[0]].Type == "future_import_statement" {
		stmts = stmts[1:]
	}
	end := len(r.text)
	close := r.call("exit", site) + "\n"
	if end > 0 && r.text[end-1] != '\n' && r.text[end-1] != '\r' {
		close = "\n" + close
	}
	if len(stmts) == 0 {
		r.insert(end, "%s", strings.TrimSuffix(close, r.call("exit", site)+"\n")+head+"; "+r.call("exit", site)+"\n")
		return
	}
	n := r.t.Nodes[stmts[0]]
	if r.startsLine(n.Start) {
		r.insertLine(n.Start, "%s\n", head)
	} else {
		r.open(n.Start, "\n%s\n", head)
	}
	r.insert(end, "%s", close)
}
