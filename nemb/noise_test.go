package nemb

import (
	"math"
	"testing"
	"time"

	"cg/checkpoint"
)

// powered is a series of so many samples, one each interval, of a machine whose
// power in the window before sample i is watts(i). Those that lost names did
// not come.
func powered(n int, interval time.Duration, watts func(i int) float64, lost func(i int) bool) Series {
	s := Series{Domains: []Domain{{ID: "package-0", InTotal: true}, {ID: "core", Parent: "package-0"}}}
	e := 0.0
	for i := range n {
		if i > 0 {
			e += watts(i) * interval.Seconds() * 1e6
		}
		if !lost(i) {
			s.Samples = append(s.Samples, Sample{Time: checkpoint.Instant(1e9) + checkpoint.Instant(i)*checkpoint.Instant(interval), Energy: []Energy{Energy(math.Round(e)), 7}})
		}
	}
	return s
}

func never(int) bool { return false }

func thin(s Series, limit int) Series {
	r := Recording{Limit: limit, Domains: s.Domains}
	for _, sample := range s.Samples {
		r.Add(sample)
	}
	s.Samples, s.Interval = r.Samples(), r.Interval()
	return s
}

func TestNoise(t *testing.T) {
	const ms = time.Millisecond
	at := func(d time.Duration) checkpoint.Instant { return checkpoint.Instant(1e9) + checkpoint.Instant(d) }
	steady := func(int) float64 { return 20 }
	two := func(i int) float64 { return 10 + 20*float64(i&1) } // mean 20 W, std 10 W
	tests := []struct {
		name       string
		series     Series
		begin, end time.Duration
		want       Noise
	}{
		{"steady", powered(1001, 10*ms, steady, never), 0, 10 * time.Second,
			Noise{Captured: 1001, Expected: 1001, Observed: true, Interval: 10 * ms, Known: true, Windows: 1000, Window: 10 * ms, Mean: 20}},
		{"two powers", powered(1001, 10*ms, two, never), 0, 10 * time.Second,
			Noise{Captured: 1001, Expected: 1001, Observed: true, Interval: 10 * ms, Known: true, Windows: 1000, Window: 10 * ms, Mean: 20, Std: 10.0050}},
		{"a part", powered(1001, 10*ms, two, never), 1005 * ms, 2995 * ms,
			Noise{Captured: 199, Expected: 199, Observed: true, Interval: 10 * ms, Known: true, Windows: 198, Window: 10 * ms, Mean: 20, Std: 10.0253}},
		{"a quarter lost", powered(1001, 10*ms, steady, func(i int) bool { return i%4 == 1 }), 0, 10 * time.Second,
			Noise{Captured: 751, Expected: 1000, Observed: true, Interval: 10 * ms, Drop: .249, Known: true, Windows: 750, Window: 10 * time.Second / 750, Mean: 20}},
		{"two samples", powered(1001, 10*ms, steady, func(i int) bool { return i%500 != 0 }), 0, 5 * time.Second,
			Noise{Captured: 2, Expected: 500, Interval: 10 * ms, Drop: .996, Windows: 1}},
		{"between two samples", powered(1001, 10*ms, steady, never), 21 * ms, 22 * ms, Noise{Interval: 10 * ms}},
		{"before all", powered(3, 10*ms, steady, never), -2 * ms, -1 * ms, Noise{Interval: 10 * ms}},
		{"backwards", powered(3, 10*ms, steady, never), 2 * ms, 1 * ms, Noise{Interval: 10 * ms}},
		{"nothing", Series{}, 0, 10, Noise{Interval: 10 * ms}},
		{"no energy", powered(11, 10*ms, func(int) float64 { return 0 }, never), 0, time.Second,
			Noise{Captured: 11, Expected: 11, Observed: true, Interval: 10 * ms, Windows: 10}},
	}
	same := func(a, b Noise) bool {
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-3 }
		ok := near(a.Drop, b.Drop) && near(a.Mean, b.Mean) && near(a.Std, b.Std)
		a.Drop, a.Mean, a.Std, b.Drop, b.Mean, b.Std = 0, 0, 0, 0, 0, 0
		return ok && a == b
	}
	for _, tt := range tests {
		if got := tt.series.Noise(at(tt.begin), at(tt.end), 10*ms); !same(got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
		}
	}

	// A thinned recording tells the same of the whole run, and of a part what
	// its kept samples can: the count is of what was captured.
	for _, limit := range []int{4096, 512, 64} {
		for _, lost := range []func(int) bool{never, func(i int) bool { return i%10 == 3 }} {
			whole := powered(3001, 10*ms, two, lost)
			want := whole.Noise(at(0), at(30*time.Second), 10*ms)
			got := thin(whole, limit).Noise(at(0), at(30*time.Second), 10*ms)
			if got.Captured != want.Captured || math.Abs(got.Mean-want.Mean) > .01 || math.Abs(got.Std-want.Std) > .01 || got.Windows != want.Windows || got.Expected != want.Expected || got.Interval != want.Interval {
				t.Errorf("thinned to %d:\n got %+v\nwant %+v", limit, got, want)
			}
			want = whole.Noise(at(5*time.Second), at(20*time.Second), 10*ms)
			got = thin(whole, limit).Noise(at(5*time.Second), at(20*time.Second), 10*ms)
			if math.Abs(float64(got.Captured-want.Captured)) > 1 || math.Abs(got.Std-want.Std) > .1 {
				t.Errorf("a part, thinned to %d:\n got %+v\nwant %+v", limit, got, want)
			}
		}
	}
}

// A counter that is brought up to date each 10 ms and read each 7 ms seems to
// draw nothing and then twice its power; its windows are longer.
func TestNoiseOfACoarseCounter(t *testing.T) {
	s := Series{Domains: []Domain{{ID: "machine", InTotal: true, Period: 10 * time.Millisecond}}}
	for i := range 1000 {
		at := time.Duration(i) * 7 * time.Millisecond
		s.Samples = append(s.Samples, Sample{Time: checkpoint.Instant(at), Energy: []Energy{Energy(20 * at.Truncate(10*time.Millisecond).Microseconds())}})
	}
	n := s.Noise(0, checkpoint.Instant(10*time.Second), 7*time.Millisecond)
	if !n.Known || n.CV() > 2 || math.Abs(n.Mean-20) > .1 || n.Window != 504*time.Millisecond {
		t.Errorf("%+v: %.1f %%", n, n.CV())
	}
	s.Domains[0].Period = 0
	if n := s.Noise(0, checkpoint.Instant(10*time.Second), 7*time.Millisecond); n.CV() < 50 {
		t.Errorf("the counter's steps do not show: %+v", n)
	}
}

// A reading that failed, and a counter that fell, end no window.
func TestNoiseOfFailedReadings(t *testing.T) {
	s := powered(101, 10*time.Millisecond, func(int) float64 { return 20 }, never)
	for i := range s.Samples {
		if i%5 == 2 {
			s.Samples[i].Failed, s.Samples[i].Energy = true, []Energy{0, 0}
		}
	}
	n := s.Noise(0, 1<<60, 10*time.Millisecond)
	if n.Captured != 101 || n.Windows != 80 || n.Std != 0 || math.Abs(n.Mean-20) > 1e-6 {
		t.Errorf("%+v", n)
	}
}

// Beside a counter of 100 ms, such as a GPU's, a short span has the windows of the fast
// counter, and the mean of both.
func TestNoiseBesideASlowCounter(t *testing.T) {
	s := Series{Domains: []Domain{{ID: "package-0", InTotal: true, Period: time.Millisecond}, {ID: "gpu0", InTotal: true, Period: 100 * time.Millisecond}}}
	for i := range 1501 {
		watts := Energy(20 + 4*(i/50%2)) // in turn 20 and 24 W
		e := Energy(0)
		if i > 0 {
			e = s.Samples[i-1].Energy[0] + watts*1000
		}
		s.Samples = append(s.Samples, Sample{Time: checkpoint.Instant(i) * checkpoint.Instant(time.Millisecond), Energy: []Energy{e, Energy(i/100) * 30_000_000}})
	}
	n := s.Noise(0, checkpoint.Instant(1500*time.Millisecond), time.Millisecond)
	if !n.Known || n.Windows != 30 || n.Window != 50*time.Millisecond || math.Abs(n.Mean-322) > 0.1 || math.Abs(n.Std-2) > 0.1 {
		t.Errorf("%+v", n)
	}
	// Without the fast one nothing is known of so short a time.
	s.Domains[0].InTotal = false
	if n := s.Noise(0, checkpoint.Instant(1500*time.Millisecond), time.Millisecond); n.Known {
		t.Errorf("%+v", n)
	}
}
