package regression

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// gram is the normal equations of a least squares problem: products of columns,
// of columns with what is to be explained, and of that with itself.
type gram struct {
	n     int
	xx    []float64 // n by n, symmetric
	xy    []float64
	yy    float64
	count float64 // rows
}

func newGram(n int) *gram {
	return &gram{n: n, xx: make([]float64, n*n), xy: make([]float64, n)}
}

// row adds a row that counts for so much.
func (g *gram) row(x []float64, y, weight float64) {
	for i, v := range x {
		if v == 0 {
			continue
		}
		to := g.xx[i*g.n : i*g.n+i+1]
		for j := range to {
			to[j] += weight * v * x[j]
		}
		g.xy[i] += weight * v * y
	}
	g.yy += weight * y * y
	g.count += weight
}

// add adds the rows of another, so many times.
func (g *gram) add(o *gram, times float64) {
	for i, v := range o.xx {
		g.xx[i] += times * v
	}
	for i, v := range o.xy {
		g.xy[i] += times * v
	}
	g.yy += times * o.yy
	g.count += times * o.count
}

// clear takes the products of a column with all others away, and with itself.
func (g *gram) clear(i int) {
	for j := range g.n {
		g.xx[max(i, j)*g.n+min(i, j)] = 0
	}
}

// at is the product of two columns.
func (g *gram) at(i, j int) float64 {
	if i < j {
		i, j = j, i
	}
	return g.xx[i*g.n+j]
}

// grouped is the problem with columns added up: column i becomes to[i] of m.
func (g *gram) grouped(to []int, m int) *gram {
	out := newGram(m)
	for i := range g.n {
		a := to[i]
		for j := range i + 1 {
			v := g.xx[i*g.n+j]
			b := to[j]
			switch {
			case i == j || a != b:
				out.xx[max(a, b)*m+min(a, b)] += v
			default: // both halves fall on the diagonal
				out.xx[a*m+a] += 2 * v
			}
		}
		out.xy[a] += g.xy[i]
	}
	out.yy, out.count = g.yy, g.count
	return out
}

// rss is the sum of squares that is left with these coefficients.
func (g *gram) rss(p []float64) float64 {
	sum := g.yy
	for i := range g.n {
		sum -= 2 * p[i] * g.xy[i]
		for j := range g.n {
			sum += p[i] * p[j] * g.at(i, j)
		}
	}
	return max(0, sum)
}

// towards is the problem with a pull of every coefficient to a value: a row for each
// that says so with the given weight. It keeps a singular problem solvable.
func (g *gram) towards(values, weights []float64) *gram {
	out := newGram(g.n)
	copy(out.xx, g.xx)
	copy(out.xy, g.xy)
	out.yy, out.count = g.yy, g.count
	for i, weight := range weights {
		out.xx[i*g.n+i] += weight
		out.xy[i] += weight * values[i]
	}
	return out
}

// symmetric is the products of some columns.
func (g *gram) symmetric(of []int) *mat.SymDense {
	s := mat.NewSymDense(len(of), nil)
	for a, i := range of {
		for b := range a + 1 {
			s.SetSym(a, b, g.at(i, of[b]))
		}
	}
	return s
}

// nonnegative solves the problem under the condition that no coefficient is
// negative: the active-set method of Lawson and Hanson (Solving Least Squares
// Problems, 1974, chapter 23) on the normal equations, as Bro and De Jong put it
// (Journal of Chemometrics 11, 1997, 393-401). start is a positive value to
// begin with. false where the problem is singular.
func (g *gram) nonnegative(start float64) ([]float64, bool) {
	n := g.n
	x := make([]float64, n)
	free := make([]bool, n)
	for i := range x {
		x[i], free[i] = start, true
	}
	for range 3*n + 10 {
		for { // solve for the free ones, and free fewer until none is negative
			var of []int
			for i, f := range free {
				if f {
					of = append(of, i)
				}
			}
			if len(of) == 0 {
				break
			}
			var c mat.Cholesky
			if !c.Factorize(g.symmetric(of)) {
				return nil, false
			}
			b := mat.NewVecDense(len(of), nil)
			for k, i := range of {
				b.SetVec(k, g.xy[i])
			}
			var s mat.VecDense
			if err := c.SolveVecTo(&s, b); err != nil {
				if _, badly := err.(mat.Condition); !badly {
					return nil, false
				}
			}
			step := 1.0
			for k, i := range of {
				if v := s.AtVec(k); v <= 0 && x[i] > 0 {
					step = min(step, x[i]/(x[i]-v))
				} else if v <= 0 {
					step = 0
				}
			}
			if step == 1 && !lowest(&s) {
				for k, i := range of {
					x[i] = s.AtVec(k)
				}
				break
			}
			smallest := math.Inf(1)
			for k, i := range of {
				x[i] += step * (s.AtVec(k) - x[i])
				if s.AtVec(k) <= 0 {
					smallest = min(smallest, x[i])
				}
			}
			for k, i := range of {
				if s.AtVec(k) <= 0 && x[i] <= smallest+1e-12*start {
					x[i], free[i] = 0, false
				}
			}
		}
		// The one at zero that would help most to be free.
		best, gain := -1, 0.0
		for i := range n {
			if free[i] {
				continue
			}
			w := g.xy[i]
			for j := range n {
				w -= g.at(i, j) * x[j]
			}
			if w > gain && w > 1e-9*math.Abs(g.xy[i]) {
				best, gain = i, w
			}
		}
		if best < 0 {
			return x, true
		}
		free[best] = true
	}
	return x, true
}

// lowest reports whether any is not positive.
func lowest(s *mat.VecDense) bool {
	for i := range s.Len() {
		if s.AtVec(i) <= 0 {
			return true
		}
	}
	return false
}

// inverse is that of the products; false where they are singular.
func (g *gram) inverse() (*mat.SymDense, bool) {
	all := make([]int, g.n)
	for i := range all {
		all[i] = i
	}
	var c mat.Cholesky
	if !c.Factorize(g.symmetric(all)) {
		return nil, false
	}
	var inverse mat.SymDense
	if err := c.InverseTo(&inverse); err != nil {
		if _, badly := err.(mat.Condition); !badly {
			return nil, false
		}
	}
	return &inverse, true
}
