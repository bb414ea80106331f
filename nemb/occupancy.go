package nemb

import (
	"time"

	"cg/checkpoint"
)

// Occupied is a sensor of one device that runs kernels of its own, such as a GPU, whose
// driver tells which processes use it.
type Occupied interface {
	Sensor
	// Occupants asks the driver what it knows since the Occupants before. It may run beside
	// Read, but not beside itself. What the driver does not tell is in the Occupancy.
	Occupants() Occupancy
}

// LongestUseSample is the longest time over which a driver takes one sample of what
// processes use: NVML's are of 1/6 s to 1 s (nvml.h, nvmlUtilization_t).
const LongestUseSample = time.Second

// Occupancy is what a driver tells of the processes that use a device.
type Occupancy struct {
	At checkpoint.Instant // when it was asked
	// Contexts are the processes that hold a context on the device now, whether they compute
	// or not. Where KnowsContexts is false the driver did not tell.
	Contexts      []Context
	KnowsContexts bool
	// Uses are the processes whose kernels ran between From and To, of which the driver has
	// samples. To is before At, since samples are late. Where KnowsUses is false there are
	// none, and Refused says why.
	Uses      []Use
	From, To  checkpoint.Instant
	KnowsUses bool
	// Method says what Uses are taken from, NVMLUtilization or AMDSMIProcesses.
	Method string
	// Quiet tells that no kernel at all ran in the driver's last sample of the device.
	Quiet bool
	// Lifetimes are what processes have used so far, in accounting mode. Where KnowsLifetimes is
	// false the driver does not account.
	Lifetimes      []Lifetime
	KnowsLifetimes bool
	// AtOnce is set where kernels of several processes run side by side (MPS): the part of the
	// time in which kernels of one ran is then not the part of the device that they used.
	AtOnce  bool
	Refused Refusal // why there are no Uses
	Err     error   // what the driver answered, where it refused
}

// What Uses are taken from (the report's gpu_method).
const (
	NVMLUtilization = "nvml_process_utilization"
	AMDSMIProcesses = "amdsmi_processes"
)

// Refusal says why a driver does not tell who uses a device.
type Refusal string

// The reasons.
const (
	NotRefused         Refusal = ""
	RefusedUnsupported Refusal = "unsupported" // the device or the driver's version cannot
	RefusedDenied      Refusal = "denied"      // the user may not ask
	RefusedPartitioned Refusal = "mig"         // the device is divided into instances, for which the driver tells no use
	RefusedFailed      Refusal = "failed"      // the driver failed
)

// Context is a process that holds a context on a device. PID is 0 where the driver's number
// is not known to be one of this PID namespace.
type Context struct {
	PID    int
	Memory uint64 // bytes of the device's memory, 0 where that is not known
}

// Use is the part of a time in which kernels of a process ran, 0 to 1, with its bounds:
// drivers round it. PID is as Context's.
type Use struct {
	PID          int
	Part, Lo, Hi float64
}

// Lifetime is for how long kernels of a process have run since it started, with its bounds.
// PID is as Context's.
type Lifetime struct {
	PID          int
	Busy, Lo, Hi time.Duration
}
