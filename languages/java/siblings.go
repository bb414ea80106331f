package java

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/pattern"
)

// multiFileRelease is the release from which java compiles what a source file needs
// of the sources beside it (JEP 458).
const multiFileRelease = 22

// siblingSources lists the sources that a file, and those it lists, may need: of
// the same package, of packages that are imported, and of those that are named.
// They lie below the folder in which the file's package begins. More than are
// needed may be listed, never less. ok is false for a file that does not lie
// where its package says, which java does not start.
func siblingSources(path string, text []byte) (files []string, ok bool) {
	all := &siblings{folders: map[string][]string{}, types: map[string]bool{}}
	j, err := parse(text)
	if err != nil {
		return nil, true // the compiler will say what is wrong
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, true
	}
	inside := filepath.Join(strings.Split(j.packageName(), ".")...)
	all.root = filepath.Dir(abs)
	if inside != "" {
		root, is := strings.CutSuffix(all.root, string(filepath.Separator)+inside)
		if !is {
			return nil, false
		}
		all.root = root
	}
	all.seen = []string{filepath.Join(inside, filepath.Base(path))}
	all.add(j)
	for i := 1; i < len(all.seen); i++ { // it grows
		text, err := os.ReadFile(filepath.Join(all.root, all.seen[i]))
		if err != nil {
			continue
		}
		if j, err := parse(text); err == nil {
			all.add(j)
		}
	}
	here, err := os.Getwd()
	for _, name := range all.seen[1:] {
		file := filepath.Join(all.root, name)
		if rel, bad := filepath.Rel(here, file); err == nil && bad == nil && !filepath.IsAbs(path) {
			file = rel // as the user wrote the first
		}
		files = append(files, file)
	}
	return files, true
}

// siblings are sources that may be needed, below root.
type siblings struct {
	root    string
	seen    []string
	folders map[string][]string // the names in a folder
	types   map[string]bool     // paths that files of other names declare
}

var dottedName = pattern.Later(`^[\pL_$][\pL\pN_$]*(\.[\pL_$][\pL\pN_$]*)+$`)

// add lists what a source names.
func (s *siblings) add(j *parsedSource) {
	own := filepath.Join(strings.Split(j.packageName(), ".")...)
	folders := []string{own}
	var names, dotted []string
	for i := range j.Nodes {
		switch n := j.Nodes[i]; n.Type {
		case "identifier", "type_identifier":
			names = append(names, j.name(i))
		case "scoped_identifier", "scoped_type_identifier", "field_access":
			if text := strings.Join(strings.Fields(j.Text(i)), ""); dottedName().MatchString(text) {
				dotted = append(dotted, text)
			}
		}
	}
	j.Children(0, func(c int) {
		if j.Nodes[c].Type == "import_declaration" { // of all that is in a package
			j.Children(c, func(q int) {
				if t := j.Nodes[q].Type; t == "scoped_identifier" || t == "identifier" {
					folders = append(folders, filepath.Join(strings.Split(j.erased(q), ".")...))
				}
			})
		}
		if n := j.Field(c, "name"); n >= 0 && strings.HasSuffix(j.Nodes[c].Type, "_declaration") {
			s.types[filepath.Join(own, j.name(n)+".java")] = true
		}
	})
	for _, folder := range folders {
		there := s.in(folder)
		if len(there) == 0 {
			continue
		}
		for _, name := range names {
			if slices.Contains(there, name+".java") {
				s.found(filepath.Join(folder, name+".java"))
			}
		}
	}
	for _, name := range dotted {
		parts := strings.Split(name, ".")
		for i := 1; i < len(parts); i++ {
			folder := filepath.Join(parts[:i]...)
			if slices.Contains(s.in(folder), parts[i]+".java") {
				s.found(filepath.Join(folder, parts[i]+".java"))
			}
		}
	}
}

func (s *siblings) found(name string) {
	if !slices.Contains(s.seen, name) && !s.types[name] {
		s.seen = append(s.seen, name)
	}
}

// in lists the sources of a folder.
func (s *siblings) in(folder string) []string {
	names, known := s.folders[folder]
	if !known {
		entries, _ := os.ReadDir(filepath.Join(s.root, folder))
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".java" && !e.IsDir() {
				names = append(names, e.Name())
			}
		}
		s.folders[folder] = names
	}
	return names
}
