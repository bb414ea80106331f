package golang

import (
	"context"
	"path/filepath"
	"strings"

	"cg/runtimes"
)

// The program may embed files of its own source (//go:embed). The go command takes their texts from the
// overlay, with checkpoints. So the compiler's command gives the compiler the originals, which are kept.

// findEmbedded lists the files whose text the program has.
func (b *build) findEmbedded(packages []*listedPackage) {
	b.embedded = map[string]bool{}
	for _, p := range packages {
		for _, list := range [][]string{p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles} {
			for _, name := range list {
				if strings.HasSuffix(name, ".go") {
					b.embedded[p.file(name)] = true
				}
			}
		}
	}
}

// chooseEmbedder finds the command that gives the compiler the originals of embedded files. Where
// there is none, these files stay as they are.
func (b *build) chooseEmbedder(ctx context.Context) {
	if b.embedder = b.compiler; b.embedder != "" || len(b.embedded) == 0 || b.setup.Cache.Dir == "" ||
		b.hasOwnToolexec() {
		return
	}
	if command, err := runtimes.GolangCompiler(ctx, b.toolchain(), b.setup.Cache); err == nil {
		b.embedder = command
	}
}

// hasOwnToolexec reports whether the user has a command before the compiler.
func (b *build) hasOwnToolexec() bool {
	return strings.Contains(b.command.flags, "-toolexec") || b.target.has("toolexec")
}

// staysEmbedded reports whether a file stays as it is because the program has its text.
func (b *build) staysEmbedded(name string) bool { return b.embedded[name] && b.embedder == "" }

// originalFile is the file from which the compiler's command reads where the original of a written text
// is, below what is kept.
func originalFile(text string) string { return filepath.Join("originals", filepath.Base(text)) }

// keepOriginal keeps the original of a text that is written.
func (b *build) keepOriginal(f *plannedFile, original []byte) error {
	file, err := b.store(original, ".go")
	if err != nil {
		return err
	}
	if f.Original, err = filepath.Rel(b.folder, file); err != nil {
		return err
	}
	return b.kept.Write(originalFile(f.Text), []byte(f.Original))
}

// hasOriginal reports whether the original of a file is kept where one is needed, and marks it as used.
func (b *build) hasOriginal(f plannedFile) bool {
	if f.Original == "" {
		return true
	}
	of, err := b.kept.Read(originalFile(f.Text))
	if err != nil || string(of) != f.Original || !b.stored(f.Original) {
		return false
	}
	b.kept.Used(originalFile(f.Text))
	return true
}
