package regression

import (
	"math"
	"testing"
)

// problem is the normal equations of rows of columns; the last of a row is what
// they explain.
func problem(rows ...[]float64) *gram {
	n := len(rows[0]) - 1
	g := newGram(n)
	for _, row := range rows {
		g.row(row[:n], row[n], 1)
	}
	return g
}

func alike(a, b []float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-9 {
			return false
		}
	}
	return len(a) == len(b)
}

func TestNonnegative(t *testing.T) {
	for _, c := range []struct {
		name string
		g    *gram
		want []float64
		rss  float64
	}{
		{"exact", problem([]float64{1, 0, 2}, []float64{0, 1, 3}, []float64{1, 1, 5}), []float64{2, 3}, 0},
		// Without the condition the second were -1.
		{"at the bound", problem([]float64{1, 0, 2}, []float64{0, 1, -1}), []float64{2, 0}, 1},
		{"both at the bound", problem([]float64{1, 0, -2}, []float64{0, 1, -1}), []float64{0, 0}, 5},
		{"free again", problem([]float64{1, 1, 1}, []float64{1, -1, 3}, []float64{0, 1, 1}), []float64{2, 0}, 3},
	} {
		x, ok := c.g.nonnegative(1)
		if !ok || !alike(x, c.want) || math.Abs(c.g.rss(x)-c.rss) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", c.name, x, ok, c.want)
		}
	}
	if x, ok := problem([]float64{1, 1, 2}, []float64{2, 2, 4}).nonnegative(1); ok {
		t.Errorf("a singular problem has the solution %v", x)
	}
	// A pull makes it one that has.
	pulled := problem([]float64{1, 1, 2}, []float64{2, 2, 4}).towards([]float64{1, 1}, []float64{1, 1})
	if x, ok := pulled.nonnegative(1); !ok || !alike(x, []float64{1, 1}) {
		t.Errorf("%v, %v", x, ok)
	}
}

// Columns that are added up explain as their sums do.
func TestGrouped(t *testing.T) {
	rows := [][]float64{{1, 2, 3, 4}, {5, 6, 7, 8}, {2, 1, 0, 1}}
	var sums [][]float64
	for _, r := range rows {
		sums = append(sums, []float64{r[0] + r[2], r[1], r[3]})
	}
	got, want := problem(rows...).grouped([]int{0, 1, 0}, 2), problem(sums...)
	for i := range 2 {
		for j := range 2 {
			if got.at(i, j) != want.at(i, j) {
				t.Errorf("(%d, %d): %g, want %g", i, j, got.at(i, j), want.at(i, j))
			}
		}
	}
	if !alike(got.xy, want.xy) || got.yy != want.yy || got.count != 3 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestInverse(t *testing.T) {
	m, ok := problem([]float64{2, 0, 0}, []float64{0, 4, 0}).inverse()
	if !ok || m.At(0, 0) != 0.25 || m.At(1, 1) != 1.0/16 || m.At(0, 1) != 0 {
		t.Errorf("%v, %v", m, ok)
	}
	if _, ok := problem([]float64{1, 1, 0}).inverse(); ok {
		t.Error("a singular matrix has an inverse")
	}
}
