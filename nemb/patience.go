package nemb

// #include "sampler.h"
import "C"

import (
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"time"
)

// patience is how long the answer of a sensor is waited for: far more than a
// driver takes that is alive, on a slow bus too. A variable for tests.
var patience = 5 * time.Second

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

// desk makes calls that may never come back, one after the other, on a thread
// of its own. The thread takes no signals: the kernel might choose it for one,
// and would never deliver it. The zero desk is ready; end ends it.
type desk struct {
	mu    sync.Mutex
	calls chan func()   // to the thread, nil before the first call
	out   chan struct{} // of the call that is under way, closed when it comes back; nil for none
	begun time.Time     // that call
	ended bool
}

// ask makes a call and waits for it as long as patience lasts. A call that has
// not come back is in the way of the next: that one fails at once. What call
// writes must be read by nobody else until it is back.
func (d *desk) ask(what string, call func() error) error {
	out, err := d.send(what, call)
	return wait(what, out, err)
}

// wait waits for a call that was sent.
func wait(what string, out <-chan struct{}, err *error) error {
	if out == nil {
		return *err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-out:
		return *err
	case <-timer.C:
		return &Hung{What: what, After: patience}
	}
}

// send starts a call; err holds its answer once out is closed. out is nil where
// no call was started.
func (d *desk) send(what string, call func() error) (out chan struct{}, err *error) {
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

// read is ask for energies: dst is written only by a call that came back.
func (d *desk) read(what string, dst []Energy, read func([]Energy) error) error {
	own := make([]Energy, len(dst))
	err := d.ask(what, func() error { return read(own) })
	if err == nil {
		copy(dst, own)
	}
	return err
}

// end makes the last call, which closes what the others use, nil for none; every
// call after it fails. Behind one that hangs it is made when that comes back,
// and not waited for.
func (d *desk) end(what string, last func() error) error {
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

// within makes one call on a thread of its own and waits for it so long. Where it
// does not come back in time, late is called with what it gives when it does.
func within[T any](limit time.Duration, call func() T, late func(T)) (answer T, ok bool) {
	answers := make(chan T, 1)
	go func() {
		runtime.LockOSThread()
		C.cg_deaf()
		answers <- call()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case answer = <-answers:
		return answer, true
	case <-timer.C:
		go func() { late(<-answers) }()
		return answer, false
	}
}

// opened is what a Source's Open gave.
type opened struct {
	sensors []Sensor
	err     error
}

// openPatient opens a source and gives up one that hangs.
func openPatient(s Source, root Root, limit time.Duration) ([]Sensor, error) {
	open := func() opened {
		sensors, err := s.Open(root)
		return opened{sensors, err}
	}
	answer, ok := within(limit, open, func(o opened) {
		for _, s := range o.sensors {
			s.Close()
		}
	})
	if !ok {
		return nil, &Hung{What: s.Name + ": looking for its sensors", After: limit}
	}
	return answer.sensors, answer.err
}
