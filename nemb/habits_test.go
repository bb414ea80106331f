package nemb

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// sampledRun is a run of a load between 100 and 400 W whose phases last mean on average, and of a counter that samples a
// part of each 100 ms: its knots, and what was really used from second 1 on, for a length, in joules.
func sampledRun(random *rand.Rand, mean, length float64, p Habits) (k []Knot, from, to, truth float64) {
	const step = 1e-3
	n := int((length + 2) / step)
	watts, left := 100+300*random.Float64(), mean*random.ExpFloat64()
	counted, window, seen := 0.0, 0.0, 0.0
	phase := random.IntN(100)
	k = []Knot{{}}
	for i := range n {
		if left -= step; left < 0 {
			watts, left = 100+300*random.Float64(), mean*random.ExpFloat64()
		}
		if at := float64(i) * step; at >= 1 && at < 1+length {
			truth += watts * step
		}
		if (i+phase)%100 < int(100*p.Part()) {
			window, seen = window+watts, seen+1
		}
		if (i+phase)%100 == 99 && seen > 0 {
			counted += window / seen * 0.1
			window, seen = 0, 0
			k = append(k, Knot{At: float64(i+1) * 1e6, Joules: counted})
		}
	}
	return k, 1e9, (1 + length) * 1e9, truth
}

// Of 400 runs of each kind 95 of 100 have the truth within what the sampling of a part of the time may hide. A constant
// load has next to no such interval, and it shrinks as a span becomes longer.
func TestUnsampled(t *testing.T) {
	p := Habits{Period: 100 * time.Millisecond, Window: 25 * time.Millisecond}
	for _, mean := range []float64{0.005, 0.02, 0.05, 0.1, 0.3, 1, 5} {
		parts := map[float64]float64{}
		for _, length := range []float64{1, 10} {
			random, inside, wide := rand.New(rand.NewPCG(uint64(mean*1e4), uint64(length))), 0, 0.0
			const runs = 400
			for range runs {
				k, from, to, truth := sampledRun(random, mean, length, p)
				span, ok := interpolate(k, from, to)
				if !ok {
					t.Fatal("no span")
				}
				off := p.Unsampled(k, from, to)
				pieces := 0.0
				c := Changes{Habits: p}
				for i, at := 0, from; i < len(k); i++ {
					if c.Add(k[i]); k[i].At <= from {
						c.Until(k[i].At)
					} else if at < to+1e8 { // with the period around its end
						at = k[i].At
						pieces += c.Until(at)
					}
				}
				if pieces = math.Sqrt(pieces); pieces < 0.98*off || pieces > 1.2*off+1e-9 {
					t.Fatalf("%v J in pieces, %v at once", pieces, off)
				}
				wide += off / span.Joules / runs
				if math.Abs(span.Joules-truth) <= off+1e-9*truth {
					inside++
				}
			}
			if inside < runs*95/100 {
				t.Errorf("phases of %v s, %v s: %d of %d inside", mean, length, inside, runs)
			}
			parts[length] = wide
			t.Logf("phases of %v s, %v s: %d of %d inside +-%.1f %%", mean, length, inside, runs, 100*wide)
		}
		if mean < 1 && parts[10] > parts[1]/2 {
			t.Errorf("phases of %v s: +-%v at 10 s, +-%v at 1 s", mean, parts[10], parts[1])
		}
	}
	k, from, to, _ := sampledRun(rand.New(rand.NewPCG(1, 2)), 1e9, 10, p)
	if off := p.Unsampled(k, from, to); off > 1e-6 || (Habits{}).Unsampled(k, from, to) != 0 || p.Unsampled(nil, 1, 2) != 0 {
		t.Errorf("%v J of a constant load", off)
	}
}

// lateRun is a run of a load between 100 and 400 W, of which a counter that moves each 20 ms tells the mean over window,
// delay after it: its knots, and what was really used from second 3 on, for a length.
func lateRun(random *rand.Rand, mean, length float64, h Habits) (k []Knot, from, to, truth float64) {
	const step = 1e-3
	window, delay := h.Window.Seconds(), h.Delay.Seconds()
	n := int((length + 8) / step)
	sums := []float64{0}
	watts, left := 100+300*random.Float64(), mean*random.ExpFloat64()
	for range n {
		if left -= step; left < 0 {
			watts, left = 100+300*random.Float64(), mean*random.ExpFloat64()
		}
		sums = append(sums, sums[len(sums)-1]+watts*step)
	}
	at := func(t float64) float64 { return sums[min(n, max(0, int(math.Round(t/step))))] }
	counted := 0.0
	for t := window + delay; t < length+7; t += h.Period.Seconds() {
		counted += (at(t-delay) - at(t-delay-window)) / window * h.Period.Seconds()
		k = append(k, Knot{At: t * 1e9, Joules: counted})
	}
	return k, 3e9, (3 + length) * 1e9, at(3+length) - at(3)
}

// TestLagOfBursts: a power that is another one just for the span, as of a kernel, which a counter of means tells for the
// most part after it.
func TestLagOfBursts(t *testing.T) {
	const ms = float64(time.Millisecond)
	for _, h := range []Habits{
		{Period: 100 * time.Millisecond, Window: time.Second},
		{Period: 50 * time.Millisecond, Window: 400 * time.Millisecond, Delay: 30 * time.Millisecond},
	} {
		for _, watts := range [][2]float64{{100, 400}, {400, 100}, {0, 300}} {
			around, within := watts[0], watts[1]
			for _, part := range []float64{0.05, 0.1, 0.3, 0.5, 1, 1.5, 1.9, 2, 3} {
				from := 3000*ms + 17*ms
				to := from + part*float64(h.Window)
				drawn := func(t float64) float64 { // in joules, up to t
					return (around*t + (within-around)*(min(max(t, from), to)-from)) * 1e-9
				}
				k, told := []Knot{}, 0.0
				for at := 0.0; at < to+5000*ms; at += float64(h.Period) {
					k = append(k, Knot{At: at, Joules: told})
					end := at + float64(h.Period) - float64(h.Delay)
					mean := (drawn(end) - drawn(end-float64(h.Window))) / float64(h.Window)
					told += mean * float64(h.Period)
				}
				figure, truth, off := joulesAt(k, to)-joulesAt(k, from), drawn(to)-drawn(from), h.Off(k, from, to)
				// A span begins within a period: what that has is divided evenly.
				if math.Abs(figure-truth) > off+math.Abs(within-around)*float64(h.Period)*1e-9/10 {
					t.Errorf("%v of %v: %v W for %v windows beside %v W: %.1f J are told of %.1f, +-%.1f", h.Window,
						h.Period, within, part, around, figure, truth, off)
				}
			}
		}
	}
}

// Where the counter is late, or tells the mean of a longer time, 95 of 100 runs have the truth within what that may
// hide. It is a part of what is drawn at the ends, so its share shrinks with the span.
func TestLag(t *testing.T) {
	for _, h := range []Habits{
		{Period: 20 * time.Millisecond, Window: 20 * time.Millisecond, Delay: 100 * time.Millisecond},
		{Period: 100 * time.Millisecond, Window: time.Second, Delay: 50 * time.Millisecond},
	} {
		for _, mean := range []float64{0.05, 0.3, 1, 5} {
			parts := map[float64]float64{}
			for _, length := range []float64{1, 10} {
				random, inside, wide := rand.New(rand.NewPCG(uint64(mean*1e4), uint64(length))), 0, 0.0
				const runs = 200
				for range runs {
					k, from, to, truth := lateRun(random, mean, length, h)
					span, ok := interpolate(k, from, to)
					if !ok {
						t.Fatal("no span")
					}
					off := h.Off(k, from, to)
					wide += off / span.Joules / runs
					if math.Abs(span.Joules-truth) <= off+2*0.4 { // and what is drawn between two samples of it
						inside++
					}
				}
				if inside < runs*95/100 {
					t.Errorf("%v of %v, %v late: phases of %v s, %v s: %d of %d inside", h.Window, h.Period, h.Delay, mean, length, inside, runs)
				}
				parts[length] = wide
				t.Logf("%v of %v, %v late: phases of %v s, %v s: %d of %d inside +-%.1f %%", h.Window, h.Period, h.Delay, mean, length, inside, runs, 100*wide)
			}
			if parts[10] > parts[1]/2 {
				t.Errorf("phases of %v s: +-%v at 10 s, +-%v at 1 s", mean, parts[10], parts[1])
			}
		}
	}
	k, from, to, _ := lateRun(rand.New(rand.NewPCG(1, 2)), 1e9, 10, Habits{Period: 1e8, Window: 1e9, Delay: 5e7})
	if off := (Habits{Period: 1e8, Window: 1e9, Delay: 5e7}).Off(k, from, to); off > 1e-6 {
		t.Errorf("%v J of a constant load", off)
	}
}
