// Package node lets the ranks of a node share its counters: one process, the measurer,
// samples them and divides their energy among the ranks by processor time.
//
// Each rank joins the node's board, shared memory in a folder that belongs to the node and
// the run (Join). The first one starts a measurer (Measure), which holds a lock as long as it
// lives. A rank that finds the lock free starts the next one. A rank writes its processor
// time on the board and reads its share there: a Member gives it as a sensor. The
// division is exact: shares, other processes, idle power, cg and what cannot be told add
// up to what the counters showed, to the microjoule. The measurer writes it into the
// run's folder (ranks/FORMAT.md).
package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cg/ranks"
)

// FolderVariable names the variable with the folder in which nodes have their boards.
const FolderVariable = "CG_NODE_DIR"

// Places lists the folders in which a node's boards may lie, the best first: memory that
// all processes of the node share, and, where there is none, their temporary folder.
func Places() []string {
	if dir := os.Getenv(FolderVariable); dir != "" {
		return []string{dir}
	}
	return []string{"/dev/shm", os.TempDir()}
}

// boardFolder makes, or finds, the folder of a board: of this user, this node and this run.
func boardFolder(place string, run *ranks.Folder, node string) (string, error) {
	whole, err := filepath.EvalSymlinks(run.Dir)
	if err == nil {
		whole, err = filepath.Abs(whole)
	}
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %s %s", whole, run.Marker.CreatedUnixNs, run.Marker.Job, node))
	mine := filepath.Join(place, fmt.Sprintf("cg-%d", os.Getuid()))
	for _, dir := range []string{mine, filepath.Join(mine, hex.EncodeToString(key[:8]))} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
		var info unix.Stat_t
		if err := unix.Lstat(dir, &info); err != nil {
			return "", err
		}
		if info.Mode&unix.S_IFMT != unix.S_IFDIR || int(info.Uid) != os.Getuid() || info.Mode&0o022 != 0 {
			return "", fmt.Errorf("%s is not a folder of this user alone: remove it, or name another with %s", dir,
				FolderVariable)
		}
	}
	return filepath.Join(mine, hex.EncodeToString(key[:8])), nil
}

// held is a file that is locked as long as it is open (flock(2)).
func held(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(f.Fd()), how)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// taken reports whether an error of held says that somebody else holds the lock.
func taken(err error) bool { return errors.Is(err, unix.EWOULDBLOCK) }

// doorPatience is for how long a rank waits for a door through which nobody comes. Tests make it shorter.
var doorPatience = 10 * time.Second

// errStopped is why a door was not opened: who has it does not get on.
var errStopped = errors.New("so it is stopped or hangs: let it go on (kill -CONT), or end it")

// enter opens the folder's door: who holds it may make the board, take a slot, claim something or remove the folder. It
// waits until nobody has come through for so long, not counting the time in which this process is stopped itself; pause
// is what it waits by. Its error is errStopped then, and fs.ErrNotExist if the folder was removed meanwhile.
func enter(dir string, patience time.Duration, pause func(time.Duration)) (*os.File, error) {
	const look = 10 * time.Millisecond
	path := filepath.Join(dir, "door")
	changed := func() (at time.Time) { // by who came through: each rank makes its lock in the folder
		if info, err := os.Stat(dir); err == nil {
			at = info.ModTime()
		}
		return at
	}
	door, err := held(path, unix.LOCK_EX|unix.LOCK_NB)
	last := changed()
	for waited := time.Duration(0); taken(err) && waited < patience; waited += look {
		pause(look)
		if at := changed(); !at.Equal(last) {
			last, waited = at, 0
		}
		door, err = held(path, unix.LOCK_EX|unix.LOCK_NB)
	}
	if taken(err) {
		return nil, fmt.Errorf("%s: another process of this run has held it for %v, %w", path, patience, errStopped)
	}
	if err != nil {
		return nil, err
	}
	mine, err := door.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(filepath.Join(dir, "door")); err == nil && !os.SameFile(mine, there) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		door.Close()
		return nil, err
	}
	return door, nil
}
