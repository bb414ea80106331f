package paths

import "cg/checkpoint"

// Part is the time that a thread spent in a call path, without what was called
// from it.
type Part struct {
	Node  int32
	Ticks uint64
	// Waited is those of Ticks in which the thread is known to have been on no processor. Only
	// who looks from outside tells it; else it is 0.
	Waited uint64
}

// Call is a call of a path that has begun.
type Call struct {
	// Since is when it began; Never for one that came back, from a suspension or on
	// another thread.
	Since checkpoint.Tick
	Node  int32
}

// Never is later than every tick.
const Never checkpoint.Tick = 1 << 62

// Span is a call that is over.
type Span struct {
	Call
	End checkpoint.Tick
}
