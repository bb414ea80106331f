package monitor

import (
	"cmp"
	"path"
	"slices"
	"time"

	"cg/nemb"
	"cg/nemb/population"
)

func parentOf(group string) string { return path.Dir(group) }

// meet takes in who is there: what each process and group used since the reading before.
// What was there at the first reading begins then, what came later at its start.
func (b *Book) meet(host *population.Reading, first bool) {
	b.meetGroups(host.Groups, first)
	for i := range host.Processes {
		b.meetProcess(&host.Processes[i], first)
	}
	b.endThose()
	b.settle()
	for _, p := range b.processes {
		b.inherit(p)
		if p.Over {
			b.leave(p)
		}
		if p.used+p.waited > 0 {
			g := b.place(p.Group)
			g.members = append(g.members, p)
			if p.PID == b.own { // its energy has a line of its own
				continue
			}
			p.cpu += p.used + p.waited
			for _, t := range p.targets {
				t.cpu += p.used + p.waited
			}
		}
	}
}

func (b *Book) meetGroups(groups []population.Group, first bool) {
	for _, now := range groups {
		g := b.group(now.Path)
		if g.known && now.CPU < g.total { // another group of the same name
			b.remove(g)
			g = b.group(now.Path)
		}
		g.known, g.total, g.reading = true, now.CPU, b.readings
	}
	for _, g := range b.groups {
		if g.known && g.reading != b.readings {
			b.remove(g)
		}
	}
	sums := map[string]time.Duration{}
	for _, g := range b.groups {
		if g.known {
			sums[parentOf(g.path)] += g.total
		}
	}
	for _, g := range b.groups {
		g.below = sums[g.path] + g.left
		if first {
			g.counted = g.total - g.below
		}
	}
}

// remove ends a group. What it counted stays a part of what the group above it counts.
func (b *Book) remove(g *group) {
	if above := b.groups[parentOf(g.path)]; above != nil {
		above.left += g.total
	}
	g.endedAt = b.at
	delete(b.groups, g.path)
	b.gone = append(b.gone, g)
}

// place is the group in which a process counts: its own, or the nearest one above that is
// there.
func (b *Book) place(path string) *group {
	for ; path != "/" && path != "."; path = parentOf(path) {
		if g := b.groups[path]; g != nil && (g.known || !b.hasGroups) {
			return g
		}
	}
	return b.groups["/"]
}

func (b *Book) meetProcess(now *population.Process, first bool) {
	p := b.processes[now.ID]
	if p == nil {
		p = &process{tally: tally{energy: make([]nemb.Energy, len(b.domains))}}
		p.ID = now.ID
		b.processes[now.ID] = p
		if first {
			p.CPU, p.Children = now.CPU, now.Children
		}
	}
	p.used, p.waited = max(0, now.CPU-p.CPU), max(0, now.Children-p.Children)
	p.Process, p.reading = *now, b.readings
	b.byPID[now.PID] = p
}

// endThose takes leave of the processes that are no longer there. The one that waits for a
// process will have its whole time among that of its children, and most of that was its own
// already. Where that one is gone, too, its time is among that of its own parent's children.
func (b *Book) endThose() {
	var over []*process
	for _, p := range b.processes {
		if p.reading != b.readings {
			over = append(over, p)
		}
	}
	sortByID(over)
	for i := range b.debts {
		b.debts[i].parent = b.heir(b.debts[i].parent)
	}
	for _, p := range over {
		b.debts = append(b.debts, debt{b.heir(p.Parent), p.CPU + p.Children, b.readings})
	}
	for _, p := range over {
		delete(b.processes, p.ID)
		if b.byPID[p.PID] == p {
			delete(b.byPID, p.PID)
		}
		b.leave(p)
		p.endedAt = b.at
		b.ended = append(b.ended, p)
	}
}

// heir is the number of the process, or of the nearest above it, that is there or was not at
// the reading before.
func (b *Book) heir(pid int) int {
	for range b.byPID { // a number that is used again may close a circle
		p := b.byPID[pid]
		if p == nil || p.reading == b.readings {
			break
		}
		pid = p.Parent
	}
	return pid
}

func sortByID(all []*process) {
	slices.SortFunc(all, func(a, b *process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Start, b.Start))
	})
}

// leave takes a process out of the number of those that are there, once.
func (b *Book) leave(p *process) {
	if p.left {
		return
	}
	p.left = true
	for _, t := range p.targets {
		t.processes--
	}
}

// settle takes from the time of processes' children what was counted while the children
// were there. An orphan is waited for by another than its parent.
func (b *Book) settle() {
	for i := range b.debts {
		if p := b.byPID[b.debts[i].parent]; p != nil {
			b.debts[i].left -= p.pay(b.debts[i].left)
		}
	}
	var waiters []*process
	for _, p := range b.processes {
		if p.waited > 0 {
			waiters = append(waiters, p)
		}
	}
	sortByID(waiters) // the machine's first process is the heir, as a rule
	for _, p := range waiters {
		for i := range b.debts {
			if p.waited > 0 && b.debts[i].left > 0 && b.byPID[b.debts[i].parent] == nil {
				b.debts[i].left -= p.pay(b.debts[i].left)
			}
		}
		if b.cpus > 0 {
			p.waited = min(p.waited, b.window*time.Duration(b.cpus))
		}
	}
	b.debts = slices.DeleteFunc(b.debts, func(d debt) bool { return d.left <= 0 || d.reading < b.readings-1 })
}

// pay takes up to a time from what the children used, and gives what it took.
func (p *process) pay(due time.Duration) time.Duration {
	paid := min(p.waited, due)
	p.waited -= paid
	return paid
}

// inherit gives a new process the targets of the one that started it.
func (b *Book) inherit(p *process) {
	if p.inherited {
		return
	}
	p.inherited = true
	for _, t := range b.targets {
		if t.Kind == PID && t.ID == p.ID {
			p.targets = append(p.targets, t)
		}
	}
	if above := b.byPID[p.Parent]; above != nil && above != p {
		b.inherit(above)
		for _, t := range above.targets {
			if !slices.Contains(p.targets, t) {
				p.targets = append(p.targets, t)
			}
		}
	}
	for _, t := range p.targets {
		t.processes++
	}
}

// forget lets go of what ended long ago.
func (b *Book) forget() {
	old := func(at int) bool { return at > mostEnded }
	n := 0
	for n < len(b.ended) && (old(len(b.ended)-n) || time.Duration(b.at-b.ended[n].endedAt) > linger) {
		for d := range b.waiting {
			b.waiting[d].forgetProcess(b.ended[n])
		}
		n++
	}
	b.ended = slices.Delete(b.ended, 0, n)
	n = 0
	for n < len(b.gone) && (old(len(b.gone)-n) || time.Duration(b.at-b.gone[n].endedAt) > linger) {
		for d, e := range b.gone[n].energy {
			b.removed[d] += e
			b.waiting[d].forgetGroup(b.gone[n])
		}
		n++
	}
	b.gone = slices.Delete(b.gone, 0, n)
}
