package statistics

import (
	"math"
	"math/rand/v2"
	"testing"

	"cg/long"
)

// grown are costs of sizes by a law, with noise of so much in each run.
func grown(sizes []float64, runs int, noise float64, rng *rand.Rand, of func(float64) float64) (out []Sized) {
	for _, x := range sizes {
		s := Sized{Size: x}
		for range runs {
			s.Costs = append(s.Costs, of(x)*math.Exp(noise*rng.NormFloat64()))
		}
		out = append(out, s)
	}
	return out
}

func TestGrowExactly(t *testing.T) {
	sizes := []float64{1, 2, 5, 10, 20, 50, 100, 1000}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		of                     func(float64) float64
		start, scale, exponent float64
		told                   string
	}{
		{func(x float64) float64 { return 3 * x * x }, 0, 3, 2, "n^2"},
		{func(x float64) float64 { return 5 + 0.25*x }, 5, 0.25, 1, "n"},
		{func(x float64) float64 { return 2 + 7*math.Pow(x, 1.5) }, 2, 7, 1.5, ""},
		{func(x float64) float64 { return 2 + 12/x }, 2, 12, -1, ""},
	} {
		g := Grow(grown(sizes, 1, 0, rng, c.of))
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-3*math.Abs(b)+1e-4 }
		if !near(g.Start, c.start) || !near(g.Scale, c.scale) || !near(g.Exponent, c.exponent) || g.Flat ||
			g.Deviation > 1e-3 || g.Lo > g.Exponent || g.Hi < g.Exponent {
			t.Errorf("%+v, want %g + %g n^%g", g, c.start, c.scale, c.exponent)
		}
		told := g.Told()
		if c.told == "" && len(told) != 0 || c.told != "" && (len(told) != 1 || told[0].Name != c.told) {
			t.Errorf("told %+v, want %q", told, c.told)
		}
	}
	g := Grow(grown([]float64{20, 21, 22, 23, 24, 25, 26}, 1, 0, rng,
		func(x float64) float64 { return 1 + 1e-5*math.Pow(1.618, x) }))
	if told := g.Told(); len(told) != 1 || told[0].Name != ModelExponential || math.Abs(told[0].Base-1.618) > 1e-3 ||
		math.Abs(told[0].Scale-1e-5) > 1e-6 || math.Abs(told[0].Start-1) > 1e-2 {
		t.Errorf("told %+v", told)
	}
	if Grow(grown(sizes[:3], 1, 0, rng, math.Sqrt)) != nil ||
		Grow([]Sized{{1, []float64{1}}, {2, []float64{0}}, {3, []float64{1}}, {4, []float64{1}}}) != nil ||
		Grow(grown([]float64{0, 1, 2, 3}, 1, 0, rng, func(x float64) float64 { return 1 + x })) != nil {
		t.Error("what has no law has one")
	}
}

// TestPromiseGrowth simulates what cg run says of how a cost grows: the interval of the exponent holds, a wrong
// model is told from the others in at most 5 %, and where the sizes differ enough the right one is.
func TestPromiseGrowth(t *testing.T) {
	repeats := long.Rounds(t, 20, 60)
	wide := []float64{100, 200, 500, 1000, 2000, 5000, 10000, 20000}
	narrow := []float64{100, 110, 120, 130, 140, 150}
	nlogn := func(x float64) float64 { return 1e-5 * x * math.Log(x) }
	for _, c := range []struct {
		name      string
		sizes     []float64
		of        func(float64) float64
		exponent  float64 // NaN where no one is true
		model     string
		toldLeast float64 // of all, that the right one is told
	}{
		{"n log n", wide, nlogn, math.NaN(), "n log n", 0.8},
		{"n log n, start", wide, func(x float64) float64 { return 0.01 + nlogn(x) }, math.NaN(), "n log n", 0.7},
		{"n^2", wide, func(x float64) float64 { return 1e-8 * x * x }, 2, "n^2", 0.8},
		{"n^2, start", wide, func(x float64) float64 { return 0.02 + 1e-8*x*x }, 2, "n^2", 0.8},
		{"n^2, narrow", narrow, func(x float64) float64 { return 1e-6 * x * x }, 2, "n^2", 0},
		{"n, start", wide, func(x float64) float64 { return 0.05 + 1e-5*x }, 1, "n", 0.5},
		{"a^n", []float64{16, 18, 20, 22, 24, 26}, func(x float64) float64 { return 0.1 + 1e-6*math.Pow(1.618, x) },
			math.NaN(), ModelExponential, 0.5},
		{"n^1.5", wide, func(x float64) float64 { return 1e-6 * math.Pow(x, 1.5) }, 1.5, "", 0},
		{"nothing", wide, func(float64) float64 { return 1 }, math.NaN(), ModelConstant, 0},
	} {
		rng := rand.New(rand.NewPCG(7, 11))
		inside, right, wrong, flat := 0, 0, 0, 0
		for range repeats {
			g := Grow(grown(c.sizes, 5, 0.05, rng, c.of))
			if !(g.Lo > c.exponent) && !(g.Hi < c.exponent) {
				inside++
			}
			if g.Flat {
				flat++
			}
			if told := g.Told(); len(told) == 1 && told[0].Name == c.model {
				right++
			} else if len(told) == 1 {
				wrong++
			}
		}
		n := float64(repeats)
		t.Logf("%-15s exponent inside %.0f %%, right model alone %.0f %%, a wrong one alone %.0f %%, flat %.0f %%", c.name,
			100*float64(inside)/n, 100*float64(right)/n, 100*float64(wrong)/n, 100*float64(flat)/n)
		// Of 5 % that are allowed, so many can be there by chance (binomial, 99.9 %).
		allowed := 0.05*n + 3.1*math.Sqrt(n*0.05*0.95)
		if float64(repeats-inside) > allowed {
			t.Errorf("%s: the exponent is outside in %d of %d", c.name, repeats-inside, repeats)
		}
		if float64(wrong) > allowed {
			t.Errorf("%s: a wrong model is told in %d of %d", c.name, wrong, repeats)
		}
		if float64(right) < c.toldLeast*n {
			t.Errorf("%s: told in %d of %d", c.name, right, repeats)
		}
		if c.model == ModelConstant && float64(repeats-flat) > allowed || c.model == "n^2" && flat > 0 {
			t.Errorf("%s: flat in %d of %d", c.name, flat, repeats)
		}
	}
}
