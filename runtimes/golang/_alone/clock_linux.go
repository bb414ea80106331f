package codegreen

import (
	"syscall"
	"unsafe"
)

// monotonic reads CLOCK_MONOTONIC, in nanoseconds.
func monotonic() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}
