package java

import (
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
)

// A place is a part of a function's code: a line, or a block, which is a loop or an arm of a branch. What is in no
// block is a place of its own, the rest. Between statements stand events that say to which place the code goes. A
// place lasts until the next event of its call, so there is one at the end of a loop's body, behind which its head
// runs, and one behind a block.

// filePlan is the plan of a file. The sites of a function's places stand behind its own.
type filePlan struct {
	*instrument.Plan
	marks []mark
}

// mark is what stands before an offset: the event of a place, or a brace that makes one statement a block.
type mark struct {
	at, place int // an index into the places of the function, or into the sites of the plan; unknown for none
	brace     string
}

// unknown is no place: that in which the code is may be any.
const unknown = -1

const (
	// placeSize is how many bytes of byte code an event has at most: ldc_w and invokestatic (JVMS 6.5).
	placeSize = 6
	// maxBraces bounds how many pairs of braces enclose a statement: the compiler is called once for each.
	maxBraces = 200
	// refusesPlaces is why a function has no places, before the compiler's message.
	refusesPlaces = "the compiler refuses them: "
	// anyFunction stands for each function of a file, among those that have no places.
	anyFunction = "*"
)

// The braces that are added say so, so that what the compiler quotes can be shown without them.
const (
	openBrace  = "/*cg$*/{"
	closeBrace = "/*cg$*/}"
)

// placer finds the places of one function.
type placer struct {
	*planner
	open   int // from where on its statements are its own: behind the call of another constructor
	name   string
	places instrument.PlaceList
	marks  []mark
	labels map[string]int // what a label's continue goes to
	braces int            // around a statement, that were added
	deep   bool           // there are too many
}

// here is where a statement stands: the place of its block, and where continue goes in the loop around it.
type here struct{ place, loop int }

// addPlaces adds the places of the function whose site is the last, and their events; if it cannot, what the function
// lacks is said.
func (p *planner) addPlaces(f function, s checkpoint.Site, open int) {
	why := p.wish.unplaced[fmt.Sprintf("%s:%d", s.Func, s.Line)]
	if why == "" {
		why = p.wish.unplaced[anyFunction]
	}
	if why == "" {
		why = p.putPlaces(f, s, open)
	}
	if why != "" {
		p.plan.LeftAlone = append(p.plan.LeftAlone, instrument.LeftAlone{Name: s.Func, Line: s.Line,
			Reason: fmt.Sprintf("has no %ss: %s", p.options.Granularity, why)})
	}
}

func (p *planner) putPlaces(f function, s checkpoint.Site, open int) (why string) {
	w := &placer{planner: p, open: open, name: s.Func, labels: map[string]int{}}
	w.places.Lines = p.options.Granularity == instrument.Lines
	from := here{unknown, unknown}
	if !w.places.Lines {
		from.place = w.add(checkpoint.RestPlace, p.Nodes[f.at].Start, p.Nodes[f.body].End)
	}
	w.all(f.body, from, from.place)
	switch {
	case w.deep:
		return "its statements are nested too deep"
	case p.codeSize(f.body)+len(w.marks)*placeSize > maxCodeSize:
		return "its byte code would come near the 64 KB that the JVM takes"
	case len(w.marks) == 0:
		return ""
	}
	for _, m := range w.marks {
		if m.place != unknown {
			m.place += len(p.plan.Sites)
		}
		p.marks = append(p.marks, m)
	}
	p.plan.Sites = append(p.plan.Sites, w.places.All...)
	return ""
}

// add gives the place from one offset to another. Statements in one line are one place.
func (w *placer) add(kind checkpoint.SiteKind, start, end int) int {
	line, col := w.place(start)
	endLine, _ := w.place(max(start, end-1))
	return w.places.Add(start, checkpoint.Site{
		Language: "java", Func: w.name, Line: line, Col: col, EndLine: endLine, Kind: kind,
	})
}

func (w *placer) put(at, place int, brace string) {
	w.marks = append(w.marks, mark{w.behindEscape(at), place, brace})
}

// silent are statements without code of their own.
var silent = map[string]bool{"line_comment": true, "block_comment": true, "block": true, "labeled_statement": true,
	"break_statement": true, "do_statement": true, "try_statement": true, "explicit_constructor_invocation": true,
	"class_declaration": true, "interface_declaration": true, "enum_declaration": true, "record_declaration": true,
	"annotation_type_declaration": true, "switch_label": true}

var loops = map[string]bool{"for_statement": true, "while_statement": true, "enhanced_for_statement": true,
	"do_statement": true}

// hasCode reports whether a statement has code of its own.
func (w *placer) hasCode(i int) bool {
	n := w.Nodes[i]
	if n.Type != "local_variable_declaration" {
		return n.Named && !silent[n.Type]
	}
	found := false
	w.Children(i, func(c int) {
		found = found || w.Nodes[c].Type == "variable_declarator" && w.Field(c, "value") >= 0
	})
	return found
}

// placeOf is the place of a statement, unknown if it has none.
func (w *placer) placeOf(i int, from here) int {
	n := w.Nodes[i]
	switch {
	case n.Type == "continue_statement":
		if l := w.labelOf(i); l != "" {
			return w.labels[l]
		}
		return from.loop
	case !w.places.Lines && loops[n.Type]:
		return w.add(checkpoint.BlockPlace, n.Start, n.End)
	case !w.hasCode(i):
		return unknown
	case w.places.Lines:
		return w.add(checkpoint.LinePlace, n.Start, w.headEnd(i))
	}
	return from.place
}

// labelOf is the label of a statement that has one, or goes to one.
func (p *planner) labelOf(i int) (label string) {
	p.Children(i, func(c int) {
		if p.Nodes[c].Type == "identifier" && label == "" {
			label = p.name(c)
		}
	})
	return label
}

// headEnd is where a statement ends, or what it has before its blocks.
func (w *placer) headEnd(i int) int {
	for _, field := range []string{"consequence", "body"} {
		if c := w.Field(i, field); c >= 0 {
			return w.Nodes[i].Start + 1
		}
	}
	return w.Nodes[i].End
}

// all goes through the statements of a block, which begins in a place, and gives that in which it ends.
func (w *placer) all(block int, from here, at int) int {
	w.Children(block, func(c int) {
		if n := w.Nodes[c]; n.Named && n.Start >= w.open {
			at = w.statement(c, from, at)
		}
	})
	return at
}

// statement goes through a statement, before which the code is in a place, and gives that in which it is behind it. An
// event of what has a label stands before the label.
func (w *placer) statement(i int, from here, at int) int {
	start := w.Nodes[i].Start
	var labels []string
	for w.Nodes[i].Type == "labeled_statement" {
		labels = append(labels, w.labelOf(i))
		i = w.labelled(i)
	}
	if place := w.placeOf(i, from); place != unknown && place != at {
		w.put(start, place, "")
		at = place
	}
	at = w.inside(i, from, at, labels)
	if labels != nil {
		return unknown
	}
	return at
}

// labelled is the statement that has a label.
func (p *planner) labelled(i int) (statement int) {
	p.Children(i, func(c int) {
		if !strings.HasSuffix(p.Nodes[c].Type, "comment") {
			statement = c
		}
	})
	return statement
}

// inside goes through the statements of a statement.
func (w *placer) inside(i int, from here, at int, labels []string) int {
	switch t := w.Nodes[i].Type; {
	case t == "block":
		return w.all(i, from, at)
	case t == "synchronized_statement":
		return w.all(w.Field(i, "body"), from, at)
	case t == "if_statement":
		w.arm(w.Field(i, "consequence"), i, from, at)
		other := w.Field(i, "alternative")
		if other >= 0 && w.Nodes[other].Type == "if_statement" { // it has its own arms
			w.block(other, from, at, unknown)
		} else if other >= 0 {
			w.arm(other, w.child(i, "else"), from, at)
		}
	case loops[t]:
		w.loop(i, from, at, labels)
	case t == "switch_expression":
		w.cases(w.Field(i, "body"), from, at)
	case t == "try_statement" || t == "try_with_resources_statement":
		w.Children(i, func(c int) {
			switch w.Nodes[c].Type {
			case "block":
				w.all(c, from, at)
			case "catch_clause":
				w.arm(w.Field(c, "body"), c, from, unknown)
			case "finally_clause":
				w.all(w.child(c, "block"), from, unknown)
			}
		})
	default:
		return at
	}
	return unknown
}

// child is the first child of a type, or -1.
func (p *planner) child(i int, kind string) int {
	found := -1
	p.Children(i, func(c int) {
		if found < 0 && p.Nodes[c].Type == kind {
			found = c
		}
	})
	return found
}

// cases goes through the cases of a switch. One without an arrow may be come to from the one before it.
func (w *placer) cases(body int, from here, at int) {
	w.Children(body, func(c int) {
		n := w.Nodes[c]
		switch n.Type {
		case "switch_rule":
			w.arm(w.lastOf(c), c, from, at)
		case "switch_block_statement_group":
			in := from
			if !w.places.Lines && w.lastOf(c) >= 0 {
				in.place = w.add(checkpoint.BlockPlace, n.Start, n.End)
			}
			w.all(c, in, unknown)
		}
	})
}

// lastOf is the last statement of a block or a case, -1 if there is none.
func (p *planner) lastOf(block int) int {
	last := -1
	p.Children(block, func(c int) {
		n := p.Nodes[c]
		if t := n.Type; t == ";" || n.Named && t != "switch_label" && !strings.HasSuffix(t, "comment") {
			last = c
		}
	})
	return last
}

// arm goes through an arm of a branch, which is from the begin of head to its own end.
func (w *placer) arm(i, head int, from here, at int) {
	if !w.places.Lines {
		from.place, at = w.add(checkpoint.BlockPlace, w.Nodes[head].Start, w.Nodes[i].End), unknown
	}
	w.block(i, from, at, unknown)
}

// block goes through a statement that need not have braces. At its end the code goes back to a place.
func (w *placer) block(i int, from here, at, back int) {
	n := w.Nodes[i]
	if n.Type == "block" {
		if at = w.all(i, from, at); back != unknown && back != at && w.goesOn(i) {
			w.put(w.closing(i), back, "")
		}
		return
	}
	if n.Type == ";" {
		return
	}
	before := len(w.marks)
	w.put(n.Start, unknown, openBrace)
	w.braces++
	w.deep = w.deep || w.braces > maxBraces
	at = w.statement(i, from, at)
	w.braces--
	if back != unknown && back != at && w.goesOn(i) {
		w.put(n.End, back, "")
	}
	if len(w.marks) == before+1 {
		w.marks = w.marks[:before]
		return
	}
	w.put(n.End, unknown, closeBrace)
}

// closing is where the closing brace of a block stands.
func (p *planner) closing(block int) (at int) {
	p.Children(block, func(c int) {
		if p.Nodes[c].Type == "}" {
			at = p.Nodes[c].Start
		}
	})
	return at
}

// loop goes through the body of a loop.
func (w *placer) loop(i int, from here, at int, labels []string) {
	back := at
	condition := w.Field(i, "condition")
	switch {
	case !w.places.Lines:
		from.place = at
	case w.Nodes[i].Type == "do_statement":
		back, at = w.add(checkpoint.LinePlace, w.Nodes[condition].Start, w.Nodes[condition].End), unknown
	case w.isEndless(i):
		at, back = unknown, unknown
	}
	for _, l := range labels {
		w.labels[l] = back
	}
	from.loop = back
	w.block(w.Field(i, "body"), from, at, back)
}

// isEndless reports whether a loop has no head that runs each time.
func (w *placer) isEndless(i int) bool {
	condition := w.Field(i, "condition")
	switch w.Nodes[i].Type {
	case "for_statement":
		return condition < 0 && w.Field(i, "update") < 0
	case "while_statement":
		return strings.Trim(w.Text(condition), "() \t\r\n") == "true"
	}
	return false
}

// placed reports whether the function of the site at an index has places.
func (p *filePlan) placed(i int) bool { return i+1 < len(p.Sites) && p.Sites[i+1].Kind.IsPlace() }

// placedIn reports whether a function, "name:line", has places, or any for anyFunction, in the lines of sites that
// instrument.SiteLines writes.
func placedIn(lines, function string) bool {
	name := function[:max(0, strings.LastIndexByte(function, ':'))]
	return slices.ContainsFunc(strings.Split(lines, "\n"), func(l string) bool {
		f := strings.Split(l, "\t")
		return len(f) == 6 && f[0] == "S" && checkpoint.SiteKind(f[1]).IsPlace() &&
			(function == anyFunction || f[5] == name)
	})
}

// unplace notes that a function, "name:line", or anyFunction, is to have no places. It reports whether it has any that
// are not noted yet.
func (s *rewrittenSource) unplace(function, message string) bool {
	if s.Unplaced[function] != "" || s.Unplaced[anyFunction] != "" || !placedIn(s.Lines, function) {
		return false
	}
	if s.Unplaced == nil {
		s.Unplaced = map[string]string{}
	}
	s.Unplaced[function] = refusesPlaces + message
	return true
}

// functionAt names the innermost function of a line, as "name:line".
func functionAt(lines string, line int) string {
	found, size := "", 0
	for l := range strings.Lines(lines) {
		f := strings.Split(strings.TrimSuffix(l, "\n"), "\t") // S kind line column end-line name
		if len(f) != 6 || f[0] != "S" || checkpoint.SiteKind(f[1]).IsPlace() {
			continue
		}
		var from, to int
		fmt.Sscan(f[2], &from)
		fmt.Sscan(f[4], &to)
		if from <= line && line <= to && (found == "" || to-from < size) {
			found, size = fmt.Sprintf("%s:%d", f[5], from), to-from
		}
	}
	return found
}
