package sensor

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/counter"
)

// scripted is a meter whose readings a test sets.
type scripted struct {
	w   float64
	err error
}

func (s *scripted) Watts() (float64, error) { return s.w, s.err }

func (s *scripted) Close() {}

func TestPowerIsIntegrated(t *testing.T) {
	const every = 50 * time.Millisecond
	var now checkpoint.Instant
	m := &scripted{}
	s := NewPower("hwmon", every)
	s.now = func() checkpoint.Instant { return now }
	s.Add(nemb.Domain{ID: "package-0", Source: "a"}, m)
	s.Add(nemb.Domain{ID: "package-0", Source: "b"}, &scripted{w: 5})
	if d := s.Domains()[0]; len(s.Domains()) != 1 || d.Method != nemb.Derived || d.Source != "a + b" || d.Period != every {
		t.Errorf("%+v", s.Domains())
	}
	failed := errors.New("no such device")
	steps := []struct {
		at   time.Duration
		w    float64
		err  error
		want float64 // J, -1 for none
	}{
		{0, 10, nil, 0},
		{time.Second, 10, nil, 15}, // 10 W and the 5 W beside it
		{2 * time.Second, 30, nil, 40},
		{3 * time.Second, 0, failed, -1},
		{4 * time.Second, 30, nil, 0}, // what was drawn since 2 s is not known
		{5 * time.Second, 30, nil, 35},
		{6 * time.Second, 30, failed, -1},
		{7 * time.Second, 30, failed, -1},
		{8 * time.Second, 1, nil, 0},
		{10 * time.Second, 1, nil, 12},
		{11 * time.Second, 1, failed, -1},
		{12 * time.Second, 1, nil, 0},
		{13 * time.Second, 1, failed, -1},
		{14 * time.Second, 1, nil, 0}, // again, though it had no time to grow
	}
	var prev, start nemb.Energy
	for _, step := range steps {
		now, m.w, m.err = checkpoint.Instant(step.at), step.w, step.err
		dst := []nemb.Energy{12345}
		err := s.Read(dst)
		if step.want < 0 {
			if err == nil || dst[0] != 12345 {
				t.Errorf("at %v: a reading failed and gave %v, %v", step.at, dst[0], err)
			}
			continue
		}
		if step.want == 0 {
			start = dst[0]
		}
		if got := dst[0].Joules() - start.Joules(); err != nil || math.Abs(got-step.want) > 1e-5 {
			t.Errorf("at %v: %g J, %v, want %g J", step.at, got, err, step.want)
		}
		// A counter that starts over: the sampler knows what it does not know.
		if _, v := counter.Unwrap(prev, dst[0], 0, time.Second); step.at > 0 && step.want == 0 && v != counter.Reset {
			t.Errorf("at %v: %v", step.at, v)
		}
		prev = dst[0]
	}
	s.Close()
	if err := s.Read(make([]nemb.Energy, 1)); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

// A power of 0 W is a gap.
func TestNoPower(t *testing.T) {
	m := &scripted{w: 10}
	s := NewPower("hwmon", time.Second)
	s.Add(nemb.Domain{ID: "package-0"}, m)
	dst := make([]nemb.Energy, 1)
	for _, step := range []struct {
		w  float64
		ok bool
	}{{10, true}, {0, false}, {10, true}} {
		m.w = step.w
		if err := s.Read(dst); (err == nil) != step.ok || !step.ok && !errors.Is(err, ErrNoPower) {
			t.Errorf("%g W: %v", step.w, err)
		}
	}
}
