package attribute

import (
	"slices"
	"time"

	"cg/checkpoint"
)

// deeper follows the whole stack of a thread and reports whether an event is of
// a frame below MaxDepth.
func (a *Attributor) deeper(t *thread, kind checkpoint.Kind, site checkpoint.SiteID) bool {
	at := len(t.sites) - 1
	for kind != checkpoint.Enter && kind != checkpoint.Resume && at >= 0 && t.sites[at] != site {
		at--
	}
	switch kind {
	case checkpoint.Enter, checkpoint.Resume:
		t.sites = append(t.sites, site)
		return len(t.sites) > a.MaxDepth
	case checkpoint.Exit, checkpoint.Suspend:
		if at >= 0 {
			t.sites = t.sites[:at]
		}
		return at >= a.MaxDepth
	case checkpoint.Unwind:
		if at < 0 {
			t.sites = append(t.sites, site)
			at = len(t.sites) - 1
		}
		t.sites = t.sites[:at+1]
		return at >= a.MaxDepth
	}
	return false
}

// Hot lists the sites that have been called at least so many times, and used
// less than mean of processor time from each enter to its exit.
func (a *Attributor) Hot(calls uint64, mean time.Duration) []checkpoint.SiteID {
	type sum struct {
		calls uint64
		cpu   float64
	}
	sums := map[checkpoint.SiteID]sum{}
	for i, n := range a.nodes {
		if n.calls&counted != 0 || i == root {
			continue
		}
		s := sums[n.site]
		s.calls += n.calls
		s.cpu += a.tallies[i].cpu
		sums[n.site] = s
	}
	var hot []checkpoint.SiteID
	for site, s := range sums {
		if s.calls >= calls && s.cpu < float64(mean)*float64(s.calls) {
			hot = append(hot, site)
		}
	}
	slices.Sort(hot)
	return hot
}

// Demote stops telling a site apart from its callers: its calls are counted
// from here on, and what it uses is theirs. Frames of it that are open end.
func (a *Attributor) Demote(site checkpoint.SiteID) {
	if a.demoted[site] {
		return
	}
	a.demoted[site] = true
	for i := range a.nodes {
		if a.nodes[i].site == site {
			a.nodes[i].calls |= counted
		}
	}
	mine := func(f frame) bool { return f.node != root && a.nodes[f.node].site == site }
	without := func(stack []frame, top frame) ([]frame, frame) {
		stack = slices.DeleteFunc(append(stack, top), mine)
		return stack[:len(stack)-1], stack[len(stack)-1]
	}
	for _, t := range a.threads {
		t.stack, t.top = without(t.stack, t.top)
	}
	for _, p := range a.procs {
		for _, s := range p.strands {
			s.stack, s.top = without(s.stack, s.top)
		}
	}
}
