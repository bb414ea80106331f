package checkpoint

import (
	"math"
	"os"
	"strings"
	"sync"
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
// arch_sys_counter), else CLOCK_MONOTONIC. The kernel is asked once.
func SystemClock() Clock { return systemClock() }

var systemClock = sync.OnceValue(func() Clock {
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
		flags := string(info)
		if err == nil && strings.Contains(flags, " constant_tsc") && strings.Contains(flags, " nonstop_tsc") {
			return CycleCounter
		}
	}
	return Monotonic
})

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

// A conversion turns nanoseconds of CLOCK_MONOTONIC into ticks, by both clocks
// at its first and at its latest moment.
type conversion struct {
	clock         Clock
	began, latest moment
	converted     []Word // the words of the latest run of sums
	// forkTicks are the ticks of the latest fork words by their nanoseconds, in
	// the order of forkOrder.
	forkTicks map[uint64]Tick
	forkOrder []uint64
}

// moment is one moment on both clocks.
type moment struct {
	tick  Tick
	nanos Instant
}

// fromSums turns sums into words. A sum is kind and site, 40 bits up, plus
// the nanoseconds of CLOCK_MONOTONIC, which are the latest that are not in the
// future. They become ticks by where both clocks are now and their rate since
// the channel began.
func (c *conversion) fromSums(sums []Word) []Word {
	c.latest = c.moment()
	c.converted = c.converted[:0]
	// A writer that was interrupted in an event writes its word again, behind the
	// moment above: so times up to a second after it are accepted, too.
	from := uint64(c.latest.nanos) + uint64(time.Second) - uint64(lowTicks)
	for _, s := range sums {
		event, nanos := Word((uint64(s)-from)>>40), (uint64(s)-from)&uint64(lowTicks)+from
		var at Tick
		if event.Kind() == Fork {
			at = c.forkTick(nanos)
		} else {
			at = c.tickAt(nanos)
		}
		c.converted = append(c.converted, Pack(at, event.Kind(), event.Site()))
	}
	return c.converted
}

// tickAt is the tick at a moment of CLOCK_MONOTONIC.
func (c *conversion) tickAt(nanos uint64) Tick {
	if c.clock == Monotonic {
		return Tick(nanos)
	}
	rate := float64(c.latest.tick-c.began.tick) / float64(max(1, c.latest.nanos-c.began.nanos))
	return Tick(int64(c.latest.tick) - int64(float64(int64(uint64(c.latest.nanos)-nanos))*rate))
}

// forkTick is the tick of a fork word: always the same, since the child names
// the word by it.
func (c *conversion) forkTick(nanos uint64) Tick {
	t, ok := c.forkTicks[nanos]
	if !ok {
		t = c.tickAt(nanos)
		c.forkTicks[nanos] = t
		c.forkOrder = append(c.forkOrder, nanos)
		if len(c.forkOrder) > 4096 {
			delete(c.forkTicks, c.forkOrder[0])
			c.forkOrder = c.forkOrder[1:]
		}
	}
	return t
}

// moment reads both clocks, again if something came between.
func (c *conversion) moment() moment {
	var best moment
	least := Instant(1 << 62)
	for range 8 {
		a := Monotime()
		t := c.clock.Now()
		b := Monotime()
		if b-a < least {
			least, best = b-a, moment{t, a + (b-a)/2}
		}
		if least < 200 {
			break
		}
	}
	return best
}
