package habits

import "time"

// Lengths are how long the load is busy, idle, busy again and so on: some twelve seconds, always the same. Most are
// about as long as the periods that GPUs have, so that many updates tell of a time in which the load changes; some are
// longer, for readings that tell the mean of a second.
func Lengths() (all []time.Duration) {
	state := uint32(1)
	for i := range 101 {
		state = state*1664525 + 1013904223 // a linear congruential generator: the same load each time
		length := 30 + time.Duration(state>>16)%120
		if i%12 == 6 {
			length += 350
		}
		all = append(all, length*time.Millisecond)
	}
	return all
}
