package launcher

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// caught are the signals that concern a running program. SIGPIPE is among them so that it does not end us.
var caught = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGTSTP,
	unix.SIGWINCH, unix.SIGCHLD, unix.SIGPIPE,
}

// reapEvery bounds how often orphans are looked for: each look reads all of /proc.
const reapEvery = time.Second

// forward passes on each signal sent to us, once, to the program's process group, until quit.
func (c *Child) forward() {
	defer close(c.forwarded)
	defer c.rescue()
	var reap <-chan time.Time
	for {
		select {
		case <-c.quit:
			return
		case <-reap:
			reap = nil
			c.reap()
		case sig := <-c.signals:
			switch sig {
			case unix.SIGPIPE:
			case unix.SIGCHLD:
				if reap == nil {
					reap = time.After(reapEvery)
				}
			case unix.SIGWINCH:
				if !c.term.pipes {
					c.term.resize()
				} else {
					c.kill(unix.SIGWINCH)
				}
			case unix.SIGCONT:
				if c.continuing.CompareAndSwap(true, false) {
					break // stopped does the rest
				}
				if !c.term.pipes || c.term.holds() {
					c.term.lost()
					c.term.hold()
				}
				c.kill(unix.SIGCONT)
			default:
				c.kill(sig.(syscall.Signal))
			}
		}
	}
}

// kill sends sig to the program's process group, unless the program is gone.
func (c *Child) kill(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		unix.Kill(-c.spawned.pid, sig)
	}
}

// stopped does what a program's stop asks for. Without job control that is nothing: whoever stopped it will continue
// it.
func (c *Child) stopped(sig syscall.Signal) {
	t := c.term
	if t.fd < 0 {
		return
	}
	wanted := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	if t.pipes && wanted {
		t.lost()
		t.hold()
		if t.holds() {
			c.kill(unix.SIGCONT)
			return
		}
	}
	if groupOrphaned() {
		if sig == unix.SIGTSTP {
			c.kill(unix.SIGCONT) // nobody could continue it, and without us the kernel would not have stopped it
		}
		return
	}
	lent := t.holds()
	c.cmd.Line.Clear()
	t.release(true)
	c.continuing.Store(true)
	stopSelf(c.signals)
	t.back()
	if !t.pipes || lent || wanted {
		t.hold()
	}
	c.kill(unix.SIGCONT)
}

// stopSelf stops our process group and returns when it is continued. Our own stop is sent to this thread, so that it
// has happened when the call returns.
func stopSelf(signals chan os.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signal.Reset(unix.SIGTSTP)
	unix.Kill(0, unix.SIGTSTP)
	unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
	signal.Notify(signals, unix.SIGTSTP)
}
