package statistics

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio is how much more head is than base: 0.05 is 5 % more.
type Ratio struct {
	Change float64 // of the means
	Lo, Hi float64 // interval of Change, -1 and +Inf where anything may be
	P      float64 // of so large a change, either way, if there were none
}

// CompareMeans compares the means of two sets of positive measurements that were
// made apart, in the order in which they were made. The logarithm of the means'
// quotient has the variance that the delta method gives it and, with as many
// degrees of freedom as Welch and Satterthwaite tell (Welch, The Generalization
// of Student's Problem, 1947), Student's distribution. Where neighbours are alike,
// fewer measurements are counted: n (1-r) / (1+r) for a lag-1 autocorrelation r. A
// set of one is taken to spread as the other does, which then has three at
// least; of two sets of one the change is known and no more.
//
// Sets that were measured one after the other differ by what happened to the
// machine in between, too. That is in no interval: Pairs has the remedy.
func CompareMeans(base, head []float64, confidence float64) Ratio {
	nan := math.NaN()
	out := Ratio{Change: nan, Lo: -1, Hi: math.Inf(1), P: nan}
	if len(base) == 0 || len(head) == 0 {
		return out
	}
	b, h := stat.Mean(base, nil), stat.Mean(head, nil)
	if !(b > 0) || !(h > 0) {
		return out
	}
	out.Change = h/b - 1
	vb, nb := relativeVariance(base)
	vh, nh := relativeVariance(head)
	switch {
	case len(base) > 1 && len(head) > 1:
	case len(base) == 1 && len(head) >= 3:
		vb, nb = vh*float64(len(head)), math.Inf(1)
	case len(head) == 1 && len(base) >= 3:
		vh, nh = vb*float64(len(base)), math.Inf(1)
	default:
		return out
	}
	se := math.Sqrt(vb + vh)
	if se == 0 {
		out.Lo, out.Hi, out.P = out.Change, out.Change, 1
		if b != h {
			out.P = 0
		}
		return out
	}
	freedom := (vb + vh) * (vb + vh) / (vb*vb/nb + vh*vh/nh)
	if math.IsInf(nb, 1) { // the variance of the other, times what is the same for both
		freedom = nh
	} else if math.IsInf(nh, 1) {
		freedom = nb
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	log := math.Log(h / b)
	wide := t.Quantile(1-(1-confidence)/2) * se
	out.Lo, out.Hi = math.Expm1(log-wide), math.Expm1(log+wide)
	out.P = 2 * t.Survival(math.Abs(log)/se)
	return out
}

// relativeVariance is the variance of the mean over its square, and the degrees
// of freedom it is known with.
func relativeVariance(xs []float64) (v, freedom float64) {
	n := float64(len(xs))
	if len(xs) < 2 {
		return math.NaN(), math.NaN()
	}
	e := stat.StdDev(xs, nil) / stat.Mean(xs, nil)
	alike := 1.0
	if len(xs) >= 6 {
		// The autocorrelation of a short series comes out too small (Kendall, Note on
		// Bias in the Estimation of Autocorrelation, 1954).
		rho := autocorrelation(xs)
		rho = min(mostAlike, rho+(1+4*rho)/n)
		alike = max(1, (1+rho)/(1-rho))
	}
	return e * e / n * alike, max(1, n/alike-1)
}

// mostAlike is the largest autocorrelation that is believed: beyond it a short
// series is one trend, of which nothing follows.
const mostAlike = 0.8
