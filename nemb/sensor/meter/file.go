package meter

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
)

// rewritten is a file that another program writes anew for each reading.
type rewritten struct {
	figure figure
	path   string
	now    func() checkpoint.Instant
	clock  func() time.Time

	seen  bool
	last  stamp
	since checkpoint.Instant // when last was seen first
}

// stamp tells one writing of a file from the next.
type stamp struct {
	device, inode uint64
	changed       int64 // ns since 1970, by the clock of who wrote it
	text          string
}

func newRewritten(f figure) *rewritten {
	return &rewritten{figure: f, path: f.meter.Where, now: checkpoint.Monotime, clock: time.Now}
}

// A program that does not write by renaming leaves the file empty for a moment.
const (
	emptyTries = 4
	emptyWait  = 5 * time.Millisecond
)

func (r *rewritten) read() (reading, error) {
	var s stamp
	var computed bool
	for try := 0; ; try++ {
		var err error
		if s, computed, err = r.look(); err != nil {
			return reading{}, err
		}
		if s.text != "" || try == emptyTries {
			break
		}
		time.Sleep(emptyWait)
	}
	now := r.now()
	if !computed {
		if s != r.last {
			r.since = now
			if !r.seen { // nobody has seen how long it has been there
				r.since -= checkpoint.Instant(max(0, r.clock().Sub(time.Unix(0, s.changed))))
			}
			r.last = s
		}
		r.seen = true
		if age := time.Duration(now - r.since); age > fresh(r.figure.meter.Period) {
			return reading{}, fmt.Errorf("it has not been written for %v: its reading is stale", age.Round(time.Second))
		}
	}
	return r.figure.of([]byte(s.text))
}

// look reads the file. computed is true for one that the kernel makes when it is read (sysfs, procfs), whose times
// say nothing.
func (r *rewritten) look() (s stamp, computed bool, err error) {
	f, err := os.OpenFile(r.path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO would hold the reader
	if err != nil {
		return s, false, err
	}
	defer f.Close()
	var at unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &at); err != nil {
		return s, false, &os.PathError{Op: "stat", Path: r.path, Err: err}
	}
	if at.Mode&unix.S_IFMT != unix.S_IFREG {
		return s, false, fmt.Errorf("%s: it is no file but a folder, a device or a pipe: lines:cat reads a pipe",
			r.path)
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &system); err == nil {
		computed = system.Type == unix.SYSFS_MAGIC || system.Type == unix.PROC_SUPER_MAGIC
	}
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return s, false, err
	case len(text) > largest:
		return s, false, fmt.Errorf("%s has more than %d kB, which is no reading", r.path, largest>>10)
	}
	return stamp{at.Dev, at.Ino, at.Mtim.Nano(), string(bytes.TrimSpace(text))}, computed, nil
}

func (r *rewritten) close() {}
