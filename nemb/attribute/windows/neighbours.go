package windows

import "cg/nemb"

// Energy is divided by processor time, as if a second of anybody's drew the same. Where other
// processes run beside the program they may draw more, or less, and that is the largest
// error of the division.
//
// unlike is how many times the power of the program's processor time that of its neighbours
// may be, and the other way round.
const unlike = 3

// neighbours is how much of the processors others used while the program ran.
type neighbours struct{ beside, time float64 }

// add takes a window: others count as much as the program used in it.
func (n *neighbours) add(used processorTimes) {
	program, other := max(0, used.program), max(0, used.other)
	if program > 0 {
		n.time += program
		n.beside += program * other / (program + other)
	}
}

// Neighbours is the part of the processor time of program and others together that others
// used, in the windows in which the program ran.
func (w *Windows) Neighbours() float64 {
	if w.neighbours.time <= 0 {
		return 0
	}
	return w.neighbours.beside / w.neighbours.time
}

// Unlike bounds the program's energy in a domain, as factors of it, where neighbours draw another
// power than the program. A part x of the processor time is theirs: the program's part is 1-x of
// what draws alike, and (1-x)/(1-x+rx) where theirs draws r times as much.
func (w *Windows) Unlike(d int) (lo, hi float64) {
	if domain := &w.Domains[d].Domain; domain.Method != nemb.Measured || domain.Program {
		return 1, 1
	}
	x := w.Neighbours()
	return 1 / (1 - x + unlike*x), 1 / (1 - x + x/unlike)
}

// beside widens the bounds of an energy that was divided so.
func (w *Windows) beside(d int, b Bounds) Bounds {
	lo, hi := w.Unlike(d)
	return Bounds{Lo: b.Lo * lo, Hi: b.Hi * hi}
}
