package node

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/ranks"
)

// A GPU's energy does not follow the processors. The measurer asks its driver which processes use it, and a rank has
// what the processes use that descend from it. The driver tells late, so a share grows for up to a second after the
// rank's end: it is whole in the node's record, and in no report of a rank.

// Whose a process is that is no rank's.
const (
	strangers = -1 - iota
	nobodys   // it was over too soon, or its number is of another PID namespace
)

// gpu is a GPU whose driver tells which processes use it.
type gpu struct {
	domain int
	sensor nemb.Occupied
	stream gpus.Stream
	owners map[int][]owned // by number of the process, in the order of time
	tenure map[int]*tenant
	idle   uint64 // what this measurer has divided, uJ
	other  uint64
	reason gpus.Reason // why energy is nobody's

	counted bool // its counter was read
	lost    int  // how often the counter had a reset or a lap by then
}

// owned is whose a process was. A number has several processes one after another.
type owned struct {
	slot          int    // or strangers
	start         uint64 // of the process, ticks since boot
	since, lately checkpoint.Instant
}

// tenant bounds a rank's energy of a GPU, in microjoules: from lo to hi, and to either side the root of squares, with
// what the counter is late.
type tenant struct {
	energy, lo, hi, squares float64
	lag                     gpus.Lag
	less, more              uint64 // what an earlier measurer left
}

// ownersLast is for how long a process is kept that the driver no longer tells of: longer than a stream waits for
// samples.
const ownersLast = 2 * gpus.Patience

// findGPUs finds the GPUs among the node's sensors.
func (m *measurer) findGPUs() {
	domain := 0
	for _, sensor := range m.Sensors {
		if of, is := sensor.(nemb.Occupied); is {
			m.divider.gpus[domain] = &gpu{domain: domain, sensor: of, owners: map[int][]owned{},
				tenure: map[int]*tenant{}, stream: gpus.Stream{Period: m.domains[domain].Period,
					Habits: m.domains[domain].Habits}}
		}
		domain += len(sensor.Domains())
	}
}

// ask asks the drivers of GPUs, each nemb.AskEvery.
func (m *measurer) ask() {
	now := m.now()
	if len(m.divider.gpus) == 0 || m.asked != 0 && time.Duration(now-m.asked) < nemb.AskEvery {
		return
	}
	m.asked = now
	roots := m.roots()
	for _, g := range m.divider.gpus {
		m.askOne(g, roots)
	}
}

// roots are the slots of ranks by the number of their cg.
func (m *measurer) roots() map[int]int {
	slots := map[int]int{}
	for s := range m.board.slots() {
		slots[int(m.board.slot(s, slotPID))] = s
	}
	return slots
}

func (m *measurer) askOne(g *gpu, roots map[int]int) {
	o := g.sensor.Occupants()
	g.forget(m.now())
	first := map[int]int{} // process of a rank by its slot
	number := func(pid int) int {
		slot := m.own(g, pid, roots)
		if slot < 0 {
			return pid
		}
		if _, is := first[slot]; !is {
			first[slot] = pid
		}
		return first[slot]
	}
	for i := range o.Instances { // what is all a rank's is known as such
		o.Instances[i] = o.Instances[i].Joined(number)
	}
	for _, u := range o.Used() {
		m.own(g, u.PID, roots)
	}
	for _, c := range o.Contexts {
		if slot := m.own(g, c.PID, roots); slot >= 0 {
			m.divider.tenant(g, slot)
		}
	}
	g.stream.Answer(o)
}

// mostAncestors is more than a process has.
const mostAncestors = 1 << 10

// own finds whose a process is, while it is there. What was found is kept.
func (m *measurer) own(g *gpu, pid int, roots map[int]int) int {
	now := m.now()
	if pid <= 0 {
		return nobodys
	}
	start := m.started(pid)
	slot, there := m.root(pid, roots)
	all := g.owners[pid]
	n := len(all)
	if !there { // it is over
		if n > 0 {
			all[n-1].lately = now
		}
		return g.owner(pid, now)
	}
	if n == 0 || all[n-1].start != start {
		g.owners[pid] = append(all, owned{slot: slot, start: start, since: now, lately: now})
		return slot
	}
	last := &all[n-1]
	if last.lately = now; slot >= 0 { // else it may have lost its parents since
		last.slot = slot
	}
	return last.slot
}

// root is the slot of the rank that a process descends from, or strangers; false where the process is over.
func (m *measurer) root(pid int, roots map[int]int) (slot int, there bool) {
	for at, depth := pid, 0; at > 0 && depth < mostAncestors; depth++ {
		if slot, is := roots[at]; is {
			if start := m.board.slot(slot, slotStart); start == 0 || start == m.started(at) {
				return slot, true
			}
		}
		parent, is := m.parent(at)
		if !is {
			return strangers, at != pid
		}
		at = parent
	}
	return strangers, true
}

// owner is whose the process was that had a number before a moment, as far as that was found.
func (g *gpu) owner(pid int, before checkpoint.Instant) int {
	all := g.owners[pid]
	if len(all) == 0 {
		return nobodys
	}
	for i := len(all) - 1; i > 0; i-- {
		if all[i].since < before {
			return all[i].slot
		}
	}
	return all[0].slot
}

// forget drops the processes of which no more samples can come.
func (g *gpu) forget(now checkpoint.Instant) {
	for pid, all := range g.owners {
		all = slices.DeleteFunc(all, func(o owned) bool { return time.Duration(now-o.lately) > ownersLast })
		if g.owners[pid] = all; len(all) == 0 {
			delete(g.owners, pid)
		}
	}
}

// count takes what the counters of GPUs show. What a counter lost is divided among none.
func (m *measurer) count(s nemb.Sample) {
	faults := m.sampler.Faults()
	for d, g := range m.divider.gpus {
		lost := g.lost
		if d < len(faults) {
			lost = faults[d].Resets + faults[d].Laps
		}
		if lost > g.lost && g.counted {
			m.divider.occupy(g, g.stream.Lost(s.Time), m.began)
		} else {
			g.stream.Counter(s.Time, s.Energy[d])
		}
		g.lost, g.counted = lost, true
		m.divider.occupy(g, g.stream.Settle(false), m.began)
	}
}

// finishGPUs divides all that GPUs used up to the end of the run, once their drivers have told who used them. A driver
// that tells nothing more does not keep the others from being asked.
func (m *measurer) finishGPUs() {
	roots := m.roots()
	all := slices.Collect(maps.Values(m.divider.gpus))
	nemb.AskLast(nemb.Clock{Now: m.now, Pause: m.pause}, all, m.awaits, func(g *gpu) { m.askOne(g, roots) })
	for _, g := range m.divider.gpus {
		m.divider.occupy(g, g.stream.Settle(true), m.began)
	}
}

// awaits tells whether the driver of a GPU has not told yet who used it up to the end, though somebody did before.
func (m *measurer) awaits(g *gpu) bool {
	seen, used := g.stream.SeenUntil()
	refused, _ := g.stream.Refused()
	return used && refused == gpus.Resolved && seen < m.closed
}

func (x *divider) tenant(g *gpu, slot int) *tenant {
	t := g.tenure[slot]
	if t == nil && slot < len(x.state.results) {
		r := x.state.results[slot]
		t = &tenant{less: r.less[g.domain], more: r.more[g.domain]}
		g.tenure[slot] = t
	}
	return t
}

// occupy divides pieces of a GPU's energy. One that began before the run did tells of the idle power at most.
func (x *divider) occupy(g *gpu, pieces []gpus.Piece, began checkpoint.Instant) {
	l := &x.state.ledgers[g.domain]
	for i := range pieces {
		p := &pieces[i]
		if p.From < began {
			continue
		}
		unknown := p.Unattributed
		if unknown > 0 {
			g.reason = p.Reason
		}
		g.idle, l.idle = g.idle+uint64(p.Idle), l.idle+uint64(p.Idle)
		for _, u := range p.Uses {
			slot := g.owner(u.PID, p.To)
			t := (*tenant)(nil)
			if slot >= 0 {
				t = x.tenant(g, slot)
			}
			switch {
			case t != nil:
				x.state.results[slot].shares[g.domain] += uint64(u.Energy)
				l.ranks += uint64(u.Energy)
				t.energy, t.lo, t.hi = t.energy+float64(u.Energy), t.lo+u.Lo, t.hi+u.Hi
				t.squares += u.Off * u.Off
				t.lag.Add(u.Lag)
			case slot == strangers:
				g.other, l.other = g.other+uint64(u.Energy), l.other+uint64(u.Energy)
			default:
				if unknown += u.Energy; u.Energy > 0 {
					g.reason = gpus.Vanished
					if u.PID == 0 {
						g.reason = gpus.Namespace
					}
				}
			}
		}
		for _, t := range g.tenure {
			t.hi += float64(unknown)
		}
	}
	l.unattributed = l.total - l.ranks - l.other - l.idle - l.own
	for slot, t := range g.tenure {
		r, off := &x.state.results[slot], t.lag.With(t.squares)
		r.less[g.domain] = t.less + uint64(math.Ceil(min(t.energy, max(0, t.energy-t.lo+off))))
		r.more[g.domain] = t.more + uint64(math.Ceil(max(0, t.hi-t.energy+off)))
	}
}

// warnOfGPU says why energy of a GPU is nobody's.
func (m *measurer) warnOfGPU(g *gpu, say func(slug, format string, args ...any)) {
	l, reason := m.divider.state.ledgers[g.domain], g.reason
	if refused, _ := g.stream.Refused(); refused != gpus.Resolved {
		reason = refused
	}
	if reason == gpus.Resolved || float64(l.unattributed) <= 0.01*float64(l.total) {
		return
	}
	say("gpu-unattributed", "node %s: nothing tells whose %s of %s is: %s", m.Node,
		fmt.Sprintf("%.3g J", nemb.Energy(l.unattributed).Joules()), m.domains[g.domain].ID, reason.Why())
}

// gpuMethod is how a GPU's energy was divided, "" for other domains.
func (m *measurer) gpuMethod(d int) string {
	g := m.divider.gpus[d]
	switch {
	case m.domains[d].FollowsProcessors():
		return ""
	case g == nil:
		return ranks.GPUUnattributed
	}
	if refused, _ := g.stream.Refused(); refused != gpus.Resolved {
		return ranks.GPUUnattributed
	}
	return ranks.GPUByProcess
}
