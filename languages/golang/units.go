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

// goUnit are files that are compiled together and belong together: those of a
// package, those that its tests add to it, or those of its external tests.
type goUnit struct {
	path     string // import path
	command  bool   // package main of the target
	own      bool   // the program's
	files    []string
	embedded map[string]bool // files that the program has embedded, too
	before   *goUnit         // whose numbers of functions these continue

	left    []string        // "name:line" of functions that are left alone
	without map[string]bool // files that are compiled as they are
	made    goMade
	planned map[string]goContext // by file, while it is planned and not found
}

// goMade is a unit that is written. It is kept by what it was made from.
type goMade struct {
	Files  []goMadeFile
	Counts goCounts
}

type goMadeFile struct {
	Name string
	Text string           // name of the written text, "" if the file stays as it is
	Plan *instrument.Plan // without points; nil if the file has no checkpoints
	Skip string           // why
	Key  string           // of its sites, for the compiler to choose; "" if all have checkpoints
}

// choose finds the files that get checkpoints.
func (b *goBuild) choose(ctx context.Context, packages []*goPackage) error {
	closed, err := b.closed(ctx, packages)
	if err != nil {
		return err
	}
	b.units = []*goUnit{}
	for _, p := range packages {
		if p.ForTest != "" || strings.HasSuffix(p.ImportPath, ".test") && len(p.GoFiles) == 0 {
			continue // the files of the plain package
		}
		own := p.own()
		if !own && !b.foreign(p, closed) {
			continue
		}
		abs := func(lists ...[]string) []string {
			var out []string
			for _, list := range lists {
				for _, name := range list {
					if !filepath.IsAbs(name) {
						name = filepath.Join(p.Dir, name)
					}
					out = append(out, name)
				}
			}
			return out
		}
		embedded := map[string]bool{}
		for _, name := range abs(p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles) {
			embedded[name] = true
		}
		var last *goUnit
		add := func(path string, files []string, before *goUnit) {
			if len(files) == 0 {
				last = before
				return
			}
			last = &goUnit{
				path: path, own: own, files: files, embedded: embedded, before: before,
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

// closed are the packages that the checkpoints themselves need: they cannot
// have any.
func (b *goBuild) closed(ctx context.Context, packages []*goPackage) (map[string]bool, error) {
	out := map[string]bool{}
	if !slices.ContainsFunc(packages, func(p *goPackage) bool { return p.Standard && b.foreign(p, nil) }) {
		return out, nil
	}
	if err := b.addRuntime(ctx); err != nil {
		return nil, err
	}
	overlay, err := b.write()
	if err != nil {
		return nil, err
	}
	list, said, err := b.t.output(ctx, "list", "-overlay="+overlay, "-deps", goRuntime, "runtime", "unsafe")
	if err != nil {
		return nil, fmt.Errorf("go list %s: %s", goRuntime, goSaid(said, err))
	}
	for path := range strings.Lines(string(list)) {
		out[strings.TrimSpace(path)] = true
	}
	return out, nil
}

// foreign reports whether a package that is not the program's is wanted, and
// can be written.
func (b *goBuild) foreign(p *goPackage, closed map[string]bool) bool {
	if !b.s.Foreign || !slices.ContainsFunc(p.GoFiles, func(name string) bool { return b.o.FileWanted(filepath.Join(p.Dir, name), false) }) {
		return false
	}
	switch {
	case closed[p.ImportPath]:
		b.skip(p.Dir, "the checkpoints need it themselves")
	case !p.Standard && inFolder(b.t.cache, p.Dir):
		b.skip(p.Dir, "it is in the module cache, where the go command takes no replacement: go mod vendor, or a replace directive, makes it the program's")
	default:
		return true
	}
	return false
}

func (b *goBuild) skip(file, reason string) {
	b.skips = append(b.skips, instrument.Skip{File: file, Reason: reason})
}

// make plans and writes a unit, or finds it made.
func (b *goBuild) make(u *goUnit, user map[string]string) error {
	h := sha256.New()
	c := goContext{path: u.path}
	if u.before != nil {
		c.inits, c.literals = u.before.made.Counts.Inits, u.before.made.Counts.Literals
	}
	o := b.o
	o.Entry = u.command
	o.Exclude = append(slices.Clone(o.Exclude), u.left...)
	fmt.Fprintf(h, "%s %s %d %d %v %s %q %q %v\n", goPlanVersion(), c.path, c.inits, c.literals, o.Entry, o.Granularity, o.Include, o.Exclude, b.generation)
	texts := make([][]byte, len(u.files))
	for i, name := range u.files {
		file := name
		if to, is := user[name]; is {
			file = to
		}
		var err error
		if texts[i], err = os.ReadFile(file); err != nil {
			return languages.Refuse(1, "%s: cannot be read: %v", name, errors.Unwrap(err))
		}
		fmt.Fprintf(h, "%q %d %v %v %v\n", name, len(texts[i]), u.embedded[name], u.without[name], b.places[name])
		h.Write(texts[i])
	}
	kept := filepath.Join("unit", hex.EncodeToString(h.Sum(nil))[:24]+".json")
	if text, err := b.kept.Read(kept); err == nil && json.Unmarshal(text, &u.made) == nil && b.there(kept, u.made) {
		return nil
	}
	u.planned = map[string]goContext{}
	u.made = goMade{Counts: goCounts{Inits: c.inits, Literals: c.literals}}
	ready := make([]goReady, len(u.files))
	held := -1
	for i, name := range u.files {
		out := goMadeFile{Name: name}
		g, err := parseGo(texts[i])
		ready[i] = goReady{name: name}
		switch {
		case err != nil:
			out.Skip = err.Error()
		case u.embedded[name]:
			out.Skip = "left alone: the program has its text embedded"
		default:
			ready[i].source = g
			if held < 0 {
				held = i
			}
		}
		if g != nil {
			of := c
			of.inits, of.literals = u.made.Counts.Inits, u.made.Counts.Literals
			of.inlined = map[int]bool{}
			for _, place := range b.places[name] {
				of.inlined[g.offset(place[0], place[1])] = true
			}
			u.planned[name] = of
			p, counts := g.plan(o, of)
			u.made.Counts.Inits, u.made.Counts.Literals = counts.Inits, counts.Literals
			switch {
			case out.Skip != "" || u.without[name]:
			case !o.FileWanted(name, u.own):
				out.Skip = "left out by --exclude"
			default:
				u.made.Counts.Inlined += counts.Inlined
				p.File = name
				ready[i].plan, ready[i].key = p, instrument.FileKey(name, p)
				out.Plan = &instrument.Plan{Language: p.Language, File: name, Sites: p.Sites, Left: p.Left}
			}
		}
		if out.Skip != "" && o.Granularity == instrument.Coarse && !o.Entry {
			out.Skip = "" // nothing was wanted of it
		}
		u.made.Files = append(u.made.Files, out)
	}
	salt := u.salt("")
	if b.compiler != "" {
		salt = "a" + u.salt(b.generation) // which is in no other text: the build cache tells them apart
	}
	written, err := renderGo(ready, held, salt)
	if err != nil {
		return err
	}
	for i, r := range ready {
		if b.compiler == "" || r.plan == nil || len(r.plan.Points) == 0 {
			continue
		}
		u.made.Files[i].Key = fmt.Sprintf("%x", r.key)
		if err := b.kept.Write(goSites(u.made.Files[i].Key), r.source.heads(r.name, r.plan)); err != nil {
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
		if u.made.Files[i].Text, err = filepath.Rel(b.base, file); err != nil {
			return err
		}
	}
	text, err := json.Marshal(u.made)
	if err != nil {
		return err
	}
	return b.kept.Write(kept, text)
}

// salt makes the names in a unit's files its own: units may share a scope.
func (u *goUnit) salt(generation string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %v%s", u.path, u.before != nil, generation))
	return hex.EncodeToString(sum[:4])
}

// there reports whether all that a kept unit needs is still kept and as it was, and
// marks it as used.
func (b *goBuild) there(kept string, m goMade) bool {
	for _, f := range m.Files {
		if f.Text != "" && !b.stored(f.Text) {
			return false
		}
		if f.Key != "" {
			if _, err := b.kept.Read(goSites(f.Key)); err != nil {
				return false
			}
			b.kept.Used(goSites(f.Key))
		}
	}
	b.kept.Used(kept)
	return true
}

// goText is the folder of what has the digest of its content for a name.
const goText = "text"

func goDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:12])
}

// store keeps content under a name that stands for it, and returns its path.
func (b *goBuild) store(content []byte, ending string) (string, error) {
	name := filepath.Join(goText, goDigest(content)+ending)
	file := filepath.Join(b.base, name)
	if b.stored(name) {
		return file, nil
	}
	return file, b.kept.Write(name, content)
}

// stored reports whether what was stored is as it was, and marks it as used.
func (b *goBuild) stored(name string) bool {
	if filepath.Dir(name) != goText {
		return false
	}
	content, err := b.kept.Read(name)
	if err != nil {
		return false
	}
	if goDigest(content) != strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)) {
		b.kept.Changed(name)
		return false
	}
	b.kept.Used(name)
	return true
}

// The go command takes a program that it has built before for the one that it
// would build by a note in it, whatever else is in the file. goBefore removes one
// that is not as it was left, and returns what it is, nil for none; goAfter notes what
// it is now.
func goBefore(bin runtimes.Cache, program string) fs.FileInfo {
	noted, unknown := bin.Read(goNoted)
	content, err := bin.Read(filepath.Base(program))
	switch {
	case err != nil:
		os.RemoveAll(program)
	case unknown != nil: // written by a cg that was killed
		os.Remove(program)
	case goDigest(content) != string(noted):
		bin.Changed(filepath.Base(program))
	default:
		info, _ := os.Lstat(program)
		return info
	}
	return nil
}

const goNoted = "digest.txt"

func goAfter(bin runtimes.Cache, program string, before fs.FileInfo) error {
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
	return bin.Write(goNoted, []byte(goDigest(content)))
}

// leave leaves out the innermost function at a line of a file, or if there is none
// the file.
func (u *goUnit) leave(b *goBuild, f goMadeFile, line int, given map[string]bool) {
	for _, site := range slices.Backward(f.Plan.Sites) {
		if line < site.Line || site.EndLine < line {
			continue
		}
		name := fmt.Sprintf("%s:%d", site.Func, site.Line)
		if !given[name] {
			given[name] = true
			u.left = append(u.left, name)
			b.skip(fmt.Sprintf("%s:%d", f.Name, site.Line), site.Func+" left alone: the compiler refuses it with checkpoints")
		}
		return
	}
	given[f.Name] = true
	u.without[f.Name] = true
	b.skip(f.Name, "the compiler refuses it with checkpoints")
}

// number tells cg the sites; those of inlined, by the keys of their files, have no
// checkpoints.
func (b *goBuild) number(inlined map[string][]int) error {
	for _, u := range b.units {
		b.left += u.made.Counts.Inlined
		for _, f := range u.made.Files {
			if f.Skip != "" {
				b.s.Skip(f.Name, f.Skip)
			}
			if f.Plan == nil {
				continue
			}
			first, err := b.s.Number(f.Name, f.Plan)
			if err != nil {
				return err
			}
			for _, site := range inlined[f.Key] {
				b.s.Drop(first + site - 1)
				b.left++
			}
		}
	}
	for _, k := range b.skips {
		b.s.Skip(k.File, k.Reason)
	}
	return nil
}
