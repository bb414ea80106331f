package attribute

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/calls"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/stacks"
	"cg/nemb/attribute/windows"
)

// subtrees is what each path used itself and with all that it called.
type subtrees struct {
	self, energy []nemb.Energy   // over the domains that are in the total
	domains      [][]nemb.Energy // of energy, per domain
	wall, away   []float64       // see windows.PathTime and stacks.Away
	// own is the checkpoints whose cost lies in each path: one for each call of it,
	// one for each call that it makes, and those that are no calls. events is those with what it called.
	events, own []float64
	// doubt is the variance of the time of each path, as far as that was counted and not
	// measured, and doubts that of what it called, too, in ticks^2.
	doubt, doubts []float64
	// warming is the time of each path that may have been its checkpoints' before they were compiled, and warmings
	// that with what it called, in ticks.
	warming, warmings []float64
	seen              []stacks.Seen // nil where nobody looked
}

// likely is how many standard deviations of an estimate are the half-width of its
// interval: 95 %.
const likely = 1.96

// checkpointDoubt is the part of what checkpoints cost by which that may be too low: it
// is measured as the least of short runs, where memory is in the caches and nobody reads it.
const checkpointDoubt = 0.5

// sumSubtrees adds up the subtrees. Children follow their parents, so one pass
// backwards gives every one.
func (o *outcome) sumSubtrees() *subtrees {
	n := o.tree.Len()
	u := &subtrees{
		self: make([]nemb.Energy, n), energy: make([]nemb.Energy, n),
		wall: make([]float64, n), away: make([]float64, n), events: make([]float64, n), own: make([]float64, n),
		doubt: make([]float64, n), doubts: make([]float64, n),
		warming: make([]float64, n), warmings: make([]float64, n),
	}
	copy(u.doubt, o.stacks.Doubts())
	copy(u.warming, o.stacks.Warming())
	u.seen = o.stacks.Seen()
	for d := range o.whole {
		u.domains = append(u.domains, slices.Clone(o.whole[d]))
	}
	for i := int32(n) - 1; i >= 0; i-- {
		for d := range o.whole {
			if o.windows.Domains[d].Domain.InTotal {
				u.self[i] += o.whole[d][i]
			}
		}
		u.energy[i] += u.self[i]
		u.wall[i] += o.windows.Times[i].Wall
		if o.tree.Site(i) != checkpoint.OwnSite {
			u.away[i] += o.stacks.Away(i)
		}
		calls := float64(o.stacks.Calls(i))
		u.own[i] = max(0, u.own[i]+calls+float64(o.stacks.Others(i)))
		u.events[i] += u.own[i]
		u.doubts[i] += u.doubt[i]
		u.warmings[i] += u.warming[i]
		if p := o.tree.Parent(i); p >= 0 {
			u.own[p] += calls
			u.events[p] += u.events[i]
			u.doubts[p] += u.doubts[i]
			u.warmings[p] += u.warmings[i]
			u.energy[p] += u.energy[i]
			u.wall[p] += u.wall[i]
			u.away[p] += u.away[i]
			for d := range u.domains {
				u.domains[d][p] += u.domains[d][i]
			}
		}
	}
	return u
}

// costs lists what each site used, by falling self energy. most is what the
// program used at most.
func (o *outcome) costs(u *subtrees, long *calls.Calls, most nemb.Energy) []Cost {
	sums, away := o.sumSites(u)
	o.programHi = float64(most)
	doubt := 0.0 // of a checkpoint, in microjoules
	if all := u.events[paths.Root]; all > 0 {
		doubt = checkpointDoubt * float64(o.checkpoints) / all
	}
	halfWidth := make([]map[checkpoint.SiteID]float64, len(o.whole))
	for d := range o.whole {
		if o.windows.Domains[d].Domain.InTotal {
			halfWidth[d] = o.inclusiveHalfWidth(d, o.whole[d])
		}
	}
	var costs []Cost
	for site, c := range sums {
		o.bound(c, halfWidth, float64(most))
		o.countedDoubt(c)
		o.warmingDoubt(c)
		o.lookedDoubt(c)
		c.Self.lower(doubt * c.events)
		c.Inclusive.lower(doubt * c.inclusiveEvents)
		o.verdict(c)
		if o.windows.OthersUnknown && o.main >= 0 && o.windows.Domains[o.main].Domain.Method != nemb.Estimated {
			c.Self.Lo, c.Inclusive.Lo = 0, 0
		}
		c.Single, c.Cut = long.Of(site), o.stacks.Cut(site)
		c.Times = o.times(site)
		c.Suspended = o.suspended(site, away[site])
		costs = append(costs, *c)
	}
	slices.SortFunc(costs, func(x, y Cost) int {
		return cmp.Or(
			cmp.Compare(y.Self.Energy, x.Self.Energy), cmp.Compare(y.SelfTime, x.SelfTime), cmp.Compare(x.Site, y.Site))
	})
	return costs
}

// sumSites adds the paths up by site, and the ticks that strands were away in it.
// A path counts towards the inclusive cost of its site unless the site is already
// among its callers.
func (o *outcome) sumSites(u *subtrees) (costs map[checkpoint.SiteID]*Cost, away map[checkpoint.SiteID]float64) {
	costs, away = map[checkpoint.SiteID]*Cost{}, map[checkpoint.SiteID]float64{}
	for i, site := range o.tree.Sites() {
		n := int32(i)
		if n == paths.Root || site == checkpoint.OwnSite {
			continue
		}
		c := costs[site]
		if c == nil {
			c = &Cost{
				Site: site, First: o.instant(o.tree.First(site)),
				Domains: make([]nemb.Energy, len(o.whole)), InclusiveDomains: make([]nemb.Energy, len(o.whole)),
			}
			costs[site] = c
		}
		if u.seen != nil {
			c.looked(u.seen[n], float64(u.self[n]), float64(u.energy[n]), o.tree.IsOutermost(n))
		}
		c.Calls += o.stacks.Calls(n)
		c.events += u.own[n]
		c.doubt += u.doubt[n]
		c.warming += u.warming[n]
		c.Self.Energy += u.self[n]
		c.SelfTime += time.Duration(o.windows.Times[n].Wall)
		c.CPUTime += time.Duration(o.windows.Times[n].CPU)
		for d := range o.whole {
			c.Domains[d] += o.whole[d][n]
		}
		if o.tree.IsOutermost(n) {
			c.Inclusive.Energy += u.energy[n]
			c.InclusiveTime += time.Duration(u.wall[n])
			away[site] += u.away[n]
			c.inclusiveEvents += u.events[n]
			c.inclusiveDoubt += u.doubts[n]
			c.inclusiveWarming += u.warmings[n]
			for d := range o.whole {
				c.InclusiveDomains[d] += u.domains[d][n]
			}
		}
	}
	return costs, away
}

// bound sets the intervals of a site's energy. halfWidth is that of the inclusive
// energy, per domain; most is what the program used at most.
func (o *outcome) bound(c *Cost, halfWidth []map[checkpoint.SiteID]float64, most float64) {
	var self, inclusive windows.Bounds
	for d := range o.whole {
		if domain := o.windows.Domains[d].Domain; !domain.InTotal || !domain.FollowsProcessors() {
			continue
		}
		off := o.windows.Off(d)
		s := o.selfBounds(d, c.Site, c.Domains[d]).Widened(off)
		own, all := o.windows.Divided(c.Site, d)
		if o.estimate(d, o.contexts.function(c.Site)) == nil {
			alone, _ := o.alone(d, c.Site)
			c.besideDoubt += max(0, min(s.Hi, most)-max(0, s.Lo)-(alone.Hi-alone.Lo)-2*off)
		}
		self.Lo, self.Hi = self.Lo+max(0, s.Lo-own.Lo), self.Hi+max(0, s.Hi+own.Hi)
		_, i := o.hardBounds(d, c.Site)
		if halfWidth[d] != nil {
			e := float64(c.InclusiveDomains[d])
			known := o.windows.Part(d, e, halfWidth[d][c.Site], o.inclusiveMachine[d][c.Site])
			known = o.doubted(d, e, known, o.inclusiveBeside[d][c.Site])
			i = windows.Bounds{Lo: max(i.Lo, known.Lo), Hi: min(i.Hi, known.Hi)}
		}
		i = i.Widened(off)
		inclusive.Lo, inclusive.Hi = inclusive.Lo+max(0, i.Lo-all.Lo), inclusive.Hi+max(0, i.Hi+all.Hi)
	}
	c.Self.Lo, c.Self.Hi = interval(c.Self.Energy, self.Lo, min(self.Hi, most))
	c.Inclusive.Lo, c.Inclusive.Hi = interval(c.Inclusive.Energy, inclusive.Lo, min(inclusive.Hi, most))
}

// countedDoubt widens the intervals of a site by how far its time may be off that was
// counted and not measured.
func (o *outcome) countedDoubt(c *Cost) {
	first, last := o.windows.First(), o.windows.Last()
	span := float64(last.At - first.At)
	if span <= 0 || c.doubt <= 0 && c.inclusiveDoubt <= 0 {
		return
	}
	perTick := float64(last.Time-first.Time) / span
	c.SelfTimeDoubt = time.Duration(likely * perTick * math.Sqrt(max(0, c.doubt)))
	widen := func(v *Value, wall time.Duration, variance float64) {
		if wall <= 0 {
			return
		}
		e, most := float64(v.Energy), o.programHi
		off := likely * perTick * math.Sqrt(variance) * e / float64(wall)
		v.Lo, v.Hi = interval(v.Energy, e-math.Hypot(off, e-float64(v.Lo)),
			min(e+math.Hypot(off, float64(v.Hi)-e), most))
	}
	widen(&c.Self, c.SelfTime, c.doubt)
	widen(&c.Inclusive, c.InclusiveTime, c.inclusiveDoubt)
}

// warmingDoubt lowers the lower bounds of a site by what may have been the work of its checkpoints before they were
// compiled.
func (o *outcome) warmingDoubt(c *Cost) {
	first, last := o.windows.First(), o.windows.Last()
	span := float64(last.At - first.At)
	if span <= 0 {
		return
	}
	perTick := float64(last.Time-first.Time) / span
	lower := func(v *Value, wall time.Duration, ticks float64) {
		if wall > 0 {
			v.lower(min(1, perTick*ticks/float64(wall)) * float64(v.Energy))
		}
	}
	lower(&c.Self, c.SelfTime, c.warming)
	lower(&c.Inclusive, c.InclusiveTime, c.inclusiveWarming)
}

// looked adds what looks tell of one of a site's paths, whose energies are self and under.
func (c *Cost) looked(s stacks.Seen, self, under float64, outermost bool) {
	c.Looks += s.Looks
	c.looksDoubt += s.Relative * self * self
	if outermost {
		c.LooksUnder += s.LooksUnder
		c.looksUnderDoubt += s.RelativeUnder * under * under
	}
}

// LooksDoubt is the half-width of the interval (95 %) of the self energy, in microjoules, as far
// as looks are a sample.
func (c *Cost) LooksDoubt() float64 { return likely * math.Sqrt(c.looksDoubt) }

// lookedDoubt widens the intervals of a site by how far its part may be off as looks are a
// sample of it.
func (o *outcome) lookedDoubt(c *Cost) {
	widen := func(v *Value, variance float64, looks uint64) {
		if looks == 0 {
			return
		}
		e, off := float64(v.Energy), likely*math.Sqrt(variance)
		v.Lo, v.Hi = interval(v.Energy, e-math.Hypot(off, e-float64(v.Lo)),
			min(e+math.Hypot(off, float64(v.Hi)-e), o.programHi))
	}
	widen(&c.Self, c.looksDoubt, c.Looks)
	widen(&c.Inclusive, c.looksUnderDoubt, c.LooksUnder)
	if e := float64(c.Self.Energy); e > 0 {
		c.SelfTimeDoubt += time.Duration(min(1, likely*math.Sqrt(c.looksDoubt)/e) * float64(c.SelfTime))
	}
}

// suspended is the time for which frames of a site were on no thread: suspended, or
// with a strand that was away for so many ticks.
func (o *outcome) suspended(site checkpoint.SiteID, away float64) time.Duration {
	first, last := o.windows.First(), o.windows.Last()
	ticks := away + o.stacks.Suspended(site, last.At)
	span := float64(last.At - first.At)
	if ticks <= 0 || span <= 0 {
		return 0
	}
	return time.Duration(min(ticks*float64(last.Time-first.Time)/span, 1<<62))
}

// times is how long the calls of a site took.
func (o *outcome) times(site checkpoint.SiteID) Times {
	first, last := o.windows.First(), o.windows.Last()
	times, cost := o.stacks.Times(site)
	if times == nil || last.At <= first.At {
		return Times{}
	}
	return calls.TimesOf(times, cost, float64(last.Time-first.Time)/float64(last.At-first.At))
}

// instant places a tick between the first and the last sample.
func (o *outcome) instant(t checkpoint.Tick) checkpoint.Instant {
	first, last := o.windows.First(), o.windows.Last()
	span := float64(last.At - first.At)
	if span <= 0 || t < first.At {
		return first.Time
	}
	return first.Time + checkpoint.Instant(float64(t-first.At)/span*float64(last.Time-first.Time))
}

// lower lowers the lower bound of a value.
func (v *Value) lower(by float64) { v.Lo = nemb.Energy(max(0, float64(v.Lo)-by)) }

// interval rounds outwards and keeps the value inside.
func interval(e nemb.Energy, lo, hi float64) (nemb.Energy, nemb.Energy) {
	return min(e, nemb.Energy(max(0, lo))), max(e, nemb.Energy(math.Ceil(max(0, hi))))
}
