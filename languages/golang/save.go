package golang

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/runtimes"
)

// moduleTree is a module that is written with its files.
type moduleTree struct {
	path string // its import path, "" where no package of it has checkpoints
	dir  string
	only []string // the files that are taken, nil for all
}

// saveTarget writes the target's modules below dir, with checkpoints that print the
// result block when the program ends, and lists what it wrote besides copies. Modules
// keep their places to each other: go.mod, go.work and replace directives with
// relative paths hold as they are.
func saveTarget(t languages.Target, o instrument.Options, dir string) ([]string, error) {
	ctx := context.Background()
	b, packages, done, err := analyzeTarget(t, o)
	if err != nil {
		return nil, err
	}
	defer done()
	if b.leavesInlinedBare(t) {
		if err := b.listInlined(ctx, packages); err != nil {
			return nil, err
		}
	}
	user, err := b.userOverlay()
	if err == nil && b.leavesInlinedBare(t) {
		err = b.chooseBare(packages, user)
	}
	if err != nil {
		return nil, err
	}
	trees, base, err := b.trees(ctx, packages)
	if err != nil {
		return nil, err
	}
	s := &savedTarget{build: b, user: user, base: base, files: map[string][]byte{}, packages: map[string]string{},
		mains: map[string]bool{}}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := s.refuseOccupied(dir, trees); err != nil {
		return nil, err
	}
	for _, u := range b.units {
		if err := b.planUnit(u, user); err != nil {
			return nil, err
		}
		if err := s.rewriteUnit(u, trees); err != nil {
			return nil, err
		}
	}
	if b.target.test {
		s.addTestMains(packages, trees)
	}
	var names []string
	for name := range s.files {
		names = append(names, filepath.Join(dir, name))
	}
	slices.Sort(names)
	return names, s.write(trees)
}

// savedTarget is a tree that is written.
type savedTarget struct {
	build    *build
	user     map[string]string // the user's overlay
	base     string            // folder that stands for dir
	dir      string
	files    map[string][]byte // by path below dir
	packages map[string]string // import paths of the checkpoints, by the folder of the module
	sites    int               // numbers that are given
	mains    map[string]bool   // folders of packages whose tests have a TestMain
}

// moduleTrees collects the modules that are written, each folder once.
type moduleTrees []*moduleTree

// add adds the module in a folder, or gives the one that is there a path.
func (l *moduleTrees) add(path, dir string) *moduleTree {
	dir = filepath.Clean(dir)
	for _, t := range *l {
		if t.dir == dir {
			if t.path == "" {
				t.path = path
			}
			return t
		}
	}
	*l = append(*l, &moduleTree{path: path, dir: dir})
	return (*l)[len(*l)-1]
}

// addReplacements adds the folders that the replace directives of a go.mod or go.work name
// relative to it.
func (l *moduleTrees) addReplacements(m moduleFile, file string) {
	for _, r := range m.Replace {
		if r.New.Version == "" && !filepath.IsAbs(r.New.Path) {
			l.add("", filepath.Join(filepath.Dir(file), r.New.Path))
		}
	}
}

// moduleFile is what a go.mod or go.work says, as go mod edit -json prints it.
type moduleFile struct {
	Module  struct{ Path string }
	Use     []struct{ DiskPath string }
	Replace []struct {
		New struct{ Path, Version string }
	}
}

// moduleFile reads a file; kind is mod or work.
func (t *goCommand) moduleFile(ctx context.Context, kind, file string) (m moduleFile, err error) {
	out, said, err := t.output(ctx, kind, "edit", "-json", file)
	if err != nil {
		return m, languages.Refuse(1, "%s", reason(said, err))
	}
	return m, json.Unmarshal(out, &m)
}

// trees are the modules of the target's own packages, those that the go command needs
// to build them, and the innermost folder around all.
func (b *build) trees(ctx context.Context, packages []*listedPackage) (trees moduleTrees, base string, err error) {
	for _, p := range packages {
		if !p.own() || p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		if err := b.addPackage(ctx, p, &trees); err != nil {
			return nil, "", err
		}
	}
	var around []string
	mains := []string{b.command.module}
	if b.command.work != "" {
		if mains, err = b.addWorkspace(ctx, &trees); err != nil {
			return nil, "", err
		}
		around = append(around, filepath.Dir(b.command.work))
	}
	for _, file := range mains {
		if file == "" {
			continue
		}
		m, err := b.command.moduleFile(ctx, "mod", file)
		if err != nil {
			return nil, "", err
		}
		trees.addReplacements(m, file)
	}
	for _, t := range trees {
		around = append(around, t.dir)
	}
	return trees, commonFolder(around), nil
}

// addPackage adds the module of a package of the program. Files that belong to no
// module become one of their own, with what they embed.
func (b *build) addPackage(ctx context.Context, p *listedPackage, trees *moduleTrees) error {
	switch {
	case p.Module != nil && p.Module.Dir != "":
		trees.add(p.Module.Path, p.Module.Dir)
	case b.command.module != "" && inFolder(filepath.Dir(b.command.module), p.Dir): // named as files
		m, err := b.command.moduleFile(ctx, "mod", b.command.module)
		if err != nil {
			return err
		}
		trees.add(m.Module.Path, filepath.Dir(b.command.module))
	default:
		t := trees.add("command", p.Dir)
		t.only = slices.Concat(t.only, p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles,
			p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles)
	}
	return nil
}

// addWorkspace adds the modules of the go.work in force, and lists their go.mod files.
func (b *build) addWorkspace(ctx context.Context, trees *moduleTrees) (modules []string, err error) {
	m, err := b.command.moduleFile(ctx, "work", b.command.work)
	if err != nil {
		return nil, err
	}
	trees.addReplacements(m, b.command.work)
	for _, u := range m.Use {
		dir := u.DiskPath
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(b.command.work), dir)
		}
		trees.add("", dir)
		modules = append(modules, filepath.Join(dir, "go.mod"))
	}
	return modules, nil
}

// commonFolder is the innermost folder that all of these are in.
func commonFolder(folders []string) string {
	base := folders[0]
	for _, dir := range folders[1:] {
		for base != dir && !inFolder(base, dir) {
			base = filepath.Dir(base)
		}
	}
	return base
}

// refuseOccupied refuses a folder that has files of the user's, or that is one of the
// source's.
func (s *savedTarget) refuseOccupied(dir string, trees []*moduleTree) error {
	for _, t := range trees {
		if s.dir == t.dir || s.dir == s.base || inFolder(s.dir, t.dir) {
			return fmt.Errorf("%s is a source: choose another --output-dir", dir)
		}
	}
	entries, err := os.ReadDir(s.dir)
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(s.dir, instrument.SavedMarker)); err != nil {
			return fmt.Errorf("%s: has files that cg did not write: choose another --output-dir", dir)
		}
	}
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	return instrument.MarkSaved(s.dir)
}

// moduleOf finds the module of a file.
func moduleOf(file string, trees []*moduleTree) (in *moduleTree) {
	for _, t := range trees {
		if inFolder(t.dir, file) && (in == nil || len(t.dir) > len(in.dir)) {
			in = t
		}
	}
	return in
}

// relative is the path of a file below dir.
func (s *savedTarget) relative(file string) string {
	name, _ := filepath.Rel(s.base, file) // below it
	return name
}

// addCheckpointPackage adds the package of the checkpoints to a module, and returns its import path.
func (s *savedTarget) addCheckpointPackage(t *moduleTree) (string, error) {
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
		s.files[s.relative(filepath.Join(t.dir, "internal", name, file))] = content
	}
	if _, err := os.Stat(filepath.Join(t.dir, "go.mod")); err != nil {
		s.files[s.relative(filepath.Join(t.dir, "go.mod"))] = fmt.Appendf(nil, "module %s\n\ngo 1.%d\n", t.path,
			s.build.command.minor)
	}
	s.packages[t.dir] = path
	return path, nil
}

// savedFile is a file of a unit with what is written into it.
type savedFile struct {
	name      string
	source    *sourceFile
	plan      *instrument.Plan
	names     rewriteNames
	needsLast bool // package last is needed
	changed   bool // by checkpoints, or what stands for an end of the program
}

// rewriteUnit adds the texts of a unit. The first file declares the numbers of all.
func (s *savedTarget) rewriteUnit(u *unit, trees []*moduleTree) error {
	files, texts, err := s.readUnit(u)
	if err != nil {
		return err
	}
	bases, changed := s.nameSites(files, unusedName("cg"+u.salt(""), texts...))
	if !changed {
		return nil
	}
	for i, f := range files {
		in := moduleOf(f.name, trees)
		if in == nil || !f.changed && (i > 0 || len(bases) == 0) {
			continue
		}
		path, err := s.addCheckpointPackage(in)
		if err != nil {
			return err
		}
		if f.names.path = path; f.needsLast {
			f.names.last = path + "/last"
		}
		var declared []siteBase
		if i == 0 {
			declared = bases
		}
		edits, err := f.source.edits(f.plan, f.names, declared, "")
		if err == nil {
			s.files[s.relative(f.name)], err = edit.Apply(f.source.text, edits)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// readUnit reads and plans the files of a unit that may be rewritten.
func (s *savedTarget) readUnit(u *unit) (files []*savedFile, texts [][]byte, err error) {
	o := s.build.options
	o.Entry = u.command
	for i, name := range u.files {
		if u.made.Files[i].Skip != "" || s.build.embedded[name] {
			continue
		}
		from := name
		if to, is := s.user[name]; is {
			from = to
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return nil, nil, err
		}
		f := &savedFile{name: name}
		if f.source, err = parseFile(text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		f.plan, _ = f.source.plan(o, u.planned[name])
		texts, files = append(texts, text), append(files, f)
	}
	return files, texts, nil
}

// nameSites gives the files their names for the checkpoints, and the sites their
// numbers. changed says that any of the files changes.
func (s *savedTarget) nameSites(files []*savedFile, checkpoints string) (bases []siteBase, changed bool) {
	for i, f := range files {
		f.names = rewriteNames{checkpoints: checkpoints, base: fmt.Sprintf("%s_b%d", checkpoints, i),
			finish: f.source.mainBody()}
		f.names.replace, f.names.declarations, f.needsLast = f.source.replaceExits(checkpoints)
		if len(f.plan.Points) > 0 {
			bases = append(bases, siteBase{f.names.base,
				fmt.Sprintf("CodegreenSites(%d, %q)", s.sites,
					strings.Join(instrument.SavedNames(f.plan, f.name, s.sites+1), "\n"))})
			s.sites += len(f.plan.Sites)
		}
		f.changed = len(f.plan.Points) > 0 || f.names.finish > 0 || len(f.names.replace) > 0
		changed = changed || f.changed
		if f.names.finish > 0 && strings.HasSuffix(f.name, "_test.go") {
			s.mains[filepath.Dir(f.name)] = true
		}
	}
	return bases, changed
}

// mainBody is where the body of the function begins that a program's end comes back to:
// main, or TestMain of tests. 0 if there is none.
func (g *sourceFile) mainBody() int {
	for _, f := range g.funcs {
		if f.recv == "" && f.outer < 0 && f.open >= 0 && (f.name == "main" && g.pkg == "main" || f.name == "TestMain") {
			return f.open + 1
		}
	}
	return 0
}

// replaceExits replaces calls that end the program without returning: os.Exit, and the
// Fatal functions of package log. declarations keep the imports in use; log says that
// package last is needed.
func (g *sourceFile) replaceExits(ring string) (replace []edit.Edit, declarations string, log bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", g.text, 0)
	if err != nil {
		return nil, "", false
	}
	words := map[string]map[string]string{ // by package, and what stands for them
		"os": {"Exit": ring + ".CodegreenOSExit"},
		"log": {"Fatal": ring + lastSuffix + ".CodegreenFatal", "Fatalf": ring + lastSuffix + ".CodegreenFatalf",
			"Fatalln": ring + lastSuffix + ".CodegreenFatalln"},
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
				declarations += fmt.Sprintf("; var _ = %s.%s", id.Name, call.Sel.Name)
			}
		}
		return true
	})
	return replace, declarations, log
}

// addTestMains adds a TestMain to the packages whose tests have none.
func (s *savedTarget) addTestMains(packages []*listedPackage, trees []*moduleTree) {
	for _, p := range packages {
		in := moduleOf(filepath.Join(p.Dir, "x.go"), trees)
		if in == nil || s.packages[in.dir] == "" || p.DepOnly || !p.own() || p.ForTest != "" || s.mains[p.Dir] ||
			len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		name := p.Name
		if len(p.TestGoFiles) == 0 {
			name += "_test"
		}
		s.files[s.relative(filepath.Join(p.Dir, "codegreen_test.go"))] = fmt.Appendf(nil, `package %s

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
func (s *savedTarget) write(trees []*moduleTree) error {
	for _, t := range trees {
		if t.only != nil {
			for _, name := range t.only {
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
	if w := s.build.command.work; w != "" {
		for _, name := range []string{w, w + ".sum"} {
			if err := s.copy(name); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	for from, to := range s.user {
		if moduleOf(from, trees) == nil {
			continue
		}
		place := filepath.Join(s.dir, s.relative(from))
		if to == "" {
			os.Remove(place)
			continue
		}
		text, err := os.ReadFile(to)
		if err == nil {
			err = s.put(s.relative(from), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if err := s.put(name, s.files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
