package regression

import (
	"math"
	"math/rand/v2"
	"slices"
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

// oneFunction is a run of so many blocks in which one function runs all the time, in two collectors: one that looks for
// filters, and one that has followed from the start.
func oneFunction(blocks int) (looks, follows *collector) {
	looks, follows = newCollector(1e6, 0, nil), newCollector(1e6, 0, nil)
	follows.lags.look.state = settled
	for range blocks * blockPeriods {
		for _, c := range []*collector{looks, follows} {
			c.add(1e6, []float64{1e4}, []Entry{{First, 1e6}}, true)
		}
	}
	return looks, follows
}

// A later look begins with what a filter hides there: as if it had been followed from the start.
func TestLaterLookBeginsWarm(t *testing.T) {
	const first = lagBlocks + lagBlocks/4 // the first look, and a pause
	looks, follows := oneFunction(first + 20)
	if l := looks.lags.look; l.state != looking || l.first != first {
		t.Fatalf("%+v, want a look from block %d on", l, first)
	}
	entries := 0
	for i := range looks.blocks {
		entries += looks.blocks[i].entries()
		for j, periods := range lagPeriods {
			got, want := looks.blocks[i].lags[j], follows.blocks[i].lags[j]
			if i < first-1 {
				continue
			}
			if len(got) != 1 || math.Abs(float64(got[0].Time-want[0].Time)) > 0.25*periods*1e6 {
				t.Errorf("%g periods, block %d: %v, want %v", periods, i, got, want)
			}
		}
	}
	if entries != looks.entries {
		t.Errorf("%d entries, want %d", looks.entries, entries)
	}
}

// The blocks that decide have the time that they took, from the first one on, also where blocks are joined meanwhile.
func TestLaterLookDecidesByWholeBlocks(t *testing.T) {
	looks, _ := oneFunction(lagBlocks + lagBlocks/4 + 100)
	for _, first := range []int{looks.lags.look.first, looks.lags.look.first + 1} { // + 1: odd
		c := *looks
		c.blocks = slices.Clone(c.blocks)
		c.lags.look.first = first
		c.blocks[first-2].lags = lagged{} // as between looks
		for _, joined := range []bool{false, true} {
			if joined {
				c.halve()
			}
			r := c.seen(0)
			if r == nil {
				t.Fatal("nothing to fit")
			}
			x := make([]float64, r.width())
			for j := range lagPeriods {
				r.lag = lag{j, 1}
				for i := range r.c.blocks {
					r.dense(i, x)
					if want := r.c.blocks[i].span * 1e-6; math.Abs(x[0]/want-1) > 0.1 {
						t.Errorf("from %d, joined %v: %g periods, block %d: %g ms, want %g",
							first, joined, lagPeriods[j], i, x[0], want)
					}
				}
			}
		}
	}
}

// What ran before a later look and not in it is hidden where the look begins, and not in the way.
func TestLaterLookOfAnotherFunction(t *testing.T) {
	const first = lagBlocks + lagBlocks/4
	c, _ := oneFunction(first)
	for range (lagBlocks - 1) * blockPeriods {
		c.add(1e6, []float64{1e4}, []Entry{{First + 1, 1e6}}, true)
	}
	if l := c.lags.look; l.state != looking || l.first != first {
		t.Fatalf("%+v, want a look from block %d on", l, first)
	}
	r := c.seen(0)
	if r == nil {
		t.Fatal("nothing to fit")
	}
	if i := r.of(First); i < 0 {
		t.Errorf("the function that ran before has no column")
	}
	if _, ok := r.powers(); !ok {
		t.Errorf("no powers")
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
