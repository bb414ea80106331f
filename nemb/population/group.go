package population

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// node is a control group in the tree of those that are there.
type node struct {
	dir, path string
	fd        int  // of cpu.stat, -1: opened for each reading
	keeps     bool // fd counts in Host.files
	links     uint64
	below     map[string]*node
	cpu       time.Duration
	grown     time.Duration // of cpu, since the reading before
	gone      bool
}

func (n *node) close() {
	if n.fd >= 0 {
		unix.Close(n.fd)
		n.fd = -1
	}
}

// mounted is where version 2 is mounted, and the path of the group there ("/" or, in a
// container without a namespace of its own, one below it); "" for nowhere. In a namespace of
// groups (cgroup_namespaces(7)), paths begin at the namespace's root, and a mount of the
// host's hierarchy begins with "/.." for each group above that: such a mount is taken where
// there is one, and above is the host's path of the namespace's root.
func (h *Host) mounted() (dir, prefix, above string) {
	text, err := os.ReadFile(filepath.Join(h.config.Proc, "self/mountinfo"))
	if err != nil {
		return "", "", "/"
	}
	depth := -1
	for line := range strings.Lines(string(text)) {
		fields, kind, ok := strings.Cut(line, " - ")
		f := strings.Fields(fields)
		if !ok || !strings.HasPrefix(kind, "cgroup2 ") || len(f) < 5 {
			continue
		}
		at, root, top := strings.ReplaceAll(f[4], `\040`, " "), f[3], "/"
		up := strings.Count(root, "/..")
		if up > 0 {
			if top = h.namespaceRoot(at, up); top == "" || strings.TrimLeft(root, "/.") != "" {
				continue // it lies beside what can be named
			}
		}
		if up > depth {
			depth, dir, prefix, above = up, at, path.Join(top, root), top
		}
	}
	return dir, prefix, above
}

// namespaceRoot is the path, in the host's hierarchy at a folder, of the root of the calling
// process's namespace of groups, which lies up folders below; "" where it is not found. The
// group that has the process among its own (cgroup.procs) is looked for.
func (h *Host) namespaceRoot(dir string, up int) string {
	text, err := os.ReadFile(filepath.Join(h.config.Proc, "self/cgroup"))
	own, ok := versionTwo(string(text))
	if err != nil || !ok || strings.HasPrefix(own, "/..") {
		return ""
	}
	groups, _ := fs.Glob(os.DirFS(dir), strings.TrimPrefix(strings.Repeat("/*", up), "/"))
	self := strconv.Itoa(os.Getpid())
	for _, group := range groups {
		members, _ := os.ReadFile(filepath.Join(dir, group, own, "cgroup.procs"))
		if slices.Contains(strings.Fields(string(members)), self) {
			return "/" + group
		}
	}
	return ""
}

// readGroups reads the time of each group. Groups that came since the last reading are
// found by the number of links of the folder above them.
func (h *Host) readGroups(r *Reading) {
	for _, n := range h.nodes {
		n.grown = 0
		n.gone = !h.readGroup(n)
	}
	h.look(h.root)
	kept := h.nodes[:0]
	for _, n := range h.nodes {
		if n.gone {
			h.release(n)
			continue
		}
		kept = append(kept, n)
		r.Groups = append(r.Groups, Group{n.path, n.cpu})
	}
	clear(h.nodes[len(kept):])
	h.nodes = kept
	clear(h.byPath)
	for _, n := range h.nodes {
		h.byPath[n.path] = n
	}
}

// look finds what came and went below a group.
func (h *Host) look(n *node) {
	lost := false
	for name, b := range n.below {
		if b.gone {
			h.forget(b)
			delete(n.below, name)
			lost = true
		}
	}
	var at unix.Stat_t
	if unix.Stat(n.dir, &at) == nil && (lost || at.Nlink < 2 || uint64(at.Nlink) != n.links) {
		h.scan(n)
		return
	}
	for _, b := range n.below {
		h.look(b)
	}
}

// forget marks all groups below one that is gone.
func (h *Host) forget(n *node) {
	n.gone = true
	for _, b := range n.below {
		h.forget(b)
	}
}

// scan adds the groups below one that are not known yet, forgets those that are gone, and
// looks into the others.
func (h *Host) scan(n *node) {
	var at unix.Stat_t
	if unix.Stat(n.dir, &at) == nil {
		n.links = uint64(at.Nlink)
	}
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return
	}
	if n.below == nil {
		n.below = map[string]*node{}
	}
	there := map[string]bool{}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		there[e.Name()] = true
		if b := n.below[e.Name()]; b != nil {
			h.look(b)
			continue
		}
		b := &node{dir: filepath.Join(n.dir, e.Name()), path: path.Join(n.path, e.Name()), fd: -1}
		if h.readGroup(b) {
			n.below[e.Name()] = b
			h.nodes = append(h.nodes, b)
			h.scan(b)
		}
	}
	for name, b := range n.below {
		if !there[name] {
			h.forget(b)
			delete(n.below, name)
		}
	}
}

// readGroup reads usage_usec of cpu.stat; false says that the group is gone. A group whose
// time never goes back keeps what it had.
func (h *Host) readGroup(n *node) bool {
	fd := n.fd
	if fd < 0 {
		var err error
		fd, err = unix.Open(filepath.Join(n.dir, "cpu.stat"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENODEV)
		}
		if h.files > 0 {
			h.files--
			n.fd, n.keeps = fd, true
		} else {
			defer unix.Close(fd)
		}
	}
	read, err := unix.Pread(fd, h.text[:], 0)
	if err != nil {
		h.release(n)
		return false // ENODEV: the group was removed
	}
	if used, ok := parseUsage(h.text[:read]); ok {
		n.grown = max(0, used-n.cpu)
		n.cpu += n.grown
	}
	return true
}

func (h *Host) release(n *node) {
	n.close()
	if n.keeps {
		n.keeps = false
		h.files++
	}
}

// behind is by how much the time of a group, in whole microseconds, may be behind that of its
// processes.
const behind = 2 * time.Microsecond

// has reports whether a group, without those below it, has used as much as one of its
// processes since the reading before, but for what is counted a moment later. What is not
// known may be.
func (h *Host) has(group string, used time.Duration) bool {
	n := h.byPath[group]
	if n == nil {
		return group == "/"
	}
	own := n.grown
	for _, b := range n.below {
		own -= b.grown
	}
	return own+behind >= used-used/16
}

// parseUsage parses the line usage_usec of cpu.stat.
func parseUsage(text []byte) (time.Duration, bool) {
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
			v, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 54)
			return time.Duration(v) * time.Microsecond, err == nil && v >= 0
		}
	}
	return 0, false
}
