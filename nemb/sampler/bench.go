package sampler

// #include "sampler.h"
import "C"

import (
	"unsafe"

	"cg/checkpoint"
	"cg/nemb/counter"
)

// benchTick takes n samples of counters as the sampler's thread
// does; test files cannot call C themselves.
func benchTick(counters []counter.Counter, clock checkpoint.Clock, n int) {
	C.cg_bench_tick((*C.struct_cg_counter)(unsafe.Pointer(&counters[0])), C.int(len(counters)), C.int(clock), C.int(n))
}

// benchClock reads the channel's clock n times.
func benchClock(clock checkpoint.Clock, n int) { C.cg_bench_clock(C.int(clock), C.int(n)) }
