package stacks

import "cg/checkpoint"

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
