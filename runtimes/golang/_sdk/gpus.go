package codegreen

import (
	"math"
	"slices"
	"sort"
	"sync/atomic"
	"time"
)

// aboutGPUs is what a ring says of the GPUs in it (nemb/RING.md of cg).
type aboutGPUs struct {
	At      int         `json:"at"`
	Slots   int         `json:"slots"`
	Domains []int       `json:"domains"`
	Reasons []gpuReason `json:"reasons"`
}

// gpuReason is why energy of a GPU is nobody's.
type gpuReason struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// gpuSums is whose the energy of a GPU was in a time, in uJ. lo and hi bound the program's, and it may be off by the
// root of squares besides.
type gpuSums struct {
	total, program, other, idle, unattributed, lo, hi, squares float64
	ns                                                         float64 // for how long it is told
}

func (a gpuSums) plus(b gpuSums, by float64) gpuSums {
	return gpuSums{a.total + b.total*by, a.program + b.program*by, a.other + b.other*by, a.idle + b.idle*by,
		a.unattributed + b.unattributed*by, a.lo + b.lo*by, a.hi + b.hi*by, a.squares + b.squares*by, a.ns + b.ns*by}
}

// toldNothing tells that all of it but idle power is nobody's.
func (a gpuSums) toldNothing() bool { return a.program+a.other <= 0 && a.unattributed > a.total/100 }

// gpuPiece is whose it was from one moment to another, as cg tells it.
type gpuPiece struct {
	from, to int64
	of       gpuSums
	before   gpuSums // of all pieces before
	reason   uint64
}

// gpuOf is what cg tells of the GPU of a domain. It tells late.
type gpuOf struct {
	state   uint64
	asked   int64 // the moment at which its driver was asked last
	pieces  []gpuPiece
	reasons []gpuReason
}

func (g *gpuOf) is(bit uint64) bool { return g.state&bit != 0 }

// held tells whether the program may have used it up to end. That it held no context is known up to the moment at which
// the driver was asked last.
func (g *gpuOf) held(end int64) bool { return g.is(gpuHeld) || g.asked < end }

// awaited tells whether cg has not told yet who used it up to end, and will.
func (g *gpuOf) awaited(end int64) bool {
	switch {
	case !g.is(gpuAsked):
		return false
	case g.asked < end:
		return true
	}
	n := len(g.pieces)
	return g.is(gpuHeld) && g.is(gpuAwaited) && (n == 0 || g.pieces[n-1].to < end)
}

// why is the reason of a number.
func (g *gpuOf) why(number uint64) gpuReason {
	if number == 0 || number > uint64(len(g.reasons)) {
		return gpuReason{}
	}
	return g.reasons[number-1]
}

// add takes in a piece.
func (g *gpuOf) add(p gpuPiece) {
	p.of.ns = float64(p.to - p.from)
	if n := len(g.pieces); n > 0 {
		p.before = g.pieces[n-1].before.plus(g.pieces[n-1].of, 1)
	}
	g.pieces = append(g.pieces, p)
}

// within is the part of a piece in a part of its time, in which the counter showed e. Idle power is the same all the
// time; the rest is divided as that of the whole piece.
func (p *gpuPiece) within(e, part float64) gpuSums {
	if part >= 1 {
		return p.of
	}
	e = min(max(0, e), p.of.total)
	active := p.of.total - p.of.idle
	used := e - min(e, p.of.idle*part)
	share := part
	if active > 0 {
		share = min(1, used/active)
	}
	out := gpuSums{total: e, program: p.of.program * share, other: p.of.other * share,
		unattributed: p.of.unattributed * share, squares: p.of.squares, ns: p.of.ns * part}
	out.idle = max(0, e-out.program-out.other-out.unattributed)
	out.lo = min(out.program, max(0, p.of.lo-(active-used)))
	out.hi = max(out.program, min(p.of.hi, used+max(0, p.of.hi-active)*part))
	return out
}

// meets are the first and the last piece that have a part of the time from start to end; none where the last is less.
func (g *gpuOf) meets(start, end int64) (first, last int) {
	first = sort.Search(len(g.pieces), func(i int) bool { return g.pieces[i].to > start })
	return first, sort.Search(len(g.pieces), func(i int) bool { return g.pieces[i].from >= end }) - 1
}

// between is whose it was from start to end, as far as it is told, and why something of it is nobody's.
func (g *gpuOf) between(start, end int64, curve func(t int64) float64) (sum gpuSums, reason uint64) {
	i, j := g.meets(start, end)
	if i > j {
		return sum, 0
	}
	for k := i; k <= j; k++ {
		if r := g.pieces[k].reason; r != 0 {
			reason = r
		}
	}
	piece := func(k int) gpuSums {
		p := &g.pieces[k]
		a, b := max(start, p.from), min(end, p.to)
		return p.within(curve(b)-curve(a), float64(b-a)/p.of.ns)
	}
	sum = piece(i)
	if i < j {
		first, last := &g.pieces[i], &g.pieces[j]
		sum = sum.plus(piece(j), 1).plus(last.before, 1).plus(first.before, -1).plus(first.of, -1)
	}
	return sum, reason
}

// gpuUse is whose the energy of a GPU was in a task: whole microjoules that add up to total.
type gpuUse struct {
	domain                                    string
	method, reason, why                       string
	total, program, other, idle, rest, lo, hi int64
	known                                     bool // the program's energy is
	held                                      bool // the program may have used it
}

// gpuUse is whose the energy of domain d was in these parts, in which it used so many joules, give or take slack. What
// is known is the program's alone: of what it used while tasks ran at the same time a task has nothing.
func (s *samples) gpuUse(d int, parts []part, joules, slack float64) gpuUse {
	use := gpuUse{domain: s.domains[d].ID, method: gpuUnattributed, reason: gpuNotAsked,
		why: gpuNotAskedWhy, held: true}
	use.total = int64(joules*1e6 + 0.5)
	hidden := s.hidden(d, parts) // which the counter may have missed
	use.rest, use.hi = use.total, int64(math.Ceil((joules+slack+hidden)*1e6-1e-6))
	g := s.gpus[d]
	if g == nil || !g.is(gpuAsked) {
		return use
	}
	curve := func(t int64) float64 { return s.curve(d, t) }
	end := int64(0)
	for _, p := range parts {
		end = max(end, p.end)
	}
	use.held = g.held(end)
	var own, shared gpuSums
	var why uint64
	untold := false
	counted := -1 // the last piece whose squares are: what is off in a piece may be in one part only
	for _, p := range parts {
		sum, reason := g.between(p.start, p.end, curve)
		if i, j := g.meets(p.start, p.end); i <= j {
			if i == counted {
				sum.squares -= g.pieces[i].of.squares
			}
			counted = j
		}
		if reason != 0 {
			why = reason
		}
		if float64(p.end-p.start)-sum.ns > 0.5 { // it is not told to the end
			more := max(0, curve(p.end)-curve(p.start)-sum.total)
			sum.total, sum.unattributed, sum.hi = sum.total+more, sum.unattributed+more, sum.hi+more
			untold = untold || more > 0
		}
		if p.of == 1 {
			own = own.plus(sum, 1)
		} else {
			shared = shared.plus(sum, 1)
		}
	}
	by := 0.0
	if all := own.total + shared.total; all > 0 {
		by = joules * 1e6 / all
	}
	if untold { // pieces have what is hidden in them
		own.squares = max(own.squares, hidden*hidden*1e12)
	}
	use.settle(own, shared, by, slack*1e6, hidden*1e6)
	use.method, use.reason, use.why = gpuByProcess, "", ""
	use.known = true
	if !g.is(gpuAwaited) || own.toldNothing() {
		use.method = gpuUnattributed
	}
	if use.method == gpuUnattributed || shared.total > 0 && own.total <= aloneZeroPart*shared.total {
		use.known = !use.held
	}
	if !use.known {
		use.rest, use.program, use.lo = use.rest+use.program, 0, 0
	}
	if use.rest > use.total/100 {
		use.because(g, why, shared.total > 0 && use.held, untold)
	}
	return use
}

// settle makes whole microjoules of sums, which are by times too small. The GPU used no more than was counted, give or
// take slack, and what the counter hid.
func (u *gpuUse) settle(own, shared gpuSums, by, slack, hidden float64) {
	whole := func(v float64) int64 { return int64(v*by + 1e-6) }
	u.program, u.other, u.idle = whole(own.program), whole(own.other), whole(own.idle)
	u.rest = max(0, u.total-u.program-u.other-u.idle)
	if !u.held {
		u.hi = 0
		return
	}
	off := math.Sqrt(max(0, own.squares+shared.squares))*by + slack // differences of sums, which are rounded
	u.lo = min(u.program, int64(math.Floor(max(0, own.lo*by-off)+1e-6)))
	most := min(float64(u.total)+slack+hidden, (own.hi+shared.hi)*by+off)
	u.hi = max(u.program, int64(math.Ceil(most-1e-6)))
}

// because says why there is energy that is nobody's.
func (u *gpuUse) because(g *gpuOf, number uint64, shared, untold bool) {
	if number == 0 {
		number = g.state >> gpuReasonShift
	}
	of := g.why(number)
	switch {
	case shared:
		u.reason, u.why = gpuTasks, gpuTasksWhy
	case of.Name != "":
		u.reason, u.why = of.Name, of.Why
	case untold:
		u.reason, u.why = gpuLate, gpuLateWhy
	}
}

// curve is uJ of domain d up to t: linear between the updates of its counter.
func (s *samples) curve(d int, t int64) float64 {
	k := s.knots[d]
	switch {
	case len(k) < 2:
		e, _ := s.energyAt(d, t)
		return e
	case float64(t) <= k[0].at:
		return k[0].joules * 1e6
	case float64(t) >= k[len(k)-1].at:
		return k[len(k)-1].joules * 1e6
	}
	joules, _ := onLine(k, float64(t))
	return joules * 1e6
}

// awaitsGPU tells whether cg is waited for at a moment: it has not told yet who used a GPU up to the end of a task, or
// what, and will. A driver has gpuPatienceNs for that, and the counter of a GPU that the program uses as much more as
// it is late.
func (s *samples) awaitsGPU(end, at int64) bool {
	for d, g := range s.gpus {
		if g == nil || !g.is(gpuAsked) {
			continue
		}
		driver, counter := end+gpuPatienceNs, end+gpuPatienceNs+s.domains[d].Habits.ahead()
		if at < driver && (g.awaited(end) || g.held(end) && s.untold(d, end)) ||
			at < counter && g.is(gpuHeld) && s.untold(d, end) {
			return true
		}
	}
	return false
}

// untold tells whether the counter of domain d is late, and has not told all that was used up to end.
func (s *samples) untold(d int, end int64) bool {
	ahead := s.domains[d].Habits.ahead()
	return ahead > 0 && s.latest() < end+ahead
}

// pruneGPUs leaves out the pieces in which no edge lies, but the newest.
func (s *samples) pruneGPUs(edges []int64) {
	for _, g := range s.gpus {
		if g == nil {
			continue
		}
		keep := make([]bool, len(g.pieces))
		for i := range keep {
			keep[i] = i == len(keep)-1
		}
		for _, e := range edges {
			i := sort.Search(len(g.pieces), func(i int) bool { return g.pieces[i].to >= e })
			for n := max(0, i-1); n <= min(i+1, len(keep)-1); n++ {
				keep[n] = true
			}
		}
		g.pieces = slices.Clone(choose(g.pieces, keep))
	}
}

// readGPUs brings what is new of GPUs to s.
func (r *ring) readGPUs(s *samples) {
	about := r.GPUs
	if about == nil {
		return
	}
	words := r.words[about.At/8:]
	asked := int64(atomic.LoadUint64(&words[gpuAskedOffset/8])) // before the states: they are at least as new
	for i, d := range about.Domains {
		s.gpus[d].asked = asked
		s.gpus[d].state = atomic.LoadUint64(&words[gpuHeaderBytes/8+i])
	}
	head, slots := atomic.LoadUint64(&words[0]), uint64(about.Slots)
	r.nextUse = max(r.nextUse, head-min(head, slots))
	for ; r.nextUse < head; r.nextUse++ {
		slot := words[gpuHeaderBytes/8+len(about.Domains)+int(r.nextUse%slots)*gpuWords:][:gpuWords]
		var v [gpuWords]uint64
		for i := range v {
			v[i] = atomic.LoadUint64(&slot[i])
		}
		whole := 2*r.nextUse + 2
		if v[0] != whole || atomic.LoadUint64(&slot[0]) != whole || v[1] >= uint64(len(about.Domains)) {
			continue // it was written over: nobody tells of that time
		}
		f := func(i int) float64 { return float64(v[i]) }
		p := gpuPiece{from: int64(v[2]), to: int64(v[3]), reason: v[12]}
		p.of = gpuSums{total: f(4), program: f(5), other: f(6), idle: f(7), unattributed: f(8), lo: f(9), hi: f(10),
			squares: f(11) * f(11)}
		if p.to > p.from {
			s.gpus[about.Domains[v[1]]].add(p)
		}
	}
}

// gpusFit tells whether all that the ring says of GPUs lies inside of it.
func (r *ring) gpusFit() bool {
	about := r.GPUs
	if about == nil {
		return true
	}
	for _, d := range about.Domains {
		if d < 0 || d >= len(r.Domains) {
			return false
		}
	}
	end := len(r.memory) / 8
	at := about.At / 8
	return about.At >= 0 && about.At%8 == 0 && about.Slots > 0 && about.Slots <= end && len(about.Domains) > 0 &&
		at+gpuHeaderBytes/8+len(about.Domains)+about.Slots*gpuWords <= end
}

// gpusOf are what a ring tells of, by domain: nil for any other domain.
func gpusOf(domains []domain, about *aboutGPUs) []*gpuOf {
	all := make([]*gpuOf, len(domains))
	if about != nil {
		for _, d := range about.Domains {
			all[d] = &gpuOf{reasons: about.Reasons}
		}
	}
	return all
}

// awaitGPUs lets cg tell who used GPUs up to the end of a task, and how much, s.data being locked.
func (s *Session) awaitGPUs(end int64) {
	for s.samples.awaitsGPU(end, monotonic()) && !s.source.ended() {
		time.Sleep(10 * time.Millisecond)
		s.source.read(s.samples)
	}
}

// gpuEntry is whose the energy of a GPU was in a task.
type gpuEntry struct {
	Domain       string   `json:"domain"`
	Method       string   `json:"gpu_method"`
	Reason       string   `json:"reason"`
	Used         bool     `json:"used_by_program"`
	Energy       *float64 `json:"energy_j"`
	Program      *float64 `json:"program_energy_j"`
	ProgramLo    *float64 `json:"program_energy_lo_j"`
	ProgramHi    *float64 `json:"program_energy_hi_j"`
	Other        *float64 `json:"other_processes_j"`
	Idle         *float64 `json:"idle_j"`
	Unattributed *float64 `json:"unattributed_j"`
}

func (s *Session) gpuEntries(uses []gpuUse) []gpuEntry {
	all := []gpuEntry{}
	for _, u := range uses {
		e := gpuEntry{Domain: u.domain, Method: u.method, Reason: u.reason, Used: u.held, Energy: s.joules(u.total),
			Idle: s.joules(u.idle), Unattributed: s.joules(u.rest), Other: s.joules(u.other)}
		if u.known {
			e.Program, e.ProgramLo, e.ProgramHi = s.joules(u.program), s.joules(u.lo), s.joules(u.hi)
		}
		all = append(all, e)
	}
	return all
}

// GPU is whose the energy of a GPU was in a task, in J: ProgramJ, OtherJ, IdleJ and UnattributedJ add up to EnergyJ.
type GPU struct {
	Domain string
	// Method is process, or unattributed where the driver does not tell who used it. Reason says why there is
	// unattributed energy, "" where there is next to none.
	Method, Reason string
	EnergyJ        float64
	// ProgramJ is what the program used, with its bounds; NaN where it is not known.
	ProgramJ, ProgramLoJ, ProgramHiJ float64
	OtherJ, IdleJ, UnattributedJ     float64
}

// GPUs are whose the energies of the machine's GPUs were, nil where there are none. It waits some 250 ms after the
// task's end until drivers say whether the program used one, and up to 1.2 s where it may have: up to as much more as
// the GPU's counter is late.
func (t *Task) GPUs() []GPU {
	if t == nil {
		return nil
	}
	t.computed()
	t.session.data.Lock()
	defer t.session.data.Unlock()
	var all []GPU
	for _, u := range t.gpus {
		j := func(micro int64) float64 { return float64(micro) / 1e6 }
		g := GPU{Domain: u.domain, Method: u.method, Reason: u.reason, EnergyJ: j(u.total), OtherJ: j(u.other),
			IdleJ: j(u.idle), UnattributedJ: j(u.rest)}
		g.ProgramJ, g.ProgramLoJ, g.ProgramHiJ = math.NaN(), math.NaN(), math.NaN()
		if u.known {
			g.ProgramJ, g.ProgramLoJ, g.ProgramHiJ = j(u.program), j(u.lo), j(u.hi)
		}
		all = append(all, g)
	}
	return all
}
