package account

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/runtimes/sdk/spec"
)

// A tree adds up /proc/PID/stat of a process and its descendants. A process
// that ended is in the cutime and cstime of the one that waited for it. One
// that was orphaned is followed as long as it lives; what it used last before
// it ended unseen is kept.
type tree struct {
	live    map[int]*process
	ended   time.Duration // of processes that nobody in the tree waited for
	largest time.Duration
	scanned time.Time
}

type process struct {
	fd     int
	parent int
	used   time.Duration
	gone   bool
}

// scanEvery bounds the cost of looking for new processes: a pass over /proc
// takes about 11 us a process.
const scanEvery = 100 * time.Millisecond

func newTree(pid int) *tree {
	t := &tree{live: map[int]*process{}}
	t.add(pid, 0)
	return t
}

func (t *tree) add(pid, parent int) {
	// The kept descriptor is bound to the process, not to its number: after
	// its end it reads ESRCH even if the number is used again.
	if fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		t.live[pid] = &process{fd: fd, parent: parent}
	}
}

func (t *tree) close() {
	for _, p := range t.live {
		unix.Close(p.fd)
	}
	clear(t.live)
}

func (t *tree) read() time.Duration {
	if now := time.Now(); now.Sub(t.scanned) >= scanEvery {
		t.scanned = now
		t.scan()
	}
	var sum time.Duration
	var text [1024]byte
	for _, p := range t.live {
		n, err := unix.Pread(p.fd, text[:], 0)
		st, ok := parseStat(text[:max(0, n)])
		if p.gone = err != nil || !ok; !p.gone {
			p.used = st.used
			sum += st.used
		}
	}
	for _, p := range t.live {
		if p.gone && !t.waited(p) {
			t.ended += p.used
		}
	}
	for pid, p := range t.live {
		if p.gone {
			unix.Close(p.fd)
			delete(t.live, pid)
		}
	}
	// Between the end of a child and the wait of its parent its time is in
	// neither: the tree's time never decreases.
	t.largest = max(t.largest, sum+t.ended)
	return t.largest
}

// waited tells whether an ancestor of p still counts what p used.
func (t *tree) waited(p *process) bool {
	for p = t.live[p.parent]; p != nil; p = t.live[p.parent] {
		if !p.gone {
			return true
		}
	}
	return false
}

// scan adds the processes whose parent is in the tree. cg itself is none of them, and no more what it
// has started: it is counted by itself.
func (t *tree) scan() {
	if len(t.live) == 0 {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || t.live[pid] != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if st, ok := parseStat(text); err == nil && ok {
			parents[pid] = st.parent
		}
	}
	for added := true; added; {
		added = false
		for pid, parent := range parents {
			if t.live[parent] != nil && t.live[pid] == nil {
				t.add(pid, parent)
				delete(parents, pid)
				added = t.live[pid] != nil || added
			}
		}
	}
}

type stat struct {
	state  string
	parent int
	used   time.Duration // utime, stime, cutime, cstime
}

// Parent is the process that started another, by its /proc/PID/stat; false where that cannot be read.
func Parent(pid int) (int, bool) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	st, ok := parseStat(text)
	return st.parent, ok
}

// Started is when a process started, in clock ticks since boot, by its /proc/PID/stat; 0 where that cannot be read.
func Started(pid int) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	ticks, _ := strconv.ParseUint(startOf(text), 10, 64)
	return ticks
}

// Gone tells whether a process is over, be it a zombie.
func Gone(pid int) bool {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	st, ok := parseStat(text)
	return ok && slices.Contains(spec.GoneStates, st.state)
}

// parseStat parses /proc/PID/stat (proc_pid_stat(5)). The second field, the
// name in parentheses, may hold spaces and parentheses.
func parseStat(text []byte) (stat, bool) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return stat{}, false
	}
	fields := strings.Fields(string(text[i+1:])) // from field 3, the state, on
	if len(fields) < 15 {
		return stat{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return stat{}, false
	}
	st := stat{state: fields[0], parent: parent}
	for _, f := range fields[11:15] {
		v, err := strconv.ParseInt(f, 10, 53) // the children's are signed
		if err != nil || v < 0 {
			return stat{}, false
		}
		st.used += time.Duration(v) * Tick
	}
	return st, true
}
