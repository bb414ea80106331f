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
	was      uint64  // not 0: the event before is timed in a pause, too
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
	t.windows[i].counting = 0
	events := t.events - p.events
	if codegreenBudget == 0 || p.began != 0 && events < codegreenFew {
		return
	}
	tick := codegreenCycles()
	if p.began != 0 {
		had := codegreenRan(p.on, tick-p.began, atomic.Load(&t.busy))
		p.mean = codegreenMeanPause(had, events, min(p.timed, events))
		p.pause = min(p.pause, uint32(p.mean+p.mean/2)) // the longest that is drawn now
	}
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

// codegreenBegin draws how many events a burst has.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenBegin() {
	p.burst = uint32(codegreenBurst/2 + p.codegreenRandom()*(codegreenBurst+1)>>32)
}

// codegreenTurn goes on by a timed event, and reports whether the interval that it ends lies
// in a burst.
//
//go:nosplit
//go:nowritebarrierrec
func (p *codegreenPace) codegreenTurn() bool {
	if p.pause > 0 {
		p.pause--
		return false
	}
	first := p.burst == 0
	if first {
		p.codegreenBegin()
	}
	if p.burst--; p.burst == 0 {
		if p.pause = uint32(p.mean/2 + p.codegreenRandom()*p.mean>>32); p.pause == 0 {
			p.codegreenBegin() // one burst follows the other
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
			entry := codegreenKnown(caller, site)
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
	called.begun = tick
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
	if n.short != 0 && s.pace.pause != 0 && atomic.Load64(&h.epoch) == s.epoch {
		n.begun = 0
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
