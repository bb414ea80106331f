package python

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for pythonPlanner
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/smacker/go-tree-sitter/python"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/unicode/norm"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/syntax"
	"cg/languages"
	"cg/runtimes"
)

func init() {
	languages.Register(&languages.Language{
		Core: languages.Core{
			Name:        "python",
			Title:       "Python",
			Extensions:  []string{".py", ".pyw", ".pyz"},
			Decode:      decodePython,
			Plan:        planPython,
			PlanVersion: fmt.Sprintf("%x", sha256.Sum256(pythonPlanner)),
			Check:       checkPython,
			Launch:      launchPython,
			Files:       filesPython,
		},
		Capabilities: languages.Capabilities{
			Interpreter: &languages.Interpreter{
				Flag:        "python",
				Argument:    flagPython,
				TargetFlags: []string{"-m", "-c"},
				Interprets:  interpretsPython,
			},
			Runtime: &languages.Runtime{Library: "python.c"},
			Outline: outlinePython,
			SaveFile: &languages.SaveFile{
				Render: renderPython,
				SupportFiles: func() (map[string][]byte, error) {
					b, err := runtimes.Files.ReadFile("python/codegreen_runtime.py")
					return map[string][]byte{"codegreen_runtime.py": b}, err
				},
			},
			SDK: &languages.SDK{
				Files: func() (map[string][]byte, error) {
					files, err := runtimes.Folder("python/sdk")
					if err == nil {
						files["codegreen_runtime.py"], err = runtimes.Files.ReadFile("python/codegreen_runtime.py")
					}
					return files, err
				},
				Offer: func(cache runtimes.Cache, scratch string) (map[string]string, error) {
					here, err := runtimes.Unpack("python", cache, scratch)
					path := filepath.Join(here, "offered") // behind the user's
					if old := os.Getenv("PYTHONPATH"); old != "" {
						path = old + string(os.PathListSeparator) + path
					}
					return map[string]string{"PYTHONPATH": path}, err
				},
			},
		},
	})
}

// pythonPlanner is this file: the version of what it plans.
//
//go:embed python.go
var pythonPlanner []byte

var pythonGrammar = syntax.Lazy(python.GetLanguage)

// parsePython parses source as the interpreter reads it: a lone carriage
// return ends a line, too.
func parsePython(source []byte) (*syntax.Tree, error) {
	text := source
	if bytes.IndexByte(source, '\r') >= 0 {
		text = bytes.Clone(source)
		for i, b := range text {
			if b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
				text[i] = '\n'
			}
		}
	}
	t, err := pythonGrammar().Parse(text, syntax.Deadline)
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
	// away says that the frame is suspended, but for what awaits here.
	away bool
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

// planPython finds the sites of a Python module: its body, functions, methods
// and lambdas, named as __qualname__ does (PEP 3155). Positions are those that
// the interpreter's ast gives: a definition begins at "def", "async" or
// "lambda", behind its decorators.
func planPython(source []byte, o instrument.Options) (*instrument.Plan, error) {
	t, err := parsePython(source)
	if err != nil {
		return nil, err
	}
	p := &instrument.Plan{Language: "python"}
	site := func(i int, name string, kind checkpoint.SiteKind) int {
		n := t.Nodes[i]
		p.Sites = append(p.Sites, checkpoint.Site{
			Language: "python", Func: name, Kind: kind,
			Line: n.Row + 1, Col: n.Col + 1, EndLine: lastRow(t, i) + 1,
		})
		return len(p.Sites) - 1
	}
	point := func(i, site int, role instrument.Role) {
		if site < 0 {
			return
		}
		n := t.Nodes[i]
		p.Points = append(p.Points, instrument.Point{
			Site: site, Role: role, Start: n.Start, End: n.End,
			Line: n.Row + 1, Col: n.Col + 1, EndLine: n.EndRow + 1, EndCol: n.EndCol + 1,
		})
	}

	module := scope{end: len(t.Nodes), site: -1}
	if o.SiteWanted(checkpoint.Module, "<module>") {
		module.site = site(0, "<module>", checkpoint.Module)
		m := &p.Sites[module.site]
		m.Line, m.Col = 1, 1
		m.EndLine = 1 + bytes.Count(bytes.TrimRight(t.Source, "\r\n"), []byte("\n"))
		p.Points = append(p.Points, instrument.Point{Site: module.site, Role: instrument.Module, End: len(source), Line: 1, Col: 1, EndLine: m.EndLine, EndCol: 1})
	}
	scopes := []scope{module}
	begins := map[int]scope{} // scopes that begin at a node further on
	for i := range t.Nodes {
		for i >= scopes[len(scopes)-1].end {
			scopes = scopes[:len(scopes)-1]
		}
		if s, ok := begins[i]; ok {
			delete(begins, i)
			s.end = t.After(i)
			scopes = append(scopes, s)
		}
		n := &t.Nodes[i]
		if !n.Named {
			continue
		}
		here := scopes[len(scopes)-1]
		switch n.Type {
		case "function_definition":
			name := norm.NFKC.String(t.Text(t.Field(i, "name")))
			kind := checkpoint.Function
			if here.class {
				kind = checkpoint.Method
				if name == "__init__" || name == "__new__" {
					kind = checkpoint.Constructor
				}
			}
			s := scope{name: here.qualify(name), site: -1, compiled: here.compiled}
			if by := compiledBy(t, i); by != "" && !s.compiled {
				s.compiled = true
				p.Left = append(p.Left, instrument.Left{Name: s.name, Line: n.Row + 1, Reason: "left alone: " + by + " compiles it"})
			}
			if !s.compiled && o.SiteWanted(kind, s.name) {
				s.site = site(i, s.name, kind)
				p.Sites[s.site].Small = small(t, t.Field(i, "body"))
				point(i, s.site, instrument.Body)
			}
			begins[t.Field(i, "body")] = s
		case "lambda":
			s := scope{name: here.qualify("<lambda>"), site: -1, compiled: here.compiled}
			if !s.compiled && o.SiteWanted(checkpoint.Lambda, s.name) {
				s.site = site(i, s.name, checkpoint.Lambda)
				p.Sites[s.site].Small = small(t, t.Field(i, "body"))
				point(i, s.site, instrument.Lambda)
			}
			begins[t.Field(i, "body")] = s
		case "class_definition":
			// A class body runs in a frame of its own, on behalf of the
			// function or module around it.
			s := scope{name: here.qualify(norm.NFKC.String(t.Text(t.Field(i, "name")))), site: here.site, class: true, compiled: here.compiled}
			if by := compiledBy(t, i); by != "" && !s.compiled {
				s.compiled = true
				p.Left = append(p.Left, instrument.Left{Name: s.name, Line: n.Row + 1, Reason: "left alone: " + by + " compiles it"})
			}
			begins[t.Field(i, "body")] = s
		case "generator_expression":
			// It runs in a frame of its own, whoever asks for its values; only
			// its first iterable belongs to the frame around it.
			scopes = append(scopes, scope{end: t.After(i), name: here.qualify("<genexpr>"), site: -1, compiled: here.compiled})
			begins[firstIterable(t, i)] = here
		case "yield", "await":
			if len(scopes) > 1 && !here.away {
				point(i, here.site, instrument.Pause)
			}
		case "for_statement", "with_statement":
			if len(scopes) > 1 && t.Nodes[i+1].Type == "async" {
				point(i, here.site, instrument.Pause)
			}
		case "list_comprehension", "set_comprehension", "dictionary_comprehension":
			// From its first value to its last the frame is suspended; what it
			// awaits in between is no pause of its own.
			if len(scopes) > 1 && awaits(t, i) && !here.away {
				point(i, here.site, instrument.Pause)
				inner := here
				inner.end, inner.away = t.After(i), true
				scopes = append(scopes, inner)
				begins[firstIterable(t, i)] = here
			}
		case "try_statement":
			point(i, here.site, instrument.Handlers)
		}
	}
	return p, nil
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

// smallWords is how many names and constants a small body may have.
const smallWords = 12

// small reports whether a body runs for less than its checkpoints take: at most
// two statements, that call nothing and repeat nothing. Strings that stand for
// themselves are no statements. As small in outline.py.
func small(t *syntax.Tree, body int) bool {
	parts := []int{body}
	if t.Nodes[body].Type == "block" {
		parts = nil
		t.Children(body, func(c int) {
			if n := t.Nodes[c]; n.Named && n.Type != "comment" && n.Type != "line_continuation" && !stringAlone(t, c) {
				parts = append(parts, c)
			}
		})
		if len(parts) > 2 {
			return false
		}
	}
	words := 0
	for _, part := range parts {
		for c := part; c < t.After(part); c++ {
			if !t.Nodes[c].Named {
				continue
			}
			switch t.Nodes[c].Type {
			case "call", "for_statement", "while_statement", "with_statement", "try_statement", "match_statement",
				"list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression",
				"yield", "await", "lambda", "function_definition", "class_definition", "import_statement", "import_from_statement":
				return false
			case "string":
				if t.Nodes[t.Nodes[c].Parent].Type != "concatenated_string" {
					words++
				}
			case "identifier", "integer", "float", "true", "false", "none", "ellipsis", "concatenated_string":
				words++
			}
			if words > smallWords {
				return false
			}
		}
	}
	return true
}

// stringAlone reports whether a statement is a string, or several joined.
func stringAlone(t *syntax.Tree, statement int) bool {
	if t.Nodes[statement].Type != "expression_statement" {
		return false
	}
	c, only := unwrap(t, statement)
	return only && (t.Nodes[c].Type == "string" || t.Nodes[c].Type == "concatenated_string")
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
	"njit": "numba", "jit": "numba", "*.njit": "numba", "numba.*": "numba", "nb.*": "numba", "cuda.jit": "numba", "vectorize": "numba",
	"guvectorize": "numba", "cfunc": "numba", "stencil": "numba", "jitclass": "numba", "numba.experimental.jitclass": "numba", "*.cuda.jit": "numba",
	"torch.jit.*": "torch", "torch.compile": "torch", "triton.jit": "triton", "triton.*": "triton",
	"jax.jit": "jax", "jax.*": "jax", "tf.function": "tensorflow", "tensorflow.function": "tensorflow",
	"ti.kernel": "taichi", "ti.func": "taichi", "taichi.kernel": "taichi", "taichi.func": "taichi", "*.jit": "a just-in-time compiler",
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
		name := t.Text(e)
		module, last := "", name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			module, last = name[:i], name[i+1:]
		}
		by = compilers[name]
		if by == "" && module != "" {
			if by = compilers[module+".*"]; by == "" {
				by = compilers["*."+last]
			}
		}
	})
	return by
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

// cookiePattern is the encoding declaration of PEP 263.
var cookiePattern = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)`)

// decodePython turns a source file into UTF-8, as its byte order mark or its
// encoding declaration says (docs.python.org/3/reference/lexical_analysis.html,
// encoding declarations). The declaration in the text then says utf-8.
func decodePython(source []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(source, []byte("\xef\xbb\xbf")); ok {
		return valid(rest)
	}
	at := 0
	for range 2 {
		end := bytes.IndexByte(source[at:], '\n')
		if end < 0 {
			end = len(source) - at
		}
		line := source[at : at+end]
		if m := cookiePattern.FindSubmatchIndex(line); m != nil {
			given := strings.ToLower(string(line[m[2]:m[3]]))
			name := strings.ReplaceAll(given, "_", "-")
			if name == "utf-8" || strings.HasPrefix(name, "utf-8-") || name == "utf8" {
				return valid(source)
			}
			enc, err := ianaindex.IANA.Encoding(ianaName(name))
			if err != nil {
				enc, err = ianaindex.IANA.Encoding(given)
			}
			if err != nil || enc == nil {
				return nil, fmt.Errorf("encoding %q is not known", name)
			}
			text, err := enc.NewDecoder().Bytes(source)
			if err != nil {
				return nil, fmt.Errorf("not text in the declared encoding %s: %w", name, err)
			}
			return bytes.Replace(text, line[m[2]:m[3]], []byte("utf-8"), 1), nil
		}
		if s := bytes.TrimLeft(line, " \t\f\r"); len(s) > 0 && s[0] != '#' {
			break
		}
		at = min(at+end+1, len(source))
	}
	return valid(source)
}

// ianaName turns Python's name of an encoding into the registered one
// (docs.python.org/3/library/codecs.html, standard encodings).
func ianaName(name string) string {
	switch number, isPage := strings.CutPrefix(name, "cp"); {
	case name == "latin-1" || name == "latin1" || name == "l1":
		return "iso-8859-1"
	case strings.HasPrefix(name, "iso8859"):
		return "iso-8859" + name[len("iso8859"):]
	case isPage && strings.HasPrefix(number, "125"):
		return "windows-" + number
	case isPage:
		return "ibm" + number
	case name == "mac-roman":
		return "macintosh"
	}
	return name
}
