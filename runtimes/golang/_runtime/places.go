// Places: parts of the code of a function, such as lines, that are told apart. A place is a node below that
// of its call, and the goroutine is in the place's from the event on that says so, until the next one of the
// call. What is called from there has the call as its parent, and goes back to the place. A place has the
// begin of its call while the call is there. No word tells of places.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// codegreenPlaceNode is set in the site of a node that is a place of the call above it.
const codegreenPlaceNode = 1 << 31

// codegreenCallOf is the node of the call of which a node is a place, or the node itself.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenCallOf(node uint32) uint32 {
	if node < codegreenFirstNode || atomic.Load(&codegreenPathTree) == 0 {
		return node
	}
	if n := codegreenPath(node); n.site&codegreenPlaceNode != 0 {
		return n.parent
	}
	return node
}

// codegreenPlaceMissed is codegreenPlace where the thread's node does not know the place.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenPlaceMissed(site, back uint32) {
	gp, h := getg(), codegreenHead
	call := codegreenCallOf(gp.codegreenNode)
	if call < codegreenFirstNode || codegreenPath(call).site != site-back {
		return
	}
	entry := codegreenKnown(call, site)
	if entry == 0 || entry&1 != 0 {
		codegreenPlaceSlowly(site, back)
		return
	}
	s := &codegreenSlots[uintptr(gp.m.id)&codegreenMask]
	tick := codegreenAdd(h, s, codegreenCycles(), true)
	codegreenTreeOf(s).events++
	codegreenGo(s, gp, codegreenNext(s, gp.codegreenNode, site, entry), tick)
}

// codegreenPlaceSlowly is codegreenPlace where there is more to do than to go on to a node that is known.
func codegreenPlaceSlowly(site, back uint32) {
	h, gp := codegreenHead, getg()
	if h == nil || site >= codegreenSites || codegreenForest == nil || codegreenOrphan != 0 || gp != gp.m.curg {
		return
	}
	call := codegreenCallOf(gp.codegreenNode)
	if call < codegreenFirstNode || codegreenPath(call).site != site-back {
		return
	}
	s := codegreenPin(h)
	if s == nil {
		return
	}
	tick := codegreenNow(h, s)
	if s.strand != gp.goid {
		codegreenSwitch(s, gp, tick)
	}
	t := codegreenTreeOf(s)
	t.events++
	entry := codegreenKnown(call, site)
	if entry == 0 {
		entry = codegreenPavePlace(call, site, tick)
	}
	node := call
	if entry&1 == 0 {
		node = codegreenNext(s, gp.codegreenNode, site, entry)
	} else {
		t.joined++
	}
	codegreenGo(s, gp, node, tick)
	releasem(gp.m)
}

// codegreenNext is the node of a place, which that of a thread that goes there knows from then on.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenNext(s *codegreenSlot, from, site uint32, entry uint64) (node uint32) {
	node = uint32(entry >> 1 & (1<<21 - 1))
	if n := codegreenNodeOf(s, from); uint32(n.child) != site|codegreenPlaceNode {
		n.other = n.child
		n.child = uint64(node)<<32 | uint64(site|codegreenPlaceNode)
	}
	return node
}

// codegreenGo takes the call that the goroutine is in to one of its places, or to itself where there was no
// node left. The call's begin goes with it.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenGo(s *codegreenSlot, gp *g, node uint32, tick uint64) {
	from, to := codegreenNodeOf(s, gp.codegreenNode), codegreenNodeOf(s, node)
	begun, weight := from.begun, from.parent
	from.begun = 0
	to.begun, to.parent = begun, weight
	if codegreenPath(node).site&codegreenPlaceNode != 0 {
		to.calls++
	}
	gp.codegreenNode = node
	codegreenStand(s, tick, node)
}

// codegreenPavePlace finds a node for a place that is not known yet, and returns its entry: a joined one,
// of no node, where none is left for places.
//
//go:nowritebarrierrec
func codegreenPavePlace(call, site uint32, tick uint64) uint64 {
	lock(&codegreenLock)
	entry := codegreenKnown(call, site)
	if entry == 0 {
		entry = uint64(call)<<43 | uint64(site)<<22 | 1
		t := (*codegreenTree)(unsafe.Pointer(codegreenPaths))
		if t.count < codegreenForest.nodes/8*7 {
			entry += uint64(codegreenMake(call, site|codegreenPlaceNode, tick))<<1 - 1
		}
		codegreenKeep(entry)
	}
	unlock(&codegreenLock)
	return entry
}
