package golang

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
	"cg/languages"
	"cg/runtimes"
)

// unit are files that are compiled together and belong together: those of a
// package, those that its tests add to it, or those of its external tests.
type unit struct {
	path    string // import path
	command bool   // package main of the target
	own     bool   // the program's
	files   []string
	before  *unit // whose numbers of functions these continue

	left    []string        // "name:line" of functions that are left alone
	unlined []string        // those of functions whose code is not told apart
	without map[string]bool // files that are compiled as they are
	made    plannedUnit
	planned map[string]packageContext // by file, while it is planned and not found
}

// plannedUnit is a unit that is written. It is kept by what it was made from.
type plannedUnit struct {
	Files  []plannedFile
	Counts functionCounts
}

type plannedFile struct {
	Name string
	Text string           // name of the written text, "" if the file stays as it is
	Plan *instrument.Plan // without points; nil if the file has no checkpoints
	Skip string           // why
	Key  string           // of its sites, for the compiler to choose; "" if all have checkpoints
	// Original is the name of the kept text without checkpoints, "" unless the program has it embedded.
	Original string
}

// chooseUnits finds the files that get checkpoints.
func (b *build) chooseUnits(ctx context.Context, packages []*listedPackage) error {
	closed, err := b.runtimeDependencies(ctx, packages)
	if err != nil {
		return err
	}
	b.units = []*unit{}
	b.findEmbedded(packages)
	for _, p := range packages {
		if p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test") && len(p.GoFiles) == 0 {
			continue // the files of the plain package
		}
		own := p.own()
		if !own && !b.wantedForeign(p, closed) {
			continue
		}
		abs := func(lists ...[]string) []string {
			var out []string
			for _, name := range slices.Concat(lists...) {
				out = append(out, p.file(name))
			}
			return out
		}
		var last *unit
		add := func(path string, files []string, before *unit) {
			if len(files) == 0 {
				last = before
				return
			}
			last = &unit{
				path: path, own: own, files: files, before: before,
				command: p.Name == "main" && !p.DepOnly, without: map[string]bool{},
			}
			b.units = append(b.units, last)
		}
		add(p.ImportPath, abs(p.GoFiles, p.CgoFiles), nil)
		if b.target.test && !p.DepOnly {
			add(p.ImportPath, abs(p.TestGoFiles), last)
			add(p.ImportPath+"_test", abs(p.XTestGoFiles), nil)
		}
	}
	return nil
}

// runtimeDependencies are the packages that the checkpoints themselves need: they cannot
// have any.
func (b *build) runtimeDependencies(ctx context.Context, packages []*listedPackage) (map[string]bool, error) {
	out := map[string]bool{}
	if !slices.ContainsFunc(packages, func(p *listedPackage) bool { return p.Standard && b.wantedForeign(p, nil) }) {
		return out, nil
	}
	if err := b.overlayRuntime(ctx); err != nil {
		return nil, err
	}
	overlay, err := b.writeOverlay()
	if err != nil {
		return nil, err
	}
	list, said, err := b.command.output(ctx, "list", "-overlay="+overlay, "-deps", runtimePackage, "runtime", "unsafe")
	if err != nil {
		return nil, fmt.Errorf("go list %s: %s", runtimePackage, reason(said, err))
	}
	for path := range strings.Lines(string(list)) {
		out[strings.TrimSpace(path)] = true
	}
	return out, nil
}

// wantedForeign reports whether a package that is not the program's is wanted, and
// can be written.
func (b *build) wantedForeign(p *listedPackage, closed map[string]bool) bool {
	if !b.setup.Foreign || !slices.ContainsFunc(p.GoFiles,
		func(name string) bool { return b.options.FileWanted(filepath.Join(p.Dir, name), false) }) {
		return false
	}
	switch {
	case closed[p.ImportPath]:
		b.skip(p.Dir, "the checkpoints need it themselves")
	case !p.Standard && inFolder(b.command.cache, p.Dir):
		b.skip(p.Dir,
			"it is in the module cache, where the go command takes no replacement: go mod vendor, or a replace "+
				"directive, makes it the program's")
	default:
		return true
	}
	return false
}

func (b *build) skip(file, reason string) {
	b.skips = append(b.skips, instrument.Skip{File: file, Reason: reason})
}

// planUnit plans a unit and writes its files, unless a run before has kept them.
func (b *build) planUnit(u *unit, user map[string]string) error {
	c := packageContext{path: u.path}
	if u.before != nil {
		c.inits, c.literals = u.before.made.Counts.Inits, u.before.made.Counts.Literals
	}
	o := b.options
	o.Entry = u.command
	o.Exclude = append(slices.Clone(o.Exclude), u.left...)
	texts, kept, err := b.readUnit(u, user, c, o)
	if err != nil {
		return err
	}
	if text, err := b.kept.Read(kept); err == nil && json.Unmarshal(text, &u.made) == nil && b.isKept(kept, u.made) {
		return nil
	}
	parsed, first := b.planFiles(u, texts, c, o)
	if err := b.writeUnit(u, parsed, first); err != nil {
		return err
	}
	text, err := json.Marshal(u.made)
	if err != nil {
		return err
	}
	return b.kept.Write(kept, text)
}

// readUnit reads the files of a unit, or what the user's overlay has in their place.
// kept is the name under which the unit is kept: it stands for all that decides what
// is written.
func (b *build) readUnit(u *unit, user map[string]string, c packageContext, o instrument.Options) (
	texts [][]byte, kept string, err error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %d %d %v %s %q %q %v\n", planVersion(), c.path, c.inits, c.literals,
		o.Entry, o.Granularity, o.Include, o.Exclude, b.generation)
	if o.Granularity.HasPlaces() {
		fmt.Fprintf(h, "%v %q %q\n", o.PlacesOf == nil, o.PlacesOf, u.unlined)
	}
	texts = make([][]byte, len(u.files))
	for i, name := range u.files {
		if texts[i], err = readSource(name, user); err != nil {
			return nil, "", err
		}
		fmt.Fprintf(h, "%q %d %v %v %v %v\n", name, len(texts[i]), b.embedded[name],
			b.staysEmbedded(name) || u.without[name], b.places[name], b.bare[name])
		h.Write(texts[i])
	}
	return texts, filepath.Join("unit", hex.EncodeToString(h.Sum(nil))[:24]+".json"), nil
}

// readSource reads a file, or what the user's overlay has in its place.
func readSource(name string, user map[string]string) ([]byte, error) {
	file := name
	if to, is := user[name]; is {
		file = to
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, languages.Refuse(1, "%s: cannot be read: %v", name, errors.Unwrap(err))
	}
	return text, nil
}

// planFiles plans the files of a unit in their order, as each continues the numbers of
// functions of those before it. first is the first file that can be rewritten, -1 for
// none.
func (b *build) planFiles(u *unit, texts [][]byte, c packageContext, o instrument.Options) (
	parsed []parsedFile, first int) {
	u.planned = map[string]packageContext{}
	u.made = plannedUnit{Counts: functionCounts{Inits: c.inits, Literals: c.literals}}
	parsed, first = make([]parsedFile, len(u.files)), -1
	for i, name := range u.files {
		out := plannedFile{Name: name}
		g, err := parseFile(texts[i])
		parsed[i] = parsedFile{name: name}
		switch {
		case err != nil:
			out.Skip = err.Error()
		case b.staysEmbedded(name):
			out.Skip = "left alone: the program has its text embedded"
		default:
			parsed[i].source = g
			if first < 0 {
				first = i
			}
		}
		if g != nil {
			p, inlined := b.planNext(u, name, g, o)
			switch {
			case out.Skip != "" || u.without[name]:
			case !o.FileWanted(name, u.own):
				out.Skip = "left out by --exclude"
			default:
				u.made.Counts.Inlined += inlined
				p.File = name
				parsed[i].plan, parsed[i].key = p, instrument.FileKey(name, p)
				out.Plan = &instrument.Plan{Language: p.Language, File: name, Sites: p.Sites, LeftAlone: p.LeftAlone}
			}
		}
		if out.Skip != "" && o.Granularity == instrument.Coarse && !o.Entry {
			out.Skip = "" // nothing was wanted of it
		}
		u.made.Files = append(u.made.Files, out)
	}
	return parsed, first
}

// planNext plans a file as the one that follows those counted in u.made. inlined is
// how many of its functions the compiler inlines.
func (b *build) planNext(u *unit, name string, g *sourceFile, o instrument.Options) (p *instrument.Plan, inlined int) {
	c := packageContext{path: u.path, inits: u.made.Counts.Inits, literals: u.made.Counts.Literals,
		inlined: map[int]bool{}, bare: map[int]bool{}, file: name, unplaced: u.unlined}
	for _, place := range b.places[name] {
		c.inlined[g.offset(place[0], place[1])] = true
	}
	for _, open := range b.bare[name] {
		c.bare[open] = true
	}
	u.planned[name] = c
	p, counts := g.plan(o, c)
	u.made.Counts.Inits, u.made.Counts.Literals = counts.Inits, counts.Literals
	return p, counts.Inlined
}

// writeUnit writes the texts with checkpoints, and the lists of functions from which
// the compiler's command chooses.
func (b *build) writeUnit(u *unit, parsed []parsedFile, first int) error {
	salt := u.salt("")
	if b.compiler != "" {
		salt = "a" + u.salt(b.generation) // in no other text: the build cache keeps them separate
	}
	written, err := rewriteFiles(parsed, first, salt)
	if err != nil {
		return err
	}
	for i, r := range parsed {
		if b.compiler == "" || r.plan == nil || len(r.plan.Points) == 0 {
			continue
		}
		u.made.Files[i].Key = fmt.Sprintf("%x", r.key)
		if err := b.kept.Write(sitesFile(u.made.Files[i].Key), r.source.functionHeads(r.name, r.plan)); err != nil {
			return err
		}
	}
	for i, text := range written {
		if text == nil {
			continue
		}
		file, err := b.store(text, ".go")
		if err != nil {
			return err
		}
		f := &u.made.Files[i]
		if f.Text, err = filepath.Rel(b.folder, file); err != nil {
			return err
		}
		if !b.embedded[f.Name] {
			continue
		}
		if err := b.keepOriginal(f, parsed[i].source.text); err != nil {
			return err
		}
	}
	return nil
}

// salt makes the names in a unit's files its own: units may share a scope.
func (u *unit) salt(generation string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v%s", u.path, u.before != nil, generation))
	return hex.EncodeToString(sum[:4])
}

// isKept reports whether all that a kept unit needs is still kept and as it was, and
// marks it as used.
func (b *build) isKept(kept string, m plannedUnit) bool {
	for _, f := range m.Files {
		if f.Text != "" && !b.stored(f.Text) || !b.hasOriginal(f) {
			return false
		}
		if f.Key != "" {
			if _, err := b.kept.Read(sitesFile(f.Key)); err != nil {
				return false
			}
			b.kept.Used(sitesFile(f.Key))
		}
	}
	b.kept.Used(kept)
	return true
}

// textFolder is the folder of what has the digest of its content for a name.
const textFolder = "text"

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:12])
}

// store keeps content under a name that stands for it, and returns its path.
func (b *build) store(content []byte, ending string) (string, error) {
	name := filepath.Join(textFolder, digest(content)+ending)
	file := filepath.Join(b.folder, name)
	if b.stored(name) {
		return file, nil
	}
	return file, b.kept.Write(name, content)
}

// stored reports whether what was stored is as it was, and marks it as used.
func (b *build) stored(name string) bool {
	if filepath.Dir(name) != textFolder {
		return false
	}
	content, err := b.kept.Read(name)
	if err != nil {
		return false
	}
	if digest(content) != strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) {
		b.kept.Changed(name)
		return false
	}
	b.kept.Used(name)
	return true
}

// The go command takes a program that it has built before for the one that it
// would build by a note in it, whatever else is in the file. checkKeptProgram removes one
// that is not as it was left, and returns what it is, nil for none; noteProgram notes what
// it is now.
func checkKeptProgram(bin runtimes.Cache, program string) fs.FileInfo {
	noted, unknown := bin.Read(digestFile)
	content, err := bin.Read(filepath.Base(program))
	switch {
	case err != nil:
		os.RemoveAll(program)
	case unknown != nil: // written by a cg that was killed
		os.Remove(program)
	case digest(content) != string(noted):
		bin.Changed(filepath.Base(program))
	default:
		info, _ := os.Lstat(program)
		return info
	}
	return nil
}

const digestFile = "digest.txt"

func noteProgram(bin runtimes.Cache, program string, before fs.FileInfo) error {
	info, err := os.Lstat(program)
	if err != nil {
		return err
	}
	same := before != nil && os.SameFile(info, before) && info.Size() == before.Size()
	if same && info.ModTime().Equal(before.ModTime()) {
		return nil
	}
	if err := os.Chmod(program, 0o700); err != nil { // whatever umask it was made with
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	return bin.Write(digestFile, []byte(digest(content)))
}

// leaveOut leaves out the places of the innermost function at a line of a file; or, where it has none, the function;
// or, if there is none, the file.
func (u *unit) leaveOut(b *build, f plannedFile, line int, given map[string]bool) {
	places := 0
	for _, site := range slices.Backward(f.Plan.Sites) {
		if site.Kind.IsPlace() {
			places++
			continue
		}
		hasPlaces := places > 0
		places = 0
		if line < site.Line || site.EndLine < line {
			continue
		}
		name := fmt.Sprintf("%s:%d", site.Func, site.Line)
		switch {
		case given[name]:
		case hasPlaces:
			given[name] = true
			u.unlined = append(u.unlined, name)
			b.skip(fmt.Sprintf("%s:%d", f.Name, site.Line),
				fmt.Sprintf("%s has no %ss: the compiler refuses it with them", site.Func, b.options.Granularity))
		default:
			given[name] = true
			u.left = append(u.left, name)
			b.skip(fmt.Sprintf("%s:%d", f.Name, site.Line),
				site.Func+" left alone: the compiler refuses it with checkpoints")
		}
		return
	}
	given[f.Name] = true
	u.without[f.Name] = true
	b.skip(f.Name, "the compiler refuses it with checkpoints")
}

// numberSites gives cg the sites of all files. inlined are those without checkpoints, by
// the keys of their files.
func (b *build) numberSites(inlined map[string][]int) error {
	for _, u := range b.units {
		b.inlined += u.made.Counts.Inlined
		for _, f := range u.made.Files {
			if f.Skip != "" {
				b.setup.Skip(f.Name, f.Skip)
			}
			if f.Plan == nil {
				continue
			}
			first, err := b.setup.NumberSites(f.Name, f.Plan)
			if err != nil {
				return err
			}
			for _, site := range inlined[f.Key] {
				b.setup.DropSite(first + site - 1)
				for i := site; i < len(f.Plan.Sites) && f.Plan.Sites[i].Kind.IsPlace(); i++ {
					b.setup.DropSite(first + i)
				}
				b.inlined++
			}
		}
	}
	for _, k := range b.skips {
		b.setup.Skip(k.File, k.Reason)
	}
	return nil
}
