package launcher

import (
	"encoding/binary"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// statusTimeout is the exit status after a timeout, as of timeout(1).
const statusTimeout = 124

// Result is how a program ended.
type Result struct {
	Status int // what to exit with: the program's own, 128+n when signal n killed it, 124 after a timeout

	Exited bool           // it exited by itself, with Code
	Code   int            //
	Signal syscall.Signal // else this killed it

	TimedOut     bool
	User, System time.Duration // CPU time of the program and the descendants it waited for; wait4(2)
	MaxRSS       int64         // bytes; the largest of those processes; 0 unknown, see peak
	IO           *IO           // nil where the kernel does not tell
	Left         []int         // pids of its tree that were alive when Wait returned
	OutputErr    error         // passing its output on failed; the program then met a closed pipe
	Orphans      error         // why those of its processes whose parent has ended are not known; nil: they are
}

// IO is what the program and the descendants that it waited for read and wrote by read(2), write(2) and their
// relatives, to files, pipes, sockets and terminals (/proc/PID/io, proc(5)).
type IO struct {
	Reads, Writes           uint64 // system calls
	ReadBytes, WrittenBytes uint64
}

// ioOf is that of a process, nil where the kernel does not tell. The process may have ended and not been reaped.
func ioOf(pid int) *IO {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return nil
	}
	var io IO
	found := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		to := map[string]*uint64{"syscr": &io.Reads, "syscw": &io.Writes, "rchar": &io.ReadBytes,
			"wchar": &io.WrittenBytes}[name]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
			found++
		}
	}
	if found != 4 {
		return nil
	}
	return &io
}

// watch follows the program's stops and its end.
func (c *Child) watch() {
	defer c.rescue()
	pid := c.spawned.pid
	if c.spawned.keeper != 0 {
		for {
			_, sig, ok := c.spawned.receive()
			if !ok {
				break
			}
			c.stopped(syscall.Signal(sig))
		}
		unix.Close(c.spawned.sock)
		wait(c.spawned.keeper) // now the program is our child
	}
	for {
		// Look without reaping, then reap under the lock, so that no signal goes to a pid that is another's.
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil); err != nil &&
			err != unix.EINTR {
			break
		}
		if io := ioOf(pid); io != nil {
			c.io = io
		}
		var status unix.WaitStatus
		c.mu.Lock()
		n, err := unix.Wait4(pid, &status, unix.WNOHANG|unix.WUNTRACED, &c.usage)
		c.gone = n == pid && !status.Stopped()
		gone := c.gone
		c.mu.Unlock()
		if gone {
			c.status = status
			break
		}
		if err == nil && n == pid {
			c.stopped(status.StopSignal())
		}
	}
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(c.ended, one[:])
	close(c.dead)
}

// expire ends the tree when the time is up.
func (c *Child) expire() {
	defer close(c.expired)
	defer c.rescue()
	c.mu.Lock()
	c.timedOut = !c.gone
	out := c.timedOut
	c.mu.Unlock()
	if out {
		c.killTree(c.cmd.Grace)
	}
}

// Ended is closed when the program itself has ended, before the rest of its output was passed on.
func (c *Child) Ended() <-chan struct{} { return c.dead }

// Times is the CPU time of the program and the descendants it waited for (wait4(2)), once it has Ended.
func (c *Child) Times() (user, system time.Duration) {
	return time.Duration(c.usage.Utime.Nano()), time.Duration(c.usage.Stime.Nano())
}

// Wait returns when the program has ended, its output was passed on and the terminal is as it was. What the program
// left running can hold its output open: that is waited for at most two seconds.
func (c *Child) Wait() Result {
	c.once.Do(func() { c.result = c.wait() })
	return c.result
}

func (c *Child) wait() Result {
	<-c.dead
	if c.timer != nil && !c.timer.Stop() {
		<-c.expired
	}
	r := Result{
		TimedOut: c.timedOut,
		Exited:   c.status.Exited(),
		MaxRSS:   peak(c.usage.Maxrss, c.ourPeak),
		IO:       c.io,
		Orphans:  c.orphans,
	}
	r.User, r.System = c.Times()
	if r.Exited {
		r.Code = c.status.ExitStatus()
		r.Status = r.Code
	} else {
		r.Signal = c.status.Signal()
		r.Status = 128 + int(r.Signal)
	}
	if r.TimedOut {
		r.Status = statusTimeout
	}
	for _, s := range c.streams {
		<-s.done
		if r.OutputErr == nil {
			r.OutputErr = s.err
		}
	}
	close(c.quit)
	<-c.forwarded
	c.term.close()
	signal.Stop(c.signals)
	unix.Close(c.ended)
	for _, p := range c.reap() {
		r.Left = append(r.Left, p.pid)
		setStranger(p.identity(), true)
	}
	setStranger(c.root, false)
	setStranger(c.keeper, false)
	return r
}

// peak turns ru_maxrss, in KiB, into bytes. The kernel counts what the child shared with us before exec as its own,
// so a figure no larger than our peak at that time says nothing of the program.
func peak(kib, ours int64) int64 {
	if kib <= ours {
		return 0
	}
	return kib << 10
}

// residentPeak is VmHWM of /proc/self/status, in KiB (proc_pid_status(5)); unlike our own ru_maxrss it holds nothing
// of the process that started us. Unreadable, it is larger than any figure.
func residentPeak() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
	fields := strings.Fields(rest)
	if len(fields) > 0 {
		if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			return kib
		}
	}
	return math.MaxInt64
}
