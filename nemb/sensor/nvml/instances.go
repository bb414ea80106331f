package nvml

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"cg/checkpoint"
	"cg/nemb"
)

// partition is what is kept of a GPU that is divided into instances (MIG). Its processors are divided among GPU
// instances, by slices, and those of each among compute instances; each of these is a device to CUDA. NVML has no
// energy, no power and no use by processes of them, but tells which processes compute on which.
type partition struct {
	activity activity
	sought   bool               // activity was looked for
	again    checkpoint.Instant // when it is looked for again, 0 for never
	without  error              // why nothing tells how active instances are
	asked    uint64             // the question before, us since 1970
	ran      map[int]*ran       // the processes of each instance, until an answer is of all of their time
}

// retry is after how long activity is looked for again where it was told, and failed.
const retry = checkpoint.Instant(30 * time.Second)

// ran is an instance as it was listed last, and its processes that compute or have computed on it. over is when one was
// first seen no more, us since 1970; none while it is there.
type ran struct {
	instance
	over map[uint32]uint64
}

// activity tells how active the GPU instances of a GPU are.
type activity interface {
	// since tells how active they were since the call before, and between which moments, in us since 1970. There may
	// be nothing new, or nothing of an instance. known are those that NVML lists.
	since(known []int, micros uint64) (told []active, from, to uint64, err error)
	method() string
	close()
}

// active is how active a GPU instance was: in which part of the time its graphics engine worked, and which part of its
// SMs did, on average; NaN where that is not told. slices is its size, 0 where that is not told.
type active struct {
	id, slices  int
	engine, sms float64
}

// instance is a GPU instance as NVML lists it.
type instance struct {
	slices  int            // 0 where it is not listed itself
	compute map[int]int    // the slices of its compute instances
	runs    map[uint32]int // the compute instance of each process
	device  nvml.Device    // one of its compute instances
}

func newInstance() *instance { return &instance{compute: map[int]int{}, runs: map[uint32]int{}} }

func (in *instance) add(p nvml.ProcessInfo, compute int) {
	if _, is := in.runs[p.Pid]; !is {
		in.runs[p.Pid] = compute
	}
}

// noInstance is the number of a process's instance where it has none.
const noInstance = math.MaxUint32

// listInstances lists the GPU instances that this process may see, and those on which any of running does.
func (s *gpuEnergy) listInstances(o *nemb.Occupancy, running []nvml.ProcessInfo) (map[int]*instance, error) {
	all := map[int]*instance{}
	of := func(id int) *instance {
		if all[id] == nil {
			all[id] = newInstance()
		}
		return all[id]
	}
	var most int
	err := s.gpu.ask("instances", func(d nvml.Device) (code nvml.Return) {
		most, code = d.GetMaxMigDeviceCount()
		return code
	})
	if err != nil {
		return nil, err
	}
	for i := range most {
		device, code := s.gpu.device.GetMigDeviceHandleByIndex(i)
		if code != nvml.SUCCESS { // numbers may be free
			continue
		}
		id, code := device.GetGpuInstanceId()
		compute, answer := device.GetComputeInstanceId()
		size, known := device.GetAttributes()
		if code != nvml.SUCCESS || answer != nvml.SUCCESS || known != nvml.SUCCESS || size.GpuInstanceSliceCount == 0 {
			continue
		}
		in := of(id)
		in.device, in.slices = device, int(size.GpuInstanceSliceCount)
		in.compute[compute] = max(1, int(size.ComputeInstanceSliceCount))
		own, code := device.GetComputeRunningProcesses()
		if code != nvml.SUCCESS {
			continue
		}
		for _, p := range own {
			in.add(p, compute)
		}
		if !o.KnowsContexts {
			s.hold(o, own)
		}
	}
	for _, p := range running {
		if p.GpuInstanceId != noInstance {
			of(int(p.GpuInstanceId)).add(p, int(p.ComputeInstanceId))
		}
	}
	return all, nil
}

// recall adds the processes that are over, and ran in the time of which the next answer may be.
func (m *partition) recall(all map[int]*instance, micros uint64) {
	m.keep(all)
	for id, r := range m.ran {
		if all[id] == nil { // it was listed for its processes alone, or is destroyed
			all[id] = newInstance()
			all[id].slices, all[id].compute = r.slices, r.compute
		}
		for pid, compute := range r.runs {
			if _, is := all[id].runs[pid]; !is && r.over[pid] == 0 {
				r.over[pid] = micros
			}
			all[id].add(nvml.ProcessInfo{Pid: pid}, compute)
		}
	}
}

// keep keeps the processes that are there.
func (m *partition) keep(all map[int]*instance) {
	if m.ran == nil {
		m.ran = map[int]*ran{}
	}
	for id, in := range all {
		if len(in.runs) == 0 && m.ran[id] == nil {
			continue
		}
		if m.ran[id] == nil {
			m.ran[id] = &ran{instance: *newInstance(), over: map[uint32]uint64{}}
		}
		r := m.ran[id]
		if in.slices > 0 {
			r.slices, r.compute = in.slices, in.compute
		}
		for pid, compute := range in.runs {
			r.runs[pid] = compute
			delete(r.over, pid)
		}
	}
}

// forget forgets the processes that were over at a moment, up to which the answers are.
func (m *partition) forget(micros uint64) {
	for id, r := range m.ran {
		for pid, over := range r.over {
			if over <= micros {
				delete(r.over, pid)
				delete(r.runs, pid)
			}
		}
		if len(r.runs) == 0 {
			delete(m.ran, id)
		}
	}
}

// members are the processes that compute on an instance. They share it by the slices of their compute instances, and
// those of one by their utilisation, where the driver tells that of instances, or else alike.
func (s *gpuEnergy) members(in *instance) []nemb.Member {
	beside := map[int]int{}
	for _, compute := range in.runs {
		beside[compute]++
	}
	used := map[uint32]float64{}
	if len(in.runs) > 1 && in.device != nil {
		if samples, code := utilization(in.device, s.who.last); code == nvml.SUCCESS {
			for _, u := range samples {
				used[u.Pid] = float64(u.SmUtil)
			}
		}
	}
	var all []nemb.Member
	for _, pid := range slices.Sorted(maps.Keys(in.runs)) {
		compute := in.runs[pid]
		weight := float64(max(1, in.compute[compute])) / float64(beside[compute])
		if len(used) > 0 {
			weight = max(used[pid], useRounding)
		}
		all = append(all, nemb.Member{PID: s.who.number(pid), Weight: weight})
	}
	return all
}

// errNoInstances says that a GPU is in MIG mode, and has no instances that this process may see.
var errNoInstances = errors.New("nvml: the driver lists no instance of the GPU: make some (sudo nvidia-smi mig -cgi " +
	"... -C), or run cg outside of the container")

// instances tells what the instances of a GPU used since it was asked before: by how active they were, or else by the
// size of those that have processes.
func (s *gpuEnergy) instances(o *nemb.Occupancy, running []nvml.ProcessInfo, micros uint64) {
	everything := o.KnowsContexts // all processes of the GPU are told, not only those of instances that are seen
	all, err := s.listInstances(o, running)
	if err == nil && len(all) == 0 && (len(running) > 0 || !everything) {
		err = errNoInstances
	}
	if err != nil {
		o.Refused, o.Err = nemb.RefusedPartitioned, err
		return
	}
	p := partitioned{gpuEnergy: s, all: all, known: numbers(all), everything: everything, unseen: s.slices()}
	s.who.mig.recall(all, micros)
	p.whole = p.unseen
	for _, in := range all {
		p.unseen -= in.slices
	}
	p.unseen = max(0, p.unseen)
	if !p.byActivity(o, micros) {
		p.bySlices(o, micros)
	}
	if o.To > o.From {
		s.who.mig.forget(micros - uint64(o.At-o.To)/1000)
	}
	s.who.last = micros
	s.who.mig.asked = micros
}

// slices is how many the GPU has: as many as instances of the smallest size.
func (s *gpuEnergy) slices() int {
	n, code := s.gpu.device.GetMaxMigDeviceCount()
	if code != nvml.SUCCESS {
		return 0
	}
	return n
}

// partitioned is what is known of a GPU's instances when it is asked.
type partitioned struct {
	*gpuEnergy
	all           map[int]*instance
	known         []int // those that NVML lists
	whole, unseen int   // slices
	everything    bool  // there are no other processes
}

// part is how much of the GPU so many slices are.
func (p *partitioned) part(slices float64) float64 {
	if p.whole == 0 {
		return 0
	}
	return min(1, slices/float64(p.whole))
}

// instant is a moment of NVML's clock.
func instant(o *nemb.Occupancy, micros, us uint64) checkpoint.Instant {
	return o.At - checkpoint.Instant(int64(micros)-int64(us))*1000
}

// bySlices takes each instance with processes for one that used all of its slices. Where that is one alone, all that
// the GPU does not draw idle is its own; else nothing bounds how much each used.
func (p *partitioned) bySlices(o *nemb.Occupancy, micros uint64) {
	mig := &p.who.mig
	o.Method, o.Err = nemb.SliceInstances, mig.without
	if mig.asked == 0 {
		mig.asked = micros
	}
	o.From, o.To, o.KnowsUses = instant(o, micros, mig.asked), o.At, true
	for _, id := range numbers(p.all) {
		in := p.all[id]
		if len(in.runs) == 0 {
			continue
		}
		size := nemb.Instance{Part: p.part(float64(in.slices)), Hi: p.part(float64(in.slices)), Members: p.members(in)}
		if in.slices == 0 { // a container hides it
			size.Part, size.Hi = p.part(1), p.part(float64(p.unseen))
		}
		o.Instances = append(o.Instances, size)
	}
	switch {
	case p.everything && len(o.Instances) == 0:
		o.Quiet = true
	case p.everything && len(o.Instances) == 1:
		o.Instances[0].Lo = o.Instances[0].Part
	case p.everything || p.unseen == 0:
	case len(o.Instances) == 0:
		o.KnowsUses, o.Refused = false, nemb.RefusedDenied
		o.Err = errors.New("nvml: this user may not ask for the processes of all instances")
	default:
		o.Instances = append(o.Instances, nemb.Instance{Hi: p.part(float64(p.unseen))})
	}
}

// byActivity takes what each instance used from how active it was.
func (p *partitioned) byActivity(o *nemb.Occupancy, micros uint64) bool {
	mig := &p.who.mig
	if !mig.sought || mig.activity == nil && mig.again != 0 && o.At >= mig.again {
		mig.activity, mig.without = p.findActivity()
		if mig.again != 0 || errors.Is(mig.without, errUnknown) {
			mig.again = o.At + retry
		}
		mig.sought = true
	}
	if mig.activity == nil {
		return false
	}
	told, from, to, err := mig.activity.since(p.known, micros)
	if err != nil {
		failed := mig.activity.method()
		mig.activity.close()
		mig.again = o.At + retry
		if mig.activity, mig.without = p.otherActivity(failed, err); mig.activity == nil {
			return false
		}
		told, from, to, err = mig.activity.since(p.known, micros)
	}
	if err != nil {
		mig.activity.close()
		mig.activity, mig.without, mig.again = nil, err, o.At+retry
		return false
	}
	o.Method, o.KnowsUses = mig.activity.method(), true
	p.returnToDCGM(o.At)
	o.From, o.To = instant(o, micros, from), instant(o, micros, to)
	p.meet(o, told)
	if to > from {
		told = p.complete(told)
	}
	seen := 0.0
	o.Quiet = true
	for _, a := range told {
		used, size := p.used(a)
		seen += size
		unknown := math.IsNaN(a.engine) && (len(used.Members) > 0 || !p.everything)
		if used.Part > 0 || len(used.Members) > 0 || unknown {
			o.Instances = append(o.Instances, used)
		}
		o.Quiet = o.Quiet && used.Part == 0 && !unknown
	}
	all := p.everything || o.Method == nemb.DCGMInstances
	if rest := p.part(float64(p.whole) - seen); !all && rest > 0 && !o.Quiet {
		o.Instances = append(o.Instances, nemb.Instance{Hi: rest})
	}
	return true
}

// numbers are those of instances, in their order.
func numbers(all map[int]*instance) []int { return slices.Sorted(maps.Keys(all)) }

// complete adds the instances that have processes, and of which nothing was told.
func (p *partitioned) complete(told []active) []active {
	for _, id := range numbers(p.all) {
		if len(p.all[id].runs) > 0 && !slices.ContainsFunc(told, func(a active) bool { return a.id == id }) {
			told = append(told, active{id: id, engine: math.NaN(), sms: math.NaN()})
		}
	}
	return told
}

// meet looks again for the processes of instances that were active without any: some may have begun since they were
// listed.
func (p *partitioned) meet(o *nemb.Occupancy, told []active) {
	alone := func(a active) bool { return a.engine > 0 && (p.all[a.id] == nil || len(p.all[a.id].runs) == 0) }
	if !slices.ContainsFunc(told, alone) {
		return
	}
	var fresh nemb.Occupancy
	running := p.contexts(&fresh)
	all, err := p.listInstances(&fresh, running)
	if err != nil {
		return
	}
	p.who.mig.keep(all)
	for id, in := range all {
		if p.all[id] == nil {
			p.all[id] = in
		}
		for pid, compute := range in.runs {
			p.all[id].add(nvml.ProcessInfo{Pid: pid}, compute)
		}
	}
	o.Contexts = append(o.Contexts, slices.DeleteFunc(fresh.Contexts, func(c nemb.Context) bool {
		return slices.ContainsFunc(o.Contexts, func(k nemb.Context) bool { return k.PID == c.PID })
	})...)
}

// used is what an instance used, and its slices. It used no less than the SMs that worked, and no more than all of its
// SMs while any engine did.
func (p *partitioned) used(a active) (used nemb.Instance, slices float64) {
	in := p.all[a.id]
	if in != nil && in.slices > 0 {
		a.slices = in.slices
	}
	slices = max(1, float64(a.slices))
	size := p.part(slices)
	used.Part = size * clamp(a.engine)
	used.Hi = size * clamp(a.engine+useRounding)
	if math.IsNaN(a.engine) {
		used.Part, used.Hi = 0, size
		if a.slices == 0 { // a container hides it
			used.Hi = max(size, p.part(float64(p.unseen)))
		}
	} else if !math.IsNaN(a.sms) {
		used.Lo = size * clamp(min(a.engine, a.sms)-useRounding)
		used.Hi = max(used.Hi, size*clamp(a.sms+useRounding))
	}
	if in != nil {
		used.Members = p.members(in)
	}
	return used, slices
}

func clamp(part float64) float64 { return max(0, min(1, part)) }

// findActivity finds what tells how active the instances of the GPU are: DCGM, which knows those that this process may
// not see, too, or GPM.
func (p *partitioned) findActivity() (activity, error) {
	told, err := newDCGM(p.lib.beside, p.UUID(), p.gpu, p.known)
	if err == nil {
		return told, nil
	}
	told, without := newGPM(p.lib, p.gpu)
	if without == nil {
		return told, nil
	}
	return nil, fmt.Errorf("%w; %w", without, err)
}

// returnToDCGM has DCGM tell from now on where it has failed, GPM has told since, and it is time to look for it again.
func (p *partitioned) returnToDCGM(at checkpoint.Instant) {
	mig := &p.who.mig
	if mig.again == 0 || at < mig.again || mig.activity.method() == nemb.DCGMInstances {
		return
	}
	mig.again = at + retry
	if told, err := newDCGM(p.lib.beside, p.UUID(), p.gpu, p.known); err == nil {
		mig.activity.close()
		mig.activity = told
	}
}

// otherActivity finds what tells it where one way has failed. DCGM that knows no instance may know them when it is
// asked anew.
func (p *partitioned) otherActivity(failed string, err error) (activity, error) {
	switch {
	case errors.Is(err, errUnknown):
		return p.findActivity()
	case failed != nemb.DCGMInstances:
		return nil, err
	}
	told, without := newGPM(p.lib, p.gpu)
	if without == nil {
		return told, nil
	}
	return nil, fmt.Errorf("%w; %w", without, err)
}
