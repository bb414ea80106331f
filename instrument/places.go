package instrument

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"cg/checkpoint"
	"cg/pattern"
)

// Places are the points of functions whose code is told apart. A plan has them where Granularity.HasPlaces, for the
// runtimes that weave it themselves.
const Places Role = "places"

// Place is the point of one place among those that a Tree lists.
const Place Role = "place"

// FunctionIn names functions whose code is told apart.
type FunctionIn struct {
	// File is the path of its source, as its site has it; "" for every file.
	File string
	// Name is that of a report: the qualified name, which may have a module in front. Without a File it is a glob for
	// qualified names, as in Options.Include. The types of parameters, which some languages have in the name of a
	// function that shares it with others, may be left out of the glob.
	Name string
}

// PlaceList is the places of a function, in the order in which they were first added. With Lines, statements of a kind
// that begin in one line are one place; else those that begin at one offset. The zero value is empty.
type PlaceList struct {
	Lines bool
	All   []checkpoint.Site
	known map[placeKey]int
}

type placeKey struct {
	kind checkpoint.SiteKind
	at   int // a line, or an offset
}

// Add gives the index in All of the place of a statement that begins at an offset. Its line is that of the site.
func (l *PlaceList) Add(start int, s checkpoint.Site) int {
	key := placeKey{s.Kind, start}
	if l.Lines {
		key.at = s.Line
	}
	found, is := l.known[key]
	if !is {
		if l.known == nil {
			l.known = map[placeKey]int{}
		}
		found = len(l.All)
		l.known[key] = found
		l.All = append(l.All, s)
	}
	return found
}

// PlacesWanted reports whether the code of a function is told apart, which has its qualified name in its site. module
// is the one that its file is loaded as, "" where the language has none.
func (o Options) PlacesWanted(module, file string, s checkpoint.Site) bool {
	if !o.Granularity.HasPlaces() {
		return false
	}
	return o.PlacesOf == nil ||
		slices.ContainsFunc(o.PlacesOf, func(f FunctionIn) bool { return f.names(module, file, s.Func) })
}

var parameterTypes = pattern.Later(`\([^()]*\)`)

// withoutTypes is a qualified name without the types of parameters: "M.f" of "M.f(int)".
func withoutTypes(name string) string {
	if !strings.Contains(name, "(") {
		return name
	}
	return parameterTypes().ReplaceAllString(name, "")
}

// names reports whether f stands for a function with a qualified name.
func (f FunctionIn) names(module, file, name string) bool {
	whole := name
	if module != "" {
		whole = module + "." + name
	}
	switch {
	case f.File == "":
		return Match(f.Name, name) || Match(f.Name, whole) || Match(f.Name, withoutTypes(name))
	case f.File != file:
		return false
	case f.Name == name || f.Name == whole:
		return true
	}
	// The file may have been loaded as another module, of which the name is.
	return strings.HasSuffix(f.Name, "."+name) && (module == "" || !strings.HasPrefix(f.Name, module+"."))
}

// PlacesWantedOf is PlacesWanted for a file that may be loaded as one of several modules.
func (o Options) PlacesWantedOf(modules []string, file string, s checkpoint.Site) bool {
	return o.PlacesWanted("", file, s) ||
		slices.ContainsFunc(modules, func(module string) bool { return o.PlacesWanted(module, file, s) })
}

// PlacesIn reports whether the code of some function of a file may be told apart.
func (o Options) PlacesIn(file string) bool {
	return o.Granularity.HasPlaces() && (o.PlacesOf == nil ||
		slices.ContainsFunc(o.PlacesOf, func(f FunctionIn) bool { return f.File == "" || f.File == file }))
}

// PlacesKeys are keys of the files of PlacesOf, for names in a cache: each stands for the functions of its file that
// are told apart. What is woven of other files is that of a Fine granularity. nil where a function may be in any file.
func (o Options) PlacesKeys() map[string]string {
	if !o.Granularity.HasPlaces() || o.PlacesOf == nil {
		return nil
	}
	of := map[string][]string{}
	for _, f := range o.PlacesOf {
		if f.File == "" {
			return nil
		}
		of[f.File] = append(of[f.File], f.Name)
	}
	files := map[string]string{}
	for file, names := range of {
		slices.Sort(names)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", o.Granularity, slices.Compact(names)))
		files[file] = hex.EncodeToString(sum[:6])
	}
	return files
}

// SavedNames are the names of the sites of a plan as a text has them that runs without cg: that of a function, and of a
// place that of its function, a tab, and what the result block tells of the place (docs/formats.md) but for the
// function's name and what it used, as JSON in ASCII. first is the number of the first site.
func SavedNames(p *Plan, file string, first int) (names []string) {
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	functions := map[string][]int{}
	for i, s := range p.Sites {
		if !s.Kind.IsPlace() {
			functions[s.Func] = append(functions[s.Func], i)
		}
	}
	for _, s := range p.Sites {
		if !s.Kind.IsPlace() {
			names = append(names, s.Func)
			continue
		}
		i := functionAround(s, functions[s.Func], p.Sites)
		function := p.Sites[i]
		names = append(names, fmt.Sprintf("%s\t\"site\": %d, \"function_line\": %d, \"function_end_line\": %d, "+
			"\"file\": %s, \"kind\": \"%s\", \"line\": %d, \"column\": %d, \"end_line\": %d", s.Func, first+i,
			function.Line, function.EndLine, quoteASCII(file), s.Kind, s.Line, s.Col, s.EndLine))
	}
	return names
}

// functionAround is that of several functions of one name in which a place is: the last that begins before it.
func functionAround(place checkpoint.Site, functions []int, sites []checkpoint.Site) (around int) {
	around = functions[0]
	begin := func(i int) int { return sites[i].Line<<32 + sites[i].Col }
	for _, i := range functions[1:] {
		f := sites[i]
		if f.EndLine >= place.Line && begin(i) <= place.Line<<32+place.Col && begin(i) >= begin(around) {
			around = i
		}
	}
	return around
}

// quoteASCII writes a text as JSON in ASCII.
func quoteASCII(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(s)) {
		if unit < ' ' || unit >= 0x7f || unit == '"' || unit == '\\' {
			fmt.Fprintf(&b, "\\u%04x", unit)
		} else {
			b.WriteByte(byte(unit))
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Unfound are the names that stand for no function of the tree. Where a file was not planned there are none: the
// function may be in that.
func (t *Tree) Unfound(names []FunctionIn) (unfound []string) {
	if len(t.Skipped) > 0 {
		return nil
	}
	for _, name := range names {
		o := Options{Granularity: t.Options.Granularity, PlacesOf: []FunctionIn{name}}
		if !slices.ContainsFunc(t.Files, func(f File) bool {
			var modules []string
			if t.Modules != nil {
				modules = t.Modules(f.Name)
			}
			return slices.ContainsFunc(f.Plan.Sites, func(s checkpoint.Site) bool {
				return !s.Kind.IsPlace() && o.PlacesWantedOf(modules, f.Name, s)
			})
		}) {
			unfound = append(unfound, name.Name)
		}
	}
	return unfound
}

// Unplaced are the names of Options.PlacesOf of which the program has loaded no place.
func (s *Server) Unplaced() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readChannel()
	for i, f := range s.Options.PlacesOf {
		if !s.placed[i] {
			names = append(names, f.Name)
		}
	}
	return names
}

// notePlaces notes whose places are among the sites of a file that a program has loaded as a module.
func (s *Server) notePlaces(module, file string, sites []checkpoint.Site) {
	for _, site := range sites {
		if !site.Kind.IsPlace() {
			continue
		}
		name := strings.TrimPrefix(site.Func, module+".")
		for i, f := range s.Options.PlacesOf {
			if !s.placed[i] && f.names(module, file, name) {
				if s.placed == nil {
					s.placed = map[int]bool{}
				}
				s.placed[i] = true
			}
		}
	}
}

// encode writes a plan, with the points of functions whose code is told apart.
func (s *Server) encode(module, file string, p *Plan) string {
	for i, site := range p.Sites {
		if s.Options.PlacesWanted(module, file, site) {
			p.Points = append(p.Points, Point{Site: i, Role: Places, Line: site.Line, Col: site.Col})
		}
	}
	return Encode(p)
}
