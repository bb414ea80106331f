package attribute

import (
	"cg/checkpoint"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/regression"
	"cg/nemb/attribute/stacks"
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
// a caller that calls itself is one caller. A place of a function's code, such as a line, is a context of it, too, and
// those of its callers are within that.
type contexts struct {
	tree  *paths.Tree
	nodes []regression.Column // per call path, Outside where it is not known yet
	// Per column, from regression.First on: its function, and the context around it.
	sites []checkpoint.SiteID
	outer []regression.Column
	index map[contextKey]regression.Column
	// on has the columns of call paths at places.
	on map[stacks.PlaceOn]regression.Column
}

// contextKey is a context within another: the caller that it has more, or the place. The context of a
// function is within Outside.
type contextKey struct {
	outer  regression.Column
	caller checkpoint.SiteID
}

func newContexts(tree *paths.Tree) *contexts {
	return &contexts{
		tree: tree, index: map[contextKey]regression.Column{}, on: map[stacks.PlaceOn]regression.Column{},
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
		k = c.called(k, n)
	}
	c.nodes[n] = k
	return k
}

// called is the context in a column of a call path's function with the callers of the path.
func (c *contexts) called(k regression.Column, n int32) regression.Column {
	site := c.tree.Site(n)
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
	return k
}

// place is the column of a place of a function.
func (c *contexts) place(function, place checkpoint.SiteID) regression.Column {
	k := c.function(function)
	if k < regression.First || place == 0 {
		return k
	}
	return c.within(k, place, function)
}

// at is the column of a call path at a place of its function. What is in no place has that of the path.
func (c *contexts) at(on stacks.PlaceOn) regression.Column {
	if on.Place == 0 {
		return c.path(on.Node)
	}
	k, known := c.on[on]
	if !known {
		if k = c.place(c.tree.Site(on.Node), on.Place); k >= regression.First {
			k = c.called(k, on.Node)
		}
		c.on[on] = k
	}
	return k
}
