package gate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cg/statistics"
)

// Measure runs a side a number of times, as one measurement.
type Measure func(ctx context.Context, side Side, runs int) (Sample, error)

// trial is a comparison that goes on.
type trial struct {
	Plan
	measure Measure
	begun   time.Time
	result  *Result
	warm    [2][]Sample // per run of the batch
	counted [2][]Sample
	rng     *rand.Rand
	names   []string // of functions that are compared
	family  *statistics.Family
	missed  map[string]int // pairs in which a function was not known
}

// Judged functions are those with this part of the program's cost, and no more
// than so many: each further one takes from what the others can find.
const (
	judgedShare = 0.01
	judgedMost  = 20
)

// Compare measures both sides, one right after the other in an order that a coin
// decides, until it is clear whether head costs more.
func Compare(ctx context.Context, p Plan, measure Measure) (*Result, error) {
	t := newTrial(p, measure)
	if err := t.warmUp(ctx, Base, Head); err != nil {
		return nil, err
	}
	if err := t.checkNamed(); err != nil {
		return nil, err
	}
	t.chooseFunctions()
	pairs := t.pairsInTime()
	t.checkPairs(pairs)
	rule := statistics.Rule{Alpha: p.Alpha, Threshold: p.Threshold, Looks: statistics.Looks(pairs)}
	thresholds := []float64{p.Threshold}
	for _, n := range t.names {
		thresholds = append(thresholds, t.threshold(n))
	}
	t.family = statistics.NewFamily(rule, thresholds)
	verdicts := make([]Verdict, len(thresholds))
	for n := 1; n <= pairs; n++ {
		if n > MinPairs && t.outOfTime() {
			verdicts = t.family.Finish()
			break
		}
		t.say("pair %d of at most %d", n, pairs)
		if err := t.pair(ctx); err != nil {
			return nil, err
		}
		if p.Metric == Instructions && n == deterministicRuns && t.deterministic() {
			t.say("")
			return t.deterministicResult(), nil
		}
		if verdicts = t.family.Judge(); !slices.Contains(verdicts, statistics.Undecided) {
			break
		}
	}
	t.say("")
	for i := range verdicts { // a function that was not known in every pair
		if verdicts[i] == statistics.Undecided || verdicts[i] == "" {
			verdicts = t.family.Finish()
			break
		}
	}
	t.pairedResult(verdicts)
	return t.result, nil
}

// MeasureHead measures head alone, to be saved as a baseline.
func MeasureHead(ctx context.Context, p Plan, measure Measure) (*Result, error) {
	return unpaired(ctx, p, measure, nil)
}

// CompareStored measures head and compares it with what was measured of base at
// another time.
func CompareStored(ctx context.Context, p Plan, base []Measurement, measure Measure) (*Result, error) {
	return unpaired(ctx, p, measure, base)
}

// unpaired measures head and compares it with base, which may be empty.
func unpaired(ctx context.Context, p Plan, measure Measure, base []Measurement) (*Result, error) {
	t := newTrial(p, measure)
	t.result.Interleaved = false
	if err := t.warmUp(ctx, Head); err != nil {
		return nil, err
	}
	if err := t.checkNamed(); err != nil {
		return nil, err
	}
	for _, m := range base {
		s := Sample{Value: m.Value, Seconds: m.Seconds, EnergyJ: math.NaN(), Functions: map[string]Cost{}}
		if m.EnergyJ != nil {
			s.EnergyJ = *m.EnergyJ
		}
		for name, v := range m.Functions {
			c := Cost{Self: math.NaN(), Calls: 1}
			if v != nil {
				c.Self = *v
			}
			s.Functions[name] = c
		}
		t.counted[Base] = append(t.counted[Base], s)
	}
	t.chooseFunctions()
	for n := 1; n <= p.MaxPairs; n++ {
		if n > MinPairs && t.outOfTime() {
			break
		}
		t.say("run %d of %d", n, p.MaxPairs)
		s, err := t.measureOnce(ctx, Head, nil)
		if err != nil {
			return nil, err
		}
		t.counted[Head] = append(t.counted[Head], s)
		if p.Metric == Instructions && n == deterministicRuns && t.deterministic() {
			t.say("")
			return t.deterministicResult(), nil
		}
	}
	t.say("")
	t.unpairedResult()
	return t.result, nil
}

func newTrial(p Plan, measure Measure) *trial {
	if p.Now == nil {
		p.Now = time.Now
	}
	t := &trial{Plan: p, measure: measure, begun: p.Now(), rng: rand.New(rand.NewPCG(p.Seed, 0)),
		missed: map[string]int{}}
	t.result = &Result{Interleaved: true, Functions: []Comparison{}, Budgets: []Budget{}, Batch: max(1, p.Batch),
		MaxPairs: p.MaxPairs}
	return t
}

func (t *trial) say(format string, args ...any) {
	if t.Progress != nil {
		t.Progress(format, args...)
	}
}

// warmUp runs each side as often as asked for, once at least, and finds out how
// many runs a measurement needs.
func (t *trial) warmUp(ctx context.Context, sides ...Side) error {
	tried := false
	for n := max(1, t.Warmup); len(t.warm[sides[0]]) < n; {
		for _, i := range t.rng.Perm(len(sides)) {
			t.say("warm-up %d of %d", len(t.warm[sides[0]])+1, n)
			s, err := t.measureOnce(ctx, sides[i], t.WarmUp)
			if err != nil {
				return err
			}
			t.warm[sides[i]] = append(t.warm[sides[i]], s)
		}
		if !tried {
			tried = true
			if err := t.batch(sides); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch looks at how long the first runs took: long enough for the counter, or
// how many runs would be. The first is often the slowest: half as many more.
func (t *trial) batch(sides []Side) error {
	took := math.Inf(1)
	for _, s := range sides {
		took = min(took, t.warm[s][0].Seconds*float64(t.result.Batch))
	}
	least := t.MinDuration.Seconds()
	if least <= 0 {
		return nil
	}
	if took >= least {
		return nil
	}
	needed := int(math.Ceil(1.5 * least / max(took, 1e-6) * float64(t.result.Batch)))
	if t.Batch != 0 || needed > MaxBatch {
		return &TooFast{Took: time.Duration(took * 1e9), Wanted: t.MinDuration, Runs: needed}
	}
	t.result.Batch = needed
	for _, s := range sides {
		t.warm[s] = nil // of another batch
	}
	return nil
}

// measureOnce measures a side and returns what one run of the batch cost.
func (t *trial) measureOnce(ctx context.Context, side Side, by Measure) (Sample, error) {
	if err := ctx.Err(); err != nil {
		return Sample{}, err
	}
	runs := t.result.Batch
	valueless := by != nil
	if by == nil {
		by = t.measure
	}
	s, err := by(ctx, side, runs)
	if err != nil {
		return s, err
	}
	switch {
	case valueless:
	case math.IsNaN(s.Value):
		return s, fmt.Errorf("the %s of %s is not known: nothing can be compared", t.Metric, side)
	case s.Value <= 0:
		return s, fmt.Errorf("the %s of %s is 0: that is no measurement; is the command too short? --batch auto "+
			"measures several runs at once", t.Metric, side)
	}
	n := float64(runs)
	s.Value, s.EnergyJ, s.Seconds = s.Value/n, s.EnergyJ/n, s.Seconds/n
	return s, nil
}

func (t *trial) pair(ctx context.Context) error {
	var pair [2]Sample
	for _, i := range t.rng.Perm(2) {
		s, err := t.measureOnce(ctx, Side(i), nil)
		if err != nil {
			return err
		}
		pair[i] = s
	}
	t.counted[Base], t.counted[Head] = append(t.counted[Base], pair[Base]), append(t.counted[Head], pair[Head])
	t.family.Add(0, pair[Base].Value, pair[Head].Value)
	for i, name := range t.names {
		b, h := pair[Base].Functions[name].Self, pair[Head].Functions[name].Self
		if b > 0 && h > 0 {
			t.family.Add(i+1, b, h)
		} else {
			t.missed[name]++
		}
	}
	return nil
}

func (t *trial) outOfTime() bool { return t.MaxTime > 0 && t.Now().Sub(t.begun) >= t.MaxTime }

// pairsInTime is how many pairs fit into the time that is left.
func (t *trial) pairsInTime() int {
	if t.MaxTime <= 0 {
		return t.MaxPairs
	}
	one := 0.0
	for _, side := range t.warm {
		var took []float64
		for _, s := range side {
			took = append(took, s.Seconds*float64(t.result.Batch))
		}
		one += statistics.Median(took)
	}
	left := (t.MaxTime - t.Now().Sub(t.begun)).Seconds()
	if one <= 0 {
		return t.MaxPairs
	}
	return min(t.MaxPairs, max(MinPairs, int(left/one)))
}

// checkPairs works out from the warm-up which change so many pairs can find, and calls
// TooFewPairs if that is not enough.
func (t *trial) checkPairs(pairs int) {
	if t.Metric == Instructions {
		return
	}
	alpha := t.programAlpha()
	if fewest := statistics.MinPairs(alpha); pairs < fewest && t.TooFewPairs != nil {
		t.TooFewPairs(math.Inf(1), fewest)
		return
	}
	var values [2][]float64
	for side, all := range t.warm {
		if len(all) > 2 {
			all = all[1:] // the first fills caches
		}
		values[side] = valuesOf(all)
	}
	detectable := statistics.ExpectedDetectable(values[Base], values[Head], pairs, alpha, t.Threshold)
	t.result.Foreseen = number(detectable)
	if needed := statistics.PairsFor(values[Base], values[Head], t.Threshold, alpha); needed > max(6, pairs) &&
		t.TooFewPairs != nil {
		t.TooFewPairs(detectable, needed)
	}
}

// programAlpha is the least part of alpha that the program's own test gets: it shares
// alpha with its functions.
func (t *trial) programAlpha() float64 { return t.Alpha / float64(1+len(t.names)) }

// checkNamed returns a *NeverRan if head did not call a function that has a budget or
// a threshold: its name changed, or is misspelt, and guards nothing.
func (t *trial) checkNamed() error {
	called := map[string]bool{}
	for _, s := range t.warm[Head] {
		for name, c := range s.Functions {
			called[name] = called[name] || c.Calls > 0
		}
	}
	for _, what := range []string{"budget", "threshold"} {
		never := &NeverRan{What: what, Near: map[string]string{}}
		for name := range map[string]map[string]float64{"budget": t.Budgets, "threshold": t.Thresholds}[what] {
			if name != "" && !called[name] {
				never.Names = append(never.Names, name)
				for c := range called {
					if last(c) == last(name) && (never.Near[name] == "" || c < never.Near[name]) {
						never.Near[name] = c
					}
				}
			}
		}
		if slices.Sort(never.Names); len(never.Names) > 0 {
			return never
		}
	}
	return nil
}

// last is the last part of a qualified name.
func last(name string) string {
	return name[strings.LastIndexAny(name, "./")+1:]
}

// chooseFunctions picks the functions that are compared, by the warm-up.
func (t *trial) chooseFunctions() {
	if !t.Functions {
		return
	}
	share := map[string]float64{}
	for side := range t.warm {
		runs := t.warm[side]
		if len(runs) == 0 {
			runs = t.counted[side]
		}
		sums, whole := map[string]float64{}, 0.0
		for _, s := range runs {
			whole += s.Value
			for name, c := range s.Functions {
				if c.Self > 0 {
					sums[name] += c.Self
				}
			}
		}
		for name, v := range sums {
			share[name] = max(share[name], v/whole)
		}
	}
	named := func(name string) bool { _, is := t.Thresholds[name]; return is }
	all := slices.SortedFunc(maps.Keys(share), func(a, b string) int {
		if named(a) != named(b) {
			if named(a) {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(share[b], share[a]), strings.Compare(a, b))
	})
	for _, name := range all {
		if named(name) || share[name] >= judgedShare && len(t.names) < judgedMost {
			if why := t.onlyIn(name); why != "" {
				t.result.Functions = append(t.result.Functions,
					Comparison{Name: name, Verdict: statistics.Inconclusive, Threshold: t.threshold(name), Note: why})
				continue
			}
			t.names = append(t.names, name)
		}
	}
	if len(t.warm[Base])+len(t.counted[Base]) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.Thresholds)) {
		if _, costs := share[name]; !costs && name != "" {
			t.result.Functions = append(t.result.Functions, Comparison{Name: name, Verdict: statistics.Inconclusive,
				Threshold: t.threshold(name), Note: "its own cost is 0 or not known"})
		}
	}
}

// onlyIn says that a function is in one of the sides.
func (t *trial) onlyIn(name string) string {
	var known [2]bool
	for side := range t.warm {
		runs := slices.Concat(t.warm[side], t.counted[side])
		known[side] = slices.ContainsFunc(runs, func(s Sample) bool { return s.Functions[name].Calls > 0 })
	}
	switch {
	case known[Base] && !known[Head]:
		return "only in base"
	case known[Head] && !known[Base] && len(t.warm[Base])+len(t.counted[Base]) > 0:
		return "only in head"
	}
	return ""
}

func (t *trial) threshold(name string) float64 {
	if v, is := t.Thresholds[name]; is {
		return v
	}
	return t.Threshold
}

func valuesOf(all []Sample) (out []float64) {
	for _, s := range all {
		out = append(out, s.Value)
	}
	return out
}
