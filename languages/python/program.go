package python

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// runners are modules that run somebody else's program in their own process: test
// runners, profilers, debuggers. When one of them is named, what it runs is the program.
var runners = []string{"_pytest", "bdb", "cProfile", "coverage", "doctest", "kernprof", "line_profiler",
	"memory_profiler", "nose", "nose2", "pdb", "profile", "py", "pytest", "runpy", "scalene", "test", "timeit",
	"trace", "unittest", "viztracer"}

// program names the packages that are the program wherever they lie, because the
// target is in them or starts them, as ":one:two:"; "" for none.
func (p commandLine) program() string {
	var names []string
	switch {
	case p.module != "":
		first, _, _ := strings.Cut(p.module, ".")
		names = []string{first}
	case p.path != "" && p.path != "-":
		if path, err := filepath.Abs(p.path); err == nil {
			if names = packageAt(path); names == nil {
				names = entry(path)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" || slices.Contains(runners, name) })
	if len(names) == 0 {
		return ""
	}
	return ":" + strings.Join(names, ":") + ":"
}

var inLibrary = pattern.Later(`^.*/(?:site-packages|dist-packages|lib/(?:python|pypy)3\.\d+t?)/([^/]+)`)

// packageAt is the package of a script that lies in one, of the standard library or
// installed.
func packageAt(path string) []string {
	if m := inLibrary().FindStringSubmatch(path); m != nil {
		return []string{strings.TrimSuffix(m[1], ".py")}
	}
	return nil
}

// entrySize bounds the scripts that installers write for a console command.
const entrySize = 4 << 10

var (
	imported = pattern.Later(`(?m)^\s*from\s+(\w+)[\w.]*\s+import\s+(\w+)`)
	exits    = pattern.Later(`sys\.exit\(\s*(\w+)[\w.]*\(`)
	loaded   = pattern.Later(`(?:load_entry_point\(\s*|spec\s*=\s*|^__requires__\s*=\s*)['"]([\w.-]+)`)
)

// entry is the package that a console command starts, if the script is one that an
// installer wrote: it ends with sys.exit(main()) of a function that it imports, or loads an
// entry point by the name of its distribution
// (packaging.python.org/specifications/entry-points).
func entry(path string) []string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > entrySize {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	if exit := exits().FindSubmatch(text); exit != nil {
		for _, m := range imported().FindAllSubmatch(text, -1) {
			if string(m[2]) == string(exit[1]) {
				return []string{string(m[1])}
			}
		}
	}
	if m := loaded().FindSubmatch(text); m != nil {
		name := strings.ReplaceAll(string(m[1]), "-", "_")
		return slices.Compact([]string{name, strings.ToLower(name)})
	}
	return nil
}

// beginnings are what the paths begin with that globs admit, as "/one:/two"; "/" if one
// of them may admit any.
func beginnings(globs []string) string {
	var all []string
	for _, g := range globs {
		if !strings.Contains(g, "/") {
			continue
		}
		begin, _, _ := strings.Cut(g, "*")
		begin, _, _ = strings.Cut(begin, "?")
		if !strings.HasPrefix(begin, "/") || strings.Contains(begin, ":") {
			return "/"
		}
		all = append(all, begin)
	}
	return strings.Join(all, ":")
}

// packages turns the name of an installed package, or of a module of the standard library,
// into globs of its files. Other names are those of functions, and stay.
func packages(t languages.Target, include []string, cache runtimes.Cache) ([]string, error) {
	var names []string
	for _, g := range include {
		if packageName().MatchString(g) {
			names = append(names, g)
		}
	}
	if len(names) == 0 {
		return include, nil
	}
	p, err := findInterpreter(t.Interpreter, cache)
	if err != nil {
		return nil, err
	}
	folders, err := p.folders()
	if err != nil {
		return nil, languages.Refuse(126, "%s: does not say where its packages are: %v", p.Path, err)
	}
	var out []string
	for _, g := range include {
		found := false
		for _, folder := range folders {
			if !slices.Contains(names, g) {
				break
			}
			path := filepath.Join(folder, strings.ReplaceAll(g, ".", "/"))
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				out, found = append(out, path+"/*"), true
			} else if _, err := os.Stat(path + ".py"); err == nil {
				out, found = append(out, path+".py"), true
			}
		}
		if !found {
			out = append(out, g)
		}
	}
	return out, nil
}

var packageName = pattern.Later(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// folders are those of the standard library and of installed packages on the interpreter's
// path.
func (p interpreter) folders() (all []string, err error) {
	const program = "import json, os, sys; print(json.dumps([os.path.dirname(os.__file__)] + sys.path))"
	out, err := exec.Command(p.Path, "-c", program).Output()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, err
	}
	installed := slices.DeleteFunc(all[1:], func(folder string) bool {
		base := filepath.Base(folder)
		return base != "site-packages" && base != "dist-packages"
	})
	return append(all[:1], installed...), nil
}

// defaultName is the interpreter where none is named: python3, or python where PATH has
// that in a folder before the one of python3, as shims of pyenv, asdf and mise and virtual
// environments do, and it is not Python 2.
func defaultName() string {
	three, err := exec.LookPath("python3")
	if err != nil {
		return "python"
	}
	plain, err := exec.LookPath("python")
	if err != nil || filepath.Dir(plain) == filepath.Dir(three) {
		return "python3"
	}
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		switch filepath.Clean(folder) {
		case filepath.Dir(three):
			return "python3"
		case filepath.Dir(plain):
			p := interpreter{Path: plain}
			if p.ask() == nil && strings.HasPrefix(p.Version, "3.") {
				return plain
			}
			return "python3"
		}
	}
	return "python3"
}
