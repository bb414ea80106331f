package node

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
	"cg/instrument/edit"
	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// aloneFile records the checkpoints of a program that runs without cg.
const aloneFile = "codegreen_runtime.cjs"

// aloneNames begin the names of its functions, so that a program with both has each.
const aloneNames = "cg$$"

// saved is a target that is written with checkpoints that record themselves.
type saved struct {
	base, dir string
	rewritten map[string][]byte // by path below base
	sites     int
}

// saveTarget writes the target's files below dir: with checkpoints that record themselves, what records, and, of
// a folder, all others as they are. It lists what it wrote besides copies.
func saveTarget(t languages.Target, o instrument.Options, dir string) ([]string, error) {
	files, err := sourceFiles(t)
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(t.Args[0])
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(base)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		base = filepath.Dir(base)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := languages.RefuseSaved(base, dir); err != nil {
		return nil, err
	}
	s := &saved{base: base, dir: full, rewritten: map[string][]byte{}}
	for _, file := range files {
		if err := s.add(file, o); err != nil {
			return nil, err
		}
	}
	if s.rewritten[aloneFile], err = runtimes.Files.ReadFile("node/alone/" + aloneFile); err != nil {
		return nil, err
	}
	if _, own := typeAbove(base, base); own == "" {
		if _, kind := typeAbove(base, ""); kind != "" {
			s.rewritten["package.json"] = fmt.Appendf(nil, "{\"type\": %q}\n", kind)
		}
	}
	names, err := languages.WriteSaved(base, dir, s.rewritten)
	if err == nil && info.IsDir() {
		err = s.copyOthers()
	}
	if err == nil {
		err = s.linkPackages()
	}
	if err == nil {
		err = s.keepModes(files)
	}
	return names, err
}

// add rewrites a file, or takes it as it is where it is not wanted or cannot be rewritten; analyze says so.
func (s *saved) add(file string, o instrument.Options) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if _, own := languages.Below(s.dir, full); own {
		return nil // it was written before
	}
	rel, _ := languages.Below(s.base, full)
	text, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	s.rewritten[rel] = text
	if !o.FileWanted(file, true) {
		return nil
	}
	p, err := planModule(text, o)
	if err != nil {
		return nil // it is listed as skipped
	}
	up := strings.Repeat("../", strings.Count(rel, "/"))
	edits, err := renderAlone(text, p, s.sites+1, cmp.Or(up, "./")+aloneFile, full)
	if err != nil {
		return fmt.Errorf("%s: %w (--exclude %[1]s copies it as it is)", file, err)
	}
	changed, err := edit.Apply(text, edits)
	if err == nil {
		_, err = parse(changed)
	}
	if err != nil {
		return fmt.Errorf("%s: the rewritten text: %w", file, err)
	}
	s.rewritten[rel] = changed
	s.sites += len(p.Sites)
	return nil
}

// renderAlone gives the edits that turn a text into one that records its checkpoints: those of the rewriter
// under other names, behind what loads the file that records. first numbers the first site.
func renderAlone(text []byte, p *instrument.Plan, first int, runtime, file string) ([]edit.Edit, error) {
	edits, err := rewrite(text, p, first)
	if err != nil || len(edits) == 0 {
		return nil, err
	}
	for i := range edits {
		edits[i].New = strings.ReplaceAll(edits[i].New, ours, aloneNames)
	}
	names := make([]string, len(p.Sites))
	for i, site := range p.Sites {
		if names[i] = site.Func; site.Func == moduleName {
			names[i] = filepath.Base(file)
		}
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	at, _ := (&planner{Tree: t}).behindDirectives(0)
	load := fmt.Sprintf("require(%q)(%d,%s);", runtime, first, list)
	if isESModule(file, t.Source, p) {
		load = fmt.Sprintf("import %sn from %q;%[1]sn(%[3]d,%[4]s);", aloneNames, runtime, first, list)
	}
	if at > 0 && (text[at-1] == '"' || text[at-1] == '\'') {
		load = "; " + load // behind a directive that has no semicolon
	}
	i, _ := slices.BinarySearchFunc(edits, at, func(e edit.Edit, at int) int { return e.Start - at })
	return slices.Insert(edits, i, edit.Edit{Start: at, End: at, New: load}), nil
}

// isESModule reports whether Node takes a file as an ES module: its ending says so, or the nearest package.json,
// or what only such a module has.
func isESModule(file string, text []byte, p *instrument.Plan) bool {
	switch filepath.Ext(file) {
	case ".mjs", ".mts":
		return true
	case ".cjs", ".cts":
		return false
	}
	if hasModuleSyntax(text) {
		return true
	}
	for _, q := range p.Points {
		if p.Sites[q.Site].Func == moduleName && q.Role != instrument.Module && q.Role != instrument.Handlers {
			return true // it awaits
		}
	}
	_, kind := typeAbove(filepath.Dir(file), "")
	return kind == "module"
}

var metaProperty = pattern.Later(`^\s*\.\s*meta\b`)

// hasModuleSyntax reports whether a text has an import or export statement, or import.meta.
func hasModuleSyntax(text []byte) bool {
	t, err := parse(text)
	if err != nil {
		return false
	}
	for _, n := range t.Nodes {
		switch {
		case n.Type == "import_statement" || n.Type == "export_statement":
			return true
		case n.Type == "import" && metaProperty().Match(t.Source[n.End:]):
			return true
		}
	}
	return false
}

// typeAbove is the nearest package.json at a folder or above it, and the type that it gives to modules. The
// search ends at the folder until, where one is named.
func typeAbove(folder, until string) (file, kind string) {
	for {
		file = filepath.Join(folder, "package.json")
		if content, err := os.ReadFile(file); err == nil {
			var read struct{ Type string }
			if json.Unmarshal(content, &read) != nil {
				return file, ""
			}
			return file, cmp.Or(read.Type, "commonjs")
		}
		if folder == until || folder == filepath.Dir(folder) {
			return "", ""
		}
		folder = filepath.Dir(folder)
	}
}

// installed is the folder of installed packages.
const installed = "node_modules"

// copyOthers copies what is not rewritten, but for installed packages, hidden folders and the folder that is
// written to.
func (s *saved) copyOthers() error {
	return filepath.WalkDir(s.base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := languages.Below(s.base, path)
		switch {
		case rel == ".":
			return nil
		case path == s.dir || d.IsDir() && (d.Name() == installed || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case s.rewritten[rel] != nil:
			return nil // also where the source has a link
		}
		to, err := languages.MakeWay(s.dir, rel)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			err = os.Mkdir(to, 0o755)
			if os.IsExist(err) {
				err = nil
			}
			return err
		case d.Type()&fs.ModeSymlink != 0:
			return copyLink(path, to)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, to)
	})
}

// copyLink makes a link that leads where another one leads.
func copyLink(from, to string) error {
	text, err := os.Readlink(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(text, to)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// linkPackages makes the packages that the source finds be found from the copy: it links their folder, unless
// that lies above the copy, too.
func (s *saved) linkPackages() error {
	for folder := s.base; ; folder = filepath.Dir(folder) {
		if info, err := os.Stat(filepath.Join(folder, installed)); err == nil && info.IsDir() {
			if _, is := languages.Below(folder, s.dir); is {
				return nil
			}
			link := filepath.Join(s.dir, installed)
			if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
				return err
			}
			return os.Symlink(filepath.Join(folder, installed), link)
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}

// keepModes makes the files that are programs programs in the copy.
func (s *saved) keepModes(files []string) error {
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		info, err := os.Stat(full)
		if err != nil {
			return err
		}
		rel, _ := languages.Below(s.base, full)
		if s.rewritten[rel] == nil {
			continue
		}
		if err := os.Chmod(filepath.Join(s.dir, rel), info.Mode().Perm()|0o200); err != nil {
			return err
		}
	}
	return nil
}
