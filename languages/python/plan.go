package python

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"github.com/smacker/go-tree-sitter/python"
	"golang.org/x/text/unicode/norm"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/syntax"
	"cg/languages"
)

//go:embed decode.go plan.go splice.go bytecode.go layout.go marshal.go opcodes.go snippets.go
var plannerSources embed.FS

// planVersion is that of what these files decode, plan and weave.
var planVersion = languages.SourceVersion(plannerSources)

var grammar = syntax.Lazy(python.GetLanguage)

// parse parses source as the interpreter reads it: a lone carriage
// return ends a line, too.
func parse(source []byte) (*syntax.Tree, error) {
	text := source
	if bytes.IndexByte(source, '\r') >= 0 {
		text = bytes.Clone(source)
		for i, b := range text {
			if b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
				text[i] = '\n'
			}
		}
	}
	t, err := grammar().Parse(text, syntax.Deadline)
	if err != nil {
		return nil, err
	}
	if n, row := t.Faults(); n > 0 {
		return nil, fmt.Errorf("%w: the grammar does not place the text at line %d", instrument.ErrSyntax, row+1)
	}
	return t, nil
}

// scope is a part of the source with one owner: a module, class or function.
type scope struct {
	end   int    // index of the first node behind it
	site  int    // that runs here, -1 for none
	name  string // qualified, "" for the module
	class bool
	// suspended says that the frame is suspended, but for what awaits here.
	suspended bool
	// compiled says that the text is translated by something that reads it,
	// and would not know a checkpoint.
	compiled bool
}

func (s scope) qualify(name string) string {
	switch {
	case s.name == "":
		return name
	case s.class:
		return s.name + "." + name
	}
	return s.name + ".<locals>." + name
}

// planModule finds the sites of a Python module: its body, functions, methods
// and lambdas, named as __qualname__ does (PEP 3155). Positions are those that
// the interpreter's ast gives: a definition begins at "def", "async" or
// "lambda", behind its decorators.
func planModule(source []byte, o instrument.Options) (*instrument.Plan, error) {
	t, err := parse(source)
	if err != nil {
		return nil, err
	}
	p := &planner{Tree: t, options: o, plan: &instrument.Plan{Language: "python"}, begins: map[int]scope{}}
	p.scopes = []scope{p.moduleScope(len(source))}
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
	return p.plan, nil
}

// planner plans a module in one pass over its nodes.
type planner struct {
	*syntax.Tree
	options instrument.Options
	plan    *instrument.Plan
	scopes  []scope       // around the node at hand, the innermost last
	begins  map[int]scope // scopes that begin at a node further on
}

// here is the innermost scope.
func (p *planner) here() scope { return p.scopes[len(p.scopes)-1] }

// addSite adds a site that begins at a node.
func (p *planner) addSite(i int, name string, kind checkpoint.SiteKind) int {
	n := p.Nodes[i]
	p.plan.Sites = append(p.plan.Sites, checkpoint.Site{
		Language: "python", Func: name, Kind: kind,
		Line: n.Row + 1, Col: n.Col + 1, EndLine: lastRow(p.Tree, i) + 1,
	})
	return len(p.plan.Sites) - 1
}

// addPoint adds a point of a site at a node; -1 is no site.
func (p *planner) addPoint(i, site int, role instrument.Role) {
	if site < 0 {
		return
	}
	n := p.Nodes[i]
	p.plan.Points = append(p.plan.Points, instrument.Point{
		Site: site, Role: role, Start: n.Start, End: n.End,
		Line: n.Row + 1, Col: n.Col + 1, EndLine: n.EndRow + 1, EndCol: n.EndCol + 1,
	})
}

// moduleScope is the scope of the module's body, with its site if that is wanted. size is
// that of the source.
func (p *planner) moduleScope(size int) scope {
	module := scope{end: len(p.Nodes), site: -1}
	if !p.options.SiteWanted(checkpoint.Module, "<module>") {
		return module
	}
	module.site = p.addSite(0, "<module>", checkpoint.Module)
	m := &p.plan.Sites[module.site]
	m.Line, m.Col = 1, 1
	m.EndLine = 1 + bytes.Count(bytes.TrimRight(p.Source, "\r\n"), []byte("\n"))
	p.plan.Points = append(p.plan.Points, instrument.Point{
		Site: module.site, Role: instrument.Module, End: size, Line: 1, Col: 1, EndLine: m.EndLine, EndCol: 1,
	})
	return module
}

// node plans what begins at a node: a site, a scope, or points of the site around it.
func (p *planner) node(i int) {
	here, inFunction := p.here(), len(p.scopes) > 1
	switch p.Nodes[i].Type {
	case "function_definition":
		p.function(i, here)
	case "lambda":
		s := scope{name: here.qualify("<lambda>"), site: -1, compiled: here.compiled}
		p.addFunction(i, &s, checkpoint.Lambda, instrument.Lambda)
	case "class_definition":
		// A class body runs in a frame of its own, on behalf of the
		// function or module around it.
		name := norm.NFKC.String(p.Text(p.Field(i, "name")))
		s := scope{name: here.qualify(name), site: here.site, class: true, compiled: here.compiled}
		p.leaveCompiled(i, &s)
		p.begins[p.Field(i, "body")] = s
	case "generator_expression":
		// It runs in a frame of its own, whoever asks for its values; only
		// its first iterable belongs to the frame around it.
		p.scopes = append(p.scopes,
			scope{end: p.After(i), name: here.qualify("<genexpr>"), site: -1, compiled: here.compiled})
		p.begins[firstIterable(p.Tree, i)] = here
	case "yield", "await":
		if inFunction && !here.suspended {
			p.addPoint(i, here.site, instrument.Pause)
		}
	case "for_statement", "with_statement":
		if inFunction && p.Nodes[i+1].Type == "async" {
			p.addPoint(i, here.site, instrument.Pause)
		}
	case "list_comprehension", "set_comprehension", "dictionary_comprehension":
		// From its first value to its last the frame is suspended; what it
		// awaits in between is no pause of its own.
		if inFunction && awaits(p.Tree, i) && !here.suspended {
			p.addPoint(i, here.site, instrument.Pause)
			inner := here
			inner.end, inner.suspended = p.After(i), true
			p.scopes = append(p.scopes, inner)
			p.begins[firstIterable(p.Tree, i)] = here
		}
	case "try_statement":
		p.addPoint(i, here.site, instrument.Handlers)
	}
}

// function plans a definition of a function or method.
func (p *planner) function(i int, here scope) {
	name := norm.NFKC.String(p.Text(p.Field(i, "name")))
	kind := checkpoint.Function
	if here.class {
		kind = checkpoint.Method
		if name == "__init__" || name == "__new__" {
			kind = checkpoint.Constructor
		}
	}
	s := scope{name: here.qualify(name), site: -1, compiled: here.compiled}
	p.leaveCompiled(i, &s)
	p.addFunction(i, &s, kind, instrument.Body)
}

// addFunction adds the site of a function, if it is wanted, and its scope at its body.
func (p *planner) addFunction(i int, s *scope, kind checkpoint.SiteKind, role instrument.Role) {
	body := p.Field(i, "body")
	if !s.compiled && p.options.SiteWanted(kind, s.name) {
		s.site = p.addSite(i, s.name, kind)
		p.addPoint(i, s.site, role)
	}
	p.begins[body] = *s
}

// leaveCompiled leaves a function or class alone that something translates, and all in
// it.
func (p *planner) leaveCompiled(i int, s *scope) {
	if by := compiledBy(p.Tree, i); by != "" && !s.compiled {
		s.compiled = true
		p.plan.LeftAlone = append(p.plan.LeftAlone,
			instrument.LeftAlone{Name: s.name, Line: p.Nodes[i].Row + 1, Reason: "left alone: " + by + " compiles it"})
	}
}

// lastRow is the row on which the code of a node ends; comments may follow that
// the grammar takes for a part of it.
func lastRow(t *syntax.Tree, i int) int {
	for {
		last := -1
		t.Children(i, func(c int) {
			if k := t.Nodes[c].Type; k != "comment" && k != "line_continuation" {
				last = c
			}
		})
		if last < 0 {
			return t.Nodes[i].EndRow
		}
		i = last
	}
}

// unwrap takes the parentheses off what stands alone in a node.
func unwrap(t *syntax.Tree, i int) (inner int, only bool) {
	for {
		inner, n := -1, 0
		t.Children(i, func(c int) {
			if s := t.Nodes[c]; s.Named && s.Type != "comment" && s.Type != "line_continuation" {
				inner = c
				n++
			} else if s.Type == "," {
				n++
			}
		})
		if n != 1 || t.Nodes[inner].Type != "parenthesized_expression" {
			return inner, n == 1
		}
		i = inner
	}
}

// compilers are the decorators, without what they are called with, by which a
// function's source or byte code is translated. A leading "*" stands for the
// name under which a module was imported.
var compilers = map[string]string{
	"njit": "numba", "jit": "numba", "*.njit": "numba", "numba.*": "numba", "nb.*": "numba", "cuda.jit": "numba",
	"vectorize":   "numba",
	"guvectorize": "numba", "cfunc": "numba", "stencil": "numba", "jitclass": "numba",
	"numba.experimental.jitclass": "numba", "*.cuda.jit": "numba",
	"torch.jit.*": "torch", "torch.compile": "torch", "triton.jit": "triton", "triton.*": "triton",
	"jax.jit": "jax", "jax.*": "jax", "tf.function": "tensorflow", "tensorflow.function": "tensorflow",
	"ti.kernel": "taichi", "ti.func": "taichi", "taichi.kernel": "taichi", "taichi.func": "taichi",
	"*.jit": "a just-in-time compiler",
}

// compiledBy names what translates a decorated function or class, "" if
// nothing is known to.
func compiledBy(t *syntax.Tree, definition int) string {
	parent := t.Nodes[definition].Parent
	if parent < 0 || t.Nodes[parent].Type != "decorated_definition" {
		return ""
	}
	by := ""
	t.Children(parent, func(c int) {
		if t.Nodes[c].Type != "decorator" || by != "" {
			return
		}
		e, only := unwrap(t, c)
		if !only {
			return
		}
		if t.Nodes[e].Type == "call" {
			f := t.Text(t.Field(e, "function"))
			if f == "partial" || strings.HasSuffix(f, ".partial") { // functools.partial(jax.jit, ...)
				arguments, first := t.Field(e, "arguments"), -1
				t.Children(arguments, func(a int) {
					if first < 0 && t.Nodes[a].Named && t.Nodes[a].Type != "comment" {
						first = a
					}
				})
				if first < 0 {
					return
				}
				e = first
			} else {
				e = t.Field(e, "function")
			}
		}
		if k := t.Nodes[e].Type; k != "identifier" && k != "attribute" {
			return
		}
		by = compilerNamed(t.Text(e))
	})
	return by
}

// compilerNamed names what the decorator of a name translates with, "" if nothing is known to.
func compilerNamed(name string) string {
	if by := compilers[name]; by != "" {
		return by
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return ""
	}
	if by := compilers[name[:i]+".*"]; by != "" {
		return by
	}
	return compilers["*."+name[i+1:]]
}

// awaits reports whether a comprehension waits for its values.
func awaits(t *syntax.Tree, comprehension int) bool {
	async := false
	t.Children(comprehension, func(c int) {
		if t.Nodes[c].Type == "for_in_clause" {
			async = async || t.Nodes[c+1].Type == "async"
		}
	})
	return async
}

// firstIterable is the part of a comprehension that belongs to the frame
// around it, whatever becomes of the rest.
func firstIterable(t *syntax.Tree, comprehension int) int {
	for c := comprehension + 1; c < t.After(comprehension); c = t.After(c) {
		if t.Nodes[c].Type == "for_in_clause" {
			return t.Field(c, "right")
		}
	}
	return -1
}
