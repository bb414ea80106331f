package launcher

// #include "spawn.h"
// #include <stdlib.h>
// #include <string.h>
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// program is what spawn starts; see spawn.h. A descriptor of -1 is absent.
type program struct {
	path            string
	args, env       []string
	dir             string
	fds             [3]int
	slave, terminal int
	group           int
	saved, raw      unix.Termios
	before          func() error // on the thread that forks, just before
}

// spawned is a running program. With a pty, keeper is its parent, and each message on sock tells of a stop (see
// spawn.c); without one they are 0 and -1.
type spawned struct{ pid, keeper, sock int }

// spawn forks and executes the program on one locked thread. An error of type syscall.Errno is that of the exec.
func spawn(p program) (spawned, error) {
	s := spawned{sock: -1}
	theirs := -1
	if p.slave >= 0 {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return s, fmt.Errorf("launcher: socketpair: %w", err)
		}
		s.sock, theirs = pair[0], pair[1]
		defer func() {
			if theirs >= 0 {
				unix.Close(theirs)
			}
		}()
	}

	var c C.struct_cg_program
	c.path = C.CString(p.path)
	defer C.free(unsafe.Pointer(c.path))
	if p.dir != "" {
		c.dir = C.CString(p.dir)
		defer C.free(unsafe.Pointer(c.dir))
	}
	c.argv = vector(p.args)
	defer freeVector(c.argv, len(p.args))
	c.envp = vector(p.env)
	defer freeVector(c.envp, len(p.env))
	for i, fd := range p.fds {
		c.fds[i] = C.int(fd)
	}
	c.slave, c.sock, c.terminal, c.group = C.int(p.slave), C.int(theirs), C.int(p.terminal), C.int(p.group)
	// unix.Termios begins as the kernel's struct does and has two fields more.
	C.memcpy(unsafe.Pointer(&c.saved), unsafe.Pointer(&p.saved), C.sizeof_struct_termios)
	C.memcpy(unsafe.Pointer(&c.raw), unsafe.Pointer(&p.raw), C.sizeof_struct_termios)

	var pid, keeper C.pid_t
	var errno C.int
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread ends with the goroutine, so that whatever
		// before ties to the thread and its children meets no other child.
		runtime.LockOSThread()
		if p.before != nil {
			p.before() // its failure is its owner's to report
		}
		errno = C.cg_spawn(&c, &pid, &keeper)
	}()
	<-done

	s.pid, s.keeper = int(pid), int(keeper)
	if errno == 0 && s.keeper != 0 {
		unix.Close(theirs)
		theirs = -1
		var first int
		s.pid, first, _ = s.receive()
		errno = C.int(first)
		if s.pid == 0 {
			wait(s.keeper)
			if errno == 0 {
				errno = C.int(syscall.ECHILD) // the keeper was killed before it could speak
			}
		}
	}
	if errno != 0 {
		if s.sock >= 0 {
			unix.Close(s.sock)
		}
		return s, syscall.Errno(errno)
	}
	return s, nil
}

// receive returns the keeper's next message; false when it has ended.
func (s spawned) receive() (pid, value int, ok bool) {
	var m C.struct_cg_message
	b := unsafe.Slice((*byte)(unsafe.Pointer(&m)), unsafe.Sizeof(m))
	for {
		n, err := unix.Read(s.sock, b)
		if err == unix.EINTR {
			continue
		}
		return int(m.pid), int(m.value), err == nil && n == len(b)
	}
}

// wait reaps a child of no interest.
func wait(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// vector makes a C array of C strings, ended by a null pointer.
func vector(list []string) **C.char {
	p := (**C.char)(C.calloc(C.size_t(len(list)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, s := range list {
		unsafe.Slice(p, len(list))[i] = C.CString(s)
	}
	return p
}

func freeVector(p **C.char, n int) {
	for _, s := range unsafe.Slice(p, n) {
		C.free(unsafe.Pointer(s))
	}
	C.free(unsafe.Pointer(p))
}

// descriptor is the number of f, or -1 when f is closed.
func descriptor(f *os.File) int {
	fd := int(f.Fd())
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
		return -1
	}
	return fd
}

// Closed says whether standard descriptor 0, 1 or 2 was closed when this process started. The Go runtime puts
// /dev/null in its place.
func Closed(fd int) bool { return C.cg_closed(C.int(fd)) != 0 }
