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

// Max is the number of call paths that are kept apart. Further paths are kept per
// function, below the root.
const Max = 1 << 19

// Root is the node of everything outside the sites.
const Root int32 = 0

// none is the parent of the root.
const none int32 = -1

// Tree is the call paths that were seen. Parents have lower numbers than their
// children.
type Tree struct {
	sites     []checkpoint.SiteID
	parents   []int32
	outermost []bool
	edges     table
	first     map[checkpoint.SiteID]checkpoint.Tick
	// Truncated counts calls that went to another path than theirs, because of Max.
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

// IsOutermost reports whether no caller of a node is of the same site: an
// inclusive sum counts a recursive call once.
func (t *Tree) IsOutermost(n int32) bool { return t.outermost[n] }

// First is when a site was entered for the first time.
func (t *Tree) First(site checkpoint.SiteID) checkpoint.Tick { return t.first[site] }

// Sites lists the sites by node. It is the tree's own and for reading alone.
func (t *Tree) Sites() []checkpoint.SiteID { return t.sites }

// Path is the node of a site that is called from parent at a moment. It is made
// where there is none.
func (t *Tree) Path(parent int32, site checkpoint.SiteID, at checkpoint.Tick) int32 {
	if n, ok := t.edges.find(parent, site); ok {
		return n
	}
	if t.Len() >= Max {
		t.Truncated++
		return t.Other(site, at) // not kept for this parent: that would grow without limit
	}
	n := t.Add(parent, site, at)
	t.edges.put(parent, site, n)
	return n
}

// Other is the node of all the calls of a site that have no path of their own.
func (t *Tree) Other(site checkpoint.SiteID, at checkpoint.Tick) int32 {
	n, ok := t.edges.find(none, site)
	if !ok {
		n = t.Add(Root, site, at)
		t.edges.put(none, site, n)
	}
	return n
}

// Add makes a node that Path does not find.
func (t *Tree) Add(parent int32, site checkpoint.SiteID, at checkpoint.Tick) int32 {
	n := int32(len(t.sites))
	t.sites, t.parents = append(t.sites, site), append(t.parents, parent)
	t.outermost = append(t.outermost, !t.within(parent, site))
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
