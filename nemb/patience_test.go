package nemb

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb/patience"
	"cg/nemb/simulate"
)

// impatient shortens how long answers are waited for.
func impatient(t *testing.T, to time.Duration) {
	was := patience.Limit
	patience.Limit = to
	t.Cleanup(func() { patience.Limit = was })
}

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

func twoPackages() simulate.Machine {
	return simulate.Machine{Cpuinfo: "processor\t: 0\n", Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Power: simulate.Constant(20)}},
		{Dir: "intel-rapl:1", Name: "package-1", Counter: simulate.Counter{Power: simulate.Constant(10)}},
	}}
}

// until polls until a sample is as it should be.
func until(t *testing.T, s *Sampler, samples []Sample, ok func(Sample) bool) []Sample {
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
// what it would have told is not known.
func TestSamplerCounterHangs(t *testing.T) {
	for _, zone := range []int{0, 1} {
		tree, root := mount(t, twoPackages())
		s, err := Start([]Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
		if err != nil {
			t.Fatal(err)
		}
		other := 1 - zone
		samples := until(t, s, nil, func(x Sample) bool { return x.Energy[0] > 0 && x.Energy[1] > 0 })
		h := holding()
		defer h.end()
		tree.Fault([]string{"intel-rapl:0", "intel-rapl:1"}[zone], h.Fault)
		<-h.began
		stuck := checkpoint.Monotime()
		samples = until(t, s, samples, func(x Sample) bool { return x.Time > stuck && !x.Failed })
		at := samples[len(samples)-1]
		samples = until(t, s, samples, func(x Sample) bool { return x.Energy[other] > at.Energy[other] })
		samples = append(samples, s.Stop()...)
		check(t, samples)
		last := samples[len(samples)-1]
		if last.Failed || last.Energy[zone] != at.Energy[zone] {
			t.Errorf("%+v after %+v", last, at)
		}
		if got, want := power(samples, other), []float64{20, 10}[other]; math.Abs(got/want-1) > 0.2 {
			t.Errorf("the other: %g W, want %g W", got, want)
		}
		f := s.Faults()
		if f[zone].Hung < heldUp || f[zone].Unknown < heldUp || !f[zone].Any() || f[other].Any() || f[other].Unknown > 0 {
			t.Errorf("%+v", f)
		}
		if d := s.Domains(); d[zone].Method != Derived || d[other].Method != Measured {
			t.Errorf("%+v", d)
		}
		// In the next run it hangs from the start, and nobody waits for it.
		again, err := Start([]Sensor{s.readers[0]}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
		if err != nil {
			t.Fatal(err)
		}
		until(t, again, nil, func(x Sample) bool { return x.Energy[other] > 0 && !x.Failed })
		again.Stop()
		if f := again.Faults(); f[zone].Hung == 0 || f[zone].Unknown == 0 || f[other].Any() {
			t.Errorf("again: %+v", f)
		}
		h.end()
	}
}

// One that answers after all has told of all of its energy, and how late it was.
func TestSamplerCounterAnswersAgain(t *testing.T) {
	tree, root := mount(t, twoPackages())
	s, err := Start([]Sensor{openOne(t, root)}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	samples := until(t, s, nil, func(x Sample) bool { return x.Energy[0] > 0 })
	h := holding()
	defer h.end()
	tree.Fault("intel-rapl:0", h.Fault)
	<-h.began // of the thread
	<-h.began // of the goroutine that it was left to
	stuck := checkpoint.Monotime()
	samples = until(t, s, samples, func(x Sample) bool { return x.Time > stuck+checkpoint.Instant(heldUp) && !x.Failed })
	before := samples[len(samples)-1]
	tree.Fault("intel-rapl:0", simulate.Fault{})
	h.end()
	samples = until(t, s, samples, func(x Sample) bool { return x.Energy[0] > before.Energy[0] })
	samples = append(samples, s.Stop()...)
	check(t, samples)
	first, last := samples[0], samples[len(samples)-1]
	want, got := 20*time.Duration(last.Time-first.Time).Seconds(), last.Energy[0].Joules()
	late := 20 * (last.Late[0] + 20*time.Millisecond).Seconds()
	if math.Abs(got-want) > late {
		t.Errorf("%g J of %g J, +-%g J", got, want, late)
	}
	if f := s.Faults()[0]; f.Any() || f.Unknown > 0 || f.Slowest < heldUp {
		t.Errorf("%+v", f)
	}
	if d := s.Domains()[0]; d.Method != Measured || d.Period < 2*heldUp {
		t.Errorf("%+v", d)
	}
}

// What a counter shows that takes long to read is as old as that: the energy is
// the true one but for its power in the time that the readings at both ends took.
func TestSamplerSlowCounter(t *testing.T) {
	const delay = 400 * time.Millisecond
	tree, root := mount(t, twoPackages())
	sensor := openOne(t, root)
	tree.Fault("intel-rapl:0", simulate.Fault{Delay: delay})
	s, err := Start([]Sensor{sensor}, Config{Interval: time.Millisecond, Clock: checkpoint.Monotonic})
	if err != nil {
		t.Fatal(err)
	}
	samples := until(t, s, nil, func(x Sample) bool { return x.Energy[0].Joules() > 20 })
	samples = append(samples, s.Stop()...)
	check(t, samples)
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
	if slices.ContainsFunc(samples[1:], func(x Sample) bool { return x.Failed }) {
		t.Error("samples wait for it")
	}
}

// Looking for sensors gives up those that hang, and measures with the others.
func TestDiscoverHangs(t *testing.T) {
	impatient(t, 2*time.Second)
	reading := func(until <-chan struct{}) simulate.Fault { return simulate.Fault{Hold: until} }
	open := func(until <-chan struct{}) simulate.Fault { return simulate.Fault{HoldOpen: until} }
	for _, test := range []struct {
		name    string
		fault   func(until <-chan struct{}) simulate.Fault
		zones   []string
		domains string
		state   State
	}{
		{"a reading", reading, []string{"intel-rapl:0"}, "package-1", Present},
		{"an open", open, []string{"intel-rapl:1"}, "package-0", Present},
		{"all", reading, []string{"intel-rapl:0", "intel-rapl:1"}, "machine", Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree, root := mount(t, twoPackages())
			end := make(chan struct{})
			for _, zone := range test.zones {
				tree.Fault(zone, test.fault(end))
			}
			found, err := Discover(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, d := range found.Domains() {
				ids = append(ids, d.ID)
			}
			if got := strings.Join(ids, " "); got != test.domains || len(found.Hung) != len(test.zones) {
				t.Errorf("%s, %v", got, found.Hung)
			}
			for i, err := range found.Hung {
				want := test.zones[i] + "/energy_uj: no answer for 2s: it hangs"
				if !strings.Contains(err.Error(), want) || errors.Is(err, fs.ErrPermission) {
					t.Error(err)
				}
			}
			i := slices.IndexFunc(found.Seen, func(s Seen) bool { return s.Source.Name == "powercap" })
			if found.Seen[i].State != test.state {
				t.Errorf("%+v", found.Seen[i])
			}
			if err := found.Close(); err != nil {
				t.Error(err)
			}
			close(end)
		})
	}
}

// A source that hangs before it has opened anything is given up as a whole, and
// what it opens later is closed.
func TestSourceHangs(t *testing.T) {
	impatient(t, 100*time.Millisecond)
	end, closed := make(chan struct{}), make(chan struct{})
	sensors, err := openPatient(Source{Name: "odd", Open: func(Root) ([]Sensor, error) {
		<-end
		return []Sensor{closing{closed}}, nil
	}}, Root{}, patience.Limit)
	if sensors != nil || !patience.Hangs(err) || err.Error() != "odd: looking for its sensors: no answer for 100ms: it hangs" {
		t.Errorf("%v, %v", sensors, err)
	}
	close(end)
	<-closed
}

type closing struct{ closed chan struct{} }

func (c closing) Domains() []Domain   { return nil }
func (c closing) Read([]Energy) error { return nil }
func (c closing) Close() error        { close(c.closed); return nil }

// A metric that hangs is unknown until it answers.
func TestMetricHangs(t *testing.T) {
	impatient(t, 100*time.Millisecond)
	b := &blocking{calls: make(chan chan struct{}), closed: make(chan struct{})}
	g, err := openGaugePatient(Metric{Name: "odd", Open: func(Root) (Gauge, error) { return b, nil }}, Root{})
	if err != nil {
		t.Fatal(err)
	}
	dst := []float64{7}
	if err := g.Read(dst); !patience.Hangs(err) || !math.IsNaN(dst[0]) {
		t.Errorf("%v, %v", dst, err)
	}
	close(<-b.calls)
	g.Close()
	<-b.closed
}
