package node

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/syntax"
	"cg/languages"
	"cg/pattern"
)

//go:embed plan.go block.go names.go rewrite.go made.go sourcemap.go
var plannerSources embed.FS

// planVersion is that of what these files plan and rewrite.
var planVersion = languages.SourceVersion(plannerSources)

// grammars are asked in this order. Each text of JavaScript is one of the first, unless it has syntax
// that the grammar does not know; a cast as in <T>x is one of the last only.
var grammars = []func() *syntax.Grammar{syntax.Lazy(javascript.GetLanguage), syntax.Lazy(tsx.GetLanguage),
	syntax.Lazy(typescript.GetLanguage)}

// decode takes the bytes of a file as they are: Node reads UTF-8, and takes no other encoding.
func decode(source []byte) ([]byte, error) { return source, nil }

// Declarations that the grammars do not know, and at times take for something else. One by using can be one by const to
// them, which has as many letters. One by await using is another matter: it awaits at the end of its block.
var (
	using      = pattern.Later(`((?:^|[\n;{}(])[ \t]*)using([ \t]+[\p{L}_$])`)
	awaitUsing = pattern.Later(`\bawait[ \t]+using[ \t]+[\p{L}_$][\p{L}\p{N}_$]*[ \t]*(=|of\b)`)
)

// parse parses a text by the first grammar that places all of it.
func parse(source []byte) (*syntax.Tree, error) {
	t, err := parseUsing(source)
	// Some grammar may place such a declaration as something else, and there its text is code.
	for _, at := range awaitUsing().FindAllIndex(source, -1) {
		if err != nil || !isText(t, at[0]) {
			return nil, fmt.Errorf("%w: the grammar does not know await using, at line %d", instrument.ErrSyntax,
				1+bytes.Count(source[:at[0]], []byte("\n")))
		}
	}
	return t, err
}

// isText reports whether a byte lies in a comment, or in a literal but not in the code of a template.
func isText(t *syntax.Tree, at int) bool {
	text := false
	for _, n := range t.Nodes {
		if n.Start > at {
			break
		}
		if at >= n.End {
			continue
		}
		switch n.Type { // those that hold the byte follow each other inwards
		case "comment", "hash_bang_line", "string", "template_string", "regex", "jsx_text":
			text = true
		case "template_substitution":
			text = false
		}
	}
	return text
}

func parseUsing(source []byte) (*syntax.Tree, error) {
	if using().Match(source) {
		if t, err := parseAsItIs(using().ReplaceAll(source, []byte("${1}const$2"))); err == nil {
			return t, nil
		}
	}
	return parseAsItIs(source)
}

func parseAsItIs(source []byte) (*syntax.Tree, error) {
	var first error
	for _, grammar := range grammars {
		t, err := grammar().Parse(source, syntax.Deadline)
		if err != nil {
			return nil, err
		}
		n, row := t.Faults()
		if n == 0 {
			return t, nil
		}
		if first == nil {
			first = fmt.Errorf("%w: the grammar does not place the text at line %d", instrument.ErrSyntax, row+1)
		}
	}
	return nil, first
}

// scope is a part of the source with one owner: the module, a class or a function.
type scope struct {
	end    int    // index of the first node behind it
	site   int    // that runs here, -1 for none
	name   string // qualified, "" for the module
	class  bool
	awaits bool // await suspends the function
	yields bool // yield does
	with   bool // names may be properties of an object (with)
}

// qualify is the name of what is defined in a scope.
func (s scope) qualify(name string) string {
	if s.name == "" {
		return name
	}
	return s.name + "." + name
}

// planner plans a module in one pass over its nodes.
type planner struct {
	*syntax.Tree
	options instrument.Options
	plan    *instrument.Plan
	scopes  []scope       // around the node at hand, the innermost last
	begins  map[int]scope // scopes that begin at a node further on
	err     error         // of what the grammar places and the language refuses
	made    *made         // what made the text; nil where it is the file
}

// planModule finds the sites of a module: its body, functions, methods, arrow functions and static
// blocks.
func planModule(source []byte, o instrument.Options) (*instrument.Plan, error) {
	text, made, err := cutMade(source)
	if err != nil {
		return nil, err
	}
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	p := &planner{Tree: t, options: o, plan: &instrument.Plan{Language: "javascript"}, begins: map[int]scope{},
		made: made}
	p.scopes = []scope{p.moduleScope()}
	for i := range t.Nodes {
		for i >= p.here().end {
			p.scopes = p.scopes[:len(p.scopes)-1]
		}
		if s, ok := p.begins[i]; ok {
			delete(p.begins, i)
			s.end = t.After(i)
			p.scopes = append(p.scopes, s)
		}
		if t.Nodes[i].Named {
			p.node(i)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.plan, nil
}

// here is the innermost scope.
func (p *planner) here() scope { return p.scopes[len(p.scopes)-1] }

// addSite adds a site that begins at a node.
func (p *planner) addSite(i int, name string, kind checkpoint.SiteKind) int {
	n := p.Nodes[i]
	p.plan.Sites = append(p.plan.Sites, checkpoint.Site{
		Language: "javascript", Func: name, Kind: kind, Line: n.Row + 1, Col: n.Col + 1, EndLine: n.EndRow + 1,
	})
	site := len(p.plan.Sites) - 1
	if p.made.places() {
		p.made.move(&p.plan.Sites[site], n.Start, n.End)
	}
	return site
}

// addPoint adds a point of a site, from a byte of a node to a byte; -1 is no site.
func (p *planner) addPoint(site int, role instrument.Role, i, start, end int) {
	if site < 0 {
		return
	}
	n := p.Nodes[i]
	p.plan.Points = append(p.plan.Points, instrument.Point{
		Site: site, Role: role, Start: start, End: end,
		Line: n.Row + 1, Col: n.Col + 1, EndLine: n.EndRow + 1, EndCol: n.EndCol + 1,
	})
}

// moduleScope is the scope of the module's body, with its site if that is wanted. A body with imports
// and exports cannot stand in a block.
func (p *planner) moduleScope() scope {
	module := scope{end: len(p.Nodes), site: -1}
	if len(p.Nodes) == 0 || !p.options.SiteWanted(checkpoint.Module, moduleName) {
		return module
	}
	role := instrument.Module
	p.Children(0, func(c int) {
		if t := p.Nodes[c].Type; t == "import_statement" || t == "export_statement" {
			role = instrument.Toplevel
		}
	})
	start, asm := p.behindDirectives(0)
	why := ""
	if role == instrument.Module {
		names := wrapperNames
		if p.made != nil && p.made.apart {
			names = append(slices.Clone(names), "jest") // a parameter of jest's, too
		}
		why = p.keptFromBlock(0, names)
	}
	if asm {
		why = asmReason
	}
	if why != "" {
		p.leaveAlone(0, moduleName, why)
		return module
	}
	module.site = p.addSite(0, moduleName, checkpoint.Module)
	module.awaits = !p.namesAwait() // a module's body may, where the word is no name
	m := &p.plan.Sites[module.site]
	m.Line, m.Col = 1, 1
	if !p.made.places() {
		m.EndLine = 1 + bytes.Count(bytes.TrimRight(p.Source, "\r\n"), []byte("\n"))
	}
	p.addPoint(module.site, role, 0, start, len(p.Source))
	return module
}

// namesAwait reports whether something is called await, which no ES module can have.
func (p *planner) namesAwait() bool {
	if !bytes.Contains(p.Source, []byte("await")) {
		return false
	}
	return slices.ContainsFunc(p.Nodes, func(n syntax.Node) bool {
		return n.Type == "identifier" && string(p.Source[n.Start:n.End]) == "await"
	})
}

// moduleName is the name of a module's body among its functions.
const moduleName = "<module>"

// node plans what begins at a node: a site, a scope, or points of the site around it.
func (p *planner) node(i int) {
	here := p.here()
	switch p.Nodes[i].Type {
	case "function_declaration", "generator_function_declaration", "function_expression", "generator_function",
		"arrow_function", "method_definition", "class_static_block":
		p.function(i, here)
	case "class_declaration", "class", "abstract_class_declaration":
		// What a class evaluates runs on behalf of the code around it.
		s := here
		s.class, s.name = true, here.qualify(p.classNamed(i))
		if body := p.Field(i, "body"); body >= 0 {
			p.begins[body] = s
		}
	case "internal_module", "module":
		if body := p.Field(i, "body"); body >= 0 {
			s := here
			s.name = here.qualify(p.Text(p.Field(i, "name")))
			p.begins[body] = s
		}
	case "field_definition", "public_field_definition":
		if value := p.Field(i, "value"); value >= 0 {
			s := here
			s.site, s.awaits, s.yields = -1, false, false // a function of its own runs it, as its maker's
			p.begin(value, s)
		}
	case "with_statement":
		s := here
		s.with, s.site = true, -1
		if body := p.Field(i, "body"); body >= 0 {
			p.begins[body] = s
		}
	case "await_expression", "yield_expression":
		await := p.Nodes[i].Type == "await_expression"
		if !await && here.yields && p.isOperand(i) {
			p.err = fmt.Errorf("%w: a yield has to stand in parentheses here, at line %d", instrument.ErrSyntax,
				p.Nodes[i].Row+1)
		}
		if await && here.awaits || !await && here.yields {
			p.addPoint(here.site, instrument.Pause, i, p.Nodes[i].Start, p.Nodes[i].End)
		}
	case "for_in_statement":
		if here.awaits && p.hasToken(i, "await") {
			p.loop(i, here.site)
		}
	case "catch_clause", "finally_clause":
		if body := p.Field(i, "body"); (here.awaits || here.yields) && body >= 0 {
			at := p.Nodes[body].Start + 1
			p.addPoint(here.site, instrument.Handlers, i, at, at)
		}
	}
}

// isOperand reports whether an expression is an operand of one that binds more tightly than yield can: parentheses of
// cg's would make a program of what is none.
func (p *planner) isOperand(i int) bool {
	n := p.Nodes[i]
	switch p.Nodes[n.Parent].Type {
	case "member_expression", "unary_expression", "binary_expression", "update_expression", "await_expression",
		"class_heritage":
		return true
	case "subscript_expression":
		return n.Field == "object"
	case "call_expression":
		return n.Field == "function"
	case "ternary_expression":
		return n.Field == "condition"
	}
	return false
}

// begin begins a scope at a node, unless the node begins one of its own.
func (p *planner) begin(i int, s scope) {
	if _, taken := p.begins[i]; !taken {
		p.begins[i] = s
	}
}

// loop plans a loop that awaits each value.
func (p *planner) loop(i, site int) {
	right, body := p.Field(i, "right"), p.Field(i, "body")
	if right < 0 || body < 0 {
		return
	}
	outer := i
	for parent := p.Nodes[outer].Parent; parent >= 0 && p.Nodes[parent].Type == "labeled_statement"; {
		outer, parent = parent, p.Nodes[parent].Parent
	}
	p.addPoint(site, instrument.Resume, outer, p.Nodes[outer].Start, p.Nodes[outer].End)
	p.addPoint(site, instrument.Suspend, right, p.Nodes[right].Start, p.Nodes[right].End)
	p.addPoint(site, instrument.Loop, body, p.Nodes[body].Start, p.Nodes[body].End)
}

// hasToken reports whether a node has a child that is this word.
func (p *planner) hasToken(i int, word string) bool {
	has := false
	p.Children(i, func(c int) { has = has || !p.Nodes[c].Named && p.Nodes[c].Type == word })
	return has
}

// function plans a function: its site, and its scope at its body.
func (p *planner) function(i int, here scope) {
	body := p.Field(i, "body")
	if body < 0 {
		return // a declaration of TypeScript
	}
	name, kind := p.functionNamed(i, here)
	s := scope{name: here.qualify(name), site: -1, with: here.with,
		awaits: p.hasToken(i, "async"), yields: p.hasToken(i, "*") || strings.HasPrefix(p.Nodes[i].Type, "generator_")}
	p.begins[body] = s
	if !p.options.SiteWanted(kind, s.name) || !p.made.isWritten(p.Nodes[i].Start, p.Nodes[i].End) {
		return
	}
	if s.with {
		p.leaveAlone(i, s.name, "left alone: a with statement around it")
		return
	}
	n := p.Nodes[body]
	if n.Type != "statement_block" {
		s.site = p.addSite(i, s.name, kind)
		p.addPoint(s.site, instrument.Lambda, body, n.Start, n.End)
		p.begins[body] = s
		return
	}
	start, asm := p.behindDirectives(body)
	why := p.keptFromBlock(body, p.parameters(i))
	if asm {
		why = asmReason
	}
	if why != "" {
		p.leaveAlone(i, s.name, why)
		return
	}
	s.site = p.addSite(i, s.name, kind)
	p.addPoint(s.site, instrument.Body, body, start, n.End-1)
	p.begins[body] = s
}

// leaveAlone notes a function that gets no checkpoints.
func (p *planner) leaveAlone(i int, name, reason string) {
	p.plan.LeftAlone = append(p.plan.LeftAlone,
		instrument.LeftAlone{Name: name, Line: p.Nodes[i].Row + 1, Reason: reason})
}

// asmReason is why asm.js has no checkpoints.
const asmReason = "left alone: asm.js is compiled as it is"

// behindDirectives is the byte behind the directives at the start of a body ("use strict"), and whether
// one of them is that of asm.js.
func (p *planner) behindDirectives(body int) (at int, asm bool) {
	at = p.Nodes[body].Start
	if p.Nodes[body].Type == "statement_block" {
		at++
	} else {
		at = 0
	}
	over := false
	p.Children(body, func(c int) {
		switch n := p.Nodes[c]; {
		case over || !n.Named && n.Type == "{":
		case n.Type == "hash_bang_line":
			at = n.End
			if at < len(p.Source) && p.Source[at] == '\r' {
				at++
			}
			if at < len(p.Source) && p.Source[at] == '\n' {
				at++
			}
		case n.Type == "comment":
		case n.Type == "expression_statement" && p.Nodes[c+1].Type == "string":
			// A string with something behind it, such as a method, is no directive.
			if end := p.Nodes[c+1].End; p.Nodes[c].End != end && p.Source[end] != ';' && p.Source[end] != '\n' &&
				p.After(c+1) < p.After(c) && p.Nodes[p.After(c+1)].Named {
				over = true
				return
			}
			at, asm = n.End, asm || strings.Contains(p.Text(c+1), "use asm")
		default:
			over = true
		}
	})
	if at == 0 && bytes.HasPrefix(p.Source, []byte("\ufeff")) {
		at = len("\ufeff")
	}
	return at, asm
}
