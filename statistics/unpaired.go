package statistics

import (
	"math"
	"slices"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Unpaired is the comparison of two series of measurements that were not interleaved.
type Unpaired struct {
	Verdict        Verdict
	Change, Lo, Hi float64 // relative, with an interval of confidence 1-2 alpha
	P              float64 // of so much or more if head costs no more
	Detectable     float64 // the smallest change that would have been found in four of five cases
}

// CompareUnpaired judges series that were measured one after the other, perhaps days
// apart. It supposes that the machine was the same in both: what drifted in
// between counts as change. Values are positive. The test is Mann and Whitney's, the
// estimate and interval Hodges and Lehmann's shift of the logarithms (Hollander and
// Wolfe, Nonparametric Statistical Methods, 1973, section 4). Rule.Looks is not used.
func CompareUnpaired(base, head []float64, r Rule) Unpaired {
	x, y := logs(base), logs(head)
	limit := math.Log1p(r.Threshold)
	shift, lo, hi := shiftInterval(x, y, r.Alpha)
	u := Unpaired{
		Verdict: Inconclusive, Change: math.Expm1(shift), Lo: math.Expm1(lo), Hi: math.Expm1(hi),
		P: 1, Detectable: math.NaN(),
	}
	if len(x) == 0 || len(y) == 0 {
		return u
	}
	u.P = greater(y, x)
	raised := make([]float64, len(x))
	for i, v := range x {
		raised[i] = v + limit
	}
	switch {
	case u.P <= r.Alpha && shift >= limit:
		u.Verdict = Regression
	case greater(raised, y) <= r.Alpha:
		u.Verdict = Pass
	}
	if !math.IsInf(hi, 0) {
		u.Detectable = detectableAt((hi-lo)/2/distuv.UnitNormal.Quantile(1-r.Alpha), r.Alpha, r.Threshold)
	}
	return u
}

// greater is the chance of xs so far above ys, or further, if they are alike.
func greater(xs, ys []float64) float64 {
	test, err := stats.MannWhitneyUTest(xs, ys, stats.LocationGreater)
	if err != nil { // all values are equal
		return 1
	}
	return test.P
}

func logs(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Log(x)
	}
	return out
}

// shiftInterval is by how much ys lie above xs, with the ends that the test at
// alpha on each side leaves.
func shiftInterval(xs, ys []float64, alpha float64) (shift, lo, hi float64) {
	var all []float64
	for _, x := range xs {
		for _, y := range ys {
			all = append(all, y-x)
		}
	}
	if len(all) == 0 {
		return math.NaN(), math.Inf(-1), math.Inf(1)
	}
	slices.Sort(all)
	k := rankSumQuantile(len(xs), len(ys), alpha)
	if k < 0 {
		return Median(all), math.Inf(-1), math.Inf(1)
	}
	return Median(all), all[k], all[len(all)-1-k]
}

// rankSumQuantile is the largest k with P(U <= k) <= alpha for Mann and Whitney's
// U, -1 if there is none: exact up to 50 values each, then by the normal
// distribution.
func rankSumQuantile(n, m int, alpha float64) int {
	if n > 50 || m > 50 {
		mean, sd := float64(n*m)/2, math.Sqrt(float64(n)*float64(m)*float64(n+m+1)/12)
		return max(-1, int(math.Floor(mean+sd*distuv.UnitNormal.Quantile(alpha)-0.5)))
	}
	u := stats.UDist{N1: n, N2: m}
	k := -1
	for k+1 <= n*m && u.CDF(float64(k+1)) <= alpha {
		k++
	}
	return k
}
