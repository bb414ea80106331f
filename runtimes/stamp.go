package runtimes

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A stamp says that a folder of the cache was compared, file by file, with what cg had written, and how the
// system showed each file and folder of it before: its device and inode, mode, owner, size, and the
// times at which its content and its inode changed last (stat(2)). As long as the system shows all of that
// unchanged, nothing was written, added or removed: no program can set the time of an inode's
// change. So the contents are not compared again. A stamp is a file beside its folder, and like any
// other file of the cache it counts only if it is this user's own.

// stampOf is the name of a folder's stamp.
func stampOf(folder string) string { return "stamp-" + folder }

// settled is how long ago the latest change must be for a stamp to be made: longer than the system's
// times are coarse, so that no later change has the same time.
const settled = 2 * time.Second

// isStamped reports whether a folder of the cache is as it was when its stamp was made.
func (c Cache) isStamped(folder string) bool {
	text, err := readOwn(filepath.Join(c.Dir, stampOf(folder)))
	if err != nil || len(text) == 0 {
		return false
	}
	for line := range strings.Lines(string(text)) {
		then, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ./")
		if !ok || !filepath.IsLocal(name) {
			return false
		}
		var st unix.Stat_t
		if unix.Lstat(filepath.Join(c.Dir, folder, name), &st) != nil || shown(&st) != then {
			return false
		}
	}
	return true
}

// shown is how the system shows a file or folder.
func shown(st *unix.Stat_t) string {
	return fmt.Sprintf("%x %x %o %d %d %d.%09d %d.%09d", st.Dev, st.Ino, st.Mode, st.Uid, st.Size,
		st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec)
}

// show writes down how the system shows a folder and all that is in it. The latest change is that of any of them.
func show(folder string) (text string, latest time.Time, err error) {
	var b strings.Builder
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if strings.Contains(name, "\n") {
			return fmt.Errorf("%q: a line cannot name it", path)
		}
		if at := time.Unix(st.Ctim.Unix()); at.After(latest) {
			latest = at
		}
		fmt.Fprintf(&b, "%s ./%s\n", shown(&st), name)
		return nil
	})
	return b.String(), latest, err
}

// stamp has check compare a folder of the cache with what cg wrote, and makes its stamp if the latest change
// is long ago.
func (c Cache) stamp(folder string, now time.Time, check func() error) error {
	text, latest, err := show(filepath.Join(c.Dir, folder)) // before: what changes meanwhile is seen the next time
	if failed := check(); failed != nil {
		return failed
	}
	if err == nil && now.Sub(latest) > settled {
		c.Write(stampOf(folder), []byte(text)) // without it, the contents are compared again
	}
	return nil
}
