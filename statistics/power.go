package statistics

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// MinPairs is the smallest number of pairs that can show a regression at alpha: as
// many that all point one way.
func MinPairs(alpha float64) int {
	n := 1
	for math.Pow(2, -float64(n)) > alpha-2*math.Sqrt(alpha*(1-alpha)/permutations) {
		n++
	}
	return n
}

// Detectable is that of ratios, logarithms of head/base, whose spread is known by
// their interval at alpha on each side.
func Detectable(ratios []float64, n int, alpha, part, threshold float64) float64 {
	if len(ratios) < 6 || n < 1 {
		return math.NaN()
	}
	lo, hi := signedRankInterval(ratios, alpha)
	se := (hi - lo) / 2 / distuv.UnitNormal.Quantile(1-alpha) * math.Sqrt(float64(len(ratios))/float64(n))
	return detectableAt(se, part, threshold)
}

// detectableAt is the relative change that is a regression in four of five cases, by the
// standard error of its logarithm: it has to stand out at alpha, and the estimate
// has to reach the threshold.
func detectableAt(se, alpha, threshold float64) float64 {
	normal := distuv.UnitNormal
	return math.Expm1(normal.Quantile(0.8)*se + max(normal.Quantile(1-alpha)*se, math.Log1p(threshold)))
}

// ExpectedDetectable is the smallest relative change that so many pairs would show as a
// regression in four of five cases, by the spread of some measurements of each side;
// NaN for fewer than two of a side. From few measurements it is rough.
func ExpectedDetectable(base, head []float64, pairs int, alpha, threshold float64) float64 {
	return detectableAt(math.Sqrt(math.Pi/3/float64(pairs))*pairSpread(base, head), alpha, threshold)
}

// PairsFor is how many pairs would tell a relative change from none in four of five
// cases: with so many, a program that did not change passes at that threshold.
func PairsFor(base, head []float64, change, alpha float64) int {
	n := power(alpha) * pairSpread(base, head) / math.Log1p(change)
	if math.IsNaN(n) {
		return 0
	}
	return max(6, int(math.Ceil(n*n)))
}

// power is by how many standard errors a change has to stand out. The signed
// rank test needs 3/pi more pairs than the mean of normal values would.
func power(alpha float64) float64 {
	normal := distuv.UnitNormal
	return (normal.Quantile(1-alpha) + normal.Quantile(0.8)) * math.Sqrt(math.Pi/3)
}

// pairSpread is the standard deviation of the logarithm of head/base.
func pairSpread(base, head []float64) float64 {
	if len(base) < 2 || len(head) < 2 {
		return math.NaN()
	}
	return math.Sqrt(stat.Variance(logs(base), nil) + stat.Variance(logs(head), nil))
}
