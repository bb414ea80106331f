package sampler

import (
	"time"

	"cg/nemb"
	"cg/nemb/counter"
)

// Faults tells what happened to the counter of one domain besides counting.
type Faults struct {
	Domain string
	Wraps  int // it started over at its end: counted, no fault
	Failed int // readings that failed
	Resets int // it started over elsewhere
	Laps   int // it may have gone round more than once between two samples
	// Unknown is the time whose energy no reading reports: of resets, laps, and
	// from the last good reading on where none came after a failed one.
	Unknown time.Duration
	// Late is the time whose energy a later reading reported, as a sum: of readings
	// that failed and were followed by a good one.
	Late time.Duration
	// Hung is for how long it had not answered at the end, 0 if it did.
	Hung time.Duration
	// Slowest is the reading that took longest, of those that were read by themselves.
	Slowest time.Duration
	// Still is the longest time for which the counter did not move.
	Still time.Duration
	// Jump is the most by which the counter moved from one reading to the next.
	Jump nemb.Energy

	missed bool // the last reading failed
}

// Any tells whether anything but wraps happened. The energy of such a domain
// is not simply measured any more: it is put together from what was read.
func (f Faults) Any() bool { return f.Failed+f.Resets+f.Laps > 0 || f.Hung > 0 || f.Stuck() }

// stuck is the time after which a counter of the machine's energy that does
// not move is taken for broken: 1000 of its updates.
const stuck = time.Second

// seldom is the time between two updates of a counter from which on the last
// update lies further back than readings do from each other.
const seldom = 5 * time.Second

// Stuck tells whether the counter stood still for so long that it cannot have
// been counting. It is asked of domains that are in the total only: parts of a
// processor may be switched off.
func (f Faults) Stuck() bool { return f.Still > stuck }

// note counts a verdict on a counter that was read elapsed ago and moved by delta
// since.
func (f *Faults) note(v counter.Verdict, delta nemb.Energy, elapsed time.Duration) {
	f.Jump = max(f.Jump, delta)
	if f.missed && v.Known() {
		f.Late += elapsed
	}
	f.missed = v == counter.Failed
	switch v {
	case counter.Wrapped:
		f.Wraps++
	case counter.Failed:
		f.Failed++
	case counter.Reset:
		f.Resets++
		f.Unknown += elapsed
	case counter.Lapped:
		f.Laps++
		f.Unknown += elapsed
	}
}

// join adds what happened to a counter that was read in two ways.
func (f *Faults) join(o Faults) {
	f.Wraps += o.Wraps
	f.Failed += o.Failed
	f.Resets += o.Resets
	f.Laps += o.Laps
	f.Unknown += o.Unknown
	f.Late += o.Late
	f.Jump = max(f.Jump, o.Jump)
	f.Hung, f.Still, f.Slowest = max(f.Hung, o.Hung), max(f.Still, o.Still), max(f.Slowest, o.Slowest)
}
