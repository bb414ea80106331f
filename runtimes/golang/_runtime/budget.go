// The overhead budget: every event is followed and counted, and those of short calls are
// timed in bursts alone. FORMAT.md, "Counted events", has the rules.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenBurst    = 64       // events of a burst, in the mean
	codegreenRarest   = 63       // a pause is at most so many times as long, in the mean
	codegreenFew      = 1000     // events since pauses were decided, below which they stay as they are
	codegreenFirstGap = 3        // times a burst: the pauses of a thread's first window
	codegreenFull     = 1 << 30  // events of a window, from which on all are timed
	codegreenPairs    = 64       // a call that takes as long as so many pairs of events is not short
	codegreenDrawnAt  = 160      // in a node: short intervals that were drawn; the others are behind them
	codegreenCountAt  = 128      // in a node: what was counted
	codegreenCounting = 256 + 28 // in a tree: of its first window
)

var (
	codegreenBudget  uint64 // thousandths of the program's time, 0: each event is timed
	codegreenCounted uint32 // cost of an event that is not timed, in sixteenths of a tick
	codegreenSure    uint64 // ticks from which on a call, or an interval, is not short
)

// codegreenPace is what a thread needs to keep to the budget.
type codegreenPace struct {
	stamp    uint64  // tick of the last timed event << 24
	counted  uintptr // where in a node the count of the open window is
	counting uintptr // of the open window
	until    uint64  // events of the tree when the pause ends, 0: pause holds
	pause    uint32  // events until the next burst
	burst    uint32  // events that are left of one, 0: none is open
	weight   uint32  // of a call that begins with the latest timed event, see codegreenNote
	number   uint16  // of the burst
	was      uint16  // not 0: the event before is timed in a pause, too
	mean     uint64  // events of a pause
	random   uint64
	// Since the mean was decided:
	on     uint64 // ticks on goroutines
	timed  uint64 // events that were timed
	events uint64 // of the tree, then
	began  uint64 // tick; 0: nothing is decided
}

// codegreenPaced reports whether events go by the budget.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenPaced() bool { return codegreenBudget != 0 && codegreenByCycle && !codegreenWords }

// codegreenPaceOf lets a slot write to the window that is open, whose number modulo 8 is i. What
// share of the events is timed follows from the windows before.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenPaceOf(s *codegreenSlot, i uintptr) {
	p := &s.pace
	t := codegreenTreeOf(s)
	p.counted = codegreenCountAt + 4*i
	p.counting = s.tree + codegreenCounting + 32*i
	t.windows[i%codegreenWindows].counting = 0
	events := t.events - p.events
	if codegreenBudget == 0 || p.began != 0 && events < codegreenFew {
		return
	}
	tick := codegreenCycles()
	if p.began != 0 {
		had := codegreenRan(p.on, tick-p.began, atomic.Load(&t.busy))
		p.mean = codegreenMeanPause(had, events, min(p.timed, events)) &^ 1
	}
	p.codegreenShare()
	p.on, p.timed, p.events, p.began = 0, 0, t.events, tick
}

// codegreenRandom is 32 bits drawn at random.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenRandom() uint64 {
	p.random ^= p.random << 13
	p.random ^= p.random >> 7
	p.random ^= p.random << 17
	return p.random >> 32
}

// codegreenDraw is how many events a burst or a pause has: from half of the mean, which is even, to one
// and a half of it.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenDraw(mean uint64) uint32 {
	return uint32(mean/2 + p.codegreenRandom()*(mean+1)>>32)
}

// codegreenBegin begins a burst of so many events.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenBegin(events uint32) {
	p.burst = events
	p.number = max(p.number+1, 1)
}

// codegreenShare begins with a share of the events that are timed: in a pause or in a burst, as likely as
// either is with it, whatever there was before. So it is from the first event on that each is as likely as
// the share says to be timed.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenShare() {
	p.burst, p.pause = 0, 0
	if p.codegreenRandom()*(p.mean+codegreenBurst)>>32 < p.mean {
		p.pause = p.codegreenRest(p.mean)
	} else {
		p.codegreenBegin(p.codegreenRest(codegreenBurst))
	}
}

// codegreenRest is what is left of a burst or a pause at an event of it that is drawn, which counts: a long
// one has more events that could be drawn.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenRest(mean uint64) uint32 {
	for {
		length, rest := p.codegreenDraw(mean), uint32(p.codegreenRandom()*(mean/2+mean)>>32)+1
		if rest <= length {
			return rest
		}
	}
}

// codegreenTurn goes on by a timed event, and reports whether the interval that it ends lies
// in a burst.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenTurn() bool {
	if p.pause > 0 {
		p.pause--
		p.weight = 0
		return false
	}
	first := p.burst == 0
	if first {
		p.codegreenBegin(p.codegreenDraw(codegreenBurst))
	}
	p.weight = uint32(p.number)<<16 | uint32(codegreenWholeCall*(codegreenBurst+p.mean)/codegreenBurst)
	if p.burst--; p.burst == 0 {
		if p.pause = p.codegreenDraw(p.mean); p.pause == 0 {
			p.codegreenBegin(p.codegreenDraw(codegreenBurst)) // one burst follows the other
		}
	}
	return !first
}

// codegreenInterval adds the time between the last timed event and one that is timed now. always
// says that this one is timed whether or not a burst is open.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenInterval(s *codegreenSlot, node uint32, took uint64, always bool) {
	p := &s.pace
	at := s.nodes + uintptr(node)*codegreenNodeBytes
	both := always && p.was != 0
	if codegreenTreeOf(s).events-p.events > codegreenFull { // counted is of 32 bits
		p.mean, p.pause = 0, 0
	}
	in := p.codegreenTurn()
	if in || both {
		*(*uint64)(unsafe.Pointer(at + s.ticks)) += took
		// Where no pause comes, nothing is counted, and the bursts are no sample of it.
		if !both && p.mean > 0 {
			drawn := at + codegreenDrawnAt
			if took >= codegreenSure {
				drawn += 8
			}
			*(*uint64)(unsafe.Pointer(drawn))++
			*(*uint64)(unsafe.Pointer(drawn + 16)) += took
		}
	} else {
		*(*uint32)(unsafe.Pointer(at + p.counted))++
		codegreenTreeOf(s).stretches[s.window%codegreenWindows] += took
		*(*uint32)(unsafe.Pointer(p.counting)) = 0
	}
	p.was = 0
	if always {
		p.was = 1
	}
	p.timed++
	p.on += took
}

// codegreenSettle takes over how much of a pause assembly has left.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenSettle(s *codegreenSlot) {
	if p := &s.pace; p.until != 0 {
		p.pause, p.until = uint32(p.until-codegreenTreeOf(s).events), 0
	}
}

// codegreenCount goes on by an event that is not timed, from a node to another. Assembly does so
// with those that follow, up to the next one that is timed.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenCount(s *codegreenSlot, from, to uint32) {
	p, t := &s.pace, codegreenTreeOf(s)
	p.was = 0
	p.until = t.events + uint64(p.pause)
	*(*uint32)(unsafe.Pointer(s.nodes + uintptr(from)*codegreenNodeBytes + p.counted))++
	codegreenTouch(s, from)
	*(*uint32)(unsafe.Pointer(p.counting)) = 1
	t.events++
	atomic.StoreRel64(&t.place, p.stamp|uint64(to))
}

// codegreenEnterPaced is codegreenEnter where there is a budget.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenEnterPaced(site uint32) (exit func()) {
	gp, h := getg(), codegreenHead
	s := (*codegreenSlot)(unsafe.Pointer(gp.codegreenSlot))
	if s.fast != gp.goid || site >= codegreenSites {
		return codegreenEnterSlowly(site)
	}
	codegreenSettle(s)
	caller := gp.codegreenNode
	n := codegreenNodeOf(s, caller)
	node := uint32(n.child >> 32)
	if uint32(n.child) != site {
		if node = uint32(n.other >> 32); uint32(n.other) != site {
			entry := codegreenKnown(codegreenCallOf(caller), site)
			if entry == 0 || entry&1 != 0 {
				return codegreenEnterSlowly(site)
			}
			node = uint32(entry >> 1 & (1<<21 - 1))
			n.other = n.child
			n.child = uint64(node)<<32 | uint64(site)
		}
	}
	called := codegreenNodeOf(s, node)
	called.calls++
	gp.codegreenNode = node
	if called.short != 0 && s.pace.pause != 0 && atomic.Load64(&h.epoch) == s.epoch {
		called.begun = 0
		codegreenCount(s, caller, node)
		return codegreenBackOf(caller)
	}
	tick := codegreenAdd(h, s, codegreenCycles(), called.short == 0)
	codegreenTreeOf(s).events++
	called.begun, called.parent = tick, s.pace.weight
	if called.short == 0 || s.pace.mean == 0 {
		called.parent = codegreenWholeCall
	}
	codegreenStand(s, tick, node)
	return codegreenBackOf(caller)
}

// codegreenExitPaced is codegreenExit where there is a budget.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenExitPaced(caller uint32) {
	gp, h := getg(), codegreenHead
	s := (*codegreenSlot)(unsafe.Pointer(gp.codegreenSlot))
	if s.fast != gp.goid {
		codegreenExitSlowly(caller)
		return
	}
	codegreenSettle(s)
	node := gp.codegreenNode
	n := codegreenNodeOf(s, node)
	gp.codegreenNode = caller
	// A call that is timed as it begins is timed as it ends.
	if n.short != 0 && n.begun == 0 && s.pace.pause != 0 && atomic.Load64(&h.epoch) == s.epoch {
		codegreenCount(s, node, caller)
		return
	}
	tick := codegreenAdd(h, s, codegreenCycles(), n.short == 0)
	codegreenTreeOf(s).events++
	codegreenEnd(s, gp, node, tick)
	codegreenStand(s, tick, caller)
}

// codegreenTook takes into account how long a call of a node took, in units of 256 ticks.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenTook(n *codegreenNode, took uint64) {
	n.mean, n.short = codegreenUsual(n.mean, took, codegreenSure)
}
