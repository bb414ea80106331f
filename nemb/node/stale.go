package node

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// gone stands in the name of a board's folder that is being removed, before the process
// that does it.
const gone = ".gone-"

// removeStale removes what ranks that were killed have left beside a board: boards of which no
// process holds a lock, and folders whose removal did not end. What it cannot remove
// stays.
func removeStale(board string) {
	beside := filepath.Dir(board)
	entries, err := os.ReadDir(beside)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(beside, e.Name())
		if dir == board || !e.IsDir() {
			continue
		}
		if _, pid, removed := strings.Cut(e.Name(), gone); removed {
			if n, err := strconv.Atoi(pid); err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
				os.RemoveAll(dir)
			}
			continue
		}
		removeUnlocked(dir)
	}
}

// removeUnlocked removes a board unless a process holds its door, its measurer's lock or that
// of a rank. One that is about to open the door of a folder without any finds it gone, and makes it
// anew (see joinBoard).
func removeUnlocked(dir string) {
	if _, err := hex.DecodeString(filepath.Base(dir)); err != nil {
		return // no board
	}
	locks, _ := filepath.Glob(filepath.Join(dir, "rank-*"))
	for _, name := range append([]string{filepath.Join(dir, "door"), filepath.Join(dir, "measurer")}, locks...) {
		lock, err := held(name, unix.LOCK_EX|unix.LOCK_NB)
		if err != nil {
			return
		}
		defer lock.Close()
	}
	removeBoard(dir)
}
