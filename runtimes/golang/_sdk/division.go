package codegreen

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
)

// division tells the program's share of the energy in a part of a series. It is cg's own
// division (nemb/attribute/windows of cg): of what a domain used from one sample to a later
// one, idle power is set aside, and the rest is divided by processor time among the
// program, cg and everyone else. Windows are at least shareWindowNs long. Times are in ns,
// energies in uJ.
type division struct {
	domains []domain
	divides
	at     []int64     // the end of each window, and the beginning of the first
	sums   [][]divided // by domain, up to there
	debts  []float64   // of domains whose idle power was measured
	edge   *reading    // at the end of the last window
	newest *reading    // after it, nil for none
}

// divides is what a ring says of the program that is measured.
type divides struct {
	Processors int   `json:"processors"` // of the host, 0 where that is not known
	GrainNs    int64 `json:"grain_ns"`   // by how much processor times may be behind each other
}

// idling is what a domain draws whoever runs: watts, and parts of its full power.
type idling struct {
	Program   bool    `json:"program"` // its energy is the program's alone
	Base      float64 `json:"base_w"`
	BaseLo    float64 `json:"base_lo_w"`
	BaseHi    float64 `json:"base_hi_w"`
	Share     float64 `json:"idle_share"`
	ShareMost float64 `json:"idle_share_most"`
}

// divided is what a domain used, what the program did of it, and the bounds of that.
type divided struct{ whole, program, lo, hi float64 }

func (a divided) plus(b divided, weight float64) divided {
	return divided{a.whole + b.whole*weight, a.program + b.program*weight, a.lo + b.lo*weight, a.hi + b.hi*weight}
}

// reading is a sample: the processor times of the program, of cg and of everyone else, and
// the energies.
type reading struct {
	at     int64
	used   [3]uint64
	energy []uint64
}

// newDivision is that of a ring whose JSON has this; nil where it has none.
func newDivision(domains []domain, text json.RawMessage) (*division, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	x := &division{domains: domains, sums: make([][]divided, len(domains)), debts: make([]float64, len(domains))}
	return x, json.Unmarshal(text, &x.divides)
}

// add takes in a sample and keeps its own copy.
func (x *division) add(t int64, flags uint64, used [3]uint64, energy []uint64) {
	if flags&flagFailed != 0 {
		return
	}
	r := &reading{t, used, slices.Clone(energy)}
	if x.edge != nil && t < x.edge.at+shareWindowNs {
		x.newest = r
		return
	}
	for d := range x.domains {
		sum := divided{}
		if x.edge != nil {
			var used divided
			used, x.debts[d] = x.window(d, r)
			sum = x.sums[d][len(x.sums[d])-1].plus(used, 1)
		}
		x.sums[d] = append(x.sums[d], sum)
	}
	x.at = append(x.at, t)
	x.edge, x.newest = r, nil
}

// window is what a domain used from the edge to a reading, and its debt after it.
func (x *division) window(d int, r *reading) (divided, float64) {
	of, debt := x.domains[d], x.debts[d]
	e := float64(r.energy[d]) - float64(x.edge.energy[d])
	e = max(0, e)
	switch {
	case of.Program:
		return divided{e, e, e, e}, debt
	case of.Kind == kindGpu:
		return divided{whole: e}, debt
	}
	var used [3]float64
	busy := 0.0
	for i := range used {
		used[i] = max(0, float64(r.used[i])-float64(x.edge.used[i]))
		busy += used[i]
	}
	var idle idleEnergy
	idle, debt = x.idle(of.idling, e, float64(r.at-x.edge.at), busy, debt)
	if busy == 0 {
		return divided{whole: e}, debt
	}
	part := (e - idle.energy) * used[0] / busy
	return divided{e, part, idle.lo * part, idle.hi*part + idle.slack*used[0]/busy}, debt
}

// idleEnergy is what a domain drew whoever ran; how much less and more the rest may be, as
// factors; and what somebody may have used where there is no rest.
type idleEnergy struct{ energy, lo, hi, slack float64 }

func (x *division) idle(of idling, e, wall, busy, debt float64) (idleEnergy, float64) {
	switch {
	case of.BaseHi > 0:
		due := debt + of.Base*wall*1e-3 // W * ns = 1e-3 uJ
		idle := min(e, due)
		debt = min(due-idle, of.Base*shareDebtNs*1e-3)
		below, above, rest := idle*(1-of.BaseLo/of.Base), idle*(of.BaseHi/of.Base-1), e-idle
		if rest <= 0 {
			return idleEnergy{idle, 1, 1, below}, debt
		}
		return idleEnergy{idle, max(0, rest-above) / rest, min(e, rest+below) / rest, 0}, debt
	case of.Base > 0:
		return idleEnergy{min(e, of.Base*wall*1e-3), 1, 1, 0}, debt
	case of.Share <= 0 || x.Processors <= 0 || wall <= 0:
		return idleEnergy{0, 1, 1, 0}, debt
	}
	use := min(1, busy/(float64(x.Processors)*wall))
	running := func(share float64) float64 { return (1 - share) * use / (share + (1-share)*use) }
	part := running(of.Share)
	if part <= 0 {
		return idleEnergy{e, 1, 1, 0}, debt
	}
	return idleEnergy{e - e*part, running(max(of.Share, of.ShareMost)) / part, 1 / part, 0}, debt
}

// until is what domain d used up to t, linear in each window.
func (x *division) until(d int, t int64) divided {
	i := sort.Search(len(x.at), func(i int) bool { return x.at[i] > t }) - 1
	if i < 0 {
		return divided{}
	}
	a := x.sums[d][i]
	if i+1 < len(x.at) {
		return a.plus(x.sums[d][i+1].plus(a, -1), float64(t-x.at[i])/float64(x.at[i+1]-x.at[i]))
	}
	if x.newest == nil || x.newest.at <= x.at[i] {
		return a
	}
	open, _ := x.window(d, x.newest) // it ends later
	return a.plus(open, min(1, float64(t-x.at[i])/float64(x.newest.at-x.at[i])))
}

// known tells whether there are samples from start to end.
func (x *division) known(start, end int64) bool {
	last := x.newest
	if last == nil {
		last = x.edge
	}
	return last != nil && x.at[0] <= start && end <= last.at
}

// part is the program's part of the energy of domain d in the parts of a task's time, and
// the least and the most that it may be.
func (x *division) part(d int, parts []part) (own, lo, hi float64) {
	var sum divided
	lasted := 0.0
	for _, p := range parts {
		sum = sum.plus(x.until(d, p.end).plus(x.until(d, p.start), -1), p.of)
		lasted += float64(p.end-p.start) * p.of
	}
	if sum.whole <= 0 {
		return 0, 0, 1
	}
	of := func(e float64) float64 { return min(1, max(0, e/sum.whole)) }
	own, lo, hi = of(sum.program), of(sum.lo), of(sum.hi)
	if x.domains[d].Program {
		return own, lo, hi
	}
	doubt := 1.0 // at each end the processor times may be late
	if lasted > 0 {
		doubt = min(1, float64(x.GrainNs)/lasted)
	}
	return own, lo * (1 - doubt), hi + (1-hi)*doubt
}

// prune leaves out the windows in which no edge lies, but the newest.
func (x *division) prune(edges []int64) {
	keep := make([]bool, len(x.at))
	for i := range keep {
		keep[i] = i == len(keep)-1
	}
	for _, e := range edges {
		i := sort.Search(len(x.at), func(i int) bool { return x.at[i] >= e })
		for n := max(0, i-1); n <= min(i+1, len(keep)-1); n++ {
			keep[n] = true
		}
	}
	x.at = choose(x.at, keep)
	for d := range x.sums {
		x.sums[d] = choose(x.sums[d], keep)
	}
}

// share is the program's share of an energy, in uJ.
type share struct{ total, lo, hi int64 }

// sharing adds up the share of a task.
type sharing struct {
	of      *division // nil where nothing is known
	parts   []part
	total   int64
	lo, hi  float64
	divided bool
}

func newSharing(s *samples, start, end int64, parts []part) sharing {
	if s.division == nil || !s.division.known(start, end) {
		return sharing{}
	}
	if parts == nil {
		parts = []part{{start, end, 1}}
	}
	return sharing{of: s.division, parts: parts}
}

// add takes in the task's energy in a domain of the total: uJ, and its bounds in J. That of a GPU is the program's.
func (x *sharing) add(d int, micro int64, below, above float64) {
	if x.of == nil {
		return
	}
	if x.of.domains[d].Kind == kindGpu { // it is the program's already
		x.total, x.lo, x.hi, x.divided = x.total+micro, x.lo+below, x.hi+above, true
		return
	}
	own, lo, hi := x.of.part(d, x.parts)
	x.total += int64(float64(micro) * own)
	x.lo, x.hi, x.divided = x.lo+below*lo, x.hi+above*hi, true
}

// sum is nil where nothing is known. It is no more than most.
func (x *sharing) sum(most int64) *share {
	if !x.divided {
		return nil
	}
	lo, hi := int64(math.Floor(x.lo*1e6+1e-6)), int64(math.Ceil(x.hi*1e6-1e-6))
	return &share{x.total, min(x.total, lo), max(x.total, min(most, hi))}
}

// noShare is why the program's share of an energy is not known.
func (s *samples) noShare() string {
	if s.division == nil {
		return "the samples do not tell of the program"
	}
	return "the samples do not reach from its start to its end"
}
