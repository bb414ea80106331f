package regression

import (
	"math/rand/v2"
	"testing"
)

// waits is a program of two functions of 20 and 5 W in goes of 0.5 ms. In each 10 ms it uses so many goes' time, and waits in one
// of the goes for the rest. Times are divided by how long it was in each function. It plays goes of one function for so long, and
// tells how long it waited, or does not.
func waits(goes, turn int, tells bool) (fit *Fit, truth map[Column]float64) {
	random := rand.New(rand.NewPCG(7, uint64(goes)))
	d := NewData([]Counter{{0, 1e6}}, nil)
	truth = map[Column]float64{}
	const go1 = 0.5e6
	function, left := 0, 0
	for range 2000 {
		used, in := [2]float64{}, [2]float64{}
		where := random.IntN(goes)
		wait := 10e6 - float64(goes)*go1
		for i := range goes {
			if left--; left < 0 {
				left = turn
				if function = 1 - function; turn == 0 {
					function = random.IntN(2)
				}
			}
			used[function] += go1
			in[function] += go1
			if i == where {
				in[function] += wait
			}
		}
		all := (20*used[0] + 5*used[1]) * 1e-3
		truth[First] += 20 * used[0] * 1e-3
		truth[First+1] += 5 * used[1] * 1e-3
		w := Window{Wall: 10e6, Spent: []float64{all}, Moved: []bool{true}}
		for k := range 2 {
			if in[k] > 0 {
				w.Times = append(w.Times, Entry{First + Column(k), float32(float64(goes) * go1 * in[k] / 10e6)})
			}
		}
		if tells {
			w.Queued = wait
		}
		d.Add(w)
	}
	runs := map[Column]Run{First: {Time: truth[First] / 20e-3, Count: truth[First] / 20e-3 / go1},
		First + 1: {Time: truth[First+1] / 5e-3, Count: truth[First+1] / 5e-3 / go1}}
	return d.Fits([]float64{0}, runs)[0], truth
}

// The function in which a thread waited for a processor has times of the others. Where that is most of what varies, no
// power is told; where it is some, intervals have it; and where functions do not run near each other, it is nothing.
func TestWaitsForProcessors(t *testing.T) {
	off := func(goes, turn int, tells bool) (error, halfWidth float64, resolved bool) {
		fit, truth := waits(goes, turn, tells)
		e := fit.Columns[First]
		return (e.Energy - truth[First]) / truth[First], e.HalfWidth / truth[First], e.Reason == Resolved && !e.Scattered
	}
	if e, half, is := off(6, 0, false); !is || -e < 2*half {
		t.Errorf("%.3f +- %.3f, %v: nothing is wrong with the times: this test shows nothing", e, half, is)
	}
	if _, _, is := off(6, 0, true); is {
		t.Error("told where the times are those of the waits")
	}
	for _, goes := range []int{16, 18, 20} {
		e, half, is := off(goes, 0, true)
		if !is || -e > half || e > half || half > 0.3 {
			t.Errorf("%d goes: %.3f +- %.3f, %v", goes, e, half, is)
		}
	}
	if e, half, is := off(6, 600, true); !is || e < -half || e > half || half > 0.05 {
		t.Errorf("in long turns: %.3f +- %.3f, %v", e, half, is)
	}
	d := NewData([]Counter{{0, 1e6}}, nil)
	for range 100 {
		d.Add(Window{Wall: 10e6, Spent: []float64{100}, Moved: []bool{true}, Times: []Entry{{First, 5e6}, {First + 1, 5e6}}})
	}
	c := d.collectors[0]
	if r := c.begin(0, nil, false); r != nil {
		if r.use(r.functions()); r.waited() != nil {
			t.Error("no thread waited")
		}
	}
}
