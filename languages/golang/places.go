package golang

import (
	"go/ast"
	"go/parser"
	"go/token"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

// A place is a part of a function's code: a line, or a block, which is a loop or an arm of a branch. What is in no
// block is a place of its own, the rest. Between statements stand events that say to which place the code goes. A
// place lasts until the next event of its call, so there is one at the end of a loop's body, behind which its head
// runs, and one behind a block. What calls return to needs none: a call goes back to its caller's place.

// mark is what stands before an offset: an event between two texts, or only a text.
type mark struct {
	at, place     int // an index into the function's places, unknown for no event
	before, after string
}

// unknown is no place: that in which the code is may be any.
const unknown = -1

// canPlace refuses places where the checkpoints are not those in package runtime, which alone tell of them.
func canPlace(g instrument.Granularity, o runtimes.GoOverlay) error {
	if !g.HasPlaces() || o.Scheduler {
		return nil
	}
	return languages.Refuse(126, "-g %s needs the checkpoints in Go's scheduler, and there are none (%s): use -g fine",
		g, o.Reason)
}

// placer finds the places of one function.
type placer struct {
	*sourceFile
	set    *token.FileSet
	site   checkpoint.Site // of the function
	places instrument.PlaceList
	marks  []mark
	loops  map[string]int // where continue goes, by label
	labels map[string]int // in which place the code is behind a label
	jumps  []jump
}

// jump is a goto statement: where it stands, and its label.
type jump struct {
	at    int
	label string
}

// here is where a statement stands: the place of its block, and where continue goes in the loop around it.
type here struct{ place, loop int }

// placeSyntax is the syntax of a file, for the places of its functions.
type placeSyntax struct {
	set    *token.FileSet
	bodies map[int]*ast.BlockStmt // by the offsets of their braces
}

// parsePlaces gives the syntax of a file, nil for one that Go's parser refuses: the compiler will, too.
func (g *sourceFile) parsePlaces() *placeSyntax {
	s := &placeSyntax{set: token.NewFileSet(), bodies: map[int]*ast.BlockStmt{}}
	f, err := parser.ParseFile(s.set, "", g.text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			body = n.Body
		case *ast.FuncLit:
			body = n.Body
		}
		if body != nil {
			s.bodies[s.set.PositionFor(body.Lbrace, false).Offset] = body
		}
		return true
	})
	return s
}

// putPlaces finds the places of the code of a function, and their events.
func (g *sourceFile) putPlaces(s *placeSyntax, f *function, site checkpoint.Site, o instrument.Granularity) (
	places []checkpoint.Site) {
	body := s.bodies[f.open]
	if body == nil {
		return nil
	}
	w := &placer{sourceFile: g, set: s.set, site: site, loops: map[string]int{}, labels: map[string]int{}}
	w.places.Lines = o == instrument.Lines
	from := here{unknown, unknown}
	if !w.places.Lines {
		from.place = w.add(checkpoint.RestPlace, f.at, f.close)
	}
	w.all(body.List, from, from.place)
	for _, j := range w.jumps {
		if place, is := w.labels[j.label]; is && place != unknown {
			w.event(j.at, place)
		}
	}
	if f.marks = w.marks; len(w.marks) == 0 {
		return nil
	}
	return w.places.All
}

// at is the offset of a position.
func (w *placer) at(p token.Pos) int { return w.set.PositionFor(p, false).Offset }

// add gives the place from one offset to another. Statements that begin in one line are one place.
func (w *placer) add(kind checkpoint.SiteKind, start, end int) int {
	line, col := w.place(start)
	endLine, _ := w.place(max(start, end-1))
	return w.places.Add(start, checkpoint.Site{
		Language: w.site.Language, Func: w.site.Func, Line: line, Col: col, EndLine: endLine, Kind: kind,
	})
}

// event puts an event before a statement.
func (w *placer) event(at, place int) { w.marks = append(w.marks, mark{at, place, "", "; "}) }

// eventAtEnd puts an event before the brace that closes a block.
func (w *placer) eventAtEnd(at, place int) { w.marks = append(w.marks, mark{at, place, "; ", " "}) }

// hasCode reports whether a statement has code of its own.
func hasCode(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.EmptyStmt, *ast.BlockStmt, *ast.BranchStmt, *ast.BadStmt:
		return false
	case *ast.DeclStmt:
		d, is := s.Decl.(*ast.GenDecl)
		return is && d.Tok == token.VAR
	}
	return true
}

// placeOf is the place of a statement, unknown if it has none.
func (w *placer) placeOf(s ast.Stmt, from here) int {
	switch s := s.(type) {
	case *ast.BranchStmt:
		switch {
		case s.Tok == token.CONTINUE && s.Label != nil:
			return w.loops[s.Label.Name]
		case s.Tok == token.CONTINUE:
			return from.loop
		}
		return unknown
	case *ast.ForStmt, *ast.RangeStmt:
		if !w.places.Lines {
			return w.add(checkpoint.BlockPlace, w.at(s.Pos()), w.at(s.End()))
		}
	}
	switch {
	case !hasCode(s):
		return unknown
	case w.places.Lines:
		return w.add(checkpoint.LinePlace, w.at(s.Pos()), w.headEnd(s))
	}
	return from.place
}

// headEnd is where a statement ends, or the first line of one that has blocks.
func (w *placer) headEnd(s ast.Stmt) int {
	switch s.(type) {
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		return w.at(s.Pos()) + 1
	}
	return w.at(s.End())
}

// all goes through the statements of a block, which begins in a place, and gives that in which it ends.
func (w *placer) all(list []ast.Stmt, from here, at int) int {
	for _, s := range list {
		at = w.statement(s, from, at)
	}
	return at
}

// statement goes through a statement, before which the code is in a place, and gives that in which it is behind it.
func (w *placer) statement(s ast.Stmt, from here, at int) int {
	var names []string // of its labels: its event stands before them
	start := w.at(s.Pos())
	for l, is := s.(*ast.LabeledStmt); is; l, is = s.(*ast.LabeledStmt) {
		s, names = l.Stmt, append(names, l.Label.Name)
	}
	if place := w.placeOf(s, from); place != unknown && place != at {
		w.event(start, place)
		at = place
	} else if len(names) > 0 && place == unknown {
		at = unknown
	}
	for _, name := range names {
		w.labels[name] = at
	}
	switch s := s.(type) {
	case *ast.BlockStmt:
		return w.all(s.List, from, at)
	case *ast.IfStmt:
		w.branch(s, from, at)
	case *ast.ForStmt:
		w.loop(s.Body, names, s.Cond == nil && s.Post == nil, from, at)
	case *ast.RangeStmt:
		w.loop(s.Body, names, false, from, at)
	case *ast.SwitchStmt:
		w.clauses(s.Body, from)
	case *ast.TypeSwitchStmt:
		w.clauses(s.Body, from)
	case *ast.SelectStmt:
		w.clauses(s.Body, from)
	case *ast.BranchStmt:
		if s.Tok == token.GOTO {
			w.jumps = append(w.jumps, jump{start, s.Label.Name})
		}
	default:
		return at
	}
	return unknown
}

// branch goes through the arms of an if statement, which is in a place.
func (w *placer) branch(s *ast.IfStmt, from here, at int) {
	w.arm(s.Body.List, s.Pos(), s.Body.End(), from, at)
	switch other := s.Else.(type) {
	case *ast.BlockStmt:
		w.arm(other.List, other.Pos(), other.End(), from, at)
	case *ast.IfStmt: // it has its own arms; an event before it needs a block
		place := w.placeOf(other, from)
		if place != unknown && place != at {
			w.marks = append(w.marks, mark{w.at(other.Pos()), place, "{ ", "; "})
			w.branch(other, from, place)
			w.marks = append(w.marks, mark{w.at(other.End()), unknown, " }", ""})
			return
		}
		w.branch(other, from, at)
	}
}

// arm goes through the statements of an arm of a branch.
func (w *placer) arm(list []ast.Stmt, start, end token.Pos, from here, at int) {
	if !w.places.Lines {
		from.place, at = w.add(checkpoint.BlockPlace, w.at(start), w.at(end)), unknown
	}
	w.all(list, from, at)
}

// clauses goes through the clauses of a switch or select statement.
func (w *placer) clauses(body *ast.BlockStmt, from here) {
	for _, c := range body.List {
		var list []ast.Stmt
		switch c := c.(type) {
		case *ast.CaseClause:
			list = c.Body
		case *ast.CommClause:
			list = c.Body
		}
		if len(list) > 0 {
			w.arm(list, c.Pos(), c.End(), from, unknown)
		}
	}
}

// loop goes through the body of a loop, which is in a place. One that is endless has no head that runs each time.
func (w *placer) loop(body *ast.BlockStmt, names []string, endless bool, from here, at int) {
	back := at
	if w.places.Lines && endless {
		at, back = unknown, unknown
	}
	from.loop = back
	for _, name := range names {
		w.loops[name] = back
	}
	if !w.places.Lines {
		from.place = at
	}
	if at = w.all(body.List, from, at); back != unknown && back != at && !ends(body.List) {
		w.eventAtEnd(w.at(body.Rbrace), back)
	}
}

// ends reports whether the code never comes to the end of a block.
func ends(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	}
	return false
}
