package regression

import (
	"math"
	"math/rand/v2"
	"testing"
)

// calls is a program on one processor that is called at random, and a counter that shows its energy after a low-pass of
// a time constant in ms (0: none), every ms: two functions of 20 and 5 W, whose calls take 0.5 to 1.5 times mean ms.
func calls(windows int, mean, constant float64, seed uint64) (d *Data, runs map[Column]Run, truth [2]float64) {
	return callsAfter(0, windows, mean, constant, seed)
}

// callsAfter is calls after so many windows in which the second function alone runs, as it did before the first one.
func callsAfter(alone, windows int, mean, constant float64, seed uint64) (d *Data, runs map[Column]Run,
	truth [2]float64) {
	const steps = 50 // of a window
	d, runs = NewData([]Counter{{0, 1e6}}, nil), map[Column]Run{}
	random := rand.New(rand.NewPCG(seed, 2))
	which, left := 0, 0.0
	all, shown, before := 0.0, 0.0, 0.0 // uJ
	if alone > 0 {                      // and before
		shown = -5e3 * constant
		before = shown
	}
	for n := range alone + windows {
		var times [2]float64
		if n < alone {
			which, left = 1, 2
		}
		for range steps {
			if left -= 1.0 / steps; left < 0 {
				which, left = random.IntN(2), mean*(0.5+random.Float64())
				r := runs[First+Column(which)]
				r.Count++
				runs[First+Column(which)] = r
			}
			times[which] += 1e6 / steps
			all += []float64{20, 5}[which] * 1e3 / steps
			part := 1.0
			if constant > 0 {
				part = 1 - math.Exp(-1.0/steps/constant)
			}
			shown += part * (all - shown)
		}
		w := Window{Wall: 1e6, Spent: []float64{shown - before}, Moved: []bool{true}}
		before = shown
		for k, t := range times {
			truth[k] += t * []float64{20, 5}[k] * 1e-3
			r := runs[First+Column(k)]
			r.Time += t
			runs[First+Column(k)] = r
			if t > 0 {
				w.Times = append(w.Times, Entry{First + Column(k), float32(t)})
			}
		}
		d.Add(w)
	}
	return d, runs, truth
}

// A counter that is filtered is found, with its time constant, and the functions have what they used.
func TestFilteredCounter(t *testing.T) {
	for _, constant := range []float64{0, 2.5, 5, 10} {
		d, runs, truth := calls(4000, 5, constant, 1)
		f := d.Fits([]float64{0}, runs)[0]
		if f == nil || f.Columns[First] == nil || f.Columns[First+1] == nil {
			t.Fatalf("%g ms: %+v", constant, f)
		}
		if constant == 0 && f.Lag != 0 || constant > 0 && math.Abs(f.Lag*1e-6/constant-1) > 0.25 {
			t.Errorf("%g ms: the time constant is %g ms", constant, f.Lag*1e-6)
		}
		for k, want := range truth {
			e := f.Columns[First+Column(k)]
			if math.Abs(e.Energy/want-1) > 0.1 || math.Abs(e.Energy-want) > e.HalfWidth {
				t.Errorf("%g ms: f%d has %.0f +- %.0f uJ, want %.0f", constant, k, e.Energy, e.HalfWidth, want)
			}
		}
	}
}

// What the first blocks cannot show of a filter, a later look does, also one that the end of the run cuts short, and
// where blocks are joined: the functions have what they used. Where there is none, nothing is followed between looks.
func TestFilterFoundLater(t *testing.T) {
	for _, test := range []struct {
		constant float64
		windows  int
	}{{0, 2000}, {0, 20000}, {2.5, 2000}, {2.5, 8000}, {5, 2000}, {5, 8000}, {10, 8000}, {5, 140000}} {
		constant := test.constant
		d, runs, truth := callsAfter(3200, test.windows, 5, constant, 1)
		if c := d.collectors[0]; constant == 0 && test.windows == 20000 && (c.lags.look.state != paused ||
			c.entries > 4*len(c.blocks)) {
			t.Errorf("no filter: state %v, %d entries in %d blocks", c.lags.look.state, c.entries, len(c.blocks))
		}
		f := d.Fits([]float64{0}, runs)[0]
		if f == nil || f.Columns[First] == nil || f.Columns[First+1] == nil {
			t.Fatalf("%v: %+v", test, f)
		}
		if d.collectors[0].lags.look.state == looking {
			t.Errorf("%v: the look is not ended", test)
		}
		if constant == 0 && f.Lag != 0 || constant > 0 && math.Abs(f.Lag*1e-6/constant-1) > 0.25 {
			t.Errorf("%v: the time constant is %g ms", test, f.Lag*1e-6)
		}
		for k, want := range truth {
			e := f.Columns[First+Column(k)]
			if math.Abs(e.Energy/want-1) > 0.1 || math.Abs(e.Energy-want) > e.HalfWidth {
				t.Errorf("%v: f%d has %.0f +- %.0f uJ, want %.0f", test, k, e.Energy, e.HalfWidth, want)
			}
		}
	}
}

// In blocks that were not followed, what a filter hid is reckoned from their times.
func TestReckonedLags(t *testing.T) {
	c := newCollector(1e6, 0, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		one := float32(random.Float64() * 1e6)
		c.add(1e6, []float64{1}, []Entry{{First, one}, {First + 1, 1e6 - one}}, true)
	}
	for j, periods := range lagPeriods {
		followed := make([][]Entry, len(c.blocks))
		for i := range c.blocks {
			followed[i] = c.blocks[i].lags[j]
		}
		c.reckonLags(j, 40)
		for i, want := range followed {
			for n, e := range c.blocks[i].lags[j] {
				off := math.Abs(float64(e.Time-want[n].Time)) / (periods * 1e6)
				if e.Column != want[n].Column || i < 40 && off > 0.25 || i >= 40 && off > 0 {
					t.Errorf("%g periods, block %d: %v, want %v", periods, i, e, want[n])
				}
			}
		}
	}
}

// The memory of what a filter hides has an end, however long the run is.
func TestLagsForget(t *testing.T) {
	var l lags
	kept := func(c Column) Column { return c }
	for i := range 5000 {
		l.add(1e6, []Entry{{First + Column(i), 1e6}}, 1e6, kept)
	}
	for j, of := range l.end() {
		sum := 0.0
		for _, e := range of {
			sum += float64(e.Time)
		}
		if want := lagPeriods[j] * 1e6; math.Abs(sum/want-1) > 0.02 || len(of) > int(20*lagPeriods[j]) {
			t.Errorf("%g periods: %d columns have %g ns, want %g", lagPeriods[j], len(of), sum, want)
		}
	}
}
