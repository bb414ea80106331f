package attribute

import (
	"cmp"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// Value is an energy with its interval.
type Value struct {
	Energy, Lo, Hi nemb.Energy
}

// Cost is what a site used in a run. Self is what it used itself; Inclusive
// adds what it called, counting a recursive call once.
type Cost struct {
	Site            checkpoint.SiteID
	Calls           uint64
	First           checkpoint.Instant // when it was entered for the first time
	Demoted         bool               // calls were counted only, from some moment on
	Cut             uint64             // calls whose end nobody has seen: they end at the last known moment
	Self, Inclusive Value
	// Single is what single calls used, where they were long enough.
	Single Calls
	// Method is how Self was found. Reason is set when the half-width of its interval
	// exceeds half its value. Group lists the sites whose power the data cannot
	// separate from this one's, 0 for what is no site.
	Method  string
	Reason  Reason
	Group   []checkpoint.SiteID
	Domains []nemb.Energy // self energy, per domain
	// InclusiveDomains is the inclusive energy per domain.
	InclusiveDomains []nemb.Energy
	SelfTime         time.Duration // wall-clock time, summed over threads
	InclusiveTime    time.Duration
	CPUTime          time.Duration // processor time of the self part
	// Suspended is the time for which its frames were on no thread.
	Suspended time.Duration
}

// Ledger accounts for the energy of a domain, or of the machine:
// Functions + Uninstrumented + Background + Other + Idle + Own + Checkpoints + Unattributed = Total.
type Ledger struct {
	Functions      nemb.Energy   // self energies of all sites
	Uninstrumented nemb.Energy   // the program outside its sites
	Background     []nemb.Energy // classes of threads beside those of the program
	Other          nemb.Energy   // other processes
	Idle           nemb.Energy   // drawn without anybody running, where known
	Own            nemb.Energy   // cg
	Checkpoints    nemb.Energy   // what the program's checkpoints cost it, where that is known
	Unattributed   nemb.Energy   // in windows whose end could not be read
	Total          nemb.Energy
	// ProgramLo and ProgramHi bound what is the program's, the domain's
	// own bounds included.
	ProgramLo, ProgramHi nemb.Energy
	// Late is by how much the total may be off either way, as the readings at its
	// ends took time.
	Late nemb.Energy
}

// Balanced reports whether the law of the ledger holds.
func (l Ledger) Balanced() bool {
	return l.Program()+l.Other+l.Idle+l.Own+l.Checkpoints+l.Unattributed == l.Total
}

// Program is the share of the measured program.
func (l Ledger) Program() nemb.Energy {
	e := l.Functions + l.Uninstrumented
	for _, b := range l.Background {
		e += b
	}
	return e
}

// Path is a call path: a site, called from another path. Self is what it used
// itself.
type Path struct {
	// Parent is the index of the caller's path in Result.Paths, where it stands
	// before this one; -1 for the first, which is what the program used outside
	// its sites.
	Parent int
	// Site is 0 in the first path, and in one that stands for all further
	// paths below its parent, each of which used less than those that are told.
	Site              checkpoint.SiteID
	Calls             uint64
	Self              nemb.Energy
	SelfTime, CPUTime time.Duration
	// Domains is Self per domain, nil where one domain alone is in the total.
	Domains []nemb.Energy
}

// ToldPaths is the most paths of a Result.
const ToldPaths = 1 << 14

// Result is the attribution of a run.
type Result struct {
	Paths   []Path   // what the self energies of Costs and Total.Uninstrumented are made of
	Costs   []Cost   // by falling self energy
	Domains []Ledger // per domain
	Total   Ledger   // over the domains that are InTotal
	Stats   Stats
	Wall    time.Duration // from the first sample to the last
	CPU     time.Duration // of the program

	Background []string // the classes of the ledgers' Background

	// Checkpoints is what the events cost: time of their threads, and of that
	// processor time. Zero where no writer tells what an event costs.
	Checkpoints, CheckpointCPU time.Duration
	Spans                      []Span // the longest calls, in the order in which they began

	// Method is how the program's energy was shared out among its functions where
	// the data tell: Regression or TimeShare.
	Method string
}

// Finish adds everything up. The Attributor is spent afterwards.
func (a *Attributor) Finish() Result {
	a.told()
	for _, t := range a.threads {
		a.abandon(t)
	}
	for _, p := range a.procs {
		a.lapse(p, a.prev.At)
	}
	r := Result{
		Stats:   a.Stats,
		Wall:    time.Duration(a.prev.Time - a.first.Time),
		CPU:     a.prev.Usage.Program - a.first.Usage.Program,
		Domains: make([]Ledger, len(a.domains)),

		Background: a.Background,
		Spans:      a.spans.told(),
	}
	if a.probe != 0 {
		r.Checkpoints, r.CheckpointCPU = time.Duration(a.tallies[a.probe].wall), time.Duration(a.tallies[a.probe].cpu)
	}
	r.Total.Background = make([]nemb.Energy, len(a.Background))
	whole := make([][]nemb.Energy, len(a.domains)) // per domain, per node
	told := a.explain()
	r.Method = TimeShare
	if told.main >= 0 && told.fits[told.main] != nil {
		r.Method = Regression
	}
	for d, b := range a.books {
		parts := slices.Concat(told.nodes[d], told.background[d])
		parted := round(parts, b.program)
		whole[d] = parted[:len(a.nodes)]
		beside := append([]nemb.Energy{}, parted[len(a.nodes):]...)
		// What the runtime did for cg is cg's.
		inside, probes := nemb.Energy(0), nemb.Energy(0)
		for i, n := range a.nodes {
			if n.site == checkpoint.OwnSite {
				if int32(i) == a.probe {
					probes = whole[d][i]
				} else {
					inside += whole[d][i]
				}
				whole[d][i] = 0
				a.tallies[i] = tally{}
			}
		}
		l := Ledger{
			Uninstrumented: whole[d][root],
			Functions:      b.program - whole[d][root] - inside - probes,
			Background:     beside,
			Other:          b.other,
			Idle:           b.idle,
			Own:            b.own + inside,
			Checkpoints:    probes,
			Unattributed:   b.unattributed,
			Total:          b.total,
		}
		for _, e := range beside {
			l.Functions -= e
		}
		if b.program > 0 {
			// What the runtime did for cg leaves the program with its bounds.
			stays := float64(l.Program()) / float64(b.program)
			lo, hi := stays*b.lo*a.domains[d].Lo, stays*b.hi*a.domains[d].Hi
			l.ProgramLo, l.ProgramHi = interval(l.Program(), lo-a.off(d), hi+a.off(d))
		} else {
			l.ProgramHi = nemb.Energy(a.off(d))
		}
		most := nemb.Energy(float64(l.Total)*a.domains[d].Hi+a.late(d)) + a.domains[d].Step
		if a.domains[d].Step > 0 || a.late(d) > 0 {
			l.ProgramHi = min(l.ProgramHi, most)
		}
		l.Late = nemb.Energy(a.late(d))
		r.Domains[d] = l
		if a.domains[d].InTotal {
			r.Total.Functions += l.Functions
			r.Total.Uninstrumented += l.Uninstrumented
			for i, e := range beside {
				r.Total.Background[i] += e
			}
			r.Total.Other += l.Other
			r.Total.Idle += l.Idle
			r.Total.Own += l.Own
			r.Total.Checkpoints += l.Checkpoints
			r.Total.Unattributed += l.Unattributed
			r.Total.Total += l.Total
			r.Total.Late += l.Late
			r.Total.ProgramLo += l.ProgramLo
			r.Total.ProgramHi += l.ProgramHi
		}
	}
	a.costs(&r, told, whole)
	return r
}

// round turns the parts into whole microjoules whose sum is total, giving what
// is left to the parts that lost most.
func round(parts []float64, total nemb.Energy) []nemb.Energy {
	out := make([]nemb.Energy, len(parts))
	sum := nemb.Energy(0)
	for i, p := range parts {
		out[i] = nemb.Energy(max(0, p))
		sum += out[i]
	}
	type lost struct {
		part int
		rest float64
	}
	var order []lost // most of a large tree's parts are 0, and lose nothing
	for i, p := range parts {
		if p > 0 {
			order = append(order, lost{i, p - float64(out[i])})
		}
	}
	slices.SortFunc(order, func(x, y lost) int { return cmp.Or(cmp.Compare(y.rest, x.rest), cmp.Compare(x.part, y.part)) })
	for k := 0; sum < total && k < len(order); k++ {
		out[order[k].part]++
		sum++
	}
	if sum < total { // the parts were not the whole: the root keeps it
		out[root] += total - sum
	}
	for k := len(order) - 1; sum > total; k = (k + len(order) - 1) % len(order) {
		if i := order[k].part; out[i] > 0 {
			out[i]--
			sum--
		}
	}
	return out
}

// costs sums the nodes by site. Children follow their parents in a.nodes, so
// one pass backwards gives every subtree, and a node counts towards the
// inclusive cost of its site unless the site is already among its callers.
func (a *Attributor) costs(r *Result, told *explanation, whole [][]nemb.Energy) {
	type sum struct {
		energy     nemb.Energy
		wall, away float64
	}
	self, under := make([]nemb.Energy, len(a.nodes)), make([]sum, len(a.nodes))
	below := make([][]nemb.Energy, len(a.domains)) // inclusive, per domain
	for d := range below {
		below[d] = slices.Clone(whole[d])
	}
	for i := len(a.nodes) - 1; i >= 0; i-- {
		for d, domain := range a.domains {
			if domain.InTotal {
				self[i] += whole[d][i]
			}
		}
		u := &under[i]
		u.energy += self[i]
		u.wall += a.tallies[i].wall
		u.away += a.tallies[i].away
		if p := a.nodes[i].parent; p >= 0 {
			under[p].energy += u.energy
			under[p].wall += u.wall
			under[p].away += u.away
			for d := range below {
				below[d][p] += below[d][i]
			}
		}
	}
	r.Paths = a.paths(self, a.several(whole), func(x, y int) int {
		return cmp.Or(cmp.Compare(under[y].energy, under[x].energy), cmp.Compare(under[y].wall, under[x].wall), cmp.Compare(x, y))
	}, ToldPaths)
	costs := map[checkpoint.SiteID]*Cost{}
	away := map[checkpoint.SiteID]float64{} // ticks
	for i, n := range a.nodes {
		if i == root || n.site == checkpoint.OwnSite {
			continue
		}
		c := costs[n.site]
		if c == nil {
			c = &Cost{Site: n.site, Domains: make([]nemb.Energy, len(a.domains)), InclusiveDomains: make([]nemb.Energy, len(a.domains))}
			costs[n.site] = c
			c.First = a.instant(a.met[n.site])
		}
		c.Calls += n.calls &^ counted
		c.Demoted = a.demoted[n.site]
		c.Self.Energy += self[i]
		for d := range a.domains {
			c.Domains[d] += whole[d][i]
		}
		c.SelfTime += time.Duration(a.tallies[i].wall)
		c.CPUTime += time.Duration(a.tallies[i].cpu)
		if a.outermost[i] {
			c.Inclusive.Energy += under[i].energy
			c.InclusiveTime += time.Duration(under[i].wall)
			away[n.site] += under[i].away
			for d := range a.domains {
				c.InclusiveDomains[d] += below[d][i]
			}
		}
	}
	most := float64(r.Total.ProgramHi)
	halfWidth := make([]map[checkpoint.SiteID]float64, len(a.domains))
	for d, domain := range a.domains {
		if domain.InTotal {
			halfWidth[d] = a.inclusiveHalfWidth(told, d, whole[d])
		}
	}
	for site, c := range costs {
		var self, inclusive bounds
		for d, domain := range a.domains {
			if !domain.InTotal {
				continue
			}
			s := a.selfBounds(told, d, site, c.Domains[d]).widened(a.off(d))
			self.lo, self.hi = self.lo+max(0, s.lo), self.hi+max(0, s.hi)
			i := bounds{}
			if b := a.bounds[site]; b != nil {
				i = b.inclusiveOf[d]
			}
			if halfWidth[d] != nil {
				lo, hi := a.known(d)
				e := float64(c.InclusiveDomains[d])
				i = bounds{max(i.lo, (e-halfWidth[d][site])*lo), min(i.hi, (e+halfWidth[d][site])*hi)}
			}
			i = i.widened(a.off(d))
			inclusive.lo, inclusive.hi = inclusive.lo+max(0, i.lo), inclusive.hi+max(0, i.hi)
		}
		c.Self.Lo, c.Self.Hi = interval(c.Self.Energy, self.lo, min(self.hi, most))
		c.Inclusive.Lo, c.Inclusive.Hi = interval(c.Inclusive.Energy, inclusive.lo, min(inclusive.hi, most))
		a.verdict(told, c)
		c.Single, c.Cut = a.single[site].calls(), a.unseen[site]
		ticks := away[site]
		if s := a.waiting[site]; s != nil {
			end := a.since(a.prev.At)
			ticks += max(0, s.back+float64(s.open)*end-s.out)
		}
		if ticks > 0 {
			if span := float64(a.prev.At - a.first.At); span > 0 {
				c.Suspended = time.Duration(min(ticks*float64(a.prev.Time-a.first.Time)/span, 1<<62))
			}
		}
		r.Costs = append(r.Costs, *c)
	}
	slices.SortFunc(r.Costs, func(x, y Cost) int {
		return cmp.Or(cmp.Compare(y.Self.Energy, x.Self.Energy), cmp.Compare(y.SelfTime, x.SelfTime), cmp.Compare(x.Site, y.Site))
	})
}

// instant places a tick between the first and the last sample.
func (a *Attributor) instant(t checkpoint.Tick) checkpoint.Instant {
	span := float64(a.prev.At - a.first.At)
	if span <= 0 || t < a.first.At {
		return a.first.Time
	}
	return a.first.Time + checkpoint.Instant(float64(t-a.first.At)/span*float64(a.prev.Time-a.first.Time))
}

// interval rounds outwards and keeps the value inside.
func interval(e nemb.Energy, lo, hi float64) (nemb.Energy, nemb.Energy) {
	return min(e, nemb.Energy(max(0, lo))), max(e, nemb.Energy(math.Ceil(max(0, hi))))
}

// several is whole where more than one domain is in the total, else nil.
func (a *Attributor) several(whole [][]nemb.Energy) [][]nemb.Energy {
	n := 0
	for _, d := range a.domains {
		if d.InTotal {
			n++
		}
	}
	if n < 2 {
		return nil
	}
	return whole
}

// paths tells the call paths that come first in an order in which no path comes
// before its caller's; what the others used is told in one for each caller.
// parts are self per domain, nil for none.
func (a *Attributor) paths(self []nemb.Energy, parts [][]nemb.Energy, order func(x, y int) int, most int) []Path {
	told := make([]bool, len(a.nodes))
	if len(a.nodes) <= most {
		for i := range told {
			told[i] = true
		}
	} else {
		all := make([]int, len(a.nodes))
		for i := range all {
			all[i] = i
		}
		slices.SortFunc(all, order)
		for _, i := range all[:most/2] { // each may have one for its others
			told[i] = true
		}
	}
	var out []Path
	place := make([]int, len(a.nodes)) // in out
	others := map[int]int{}
	for i, n := range a.nodes {
		p := Path{Parent: -1, Site: n.site}
		switch {
		case i == root:
		case n.site == checkpoint.OwnSite: // is cg's, and calls nothing of the program's
			place[i] = place[n.parent]
			continue
		default:
			p.Parent = place[n.parent]
			if told[i] {
				break
			}
			at, ok := others[p.Parent]
			if !told[n.parent] {
				at, ok = p.Parent, true
			}
			if ok {
				place[i] = at
				continue
			}
			others[p.Parent] = len(out)
			p.Site = 0
		}
		place[i] = len(out)
		out = append(out, p)
	}
	for i, n := range a.nodes {
		if n.site == checkpoint.OwnSite {
			continue
		}
		p := &out[place[i]]
		p.Self += self[i]
		if parts != nil && p.Domains == nil {
			p.Domains = make([]nemb.Energy, len(parts))
		}
		for d := range parts {
			p.Domains[d] += parts[d][i]
		}
		p.Calls += n.calls &^ counted
		p.SelfTime += time.Duration(a.tallies[i].wall)
		p.CPUTime += time.Duration(a.tallies[i].cpu)
	}
	return out
}
