package sampler

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// settable is a sensor that shows what a test sets.
type settable struct {
	domains []nemb.Domain
	raw     []nemb.Energy
}

func (s *settable) Domains() []nemb.Domain       { return s.domains }
func (s *settable) Read(dst []nemb.Energy) error { copy(dst, s.raw); return nil }
func (s *settable) Close() error                 { return nil }

// A counter of what draws something as long as it is on, and that stands still, tells
// nothing; one of a part that may be off, or that is seldom brought up to date, does.
func TestStuckCountersTellNothing(t *testing.T) {
	s := &settable{domains: []nemb.Domain{
		{ID: "package-0", Kind: "cpu_package", Source: "a", Period: time.Millisecond},
		{ID: "core-0", Kind: "nested", Source: "b", Period: time.Millisecond},
		{ID: "battery", Kind: "psys", Source: "c", Period: 30 * time.Second},
	}, raw: []nemb.Energy{100, 200, 300}}
	e := NewEnergies([]nemb.Sensor{s})
	back := func(d time.Duration) { // as if that were so long ago
		for i := range e.rawAt {
			e.rawAt[i] -= checkpoint.Instant(d)
			e.movedAt[i] -= checkpoint.Instant(d)
		}
	}
	for i, step := range []struct {
		wait  time.Duration
		adds  nemb.Energy
		stuck bool
	}{{0, 0, false}, {stuck / 2, 0, false}, {stuck, 0, true}, {stuck, 0, true}, {stuck, 5, false}, {stuck / 2, 0, false}} {
		back(step.wait)
		for d := range s.raw {
			s.raw[d] += step.adds
		}
		dst := make([]float64, 3)
		err := e.Read(dst)
		if math.IsNaN(dst[0]) != step.stuck || (err != nil) != step.stuck || step.stuck && !strings.Contains(err.Error(), "a: the counter is stuck") {
			t.Errorf("reading %d: %v, %v", i, dst, err)
		}
		if slices.ContainsFunc(dst[1:], math.IsNaN) || !step.stuck && dst[0] != float64(s.raw[0]) {
			t.Errorf("reading %d: %v", i, dst)
		}
	}
}

// What a counter had when it was reset is told as lost, once; a reading that goes on is not.
func TestResetIsLost(t *testing.T) {
	s := &settable{domains: []nemb.Domain{{ID: "a", Source: "a", Period: time.Second}}, raw: []nemb.Energy{100}}
	e := NewEnergies([]nemb.Sensor{s})
	for i, step := range []struct {
		raw  nemb.Energy
		lost bool
	}{{100, false}, {150, false}, {20, true}, {30, false}} {
		s.raw[0] = step.raw
		dst := make([]float64, 1)
		if e.Read(dst); e.Lost()[0] != step.lost || math.IsNaN(dst[0]) != step.lost {
			t.Errorf("reading %d: %v, lost: %v", i, dst, e.Lost())
		}
	}
}
