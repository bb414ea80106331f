package regression

import (
	"math/rand/v2"
	"testing"
)

// Another program takes the processor now and then, in one function or the other: each seems to have lost its part of
// the time. The blocks in which that was long count for little, and the powers stay apart.
func TestTimeAway(t *testing.T) {
	ratio := func(told bool) float64 {
		d, random := NewData([]Counter{{0, 1e6}}, nil), rand.New(rand.NewPCG(1, 2))
		for range 800 {
			lost := 0.0
			if random.IntN(3) == 0 {
				lost = 3e6
			}
			used := [2]float64{(0.3 + 0.4*random.Float64()) * (10e6 - lost), 0}
			used[1] = 10e6 - lost - used[0]
			there, in := used, 0
			if random.Float64()*(10e6-lost) > used[0] {
				in = 1
			}
			there[in] += lost
			w := Window{Wall: 10e6, Spent: []float64{(20*used[0] + 5*used[1]) * 1e-3}, Moved: []bool{true}}
			for k, of := range there {
				w.Times = append(w.Times, Entry{First + Column(k), float32(of * (1 - lost/10e6))})
			}
			if told {
				w.Away = lost
			}
			d.Add(w)
		}
		f := d.Fits([]float64{0}, nil)[0]
		return f.Columns[First].Power / f.Columns[First+1].Power
	}
	if got := ratio(true); got < 3.6 || got > 4.4 {
		t.Errorf("the powers of 20 and 5 W are %.2f to 1", got)
	}
	if got := ratio(false); got > 3.5 {
		t.Errorf("without what was away they are %.2f to 1: this test shows nothing", got)
	}
}

// A program of which all blocks are away for as long has no block that counts for less.
func TestUsuallyAway(t *testing.T) {
	d, random := NewData([]Counter{{0, 1e6}}, nil), rand.New(rand.NewPCG(1, 2))
	for range 100 {
		a := 4e6 * random.Float64()
		d.Add(Window{Wall: 10e6, Spent: []float64{(20*a + 5*(4e6-a)) * 1e-3}, Moved: []bool{true}, Away: 6e6,
			Times: []Entry{{First, float32(a)}, {First + 1, float32(4e6 - a)}}})
	}
	r := &regression{c: d.collectors[0], noise: 1}
	r.total, r.columns = []float64{200, 200}, []Column{First, First + 1}
	r.weigh([]float64{20, 5})
	for i := range r.c.blocks {
		if r.known(i) != 1 {
			t.Fatalf("block %d counts for %g", i, r.known(i))
		}
	}
}
