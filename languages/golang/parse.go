package golang

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"sort"

	"github.com/smacker/go-tree-sitter/golang"

	"cg/instrument"
	"cg/instrument/syntax"
	"cg/pattern"
)

var grammar = syntax.Lazy(golang.GetLanguage)

// sourceFile is a parsed Go file: what a plan and its edits need of it.
// Offsets are in bytes.
type sourceFile struct {
	text       []byte
	pkg        string // its package clause
	clause     int    // where the keyword package stands
	clauseEnd  int    // the end of the package clause
	importsEnd int    // the end of the last import, or of the package clause
	cgo        bool   // it imports "C"
	funcs      []function
	lines      []int // offsets of the starts of lines
}

// function is a function of a file, in the order of the text.
type function struct {
	name    string // "" of a literal
	recv    string // the receiver with its parentheses, "" for none
	generic bool   // it has type parameters of its own
	start   int    // where its keyword func stands
	at      int    // where its name stands, or the keyword
	open    int    // the brace that opens its body, -1 for none
	close   int    // the brace that closes it
	outer   int    // the function that it stands in, -1 for none
	bare    bool   // it stays without checkpoints if the compiler inlines it
	site    int    // the index of its site in the plan, where it has marks
	marks   []mark // of the events of its places
}

// parseFile parses a file with tree-sitter, or, where the grammar does not place all of
// the text, with Go's own parser. Both find the same functions; a test holds that.
func parseFile(text []byte) (*sourceFile, error) {
	g, err := parseWithTreeSitter(text)
	if err != nil {
		if g, err = parseWithGoParser(text); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func newSourceFile(text []byte) *sourceFile {
	g := &sourceFile{text: text, lines: []int{0}, clauseEnd: -1, importsEnd: -1}
	for i, b := range text {
		if b == '\n' {
			g.lines = append(g.lines, i+1)
		}
	}
	return g
}

// parseWithTreeSitter refuses a text that the grammar does not place as a whole.
func parseWithTreeSitter(text []byte) (*sourceFile, error) {
	t, err := grammar().Parse(text, syntax.Deadline)
	if err != nil {
		return nil, err
	}
	if n, row := t.Faults(); n > 0 {
		return nil, fmt.Errorf("%w: the grammar does not place the text at line %d", instrument.ErrSyntax, row+1)
	}
	g := newSourceFile(text)
	t.Children(0, func(c int) {
		n := t.Nodes[c]
		switch n.Type {
		case "package_clause":
			t.Children(c, func(p int) {
				if t.Nodes[p].Type == "package_identifier" {
					g.pkg, g.clause, g.clauseEnd = t.Text(p), n.Start, t.Nodes[p].End
				}
			})
		case "import_declaration":
			g.importsEnd = n.End
		}
	})
	for i, n := range t.Nodes {
		f := function{start: n.Start, at: n.Start, open: -1, close: -1, outer: -1}
		switch n.Type {
		case "import_spec":
			if p := t.Field(i, "path"); p >= 0 && (t.Text(p) == `"C"` || t.Text(p) == "`C`") {
				g.cgo = true
			}
			continue
		case "function_declaration", "method_declaration":
			name := t.Field(i, "name")
			if name < 0 {
				continue
			}
			f.name, f.at = t.Text(name), t.Nodes[name].Start
			f.generic = t.Field(i, "type_parameters") >= 0
			if r := t.Field(i, "receiver"); r >= 0 {
				f.recv = t.Text(r)
			}
		case "func_literal":
		default:
			continue
		}
		if b := t.Field(i, "body"); b >= 0 {
			f.open, f.close = t.Nodes[b].Start, t.Nodes[b].End-1
		}
		g.funcs = append(g.funcs, f)
	}
	return g, g.nest()
}

func parseWithGoParser(text []byte) (*sourceFile, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		list, is := err.(scanner.ErrorList)
		if is && len(list) > 0 {
			return nil, fmt.Errorf("%w: line %d: %s", instrument.ErrSyntax, list[0].Pos.Line, list[0].Msg)
		}
		return nil, fmt.Errorf("%w: %v", instrument.ErrSyntax, err)
	}
	g := newSourceFile(text)
	offset := func(p token.Pos) int { return set.PositionFor(p, false).Offset }
	g.pkg, g.clause, g.clauseEnd = f.Name.Name, offset(f.Package), offset(f.Name.End())
	for _, s := range f.Imports {
		g.cgo = g.cgo || s.Path.Value == `"C"` || s.Path.Value == "`C`"
	}
	for _, d := range f.Decls {
		if d, is := d.(*ast.GenDecl); is && d.Tok == token.IMPORT {
			g.importsEnd = offset(d.End())
		}
	}
	body := func(n function, b *ast.BlockStmt) {
		n.open, n.close, n.outer = -1, -1, -1
		if b != nil {
			n.open, n.close = offset(b.Lbrace), offset(b.Rbrace)
		}
		g.funcs = append(g.funcs, n)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			out := function{name: n.Name.Name, start: offset(n.Type.Func), at: offset(n.Name.Pos()),
				generic: n.Type.TypeParams != nil}
			if n.Recv != nil {
				out.recv = string(text[offset(n.Recv.Pos()):offset(n.Recv.End())])
			}
			body(out, n.Body)
		case *ast.FuncLit:
			body(function{start: offset(n.Type.Func), at: offset(n.Type.Func)}, n.Body)
		}
		return true
	})
	return g, g.nest()
}

// nest orders the functions and finds for each the function that it stands in.
func (g *sourceFile) nest() error {
	if g.clauseEnd < 0 {
		return fmt.Errorf("%w: no package clause", instrument.ErrSyntax)
	}
	g.importsEnd = max(g.importsEnd, g.clauseEnd)
	slices.SortStableFunc(g.funcs, func(a, b function) int { return a.start - b.start })
	var open []int
	for i := range g.funcs {
		f := &g.funcs[i]
		for len(open) > 0 && g.funcs[open[len(open)-1]].close < f.start {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			f.outer = open[len(open)-1]
		}
		if f.open >= 0 {
			if f.close <= f.open || f.close >= len(g.text) || g.text[f.open] != '{' || g.text[f.close] != '}' {
				line, _ := g.place(f.start)
				return fmt.Errorf("%w: the body of the function at line %d", instrument.ErrSyntax, line)
			}
			open = append(open, i)
		}
	}
	return nil
}

// place is the line and the column of an offset, from 1.
func (g *sourceFile) place(at int) (line, col int) {
	line = sort.Search(len(g.lines), func(i int) bool { return g.lines[i] > at })
	return line, at - g.lines[line-1] + 1
}

// offset is that of a line and a column, -1 if the text has none such.
func (g *sourceFile) offset(line, col int) int {
	if line < 1 || line > len(g.lines) || col < 1 {
		return -1
	}
	at := g.lines[line-1] + col - 1
	if at > len(g.text) || line < len(g.lines) && at >= g.lines[line] {
		return -1
	}
	return at
}

// eachToken calls f with the tokens of a text, those that the scanner supplies
// included, until f returns false.
func eachToken(text []byte, f func(at int, t token.Token, literal string) bool) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, 0)
	for {
		p, t, literal := s.Scan()
		if t == token.EOF || !f(file.Offset(p), t, literal) {
			return
		}
	}
}

// receiverName is a receiver as it stands in the names of methods: S, (*S),
// T[...], (*T[...]).
func receiverName(recv string) string {
	name, pointer, generic := "", false, false
	eachToken([]byte(recv), func(_ int, t token.Token, literal string) bool {
		switch t {
		case token.IDENT:
			name = literal
		case token.MUL:
			pointer = true
		case token.LBRACK:
			generic = true
		}
		return !generic
	})
	if generic {
		name += "[...]"
	}
	if pointer {
		return "(*" + name + ")"
	}
	return name
}

var (
	directivePattern = pattern.Later(`(?m)^//go:(\w+)`)
	linknamePattern  = pattern.Later(`(?m)^//go:linkname[ \t]+(\S+)`)
)

// uninstrumentable are the directives of functions that must not call what the runtime
// may preempt, or whose stack must not grow (cmd/compile, "Compiler directives",
// and runtime/HACKING.md).
var uninstrumentable = []string{"nosplit", "norace", "nocheckptr", "systemstack", "nowritebarrier",
	"nowritebarrierrec", "yeswritebarrierrec", "cgo_unsafe_args"}

// leftAlone gives the reasons why declarations of the file get no checkpoints, by their
// index.
func (g *sourceFile) leftAlone() map[int]string {
	why := map[int]string{}
	linked := map[string]bool{}
	for _, m := range linknamePattern().FindAllSubmatch(g.text, -1) {
		linked[string(m[1])] = true
	}
	before := g.clauseEnd
	for i, f := range g.funcs {
		if f.outer >= 0 {
			continue
		}
		if f.name != "" {
			for _, m := range directivePattern().FindAllSubmatch(g.text[before:f.start], -1) {
				if name := string(m[1]); slices.Contains(uninstrumentable, name) {
					why[i] = "left alone: it is marked //go:" + name
				}
			}
			if f.recv == "" && linked[f.name] {
				why[i] = "left alone: //go:linkname gives it another name"
			}
			if f.open < 0 {
				why[i] = "left alone: it has no body in Go"
			}
		}
		before = max(before, f.start, f.close)
	}
	return why
}
