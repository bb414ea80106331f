package regression

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Two functions of 20 and 5 W, and a neighbour on another processor. By processor time each window's energy is half of
// the neighbour's where it runs, and the powers of functions come out too near to each other. As a column, it leaves
// the functions what is theirs: nearly exactly, where it draws the mean power, and within the interval, where not.
func TestNeighbours(t *testing.T) {
	for _, watts := range []float64{12.5, 20, 6} {
		random := rand.New(rand.NewPCG(1, 2))
		d, truth := NewData([]Counter{{0, 1e6}}, nil), map[Column]float64{}
		alone := NewData([]Counter{{0, 1e6}}, nil)
		others, left := 0.0, 0
		for range 20000 {
			if left--; left < 0 { // in bursts of some 40 ms
				others, left = 1e6-others, 10+random.IntN(60)
			}
			a := 1e6 * random.Float64()
			e := (20*a + 5*(1e6-a)) * 1e-3
			truth[First] += 20 * a * 1e-3
			truth[First+1] += 5 * (1e6 - a) * 1e-3
			all := e + watts*others*1e-3
			w := Window{Wall: 1e6, Spent: []float64{all * 1e6 / (1e6 + others)}, Moved: []bool{true},
				Times: []Entry{{First, float32(a)}, {First + 1, float32(1e6 - a)}}}
			alone.Add(w)
			w.Beside = Beside{Time: others, Spent: []float64{all - w.Spent[0]}}
			d.Add(w)
		}
		before := alone.Fits([]float64{0}, nil)[0]
		f := d.Fits([]float64{0}, nil)[0]
		if f == nil || f.Beside == nil || f.Columns[First] == nil || f.Columns[First+1] == nil {
			t.Fatalf("%g W: %+v", watts, f)
		}
		for k, want := range truth {
			e := f.Columns[k]
			if off := e.Energy - want; off < -e.HalfWidth || off > e.HalfWidth {
				t.Errorf("%g W: column %d has %.0f +- %.0f uJ, want %.0f", watts, k, e.Energy, e.HalfWidth, want)
			}
			if watts == 12.5 && (e.Energy < 0.95*want || e.Energy > 1.05*want) {
				t.Errorf("column %d has %.0f uJ, want %.0f", k, e.Energy, want)
			}
		}
		if ratio := before.Columns[First].Power / before.Columns[First+1].Power; ratio > 3.7 {
			t.Errorf("%g W: without the column the functions are %.1f to 1: this test shows nothing", watts, ratio)
		}
	}
}

// What other processes used is told in ticks of 10 ms. In blocks as long as that a neighbour's bursts of some 60 ms are
// lost; joined ones show its power, and the functions and the program are told by it.
//
// On a core that both share they draw 65 % of what they do alone. Then the neighbour seems to draw less than it does,
// and the intervals have that.
func TestNeighboursInTicks(t *testing.T) {
	for _, of := range []struct{ watts, shared, self, program float64 }{ // and the widest intervals, as parts
		{12.5, 1, 0.3, 0.1}, {20, 1, 0.65, 0.3}, {16, 0.65, 2, 1},
	} {
		watts := of.watts
		f, truth := inTicks(t, 600, rand.New(rand.NewPCG(5, 6)), watts, of.shared)
		program := truth[First] + truth[First+1]
		for k, want := range truth {
			if e := f.Columns[k]; math.Abs(e.Energy-want) > e.HalfWidth || e.HalfWidth > of.self*e.Energy {
				t.Errorf("%g W: column %d has %.0f +- %.0f uJ, want %.0f", watts, k, e.Energy, e.HalfWidth, want)
			}
		}
		if got := f.Whole - f.Beside.Energy; math.Abs(got-program) > f.Beside.HalfWidth || f.Beside.HalfWidth > of.program*program {
			t.Errorf("%g W: the program has %.0f +- %.0f uJ, want %.0f", watts, got, f.Beside.HalfWidth, program)
		}
	}
}

// A neighbour that draws the mean power has what it used, in the mean of many runs, and the functions have theirs: ticks
// make its time in a block too long and too short by turns, and it loses nothing by that.
func TestTicksTakeNothing(t *testing.T) {
	const runs = 20
	off, least := 0.0, 0.0
	for seed := range uint64(runs) {
		f, truth := inTicks(t, 6000, rand.New(rand.NewPCG(seed, 7)), 12.5, 1)
		program := truth[First] + truth[First+1]
		off += ((f.Whole-f.Beside.Energy)/program - 1) / runs
		least += (f.Columns[First+1].Energy/truth[First+1] - 1) / runs
	}
	if math.Abs(off) > 0.005 || math.Abs(least) > 0.03 {
		t.Errorf("the program has %+.1f %% of its energy, and what draws 5 W %+.1f %%", 100*off, 100*least)
	}
}

// inTicks is what so many windows of 10 ms show of two functions of 20 and 5 W beside a neighbour of bursts of some 60 ms,
// whose time is told in ticks, and the functions' true energies. While it runs, all draw that part of their power.
func inTicks(t *testing.T, windows int, random *rand.Rand, watts, shared float64) (*Fit, map[Column]float64) {
	t.Helper()
	d, truth := NewData([]Counter{{0, 1e6}}, nil), map[Column]float64{}
	runs, left, told, used := false, 0.0, 0.0, 0.0
	for range windows {
		others := 0.0
		for rest := 10e6; rest > 0; {
			if left <= 0 {
				runs, left = !runs, (20+80*random.Float64())*1e6
			}
			part := min(rest, left)
			if rest, left = rest-part, left-part; runs {
				others += part
			}
		}
		a := 10e6 * (0.3 + 0.4*random.Float64())
		level := 1 - (1-shared)*others/10e6
		e := level * (20*a + 5*(10e6-a)) * 1e-3
		truth[First] += level * 20 * a * 1e-3
		truth[First+1] += level * 5 * (10e6 - a) * 1e-3
		used += others
		now := math.Floor(used/10e6)*10e6 - told
		told += now
		all := e + shared*watts*others*1e-3
		part := all * 10e6 / (10e6 + now)
		d.Add(Window{Wall: 10e6, Spent: []float64{part}, Moved: []bool{true},
			Times:  []Entry{{First, float32(a)}, {First + 1, float32(10e6 - a)}},
			Beside: Beside{Time: now, Ticks: now, Spent: []float64{all - part}}})
	}
	f := d.Fits([]float64{0}, nil)[0]
	if f == nil || f.Beside == nil || f.Columns[First] == nil {
		t.Fatalf("%g W: %+v", watts, f)
	}
	return f, truth
}

// What ran beside the program for no hundredth of its time is no column.
func TestFewNeighbours(t *testing.T) {
	d := NewData([]Counter{{0, 1e6}}, nil)
	for i := range 2000 {
		d.Add(Window{Wall: 1e6, Spent: []float64{1e4}, Moved: []bool{true}, Times: []Entry{{First + Column(i/20%2), 1e6}},
			Beside: Beside{Time: 1e3, Spent: []float64{10}}})
	}
	if f := d.Fits([]float64{0}, nil)[0]; f == nil || f.Beside != nil || f.Columns[Neighbours] != nil {
		t.Errorf("%+v", f)
	}
}

// What runs beside the program is told late: half of it in the window that follows. Its power comes out too low, and
// the others have the rest: their intervals, and that of the program, have the truth all the same.
func TestLateNeighbours(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	d := NewData([]Counter{{0, 1e6}}, nil)
	truth, program, told := 0.0, 0.0, 0.0
	for range 20000 {
		a, own := 1e6*random.Float64(), 0.0
		if random.IntN(10) == 0 {
			own = 1e6
		}
		e := (20*a + 5*(1e6-a)) * 1e-3
		truth += 20 * a * 1e-3
		program += e
		all, now := e+16*own*1e-3, told+own/2
		told = own / 2
		part := all * 1e6 / (1e6 + now)
		d.Add(Window{Wall: 1e6, Spent: []float64{part}, Moved: []bool{true},
			Times:  []Entry{{First, float32(a)}, {First + 1, float32(1e6 - a)}},
			Beside: Beside{Time: now, Spent: []float64{all - part}}})
	}
	f := d.Fits([]float64{0}, nil)[0]
	if f == nil || f.Beside == nil || f.Columns[First] == nil {
		t.Fatalf("%+v", f)
	}
	if e := f.Columns[First]; math.Abs(e.Energy-truth) > e.HalfWidth || e.Blur <= 0 {
		t.Errorf("%.0f +- %.0f uJ, want %.0f", e.Energy, e.HalfWidth, truth)
	}
	if got := f.Whole - f.Beside.Energy; math.Abs(got-program) > f.Beside.HalfWidth {
		t.Errorf("the program has %.0f +- %.0f uJ, want %.0f", got, f.Beside.HalfWidth, program)
	}
}

// Eight blocks allow two columns. Beside a neighbour they would be its and that of what is outside of the functions: the
// energies by processor time tell the function.
func TestNeighboursTakeNoColumn(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	d := NewData([]Counter{{0, 1e6}}, nil)
	for range minBlocks {
		others, a := (3+17*random.Float64())*1e6, (2+3*random.Float64())*1e6
		program, beside := (20*a+5*(10e6-a))*1e-3, 10*others*1e-3
		part := (program + beside) * 10e6 / (10e6 + others)
		d.Add(Window{Wall: 10e6, Spent: []float64{part}, Moved: []bool{true},
			Times:  []Entry{{Outside, float32(10e6 - a)}, {First, float32(a)}},
			Beside: Beside{Time: others, Spent: []float64{program + beside - part}}})
	}
	c := d.collectors[0]
	f := d.Fits([]float64{0}, nil)[0]
	if beside := c.fitBeside(0, nil); beside == nil || beside.Columns[First] != nil {
		t.Errorf("with the neighbour: %+v: this test shows nothing", beside)
	}
	if f == nil || f.Columns[First] == nil || f.Columns[First].Reason != Resolved {
		t.Errorf("%+v", f)
	}
}

// A fit tells all there is to tell if each function that could have a column has one, and a power.
func TestTellsAll(t *testing.T) {
	one := func(reason Reason) *Estimate { return &Estimate{Reason: reason} }
	for name, of := range map[string]struct {
		columns map[Column]*Estimate
		want    bool
	}{
		"nobody":      {map[Column]*Estimate{Neighbours: one(Resolved), Outside: one(Resolved)}, false},
		"a function":  {map[Column]*Estimate{Neighbours: one(Resolved), Outside: one(Noisy), First: one(Resolved)}, true},
		"one unknown": {map[Column]*Estimate{First: one(Resolved), First + 1: one(Collinear)}, false},
	} {
		if got := (&Fit{Columns: of.columns}).tellsAll(); got != of.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Counters of different periods have blocks of their own of the same windows, and each shows what it shows alone.
func TestNeighboursOfCountersOfDifferentPeriods(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	both, alone := NewData([]Counter{{0, 2e6}, {1, 1e6}}, nil), NewData([]Counter{{1, 1e6}}, nil)
	times := make([]Entry, 0, 8) // which all windows take in turn, as timesOf does
	for range 5000 {
		a, others := 1e6*random.Float64(), 1e6*random.Float64()
		program, beside := (20*a+5*(1e6-a))*1e-3, 10*others*1e-3
		times = append(times[:0], Entry{First, float32(a)}, Entry{First + 1, float32(1e6 - a)})
		w := Window{Wall: 1e6, Spent: []float64{program, program}, Moved: []bool{true, true}, Times: times,
			Beside: Beside{Time: others, Spent: []float64{beside, beside}}}
		both.Add(w)
		alone.Add(w)
	}
	f, want := both.Fits([]float64{0, 0}, nil)[1], alone.Fits([]float64{0, 0}, nil)[1]
	if f == nil {
		t.Fatal("nothing is found")
	}
	for k, e := range want.Columns {
		if got := f.Columns[k]; got == nil || got.Energy != e.Energy || got.HalfWidth != e.HalfWidth {
			t.Errorf("column %d has %+v, alone %+v", k, got, e)
		}
	}
}
