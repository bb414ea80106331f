package runtimes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Cache is a folder in which cg keeps code that it has made, and loads it again.
// The zero value keeps nothing.
//
// Whoever can write into the folder decides what later runs execute. A folder
// or file is used only if it belongs to the effective user and nobody else may
// write it; this is asked of the open descriptor. What is refused is removed and
// made anew, and Refused lists it. A file that others execute or load has the
// digest of its content in its name, which is compared before each use; folders of
// unpacked files are compared again after a change (stamp.go).
//
// Everything is written to a file or folder of another name in the same folder
// first and renamed: several processes may use a cache at the same time.
type Cache struct {
	Dir   string // absolute; "" keeps nothing
	state *cacheState
}

// cacheState is shared by a cache and the caches of its subfolders.
type cacheState struct {
	mu      sync.Mutex
	refused []string
	checked map[string]bool // folders
}

// Refusal says why a folder or file of a cache is not used.
type Refusal struct{ Path, Why string }

func (r *Refusal) Error() string { return r.Path + " " + r.Why }

// OpenCache opens the cache in a folder and makes it where it is missing.
//
// Who may write a folder above can put another one in the place of the cache.
// So each folder of the path has to belong to this user, to root or to the owner
// of "/", and must not be writable by others, unless it is sticky (a folder in
// it can be replaced by its owner only) or the group is this user's private one.
// The error is a *Refusal where this does not hold.
func OpenCache(dir string) (Cache, error) {
	real, err := openPrivate(dir)
	if err != nil {
		return Cache{}, err
	}
	return Cache{Dir: real, state: &cacheState{checked: map[string]bool{}}}, nil
}

// Refused lists what was not used, and why, one line each.
func (c Cache) Refused() []string {
	if c.state == nil {
		return nil
	}
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return slices.Clone(c.state.refused)
}

// refuse removes what is not used, so that it is made anew.
func (c Cache) refuse(r *Refusal) error {
	if c.state != nil {
		c.state.mu.Lock()
		c.state.refused = append(c.state.refused, r.Error())
		c.state.mu.Unlock()
	}
	if err := os.RemoveAll(r.Path); err != nil {
		return fmt.Errorf("%w, and cannot be removed: %w", r, err)
	}
	return nil
}

// alone waits until no other process makes something for the cache: ranks of a job begin together, and each would
// compile the same library. Others may go on after release, or when this process ends. A lock that cannot be had
// (flock(2), which NFS grants on files that are open for writing alone) is not waited for, and no wait is longer than
// the context or than a compiler may take.
func (c Cache) alone(ctx context.Context) (release func()) {
	if c.Dir == "" {
		return func() {}
	}
	const flags = os.O_RDWR | os.O_CREATE | unix.O_NOFOLLOW
	lock, err := os.OpenFile(filepath.Join(c.Dir, "making.lock"), flags, 0o600)
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, compilerLimit)
	defer cancel()
	for unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func() { lock.Close() }
}

const changed = "is not what cg has written: its content has another digest"

// Changed refuses a file that has another content than cg has written.
func (c Cache) Changed(name string) { c.refuse(&Refusal{filepath.Join(c.Dir, name), changed}) }

// maxLinks is how many symbolic links a path may have, as in path_resolution(7).
const maxLinks = 40

// openPrivate walks a path from "/", makes its missing folders, and returns it
// without symbolic links.
func openPrivate(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s: not an absolute path", dir)
	}
	for range maxLinks {
		at, target, err := walkPrivate(dir)
		if err != nil || target == "" {
			return at, err
		}
		dir = target
	}
	return "", &fs.PathError{Op: "open", Path: dir, Err: unix.ELOOP}
}

// walkPrivate walks a path up to its first symbolic link, if it has one; target
// is the path that is meant then.
func walkPrivate(dir string) (at, target string, err error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", "", &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	defer func() { unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", "", &fs.PathError{Op: "stat", Path: "/", Err: err}
	}
	trusted := []uint32{uint32(os.Geteuid()), 0, st.Uid}
	parts := slices.DeleteFunc(strings.Split(filepath.Clean(dir), "/"), func(s string) bool { return s == "" })
	at = "/"
	for i, name := range parts {
		at = filepath.Join(at, name)
		next, err := unix.Openat(fd, name, flags, 0)
		if errors.Is(err, unix.ENOENT) {
			if err = unix.Mkdirat(fd, name, 0o700); err == nil || errors.Is(err, unix.EEXIST) {
				next, err = unix.Openat(fd, name, flags, 0)
			}
		}
		if err != nil {
			return "", "", &fs.PathError{Op: "open", Path: at, Err: err}
		}
		unix.Close(fd)
		fd = next
		if err := unix.Fstat(fd, &st); err != nil {
			return "", "", &fs.PathError{Op: "stat", Path: at, Err: err}
		}
		if !slices.Contains(trusted, st.Uid) {
			return "", "", &Refusal{at, "belongs to " + userName(st.Uid)}
		}
		switch last := i == len(parts)-1; {
		case st.Mode&unix.S_IFMT == unix.S_IFLNK:
			to, err := os.Readlink(at)
			if err != nil {
				return "", "", err
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			return at, filepath.Join(append([]string{to}, parts[i+1:]...)...), nil
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			return "", "", &fs.PathError{Op: "open", Path: at, Err: unix.ENOTDIR}
		case last:
			if why := notPrivate(&st); why != "" {
				return "", "", &Refusal{at, why}
			}
		case st.Mode&unix.S_ISVTX != 0:
		case st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && !privateGroup(st.Gid):
			return "", "", &Refusal{at, fmt.Sprintf("can be written by others (mode %04o)", st.Mode&0o7777)}
		}
	}
	return at, "", nil
}

// notPrivate says why an open file or folder is not to be trusted, "" if it is.
func notPrivate(st *unix.Stat_t) string {
	switch {
	case int(st.Uid) != os.Geteuid():
		return "belongs to " + userName(st.Uid)
	case st.Mode&0o022 != 0:
		return fmt.Sprintf("can be written by others (mode %04o)", st.Mode&0o7777)
	}
	return ""
}

func userName(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return fmt.Sprintf("user %s (%s)", id, u.Username)
	}
	return "user " + id
}

// privateGroup reports whether a group is this user's own, which has the user's
// name, and no other member: with such groups umask is often 002 (pam_umask).
func privateGroup(gid uint32) bool {
	id := strconv.FormatUint(uint64(gid), 10)
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil || u.Gid != id {
		return false
	}
	g, err := user.LookupGroupId(id)
	if err != nil || g.Name != u.Username {
		return false
	}
	groups, _ := os.ReadFile("/etc/group") // group(5): name:password:gid:members
	for line := range strings.Lines(string(groups)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) == 4 && f[2] == id && f[3] != "" && f[3] != u.Username {
			return false
		}
	}
	return true
}

// Sub is the cache in a folder of this one, which is made where it is missing.
func (c Cache) Sub(name string) (Cache, error) {
	sub := Cache{filepath.Join(c.Dir, name), c.state}
	if c.Dir == "" {
		return Cache{}, fs.ErrNotExist
	}
	if parent := filepath.Dir(name); parent != "." {
		if _, err := c.Sub(parent); err != nil {
			return Cache{}, err
		}
	}
	if c.state != nil {
		c.state.mu.Lock()
		known := c.state.checked[sub.Dir]
		c.state.mu.Unlock()
		if known {
			return sub, nil
		}
	}
	for range 2 { // the second time what was refused is gone
		if err := os.Mkdir(sub.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return Cache{}, err
		}
		_, err := open(sub.Dir, unix.O_DIRECTORY, nil)
		if err == nil {
			if c.state != nil {
				c.state.mu.Lock()
				c.state.checked[sub.Dir] = true
				c.state.mu.Unlock()
			}
			return sub, nil
		}
		var r *Refusal
		if !errors.As(err, &r) {
			return Cache{}, err
		}
		if err := c.refuse(r); err != nil {
			return Cache{}, err
		}
	}
	return Cache{}, &Refusal{sub.Dir, "is changed by another user at this moment"}
}

// open opens a file or folder that is this user's own, and has use read it, if
// it is not nil. The error is a *Refusal where it is not ours.
func open(path string, flags int, use func(fd int, st *unix.Stat_t) error) (unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := unix.Open(path, flags|unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) && flags&unix.O_DIRECTORY != 0:
		return st, &Refusal{path, "is a link, or no folder"}
	case errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENXIO): // a file of others, a socket
		return st, &Refusal{path, "cannot be read"}
	case err != nil:
		return st, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return st, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if why := notPrivate(&st); why != "" {
		return st, &Refusal{path, why}
	}
	if flags&unix.O_DIRECTORY == 0 && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return st, &Refusal{path, "is not a file"}
	}
	if use == nil {
		return st, nil
	}
	return st, use(fd, &st)
}

// readOwn reads a file that is this user's own.
func readOwn(path string) (content []byte, err error) {
	_, err = open(path, 0, func(fd int, st *unix.Stat_t) (err error) {
		content, err = readAll(path, fd, make([]byte, st.Size))
		return err
	})
	return content, err
}

// readAll fills content from an open file, or makes it shorter where the file ends.
func readAll(path string, fd int, content []byte) ([]byte, error) {
	for n := 0; n < len(content); {
		more, err := unix.Read(fd, content[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case more == 0:
			content = content[:n]
		default:
			n += more
		}
	}
	return content, nil
}

// Read reads a file, by its path in the cache. One that is refused is not there:
// the error is fs.ErrNotExist and a *Refusal then.
func (c Cache) Read(name string) ([]byte, error) {
	path, err := c.path(name)
	if err != nil {
		return nil, err
	}
	content, err := readOwn(path)
	return content, c.absent(err)
}

// absent removes what is refused, and says then that it is not there.
func (c Cache) absent(err error) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	if err := c.refuse(r); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", fs.ErrNotExist, r)
}

// path is where a file of the cache is, in a folder that has been checked.
func (c Cache) path(name string) (string, error) {
	if c.Dir == "" || !filepath.IsLocal(name) || filepath.Clean(name) == "." { // its own folder is no file of it
		return "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if folder := filepath.Dir(name); folder != "." {
		if _, err := c.Sub(folder); err != nil {
			return "", err
		}
	}
	return filepath.Join(c.Dir, name), nil
}

// Write writes a file as a whole, by its path in the cache.
func (c Cache) Write(name string, content []byte) error { return c.write(name, content, 0o600) }

func (c Cache) write(name string, content []byte, mode os.FileMode) error {
	path, err := c.path(name)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), "part-")
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	if err == nil && mode != 0o600 {
		err = part.Chmod(mode)
	}
	if end := part.Close(); err == nil {
		err = end
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return err
}

// Used keeps a file or folder from being pruned.
func (c Cache) Used(name string) {
	path := filepath.Join(c.Dir, name)
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		now := time.Now()
		os.Chtimes(path, now, now)
	}
}

// digestSize is how many digits of a digest stand in a name.
const digestSize = 32

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])[:digestSize]
}

// Find returns the path and the content of the file that Keep has put under a
// key, if it is as it was.
func (c Cache) Find(key, ending string) (path string, content []byte, ok bool) {
	for name, sum := range c.kept(key, ending) {
		content, err := c.Read(name)
		if err == nil && digest(content) != sum {
			c.Changed(name)
			continue
		}
		if err == nil {
			c.Used(name)
			return filepath.Join(c.Dir, name), content, true
		}
	}
	return "", nil, false
}

// kept finds the names KEY-DIGEST and ending of the cache's folder.
func (c Cache) kept(key, ending string) map[string]string {
	found := map[string]string{}
	if c.Dir == "" {
		return found
	}
	f, err := os.Open(c.Dir)
	if err != nil {
		return found
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		sum, is := strings.CutPrefix(name, key+"-")
		if sum, has := strings.CutSuffix(sum, ending); is && has && len(sum) == digestSize {
			found[name] = sum
		}
	}
	return found
}

// Keep puts content under a key, and returns the file's path.
func (c Cache) Keep(key, ending string, content []byte, mode os.FileMode) (string, error) {
	name := key + "-" + digest(content) + ending
	return filepath.Join(c.Dir, name), c.write(name, content, mode)
}

// FindTree returns the folder that KeepTree has put under a key, if all that is
// in it is as it was.
func (c Cache) FindTree(key string) (path string, ok bool) {
	for name, sum := range c.kept(key, "") {
		path := filepath.Join(c.Dir, name)
		err := ownFolder(path)
		var now string
		if err == nil {
			now, err = treeDigest(path)
		}
		if err == nil && now != sum {
			err = &Refusal{path, changed}
		}
		if err == nil {
			c.Used(name)
			return path, true
		}
		c.absent(inside(path, err))
	}
	return "", false
}

// KeepTree puts a folder that fill makes under a key, and returns its path.
func (c Cache) KeepTree(key string, fill func(folder string) error) (string, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(c.Dir, "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := fill(part); err != nil {
		return "", err
	}
	err = filepath.WalkDir(part, func(path string, d fs.DirEntry, err error) error {
		if err != nil { // whatever umask they were made with
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		return "", err
	}
	sum, err := treeDigest(part)
	if err != nil {
		return "", err
	}
	to := filepath.Join(c.Dir, key+"-"+sum)
	err = os.Rename(part, to)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTEMPTY) { // of another process, or refused just now
		if path, ok := c.FindTree(key); ok {
			return path, nil
		}
		err = os.Rename(part, to)
	}
	return to, err
}

// inside names the whole folder in a refusal of something in it.
func inside(folder string, err error) error {
	var r *Refusal
	if !errors.As(err, &r) || r.Path == folder {
		return err
	}
	return &Refusal{folder, "has " + r.Error()}
}

// ownFolder refuses a folder that is not this user's own.
func ownFolder(path string) error {
	_, err := open(path, unix.O_DIRECTORY, nil)
	return err
}

// treeDigest is the digest of all that is in a folder.
func treeDigest(folder string) (string, error) {
	h := sha256.New()
	err := walkOwn(folder, func(name string, read func() ([]byte, error)) error {
		content, err := read()
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(content))
		h.Write(content)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:digestSize], err
}

// walkOwn opens the files below a folder in order. What read returns is good until use returns. The error is a
// *Refusal where something is not this user's own, or neither file nor folder.
func walkOwn(folder string, use func(name string, read func() ([]byte, error)) error) error {
	var buffer []byte
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return ownFolder(path)
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		_, err = open(path, 0, func(fd int, st *unix.Stat_t) error {
			return use(name, func() ([]byte, error) {
				if int64(cap(buffer)) < st.Size {
					buffer = make([]byte, max(st.Size, 32<<10))
				}
				return readAll(path, fd, buffer[:st.Size])
			})
		})
		return err
	})
}
