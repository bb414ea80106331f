package sampler

// #include "sampler.h"
import "C"

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"cg/checkpoint"
	"cg/nemb"
)

// heldUp is how long the thread waits for a counter before it goes on without.
const heldUp = 250 * time.Millisecond

// startThread starts the thread and waits for its first sample, without the
// counters that do not answer.
func (s *Sampler) startThread() error {
	var list *C.struct_cg_counter
	if len(s.counters) > 0 {
		list = (*C.struct_cg_counter)(unsafe.Pointer(&s.counters[0]))
	}
	ordinary := C.int(0)
	if s.config.Ordinary {
		ordinary = 1
	}
	epoch := (*C.uint64_t)(unsafe.Pointer(s.config.Epoch))
	for {
		errno := C.cg_sampler_start(&s.c, list, C.int(len(s.counters)),
			C.int64_t(s.config.Interval), C.int(s.config.Clock), ordinary, epoch)
		if errno != 0 {
			s.c = nil
			return fmt.Errorf("sampler: start the thread: %w", syscall.Errno(errno))
		}
		for C.cg_sampler_begun(s.c, C.int64_t(heldUp/2)) == 0 {
			if s.giveUp() {
				break
			}
		}
		if s.c != nil {
			return nil
		}
	}
}

// goOn starts the thread anew where it is held up by a counter. Where it cannot
// be started it is tried again later.
func (s *Sampler) goOn() {
	if s.c == nil || s.giveUp() {
		s.startThread()
		s.startSlow()
	}
}

// endThread has the last sample taken and ends the thread. Where a counter
// holds it up, the last sample is that of the others.
func (s *Sampler) endThread() {
	if s.c == nil && s.startThread() != nil {
		return
	}
	C.cg_sampler_stop(s.c)
	for C.cg_sampler_ended(s.c, C.int64_t(heldUp/2)) == 0 {
		if s.giveUp() {
			s.startSlow()
			if s.startThread() != nil {
				return
			}
			C.cg_sampler_stop(s.c)
		}
	}
	s.take()
	s.spent = s.stats()
	C.cg_sampler_free(s.c)
	s.c = nil
}

// giveUp gives the thread up if a counter holds it up, and leaves that counter
// and those behind the same descriptor to a goroutine of theirs. The reading has
// to have been under way at the last call, too: when all of cg was stopped, or got
// no processor, the thread is not what was held up.
func (s *Sampler) giveUp() bool {
	before := s.reading
	if s.reading = C.cg_sampler_reading(s.c); s.reading == 0 || s.reading != before {
		return false
	}
	s.take()
	spent := s.stats()
	var at C.int
	if C.cg_sampler_give_up(s.c, C.int64_t(heldUp), &at) == 0 {
		return false
	}
	s.c, s.spent = nil, spent
	place := s.places[at]
	slow, from := s.leave(int(at)-place, place)
	if s.first != nil {
		slow.word = from
		s.follow(slow)
	}
	return true
}

// follow has a slow sensor go on where the thread has left its counters: at their
// last readings that succeeded, whether these are in a sample already or not.
func (s *Sampler) follow(slow *slowSensor) {
	n := len(slow.domains)
	raw, at := make([]nemb.Energy, n), make([]checkpoint.Instant, n)
	for i := range raw {
		d := slow.at + i
		raw[i], at[i] = s.raw[d], s.rawAt[d]
		for words := s.waiting; len(words) > 0; words = words[s.stride():] {
			if v := words[C.CG_WORDS+slow.word+i]; v != C.CG_FAILED && v != C.CG_AWAY {
				raw[i], at[i] = nemb.Energy(v), checkpoint.Instant(words[1])
			}
		}
	}
	slow.goOn(raw, at)
}

// startSlow starts the goroutines of slow sensors that are new.
func (s *Sampler) startSlow() {
	for _, slow := range s.slow {
		slow.start()
	}
}
