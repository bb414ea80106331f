package counter

import (
	"math"
	"time"

	"cg/runtimes/sdk/spec"
)

// Energy is an amount of energy in microjoules, the unit of the powercap
// interface (Documentation/power/powercap/powercap.rst, energy_uj).
type Energy uint64

// Joules returns e in joules.
func (e Energy) Joules() float64 { return float64(e) * 1e-6 }

// A Verdict says what happened to a counter between two readings.
type Verdict uint8

const (
	Advanced Verdict = iota // it went on
	Wrapped                 // it went on over its end
	Stale                   // it shows what it showed: no update in between, or no energy
	Reset                   // it started over elsewhere: the energy in between is not known
	Lapped                  // it may have gone round more than once: the energy is not known
	Failed                  // it was not read
)

// Known tells whether the energy between the readings is.
func (v Verdict) Known() bool { return v <= Stale }

// Unread stands for a reading that failed. No counter reads as much.
const Unread Energy = math.MaxUint64

// Powers in watts: MaxWatts is more than any domain of a machine draws
// (eight sockets of 500 W stay below it), sustained more than what has one
// counter that wraps, a processor package, draws for as long as a wrap takes.
const (
	MaxWatts  = spec.ImplausibleW
	sustained = spec.SustainedW
)

// Unwrap returns the energy between two raw readings of a counter that starts
// over at 0 when it reaches wrap (0: never), with elapsed between them. Unless the
// verdict is known, the energy is 0 and means nothing.
//
// A counter that lies lower than before has wrapped if the power that this
// means is plausible, and was reset otherwise; higher by an implausible amount
// is a reset, too. When elapsed is so long that one round more would still
// mean a power below sustained, a second wrap cannot be ruled out and the
// verdict is lapped: with the shortest known round, 65.5 kJ, after 65 s.
func Unwrap(prev, cur, wrap Energy, elapsed time.Duration) (Energy, Verdict) {
	if prev == Unread || cur == Unread {
		return 0, Failed
	}
	if wrap > 0 && (prev >= wrap || cur >= wrap) || wrap == 0 && cur < prev {
		return 0, Reset
	}
	delta, v := cur-prev, Advanced
	switch {
	case cur < prev:
		delta, v = wrap-prev+cur, Wrapped
	case cur == prev:
		v = Stale
	}
	if delta.Joules() > MaxWatts*max(0, elapsed.Seconds()) {
		return 0, Reset
	}
	if wrap > 0 && (delta+wrap).Joules() <= sustained*elapsed.Seconds() {
		return 0, Lapped
	}
	return delta, v
}
