package c

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/languages"
	"cg/runtimes"
)

// copier copies a project's folder, so that a build makes nothing in the user's.
type copier struct {
	from, to string // absolute, without links
	excluded []string
	now      time.Time
	left     []left // what is not copied, and why
}

// versionControl are folders of version control.
var versionControl = []string{".git", ".hg", ".svn", ".bzr", ".jj", "CVS"}

// compiled are endings of what a compiler of C or C++ reads. In the copy these files are newer
// than what was made of them, so a build makes it again.
var compiled = []string{".c", ".cpp", ".cc", ".cxx", ".c++", ".C", ".cp", ".h", ".hh", ".hpp", ".hxx", ".inc", ".ipp",
	".tpp", ".S"}

// copyAll copies the folder. Where the file system can, copies share their blocks (FICLONE).
func (k *copier) copyAll() error {
	return filepath.WalkDir(k.from, func(path string, d fs.DirEntry, err error) error {
		rel, _ := languages.Below(k.from, path)
		switch {
		case rel == "." && err != nil:
			return err
		case err != nil:
			k.left = append(k.left, left{path, "cannot be read, and is not part of the build"})
			return nil
		case rel == ".":
			return nil
		case slices.Contains(k.excluded, path) || slices.Contains(versionControl, d.Name()):
			return skipFolder(d)
		}
		if by := configuredBy(path, d); by != "" {
			k.left = append(k.left, left{path, "is " + by + "'s build of the folder itself, and is not copied: " +
				"let the command configure one"})
			return fs.SkipDir
		}
		err = k.copyEntry(rel, d)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			k.left = append(k.left, left{path, "cannot be read, and is not part of the build"})
			return skipFolder(d)
		}
		return err
	})
}

func skipFolder(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// configuredBy names the tool that has made a folder for builds: what is in it names the user's
// folders by their whole paths. "" for any other.
func configuredBy(path string, d fs.DirEntry) string {
	if !d.IsDir() {
		return ""
	}
	for _, of := range [][2]string{{"CMakeCache.txt", "CMake"}, {"meson-private", "Meson"}} {
		if _, err := os.Lstat(filepath.Join(path, of[0])); err == nil {
			return of[1]
		}
	}
	return ""
}

// copyEntry copies a folder without what is in it, a link, or a file.
func (k *copier) copyEntry(rel string, d fs.DirEntry) error {
	from, to := filepath.Join(k.from, rel), filepath.Join(k.to, rel)
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return os.Mkdir(to, info.Mode().Perm()|0o700)
	case fs.ModeSymlink:
		return k.copyLink(from, to, rel)
	case 0:
		return k.copyFile(from, to, info)
	}
	return nil // a socket, a pipe, a device
}

// copyLink makes a link that leads into the copy where the user's leads into the project,
// and where the user's leads otherwise.
func (k *copier) copyLink(from, to, rel string) error {
	text, err := os.Readlink(from)
	if err != nil {
		return err
	}
	switch full := filepath.Join(filepath.Dir(from), text); {
	case filepath.IsAbs(text):
		text = moved(text, k.from, k.to)
	case !filepath.IsLocal(filepath.Join(filepath.Dir(rel), text)):
		text = moved(full, k.from, k.to)
	}
	return os.Symlink(text, to)
}

func (k *copier) copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		_, err = io.Copy(out, in)
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	mtime := info.ModTime()
	if slices.Contains(compiled, filepath.Ext(to)) {
		mtime = k.now
	}
	if err == nil {
		err = os.Chtimes(to, mtime, mtime)
	}
	return err
}

// claim finds a place for the copy of a folder that no other run of cg uses now, and keeps it
// until release. Its path is the same from run to run, as are then the texts of its units.
func claim(projects runtimes.Cache, key string) (place runtimes.Cache, release func(), err error) {
	for i := 1; i <= 64; i++ {
		if place, err = projects.Sub(fmt.Sprintf("%s-%d", key, i)); err != nil {
			return place, nil, err
		}
		lock, err := os.OpenFile(filepath.Join(place.Dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return place, nil, err
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			now := time.Now()
			os.Chtimes(place.Dir, now, now) // in use (runtimes.Prune)
			return place, func() { lock.Close() }, nil
		}
		lock.Close()
	}
	return place, nil, fmt.Errorf("%s: 64 runs of cg build this project", strings.TrimSuffix(projects.Dir, "/"))
}

// removeTree removes a tree in which a build may have taken away permissions.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if errors.Is(err, fs.ErrPermission) {
		filepath.WalkDir(path, func(p string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
		err = os.RemoveAll(path)
	}
	return err
}
