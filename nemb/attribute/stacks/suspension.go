package stacks

import "cg/checkpoint"

// suspension sums the moments at which frames of a site left and came back:
// the difference is the time suspended, whichever frame it was.
type suspension struct {
	open      int64
	out, back float64 // ticks since the first sample
}

// suspensions is those of all sites.
type suspensions struct {
	origin checkpoint.Tick // the first sample
	bySite map[checkpoint.SiteID]*suspension
}

func (u *suspensions) of(site checkpoint.SiteID) *suspension {
	s := u.bySite[site]
	if s == nil {
		s = &suspension{}
		u.bySite[site] = s
	}
	return s
}

// since is the ticks since the first sample, below 0 for a word before it.
func (u *suspensions) since(at checkpoint.Tick) float64 { return float64(int64(at - u.origin)) }

// sum is the sum of n ticks, modulo 2^64, each since the first sample.
func (u *suspensions) sum(ticks, n uint64) float64 {
	return float64(int64(ticks - n*uint64(u.origin)))
}

// suspended notes that a frame has left.
func (u *suspensions) suspended(site checkpoint.SiteID, at checkpoint.Tick) {
	s := u.of(site)
	s.open++
	s.out += u.since(at)
}

// resumed notes that a frame is back. One that goes on on another thread may be
// seen to come before it was seen to leave.
func (u *suspensions) resumed(site checkpoint.SiteID, at checkpoint.Tick) {
	s := u.of(site)
	s.open--
	s.back += u.since(at)
}

// ended notes that a frame is over, or back, if one is known to be suspended.
func (u *suspensions) ended(site checkpoint.SiteID, at checkpoint.Tick) {
	if s := u.bySite[site]; s != nil && s.open > 0 {
		s.open--
		s.back += u.since(at)
	}
}

// Suspended is the ticks for which frames of a site were suspended, until the end
// of the run for those that still are.
func (st *Stacks) Suspended(site checkpoint.SiteID, end checkpoint.Tick) float64 {
	s := st.suspensions.bySite[site]
	if s == nil {
		return 0
	}
	return max(0, s.back+float64(s.open)*st.suspensions.since(end)-s.out)
}
