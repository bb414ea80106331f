package statistics

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rule is how pairs are judged.
type Rule struct {
	// Alpha is the most false alarms, as a part of the comparisons in which
	// nothing changed, and as much for "no regression" where there is one.
	Alpha float64
	// Threshold is the smallest relative change that matters: 0.05 for 5 %.
	Threshold float64
	// Looks are the numbers of pairs at which the rule is asked, rising; the last
	// is the most pairs there will be.
	Looks []int
}

// Verdict is the outcome of a comparison.
type Verdict string

const (
	Undecided    Verdict = "undecided"    // ask again at the next look
	Pass         Verdict = "pass"         // a regression of the threshold is ruled out
	Regression   Verdict = "regression"   // it costs more, and at least the threshold
	Inconclusive Verdict = "inconclusive" // the pairs are used up and say neither
)

// Pairs judges a sequence of pairs (base, head), measured one right after the
// other in an order that a coin decided, anew for each pair. That coin is what the test
// is made of: if head is no different from base, each pair could as well have
// had its two values exchanged. So it holds whatever the noise is like: heavy
// tails, drift, neighbours that are alike.
//
// The statistic is Wilcoxon's signed rank sum of the logarithms of head/base,
// which one outlier hardly moves; its distribution is that of the pairs' own
// sizes with random signs. Early looks do not raise the rate of false alarms:
// alpha is spent over the looks as O'Brien and Fleming's bounds do (Lan and
// DeMets, Discrete Sequential Boundaries for Clinical Trials, 1983), on the
// joint distribution of the statistics at all looks so far.
type Pairs struct {
	rule    Rule
	ratios  []float64 // logarithms of head/base
	worse   boundary  // against "head costs no more"
	better  boundary  // against "head costs the threshold more"
	look    int
	verdict Verdict
}

// permutations is how many random assignments of signs stand for all 2^n. The
// standard error of what they tell is taken off alpha (see crosses).
const permutations = 16000

// NewPairs begins a comparison.
func NewPairs(r Rule) *Pairs {
	return &Pairs{rule: r, verdict: Undecided, worse: newBoundary(1), better: newBoundary(2)}
}

// Looks are the numbers of pairs at which to look, for at most n: six at the
// least, since fewer pairs cannot be significant, then about every fifth of n.
func Looks(n int) []int {
	var out []int
	for i := 1; i <= 5; i++ {
		if k := (n*i + 4) / 5; k >= 6 && (len(out) == 0 || k > out[len(out)-1]) {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		out = []int{max(1, n)}
	}
	return out
}

// Add adds a pair. Both values are positive.
func (p *Pairs) Add(base, head float64) { p.ratios = append(p.ratios, math.Log(head/base)) }

// N is the number of pairs.
func (p *Pairs) N() int { return len(p.ratios) }

// Judge returns the verdict on the pairs so far. Any but Undecided is final. Between
// looks it is Undecided.
func (p *Pairs) Judge() Verdict {
	if p.verdict == Undecided && p.look < len(p.rule.Looks) && len(p.ratios) >= p.rule.Looks[p.look] {
		n := p.rule.Looks[p.look]
		p.look++
		p.decide(n, p.look == len(p.rule.Looks))
	}
	return p.verdict
}

// Finish looks a last time, before the planned end: there will be no more pairs.
// When it is called must not depend on the values of the pairs. It spends as much of
// alpha as belongs to so many pairs.
func (p *Pairs) Finish() Verdict {
	if p.verdict == Undecided {
		if n := len(p.ratios); n > 0 && (p.look == 0 || n > p.rule.Looks[p.look-1]) {
			p.look = len(p.rule.Looks)
			p.decide(n, true)
		}
		if p.verdict == Undecided {
			p.verdict = Inconclusive
		}
	}
	return p.verdict
}

// decide looks at the first n pairs.
func (p *Pairs) decide(n int, last bool) {
	spent := spending(p.rule.Alpha, float64(n)/float64(p.rule.Looks[len(p.rule.Looks)-1]))
	limit := math.Log1p(p.rule.Threshold)
	shifted := make([]float64, n)
	for i, r := range p.ratios[:n] {
		shifted[i] = limit - r
	}
	worse := p.worse.crosses(p.ratios[:n], spent)
	better := p.better.crosses(shifted, spent)
	switch effect := HodgesLehmann(p.ratios[:n]); {
	case worse && effect >= limit:
		p.verdict = Regression
	case better:
		p.verdict = Pass
	case last:
		p.verdict = Inconclusive
	}
}

// P is the chance of what was seen at the last look, or more, if head costs no
// more than base: the looks before count as seen and not enough.
func (p *Pairs) P() float64 { return p.worse.p }

// Effect is the relative change, and its interval of confidence 1-2 alpha, without
// regard to the looks: Hodges and Lehmann's estimate and the values that a
// signed rank test does not rule out (Lehmann, Nonparametrics, 1975, section 4.4).
func (p *Pairs) Effect() (change, lo, hi float64) {
	if len(p.ratios) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	l, h := signedRankInterval(p.ratios, p.rule.Alpha)
	return math.Expm1(HodgesLehmann(p.ratios)), math.Expm1(l), math.Expm1(h)
}

// Detectable is the smallest relative change that n pairs with the noise of
// those seen would have shown as a regression in four of five cases, at a part
// of alpha.
func (p *Pairs) Detectable(n int, part float64) float64 {
	return Detectable(p.ratios, n, p.rule.Alpha, part, p.rule.Threshold)
}

// HodgesLehmann is the median of the means of all pairs of values, each with
// itself too (Hodges and Lehmann, Estimates of Location Based on Rank Tests,
// 1963).
func HodgesLehmann(xs []float64) float64 { return Median(walsh(xs)) }

func walsh(xs []float64) []float64 {
	var out []float64
	for i := range xs {
		for k := i; k < len(xs); k++ {
			out = append(out, (xs[i]+xs[k])/2)
		}
	}
	return out
}

// signedRankInterval are the ends of the interval that the signed rank test at
// alpha on each side leaves.
func signedRankInterval(xs []float64, alpha float64) (lo, hi float64) {
	all := walsh(xs)
	slices.Sort(all)
	k := signedRankQuantile(len(xs), alpha)
	if k < 0 { // too few for that confidence: anything may be
		return math.Inf(-1), math.Inf(1)
	}
	return all[k], all[len(all)-1-k]
}

// signedRankQuantile is the largest k with P(W <= k) <= alpha for the signed rank
// sum W of n values, -1 if there is none: exact up to 60, then by the normal
// distribution.
func signedRankQuantile(n int, alpha float64) int {
	most := n * (n + 1) / 2
	if n > 60 {
		mean, sd := float64(most)/2, math.Sqrt(float64(n)*float64(n+1)*float64(2*n+1)/24)
		return int(math.Floor(mean + sd*distuv.UnitNormal.Quantile(alpha) - 0.5))
	}
	ways := make([]float64, most+1)
	ways[0] = 1
	for r := 1; r <= n; r++ {
		for w := most; w >= r; w-- {
			ways[w] += ways[w-r]
		}
	}
	total, sum, k := math.Pow(2, float64(n)), 0.0, -1
	for w := 0; w <= most; w++ {
		if sum += ways[w]; sum/total > alpha {
			break
		}
		k = w
	}
	return k
}

// spending is the part of alpha that may be spent up to a part t of all pairs.
func spending(alpha, t float64) float64 {
	if t >= 1 {
		return alpha
	}
	normal := distuv.UnitNormal
	return 2 - 2*normal.CDF(normal.Quantile(1-alpha/2)/math.Sqrt(t))
}

// boundary is one side of a sequential test. It keeps for each permutation
// whether the statistic crossed at an earlier look.
type boundary struct {
	rng     *rand.Rand
	signs   [][]uint64 // per permutation, a bit for each value
	crossed []bool
	n       int // permutations that crossed
	p       float64
}

func newBoundary(stream uint64) boundary {
	return boundary{rng: rand.New(rand.NewPCG(seed, stream)), p: 1}
}

// crosses reports whether the statistic of xs is beyond the bound at this look,
// where up to spent of all permutations may have crossed by now.
func (b *boundary) crosses(xs []float64, spent float64) bool {
	if b.signs == nil {
		b.signs, b.crossed = make([][]uint64, permutations), make([]bool, permutations)
	}
	// The part of the permutations that crosses is known to its standard error.
	spent = max(0, spent-2*math.Sqrt(spent*(1-spent)/permutations))
	words := (len(xs) + 63) / 64
	for t := range b.signs {
		for len(b.signs[t]) < words {
			b.signs[t] = append(b.signs[t], b.rng.Uint64())
		}
	}
	ranks := ranked(xs)
	observed := 0
	for i, x := range xs {
		if x > 0 {
			observed += ranks[i]
		}
	}
	most := len(xs) * (len(xs) + 1)
	count := make([]int, most+1) // of permutations that have not crossed, by their sum
	sums := make([]int, len(b.signs))
	for t, signs := range b.signs {
		if !b.crossed[t] {
			sums[t] = sumWhere(signs, ranks)
			count[sums[t]]++
		}
	}
	atLeast := 0
	for w := observed; w <= most; w++ {
		atLeast += count[w]
	}
	b.p = float64(b.n+atLeast+1) / float64(permutations+1)
	// The bound is the least sum that not too many permutations reach.
	bound, beyond := most+1, 0
	for bound > 0 && float64(b.n+beyond+count[bound-1]+1)/float64(permutations+1) <= spent {
		bound--
		beyond += count[bound]
	}
	for t := range b.crossed {
		b.crossed[t] = b.crossed[t] || sums[t] >= bound
	}
	b.n += beyond
	return b.p <= spent
}

// sumWhere adds up the values whose bit is set.
func sumWhere(mask []uint64, values []int) int {
	sum := 0
	for w, m := range mask {
		if rest := len(values) - 64*w; rest < 64 {
			m &= 1<<max(rest, 0) - 1
		}
		for ; m != 0; m &= m - 1 {
			sum += values[64*w+bits.TrailingZeros64(m)]
		}
	}
	return sum
}

// ranked gives twice the ranks of the sizes of values, means where these are
// equal; zeros are of rank 0 (Pratt, Remarks on Zeros and Ties in the Wilcoxon Signed
// Rank Procedures, 1959).
func ranked(xs []float64) []int {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(xs[a]), math.Abs(xs[b])) })
	ranks := make([]int, len(xs))
	for i := 0; i < len(order); {
		k := i
		for k < len(order) && math.Abs(xs[order[k]]) == math.Abs(xs[order[i]]) {
			k++
		}
		for _, at := range order[i:k] {
			if xs[at] != 0 {
				ranks[at] = i + 1 + k
			}
		}
		i = k
	}
	return ranks
}
