package account

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// firstPIDNamespace is the inode of the PID namespace that the kernel starts with
// (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const firstPIDNamespace = 0xEFFFFFFC

// Nested tells whether this process is in a PID namespace below the first one, as in a
// container: the numbers of processes are other ones there than in the kernel. Where it
// cannot be told, it is taken to be.
func Nested() bool {
	info, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Ino != firstPIDNamespace
}

// Holds tells whether a process has a file open whose path matches, of the processes below proc. In a PID namespace
// below the first one drivers tell numbers of processes that are not all of it: a number is taken for one of ours only
// where that process does hold the device.
func Holds(proc string, pid int, file *regexp.Regexp) bool {
	dir := filepath.Join(proc, strconv.Itoa(pid), "fd")
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		if target, err := os.Readlink(filepath.Join(dir, f.Name())); err == nil && file.MatchString(target) {
			return true
		}
	}
	return false
}

// Membership says whether a process is of the program's tree.
type Membership int

// What is known of a process.
const (
	Stranger Membership = iota
	Member
	Vanished // it was over before anybody asked whose it was
)

// membership is what was found of a process; start tells it from a later one of its number.
type membership struct {
	of    Membership
	start string
}

// Member tells whether a process is of the program's tree: it is in the program's control
// group, or descends from the program. What was found is kept, so a process that is over
// stays what it was. One that lost its parents before anybody asked is a stranger without
// the group.
func (a *Account) Member(pid int) Membership {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.members == nil {
		a.members = map[int]membership{}
	}
	return a.member(pid, 0)
}

// mostAncestors is more than a process has: it ends a walk through numbers that were used
// anew meanwhile.
const mostAncestors = 1 << 12

func (a *Account) member(pid, depth int) Membership {
	if pid <= 0 || depth > mostAncestors {
		return Stranger
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	st, ok := parseStat(text)
	known, asked := a.members[pid]
	if !ok {
		switch {
		case asked:
			return known.of
		case pid == a.watched:
			return Member
		}
		return Vanished
	}
	start := startOf(text)
	if asked && known.start == start {
		return known.of
	}
	of := Stranger
	switch {
	case pid == a.watched || a.inOwnGroup(pid):
		of = Member
	case pid != 1 && st.parent > 0:
		if of = a.member(st.parent, depth+1); of == Vanished { // it has another parent by now
			of = Stranger
		}
	}
	a.members[pid] = membership{of, start}
	return of
}

// startOf is when a process started, by /proc/PID/stat.
func startOf(stat []byte) string {
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// inOwnGroup tells whether a process is in the program's control group.
func (a *Account) inOwnGroup(pid int) bool {
	if a.group == nil || !a.inside {
		return false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false
	}
	name := "/" + filepath.Base(a.group.dir.Name())
	for line := range strings.Lines(string(text)) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if ok && (strings.HasSuffix(path, name) || strings.Contains(path, name+"/")) {
			return true
		}
	}
	return false
}
