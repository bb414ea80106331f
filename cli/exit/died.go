package exit

import (
	"os/signal"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DieOf ends cg by a signal, as the program that it measured was ended, without a core
// file. It returns where the signal does not end a process, such as the first of a
// container.
func DieOf(s unix.Signal) {
	runtime.LockOSThread()
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	signal.Reset(s)
	// The default action, in place of the Go runtime's handler (rt_sigaction(2)): handler,
	// flags, restorer and mask of the kernel's struct are zero.
	var byDefault [4]uint64
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&byDefault)), 0,
		unsafe.Sizeof(byDefault[0]), 0, 0)
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), s)
}
