package languages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
		name := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
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
