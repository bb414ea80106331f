// Package windows divides the energy of each sampling window: among idle power,
// other processes, cg and the program, and the program's among its threads and
// call paths.
//
// It takes, window by window, a sample and what each thread of the program did since
// the one before (Windows.Close). Energy is divided in proportion to processor
// time. First the idle power of a domain is set aside; the rest goes to the
// program, cg and everyone else; the program's goes to its threads, and to the call
// paths of each. A GPU's energy, which does not follow the processors, is
// unattributed. It gives, at any time, the ledger of each domain to the
// microjoule, the program's energy by call path, the processor time of each path,
// and bounds for each site: what the counter alone shows. The package does not
// follow calls, and it knows no power but that of a whole domain.
package windows

import (
	"maps"
	"math"
	"slices"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// Thread is what a thread of the program did in a window.
type Thread struct {
	ID    checkpoint.Thread
	Parts []paths.Part // its time in each call path, each path once
	Idle  uint64       // ticks in which it was on no strand
	Ended bool         // in the window
	// Forked is what it used before its first window.
	Forked Forked
}

// Domain is what the windows say of a domain. Its ledger is in whole microjoules:
// Program + Own + Other + Idle + Unattributed = Total.
type Domain struct {
	Domain       nemb.Domain
	Total        nemb.Energy
	Program      nemb.Energy // functions and the uninstrumented part
	Own          nemb.Energy // cg
	Other        nemb.Energy // other processes
	Idle         nemb.Energy
	Unattributed nemb.Energy
	// ProgramLo and ProgramHi bound Program, without the bounds of the domain.
	ProgramLo, ProgramHi float64

	// Paths is the program's energy by processor time, per call path. Direct is the
	// part of the root's that comes from windows in which nobody is known to have
	// run. Background has that of each class of background threads, nil before the
	// first window. In microjoules.
	Paths      []float64
	Direct     float64
	Background []float64

	idleDebt float64 // see measuredIdle
	highest  float64 // the highest power of windows that were joined, uJ/ns
	pace     int     // of Windows.paces
	still    float64 // for how long its counter has not moved, ns
	unjoined float64 // for how long it had not moved before windows were joined, at most, ns
	spent    float64 // the program's energy in the open window
	beside   float64 // that of others, and of cg
	constant constantIdle
}

// PathTime is how long threads were in a call path, and the processor time that
// they used there, in nanoseconds.
type PathTime struct{ Wall, CPU float64 }

// Windows divides the windows of a run.
type Windows struct {
	// Classes is how many classes of account.Usage.Background have lines of their
	// own in the ledger. Set before the first window.
	Classes int
	// Constant is set where idle power is one figure for the whole run, which Settle sets
	// aside at its end. Else it is set aside window by window. Set before the first window.
	Constant bool
	// Looked is set where the parts of threads come from looks: a function may have run in a
	// window in which nobody saw it, and another had a window to itself only as far as was seen.
	Looked bool
	// Joins is set where windows in which a slow counter does not move are joined with the next for it. Set before the
	// first window.
	Joins bool
	// OthersUnknown is set where nothing tells what other processes use: then the program has as much as its figure at
	// most. Set before the first window.
	OthersUnknown bool
	// Ends is set where no sample comes after the next one.
	Ends    bool
	Domains []Domain
	Times   []PathTime // per call path
	Stats   Stats

	tree   *paths.Tree
	cpus   float64 // logical processors of the host, 0 where not known
	begun  bool
	first  nemb.Sample
	prev   nemb.Sample
	closed int
	paces  []*pace // the first is that of all domains whose windows were never joined

	threads  threadTimes
	sites    siteShares
	modelled bool // the total is a model's, by processor time
	arrears  arrears
	paid     siteShares // as sites, with arrears
	bounds   siteBounds
	divided  divided
	beside   besideEnergy
}

// Stats counts what was wrong with samples.
type Stats struct {
	Merged int // windows joined because a reading failed
	// Disordered counts samples that were behind the one before them in time,
	// energy or processor time, or did not have every domain.
	Disordered int
}

// Window is a window that has been divided.
type Window struct {
	Begin, End nemb.Sample
	Wall       float64 // ns
	PerTick    float64 // ns of a tick; 0 where the window has none
	// Weight is the processor time by which the program's energy was divided, ns.
	Weight     float64
	Background []float64 // of Weight, per class of background threads
	// Away is by how much less threads used than they usually do in as long a time in their call paths, ns.
	Away    float64
	Queued  float64 // for how long threads waited for a processor, as the kernel reports it once they have one, ns
	Turns   float64 // how often threads got a processor
	Between float64 // the time between the readings of processor times around End, ns; 0 where they are of End itself
	Sites   map[checkpoint.SiteID]Share
	Paths   []PathShare // per thread and call path; no root
	Spent   []float64   // the program's energy, per domain, in microjoules
	Machine []float64   // the program's part of Wall, by processor time (see machineTime), per domain, in microseconds
	Moved   []bool      // whether the counter of each domain moved
	// Apart says of each domain whether its windows are divided by themselves: one may have the energy of windows
	// before.
	Apart   []bool
	Threads []Use     // in the order in which they were given, and behind them what is no thread's
	Claimed []Claimed // of windows that are over
	Beside  WindowBeside
}

// WindowBeside is what ran beside the program in a window: cg, and other processes.
type WindowBeside struct {
	CPU     float64   // ns
	Others  float64   // ns of it, in other processes than cg: these are told in ticks
	Spent   []float64 // their energy by processor time, per domain, in microjoules
	Machine []float64 // as Window.Machine
}

// Use is what a thread used in a window.
type Use struct {
	CPU     float64 // ns
	Runtime float64 // the part of it that went to cg's runtime, checkpoints above all
}

// New prepares the division of energy from these domains, on a host of cpus
// logical processors, 0 where that is not known, among the paths of a tree.
func New(domains []nemb.Domain, cpus int, tree *paths.Tree) *Windows {
	w := &Windows{tree: tree, cpus: float64(cpus), Domains: make([]Domain, len(domains)), paces: []*pace{{}}}
	w.modelled = true
	for d := range domains {
		w.Domains[d].Domain = domains[d]
		w.modelled = w.modelled && (!domains[d].InTotal || domains[d].Method == nemb.Estimated)
	}
	w.threads = threadTimes{threads: map[checkpoint.Thread]*threadTime{}, rates: map[checkpoint.SiteID]*rate{}}
	w.sites.of, w.paid.of = map[checkpoint.SiteID]Share{}, map[checkpoint.SiteID]Share{}
	w.bounds.sites = map[checkpoint.SiteID]*siteBound{}
	w.divided.spans, w.divided.doubts = map[checkpoint.Thread]*spans{}, map[checkpoint.SiteID]*siteDoubt{}
	w.divided.tree, w.divided.rate = tree, w.threads.rate
	w.divided.shares.of = map[checkpoint.SiteID]Share{}
	w.grow()
	return w
}

// Begin takes the sample that opens the first window.
func (w *Windows) Begin(s nemb.Sample) {
	w.begun = true
	w.first, w.prev = s, s
}

// HasBegun reports whether there is an open window.
func (w *Windows) HasBegun() bool { return w.begun }

// First is the sample with which the first window began.
func (w *Windows) First() nemb.Sample { return w.first }

// Last is the sample with which the latest window ended.
func (w *Windows) Last() nemb.Sample { return w.prev }

// End takes the paths that came after the last window.
func (w *Windows) End() {
	w.grow()
	w.divided.finishAll()
}

// grow takes the paths that the tree has more.
func (w *Windows) grow() {
	n := w.tree.Len()
	w.Times = extend(w.Times, n)
	for d := range w.Domains {
		w.Domains[d].Paths = extend(w.Domains[d].Paths, n)
	}
	for _, p := range w.paces {
		p.grow(n)
	}
	w.beside.grow(len(w.Domains), n)
	for _, x := range []*siteShares{&w.sites, &w.paid, &w.divided.shares} {
		x.mark, x.under = extend(x.mark, n), extend(x.under, n)
	}
}

// extend gives a slice n elements.
func extend[T any](s []T, n int) []T {
	if more := n - len(s); more > 0 {
		s = append(s, make([]T, more)...)
	}
	return s
}

// Probe says which path has what checkpoints cost: its ticks are processor time.
func (w *Windows) Probe(n int32) { w.threads.probe, w.divided.probe = n, n }

// Close divides the window that began with the sample before, which Begin or Close
// took. threads are those of the program that have call paths. The energy of a
// window whose end could not be read is unattributed.
func (w *Windows) Close(s nemb.Sample, failed bool, threads []Thread) Window {
	w.grow()
	prev := w.prev
	w.wait(s, failed)
	w.prev = s
	w.closed++
	n := len(w.Domains)
	out := Window{
		Begin: prev, End: s, Wall: float64(s.Time - prev.Time), Spent: make([]float64, n), Machine: make([]float64, n),
		Moved: make([]bool, n), Apart: make([]bool, n),
		Beside: WindowBeside{Spent: make([]float64, n), Machine: make([]float64, n)},
	}
	if span := float64(s.At - prev.At); span > 0 {
		out.PerTick = out.Wall / span
	}
	used := processorTimes{
		program: nanos(s.Usage.Program - prev.Usage.Program),
		own:     nanos(s.Usage.Own - prev.Usage.Own),
		other:   nanos(s.Usage.Other - prev.Usage.Other),
		wall:    out.Wall,
	}
	var background float64
	out.Background, background = w.background(s, prev)
	for i := range threads {
		if threads[i].Forked.Used > 0 {
			out.Claimed = append(out.Claimed, w.claim(&threads[i], prev.At, out.PerTick)...)
		}
	}
	program := nanos(s.Usage.Program - w.first.Usage.Program)
	w.threads.room = max(0, w.threads.roomOf(program)-background)
	inThreads := w.threads.close(w.tree, s, out.PerTick, max(0, used.program-background), threads)
	out.Away = w.threads.away(w.tree, out.PerTick)
	out.Queued, out.Turns = queued(prev, s)
	out.Between = nanos(s.Usage.Read[1] - s.Usage.Read[0])
	used.outside = w.threads.outside(program, inThreads+background)
	paid := w.threads.pay(used.outside)
	used.outside -= paid
	out.Weight = inThreads + paid + used.outside + background
	w.arrears.paid, w.arrears.late = w.arrears.paid[:0], 0
	if w.modelled && used.program > 0 {
		w.arrears.close(used.program, out.Weight, w.threads.now)
	}
	if used.program <= 0 {
		// The account is behind the threads, or there is none: what the
		// threads used is what the program used.
		used.program = out.Weight
	}
	w.sites.close(w.tree, out.Weight, w.threads.now)
	out.Sites, out.Paths = w.sites.of, w.sites.paths
	if !failed {
		out.Beside.Others, out.Beside.CPU = max(0, used.other), max(0, used.own)+max(0, used.other)
	}
	w.join(&out, used)
	stale, longest := w.stale(s, prev, out.PerTick)
	longest = w.staleJoined(s, stale, longest)
	w.bounds.ran(w.sharesPaid(out.Weight), n, prev.At, s.At, longest)
	w.divideAll(&out, failed, used, stale)
	if w.modelled && out.PerTick > 0 {
		w.divided.weight += out.Weight + w.arrears.late
		w.divided.outside += used.outside
		w.divided.close(s, prev, out.PerTick, w.threads.now)
	}
	out.Threads = w.bookTimes(out.PerTick)
	w.forget()
	return out
}

// divideAll divides what each domain used in a window, and in those that are joined with it.
func (w *Windows) divideAll(out *Window, failed bool, used processorTimes, stale []checkpoint.Tick) {
	for d := range w.Domains {
		out.Apart[d] = w.Domains[d].pace > 0
	}
	for k, p := range w.paces {
		p.past.begin(out, out.Weight+w.arrears.late, used.outside, nanos(w.first.Time))
		if p.waits {
			continue
		}
		times := p.times(used)
		p.now = machineShares{}
		if !failed && w.shows(k, out) {
			w.shareMachine(p, out, times)
		}
		for d := range w.Domains {
			if w.Domains[d].pace != k {
				continue
			}
			w.divide(d, out, failed, times, stale[d])
			out.Spent[d], out.Beside.Spent[d] = w.Domains[d].spent, w.Domains[d].beside
			out.Machine[d], out.Beside.Machine[d] = p.now.program, p.now.beside
			out.Moved[d] = out.End.Energy[d] > out.Begin.Energy[d]
		}
		p.past.keep()
		p.joined.open = false
	}
}

// sharesPaid is what each site has of the energy that the window divides.
func (w *Windows) sharesPaid(weight float64) map[checkpoint.SiteID]Share {
	if w.arrears.late <= 0 {
		return w.sites.of
	}
	w.paid.close(w.tree, weight+w.arrears.late, slices.Concat(w.threads.now, w.arrears.paid))
	return w.paid.of
}

// processorTimes is who used the processors in a window, in nanoseconds.
type processorTimes struct {
	program, own, other float64
	outside             float64 // of the program, in none of its threads with call paths
	wall                float64 // how long the window is
}

func (p processorTimes) sum() float64 { return p.program + p.own + p.other }

// divide divides what a domain used in a window. What its counter shows may be so
// many ticks old.
func (w *Windows) divide(d int, out *Window, failed bool, used processorTimes, stale checkpoint.Tick) {
	b := &w.Domains[d]
	b.spent, b.beside = 0, 0
	e := out.End.Energy[d] - out.Begin.Energy[d]
	b.Total += e
	if failed {
		b.Unattributed += e
		return
	}
	if b.Domain.Program {
		b.Program += e
		b.ProgramLo += float64(e)
		b.ProgramHi += float64(e)
		w.spend(d, float64(e), out.Weight, used.outside)
		return
	}
	if w.isConstant(d) {
		b.constant.quiet.add(stretch{float64(e), used.wall, max(0, used.sum())}, max(0, used.other), e > 0,
			b.Domain.Period, w.cpus)
	}
	if w.pace(d).joined.open && used.wall > 0 {
		b.highest = max(b.highest, float64(e)/max(used.wall, nanos(b.Domain.Period)))
	}
	idle := w.idle(d, e, used.wall, used.sum())
	if !b.Domain.FollowsProcessors() {
		b.Idle += idle.energy
		b.Unattributed += e - idle.energy
		return
	}
	hidden := 0.0
	if busy := used.sum(); busy > 0 {
		hidden = idle.slack * used.program / busy
	}
	shares := split(e-idle.energy, used.program, used.own, used.other)
	if used.sum() <= 0 {
		idle.energy, shares = e, [3]nemb.Energy{}
	}
	b.Idle += idle.energy
	b.Program += shares[0]
	b.Own += shares[1]
	b.Other += shares[2]
	b.spent, b.beside = float64(shares[0]), float64(shares[1]+shares[2])
	program := programEnergy{
		energy: b.spent, lo: idle.lo * b.spent, hi: idle.hi*b.spent + hidden, machine: w.pace(d).now.program,
		beside: b.beside,
	}
	b.ProgramLo += program.lo
	b.ProgramHi += program.hi
	w.spend(d, b.spent, out.Weight, used.outside)
	w.spendBeside(d, out, b.beside, used.outside)
	for i, part := range w.backgroundParts(w.pace(d), out) {
		b.Background[i] += b.spent * part
	}
	w.bounds.add(d, b.Domain, program, stale, w.pace(d).joined.open)
	w.pace(d).past.spent(d, program)
}

// programEnergy is what the program used of a domain in a window, with its bounds,
// in microjoules. machine is its part of the time, see machineTime.
// beside is the energy of all others.
type programEnergy struct{ energy, lo, hi, machine, beside float64 }

func nanos[T ~int64](d T) float64 { return float64(d) }

// background is what each class of threads used in the window, and their sum.
func (w *Windows) background(s, prev nemb.Sample) (used []float64, sum float64) {
	used = make([]float64, w.Classes)
	for d := range w.Domains {
		if w.Domains[d].Background == nil {
			w.Domains[d].Background = make([]float64, w.Classes)
		}
	}
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

// spend divides the program's energy in a domain among the paths. Of weight,
// outside was in none of its threads.
func (w *Windows) spend(d int, energy, weight, outside float64) {
	if energy == 0 {
		return
	}
	b, p := &w.Domains[d], w.pace(d)
	if w.joinedWeight(p, weight) <= 0 {
		b.Direct += energy
	}
	p.past.spend(d, w.share(p, b.Paths, energy, weight, outside))
}

// share adds an amount to the paths, as they used the processors in the open window, and before where the
// account reports that late. It returns the part that was in no thread.
func (w *Windows) share(p *pace, to []float64, amount, weight, outside float64) float64 {
	if weight = w.joinedWeight(p, weight); weight <= 0 {
		to[paths.Root] += amount
		return 0
	}
	if p.joined.open {
		for n, used := range p.joined.paths {
			to[n] += amount * used / weight
		}
		return amount * p.past.open.outside / weight
	}
	inNone := amount * outside / weight
	to[paths.Root] += inNone
	for i := range len(w.threads.now) + len(w.arrears.paid) {
		t := w.sharing(i)
		if t.used <= 0 {
			continue
		}
		share := amount * t.used / weight
		if !t.hasShares() {
			to[paths.Root] += share
			continue
		}
		for i, p := range t.parts {
			to[p.Node] += share * t.shares[i]
		}
	}
	return inNone
}

// sharing is one of those among which the window is divided: its threads, then the arrears.
func (w *Windows) sharing(i int) *threadTime {
	if n := len(w.threads.now); i >= n {
		return w.arrears.paid[i-n]
	}
	return w.threads.now[i]
}

// bookTimes adds the times of the window to those of the paths, and lists what the
// threads used. Those that have ended are forgotten.
func (w *Windows) bookTimes(perTick float64) []Use {
	all := make([]Use, len(w.threads.now))
	for k, t := range w.threads.now {
		runtime := 0.0
		for i, p := range t.parts {
			w.Times[p.Node].Wall += float64(p.Ticks) * perTick
			w.Times[p.Node].CPU += t.used * t.shares[i]
			if w.tree.Site(p.Node) == checkpoint.OwnSite {
				runtime += t.shares[i]
			}
		}
		all[k] = Use{CPU: t.used, Runtime: min(1, runtime)}
		t.parts, t.before = nil, 0
		if t.ended {
			delete(w.threads.threads, t.id)
		}
	}
	return all
}

// manyGone is how many threads may be known that are not there, beside as many as are.
const manyGone = 64

// forget forgets threads that were not in the open window, where these are many.
func (w *Windows) forget() {
	if len(w.threads.threads) <= 2*len(w.threads.now)+manyGone {
		return
	}
	there := make(map[checkpoint.Thread]bool, len(w.threads.now))
	for _, t := range w.threads.now {
		there[t.id] = true
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.threads.threads), account.CompareThreads) {
		if !there[id] {
			w.divided.finish(id)
			delete(w.threads.threads, id)
		}
	}
}

// Refine takes over what is known of the domains at the end of a run, the same
// ones: their steps and bounds.
func (w *Windows) Refine(domains []nemb.Domain) {
	for d := range w.Domains {
		w.Domains[d].Domain.Step = domains[d].Step
		w.Domains[d].Domain.Lo, w.Domains[d].Domain.Hi = domains[d].Lo, domains[d].Hi
	}
}

// roundedEnergy is a power in watts over a time in nanoseconds.
func roundedEnergy(watts, wall float64) nemb.Energy {
	return nemb.Energy(math.Round(watts * wall * 1e-3)) // W * ns = 1e-9 J = 1e-3 uJ
}
