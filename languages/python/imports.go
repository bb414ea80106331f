package python

import (
	"os"
	"path/filepath"
	"strings"

	"cg/pattern"
)

// module is a file that a program imports, or may import.
type module struct{ name, path string }

var importing = pattern.Later(`^[ \t]*(?:import[ \t]+([^#;\n]+)|` +
	`from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*\(?([^#;\n)]*))`)

// imports guesses which files a module imports as it is executed, in the order of its text: modules and packages that
// lie where its own package does. It takes imports in the module's body, not those of functions and classes. A
// wrong guess costs time and changes nothing.
func imports(m module, text string) []module {
	inside, found := false, []module(nil)
	seen := map[string]bool{m.path: true}
	root, in := m.places()
	add := func(name string) {
		for at := 0; at < len(name); {
			end := strings.IndexByte(name[at+1:], '.') + at + 1
			if end == at {
				end = len(name)
			}
			if path := find(root, name[:end]); path != "" && !seen[path] {
				seen[path] = true
				found = append(found, module{name[:end], path})
			}
			at = end
		}
	}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line != "" && strings.IndexByte(" \t#)\r", line[0]) < 0 {
			word, _, _ := strings.Cut(line, " ")
			inside = word == "def" || word == "class" || word == "async"
		}
		if inside {
			continue
		}
		f := importing().FindStringSubmatch(line)
		if f == nil {
			continue
		}
		if f[1] != "" {
			for _, name := range strings.Split(f[1], ",") {
				add(firstWord(name))
			}
			continue
		}
		from := f[3]
		if dots := len(f[2]); dots > 0 {
			base := above(in, dots-1)
			from = strings.Trim(base+"."+from, ".")
		}
		names := f[4]
		if strings.Contains(line, "(") {
			for !strings.Contains(lines[i], ")") && i+1 < len(lines) {
				i++
				before, _, _ := strings.Cut(lines[i], "#")
				names += "," + strings.Trim(before, ") \t\r")
			}
		}
		if from != "" {
			add(from)
		}
		for _, name := range strings.Split(names, ",") {
			if name = firstWord(name); name != "" && name != "*" {
				if path := find(root, strings.Trim(from+"."+name, ".")); path != "" {
					add(strings.Trim(from+"."+name, "."))
				}
			}
		}
	}
	return found
}

// places are the folder in which the outermost package of a module lies, and the name of the package that
// its relative imports are of.
func (m module) places() (root, in string) {
	dir := filepath.Dir(m.path)
	if m.name == "__main__" || m.name == "" {
		return dir, ""
	}
	in = m.name
	if filepath.Base(m.path) != "__init__.py" {
		in = above(in, 1)
	}
	if in == "" {
		return dir, ""
	}
	for range strings.Count(in, ".") + 1 {
		dir = filepath.Dir(dir)
	}
	return dir, in
}

// above is the package n levels above one.
func above(name string, n int) string {
	for range n {
		name = name[:max(0, strings.LastIndexByte(name, '.'))]
	}
	return name
}

func firstWord(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return strings.Trim(f[0], "\\")
	}
	return ""
}

// find is the file of a module of that name, "" where there is none.
func find(root, name string) string {
	path := filepath.Join(root, strings.ReplaceAll(name, ".", "/"))
	for _, path := range []string{filepath.Join(path, "__init__.py"), path + ".py"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
