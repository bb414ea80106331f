package launcher

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// terminal is the user's terminal while a program runs. Behind a pty it is in raw mode, its bytes go to the pty, and
// the pty follows its size. Without a pty it is lent to the program's process group when the program was stopped for
// want of it. All of that only while our own process group is the terminal's foreground group.
type terminal struct {
	fd     int  // -1: there is none, the pty stands alone
	opened bool // fd is ours to close
	master int  // the pty; -1 in pipes mode, or when hung up
	pipes  bool // no pty
	group  int  // the program's process group
	wake   int  // eventfd: the pump shall end
	pumped chan struct{}

	mu         sync.Mutex
	held       bool // raw, or lent
	away       bool // we are about to stop, or ended: do not take hold
	saved, raw unix.Termios
}

// isTerminal says whether fd is one.
func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// sameTerminal says whether a and b are one terminal, be it opened as /dev/tty or by its own name.
func sameTerminal(a, b int) bool {
	x, err1 := unix.IoctlGetInt(a, unix.TIOCGDEV)
	y, err2 := unix.IoctlGetInt(b, unix.TIOCGDEV)
	return err1 == nil && err2 == nil && x == y
}

// undisturbed runs f on a thread that a background process's use of the terminal does not stop.
func undisturbed(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var set, old unix.Sigset_t
	set.Val[0] = 1 << (unix.SIGTTOU - 1)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old) == nil {
		defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	}
	f()
}

// foreground says whether the terminal is ours to use. One that is not our controlling terminal has no job control
// for us.
func (t *terminal) foreground() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// hold takes the terminal for the program, if there is one in our foreground.
func (t *terminal) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fd < 0 || t.held || t.away || !t.foreground() {
		return
	}
	if t.pipes {
		undisturbed(func() { t.held = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.group) == nil })
		return
	}
	now, err := unix.IoctlGetTermios(t.fd, unix.TCGETS)
	if err != nil {
		return
	}
	if *now != t.raw { // else nobody touched it since we set it
		t.saved, t.raw = *now, *now
	}
	t.raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP |
		unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.raw.Oflag &^= unix.OPOST
	t.raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.raw.Cflag = t.raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.raw.Cc[unix.VMIN], t.raw.Cc[unix.VTIME] = 1, 0
	undisturbed(func() { t.held = unix.IoctlSetTermios(t.fd, unix.TCSETS, &t.raw) == nil })
	if set, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil && t.held {
		t.raw = *set // as the driver took it
	}
	t.copySize()
}

// release gives the terminal back as it was; away keeps it so.
func (t *terminal) release(away bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away = away
	if !t.held {
		return
	}
	t.held = false
	if t.pipes {
		// A shell that took it meanwhile keeps it.
		group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
		if err == nil && (group == t.group || unix.Kill(-group, 0) == unix.ESRCH) {
			undisturbed(func() { unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, unix.Getpgrp()) })
		}
		return
	}
	// Output was processed as it was written, so there is nothing to wait for.
	undisturbed(func() { unix.IoctlSetTermios(t.fd, unix.TCSETS, &t.saved) })
}

// lost notes that a shell may have taken the terminal, and set its modes, while we were stopped.
func (t *terminal) lost() {
	t.mu.Lock()
	t.held = false
	t.mu.Unlock()
}

// holding takes hold if it can, notes when a shell has moved us to the background, and says whether the terminal is
// held.
func (t *terminal) holding() bool {
	if t.fd < 0 {
		return false
	}
	if !t.foreground() {
		t.lost()
	}
	t.hold()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// resize gives the pty the terminal's size; the kernel tells the program if it changed.
func (t *terminal) resize() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.copySize()
}

func (t *terminal) copySize() {
	if t.fd < 0 || t.master < 0 {
		return
	}
	if size, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ); err == nil {
		unix.IoctlSetWinsize(t.master, unix.TIOCSWINSZ, size)
	}
}

// pump passes what is typed to the pty until woken. Whether we are in the foreground is asked before each read: a
// shell can move us there and back without telling.
func (t *terminal) pump(rescue func()) {
	defer close(t.pumped)
	defer rescue()
	var typed []byte
	buf := make([]byte, 4096)
	eof := false
	for {
		fds := []unix.PollFd{{Fd: int32(t.wake), Events: unix.POLLIN}, {Fd: -1}}
		timeout := -1
		held := t.holding()
		switch {
		case len(typed) > 0:
			fds[1] = unix.PollFd{Fd: int32(t.master), Events: unix.POLLOUT}
		case eof || t.fd < 0:
		case held:
			fds[1] = unix.PollFd{Fd: int32(t.fd), Events: unix.POLLIN}
		default:
			timeout = 200
		}
		n, err := unix.Poll(fds, timeout)
		if err != nil && err != unix.EINTR || fds[0].Revents != 0 {
			return
		}
		if n <= 0 || fds[1].Revents == 0 {
			continue
		}
		if len(typed) > 0 {
			n, err := unix.Write(t.master, typed)
			if n > 0 {
				typed = typed[n:]
			} else if err != unix.EAGAIN && err != unix.EINTR {
				return
			}
			continue
		}
		if !t.foreground() {
			continue
		}
		switch n, err := unix.Read(t.fd, buf); {
		case n > 0:
			typed = buf[:n]
		case err != unix.EINTR && err != unix.EAGAIN:
			eof = true // the terminal hung up
		}
	}
}

// hangUp closes the pty, after the pump: the program's further writes fail.
func (t *terminal) hangUp() {
	unix.Write(t.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	<-t.pumped
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.master >= 0 {
		unix.Close(t.master)
		t.master = -1
	}
}

// close gives the terminal back and leaves nothing open.
func (t *terminal) close() {
	t.hangUp()
	t.release(true)
	unix.Close(t.wake)
	if t.opened {
		unix.Close(t.fd)
	}
}

// newTerminal finds the terminal to read from: stdin, or when that is something else, the one that controls us (less
// reads its commands there). In either mode there may be none.
func newTerminal(stdin int, pipes bool) (*terminal, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	t := &terminal{fd: -1, master: -1, pipes: pipes, wake: wake, pumped: make(chan struct{})}
	if stdin >= 0 && isTerminal(stdin) {
		t.fd = stdin
	} else if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		t.fd, t.opened = fd, true
	}
	return t, nil
}

// holds says whether the terminal is raw, or lent.
func (t *terminal) holds() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held
}

// back ends what release(true) began.
func (t *terminal) back() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away = false
}
