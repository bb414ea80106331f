// Package paths holds the call paths of a program: a tree in which each node is a
// site, called from its parent.
//
// It is the data that the other packages of attribution share. stacks makes the
// paths, and the others read them and keep what they know per node in slices of
// their own, by the node's number. The package knows neither time nor energy.
package paths

import (
	"math/bits"

	"cg/checkpoint"
)

// Max is the most call paths of a program. The last eighth is for functions whose
// paths are joined.
const Max = 1 << 20

// deepest is how many calls a path has before recursion is folded. shallow is how
// many it has to have to be joined with another while there is any room.
const (
	deepest = 64
	shallow = 4
)

// Root is the node of everything outside the sites.
const Root int32 = 0

// none is the parent of the root.
const none int32 = -1

// Tree is the call paths that were seen. Parents have lower numbers than their
// children.
type Tree struct {
	sites     []checkpoint.SiteID
	parents   []int32
	depths    []int32 // calls above, up to the root
	outermost []bool
	edges     table
	first     map[checkpoint.SiteID]checkpoint.Tick
	// Truncated counts calls that went to another path than theirs, because of Max, and
	// not for recursion.
	Truncated uint64
}

// NewTree is a tree with a root.
func NewTree() *Tree {
	t := &Tree{first: map[checkpoint.SiteID]checkpoint.Tick{}}
	t.Add(none, 0, 0)
	return t
}

// Len is the number of nodes, the root included.
func (t *Tree) Len() int { return len(t.sites) }

// Site is the site of a node, 0 for the root.
func (t *Tree) Site(n int32) checkpoint.SiteID { return t.sites[n] }

// Parent is the caller of a node, below 0 for the root.
func (t *Tree) Parent(n int32) int32 { return t.parents[n] }

// Depth is how many calls a path has, 0 for the root.
func (t *Tree) Depth(n int32) int { return int(t.depths[n]) }

// IsOutermost reports whether no caller of a node is of the same site: an
// inclusive sum counts a recursive call once.
func (t *Tree) IsOutermost(n int32) bool { return t.outermost[n] }

// First is when a site was entered for the first time.
func (t *Tree) First(site checkpoint.SiteID) checkpoint.Tick { return t.first[site] }

// Sites lists the sites by node. It is the tree's own and for reading alone.
func (t *Tree) Sites() []checkpoint.SiteID { return t.sites }

// Path is the node of a site that is called from parent at a moment. It is made
// where there is none. Where paths become many it is another's, so that every
// caller on the path still has what is called:
//   - On a deep path, and on all once a quarter of Max is taken, a recursive call
//     goes to the path of its site that it is on already, if all between is above
//     that, too: a path for each cycle, not for each depth.
//   - When seven eighths are taken, a call that is not among the outermost goes to a
//     path of its site below the nearest caller that has one, or else below the
//     outermost caller.
//   - When all are taken, it is its caller's.
//
// In the last two cases Truncated is counted.
func (t *Tree) Path(parent int32, site checkpoint.SiteID, at checkpoint.Tick) int32 {
	if n, ok := t.edges.find(parent, site); ok {
		return n
	}
	n, folded := t.fold(parent, site)
	if !folded && (t.Len() >= Max || t.Len() >= Max/8*7 && t.depths[max(parent, 0)] >= shallow) {
		t.Truncated++
		return t.join(parent, site, at)
	}
	if !folded {
		n = t.Add(parent, site, at)
	}
	t.edges.put(parent, site, n)
	return n
}

// fold finds the path to which a recursive call goes, if it is to be folded.
func (t *Tree) fold(parent int32, site checkpoint.SiteID) (int32, bool) {
	if t.depths[max(parent, 0)] < deepest && t.Len() < Max/4 {
		return 0, false
	}
	n := parent
	for n > Root && t.sites[n] != site {
		n = t.parents[n]
	}
	if n <= Root {
		return 0, false
	}
	for between := parent; between != n; between = t.parents[between] {
		if !t.within(n, t.sites[between]) {
			return 0, false
		}
	}
	return n, true
}

// join finds a path for a call that can have none of its own.
func (t *Tree) join(parent int32, site checkpoint.SiteID, at checkpoint.Tick) int32 {
	outermost := Root
	for n := parent; n > Root; n = t.parents[n] {
		if joined, ok := t.edges.find(n, site); ok {
			return joined
		}
		outermost = n
	}
	if joined, ok := t.edges.find(outermost, site); ok {
		return joined
	}
	if t.Len() >= Max {
		return parent
	}
	n := t.Add(outermost, site, at)
	t.edges.put(outermost, site, n)
	return n
}

// Add makes a node that Path does not find.
func (t *Tree) Add(parent int32, site checkpoint.SiteID, at checkpoint.Tick) int32 {
	n := int32(len(t.sites))
	t.sites, t.parents = append(t.sites, site), append(t.parents, parent)
	t.outermost = append(t.outermost, !t.within(parent, site))
	depth := int32(0)
	if parent >= Root {
		depth = t.depths[parent] + 1
	}
	t.depths = append(t.depths, depth)
	if first, ok := t.first[site]; !ok || at < first { // threads are folded one by one
		t.first[site] = at
	}
	return n
}

// within reports whether site is among a node and its callers.
func (t *Tree) within(n int32, site checkpoint.SiteID) bool {
	for ; n > Root; n = t.parents[n] {
		if t.sites[n] == site {
			return true
		}
	}
	return false
}

// table maps (parent, site) to a node: open addressing with linear probing,
// never more than half full. A slot whose node is 0 is empty, since the root
// is nobody's child.
type table struct {
	slots []slot
	used  int
	shift uint
}

type slot struct {
	parent int32
	site   checkpoint.SiteID
	node   int32
}

func (t *table) home(parent int32, site checkpoint.SiteID) int {
	return int((uint64(uint32(parent))<<32 | uint64(site)) * 0x9e3779b97f4a7c15 >> t.shift) // Fibonacci hashing
}

func (t *table) find(parent int32, site checkpoint.SiteID) (int32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	for i := t.home(parent, site); ; i = (i + 1) & (len(t.slots) - 1) {
		switch s := &t.slots[i]; {
		case s.node == 0:
			return 0, false
		case s.parent == parent && s.site == site:
			return s.node, true
		}
	}
}

func (t *table) put(parent int32, site checkpoint.SiteID, node int32) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		size := max(64, 2*len(old))
		t.slots, t.shift = make([]slot, size), uint(64-bits.Len(uint(size-1)))
		for _, s := range old {
			if s.node != 0 {
				t.insert(s)
			}
		}
	}
	t.insert(slot{parent, site, node})
	t.used++
}

func (t *table) insert(s slot) {
	i := t.home(s.parent, s.site)
	for t.slots[i].node != 0 {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = s
}
