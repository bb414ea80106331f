package attach

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// lockThread keeps the goroutine on its thread for good, whose waits end on time.
func lockThread() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // else 50 us late; of no other thread
}

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// thread finds out whether a thread was on a processor when it was looked at.
//
// The kernel does not tell that of another thread. It tells whether a thread is ready to run
// ("running" in /proc/PID/task/TID/syscall, fs/proc/base.c), and in schedstat
// (Documentation/scheduler/sched-stats.rst) how long it has run, brought up to date at a tick
// of the scheduler and when it leaves its processor; and how long it was ready and had to wait
// for one, brought up to date when it gets one. So a look at a thread that is ready is settled
// by what comes after it: if it gets a processor next, and most of the time since it last ran
// was such waiting, then it was waiting when it was looked at.
type thread struct {
	ready, times file
	round        int                // in which it was met last
	met          checkpoint.Instant // when that was
	ran, waited  time.Duration
	at           checkpoint.Instant // when ran had changed last
	known        bool
	open         []*Look // looks that are not settled
}

// openLimit is how long a look stays open: a thread that is ready, and of which nothing is
// heard for so long, does not run.
const openLimit = 300 * time.Millisecond

func newThread(pid int, tid uint32, keep bool) *thread {
	folder := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
	t := &thread{ready: file{fd: -1, path: folder + "syscall"}, times: file{fd: -1, path: folder + "schedstat"}}
	if _, err := t.ready.read(); err != nil {
		t.ready.path = folder + "stat" // costs five times as much
	}
	if keep {
		t.ready.keep()
		t.times.keep()
	}
	return t
}

func (t *thread) close() {
	t.ready.close()
	t.times.close()
}

// isReady tells whether the thread has work for a processor. One that cannot be asked has none, as
// far as is known: it has ended.
func (t *thread) isReady() bool {
	text, err := t.ready.read()
	if err != nil || len(text) == 0 {
		return false
	}
	if at := bytes.LastIndexByte(text, ')'); at >= 0 { // stat: behind the name, which may have spaces
		return at+2 < len(text) && text[at+2] == 'R'
	}
	return bytes.HasPrefix(text, []byte("running"))
}

// looked settles what can be settled by now of the looks at the thread, l being the newest.
// It reads the times at the moment now.
func (t *thread) looked(l *Look, ready bool, now checkpoint.Instant) {
	l.Waiting = !ready
	ran, waited, ok := t.scheduled()
	if !ok {
		return
	}
	if t.known {
		t.take(ran, waited, now)
	}
	if !t.known || ran != t.ran {
		t.at = now
	}
	t.ran, t.waited, t.known = ran, waited, true
	if ready {
		t.open = append(t.open, l)
	}
	if len(t.open) > 0 && now-t.at > checkpoint.Instant(openLimit) {
		t.settle(true)
	}
}

// take settles the open looks by times that are newer than they.
func (t *thread) take(ran, waited time.Duration, now checkpoint.Instant) {
	if ran != t.ran || waited != t.waited {
		t.settle(waited-t.waited > time.Duration(now-t.at)/2)
	}
}

func (t *thread) settle(waiting bool) {
	for _, l := range t.open {
		l.Waiting, l.open = waiting, false
	}
	t.open = t.open[:0]
}

// scheduled reads how long the thread has run, and how long it has waited for a processor.
func (t *thread) scheduled() (ran, waited time.Duration, ok bool) {
	text, err := t.times.read()
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 2 {
		return 0, 0, false
	}
	r, err := strconv.ParseInt(string(fields[0]), 10, 64)
	w, failed := strconv.ParseInt(string(fields[1]), 10, 64)
	return time.Duration(r), time.Duration(w), err == nil && failed == nil
}

// file is a small one of /proc that is read again and again.
type file struct {
	path string
	fd   int // -1: opened for each reading
	text [256]byte
}

func (f *file) keep() {
	if fd, err := unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		f.fd = fd
	}
}

func (f *file) close() {
	if f.fd >= 0 {
		unix.Close(f.fd)
		f.fd = -1
	}
}

// read reads the file from its start. What it returns is valid until the next time.
func (f *file) read() ([]byte, error) {
	fd := f.fd
	if fd < 0 {
		var err error
		if fd, err = unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return nil, err
		}
		defer unix.Close(fd)
	}
	n, err := unix.Pread(fd, f.text[:], 0)
	return f.text[:max(0, n)], err
}
