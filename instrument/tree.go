package instrument

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/checkpoint"
	"cg/instrument/edit"
	"cg/shown"
)

// Tree is a set of source files on disk with their plans.
type Tree struct {
	Planner Planner
	// PlannerFor gives the planner of a file, in place of Planner; nil for none.
	PlannerFor func(file string) Planner
	// ReadFile reads a file, nil for os.ReadFile.
	ReadFile func(file string) ([]byte, error)
	// Outline plans a text that Planner cannot place; nil for none.
	Outline Planner
	// FindPlaces adds the places to a plan that has none (languages.Language.FindPlaces); nil for none.
	FindPlaces func(source []byte, p *Plan, o Options) error
	// Modules are the names of modules as which a file may be loaded (languages.Language.Modules); nil for none.
	Modules func(file string) []string
	Decode  func([]byte) ([]byte, error)
	Options Options
	// ModuleIsFile says that the body of a module is called after its file when the program runs.
	ModuleIsFile bool
	// Progress is told, before each file, how many were read; nil for nobody.
	Progress func(done, of int)

	Files     []File
	Skipped   []Skip
	LeftAlone []Skip // functions that are left alone, with their place
}

// File is a source file with its plan. Text is its content as UTF-8.
type File struct {
	Name string
	Text []byte
	Plan *Plan
}

// Read plans the files. What cannot be planned is listed in Skipped.
func (t *Tree) Read(names []string) {
	read := t.ReadFile
	if read == nil {
		read = os.ReadFile
	}
	for i, name := range names {
		if t.Progress != nil {
			t.Progress(i, len(names))
		}
		if !t.Options.FileWanted(name, true) {
			continue
		}
		f := File{Name: name}
		raw, err := read(name)
		if err == nil {
			f.Text, err = t.Decode(raw)
		}
		if err == nil {
			plan := t.Planner
			if t.PlannerFor != nil {
				plan = t.PlannerFor(name)
			}
			f.Plan, err = plan(f.Text, t.Options)
			if err != nil && t.Outline != nil {
				if p, refused := t.Outline(f.Text, t.Options); refused == nil {
					f.Plan, err = p, nil
				}
			}
		}
		if err == nil && t.FindPlaces != nil && t.Options.Granularity.HasPlaces() {
			f.Plan.File = name
			err = t.FindPlaces(f.Text, f.Plan, t.Options)
		}
		if err != nil {
			t.Skipped = append(t.Skipped, Skip{name, err.Error()})
			continue
		}
		f.Plan.File = name
		if t.ModuleIsFile {
			nameModules(f.Plan, name)
		}
		for i := range f.Plan.Sites {
			f.Plan.Sites[i].File = name
		}
		t.Files = append(t.Files, f)
		for _, l := range f.Plan.LeftAlone {
			t.LeftAlone = append(t.LeftAlone, Skip{fmt.Sprintf("%s:%d", name, l.Line), l.Name + " " + l.Reason})
		}
	}
}

// points are those of the plan, and one for each place of its functions: from where the place begins to the end of its
// last line. How the code comes to a place is an affair of the language.
func (f *File) points() []Point {
	points := f.Plan.Points
	var starts []int // of the lines
	for i, s := range f.Plan.Sites {
		if !s.Kind.IsPlace() {
			continue
		}
		if starts == nil {
			starts = lineStarts(f.Text)
			points = slices.Clone(points)
		}
		q := Point{Site: i, Role: Place, Line: s.Line, Col: s.Col, EndLine: s.EndLine}
		if s.Line < len(starts) && s.EndLine+1 < len(starts) {
			q.Start, q.End = starts[s.Line]+s.Col-1, starts[s.EndLine+1]
			q.End = q.Start + len(bytes.TrimRight(f.Text[q.Start:q.End], "\r\n"))
			q.EndCol = q.End - starts[s.EndLine] + 1
		}
		points = append(points, q)
	}
	if starts != nil {
		slices.SortStableFunc(points, func(x, y Point) int {
			return cmp.Or(cmp.Compare(x.Line, y.Line), placesLast(f.Plan.Sites[x.Site], f.Plan.Sites[y.Site]))
		})
	}
	return points
}

// lineStarts are the offsets of the lines of a text, from 1, and its size.
func lineStarts(text []byte) []int {
	starts := []int{0, 0}
	for i, b := range text {
		if b == '\n' || b == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			starts = append(starts, i+1)
		}
	}
	return append(starts, len(text))
}

// sites are those of the plan, in the order of their lines where functions have places.
func (f *File) sites() []checkpoint.Site {
	if !slices.ContainsFunc(f.Plan.Sites, func(s checkpoint.Site) bool { return s.Kind.IsPlace() }) {
		return f.Plan.Sites
	}
	return slices.SortedStableFunc(slices.Values(f.Plan.Sites), func(x, y checkpoint.Site) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), placesLast(x, y))
	})
}

// placesLast puts functions before places, and what has the smaller column before others.
func placesLast(x, y checkpoint.Site) int {
	switch {
	case x.Kind.IsPlace() == y.Kind.IsPlace():
		return cmp.Compare(x.Col, y.Col)
	case x.Kind.IsPlace():
		return 1
	}
	return -1
}

// Analysis is what analyze prints as JSON.
type Analysis struct {
	Language  string          `json:"language"`
	Success   bool            `json:"success"`
	Count     int             `json:"instrumentation_points_count"`
	Points    []AnalysisPoint `json:"instrumentation_points"`
	Skipped   []AnalysisSkip  `json:"skipped"`
	LeftAlone []AnalysisSkip  `json:"left_alone"` // functions, each with its file and line
}

// AnalysisPoint is one place with checkpoints. Lines and columns count from 1,
// columns in bytes; offsets are bytes from the start of the file as UTF-8.
type AnalysisPoint struct {
	ID        int                 `json:"id"`      // of the point
	SiteID    int                 `json:"site_id"` // of the function it belongs to
	Type      Role                `json:"type"`
	Subtype   checkpoint.SiteKind `json:"subtype"`
	Name      string              `json:"name"`
	File      string              `json:"file"`
	Line      int                 `json:"line"`
	Column    int                 `json:"column"`
	EndLine   int                 `json:"end_line"`
	EndColumn int                 `json:"end_column"`
	Start     int                 `json:"start_byte"`
	End       int                 `json:"end_byte"`
}

// AnalysisSkip is a file without checkpoints.
type AnalysisSkip struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Points lists every point of every file.
func (t *Tree) Points() Analysis {
	a := Analysis{Success: len(t.Skipped) == 0, Points: []AnalysisPoint{}, Skipped: []AnalysisSkip{},
		LeftAlone: []AnalysisSkip{}}
	first := 1
	for _, f := range t.Files {
		a.Language = f.Plan.Language
		for _, p := range f.points() {
			s := f.Plan.Sites[p.Site]
			a.Points = append(a.Points, AnalysisPoint{
				ID: len(a.Points) + 1, SiteID: first +
					p.Site, Type: p.Role, Subtype: s.Kind, Name: s.Func, File: f.Name,
				Line: p.Line, Column: p.Col, EndLine: p.EndLine, EndColumn: p.EndCol, Start: p.Start, End: p.End,
			})
		}
		first += len(f.Plan.Sites)
	}
	for _, s := range t.Skipped {
		a.Skipped = append(a.Skipped, AnalysisSkip(s))
	}
	for _, s := range t.LeftAlone {
		a.LeftAlone = append(a.LeftAlone, AnalysisSkip(s))
	}
	a.Count = len(a.Points)
	return a
}

// several counts things: 1 file, 2 files.
func several(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Text lists the sites, or with verbose every point, a line each.
func (t *Tree) Text(verbose bool) string {
	var b strings.Builder
	sites := 0
	for _, f := range t.Files {
		points := f.points()
		shown.Fprintf(&b, "%s: %s, %s\n", f.Name, several(len(f.Plan.Sites), "site"), several(len(points), "point"))
		sites += len(f.Plan.Sites)
		if verbose {
			for _, p := range points {
				s := f.Plan.Sites[p.Site]
				shown.Fprintf(&b, "  %d:%d\t%s\t%s\n", p.Line, p.Col, p.Role, s.Func)
			}
			continue
		}
		for _, s := range f.sites() {
			shown.Fprintf(&b, "  %d:%d\t%s\t%s\n", s.Line, s.Col, s.Kind, s.Func)
		}
	}
	shown.Fprintf(&b, "%s in %s\n", several(sites, "site"), several(len(t.Files), "file"))
	return b.String()
}

// SavedMarker is a file that marks a folder of rewritten source.
const SavedMarker = ".codegreen"

// MarkSaved marks a folder as one that cg has written, and may write over.
func MarkSaved(dir string) error {
	return os.WriteFile(filepath.Join(dir, SavedMarker),
		[]byte("Written by cg analyze --save-instrumented, which writes over it again.\n"), 0o644)
}

// Save writes the rewritten files below dir, in the places they have below
// base, and the support files that they need in each folder. It refuses to write
// over a source and lists what it wrote.
func (t *Tree) Save(base, dir string, render func([]byte, *Plan, int) ([]edit.Edit, error),
	support map[string][]byte) ([]string, error) {
	first := 1
	contents := map[string][]byte{}
	for _, f := range t.Files {
		edits, err := render(f.Text, f.Plan, first)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		first += len(f.Plan.Sites)
		text, err := edit.Apply(f.Text, edits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, err := t.Planner(text, t.Options); err != nil {
			return nil, fmt.Errorf("%s: the rewritten text does not parse: %w", f.Name, err)
		}
		rel, err := filepath.Rel(base, f.Name)
		if err != nil || strings.HasPrefix(rel, "..") {
			rel = filepath.Base(f.Name)
		}
		contents[filepath.Join(dir, rel)] = text
		for name, content := range support { // any file may be the one that is run
			contents[filepath.Join(dir, filepath.Dir(rel), name)] = content
		}
	}
	var names []string
	for name := range contents {
		names = append(names, name)
		for _, f := range t.Files {
			if a, err := os.Stat(name); err == nil {
				if b, err := os.Stat(f.Name); err == nil && os.SameFile(a, b) {
					return nil, fmt.Errorf("%s is a source: choose another --output-dir", name)
				}
			}
		}
	}
	slices.Sort(names)
	before, _ := os.ReadDir(dir)
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, contents[name], 0o644); err != nil {
			return nil, err
		}
	}
	if len(before) == 0 && len(names) > 0 { // else there are files of the user's
		return names, MarkSaved(dir)
	}
	return names, nil
}
