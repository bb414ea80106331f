package patience

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A call that hangs is in the way of the next and of the last, and nobody waits.
func TestDesk(t *testing.T) {
	was := Limit
	Limit = 50 * time.Millisecond
	defer func() { Limit = was }()
	var d Desk
	var mask unix.Sigset_t
	if err := d.Ask("ask", func() error { return unix.PthreadSigmask(0, nil, &mask) }); err != nil {
		t.Fatal(err)
	}
	for _, n := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGCHLD} {
		if mask.Val[0]>>(n-1)&1 == 0 {
			t.Errorf("the thread takes %v", n)
		}
	}
	end := make(chan struct{})
	if err := d.Ask("slow", func() error { <-end; return nil }); !Hangs(err) {
		t.Error(err)
	}
	dst := []uint64{7}
	if err := Read(&d, "next", dst, func(dst []uint64) error { dst[0] = 1; return nil }); !Hangs(err) || dst[0] != 7 {
		t.Errorf("%v, %v", dst, err)
	}
	last := make(chan struct{})
	if err := d.End("last", func() error { close(last); return nil }); !Hangs(err) {
		t.Error(err)
	}
	close(end)
	<-last
	if err := d.Ask("after", func() error { return nil }); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if err := d.End("twice", func() error { t.Error("closed twice"); return nil }); err != nil {
		t.Error(err)
	}
}

// A call has longer on a machine that runs others, but not for ever; one that hangs beside an idle processor has
// the limit.
func TestWithinOnLoadedMachine(t *testing.T) {
	was := queued
	defer func() { queued = was }()
	const limit = 100 * time.Millisecond
	for what, c := range map[string]struct {
		part  float64 // of the time for which the call's thread is ready and does not run
		after int     // the question, how long they were, at which the call comes back; 0 is never
		want  bool
	}{
		"runs late":           {1, 2, true},
		"hangs":               {0, 0, false},
		"hangs beside others": {1, 0, false},
	} {
		begun, asked, back, threads := time.Now(), 0, make(chan struct{}), map[int]bool{}
		queued = func(thread int) time.Duration {
			threads[thread] = true
			if asked++; c.after > 0 && asked == c.after+1 { // the first is before the call
				close(back)
			}
			return time.Duration(c.part * float64(time.Since(begun)))
		}
		came, on := make(chan int, 1), make(chan int, 1)
		_, ok := Within(limit, func() int { on <- unix.Gettid(); <-back; return 7 }, func(n int) { came <- n })
		if len(threads) != 1 || !threads[<-on] {
			t.Errorf("%s: asked for the queues of %v, and not of the call's thread alone", what, threads)
		}
		if ok != c.want {
			t.Errorf("%s: it came back in time: %v, want %v", what, ok, c.want)
		}
		if !ok {
			close(back)
			if n := <-came; n != 7 {
				t.Errorf("%s: it gave %d at last", what, n)
			}
		}
	}
}

func TestQueued(t *testing.T) {
	for text, want := range map[string]time.Duration{"15203 4711 9\n": 4711, "": 0, "1\n": 0, "1 x 2\n": 0} {
		if got := queuedOf(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
