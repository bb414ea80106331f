package attribute

import (
	"cg/checkpoint"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
)

// A context has at most so many callers, and there are at most so many contexts. A call
// path beyond has the context of its last callers, or the nearest around it.
const (
	maxCallers  = 8
	maxContexts = 1 << 16
)

// contexts numbers the functions of a program and their contexts for the regression: a
// function, a function as called by another, that as called by a third, and so on. A
// call path has the context with all of its callers. Recursion within a path counts once:
// a caller that calls itself is one caller.
type contexts struct {
	tree  *paths.Tree
	nodes []regression.Column // per call path, Outside where it is not known yet
	// Per column, from regression.First on: its function, and the context around it.
	sites []checkpoint.SiteID
	outer []regression.Column
	index map[contextKey]regression.Column
}

// contextKey is a context within another: the caller that it has more. The context of a
// function is within Outside.
type contextKey struct {
	outer  regression.Column
	caller checkpoint.SiteID
}

func newContexts(tree *paths.Tree) *contexts {
	return &contexts{
		tree: tree, index: map[contextKey]regression.Column{},
		sites: make([]checkpoint.SiteID, regression.First), outer: make([]regression.Column, regression.First),
	}
}

// of is the context around a column, Outside where there is none (regression.Contexts).
func (c *contexts) of(k regression.Column) regression.Column {
	if k < regression.First {
		return regression.Outside
	}
	return c.outer[k]
}

// site is the function of a column, 0 where it is none.
func (c *contexts) site(k regression.Column) checkpoint.SiteID {
	if k < regression.First {
		return 0
	}
	return c.sites[k]
}

// function is the column of a function. That of no site is Outside.
func (c *contexts) function(site checkpoint.SiteID) regression.Column {
	switch site {
	case 0:
		return regression.Outside
	case checkpoint.OwnSite:
		return regression.Runtime
	}
	return c.within(regression.Outside, site, site)
}

// within is the context of a function that has one caller more than another.
func (c *contexts) within(outer regression.Column, caller, site checkpoint.SiteID) regression.Column {
	key := contextKey{outer, caller}
	if k, ok := c.index[key]; ok {
		return k
	}
	if outer != regression.Outside && len(c.sites) >= maxContexts {
		return outer
	}
	k := regression.Column(len(c.sites))
	c.sites, c.outer = append(c.sites, site), append(c.outer, outer)
	c.index[key] = k
	return k
}

// path is the column of a call path.
func (c *contexts) path(n int32) regression.Column {
	for len(c.nodes) <= int(n) {
		c.nodes = append(c.nodes, regression.Outside)
	}
	if k := c.nodes[n]; k != regression.Outside {
		return k
	}
	site := c.tree.Site(n)
	k := c.function(site)
	if k >= regression.First {
		last, callers := site, 0
		for p := c.tree.Parent(n); p > paths.Root && callers < maxCallers; p = c.tree.Parent(p) {
			if caller := c.tree.Site(p); caller != last {
				next := c.within(k, caller, site)
				if next == k { // there is no room for it, nor for those within it
					break
				}
				k, last = next, caller
				callers++
			}
		}
	}
	c.nodes[n] = k
	return k
}
