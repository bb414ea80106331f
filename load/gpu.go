package load

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "gpu.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// GPU is the kind that runs on a GPU.
const GPU = "gpu_compute"

// ErrNoGPU says that there is no GPU to compute on: no driver (libcuda.so.1)
// or no device.
var ErrNoGPU = errors.New("load: no NVIDIA GPU that can compute")

// libcuda is the driver's library, as the dynamic linker knows it.
var libcuda = "libcuda.so.1"

// CheckGPU tells whether there is a GPU to compute on: nil, ErrNoGPU, or what
// the driver says is wrong with it.
func CheckGPU() error {
	name := C.CString(libcuda)
	defer C.free(unsafe.Pointer(name))
	var step *C.char
	return gpuError(C.cg_gpu_find(name, &step), step)
}

func gpuError(code C.int, step *C.char) error {
	switch code {
	case 0:
		return nil
	case C.CG_GPU_ABSENT:
		return fmt.Errorf("%w (%s)", ErrNoGPU, C.GoString(step))
	}
	return fmt.Errorf("load: %s: CUDA error %d", C.GoString(step), code)
}

// runGPU multiplies and adds in registers on the first GPU, for as long or as
// many rounds as asked. The kernel is PTX, which the driver compiles: no CUDA
// toolkit is needed.
func runGPU(c Config) (rounds uint64, err error) {
	if c.Intensity < 1 || c.Intensity > 100 {
		return 0, fmt.Errorf("load: an intensity of %d %%: use 1 to 100", c.Intensity)
	}
	if c.Threads > 0 {
		return 0, fmt.Errorf("load: %d threads of %s: it runs on the GPU, and has no threads to choose", c.Threads, GPU)
	}
	runtime.LockOSThread() // the context belongs to the thread
	defer runtime.UnlockOSThread()
	name := C.CString(libcuda)
	defer C.free(unsafe.Pointer(name))
	var step *C.char
	if err := gpuError(C.cg_gpu_open(name, &step), step); err != nil {
		C.cg_gpu_close()
		return 0, err
	}
	defer C.cg_gpu_close()
	var failed C.int
	rounds = c.repeat(since(time.Now()), time.Sleep, func() bool {
		failed = C.cg_gpu_round(&step)
		return failed == 0
	})
	if failed != 0 {
		return 0, gpuError(failed, step)
	}
	return rounds, nil
}
