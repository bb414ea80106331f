// Package cupti calls NVIDIA's CUPTI: its PM sampling, and the host side of its profiler that knows the metrics
// of chips and computes their values.
//
// It takes names of metrics, and images of counters, and gives numbers and the library's own answers. The library is
// found and loaded while cg runs (Open); cg is built without CUDA, and what a version lacks is an error of its own
// (ErrUnsupported). Absent, denied, unsupported, used by others and broken are told apart (errors.go). What the host
// side does needs no GPU. The package keeps no state of a session; package pmsampling does.
//
// Documents: docs.nvidia.com/cupti, "PM Sampling API" and "Profiler Host API".
package cupti

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"cg/checkpoint"
)

// Library is CUPTI, loaded. It is not for several goroutines at a time, but for Timestamp.
type Library struct {
	Path    string // the file, or the name by which the dynamic linker found it
	Version uint32 // as CUPTI counts: 28 is of CUDA 12.9, 130500 of CUDA 13.5

	// Each is an allocation of its own, which holds no pointer of Go's: C is given them.
	c      *C.struct_cg_cupti
	driver *C.struct_cg_cupti
	// noDriver is why the CUDA driver cannot be loaded, nil where it is.
	noDriver error
	root     string

	begun   error // what cuInit answered
	once    sync.Once
	devices int
}

// Open loads the first library that is found and has PM sampling. root is the folder in whose lib/ it is looked for, ""
// for the live machine. What its absence means is in the error: each file that was tried, with the reason.
func Open(root string) (*Library, error) {
	l := &Library{root: root, driver: new(C.struct_cg_cupti)}
	l.noDriver = load(driverBelow(root), true, l.driver)
	var why []string
	for _, path := range candidates(root) {
		err := l.load(path)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, errNotThere) {
			why = append(why, err.Error())
		}
	}
	if len(why) > 0 {
		return nil, kindOf(ErrUnsupported, "cupti: no library that can be used: %s", strings.Join(why, "; "))
	}
	return nil, absent(root)
}

// newLoaded is room for a library.
func newLoaded() *C.struct_cg_cupti { return new(C.struct_cg_cupti) }

// absent says that there is no library, and where it was looked for.
func absent(root string) error {
	where := "CUDA_HOME, the packages of python3, the dynamic linker and /usr/local/cuda"
	if root != "" {
		where = filepath.Join(root, "lib")
	} else if own := os.Getenv("CG_CUPTI"); own != "" {
		where = own + ", which CG_CUPTI names"
	}
	return kindOf(ErrAbsent, "cupti: there is no libcupti.so (looked in %s): install the CUDA toolkit, or "+
		"pip install nvidia-cuda-cupti", where)
}

// errNotThere is the error of a file that is not there.
var errNotThere = errors.New("no such file")

// load loads CUPTI and what it needs. It finds libnvperf by name, so that is loaded before it.
func (l *Library) load(path string) error {
	if strings.Contains(path, "/") {
		if _, err := os.Stat(path); err != nil {
			return errNotThere
		}
	}
	c, ignored := new(C.struct_cg_cupti), new(C.struct_cg_cupti)
	for _, name := range []string{"libnvperf_host.so", "libnvperf_target.so"} {
		if err := load(beside(path, name), true, ignored); err != nil && strings.Contains(path, "/") {
			return fmt.Errorf("%s: it needs %s, which cannot be loaded: %w", path, name, err)
		}
	}
	if err := load(path, false, c); err != nil {
		if !strings.Contains(path, "/") && strings.HasSuffix(err.Error(), "No such file or directory") {
			return errNotThere
		}
		return err
	}
	if c.call[C.CG_ENABLE] == nil || c.call[C.CG_HOST] == nil {
		return fmt.Errorf("%s: it has no PM sampling, which begins with CUDA 12.6", path)
	}
	// From 13.2 on nothing of it works without the driver, and its functions recurse without end.
	if c.call[C.CG_SETS] != nil && l.noDriver != nil {
		return fmt.Errorf("%s: from CUDA 13.2 on CUPTI needs the driver (%v); one of CUDA 12.6 to 13.1 works without "+
			"it", path, l.noDriver)
	}
	var version C.uint32_t
	if err := answered(C.cg_cupti_version(c, &version), "version of %s", path); err != nil {
		return err
	}
	l.Path, l.c, l.Version = path, c, uint32(version)
	return nil
}

// load loads one library.
func load(path string, shared bool, c *C.struct_cg_cupti) error {
	runtime.LockOSThread() // whose dlerror it is
	defer runtime.UnlockOSThread()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	all := C.int(0)
	if shared {
		all = 1
	}
	if reason := C.cg_cupti_load(name, all, c); reason != nil {
		return errors.New(C.GoString(reason))
	}
	return nil
}

// Release is the version of CUDA that the library is of, such as "13.5"; "" for one that is older than 13 and whose
// number does not tell it.
func (l *Library) Release() string {
	if l.Version >= 130000 {
		return fmt.Sprintf("%d.%d", l.Version/10000, l.Version/100%100)
	}
	for version, release := range map[uint32]string{24: "12.6", 26: "12.8", 28: "12.9"} {
		if version == l.Version {
			return release
		}
	}
	return ""
}

// Device is a GPU.
type Device struct {
	Index int
	Name  string // NVIDIA H100 80GB HBM3
	Bus   string // 0000:1b:00.0
	UUID  string // as NVML writes it: GPU-...; "" where CUDA does not tell
	Major int    // compute capability
	Minor int
}

// Samples tells whether the GPU's capability has PM sampling.
func (d Device) Samples() bool { return d.Major > 7 || d.Major == 7 && d.Minor >= 5 }

// Devices lists the GPUs that CUDA sees.
func (l *Library) Devices() ([]Device, error) {
	if err := l.begin(); err != nil {
		return nil, err
	}
	var all []Device
	for i := range l.devices {
		var name, bus [128]C.char
		var capability [2]C.int
		code := C.cg_cuda_device(l.driver, C.int(i), &name[0], &capability[0], &bus[0], C.int(len(name)))
		if code != 0 {
			return all, fmt.Errorf("cuda: GPU %d: the driver does not describe it (CUDA %d)", i, code)
		}
		var uuid [16]C.uint8_t
		d := Device{Index: i, Name: C.GoString(&name[0]), Bus: strings.ToLower(C.GoString(&bus[0])),
			Major: int(capability[0]), Minor: int(capability[1])}
		if C.cg_cuda_uuid(l.driver, C.int(i), &uuid[0]) == 0 {
			d.UUID = UUID(C.GoBytes(unsafe.Pointer(&uuid[0]), 16))
		}
		all = append(all, d)
	}
	return all, nil
}

// UUID writes the 16 bytes of a UUID as NVML does; "" for zeros.
func UUID(b []byte) string {
	if !slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
		return ""
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// begin initializes the CUDA driver, once.
func (l *Library) begin() error {
	l.once.Do(func() {
		if l.noDriver != nil {
			l.begun = kindOf(ErrAbsent, "cuda: no driver: %v", l.noDriver)
			return
		}
		var n C.int
		switch code := C.cg_cuda_begin(l.driver, &n); code {
		case 0:
			l.devices = int(n)
		case 100: // CUDA_ERROR_NO_DEVICE
			l.begun = kindOf(ErrAbsent, "cuda: the driver knows no GPU (CUDA 100): a container has to be started with "+
				"one")
		default:
			l.begun = fmt.Errorf("cuda: the driver does not begin (CUDA %d)", code)
		}
	})
	return l.begun
}

// Initialize begins CUPTI's profiler in this process, for GPU device. It may be called again.
func (l *Library) Initialize(device int) error {
	if err := l.begin(); err != nil {
		return err
	}
	if device < 0 || device >= l.devices {
		return kindOf(ErrDevice, "cuda: there is no GPU %d: there are %d, from 0 on", device, l.devices)
	}
	p := C.struct_cg_cupti_plain{}
	p.size = C.size_t(unsafe.Sizeof(p))
	return answered(C.cg_cupti_call(l.c, C.CG_INITIALIZE, unsafe.Pointer(&p)), "begin profiling")
}

// Chip is the name of a GPU's chip, by which its metrics are known: GH100.
func (l *Library) Chip(device int) (string, error) {
	p := C.struct_cg_cupti_chip{device: C.size_t(device)}
	p.size = C.size_t(unsafe.Sizeof(p))
	err := answered(C.cg_cupti_call(l.c, C.CG_CHIP, unsafe.Pointer(&p)), "chip of GPU %d", device)
	if err != nil || p.name == nil {
		return "", err
	}
	return C.GoString(p.name), nil
}

// Chips lists the chips whose metrics the library knows.
func (l *Library) Chips() ([]string, error) {
	p := C.struct_cg_cupti_chips{}
	p.size = C.size_t(unsafe.Sizeof(p))
	if err := answered(C.cg_cupti_call(l.c, C.CG_CHIPS, unsafe.Pointer(&p)), "list chips"); err != nil {
		return nil, err
	}
	return texts(unsafe.Slice(p.names, p.n)), nil
}

// texts copies texts that are the library's.
func texts(all []*C.char) []string {
	copied := make([]string, len(all))
	for i, text := range all {
		copied[i] = C.GoString(text)
	}
	return copied
}

// Availability is CUPTI's image of the counters that a GPU has free.
func (l *Library) Availability(device int) ([]byte, error) {
	p := C.struct_cg_cupti_availability{device: C.size_t(device)}
	p.size = C.size_t(unsafe.Sizeof(p))
	call := fmt.Sprintf("counters of GPU %d", device)
	err := answered(C.cg_cupti_call(l.c, C.CG_AVAILABILITY, unsafe.Pointer(&p)), "%s", call)
	if err != nil || p.length == 0 {
		return nil, err
	}
	image := make([]byte, p.length)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&image[0])
	p.image = (*C.uint8_t)(&image[0])
	return image, answered(C.cg_cupti_call(l.c, C.CG_AVAILABILITY, unsafe.Pointer(&p)), "%s", call)
}

// Pair is one moment on two clocks.
type Pair struct {
	Mono checkpoint.Instant // CLOCK_MONOTONIC
	GPU  int64              // CUPTI's clock, to which time stamps of samples belong: nanoseconds
	// Uncertainty is how far the two may be apart: half the time that reading both took.
	Uncertainty int64
}

// attempts is how often the clocks are read for a pair; the quickest reading counts.
const attempts = 5

// Clock reads both clocks.
func (l *Library) Clock() (best Pair, err error) {
	for i := range attempts {
		var gpu C.uint64_t
		before := checkpoint.Monotime()
		if err := answered(C.cg_cupti_timestamp(l.c, &gpu), "read the clock"); err != nil {
			return Pair{}, err
		}
		after := checkpoint.Monotime()
		half := int64(after-before)/2 + 1
		if i == 0 || half < best.Uncertainty {
			best = Pair{before + checkpoint.Instant(half), int64(gpu), half}
		}
	}
	return best, nil
}
