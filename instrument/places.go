package instrument

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"cg/checkpoint"
)

// Places are the points of functions whose code is told apart. A plan has them where Granularity.HasPlaces, for the
// runtimes that weave it themselves.
const Places Role = "places"

// FunctionIn names functions whose code is told apart.
type FunctionIn struct {
	// File is the path of its source, as its site has it; "" for every file.
	File string
	// Name is that of a report: the qualified name, which may have a module in front. Without a File it is a glob for
	// qualified names, as in Options.Include.
	Name string
}

// PlacesWanted reports whether the code of a function is told apart, which has its qualified name in its site. module
// is the one that its file is loaded as, "" where the language has none.
func (o Options) PlacesWanted(module, file string, s checkpoint.Site) bool {
	if !o.Granularity.HasPlaces() {
		return false
	}
	whole := s.Func
	if module != "" {
		whole = module + "." + s.Func
	}
	return o.PlacesOf == nil || slices.ContainsFunc(o.PlacesOf, func(f FunctionIn) bool {
		switch {
		case f.File == "":
			return Match(f.Name, s.Func) || Match(f.Name, whole)
		case f.File != file:
			return false
		case f.Name == s.Func || f.Name == whole:
			return true
		}
		// The file may have been loaded as another module, of which the name is.
		return strings.HasSuffix(f.Name, "."+s.Func) && (module == "" || !strings.HasPrefix(f.Name, module+"."))
	})
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

// Unplaced are the names of PlacesOf of which no place is among the sites that the program has loaded. These have the
// module in front, where the language has modules.
func (o Options) Unplaced(sites []checkpoint.Site) (names []string) {
	for _, f := range o.PlacesOf {
		if !slices.ContainsFunc(sites, func(s checkpoint.Site) bool {
			if !s.Kind.IsPlace() {
				return false
			}
			if f.File != "" {
				return f.File == s.File && (f.Name == s.Func || strings.HasSuffix(f.Name, "."+s.Func))
			}
			return matchEnd(f.Name, s.Func)
		}) {
			names = append(names, f.Name)
		}
	}
	return names
}

// matchEnd reports whether a glob matches a name, or what is behind a dot of it.
func matchEnd(glob, name string) bool {
	for !Match(glob, name) {
		_, rest, more := strings.Cut(name, ".")
		if !more {
			return false
		}
		name = rest
	}
	return true
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
