package nemb

// #include "sampler.h"
import "C"

import "cg/checkpoint"

// benchTick takes n samples of a sensor's counters as the sampler's thread
// does; test files cannot call C themselves.
func benchTick(s fdSensor, clock checkpoint.Clock, n int) {
	counters := native(s.counters())
	C.cg_bench_tick(&counters[0], C.int(len(counters)), C.int(clock), C.int(n))
}

// benchClock reads the channel's clock n times.
func benchClock(clock checkpoint.Clock, n int) { C.cg_bench_clock(C.int(clock), C.int(n)) }
