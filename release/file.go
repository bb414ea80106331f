package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// file is one in a package. Its name has slashes and does not begin with one.
type file struct {
	name    string
	content []byte
	mode    os.FileMode // 0o644 or 0o755
}

// gather makes the files that packages have beside cg, with names below a prefix such as /usr.
func (r *release) gather() error {
	cg := r.cg[native()]
	pages := filepath.Join(r.work, "man")
	if _, err := r.said(cg, "man", "-o", pages); err != nil {
		return err
	}
	men, err := read(pages)
	if err != nil {
		return err
	}
	for _, m := range men {
		r.extras = append(r.extras, file{path.Join("share/man/man1", path.Base(m.name)), m.content, 0o644})
	}
	for shell, name := range map[string]string{"bash": "bash-completion/completions/cg",
		"zsh": "zsh/site-functions/_cg", "fish": "fish/vendor_completions.d/cg.fish"} {
		text, err := r.said(cg, "completion", shell)
		if err != nil {
			return err
		}
		r.extras = append(r.extras, file{"share/" + name, []byte(text + "\n"), 0o644})
	}
	bom, err := r.said(cg, "version", "--sbom")
	if err != nil {
		return err
	}
	r.extras = append(r.extras, file{"share/doc/cg/sbom.cdx.json", []byte(bom + "\n"), 0o644})
	for _, name := range []string{"README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "docs/licences.md",
		"docs/SKILL.md"} {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		r.extras = append(r.extras, file{"share/doc/cg/" + path.Base(name), text, 0o644})
	}
	slices.SortFunc(r.extras, byName)
	return nil
}

func byName(a, b file) int { return strings.Compare(a.name, b.name) }

// read takes all files below a folder, by name. Whoever may execute one may in the package.
func read(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(dir, name)
		files = append(files, file{filepath.ToSlash(within), text, 0o644})
		return err
	})
	slices.SortFunc(files, byName)
	return files, err
}

// program is cg for a target, under a name.
func (r *release) program(t target, name string) (file, error) {
	text, err := os.ReadFile(r.cg[t])
	return file{name, text, 0o755}, err
}

// archive makes cg-VERSION-linux-TARGET.tar.gz: bin/cg and what belongs to it.
func (r *release) archive(t target) error {
	cg, err := r.program(t, "bin/cg")
	if err != nil {
		return err
	}
	name := r.archiveName(t)
	return r.tarball(name+".tar.gz", name, append([]file{cg}, r.extras...))
}

// tarball writes files below a folder of their own. Owners and times tell nothing of who made it.
func (r *release) tarball(name, folder string, files []file) (err error) {
	w, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	defer func() { err = errorOf(err, w.Close()) }()
	z := gzip.NewWriter(w)
	return errorOf(r.packed(z, folder, files), z.Close())
}

// packed writes files as a tar.
func (r *release) packed(w io.Writer, folder string, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Name: path.Join(folder, f.name), Mode: int64(f.mode), Size: int64(len(f.content)),
			ModTime: r.at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

// zipped writes files as a zip: a wheel or a jar.
func (r *release) zipped(name string, files []file) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	w, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errorOf(err, w.Close()) }()
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.at}
		h.SetMode(f.mode)
		part, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := part.Write(f.content); err != nil {
			return err
		}
	}
	return z.Close()
}

// errorOf is the first error.
func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sums writes SHA256SUMS, which sha256sum -c reads.
func (r *release) sums() error {
	all, err := read(r.out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range all {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&text, "%s  %s\n", hex.EncodeToString(sum[:]), f.name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(text.String()), 0o666)
}
