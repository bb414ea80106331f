// Package instrument turns source files into plans: which sites a file has, and where
// their checkpoints go.
//
// It takes source text and the planner of a language. It returns Plans, for a program
// that is loading its modules (Server, which also numbers the sites) or for files on
// disk (Tree, which writes rewritten copies). The package knows no language by name, and
// it never writes where the source is.
package instrument

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"cg/checkpoint"
	"cg/instrument/edit"
)

// Granularity says how many sites a program gets.
type Granularity string

const (
	// Coarse: the module that is run and its entry point.
	Coarse Granularity = "coarse"
	// Fine: every function, method, constructor, lambda and module body.
	Fine Granularity = "fine"
	// Blocks: these, and each loop and branch in them; Lines: each line.
	Blocks Granularity = "block"
	Lines  Granularity = "line"
)

// HasPlaces reports whether the code of functions is told apart.
func (g Granularity) HasPlaces() bool { return g == Blocks || g == Lines }

// ParseGranularity reads the value of -g.
func ParseGranularity(s string) (Granularity, error) {
	switch g := Granularity(s); g {
	case Coarse, Fine, Blocks, Lines:
		return g, nil
	}
	return "", fmt.Errorf("granularity %q is not known: use coarse (the program and its entry point), fine (every "+
		"function), block (also loops and branches) or line", s)
}

// Role is what a checkpoint does at its place.
type Role string

const (
	Body     Role = "body"     // enter and exit around a function's body
	Module   Role = "module"   // enter and exit around a module's body
	Lambda   Role = "lambda"   // enter and exit around an expression
	Pause    Role = "pause"    // suspend and resume around a yield or await
	Handlers Role = "handlers" // unwind at the start of each handler

	// Toplevel: enter at the start of a module's body and exit at its end, where no block can hold it.
	Toplevel Role = "toplevel"
	Suspend  Role = "suspend" // suspend behind an expression, whose value stays
	Loop     Role = "loop"    // resume at the start of a loop's body and suspend at its end
	Resume   Role = "resume"  // resume behind a statement however it is left, if suspended there
)

// Point is a place in a file where checkpoints of a site stand.
type Point struct {
	Site       int // index into Plan.Sites
	Role       Role
	Start, End int // byte offsets in the file, End exclusive
	Line       int // 1-based
	Col        int // 1-based, in bytes
	EndLine    int
	EndCol     int
}

// Plan is where the checkpoints of one file stand. The IDs of its Sites are 0:
// numbers are given when a file is loaded.
type Plan struct {
	Language string
	File     string
	Sites    []checkpoint.Site
	Points   []Point
	// LeftAlone are functions that get no checkpoints although they are wanted.
	LeftAlone []LeftAlone
	// Marks are the events of places, of a language that writes them into a text that runs without cg. Its planner puts
	// them into the plan where it finds the places itself.
	Marks []Mark
}

// Mark is what stands before an offset of a text: the event of a place, or a text without one.
type Mark struct {
	At   int    // byte offset
	Site int    // index of the place into Plan.Sites, NoPlace for none
	Text string // before the event, such as a brace
	// Behind is where the statement begins at whose end the event stands, NoPlace for one before a statement.
	Behind int
}

// NoPlace is no place, and no statement.
const NoPlace = -1

// LeftAlone is a function without checkpoints, and why.
type LeftAlone struct {
	Name   string
	Line   int // 1-based
	Reason string
}

// Options choose the sites of a plan.
type Options struct {
	Granularity Granularity
	// Entry is set for the file that is run: coarse plans have sites there only.
	Entry bool
	// Include and Exclude are globs, matched against the file's path and the
	// qualified names of functions. A function is left out if an Exclude
	// matches, or if there are Includes for names and none matches.
	Include, Exclude []string
	// PlacesOf are the functions whose code is told apart where Granularity.HasPlaces; nil for all.
	PlacesOf []FunctionIn
	// Alone is set for a text that is to run without cg.
	Alone bool
}

// A Planner finds the sites of a source file.
type Planner func(source []byte, o Options) (*Plan, error)

// A Weaver plans code that a version of an interpreter has compiled from a source, and puts its
// checkpoints into it. An error says that the source needs a plan, and that the runtime has to
// put them into what it compiles.
type Weaver func(source, code []byte, version string, o Options) (*Woven, error)

// A Rewriter gives the edits that put the checkpoints of a plan into its text. first numbers the
// first site.
type Rewriter func(text []byte, p *Plan, first int) ([]edit.Edit, error)

// RewrittenFile is a text with checkpoints of sites 1 ..., "" if it gets none, with how many sites it has and the lines
// that tell them (SiteLines).
type RewrittenFile struct {
	Text, Lines string
	Sites       int
}

// Woven is code with checkpoints.
type Woven struct {
	Plan   *Plan  // without points
	Places []byte // of checkpoints, in a form of the runtime's
	Code   []byte
}

// ErrSyntax says that the grammar could not place some of the text.
var ErrSyntax = errors.New("not parsed")

// Match reports whether a glob matches a path or a qualified name: "*" stands
// for any run of characters, "?" for one. A glob without "/" is matched against
// the last element of a path.
func Match(glob, name string) bool {
	if strings.Contains(name, "/") && !strings.Contains(glob, "/") {
		name = path.Base(name)
	}
	return wild(glob, name)
}

// wild matches with "*" for any run of bytes and "?" for one.
func wild(glob, name string) bool {
	star, mark, g, n := -1, 0, 0, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, n
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == name[n]):
			g++
			n++
		case star >= 0:
			mark++
			g, n = star+1, mark
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}

// FileWanted reports whether the filters admit a file. own says that it
// belongs to the program, which is what is wanted unless they say otherwise.
func (o Options) FileWanted(file string, own bool) bool {
	for _, g := range o.Exclude {
		if Match(g, file) {
			return false
		}
	}
	if own {
		return true
	}
	for _, g := range o.Include {
		if strings.Contains(g, "/") && Match(g, file) {
			return true
		}
	}
	return false
}

// NameWanted reports whether the filters admit a function.
func (o Options) NameWanted(name string) bool {
	for _, g := range o.Exclude {
		if !strings.Contains(g, "/") && Match(g, name) {
			return false
		}
	}
	names := false
	for _, g := range o.Include {
		if !strings.Contains(g, "/") {
			names = true
			if Match(g, name) {
				return true
			}
		}
	}
	return !names
}

// SiteWanted reports whether a site of that kind and qualified name is one of
// the plan's. A coarse plan has the module that is run, and its main.
func (o Options) SiteWanted(kind checkpoint.SiteKind, name string) bool {
	if o.Granularity == Coarse && (!o.Entry ||
		kind != checkpoint.Module && (kind != checkpoint.Function || name != "main")) {
		return false
	}
	return o.NameWanted(name)
}

// Choose leaves the sites of a plan that are wanted, and their points.
func (o Options) Choose(p *Plan) *Plan {
	out := &Plan{Language: p.Language, File: p.File, LeftAlone: p.LeftAlone}
	numbers := make([]int, len(p.Sites))
	for i, s := range p.Sites {
		numbers[i] = -1
		if o.SiteWanted(s.Kind, s.Func) {
			numbers[i] = len(out.Sites)
			out.Sites = append(out.Sites, s)
		}
	}
	for _, q := range p.Points {
		if q.Site = numbers[q.Site]; q.Site >= 0 {
			out.Points = append(out.Points, q)
		}
	}
	return out
}
