package java

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/smacker/go-tree-sitter/java"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/syntax"
	"cg/languages"
	"cg/pattern"
)

//go:embed normally.go parse.go places.go plan.go
var planSources embed.FS

// planVersion is that of what these files plan.
var planVersion = languages.SourceVersion(planSources)

var grammar = syntax.Lazy(java.GetLanguage)

// decode leaves a file as it is: the compiler knows its encoding, and
// the edits are ASCII. Encodings that are no superset of ASCII do not parse.
func decode(source []byte) ([]byte, error) { return source, nil }

// typeScope is a class, interface, enum, record or annotation type.
type typeScope struct {
	overloads map[string]int // methods by their simple name
	anonymous int            // anonymous classes so far
	record    []string       // types of the components
	tests     bool           // its methods may be tests without saying so
	junit3    bool           // by their names
	large     bool           // its static initialiser may be too large for more
}

// planner is a plan in the making.
type planner struct {
	*parsedSource
	plan        *instrument.Plan
	options     instrument.Options
	entryPoints map[int]bool // nodes of the methods that start the program, for coarse plans

	wish    wish
	imports []string // of the file, as it writes them
	test    bool     // the method at hand is a test that is a task

	marks    []mark
	declared *declaredNames // once it is asked for
}

// wish is what is wanted of the plan of a file.
type wish struct {
	file     string            // its path, as its sites have it
	tests    bool              // test methods are tasks: in a project
	unplaced map[string]string // functions that are to have no places, as "name:line", or anyFunction, and why
}

// planFile finds the sites of a Java file: methods, constructors, initialisers
// and the lambdas that have a block. Names are binary names with dots:
// "com.acme.Main.Inner.run", "com.acme.Main.<init>", and with the types of the
// parameters where a class has several methods of one name. A point reaches
// from behind the opening brace, or behind the call of another constructor,
// to the closing brace. Exclude may name one function as "name:line".
func planFile(source []byte, o instrument.Options) (*instrument.Plan, error) {
	return planFor("")(source, o)
}

// planFor plans the text of a file, which may be known by its path.
func planFor(file string) instrument.Planner {
	return func(source []byte, o instrument.Options) (*instrument.Plan, error) {
		j, err := parse(source)
		if err != nil {
			return nil, err
		}
		p := j.plan(o, wish{file: file})
		for _, m := range p.marks {
			p.Marks = append(p.Marks, instrument.Mark{At: m.at, Site: m.place, Text: m.brace,
				Behind: instrument.NoPlace})
		}
		return p.Plan, nil
	}
}

// plan plans a parsed file.
func (j *parsedSource) plan(o instrument.Options, w wish) *filePlan {
	p := &planner{parsedSource: j, plan: &instrument.Plan{Language: "java"}, options: o, wish: w}
	if o.Granularity == instrument.Coarse {
		p.entryPoints = map[int]bool{}
		if o.Entry {
			p.markEntryPoints(0)
			p.Children(0, func(c int) { p.markEntryPoints(p.Field(c, "body")) })
		}
	}
	name := ""
	file := p.typeOf(0)
	p.Children(0, func(c int) {
		if p.Nodes[c].Type == "import_declaration" {
			p.Children(c, func(q int) {
				if t := p.Nodes[q].Type; t == "scoped_identifier" || t == "identifier" {
					p.imports = append(p.imports, p.erased(q))
				}
			})
		}
		if p.Nodes[c].Type == "package_declaration" {
			p.Children(c, func(q int) {
				if t := p.Nodes[q].Type; t == "scoped_identifier" || t == "identifier" {
					name = p.erased(q)
				}
			})
		}
		p.member(c, name, file)
	})
	return &filePlan{p.plan, p.marks}
}

// markEntryPoints marks the method of a type by which the launcher starts it (JLS
// 12.1.4): main with the arguments, else main without.
func (p *planner) markEntryPoints(body int) {
	best, rank := -1, 0
	p.members(body, func(m int) {
		if p.Nodes[m].Type != "method_declaration" || p.name(p.Field(m, "name")) != "main" ||
			p.Nodes[p.Field(m, "type")].Type != "void_type" {
			return
		}
		r := 0
		switch types := p.parameters(p.Field(m, "parameters")); {
		case len(types) == 0:
			r = 1
		case len(types) == 1 && slices.Contains([]string{"String[]", "String...", "java.lang.String[]",
			"java.lang.String..."}, types[0]):
			r = 2
		}
		if p.modified(m, "private") {
			r = 0
		}
		if r > rank {
			best, rank = m, r
		}
	})
	if best >= 0 {
		p.entryPoints[best] = true
	}
}

// members calls f with the members of a type's body.
func (p *planner) members(body int, f func(m int)) {
	if body < 0 {
		return
	}
	p.Children(body, func(c int) {
		if p.Nodes[c].Type == "enum_body_declarations" {
			p.Children(c, f)
			return
		}
		f(c)
	})
}

// modified reports whether a declaration has a modifier.
func (p *planner) modified(i int, modifier string) bool {
	found := false
	p.Children(i, func(c int) {
		if p.Nodes[c].Type == "modifiers" {
			p.Children(c, func(m int) { found = found || p.Nodes[m].Type == modifier })
		}
	})
	return found
}

// typeOf counts the methods of a type by name.
func (p *planner) typeOf(body int) *typeScope {
	t := &typeScope{overloads: map[string]int{}}
	static := 0
	p.members(body, func(m int) {
		switch p.Nodes[m].Type {
		case "method_declaration":
			t.overloads[p.name(p.Field(m, "name"))]++
		case "constructor_declaration", "compact_constructor_declaration":
			t.overloads["<init>"]++
		case "static_initializer", "enum_constant":
			static += p.codeSize(m)
		case "field_declaration", "constant_declaration":
			if p.Nodes[m].Type == "constant_declaration" || p.modified(m, "static") {
				static += p.codeSize(m)
			}
		}
	})
	t.large = static > maxCodeSize
	return t
}

func qualified(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// member plans a member of a type, or a part of a body. scope is the name of
// what it stands in.
func (p *planner) member(i int, scope string, t *typeScope) {
	switch n := p.Nodes[i]; n.Type {
	case "class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
		"annotation_type_declaration":
		body := p.Field(i, "body")
		inner := p.typeOf(body)
		if p.wish.tests {
			inner.tests = p.annotated(i, "org.testng", "Test")
			if s := p.Field(i, "superclass"); s >= 0 {
				name := p.erased(s)
				inner.junit3 = name == "extendsTestCase" || strings.HasSuffix(name, ".TestCase")
			}
		}
		if n.Type == "record_declaration" {
			inner.record = p.parameters(p.Field(i, "parameters"))
		}
		p.typeBody(body, qualified(scope, p.name(p.Field(i, "name"))), inner)
	case "enum_constant":
		p.Children(i, func(c int) {
			if p.Nodes[c].Type == "class_body" {
				t.anonymous++
				p.typeBody(c, qualified(scope, p.name(p.Field(i, "name"))), p.typeOf(c))
				return
			}
			p.member(c, scope, t)
		})
	case "object_creation_expression":
		p.Children(i, func(c int) {
			if p.Nodes[c].Type == "class_body" {
				t.anonymous++
				p.typeBody(c, qualified(scope, fmt.Sprintf("<anonymous %d>", t.anonymous)), p.typeOf(c))
				return
			}
			p.member(c, scope, t)
		})
	case "method_declaration", "constructor_declaration", "compact_constructor_declaration":
		name, kind, types := p.name(p.Field(i, "name")), checkpoint.Method, p.parameters(p.Field(i, "parameters"))
		if n.Type != "method_declaration" {
			name, kind = "<init>", checkpoint.Constructor
		}
		if n.Type == "compact_constructor_declaration" {
			types = t.record
		}
		if t.overloads[name] > 1 {
			name += "(" + strings.Join(types, ", ") + ")"
		}
		name = qualified(scope, name)
		if body := p.Field(i, "body"); body >= 0 {
			p.test = p.wish.tests && kind == checkpoint.Method && p.isTest(i, t)
			p.addSite(function{node: i, at: p.Field(i, "name"), body: body, name: name, kind: kind})
			p.test = false
			p.member(body, name, t)
		}
	case "static_initializer":
		name := qualified(scope, "<clinit>")
		p.Children(i, func(c int) {
			if p.Nodes[c].Type == "block" {
				p.addSite(function{node: i, at: i, body: c, name: name, kind: checkpoint.Module, tooLarge: t.large})
				p.member(c, name, t)
			}
		})
	case "lambda_expression":
		name := qualified(scope, "<lambda>")
		body := p.Field(i, "body")
		if p.Nodes[body].Type == "block" {
			p.addSite(function{node: i, at: i, body: body, name: name, kind: checkpoint.Lambda})
		}
		p.member(body, name, t)
	default:
		p.Children(i, func(c int) { p.member(c, scope, t) })
	}
}

// typeBody plans the members of a type.
func (p *planner) typeBody(body int, scope string, t *typeScope) {
	p.members(body, func(m int) {
		if p.Nodes[m].Type == "block" {
			name := qualified(scope, "<init block>")
			p.addSite(function{node: m, at: m, body: m, name: name, kind: checkpoint.Constructor})
			p.member(m, name, t)
			return
		}
		p.member(m, scope, t)
	})
}

// function is a declaration with a body that may become a site.
type function struct {
	node     int // of the declaration
	at       int // the node that has its position
	body     int
	name     string
	kind     checkpoint.SiteKind
	tooLarge bool // with the other code of its method, which the compiler joins with it
}

// addSite adds the site of a function, if it is wanted.
func (p *planner) addSite(f function) {
	line, col := p.place(p.Nodes[f.at].Start)
	marked := p.entryPoints == nil || p.entryPoints[f.node]
	if !marked && !p.test || !p.wanted(f.name, line) {
		return
	}
	open, close := p.wrapped(f)
	if open < 0 || close < open {
		return
	}
	if reason := p.tooLarge(f); reason != "" {
		p.plan.LeftAlone = append(p.plan.LeftAlone, instrument.LeftAlone{Name: f.name, Line: line, Reason: reason})
		return
	}
	open = p.behindEscape(open)
	end, _ := p.place(p.Nodes[f.body].End - 1)
	add := func(s checkpoint.Site) {
		s.Language, s.Line, s.Col, s.EndLine = "java", line, col, end
		p.plan.Sites = append(p.plan.Sites, s)
		q := instrument.Point{Site: len(p.plan.Sites) - 1, Role: instrument.Body, Start: open, End: close}
		q.Line, q.Col = p.place(open)
		q.EndLine, q.EndCol = p.place(close)
		p.plan.Points = append(p.plan.Points, q)
	}
	if p.test { // around the function
		add(checkpoint.Site{Func: f.name, Kind: checkpoint.Task})
	}
	if !marked {
		return
	}
	add(checkpoint.Site{Func: f.name, Kind: f.kind})
	if s := p.plan.Sites[len(p.plan.Sites)-1]; p.options.PlacesWanted("", p.wish.file, s) {
		p.addPlaces(f, s, open)
	}
}

// wrapped is the part of a body that the checkpoints stand around: behind its opening
// brace, or behind the call of another constructor, up to its closing brace.
func (p *planner) wrapped(f function) (open, close int) {
	open, close = -1, -1
	p.Children(f.body, func(c int) {
		switch n := p.Nodes[c]; {
		case n.Type == "{" && open < 0:
			open = n.End
		case n.Type == "}":
			close = n.Start
		case f.kind == checkpoint.Constructor && p.callsConstructor(c):
			open = n.End
		}
	})
	return open, close
}

// tooLarge is the reason why the checkpoints could make a body too large for the JVM,
// "" if they cannot.
func (p *planner) tooLarge(f function) string {
	if f.tooLarge || p.codeSize(f.body) > maxCodeSize {
		return "left alone: its byte code would come near the 64 KB that the JVM takes"
	}
	if n := p.returns(f.body); n > maxReturns {
		return fmt.Sprintf("left alone: each of its %d returns would be a copy of the exit", n)
	}
	return ""
}

// annotated reports whether a declaration has an annotation of one of these
// names, from a package below root: by its whole name, or by an import.
func (p *planner) annotated(i int, root string, names ...string) bool {
	found := false
	p.Children(i, func(c int) {
		if p.Nodes[c].Type != "modifiers" {
			return
		}
		p.Children(c, func(m int) {
			if t := p.Nodes[m].Type; t != "marker_annotation" && t != "annotation" {
				return
			}
			name := p.erased(p.Field(m, "name"))
			whole := strings.HasPrefix(name, root+".")
			simple := name[strings.LastIndexByte(name, '.')+1:]
			imported := slices.ContainsFunc(p.imports,
				func(s string) bool { return s == root || strings.HasPrefix(s, root+".") })
			found = found || slices.Contains(names, simple) && (whole || simple == name && imported)
		})
	})
	return found
}

// isTest reports whether JUnit or TestNG runs a method as a test.
func (p *planner) isTest(i int, t *typeScope) bool {
	if p.annotated(i, "org.junit", "Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate",
		"Theory") ||
		p.annotated(i, "org.testng", "Test") {
		return true
	}
	if !p.modified(i, "public") || p.Nodes[p.Field(i, "type")].Type != "void_type" {
		return false
	}
	if t.junit3 && strings.HasPrefix(p.name(p.Field(i, "name")), "test") &&
		len(p.parameters(p.Field(i, "parameters"))) == 0 {
		return true
	}
	bare := !p.modified(i, "marker_annotation") && !p.modified(i, "annotation") && !p.modified(i, "static")
	return t.tests && bare
}

var parameterTypes = pattern.Later(`\([^()]*\)`)

// wanted reports whether the filters admit a function. They may name it with
// or without the types of parameters.
func (p *planner) wanted(name string, line int) bool {
	if slices.Contains(p.options.Exclude, fmt.Sprintf("%s:%d", name, line)) {
		return false
	}
	bare := name
	if strings.Contains(name, "(") {
		bare = parameterTypes().ReplaceAllString(name, "")
	}
	exclude, include := instrument.Options{Exclude: p.options.Exclude}, instrument.Options{Include: p.options.Include}
	return exclude.NameWanted(name) && exclude.NameWanted(bare) &&
		(include.NameWanted(name) || include.NameWanted(bare))
}

// callsConstructor reports whether a statement is this(...) or super(...).
func (p *planner) callsConstructor(i int) bool {
	n := p.Nodes[i]
	if n.Type == "explicit_constructor_invocation" {
		return true
	}
	if n.Type != "expression_statement" || p.Nodes[i+1].Type != "method_invocation" {
		return false
	}
	name := p.Field(i+1, "name")
	return name >= 0 && (p.name(name) == "super" || p.name(name) == "this")
}

const (
	// maxCodeSize is the weight of a body, in bytes of byte code, at which it is
	// left alone. The JVM takes 64 KB in a method (JVMS 4.7.3); what a line
	// becomes can only be guessed, and javac copies user's own finally blocks.
	maxCodeSize = 20 << 10
	// maxReturns bounds the copies of an exit.
	maxReturns = 1000
)

// codeSize guesses the bytes of byte code of a subtree: tokens become one or two
// each, an element of an array eight.
func (p *planner) codeSize(i int) int {
	if p.After(i)-i < maxCodeSize/16 { // even elements only
		return 0
	}
	bytes := 0
	for c := i; c < p.After(i); c++ {
		switch n := &p.Nodes[c]; {
		case n.Type == "array_initializer":
			p.Children(c, func(e int) {
				if p.Nodes[e].Named {
					bytes += 6
				}
			})
		case n.Type == "class_body" || n.Type == "lambda_expression" || n.Type == "class_declaration":
			c = p.After(c) - 1 // has methods of its own
		case n.Type == "return_statement":
			bytes += 12 // the exit
		case p.After(c) == c+1 && (n.Named || n.End-n.Start > 1):
			bytes += 2
		}
	}
	return bytes
}

// returns counts the returns of a body.
func (p *planner) returns(body int) int {
	count := 0
	if p.After(body)-body < maxReturns {
		return 0
	}
	for c := body; c < p.After(body); c++ {
		switch p.Nodes[c].Type {
		case "class_body", "lambda_expression", "class_declaration", "record_declaration", "enum_declaration",
			"interface_declaration":
			c = p.After(c) - 1
		case "return_statement":
			count++
		}
	}
	return count
}
