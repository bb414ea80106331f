package attribute

import (
	"cmp"

	"cg/checkpoint"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/windows"
)

// guess is what others, or a function of which nothing is known, may have drawn at most, as a multiple of the mean, if
// no higher power was seen: it is two standard deviations above, where nothing is known of a power (regression).
const guess = 2

// doubtBeside puts what ran beside the program into the bounds: as far as its power was found, the program's energy is
// what it leaves. Else energy is divided by processor time, and others may have drawn anything from nothing to
// the highest power that was seen, or guess.
func (x *explanation) doubtBeside() {
	for d := range x.windows.Domains {
		domain := x.windows.Domains[d].Domain
		sites, inclusive := x.sumBeside(d)
		x.beside, x.inclusiveBeside = append(x.beside, sites), append(x.inclusiveBeside, inclusive)
		if !x.windows.IsOfAll(d) || domain.Program || !domain.FollowsProcessors() {
			continue
		}
		f := x.fits[d]
		if all := inclusive[0]; all.Time > 0 {
			x.most[d] = guess * all.Energy / all.Time
		}
		if f != nil {
			x.most[d] = max(x.most[d], f.Highest)
		}
		if f != nil && f.Beside != nil {
			x.windows.DivideBeside(d, f.Rest-f.Beside.Energy, f.Beside.HalfWidth)
		} else {
			x.windows.Doubt(d, x.most[d])
		}
	}
	for d := range x.windows.Domains { // all of it may be others'
		b := &x.windows.Domains[d]
		if x.windows.OthersUnknown && b.Domain.ReadsMachine() {
			b.ProgramLo = 0
		}
	}
}

// sumBeside adds up what ran beside each site. Site 0 has all of it with what it called.
func (x *explanation) sumBeside(d int) (self, inclusive map[checkpoint.SiteID]windows.Beside) {
	self, inclusive = map[checkpoint.SiteID]windows.Beside{}, map[checkpoint.SiteID]windows.Beside{}
	under := make([]windows.Beside, x.tree.Len())
	add := func(to map[checkpoint.SiteID]windows.Beside, site checkpoint.SiteID, b windows.Beside) {
		if b.Time > 0 {
			sum := to[site]
			sum.Add(b)
			to[site] = sum
		}
	}
	for n := int32(x.tree.Len()) - 1; n >= 0; n-- {
		own, site := x.windows.PathBeside(d, n), x.tree.Site(n)
		under[n].Add(own)
		add(self, site, own)
		if n == paths.Root {
			inclusive[0] = under[n]
			break
		}
		under[x.tree.Parent(n)].Add(under[n])
		if site != 0 && x.tree.IsOutermost(n) {
			add(inclusive, site, under[n])
		}
	}
	return self, inclusive
}

// doubted is an interval of an energy e with what others may have drawn beside, where their power was not found: what
// goes with its time, or with its part of the program's energy where it drew more than others of the program.
func (x *explanation) doubted(d int, e float64, b windows.Bounds, beside windows.Beside) windows.Bounds {
	if f := x.fits[d]; f != nil && f.Beside != nil || x.most[d] <= 0 {
		return b
	}
	down, up := beside.Off(x.most[d])
	allDown, allUp := x.inclusiveBeside[d][0].Off(x.most[d])
	part := e / max(1, float64(x.windows.Domains[d].Program))
	return windows.Bounds{Lo: b.Lo - max(down, part*allDown), Hi: b.Hi + max(up, part*allUp)}
}

// lag is the time constant of the filter that a domain's counter was found to have, in nanoseconds, whether or not the
// fit that found it tells functions apart; 0 where none was found.
func (x *explanation) lag(d int) float64 {
	if f := cmp.Or(x.fits[d], x.noisy[d]); f != nil {
		return f.Lag
	}
	return 0
}

// alone is what the windows show of a site in a domain, without what others may have drawn beside, itself and with what
// it called. Where the counter is filtered a window has what was used before it: that is anything of the program's.
func (x *explanation) alone(d int, site checkpoint.SiteID) (self, inclusive windows.Bounds) {
	if x.lag(d) > 0 {
		domain := &x.windows.Domains[d]
		all := windows.Bounds{Hi: domain.ProgramHi * domain.Domain.Hi}
		return all, all
	}
	return x.windows.Bounds(site, d)
}

// hardBounds is what the windows alone show of a site in a domain, itself and with what it called: at least what it had
// for itself, less what others may have drawn then, and at most all that was used when it ran. A counter that is
// filtered shows no such thing.
func (x *explanation) hardBounds(d int, site checkpoint.SiteID) (self, inclusive windows.Bounds) {
	self, inclusive = x.alone(d, site)
	others, all := x.windows.Others(site, d)
	down, _ := x.beside[d][site].Off(x.most[d])
	self = windows.Bounds{Lo: max(0, self.Lo-down), Hi: self.Hi + others}
	down, _ = x.inclusiveBeside[d][site].Off(x.most[d])
	return self, windows.Bounds{Lo: max(0, inclusive.Lo-down), Hi: inclusive.Hi + all}
}
