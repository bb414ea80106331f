package golang

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/languages"
)

// put writes a file of the copy, and through no link.
func (s *savedTarget) put(rel string, content []byte, mode fs.FileMode) error {
	file, err := languages.MakeWay(s.dir, rel)
	if err != nil {
		return err
	}
	os.Remove(file) // which may be read-only, or a link
	return os.WriteFile(file, content, mode|0o600)
}

// copyAll copies the files of a folder, but for what version control keeps there and
// the copy itself.
func (s *savedTarget) copyAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == s.dir || slices.Contains([]string{".git", ".hg", ".svn", ".bzr"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		return s.copy(path)
	})
}

// copy copies a file or a link; nothing else is source.
func (s *savedTarget) copy(file string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	switch rel := s.relative(file); {
	case info.Mode().Type() == fs.ModeSymlink && s.writesBelow(rel):
		return s.copyAll(file + string(filepath.Separator)) // the folder that it leads to
	case info.Mode().Type() == fs.ModeSymlink:
		to, err := os.Readlink(file)
		if err != nil {
			return err
		}
		place, err := languages.MakeWay(s.dir, rel)
		if err != nil {
			return err
		}
		os.Remove(place)
		return os.Symlink(to, place)
	case !info.Mode().IsRegular():
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return s.put(s.relative(file), content, info.Mode().Perm())
}

// writesBelow reports whether a file with checkpoints lies below a path of the copy.
func (s *savedTarget) writesBelow(rel string) bool {
	for name := range s.files {
		if strings.HasPrefix(name, rel+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
