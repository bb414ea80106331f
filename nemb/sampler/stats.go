package sampler

// #include "sampler.h"
import "C"

import (
	"time"
)

// Stats tells how well the sampler kept its time.
type Stats struct {
	Samples   int           // taken
	Missed    int           // deadlines that had passed when it was their turn
	Gaps      int           // samples returned with Gap set
	Failed    int           // those of them in which a reading failed
	Dropped   int           // samples that found the ring full
	SlowReads int           // samples whose reading took longer than 50 us
	OwnCPU    time.Duration // processor time of the sampler's thread
	Realtime  bool          // the thread runs under SCHED_FIFO
	Slice     bool          // else: in the scheduler's shortest slices
}

// Mechanism says how the thread is scheduled.
func (s Stats) Mechanism() string {
	switch {
	case s.Realtime:
		return "C thread, SCHED_FIFO"
	case s.Slice:
		return "C thread, 0.1 ms slices"
	}
	return "C thread"
}

// Stats may be called at any time, also after Stop.
func (s *Sampler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return s.final
	}
	return s.stats()
}

func (s *Sampler) stats() Stats {
	all := s.spent
	all.Gaps, all.Failed = s.gaps, s.failed
	if s.c == nil {
		return all
	}
	var st C.struct_cg_stats
	C.cg_sampler_stats(s.c, &st)
	all.Samples += int(st.samples)
	all.Missed += int(st.missed)
	all.Dropped += int(st.dropped)
	all.SlowReads += int(st.slow)
	all.OwnCPU += time.Duration(st.cpu)
	all.Realtime, all.Slice = st.scheduling == C.CG_FIFO, st.scheduling == C.CG_SLICE
	return all
}
