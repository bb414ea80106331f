package cupti

// #include "library.h"
import "C"

import (
	"errors"
	"fmt"
	"io/fs"
)

// The kinds of errors, for errors.Is. One that is none of them is of a library that is broken, or of a call
// that was wrong.
var (
	ErrAbsent      = fs.ErrNotExist               // no library, no driver, no GPU
	ErrDenied      = fs.ErrPermission             // the counters are the administrator's
	ErrUnsupported = errors.ErrUnsupported        // this GPU, or this version, cannot
	ErrBusy        = errors.New("used by others") // another program profiles the GPU
	ErrMemory      = errors.New("out of memory")
	ErrMetric      = errors.New("no such metric")
	ErrDevice      = errors.New("no such GPU")
)

// Answer is what CUPTI answered to one call: a CUptiResult (cupti_result.h).
type Answer struct {
	Call string // enable PM sampling on GPU 0
	Code int32
}

const (
	invalidParameter   = 1
	invalidDevice      = 2
	invalidOperation   = 7
	outOfMemory        = 8
	noInterface        = 11
	notCompatible      = 14
	notInitialized     = 15
	invalidMetricName  = 17
	hardwareBusy       = 26
	notSupported       = 27
	virtualDevice      = 33
	denied             = 35
	oldInterfaceInUse  = 36
	legacyNotSupported = 38
	severalSubscribers = 39
	virtualDenied      = 40
	confidential       = 41
	miningCard         = 42
	instanceOfGPU      = 43
	scalableLink       = 44
	subsystem          = 45
	invalidChip        = 46
	unknown            = 999
)

// mend is what makes the counters readable for others than root.
const mend = "run cg as root, or give every user the counters: put " +
	"\"options nvidia NVreg_RestrictProfilingToAdminUsers=0\" into /etc/modprobe.d/nvidia.conf and load the driver " +
	"anew; in a container, start it with --cap-add=SYS_ADMIN"

// words are ours: cuptiGetResultString has names of constants.
var words = map[int32]struct {
	text string
	kind error
}{
	invalidParameter:   {"a parameter is invalid", nil},
	invalidDevice:      {"no such GPU", ErrDevice},
	invalidOperation:   {"another program profiles this GPU, or it is done already", ErrBusy},
	outOfMemory:        {"out of memory", ErrMemory},
	noInterface:        {"this version has no such function", ErrUnsupported},
	notCompatible:      {"this GPU, or its driver, cannot", ErrUnsupported},
	notInitialized:     {"not initialized: the driver, or libnvperf_host.so and libnvperf_target.so, cannot be used", nil},
	invalidMetricName:  {"no such metric", ErrMetric},
	hardwareBusy:       {"another program profiles this GPU (dcgm, Nsight, cuda-gdb): end it first", ErrBusy},
	notSupported:       {"this GPU cannot: PM sampling begins with compute capability 7.5 (Turing)", ErrUnsupported},
	virtualDevice:      {"a virtual GPU cannot", ErrUnsupported},
	denied:             {"denied: " + mend, ErrDenied},
	oldInterfaceInUse:  {"this process profiles with CUPTI's older functions", ErrBusy},
	legacyNotSupported: {"this GPU cannot", ErrUnsupported},
	severalSubscribers: {"another tool uses CUPTI", ErrBusy},
	virtualDenied:      {"denied: ask who runs the host of this virtual GPU to enable profiling", ErrDenied},
	confidential:       {"a GPU in confidential computing cannot", ErrUnsupported},
	miningCard:         {"a mining card (CMP) cannot", ErrUnsupported},
	instanceOfGPU:      {"an instance of a GPU (MIG) cannot", ErrUnsupported},
	scalableLink:       {"GPUs that are linked by SLI cannot", ErrUnsupported},
	subsystem:          {"a GPU in WSL cannot", ErrUnsupported},
	invalidChip:        {"this version knows no such chip", ErrUnsupported},

	C.CG_CUPTI_NO_FUNCTION: {"this version has no such function: install CUPTI of CUDA 12.6 or later", ErrUnsupported},
}

func (a *Answer) Error() string {
	text := words[a.Code].text
	if text == "" {
		text = "it failed inside"
	}
	return fmt.Sprintf("cupti: %s: %s (CUPTI %d)", a.Call, text, a.Code)
}

// Unwrap is the kind of the error, nil for none.
func (a *Answer) Unwrap() error { return words[a.Code].kind }

// answered is the error of an answer, nil for success.
func answered(code C.int32_t, call string, args ...any) error {
	if code == 0 {
		return nil
	}
	return &Answer{fmt.Sprintf(call, args...), int32(code)}
}

// kindError is an error of ours with its kind.
type kindError struct {
	text string
	kind error
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

func kindOf(kind error, format string, args ...any) error {
	return &kindError{fmt.Sprintf(format, args...), kind}
}
