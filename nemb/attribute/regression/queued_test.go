package regression

import (
	"math"
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
		if r.use(r.functions()); r.waited(grouping{}) != nil {
			t.Error("no thread waited")
		}
	}
}

// waitsNow plays two functions of 20 and 5 W that are called at random for 0.5 ms in blocks of 10 ms. wait is for how
// long the program waits in a block for a processor, in how many parts: one is in one function, many are in both.
func waitsNow(seed uint64, tells bool, wait func(block int, random *rand.Rand) (ms, turns float64)) (fit *Fit, truth map[Column]float64) {
	random := rand.New(rand.NewPCG(seed, 3))
	d := NewData([]Counter{{0, 1e6}}, nil)
	truth = map[Column]float64{}
	var run [2]float64
	for i := range 600 {
		wait, turns := wait(i, random)
		used, left := [2]float64{}, 10-wait
		for left > 0 {
			t := min(left, 0.5)
			used[random.IntN(2)] += t
			left -= t
		}
		in := used
		if turns > 1 {
			for k := range in {
				in[k] += wait * used[k] / (10 - wait)
			}
		} else if random.Float64()*(10-wait) < used[0] {
			in[0] += wait
		} else {
			in[1] += wait
		}
		w := Window{Wall: 1e6, Spent: []float64{(20*used[0] + 5*used[1]) * 1e2}, Moved: []bool{true}}
		for k := range used {
			run[k] += used[k]
			if in[k] > 0 {
				w.Times = append(w.Times, Entry{First + Column(k), float32(in[k] * (10 - wait) / 10 * 1e5)})
			}
		}
		if tells {
			w.Queued, w.Turns, w.Away, w.Between = wait*1e5, turns/10, wait*1e5, 2e6
		}
		for range 10 {
			d.Add(w)
		}
	}
	truth[First], truth[First+1] = 20*run[0]*1e3, 5*run[1]*1e3
	runs := map[Column]Run{First: {Time: run[0] * 1e6, Count: run[0] * 2}, First + 1: {Time: run[1] * 1e6, Count: run[1] * 2}}
	return d.Fits([]float64{0}, runs)[0], truth
}

// A machine that is busy for a second at a time, and stops the program for some microseconds often, hides nothing of its
// functions. Where it stops it for long now and then, intervals have what that hides.
func TestWaitsNowAndThen(t *testing.T) {
	busy := func(block int, _ *rand.Rand) (ms, turns float64) {
		if block/100%2 == 0 {
			return 0, 0
		}
		return 3, 150
	}
	long := func(_ int, random *rand.Rand) (ms, turns float64) {
		if random.IntN(4) > 0 {
			return 0, 0
		}
		return 4, 1
	}
	misses := func(tells bool) (missed int) {
		for seed := range uint64(20) {
			fit, truth := waitsNow(seed, tells, long)
			for k, want := range truth {
				if e := fit.Columns[k]; math.Abs(e.Energy-want) > e.HalfWidth {
					missed++
				}
			}
		}
		return missed
	}
	fit, truth := waitsNow(1, true, busy)
	for k, want := range truth {
		e := fit.Columns[k]
		if math.Abs(e.Energy-want) > e.HalfWidth || e.HalfWidth > 0.02*want {
			t.Errorf("%d: %.3f +- %.3f of it, though no wait is long", k, e.Energy/want, e.HalfWidth/want)
		}
	}
	if n := misses(true); n > 2 {
		t.Errorf("%d of 40 intervals do not hold", n)
	}
	if n := misses(false); n < 20 {
		t.Errorf("%d of 40 intervals do not hold where nothing is told of waits: this test shows nothing", n)
	}
	fit, _ = waitsNow(1, true, long)
	for k, e := range fit.Columns {
		if k >= First && e.HalfWidth > 0.08*e.Energy {
			t.Errorf("%d: +- %.3f where waits are told", k, e.HalfWidth/e.Energy)
		}
	}
}

// besideOthers is what windows of 1 ms show of two functions of 20 and 5 W that run for some time in one go on a processor
// that others want each other half of a second: then they have it for two thirds of the time, in their turns.
func besideOthers(seed uint64, goes float64) (fit *Fit, truth map[Column]float64) {
	const grain = 0.05 // ms
	random := rand.New(rand.NewPCG(seed, 9))
	d := NewData([]Counter{{0, 1e6}}, nil)
	truth = map[Column]float64{}
	function, left, turn, waits := 0, 0.0, 0.0, false
	var ran, count [2]float64
	for i := range 4000 {
		var used, in [2]float64
		wait, turns := 0.0, 0.0
		for range int(1 / grain) {
			if turn <= 0 {
				waits = !waits && i/500%2 > 0
				turn = 0.3 * random.ExpFloat64()
				if waits {
					turn *= 2
				} else {
					turns++
				}
			}
			if left <= 0 {
				function, left = random.IntN(2), goes*(0.5+random.Float64())
				count[function]++
			}
			in[function] += grain
			if turn -= grain; waits {
				wait += grain
				continue
			}
			left -= grain
			used[function] += grain
		}
		all := used[0] + used[1]
		w := Window{Wall: 1e6, Spent: []float64{(20*used[0] + 5*used[1]) * 1e3}, Moved: []bool{true},
			Queued: wait * 1e6, Turns: turns, Away: wait * 1e6, Between: 2e6}
		for k := range used {
			ran[k] += used[k]
			if in[k] > 0 && all > 0 {
				w.Times = append(w.Times, Entry{First + Column(k), float32(in[k] * all * 1e6)})
			}
		}
		d.Add(w)
	}
	runs := map[Column]Run{}
	for k, watts := range []float64{20, 5} {
		truth[First+Column(k)] = watts * ran[k] * 1e3
		runs[First+Column(k)] = Run{Time: ran[k] * 1e6, Count: count[k]}
	}
	return d.Fits([]float64{0}, runs)[0], truth
}

// Where others have the processor for long, functions that go on for several windows have the times that they ran: their
// intervals have little of the waits. Those of functions that begin and end within a window have all of them.
func TestWaitsOfLongGoes(t *testing.T) {
	for goes, widest := range map[float64]float64{0.5: 10, 5: 0.06} {
		missed, values, width := 0, 0, 0.0
		for seed := range uint64(20) {
			fit, truth := besideOthers(seed, goes)
			for k, want := range truth {
				e := fit.Columns[k]
				values++
				if width = max(width, e.HalfWidth/want); math.Abs(e.Energy-want) > e.HalfWidth {
					missed++
				}
			}
		}
		t.Logf("goes of %g ms: %d of %d missed, widest %.3f", goes, missed, values, width)
		if missed > values/20 || width > widest {
			t.Errorf("goes of %g ms: %d of %d intervals do not hold, half of the widest is %.3f", goes, missed, values, width)
		}
	}
}

// The times of a block are its own where samples and readings are several to a block.
func TestCertainBlocks(t *testing.T) {
	b := func(last, between float64) block {
		return block{span: 10e6, last: last, between: between, queued: 1e6, times: []Entry{{First, 9e6}}}
	}
	r := &regression{c: &collector{blocks: []block{b(1e6, 2e6), b(10e6, 2e6), b(1e6, 8e6)}}}
	if r.findCertain(); !r.certain[0] || r.certain[1] || r.certain[2] {
		t.Errorf("%v", r.certain)
	}
}
