package statistics

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Linearized are measurements whose mean is the quotient of the means of over and under, which were measured
// together: (over[i] - r under[i]) / mean(under) + r for that quotient r. Their variance is that which the delta
// method gives the quotient (Cochran, Sampling Techniques, 3rd edition, 1977, section 6.4), so an interval of their
// mean is one of the quotient, and two such sets can be compared as others are. Where under is one and the same in
// all, they are over[i] / under. The result is nil where there is no quotient: of nothing, or of a mean of 0.
func Linearized(over, under []float64) []float64 {
	if len(over) == 0 || len(over) != len(under) {
		return nil
	}
	mean := stat.Mean(under, nil)
	r := stat.Mean(over, nil) / mean
	if !(mean > 0) || math.IsNaN(r) || math.IsInf(r, 0) {
		return nil
	}
	out := make([]float64, len(over))
	for i := range over {
		out[i] = (over[i]-r*under[i])/mean + r
	}
	return out
}

// MostUncertain is the coefficient of variation of the mean of the divisors, above which Linearized is too far from
// the quotient: its bias is then more than a tenth of its standard error (Cochran, section 6.8).
const MostUncertain = 0.1

// Uncertain reports whether divisors differ so much that Linearized has no interval for a quotient by them.
func Uncertain(under []float64) bool {
	if len(under) < 2 {
		return false
	}
	return stat.StdDev(under, nil)/math.Sqrt(float64(len(under))) > MostUncertain*stat.Mean(under, nil)
}
