package repeated_test

import (
	"testing"

	"cg/report"
)

// timed is a run whose first function was called so often, each for some 1 µs.
func timed(t *testing.T, calls float64) *report.Run {
	r := used(t, 2, 3)
	hi := 1.1e-6
	r.Functions[0].CallsTime = &report.CallsTime{N: uint64(calls), MinS: 1e-6, MedianS: 1e-6, MedianLoS: 1e-6, MedianHiS: &hi,
		P95S: 1e-6, P95LoS: 1e-6, P95HiS: &hi, MaxS: 1.1e-6, Calls: calls, Bins: [][]float64{{159, 162, calls}}}
	return r
}

// How long the calls of a function took is told over all runs: their calls are added up. It is the same
// however often the document is summarized. A run of an older cg, without bins, has no part in it.
func TestTimesOverRuns(t *testing.T) {
	older := timed(t, 50)
	older.Functions[0].CallsTime.Bins = nil
	r := repeatedly(timed(t, 100), timed(t, 300), older, used(t, 2, 3))
	r.Summarize(false)
	of := map[string]*report.CallsTime{}
	for _, f := range r.Functions {
		of[f.Name] = f.CallsTime
	}
	sum := of["a"]
	if sum == nil || sum.N != 400 || sum.Calls != 400 || len(sum.Bins) != 1 || sum.Bins[0][2] != 400 || sum.MedianHiS == nil ||
		*sum.MedianHiS > 1.13e-6 || of["b"] != nil {
		t.Errorf("%+v", of)
	}
	if m := r.Measurements[1].Functions; m[0].CallsTime == nil && m[1].CallsTime == nil {
		t.Error("a measurement keeps no times")
	}
}
