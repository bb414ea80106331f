package golang

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/checkpoint"
	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/runtimes"
)

// goTree is a module that is written with its files.
type goTree struct {
	path  string // its import path, "" where no package of it has checkpoints
	dir   string
	alone []string // the files that are taken, nil for all
}

// saveGo writes the target's modules below dir, with checkpoints that tell the
// result when the program ends, and lists what it wrote besides copies. Modules
// keep their places to each other: go.mod, go.work and replace directives with
// relative paths hold as they are.
func saveGo(t languages.Target, o instrument.Options, dir string) ([]string, error) {
	ctx := context.Background()
	b, packages, done, err := analyzeGo(t, o)
	if err != nil {
		return nil, err
	}
	defer done()
	if b.looks(t) {
		if err := b.lookBefore(ctx, packages); err != nil {
			return nil, err
		}
	}
	user, err := b.userOverlay()
	if err != nil {
		return nil, err
	}
	trees, base, err := b.trees(ctx, packages)
	if err != nil {
		return nil, err
	}
	s := &goSave{build: b, user: user, base: base, files: map[string][]byte{}, packages: map[string]string{}, mains: map[string]bool{}}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := s.free(dir, trees); err != nil {
		return nil, err
	}
	for _, u := range b.units {
		if err := b.make(u, user); err != nil {
			return nil, err
		}
		if err := s.weave(u, trees); err != nil {
			return nil, err
		}
	}
	if b.target.test {
		s.testMains(packages, trees)
	}
	var names []string
	for name := range s.files {
		names = append(names, filepath.Join(dir, name))
	}
	slices.Sort(names)
	return names, s.write(trees)
}

// goSave is a tree that is written.
type goSave struct {
	build    *goBuild
	user     map[string]string // the user's overlay
	base     string            // folder that stands for dir
	dir      string
	files    map[string][]byte // by path below dir
	packages map[string]string // import paths of the checkpoints, by the folder of the module
	sites    int               // numbers that are given
	mains    map[string]bool   // folders of packages whose tests have a TestMain
}

// trees are the modules of the target's own packages and those that the go command
// needs beside them, and the folder around them.
func (b *goBuild) trees(ctx context.Context, packages []*goPackage) (trees []*goTree, base string, err error) {
	add := func(path, dir string) *goTree {
		dir = filepath.Clean(dir)
		for _, t := range trees {
			if t.dir == dir {
				if t.path == "" {
					t.path = path
				}
				return t
			}
		}
		trees = append(trees, &goTree{path: path, dir: dir})
		return trees[len(trees)-1]
	}
	type local struct {
		Module  struct{ Path string }
		Use     []struct{ DiskPath string }
		Replace []struct {
			New struct{ Path, Version string }
		}
	}
	read := func(what, file string) (l local, err error) {
		out, said, err := b.t.output(ctx, what, "edit", "-json", file)
		if err != nil {
			return l, languages.Refuse(1, "%s", goSaid(said, err))
		}
		return l, json.Unmarshal(out, &l)
	}
	beside := func(l local, file string) {
		for _, r := range l.Replace {
			if r.New.Version == "" && !filepath.IsAbs(r.New.Path) {
				add("", filepath.Join(filepath.Dir(file), r.New.Path))
			}
		}
	}
	var around []string
	for _, p := range packages {
		switch {
		case !p.own() || p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test"):
		case p.Module != nil && p.Module.Dir != "":
			add(p.Module.Path, p.Module.Dir)
		case b.t.module != "" && inFolder(filepath.Dir(b.t.module), p.Dir): // files
			l, err := read("mod", b.t.module)
			if err != nil {
				return nil, "", err
			}
			add(l.Module.Path, filepath.Dir(b.t.module))
		default:
			t := add("command", p.Dir)
			for _, list := range [][]string{p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles, p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles} {
				t.alone = append(t.alone, list...)
			}
		}
	}
	mains := []string{b.t.module}
	if b.t.work != "" {
		l, err := read("work", b.t.work)
		if err != nil {
			return nil, "", err
		}
		beside(l, b.t.work)
		mains = nil
		for _, u := range l.Use {
			dir := u.DiskPath
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(filepath.Dir(b.t.work), dir)
			}
			add("", dir)
			mains = append(mains, filepath.Join(dir, "go.mod"))
		}
		around = append(around, filepath.Dir(b.t.work))
	}
	for _, file := range mains {
		if file == "" {
			continue
		}
		l, err := read("mod", file)
		if err != nil {
			return nil, "", err
		}
		beside(l, file)
	}
	for _, t := range trees {
		around = append(around, t.dir)
	}
	base = around[0]
	for _, dir := range around[1:] {
		for base != dir && !inFolder(base, dir) {
			base = filepath.Dir(base)
		}
	}
	return trees, base, nil
}

// goSaved marks a folder that saveGo has written.
const goSaved = ".codegreen"

// free refuses a folder that has files of the user's, or that is one of the
// source's.
func (s *goSave) free(dir string, trees []*goTree) error {
	for _, t := range trees {
		if s.dir == t.dir || s.dir == s.base || inFolder(s.dir, t.dir) {
			return fmt.Errorf("%s is a source: choose another --output-dir", dir)
		}
	}
	entries, err := os.ReadDir(s.dir)
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(s.dir, goSaved)); err != nil {
			return fmt.Errorf("%s: has files that cg did not write: choose another --output-dir", dir)
		}
	}
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, goSaved), []byte("Written by cg analyze --save-instrumented, which writes over it again.\n"), 0o644)
}

// inTree finds the module of a file.
func inTree(file string, trees []*goTree) (in *goTree) {
	for _, t := range trees {
		if inFolder(t.dir, file) && (in == nil || len(t.dir) > len(in.dir)) {
			in = t
		}
	}
	return in
}

// place is where a file goes, below dir.
func (s *goSave) place(file string) string {
	name, _ := filepath.Rel(s.base, file) // below it
	return name
}

// ring adds the package of the checkpoints to a module, and returns its import path.
func (s *goSave) ring(t *goTree) (string, error) {
	if path := s.packages[t.dir]; path != "" {
		return path, nil
	}
	name := "codegreen"
	for n := 1; ; n++ {
		if _, err := os.Stat(filepath.Join(t.dir, "internal", name)); err != nil {
			break
		}
		name = fmt.Sprintf("codegreen%d", n)
	}
	path := t.path + "/internal/" + name
	files, err := runtimes.GolangAlone(path)
	if err != nil {
		return "", err
	}
	for file, content := range files {
		s.files[s.place(filepath.Join(t.dir, "internal", name, file))] = content
	}
	if _, err := os.Stat(filepath.Join(t.dir, "go.mod")); err != nil {
		s.files[s.place(filepath.Join(t.dir, "go.mod"))] = fmt.Appendf(nil, "module %s\n\ngo 1.%d\n", t.path, s.build.t.minor)
	}
	s.packages[t.dir] = path
	return path, nil
}

// weave adds the texts of a unit.
func (s *goSave) weave(u *goUnit, trees []*goTree) error {
	type file struct {
		name   string
		source *goSource
		plan   *instrument.Plan
		names  goNames
		ends   bool // package last is needed
		wanted bool // it is written
	}
	var files []*file
	var texts [][]byte
	for i, name := range u.files {
		made := u.made.Files[i]
		if made.Skip != "" || u.embedded[name] {
			continue
		}
		from := name
		if to, is := s.user[name]; is {
			from = to
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		f := &file{name: name, plan: &instrument.Plan{}}
		if f.source, err = parseGo(text); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		texts = append(texts, text)
		files = append(files, f)
		o := s.build.o
		o.Entry = u.command
		plan, _ := f.source.plan(o, u.planned[name])
		f.plan.Points = plan.Points
		for _, site := range plan.Sites {
			site.Small = false // every call is told
			f.plan.Sites = append(f.plan.Sites, site)
		}
	}
	ring := goFreeName("cg"+u.salt(""), texts...)
	var bases []goBase
	wanted := false
	for i, f := range files {
		f.names = goNames{ring: ring, base: fmt.Sprintf("%s_b%d", ring, i), finish: f.source.entry()}
		f.names.replace, f.names.behind, f.ends = f.source.ends(ring)
		if len(f.plan.Points) > 0 {
			bases = append(bases, goBase{f.names.base, fmt.Sprintf("CodegreenSites(%d, %q)", s.sites, goSiteNames(f.plan.Sites))})
			s.sites += len(f.plan.Sites)
		}
		f.wanted = len(f.plan.Points) > 0 || f.names.finish > 0 || len(f.names.replace) > 0
		wanted = wanted || f.wanted
		if f.names.finish > 0 && strings.HasSuffix(f.name, "_test.go") {
			s.mains[filepath.Dir(f.name)] = true
		}
	}
	if !wanted {
		return nil
	}
	for i, f := range files {
		in := inTree(f.name, trees)
		if in == nil || !f.wanted && (i > 0 || len(bases) == 0) {
			continue
		}
		path, err := s.ring(in)
		if err != nil {
			return err
		}
		if f.names.path = path; f.ends {
			f.names.last = path + "/last"
		}
		var own []goBase
		if i == 0 {
			own = bases
		}
		edits, err := f.source.edits(f.plan, f.names, own, "")
		if err == nil {
			s.files[s.place(f.name)], err = edit.Apply(f.source.text, edits)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// goSiteNames are the names of sites, a line each.
func goSiteNames(sites []checkpoint.Site) string {
	var names []string
	for _, site := range sites {
		names = append(names, site.Func)
	}
	return strings.Join(names, "\n")
}

// entry is where the body of the function begins that a program's end comes back to:
// main, or TestMain of tests. 0 if there is none.
func (g *goSource) entry() int {
	for _, f := range g.funcs {
		if f.recv == "" && f.outer < 0 && f.open >= 0 && (f.name == "main" && g.pkg == "main" || f.name == "TestMain") {
			return f.open + 1
		}
	}
	return 0
}

// ends finds what ends the program without coming back: calls of os.Exit, and those
// of package log. behind keeps the imports in use; log tells whether package last
// is needed.
func (g *goSource) ends(ring string) (replace []edit.Edit, behind string, log bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", g.text, 0)
	if err != nil {
		return nil, "", false
	}
	words := map[string]map[string]string{ // by package, and what stands for them
		"os":  {"Exit": ring + ".CodegreenOSExit"},
		"log": {"Fatal": ring + goLast + ".CodegreenFatal", "Fatalf": ring + goLast + ".CodegreenFatalf", "Fatalln": ring + goLast + ".CodegreenFatalln"},
	}
	names := map[string]string{} // of the imports in this file
	for _, s := range file.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		if words[path] != nil && s.Name == nil {
			names[path] = path
		} else if words[path] != nil {
			names[s.Name.Name] = path
		}
	}
	free := map[*ast.Ident]bool{} // no variable that is called like a package
	for _, id := range file.Unresolved {
		free[id] = true
	}
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		call, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		id, is := call.X.(*ast.Ident)
		if !is || !free[id] {
			return true
		}
		path := names[id.Name]
		if word := words[path][call.Sel.Name]; word != "" {
			at := func(p token.Pos) int { return set.PositionFor(p, false).Offset }
			replace = append(replace, edit.Edit{Start: at(call.Pos()), End: at(call.End()), New: word})
			if log = log || path == "log"; !used[id.Name] {
				used[id.Name] = true
				behind += fmt.Sprintf("; var _ = %s.%s", id.Name, call.Sel.Name)
			}
		}
		return true
	})
	return replace, behind, log
}

// testMains adds a TestMain to the packages whose tests have none.
func (s *goSave) testMains(packages []*goPackage, trees []*goTree) {
	for _, p := range packages {
		in := inTree(filepath.Join(p.Dir, "x.go"), trees)
		if in == nil || s.packages[in.dir] == "" || p.DepOnly || !p.own() || p.ForTest != "" || s.mains[p.Dir] || len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		name := p.Name
		if len(p.TestGoFiles) == 0 {
			name += "_test"
		}
		s.files[s.place(filepath.Join(p.Dir, "codegreen_test.go"))] = fmt.Appendf(nil, `package %s

import (
	"os"
	"testing"

	codegreen %q
)

// TestMain tells the result behind the tests.
func TestMain(m *testing.M) {
	status := m.Run()
	codegreen.CodegreenFinish()
	os.Exit(status)
}
`, name, s.packages[in.dir])
	}
}

// write copies the modules and puts the texts in their places.
func (s *goSave) write(trees []*goTree) error {
	for _, t := range trees {
		if t.alone != nil {
			for _, name := range t.alone {
				if err := s.copy(filepath.Join(t.dir, name)); err != nil {
					return err
				}
			}
			continue
		}
		if err := s.copyAll(t.dir); err != nil {
			return err
		}
	}
	if w := s.build.t.work; w != "" {
		for _, name := range []string{w, w + ".sum"} {
			if err := s.copy(name); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	for from, to := range s.user {
		if inTree(from, trees) == nil {
			continue
		}
		place := filepath.Join(s.dir, s.place(from))
		if to == "" {
			os.Remove(place)
			continue
		}
		text, err := os.ReadFile(to)
		if err == nil {
			err = put(place, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if err := put(filepath.Join(s.dir, name), s.files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file below folders that it makes.
func put(file string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	os.Remove(file) // which may be read-only, or a link
	return os.WriteFile(file, content, mode|0o600)
}

// copyAll copies the files of a folder, but for what version control keeps there and
// the copy itself.
func (s *goSave) copyAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == s.dir || slices.Contains([]string{".git", ".hg", ".svn", ".bzr"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		return s.copy(path)
	})
}

// copy copies a file or a link; nothing else is source.
func (s *goSave) copy(file string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	place := filepath.Join(s.dir, s.place(file))
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(file)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(place), 0o755)
		}
		if err != nil {
			return err
		}
		os.Remove(place)
		return os.Symlink(to, place)
	case !info.Mode().IsRegular():
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return put(place, content, info.Mode().Perm())
}
