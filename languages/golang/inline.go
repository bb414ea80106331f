package golang

import (
	"bytes"
	"context"
	"crypto/rand"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
	"cg/languages"
	"cg/pattern"
	"cg/runtimes"
)

// chooseInlined has the compiler tell which functions it inlines, unless they are to have
// checkpoints, too: while it compiles what is written (runtimes/golang/_compile), or
// where that cannot be, in a build of its own.
func (b *build) chooseInlined(ctx context.Context, t languages.Target, packages []*listedPackage) error {
	if !b.leavesInlinedBare(t) {
		return nil
	}
	b.choosesBare = true
	if !b.hasOwnToolexec() && !b.measuresCoverage() && b.setup.Cache.Dir != "" {
		var err error
		if b.compiler, err = runtimes.GolangCompiler(ctx, b.toolchain(), b.setup.Cache); err == nil {
			b.generation, err = readGeneration(b.kept)
		}
		if err == nil {
			return nil
		}
		b.compiler = ""
	}
	return b.listInlined(ctx, packages)
}

// generationFile is named anew when what the compiler's command writes changes.
const generationFile = "generation-2"

// readGeneration is a word that is in all texts which the compiler's command takes
// checkpoints out of. It is made with the folder: what the build cache has from
// before, nobody knows the choice of.
func readGeneration(kept runtimes.Cache) (string, error) {
	const file = generationFile
	if word, err := kept.Read(file); err == nil {
		return string(word), nil
	}
	part := fmt.Sprintf("%s-part-%d", file, os.Getpid())
	if err := kept.Write(part, []byte(rand.Text())); err != nil {
		return "", err
	}
	defer os.Remove(filepath.Join(kept.Dir, part))
	if err := os.Link(filepath.Join(kept.Dir, part), filepath.Join(kept.Dir, file)); err != nil &&
		!errors.Is(err, fs.ErrExist) {
		return "", err
	}
	word, err := kept.Read(file) // which another cg may have made
	return string(word), err
}

// leavesInlinedBare reports whether what the compiler inlines is left alone.
func (b *build) leavesInlinedBare(t languages.Target) bool {
	return t.Flags["inline"] != "true" && b.options.Granularity != instrument.Coarse
}

// listInlined asks in a build of its own.
func (b *build) listInlined(ctx context.Context, packages []*listedPackage) error {
	places, ok, err := b.command.inlined(ctx, b.target, packages)
	if err != nil {
		return err
	}
	if !ok {
		if err := b.buildUninstrumented(ctx); err != nil {
			return err
		}
	}
	b.places = places
	return nil
}

// has reports whether a flag of go build is given.
func (p arguments) has(flag string) bool {
	return slices.ContainsFunc(p.build, func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		return strings.HasPrefix(word, "-") && name == flag
	})
}

// measuresCoverage reports whether the coverage of statements is asked for.
func (b *build) measuresCoverage() bool {
	return b.target.coverage || strings.Contains(b.command.flags, "-cover")
}

// sitesFile is the file from which the compiler's command reads where the functions of a file
// are, below what is kept.
func sitesFile(key string) string { return filepath.Join("sites", key) }

// functionHeads are the lines of that file: the last part of its name; for each site its
// number, and where the head of its function begins and ends. The program's entry is
// no matter of inlining.
func (g *sourceFile) functionHeads(name string, p *instrument.Plan) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, filepath.Base(name))
	for _, q := range p.Points {
		for _, f := range g.funcs {
			if f.open+1 != q.Start || g.pkg == "main" && f.name == "main" && f.recv == "" && f.outer < 0 {
				continue
			}
			line, col := g.place(f.start)
			end, last := g.place(f.open)
			fmt.Fprintln(&b, q.Site+1, line, col, end, last)
		}
	}
	return b.Bytes()
}

// actionID is the first part of a build ID: a digest in base64 of URLs, which is the
// name of a file (cmd/internal/buildid).
var actionID = pattern.Later(`^[A-Za-z0-9_-]+$`)

// chosenByCompiler reads which sites the compiler's command has taken out of the packages with
// these build IDs, by the keys of their files. A package is compiled for its tests, too, and
// a generic function is inlined only where something instantiates it: a site is out if
// each compilation of its file took it out. Lines that are none, such as those of an
// error, name no file.
func (b *build) chosenByCompiler(builds []string) map[string][]int {
	compiled, taken := map[string]int{}, map[string]map[int]int{} // how often; by key, and by site
	for _, build := range builds {
		action, _, _ := strings.Cut(build, "/")
		if !actionID().MatchString(action) {
			continue
		}
		name := filepath.Join("inlined", action)
		text, err := b.kept.Read(name)
		if errors.As(err, new(*runtimes.Refusal)) { // what is compiled already is not known any more
			os.Remove(filepath.Join(b.folder, generationFile))
		}
		if err != nil {
			continue // nothing of it is written
		}
		b.kept.Used(name)
		for line := range strings.Lines(string(text)) {
			var key string
			var site int
			n, _ := fmt.Sscanf(line, "%s %d", &key, &site)
			switch {
			case n != 2:
			case site == 0:
				compiled[key]++
			case taken[key] == nil:
				taken[key] = map[int]int{site: 1}
			default:
				taken[key][site]++
			}
		}
	}
	out := map[string][]int{}
	for key, sites := range taken {
		for site, n := range sites {
			if n == compiled[key] {
				out[key] = append(out[key], site)
			}
		}
	}
	return out
}

// builds are the build IDs of the program's packages. The compiler's command writes them down
// when the program is linked; else the go command tells them.
func (b *build) builds(ctx context.Context, program string, flags []string) ([]string, error) {
	if b.compiler == "" {
		return nil, nil
	}
	kept := ""
	if action := linkAction(program); actionID().MatchString(action) {
		kept = filepath.Join("linked", action)
		if text, err := b.kept.Read(kept); err == nil {
			b.kept.Used(kept)
			return strings.Fields(string(text)), nil
		}
	}
	args := append([]string{"list", "-deps", "-export", "-f", buildIDFormat}, b.target.listed...)
	for _, flags := range b.target.gcflags {
		args = append(args, "-gcflags="+flags)
	}
	out, said, err := b.command.output(ctx, append(append(args, flags...), b.target.names...)...)
	if err != nil {
		return nil, languages.Refuse(1, "%s", reason(said, err))
	}
	if kept != "" {
		err = b.kept.Write(kept, out)
	}
	return strings.Fields(string(out)), err
}

// buildIDFormat is the format of go list for the build IDs of packages that may have
// been rewritten.
const buildIDFormat = `{{.BuildID}}`

// linkAction is the first part of a program's build ID, which says what it was linked from;
// "" for none.
func linkAction(program string) string {
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".note.go.buildid")
	if s == nil {
		return ""
	}
	note, err := s.Data()
	if err != nil || len(note) < noteHead {
		return ""
	}
	action, _, _ := strings.Cut(string(note[noteHead:]), "/")
	return action
}

// noteHead is how many bytes of a note stand before what it says: three numbers, and the name "Go"
// (cmd/internal/buildid).
const noteHead = 16
