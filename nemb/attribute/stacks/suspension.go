package stacks

import "cg/checkpoint"

// suspension sums the moments at which frames of a site came back, less those at
// which they left: the time suspended, whichever frame it was.
type suspension struct {
	open int64   // frames that left and have not come back
	net  float64 // ticks since the first sample
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

// sum is what a part says of the moments at which frames came back less those at
// which they left, each as ticks since the first sample.
func (u *suspensions) sum(p checkpoint.Part) float64 {
	return float64(int64(p.AwayTicks + uint64(p.Away)*uint64(u.origin)))
}

// suspended notes that a frame has left.
func (u *suspensions) suspended(site checkpoint.SiteID, at checkpoint.Tick) {
	s := u.of(site)
	s.open++
	s.net -= u.since(at)
}

// resumed notes that a frame is back. One that goes on on another thread may be
// seen to come before it was seen to leave.
func (u *suspensions) resumed(site checkpoint.SiteID, at checkpoint.Tick) {
	s := u.of(site)
	s.open--
	s.net += u.since(at)
}

// ended notes that a frame is over, or back, if one is known to be suspended.
func (u *suspensions) ended(site checkpoint.SiteID, at checkpoint.Tick) {
	if s := u.bySite[site]; s != nil && s.open > 0 {
		s.open--
		s.net += u.since(at)
	}
}

// close takes frames that ended without coming back: as many as are known to be
// suspended. The others stay in p.
func (s *suspension) close(u *suspensions, p *checkpoint.Part) {
	n := -p.Away // below 0: frames left that were on no stack
	if n > 0 {
		n = max(0, min(n, s.open))
	}
	switch {
	case n == -p.Away:
		s.net += u.sum(*p)
		*p = checkpoint.Part{}
	case n > 0:
		each := u.sum(*p) / float64(-p.Away)
		s.net += each * float64(n)
		p.Away += n
		p.AwayTicks = uint64(int64(each*float64(-p.Away))) - uint64(p.Away)*uint64(u.origin)
	}
	s.open -= n
}

// Suspended is the ticks for which frames of a site were suspended, until the end
// of the run for those that still are.
func (st *Stacks) Suspended(site checkpoint.SiteID, end checkpoint.Tick) float64 {
	s := st.suspensions.bySite[site]
	if s == nil {
		return 0
	}
	return max(0, s.net+float64(s.open)*st.suspensions.since(end))
}
