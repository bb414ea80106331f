package golang

import (
	"embed"
	"fmt"
	"slices"

	"cg/checkpoint"
	"cg/instrument"
	"cg/languages"
)

//go:embed calls.go inline.go parse.go places.go plan.go rewrite.go units.go
var plannerSources embed.FS

// planVersion is that of what these files plan and write.
var planVersion = languages.SourceVersion(plannerSources)

// decode leaves a file as it is: Go is UTF-8.
func decode(source []byte) ([]byte, error) { return source, nil }

// packageContext is what the plan of a file needs to know of its package.
type packageContext struct {
	path     string       // the import path as names begin with it, "" for that of the package clause
	inits    int          // functions named init in the files before this one
	literals int          // literals of package variables in those
	inlined  map[int]bool // offsets inside the heads of functions that the compiler inlines
	bare     map[int]bool // braces of functions that stay without checkpoints if it does
	file     string       // as sites have it
	unplaced []string     // "name:line" of functions whose code is not told apart
}

// functionCounts is what a file adds to the context of the next.
type functionCounts struct{ Inits, Literals, Inlined int }

// planFile finds the sites of a file by itself.
func planFile(source []byte, o instrument.Options) (*instrument.Plan, error) {
	g, err := parseFile(source)
	if err != nil {
		return nil, err
	}
	p, _ := g.plan(o, packageContext{})
	return p, nil
}

// plan finds the sites of a file: functions, methods and literals. Names are
// those of the compiler's symbols: "acme/stock.(*Stock).Fib", "main.main.func1",
// "acme/set.Map[...]", "main.init.0". A point lies between the braces of a body. The sites
// of a function's places follow its own.
// Exclude may name one function as "name:line".
func (g *sourceFile) plan(o instrument.Options, c packageContext) (*instrument.Plan, functionCounts) {
	p := &instrument.Plan{Language: "go"}
	count := functionCounts{Inits: c.inits, Literals: c.literals}
	path := c.path
	if path == "" || g.pkg == "main" {
		path = g.pkg
	}
	unsafe := g.leftAlone()
	names := make([]string, len(g.funcs))
	inside := make([]int, len(g.funcs)) // literals so far
	blank := make([]bool, len(g.funcs)) // in a function named _, which never runs
	var syntax *placeSyntax
	if o.PlacesIn(c.file) {
		syntax = g.parsePlaces()
	}
	for i, f := range g.funcs {
		kind := checkpoint.Function
		switch {
		case f.name == "" && f.outer < 0:
			count.Literals++
			kind, names[i] = checkpoint.Lambda, fmt.Sprintf("%s.init.func%d", path, count.Literals)
		case f.name == "":
			inside[f.outer]++
			sep := ".func"
			if g.funcs[f.outer].name == "" {
				sep = "."
			}
			kind, names[i] = checkpoint.Lambda, fmt.Sprintf("%s%s%d", names[f.outer], sep, inside[f.outer])
			blank[i] = blank[f.outer]
		case f.recv != "":
			kind, names[i] = checkpoint.Method, path+"."+receiverName(f.recv)+"."+f.name
		case f.name == "init":
			names[i] = fmt.Sprintf("%s.init.%d", path, count.Inits)
			count.Inits++
		default:
			names[i] = path + "." + f.name
		}
		if f.generic {
			names[i] += "[...]"
		}
		blank[i] = blank[i] || f.name == "_"
		entry := g.pkg == "main" && f.name == "main" && f.recv == "" && f.outer < 0
		line, col := g.place(f.at)
		switch {
		case blank[i]:
			continue
		case o.Granularity == instrument.Coarse && !(entry && o.Entry):
			continue
		case slices.Contains(o.Exclude, fmt.Sprintf("%s:%d", names[i], line)) || !o.NameWanted(names[i]):
			continue
		case unsafe[i] != "":
			p.LeftAlone = append(p.LeftAlone, instrument.LeftAlone{Name: names[i], Line: line, Reason: unsafe[i]})
			continue
		case f.open < 0:
			continue
		case !entry && c.bare[f.open] && c.inlines(f):
			count.Inlined++
			continue
		}
		g.funcs[i].bare = !entry && c.bare[f.open]
		end, _ := g.place(f.close)
		p.Sites = append(p.Sites, checkpoint.Site{
			Language: "go", Func: names[i], Kind: kind, Line: line, Col: col, EndLine: end,
		})
		q := instrument.Point{Site: len(p.Sites) - 1, Role: instrument.Body, Start: f.open + 1, End: f.close}
		q.Line, q.Col = g.place(q.Start)
		q.EndLine, q.EndCol = g.place(q.End)
		p.Points = append(p.Points, q)
		site := p.Sites[q.Site]
		if syntax != nil && o.PlacesWanted("", c.file, site) &&
			!slices.Contains(c.unplaced, fmt.Sprintf("%s:%d", names[i], line)) {
			g.funcs[i].site = q.Site
			p.Sites = append(p.Sites, g.putPlaces(syntax, &g.funcs[i], site, o.Granularity)...)
		}
	}
	return p, count
}

// inlines reports whether the compiler's list names a function. It gives the
// place behind the keyword func of a declaration, and of the keyword of a literal.
func (c packageContext) inlines(f function) bool {
	if len(c.inlined) == 0 {
		return false
	}
	for at := f.start; at < f.open; at++ {
		if c.inlined[at] {
			return true
		}
	}
	return false
}
