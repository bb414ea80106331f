package languages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cg/instrument"
)

// RefuseSaved says why rewritten source of a folder cannot be saved to a folder: that is or holds the source,
// or it has files that cg did not write.
func RefuseSaved(base, dir string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if _, above := Below(full, base); above {
		return fmt.Errorf("%s is a source: choose another --output-dir", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, instrument.SavedMarker)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s: has files that cg did not write: choose another --output-dir", dir)
	}
	return nil
}

// WriteSaved writes rewritten source of a folder, by paths below it, to a folder that has none of the user's
// files. It lists what it wrote.
func WriteSaved(base, dir string, contents map[string][]byte) (names []string, err error) {
	if err := RefuseSaved(base, dir); err != nil {
		return nil, err
	}
	for rel, content := range contents {
		name, err := MakeWay(dir, rel)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, instrument.MarkSaved(dir)
}

// MakeWay makes the folders of a file below dir, and gives the file's path. Links that lie on its way or in its place
// are removed: they lead to files of the user's.
func MakeWay(dir, rel string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name, parts := dir, strings.Split(filepath.Clean(rel), string(filepath.Separator))
	for i, part := range parts {
		name = filepath.Join(name, part)
		if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if err := os.Remove(name); err != nil {
				return "", err
			}
		}
		if i == len(parts)-1 {
			break
		}
		if err := os.Mkdir(name, 0o755); err != nil && !os.IsExist(err) {
			return "", err
		}
	}
	return name, nil
}
