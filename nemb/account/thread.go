package account

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// thread reads /proc/PID/task/TID/schedstat, whose first number is the time
// on a processor in ns (Documentation/scheduler/sched-stats.rst). The kernel
// brings it up to date when the thread is switched or at its tick.
type thread struct {
	path string
	fd   int // -1: opened for each reading
	used time.Duration
	at   checkpoint.Instant // when used was read
	seen bool               // used was read
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
	t.at = checkpoint.Monotime()
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

// oldReading is how old a reading of a thread's time may be that ThreadTime gives.
const oldReading = 20 * time.Millisecond

// ThreadTime is the processor time of a thread that was asked for by Follow, and when it was read: by
// Read, or now where that is long ago. It is not ok of another thread, and of one that has ended.
func (a *Account) ThreadTime(t checkpoint.Thread) (used time.Duration, at checkpoint.Instant, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	th := a.threads[t]
	if th == nil {
		return 0, 0, false
	}
	if !th.gone && checkpoint.Monotime()-th.at > checkpoint.Instant(oldReading) {
		th.read()
	}
	return th.used, th.at, th.seen && !th.gone
}

func parseSchedstat(text []byte) (time.Duration, bool) {
	first, _, whole := strings.Cut(string(text), " ")
	v, err := strconv.ParseInt(first, 10, 64)
	if !whole || err != nil || v < 0 {
		return 0, false
	}
	return time.Duration(v), true
}

// CompareThreads orders threads by their ids.
func CompareThreads(a, b checkpoint.Thread) int {
	if a.PID != b.PID {
		return int(int64(a.PID) - int64(b.PID))
	}
	return int(int64(a.TID) - int64(b.TID))
}
