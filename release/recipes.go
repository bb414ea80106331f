package main

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed recipes
var recipes embed.FS

// recipe is what the texts in the folder recipes are filled with.
type recipe struct {
	Version, About, Repository, Downloads, Glibc string
	Archives, Musl                               []archived // for the GNU C library, and for musl
}

// archived is an archive of cg (release.archive), with its digest as text and as Nix has it.
type archived struct{ Arch, CPU, File, SHA256, SRI string }

// recipes makes what installs cg from the archives: a script, a formula of Homebrew, a flake of
// Nix. Each has the digests of the archives in it.
func (r *release) recipes() error {
	all := recipe{Version: r.version, About: about, Repository: "https://" + repository, Downloads: r.downloads(),
		Glibc: glibc}
	byName := func(a, b target) int { return strings.Compare(a.String(), b.String()) }
	for _, t := range slices.SortedFunc(maps.Keys(r.cg), byName) {
		name := r.archiveName(t) + ".tar.gz"
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		list := &all.Archives
		if t.libc == "musl" {
			list = &all.Musl
		}
		*list = append(*list, archived{t.goarch, arches[t.goarch].cpu, name, hex.EncodeToString(sum[:]),
			"sha256-" + base64.StdEncoding.EncodeToString(sum[:])})
	}
	texts, err := template.ParseFS(recipes, "recipes/*")
	if err != nil {
		return err
	}
	for name, mode := range map[string]os.FileMode{"install.sh": 0o755, "cg.rb": 0o644, "flake.nix": 0o644} {
		f, err := os.OpenFile(filepath.Join(r.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if err != nil {
			return err
		}
		if err := errorOf(texts.ExecuteTemplate(f, name, all), f.Close()); err != nil {
			return err
		}
	}
	return nil
}
