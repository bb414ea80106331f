package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cg/nemb"
)

// Check recomputes a run from its parts and lists what differs: sums, shares,
// averages, intervals and the digest. Each line begins with the field.
func (r *Run) Check() []string {
	c := &check{}
	if r.part == PartSession {
		c.session(r)
		return c.faults
	}
	c.totals(r)
	c.ledger(r)
	c.gpus(r)
	c.gpuMetrics(r.GPUMetrics)
	c.functions(r)
	c.verdicts(r)
	c.paths(r)
	c.longCalls(r)
	c.tasks(r)
	c.samples(r)
	c.noise(r)
	c.baseline(r)
	c.idle(r)
	c.footprint(r)
	c.perCall(r)
	digest, err := r.digest()
	if r.asWritten != nil {
		digest, err = *r.asWritten, nil
	}
	if r.SHA256 != "" && (err != nil || digest != r.SHA256) {
		c.fault("sha256", "the file is not as it was written: its digest is %s, not %s", digest, r.SHA256)
	}
	return c.faults
}

type check struct{ faults []string }

func (c *check) fault(field, format string, args ...any) {
	c.faults = append(c.faults, field+": "+fmt.Sprintf(format, args...))
}

// sum holds an energy against what its parts add up to.
func (c *check) sum(field, of string, got, want Joules) {
	if got != want {
		c.fault(field, "%s J, but %s add up to %s J", decimal(got), of, decimal(want))
	}
}

// ratio holds a figure against what it is computed from. One that is not known
// has to be null.
func (c *check) ratio(field, of string, got *float64, part *Joules, whole float64) {
	switch {
	case got == nil:
	case part == nil || whole <= 0:
		c.fault(field, "%g, but %s is not known", *got, of)
	case math.Abs(*got*whole-part.Float()) > 1e-9*math.Abs(*got*whole)+1e-12:
		c.fault(field, "%g, but %s is %g", *got, of, part.Float()/whole)
	}
}

// verdicts holds those of functions against their energies. A file of an older cg has none.
func (c *check) verdicts(r *Run) {
	for i, want := range r.verdicts() {
		if f := r.Functions[i]; f.Verdict != "" && f.Verdict != want {
			c.fault("functions ("+f.Name+").verdict", "%s, but its energies make it %s", f.Verdict, want)
		}
	}
}

// interval wants lo <= value <= hi, all of them known or none; but where energy
// is missing nothing bounds a value from above.
func (c *check) interval(field string, lo, value, hi *Joules) {
	switch {
	case (lo == nil) != (value == nil) || value == nil && hi != nil:
		c.fault(field, "a value and its interval are known together or not at all")
	case value == nil:
	case *lo > *value:
		c.fault(field, "%s J is below its interval, which begins at %s J", decimal(*value), decimal(*lo))
	case hi != nil && *hi < *value:
		c.fault(field, "%s J is above its interval, which ends at %s J", decimal(*value), decimal(*hi))
	}
}

func (c *check) totals(r *Run) {
	t := r.Totals
	if t.NTasks != len(r.Tasks) {
		c.fault("totals.n_tasks", "%d, but there are %d", t.NTasks, len(r.Tasks))
	}
	c.interval("totals.energy_j", t.LoJ, t.EnergyJ, t.HiJ)
	c.interval("totals.program_energy_j", t.ProgramEnergyLoJ, t.ProgramEnergyJ, t.ProgramEnergyHiJ)
	c.ratio("totals.avg_power_w", "energy by duration", t.AvgPowerW, t.EnergyJ, t.DurationS)
	if t.ProgramEnergyJ != nil && t.EnergyJ == nil {
		c.fault("totals.program_energy_j", "it is known, and the machine's is not")
	}
	if t.EnergyJ == nil {
		if t.Kind != nemb.Unavailable {
			c.fault("totals.energy_kind", "%s, but there is no energy", t.Kind)
		}
		return
	}
	if t.Kind == nemb.Unavailable {
		c.fault("totals.energy_kind", "unavailable, but there is an energy")
	}
	c.sum("totals.energy_j", "the domains at the top level", *t.EnergyJ, r.top(t.Domains))
	for _, id := range slices.Sorted(maps.Keys(t.Domains)) {
		e := t.Domains[id]
		if p, ok := t.DomainsPowerW[id]; ok {
			c.ratio("totals.domains_power_w."+id, "energy by duration", &p, &e, t.DurationS)
		}
		if _, ok := r.Meta.DomainTopology[id]; !ok {
			c.fault("meta.domain_topology", "domain %s is not in it", id)
		}
	}
}

// top adds up the domains that make the whole.
func (r *Run) top(domains map[string]Joules) (sum Joules) {
	for id, e := range domains {
		if r.Meta.DomainTopology[id].TopLevel {
			sum += e
		}
	}
	return sum
}

// Outside is what a domain that includes the whole machine, beside those that make the
// total, has more than they have: fans, disks, losses. False where a domain is none, or has less.
func (r *Run) Outside(id string) (Joules, bool) {
	place := r.Meta.DomainTopology[id]
	if r.Totals.EnergyJ == nil || place.TopLevel || place.Kind != "psys" || len(place.Includes) == 0 {
		return 0, false
	}
	for other, o := range r.Meta.DomainTopology {
		if o.TopLevel && !slices.Contains(place.Includes, other) {
			return 0, false
		}
	}
	e := r.Totals.Domains[id]
	return e - *r.Totals.EnergyJ, e >= *r.Totals.EnergyJ
}

func (c *check) ledger(r *Run) {
	if r.Totals.EnergyJ == nil {
		if len(r.Ledger) > 0 {
			c.fault("ledger", "it has lines, but there is no energy")
		}
		return
	}
	var sum, program Joules
	domains := map[string]Joules{}
	for i, l := range r.Ledger {
		sum += l.EnergyJ
		if !slices.Contains([]string{LineOther, LineIdle, LineOwn, LineCheckpoints, LineUnattributed}, l.Name) {
			program += l.EnergyJ
		}
		for id, e := range l.Domains {
			domains[id] += e
		}
		field := fmt.Sprintf("ledger[%d] (%s)", i, l.Name)
		c.sum(field+".energy_j", "its domains at the top level", l.EnergyJ, r.top(l.Domains))
		if *r.Totals.EnergyJ > 0 {
			share := l.SharePercent / 100
			c.ratio(field+".share_percent", "a hundredth of it", &share, &l.EnergyJ, r.Totals.EnergyJ.Float())
		}
	}
	c.sum("totals.energy_j", "the lines of the ledger", *r.Totals.EnergyJ, sum)
	c.checkpoints(r)
	for _, id := range slices.Sorted(maps.Keys(r.Totals.Domains)) {
		c.sum("totals.domains."+id, "the lines of the ledger", r.Totals.Domains[id], domains[id])
	}
	if r.Totals.ProgramEnergyJ != nil {
		c.sum("totals.program_energy_j", "its lines of the ledger", *r.Totals.ProgramEnergyJ, program)
	}
}

// checkpoints holds what the checkpoints cost against their line.
func (c *check) checkpoints(r *Run) {
	i := slices.IndexFunc(r.Ledger, func(l Line) bool { return l.Name == LineCheckpoints })
	cost := r.Channel.Cost
	switch {
	case i < 0 && (cost == nil || cost.EnergyJ == nil && (r.Totals.ProgramEnergyJ == nil || !r.byFunction())):
	case i < 0 || cost == nil || cost.EnergyJ == nil:
		c.fault("channel.cost", "it and the ledger's line of checkpoints are known together or not at all")
	default:
		c.sum("channel.cost.energy_j", "the ledger's line of checkpoints", *cost.EnergyJ, r.Ledger[i].EnergyJ)
		if want := cost.TimeS * 1e9; math.Abs(cost.EventNs*float64(r.Channel.Events)-want) > 1e-6*want+1 {
			c.fault("channel.cost.event_ns", "%g, but time by event is %g", cost.EventNs,
				want/float64(r.Channel.Events))
		}
	}
	if own := r.Channel.Runtime; own != nil && own.EnergyJ != nil {
		most := Joules(0) // where there is no line of cg
		for _, l := range r.Ledger {
			if l.Name == LineOwn {
				most = l.EnergyJ
			}
		}
		if *own.EnergyJ > most {
			c.fault("channel.runtime.energy_j", "%g J is more than the ledger's line of cg", own.EnergyJ.Float())
		}
	}
}

func (c *check) functions(r *Run) {
	var sum Joules
	for i, f := range r.Functions {
		field := fmt.Sprintf("functions[%d] (%s).", i, f.Name)
		c.times(field, f)
		c.places(field, f)
		c.inner(field, f)
		c.interval(field+"self_energy_j", f.SelfEnergyLoJ, f.SelfEnergyJ, f.SelfEnergyHiJ)
		c.interval(field+"inclusive_energy_j", f.InclusiveEnergyLoJ, f.InclusiveEnergyJ, f.InclusiveEnergyHiJ)
		c.ratio(field+"avg_power_w", "self energy by self time", f.AvgPowerW, f.SelfEnergyJ, f.SelfTimeS)
		if (f.SelfEnergyJ == nil) != (f.InclusiveEnergyJ == nil) {
			c.fault(field+"inclusive_energy_j", "self and inclusive energy are known together or not at all")
		}
		if f.SelfEnergyJ == nil {
			continue
		}
		sum += *f.SelfEnergyJ
		c.calls(field, f)
		if f.InclusiveEnergyJ != nil && *f.InclusiveEnergyJ < *f.SelfEnergyJ {
			c.fault(field+"inclusive_energy_j", "%s J is less than its self energy, %s J",
				decimal(*f.InclusiveEnergyJ), decimal(*f.SelfEnergyJ))
		}
		c.sum(field+"self_energy_j", "its domains at the top level", *f.SelfEnergyJ, r.top(f.Domains))
		if f.SharePercent != nil && r.Totals.ProgramEnergyJ != nil {
			share := *f.SharePercent / 100
			c.ratio(field+"share_percent", "a hundredth of it", &share, f.SelfEnergyJ, r.Totals.ProgramEnergyJ.Float())
		}
		if f.EnergyKind != r.Totals.Kind {
			c.fault(field+"energy_kind", "%s, but the run's energy is %s", f.EnergyKind, r.Totals.Kind)
		}
	}
	for _, l := range r.Ledger {
		if l.Name == LineFunctions {
			c.sum("ledger ("+LineFunctions+").energy_j", "the self energies of functions", l.EnergyJ, sum)
		}
	}
}

// places holds the places of a function against its own figures, which they have together.
func (c *check) places(field string, f Function) {
	if len(f.Places) == 0 {
		return
	}
	var energy Joules
	var self, cpu float64
	for k, p := range f.Places {
		self, cpu = self+p.SelfTimeS, cpu+p.CPUTimeS
		if (p.SelfEnergyJ == nil) != (f.SelfEnergyJ == nil) {
			c.fault(fmt.Sprintf("%splaces[%d].self_energy_j", field, k),
				"it and that of its function are known together or not at all")
			return
		}
		if p.SelfEnergyJ != nil {
			energy += *p.SelfEnergyJ
		}
		if p.SelfEnergyLoJ != nil || p.SelfEnergyHiJ != nil {
			c.interval(fmt.Sprintf("%splaces[%d].self_energy_j", field, k), p.SelfEnergyLoJ, p.SelfEnergyJ,
				p.SelfEnergyHiJ)
		}
	}
	if f.SelfEnergyJ != nil {
		c.sum(field+"self_energy_j", "its places", *f.SelfEnergyJ, energy)
	}
	least := 1e-9 * float64(1+len(f.Places)) // s, by which times may be off as they were rounded
	if math.Abs(f.SelfTimeS-self) > least {
		c.fault(field+"self_time_s", "%g s, but its places add up to %g s", f.SelfTimeS, self)
	}
	if math.Abs(f.CPUTimeS-cpu) > least {
		c.fault(field+"cpu_time_s", "%g s, but its places add up to %g s", f.CPUTimeS, cpu)
	}
}

// inner holds what a function called that has no checkpoints against the stack samples and the energy of the function.
func (c *check) inner(field string, f Function) {
	for k, g := range f.Inner {
		field := fmt.Sprintf("%sinner[%d].", field, k)
		c.interval(field+"self_energy_j", g.SelfEnergyLoJ, g.SelfEnergyJ, g.SelfEnergyHiJ)
		c.interval(field+"inclusive_energy_j", g.InclusiveEnergyLoJ, g.InclusiveEnergyJ, g.InclusiveEnergyHiJ)
		if g.StackSamples < 0 || g.StackSamples > g.StackSamplesInclusive || g.StackSamplesInclusive > f.InnerSamples {
			c.fault(field+"stack_samples", "%d, %d with what it called, of %d of its function", g.StackSamples,
				g.StackSamplesInclusive, f.InnerSamples)
			continue
		}
		self, _, _ := f.part(g.StackSamples)
		whole, _, _ := f.part(g.StackSamplesInclusive)
		c.part(field+"self_energy_j", g.SelfEnergyJ, self)
		c.part(field+"inclusive_energy_j", g.InclusiveEnergyJ, whole)
	}
}

// part holds a part of an energy against what samples make it.
func (c *check) part(field string, got, want *Joules) {
	switch {
	case (got == nil) != (want == nil):
		c.fault(field, "it and that of its function are known together or not at all")
	case got != nil && *got != *want:
		c.fault(field, "%s J, but its stack samples make it %s J", decimal(*got), decimal(*want))
	}
}

// calls holds what is told of single calls against the function's own figures.
func (c *check) calls(field string, f Function) {
	e := f.CallsEnergy
	if e == nil || f.InclusiveEnergyJ == nil {
		return
	}
	c.ratio(field+"calls_energy.mean_j", "inclusive energy by calls", &e.MeanJ, f.InclusiveEnergyJ, float64(f.Calls))
	if e.N > f.Calls {
		c.fault(field+"calls_energy.n", "%d, but it was called %d times", e.N, f.Calls)
	}
	least := Joules(0)
	for _, q := range []struct {
		name string
		j    *Joules
	}{{"min_j", e.MinJ}, {"median_j", e.MedianJ}, {"p95_j", e.P95J}, {"max_j", e.MaxJ}} {
		switch {
		case (q.j == nil) != (e.N == 0):
			c.fault(field+"calls_energy."+q.name, "single calls are told or not, but n is %d", e.N)
		case q.j != nil && *q.j < least:
			c.fault(field+"calls_energy."+q.name, "%s J is less than the figure before it, %s J", decimal(*q.j),
				decimal(least))
		case q.j != nil:
			least = *q.j
		}
	}
}

func (c *check) paths(r *Run) {
	under := make([]Joules, len(r.Paths))
	whole := true // no path stands for others
	var sum Joules
	for i, p := range r.Paths {
		if p.Parent >= i || (p.Parent < 0) != (i == 0) {
			c.fault(fmt.Sprintf("paths[%d].parent", i), "%d is no path before it", p.Parent)
			return
		}
		if (p.SelfEnergyJ == nil) != (r.Totals.ProgramEnergyJ == nil || !r.byFunction()) {
			c.fault(fmt.Sprintf("paths[%d].self_energy_j", i),
				"energies of call paths and of the program are known together or not at all")
		}
		if p.SelfEnergyJ != nil {
			under[i] += *p.SelfEnergyJ
			sum += *p.SelfEnergyJ
			if len(p.Domains) > 0 {
				var parts Joules
				for _, e := range p.Domains {
					parts += e
				}
				c.sum(fmt.Sprintf("paths[%d].self_energy_j", i), "its domains", *p.SelfEnergyJ, parts)
			}
		}
		whole = whole && (i == 0 || p.Site != 0 || p.Task != "")
	}
	for i := len(r.Paths) - 1; i > 0; i-- {
		under[r.Paths[i].Parent] += under[i]
	}
	if len(r.Ledger) > 0 {
		var inside Joules
		for _, l := range r.Ledger {
			if l.Name == LineFunctions || l.Name == LineUninstrumented {
				inside += l.EnergyJ
			}
		}
		c.sum("ledger ("+LineFunctions+", "+LineUninstrumented+")", "the call paths", inside, sum)
	}
	if whole {
		c.siteSums(r, under)
	}
}

// siteSums holds the functions against the call paths, each of which stands for
// itself. under are the energies of the paths with what is below them.
func (c *check) siteSums(r *Run, under []Joules) {
	type cost struct {
		calls           uint64
		self, inclusive Joules
	}
	bySite := map[uint32]cost{}
	for i, p := range r.Paths {
		if p.Site == 0 {
			continue
		}
		s := bySite[p.Site]
		s.calls += p.Calls
		if p.SelfEnergyJ != nil {
			s.self += *p.SelfEnergyJ
		}
		if !r.calls(p.Parent, p.Site) {
			s.inclusive += under[i]
		}
		bySite[p.Site] = s
	}
	type place struct {
		name, file string
		line       int
	}
	functions := make(map[place]*Function, len(r.Functions))
	for i := range r.Functions {
		f := &r.Functions[i]
		functions[place{f.Name, f.File, f.Line}] = f
	}
	seen := make(map[place]int32, len(r.Sites))
	for _, s := range r.Sites {
		seen[place{s.Name, s.File, s.Line}]++
	}
	for i, s := range r.Sites {
		got := bySite[s.ID]
		at := place{s.Name, s.File, s.Line}
		f, ok := functions[at]
		// An older cg counted calls that are on no path.
		if got.calls > s.Calls || got.calls < s.Calls && !(ok && f.Demoted) {
			c.fault(fmt.Sprintf("sites[%d] (%s).calls", i, s.Name), "%d, but its call paths have %d", s.Calls,
				got.calls)
		}
		if !ok || seen[at] > 1 {
			continue
		}
		if f.Calls != s.Calls {
			c.fault("functions ("+f.Name+").calls", "%d, but its site has %d", f.Calls, s.Calls)
		}
		if f.SelfEnergyJ == nil || f.InclusiveEnergyJ == nil {
			continue
		}
		c.sum("functions ("+f.Name+").self_energy_j", "its call paths", *f.SelfEnergyJ, got.self)
		c.sum("functions ("+f.Name+").inclusive_energy_j", "the call paths below it", *f.InclusiveEnergyJ,
			got.inclusive)
	}
}

// calls reports whether a site is on a path.
func (r *Run) calls(path int, site uint32) bool {
	for ; path >= 0; path = r.Paths[path].Parent {
		if r.Paths[path].Site == site {
			return true
		}
	}
	return false
}

func (c *check) tasks(r *Run) {
	for i, t := range r.Tasks {
		field := fmt.Sprintf("tasks[%d] (%s).", i, t.Name)
		c.interval(field+"energy_j", t.LoJ, t.EnergyJ, t.HiJ)
		c.ratio(field+"avg_power_w", "energy by duration", t.AvgPowerW, t.EnergyJ, t.DurationS)
		if t.EnergyJ != nil {
			c.sum(field+"energy_j", "its domains at the top level", *t.EnergyJ, r.top(t.Domains))
		}
		c.share(r, field, t)
		c.units(field, t.Units, t.EnergyJ)
		c.taskGPUs(field, &t)
	}
	c.units("totals.", r.Totals.Units, nil)
}

// share holds the program's part of a task, and the task that is the program against the
// totals.
func (c *check) share(r *Run, field string, t Task) {
	share := t.ProgramShare
	if share == nil {
		return
	}
	c.interval(field+"program_energy_j", share.ProgramEnergyLoJ, share.ProgramEnergyJ, share.ProgramEnergyHiJ)
	if e := share.ProgramEnergyJ; r.part == PartSession && e != nil && (t.EnergyJ == nil || *e > *t.EnergyJ) {
		c.fault(field+"program_energy_j", "%s J, which is more than the machine's", decimal(*e))
	}
	if t.Depth > 0 {
		return
	}
	if e := r.Totals.EnergyJ; e != nil && t.EnergyJ != nil {
		c.sum("totals.energy_j", "the tasks at the top level", *e, *t.EnergyJ)
	}
	if e := r.Totals.ProgramEnergyJ; e != nil && share.ProgramEnergyJ != nil {
		c.sum("totals.program_energy_j", "the tasks at the top level", *e, *share.ProgramEnergyJ)
	}
}

func decimal(j Joules) string {
	b, _ := j.MarshalJSON()
	return strings.TrimRight(strings.TrimRight(string(b), "0"), ".")
}
