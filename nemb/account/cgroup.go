package account

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A group is a control group of the program's own (cgroup v2,
// Documentation/admin-guide/cgroup-v2.rst): cpu.stat tells the processor time
// of all that ever ran in it, also of orphans and of processes that live too
// shortly to be seen. It needs no controller.
type group struct {
	dir  *os.File
	stat int // fd of cpu.stat
}

var groups atomic.Int64

// newGroup makes a group below cg's own. It takes a folder that cg may write
// in: root has it, and so have sessions to which systemd delegates theirs. An
// error that is fs.ErrNotExist says that there is no such hierarchy here, one
// that is fs.ErrPermission that groups may not be made.
//
// Where cg's own group has a limit it makes none: programs that look for a
// limit on themselves, as a Java machine does for its heap, would not see it
// any more.
func newGroup() (*group, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	own, ok := groupPath(string(mounts), string(member))
	if !ok {
		return nil, fmt.Errorf("cgroup: no version 2: %w", fs.ErrNotExist)
	}
	for _, name := range []string{"memory.max", "memory.high", "cpu.max"} {
		if limit, err := os.ReadFile(filepath.Join(own, name)); err == nil && !strings.HasPrefix(string(limit), "max") {
			return nil, fmt.Errorf("cgroup: %s is limited (%s), which a group below would hide: %w", own, name,
				fs.ErrPermission)
		}
	}
	pruneGroups(own)
	path := filepath.Join(own, fmt.Sprintf("cg-%d-%d", os.Getpid(), groups.Add(1)))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	g := &group{stat: -1}
	if g.dir, err = os.Open(path); err == nil {
		g.stat, err = unix.Open(filepath.Join(path, "cpu.stat"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		_, err = g.read()
	}
	if err != nil {
		g.close()
		os.Remove(path)
		return nil, fmt.Errorf("cgroup: %s: %w", path, err)
	}
	return g, nil
}

// groupPath is the folder of the calling process's group: where cgroup2 is
// mounted (proc_pid_mountinfo(5)) and what /proc/self/cgroup says below it.
func groupPath(mounts, member string) (string, bool) {
	at := ""
	for line := range strings.Lines(member) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			at = p
		}
	}
	if !strings.HasPrefix(at, "/") || strings.HasPrefix(at, "/..") {
		return "", false // none, or outside what is visible here
	}
	for line := range strings.Lines(mounts) {
		fields, kind, ok := strings.Cut(line, " - ")
		f := strings.Fields(fields)
		if !ok || !strings.HasPrefix(kind, "cgroup2 ") || len(f) < 5 {
			continue
		}
		below, ok := strings.CutPrefix(at, strings.TrimSuffix(f[3], "/"))
		if !ok || below != "" && !strings.HasPrefix(below, "/") {
			continue
		}
		return filepath.Join(strings.ReplaceAll(f[4], `\040`, " "), below), true
	}
	return "", false
}

// pruneGroups removes the groups of runs that were killed. One that has
// processes stays.
func pruneGroups(own string) {
	left, _ := filepath.Glob(filepath.Join(own, "cg-*-*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "cg-"), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			unix.Rmdir(dir)
		}
	}
}

// read returns the processor time used in the group. The kernel brings it up
// to date when a thread is switched or at its tick, each 1 to 10 ms.
func (g *group) read() (time.Duration, error) {
	var text [1024]byte
	n, err := unix.Pread(g.stat, text[:], 0)
	if err != nil {
		return 0, err
	}
	used, ok := parseUsage(text[:n])
	if !ok {
		return 0, fmt.Errorf("cpu.stat reads %q: want usage_usec", text[:n])
	}
	return used, nil
}

// parseUsage parses the line usage_usec of cpu.stat.
func parseUsage(text []byte) (time.Duration, bool) {
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("usage_usec ")); ok {
			v, err := strconv.ParseInt(string(bytes.TrimSuffix(number, []byte("\n"))), 10, 54)
			return time.Duration(v) * time.Microsecond, err == nil && v >= 0 && bytes.HasSuffix(number, []byte("\n"))
		}
	}
	return 0, false
}

// close removes the group. What still runs in it moves to cg's own.
func (g *group) close() {
	if g.stat >= 0 {
		unix.Close(g.stat)
	}
	if g.dir == nil {
		return
	}
	path := g.dir.Name()
	g.dir.Close()
	removeGroup(path, filepath.Join(filepath.Dir(path), "cgroup.procs"))
}

// removeGroup removes a group and those that were made below it, and moves what
// runs there.
func removeGroup(path, to string) {
	for range 5 { // a process may fork meanwhile
		if err := unix.Rmdir(path); !errors.Is(err, unix.EBUSY) {
			return
		}
		below, _ := os.ReadDir(path)
		for _, e := range below {
			if e.IsDir() {
				removeGroup(filepath.Join(path, e.Name()), to)
			}
		}
		procs, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(procs)) {
			os.WriteFile(to, []byte(pid), 0o644)
		}
	}
}
