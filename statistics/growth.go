package statistics

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Sized is what a size cost, run by run.
type Sized struct {
	Size  float64
	Costs []float64
}

// Growth is how a cost grows with a size: cost = Start + Scale * size^Exponent, where Start is what any size costs.
// The fit is of the logarithms of the mean costs, by least squares, so each size counts as much as any other
// whatever it costs. Scatter about the curve is what intervals come from, noise and what the curve does not
// describe alike.
type Growth struct {
	Sizes        int
	Start, Scale float64
	Exponent     float64
	Lo, Hi       float64 // 95 % interval of the exponent by its profile (F distribution); NaN for an end beyond the search
	Deviation    float64 // the largest deviation of a mean from the curve, 0.05 is 5 %
	Flat         bool    // no dependence on the size is shown, at 5 %
	Models       []Model // best first; none for fewer than FewestSizesToCompare sizes
}

// Model is a law that is compared with others: cost = Start + Scale * law(size).
type Model struct {
	Name         string
	Start, Scale float64
	// Base is that of ModelExponential, with its 95 % interval, else 0.
	Base, Lo, Hi float64
	// Weight is its Akaike weight among the models (Burnham and Anderson, Model Selection and Multimodel
	// Inference, 2nd edition, 2002, section 2.9).
	Weight float64
	// Excluded tells that the costs speak against it: another model is more than MostTimesAsLikely as likely, or
	// a free exponent describes them better than chance would (F test, 5 %).
	Excluded bool
}

// The names of models.
const (
	ModelConstant    = "1"
	ModelExponential = "a^n"
)

// MostTimesAsLikely is the ratio of likelihoods up to which a model is told from no other: half of 6 in Akaike's
// criterion.
var MostTimesAsLikely = math.Exp(decisive / 2)

const decisive = 6

// Bounds of the laws that are looked for.
const (
	leastExponent, mostExponent = -4, 12
	exponentStep                = 0.2
	mostRate                    = 40 // of the exponential: that of the range of sizes
)

// FewestSizes have an exponent with an interval, FewestSizesToCompare a comparison of models.
const (
	FewestSizes          = 4
	FewestSizesToCompare = 6
)

// law is a function of the size, of which only the form counts.
type law struct {
	name       string
	parameters int // with Start and Scale
	of         func(x float64) float64
}

// laws are those that are compared, besides the exponential, whose base is free.
var laws = []law{
	{ModelConstant, 1, func(float64) float64 { return 1 }},
	{"log n", 2, math.Log},
	{"n", 2, func(x float64) float64 { return x }},
	{"n log n", 2, func(x float64) float64 { return x * math.Log(x) }},
	{"n^2", 2, func(x float64) float64 { return x * x }},
	{"n^3", 2, func(x float64) float64 { return x * x * x }},
}

// Grow tells how costs grow with sizes. Sizes and costs are above 0, sizes are different. It is nil for fewer than
// FewestSizes. Laws with a logarithm are compared where no size is below 1.
func Grow(observed []Sized) *Growth {
	if len(observed) < FewestSizes {
		return nil
	}
	var xs, logs []float64
	for _, o := range observed {
		mean := stat.Mean(o.Costs, nil)
		if !(o.Size > 0) || !(mean > 0) {
			return nil
		}
		xs, logs = append(xs, o.Size), append(logs, math.Log(mean))
	}
	f := newFit(xs, logs)
	power := f.free(leastExponent, mostExponent, exponentStep, func(x, b float64) float64 { return math.Pow(x, b) })
	g := &Growth{Sizes: len(xs), Start: power.start, Scale: power.scale, Exponent: power.at, Lo: power.lo,
		Hi: power.hi}
	for i, x := range xs {
		at := g.Start + g.Scale*math.Pow(x*f.unit, g.Exponent)
		g.Deviation = max(g.Deviation, math.Abs(math.Exp(logs[i])/at-1))
	}
	g.Scale *= math.Pow(f.unit, g.Exponent)
	flat := f.fit(func(float64) float64 { return 1 })
	g.Flat = !f.better(flat.squares, power.squares, 2, 3)
	g.compare(f, power.squares)
	return g
}

// compare ranks the models.
func (g *Growth) compare(f *fitter, power float64) {
	if g.Sizes < FewestSizesToCompare {
		return
	}
	var criteria []float64
	add := func(m Model, squares float64, parameters int) {
		m.Excluded = f.better(squares, power, 1, 3)
		g.Models, criteria = append(g.Models, m), append(criteria, f.criterion(squares, parameters))
	}
	for _, l := range laws {
		if l.of(slices.Min(f.sizes)/f.unit) < 0 {
			continue
		}
		at := f.fit(func(x float64) float64 { return l.of(x / f.unit) })
		add(Model{Name: l.name, Start: at.start, Scale: at.scale}, at.squares, l.parameters)
	}
	width := (slices.Max(f.sizes) - slices.Min(f.sizes))
	e := f.free(0, mostRate, exponentStep, func(x, rate float64) float64 {
		return math.Exp(rate * (x - slices.Max(f.sizes)) / width)
	})
	base := func(rate float64) float64 { return math.Exp(rate * f.unit / width) }
	scale := e.scale * math.Exp(-e.at*slices.Max(f.sizes)/width)
	add(Model{Name: ModelExponential, Start: e.start, Scale: scale, Base: base(e.at), Lo: base(e.lo), Hi: base(e.hi)},
		e.squares, 3)
	least, sum := slices.Min(criteria), 0.0
	for i := range g.Models {
		g.Models[i].Weight = math.Exp((least - criteria[i]) / 2)
		g.Models[i].Excluded = g.Models[i].Excluded || criteria[i]-least > decisive
		sum += g.Models[i].Weight
	}
	for i := range g.Models {
		g.Models[i].Weight /= sum
	}
	slices.SortStableFunc(g.Models, func(a, b Model) int { return cmp.Compare(b.Weight, a.Weight) })
}

// Told are the models that the costs do not speak against. One alone is told from the others, several cannot be
// told apart, and none means that none of them describes the costs.
func (g *Growth) Told() (left []Model) {
	for _, m := range g.Models {
		if !m.Excluded {
			left = append(left, m)
		}
	}
	return left
}

// fitter fits laws to the logarithms of costs.
type fitter struct {
	sizes []float64 // in such a unit that the largest is 1
	unit  float64
	logs  []float64
}

func newFit(xs, logs []float64) *fitter {
	f := &fitter{unit: 1 / slices.Max(xs), logs: logs}
	for _, x := range xs {
		f.sizes = append(f.sizes, x*f.unit)
	}
	return f
}

// fitted is start + scale * law, and the sum of squares that it leaves.
type fitted struct{ start, scale, squares float64 }

// leastSquares is the smallest sum of squares that is told from 0: energies have steps.
const leastSquares = 1e-18

// fit finds the start, not below 0, and the scale of a law. The scale follows from the ratio of the two, which is
// searched for between 0 and so much that the law does not show.
func (f *fitter) fit(of func(x float64) float64) fitted {
	values := make([]float64, len(f.sizes))
	for i, x := range f.sizes {
		values[i] = of(x)
	}
	most := slices.Max(values)
	residuals := make([]float64, len(values))
	squares := func(ratio float64) (float64, float64) {
		for i, v := range values {
			residuals[i] = f.logs[i] - math.Log(ratio+v/most)
		}
		scale := stat.Mean(residuals, nil)
		sum := 0.0
		for _, r := range residuals {
			sum += (r - scale) * (r - scale)
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			sum = math.Inf(1)
		}
		return sum, scale
	}
	const low, high, step = -30.0, 10.0, 1.0 // of the ratio's logarithm
	best, at := math.Inf(1), low
	for l := low; l <= high; l += step {
		if s, _ := squares(math.Exp(l)); s < best {
			best, at = s, l
		}
	}
	at = golden(at-step, at+step, func(l float64) float64 { s, _ := squares(math.Exp(l)); return s })
	ratio := math.Exp(at)
	sum, scale := squares(ratio)
	if s, level := squares(0); s <= sum {
		ratio, sum, scale = 0, s, level
	}
	return fitted{ratio * math.Exp(scale), math.Exp(scale) / most, max(sum, leastSquares)}
}

// freely is a fit of a law with a parameter, and the parameter's interval.
type freely struct {
	fitted
	at, lo, hi float64
}

// free fits a law whose parameter lies between low and high.
func (f *fitter) free(low, high, step float64, of func(x, parameter float64) float64) freely {
	left := func(p float64) float64 { return f.fit(func(x float64) float64 { return of(x, p) }).squares }
	best, at := math.Inf(1), low
	for p := low; p <= high+step/2; p += step {
		if s := left(p); s < best {
			best, at = s, p
		}
	}
	at = golden(max(low, at-step), min(high, at+step), left)
	out := freely{fitted: f.fit(func(x float64) float64 { return of(x, at) }), at: at}
	freedom := float64(len(f.sizes) - 3)
	limit := out.squares * (1 + distuv.F{D1: 1, D2: freedom}.Quantile(0.95)/freedom)
	out.lo, out.hi = f.end(at, low, -step, limit, left), f.end(at, high, step, limit, left)
	return out
}

// end walks from a parameter until the squares are above a limit, NaN where they are not up to the bound.
func (f *fitter) end(at, bound, step, limit float64, left func(float64) float64) float64 {
	inside := at
	for p := at + step; ; p += step {
		if step > 0 && p > bound || step < 0 && p < bound {
			if p = bound; left(p) <= limit {
				return math.NaN()
			}
		}
		if left(p) > limit {
			for range 40 {
				middle := (inside + p) / 2
				if left(middle) > limit {
					p = middle
				} else {
					inside = middle
				}
			}
			return inside
		}
		inside = p
	}
}

// golden finds the minimum of a function between two places.
func golden(a, b float64, of func(float64) float64) float64 {
	ratio := (math.Sqrt(5) - 1) / 2
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	fc, fd := of(c), of(d)
	for range 28 {
		if fc < fd {
			b, d, fd = d, c, fc
			c = b - ratio*(b-a)
			fc = of(c)
		} else {
			a, c, fc = c, d, fd
			d = a + ratio*(b-a)
			fd = of(d)
		}
	}
	return (a + b) / 2
}

// better reports whether a fit with more parameters, of so many in all, is better than chance makes it.
func (f *fitter) better(squares, with float64, more, parameters int) bool {
	freedom := float64(len(f.sizes) - parameters)
	ratio := (squares - with) / float64(more) / (with / freedom)
	return ratio > distuv.F{D1: float64(more), D2: freedom}.Quantile(0.95)
}

// criterion is Akaike's, of a fit with so many parameters and an unknown variance.
func (f *fitter) criterion(squares float64, parameters int) float64 {
	n := float64(len(f.sizes))
	return n*math.Log(squares/n) + 2*float64(parameters+1)
}
