package checkpoint

import (
	"math"
	"os"
	"strings"
	"time"
	_ "unsafe" // for go:linkname
)

// Clock is the clock in which a channel's words are stamped. Its values stand
// in the channel's header (FORMAT.md).
type Clock uint32

const (
	// CycleCounter is the raw counter of the processor: RDTSC on x86-64
	// (Intel SDM vol. 3B, 17.17), CNTVCT_EL0 on arm64.
	CycleCounter Clock = 1
	// Monotonic is CLOCK_MONOTONIC in nanoseconds.
	Monotonic Clock = 2
)

func (c Clock) String() string {
	switch c {
	case CycleCounter:
		return "cycle counter"
	case Monotonic:
		return "CLOCK_MONOTONIC"
	}
	return "unknown clock"
}

// SystemClock chooses the clock of this machine: the cycle counter when the
// kernel itself keeps time by it and it runs at one rate in every power state
// (current_clocksource tsc with the flags constant_tsc and nonstop_tsc, or
// arch_sys_counter), else CLOCK_MONOTONIC.
func SystemClock() Clock {
	if !cyclesReadable {
		return Monotonic
	}
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return Monotonic
	}
	switch strings.TrimSpace(string(source)) {
	case "arch_sys_counter":
		return CycleCounter
	case "tsc":
		info, err := os.ReadFile("/proc/cpuinfo")
		if err == nil && strings.Contains(string(info), " constant_tsc") && strings.Contains(string(info), " nonstop_tsc") {
			return CycleCounter
		}
	}
	return Monotonic
}

// Now reads the clock.
func (c Clock) Now() Tick {
	if c == CycleCounter {
		return Tick(cycles())
	}
	return Tick(nanotime())
}

// Cost is how long one reading takes here: the least mean of a few hundred.
func (c Clock) Cost() time.Duration {
	const readings, rounds = 200, 20
	least := time.Duration(math.MaxInt64)
	for range rounds {
		begin := nanotime()
		for range readings {
			c.Now()
		}
		least = min(least, time.Duration(nanotime()-begin))
	}
	return least / readings
}

// Monotime reads CLOCK_MONOTONIC.
func Monotime() Instant { return Instant(nanotime()) }

// nanotime is the runtime's own reading of CLOCK_MONOTONIC: it goes through
// the vDSO, where unix.ClockGettime is a system call of half a microsecond.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
