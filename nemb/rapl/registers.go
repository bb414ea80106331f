package rapl

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ReadRegister reads a register of a processor from its open /dev/cpu/N/msr.
func ReadRegister(fd int, register int64) (uint64, error) {
	var b [8]byte
	n, err := unix.Pread(fd, b[:], register)
	if err == nil && n != len(b) {
		err = fmt.Errorf("register %#x: reads %d bytes: want 8", register, n)
	}
	var v uint64
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v, err
}
