package population

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb/account"
)

// member is a process that was there at the last reading.
type member struct {
	Process
	generation int
	readings   int  // in which it had used the processor
	still      bool // it was looked at since it used the processor last
}

// groupEvery is at how many readings the group of a process is read anew: managers move
// processes soon after they began, and seldom later. It is read at once where the group has
// used less than the process.
const groupEvery = 10

// readProcess brings a process up to date; nil says that it is gone. A process that used
// no processor since the last reading is as it was, but for one that has ended: it is
// looked at once more, and then only its clock is read.
func (h *Host) readProcess(pid int) *member {
	m := h.known[pid]
	cpu, err := h.config.Clock(pid)
	same := m != nil && err == nil && cpu == m.CPU
	if same && m.still {
		return m
	}
	name := strconv.Itoa(pid)
	text, failed := h.file(name + "/stat")
	if failed != nil {
		return nil
	}
	s, failed := parseStat(text)
	if failed != nil {
		return nil
	}
	if err != nil { // the kernel has no clock for it
		cpu = s.used
	}
	if m == nil || m.Start != s.start {
		m = &member{}
		h.known[pid] = m
	}
	m.ID, m.Parent, m.Name, m.Over = ID{pid, s.start}, s.parent, s.name, s.over
	if m.still = same; same {
		return m
	}
	ran := cpu - m.CPU
	m.CPU, m.Children = max(m.CPU, cpu), max(m.Children, s.children)
	if m.readings < 3 || m.readings%groupEvery == 0 || !h.has(m.Group, ran) {
		m.Group = "/"
		if text, err := h.file(name + "/cgroup"); err == nil && h.root != nil {
			m.Group = parseGroup(string(text), h.above)
		}
	}
	m.readings++
	return m
}

type stat struct {
	name     string
	over     bool
	parent   int
	start    uint64
	used     time.Duration // utime, stime
	children time.Duration // cutime, cstime
}

// parseStat parses /proc/PID/stat (proc_pid_stat(5)). The second field, the name in
// parentheses, may hold spaces and parentheses.
func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, errShort
	}
	fields := strings.Fields(string(text[end+1:])) // from field 3, the state, on
	if len(fields) < 20 {
		return stat{}, errShort
	}
	s := stat{name: string(text[open+1 : end]), over: fields[0] == "Z" || fields[0] == "X"}
	var err error
	if s.parent, err = strconv.Atoi(fields[1]); err != nil {
		return stat{}, errShort
	}
	if s.start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return stat{}, errShort
	}
	for i, sum := range []*time.Duration{&s.used, &s.used, &s.children, &s.children} {
		v, err := strconv.ParseInt(fields[11+i], 10, 53)
		if err != nil || v < 0 {
			return stat{}, errShort
		}
		*sum += time.Duration(v) * account.Tick
	}
	return s, nil
}

// parseLeader is the line Tgid of /proc/PID/status (proc_pid_status(5)): the process that a
// thread is of; 0 where there is none.
func parseLeader(text []byte) int {
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("Tgid:")); ok {
			pid, _ := strconv.Atoi(string(bytes.TrimSpace(number)))
			return pid
		}
	}
	return 0
}

// parseGroup is the path in the line of version 2 in /proc/PID/cgroup, "/" where there is
// none, or it lies outside of what is visible here. above is the path of the group at which
// the paths in /proc begin: from there "/.." leads to the groups above.
func parseGroup(text, above string) string {
	p, ok := versionTwo(text)
	if !ok || strings.HasPrefix(p, "/..") && above == "/" {
		return "/"
	}
	return path.Join(above, strings.TrimSuffix(p, " (deleted)"))
}

// versionTwo is the path in the line of version 2 of a /proc/PID/cgroup.
func versionTwo(text string) (string, bool) {
	for line := range strings.Lines(text) {
		p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if ok && strings.HasPrefix(p, "/") {
			return p, true
		}
	}
	return "", false
}

// ThreadTime is what a thread has used since it began: the first number of
// /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst), in nanoseconds. The
// kernel brings it up to date at each of its ticks, and when the thread leaves its processor.
func (h *Host) ThreadTime(pid, tid int) (time.Duration, error) {
	return ThreadTime(h.config.Proc, pid, tid)
}

// ThreadTime is Host.ThreadTime of a /proc.
func ThreadTime(proc string, pid, tid int) (time.Duration, error) {
	name := fmt.Sprintf("%s/%d/task/%d/schedstat", proc, pid, tid)
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("population: %s: %w", name, err)
	}
	defer unix.Close(fd)
	var text [96]byte // three numbers
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return 0, fmt.Errorf("population: %s: %w", name, err)
	}
	first, _, _ := strings.Cut(string(text[:n]), " ")
	spent, err := strconv.ParseInt(first, 10, 64)
	if err != nil || spent < 0 {
		return 0, fmt.Errorf("population: %s: %w", name, errShort)
	}
	return time.Duration(spent), nil
}
