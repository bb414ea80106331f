package launcher

import (
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// After the program ended its output is read to the end of file. Something it left running may keep that from coming:
// these are the longest waits, without data, that follow the end.
const (
	pipePatience = 2 * time.Second
	ptyPatience  = 250 * time.Millisecond
	afterEnd     = 1 << 20 // bytes; beyond pipePatience, what may still be the program's own
)

// markerPatience is how long the beginning of a line is held back that may be that of a result block: a program
// writes its block in one piece, and a prompt must not wait.
const markerPatience = 50 * time.Millisecond

// stream passes the program's output on, live and unchanged but for result blocks and the lines of Cmd.Lines.
type stream struct {
	in, out int
	pty     bool
	ended   int     // eventfd: readable when the program has ended
	filter  *filter // or nil
	lines   *lines  // or nil
	line    *Line   // on the terminal that is out, or nil
	hangUp  func()  // closes in: nobody will read what the program writes
	err     error   // of writing
	done    chan struct{}
}

// run copies until the end of file, an error of writing, or the end of patience. It closes in.
func (s *stream) run(rescue func()) {
	defer close(s.done)
	defer rescue()
	s.err = s.copy()
	if s.err == nil {
		s.err = s.write(s.flush())
	}
	s.line.End()
	s.hangUp()
}

// pass takes a piece through the filters, and returns what can go out now.
func (s *stream) pass(p []byte) []byte {
	if s.filter != nil {
		p = s.filter.pass(p)
	}
	if s.lines != nil {
		p = s.lines.pass(p)
	}
	return p
}

func (s *stream) waiting() bool {
	return s.filter != nil && s.filter.waiting() || s.lines != nil && s.lines.waiting()
}

func (s *stream) flush() []byte {
	var p []byte
	if s.filter != nil {
		p = s.filter.flush()
	}
	if s.lines != nil {
		p = append(s.lines.pass(p), s.lines.flush()...)
	}
	return p
}

func (s *stream) copy() error {
	var end time.Time // of the program
	var idle, waited time.Duration
	late := 0
	buf := make([]byte, 64<<10)
	for {
		fds := []unix.PollFd{{Fd: int32(s.in), Events: unix.POLLIN}, {Fd: int32(s.ended), Events: unix.POLLIN}}
		timeout := -1
		if !end.IsZero() {
			left := pipePatience - waited
			if s.pty {
				left = min(left, ptyPatience-idle)
			}
			if left <= 0 || time.Since(end) > pipePatience && late > afterEnd {
				return nil
			}
			fds[1].Fd = -1
			timeout = int((left + time.Millisecond - 1) / time.Millisecond)
		}
		held := s.waiting()
		if most := int(markerPatience / time.Millisecond); held && (timeout < 0 || timeout > most) {
			timeout = most
		}
		began := time.Now()
		ready, err := unix.Poll(fds, timeout)
		if err != nil && err != unix.EINTR {
			return nil
		}
		if held && ready == 0 {
			if err := s.write(s.flush()); err != nil {
				return err
			}
		}
		if fds[1].Revents != 0 {
			end = time.Now()
		} else if !end.IsZero() {
			idle += time.Since(began)
			waited += time.Since(began)
		}
		if fds[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(s.in, buf)
		switch {
		case n > 0:
			idle = 0
			if !end.IsZero() {
				late += n
			}
			if err := s.write(s.pass(buf[:n])); err != nil {
				return err
			}
		case err == unix.EAGAIN || err == unix.EINTR:
		default: // end of file; EIO says so for a pty
			return nil
		}
	}
}

func (s *stream) write(p []byte) error {
	if s.line != nil {
		return s.line.write(s.out, p)
	}
	return writeAll(s.out, p)
}

// writeAll writes p whole. It does not use os.File, which on EPIPE to descriptor 1 or 2 would end this process.
func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		switch {
		case n > 0:
			p = p[n:]
		case err == unix.EAGAIN: // somebody made the file they share with us non-blocking
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		case err == unix.EINTR:
		case err != nil:
			return err
		default:
			return io.ErrShortWrite
		}
	}
	return nil
}

// sameFile says whether what is written to a and b must stay in order: one open file under two numbers, or one pipe,
// socket or device, or one regular file that both append to.
func sameFile(a, b int) bool {
	var x, y unix.Stat_t
	if a < 0 || b < 0 || unix.Fstat(a, &x) != nil || unix.Fstat(b, &y) != nil || x.Dev != y.Dev || x.Ino != y.Ino {
		return false
	}
	if x.Mode&unix.S_IFMT != unix.S_IFREG {
		return true
	}
	const kcmpFile = 0 // KCMP_FILE, kcmp(2)
	pid := uintptr(unix.Getpid())
	if r, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, uintptr(a), uintptr(b), 0); errno == 0 &&
		r == 0 {
		return true
	} else if errno != 0 { // not in this kernel, or not allowed: equal offsets tell nearly as much
		p, err1 := unix.Seek(a, 0, unix.SEEK_CUR)
		q, err2 := unix.Seek(b, 0, unix.SEEK_CUR)
		if err1 == nil && err2 == nil && p == q {
			return true
		}
	}
	fa, _ := unix.FcntlInt(uintptr(a), unix.F_GETFL, 0)
	fb, _ := unix.FcntlInt(uintptr(b), unix.F_GETFL, 0)
	return fa&fb&unix.O_APPEND != 0
}
