package windows

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// Share is what a site has of the program's energy in a window, as a factor,
// whatever the domain: by itself, and with all that it called.
type Share struct {
	Self, Inclusive float64
}

// PathShare is what a call path has of the program's energy in a window by itself, as a
// factor.
type PathShare struct {
	Node int32
	Self float64
}

// siteShares computes the shares of sites in the open window.
type siteShares struct {
	of    map[checkpoint.SiteID]Share
	paths []PathShare
	// Scratch memory, per call path.
	mark    []uint32 // the epoch in which it was visited
	under   []float64
	visited []int32
	epoch   uint32
}

// close computes what each site has of the window: over all call paths and
// threads, a recursive call counted once.
func (x *siteShares) close(tree *paths.Tree, weight float64, threads []*threadTime) {
	clear(x.of)
	x.paths = x.paths[:0]
	if weight <= 0 {
		return
	}
	x.epoch++
	x.visited = x.visited[:0]
	for _, t := range threads {
		if t.used > 0 {
			x.add(tree, t, t.used/weight)
		}
	}
	slices.Sort(x.visited) // parents have lower numbers
	for i := len(x.visited) - 1; i >= 0; i-- {
		n := x.visited[i]
		if p := tree.Parent(n); p > paths.Root {
			x.under[p] += x.under[n]
		}
		if tree.IsOutermost(n) {
			s := x.of[tree.Site(n)]
			s.Inclusive += x.under[n]
			x.of[tree.Site(n)] = s
		}
	}
}

// add takes the parts of a thread, which has this part of the window.
func (x *siteShares) add(tree *paths.Tree, t *threadTime, part float64) {
	for i, p := range t.parts {
		if t.shares[i] <= 0 {
			continue
		}
		f := part * t.shares[i]
		for n := p.Node; n > paths.Root && x.mark[n] != x.epoch; n = tree.Parent(n) {
			x.mark[n], x.under[n] = x.epoch, 0
			x.visited = append(x.visited, n)
		}
		if p.Node == paths.Root {
			continue
		}
		x.paths = append(x.paths, PathShare{p.Node, f})
		site := tree.Site(p.Node)
		s := x.of[site]
		s.Self += f
		x.of[site] = s
		if site != checkpoint.OwnSite {
			x.under[p.Node] += f
		}
	}
}
