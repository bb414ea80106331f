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

// runGPU multiplies and adds in registers on the first GPU, for as long or as
// many rounds as asked. The kernel is PTX, which the driver compiles: no CUDA
// toolkit is needed.
func runGPU(c Config) (rounds uint64, err error) {
	if c.Intensity < 1 || c.Intensity > 100 {
		return 0, fmt.Errorf("load: an intensity of %d %%: use 1 to 100", c.Intensity)
	}
	runtime.LockOSThread() // the context belongs to the thread
	defer runtime.UnlockOSThread()
	name := C.CString("libcuda.so.1")
	defer C.free(unsafe.Pointer(name))
	var step *C.char
	if code := C.cg_gpu_open(name, &step); code != 0 {
		if code == C.CG_GPU_ABSENT {
			return 0, fmt.Errorf("%w (%s)", ErrNoGPU, C.GoString(step))
		}
		return 0, fmt.Errorf("load: %s: CUDA error %d", C.GoString(step), code)
	}
	defer C.cg_gpu_close()
	var failed C.int
	rounds = c.repeat(since(time.Now()), time.Sleep, func() {
		if failed == 0 {
			failed = C.cg_gpu_round(&step)
		}
	})
	if failed != 0 {
		return 0, fmt.Errorf("load: %s: CUDA error %d", C.GoString(step), failed)
	}
	return rounds, nil
}
