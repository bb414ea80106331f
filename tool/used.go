package tool

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// counted are processes that work for cg while it measures, with the processor time that each has used, and
// what those used that have ended.
var counted = struct {
	sync.Mutex
	used  map[int]time.Duration
	ended time.Duration
}{used: map[int]time.Duration{}}

// Count lets a process that works for cg be in Used until end is called.
func Count(pid int) (end func()) {
	counted.Lock()
	defer counted.Unlock()
	counted.used[pid] = 0
	return sync.OnceFunc(func() {
		counted.Lock()
		defer counted.Unlock()
		counted.ended += read(pid)
		delete(counted.used, pid)
	})
}

// Used is the processor time of the processes that are counted, and of those that were. It never falls.
func Used() time.Duration {
	counted.Lock()
	defer counted.Unlock()
	sum := counted.ended
	for pid := range counted.used {
		sum += read(pid)
	}
	return sum
}

// read is the processor time of a counted process by its clock (clock_getcpuclockid(3)), as far as it was seen.
func read(pid int) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|2), &t) == nil {
		counted.used[pid] = max(counted.used[pid], time.Duration(t.Nano()))
	}
	return counted.used[pid]
}
