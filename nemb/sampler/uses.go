package sampler

import (
	"math"
	"sync/atomic"

	"cg/checkpoint"
	"cg/nemb"
	"cg/runtimes/sdk/spec"
)

// GPUUse is whose the energy of a GPU was from one moment to another: Program + Other + Idle + Unattributed is all of
// it. Lo and Hi bound the program's, in microjoules; Off is by how much it may be off besides, by chance, in each use
// alone.
type GPUUse struct {
	From, To                           checkpoint.Instant
	Program, Other, Idle, Unattributed nemb.Energy
	Lo, Hi, Off                        float64
	Reason                             int // why there is Unattributed (Config.GPUReasons), 0 for none
}

// GPUState is what is known of a GPU now.
type GPUState struct {
	Asked   bool // its driver is asked who uses it
	Held    bool // the program holds a context on it or held one, or that is not known: else it used nothing
	Awaited bool // the driver tells, late, what processes used, or has told it before
	Reason  int  // why it does not tell it now (Config.GPUReasons), 0 for none
}

// GPUReason is why energy of a GPU is nobody's: its name, and a text that goes on "nothing tells whose it is: ".
type GPUReason struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// aboutUses says where the uses of GPUs are, as JSON.
type aboutUses struct {
	At      int         `json:"at"` // offset
	Slots   int         `json:"slots"`
	Domains []int       `json:"domains"`
	Reasons []GPUReason `json:"reasons"`
}

// uses shows what the program used of GPUs, behind the slots of samples (nemb/RING.md).
type uses struct {
	about *aboutUses  // nil without GPUs
	of    map[int]int // index by domain
	slots int         // offset of the first
	next  uint64
}

// usesRoom is for the digits of an offset.
const usesRoom = 24

func usesOf(domains []nemb.Domain, reasons []GPUReason) uses {
	u := uses{of: map[int]int{}}
	for d := range domains {
		if domains[d].FollowsProcessors() {
			continue
		}
		if u.about == nil {
			u.about = &aboutUses{Slots: spec.GpuSlots, Reasons: reasons}
		}
		u.of[d] = len(u.about.Domains)
		u.about.Domains = append(u.about.Domains, d)
	}
	return u
}

// place puts the uses at an offset, and returns that of what is behind them.
func (u *uses) place(at int) int {
	if u.about == nil {
		return at
	}
	u.about.At = at
	u.slots = at + spec.GpuHeaderBytes + 8*len(u.about.Domains)
	return u.slots + u.about.Slots*8*spec.GpuWords
}

// gpuOf is the ring and a GPU's number in it, nil where readers have none of it. The sampler is locked.
func (s *Sampler) gpuOf(domain int) (r *ring, i int) {
	if s.ring == nil {
		return nil, 0
	}
	i, is := s.ring.uses.of[domain]
	if !is {
		return nil, 0
	}
	return s.ring, i
}

// TellGPU shows the state of a domain's GPU to readers of the ring.
func (s *Sampler) TellGPU(domain int, g GPUState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i := s.gpuOf(domain)
	if r == nil {
		return
	}
	v := uint64(g.Reason) << spec.GpuReasonShift
	for bit, set := range map[uint64]bool{spec.GpuAsked: g.Asked, spec.GpuHeld: g.Held, spec.GpuAwaited: g.Awaited} {
		if set {
			v |= bit
		}
	}
	atomic.StoreUint64(word(r.memory, r.uses.about.At+spec.GpuHeaderBytes+8*i), v)
}

// TellGPUsAsked shows readers of the ring that each driver that is asked was asked at that moment or later. What was
// told before of states is at least as new.
func (s *Sampler) TellGPUsAsked(at checkpoint.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ring != nil && s.ring.uses.about != nil {
		atomic.StoreUint64(word(s.ring.memory, s.ring.uses.about.At+spec.GpuAskedOffset), uint64(at))
	}
}

// TellGPUUse shows readers of the ring whose the energy of a domain's GPU was. Uses of a GPU come in the order of time.
func (s *Sampler) TellGPUUse(domain int, g GPUUse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, i := s.gpuOf(domain)
	if r == nil {
		return
	}
	u := &r.uses
	at := u.slots + int(u.next%uint64(u.about.Slots))*8*spec.GpuWords
	slot := r.memory[at : at+8*spec.GpuWords]
	atomic.StoreUint64(word(slot, 0), 2*u.next+1)
	total := g.Program + g.Other + g.Idle + g.Unattributed
	for n, v := range []uint64{uint64(i), uint64(g.From), uint64(g.To), uint64(total), uint64(g.Program),
		uint64(g.Other), uint64(g.Idle), uint64(g.Unattributed), uint64(max(0, math.Floor(g.Lo))),
		uint64(math.Ceil(max(0, g.Hi))),
		uint64(math.Ceil(max(0, g.Off))), uint64(g.Reason)} {
		atomic.StoreUint64(word(slot, 8+8*n), v)
	}
	atomic.StoreUint64(word(slot, 0), 2*u.next+2)
	u.next++
	atomic.StoreUint64(word(r.memory, u.about.At), u.next)
}
