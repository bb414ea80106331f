package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
	"cg/nemb/attribute/gpus"
)

// The lines of the ledger. Those of the program's background threads have the
// names that its language gives.
const (
	LineFunctions      = "functions"
	LineUninstrumented = "uninstrumented"
	LineOther          = "other processes"
	LineIdle           = "idle"
	LineOwn            = "cg"
	LineCheckpoints    = "checkpoints"
	LineGPU            = "program on GPUs" // of the program, not told apart by function
	LineUnattributed   = "unattributed"
)

// MethodShare names the attribution of the program: each sampling window's energy in
// proportion to processor time, and inside a thread to time in function.
const MethodShare = attribute.TimeShare

// NoSensor is why nothing is resolved where no energy is known.
const NoSensor = "no sensor"

// OnlyGPUs is why nothing is resolved where all energy that is known is that of GPUs.
const OnlyGPUs = "only GPUs are measured"

// energies are what a measurement says of energies: of which domains they are, how
// they were attributed, and what their sum is worth.
type energies struct {
	domains []nemb.Domain
	result  attribute.Result
	kind    nemb.Method
	lo, hi  float64 // the bounds of the sum, as parts of it
	source  string
}

func (e energies) known() bool { return e.kind != nemb.Unavailable }

// divided tells whether the program's part of the energy is known: some follows the processors, or the driver of
// a GPU tells who used it. That the program held no context on a GPU says nothing of what it used elsewhere.
func (e energies) divided() bool {
	return e.byFunction() || e.known() && slices.ContainsFunc(e.result.GPUs, func(g *gpus.Division) bool {
		return isDivided(g) && g.Method != gpus.Unattributed
	})
}

// isDivided tells whether the program's part of the energy of a GPU is known: none of it, where it held no context.
func isDivided(g *gpus.Division) bool { return g != nil && g.IsKnown() }

// byFunction tells whether some of the energy follows the processors, and so can be told
// apart by function. What a GPU used cannot.
func (e energies) byFunction() bool {
	return e.known() && slices.ContainsFunc(e.domains, func(d nemb.Domain) bool {
		return d.InTotal && d.FollowsProcessors()
	})
}

// ofFunctions is the kind of the functions' energies.
func (e energies) ofFunctions() nemb.Method {
	if !e.byFunction() {
		return nemb.Unavailable
	}
	return e.kind
}

// Attributed fills in what a run's energy was spent on. domains are those of
// the series; sites are in the order of their ids.
func (r *Run) Attributed(domains []nemb.Domain, result attribute.Result, sites []checkpoint.Site) {
	e := energies{domains: domains, result: result}
	e.kind, e.lo, e.hi, e.source = overall(domains, result)
	r.totals(e)
	r.ledger(e)
	r.idlePower(e)
	r.gpus(e)
	calls := r.functions(e, sites)
	r.places(result.Places, result.Costs, sites)
	r.unresolved()
	r.sites(sites, calls)
	r.LongCalls = r.longCalls(result.Spans)
	r.paths(e, sites)
	r.Meta.DomainTopology, r.Meta.DomainSupport = nemb.Topology(domains), nemb.Support(domains)
	r.quality(domains, e.kind, result.Stats.Events)
	r.channel(e)
	if !result.Total.Balanced() {
		r.Warn("ledger-unbalanced",
			"the parts of the energy do not add up to the whole: the figures of this run are not to be trusted; "+
				"please report it")
	}
	if result.Stats.Truncated > 0 {
		r.Warn("paths-truncated",
			fmt.Sprintf("%d calls are on call paths beyond the limit; cg counts them at another path of "+
				"their function, or at their caller", result.Stats.Truncated))
	}
}

// ofProgramAlone tells whether all of the energy is the program's, whoever else ran.
func (e energies) ofProgramAlone() bool {
	return !slices.ContainsFunc(e.domains, func(d nemb.Domain) bool { return d.InTotal && !d.Program })
}

// totals are the energies of the machine and of the program.
func (r *Run) totals(e energies) {
	wall := e.result.Wall.Seconds()
	t := &r.Totals
	t.DurationS, t.WallDurationS, t.TaskDurationS = wall, wall, wall
	t.Domains, t.DomainsPowerW = map[string]Joules{}, map[string]float64{}
	t.NoiseWarnings = []NoiseWarning{}
	t.Kind, t.Method, t.Source = e.kind, "sampled", e.source
	if e.known() {
		total := e.result.Total
		t.EnergyJ = joules(total.Total)
		step := steps(e.domains)
		t.LoJ, t.HiJ = joules(less(scaled(total.Total, e.lo), step)), joules(scaled(total.Total, e.hi)+step)
		t.AvgPowerW = power(total.Total, e.result.Wall)
		if e.divided() {
			t.ProgramEnergyJ = joules(total.Program())
			t.ProgramEnergyLoJ, t.ProgramEnergyHiJ = joules(total.ProgramLo), joules(total.ProgramHi)
		}
	}
	for d, domain := range e.domains {
		t.Domains[domain.ID] = Joules(e.result.Domains[d].Total)
		if p := power(e.result.Domains[d].Total, e.result.Wall); p != nil {
			t.DomainsPowerW[domain.ID] = *p
		}
	}
}

// ledger divides the energy of the machine.
func (r *Run) ledger(e energies) {
	r.Ledger = []Line{}
	total := e.result.Total
	line := func(name string, part func(attribute.Ledger) nemb.Energy) {
		l := Line{Name: name, EnergyJ: Joules(part(total)), Domains: map[string]Joules{}}
		if total.Total > 0 {
			l.SharePercent = 100 * float64(part(total)) / float64(total.Total)
		}
		for d, domain := range e.domains {
			l.Domains[domain.ID] = Joules(part(e.result.Domains[d]))
		}
		r.Ledger = append(r.Ledger, l)
	}
	if !e.known() {
		return
	}
	onGPUs := func(l attribute.Ledger) nemb.Energy { return l.GPU }
	if !e.byFunction() { // nothing but GPUs is measured
		if e.divided() {
			line(LineGPU, onGPUs)
			line(LineOther, func(l attribute.Ledger) nemb.Energy { return l.Other })
		}
		line(LineIdle, func(l attribute.Ledger) nemb.Energy { return l.Idle })
		line(LineUnattributed, func(l attribute.Ledger) nemb.Energy { return l.Unattributed })
		return
	}
	line(LineFunctions, func(l attribute.Ledger) nemb.Energy { return l.Functions })
	line(LineUninstrumented, func(l attribute.Ledger) nemb.Energy { return l.Uninstrumented })
	for i, name := range e.result.Background {
		line(name, func(l attribute.Ledger) nemb.Energy { return l.Background[i] })
	}
	if slices.ContainsFunc(e.result.GPUs, isDivided) {
		line(LineGPU, onGPUs)
	}
	if !e.ofProgramAlone() {
		line(LineOther, func(l attribute.Ledger) nemb.Energy { return l.Other })
		line(LineIdle, func(l attribute.Ledger) nemb.Energy { return l.Idle })
	}
	if !e.ofProgramAlone() || total.Own > 0 { // what the runtime did for cg
		line(LineOwn, func(l attribute.Ledger) nemb.Energy { return l.Own })
	}
	if e.result.Checkpoints > 0 {
		line(LineCheckpoints, func(l attribute.Ledger) nemb.Energy { return l.Checkpoints })
	}
	line(LineUnattributed, func(l attribute.Ledger) nemb.Energy { return l.Unattributed })
}

// functions are what each function used. It returns the calls of every site.
func (r *Run) functions(e energies, sites []checkpoint.Site) map[checkpoint.SiteID]uint64 {
	calls := map[checkpoint.SiteID]uint64{}
	r.Functions = []Function{}
	for _, c := range e.result.Costs {
		s, there := siteOf(sites, c.Site)
		if !there {
			r.nowhere(c, e.domains)
			continue
		}
		calls[c.Site] = c.Calls
		switch {
		case s.Kind != checkpoint.Task:
			r.Functions = append(r.Functions, functionOf(c, s, e, sites))
		case e.byFunction():
			r.between(c, e.domains)
		}
	}
	return calls
}

// functionOf is what one function used.
func functionOf(c attribute.Cost, s checkpoint.Site, e energies, sites []checkpoint.Site) Function {
	f := Function{
		Name: s.Func, File: s.File, Line: s.Line, Language: s.Language, Kind: string(s.Kind),
		Calls:     c.Calls,
		SelfTimeS: c.SelfTime.Seconds(), InclusiveTimeS: c.InclusiveTime.Seconds(),
		SelfTimeDoubtS: c.SelfTimeDoubt.Seconds(),
		CPUTimeS:       c.CPUTime.Seconds(), SuspendedS: c.Suspended.Seconds(),
		EnergyKind: e.ofFunctions(), EnergyMethod: c.Method, EnergySource: e.source, Unresolved: NoSensor,
		CallsCut: c.Cut, Domains: map[string]Joules{}, CallsTime: callsTime(c.Times),
	}
	if !e.byFunction() {
		if e.known() {
			f.Unresolved = OnlyGPUs
		}
		return f
	}
	self, whole := c.Self, c.Inclusive
	f.SelfEnergyJ, f.SelfEnergyLoJ, f.SelfEnergyHiJ = joules(self.Energy), joules(self.Lo), joules(self.Hi)
	f.InclusiveEnergyJ, f.InclusiveEnergyLoJ, f.InclusiveEnergyHiJ = joules(whole.Energy), joules(whole.Lo),
		joules(whole.Hi)
	f.AvgPowerW = power(self.Energy, c.SelfTime)
	for d, v := range c.Domains {
		if e.domains[d].FollowsProcessors() {
			f.Domains[e.domains[d].ID] = Joules(v)
		}
	}
	f.looked(c)
	f.resolve(c, sites)
	f.CallsEnergy = callsEnergy(c)
	if p := e.result.Total.Program(); p > 0 {
		share := 100 * float64(self.Energy) / float64(p)
		f.SharePercent = &share
	}
	return f
}

// sites lists the places with checkpoints.
func (r *Run) sites(sites []checkpoint.Site, calls map[checkpoint.SiteID]uint64) {
	r.Sites = []Site{}
	for _, s := range sites {
		if s.Kind == checkpoint.Task || s.Kind.IsPlace() || s.ID == 0 { // a number that nothing has
			continue
		}
		r.Sites = append(r.Sites, Site{
			ID: uint32(s.ID), Name: s.Func, File: s.File, Line: s.Line, Column: s.Col, EndLine: s.EndLine,
			Kind: string(s.Kind), Language: s.Language, Calls: calls[s.ID],
		})
	}
}

// paths are what each call path used.
func (r *Run) paths(e energies, sites []checkpoint.Site) {
	r.Paths = []Path{}
	for _, p := range e.result.Paths {
		path := Path{Parent: p.Parent, Site: uint32(p.Site), Calls: p.Calls, SelfTimeS: p.SelfTime.Seconds(),
			CPUTimeS: p.CPUTime.Seconds()}
		if s, there := siteOf(sites, p.Site); !there {
			path.Site = 0
		} else if s.Kind == checkpoint.Task {
			path.Site, path.Task = 0, s.Func
		}
		if e.byFunction() {
			path.SelfEnergyJ = joules(p.Self)
			for d, v := range p.Domains {
				if e.domains[d].InTotal && v > 0 {
					if path.Domains == nil {
						path.Domains = map[string]Joules{}
					}
					path.Domains[e.domains[d].ID] = Joules(v)
				}
			}
		}
		r.Paths = append(r.Paths, path)
	}
}

// channel is what the checkpoints did, and what they cost.
func (r *Run) channel(e energies) {
	result := e.result
	stats := result.Stats
	if result.Checkpoints > 0 {
		r.Channel.Cost = &CheckpointCost{TimeS: result.Checkpoints.Seconds(), CPUTimeS: result.CheckpointCPU.Seconds()}
		if stats.Events > 0 {
			r.Channel.Cost.EventNs = float64(result.Checkpoints) / float64(stats.Events)
		}
		if e.byFunction() {
			r.Channel.Cost.EnergyJ = joules(result.Total.Checkpoints)
		}
		if counted := result.Counted; counted.Events > 0 {
			r.Channel.Cost.TimedNs, r.Channel.Cost.CountedNs = counted.TimedNs, counted.CountedNs
			r.Channel.Cost.Counted = counted.Events
		}
	}
	if result.Runtime > 0 {
		r.Channel.Runtime = &RuntimeCost{TimeS: result.Runtime.Seconds(), CPUTimeS: result.RuntimeCPU.Seconds()}
		if e.byFunction() {
			r.Channel.Runtime.EnergyJ = joules(result.Total.Runtime)
		}
	}
	r.Channel.Events, r.Channel.Threads = stats.Events, stats.Threads
	r.Channel.Unwound, r.Channel.OpenAtEnd, r.Channel.Backwards = stats.Unwound, stats.OpenAtEnd, stats.Backwards
}

// between books what a task used outside every function where the rest of what
// has no function is booked.
func (r *Run) between(c attribute.Cost, domains []nemb.Domain) {
	from, to := &r.Ledger[0], &r.Ledger[1]
	move := func(e Joules, from, to Joules) (Joules, Joules) { return from - e, to + e }
	from.EnergyJ, to.EnergyJ = move(Joules(c.Self.Energy), from.EnergyJ, to.EnergyJ)
	for d, domain := range domains {
		from.Domains[domain.ID], to.Domains[domain.ID] = move(Joules(c.Domains[d]), from.Domains[domain.ID],
			to.Domains[domain.ID])
	}
	for _, l := range []*Line{from, to} {
		if t := *r.Totals.EnergyJ; t > 0 {
			l.SharePercent = 100 * float64(l.EnergyJ) / float64(t)
		}
	}
}

// Tests adds a task for each span that the program's test runner told, in the
// order in which they began. The program's energy in it is what its thread used, functions
// and the rest; in Go, what it and the goroutines that it started used.
func (r *Run) Tests(result attribute.Result, sites []checkpoint.Site, begun map[checkpoint.SiteID]checkpoint.Instant,
	spans map[checkpoint.SiteID]Span) {
	if len(r.Tasks) == 0 {
		return
	}
	program := r.Tasks[0]
	var tests []Task
	for _, c := range result.Costs {
		if s, there := siteOf(sites, c.Site); !there || s.Kind != checkpoint.Task {
			continue
		}
		begin, took := cmp.Or(begun[c.Site], c.First), c.InclusiveTime
		span, reported := spans[c.Site]
		if span.Bench && span.Iterations == 0 { // on the way to the one that counts
			continue
		}
		if reported { // it did not end: the sum over its goroutines is no time on the clock
			took = min(took+c.Suspended, max(0, time.Duration(program.EndedAtMonoNs-int64(begin))))
		}
		if span.Took > 0 {
			took = span.Took
		}
		if span.Paused > 0 && span.Continued == 0 { // it never went on
			took = max(0, time.Duration(span.Paused-begin))
		}
		t := Task{
			Name: sites[c.Site-1].Func, Depth: 1, Parent: &program.Name,
			StartedAtMonoNs: int64(begin), EndedAtMonoNs: int64(begin) + int64(took),
			Domains: map[string]Joules{}, DomainsPowerW: map[string]float64{},
			Provenance:   Provenance{Kind: nemb.Unavailable, Method: "sampled", Source: r.Totals.Source},
			ProgramShare: &ProgramShare{}, again: !reported && c.Calls > 1, // each goroutine of a Go test is a call
			paused: int64(span.Paused), continued: int64(span.Continued),
		}
		t.clock(program)
		if reported {
			t.Package = &sites[c.Site-1].File
			t.Outlived = span.Took > 0 && c.Cut > 0
		}
		if span.Bench {
			t.Iterations = &span.Iterations
		}
		if r.Totals.ProgramEnergyJ != nil && r.byFunction() {
			*t.ProgramShare = ProgramShare{joules(c.Inclusive.Energy), joules(c.Inclusive.Lo),
				joules(c.Inclusive.Hi)}
		}
		tests = append(tests, t)
	}
	slices.SortStableFunc(tests, func(a, b Task) int { return cmp.Compare(a.StartedAtMonoNs, b.StartedAtMonoNs) })
	for i, state := range around(tests) {
		if state.within >= 0 && tests[i].continued > 0 { // a parallel one goes on when the one around it has ended
			tests[state.within].Outlived = true
		}
	}
	r.Tasks = append(r.Tasks, tests...)
	r.Totals.NTasks = len(r.Tasks)
}

// clock says how long a task of a program ran, how long it waited, and when that was.
func (t *Task) clock(program Task) {
	t.StartedAt = program.StartedAt + float64(t.StartedAtMonoNs-program.StartedAtMonoNs)*1e-9
	t.EndedAt = t.StartedAt + time.Duration(t.LastedNs()).Seconds()
	var running time.Duration
	for _, s := range t.ran() {
		running += time.Duration(s.to - s.from)
	}
	t.DurationS, t.SuspendedS = running.Seconds(), (time.Duration(t.LastedNs()) - running).Seconds()
}

// Warn adds a warning once.
func (r *Run) Warn(slug, message string) {
	for _, w := range r.Warnings {
		if w.Slug == slug {
			return
		}
	}
	r.Warnings = append(r.Warnings, Warning{slug, message})
}

// Program adds the task that measure has: the program as a whole. Its energy is the
// machine's, of which the program has a share.
func (r *Run) Program(name string, o *measure.Outcome, started, ended time.Time) {
	t := Task{
		Name: name, DurationS: o.Attributed.Wall.Seconds(),
		StartedAt: float64(started.UnixNano()) * 1e-9, EndedAt: float64(ended.UnixNano()) * 1e-9,
		StartedAtMonoNs: int64(o.Begin), EndedAtMonoNs: int64(o.End),
	}
	t.wholeOf(r.Totals)
	r.Tasks = []Task{t}
	r.Totals.NTasks, r.Totals.NTopLevelTasks = 1, 1
}

func joules(e nemb.Energy) *Joules {
	j := Joules(e)
	return &j
}

func scaled(e nemb.Energy, factor float64) nemb.Energy {
	return nemb.Energy(float64(e) * factor)
}

// power is nil for a time too short to divide by.
func power(e nemb.Energy, d time.Duration) *float64 {
	if d <= 0 {
		return nil
	}
	w := e.Joules() / d.Seconds()
	return &w
}

// less is a - b, and no less than nothing.
func less(a, b nemb.Energy) nemb.Energy { return a - min(a, b) }

// steps is by how much the sum over the domains may be off for the steps of their
// counters.
func steps(domains []nemb.Domain) (sum nemb.Energy) {
	for _, d := range domains {
		if d.InTotal {
			sum += d.Step
		}
	}
	return sum
}

// overall is the kind of a sum over the domains: the weakest of its parts, and
// derived where nothing is known of one; unavailable where nothing is known of
// any. The interval is theirs, weighted with their energy.
func overall(domains []nemb.Domain, result attribute.Result) (kind nemb.Method, lo, hi float64, source string) {
	kind = nemb.Unavailable
	var sum, sumLo, sumHi float64
	resolved := false
	for d, domain := range domains {
		if !domain.InTotal {
			continue
		}
		method := domain.Method
		if domain.Resolves(result.Domains[d].Total) {
			resolved = true
		} else if method == nemb.Measured {
			method = nemb.Derived
		}
		if kind == nemb.Unavailable || method.Weaker(kind) {
			kind = method
		}
		e := float64(result.Domains[d].Total)
		sum += e
		late := float64(result.Domains[d].Late)
		sumLo += max(0, e*domain.Lo-late)
		sumHi += e*domain.Hi + late
		if source == "" {
			source = domain.Source
		} else if source != domain.Source {
			source += "; " + domain.Source
		}
	}
	if !resolved {
		kind = nemb.Unavailable
	}
	if sum == 0 {
		return kind, 1, 1, source
	}
	return kind, sumLo / sum, sumHi / sum, source
}
