// Package scratch makes folders and files that end with the process which made
// them, and removes those whose process was killed.
//
// Each is held by a lock (flock(2)). The kernel releases the lock when the process ends, in
// whatever way, so a free lock proves that a folder or file is no longer used. Where a file
// system has no such locks, only the owner removes its files.
package scratch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// prefix begins the name of each folder.
const prefix = "cg-run-"

// marker is a file in each folder that tells it from a folder of somebody else
// with such a name. It is made once the lock is held.
const marker = ".cg"

// Folder is a folder of this process, readable and writable for its user alone.
type Folder struct {
	Path string
	held *os.File
}

// NewFolder makes a folder below base, whose name begins with "cg-run-", and
// removes those below base whose process is gone.
func NewFolder(base string) (*Folder, error) {
	sweepFolders(base)
	for {
		path, err := os.MkdirTemp(base, prefix)
		if err != nil {
			return nil, err
		}
		held, err := os.Open(path)
		if err != nil {
			os.Remove(path)
			return nil, err
		}
		switch locked := lock(held, unix.LOCK_EX); {
		case errors.Is(locked, errTaken): // another process took it for one whose owner is gone
			held.Close()
			continue
		case locked == nil:
			if err := os.WriteFile(filepath.Join(path, marker), nil, 0o600); err != nil {
				held.Close()
				os.Remove(path)
				return nil, err
			}
		}
		return &Folder{path, held}, nil
	}
}

// Remove removes the folder and what is in it.
func (f *Folder) Remove() error {
	err := remove(f.Path)
	f.held.Close()
	return err
}

// Keep leaves the folder to the user: nobody removes it.
func (f *Folder) Keep() error {
	err := os.Remove(filepath.Join(f.Path, marker))
	f.held.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Abandoned reports whether a path lies directly in a folder that NewFolder made and
// that is no more. The folder it was made in is there: a disk that is not mounted
// is not gone.
func Abandoned(path string) bool {
	folder := filepath.Dir(path)
	digits, is := strings.CutPrefix(filepath.Base(folder), prefix)
	if !is || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	_, there := os.Lstat(folder)
	_, base := os.Stat(filepath.Dir(folder))
	return errors.Is(there, fs.ErrNotExist) && base == nil
}

// part begins what is behind the name of a file that is being written.
const part = ".cg-part-"

// NewFile makes a file beside the one that it will take the name of, and
// removes those beside it whose process is gone. The caller renames it.
func NewFile(name string) (*os.File, error) {
	dir, pattern := filepath.Dir(name), "."+filepath.Base(name)+part
	sweepFiles(dir, pattern)
	for {
		f, err := os.CreateTemp(dir, pattern)
		if err != nil {
			return nil, err
		}
		if errors.Is(lock(f, unix.LOCK_EX), errTaken) {
			f.Close()
			continue
		}
		return f, nil
	}
}

var errTaken = errors.New("somebody else removed it")

// lock locks an open file or folder. Between making and locking it another
// process may have removed it: that is errTaken.
func lock(f *os.File, how int) error {
	var err error
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(f.Fd()), how)
	}
	if err != nil {
		return err
	}
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(f.Name())
	if err != nil || !os.SameFile(opened, named) {
		return errTaken
	}
	return nil
}

// sweepFolders removes the folders below base that are this user's and whose
// lock is free.
func sweepFolders(base string) {
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		path := filepath.Join(base, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || !e.IsDir() || !ours(path) {
			continue
		}
		sweep(path, func() {
			if info, err := os.Lstat(filepath.Join(path, marker)); err == nil && info.Mode().IsRegular() {
				remove(path)
			}
		})
	}
}

// sweepFiles removes the files of a folder that are this user's, whose names
// begin so and whose lock is free.
func sweepFiles(dir, pattern string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		digits, is := strings.CutPrefix(e.Name(), pattern)
		if !is || digits == "" || strings.Trim(digits, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if path := filepath.Join(dir, e.Name()); ours(path) {
			sweep(path, func() { os.Remove(path) })
		}
	}
}

// sweep calls remove while it holds a lock that was free.
func sweep(path string, remove func()) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if lock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
		remove()
	}
}

// ours reports whether a file is this user's, and not a link.
func ours(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK && int(st.Uid) == os.Geteuid()
}

// remove removes a folder with what is in it, the marker last: what cannot be
// removed now can be later. A machine that cg simulated there may still be
// mounted (simulate.Mount), with nobody left to serve it.
func remove(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inside := filepath.Join(path, e.Name())
		if e.Name() == marker {
			continue
		}
		if _, gone := os.Lstat(inside); errors.Is(gone, unix.ENOTCONN) {
			unix.Unmount(inside, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
		err = errors.Join(err, RemoveAll(inside))
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// RemoveAll is os.RemoveAll that also takes folders which nobody may write in,
// as Go's module cache and checked-out trees have them.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
