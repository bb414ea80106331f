package sampler

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/fixture"
	"cg/nemb/simulate"
)

// held is a fault that a test makes and ends.
type held struct {
	simulate.Fault
	began chan struct{} // one for each reading that hangs, of the first few
	end   func()
}

func holding() held {
	until, began := make(chan struct{}), make(chan struct{}, 8)
	return held{
		Fault: simulate.Fault{Hold: until, Held: func() {
			select {
			case began <- struct{}{}:
			default:
			}
		}},
		began: began, end: sync.OnceFunc(func() { close(until) }),
	}
}

// until polls until a sample is as it should be.
func until(t *testing.T, s *Sampler, samples []nemb.Sample, ok func(nemb.Sample) bool) []nemb.Sample {
	t.Helper()
	for range 10000 {
		for _, x := range s.Poll() {
			samples = append(samples, x)
			if ok(x) {
				return append(samples, s.Poll()...)
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("it never came")
	return nil
}

// A counter that hangs holds up neither the others, nor the signals, nor the end;
// what it would have shown is not known.
func TestSamplerCounterHangs(t *testing.T) {
	for _, zone := range []int{0, 1} {
		tree, root := fixture.Mount(t, fixture.TwoPackages())
		s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
		if err != nil {
			t.Fatal(err)
		}
		other := 1 - zone
		samples := until(t, s, nil, func(x nemb.Sample) bool { return x.Energy[0] > 0 && x.Energy[1] > 0 })
		h := holding()
		defer h.end()
		tree.Fault([]string{"intel-rapl:0", "intel-rapl:1"}[zone], h.Fault)
		<-h.began
		stuck := checkpoint.Monotime()
		samples = until(t, s, samples, func(x nemb.Sample) bool { return x.Time > stuck && !x.Failed })
		at := samples[len(samples)-1]
		samples = until(t, s, samples, func(x nemb.Sample) bool { return x.Energy[other] > at.Energy[other] })
		samples = append(samples, s.Stop()...)
		fixture.Check(t, samples)
		last := samples[len(samples)-1]
		if last.Failed || last.Energy[zone] != at.Energy[zone] {
			t.Errorf("%+v after %+v", last, at)
		}
		if got, want := fixture.Power(samples, other), []float64{20, 10}[other]; math.Abs(got/want-1) > 0.2 {
			t.Errorf("the other: %g W, want %g W", got, want)
		}
		f := s.Faults()
		if f[zone].Hung < heldUp || f[zone].Unknown < heldUp || !f[zone].Any() || f[other].Any() || f[other].Unknown > 0 {
			t.Errorf("%+v", f)
		}
		if d := s.Domains(); d[zone].Method != nemb.Derived || d[other].Method != nemb.Measured {
			t.Errorf("%+v", d)
		}
		// In the next run it hangs from the start, and nobody waits for it.
		again, err := Start([]nemb.Sensor{s.readers[0]}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
		if err != nil {
			t.Fatal(err)
		}
		until(t, again, nil, func(x nemb.Sample) bool { return x.Energy[other] > 0 && !x.Failed })
		again.Stop()
		if f := again.Faults(); f[zone].Hung == 0 || f[zone].Unknown == 0 || f[other].Any() {
			t.Errorf("again: %+v", f)
		}
		h.end()
	}
}

// One that answers after all has shown all of its energy, and how late it was.
func TestSamplerCounterAnswersAgain(t *testing.T) {
	tree, root := fixture.Mount(t, fixture.TwoPackages())
	s, err := Start([]nemb.Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	samples := until(t, s, nil, func(x nemb.Sample) bool { return x.Energy[0] > 0 })
	h := holding()
	defer h.end()
	tree.Fault("intel-rapl:0", h.Fault)
	<-h.began // of the thread
	<-h.began // of the goroutine that it was left to
	stuck := checkpoint.Monotime()
	samples = until(t, s, samples, func(x nemb.Sample) bool { return x.Time > stuck+checkpoint.Instant(heldUp) && !x.Failed })
	before := samples[len(samples)-1]
	tree.Fault("intel-rapl:0", simulate.Fault{})
	h.end()
	samples = until(t, s, samples, func(x nemb.Sample) bool { return x.Energy[0] > before.Energy[0] })
	samples = append(samples, s.Stop()...)
	fixture.Check(t, samples)
	first, last := samples[0], samples[len(samples)-1]
	want, got := 20*time.Duration(last.Time-first.Time).Seconds(), last.Energy[0].Joules()
	late := 20 * (last.Late[0] + 20*time.Millisecond).Seconds()
	if math.Abs(got-want) > late {
		t.Errorf("%g J of %g J, +-%g J", got, want, late)
	}
	if f := s.Faults()[0]; f.Any() || f.Unknown > 0 || f.Slowest < heldUp {
		t.Errorf("%+v", f)
	}
	if d := s.Domains()[0]; d.Method != nemb.Measured || d.Period < 2*heldUp {
		t.Errorf("%+v", d)
	}
}

// What a counter shows that takes long to read is as old as that: the energy is
// the true one but for its power in the time that the readings at both ends took.
func TestSamplerSlowCounter(t *testing.T) {
	const delay = 400 * time.Millisecond
	tree, root := fixture.Mount(t, fixture.TwoPackages())
	sensor := openOne(t, root)
	tree.Fault("intel-rapl:0", simulate.Fault{Delay: delay})
	s, err := Start([]nemb.Sensor{sensor}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	samples := until(t, s, nil, func(x nemb.Sample) bool { return x.Energy[0].Joules() > 20 })
	samples = append(samples, s.Stop()...)
	fixture.Check(t, samples)
	first, last := samples[0], samples[len(samples)-1]
	if len(first.Late) == 0 || first.Late[0] < delay || last.Late[0] < delay {
		t.Errorf("%v, %v: want %v and more", first.Late, last.Late, delay)
	}
	want, got := 20*time.Duration(last.Time-first.Time).Seconds(), last.Energy[0].Joules()
	if late := 20 * (first.Late[0] + last.Late[0]).Seconds(); math.Abs(got-want) > late {
		t.Errorf("%g J of %g J, +-%g J", got, want, late)
	}
	if f := s.Faults(); f[0].Any() || f[0].Slowest < delay || f[1].Any() || f[1].Slowest > 0 {
		t.Errorf("%+v", f)
	}
	if slices.ContainsFunc(samples[1:], func(x nemb.Sample) bool { return x.Failed }) {
		t.Error("samples wait for it")
	}
}
