package attach

import (
	"slices"
	"time"

	"cg/checkpoint"
)

// kernel finds out whether a thread without samples runs in the kernel, where the kernel's own time has none: the
// thread's account tells. In which function it is then, nobody tells: it is below what the samples before and after
// have in common. A nil one was not asked.
type kernel struct {
	thread  *thread
	running bool               // when it was asked last
	next    checkpoint.Instant // when a thread that waited is asked again
	pause   time.Duration
	open    []*Look // whose place is not known yet, and
	since   checkpoint.Instant
}

// A thread that waits is asked again after pauses that double up to longestWait, as there may be many.
const (
	firstWait   = time.Millisecond
	longestWait = 16 * time.Millisecond
)

// mostOpen is for how long a look in the kernel waits for the next sample. After that it is below no function.
const mostOpen = checkpoint.Instant(100e6)

// kernelFunction is where a thread is that runs in the kernel.
const kernelFunction = "[kernel]"

// askKernel gives a look at a thread that has had no sample for a while, in the kernel or waiting, nil for none. The
// sampler is locked.
func (s *Sampler) askKernel(thread checkpoint.Thread, l *lastRun, now checkpoint.Instant, at checkpoint.Tick) *Look {
	k := l.kernel
	if k == nil {
		k = &kernel{thread: newThread(int(thread.PID), thread.TID, len(s.machine.ran) < mostKept)}
		l.kernel = k
	}
	if len(k.open) > 0 && now-k.since > mostOpen {
		k.place(nil)
	}
	if !k.running && now < k.next {
		return nil
	}
	ready := k.thread.isReady()
	look := &Look{Thread: thread, At: at, Path: l.path, open: ready, inside: ready}
	if ready {
		in := s.sites.number(checkpoint.Site{Func: kernelFunction, Kind: checkpoint.Function})
		look.Path = []checkpoint.SiteID{in}
		if len(k.open) == 0 {
			k.since = now
		}
		k.open = append(k.open, look)
	}
	k.thread.looked(look, ready, now)
	look.open = look.open && len(k.thread.open) > 0 && k.thread.open[len(k.thread.open)-1] == look
	before := l.waiting
	k.running, l.waiting = ready, !ready
	switch {
	case ready:
		k.pause = firstWait
	case before:
		k.pause = min(longestWait, 2*max(firstWait, k.pause))
		k.next = now + checkpoint.Instant(k.pause)
		return nil // as the look before
	default:
		k.next = now + checkpoint.Instant(firstWait)
	}
	return look
}

// place puts the looks whose place is not known below a path.
func (k *kernel) place(below []checkpoint.SiteID) {
	var path []checkpoint.SiteID
	for _, l := range k.open {
		if path == nil {
			path = slices.Concat(below, l.Path)
		}
		l.Path, l.placed = path, true
	}
	k.open = nil
}

// resume settles what is open of a thread that has a sample again, and tells whether it ran until then.
func (k *kernel) resume(now checkpoint.Instant, before, after []checkpoint.SiteID) bool {
	if k == nil || !k.running && len(k.open) == 0 && len(k.thread.open) == 0 {
		return false
	}
	n := 0
	for n < min(len(before), len(after)) && before[n] == after[n] {
		n++
	}
	if n == len(before) && n == len(after) && n > 1 {
		n-- // it may have returned and begun again: the time can be of another that its caller called meanwhile
	}
	k.place(before[:n])
	if ran, waited, ok := k.thread.scheduled(); ok && k.thread.known {
		k.thread.take(ran, waited, now)
	}
	k.thread.settle(false)
	k.thread.known = false // what comes now is no part of the next time in the kernel
	running := k.running
	k.running, k.next, k.pause = false, 0, 0
	return running
}

func (k *kernel) close() {
	if k != nil {
		k.place(nil)
		k.thread.settle(false)
		k.release()
	}
}

// release closes the files.
func (k *kernel) release() {
	if k != nil {
		k.thread.close()
	}
}
