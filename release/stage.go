package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// ours is the path of the Go module in the repository that is built.
const ours = "cg"

// stage copies the source into a folder of its own, with the path of the module that a publisher
// chose (repository). Packages are built there, so that nothing that lies about in the
// repository gets into them.
func (r *release) stage() error {
	names, err := r.names()
	if err != nil {
		return err
	}
	r.staged = filepath.Join(r.work, "source")
	for _, name := range names {
		from, to := filepath.Join(r.source, name), filepath.Join(r.staged, name)
		info, err := os.Lstat(from)
		if errors.Is(err, fs.ErrNotExist) { // removed, and not committed
			continue
		}
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(from)
			if err := errorOf(err, os.Symlink(target, to)); err != nil {
				return err
			}
			continue
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if text, err = renamed(name, text); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// names are the files of the source: those that git knows, or all where there is no repository.
func (r *release) names() (names []string, err error) {
	if _, err := os.Lstat(filepath.Join(r.source, ".git")); err == nil {
		list, err := r.said("git", "-C", r.source, "ls-files", "-z")
		return strings.Split(strings.Trim(list, "\x00"), "\x00"), err
	}
	err = filepath.WalkDir(r.source, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".cache" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(r.source, path)
		names = append(names, name)
		return err
	})
	return names, err
}

// renamed is a file of the source with the path of the published module: in go.mod, and in the
// imports of the module's own Go files. Other text, and Go files that are data, stay as they are.
func renamed(name string, text []byte) ([]byte, error) {
	if name == "go.mod" {
		return bytes.Replace(text, []byte("module "+ours+"\n"), []byte("module "+repository+"\n"), 1), nil
	}
	if filepath.Ext(name) != ".go" || isData(name) {
		return text, nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Backward(file.Imports) {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		rest, is := strings.CutPrefix(path, ours+"/")
		if !is {
			continue
		}
		at := files.Position(spec.Path.Pos()).Offset
		text = slices.Concat(text[:at], []byte(strconv.Quote(repository+"/"+rest)), text[at+len(spec.Path.Value):])
	}
	return text, nil
}

// isData reports whether the go command takes a file for no source of this module.
func isData(name string) bool {
	parts := strings.Split(filepath.ToSlash(name), "/")
	return parts[0] == "release" || slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool {
		return part == "testdata" || part[0] == '_' || part[0] == '.'
	})
}

// stamp are flags of the linker that tell cg its commit, which Go finds in no copy of a repository.
func (r *release) stamp() (string, error) {
	if _, err := os.Lstat(filepath.Join(r.source, ".git")); err != nil {
		return "", nil
	}
	commit, err := r.said("git", "-C", r.source, "rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	seconds, err := r.said("git", "-C", r.source, "log", "-1", "--format=%ct")
	if err != nil {
		return "", err
	}
	changed, err := r.said("git", "-C", r.source, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	at, err := epoch(seconds)
	if err != nil {
		return "", err
	}
	flags := ""
	for _, pair := range [][2]string{{"commit", commit}, {"commitTime", at.Format("2006-01-02T15:04:05Z")},
		{"modified", strconv.FormatBool(changed != "")}} {
		flags += fmt.Sprintf(" -X %s/version.%s=%s", repository, pair[0], pair[1])
	}
	return flags, nil
}

// goModule makes cg-VERSION-goproxy.zip: the module as the go command gets it, from a folder
// (GOPROXY=file:///FOLDER) or a server with these files.
func (r *release) goModule() error {
	version := "v" + r.version
	escaped, err := module.EscapePath(repository)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := modzip.CreateFromDir(&b, module.Version{Path: repository, Version: version}, r.staged); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(r.staged, "go.mod"))
	if err != nil {
		return err
	}
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", version, r.at.Format("2006-01-02T15:04:05Z"))
	at := escaped + "/@v/"
	return r.zipped(filepath.Join(r.out, "cg-"+r.version+"-goproxy.zip"), []file{
		{at + "list", []byte(version + "\n"), 0o644}, {at + version + ".info", []byte(info), 0o644},
		{at + version + ".mod", mod, 0o644}, {at + version + ".zip", b.Bytes(), 0o644}})
}

// sources makes cg-VERSION-source.tar.gz: what a publisher puts into the repository.
func (r *release) sources() error {
	files, err := read(r.staged)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f file) bool { return strings.HasPrefix(f.name, "runtimes/prebuilt/") })
	name := "cg-" + r.version + "-source"
	return r.tarball(name+".tar.gz", name, files)
}

// prebuild compiles what cg would compile at first use, for a target. It takes the place of what was
// compiled for another.
func (r *release) prebuild(t target) error {
	out := filepath.Join("runtimes", "prebuilt")
	if err := os.RemoveAll(filepath.Join(r.staged, out)); err != nil {
		return err
	}
	_, err := r.in(r.staged, []string{"CGO_ENABLED=0", "CC=" + r.compiler(t)}, "go", "run", "./runtimes/prebuild",
		"-arch", t.goarch, "-javac", "javac", "-o", out)
	return err
}
