package account

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// jiffy is the kernel's tick: by how much the time of a running thread may be late in its schedstat. The
// coarse clocks move once a tick.
var jiffy = func() time.Duration {
	var t unix.Timespec
	if unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &t) != nil || t.Nano() <= 0 || t.Nano() > int64(Tick) {
		return Tick
	}
	return time.Duration(t.Nano())
}()

// followed is a process with threads that were asked for. Its clock is exact at the moment at which it is read, unlike
// the times of its threads, and is the time of an only thread.
type followed struct {
	clock   int32   // of the process, see clock_getcpuclockid(3)
	folder  int     // fd of /proc/PID/task, whose links tell how many threads there are; -1 where it cannot be opened
	thread  *thread // the last of those that were asked for
	threads int     // that were asked for
}

func follow(pid uint32) *followed {
	const sched = 2 // CPUCLOCK_SCHED in include/linux/posix-timers_types.h
	p := &followed{clock: ^int32(pid)<<3 | sched}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/task", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	p.folder = fd
	return p
}

func (p *followed) close() {
	if p.folder >= 0 {
		unix.Close(p.folder)
		p.folder = -1
	}
}

// readThreads reads the times of all threads, and that of a process's only thread more exactly by its clock.
func (a *Account) readThreads() {
	for _, p := range a.followed {
		p.thread, p.threads = nil, 0
	}
	for t, th := range a.threads {
		th.read()
		p := a.followed[t.PID]
		if p == nil && len(a.followed) < a.kept {
			p = follow(t.PID)
			a.followed[t.PID] = p
		}
		if p != nil && th.seen && !th.gone {
			p.thread, p.threads = th, p.threads+1
		}
	}
	for pid, p := range a.followed {
		switch p.threads {
		case 0:
			p.close()
			delete(a.followed, pid)
		case 1:
			p.sharpen()
		}
	}
}

// sharpen gives an only thread the time of its process. Where that is later by more than the kernel is, it has
// the times of threads that have ended, too.
func (p *followed) sharpen() {
	var st unix.Stat_t
	if p.folder < 0 || unix.Fstat(p.folder, &st) != nil || st.Nlink != 3 {
		return
	}
	at := checkpoint.Monotime()
	var t unix.Timespec
	if unix.ClockGettime(p.clock, &t) != nil {
		return
	}
	if used := time.Duration(t.Nano()); used >= p.thread.used && used-p.thread.used <= jiffy {
		p.thread.used, p.thread.at, p.thread.late = used, at, 0
	}
}
