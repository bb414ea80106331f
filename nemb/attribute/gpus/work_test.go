package gpus

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// Three kernels of different power run one after the other, each for two seconds: each has what the counter shows of
// its time, within 5 %.
func TestByWorkOfPhases(t *testing.T) {
	const idle = 50.0
	powers := []float64{100, 300, 40}
	c := Curve{Knots: []nemb.Knot{{}}, To: 9 * second, Period: 100 * time.Millisecond}
	w, l, sum := &Work{}, logOf(), 0.0
	for i := range 90 {
		watts := idle
		if k := (i - 20) / 20; i >= 20 && k < 3 {
			watts += powers[k]
			w.Add(k, checkpoint.Instant(i)*second/10, checkpoint.Instant(i+1)*second/10)
		}
		sum += watts / 10
		c.Knots = append(c.Knots, nemb.Knot{At: float64(i+1) * 1e8, Joules: sum})
	}
	c.Total = nemb.Energy(math.Round(sum * 1e6))
	for s := 1; s <= 9; s++ {
		if s > 2 && s <= 8 {
			l.Add(told(s, []int{mine}, use(mine, 1)), owner)
		} else {
			l.Add(told(s, nil), owner)
		}
	}
	d := l.Divide(c, nemb.IdlePower{})
	parts, rest := d.ByWork(c, w)
	for k, p := range parts {
		if want := 2 * powers[k]; math.Abs(p.Energy.Joules()-want) > 0.05*want || p.Lo > want*1e6 || p.Hi < want*1e6 {
			t.Errorf("kernel %d: %v J in [%v, %v] uJ, want %v J", k, p.Energy.Joules(), p.Lo, p.Hi, want)
		}
		if wide := (p.Hi - p.Lo) / float64(p.Energy); wide > 2.2 {
			t.Errorf("kernel %d: the interval is %v of the energy", k, wide)
		}
	}
	if rest+sumOf(parts) != d.Program || rest.Joules() > 1 {
		t.Errorf("%v between kernels", rest)
	}
}

func sumOf(parts []Part) (e nemb.Energy) {
	for _, p := range parts {
		e += p.Energy
	}
	return e
}

// An activity of a day takes no more memory than others: slots become wider while it is added.
func TestLongActivity(t *testing.T) {
	w := &Work{Longest: 1000}
	allocated := testing.AllocsPerRun(1, func() { w.Add(0, 0, checkpoint.Instant(24*time.Hour)) }) // twice
	if w.n > w.Longest || allocated > 100*float64(w.Longest) {
		t.Errorf("%d portions, %g allocations", w.n, allocated)
	}
	if got := w.sweep().between(0, 48*3600e9)[0].ns; math.Abs(got-2*24*3600e9) > 1e-9*got {
		t.Errorf("%g ns", got)
	}
}

// What runs while the counter does not move shares by time, and the interval says that one may have drawn all.
func TestByWorkSharesByTime(t *testing.T) {
	w := &Work{}
	w.Add(0, 2*second, 2*second+second/4)
	w.Add(1, 2*second+second/4, 3*second)
	d := logOf(told(1, nil), told(2, nil), told(3, []int{mine}, use(mine, 1)), told(4, nil)).Divide(curve(50, 50, 250, 50), nemb.IdlePower{})
	parts, rest := d.ByWork(curve(50, 50, 250, 50), w)
	if parts[0].Energy != 50e6 || parts[1].Energy != 150e6 || rest != 0 {
		t.Errorf("%+v, %v", parts, rest)
	}
}

// What runs while the counter does not move shares by time and weight where weights are known, at the time or at others;
// what has none, such as copies, has its part by time.
func TestByWorkSharesByWeight(t *testing.T) {
	w, part := &Work{}, func(i checkpoint.Instant) checkpoint.Instant { return 2*second + i*second/100 }
	for i := checkpoint.Instant(0); i < 100; i += 4 { // three kernels and a copy take turns
		w.AddWeighed(0, part(i), part(i+1), 0.25)
		w.AddWeighed(1, part(i+1), part(i+2), 0.75)
		known := 0.5
		if i < 40 {
			known = math.NaN()
		}
		w.AddWeighed(2, part(i+2), part(i+3), known)
		w.Add(3, part(i+3), part(i+4))
	}
	d := logOf(told(1, nil), told(2, nil), told(3, []int{mine}, use(mine, 1)), told(4, nil)).Divide(curve(50, 50, 250, 50), nemb.IdlePower{})
	parts, rest := d.ByWork(curve(50, 50, 250, 50), w)
	for k, want := range []nemb.Energy{25e6, 75e6, 50e6, 50e6} {
		if p := parts[k]; p.Energy != want || p.Lo > float64(want) || p.Hi < float64(want) {
			t.Errorf("%d: %+v, want %v", k, p, want)
		}
	}
	if rest != 0 {
		t.Errorf("%v between", rest)
	}
}

// In each window a part that is by weight lies between its bounds, also where it has more power than all together.
func TestByWorkBoundsByWeight(t *testing.T) {
	v := &byWork{division: &Division{}, work: &Work{}, most: 1, energy: make([]float64, 2), lo: make([]float64, 2), hi: make([]float64, 2),
		squares: make([]float64, 2)}
	of := workWindow{length: 100, energy: 100, busy: 100, ran: map[int]portion{
		0: {key: 0, ns: 10, could: 10, known: 10, weight: 10},
		1: {key: 1, ns: 90, could: 90, known: 90, weight: 0.9},
	}}
	v.divide(of, nil)
	for k := range v.energy {
		if v.lo[k] > v.energy[k] || v.hi[k] < v.energy[k] {
			t.Errorf("%d: %v is not in %v to %v", k, v.energy[k], v.lo[k], v.hi[k])
		}
	}
	if v.energy[0] < 50 {
		t.Errorf("%v: the weight has no effect", v.energy)
	}
}

// However much runs: a Work keeps a bounded number of portions, and all of the time.
func TestWorkIsBounded(t *testing.T) {
	w := &Work{Longest: 100}
	const n = 5000
	for i := range n {
		w.Add(i%3, checkpoint.Instant(i)*second, checkpoint.Instant(i)*second+second/2)
	}
	sums := w.sweep().between(0, 2*n*1e9)
	if w.n > 100 || math.Abs(sums[0].ns+sums[1].ns+sums[2].ns-n*0.5e9) > 1 {
		t.Errorf("%d portions, %v", w.n, sums)
	}
}

// Whatever ran: the parts and the rest are the program's energy, and each lies in its interval.
func FuzzByWork(f *testing.F) {
	f.Add(uint64(1), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		random := rand.New(rand.NewPCG(seed, 5))
		w, l := &Work{}, logOf()
		var watts []float64
		for s := range 8 {
			watts = append(watts, random.Float64()*300)
			if random.IntN(3) == 0 {
				l.Add(told(s+1, []int{mine, others}, use(mine, random.Float64()), use(others, random.Float64())), owner)
			} else {
				l.Add(told(s+1, nil), owner)
			}
		}
		for range n {
			from := checkpoint.Instant(random.Int64N(int64(9 * second)))
			to := from + checkpoint.Instant(random.Int64N(int64(second)))
			w.AddWeighed(random.IntN(4), from, to, []float64{math.NaN(), 0, random.Float64(), -1}[random.IntN(4)])
		}
		c := curve(watts...)
		d := l.Divide(c, nemb.IdlePower{})
		parts, rest := d.ByWork(c, w)
		if rest+sumOf(parts) != d.Program {
			t.Fatalf("%v and %v, want %v", parts, rest, d.Program)
		}
		for _, p := range parts {
			if e := float64(p.Energy); !(0 <= p.Lo && p.Lo <= e && e <= p.Hi) || math.IsNaN(p.Hi) {
				t.Fatalf("%+v", p)
			}
		}
	})
}

// Three kernels of random powers and times are launched at once and waited for at the end, or an event tells when the
// first was over: the truth is in each interval.
func TestByWorkOfLaunches(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		const idle = 50.0
		var powers, joules [3]float64
		var ends [4]checkpoint.Instant
		ends[0], ends[3] = 2*second, 8*second
		ends[1] = 2*second + checkpoint.Instant(r.Int64N(int64(5*second)))
		ends[2] = ends[1] + checkpoint.Instant(r.Int64N(int64(8*second-ends[1])))
		for k := range powers {
			powers[k] = 20 + 380*r.Float64()
			joules[k] = powers[k] * float64(ends[k+1]-ends[k]) / 1e9
		}
		w, from := &Work{}, 2*second
		if seed%2 == 1 {
			w.AddWithin(0, Flight{From: from, To: ends[1], Since: from, Done: ends[1]})
			from = ends[1]
		} else {
			w.AddWithin(0, Flight{From: from, To: 4 * second, Since: from, Done: 8 * second})
		}
		middle := (from + 8*second) / 2
		w.AddWithin(1, Flight{From: from, To: middle, Since: from, Done: 8 * second})
		w.AddWithin(2, Flight{From: middle, To: 8 * second, Since: from, Done: 8 * second})
		c, l, sum := Curve{Knots: []nemb.Knot{{}}, To: 9 * second, Period: 100 * time.Millisecond}, logOf(), 0.0
		for i := range checkpoint.Instant(90) {
			at, until := i*second/10, (i+1)*second/10
			sum += idle / 10
			for k := range powers {
				sum += powers[k] * max(0, float64(min(until, ends[k+1])-max(at, ends[k]))) / 1e9
			}
			c.Knots = append(c.Knots, nemb.Knot{At: float64(until), Joules: sum})
		}
		c.Total = nemb.Energy(math.Round(sum * 1e6))
		for s := 1; s <= 9; s++ {
			if s > 2 && s <= 8 {
				l.Add(told(s, []int{mine}, use(mine, 1)), owner)
			} else {
				l.Add(told(s, nil), owner)
			}
		}
		d := l.Divide(c, nemb.IdlePower{})
		parts, rest := d.ByWork(c, w)
		for k, p := range parts {
			if want := joules[k] * 1e6; p.Lo > want*1.001 || p.Hi < want*0.999 {
				t.Errorf("seed %d, kernel %d: %v J in [%v, %v] uJ, want %v J", seed, k, p.Energy.Joules(), p.Lo, p.Hi, joules[k])
			}
		}
		if seed%2 == 1 && ends[1]-ends[0] > 2*second && parts[0].Hi-parts[0].Lo > 2.5*float64(parts[0].Energy)+5e7 {
			t.Errorf("seed %d: [%v, %v] of a known time", seed, parts[0].Lo, parts[0].Hi)
		}
		if rest+sumOf(parts) != d.Program {
			t.Errorf("seed %d: %v between kernels", seed, rest)
		}
	}
}
