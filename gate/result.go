package gate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"cg/statistics"
)

// pairedResult makes the result of interleaved pairs.
func (t *trial) pairedResult(verdicts []Verdict) {
	for i, verdict := range verdicts {
		c := Comparison{Verdict: verdict, Threshold: t.Threshold}
		p := t.family.Pairs(i)
		if i > 0 {
			c.Name, c.Threshold = t.names[i-1], t.threshold(t.names[i-1])
			if n := t.missed[c.Name]; n > 0 {
				c.Note = "not known in every pair"
			}
		}
		c.Pairs = p.N()
		change, lo, hi := p.Effect()
		if c.Change = number(change); !math.IsInf(hi, 0) {
			c.Lo, c.Hi = number(lo), number(hi)
			c.P = number(p.P())
		}
		c.Detectable = number(p.Detectable(p.N(), t.programAlpha()))
		t.add(c)
	}
	t.finish()
}

// unpairedResult makes the result of two series, or of head alone.
func (t *trial) unpairedResult() {
	if len(t.counted[Base]) == 0 {
		t.add(Comparison{Verdict: statistics.Inconclusive, Threshold: t.Threshold, Note: "compared with nothing"})
		t.finish()
		return
	}
	judge := func(name string, threshold, alpha float64, of func(Sample) float64) (Comparison, float64) {
		var values [2][]float64
		for side, all := range t.counted {
			for _, s := range all {
				if v := of(s); v > 0 {
					values[side] = append(values[side], v)
				}
			}
		}
		u := statistics.CompareUnpaired(values[Base], values[Head], statistics.Rule{Alpha: alpha, Threshold: threshold})
		return Comparison{
			Name: name, Verdict: u.Verdict, Threshold: threshold, Pairs: min(len(values[Base]), len(values[Head])),
			Change: number(u.Change), Lo: number(u.Lo), Hi: number(u.Hi), P: number(u.P),
			Detectable: number(u.Detectable),
		}, u.P
	}
	names := append([]string{""}, t.names...)
	var all []Comparison
	var ps []float64
	for i, name := range names {
		of := func(s Sample) float64 { return s.Value }
		if i > 0 {
			of = func(s Sample) float64 { return s.Functions[name].Self }
		}
		threshold := t.Threshold
		if i > 0 {
			threshold = t.threshold(name)
		}
		c, p := judge(name, threshold, t.Alpha, of)
		all, ps = append(all, c), append(ps, p)
	}
	for i, p := range statistics.Holm(ps) {
		if all[i].Verdict == statistics.Regression && p > t.Alpha {
			all[i].Verdict = statistics.Inconclusive
		}
		t.add(all[i])
	}
	t.finish()
}

// Numbers of instructions that differ by no more than this part of the threshold
// in so many runs of each side are compared without a test.
const (
	deterministicRuns   = 3
	deterministicSpread = 0.2
)

// deterministic reports whether the values of each side hardly differ.
func (t *trial) deterministic() bool {
	for _, side := range t.counted {
		if values := valuesOf(side); len(values) > 0 &&
			slices.Max(values)/slices.Min(values)-1 > deterministicSpread*t.Threshold {
			return false
		}
	}
	return true
}

// deterministicResult makes the result of values that are the same in each run: the
// interval is from the least to the most that two runs differ.
func (t *trial) deterministicResult() *Result {
	t.result.Deterministic = true
	base, head := valuesOf(t.counted[Base]), valuesOf(t.counted[Head])
	if len(base) == 0 {
		t.unpairedResult()
		return t.result
	}
	lo, hi := slices.Min(head)/slices.Max(base)-1, slices.Max(head)/slices.Min(base)-1
	c := Comparison{
		Threshold: t.Threshold, Pairs: min(len(base), len(head)), Verdict: statistics.Inconclusive,
		Change: number(statistics.Median(head)/statistics.Median(base) - 1), Lo: number(lo), Hi: number(hi),
		Detectable: number(t.Threshold + hi - lo),
	}
	switch {
	case lo >= t.Threshold:
		c.Verdict = statistics.Regression
	case hi < t.Threshold:
		c.Verdict = statistics.Pass
	}
	t.add(c)
	t.finish()
	return t.result
}

// add adds a comparison with the medians of its sides.
func (t *trial) add(c Comparison) {
	for side, to := range []**float64{&c.Base, &c.Head} {
		var values []float64
		for _, s := range t.counted[side] {
			v := s.Value
			if c.Name != "" {
				v = s.Functions[c.Name].Self
			}
			if v > 0 {
				values = append(values, v)
			}
		}
		*to = number(statistics.Median(values))
	}
	if c.Name == "" {
		t.result.Program = c
	} else {
		t.result.Functions = append(t.result.Functions, c)
	}
}

// finish fills in what a result says about all comparisons: the verdict, the
// measurements, the energy and the budgets.
func (t *trial) finish() {
	r := t.result
	r.Pairs = len(t.counted[Head])
	sortByChange(r.Functions)
	r.Verdict = t.overallVerdict()
	r.Base, r.Head = t.measurements(Base), t.measurements(Head)
	r.EnergyBaseJ, r.EnergyHeadJ = number(statistics.Median(t.energies(Base))),
		number(statistics.Median(t.energies(Head)))
	for _, name := range slices.Sorted(maps.Keys(t.Budgets)) {
		r.Budgets = append(r.Budgets, t.checkBudget(name))
	}
}

// sortByChange puts the functions that grew most first, those of unknown change
// last.
func sortByChange(functions []Comparison) {
	change := func(c Comparison) float64 {
		if c.Change == nil {
			return math.Inf(-1)
		}
		return *c.Change
	}
	slices.SortStableFunc(functions, func(a, b Comparison) int { return cmp.Compare(change(b), change(a)) })
}

// overallVerdict is the program's, unless a function has a worse one.
func (t *trial) overallVerdict() Verdict {
	verdict := t.result.Program.Verdict
	for _, f := range t.result.Functions {
		_, named := t.Thresholds[f.Name]
		switch {
		case f.Verdict == statistics.Regression:
			verdict = statistics.Regression
		case f.Verdict == statistics.Inconclusive && named && verdict == statistics.Pass:
			verdict = statistics.Inconclusive
		}
	}
	return verdict
}

// measurements is what was measured of a side, as it is saved.
func (t *trial) measurements(side Side) []Measurement {
	out := []Measurement{}
	for _, s := range t.counted[side] {
		m := Measurement{Value: s.Value, EnergyJ: number(s.EnergyJ), Seconds: s.Seconds}
		if len(s.Functions) > 0 {
			m.Functions = map[string]*float64{}
			for name, c := range s.Functions {
				if t.Functions {
					m.Functions[name] = number(c.Self)
				}
			}
		}
		out = append(out, m)
	}
	return out
}

// energies is the program's energy in each run of a side for which it is known. A
// metric's tool that makes a program slow leaves that to the warm-up.
func (t *trial) energies(side Side) []float64 {
	for _, runs := range [][]Sample{t.counted[side], t.warm[side]} {
		var out []float64
		for _, s := range runs {
			if !math.IsNaN(s.EnergyJ) {
				out = append(out, s.EnergyJ)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// checkBudget compares what head used with the budget of a function, or of the
// program ("").
func (t *trial) checkBudget(name string) Budget {
	used := t.energies(Head)
	if name != "" {
		used = nil
		for _, s := range t.counted[Head] {
			if c, is := s.Functions[name]; is && !math.IsNaN(c.EnergyJ) {
				used = append(used, c.EnergyJ)
			}
		}
	}
	b := Budget{Name: name, BudgetJ: t.Budgets[name]}
	if len(used) == 0 {
		return b
	}
	s := statistics.Summarize(used)
	b.MeanJ, b.LoJ, b.HiJ = number(s.Mean), number(s.Lo), number(s.Hi)
	least := s.Mean
	if b.LoJ != nil {
		least = s.Lo
	}
	if exceeded := least > b.BudgetJ; s.Mean > 0 { // else the counter has not seen it
		b.Exceeded = &exceeded
	}
	return b
}
