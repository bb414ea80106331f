package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"cg/long"
)

func TestLinearized(t *testing.T) {
	if got := Linearized([]float64{10, 20, 30}, []float64{5, 5, 5}); !slices.Equal(got, []float64{2, 4, 6}) {
		t.Errorf("of equal divisors: %v", got)
	}
	if got := Linearized([]float64{7, 13}, []float64{1, 3}); !slices.Equal(got, []float64{6, 4}) {
		t.Errorf("of different divisors: %v", got)
	}
	got := Linearized([]float64{10, 22, 28}, []float64{1, 2, 3})
	if mean := stat.Mean(got, nil); math.Abs(mean-10) > 1e-12 {
		t.Errorf("the mean is %g, and the quotient of the means 10", mean)
	}
	for _, none := range [][2][]float64{{nil, nil}, {{1}, {0}}, {{1, 2}, {1}}, {{1, 2}, {1, -1}}} {
		if got := Linearized(none[0], none[1]); got != nil {
			t.Errorf("of %v: %v", none, got)
		}
	}
}

func TestUncertain(t *testing.T) {
	for _, c := range []struct {
		under []float64
		want  bool
	}{{[]float64{7}, false}, {[]float64{7, 7}, false}, {[]float64{9, 11}, false}, {[]float64{1, 2, 9}, true}} {
		if got := Uncertain(c.under); got != c.want {
			t.Errorf("%v: %v", c.under, got)
		}
	}
}

// The interval of a quotient holds the true one as often as it says, where divisors differ as much as Uncertain
// lets through.
func TestQuotientCoverage(t *testing.T) {
	trials := long.Rounds(t, 150, 400)
	for _, c := range []struct {
		runs   int
		spread float64 // of the divisors
	}{{5, 0.02}, {5, 0.2}, {10, 0.3}, {30, 0.4}} {
		rng := rand.New(rand.NewPCG(1, uint64(c.runs)))
		inside, told := 0, 0
		for range trials {
			over, under := make([]float64, c.runs), make([]float64, c.runs)
			for i := range over {
				under[i] = math.Exp(c.spread * rng.NormFloat64())
				over[i] = under[i] * (3 + 0.15*rng.NormFloat64())
			}
			if Uncertain(under) {
				continue
			}
			told++
			if lo, hi := MeanInterval(Linearized(over, under), 0.95); lo <= 3 && 3 <= hi {
				inside++
			}
		}
		share := float64(inside) / float64(told)
		t.Logf("%d runs, divisors that spread by %g: %.1f %% of %d intervals", c.runs, c.spread, 100*share, told)
		if share < 0.92 {
			t.Errorf("%d runs, divisors that spread by %g: the interval holds the quotient in %.1f %% of %d",
				c.runs, c.spread, 100*share, told)
		}
	}
}
