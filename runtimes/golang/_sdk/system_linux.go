package codegreen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// nonblock opens what is no file without waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// mapFile maps a whole file for reading.
func mapFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() < ringHeaderBytes || info.Size() > 1<<32 {
		return nil, fmt.Errorf("%s: not a sample ring", path)
	}
	return syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmap(memory []byte) { syscall.Munmap(memory) }

// alive tells whether there is a process of that number; a zombie is none.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	fields := statOf(pid)
	return fields == nil || !slices.Contains(goneStates, fields[0])
}

func thread() int { return syscall.Gettid() }

// zero is a moment on both clocks: time.Now's reading counts the same
// CLOCK_MONOTONIC from another zero.
var zero, zeroNs = func() (time.Time, int64) {
	best := time.Duration(1 << 62)
	var at time.Time
	var ns int64
	for range 8 {
		var ts syscall.Timespec
		a := time.Now()
		syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&ts)), 0)
		b := time.Now()
		if took := b.Sub(a); took < best {
			best, at, ns = took, a.Add(took/2), ts.Nano()
		}
	}
	return at, ns
}()

// monotonic is CLOCK_MONOTONIC in ns.
func monotonic() int64 { return zeroNs + int64(time.Since(zero)) }

// kernel names the system: "Linux-6.1.0-x86_64".
func kernel() string {
	var u syscall.Utsname
	if syscall.Uname(&u) != nil {
		return ""
	}
	fields := []unsafe.Pointer{unsafe.Pointer(&u.Sysname), unsafe.Pointer(&u.Release), unsafe.Pointer(&u.Machine)}
	texts := make([]string, len(fields))
	for i, p := range fields { // int8 or uint8, as the processor has it
		text, _, _ := bytes.Cut(unsafe.Slice((*byte)(p), len(u.Sysname)), []byte{0})
		texts[i] = string(text)
	}
	return strings.Join(texts, "-")
}

// apart lets a process not have the terminal's signals.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// openOwn opens a file of this user for reading and writing, and makes it. A link,
// and a file of another user, is refused.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || !info.Mode().IsRegular() || int(s.Uid) != os.Getuid() {
			err = fmt.Errorf("%s: not a file of this user", path)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// tryLock locks a file against those who use flock(2) and those who use
// fcntl(2), which is what Java has.
func tryLock(f *os.File) bool {
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return false
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &lock) != nil {
		syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		return false
	}
	return true
}

// raise ends the program by a signal.
func raise(s os.Signal) { syscall.Kill(os.Getpid(), s.(syscall.Signal)) }

var deadly = []os.Signal{syscall.SIGTERM, syscall.SIGINT}

// connectUnix connects to a socket (unix(7)) without waiting.
func connectUnix(path string) (fd int, err error) {
	fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// sendNow sends what fits. full says that nothing does now, and that it may later.
func sendNow(fd int, b []byte) (n int, full bool) {
	for {
		n, err := syscall.SendmsgN(fd, b, nil, nil, syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err == syscall.EAGAIN
		default:
			return n, false
		}
	}
}

func closeSocket(fd int) { syscall.Close(fd) }
