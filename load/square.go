package load

// #include <stdlib.h>
// #include "gpu.h"
import "C"

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Square keeps the first GPU that CUDA shows busy for the first of lengths, idle for the second, busy for the third and
// so on. It calls tell with when the GPU computed, in ns of CLOCK_MONOTONIC, some ten milliseconds at a time: where
// this process had to wait for a processor, there are gaps, which are told. library is the driver's, "" for that of the
// machine. The error is ErrNoGPU where there is nothing to compute on.
func Square(library string, lengths []time.Duration, tell func(from, to int64)) error {
	if library == "" {
		library = libcuda
	}
	runtime.LockOSThread() // the context belongs to the thread
	defer runtime.UnlockOSThread()
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var step *C.char
	code := C.cg_gpu_open(name, &step)
	defer C.cg_gpu_close()
	if code == 0 {
		code = C.cg_gpu_round(&step) // the first one waits for the driver
	}
	n := C.int(1)
	if code == 0 {
		from := monotonic()
		code = C.cg_gpu_round(&step)
		n = C.int(min(1000, max(1, int64(10*time.Millisecond)/max(1, monotonic()-from))))
	}
	for i, length := range lengths {
		if code != 0 {
			break
		}
		if i%2 == 1 {
			time.Sleep(length)
			continue
		}
		for end := monotonic() + int64(length); code == 0; {
			from := monotonic()
			if from >= end {
				break
			}
			if code = C.cg_gpu_rounds(n, &step); code == 0 {
				tell(from, monotonic())
			}
		}
	}
	return gpuError(code, step)
}

func monotonic() int64 {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // it cannot fail with memory of ours
	return t.Nano()
}
