package nvml

import (
	"runtime"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/pattern"
)

// useRounding is by how much a utilisation may be off: NVML tells whole percent, and not
// how it rounds.
const useRounding = 0.01

// occupants asks who uses a GPU. Its calls run on a desk of their own, beside Read.
type occupants struct {
	last  uint64 // CPU time stamp of the newest sample that was seen, us since 1970
	clock func() (mono checkpoint.Instant, unixMicros uint64)
	// local tells whether a number of a process is one of this PID namespace.
	local func(pid int) bool
	mig   partition
}

func newOccupants() occupants {
	o := occupants{clock: bothClocks, local: func(int) bool { return true }}
	if account.Nested() {
		o.local = func(pid int) bool { return account.Holds("/proc", pid, deviceFile()) }
	}
	return o
}

// bothClocks reads the clock of cg and that of NVML's time stamps at one moment.
func bothClocks() (checkpoint.Instant, uint64) {
	return checkpoint.Monotime(), uint64(time.Now().UnixMicro())
}

// deviceFile is a file of NVIDIA's that a process with a context has open. The driver translates the numbers of
// processes to those of a PID namespace, but leaves those of processes elsewhere (open-gpu-kernel-modules,
// osFindNsPid), and older drivers translate none.
var deviceFile = pattern.Later(`/nvidia(ctl|-uvm|[0-9]+)$`)

// Occupants asks NVML: utilisation of processes since the last time, contexts, and the stats
// of accounting mode where that is on.
func (s *gpuEnergy) Occupants() nemb.Occupancy {
	var o nemb.Occupancy
	err := s.asking.Ask("nvml: "+s.gpu.id, func() error {
		fresh := s.occupancy()
		o = fresh
		return nil
	})
	if err != nil {
		return nemb.Occupancy{At: checkpoint.Monotime(), Refused: nemb.RefusedFailed, Err: err}
	}
	return o
}

func (s *gpuEnergy) occupancy() nemb.Occupancy {
	at, micros := s.who.clock()
	o := nemb.Occupancy{At: at, Method: nemb.NVMLUtilization}
	if s.who.last == 0 {
		s.who.last = micros
	}
	running := s.contexts(&o)
	if mode, _, code := s.gpu.device.GetMigMode(); code == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE {
		s.instances(&o, running, micros)
		return o
	}
	s.uses(&o, micros)
	if !o.KnowsUses {
		s.lifetimes(&o, micros)
	}
	return o
}

// number is the number of a process as nemb.Context has it.
func (w *occupants) number(pid uint32) int {
	if !w.local(int(pid)) {
		return 0
	}
	return int(pid)
}

// contexts lists the processes that hold contexts: those that compute, those that draw (OpenGL, Vulkan), and MPS's
// clients. What is not told of contexts that draw is not known of any. It gives those that compute.
func (s *gpuEnergy) contexts(o *nemb.Occupancy) []nvml.ProcessInfo {
	var running, drawing, clients []nvml.ProcessInfo
	err := s.gpu.ask("processes", func(d nvml.Device) (code nvml.Return) {
		running, code = d.GetComputeRunningProcesses()
		return code
	})
	if o.KnowsContexts = err == nil; !o.KnowsContexts {
		return nil
	}
	var code nvml.Return
	err = s.gpu.ask("graphics processes", func(d nvml.Device) nvml.Return {
		drawing, code = d.GetGraphicsRunningProcesses()
		return code
	})
	o.KnowsContexts = err == nil || unsupported(code)                   // then the device does not draw
	s.gpu.ask("MPS processes", func(d nvml.Device) (code nvml.Return) { // where it is not told, there is no MPS
		clients, code = d.GetMPSComputeRunningProcesses()
		return code
	})
	o.AtOnce = len(clients) > 0
	s.hold(o, slices.Concat(running, drawing, clients))
	return slices.Concat(running, clients)
}

// hold lists the contexts of processes.
func (s *gpuEnergy) hold(o *nemb.Occupancy, all []nvml.ProcessInfo) {
	seen := map[uint32]bool{}
	for _, p := range all {
		if seen[p.Pid] {
			continue
		}
		seen[p.Pid] = true
		c := nemb.Context{PID: s.who.number(p.Pid)}
		if known := p.UsedGpuMemory; known != ^uint64(0) { // NVML_VALUE_NOT_AVAILABLE
			c.Memory = known
		}
		o.Contexts = append(o.Contexts, c)
	}
}

// utilization asks for the samples of utilisation. Where there are more than there were when go-nvml asked for their
// number, it slices beyond what it has, and is asked again.
func utilization(d nvml.Device, since uint64) (samples []nvml.ProcessUtilizationSample, code nvml.Return) {
	once := func() (again bool) {
		defer func() {
			if e := recover(); e != nil {
				if _, beyond := e.(runtime.Error); !beyond {
					panic(e)
				}
				samples, code, again = nil, nvml.ERROR_INSUFFICIENT_SIZE, true
			}
		}()
		samples, code = d.GetProcessUtilization(since)
		return code == nvml.ERROR_INSUFFICIENT_SIZE
	}
	for range 5 {
		if !once() {
			break
		}
	}
	return samples, code
}

// uses takes the samples of utilisation that are newer than those seen before. NVML gives
// each process the mean of its samples, and says that it found nothing where all were idle
// and where there are no new ones: what the device says of itself tells which it was.
func (s *gpuEnergy) uses(o *nemb.Occupancy, micros uint64) {
	var samples []nvml.ProcessUtilizationSample
	var code nvml.Return
	err := s.gpu.ask("utilisation of processes", func(d nvml.Device) nvml.Return {
		samples, code = utilization(d, s.who.last)
		return code
	})
	var rates nvml.Utilization
	quiet := s.gpu.ask("utilisation", func(d nvml.Device) (code nvml.Return) {
		rates, code = d.GetUtilizationRates()
		return code
	})
	o.Quiet = quiet == nil && rates.Gpu == 0
	instant := func(us uint64) checkpoint.Instant {
		return o.At - checkpoint.Instant(int64(micros)-int64(us))*checkpoint.Instant(time.Microsecond)
	}
	o.From = instant(s.who.last)
	switch {
	case code == nvml.ERROR_NOT_FOUND || err == nil && len(samples) == 0:
		o.To, o.KnowsUses = o.From, true
		if o.Quiet { // else there may be samples of this time later
			o.To, s.who.last = o.At, micros
		}
		return
	case err != nil:
		o.Refused, o.Err = refusal(code), err
		return
	}
	newest := s.who.last
	for _, u := range samples {
		newest = max(newest, min(u.TimeStamp, micros))
	}
	for _, u := range samples {
		part := float64(u.SmUtil) / 100
		use := nemb.Use{
			PID: s.who.number(u.Pid), Part: part, Lo: max(0, part-useRounding), Hi: min(1, part+useRounding),
		}
		if span := float64(newest - s.who.last); span > 0 && u.TimeStamp < newest { // its mean is of a shorter time
			use.Lo *= max(0, float64(u.TimeStamp)-float64(s.who.last)) / span
		}
		o.Uses = append(o.Uses, use)
	}
	o.To, o.KnowsUses, s.who.last = instant(newest), true, newest
}

// refusal says why the utilisation of processes is not told.
func refusal(code nvml.Return) nemb.Refusal {
	switch {
	case unsupported(code):
		return nemb.RefusedUnsupported
	case code == nvml.ERROR_NO_PERMISSION:
		return nemb.RefusedDenied
	}
	return nemb.RefusedFailed
}

// lifetimes reads the stats of accounting mode. They have the part of a process's life in
// which its kernels ran, in whole percent.
func (s *gpuEnergy) lifetimes(o *nemb.Occupancy, micros uint64) {
	var mode nvml.EnableState
	var pids []int
	err := s.gpu.ask("accounting", func(d nvml.Device) (code nvml.Return) {
		if mode, code = d.GetAccountingMode(); code != nvml.SUCCESS || mode != nvml.FEATURE_ENABLED {
			return code
		}
		pids, code = d.GetAccountingPids()
		return code
	})
	if err != nil || mode != nvml.FEATURE_ENABLED {
		return
	}
	o.KnowsLifetimes = true
	for _, pid := range pids {
		var stats nvml.AccountingStats
		err := s.gpu.ask("accounting", func(d nvml.Device) (code nvml.Return) {
			stats, code = d.GetAccountingStats(uint32(pid))
			return code
		})
		if err != nil || stats.GpuUtilization > 100 { // it is gone from the buffer, or has none
			continue
		}
		life := time.Duration(stats.Time) * time.Millisecond
		if stats.IsRunning != 0 {
			life = time.Duration(max(0, int64(micros)-int64(stats.StartTime))) * time.Microsecond
		}
		part := float64(stats.GpuUtilization) / 100
		busy := func(part float64) time.Duration { return time.Duration(part * float64(life)) }
		o.Lifetimes = append(o.Lifetimes, nemb.Lifetime{
			PID: s.who.number(uint32(pid)), Busy: busy(part), Lo: busy(max(0, part-useRounding)),
			Hi: busy(min(1, part+useRounding)),
		})
	}
}
