package windows

import (
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// Bounds is an interval of energy, in microjoules.
type Bounds struct{ Lo, Hi float64 }

// Widened is the interval with so much more on either side.
func (b Bounds) Widened(by float64) Bounds { return Bounds{b.Lo - by, b.Hi + by} }

// presence is when a site ran, in windows.
type presence struct {
	last  checkpoint.Tick // the end of the last window in which it ran
	until checkpoint.Tick // the end of the last window that it had to itself
	alone checkpoint.Tick // the beginning of the first of those before it without a gap
}

func (p *presence) window(from, to checkpoint.Tick, part, alone float64) {
	if part > 0 {
		p.last = to
	}
	if part > alone {
		if p.until != from {
			p.alone = from
		}
		p.until = to
	}
}

// siteBound sums the bounds of a site's energy.
type siteBound struct {
	self, inclusive     presence
	selfOf, inclusiveOf []Bounds // per domain
	// The same of machine time, of which idle power is a multiple (see machineTime).
	selfMachine, inclusiveMachine []Bounds
	// What others used in the windows in which the site ran, per domain.
	selfBeside, inclusiveBeside []float64
	listed                      bool // in siteBounds.recent
}

// siteBounds is what counters alone show of each site.
type siteBounds struct {
	sites  map[checkpoint.SiteID]*siteBound
	recent []checkpoint.SiteID // that ran in the open window or shortly before

	// Of the open window.
	shares map[checkpoint.SiteID]Share
	from   checkpoint.Tick
	alone  float64 // the share from which on a site has it to itself
}

// whole is the part of a window from which on a site has it to itself, of what
// checkpoints and the like leave of it.
const whole = 0.999

// bound is the bounds of a site.
func (x *siteBounds) bound(site checkpoint.SiteID, domains int) *siteBound {
	b := x.sites[site]
	if b == nil {
		b = &siteBound{
			selfOf: make([]Bounds, domains), inclusiveOf: make([]Bounds, domains),
			selfMachine: make([]Bounds, domains), inclusiveMachine: make([]Bounds, domains),
			selfBeside: make([]float64, domains), inclusiveBeside: make([]float64, domains),
		}
		x.sites[site] = b
	}
	return b
}

// add adds a part of what the program used in a domain to energy and to machine time: from least of it to most.
func (e programEnergy) add(to, machine *Bounds, domain *nemb.Domain, least, most float64) {
	to.Lo += e.lo * domain.Lo * least
	to.Hi += domain.Hi * e.hi * most
	machine.Lo += e.machine * least
	machine.Hi += e.machine * most
}

// ran notes which sites ran in a window, and takes those off the list that ran
// longest ticks before it, and more: no counter shows these any more.
func (x *siteBounds) ran(shares map[checkpoint.SiteID]Share, domains int, from, to, longest checkpoint.Tick) {
	x.recent = slices.DeleteFunc(x.recent, func(site checkpoint.SiteID) bool {
		b := x.sites[site]
		b.listed = b.inclusive.last+longest > from
		return !b.listed
	})
	x.shares, x.from, x.alone = shares, from, whole*(1-min(1, shares[checkpoint.OwnSite].Self))
	for site, share := range shares {
		b := x.bound(site, domains)
		if !b.listed {
			b.listed = true
			x.recent = append(x.recent, site)
		}
		b.self.window(from, to, share.Self, x.alone)
		b.inclusive.window(from, to, max(share.Self, share.Inclusive), x.alone)
	}
}

// add adds what the window that ran took shows about each site in domain d.
// program is what the program used.
//
// All that a counter shows of a site is the sum over the windows in which it
// ran: it used that of the windows it had to itself, and at most that of all of
// them. What a counter shows in a window may be as old as stale ticks before it:
// so long before, too, a site has to have been alone, or may have run. A model
// gives every second of processor time the same power: there the share is exact.
// It is not where the energy is that of windows that are joined with this one.
func (x *siteBounds) add(d int, domain nemb.Domain, program programEnergy, stale checkpoint.Tick, joined bool) {
	if !domain.InTotal {
		return
	}
	for _, site := range x.recent {
		b, share := x.sites[site], x.shares[site]
		if domain.Method != nemb.Measured && !joined {
			program.add(&b.selfOf[d], &b.selfMachine[d], &domain, share.Self, share.Self)
			program.add(&b.inclusiveOf[d], &b.inclusiveMachine[d], &domain, share.Inclusive, share.Inclusive)
			continue
		}
		least := func(p *presence, part float64) float64 {
			if part > x.alone && p.alone+stale <= x.from {
				return part
			}
			return 0
		}
		most := func(p *presence) float64 {
			if p.last+stale > x.from {
				return 1
			}
			return 0
		}
		program.add(&b.selfOf[d], &b.selfMachine[d], &domain, least(&b.self, share.Self), most(&b.self))
		program.add(&b.inclusiveOf[d], &b.inclusiveMachine[d], &domain,
			least(&b.inclusive, share.Inclusive), most(&b.inclusive))
		b.selfBeside[d] += domain.Hi * program.beside * most(&b.self)
		b.inclusiveBeside[d] += domain.Hi * program.beside * most(&b.inclusive)
	}
}

// IsOfAll reports whether a domain's energy is known only of all who ran together: it is measured, or made of powers
// where windows were joined. Else each second of processor time in a window has the same power.
func (w *Windows) IsOfAll(d int) bool {
	method := w.Domains[d].Domain.Method
	return method == nemb.Measured || method == nemb.Derived && w.Domains[d].pace > 0
}

// Bounds is what the windows alone show of a site in a domain: the least and the
// most that it used, by itself and with what it called.
func (w *Windows) Bounds(site checkpoint.SiteID, d int) (self, inclusive Bounds) {
	b := w.bounds.sites[site]
	if b == nil {
		return Bounds{}, Bounds{}
	}
	domain := &w.Domains[d]
	if w.Looked && domain.Domain.InTotal && w.IsOfAll(d) {
		all := Bounds{Hi: domain.ProgramHi * domain.Domain.Hi}
		return all, all
	}
	less := func(of, machine Bounds) Bounds {
		idle := domain.constant.power
		return Bounds{
			Lo: max(0, of.Lo-(idle.Hi*machine.Lo+w.idleNoise(d, machine.Lo))*domain.Domain.Lo),
			Hi: max(0, min(of.Hi, of.Hi-(idle.Lo*machine.Hi-w.idleNoise(d, machine.Hi))*domain.Domain.Hi)),
		}
	}
	return less(b.selfOf[d], b.selfMachine[d]), less(b.inclusiveOf[d], b.inclusiveMachine[d])
}

// Others is what others used of a domain in the windows in which a site ran, itself and with what it called, in
// microjoules: of each window nobody knows what is whose.
func (w *Windows) Others(site checkpoint.SiteID, d int) (self, inclusive float64) {
	b := w.bounds.sites[site]
	if b == nil || !w.IsOfAll(d) {
		return 0, 0
	}
	return b.selfBeside[d], b.inclusiveBeside[d]
}

// HasBounds reports whether a site ran in any window.
func (w *Windows) HasBounds(site checkpoint.SiteID) bool { return w.bounds.sites[site] != nil }
