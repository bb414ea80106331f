package amdsmi

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"cg/nemb"
	"cg/nemb/sensor"
)

// names are those of the library, in the order in which they are tried: the first is there where
// it is meant to be linked against, the others are those of ROCm 7, 6.4, 6 and 5.7.
var names = []string{"libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24",
	"libamd_smi.so.23", "/opt/rocm/lib/libamd_smi.so"}

// begun counts those that have AMD SMI initialized: the library does not count, and one shutdown
// ends it for all.
var begun struct {
	mu sync.Mutex
	n  int
}

// begin initializes AMD SMI, where nobody did.
func begin() error {
	begun.mu.Lock()
	defer begun.mu.Unlock()
	if begun.n == 0 {
		if err := answered("initialize", C.cg_amdsmi_init()); err != nil {
			return err
		}
	}
	begun.n++
	return nil
}

// end shuts AMD SMI down, where nobody else has it.
func end() error {
	begun.mu.Lock()
	defer begun.mu.Unlock()
	if begun.n--; begun.n > 0 {
		return nil
	}
	return answered("shut down", C.cg_amdsmi_shut_down())
}

// library is AMD SMI, begun once and ended with its last user.
type library struct {
	power     layout
	processes list
	mu        sync.Mutex
	users     int
}

func (l *library) use() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
}

func (l *library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users == 0 {
		return end()
	}
	return nil
}

// open loads the library: the one that the dynamic linker finds, or lib/libamd_smi.so below a
// root that is not the live machine. It begins with one user.
func open(root nemb.Root) (*library, error) {
	tried := names
	if root.Dir != "" {
		tried = []string{filepath.Join(root.Dir, "lib", names[0])}
		if _, err := os.Stat(tried[0]); errors.Is(err, fs.ErrNotExist) {
			return nil, sensor.Absent(fmt.Errorf("amdsmi: %s: no such file", tried[0]))
		}
	}
	if err := load(tried); err != nil {
		return nil, err
	}
	if err := begin(); err != nil {
		var refused *answer
		if errors.As(err, &refused) && refused.noDriver() {
			return nil, sensor.Absent(err)
		}
		return nil, sensor.Fixable(err)
	}
	l := &library{users: 1}
	var version [C.CG_AMDSMI_VERSION]C.uint32_t
	if err := answered("version of the library", C.cg_amdsmi_version(&version[0])); err != nil {
		return nil, errors.Join(sensor.Fixable(err), l.Close())
	}
	l.power, l.processes = layoutOf(uint32(version[0]), uint32(version[1])), listOf(uint32(version[0]))
	return l, nil
}

// load loads the first of the files that is there.
func load(tried []string) error {
	runtime.LockOSThread() // whose dlerror it is
	defer runtime.UnlockOSThread()
	absent := ""
	for _, path := range tried {
		name := C.CString(path)
		reason := C.cg_amdsmi_load(name)
		C.free(unsafe.Pointer(name))
		if reason == nil {
			return nil
		}
		text := C.GoString(reason)
		if !strings.Contains(text, "No such file") {
			return sensor.Fixable(fmt.Errorf("amdsmi: %s: install ROCm's amd-smi-lib anew, or leave amdsmi out with -s",
				text))
		}
		if absent == "" {
			absent = text
		}
	}
	return sensor.Absent(fmt.Errorf("amdsmi: %s", absent))
}

// layout is where a version of the library has powers in amdsmi_power_info_t, in words of 32 bits;
// -1 for one that it does not have.
type layout struct{ current, average int }

// layoutOf is the layout of a version. Up to 24 the first number is the year, and the second the
// major version; from ROCm 6.4 on the first is the major version, 25 and more.
//
//	23.2 (ROCm 5.7)          average
//	23.4 to 24 (ROCm 6.0)    current, average
//	25 (ROCm 6.4) and later  socket (64 bits, of hosts only), current, average
func layoutOf(first, second uint32) layout {
	switch {
	case first > 24:
		return layout{2, 3}
	case first == 24 || second >= 4:
		return layout{0, 1}
	}
	return layout{-1, 0}
}

// answer is what AMD SMI answered to one call: an amdsmi_status_t.
type answer struct {
	what string // gpu-amd-1: energy
	code uint32
}

const (
	notSupported     = 2
	notYet           = 3
	noFunctionInside = 5
	noPermission     = 10
	driverNotLoaded  = 34
	noDriver         = 51
)

// The words are ours: amdsmi_status_code_to_string is one more function that may be missing.
var words = map[uint32]string{
	1: "invalid", notSupported: "the GPU does not tell it", notYet: "the library does not know it yet",
	4: "a library that it needs is missing", noFunctionInside: "a library that it needs is too old",
	6: "the DRM driver does not answer", 7: "the driver refuses it", 8: "timed out",
	noPermission: "denied: the user needs access to /dev/kfd and /dev/dri/render* (groups render and video)",
	12:           "the file of the driver cannot be read", 14: "the file of the driver cannot be read",
	30: "busy", 31: "not found",
	32: "not initialized", driverNotLoaded: "the driver (amdgpu) is not loaded", 40: "no data",
	noDriver: "the driver is not there", C.CG_AMDSMI_NO_FUNCTION: "the library has no such function",
}

func (e *answer) Error() string {
	text := words[e.code]
	if text == "" {
		text = "error"
	}
	return fmt.Sprintf("amdsmi: %s: %s (AMD SMI %d)", e.what, text, e.code)
}

// noDriver tells whether the machine has no AMD GPU that works.
func (e *answer) noDriver() bool {
	return e.code == driverNotLoaded || e.code == noDriver || e.code == 31
}

// never tells whether a GPU will never answer.
func (e *answer) never() bool {
	return e.code == notSupported || e.code == notYet || e.code == C.CG_AMDSMI_NO_FUNCTION || e.code == 1
}

func answered(what string, code C.uint32_t) error {
	if code == 0 {
		return nil
	}
	return &answer{what, uint32(code)}
}

// gpu is one device.
type gpu struct {
	lib    *library
	id     string // gpu-amd-0
	handle unsafe.Pointer
}

// mostGPUs is how many GPUs of a machine are known; one may have 8 cards with 8 partitions each.
const mostGPUs = 128

// gpus lists the devices.
func (l *library) gpus() ([]*gpu, error) {
	var handles [mostGPUs]unsafe.Pointer
	n := C.uint32_t(mostGPUs)
	if err := answered("list the GPUs", C.cg_amdsmi_gpus(&handles[0], &n)); err != nil {
		return nil, sensor.Fixable(err)
	}
	if n == 0 {
		return nil, fmt.Errorf("amdsmi: the driver knows no GPU: %w", fs.ErrNotExist)
	}
	var all []*gpu
	for i, handle := range handles[:n] {
		all = append(all, &gpu{lib: l, id: fmt.Sprintf("gpu-amd-%d", i), handle: handle})
	}
	return all, nil
}

// energy is the counter, in microjoules.
func (g *gpu) energy() (float64, error) {
	var microjoules C.double
	err := answered(g.id+": energy", C.cg_amdsmi_energy(g.handle, &microjoules))
	return float64(microjoules), err
}

// known tells whether a number of the library is one: what it does not know has all bits set, of
// 16 or of 32.
func known(v C.uint32_t) bool { return v != math.MaxUint32 && v != math.MaxUint16 }

// watts is the power of the card now (MI300 and later) or as the firmware averages it.
func (g *gpu) watts() (float64, error) {
	var info [C.CG_AMDSMI_POWER]C.uint32_t
	if err := answered(g.id+": power", C.cg_amdsmi_power(g.handle, &info[0])); err != nil {
		return math.NaN(), err
	}
	for _, at := range []int{g.lib.power.current, g.lib.power.average} {
		if at >= 0 && info[at] != 0 && known(info[at]) {
			return float64(info[at]), nil
		}
	}
	return math.NaN(), &answer{g.id + ": power", notSupported}
}

// Sensors of temperature (amdsmi_temperature_type_t).
const (
	edge    = 0
	hotspot = 1
)

// temperature is that of the edge, or of the hottest point where the card has no sensor there
// (MI300), in degrees Celsius. The library's header speaks of thousandths; the library gives
// degrees. No GPU has a thousand.
func (g *gpu) temperature() (float64, error) {
	var err error
	for _, which := range []C.int{edge, hotspot} {
		var value C.int64_t
		if err = answered(g.id+": temperature", C.cg_amdsmi_temperature(g.handle, which, &value)); err != nil {
			continue
		}
		if value >= 1000 {
			return float64(value) / 1000, nil
		}
		return float64(value), nil
	}
	return math.NaN(), err
}

// activity is a part of amdsmi_engine_usage_t: 0 is graphics and computing, 1 the memory's
// controller, in percent.
func (g *gpu) activity(part int) (float64, error) {
	var usage [C.CG_AMDSMI_ACTIVITY]C.uint32_t
	what := g.id + ": utilisation"
	if err := answered(what, C.cg_amdsmi_activity(g.handle, &usage[0])); err != nil {
		return math.NaN(), err
	}
	if !known(usage[part]) {
		return math.NaN(), &answer{what, notSupported}
	}
	return float64(usage[part]), nil
}

// Clocks (amdsmi_clk_type_t).
const (
	clockOfGraphics = 0
	clockOfMemory   = 4
)

// clock is the clock of now in MHz, the first field of amdsmi_clk_info_t in each version of the library.
func (g *gpu) clock(which C.int) (float64, error) {
	var info [C.CG_AMDSMI_CLOCK]C.uint32_t
	what := g.id + ": clock"
	if err := answered(what, C.cg_amdsmi_clock(g.handle, which, &info[0])); err != nil {
		return math.NaN(), err
	}
	if !known(info[0]) {
		return math.NaN(), &answer{what, notSupported}
	}
	return float64(info[0]), nil
}

// memory is what of the card's memory is in use, in bytes.
func (g *gpu) memory() (float64, error) {
	var bytes C.uint64_t
	if err := answered(g.id+": memory", C.cg_amdsmi_memory(g.handle, &bytes)); err != nil {
		return math.NaN(), err
	}
	return float64(bytes), nil
}
