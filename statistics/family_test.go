package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cg/long"
)

// The example of Hollander and Wolfe, 1973, p. 69: permeability of membranes at
// term and at 12 to 26 weeks. U is 35, one-sided p 0.1272, the shift 0.305 with
// the 95 % interval (-0.15, 0.76).
func TestRankSumExample(t *testing.T) {
	term := []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	early := []float64{1.15, 0.88, 0.90, 0.74, 1.21}
	if p := greater(term, early); !near(p, 0.1272, 5e-5) {
		t.Errorf("p %g", p)
	}
	shift, lo, hi := shiftInterval(early, term, 0.025)
	if !near(shift, 0.305, 1e-9) || !near(lo, -0.15, 1e-9) || !near(hi, 0.76, 1e-9) {
		t.Errorf("%g [%g, %g]", shift, lo, hi)
	}
	if a, b := rankSumQuantile(50, 50, 0.05), rankSumQuantile(50, 51, 0.05); b-a < 10 || b-a > 40 {
		t.Errorf("%d at 50, %d at 51", a, b)
	}
	if k := rankSumQuantile(2, 2, 0.05); k != -1 {
		t.Errorf("two values each: %d", k)
	}
}

func TestCompareUnpaired(t *testing.T) {
	base := []float64{100, 101, 99, 100.5, 99.5, 100.2}
	times := func(f float64) (out []float64) {
		for _, v := range base {
			out = append(out, v*f)
		}
		return out
	}
	rule := Rule{Alpha: 0.05, Threshold: 0.05}
	for _, c := range []struct {
		name string
		head []float64
		want Verdict
	}{
		{"the same", base, Pass}, {"10 % more", times(1.1), Regression}, {"less", times(0.8), Pass},
		{"more, and below the threshold", times(1.03), Pass},
		{"too few", times(1.5)[:1], Inconclusive}, {"none", nil, Inconclusive},
	} {
		if a := CompareUnpaired(base, c.head, rule); a.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", c.name, a, c.want)
		}
	}
	a := CompareUnpaired(base, times(1.1), rule)
	if !near(a.Change, 0.1, 1e-6) || a.Lo > a.Change || a.Hi < a.Change || a.Detectable < rule.Threshold || a.Detectable > 0.06 {
		t.Errorf("%+v", a)
	}
	if a := CompareUnpaired([]float64{5, 5, 5, 5, 5}, []float64{5, 5, 5, 5, 5}, rule); a.Verdict != Pass || a.P > 1 {
		t.Errorf("equal values: %+v", a)
	}
}

func TestExpectedDetectable(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var base, head, ratios []float64
	for range 400 {
		b, h := math.Exp(0.1*rng.NormFloat64()), math.Exp(0.1*rng.NormFloat64())
		base, head, ratios = append(base, b), append(head, h), append(ratios, math.Log(h/b))
	}
	foreseen, seen := ExpectedDetectable(base, head, 30, 0.05, 0), Detectable(ratios, 30, 0.05, 0.05, 0)
	if foreseen < 0.8*seen || foreseen > 1.2*seen {
		t.Errorf("foreseen %g, seen %g", foreseen, seen)
	}
	if n := PairsFor(base, head, foreseen, 0.05); n < 29 || n > 31 {
		t.Errorf("%d pairs", n)
	}
	if !math.IsNaN(ExpectedDetectable(base[:1], head, 30, 0.05, 0)) || PairsFor(base[:1], head, 0.05, 0.05) != 0 {
		t.Error("one measurement tells a spread")
	}
	if n := PairsFor([]float64{1, 1}, []float64{1, 1}, 0.05, 0.05); n != 6 {
		t.Errorf("%d", n)
	}
}

// The change that could have been found is found in four of five cases, also where
// the threshold is what keeps it from being a regression.
func TestDetectableIsFound(t *testing.T) {
	for _, noise := range []float64{0.01, 0.3} { // below the threshold, and far above
		rng := rand.New(rand.NewPCG(5, 5))
		const n, tries, threshold = 20, 150, 0.05
		var spread []float64
		for range 400 {
			spread = append(spread, noise*rng.NormFloat64())
		}
		effect := Detectable(spread, n, 0.05, 0.05, threshold)
		if effect < threshold {
			t.Errorf("noise %g: %g is below the threshold", noise, effect)
		}
		if smaller := Detectable(spread, n, 0.05, 0.01, threshold); smaller < effect {
			t.Errorf("noise %g: a part of alpha finds %g, and all of it %g", noise, smaller, effect)
		}
		found := 0
		for range tries {
			p := NewPairs(Rule{Alpha: 0.05, Threshold: threshold, Looks: []int{n}})
			for range n {
				p.Add(1, (1+effect)*math.Exp(noise*rng.NormFloat64()))
			}
			if p.Judge() == Regression {
				found++
			}
		}
		if part := float64(found) / tries; part < 0.7 || part > 0.9 {
			t.Errorf("noise %g: %.2f of changes of %.1f %% are found", noise, part, 100*effect)
		}
	}
}

// Finish spends no more than a look at so many pairs would, and says it all the
// same where the pairs are plain.
func TestFinish(t *testing.T) {
	early := NewPairs(Rule{Alpha: 0.05, Threshold: 0.05, Looks: Looks(30)})
	for i := range 5 {
		early.Add(100, 150+float64(i))
	}
	if v := early.Finish(); v != Inconclusive {
		t.Errorf("five pairs of 30: %s", v)
	}
	half := NewPairs(Rule{Alpha: 0.05, Threshold: 0.05, Looks: []int{30}})
	for i := range 20 {
		half.Add(100, 150+float64(i))
	}
	if v := half.Judge(); v != Undecided {
		t.Errorf("no look yet: %s", v)
	}
	if v := half.Finish(); v != Regression {
		t.Errorf("twenty pairs of 30: %s", v)
	}
	if v := half.Finish(); v != Regression {
		t.Errorf("twice: %s", v)
	}
	if v := NewPairs(Rule{Alpha: 0.05, Looks: []int{6}}).Finish(); v != Inconclusive {
		t.Errorf("no pairs: %s", v)
	}
}

// Of families of eleven in which nothing changed, at most 5 % see a regression;
// one member that changed is found, and the others are not blamed.
func TestFamilyPromise(t *testing.T) {
	rounds := long.Rounds(t, 20, 100)
	thresholds := make([]float64, 11)
	for i := range thresholds {
		thresholds[i] = 0.05
	}
	for _, c := range []struct{ effect, least, most float64 }{{0, 0, 0.05}, {0.3, 0.9, 1}} {
		rng := rand.New(rand.NewPCG(17, 4))
		found, blamed := 0, 0
		for range rounds {
			f := NewFamily(Rule{Alpha: 0.05, Looks: Looks(30)}, thresholds)
			machine := &noise{rng: rng, cv: 0.15}
			var said []Verdict
			for range 30 {
				for i := range thresholds {
					head := machine.next()
					if i == 3 {
						head *= 1 + c.effect
					}
					f.Add(i, machine.next(), head)
				}
				if said = f.Judge(); !slices.Contains(said, Undecided) {
					break
				}
			}
			if said[3] == Regression {
				found++
			}
			if slices.Contains(said[:3], Regression) || slices.Contains(said[4:], Regression) {
				blamed++
			}
			if slices.Contains(said, Undecided) {
				t.Fatalf("undecided at the end: %v", said)
			}
		}
		part := func(n int) float64 { return float64(n) / float64(rounds) }
		t.Logf("%+.0f %%: found %.1f %%, others blamed %.1f %%", 100*c.effect, 100*part(found), 100*part(blamed))
		slack := 2 * math.Sqrt(0.05*0.95/float64(rounds))
		if part(found) < c.least || part(found) > c.most+slack || part(blamed) > 0.05+slack {
			t.Errorf("%+.0f %%: found %.1f %%, others blamed %.1f %%", 100*c.effect, 100*part(found), 100*part(blamed))
		}
	}
}

// With one pair fewer nothing is found, however plain it is.
func TestMinPairs(t *testing.T) {
	for _, alpha := range []float64{0.05, 0.025, 0.05 / 21} {
		fewest := MinPairs(alpha)
		for n, want := range map[int]Verdict{fewest - 1: Inconclusive, fewest + 1: Regression} {
			p := NewPairs(Rule{Alpha: alpha, Threshold: 0.05, Looks: []int{n}})
			for i := range n {
				p.Add(1, 10+float64(i))
			}
			if got := p.Judge(); got != want {
				t.Errorf("alpha %g, %d pairs: %s, want %s", alpha, n, got, want)
			}
		}
	}
	if n := MinPairs(0.05); n != 5 {
		t.Errorf("%d", n)
	}
}

// One comparison alone is judged as its Pairs are.
func TestFamilyOfOne(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		rule := Rule{Alpha: 0.05, Threshold: 0.05, Looks: Looks(20)}
		f, p := NewFamily(rule, []float64{0.05}), NewPairs(rule)
		for range 20 {
			b, h := math.Exp(0.1*rng.NormFloat64()), math.Exp(0.07+0.1*rng.NormFloat64())
			f.Add(0, b, h)
			p.Add(b, h)
			if one, alone := f.Judge()[0], p.Judge(); one != alone {
				t.Fatalf("seed %d, %d pairs: %s and %s", seed, p.N(), one, alone)
			}
		}
	}
}
