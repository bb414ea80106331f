package gate

import (
	"maps"
	"math"
	"slices"

	"cg/statistics"
)

// settle makes the result of pairs.
func (t *trial) settle(said []Verdict) {
	for i, verdict := range said {
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
		c.Detectable = number(p.Detectable(p.N(), t.part()))
		t.add(c)
	}
	t.finish()
}

// settleApart makes the result of two series, or of head alone.
func (t *trial) settleApart() {
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
		a := statistics.CompareApart(values[Base], values[Head], statistics.Rule{Alpha: alpha, Threshold: threshold})
		return Comparison{
			Name: name, Verdict: a.Verdict, Threshold: threshold, Pairs: min(len(values[Base]), len(values[Head])),
			Change: number(a.Change), Lo: number(a.Lo), Hi: number(a.Hi), P: number(a.P), Detectable: number(a.Detectable),
		}, a.P
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

// Values of instructions that differ by no more than this part of the threshold
// in so many runs of each side are taken as they are.
const (
	sameRuns = 3
	samePart = 0.2
)

// same tells whether the values of each side hardly differ.
func (t *trial) same() bool {
	for _, side := range t.counted {
		if values := valuesOf(side); len(values) > 0 && slices.Max(values)/slices.Min(values)-1 > samePart*t.Threshold {
			return false
		}
	}
	return true
}

// readOff makes the result of values that are the same in each run: the interval is
// from the least to the most that two runs differ.
func (t *trial) readOff() *Result {
	t.result.Deterministic = true
	base, head := valuesOf(t.counted[Base]), valuesOf(t.counted[Head])
	if len(base) == 0 {
		t.settleApart()
		return t.result
	}
	lo, hi := slices.Min(head)/slices.Max(base)-1, slices.Max(head)/slices.Min(base)-1
	c := Comparison{
		Threshold: t.Threshold, Pairs: min(len(base), len(head)), Verdict: statistics.Inconclusive,
		Change: number(statistics.Median(head)/statistics.Median(base) - 1), Lo: number(lo), Hi: number(hi), Detectable: number(t.Threshold + hi - lo),
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

// finish says the last word, and what is known beside it.
func (t *trial) finish() {
	r := t.result
	r.Pairs = len(t.counted[Head])
	slices.SortStableFunc(r.Functions, func(a, b Comparison) int {
		order := func(c Comparison) float64 {
			if c.Change == nil {
				return math.Inf(-1)
			}
			return *c.Change
		}
		switch x, y := order(a), order(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	r.Verdict = r.Program.Verdict
	for _, f := range r.Functions {
		_, named := t.Thresholds[f.Name]
		switch {
		case f.Verdict == statistics.Regression:
			r.Verdict = statistics.Regression
		case f.Verdict == statistics.Inconclusive && named && r.Verdict == statistics.Pass:
			r.Verdict = statistics.Inconclusive
		}
	}
	for side, to := range []*[]Measurement{&r.Base, &r.Head} {
		*to = []Measurement{}
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
			*to = append(*to, m)
		}
	}
	energies := func(side Side) []float64 {
		var out []float64
		for _, s := range t.counted[side] {
			if !math.IsNaN(s.EnergyJ) {
				out = append(out, s.EnergyJ)
			}
		}
		if len(out) == 0 { // counted by a tool that makes it slow: the warm-up was without
			for _, s := range t.warm[side] {
				if !math.IsNaN(s.EnergyJ) {
					out = append(out, s.EnergyJ)
				}
			}
		}
		return out
	}
	r.EnergyBaseJ, r.EnergyHeadJ = number(statistics.Median(energies(Base))), number(statistics.Median(energies(Head)))
	for _, name := range slices.Sorted(maps.Keys(t.Budgets)) {
		used := energies(Head)
		if name != "" {
			used = nil
			for _, s := range t.counted[Head] {
				if c, is := s.Functions[name]; is && !math.IsNaN(c.EnergyJ) {
					used = append(used, c.EnergyJ)
				}
			}
		}
		b := Budget{Name: name, BudgetJ: t.Budgets[name]}
		if len(used) > 0 {
			s := statistics.Summarize(used)
			b.MeanJ, b.LoJ, b.HiJ = number(s.Mean), number(s.Lo), number(s.Hi)
			least := s.Mean
			if b.LoJ != nil {
				least = s.Lo
			}
			if exceeded := least > b.BudgetJ; s.Mean > 0 { // else the counter has not seen it
				b.Exceeded = &exceeded
			}
		}
		r.Budgets = append(r.Budgets, b)
	}
}
