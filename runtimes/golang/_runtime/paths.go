// Paths of checkpoints: the call paths of all goroutines, in one tree of the
// program. They are known by a table that is read without a lock.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	codegreenFirstNode = 3
	codegreenUnfolded  = 64 // calls of a path, from which on recursion is folded
	codegreenShallow   = 4  // calls of a path, from which on it is joined
)

var (
	codegreenLock     mutex   // of what follows, while it changes
	codegreenPathTree uint32  // 1 + its index, 0: there is none
	codegreenPaths    uintptr // the tree
	codegreenPathAt   uintptr // its nodes
	codegreenTable    uintptr // of codegreenPathTable
	codegreenEntries  uintptr // that are used
)

// codegreenPathTable is followed by its entries, 1 << bits of them: in 21 bits each
// a node and a site called there, or that of a place of it, and the node that the call goes to; in the
// lowest bit whether the path is not quite that node's. 0: free.
type codegreenPathTable struct {
	bits uintptr
}

// codegreenPlant takes the tree of the program's paths; false where there is none.
//
//go:nowritebarrierrec
func codegreenPlant(h *codegreenHeader) bool {
	lock(&codegreenLock)
	if codegreenPathTree == 0 && (codegreenTable != 0 || codegreenWiden(10)) {
		if at, index := codegreenClaim(); at != 0 {
			codegreenRoot(h, at, index)
		}
	}
	unlock(&codegreenLock)
	return codegreenPathTree != 0
}

// codegreenRoot begins the tree of the program's paths.
//
//go:nowritebarrierrec
func codegreenRoot(h *codegreenHeader, at uintptr, index uint32) {
	codegreenPaths = at
	codegreenPathAt = at + codegreenTreeHead + uintptr(codegreenForest.nodes)/2
	t := (*codegreenTree)(unsafe.Pointer(codegreenPaths))
	seq := uint64(atomic.Xadd64(&h.head, 1))
	// The process is there as long as the thread with its number.
	codegreenFill(&t.chunk, codegreenTick(), codegreenPID, codegreenPathed|codegreenImage, 0)
	t.count = codegreenFirstNode
	atomic.Store64(&t.chunk.seq, seq)
	atomic.StoreRel(&codegreenPathTree, index)
}

// codegreenPath is a node of the program's tree: site, parent and born.
//
//go:nowritebarrierrec
func codegreenPath(node uint32) *codegreenNode {
	return (*codegreenNode)(unsafe.Pointer(codegreenPathAt + uintptr(node)*codegreenNodeBytes))
}

// codegreenCall counts a call of a site and returns its node, codegreenNothing where
// there is none left: the call is its caller's.
//
//go:nowritebarrierrec
func codegreenCall(s *codegreenSlot, caller, site uint32, tick uint64) uint32 {
	n := codegreenNodeOf(s, caller)
	node := uint32(n.child >> 32)
	if uint32(n.child) != site {
		call := codegreenCallOf(caller)
		entry := codegreenKnown(call, site)
		if entry == 0 {
			entry = codegreenPave(call, site, tick)
		}
		node = uint32(entry >> 1 & (1<<21 - 1))
		if entry&1 == 0 {
			n.other = n.child
			n.child = uint64(node)<<32 | uint64(site)
		} else {
			codegreenTreeOf(s).joined++
			if node == 0 {
				return codegreenNothing
			}
		}
	}
	codegreenNodeOf(s, node).calls++
	return node
}

// codegreenKnown looks a call up, 0 where it is not known.
//
//go:nosplit
//go:nowritebarrierrec
func codegreenKnown(caller, site uint32) uint64 {
	key := uint64(caller)<<21 | uint64(site)
	table := (*codegreenPathTable)(unsafe.Pointer(atomic.Loaduintptr(&codegreenTable)))
	for i := codegreenHome(table, key); ; i++ {
		entry := atomic.Load64(codegreenEntry(table, i))
		if entry == 0 || entry>>22 == key {
			return entry
		}
	}
}

//go:nosplit
//go:nowritebarrierrec
func codegreenHome(table *codegreenPathTable, key uint64) uintptr {
	return uintptr(key * 0x9e3779b97f4a7c15 >> (64 - table.bits))
}

//go:nosplit
//go:nowritebarrierrec
func codegreenEntry(table *codegreenPathTable, i uintptr) *uint64 {
	return (*uint64)(add(unsafe.Pointer(table), unsafe.Sizeof(*table)+i&(1<<table.bits-1)*8))
}

// codegreenWiden makes a table of 1 << bits entries, and takes over those of the table
// that there is. That one stays, since others may be reading it.
//
//go:nowritebarrierrec
func codegreenWiden(bits uintptr) bool {
	p, err := mmap(nil, unsafe.Sizeof(codegreenPathTable{})+8<<bits, _PROT_READ|_PROT_WRITE,
		_MAP_ANON|_MAP_PRIVATE, -1, 0)
	if err != 0 {
		return false
	}
	wide := (*codegreenPathTable)(p)
	wide.bits = bits
	if codegreenTable != 0 {
		table := (*codegreenPathTable)(unsafe.Pointer(codegreenTable))
		for i := uintptr(0); i < 1<<table.bits; i++ {
			if entry := *codegreenEntry(table, i); entry != 0 {
				codegreenPut(wide, entry)
			}
		}
	}
	atomic.StoreReluintptr(&codegreenTable, uintptr(p))
	return true
}

//go:nowritebarrierrec
func codegreenPut(table *codegreenPathTable, entry uint64) {
	for i := codegreenHome(table, entry>>22); ; i++ {
		if at := codegreenEntry(table, i); *at == 0 {
			atomic.Store64(at, entry)
			return
		}
	}
}

// codegreenPave finds a node for a call that is not known yet, and returns its entry.
//
//go:nowritebarrierrec
func codegreenPave(caller, site uint32, tick uint64) uint64 {
	lock(&codegreenLock)
	entry := codegreenKnown(caller, site)
	if entry == 0 {
		node, joined := codegreenFold(caller, site, tick)
		entry = uint64(caller)<<43 | uint64(site)<<22 | uint64(node)<<1
		if joined {
			entry |= 1
		}
		codegreenKeep(entry)
	}
	unlock(&codegreenLock)
	return entry
}

// codegreenKeep makes an entry known, if there is room for it.
//
//go:nowritebarrierrec
func codegreenKeep(entry uint64) {
	table := (*codegreenPathTable)(unsafe.Pointer(codegreenTable))
	if used := codegreenEntries * 2; used >= 1<<table.bits {
		if used >= 4*uintptr(codegreenForest.nodes) || !codegreenWiden(table.bits+1) {
			if used >= 7<<table.bits/4 {
				return
			}
		}
		table = (*codegreenPathTable)(unsafe.Pointer(codegreenTable))
	}
	codegreenEntries++
	codegreenPut(table, entry)
}

// codegreenFold chooses the node of a call: a new one, while there are many left. Where
// the path is long or a quarter of the nodes is taken, recursion goes to the node of its site that it is on
// already, if each caller keeps what it called. When seven eighths are taken, a call that is not
// among the outermost goes to a node of its site at a caller, the nearest that has one, or
// below the outermost. joined says that its path is not quite the call's.
//
//go:nowritebarrierrec
func codegreenFold(caller, site uint32, tick uint64) (node uint32, joined bool) {
	count, most := (*codegreenTree)(unsafe.Pointer(codegreenPaths)).count, codegreenForest.nodes
	depth, again, outermost := 0, uint32(0), uint32(0)
	for n := caller; n != 0; n = codegreenPath(n).parent {
		if depth++; again == 0 && codegreenPath(n).site == site {
			again = n
		}
		outermost = n
	}
	if again != 0 && (depth >= codegreenUnfolded || count >= most/4) && codegreenKeeps(caller, again) {
		return again, false
	}
	if count < most && (count < most/8*7 || depth < codegreenShallow) {
		return codegreenMake(caller, site, tick), false
	}
	for n := caller; n != 0; n = codegreenPath(n).parent {
		if entry := codegreenKnown(n, site); entry != 0 && entry&1 == 0 {
			return uint32(entry >> 1 & (1<<21 - 1)), true
		}
	}
	if count >= most {
		return 0, true
	}
	node = codegreenMake(outermost, site, tick)
	codegreenKeep(uint64(outermost)<<43 | uint64(site)<<22 | uint64(node)<<1)
	return node, true
}

// codegreenKeeps reports whether all sites from a caller up to a node are above the node,
// too.
//
//go:nowritebarrierrec
func codegreenKeeps(caller, node uint32) bool {
	for ; caller != node; caller = codegreenPath(caller).parent {
		n := node
		for n != 0 && codegreenPath(n).site != codegreenPath(caller).site {
			n = codegreenPath(n).parent
		}
		if n == 0 {
			return false
		}
	}
	return true
}

//go:nowritebarrierrec
func codegreenMake(parent, site uint32, tick uint64) uint32 {
	t := (*codegreenTree)(unsafe.Pointer(codegreenPaths))
	node := t.count
	n := codegreenPath(node)
	n.site, n.parent, n.begun = site, parent, tick
	codegreenBackTo(node)
	atomic.StoreRel(&t.count, node+1)
	return node
}
