// Package patience makes calls that may never return, such as those of drivers that hang.
// It makes a call on a thread that takes no signals and gives it up after Limit; the
// error is then a *Hung. The package knows nothing of sensors.
package patience

// #include "deaf.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limit is how long the answer of a sensor is waited for: far more than a
// driver takes that is alive, on a slow bus too. Tests shorten it.
var Limit = 5 * time.Second

// Hung is the error of a sensor that does not answer: a call of it has not come
// back, and its thread was given up. It is neither absent nor denied nor broken:
// what others tell is measured without it.
type Hung struct {
	What  string        // the call, and the file that it is of
	After time.Duration // for which it was waited
	// Domains are not read for it, where that is known.
	Domains []string
}

func (h *Hung) Error() string {
	return fmt.Sprintf("%s: no answer for %v: it hangs", h.What, h.After.Round(100*time.Millisecond))
}

// Hangs tells whether an error is that of a sensor that does not answer.
func Hangs(err error) bool {
	var h *Hung
	return errors.As(err, &h)
}

// A Desk makes calls that may never come back, one after the other, on a thread
// of its own. The thread takes no signals: the kernel might choose it for one,
// and would never deliver it. The zero Desk is ready; End ends it.
type Desk struct {
	mu    sync.Mutex
	calls chan func()   // to the thread, nil before the first call
	out   chan struct{} // of the call that is under way, closed when it comes back; nil for none
	begun time.Time     // that call
	ended bool
}

// Ask makes a call and waits for it as long as Limit lasts. A call that has
// not come back is in the way of the next: that one fails at once. What call
// writes must be read by nobody else until it is back.
func (d *Desk) Ask(what string, call func() error) error {
	out, err := d.send(what, call)
	return wait(what, out, err)
}

// wait waits for a call that was sent.
func wait(what string, out <-chan struct{}, err *error) error {
	if out == nil {
		return *err
	}
	timer := time.NewTimer(Limit)
	defer timer.Stop()
	select {
	case <-out:
		return *err
	case <-timer.C:
		return &Hung{What: what, After: Limit}
	}
}

// send starts a call; err holds its answer once out is closed. out is nil where
// no call was started.
func (d *Desk) send(what string, call func() error) (out chan struct{}, err *error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err = new(error)
	if d.ended {
		*err = fmt.Errorf("%s: %w", what, fs.ErrClosed)
		return nil, err
	}
	if d.out != nil {
		select {
		case <-d.out:
		default:
			*err = &Hung{What: what, After: time.Since(d.begun)}
			return nil, err
		}
	}
	if d.calls == nil {
		d.calls = make(chan func(), 1)
		go work(d.calls)
	}
	out = make(chan struct{})
	d.out, d.begun = out, time.Now()
	d.calls <- func() {
		defer close(out)
		*err = call()
	}
	return out, err
}

// work makes the calls. The goroutine keeps its thread, so that it ends with it.
func work(calls <-chan func()) {
	runtime.LockOSThread()
	C.cg_deaf()
	for call := range calls {
		call()
	}
}

// Read is Ask for readings: dst is written only by a call that came back.
func Read[T any](d *Desk, what string, dst []T, read func([]T) error) error {
	own := make([]T, len(dst))
	err := d.Ask(what, func() error { return read(own) })
	if err == nil {
		copy(dst, own)
	}
	return err
}

// End makes the last call, which closes what the others use, nil for none; every
// call after it fails. Behind one that hangs it is made when that comes back,
// and not waited for.
func (d *Desk) End(what string, last func() error) error {
	if last == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.calls != nil && !d.ended {
			close(d.calls)
		}
		d.ended = true
		return nil
	}
	out, err := d.send(what, last)
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return nil
	}
	d.ended = true
	if out == nil {
		d.calls <- func() { last() } // there is room: what hangs has been taken
	}
	close(d.calls)
	d.mu.Unlock()
	return wait(what, out, err)
}

// longest is how many limits a call may take on a machine that hardly runs this process.
const longest = 12

// Within makes one call on a thread of its own and waits for it so long. The time for which that thread was ready
// and the kernel ran others does not count: a loaded machine is no driver that hangs. Where the call does not come
// back in time, late is called with what it gives when it does.
func Within[T any](limit time.Duration, call func() T, late func(T)) (answer T, ok bool) {
	threads, answers := make(chan int, 1), make(chan T, 1)
	go func() {
		runtime.LockOSThread()
		C.cg_deaf()
		threads <- unix.Gettid()
		answers <- call()
	}()
	thread := <-threads
	begun, before := time.Now(), queued(thread)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case answer = <-answers:
			return answer, true
		case <-timer.C:
		}
		took := time.Since(begun)
		if left := limit - took + max(0, queued(thread)-before); left > 0 && took < longest*limit {
			timer.Reset(min(left, limit))
			continue
		}
		go func() { late(<-answers) }()
		return answer, false
	}
}

// queued is for how long a thread of this process was ready while the kernel ran others; 0 where the kernel does
// not tell. Tests replace it.
var queued = func(thread int) time.Duration {
	// Of a thread that has ended there is none.
	text, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", thread))
	return queuedOf(string(text))
}

// queuedOf is the second number of a schedstat file: nanoseconds on a run queue
// (https://docs.kernel.org/scheduler/sched-stats.html).
func queuedOf(text string) time.Duration {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(n)
}
