package monitor

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
)

// waiting is who used the processors since a counter was read and had moved: what it shows
// next is the energy of all of them. It is bounded by who is there and ended lately.
type waiting struct {
	groups map[*group]*used
	// What is forgotten meanwhile, and whose targets' that was.
	forgotten time.Duration
	targets   map[*target]time.Duration
}

// used is what a group used, and each of its processes.
type used struct {
	all       time.Duration
	processes map[*process]time.Duration
}

// close ends the window of a domain if its counter has been read and has moved, and divides
// its energy by what everyone used in that window. A part of the machine that may be off
// need not move in a longer time than its counter's period. Where what the counter has
// counted is lost, a new window begins: those who ran before have no part in what comes.
func (b *Book) close(d int, lost bool) {
	w, wait := b.windows[d], &b.waiting[d]
	begun := b.at
	if w.HasBegun() {
		begun = w.Last().Time
	}
	open := time.Duration(b.at - begun).Seconds()
	if lost || open > 2*b.lasted[d] { // the power of the window before is that of now no longer
		b.watts[d] = 0
		b.closings[d]++
	}
	sample := nemb.Sample{At: checkpoint.Tick(b.at), Time: b.at, Energy: []nemb.Energy{b.totals[d]},
		Usage: account.Usage{Program: b.program, Own: b.ownTime, Other: b.other}}
	if lost || !w.HasBegun() {
		if lost || b.readable[d] {
			w.Begin(sample)
		}
		wait.forgetRequests(d)
		*wait = waiting{}
		return
	}
	wait.add(b.active)
	if !b.readable[d] || b.totals[d] == w.Last().Energy[0] && !b.mayBeOff(d) {
		return
	}
	before := w.Domains[0].Program
	closed := w.Close(w.Steady(sample), false, nil)
	b.watts[d] = (closed.End.Energy[0] - closed.Begin.Energy[0]).Joules() / open
	b.lasted[d] = open
	b.closings[d]++
	b.spans.open(d, begun, b.at)
	b.divide(d, w.Domains[0].Program-before)
	wait.forgetRequests(d)
	*wait = waiting{}
}

// mayBeOff reports whether a counter that stands still tells that nothing was drawn.
func (b *Book) mayBeOff(d int) bool {
	kind := b.domains[d].Kind
	return (kind == "nested" || kind == "independent") &&
		time.Duration(b.at-b.windows[d].Last().Time) >= b.domains[d].Period
}

// add adds a window.
func (w *waiting) add(active []*group) {
	if w.groups == nil {
		w.groups = make(map[*group]*used, len(active))
	}
	for _, g := range active {
		u := w.groups[g]
		if u == nil {
			u = &used{processes: make(map[*process]time.Duration, len(g.members))}
			w.groups[g] = u
		}
		u.all += g.used
		for _, p := range g.members {
			u.processes[p] += p.used + p.waited
		}
	}
}

// forgetGroup keeps of a group what it used, and not the group.
func (w *waiting) forgetGroup(g *group) {
	u := w.groups[g]
	if u == nil {
		return
	}
	delete(w.groups, g)
	w.forgotten += u.all
	for _, t := range g.targets {
		w.keep(t, u.all)
	}
	for p, cpu := range u.processes {
		for _, t := range p.targets {
			w.keep(t, cpu)
		}
	}
}

// forgetProcess leaves what a process used to its group.
func (w *waiting) forgetProcess(p *process) {
	for _, u := range w.groups {
		if cpu, ok := u.processes[p]; ok {
			delete(u.processes, p)
			for _, t := range p.targets {
				w.keep(t, cpu)
			}
		}
	}
}

func (w *waiting) keep(t *target, cpu time.Duration) {
	if w.targets == nil {
		w.targets = map[*target]time.Duration{}
	}
	w.targets[t] += cpu
}

// forgetRequests lets go of what processes did for requests, of a domain whose window ends.
func (w *waiting) forgetRequests(d int) {
	for _, u := range w.groups {
		for p := range u.processes {
			if p.worker != nil {
				p.worker.pending[d] = nil
			}
		}
	}
}

// divide divides the groups' energy of a window in a domain: among the groups by their
// time, and in each among its processes.
func (b *Book) divide(d int, e nemb.Energy) {
	if e == 0 {
		return
	}
	wait := &b.waiting[d]
	groups := make([]*group, 0, len(wait.groups))
	for g := range wait.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int {
		return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.serial, b.serial))
	})
	weights, sum := make([]float64, len(groups)+1), float64(wait.forgotten)
	for i, g := range groups {
		weights[i] = float64(wait.groups[g].all)
		sum += weights[i]
	}
	weights[len(groups)] = float64(wait.forgotten)
	parts := nemb.Split(e, weights)
	for i, g := range groups {
		b.pay(&g.tally, d, parts[i])
		for _, t := range g.targets {
			b.pay(&t.tally, d, parts[i])
		}
		b.divideGroup(wait.groups[g], d, parts[i])
	}
	b.removed[d] += parts[len(groups)]
	for t, cpu := range wait.targets {
		b.pay(&t.tally, d, nemb.Energy(float64(e)*float64(cpu)/sum))
	}
}

// divideGroup divides the energy of a group among its processes. What the group used and
// none of them has is that of processes that nobody saw: it stays the group's.
func (b *Book) divideGroup(u *used, d int, e nemb.Energy) {
	if len(u.processes) == 0 || e == 0 {
		return
	}
	processes := make([]*process, 0, len(u.processes))
	for p := range u.processes {
		processes = append(processes, p)
	}
	sortByID(processes)
	weights := make([]float64, len(processes)+1)
	left := float64(u.all)
	for i, p := range processes {
		weights[i] = float64(u.processes[p])
		left -= weights[i]
	}
	weights[len(processes)] = max(0, left)
	parts := nemb.Split(e, weights)
	for i, p := range processes {
		b.pay(&p.tally, d, parts[i])
		free := parts[i]
		if p.worker != nil && len(p.worker.pending[d]) > 0 {
			free -= p.worker.pay(d, parts[i], u.processes[p])
		}
		b.spans.remember(d, p, free)
		for _, t := range p.targets {
			b.pay(&t.tally, d, parts[i])
		}
	}
}
