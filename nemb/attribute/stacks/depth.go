package stacks

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
)

// deeper follows the whole stack of a thread and reports whether an event is of
// a frame below MaxDepth.
func (st *Stacks) deeper(t *Thread, kind checkpoint.Kind, site checkpoint.SiteID) bool {
	at := len(t.sites) - 1
	for kind != checkpoint.Enter && kind != checkpoint.Resume && at >= 0 && t.sites[at] != site {
		at--
	}
	switch kind {
	case checkpoint.Enter, checkpoint.Resume:
		t.sites = append(t.sites, site)
		return len(t.sites) > st.MaxDepth
	case checkpoint.Exit, checkpoint.Suspend:
		if at >= 0 {
			t.sites = t.sites[:at]
		}
		return at >= st.MaxDepth
	case checkpoint.Unwind:
		if at < 0 {
			t.sites = append(t.sites, site)
			at = len(t.sites) - 1
		}
		t.sites = t.sites[:at+1]
		return at >= st.MaxDepth
	}
	return false
}

// Demote joins a site with its callers: its calls are counted
// from here on, and what it uses is theirs. Frames of it that are open end.
func (st *Stacks) Demote(site checkpoint.SiteID) {
	if st.demoted[site] {
		return
	}
	st.demoted[site] = true
	for i := range st.nodes {
		if st.nodes[i].site == site {
			st.nodes[i].calls |= counted
		}
	}
	mine := func(f paths.Call) bool { return f.Node != paths.Root && st.nodes[f.Node].site == site }
	without := func(stack []paths.Call, top paths.Call) ([]paths.Call, paths.Call) {
		stack = slices.DeleteFunc(append(stack, top), mine)
		return stack[:len(stack)-1], stack[len(stack)-1]
	}
	for _, t := range st.order {
		t.stack, t.top = without(t.stack, t.top)
	}
	for _, p := range st.strands.procs {
		for _, s := range p.strands {
			s.stack, s.top = without(s.stack, s.top)
		}
	}
}

// IsDemoted reports whether the calls of a site are counted only, from some moment
// on.
func (st *Stacks) IsDemoted(site checkpoint.SiteID) bool { return st.demoted[site] }
