package nemb

import (
	"slices"
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
	// Instances are those of a device that is divided (MIG), which compute side by side. They stand in for Uses.
	Instances []Instance
	// Method says what Uses or Instances are taken from: NVMLUtilization, AMDSMIProcesses, DCGMInstances,
	// GPMInstances or SliceInstances.
	Method string
	// Quiet tells that no kernel at all ran in the driver's last sample of the device, or in the time of Instances.
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

// What Uses and Instances are taken from (the report's gpu_method).
const (
	NVMLUtilization = "nvml_process_utilization"
	AMDSMIProcesses = "amdsmi_processes"
	DCGMInstances   = "dcgm_instance_activity" // how active each instance was, by DCGM
	GPMInstances    = "gpm_instance_activity"  // the same by NVML (GPM, from Hopper on)
	SliceInstances  = "mig_slices"             // nothing tells that: by the size of instances with processes
)

// Refusal says why a driver does not tell who uses a device.
type Refusal string

// The reasons.
const (
	NotRefused         Refusal = ""
	RefusedUnsupported Refusal = "unsupported" // the device or the driver's version cannot
	RefusedDenied      Refusal = "denied"      // the user may not ask
	RefusedPartitioned Refusal = "mig"         // the device is divided into instances, which the driver does not list
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

// Instance is a part of a device with processors of its own, on which its Members compute. Part is how much of the
// whole device it used, 0 to 1: its share of the processors by the part of the time in which these worked. Lo and Hi
// bound it. An instance without members is one of which it is not known whose processes compute on it.
type Instance struct {
	Part, Lo, Hi float64
	Members      []Member
}

// IsDivided tells that what was used is that of the instances of a divided device (MIG), also where it is in Uses.
func (o *Occupancy) IsDivided() bool {
	return o.Method == DCGMInstances || o.Method == GPMInstances || o.Method == SliceInstances
}

// Used is what each process used: Uses, or its share of each of the Instances, whose bounds are from none to all where
// it is not the only member.
func (o *Occupancy) Used() []Use {
	if len(o.Instances) == 0 {
		return o.Uses
	}
	var all []Use
	add := func(u Use) {
		if i := slices.IndexFunc(all, func(b Use) bool { return b.PID == u.PID }); i >= 0 {
			all[i].Part, all[i].Lo, all[i].Hi = all[i].Part+u.Part, all[i].Lo+u.Lo, all[i].Hi+u.Hi
			return
		}
		all = append(all, u)
	}
	for _, in := range o.Instances {
		sum := 0.0
		for _, m := range in.Members {
			sum += m.Weight
		}
		if len(in.Members) == 0 {
			add(Use{Part: in.Part, Lo: in.Lo, Hi: in.Hi})
		}
		for _, m := range in.Members {
			u := Use{PID: m.PID, Part: in.Part * m.Weight / sum, Hi: in.Hi}
			if len(in.Members) == 1 {
				u.Lo = in.Lo
			}
			add(u)
		}
	}
	return all
}

// Joined is the instance with those members joined that stand under one number, which is theirs together.
func (in Instance) Joined(number func(pid int) int) Instance {
	members := in.Members
	in.Members = nil
	for _, m := range members {
		of := number(m.PID)
		i := slices.IndexFunc(in.Members, func(o Member) bool { return o.PID == of })
		if i < 0 {
			in.Members = append(in.Members, Member{PID: of, Weight: m.Weight})
			continue
		}
		in.Members[i].Weight += m.Weight
	}
	return in
}

// Member is a process that holds a context on an instance. PID is as Context's. Weight is its share of the instance's
// processors, more than 0, in any unit that all members have.
type Member struct {
	PID    int
	Weight float64
}

// Lifetime is for how long kernels of a process have run since it started, with its bounds.
// PID is as Context's.
type Lifetime struct {
	PID          int
	Busy, Lo, Hi time.Duration
}
