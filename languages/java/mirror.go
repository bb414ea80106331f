package java

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cg/languages"
	"cg/runtimes"
)

// mirror is a copy of a project's folder, in which a build may do what it likes.
// No file of it is a link to one of the user's: who writes into a file, or
// truncates it, would write into the user's. Where the file system can, copies
// share their blocks (FICLONE), and an unchanged file is copied once.
//
// What is in the user's folder is brought up to date by content; what the build
// has made stays; what the user has removed is removed.
type mirror struct {
	original, folder string // absolute, without links
	partsFolder      string // a folder for files in the making, on the file system of to
	excluded         []string
	Seen             map[string]*copiedFile // by path below from, with slashes
	Next             int                    // the first number that no source has

	unreadable []string // paths that cannot be read
}

// copiedFile is a file that was copied.
type copiedFile struct {
	Theirs stamp
	Ours   stamp            // after it was written
	Source *rewrittenSource `json:",omitempty"` // of a Java source
}

// stamp tells whether a file may have changed.
type stamp struct {
	Mode  fs.FileMode
	Size  int64
	Mtime int64  // ns
	Ctime int64  `json:",omitempty"` // ns
	Inode uint64 `json:",omitempty"`
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{Mode: info.Mode(), Size: info.Size(), Mtime: info.ModTime().UnixNano()}
	if u, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Ctime, s.Inode = u.Ctim.Nano(), u.Ino
	}
	return s
}

// contentStamp is what a build changes when it writes a file.
func contentStamp(info fs.FileInfo) stamp {
	return stamp{Mode: info.Mode(), Size: info.Size(), Mtime: info.ModTime().UnixNano()}
}

// openMirror reads what was copied last. Where that is not known, the
// folder is made anew.
func openMirror(from string, place runtimes.Cache) (*mirror, error) {
	m := &mirror{original: from, folder: filepath.Join(place.Dir, filepath.Base(from)),
		partsFolder: filepath.Join(place.Dir, "parts")}
	if from == "/" {
		m.folder = filepath.Join(place.Dir, "root")
	}
	b, err := place.Read("state")
	if err != nil || json.Unmarshal(b, m) != nil || m.Seen == nil {
		m.Seen, m.Next = map[string]*copiedFile{}, 1
		if err := removeAll(m.folder); err != nil {
			return nil, err
		}
	}
	if err := removeAll(m.partsFolder); err != nil { // of a run that was killed
		return nil, err
	}
	for _, folder := range []string{m.folder, m.partsFolder} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	now := time.Now()
	os.Chtimes(place.Dir, now, now) // in use (runtimes.Prune)
	// What is changed from here on is not as the file says.
	if err := os.Remove(filepath.Join(place.Dir, "state")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return m, nil
}

// save remembers what was copied.
func (m *mirror) save() error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	part := filepath.Join(m.partsFolder, "state")
	if err := os.WriteFile(part, b, 0o600); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(filepath.Dir(m.partsFolder), "state"))
}

// removeAll removes a tree in which a build may have taken away permissions.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if errors.Is(err, fs.ErrPermission) {
		filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
		err = os.RemoveAll(path)
	}
	return err
}

// versionControl are folders of version control.
var versionControl = []string{".git", ".hg", ".svn", ".bzr", ".jj", "CVS"}

// isLeftOut reports whether something is not copied: version control, and
// what a build makes, since ours makes its own.
func isLeftOut(name string, siblings map[string]bool) bool {
	switch {
	case slices.Contains(versionControl, name):
		return true
	case name == "target":
		return siblings["pom.xml"]
	case name == "build" || name == ".gradle":
		return siblings["build.gradle"] || siblings["build.gradle.kts"] || siblings["settings.gradle"] ||
			siblings["settings.gradle.kts"]
	}
	return false
}

// builtEndings are endings of what builds make. One that the build has made in the
// mirror is not replaced by one that the user's build has made.
var builtEndings = []string{".class", ".jar", ".war", ".ear", ".zip", ".gz", ".o", ".so", ".a", ".exe"}

// update copies everything that has changed but the sources, which it lists.
func (m *mirror) update() (sources []string, err error) {
	l := &listing{mirror: m, infos: map[string]fs.FileInfo{}, classes: map[string]bool{}}
	if err := l.addFolder("."); err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, rel := range l.entries {
		if l.isOldClass(rel) {
			continue
		}
		kept[rel] = true
		if isSource(rel) && l.infos[rel].Mode().IsRegular() {
			sources = append(sources, rel)
			continue
		}
		err := m.updateEntry(rel, l.infos[rel])
		switch {
		case errors.Is(err, fs.ErrPermission) && !canOpen(filepath.Join(m.original, rel)):
			m.unreadable = append(m.unreadable, rel)
		case errors.Is(err, fs.ErrNotExist) && isGone(filepath.Join(m.original, rel)):
			delete(kept, rel)
		case err != nil:
			return nil, err
		}
	}
	return sources, m.removeGone(kept)
}

// listing is what the user's folder has.
type listing struct {
	mirror  *mirror
	entries []string // in order, folders before what is in them
	infos   map[string]fs.FileInfo
	classes map[string]bool // that the project has the source of
}

// addFolder lists a folder and all below it. What cannot be listed is noted in the mirror.
func (l *listing) addFolder(rel string) error {
	m := l.mirror
	list, err := os.ReadDir(filepath.Join(m.original, rel))
	if err != nil {
		if rel == "." {
			return err
		}
		m.unreadable = append(m.unreadable, rel)
	}
	siblings := map[string]bool{}
	for _, d := range list {
		siblings[d.Name()] = true
	}
	for _, d := range list {
		below := filepath.Join(rel, d.Name())
		path := filepath.Join(m.original, below)
		if isLeftOut(d.Name(), siblings) || slices.Contains(m.excluded, path) {
			continue
		}
		info, err := d.Info()
		if err != nil { // gone meanwhile
			continue
		}
		if t := info.Mode().Type(); t != 0 && t != fs.ModeDir && t != fs.ModeSymlink {
			continue
		}
		if filepath.Ext(below) == ".java" {
			l.classes[strings.TrimSuffix(d.Name(), ".java")] = true
		}
		l.entries = append(l.entries, below)
		l.infos[below] = info
		if info.IsDir() {
			if err := l.addFolder(below); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOldClass reports whether a file is a class that a build of the user's has made of
// the project's sources: they are older than ours.
func (l *listing) isOldClass(rel string) bool {
	base, is := strings.CutSuffix(filepath.Base(rel), ".class")
	outer, _, _ := strings.Cut(base, "$")
	return is && !isResource(rel) && l.classes[outer]
}

// updateEntry brings a folder, a link or a file over.
func (m *mirror) updateEntry(rel string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return m.copyFolder(rel, info)
	case info.Mode().Type() == fs.ModeSymlink:
		return m.copyLink(rel, info)
	}
	return m.updateFile(rel, info)
}

func canOpen(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return err != nil
}

// removeGone removes what was copied and is not kept, and forgets it.
func (m *mirror) removeGone(kept map[string]bool) error {
	var gone []string
	for rel := range m.Seen {
		if !kept[rel] {
			gone = append(gone, rel)
		}
	}
	slices.Sort(gone)
	folder, err := os.OpenRoot(m.folder) // a link that the build has made must not lead out
	if err != nil {
		return err
	}
	defer folder.Close()
	for _, rel := range slices.Backward(gone) { // folders after what was in them
		folder.Remove(rel) // a folder stays if the build has made something in it
		delete(m.Seen, rel)
	}
	return nil
}

// isResource reports whether a file is data of the program's, by the layout of
// Maven and Gradle.
func isResource(rel string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(rel)), "/") {
		if strings.HasSuffix(part, "resources") {
			return true
		}
	}
	return false
}

// isSource reports whether a file may get checkpoints.
func isSource(rel string) bool {
	name := filepath.Base(rel)
	return filepath.Ext(name) == ".java" && name != "module-info.java" && name != "package-info.java" &&
		!isResource(rel)
}

func (m *mirror) copyFolder(rel string, info fs.FileInfo) error {
	to := filepath.Join(m.folder, rel)
	if now, err := os.Lstat(to); err == nil && !now.IsDir() { // a link would lead elsewhere
		if err := os.Remove(to); err != nil {
			return err
		}
	}
	mode := info.Mode().Perm() | 0o700
	if err := os.Mkdir(to, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	m.Seen[rel] = &copiedFile{Theirs: stamp{Mode: info.Mode()}}
	return os.Chmod(to, mode)
}

// copyLink makes a link that leads to the mirror where the user's leads into the
// project, and where the user's leads otherwise.
func (m *mirror) copyLink(rel string, info fs.FileInfo) error {
	from, to := filepath.Join(m.original, rel), filepath.Join(m.folder, rel)
	text, err := os.Readlink(from)
	if err != nil {
		return err
	}
	target := text
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(from), target)
	}
	real := resolved(target)
	switch inside, is := languages.Below(m.original, real); {
	case !is:
		text = real
	case filepath.IsAbs(text) || !filepath.IsLocal(filepath.Join(filepath.Dir(rel), text)):
		// One that climbs out of the project and comes back would come back to
		// the user's.
		text = filepath.Join(m.folder, inside)
	}
	m.Seen[rel] = &copiedFile{Theirs: stamp{Mode: info.Mode()}}
	if now, err := os.Readlink(to); err == nil && now == text {
		return nil
	}
	if err := removeAll(to); err != nil {
		return err
	}
	return os.Symlink(text, to)
}

// resolved is a path without links, as far as it leads: what is not there yet
// will be made in a folder that may be reached by one.
func resolved(path string) string {
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// updateFile brings a file over, if the user's has changed.
func (m *mirror) updateFile(rel string, info fs.FileInfo) error {
	from, to := filepath.Join(m.original, rel), filepath.Join(m.folder, rel)
	before := m.Seen[rel]
	theirs := stampOf(info)
	now, err := os.Lstat(to)
	there := err == nil && now.Mode().IsRegular()
	if before != nil && there {
		if before.Theirs == theirs {
			return nil // what the build makes of it stays
		}
		if contentStamp(now) != before.Ours && slices.Contains(builtEndings, filepath.Ext(rel)) {
			before.Theirs = theirs
			return nil
		}
	}
	same := false
	if there && now.Size() == info.Size() {
		if same, err = equal(from, to); err != nil {
			return err
		}
	}
	if !same {
		// A changed file is newer than what was made of it here, whenever it was
		// changed there.
		mtime := info.ModTime()
		if before != nil {
			mtime = time.Now()
		}
		if err := m.copyFile(from, to, info.Mode(), mtime); err != nil {
			return err
		}
	} else if now.Mode() != info.Mode() {
		if err := os.Chmod(to, info.Mode()); err != nil {
			return err
		}
	}
	return m.remember(rel, theirs, nil)
}

func (m *mirror) remember(rel string, theirs stamp, source *rewrittenSource) error {
	now, err := os.Lstat(filepath.Join(m.folder, rel))
	if err == nil {
		m.Seen[rel] = &copiedFile{Theirs: theirs, Ours: contentStamp(now), Source: source}
	}
	return err
}

// copyFile replaces a file by a copy of another one.
func (m *mirror) copyFile(from, to string, mode fs.FileMode, mtime time.Time) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	return m.replaceFile(to, mode, mtime, func(out *os.File) error {
		if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil {
			return nil
		}
		_, err := io.Copy(out, in) // copy_file_range(2)
		return err
	})
}

// replaceFile makes a file and puts it in the place of what is there.
func (m *mirror) replaceFile(to string, mode fs.FileMode, mtime time.Time, write func(*os.File) error) error {
	part, err := os.CreateTemp(m.partsFolder, "part-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	err = write(part)
	if err == nil {
		err = part.Chmod(mode.Perm())
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Chtimes(part.Name(), mtime, mtime)
	}
	if err != nil {
		return err
	}
	if now, err := os.Lstat(to); err == nil && now.IsDir() {
		if err := removeAll(to); err != nil {
			return err
		}
	}
	return os.Rename(part.Name(), to)
}

// equal compares two files.
func equal(a, b string) (bool, error) {
	var files [2]*os.File
	for i, name := range []string{a, b} {
		f, err := os.Open(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		files[i] = f
	}
	var blocks [2][64 << 10]byte
	for {
		n, err := io.ReadFull(files[0], blocks[0][:])
		k, other := io.ReadFull(files[1], blocks[1][:])
		if !bytes.Equal(blocks[0][:n], blocks[1][:k]) {
			return false, nil
		}
		for _, err := range []error{err, other} {
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return false, err
			}
		}
		if err != nil || other != nil {
			return (err != nil) == (other != nil), nil
		}
	}
}

// claim finds a place for the mirror of a folder that no other run of cg uses now,
// and keeps it until release.
func claim(projects runtimes.Cache, key string) (place runtimes.Cache, release func(), err error) {
	for i := 1; i <= 64; i++ {
		name := key
		if i > 1 {
			name = fmt.Sprintf("%s-%d", key, i)
		}
		if place, err = projects.Sub(name); err != nil {
			return place, nil, err
		}
		lock, err := os.OpenFile(filepath.Join(place.Dir, "lock"), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return place, nil, err
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return place, func() { lock.Close() }, nil
		}
		lock.Close()
	}
	return place, nil, fmt.Errorf("%s: 64 runs of cg build this project", filepath.Join(projects.Dir, key))
}
