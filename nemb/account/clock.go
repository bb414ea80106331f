package account

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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

// prepared is closed when the kernel is ready to count; nil where nobody asked.
var prepared chan struct{}

// Prepare makes the kernel ready for Inherit, and returns at once. The first event of any
// process waits 5 to 15 ms until all processors know that there are events (account_event in
// kernel/events/core.c waits for RCU). Those that are opened while there is one, or less than a second
// later, take 20 µs. The event that Prepare opens counts nothing and stays open as long as cg runs. Prepare is
// called once, before the first Inherit.
func Prepare() {
	done := make(chan struct{})
	prepared = done
	go func() {
		defer close(done)
		openClock(unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv)
	}()
}

// Ready waits for what Prepare began, so that the wait is not part of a run.
func Ready() {
	if prepared != nil {
		<-prepared
	}
}

// openClock opens a task-clock event of the calling thread.
func openClock(flags uint64) (int, error) {
	return unix.PerfEventOpen(&unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_TASK_CLOCK,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits:   flags,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
}

func openTaskClock() (*taskClock, error) {
	c := &taskClock{}
	var flags uint64
	var err error
	c.tree, err = openClock(unix.PerfBitInherit)
	if errors.Is(err, fs.ErrPermission) {
		c.userOnly, flags = true, unix.PerfBitExcludeKernel|unix.PerfBitExcludeHv
		c.tree, err = openClock(unix.PerfBitInherit | flags)
	}
	if err != nil {
		return nil, fmt.Errorf("perf task-clock: %w", err)
	}
	if c.self, err = openClock(flags); err != nil {
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
