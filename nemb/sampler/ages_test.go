package sampler

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/counter"
)

const aMs = checkpoint.Instant(time.Millisecond)

// Bins hold what is added to them: a figure is no shorter than the age, and no more than a quarter longer.
func TestAgesInBins(t *testing.T) {
	var a ages
	for i := range 1000 {
		a.add(time.Duration(i+1) * 10 * time.Microsecond)
	}
	a.add(-time.Second) // a reading of the future is no reading: as if it were of now
	for _, of := range []struct{ part, want float64 }{{0.5, 5e6}, {0.95, 9.5e6}} {
		if got := float64(a.below(of.part)); got < of.want || got > 1.25*of.want {
			t.Errorf("%g of the ages are below %g ns, want %g", of.part, got, of.want)
		}
	}
	if got := a.age("x"); got.Of != "x" || got.Max != 10*time.Millisecond || got.Median > got.P95 || got.P95 > got.Max {
		t.Errorf("%+v", got)
	}
	a = ages{}
	if a.add(0); a.age("") != (Age{}) {
		t.Errorf("%+v", a.age(""))
	}
}

// A figure of the processor times is as old as the nearest reading, before or after it.
func TestNearest(t *testing.T) {
	times := []checkpoint.Instant{10, 20, 50}
	for at, want := range map[checkpoint.Instant]time.Duration{0: 10, 10: 0, 13: 3, 16: 4, 34: 14, 36: 14, 50: 0, 90: 40} {
		if got := nearest(times, at); got != want {
			t.Errorf("%d: %d, want %d", at, got, want)
		}
	}
	if got := nearest(nil, 5); got != 0 {
		t.Error(got)
	}
}

// Samples each 10 ms of a counter that moves in every third of them, of a sensor that is read each 50 ms, and of processor
// times that are read each 40 ms.
func TestAgesOfSamples(t *testing.T) {
	of := account.New()
	defer of.Close()
	slow := newSlowSensor(&seldomRead{}, 1, 10*time.Millisecond)
	s := &Sampler{
		domains: []nemb.Domain{{ID: "package-0", Period: time.Millisecond}, {ID: "wall"}, {ID: "model"}}, fast: []int{0},
		counters: []counter.Counter{{}}, slow: []*slowSensor{slow}, account: of, first: &nemb.Sample{},
		raw: make([]nemb.Energy, 3), rawAt: make([]checkpoint.Instant, 3), since: make([]checkpoint.Instant, 3), shownAt: make([]checkpoint.Instant, 3),
		total: make([]nemb.Energy, 3), faults: make([]Faults, 3), ages: make([]ages, 3),
	}
	for at := checkpoint.Instant(0); at <= 400*aMs; at += 40 * aMs {
		s.usage.times = append(s.usage.times, at)
	}
	for at := checkpoint.Instant(0); at <= 400*aMs; at += 50 * aMs {
		slow.points = append(slow.points, energyPoint{at: at, failed: at == 200*aMs})
	}
	read, away := func(int) bool { return true }, func(int) bool { return false }
	for i := checkpoint.Instant(1); i <= 36; i++ {
		if !s.count(0, nemb.Energy(i/3*100), i*10*aMs) {
			t.Fatal("the counter broke")
		}
		s.noteAges(&nemb.Sample{Time: i * 10 * aMs}, read)
	}
	all := s.Ages()
	if len(all) != 3 || all[0].Of != "" || all[1].Of != "package-0" || all[2].Of != "wall" {
		t.Fatalf("%+v", all)
	}
	// The counter is read 10 ms after the reading that it did not show yet, and 20 and 30 ms after that.
	for i, want := range []struct{ median, most time.Duration }{{10, 20}, {20, 30}, {10, 50}} {
		got := all[i]
		if got.Max != want.most*time.Millisecond || got.Median < want.median*time.Millisecond || got.Median > want.median*time.Millisecond*5/4 {
			t.Errorf("%+v, want %+v ms", got, want)
		}
	}
	// A sensor that the thread leaves to itself is read by the thread in samples before that, though these come later.
	slow.word = 0
	for _, c := range []struct {
		reads       func(int) bool
		thread, own uint64
	}{{read, 37, 36}, {away, 37, 37}} {
		s.counters[0].Form = counter.Elsewhere
		if s.noteAges(&nemb.Sample{Time: 400 * aMs}, c.reads); s.ages[0].n != c.thread || s.ages[1].n != c.own {
			t.Errorf("%d and %d ages, want %d and %d", s.ages[0].n, s.ages[1].n, c.thread, c.own)
		}
	}
	// In steps a sample shows the last reading that had come back.
	slow.steps = true
	if age, ok := slow.age(390 * aMs); !ok || age != 40*time.Millisecond {
		t.Errorf("%v, %v", age, ok)
	}
	if _, ok := slow.age(210 * aMs); ok {
		t.Error("a reading that failed is none")
	}
}

// The times of a running thread may be late by the kernel's tick, which is told beside.
func TestAgesOfKernelTimes(t *testing.T) {
	of := account.New()
	defer of.Close()
	s := &Sampler{account: of, first: &nemb.Sample{}}
	s.usage.times = []checkpoint.Instant{0, 10 * aMs}
	sample := nemb.Sample{Time: 4 * aMs}
	sample.Usage.Threads = append(sample.Usage.Threads, threadLate(4*time.Millisecond), threadLate(0))
	s.noteAges(&sample, nil)
	if all := s.Ages(); len(all) != 1 || all[0].Kernel != 4*time.Millisecond || all[0].Max != 4*time.Millisecond {
		t.Errorf("%+v", all)
	}
	s.private = true // nobody asked for the times
	n := s.usageAges.n
	if s.noteAges(&sample, nil); s.usageAges.n != n {
		t.Error("ages of times that samples do not have")
	}
}

func threadLate(late time.Duration) account.ThreadUsage { return account.ThreadUsage{Late: late} }
