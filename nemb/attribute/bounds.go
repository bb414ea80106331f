package attribute

import (
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// bounds is an interval of energy, in microjoules.
type bounds struct{ lo, hi float64 }

// widened is b, as far as a counter's steps hide what is in it.
func (b bounds) widened(step float64) bounds { return bounds{b.lo - step, b.hi + step} }

// Refine takes over what is known of the domains at the end of a run, the same
// ones: their steps. Before Finish.
func (a *Attributor) Refine(domains []nemb.Domain) {
	for d := range a.domains {
		a.domains[d].Step = domains[d].Step
	}
}

// step is by how much an energy that is a part of what domain d's counter showed
// may be off since the counter moves in steps, in microjoules: by one. Where most
// windows see none, a step counts in the window in which it came, though it was
// drawn in those before as well: then each adds an error of its own.
func (a *Attributor) step(d int) float64 {
	step := float64(a.domains[d].Step)
	if step <= 0 {
		return 0
	}
	if n := float64(a.books[d].total) / step; n < float64(a.windows) {
		return step * (1 + math.Sqrt(n))
	}
	return step
}

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

// siteBounds sums the bounds of a site's energy.
type siteBounds struct {
	self, inclusive     presence
	selfOf, inclusiveOf []bounds // per domain
	listed              bool     // in Attributor.recent
}

// whole is the part of a window from which on a site has it to itself, of what
// checkpoints and the like leave of it.
const whole = 0.999

func (a *Attributor) alone() float64 {
	return whole * (1 - min(1, a.sites[checkpoint.OwnSite].self))
}

// ran notes which sites ran in a window, and takes those off the list that ran
// longest ticks before it, and more: no counter shows these any more.
func (a *Attributor) ran(from, to, longest checkpoint.Tick) {
	a.recent = slices.DeleteFunc(a.recent, func(site checkpoint.SiteID) bool {
		b := a.bounds[site]
		b.listed = b.inclusive.last+longest > from
		return !b.listed
	})
	for site, part := range a.sites {
		b := a.bounds[site]
		if b == nil {
			b = &siteBounds{selfOf: make([]bounds, len(a.domains)), inclusiveOf: make([]bounds, len(a.domains))}
			a.bounds[site] = b
		}
		if !b.listed {
			b.listed = true
			a.recent = append(a.recent, site)
		}
		b.self.window(from, to, part.self, a.alone())
		b.inclusive.window(from, to, max(part.self, part.inclusive), a.alone())
	}
}

// bound adds what a window tells about each site in a domain. lo and hi bound
// the program's energy there, as factors, and more is what it may have used beside, in
// microjoules.
//
// All that a counter says of a site is the sum over the windows in which it
// ran: it used that of the windows it had to itself, and at most that of all of
// them. What a counter shows in a window may be as old as stale ticks before it:
// so long before, too, a site has to have been alone, or may have run. A model
// gives every second of processor time the same power: there the share is exact.
func (a *Attributor) bound(d int, energy, lo, hi, more float64, from, stale checkpoint.Tick) {
	domain := a.domains[d]
	if !domain.InTotal {
		return
	}
	lo, hi = lo*domain.Lo*energy, domain.Hi*(hi*energy+more)
	alone := a.alone()
	for _, site := range a.recent {
		b, part := a.bounds[site], a.sites[site]
		self, inclusive := &b.selfOf[d], &b.inclusiveOf[d]
		if domain.Method != nemb.Measured {
			self.lo += lo * part.self
			self.hi += hi * part.self
			inclusive.lo += lo * part.inclusive
			inclusive.hi += hi * part.inclusive
			continue
		}
		if part.self > alone && b.self.alone+stale <= from {
			self.lo += lo * part.self
		}
		if b.self.last+stale > from {
			self.hi += hi
		}
		if part.inclusive > alone && b.inclusive.alone+stale <= from {
			inclusive.lo += lo * part.inclusive
		}
		if b.inclusive.last+stale > from {
			inclusive.hi += hi
		}
	}
}
