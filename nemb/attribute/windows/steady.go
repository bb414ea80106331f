package windows

import (
	"slices"

	"cg/nemb"
)

// Steady gives a sample that is not behind the one before it. A clock, an
// energy or a processor time that went backwards stands still instead: nothing
// is then booked for the window, and what comes after counts from there. A
// sample that does not have every domain is one whose reading failed.
func (w *Windows) Steady(s nemb.Sample) nemb.Sample {
	behind := false
	if n := len(w.Domains); len(s.Energy) != n {
		s.Failed = true
		given := s.Energy
		s.Energy = make([]nemb.Energy, n)
		if w.begun {
			copy(s.Energy, w.prev.Energy)
		}
		copy(s.Energy, given)
		behind = true
	}
	if w.begun {
		behind = raiseSample(&s, &w.prev) || behind
	}
	if behind {
		w.Stats.Disordered++
	}
	return s
}

// raiseSample lifts what a sample has to what the one before it had.
func raiseSample(s, p *nemb.Sample) (behind bool) {
	own := false // s.Energy is a copy
	for d, e := range p.Energy {
		if s.Energy[d] >= e {
			continue
		}
		if behind = true; !own {
			s.Energy, own = slices.Clone(s.Energy), true
		}
		s.Energy[d] = e
	}
	behind = raise(&s.At, p.At) || behind
	behind = raise(&s.Time, p.Time) || behind
	behind = raise(&s.Usage.Program, p.Usage.Program) || behind
	behind = raise(&s.Usage.Own, p.Usage.Own) || behind
	return raise(&s.Usage.Other, p.Usage.Other) || behind
}

// raise lifts a value to the least that it may be.
func raise[T ~int64 | ~uint64](v *T, least T) bool {
	if *v >= least {
		return false
	}
	*v = least
	return true
}
