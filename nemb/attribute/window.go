package attribute

import (
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
)

// book is the ledger of one domain, in whole microjoules.
type book struct {
	total        nemb.Energy
	program      nemb.Energy // functions and the uninstrumented part
	own          nemb.Energy
	other        nemb.Energy
	idle         nemb.Energy
	unattributed nemb.Energy
	lo, hi       float64 // bounds of the program's
}

// Begin takes the sample that opens the first window.
func (a *Attributor) Begin(s nemb.Sample) {
	a.begun = true
	a.origin = s.At
	a.first, a.prev = s, s
}

// Close ends the window that began with the sample before. Every word earlier
// than s.At must have been folded, and none later. A sample whose reading
// failed closes nothing: its window is joined with the next.
func (a *Attributor) Close(s nemb.Sample) {
	s = a.steady(s)
	if !a.begun {
		a.Begin(s)
		return
	}
	a.Merge()
	if s.Failed {
		a.Stats.Merged++
		return
	}
	a.close(s, false)
}

// Last ends the last window; a failed reading leaves what its sensors did tell
// unattributed.
func (a *Attributor) Last(s nemb.Sample) {
	s = a.steady(s)
	a.Merge()
	if a.begun {
		a.close(s, s.Failed)
	}
}

func (a *Attributor) close(s nemb.Sample, failed bool) {
	prev := a.prev
	a.prev = s
	a.windows++
	span := float64(s.At - prev.At)
	wall := float64(s.Time - prev.Time)
	perTick := 0.0
	if span > 0 {
		perTick = wall / span
	}
	program := nanos(s.Usage.Program - prev.Usage.Program)
	own := nanos(s.Usage.Own - prev.Usage.Own)
	other := nanos(s.Usage.Other - prev.Usage.Other)

	beside, background := a.background(s, prev)
	cpu := map[*thread]float64{}
	sum := a.threadTimes(s, perTick, max(0, program-background), cpu)
	rest := a.outside(s, sum+background)
	weight := sum + rest + background // splits the program's share
	if program <= 0 {
		// The account is behind the threads, or there is none: what the
		// threads used is what the program used.
		program = weight
	}
	a.parts(weight, cpu)
	stale, longest := a.stale(s, prev, perTick)
	a.ran(prev.At, s.At, longest)

	clear(a.spent)
	for d := range a.domains {
		b := &a.books[d]
		e := s.Energy[d] - prev.Energy[d]
		b.total += e
		if failed {
			b.unattributed += e
			continue
		}
		if a.domains[d].Program {
			b.program += e
			b.lo += float64(e)
			b.hi += float64(e)
			a.spend(d, float64(e), weight, rest, cpu)
			continue
		}
		a.slack = 0
		idle, lo, hi := a.idle(d, e, wall, program+own+other)
		more := 0.0
		if busy := program + own + other; busy > 0 {
			more = a.slack * program / busy
		}
		shares := split(e-idle, program, own, other)
		if program+own+other <= 0 {
			idle, shares = e, [3]nemb.Energy{}
		}
		b.idle += idle
		b.program += shares[0]
		b.own += shares[1]
		b.other += shares[2]
		b.lo += lo * float64(shares[0])
		b.hi += hi*float64(shares[0]) + more
		a.spend(d, float64(shares[0]), weight, rest, cpu)
		a.spent[d] = float64(shares[0])
		if weight > 0 {
			for i, used := range beside {
				a.beside[d][i] += float64(shares[0]) * used / weight
			}
		}
		a.bound(d, float64(shares[0]), lo, hi, more, prev.At, stale[d])
	}
	if !failed && weight > 0 && a.data.HasCounters() {
		a.data.Add(wall, a.spent, moved(s, prev), a.columns(weight, beside))
	}
	a.singles(s, prev, wall, perTick, weight, cpu)
	a.settle(perTick, cpu)
}

// idle is the part of a window's energy e that the domain draws whoever runs.
// lo and hi bound the rest, as factors of it. Where no model tells the idle
// power, it is the published share: power then grows from share, with idle
// processors, to 1, with all of them in use. Nothing set aside is the one
// bound, the largest share that is common the other.
func (a *Attributor) idle(d int, e nemb.Energy, wall, busy float64) (idle nemb.Energy, lo, hi float64) {
	domain := a.domains[d]
	if domain.BaseHi > 0 {
		return a.base(d, e, wall)
	}
	if domain.Base > 0 {
		return min(e, nemb.Energy(math.Round(domain.Base*wall*1e-3))), 1, 1 // W * ns = 1e-9 J = 1e-3 uJ
	}
	if domain.IdleShare <= 0 || a.cpus <= 0 || wall <= 0 {
		return 0, 1, 1
	}
	use := min(1, max(0, busy)/(a.cpus*wall))
	running := func(share float64) float64 { return (1 - share) * use / (share + (1-share)*use) }
	part := running(domain.IdleShare)
	if part <= 0 {
		return e, 1, 1
	}
	return e - nemb.Energy(math.Round(float64(e)*part)), running(max(domain.IdleShare, domain.IdleShareMost)) / part, 1 / part
}

func nanos[T ~int64](d T) float64 { return float64(d) }

// late is by how much the kernel's time of a running thread is behind at most:
// a scheduler tick, 10 ms at 100 Hz, in nanoseconds.
const late = 10e6

// threadTimes charges every thread up to the sample and stores the processor
// time it used in the window into cpu. Where the kernel does not tell, a
// thread counts as running whenever it is inside a site.
func (a *Attributor) threadTimes(s nemb.Sample, perTick, program float64, cpu map[*thread]float64) (sum float64) {
	read := make(map[*thread]float64, len(s.Usage.Threads))
	for _, u := range s.Usage.Threads {
		if t := a.threads[u.Thread]; t != nil {
			read[t] = nanos(u.CPU)
		}
	}
	guessed := map[*thread]float64{}
	guess := 0.0
	for _, t := range a.threads {
		t.sitesOnly = false
		// One that the kernel told of and does no more was killed: its calls
		// ended when it was told of last, or with its last word.
		if _, ok := read[t]; t.known && !ok && !t.ended && t.proc == nil && !t.gone {
			a.abandon(t)
			t.gone = true
		}
		if !t.ended && !t.gone && t.last != 0 && t.last < s.At {
			t.pass(s.At)
		}
		t.pending = a.combine(t.pending)
		inside := 0.0
		for _, p := range t.pending {
			if p.node != root {
				inside += float64(p.ticks)
			}
		}
		now, ok := read[t]
		here := (a.present(t) + float64(t.idle)) * perTick
		var used float64
		switch {
		case ok && t.known:
			used = max(0, now-t.cpu)
		case ok:
			used = now
		}
		// A thread uses no more than the time it is there, but for what the
		// kernel told late of the window before. What a process uses after
		// its last thread has taken leave is not that thread's.
		used = min(used, here+t.credit)
		if !t.known && !ok || t.ended {
			// Never read, or last read before the window: it may have used
			// all the time that it was in its sites.
			if more := min(inside*perTick, here) - used; more > 0 {
				guessed[t] = more
				guess += more
				t.sitesOnly = used == 0
			}
		}
		t.credit = min(late, t.credit+here-used)
		if ok {
			t.cpu, t.known = now, true
		}
		cpu[t] = used
		sum += used
	}
	// Guesses share what the program used and no thread is known to have.
	left := guess
	if program > 0 {
		left = min(guess, max(0, program-sum))
	}
	for t, more := range guessed {
		cpu[t] += more * left / guess
	}
	for t, used := range cpu {
		// What a thread uses it uses for its strands, and only what is more
		// than their time without one: in the scheduler, or collecting.
		if more := used - a.present(t)*perTick; t.idle > 0 && more > 0 && perTick > 0 {
			t.pending = append(t.pending, part{node: root, ticks: min(t.idle, uint64(more/perTick))})
		}
	}
	for t, used := range cpu {
		a.apportion(t, used, perTick)
	}
	return sum + left
}

// present is the time in ticks that a thread was there in the open window.
func (a *Attributor) present(t *thread) float64 {
	sum := 0.0
	for _, p := range t.pending {
		sum += float64(p.ticks)
	}
	return sum
}

// rate is the processor time of a site, and the time that its threads were in
// it, in nanoseconds.
type rate struct{ cpu, wall float64 }

// rated is the time in a site, in nanoseconds, from which on what it used decides
// its rate; before, it counts as running whenever a thread is in it.
const rated = 2e6

func (r *rate) value() float64 { return (r.cpu + rated) / (r.wall + rated) }

// apportion gives the parts of a thread their shares of what it used in the open
// window: in proportion to the time in each, and to the part of its time that its
// site is known to run. A function that waits gets what it burns so, though
// others computed in the same window. The rates follow from what they gave rise
// to before (expectation and maximisation by turns: Dempster, Laird, Rubin,
// Journal of the Royal Statistical Society B 39, 1977).
func (a *Attributor) apportion(t *thread, used, perTick float64) {
	sum := 0.0
	for i := range t.pending {
		p := &t.pending[i]
		p.share = 0
		if t.sitesOnly && p.node == root {
			continue
		}
		p.share = float64(p.ticks) * a.rate(p.node).value()
		sum += p.share
	}
	if sum <= 0 {
		return
	}
	for i := range t.pending {
		p := &t.pending[i]
		p.share /= sum
		if t.known {
			r := a.rate(p.node)
			r.cpu += used * p.share
			r.wall += float64(p.ticks) * perTick
		}
	}
}

func (a *Attributor) rate(node int32) *rate {
	site := a.nodes[node].site
	r := a.rates[site]
	if r == nil {
		r = &rate{}
		a.rates[site] = r
	}
	return r
}

// outside is the program's processor time of the window that no followed
// thread used. The kernel brings thread times up to date a few milliseconds
// late, so the difference is taken of the whole run, as an envelope: it never
// counts lateness as use.
func (a *Attributor) outside(s nemb.Sample, sum float64) float64 {
	a.covered += sum
	rest := nanos(s.Usage.Program-a.first.Usage.Program) - a.covered
	if rest <= a.rest {
		return 0
	}
	delta := rest - a.rest
	a.rest = rest
	return delta
}

// background is what each class of threads used in the window, and their sum.
func (a *Attributor) background(s, prev nemb.Sample) (used []float64, sum float64) {
	if a.beside == nil {
		a.beside = make([][]float64, len(a.domains))
		for d := range a.beside {
			a.beside[d] = make([]float64, len(a.Background))
		}
	}
	used = make([]float64, len(a.Background))
	for i := range used {
		if i < len(s.Usage.Background) && i < len(prev.Usage.Background) {
			used[i] = max(0, nanos(s.Usage.Background[i]-prev.Usage.Background[i]))
			sum += used[i]
		}
	}
	return used, sum
}

// split divides e in proportion to the weights, to the microjoule: what
// rounding leaves goes to the largest.
func split(e nemb.Energy, weights ...float64) (parts [3]nemb.Energy) {
	sum, largest := 0.0, 0
	for i, w := range weights {
		sum += max(0, w)
		if w > weights[largest] {
			largest = i
		}
	}
	if sum <= 0 {
		return parts
	}
	left := e
	for i, w := range weights {
		parts[i] = min(left, nemb.Energy(float64(e)*max(0, w)/sum))
		left -= parts[i]
	}
	parts[largest] += left
	return parts
}

// spend divides the program's energy in a domain among the paths.
func (a *Attributor) spend(d int, energy, weight, rest float64, cpu map[*thread]float64) {
	if energy == 0 {
		return
	}
	if weight <= 0 {
		a.energy[d][root] += energy
		a.direct[d] += energy
		return
	}
	a.energy[d][root] += energy * rest / weight
	for t, used := range cpu {
		if used <= 0 {
			continue
		}
		share := energy * used / weight
		if !t.apportioned() {
			a.energy[d][root] += share
			continue
		}
		for _, p := range t.pending {
			a.energy[d][p.node] += share * p.share
		}
	}
}

// apportioned reports whether the parts of a thread have shares.
func (t *thread) apportioned() bool {
	return slices.ContainsFunc(t.pending, func(p part) bool { return p.share > 0 })
}

// part is what a site has of the program's share in the open window, whatever
// the domain: by itself, and with all that it called.
type sitePart struct {
	self, inclusive float64
}

// parts computes what each site has of the window: over all call paths and
// threads, a recursive call counted once.
func (a *Attributor) parts(weight float64, cpu map[*thread]float64) {
	clear(a.sites)
	if weight <= 0 {
		return
	}
	a.epoch++
	a.visited = a.visited[:0]
	for t, used := range cpu {
		if used <= 0 {
			continue
		}
		for _, p := range t.pending {
			if p.share <= 0 {
				continue
			}
			f := used / weight * p.share
			for n := p.node; n > root && a.mark[n] != a.epoch; n = a.nodes[n].parent {
				a.mark[n], a.under[n] = a.epoch, 0
				a.visited = append(a.visited, n)
			}
			if p.node == root {
				continue
			}
			site := a.nodes[p.node].site
			s := a.sites[site]
			s.self += f
			a.sites[site] = s
			if site != checkpoint.OwnSite {
				a.under[p.node] += f
			}
		}
	}
	slices.Sort(a.visited) // parents have lower numbers
	for i := len(a.visited) - 1; i >= 0; i-- {
		n := a.visited[i]
		if p := a.nodes[n].parent; p > root {
			a.under[p] += a.under[n]
		}
		if a.outermost[n] {
			s := a.sites[a.nodes[n].site]
			s.inclusive += a.under[n]
			a.sites[a.nodes[n].site] = s
		}
	}
}

// settle books the times of the window and empties it.
func (a *Attributor) settle(perTick float64, cpu map[*thread]float64) {
	for id, t := range a.threads {
		for _, p := range t.pending {
			a.tallies[p.node].wall += float64(p.ticks) * perTick
			a.tallies[p.node].cpu += cpu[t] * p.share
		}
		t.pending, t.idle = t.pending[:0], 0
		if t.ended {
			delete(a.threads, id)
		}
	}
}
