package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"cg/long"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// The smallest rank sums of published tables, one-sided 5 % and 1 % (Wilcoxon
// and Wilcox, Some Rapid Approximate Statistical Procedures, 1964).
func TestSignedRankTable(t *testing.T) {
	five := map[int]int{4: -1, 5: 0, 6: 2, 7: 3, 8: 5, 9: 8, 10: 10, 11: 13, 12: 17, 13: 21, 14: 25, 15: 30, 16: 35, 17: 41, 18: 47, 19: 53, 20: 60}
	one := map[int]int{6: -1, 7: 0, 8: 1, 9: 3, 10: 5, 12: 9, 15: 19, 20: 43}
	for alpha, table := range map[float64]map[int]int{0.05: five, 0.01: one} {
		for n, want := range table {
			if got := signedRankQuantile(n, alpha); got != want {
				t.Errorf("n %d at %g: %d, want %d", n, alpha, got, want)
			}
		}
	}
	// The normal approximation takes over without a step.
	if a, b := signedRankQuantile(60, 0.05), signedRankQuantile(61, 0.05); b-a < 15 || b-a > 40 {
		t.Errorf("%d at 60, %d at 61", a, b)
	}
}

// One look at few pairs is the exact test: all 5 worse has 1 in 32.
func TestExactPermutation(t *testing.T) {
	for n, want := range map[int]float64{5: 1. / 32, 8: 1. / 256} {
		p := NewPairs(Rule{Alpha: 0.05, Threshold: 0.01, Looks: []int{n}})
		for i := range n {
			p.Add(100, 120+float64(i))
		}
		if got := p.Judge(); got != Regression || !near(p.P(), want, 0.004) {
			t.Errorf("%d pairs: %s, p %g, want %g", n, got, p.P(), want)
		}
	}
}

func TestHodgesLehmann(t *testing.T) {
	// Means of pairs of 1, 2, 10: 1, 1.5, 2, 5.5, 6, 10.
	if got := HodgesLehmann([]float64{10, 1, 2}); got != 3.75 {
		t.Errorf("%g", got)
	}
	p := NewPairs(Rule{Alpha: 0.05, Threshold: 0.05, Looks: Looks(10)})
	for i := range 10 {
		p.Add(100, 110+0.01*float64(i))
	}
	if change, lo, hi := p.Effect(); !near(change, 0.10045, 1e-4) || !near(lo, 0.1002, 1e-3) || !near(hi, 0.1007, 1e-3) {
		t.Errorf("%g [%g, %g]", change, lo, hi)
	}
}

// The example of R's p.adjust.
func TestHolm(t *testing.T) {
	if got, want := Holm([]float64{0.01, 0.04, 0.03, 0.005}), []float64{0.03, 0.06, 0.06, 0.02}; !slices.EqualFunc(got, want, func(a, b float64) bool { return near(a, b, 1e-12) }) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Holm([]float64{0.6, 0.7}); got[0] != 1 || got[1] != 1 {
		t.Errorf("%v", got)
	}
}

func TestSummarize(t *testing.T) {
	s := Summarize([]float64{10, 11, 9, 10, 10.5, 9.5, 40})
	if s.N != 7 || !near(s.Mean, 100./7, 1e-12) || s.Median != 10 || s.Min != 9 || s.Max != 40 || !slices.Equal(s.Outliers, []int{6}) {
		t.Errorf("%+v", s)
	}
	if s.Lo > s.Mean || s.Hi < s.Mean {
		t.Errorf("%+v", s)
	}
	if again := Summarize([]float64{10, 11, 9, 10, 10.5, 9.5, 40}); again.Lo != s.Lo || again.Hi != s.Hi {
		t.Error("the same measurements have another interval")
	}
	if s := Summarize([]float64{5, 5, 5, 5}); s.Lo != 5 || s.Hi != 5 || s.CVPercent != 0 || len(s.Outliers) != 0 {
		t.Errorf("%+v", s)
	}
	if s := Summarize([]float64{5}); s.Mean != 5 || !math.IsNaN(s.Lo) || !math.IsNaN(s.Hi) {
		t.Errorf("%+v", s)
	}
	if s := Summarize(nil); !math.IsNaN(s.Mean) || s.N != 0 {
		t.Errorf("%+v", s)
	}
	// Quartiles 2 and 4: what is beyond -1 and 7 is far.
	if o := Outliers([]float64{3, 2, 7, 4, 7.1, 3, -1.1, 2, 4}); !slices.Equal(o, []int{4, 6}) {
		t.Errorf("%v", o)
	}
	if o := Outliers([]float64{1, 1, 50}); len(o) != 0 {
		t.Errorf("of three: %v", o)
	}
	if o := Outliers([]float64{1, 1, 1, 1, 1, 1, 50}); !slices.Equal(o, []int{6}) {
		t.Errorf("%v", o)
	}
}

// noise is a series as a shared machine gives it: neighbours alike, a tail of
// slow runs, with about this coefficient of variation (energy and time of one
// script on such a machine: CV 20 to 54 %, lag-1 autocorrelation 0.4 to 0.6).
type noise struct {
	rng   *rand.Rand
	cv    float64
	state float64
}

func (n *noise) next() float64 {
	const rho = 0.75
	n.state = rho*n.state + math.Sqrt(1-rho*rho)*n.rng.NormFloat64()
	x := math.Exp(n.cv * (0.75*n.state + 0.45*n.rng.NormFloat64()))
	if n.rng.IntN(20) == 0 {
		x *= 1 + n.cv*n.rng.ExpFloat64()
	}
	return x
}

func TestNoiseIsAsSaid(t *testing.T) {
	for _, cv := range []float64{0.2, 0.5} {
		n := &noise{rng: rand.New(rand.NewPCG(1, 1)), cv: cv}
		var xs []float64
		for range 20000 {
			xs = append(xs, n.next())
		}
		s := stat.StdDev(xs, nil) / stat.Mean(xs, nil)
		if rho := autocorrelation(xs); s < 0.8*cv || s > 1.2*cv || rho < 0.35 || rho > 0.6 {
			t.Errorf("CV %.2f for %.2f, autocorrelation %.2f", s, cv, rho)
		} else {
			t.Logf("CV %.2f for %.2f, autocorrelation %.2f", s, cv, rho)
		}
	}
}

// The interval holds the true mean about as often as it says, for few
// measurements and for skewed and correlated ones.
func TestMeanIntervalCovers(t *testing.T) {
	long.Skip(t, "")
	const rounds = 300
	for _, c := range []struct {
		name        string
		n           int
		least, most float64
		draw        func(*rand.Rand) func() float64
		mean        float64
	}{
		{"normal", 10, 0.92, 0.985, func(r *rand.Rand) func() float64 { return r.NormFloat64 }, 0},
		{"normal", 30, 0.92, 0.98, func(r *rand.Rand) func() float64 { return r.NormFloat64 }, 0},
		{"skewed", 10, 0.88, 0.99, func(r *rand.Rand) func() float64 { return r.ExpFloat64 }, 1},
		{"skewed", 40, 0.90, 0.98, func(r *rand.Rand) func() float64 { return r.ExpFloat64 }, 1},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(c.n)))
		covered := 0
		for range rounds {
			draw := c.draw(rng)
			xs := make([]float64, c.n)
			for i := range xs {
				xs[i] = draw()
			}
			if lo, hi := MeanInterval(xs, 0.95); lo <= c.mean && c.mean <= hi {
				covered++
			}
		}
		got := float64(covered) / rounds
		t.Logf("%s, n %d: %.1f %%", c.name, c.n, 100*got)
		if got < c.least || got > c.most {
			t.Errorf("%s, n %d: covers %.1f %% of the time", c.name, c.n, 100*got)
		}
	}
}

// Of few measurements the mean lies inside the interval, which holds its promise as well as
// Student's does. Of a skewed quantity so few cover less than promised, whatever the
// interval (Boos and Hughes-Oliver, How Large Does n Have to Be for Z and t Intervals?, The
// American Statistician 54, 2000).
func TestMeanIntervalOfFew(t *testing.T) {
	const rounds = 300
	for _, c := range []struct {
		name  string
		least float64
		mean  float64
		draw  func(*rand.Rand) float64
	}{
		{"normal", .93, 0, (*rand.Rand).NormFloat64},
		{"skewed", .85, 1, (*rand.Rand).ExpFloat64},
		{"discrete", .9, 0, func(r *rand.Rand) float64 { return float64(r.IntN(9) - 4) }},
		{"three values", .9, 0, func(r *rand.Rand) float64 { return float64(r.IntN(3) - 1) }},
	} {
		for n := 3; n <= 7; n++ {
			rng := rand.New(rand.NewPCG(7, uint64(n)))
			covered := 0
			for range rounds {
				xs := make([]float64, n)
				for i := range xs {
					xs[i] = c.draw(rng)
				}
				lo, hi := MeanInterval(xs, 0.95)
				if lo <= c.mean && c.mean <= hi {
					covered++
				}
				if mean := sum(xs) / float64(n); slices.Max(xs) > slices.Min(xs) && (lo >= mean || hi <= mean) {
					t.Errorf("%v: [%g, %g] ends at the mean, %g", xs, lo, hi, mean)
				}
			}
			got := float64(covered) / rounds
			t.Logf("%s, n %d: %.1f %%", c.name, n, 100*got)
			if got < c.least {
				t.Errorf("%s, n %d: covers %.1f %% of the time", c.name, n, 100*got)
			}
		}
	}
	for _, xs := range [][]float64{{1, 1, 2}, {5, 5, 5.1}, {2, 1, 2, 2}} {
		if lo, hi := MeanInterval(xs, 0.95); lo >= slices.Min(xs) || hi <= slices.Max(xs) {
			t.Errorf("%v: [%g, %g]", xs, lo, hi)
		}
	}
}

func sum(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// gate plays one comparison on a noisy machine: head costs effect more.
func gate(rng *rand.Rand, cv, effect float64, n int) (Verdict, int) {
	p := NewPairs(Rule{Alpha: 0.05, Threshold: 0.05, Looks: Looks(n)})
	machine := &noise{rng: rng, cv: cv}
	for p.N() < n {
		var base, head float64
		if rng.IntN(2) == 0 {
			base = machine.next()
			head = machine.next() * (1 + effect)
		} else {
			head = machine.next() * (1 + effect)
			base = machine.next()
		}
		p.Add(base, head)
		if v := p.Judge(); v != Undecided {
			return v, p.N()
		}
	}
	panic("undecided at the last look")
}

// naive is the rule of most checks: the mean of ten runs in a row, and more than
// 10 % worse.
func naive(rng *rand.Rand, cv, effect float64) bool {
	machine := &noise{rng: rng, cv: cv}
	var base, head float64
	for range 10 {
		base += machine.next()
	}
	for range 10 {
		head += machine.next() * (1 + effect)
	}
	return head > 1.1*base
}

// TestGatePromise: with no change at most 5 % false alarms; changes are found.
// The rule of a fixed percentage is shown on the same noise.
func TestGatePromise(t *testing.T) {
	rounds := long.Rounds(t, 60, 1000)
	t.Logf("%4s %7s | %10s %12s %6s %6s | %s", "CV", "change", "regression", "inconclusive", "pass", "pairs", "10 % rule")
	for _, c := range []struct {
		cv, effect  float64
		least, most float64 // of regression verdicts
	}{
		{0.2, 0, 0, 0.05}, {0.5, 0, 0, 0.05},
		{0.2, 0.1, 0.75, 1}, {0.2, 0.2, 0.95, 1},
		{0.5, 0.2, 0.6, 0.8}, // 30 pairs are too few for this much noise
	} {
		rng := rand.New(rand.NewPCG(11, 13))
		count := map[Verdict]int{}
		pairs, alarms := 0, 0
		for range rounds {
			v, n := gate(rng, c.cv, c.effect, 30)
			count[v]++
			pairs += n
			if naive(rng, c.cv, c.effect) {
				alarms++
			}
		}
		part := func(n int) float64 { return float64(n) / float64(rounds) }
		t.Logf("%3.0f%% %+6.0f%% | %9.1f%% %11.1f%% %5.1f%% %6.1f | %8.1f%%", 100*c.cv, 100*c.effect, 100*part(count[Regression]),
			100*part(count[Inconclusive]), 100*part(count[Pass]), float64(pairs)/float64(rounds), 100*part(alarms))
		slack := 2 * math.Sqrt(0.05*0.95/float64(rounds)) // of a rate at its bound
		if got := part(count[Regression]); got < c.least-2*slack || got > c.most+slack {
			t.Errorf("CV %.0f %%, change %+.0f %%: %.1f %% regressions", 100*c.cv, 100*c.effect, 100*got)
		}
	}
}

// A change that cannot be is passed early, and one that is plain is found early.
func TestDecidesEarly(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for effect, want := range map[float64]Verdict{0: Pass, 0.5: Regression, -0.3: Pass} {
		v, n := gate(rng, 0.02, effect, 30)
		if v != want || n > 12 {
			t.Errorf("%+.0f %%: %s after %d pairs", 100*effect, v, n)
		}
	}
}

// What a comparison says it could have found, it finds in some four of five
// cases.
func TestDetectable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	machine := &noise{rng: rng, cv: 0.2}
	var ratios []float64
	for range 200 {
		ratios = append(ratios, math.Log(machine.next()/machine.next()))
	}
	effect := Detectable(ratios, 30, 0.05, 0.05, 0)
	found := 0
	const rounds = 150
	for range rounds {
		p := NewPairs(Rule{Alpha: 0.05, Threshold: 0, Looks: []int{30}})
		for range 30 {
			p.Add(machine.next(), machine.next()*(1+effect))
		}
		if p.Judge() == Regression {
			found++
		}
	}
	if got := float64(found) / rounds; got < 0.68 || got > 0.92 {
		t.Errorf("%.1f %% is found in %.0f %% of the cases", 100*effect, 100*got)
	}
	if !math.IsNaN(Detectable(ratios[:3], 30, 0.05, 0.05, 0)) {
		t.Error("three ratios tell what can be found")
	}
}

func TestLooks(t *testing.T) {
	for n, want := range map[int][]int{30: {6, 12, 18, 24, 30}, 10: {6, 8, 10}, 5: {5}, 1: {1}} {
		if got := Looks(n); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

// Of alpha, the looks spend all and never more, and early ones hardly any.
func TestSpending(t *testing.T) {
	last := 0.0
	for _, at := range []float64{0.2, 0.4, 0.6, 0.8, 1} {
		s := spending(0.05, at)
		if s < last || s > 0.05 {
			t.Errorf("%g at %g, %g before", s, at, last)
		}
		last = s
	}
	if last != 0.05 || spending(0.05, 0.2) > 1e-4 || !near(spending(0.05, 0.5), 0.00557, 1e-4) {
		t.Errorf("%g, %g, %g", last, spending(0.05, 0.2), spending(0.05, 0.5))
	}
}
