package nemb

import "time"

// implausible is a power in watts that no domain of a machine draws: eight
// sockets of 500 W stay below it.
const implausible = 5000

// unwrap returns the energy between two raw readings of a counter that starts
// over at 0 when it reaches wrap (0: never), taken elapsed apart. ok is false
// when the counter was reset: the energy in between is not known. Lower than
// before is a wrap if the power that it means is plausible, else a reset.
//
// A counter that went round more than once in elapsed cannot be told from one
// that did so once; the sampler reads many times per round (the shortest known
// is 65.5 kJ, 3.6 min at 300 W).
func unwrap(prev, cur, wrap Energy, elapsed time.Duration) (delta Energy, ok bool) {
	if cur >= prev {
		return cur - prev, true
	}
	if prev >= wrap || elapsed <= 0 {
		return 0, false
	}
	if delta = wrap - prev + cur; delta.Joules() > implausible*elapsed.Seconds() {
		return 0, false
	}
	return delta, true
}
