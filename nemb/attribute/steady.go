package attribute

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// steady gives a sample that is not behind the one before it. A clock, an
// energy or a processor time that went backwards stands still instead: nothing
// is then booked for the window, and what comes after counts from there. A
// sample that does not tell of every domain is one whose reading failed.
func (a *Attributor) steady(s nemb.Sample) nemb.Sample {
	behind := false
	if n := len(a.domains); len(s.Energy) != n {
		s.Failed = true
		told := s.Energy
		s.Energy = make([]nemb.Energy, n)
		if a.begun {
			copy(s.Energy, a.prev.Energy)
		}
		copy(s.Energy, told)
		behind = true
	}
	if !a.begun {
		a.count(behind)
		return s
	}
	p := &a.prev
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
	behind = raise(&s.Usage.Other, p.Usage.Other) || behind
	a.count(behind)
	return s
}

func (a *Attributor) count(behind bool) {
	if behind {
		a.Stats.Disordered++
	}
}

// raise lifts a value to the least that it may be.
func raise[T ~int64 | ~uint64](v *T, least T) bool {
	if *v >= least {
		return false
	}
	*v = least
	return true
}

// since is the ticks since the first sample, below 0 for a word before it.
func (a *Attributor) since(at checkpoint.Tick) float64 { return float64(int64(at - a.origin)) }
