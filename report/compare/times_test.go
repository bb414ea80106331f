package compare_test

import (
	"bytes"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/reporttest"
)

// withP95 is a run of the example whose first function has 100 calls in a bin of these bounds, in
// nanoseconds; none where these are 0.
func withP95(t testing.TB, id string, lo, hi float64) *report.Run {
	r := scaledRun(t, nemb.Measured, id, 1)
	if lo == 0 {
		return r
	}
	lo, hi = lo*1e-9, hi*1e-9
	r.Functions[0].CallsTime = &report.CallsTime{N: 100, Calls: 100, MinS: lo, MaxS: hi, MedianS: (lo + hi) / 2, MedianLoS: lo,
		MedianHiS: &hi, P95S: (lo + hi) / 2, P95LoS: lo, P95HiS: &hi, Bins: [][]float64{{1, 2, 100}}}
	return r
}

// A function whose calls take longer is told. What lies in neighbouring bins does not differ for sure, however often
// it was measured.
func TestDurationsOfCalls(t *testing.T) {
	type bounds = [2]float64
	for _, c := range []struct {
		what       string
		base, head []bounds
		known      bool
		want       compare.Verdict
		weak       bool
	}{
		{"twice as long, one run", []bounds{{1000, 1200}}, []bounds{{2000, 2400}}, true, compare.Higher, true},
		{"half as long, one run", []bounds{{2000, 2400}}, []bounds{{1000, 1200}}, true, compare.Lower, true},
		{"neighbours, one run", []bounds{{1000, 1200}}, []bounds{{1200, 1400}}, true, compare.NoneShown, true},
		{"twice as long", []bounds{{1000, 1200}, {1000, 1200}, {1000, 1200}},
			[]bounds{{2000, 2400}, {2000, 2400}, {2000, 2400}}, true, compare.Higher, false},
		{"neighbours", []bounds{{1000, 1200}, {1000, 1200}, {1000, 1200}},
			[]bounds{{1200, 1400}, {1200, 1400}, {1200, 1400}}, true, compare.NoneShown, false},
		{"runs differ", []bounds{{1000, 1200}, {3000, 3500}, {500, 600}},
			[]bounds{{2000, 2400}, {5000, 6000}, {600, 700}}, true, compare.NoneShown, false},
		{"one run does not tell", []bounds{{1000, 1200}, {}, {1000, 1200}},
			[]bounds{{2000, 2400}, {2000, 2400}, {2000, 2400}}, false, "", false},
	} {
		side := func(name string, all []bounds) compare.Side {
			var runs []*report.Run
			for i, b := range all {
				runs = append(runs, withP95(t, name+string(rune('a'+i)), b[0], b[1]))
			}
			return runsSide(name, runs...)
		}
		got := compared(t, side("base", c.base), side("head", c.head), compare.Options{Threshold: 0.05})
		name := withP95(t, "", 0, 0).Functions[0].Name
		var p95 *compare.Change
		for _, f := range got.Functions {
			if f.Name == name {
				p95 = f.CallP95
			} else if f.CallP95 != nil {
				t.Errorf("%s: %s has a percentile", c.what, f.Name)
			}
		}
		if (p95 != nil) != c.known || p95 != nil && (p95.Verdict != c.want || p95.Weak != c.weak) {
			t.Errorf("%s: %+v, want %s", c.what, p95, c.want)
		}
		if len(got.Worse) > 0 {
			t.Errorf("%s: %v are worse", c.what, got.Worse)
		}
		told := c.want == compare.Higher || c.want == compare.Lower
		for _, f := range []string{"text", "markdown"} {
			b := reporttest.Write(t, f, got, format.Options{})
			if strings.Contains(string(b), "95th percentile of calls") != told || told && !bytes.Contains(b, []byte(c.want)) {
				t.Errorf("%s, %s: told %v\n%s", c.what, f, !told, b)
			}
		}
	}
}
