package habits

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const ms = 1e6

// square is the load of Lengths from second 1 on.
func square() (load []Busy) {
	at := 1e9
	for i, length := range Lengths() {
		if i%2 == 0 {
			load = append(load, Busy{at, at + float64(length)})
		}
		at += float64(length)
	}
	return load
}

// device is a GPU that draws 80 W idle and 400 W busy, and tells of it by habits.
type device struct {
	period, window, delay float64 // ns
	noise                 float64 // of a power, as a part of it
	load                  load
	random                *rand.Rand
}

// trace is what is read of the device each millisecond or, once in 50 times, after 8 of them.
func (d *device) trace(counts bool) Trace {
	t := Trace{Name: "reading", Counts: counts}
	joules, value, before, next := 0.0, 0.0, 0.0, d.period*(0.1+0.8*d.random.Float64())
	for at := 0.5e9; at < d.load.last()+1e9; {
		for ; next <= at; next += d.period {
			end := next - d.delay
			watts := 80 + 320*(d.load.until(end)-d.load.until(end-d.window))/d.window
			watts *= 1 + d.noise*d.random.NormFloat64()
			if value = math.Round(watts*1e3) / 1e3; counts {
				joules += watts * d.period * 1e-9
				value = math.Round(joules*1e3) / 1e3
			}
		}
		if n := len(t.Points); n == 0 || t.Points[n-1].Value != value {
			t.Points = append(t.Points, Point{Before: before, At: at, Value: value})
		}
		before = at
		if at += ms * (1 + 0.1*d.random.Float64()); d.random.IntN(50) == 0 {
			at += 7 * ms
		}
	}
	return t
}

// Of readings with each kind of habit the period, the window and the delay are found within the stated error, and that
// is small.
func TestFit(t *testing.T) {
	for _, test := range []struct {
		name                  string
		period, window, delay float64 // ms
		counts                bool
	}{
		{"a quarter is sampled, counted", 100, 25, 0, true},
		{"a quarter is sampled, counted late", 100, 25, 40, true},
		{"a quarter is sampled, told", 100, 25, 10, false},
		{"half is sampled", 20, 10, 3, true},
		{"all is sampled, counted", 100, 100, 0, true},
		{"all is sampled, told", 100, 100, 20, false},
		{"the mean of a second, told", 100, 1000, 0, false},
		{"the mean of a second, counted", 100, 1000, 50, true},
		{"each 2 ms", 2, 2, 5, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inside, runs := 0, 3
			for seed := range runs {
				d := device{test.period * ms, test.window * ms, test.delay * ms, 0.02, newLoad(square()), rand.New(rand.NewPCG(1, uint64(seed)))}
				f, err := Fit(square(), d.trace(test.counts))
				if err != nil {
					t.Fatal(err)
				}
				if off := math.Abs(float64(f.Period)/(test.period*ms) - 1); off > 0.02 && math.Abs(float64(f.Period)-test.period*ms) > 0.2*ms {
					t.Errorf("period %v", f.Period)
				}
				w, l := math.Abs(float64(f.Window)-test.window*ms), math.Abs(float64(f.Delay)-test.delay*ms)
				if w <= float64(f.WindowOff) && l <= float64(f.DelayOff) {
					inside++
				} else {
					t.Logf("%+v", f)
				}
				if float64(f.WindowOff) > 15*ms+0.15*test.window*ms || float64(f.DelayOff) > 15*ms+0.15*test.window*ms {
					t.Errorf("the error is large: %+v", f)
				}
				if math.Abs(f.IdleWatts-80) > 8 || math.Abs(f.RunWatts-400) > 20 {
					t.Errorf("%v W to %v W", f.IdleWatts, f.RunWatts)
				}
				if seed == 0 {
					t.Logf("%+v", f)
				}
			}
			if inside < runs-1 {
				t.Errorf("%d of %d inside", inside, runs)
			}
		})
	}
}

// A reading that does not follow the load, and one that does not move, tell nothing.
func TestFitRefuses(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	d := device{100 * ms, 100 * ms, 0, 0.02, newLoad(square()), random}
	other := d.trace(false)
	for i := range other.Points {
		other.Points[i].Value = random.Float64()
	}
	if _, err := Fit(square(), other); !errors.Is(err, ErrUnlike) {
		t.Errorf("%v", err)
	}
	for _, trace := range []Trace{{}, {Points: other.Points[:5]}} {
		if _, err := Fit(square(), trace); !errors.Is(err, ErrFew) {
			t.Errorf("%v", err)
		}
	}
	if _, err := Fit(nil, other); !errors.Is(err, ErrFew) {
		t.Errorf("%v", err)
	}
}

// The load has the length that doctor says, and is no regular one: it does not keep step with any period.
func TestLengths(t *testing.T) {
	sum, seen := time.Duration(0), map[time.Duration]bool{}
	for _, l := range Lengths() {
		sum += l
		seen[l] = true
	}
	if sum < 9*time.Second || sum > 13*time.Second || len(seen) < 50 || len(Lengths())%2 == 0 {
		t.Errorf("%v, %d lengths", sum, len(seen))
	}
}
