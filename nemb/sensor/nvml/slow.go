package nvml

import (
	"fmt"
	"math"
	"sync"
	"time"

	"cg/nemb"
)

// slowGauge reads a gauge that blocks in a goroutine of its own, and tells the
// last values. A call that does not end makes them old: from then on they are
// no reading.
type slowGauge struct {
	nemb.Gauge
	period        time.Duration
	patience      time.Duration // how long a call may take
	now           func() time.Time
	stop, stopped chan struct{}

	mu     sync.Mutex
	values []float64
	err    error
	begun  time.Time // when the last call came back: the next begins a period later
}

// slowPatience is far more than a driver takes that is alive.
const slowPatience = 2 * time.Second

func newSlowGauge(g nemb.Gauge, period time.Duration) *slowGauge {
	return startSlowGauge(g, period, slowPatience, time.Now)
}

func startSlowGauge(g nemb.Gauge, period, patience time.Duration, now func() time.Time) *slowGauge {
	s := &slowGauge{
		Gauge: g, period: period, patience: patience, now: now, begun: now(),
		stop: make(chan struct{}), stopped: make(chan struct{}), values: make([]float64, len(g.Columns())),
	}
	fill(s.values, math.NaN())
	first := make(chan struct{})
	go s.run(first)
	select {
	case <-first:
	case <-time.After(patience):
		s.mu.Lock()
		s.err = s.hangs()
		s.mu.Unlock()
	}
	return s
}

func (s *slowGauge) run(first chan struct{}) {
	defer close(s.stopped)
	tick := time.NewTicker(s.period)
	defer tick.Stop()
	values := make([]float64, len(s.values))
	for {
		err := s.Gauge.Read(values)
		s.mu.Lock()
		copy(s.values, values)
		s.err, s.begun = err, s.now()
		s.mu.Unlock()
		if first != nil {
			close(first)
			first = nil
		}
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		select {
		case <-s.stop: // it may have come while the call hung
			return
		default:
		}
	}
}

func fill(values []float64, v float64) {
	for i := range values {
		values[i] = v
	}
}

func (s *slowGauge) hangs() error {
	return fmt.Errorf("nvml: a call of the driver has not come back for %v: the GPU hangs",
		s.now().Sub(s.begun).Round(time.Second))
}

// Read tells the values of the last call, whatever it could not read. Once the
// next one hangs they are old, and none of them is a reading.
func (s *slowGauge) Read(dst []float64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.begun) > s.period+s.patience {
		fill(dst, math.NaN())
		return s.hangs()
	}
	copy(dst, s.values)
	return s.err
}

// Close waits for the call that is under way, for as long as a call may take
// since it began. The library is closed under none: where it hangs, when it
// comes back, if it ever does.
func (s *slowGauge) Close() error {
	close(s.stop)
	s.mu.Lock()
	left := s.period + s.patience - s.now().Sub(s.begun)
	s.mu.Unlock()
	timer := time.NewTimer(max(0, left))
	defer timer.Stop()
	select {
	case <-s.stopped:
		return s.Gauge.Close()
	case <-timer.C:
	}
	go func() {
		<-s.stopped
		s.Gauge.Close()
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hangs()
}
