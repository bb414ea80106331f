package sampler

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// seldomRead is a sensor that is read each second: 100 W.
type seldomRead struct{ read nemb.Energy }

func (s *seldomRead) Domains() []nemb.Domain       { return []nemb.Domain{{ID: "wall", Period: time.Second}} }
func (s *seldomRead) Read(dst []nemb.Energy) error { dst[0] = s.read; return nil }
func (s *seldomRead) Close() error                 { return nil }
func (s *seldomRead) Every() time.Duration         { return time.Second }

// What was used between the first reading and the first sample is in no sample, also where that sample was reported
// before the second reading.
func TestEnergyBeforeTheFirstSample(t *testing.T) {
	const ms = checkpoint.Instant(time.Millisecond)
	sensor := &seldomRead{}
	s := newSlowSensor(sensor, 0, 10*time.Millisecond)
	s.set(energyPoint{at: 1000 * ms, total: make([]nemb.Energy, 1)})
	energy := func(at checkpoint.Instant, first bool) float64 {
		dst := make([]nemb.Energy, 1)
		s.fill(&nemb.Sample{Time: at}, dst, first, true)
		return dst[0].Joules()
	}
	if got := energy(1200*ms, true); got != 0 {
		t.Errorf("the first sample has %g J", got)
	}
	s.points = append(s.points, energyPoint{at: 2000 * ms, total: []nemb.Energy{100e6}})
	s.origin = append(s.origin, s.points[1])
	for _, at := range []checkpoint.Instant{1300, 1700, 2000} {
		if got, want := energy(at*ms, false), float64(at-1200)/10; got != want {
			t.Errorf("%d ms after the first sample: %g J, want %g J", at-1200, got, want)
		}
	}
}
