package windows

import (
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// A counter that moves once a second shows in one sample what was drawn in a hundred. Divided by who used the
// processors in that sample's window alone, a program that waited then would have nothing of it, and whoever ran all.
// So the times of such windows are kept, and added to those of the window in which the counter moves. Each counter that
// moves seldom has windows of its own so; those that move often have theirs in common.

// slowly is how many times as long as the time between samples the period of a counter is, at least, for windows to be
// joined until it moves.
const slowly = 4

// A counter stands still when it has not moved for so many periods, and so long.
const (
	stuckPeriods = 20
	leastStuck   = 100 * time.Millisecond
)

// pace is what is divided by windows of the same ends: the domains whose counters move often have one, and each of the
// others has its own.
type pace struct {
	joined  joined
	waits   bool          // the open window is joined with the next one
	now     machineShares // of the open window
	machine machineTime
	beside  besideTimes
	past    past
}

// joined is what ran in windows that are joined with the open one.
type joined struct {
	open       bool
	since      nemb.Sample // the sample with which the first began
	used       processorTimes
	weight     float64 // by which the program's energy is divided, with arrears
	background []float64
	paths      []float64 // of weight, per call path
}

// pace is that of a domain.
func (w *Windows) pace(d int) *pace { return w.paces[w.Domains[d].pace] }

func (p *pace) grow(n int) {
	p.joined.paths = extend(p.joined.paths, n)
	p.machine.paths = extend(p.machine.paths, n)
	p.beside.cpu, p.beside.machine = extend(p.beside.cpu, n), extend(p.beside.machine, n)
}

// part gives a domain a pace of its own, which begins as what it had in common with others.
func (w *Windows) part(d int) {
	w.Domains[d].pace = len(w.paces)
	w.paces = append(w.paces, w.paces[0].clone())
}

// clone is a copy that shares nothing.
func (p *pace) clone() *pace {
	c := *p
	for _, of := range []*[]float64{
		&c.joined.paths, &c.joined.background, &c.machine.paths, &c.machine.background,
		&c.beside.cpu, &c.beside.machine,
	} {
		*of = slices.Clone(*of)
	}
	c.past = p.past.clone()
	return &c
}

// wait finds the domains of which the window that a sample closes tells nothing yet: their counter has not moved in
// it, and moves much less often than samples are taken, or has stood still for long. What is joined already waits until
// it moves, however long that takes.
func (w *Windows) wait(s nemb.Sample, failed bool) {
	every := s.Time - w.prev.Time
	for d := range w.Domains {
		b := &w.Domains[d]
		if !b.Domain.FollowsProcessors() || b.Domain.Program {
			continue
		}
		period := nanos(b.Domain.Period)
		stuck := b.still >= max(slowly*nanos(every), stuckPeriods*period, float64(leastStuck))
		waits := w.Joins && !failed && !w.Ends && s.Energy[d] <= w.prev.Energy[d] &&
			(w.pace(d).joined.open || period >= slowly*nanos(every) || stuck)
		if waits && !w.pace(d).joined.open && stuck {
			b.unjoined = max(b.unjoined, b.still)
		}
		if b.still += nanos(every); s.Energy[d] > w.prev.Energy[d] {
			b.still = 0
		}
		if waits && b.pace == 0 {
			w.part(d)
		}
		w.pace(d).waits = waits
	}
}

// join adds the window to those that it is joined with, if it waits or others do.
func (w *Windows) join(out *Window, used processorTimes) {
	for _, p := range w.paces {
		if p.waits || p.joined.open {
			w.joinWith(p, out, used)
		}
	}
}

func (w *Windows) joinWith(p *pace, out *Window, used processorTimes) {
	x := &p.joined
	if !x.open {
		*x = joined{since: out.Begin, background: make([]float64, w.Classes), paths: x.paths}
		clear(x.paths)
	}
	x.paths = extend(x.paths, w.tree.Len())
	weight := out.Weight + w.arrears.late
	if weight > 0 {
		x.open = false // so that share divides by this window's times
		w.share(p, x.paths, weight, out.Weight, used.outside)
	}
	x.open = true
	x.weight += weight
	x.used.wall += used.wall
	x.used.program += max(0, used.program)
	x.used.own += max(0, used.own)
	x.used.other += max(0, used.other)
	for i, of := range out.Background {
		x.background[i] += of
	}
}

// times is who used the processors in the window and those that are joined with it, and how long they are.
func (p *pace) times(used processorTimes) processorTimes {
	if !p.joined.open {
		return used
	}
	all := p.joined.used
	all.outside = used.outside
	return all
}

// shows reports whether the counter of a pace shows what was drawn in the window and those that are joined with it. At
// the end of a run it may not yet. Then no idle power of that time is in its energy.
func (w *Windows) shows(k int, out *Window) bool {
	if !w.paces[k].joined.open {
		return true
	}
	for d, e := range out.End.Energy {
		if w.Domains[d].pace == k && e > out.Begin.Energy[d] {
			return true
		}
	}
	return false
}

// ends is by how much a domain's total may be off in microjoules, where windows were joined: its counter shows in the
// run what was drawn up to a period before, and lacks as much at the end. Where it stood still, what was drawn before
// windows were joined is divided by those that were.
func (w *Windows) ends(d int) float64 {
	wall, domain := nanos(w.prev.Time-w.first.Time), &w.Domains[d].Domain
	if w.Domains[d].pace == 0 || wall <= 0 {
		return 0
	}
	b := &w.Domains[d]
	return max(float64(b.Total)/wall, b.highest) * min(wall, max(nanos(domain.Period), b.unjoined))
}

// joinedWeight is the processor time by which the energy of the window and those that are joined with it is divided.
func (w *Windows) joinedWeight(p *pace, weight float64) float64 {
	if p.joined.open {
		return p.joined.weight
	}
	return weight + w.arrears.late
}

// backgroundParts is what each class of background threads has of the program's energy.
func (w *Windows) backgroundParts(p *pace, out *Window) []float64 {
	weight, of := w.joinedWeight(p, out.Weight), out.Background
	if p.joined.open {
		of = p.joined.background
	}
	parts := make([]float64, len(of))
	for i := range of {
		parts[i] = ratio(of[i], weight)
	}
	return parts
}

// staleJoined is by how much a counter's reading may be off in the window, given its period: all that is joined with it
// may be in it.
func (w *Windows) staleJoined(s nemb.Sample, each []checkpoint.Tick, longest checkpoint.Tick) checkpoint.Tick {
	for d := range each {
		if x := &w.pace(d).joined; x.open {
			each[d] = max(each[d], s.At-x.since.At)
			longest = max(longest, each[d])
		}
	}
	return longest
}
