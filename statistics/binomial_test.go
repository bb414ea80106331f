package statistics

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestBinomialInterval(t *testing.T) {
	for _, test := range []struct {
		k, n   int
		lo, hi float64
	}{
		{0, 0, 0, 1},
		{0, 10, 0, 0.30850},  // 1 - 0.025^(1/10)
		{10, 10, 0.69150, 1}, // 0.025^(1/10)
		{5, 10, 0.18709, 0.81291},
		{100, 1000, 0.08210, 0.12029},
	} {
		lo, hi := BinomialInterval(test.k, test.n, 0.95)
		if math.Abs(lo-test.lo) > 1e-5 || math.Abs(hi-test.hi) > 1e-5 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.5f to %.5f", test.k, test.n, lo, hi, test.lo, test.hi)
		}
	}
}

// The interval holds the probability in 95 % of cases at least, whatever it is.
func TestBinomialIntervalHolds(t *testing.T) {
	const n = 40
	var lo, hi [n + 1]float64
	for k := range lo {
		lo[k], hi[k] = BinomialInterval(k, n, 0.95)
	}
	for p := 0.01; p < 1; p += 0.01 {
		holds := 0.0
		for k := range lo {
			if lo[k] <= p && p <= hi[k] {
				holds += distuv.Binomial{N: n, P: p}.Prob(float64(k))
			}
		}
		if holds < 0.95 {
			t.Errorf("p %.2f: %.3f", p, holds)
		}
	}
}
