// Package account tells who used the processors: a program's process tree and each
// of its threads, cg itself, and everyone else on the host. Its figures are of the
// live machine and come from a control group, perf_event and /proc. It knows nothing
// of energy.
package account

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/runtimes/sdk/spec"
)

// Account tells who used the processors: the program's process tree, cg and
// everyone else. It reads the live machine. Its methods may be called from any
// goroutine.
//
// The program's time comes from a control group of its own (see Group), which
// counts all that ever ran in it, up to a tick of the scheduler ago; between
// its updates, or without it, from a perf task-clock event that the tree
// inherits (see Inherit), which is exact to the millisecond and misses what a
// process uses while it starts and ends; without either, from /proc/PID/stat of
// the tree, in ticks of 10 ms. The host's busy time is /proc/stat, in ticks of
// 10 ms.
type Account struct {
	mu      sync.Mutex
	group   *group        // nil without Group
	inside  bool          // the program runs in the group
	grouped time.Duration // the group's time when it last changed
	clocked time.Duration // the clock's then
	clock   *taskClock    // nil without Inherit
	tree    *tree         // nil without Watch
	settled bool
	total   time.Duration // of the settled program
	stat    int           // fd of /proc/stat, -1 where it cannot be opened
	start   reading       // what had been used when the account was opened
	last    Usage
	threads map[checkpoint.Thread]*thread
	kept    int // threads whose file is kept open

	background *background // nil without Classify
}

// New opens an account. Close releases it.
func New() *Account {
	a := &Account{threads: map[checkpoint.Thread]*thread{}, kept: keptThreads()}
	fd, err := unix.Open("/proc/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	a.stat = fd
	a.start = a.host()
	return a
}

// Group makes a control group for the program, which must be started in it
// (launcher.Cmd.Group); Close removes it. An error means that the account
// falls back on Inherit or Watch; it is not broken.
func (a *Account) Group() (*os.File, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.group != nil {
		return a.group.dir, nil
	}
	g, err := newGroup()
	if err != nil {
		return nil, err
	}
	a.group = g
	return g.dir, nil
}

// Inherit counts the processes that the calling OS thread starts from now on,
// and all their descendants. The goroutine must be locked to its thread, start
// the program next, and stay locked as long as the program runs, or end
// locked: a thread that goes back to the Go scheduler may become the parent of
// other threads of cg, and they would be counted.
//
// The thread's own time is not counted: a second event without inheritance is
// subtracted. Where perf_event_paranoid forbids events that include the kernel
// (2 and above, without CAP_PERFMON), the event is opened with exclude_kernel;
// task-clock is a clock and includes the time in the kernel all the same.
//
// An error means that the account falls back on /proc; it is not broken.
func (a *Account) Inherit() error {
	c, err := openTaskClock()
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clock != nil {
		a.clock.close()
	}
	a.clock = c
	return nil
}

// Watch follows the process tree of pid. Called before the sampler starts, it
// counts what a running process uses from then on; afterwards, all that it
// used since it started.
func (a *Account) Watch(pid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tree != nil {
		a.tree.close()
	}
	a.tree = newTree(pid)
	if a.background != nil {
		a.background.follow(uint32(pid))
	}
}

// Follow asks for the processor time of a thread. One that is gone already is
// forgotten.
func (a *Account) Follow(t checkpoint.Thread) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.threads[t] == nil {
		a.threads[t] = openThread(t, len(a.threads) < a.kept)
	}
	if a.background != nil {
		a.background.follow(t.PID)
	}
}

// Settle fixes the program's total: user and system time as wait4 reports
// them, exact to the microsecond, or what its group counted where that is
// more: wait4 knows of no process that nobody waited for. A total below what
// was counted before has no effect, because usage never decreases.
func (a *Account) Settle(user, system time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settled, a.total = true, user+system
	if used, ok := a.inGroup(); ok {
		a.total = max(a.total, used)
	}
}

// inGroup is what the group counted; false when the program is not in it.
func (a *Account) inGroup() (time.Duration, bool) {
	if a.group == nil {
		return 0, false
	}
	used, err := a.group.read()
	a.inside = a.inside || err == nil && used > 0
	return used, a.inside && err == nil
}

// Method says how the program's time is counted.
func (a *Account) Method() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.inside && a.clock != nil:
		return "cgroup v2 cpu.stat, perf task-clock between its updates"
	case a.inside:
		return "cgroup v2 cpu.stat"
	case a.clock != nil && a.clock.userOnly:
		return "perf task-clock:u, inherited by the process tree"
	case a.clock != nil:
		return "perf task-clock, inherited by the process tree"
	case a.tree != nil:
		return "/proc/PID/stat of the process tree, every 100 ms"
	}
	return "none"
}

// Close closes file descriptors. The account reads no further.
func (a *Account) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.group != nil {
		a.group.close()
		a.group = nil
	}
	if a.clock != nil {
		a.clock.close()
		a.clock = nil
	}
	if a.tree != nil {
		a.tree.close()
		a.tree = nil
	}
	for _, t := range a.threads {
		t.close()
	}
	clear(a.threads)
	if a.background != nil {
		a.background.close()
	}
	var err error
	if a.stat >= 0 {
		err = unix.Close(a.stat)
		a.stat = -1
	}
	return err
}

// Read returns the usage since the account was opened. Threads that ended are
// told once more with their last value and then forgotten.
func (a *Account) Read() Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	program := a.program()
	host := a.host()
	a.last = envelope(a.last, program, host.own-a.start.own, host.busy-a.start.busy)
	u := a.last
	for t, th := range a.threads { // in any order: sorted below
		th.read()
		if th.seen {
			u.Threads = append(u.Threads, ThreadUsage{t, th.used})
		}
		if th.gone {
			delete(a.threads, t)
		}
	}
	if a.background != nil {
		own := func(t checkpoint.Thread) bool { return a.threads[t] != nil }
		u.Background = a.background.read(checkpoint.Monotime(), own)
	}
	slices.SortFunc(u.Threads, func(a, b ThreadUsage) int { return CompareThreads(a.Thread, b.Thread) })
	return u
}

// program is the time of the program's tree, as far as it is known now.
func (a *Account) program() time.Duration {
	if a.settled {
		return a.total
	}
	clock, clocked := time.Duration(0), false
	if a.clock != nil {
		d, err := a.clock.read()
		clock, clocked = d, err == nil
	}
	if used, ok := a.inGroup(); ok {
		if used != a.grouped {
			a.grouped, a.clocked = used, clock
		}
		if clocked {
			used += max(0, clock-a.clocked)
		}
		return used
	}
	switch {
	case clocked:
		return clock
	case a.clock == nil && a.tree != nil:
		return a.tree.read()
	}
	return a.last.Program
}

// CompareThreads orders threads by their ids.
func CompareThreads(a, b checkpoint.Thread) int {
	if a.PID != b.PID {
		return int(int64(a.PID) - int64(b.PID))
	}
	return int(int64(a.TID) - int64(b.TID))
}

// envelope is the usage after prev, given new readings of three clocks that
// are rounded differently. busy is the whole host's and rounded down to ticks,
// so busy - program - own is what others used less up to that rounding: the
// largest value so far is the nearest to the truth that never decreases and
// never exceeds it.
func envelope(prev Usage, program, own, busy time.Duration) Usage {
	return Usage{
		Program: max(prev.Program, program),
		Own:     max(prev.Own, own),
		Other:   max(prev.Other, busy-program-own),
	}
}

// KnowsHost tells whether the host's busy time can be read at all.
func (a *Account) KnowsHost() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stat >= 0
}

// reading is processor time since the machine (busy) and cg (own) started.
type reading struct{ own, busy time.Duration }

func (a *Account) host() reading {
	var r reading
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		r.own = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	}
	if a.stat >= 0 {
		var text [512]byte
		if n, err := unix.Pread(a.stat, text[:], 0); err == nil {
			if busy, ok := parseBusy(text[:n]); ok {
				r.busy = busy
				return r
			}
		}
	}
	r.busy = a.start.busy // not known: nobody else is charged
	return r
}

// Tick is the unit of processor times below /proc: 100 a second on all
// architectures that Go and powercap share (USER_HZ, proc(5)).
const Tick = time.Second / 100

// parseBusy adds up the busy part of the first line of /proc/stat (proc(5)):
//
//	cpu  user nice system idle iowait irq softirq steal guest guest_nice
//
// guest is part of user, guest_nice of nice, and stolen time was not ours.
func parseBusy(text []byte) (time.Duration, bool) {
	line, _, whole := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line)
	if !whole || len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		v, err := strconv.ParseUint(string(fields[i]), 10, 53)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(v) * Tick
	}
	return sum, true
}

// A taskClock counts the processor time of what a thread starts:
// perf_event_open(2) with PERF_COUNT_SW_TASK_CLOCK, in ns.
type taskClock struct {
	tree, self int // fds: with and without inheritance
	userOnly   bool
}

// InheritWorks tells why Inherit cannot count a process tree here; nil where it can.
func InheritWorks() error {
	c, err := openTaskClock()
	if err != nil {
		return err
	}
	c.close()
	return nil
}

func openTaskClock() (*taskClock, error) {
	c := &taskClock{}
	open := func(flags uint64) (int, error) {
		return unix.PerfEventOpen(&unix.PerfEventAttr{
			Type:   unix.PERF_TYPE_SOFTWARE,
			Config: unix.PERF_COUNT_SW_TASK_CLOCK,
			Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Bits:   flags,
		}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	var flags uint64
	var err error
	c.tree, err = open(unix.PerfBitInherit)
	if errors.Is(err, fs.ErrPermission) {
		c.userOnly, flags = true, unix.PerfBitExcludeKernel|unix.PerfBitExcludeHv
		c.tree, err = open(unix.PerfBitInherit | flags)
	}
	if err != nil {
		return nil, fmt.Errorf("perf task-clock: %w", err)
	}
	if c.self, err = open(flags); err != nil {
		unix.Close(c.tree)
		return nil, fmt.Errorf("perf task-clock: %w", err)
	}
	return c, nil
}

func (c *taskClock) read() (time.Duration, error) {
	var all, own [8]byte
	// The tree first: what the thread runs in between makes the difference
	// smaller, and never charges cg's time to the program.
	if n, err := unix.Read(c.tree, all[:]); err != nil || n != len(all) {
		return 0, fmt.Errorf("perf task-clock: read %d bytes: %w", n, err)
	}
	if n, err := unix.Read(c.self, own[:]); err != nil || n != len(own) {
		return 0, fmt.Errorf("perf task-clock: read %d bytes: %w", n, err)
	}
	d := int64(binary.NativeEndian.Uint64(all[:]) - binary.NativeEndian.Uint64(own[:]))
	return time.Duration(max(0, d)), nil
}

func (c *taskClock) close() {
	unix.Close(c.tree)
	unix.Close(c.self)
}

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

// scan adds the processes whose parent is in the tree.
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
		if err != nil || t.live[pid] != nil {
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

// thread reads /proc/PID/task/TID/schedstat, whose first number is the time
// on a processor in ns (Documentation/scheduler/sched-stats.rst). The kernel
// brings it up to date when the thread is switched or at its tick.
type thread struct {
	path string
	fd   int // -1: opened for each reading
	used time.Duration
	seen bool // used was read
	gone bool
}

// keptThreads bounds the file descriptors that threads take up: a quarter of
// what the process may have, 1024 at most.
func keptThreads() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 64
	}
	return int(min(1024, limit.Cur/4))
}

func openThread(t checkpoint.Thread, keep bool) *thread {
	th := &thread{path: fmt.Sprintf("/proc/%d/task/%d/schedstat", t.PID, t.TID), fd: -1}
	if keep {
		th.open()
	}
	return th
}

// open keeps the file open, if it can be.
func (t *thread) open() {
	if fd, err := unix.Open(t.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		t.fd = fd
	}
}

func (t *thread) close() {
	if t.fd >= 0 {
		unix.Close(t.fd)
		t.fd = -1
	}
}

// read brings used up to date, or finds the thread gone.
func (t *thread) read() {
	fd := t.fd
	if fd < 0 {
		var err error
		if fd, err = unix.Open(t.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			t.gone = true
			return
		}
		defer unix.Close(fd)
	}
	var text [96]byte
	n, err := unix.Pread(fd, text[:], 0)
	used, ok := parseSchedstat(text[:max(0, n)])
	if err != nil || !ok {
		t.gone = true
		t.close()
		return
	}
	t.seen, t.used = true, max(t.used, used)
}

func parseSchedstat(text []byte) (time.Duration, bool) {
	first, _, whole := strings.Cut(string(text), " ")
	v, err := strconv.ParseInt(first, 10, 64)
	if !whole || err != nil || v < 0 {
		return 0, false
	}
	return time.Duration(v), true
}
