package checkpoint

import (
	"sync/atomic"
	"time"
)

// ProcessorTime tells for how long a thread has had a processor, and when that was read. It is not
// ok where that is not known.
type ProcessorTime func(Thread) (ran time.Duration, at Instant, ok bool)

// busySpan is the time between two readings of ProcessorTime. The kernel brings a thread's time up to
// date at its own ticks, 1 to 10 ms apart (CONFIG_HZ).
const busySpan = 50 * time.Millisecond

// TellBusy tells each thread that adds up for which part of the time it had a processor lately, at most
// once in busySpan. Writers do not ask the kernel: a program may have forbidden the system call.
func (c *Channel) TellBusy(of ProcessorTime) {
	now := Monotime()
	if c.forest == nil || now-c.toldBusy < Instant(busySpan) {
		return
	}
	c.toldBusy = now
	c.touch(func() { c.forest.tellBusy(of) })
}

func (f *forest) tellBusy(of ProcessorTime) {
	for i := range f.state {
		r, t := &f.reading[i], &f.trees[i]
		if r.seq == 0 || r.pathsOnly || r.done || t.mem == nil {
			continue
		}
		h := &t.head.head
		ran, at, ok := of(Thread{h.pid, h.tid})
		if !ok || at <= r.ranAt {
			continue
		}
		if r.ranAt != 0 {
			part := float64(ran-r.ran) / float64(at-r.ranAt)
			atomic.StoreUint32(&t.head.busy, 1+uint32(alwaysBusy*min(1, max(0, part))))
		}
		r.ran, r.ranAt = ran, at
	}
}
