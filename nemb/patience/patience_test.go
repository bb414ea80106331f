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
