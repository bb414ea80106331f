package codegreen

import (
	"math"
	"slices"
	"sort"
)

// crowd counts the tasks that are open inside the same task, or the session, at
// the same time: they have equal parts of its energy. Go does not tell the
// processor time of goroutines.
type crowd struct {
	open    int
	changes []change // in the order of time; none while there is but one
}

// change: from at on (ns), n tasks were open.
type change struct {
	at int64
	n  int
}

// step gives the time of the change: at, or that of what happened since in
// another goroutine.
func (c *crowd) step(at int64, by int) int64 {
	c.open += by
	if n := len(c.changes); n > 0 {
		at = max(at, c.changes[n-1].at)
	}
	if c.open > 1 || c.open-by > 1 {
		c.changes = append(c.changes, change{at, c.open})
	}
	return at
}

// at is how many were open then, at least 1.
func (c *crowd) at(t int64) int {
	i := sort.Search(len(c.changes), func(i int) bool { return c.changes[i].at > t }) - 1
	if i < 0 {
		return 1
	}
	return max(1, c.changes[i].n)
}

// within gives the times of changes between start and end.
func (c *crowd) within(start, end int64) []int64 {
	var all []int64
	i := sort.Search(len(c.changes), func(i int) bool { return c.changes[i].at > start })
	for ; i < len(c.changes) && c.changes[i].at < end; i++ {
		all = append(all, c.changes[i].at)
	}
	return all
}

// forget leaves out what nobody asks for who asks for times from t on.
func (c *crowd) forget(t int64) {
	if i := sort.Search(len(c.changes), func(i int) bool { return c.changes[i].at > t }) - 1; i > 0 {
		c.changes = slices.Clone(c.changes[i:])
	}
}

// part is a piece of a task's time, and the task's part of the machine's energy in it.
type part struct {
	start, end int64
	of         float64
}

// partsOf divides a task's time by who else had a part; nil where nobody had.
func partsOf(start, end int64, crowds []*crowd) []part {
	edges := []int64{start}
	for _, c := range crowds {
		edges = append(edges, c.within(start, end)...)
	}
	slices.Sort(edges)
	edges = append(slices.Compact(edges), end)
	var parts []part
	divided := false
	for i := 1; i < len(edges); i++ {
		of := 1.0
		for _, c := range crowds {
			of /= float64(c.at(edges[i-1]))
		}
		divided = divided || of < 1
		parts = append(parts, part{edges[i-1], edges[i], of})
	}
	if !divided {
		return nil
	}
	return parts
}

// energy is what a task used, in uJ.
type energy struct {
	domains                map[string]int64
	total, machine, lo, hi int64
	method                 string // the weakest of the domains'
	program                *share // nil where that is not known
}

// energyOf is the energy of a task from start to end, of which it has these
// parts (nil for all of it). Of a GPU it has what the program used while nobody else had a part. It is nil where that
// of a domain of the total is not known, and where there is none; and whose the energy of GPUs was.
func energyOf(s *samples, start, end int64, parts []part) (*energy, []gpuUse) {
	sum := &summing{e: &energy{domains: map[string]int64{}, method: methodBracket},
		share: newSharing(s, start, end, parts), parts: parts}
	var gpus []gpuUse
	for d, of := range s.domains {
		joules, slack, method, ok := s.between(d, start, end)
		if !ok || s.silent(d, start, end) != "" {
			if of.InTotal {
				return nil, nil
			}
			continue
		}
		if of.Kind == kindGpu {
			all := parts
			if all == nil {
				all = []part{{start, end, 1}}
			}
			slack = math.Hypot(slack, s.lag(d, start, end)) + float64(of.StepUj)*1e-6
			use := s.gpuUse(d, all, joules, slack)
			gpus = append(gpus, use)
			sum.gpu(d, of, use, joules, method)
			continue
		}
		own, least := 1.0, 1.0
		if parts != nil {
			own, least = s.own(d, start, end, parts)
		}
		sum.domain(d, of, own, least, known{joules, slack, method})
	}
	return sum.energy(), gpus
}

// summing adds up the energy of a task.
type summing struct {
	e               *energy
	parts           []part
	share           sharing
	lo, hi, machine float64
	known, whole    bool // whole: machine is not the total
}

// known is what a counter tells of a time: J, how far the true energy is from it, and by what method.
type known struct {
	joules, slack float64
	method        string
}

// domain adds that of a domain that is no GPU: the task's own part of it, and the part in which it was alone.
func (x *summing) domain(d int, of domain, own, least float64, k known) {
	round := 0.5
	if x.parts != nil {
		round = 0 // so that tasks do not add up to more than there is
	}
	micro := int64(k.joules*own*1e6 + round)
	x.e.domains[of.ID] = micro
	if !of.InTotal {
		return
	}
	slack := k.slack + float64(of.StepUj)*1e-6
	below, above := max(0, k.joules-slack)*least*of.Lo, (k.joules+slack)*of.Hi
	x.machine += k.joules
	x.add(d, micro, below, above, k.method)
}

// gpu adds that of a GPU.
func (x *summing) gpu(d int, of domain, use gpuUse, joules float64, method string) {
	if use.known {
		x.e.domains[of.ID] = use.program
	}
	if !of.InTotal {
		return
	}
	x.whole = true
	x.machine += joules
	below, above := float64(use.lo)*1e-6*of.Lo, float64(use.hi)*1e-6*of.Hi
	if use.known {
		x.add(d, use.program, below, above, method)
		return
	}
	x.hi += above
	if x.share.of != nil {
		x.share.hi += above
	}
}

// add adds energy: uJ, and its bounds in J.
func (x *summing) add(d int, micro int64, below, above float64, method string) {
	x.known = true
	x.e.total += micro
	x.lo, x.hi = x.lo+below, x.hi+above
	x.share.add(d, micro, below, above)
	if methodRank[method] > methodRank[x.e.method] {
		x.e.method = method
	}
}

// energy is the sum, nil where nothing is known.
func (x *summing) energy() *energy {
	if !x.known {
		return nil
	}
	e := x.e
	e.machine = e.total
	if x.parts != nil {
		e.method = methodShared
	}
	if x.parts != nil || x.whole {
		e.machine = int64(x.machine*1e6 + 0.5)
	}
	// Outwards, but for what rounding leaves.
	e.lo, e.hi = min(e.total, int64(math.Floor(x.lo*1e6+1e-6))), max(e.total, int64(math.Ceil(x.hi*1e6-1e-6)))
	e.program = x.share.sum(e.hi)
	return e
}

// own is the part of the energy from start to end that these parts make up, and
// the part in which the task was alone.
func (s *samples) own(d int, start, end int64, parts []part) (own, alone float64) {
	a, okA := s.energyAt(d, start)
	b, okB := s.energyAt(d, end)
	for _, p := range parts {
		used := float64(p.end-p.start) / float64(max(1, end-start))
		if okA && okB && b > a {
			x, _ := s.energyAt(d, p.start)
			y, _ := s.energyAt(d, p.end)
			used = (y - x) / (b - a)
		}
		own += used * p.of
		if p.of == 1 {
			alone += used
		}
	}
	return own, alone
}
