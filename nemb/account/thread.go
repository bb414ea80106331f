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
// on a processor in ns, whose second is the time of waiting for one, and whose third
// is how often it got one (Documentation/scheduler/sched-stats.rst). The kernel
// brings the first up to date when the thread is switched or at its tick, and the second when the
// thread gets a processor.
type thread struct {
	path   string
	fd     int // -1: opened for each reading
	used   time.Duration
	queued time.Duration
	turns  uint64
	late   time.Duration      // by which used may be, at most
	at     checkpoint.Instant // when used was read
	seen   bool               // used was read
	gone   bool
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
	used, queued, turns, ok := parseSchedstat(text[:max(0, n)])
	if err != nil || !ok {
		t.gone = true
		t.close()
		return
	}
	t.seen, t.late = true, jiffy
	t.used, t.queued, t.turns = max(t.used, used), max(t.queued, queued), max(t.turns, turns)
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

// parseSchedstat gives the time on a processor, that of waiting for one, and how often the thread got one; the last two
// are 0 where the kernel does not count them.
func parseSchedstat(text []byte) (used, queued time.Duration, turns uint64, ok bool) {
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, 0, 0, false
	}
	numbers := [3]int64{}
	for i := range min(len(numbers), len(fields)) {
		v, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil || v < 0 {
			return 0, 0, 0, false
		}
		numbers[i] = v
	}
	return time.Duration(numbers[0]), time.Duration(numbers[1]), uint64(numbers[2]), true
}

// CompareThreads orders threads by their ids.
func CompareThreads(a, b checkpoint.Thread) int {
	if a.PID != b.PID {
		return int(int64(a.PID) - int64(b.PID))
	}
	return int(int64(a.TID) - int64(b.TID))
}
