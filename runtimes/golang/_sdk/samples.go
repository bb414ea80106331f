package codegreen

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// methodRank is of the methods of a domain: methodShared is of a task that ran beside others.
var methodRank = map[string]int{methodBracket: 0, methodInterpolation: 1, methodSampled: 2}

// weaker is the method of a sum of two energies: methodShared above all.
func weaker(a, b string) string {
	if b == methodShared || a != methodShared && methodRank[b] > methodRank[a] {
		return b
	}
	return a
}

// domain is a part of the machine whose energy one counter tells. Lo and Hi
// bound the true energy as factors of the figure.
type domain struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	Parent   string  `json:"parent"`
	InTotal  bool    `json:"in_total"`
	Method   string  `json:"method"`
	Source   string  `json:"source"`
	PeriodNs int64   `json:"period_ns"`
	StepUj   uint64  `json:"step_uj"` // the least by which it moves, 0 where that is not known
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	Habits   habits  `json:"habits"`
	idling
}

// knot is an update of a counter: it was after first and not after last (ns),
// and tells the energy up to it. at is the middle.
type knot struct {
	first, last int64
	at, joules  float64
	hidden      float64 // squares of what the counter hides up to it, in J (changes)
}

// samples is a series that grows at its end: times in ns of CLOCK_MONOTONIC,
// energies in uJ since the first sample.
type samples struct {
	domains  []domain
	times    []int64
	flags    []uint64
	energies [][]uint64 // by domain
	knots    [][]knot   // by domain
	changes  []changes  // by domain

	whole    []uint64 // energies of the last sample without a failed reading
	wholeAt  int64
	moved    []int64   // by domain: when its counter was seen to move last, or was seen first
	idle     [][]pause // by domain: when it did not move for longer than still
	late     int64     // ns whose energy only a sum over them has, since readings failed
	failing  bool      // the newest sample is one whose reading failed
	count    int
	gaps     int
	failed   bool
	prunedAt int
	division *division // nil where the samples tell of no program
	gpus     []*gpuOf  // by domain: nil where it is no GPU, or nothing tells who used it
}

// pause is a time in which a counter did not move.
type pause struct{ from, to int64 }

// still is stillNs, which tests make shorter.
var still int64 = stillNs

func newSamples(domains []domain) *samples {
	n := len(domains)
	return &samples{
		domains: domains, energies: make([][]uint64, n),
		knots: make([][]knot, n), changes: make([]changes, n),
		moved: make([]int64, n), idle: make([][]pause, n), gpus: make([]*gpuOf, n),
	}
}

// add takes in a sample and keeps its own copy.
func (s *samples) add(t int64, flags uint64, energies []uint64) {
	s.times, s.flags = append(s.times, t), append(s.flags, flags)
	s.count++
	for d, e := range energies {
		s.energies[d] = append(s.energies[d], e)
	}
	if flags&flagGap != 0 {
		s.gaps++
	}
	if flags&flagFailed != 0 {
		s.failed, s.failing = true, true
		return
	}
	if s.failing && s.whole != nil {
		s.late += t - s.wholeAt
	}
	s.failing = false
	for d := range energies {
		if s.whole == nil {
			s.moved[d] = t
			continue
		}
		if energies[d] <= s.whole[d] {
			continue
		}
		if s.wholeAt-s.moved[d] > still {
			s.idle[d] = append(s.idle[d], pause{s.moved[d], t})
		}
		s.moved[d] = t
		behind := t - s.wholeAt
		if p := s.domains[d].PeriodNs; p > 0 && p < behind {
			behind = p
		}
		at, joules := float64(t)-float64(behind)/2, float64(energies[d])*1e-6
		k := knot{first: t - behind, last: t, at: at, joules: joules}
		k.hidden = s.changes[d].add(s.domains[d].Habits, k)
		s.knots[d] = append(s.knots[d], k)
	}
	s.whole, s.wholeAt = append(s.whole[:0], energies...), t
}

// silent is why the counter of domain d tells nothing of the time from start to
// end, "" where it does: what is in the total draws something as long as it is on.
func (s *samples) silent(d int, start, end int64) string {
	of := s.domains[d]
	if !of.InTotal || of.Method == "estimated" || s.whole == nil {
		return ""
	}
	if s.wholeAt < end && end <= s.latest() {
		return fmt.Sprintf("the counter of %s could not be read to the end", of.ID)
	}
	if len(s.knots[d]) == 0 {
		return fmt.Sprintf("the counter of %s has not moved", of.ID)
	}
	if of.PeriodNs <= 0 || of.PeriodNs > oftenNs {
		return ""
	}
	for _, p := range append(slices.Clone(s.idle[d]), pause{s.moved[d], s.wholeAt}) {
		if p.to-p.from > still && p.from < end && p.to > start {
			seconds := float64(p.to-p.from) * 1e-9
			return fmt.Sprintf("the counter of %s is stuck: it has not moved for %.1f s", of.ID, seconds)
		}
	}
	return ""
}

// unknown is why the energy from start to end is not known, "" where the samples
// do not reach so far.
func (s *samples) unknown(start, end int64) string {
	var why []string
	if s.latest() < end {
		return ""
	}
	for d := range s.domains {
		if text := s.silent(d, start, end); text != "" {
			why = append(why, text)
		}
	}
	return strings.Join(why, "; ")
}

// unmoved tells whether all readings were good and no counter of the total moved.
func (s *samples) unmoved() bool {
	for d, of := range s.domains {
		if of.InTotal && len(s.knots[d]) > 0 {
			return false
		}
	}
	return !s.failed
}

// latest is the time of the last sample, 0 before the first.
func (s *samples) latest() int64 {
	if len(s.times) == 0 {
		return 0
	}
	return s.times[len(s.times)-1]
}

// after is the number of samples at or before t.
func (s *samples) after(t int64) int {
	return sort.Search(len(s.times), func(i int) bool { return s.times[i] > t })
}

// before is the number of samples before t.
func (s *samples) before(t int64) int {
	return sort.Search(len(s.times), func(i int) bool { return s.times[i] >= t })
}

// energyAt is uJ of domain d since the first sample, linear between samples;
// false outside of them.
func (s *samples) energyAt(d int, t int64) (float64, bool) {
	i := s.after(t) - 1
	if i < 0 {
		return 0, false
	}
	a := float64(s.energies[d][i])
	if s.times[i] == t {
		return a, true
	}
	if i+1 >= len(s.times) {
		return 0, false
	}
	b := float64(s.energies[d][i+1])
	return a + (b-a)*float64(t-s.times[i])/float64(s.times[i+1]-s.times[i]), true
}

// between is the energy of domain d from start to end in J, how far the true one
// is from it at a steady power, and the method; false where the samples do not
// reach so far. It is the rule of cg's own nemb.Series.Between.
func (s *samples) between(d int, start, end int64) (joules, slack float64, method string, ok bool) {
	k := s.knots[d]
	if joules, slack, ok = bracket(k, start, end); ok {
		return joules, slack, methodBracket, true
	}
	if joules, slack, ok = interpolate(k, start, end); ok {
		return joules, slack, methodInterpolation, true
	}
	a, okA := s.energyAt(d, start)
	b, okB := s.energyAt(d, end)
	if !okA || !okB || end < start {
		return 0, 0, "", false
	}
	value := (b - a) * 1e-6
	i, j := s.after(start)-1, s.before(end)
	for i > 0 && s.flags[i]&flagFailed != 0 {
		i--
	}
	for j+1 < len(s.times) && s.flags[j]&flagFailed != 0 {
		j++
	}
	// True is what lies between the samples inside of it and those outside, and a
	// counter may be a period behind.
	most, least := float64(s.energies[d][j]-s.energies[d][i])*1e-6, 0.0
	from, to := i, j
	if s.times[i] != start {
		from++
	}
	if s.times[j] != end {
		to--
	}
	if from <= to {
		least = max(0, float64(int64(s.energies[d][to]-s.energies[d][from]))*1e-6)
	}
	behind := value / max(1, float64(end-start)) * float64(s.domains[d].PeriodNs)
	known := sort.Search(len(k), func(i int) bool { return k[i].last > start }) - 1
	if value == 0 && known >= 0 { // as much as before, at most, since the counter was seen to move
		watts, _ := slope(k, known, -1)
		behind = watts * (float64(end) - k[known].at) * 1e-9
	}
	return value, max(most-value, value-least) + behind, methodSampled, true
}

// bracket takes the energy from the last update before to the first after, less
// the power around for the time outside. It refuses where that power is not
// steady, and where interpolation errs less.
func bracket(k []knot, start, end int64) (joules, slack float64, ok bool) {
	i := sort.Search(len(k), func(i int) bool { return k[i].last > start }) - 1
	j := sort.Search(len(k), func(i int) bool { return k[i].first >= end })
	if i < 0 || j >= len(k) || end < start {
		return 0, 0, false
	}
	before, w1 := slope(k, i, -1)
	after, w2 := slope(k, j, 1)
	least := float64(aroundNs) / 4
	if w1 < least || w2 < least || math.Abs(before-after) > steadyPart*max(before, after) {
		return 0, 0, false
	}
	base := (before*w1 + after*w2) / (w1 + w2)
	outside := (float64(start) - k[i].at) + (k[j].at - float64(end))
	joules = max(0, k[j].joules-k[i].joules-base*outside*1e-9)
	slack = base * math.Hypot(float64(k[i].last-k[i].first)/2, float64(k[j].last-k[j].first)/2) * 1e-9
	apart := (k[i+1].at - k[i].at + k[j].at - k[j-1].at) / 2
	inside := joules / max(1, float64(end-start)) * 1e9
	if math.Abs(inside-base)*apart/2*1e-9 < slack/math.Sqrt(3) {
		return 0, 0, false
	}
	// Where power is another after the task, nothing tells when it changed.
	slack += max(math.Abs(before-base), math.Abs(after-base)) * outside * 1e-9
	return joules, slack, true
}

// slope is the power in W over some time from knot i on, or back by -1, and that
// time in ns.
func slope(k []knot, i, by int) (watts, over float64) {
	j := i
	for n := i + by; n >= 0 && n < len(k) && math.Abs(k[n].at-k[i].at) <= float64(aroundNs); n += by {
		j = n
	}
	over = math.Abs(k[j].at - k[i].at)
	if over == 0 {
		return 0, 0
	}
	return math.Abs(k[j].joules-k[i].joules) / over * 1e9, over
}

func interpolate(k []knot, start, end int64) (joules, slack float64, ok bool) {
	if len(k) < 2 || end < start || k[0].at > float64(start) || k[len(k)-1].at < float64(end) {
		return 0, 0, false
	}
	a, slackA := onLine(k, float64(start))
	b, slackB := onLine(k, float64(end))
	return b - a, math.Hypot(slackA, slackB), true
}

func onLine(k []knot, t float64) (joules, slack float64) {
	i := min(max(1, sort.Search(len(k), func(i int) bool { return k[i].at > t })), len(k)-1)
	a, b := k[i-1], k[i]
	watts := (b.joules - a.joules) / max(1, b.at-a.at)
	return a.joules + watts*(t-a.at), watts * float64(max(a.last-a.first, b.last-b.first)) / 2
}

// prune leaves out samples that are further than reach from every edge, but for
// one in 64 and the newest. Energies between edges stay as they are.
func (s *samples) prune(edges []int64, reach int64) {
	n := len(s.times)
	keep := make([]bool, n)
	for i := range keep {
		keep[i] = i%pruneOneIn == 0 || i >= n-pruneNewest
	}
	for _, e := range edges {
		for i := max(0, s.before(e-reach)-1); i < min(n, s.after(e+reach)+1); i++ {
			keep[i] = true
		}
	}
	recent := int64(0)
	if n > 0 {
		recent = s.times[max(0, n-pruneNewest)]
	}
	for d := range s.knots {
		i := 0
		s.knots[d] = slices.DeleteFunc(s.knots[d], func(k knot) bool {
			at := s.before(k.last)
			kept := i%pruneOneIn == 0 || k.last >= recent || at < n && s.times[at] == k.last && keep[at]
			i++
			return !kept
		})
		s.energies[d] = choose(s.energies[d], keep)
	}
	s.times, s.flags = choose(s.times, keep), choose(s.flags, keep)
	s.prunedAt = len(s.times)
	if s.division != nil {
		s.division.prune(edges)
	}
	s.pruneGPUs(edges)
}

func choose[T any](all []T, keep []bool) []T {
	kept := all[:0]
	for i, v := range all {
		if keep[i] {
			kept = append(kept, v)
		}
	}
	return kept
}
