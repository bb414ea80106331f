// Package account tells who used the processors: a program's process tree and each
// of its threads, cg itself, and everyone else on the host. Its figures are of the
// live machine and come from a control group, perf_event and /proc. It knows nothing
// of energy.
package account

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/tool"
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
	mu       sync.Mutex
	group    *group        // nil without Group
	inside   bool          // the program runs in the group
	grouped  time.Duration // the group's time when it last changed
	clocked  time.Duration // the clock's then
	clock    *taskClock    // nil without Inherit
	tree     *tree         // nil without Watch
	ended    bool
	total    time.Duration // of the program that has ended
	stat     int           // fd of /proc/stat, -1 where it cannot be opened
	start    reading       // what had been used when the account was opened
	last     Usage
	threads  map[checkpoint.Thread]*thread
	kept     int                  // threads whose file is kept open
	followed map[uint32]*followed // the processes of threads

	background *background // nil without Classify

	watched int                // the program's process, 0 without Watch
	members map[int]membership // see Member
}

// New opens an account. Close releases it.
func New() *Account {
	a := &Account{threads: map[checkpoint.Thread]*thread{}, kept: keptThreads(), followed: map[uint32]*followed{}}
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
	a.tree, a.watched, a.members = newTree(pid), pid, nil
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

// SetTotal fixes the program's total: user and system time as wait4 reports
// them, exact to the microsecond, or what its group counted where that is
// more: wait4 knows of no process that nobody waited for. A total below what
// was counted before has no effect, because usage never decreases.
func (a *Account) SetTotal(user, system time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended, a.total = true, user+system
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

// Grain is by how much the program's time may be behind what it has used: the time of a
// tick of the scheduler after which groups are updated, the resolution of the clock, or the
// time between two looks at the process tree with the tick of its figures.
func (a *Account) Grain() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return 0
	case a.clock != nil:
		return time.Millisecond
	case a.inside:
		return Tick
	}
	return 100*time.Millisecond + Tick
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
	for pid, p := range a.followed {
		p.close()
		delete(a.followed, pid)
	}
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
// reported once more with their last value and then forgotten.
func (a *Account) Read() Usage {
	a.mu.Lock()
	defer a.mu.Unlock()
	program := a.program()
	host := a.host()
	a.last = envelope(a.last, program, host.own-a.start.own, host.busy-a.start.busy)
	u := a.last
	a.readThreads()
	for t, th := range a.threads { // in any order: sorted below
		if th.seen {
			u.Threads = append(u.Threads, ThreadUsage{Thread: t, CPU: th.used, Queued: th.queued,
				Turns: float64(th.turns), Late: th.late})
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
	if a.ended {
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
	_, knows := a.busy()
	return knows
}

// busy is what the host used since it started, false where that cannot be read.
func (a *Account) busy() (time.Duration, bool) {
	if a.stat < 0 {
		return 0, false
	}
	var text [512]byte
	n, err := unix.Pread(a.stat, text[:], 0)
	if err != nil {
		return 0, false
	}
	return ParseBusy(text[:n])
}

// reading is processor time since the machine (busy) and cg (own) started, with the processes that work for it.
type reading struct{ own, busy time.Duration }

func (a *Account) host() reading {
	var r reading
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		r.own = time.Duration(ru.Utime.Nano()+ru.Stime.Nano()) + tool.Used()
	}
	busy, knows := a.busy()
	if !knows {
		busy = a.start.busy // nobody else is charged
	}
	r.busy = busy
	return r
}

// Used is what the program and cg used since the account was opened: Read without the
// threads.
func (a *Account) Used() (program, own time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	host := a.host()
	a.last = envelope(a.last, a.program(), host.own-a.start.own, host.busy-a.start.busy)
	return a.last.Program, a.last.Own
}
