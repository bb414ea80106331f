package launcher

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/tool"
)

// process is one line of /proc/<pid>/stat (proc_pid_stat(5)).
type process struct {
	pid, ppid, pgrp, session int
	state                    byte
	start                    uint64 // clock ticks after boot; with the pid it names a process for good
}

// identity tells a process from a later one with the same pid.
type identity struct {
	pid   int
	start uint64
}

func (p process) identity() identity { return identity{p.pid, p.start} }
func (p process) alive() bool        { return p.state != 'Z' && p.state != 'X' }

// parseStat reads the text of /proc/<pid>/stat. The name in parentheses may itself hold blanks and parentheses.
func parseStat(text []byte) (process, bool) {
	open, closing := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || closing < open {
		return process{}, false
	}
	fields := bytes.Fields(text[closing+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return process{}, false
	}
	p := process{state: fields[0][0]}
	var err error
	number := func(b []byte) int {
		n, e := strconv.Atoi(string(b))
		if e != nil {
			err = e
		}
		return n
	}
	p.pid = number(bytes.TrimSpace(text[:open]))
	p.ppid, p.pgrp, p.session = number(fields[1]), number(fields[2]), number(fields[3])
	p.start = uint64(number(fields[19]))
	return p, err == nil
}

// stat reads one process; false when there is none.
func stat(pid int) (process, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false
	}
	var text [1024]byte // more than the fields up to the start take
	n, err := unix.Read(fd, text[:])
	unix.Close(fd)
	if err != nil {
		return process{}, false
	}
	return parseStat(text[:n])
}

// processes reads every process; those that end meanwhile are left out.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := stat(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// strangers are the children of this process that belong to no tree, or no longer: the programs and keepers of other
// Children, and what earlier ones left running.
var strangers = struct {
	sync.Mutex
	set map[identity]bool
}{set: map[identity]bool{}}

func setStranger(id identity, on bool) {
	strangers.Lock()
	defer strangers.Unlock()
	if on {
		strangers.set[id] = true
	} else {
		delete(strangers.set, id)
	}
}

// childless reports whether this process has no child, running or ended. It then has no descendants
// either: a subreaper is the next parent of those whose own parent ended (PR_SET_CHILD_SUBREAPER in prctl(2)).
// That is the usual end of a program, and asking for it spares reading all of /proc.
func childless() bool {
	const all = unix.WEXITED | unix.WSTOPPED | unix.WCONTINUED | unix.WALL
	return unix.Waitid(unix.P_ALL, 0, nil, all|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// adoptOrphans makes this process the next parent of those of its descendants whose own parent ends.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	return nil
}

// tree returns the program's processes: root, its descendants, and those descendants whose parent ended, which fell
// to us because we are a subreaper. A child of ours is taken for such an orphan when it began no earlier than root,
// is in another process group than ours, and is neither a stranger nor a tool that cg runs for itself, nor what such a
// tool left behind.
func tree(root identity) []process {
	if childless() {
		return nil
	}
	self, group := os.Getpid(), unix.Getpgrp()
	var all []process
	tools := map[int]bool{}
	tool.Hold(func(pids map[int]bool) {
		all = processes()
		maps.Copy(tools, pids)
	})
	children := map[int][]process{}
	for _, p := range all {
		children[p.ppid] = append(children[p.ppid], p)
	}
	var found []process
	strangers.Lock()
	for _, p := range all {
		orphan := p.ppid == self && p.start >= root.start && p.pgrp != group && !strangers.set[p.identity()] &&
			!tools[p.pid] && !tool.Begot(p.pid)
		if p.identity() == root || orphan {
			found = append(found, p)
		}
	}
	strangers.Unlock()
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// alive returns the processes of the tree that have not ended.
func (c *Child) alive() []process {
	return slices.DeleteFunc(tree(c.root), func(p process) bool { return !p.alive() })
}

// reap collects orphans of the tree that ended, and returns the processes that have not.
func (c *Child) reap() (left []process) {
	self := os.Getpid()
	for _, p := range tree(c.root) {
		if p.alive() {
			left = append(left, p)
		} else if p.ppid == self && p.identity() != c.root {
			unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
	}
	return left
}

// killTree asks every process of the tree to end, and kills what has not ended after the grace. It returns when none is
// left, or when some have withstood SIGKILL for ten seconds.
func (c *Child) killTree(grace time.Duration) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	send := func(p process, sig unix.Signal) {
		if now, ok := stat(p.pid); ok && now.identity() == p.identity() {
			unix.Kill(p.pid, sig)
		}
	}
	for _, p := range c.alive() {
		send(p, unix.SIGTERM)
		send(p, unix.SIGCONT) // a stopped process would keep SIGTERM pending
	}
	kill := time.Now().Add(grace)
	for end := kill.Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		left := c.reap()
		if len(left) == 0 {
			return
		}
		if time.Now().After(kill) {
			for _, p := range left {
				send(p, unix.SIGKILL)
			}
		}
	}
}

// groupOrphaned says whether nobody could continue our process group if it stopped: no member has a parent in the same
// session but another group. The kernel drops SIGTSTP for such groups.
func groupOrphaned() bool {
	all := processes()
	byPID := map[int]process{}
	for _, p := range all {
		byPID[p.pid] = p
	}
	me := byPID[os.Getpid()]
	for _, p := range all {
		if parent, ok := byPID[p.ppid]; ok && p.pgrp == me.pgrp && p.alive() && parent.pgrp != me.pgrp &&
			parent.session == me.session {
			return false
		}
	}
	return true
}
