package track

import (
	"math"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

func monotonic() int64 { return int64(checkpoint.Monotime()) }

// pace calls at fixed instants: deadline k lies k intervals after the first,
// however long a call takes, so nothing adds up.
type pace struct {
	every    time.Duration
	taken    int // calls at a deadline
	missed   int
	first    int64 // when the first call began
	last     int64
	drift    time.Duration
	late     histogram
	reading  histogram
	realtime bool
}

// Timers of the Go runtime come up to a millisecond late and more behind the
// garbage collector, so a thread of its own sleeps in the kernel, at most nap at a
// time, to see that it is stopped. priority lies below the kernel's own threads.
const (
	nap      = 50 * time.Millisecond
	priority = 50
)

// run calls take at each deadline until it is stopped, and once more then. The
// goroutine must be given up: its thread ends with it.
func (p *pace) run(stop <-chan struct{}, take func()) {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	p.realtime = unix.SchedSetAttr(0, &unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: priority,
	}, 0) == nil
	start := monotonic()
	for k := int64(0); ; k++ {
		deadline := start + k*int64(p.every)
		if !sleepUntil(deadline, stop) {
			break
		}
		now := monotonic()
		if over := (now - deadline) / int64(p.every); over > 0 {
			p.missed += int(over)
			k += over
			deadline += over * int64(p.every)
		}
		take()
		p.late.add(now - deadline)
		p.reading.add(monotonic() - now)
		if p.taken == 0 {
			p.first = now
		}
		p.last, p.drift = now, time.Duration(now-deadline)-time.Duration(p.first-start)
		p.taken++
	}
	take()
}

// sleepUntil tells whether the deadline has come before the stop.
func sleepUntil(deadline int64, stop <-chan struct{}) bool {
	for {
		next := min(deadline, monotonic()+int64(nap))
		at := unix.NsecToTimespec(next)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
		}
		select {
		case <-stop:
			return false
		default:
		}
		if next == deadline {
			return true
		}
	}
}

// histogram counts durations in steps of a tenth, from 100 ns to a minute and
// more: a day of samples in no more room than a second's.
type histogram struct {
	counts [256]int
	total  int
}

const histogramFrom, histogramStep = 100, 1.1

func (h *histogram) add(ns int64) {
	i := 0
	if ns > histogramFrom {
		i = min(len(h.counts)-1, int(math.Log(float64(ns)/histogramFrom)/math.Log(histogramStep)))
	}
	h.counts[i]++
	h.total++
}

// at is the duration that a part of the others does not exceed.
func (h *histogram) at(part float64) time.Duration {
	left := int(math.Ceil(float64(h.total) * part))
	for i, n := range h.counts {
		if left -= n; left <= 0 && h.total > 0 {
			return time.Duration(histogramFrom * math.Pow(histogramStep, float64(i)+0.5))
		}
	}
	return 0
}
