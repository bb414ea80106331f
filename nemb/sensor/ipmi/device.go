package ipmi

// #include "device.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answerWithin is how long the answer of a BMC is waited for. One request takes it 5 to 100 ms.
const answerWithin = 2 * time.Second

// device is /dev/ipmi0 (linux/ipmi.h).
type device struct {
	fd     int
	number C.long // of the last request
}

func openDevice(path string) (door, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &device{fd: fd}, nil
}

// ask sends a request to the BMC itself, not to one behind it.
func (d *device) ask(function, command byte, data []byte) ([]byte, error) {
	d.number++
	var answer [C.CG_IPMI_MOST]byte
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(&data[0])
	pins.Pin(&answer[0])
	r := C.struct_cg_ipmi{
		fd: C.int(d.fd), function: C.uchar(function), command: C.uchar(command), number: d.number,
		data: (*C.uchar)(unsafe.Pointer(&data[0])), size: C.ushort(len(data)),
		answer: (*C.uchar)(unsafe.Pointer(&answer[0])), within_ms: C.int(answerWithin.Milliseconds()),
	}
	n, err := C.cg_ipmi_ask(&r)
	switch {
	case n >= 0:
		return answer[:n], nil
	case errors.Is(err, unix.ETIMEDOUT):
		return nil, fmt.Errorf("the BMC has not answered within %v", answerWithin)
	case errors.Is(err, unix.ENOTTY):
		return nil, fmt.Errorf("it is no IPMI device: %w", err)
	}
	return nil, fmt.Errorf("asking the BMC: %w", err)
}

func (d *device) close() { unix.Close(d.fd) }
