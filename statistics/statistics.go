// Package statistics computes what repeated measurements are worth: intervals of a mean,
// outliers, and a sequential test of pairs. The test gives few false alarms even on
// machines whose speed drifts.
//
// It takes numbers and returns numbers: the package knows nothing of energy. Its random
// numbers come from fixed seeds, so the same measurements give the same answer.
package statistics

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Summary describes repeated measurements of one quantity, in its own unit.
type Summary struct {
	N              int
	Mean, Lo, Hi   float64 // the mean and its 95 % interval, NaN bounds for one measurement
	Median         float64
	Min, Max       float64
	Stddev         float64 // with N-1
	CVPercent      float64 // standard deviation over mean, NaN for a mean of 0
	Autocorrelated float64 // lag-1 autocorrelation
	// Outliers are the indices of measurements beyond the fences of OutlierRange. They
	// are part of every figure above.
	Outliers []int
}

// OutlierRange is how many interquartile ranges beyond the quartiles a measurement is an
// outlier (Tukey, Exploratory Data Analysis, 1977).
const OutlierRange = 1.5

// fewResampled is how many measurements there have to be for a bootstrap of them alone: 8
// can be drawn in 6435 ways.
const fewResampled = 8

const (
	resamples = 4000
	seed      = 0x6367
)

// Summarize describes measurements in the order in which they were made.
func Summarize(xs []float64) Summary {
	s := Summary{N: len(xs), Outliers: Outliers(xs)}
	if s.N == 0 {
		nan := math.NaN()
		return Summary{Mean: nan, Lo: nan, Hi: nan, Median: nan, Min: nan, Max: nan, Stddev: nan, CVPercent: nan}
	}
	s.Mean, s.Median = stat.Mean(xs, nil), Median(xs)
	s.Min, s.Max = slices.Min(xs), slices.Max(xs)
	s.Lo, s.Hi = MeanInterval(xs, 0.95)
	if s.N > 1 {
		s.Stddev = stat.StdDev(xs, nil)
		s.Autocorrelated = autocorrelation(xs)
	}
	s.CVPercent = math.NaN()
	if s.Mean != 0 {
		s.CVPercent = 100 * s.Stddev / math.Abs(s.Mean)
	}
	return s
}

// Median is the middle of the measurements, or halfway between the two.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Outliers gives the indices of measurements that lie far from the others, none of
// fewer than four. Where the quartiles are equal, the mean deviation from the median
// stands in for their distance, as it would in a normal distribution.
func Outliers(xs []float64) []int {
	out := []int{}
	if len(xs) < 4 {
		return out
	}
	sorted := slices.Sorted(slices.Values(xs))
	low, high := quartile(sorted, 1), quartile(sorted, 3)
	width := high - low
	if width == 0 {
		for _, x := range xs {
			width += math.Abs(x-low) / float64(len(xs)) * 1.349 * 1.253314
		}
	}
	for i, x := range xs {
		if width > 0 && (x < low-OutlierRange*width || x > high+OutlierRange*width) {
			out = append(out, i)
		}
	}
	return out
}

// quartile is the n-th of sorted measurements, linear between neighbours.
func quartile(sorted []float64, n int) float64 {
	at := float64(n) / 4 * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// MeanInterval is a bootstrap interval for the mean: studentized, which holds
// its promise for few measurements (Hall, The Bootstrap and Edgeworth Expansion,
// 1992, section 3.5), in blocks of neighbours where these are alike (Künsch, The
// Jackknife and the Bootstrap for General Stationary Observations, 1989). Its
// ends are no further from the mean than the t-interval's would be for a
// quarter of the confidence's complement. Few measurements can be drawn in few ways, so
// that the bootstrap may end at the mean: of fewer than fewResampled no end is nearer than
// that of Student's t (Student, The Probable Error of a Mean, Biometrika 6, 1908).
func MeanInterval(xs []float64, confidence float64) (lo, hi float64) {
	n := len(xs)
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	mean := stat.Mean(xs, nil)
	size := 1
	if n >= 8 && autocorrelation(xs) > 2/math.Sqrt(float64(n)) {
		size = max(2, int(math.Round(math.Cbrt(float64(n)))))
	}
	se := blockError(xs, size)
	if se == 0 {
		return mean, mean
	}
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	ts := make([]float64, 0, resamples)
	sample := make([]float64, n)
	for range resamples {
		for i := 0; i < n; i += size {
			at := rng.IntN(n)
			for k := i; k < min(i+size, n); k++ {
				sample[k] = xs[(at+k-i)%n]
			}
		}
		if e := blockError(sample, size); e > 0 {
			ts = append(ts, (stat.Mean(sample, nil)-mean)/e)
		}
	}
	tail := (1 - confidence) / 2
	most := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(max(1, n/size-1))}.Quantile(1 - tail/4)
	if len(ts) == 0 {
		return mean - most*se, mean + most*se
	}
	slices.Sort(ts)
	upper := stat.Quantile(1-tail, stat.Empirical, ts, nil)
	lower := stat.Quantile(tail, stat.Empirical, ts, nil)
	if n < fewResampled {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - tail)
		upper, lower = max(upper, t), min(lower, -t)
	}
	return mean - min(upper, most)*se, mean - max(lower, -most)*se
}

// blockError is the standard error of the mean of blocks.
func blockError(xs []float64, size int) float64 {
	if size == 1 {
		return stat.StdDev(xs, nil) / math.Sqrt(float64(len(xs)))
	}
	var means []float64
	for i := 0; i+size <= len(xs); i += size {
		means = append(means, stat.Mean(xs[i:i+size], nil))
	}
	if len(means) < 2 {
		return stat.StdDev(xs, nil) / math.Sqrt(float64(len(xs)))
	}
	return stat.StdDev(means, nil) / math.Sqrt(float64(len(means)))
}

func autocorrelation(xs []float64) float64 {
	mean := stat.Mean(xs, nil)
	var together, square float64
	for i, x := range xs {
		square += (x - mean) * (x - mean)
		if i > 0 {
			together += (x - mean) * (xs[i-1] - mean)
		}
	}
	if square == 0 {
		return 0
	}
	return together / square
}

// Holm gives the p-values of several tests made at once, adjusted so that to
// reject those at most alpha errs at all in alpha of the cases (Holm, A Simple
// Sequentially Rejective Multiple Test Procedure, 1979).
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := make([]float64, len(ps))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, float64(len(ps)-rank)*ps[i]))
		out[i] = least
	}
	return out
}
