package compare

import (
	"cg/report"
	"cg/statistics"
)

// Longer are the functions whose calls took longer or less long than in BASE, by the 95th percentile of their durations
// (report.CallsTime). They have no part in Worse, which are energies.
func (c *Result) Longer() (p95s []Change) {
	for _, f := range c.Functions {
		if f.CallP95 != nil && (f.CallP95.Verdict == Higher || f.CallP95.Verdict == Lower) {
			p95s = append(p95s, *f.CallP95)
		}
	}
	return p95s
}

// durations compares the 95th percentiles of the durations of a function's calls. Nil where a run of
// a side does not tell it.
func durations(b, h *body) *Change {
	c := &Change{Of: "calls_time.p95_s", Name: h.name, Unit: "s"}
	for i, side := range []*body{b, h} {
		all := make([]bound, len(side.times))
		for k, t := range side.times {
			if t == nil {
				return nil
			}
			all[k] = bound{&t.P95S, &t.P95LoS, t.P95HiS}
		}
		c.value(i, all)
	}
	c.compute()
	if c.P != nil {
		c.Lo = widest(c.Lo, quotient(end(h.times, false), end(b.times, true)), false)
		c.Hi = widest(c.Hi, quotient(end(h.times, true), end(b.times, false)), true)
	}
	return c
}

// end is the mean of one end of the bounds of percentiles, nil where one is not known. Runs whose percentiles lie
// in one bin seem alike, so what the runs say of the change does not hold the width of the bin.
func end(times []*report.CallsTime, upper bool) *float64 {
	sum := 0.0
	for _, t := range times {
		of := &t.P95LoS
		if upper {
			of = t.P95HiS
		}
		if of == nil {
			return nil
		}
		sum += *of
	}
	return statistics.Known(sum / float64(len(times)))
}

// widest is the outer one of two ends of intervals, nil where one is not known.
func widest(a, b *float64, upper bool) *float64 {
	switch {
	case a == nil || b == nil:
		return nil
	case (*a > *b) == upper:
		return a
	}
	return b
}

// judgeDurations says what the changes of durations come to, of all functions together (Holm).
func (c *Result) judgeDurations(threshold float64) {
	var tested []*Change
	var ps []float64
	for _, f := range c.Functions {
		if f.CallP95 != nil && f.CallP95.P != nil {
			tested, ps = append(tested, f.CallP95), append(ps, *f.CallP95.P)
		}
	}
	for k, p := range statistics.Holm(ps) {
		tested[k].P = &p
	}
	for _, f := range c.Functions {
		p95 := f.CallP95
		if p95 == nil {
			continue
		}
		p95.judge(threshold)
		if p95.Verdict != NotComparable && (p95.Lo == nil || *p95.Lo <= 0) && (p95.Hi == nil || *p95.Hi >= 0) {
			p95.Verdict = NoneShown
		}
	}
}
