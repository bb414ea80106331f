package account

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Instructions counts what a program and all its descendants execute outside the
// kernel, by the processor's own counter (perf_event_open(2),
// PERF_COUNT_HW_INSTRUCTIONS). Virtual machines seldom have one.
type Instructions struct {
	kind   uint32
	config uint64
	fd     int
}

// NewInstructions is nil where there is no such counter, or it may not be read.
func NewInstructions() *Instructions {
	return newCount(unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS)
}

func newCount(kind uint32, config uint64) *Instructions {
	c := &Instructions{kind: kind, config: config, fd: -1}
	if c.Inherit() != nil {
		return nil
	}
	c.Close()
	return c
}

// Inherit counts the processes that the calling OS thread starts from now on, from
// their exec. The goroutine must be locked to its thread, as for
// Account.Inherit.
func (c *Instructions) Inherit() error {
	c.Close()
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: c.kind, Config: c.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		Bits: unix.PerfBitInherit | unix.PerfBitDisabled | unix.PerfBitEnableOnExec |
			unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("perf instructions: %w", err)
	}
	c.fd = fd
	return nil
}

// Count is what has been counted since Inherit of processes that have ended. Where
// more counters were in use than the processor has, it is scaled to the whole
// time.
func (c *Instructions) Count() (float64, error) {
	var b [24]byte
	if n, err := unix.Read(c.fd, b[:]); err != nil || n != len(b) {
		return 0, fmt.Errorf("perf instructions: read %d bytes: %w", n, err)
	}
	word := binary.NativeEndian.Uint64
	value, enabled, running := word(b[:]), word(b[8:]), word(b[16:])
	if running == 0 {
		return 0, fmt.Errorf("perf instructions: the counter never ran")
	}
	return float64(value) * float64(enabled) / float64(running), nil
}

// Close releases the counter.
func (c *Instructions) Close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	c.fd = -1
}
