// Package c finds the functions of C and C++ programs, and has the user's compiler build them with
// checkpoints.
//
// It takes a target as a compiler takes it: source files, or a folder of them. The compiler
// preprocesses each; what comes out, with its line markers, is planned and rewritten, and is
// compiled. So macros and headers are text, and lines are those of the user's files. Results
// are kept in cg's own cache; no file of the user's is written.
//
// It also takes a project with a build of its own. The build runs in a copy of the project, with
// stand-ins for its compilers first in PATH, which do the same for each file.
package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/smacker/go-tree-sitter/c"
	"github.com/smacker/go-tree-sitter/cpp"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/syntax"
	"cg/languages"
	"cg/runtimes"
)

// dialect is one of the two languages.
type dialect struct {
	name, title string
	endings     []string
	grammar     func() *syntax.Grammar
	// preprocessed is what compilers call a text of it that the preprocessor has made (-x).
	preprocessed string
	// command is the compiler's, unless the variable or the flag names another.
	command, variable, flag string
	flags                   string // the variable with flags for the compiler
	scoped                  bool   // names have scopes, and functions may be constant expressions
	versions                [][]string
}

var dialects = []*dialect{
	{name: "c", title: "C", endings: []string{".c"}, grammar: syntax.Lazy(c.GetLanguage), preprocessed: "cpp-output",
		command: "cc", variable: "CC", flag: "cc", flags: "CFLAGS",
		versions: [][]string{{"cc", "--version"}, {"gcc", "--version"}, {"clang", "--version"}}},
	{name: "cpp", title: "C++", endings: []string{".cpp", ".cc", ".cxx", ".c++", ".C", ".cp"},
		grammar: syntax.Lazy(cpp.GetLanguage), preprocessed: "c++-cpp-output", command: "c++", variable: "CXX",
		flag: "cxx", flags: "CXXFLAGS", scoped: true,
		versions: [][]string{{"c++", "--version"}, {"g++", "--version"}, {"clang++", "--version"}}},
}

func init() {
	for _, d := range dialects {
		languages.Register(&languages.Language{
			Core: languages.Core{
				Name:        d.name,
				Title:       d.title,
				Targets:     d.targets(),
				Extensions:  d.endings,
				Decode:      func(source []byte) ([]byte, error) { return source, nil },
				Plan:        d.planFile,
				PlanVersion: planVersion,
				Check:       d.check,
				Launch:      d.launch,
				Files:       d.sourceFiles,
			},
			Capabilities: languages.Capabilities{
				WhyNothing: "no program ran that was compiled in this run (run it in the same command, " +
					"behind the build)",
				Interpreter: &languages.Interpreter{Flag: d.flag, Argument: flagBeforeTarget, Versions: d.versions},
				Options: &languages.Options{
					Flags: []languages.Flag{{Name: "build-flags",
						Usage: "`FLAGS` for the compiler, such as '-O3 -Iinclude -lz'"},
						{Name: "project", Usage: "build a copy of the project `DIR` with checkpoints: TARGET is " +
							"the build's command", Target: true}},
					Switches: []languages.Flag{{Name: "inline",
						Usage: "checkpoints also in short functions without loops and calls"}, {Name: "instances",
						Usage: "instances of a template of C++ count as functions of their own"}},
				},
				SDK: &languages.SDK{Files: func() (map[string][]byte, error) { return runtimes.Folder("c/sdk") }},
				PlanFor: func(file string) instrument.Planner {
					return func(source []byte, o instrument.Options) (*instrument.Plan, error) {
						return dialectOf(file).planNamed(file, source, o, func(*function) {})
					}
				},
				SaveTarget:  d.saveTarget,
				Places:      true,
				Wrap:        wrap,
				OwnsProject: ownsProject,
			},
		})
	}
}

// targets is what a target can be.
func (d *dialect) targets() string {
	return d.title + " files, also with those of " + d.other().title + ", or a folder of them; flags of the compiler " +
		"may stand before it; with --project DIR the command that builds and runs the project"
}

// other is the language that programs of this one may have files of, too.
func (d *dialect) other() *dialect {
	if d == dialects[0] {
		return dialects[1]
	}
	return dialects[0]
}

// isSource reports whether a file is of the dialect, by its ending.
func (d *dialect) isSource(name string) bool {
	return slices.ContainsFunc(d.endings, func(e string) bool { return strings.HasSuffix(name, e) })
}

// planFile finds the sites of a source file, as it is before the preprocessor: functions
// that a macro makes are not in it.
func (d *dialect) planFile(source []byte, o instrument.Options) (*instrument.Plan, error) {
	return d.planNamed("", source, o, func(*function) {})
}

// planNamed is the same for a file with a path, where leave may leave functions alone.
func (d *dialect) planNamed(file string, source []byte, o instrument.Options, leave func(f *function)) (
	*instrument.Plan, error) {
	t := newText(source, false)
	parsed, err := d.parse(t)
	if err != nil {
		return nil, err
	}
	p := &instrument.Plan{Language: d.name}
	for _, f := range parsed.funcs {
		leave(&f)
		before := len(p.Sites)
		t.add(p, f, o, o.Granularity != instrument.Coarse)
		if len(p.Sites) == before || !o.PlacesWanted("", file, p.Sites[before]) {
			continue
		}
		of := planned{function: f, path: file, site: p.Sites[before]}
		why := parsed.putPlaces(&of, o)
		if why != "" {
			p.LeftAlone = append(p.LeftAlone, hasNoPlaces(f, of.site, o.Granularity, why))
		}
		for _, m := range of.marks {
			at := instrument.Mark{At: m.at, Site: instrument.NoPlace, Text: m.brace, Behind: instrument.NoPlace}
			if m.place != unknown {
				at.Site = len(p.Sites) + m.place
			}
			p.Marks = append(p.Marks, at)
		}
		for _, s := range of.places {
			s.Language = d.name
			p.Sites = append(p.Sites, s)
		}
	}
	return p, nil
}

// hasNoPlaces says why a function has no places.
func hasNoPlaces(f function, s checkpoint.Site, g instrument.Granularity, why string) instrument.LeftAlone {
	return instrument.LeftAlone{Name: f.name, Line: s.Line, Reason: fmt.Sprintf("has no %ss: %s", g, why)}
}
