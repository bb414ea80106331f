package regression

import (
	"math/rand/v2"
	"testing"
)

// A counter that stands still has the blocks that it has alone, whatever others of its period do.
func TestCounterThatStandsStillHasBlocksOfItsOwn(t *testing.T) {
	const windows = 5000
	for name, apart := range map[string]bool{"whose windows are apart": true, "unnoticed": false} {
		counters := []Counter{{0, 1e6}, {1, 1e6}, {2, 1e6}}
		both, random, kept := NewData(counters, nil), rand.New(rand.NewPCG(1, 2)), [3]float64{}
		alone := []*Data{NewData(counters[:1], nil), NewData(counters[1:2], nil), NewData(counters[2:], nil)}
		for i := range windows {
			a := 1e6 * random.Float64()
			w := Window{Wall: 1e6, Until: float64(i+1) * 1e6, Spent: make([]float64, 3), Moved: make([]bool, 3), Apart: make([]bool, 3),
				Times: []Entry{{First, float32(a)}, {First + 1, float32(1e6 - a)}}}
			for d := range kept {
				kept[d] += (20*a + 5*(1e6-a)) * 1e-3
				still := d == 0 && i >= 2000 && i < 4000 || d == 1 && i >= 3000 && i < 3500
				w.Apart[d] = apart && (d == 0 && i >= 2100 || d == 1 && i >= 3100)
				if w.Moved[d] = !still; !still {
					w.Spent[d], kept[d] = kept[d], 0
				}
			}
			both.Add(w)
			for _, of := range alone {
				of.Add(w)
			}
		}
		if len(both.collectors) != 3 {
			t.Errorf("%s: %d collectors", name, len(both.collectors))
		}
		fits := both.Fits(make([]float64, 3), nil)
		for d, of := range alone {
			want := of.Fits(make([]float64, 3), nil)[d]
			if fits[d] == nil || want == nil {
				t.Fatalf("%s: nothing is found of counter %d", name, d)
			}
			for k, e := range want.Columns {
				if got := fits[d].Columns[k]; got == nil || got.Energy != e.Energy || got.HalfWidth != e.HalfWidth {
					t.Errorf("%s: column %d of counter %d has %+v, alone %+v", name, k, d, got, e)
				}
			}
		}
	}
}

// Counters whose windows are divided by themselves do not share blocks, though they have one period.
func TestCountersApartHaveBlocksOfTheirOwn(t *testing.T) {
	d := NewData([]Counter{{0, 1e9}, {1, 1e9}}, nil)
	for i := range 10_000 {
		d.Add(Window{Wall: 1e7, Spent: []float64{1, 1}, Moved: []bool{i%100 == 99, i%100 == 69}, Apart: []bool{i > 0, i > 0},
			Times: []Entry{{First, 1e7}}})
	}
	if len(d.collectors) != 2 {
		t.Fatalf("%d collectors", len(d.collectors))
	}
	for i, c := range d.collectors {
		if b := c.blocks[1]; b.span != 1e10 || b.last != 1e7 {
			t.Errorf("collector %d: a block of %g s", i, b.span*1e-9)
		}
	}
}
