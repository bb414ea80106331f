package sampler

// #include "sampler.h"
import "C"

import (
	"time"

	"cg/checkpoint"
)

// Horizon is a tick before which no sample will be stamped that the next Poll
// does not return. It makes this sequence exact:
//
//	h := s.Horizon()
//	samples := s.Poll()
//	// drain the channel's events that are earlier than h
//
// Whatever was taken when h was computed and is earlier than h, Poll returns;
// whatever comes later is stamped at h or later. So an event earlier than h
// lies before a sample that this or an earlier Poll returned, or else in the
// one window that is open, after the last of them. In another order it would
// not be exact: a horizon taken after Poll may lie behind a sample that Poll
// did not see.
//
// The bound is the present, or the deadline of the next sample when that has
// passed and the sample is late: then it is converted to ticks along the line
// from the first sample to now, less a margin of 0.1 % of the distance and a
// microsecond. A sample that is held back is a bound, too. Horizon never
// decreases, and Stop keeps it: the last sample is stamped after Stop was
// called.
func (s *Sampler) Horizon() checkpoint.Tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil || s.stopped {
		return s.horizon
	}
	// The deadline first: the sample that it belongs to may be stamped
	// meanwhile, and then h lies before it.
	deadline := checkpoint.Instant(C.cg_sampler_deadline(s.c))
	tick := s.config.Clock.Now()
	now := checkpoint.Monotime()
	h := horizon(deadline, s.first.At, tick, s.first.Time, now)
	s.take()
	s.decide()
	if s.first.Energy == nil && s.first.Time > s.decided {
		h = min(h, s.first.At)
	}
	for words := s.waiting; len(words) > 0; words = words[s.stride():] {
		if checkpoint.Instant(words[1]) > s.decided {
			h = min(h, checkpoint.Tick(words[0]))
			break
		}
	}
	s.horizon = max(s.horizon, h)
	return s.horizon
}

// horizon converts a deadline, given the clocks at the start and now. The tick
// of now was read before its instant.
func horizon(deadline checkpoint.Instant, tick0, tick checkpoint.Tick, time0, now checkpoint.Instant) checkpoint.Tick {
	if now < deadline {
		return tick // tick was read earlier still
	}
	if now-time0 < checkpoint.Instant(time.Millisecond) || tick <= tick0 {
		return tick0
	}
	rate := float64(tick-tick0) / float64(now-time0)
	back := (float64(now-deadline)*1.001 + 1000) * rate
	if back >= float64(tick-tick0) {
		return tick0
	}
	return tick - checkpoint.Tick(back)
}
