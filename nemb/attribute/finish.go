package attribute

import (
	"cmp"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/attribute/paths"
	"cg/nemb/attribute/stacks"
	"cg/nemb/attribute/windows"
)

// outcome is a run that is over, on its way to a Result.
type outcome struct {
	*explanation
	stacks *stacks.Stacks
	tree   *paths.Tree
	// whole is the self energy of each path, per domain. What cg's runtime did is 0.
	whole       [][]nemb.Energy
	checkpoints nemb.Energy // what they cost
	programHi   float64     // what the program used at most, in microjoules
	gpus        []*gpus.Division
}

// Finish adds everything up. The Attributor is spent afterwards.
func (a *Attributor) Finish() Result {
	first, last := a.windows.First(), a.windows.Last()
	a.calls.End(nanos(last.Time))
	a.stacks.End(last.At)
	a.windows.End()
	r := Result{
		Stats:      a.stats(),
		Wall:       time.Duration(last.Time - first.Time),
		CPU:        last.Usage.Program - first.Usage.Program,
		Domains:    make([]Ledger, len(a.windows.Domains)),
		Background: a.Background,
		Spans:      a.calls.Spans(),
		Method:     TimeShare,
		GPUs:       a.gpus,
	}
	r.Counted = a.counted(last)
	if probe := a.stacks.Probe(); probe != 0 {
		t := a.windows.Times[probe]
		r.Checkpoints, r.CheckpointCPU = time.Duration(t.Wall), time.Duration(t.CPU)
	}
	o := &outcome{explanation: a.explain(), stacks: a.stacks, tree: a.stacks.Tree, gpus: a.gpus}
	a.calls.SetIdle(o.idleOfCalls())
	a.calls.SetLag(o.lagOfCalls())
	r.Idle, r.Seen = o.idlePowers(), o.seen()
	if o.main >= 0 && o.fits[o.main] != nil {
		r.Method = Regression
	}
	r.Total.Background = make([]nemb.Energy, len(a.Background))
	for d := range a.windows.Domains {
		r.Domains[d] = o.ledger(d)
		if a.windows.Domains[d].Domain.InTotal {
			r.Total.add(r.Domains[d])
		}
	}
	for n, site := range o.tree.Sites() { // what the runtime did for cg is no function's time
		if site == checkpoint.OwnSite {
			if t := a.windows.Times[n]; int32(n) != o.stacks.Probe() {
				r.Runtime, r.RuntimeCPU = r.Runtime+time.Duration(t.Wall), r.RuntimeCPU+time.Duration(t.CPU)
			}
			a.windows.Times[n] = windows.PathTime{}
		}
	}
	o.checkpoints = r.Total.Checkpoints
	under := o.sumSubtrees()
	r.Paths = o.listPaths(under, FewPaths, MaxPaths)
	r.Costs = o.costs(under, a.calls, r.Total.ProgramHi)
	r.Places = o.listPlaces(r.Costs)
	return r
}

// idleOfCalls is the idle power in the energy of long calls, in watts.
func (o *outcome) idleOfCalls() (watts float64) {
	for d, p := range o.idle {
		if domain := o.windows.Domains[d].Domain; domain.InTotal && domain.Method == nemb.Measured {
			watts += p.Power
		}
	}
	return watts
}

// lagOfCalls is the longest time constant of the counters whose energy long calls have, in nanoseconds.
func (o *outcome) lagOfCalls() (constant float64) {
	for d := range o.windows.Domains {
		if o.windows.Domains[d].Domain.InTotal {
			constant = max(constant, o.lag(d))
		}
	}
	return constant
}

// idlePowers are those that were set aside, at the end of the run or window by window.
func (o *outcome) idlePowers() []nemb.IdlePower {
	powers := slices.Clone(o.idle)
	for d := range powers {
		domain := &o.windows.Domains[d].Domain
		switch {
		case powers[d].Method != nemb.IdleUnknown || domain.Base <= 0 || domain.Program:
		case domain.BaseHi > 0:
			powers[d] = nemb.IdlePower{Power: domain.Base, Lo: domain.BaseLo, Hi: domain.BaseHi,
				Method: cmp.Or(domain.BaseMethod, nemb.IdleBaseline)}
		default:
			powers[d] = nemb.IdlePower{Power: domain.Base, Lo: domain.Base * domain.Lo, Hi: domain.Base * domain.Hi,
				Method: nemb.IdleModel}
		}
		if g := o.gpu(d); g != nil {
			powers[d] = nemb.IdlePower{}
			if g.IdlePower.Method != nemb.IdleUnknown {
				powers[d] = g.IdlePower
			}
		}
	}
	return powers
}

// seen is what the run showed of each domain's idle power.
func (o *outcome) seen() []nemb.IdlePower {
	all := make([]nemb.IdlePower, len(o.idle))
	for d := range all {
		all[d] = o.windows.Seen(d)
	}
	return all
}

// counted says what was counted and not timed.
func (a *Attributor) counted(last nemb.Sample) Counted {
	intervals, timed, cost := a.stacks.Counted()
	c := Counted{Events: uint64(intervals)}
	first := a.windows.First()
	if span := float64(last.At - first.At); span > 0 {
		perTick := float64(last.Time-first.Time) / span
		c.TimedNs, c.CountedNs = timed*perTick, cost*perTick
	}
	return c
}

func (a *Attributor) stats() Stats {
	s, w := a.stacks.Stats, a.windows.Stats
	return Stats{
		Events: s.Events, Unwound: s.Unwound, Closed: s.Closed, Backwards: s.Backwards, Lost: s.Lost,
		Truncated: a.stacks.Tree.Truncated, OpenAtEnd: s.OpenAtEnd, Threads: s.Threads,
		Merged: w.Merged, Disordered: w.Disordered,
	}
}

// ledger is that of a domain. It takes what the runtime did for cg from the paths
// of the program.
func (o *outcome) ledger(d int) Ledger {
	b := &o.windows.Domains[d]
	parts := round(slices.Concat(o.nodes[d], o.background[d]), b.Program)
	whole, background := parts[:o.tree.Len()], append([]nemb.Energy{}, parts[o.tree.Len():]...)
	inside, probes := nemb.Energy(0), nemb.Energy(0)
	for n, site := range o.tree.Sites() {
		if site == checkpoint.OwnSite {
			if int32(n) == o.stacks.Probe() {
				probes = whole[n]
			} else {
				inside += whole[n]
			}
			whole[n] = 0
		}
	}
	o.whole = append(o.whole, whole)
	l := Ledger{
		Uninstrumented: whole[paths.Root],
		Functions:      b.Program - whole[paths.Root] - inside - probes,
		Background:     background,
		Other:          b.Other,
		Idle:           b.Idle,
		Own:            b.Own + inside,
		Runtime:        inside,
		Checkpoints:    probes,
		Unattributed:   b.Unattributed,
		Total:          b.Total,
		Late:           nemb.Energy(o.windows.Late(d)),
	}
	for _, e := range background {
		l.Functions -= e
	}
	o.boundProgram(d, &l)
	if g := o.gpu(d); g != nil {
		l.assign(g, o.windows.Domains[d].Domain)
	}
	return l
}

// gpu is how the energy of a domain was divided that does not follow the processors, nil where
// nobody told.
func (o *outcome) gpu(d int) *gpus.Division {
	if d >= len(o.gpus) || o.windows.Domains[d].Domain.FollowsProcessors() {
		return nil
	}
	return o.gpus[d]
}

// assign gives the energy of a GPU to those who used it.
func (l *Ledger) assign(g *gpus.Division, domain nemb.Domain) {
	left := l.Total
	take := func(e nemb.Energy) nemb.Energy {
		e = min(e, left)
		left -= e
		return e
	}
	l.Late += nemb.Energy(g.Hidden)
	l.GPU, l.Other, l.Idle = take(g.Program), take(g.Other), take(g.Idle)
	l.Unattributed = left
	if g.Method == gpus.Unattributed {
		return
	}
	off := float64(l.Late)
	if g.Program > 0 {
		off += float64(domain.Step)
	}
	l.ProgramLo, l.ProgramHi = interval(l.GPU, g.ProgramLo*domain.Lo-off, g.ProgramHi*domain.Hi+off)
}

// boundProgram sets the bounds of the program's energy.
func (o *outcome) boundProgram(d int, l *Ledger) {
	b, off, late := &o.windows.Domains[d], o.windows.Off(d), o.windows.Late(d)
	if !b.Domain.FollowsProcessors() {
		return
	}
	l.ProgramHi = nemb.Energy(off)
	if b.Program > 0 {
		// What the runtime did for cg leaves the program with its bounds.
		stays := float64(l.Program()) / float64(b.Program)
		lo, hi := stays*b.ProgramLo*b.Domain.Lo, stays*b.ProgramHi*b.Domain.Hi
		l.ProgramLo, l.ProgramHi = interval(l.Program(), lo-off, hi+off)
	}
	if b.Domain.Step > 0 || late > 0 {
		l.ProgramHi = min(l.ProgramHi, nemb.Energy(float64(l.Total)*b.Domain.Hi+late)+b.Domain.Step)
	}
}

// add adds the ledger of a domain to that of the machine.
func (l *Ledger) add(of Ledger) {
	l.Functions += of.Functions
	l.Uninstrumented += of.Uninstrumented
	for i, e := range of.Background {
		l.Background[i] += e
	}
	l.Other += of.Other
	l.Idle += of.Idle
	l.Own += of.Own
	l.Runtime += of.Runtime
	l.Checkpoints += of.Checkpoints
	l.GPU += of.GPU
	l.Unattributed += of.Unattributed
	l.Total += of.Total
	l.Late += of.Late
	l.ProgramLo += of.ProgramLo
	l.ProgramHi += of.ProgramHi
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
	slices.SortFunc(order, func(x, y lost) int {
		return cmp.Or(cmp.Compare(y.rest, x.rest), cmp.Compare(x.part, y.part))
	})
	for k := 0; sum < total && k < len(order); k++ {
		out[order[k].part]++
		sum++
	}
	if sum < total { // the parts were not the whole: the root keeps it
		out[paths.Root] += total - sum
	}
	for k := len(order) - 1; sum > total; k = (k + len(order) - 1) % len(order) {
		if i := order[k].part; out[i] > 0 {
			out[i]--
			sum--
		}
	}
	return out
}
