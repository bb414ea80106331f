package statistics

import "gonum.org/v1/gonum/stat/distuv"

// BinomialInterval bounds the probability of an event that was seen k times in n independent trials, 0 <= k <= n: the
// interval of Clopper and Pearson (Biometrika 26, 1934), which holds the probability at least as often as confidence
// says. Without trials it is 0 to 1.
func BinomialInterval(k, n int, confidence float64) (lo, hi float64) {
	tail := (1 - confidence) / 2
	lo, hi = 0, 1
	if k > 0 {
		lo = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		hi = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return lo, hi
}
