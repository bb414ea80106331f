package nemb

import (
	"math"
	"time"

	"cg/runtimes/sdk/spec"
)

// A Verdict says what happened to a counter between two readings.
type Verdict uint8

const (
	advanced Verdict = iota // it went on
	wrapped                 // it went on over its end
	stale                   // it shows what it showed: no update in between, or no energy
	reset                   // it started over elsewhere: the energy in between is not known
	lapped                  // it may have gone round more than once: the energy is not known
	failed                  // it was not read
)

// Known tells whether the energy between the readings is.
func (v Verdict) Known() bool { return v <= stale }

// unread stands for a reading that failed. No counter reads as much.
const unread Energy = math.MaxUint64

// Powers in watts: implausible is more than any domain of a machine draws
// (eight sockets of 500 W stay below it), sustained more than what has one
// counter that wraps, a processor package, draws for as long as a wrap takes.
const (
	implausible = spec.ImplausibleW
	sustained   = spec.SustainedW
)

// Unwrap returns the energy between two raw readings of a counter that starts
// over at 0 when it reaches wrap (0: never), taken elapsed apart. Unless the
// verdict is known, the energy is 0 and means nothing.
//
// A counter that lies lower than before has wrapped if the power that this
// means is plausible, and was reset otherwise; higher by an implausible amount
// is a reset, too. When elapsed is so long that one round more would still
// mean a power below sustained, a second wrap cannot be ruled out and the
// verdict is lapped: with the shortest known round, 65.5 kJ, after 65 s.
func Unwrap(prev, cur, wrap Energy, elapsed time.Duration) (Energy, Verdict) {
	if prev == unread || cur == unread {
		return 0, failed
	}
	if wrap > 0 && (prev >= wrap || cur >= wrap) || wrap == 0 && cur < prev {
		return 0, reset
	}
	delta, v := cur-prev, advanced
	switch {
	case cur < prev:
		delta, v = wrap-prev+cur, wrapped
	case cur == prev:
		v = stale
	}
	if delta.Joules() > implausible*max(0, elapsed.Seconds()) {
		return 0, reset
	}
	if wrap > 0 && (delta+wrap).Joules() <= sustained*elapsed.Seconds() {
		return 0, lapped
	}
	return delta, v
}
