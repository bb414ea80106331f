package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Sets of the same relative spread have 4 degrees of freedom, where Student's
// distribution is F(t) = 1/2 + 3/8 u (1 - u²/12), u = t / sqrt(1 + t²/4), and its
// quantile at 0.975 is 2.776445.
func TestCompareMeansExactly(t *testing.T) {
	r := CompareMeans([]float64{98, 100, 102}, []float64{107.8, 110, 112.2}, 0.95)
	se := 0.02 * math.Sqrt(2./3)
	s := math.Log(1.1) / se
	u := s / math.Sqrt(1+s*s/4)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"change", r.Change, 0.1}, {"low", r.Lo, 1.1*math.Exp(-2.776445*se) - 1}, {"high", r.Hi, 1.1*math.Exp(2.776445*se) - 1},
		{"p", r.P, 1 - 0.75*u*(1-u*u/12)},
	} {
		if !near(c.got, c.want, 1e-6) {
			t.Errorf("%s: %.8f, want %.8f", c.name, c.got, c.want)
		}
	}
	// Exchanged, the quotient is the other way round.
	back := CompareMeans([]float64{107.8, 110, 112.2}, []float64{98, 100, 102}, 0.95)
	if !near((1+back.Lo)*(1+r.Hi), 1, 1e-12) || !near((1+back.Hi)*(1+r.Lo), 1, 1e-12) || !near(back.P, r.P, 1e-12) {
		t.Errorf("%+v and %+v", r, back)
	}
}

func TestCompareMeansOfFew(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) || near(a, b, 1e-6) }
	for _, c := range []struct {
		name       string
		base, head []float64
		want       Ratio
	}{
		{"nothing", nil, []float64{1}, Ratio{nan, -1, inf, nan}},
		{"zero", []float64{0, 0}, []float64{1, 2}, Ratio{nan, -1, inf, nan}},
		{"to zero", []float64{1, 2}, []float64{0, 0}, Ratio{nan, -1, inf, nan}},
		{"not a number", []float64{nan}, []float64{1}, Ratio{nan, -1, inf, nan}},
		{"one each", []float64{4}, []float64{5}, Ratio{0.25, -1, inf, nan}},
		{"two and one", []float64{4, 4}, []float64{5}, Ratio{0.25, -1, inf, nan}},
		{"exactly alike", []float64{4, 4}, []float64{4, 4}, Ratio{0, 0, 0, 1}},
		{"exactly more", []float64{4, 4}, []float64{5, 5}, Ratio{0.25, 0.25, 0.25, 0}},
		// The relative standard deviation of 2 % stands for both: 2 degrees of freedom, 4.302653.
		{"three and one", []float64{98, 100, 102}, []float64{100}, Ratio{0, math.Exp(-4.302653*0.02*math.Sqrt(4./3)) - 1, math.Exp(4.302653*0.02*math.Sqrt(4./3)) - 1, 1}},
	} {
		r := CompareMeans(c.base, c.head, 0.95)
		if !same(r.Change, c.want.Change) || !same(r.Lo, c.want.Lo) || !same(r.Hi, c.want.Hi) || !same(r.P, c.want.P) {
			t.Errorf("%s: %+v, want %+v", c.name, r, c.want)
		}
	}
}

// Of sets that differ by nothing, few are told apart, and the interval holds the
// true change about as often as it says: for few measurements, for skewed ones,
// and for those whose neighbours are alike.
func TestCompareMeansCovers(t *testing.T) {
	const rounds = 2000
	normal := func(r *rand.Rand) func() float64 { return func() float64 { return 100 + 5*r.NormFloat64() } }
	shared := func(r *rand.Rand) func() float64 { return (&noise{rng: r, cv: 0.2}).next }
	for _, c := range []struct {
		name  string
		n     int
		least float64
		draw  func(*rand.Rand) func() float64
	}{
		{"normal", 3, 0.93, normal}, {"normal", 10, 0.93, normal}, {"normal", 30, 0.93, normal},
		{"a shared machine", 10, 0.80, shared}, {"a shared machine", 40, 0.85, shared},
	} {
		rng := rand.New(rand.NewPCG(11, uint64(c.n)))
		covered := 0
		for range rounds {
			set := func(factor float64) []float64 {
				draw := c.draw(rng)
				for range 50 { // into its stride
					draw()
				}
				xs := make([]float64, c.n)
				for i := range xs {
					xs[i] = factor * draw()
				}
				return xs
			}
			if r := CompareMeans(set(1), set(1.2), 0.95); r.Lo <= 0.2 && 0.2 <= r.Hi {
				covered++
			}
		}
		got := float64(covered) / rounds
		t.Logf("%s, n %d: %.1f %%", c.name, c.n, 100*got)
		if got < c.least {
			t.Errorf("%s, n %d: covers %.1f %% of the time", c.name, c.n, 100*got)
		}
	}
}
