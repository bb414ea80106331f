// Package dcgm asks NVIDIA's Data Center GPU Manager how active the GPU instances of divided GPUs (MIG) are. It loads
// DCGM's library (libdcgm.so) while cg runs, and connects to the host engine of the machine (nv-hostengine), or, as
// root, starts an engine in this process. Nothing of it is needed where no GPU is divided.
package dcgm

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Names of the library, newest first. What cg uses of it is alike in all.
var names = []string{"libdcgm.so.4", "libdcgm.so.3", "libdcgm.so.2", "libdcgm.so"}

// Engine is a connection to an engine. There is one for each Where.
type Engine struct {
	lib   *C.struct_cg_dcgm
	from  string // whose it is
	where Where
	users int
}

// engines are those that are open.
var (
	mu      sync.Mutex
	engines = map[Where]*Engine{}
)

// Where says which engine is asked.
type Where struct {
	Library  string // a folder; "" for the dynamic linker's
	Address  string // HOST[:PORT] or the path of a socket; "" for 127.0.0.1
	Embedded bool   // without a host engine there, one is started in this process
}

// connecting is for how long a host engine is waited for, in milliseconds.
const connecting = 1000

// Open connects to an engine. The error wraps fs.ErrNotExist where there is no library.
func Open(w Where) (*Engine, error) {
	mu.Lock()
	defer mu.Unlock()
	e := engines[w]
	if e == nil {
		var err error
		if e, err = open(w); err != nil {
			return nil, err
		}
		engines[w] = e
	}
	e.users++
	return e, nil
}

func open(w Where) (*Engine, error) {
	lib, err := load(w.Library)
	if err != nil {
		return nil, err
	}
	e := &Engine{lib: lib, where: w, from: "the host engine at " + w.Address}
	address := w.Address
	if address == "" {
		address, e.from = "127.0.0.1", "the host engine of this machine (nv-hostengine)"
	}
	text := C.CString(address)
	defer C.free(unsafe.Pointer(text))
	code := C.cg_dcgm_connect(lib, text, socket(address), connecting)
	if code != 0 && w.Embedded && w.Address == "" {
		connected := code
		e.from = "an engine in this process"
		if code = C.cg_dcgm_embed(lib); code != 0 {
			err = fmt.Errorf("dcgm: no host engine answers (DCGM %d), and none can be started in this process: %w",
				connected, answer(code))
		}
	} else if code != 0 {
		err = fmt.Errorf("dcgm: %s: %w", e.from, answer(code))
	}
	if err != nil {
		C.cg_dcgm_unload(lib)
		return nil, err
	}
	return e, nil
}

func socket(address string) C.int {
	if strings.HasPrefix(address, "/") {
		return 1
	}
	return 0
}

func load(folder string) (*C.struct_cg_dcgm, error) {
	runtime.LockOSThread() // whose dlerror it is
	defer runtime.UnlockOSThread()
	for _, name := range names {
		if folder != "" {
			if name = filepath.Join(folder, name); missing(name) {
				continue
			}
		}
		path := C.CString(name)
		var lib *C.struct_cg_dcgm
		reason := C.cg_dcgm_load(path, &lib)
		C.free(unsafe.Pointer(path))
		if reason == nil {
			return lib, nil
		}
		if text := C.GoString(reason); !strings.Contains(text, "No such file") {
			return nil, fmt.Errorf("dcgm: %s", text)
		}
	}
	return nil, fmt.Errorf("dcgm: there is no %s: %w", names[0], fs.ErrNotExist)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Engine says whose engine it is.
func (e *Engine) Engine() string { return e.from }

// Close ends the connection with its last user, and the engine if it is in this process.
func (e *Engine) Close() {
	mu.Lock()
	defer mu.Unlock()
	if e.users--; e.users == 0 {
		C.cg_dcgm_unload(e.lib)
		delete(engines, e.where)
	}
}

// Answer is a code of DCGM (dcgm_structs.h, dcgmReturn_t).
type Answer int

// words are ours, as errorString is one more function that may be missing.
var words = map[Answer]string{
	C.CG_DCGM_NO_FUNCTION: "this version has no such function",
	-3:                    "generic error", -4: "out of memory", -5: "not configured", -6: "not supported",
	-7: "it cannot begin",
	-8: "NVML failed", -10: "not initialized", -11: "timed out", -12: "another version",
	-14: "no data", -16: "not watched",
	-17: "no permission", -18: "the GPU is lost", -21: "no engine answers there", -22: "the GPU is not supported",
	-24: "too many", -29: "the engine must run as root", -33: "the profiling module is not loaded",
	-34: "another tool profiles", -36: "the GPU cannot be profiled", -37: "profiling failed (another tool may profile)",
	-44: "the driver is too old", -45: "no such instance", -54: "the engine is paused",
}

func (a Answer) Error() string {
	text := words[a]
	if text == "" {
		text = "error"
	}
	return fmt.Sprintf("%s (DCGM %d)", text, int(a))
}

func answer(code C.int) error {
	if code == 0 {
		return nil
	}
	return Answer(code)
}

// Instance is a GPU instance.
type Instance struct {
	ID     int // NVML's, in its GPU
	Slices int // of the GPU's
	entity uint32
}

// Instances lists the GPU instances of the GPU with a UUID.
func (e *Engine) Instances(uuid string) ([]Instance, error) {
	h := (*C.struct_cg_dcgm_hierarchy)(C.malloc(C.sizeof_struct_cg_dcgm_hierarchy))
	defer C.free(unsafe.Pointer(h))
	if err := answer(C.cg_dcgm_entities(e.lib, h)); err != nil {
		return nil, fmt.Errorf("dcgm: instances: %w", err)
	}
	var all []Instance
	for _, in := range h.entities[:min(int(h.n), len(h.entities))] {
		if in.entity.group == C.CG_DCGM_GPU_INSTANCE && C.GoString(&in.uuid[0]) == uuid {
			all = append(all, Instance{ID: int(in.instance), Slices: int(in.slices), entity: uint32(in.entity.id)})
		}
	}
	return all, nil
}

// Watch is a measurement of GPU instances.
type Watch struct {
	engine    *Engine
	instances map[uint32]int // their numbers by entity
	w         C.struct_cg_dcgm_watch
	since     C.longlong
	samples   *C.struct_cg_dcgm_samples
}

// Watch has the engine measure instances each period, in microseconds: 100,000 at least. The name is that of the
// engine's groups, and no other watch has it.
func (e *Engine) Watch(name string, instances []Instance, period int64) (*Watch, error) {
	w := &Watch{engine: e, instances: map[uint32]int{}}
	ids := make([]C.uint32_t, len(instances))
	for i, in := range instances {
		ids[i], w.instances[in.entity] = C.uint32_t(in.entity), in.ID
	}
	if len(ids) == 0 {
		return nil, errors.New("dcgm: the GPU has no instance")
	}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	fields := []C.uint16_t{C.CG_DCGM_ENGINE, C.CG_DCGM_SMS}
	var err error
	for n := len(fields); n > 0; n-- { // some GPUs have the first alone
		err = answer(C.cg_dcgm_watch(e.lib, text, &ids[0], C.int(len(ids)), &fields[0], C.int(n), C.longlong(period),
			&w.w))
		if err == nil {
			w.samples = (*C.struct_cg_dcgm_samples)(C.calloc(1, C.sizeof_struct_cg_dcgm_samples))
			return w, nil
		}
	}
	return nil, fmt.Errorf("dcgm: watch: %w", err)
}

// Sample is what was measured of an instance in the period that ended at At, in us since 1970: in which part of the
// time its graphics engine worked, or which part of its SMs did, 0 to 1.
type Sample struct {
	ID    int
	At    int64
	SMs   bool // which of the two
	Value float64
}

// Since gives the samples since the call before, in no order.
func (w *Watch) Since() ([]Sample, error) {
	if err := answer(C.cg_dcgm_since(w.engine.lib, &w.w, &w.since, w.samples)); err != nil {
		return nil, fmt.Errorf("dcgm: values: %w", err)
	}
	var all []Sample
	for _, s := range w.samples.samples[:w.samples.n] {
		if id, is := w.instances[uint32(s.entity)]; is {
			all = append(all, Sample{ID: id, At: int64(s.at), SMs: s.field == C.CG_DCGM_SMS, Value: float64(s.value)})
		}
	}
	return all, nil
}

// Close ends the measurement.
func (w *Watch) Close() {
	C.cg_dcgm_unwatch(w.engine.lib, &w.w)
	C.free(unsafe.Pointer(w.samples))
}
