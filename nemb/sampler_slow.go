package nemb

import (
	"errors"
	"slices"
	"sync"
	"time"

	"cg/checkpoint"
)

// Paced is a sensor that is read at a period of its own: one whose reading
// takes long, or must come more often than samples are taken. Without it a
// sensor is read at the longest of its domains' periods, and at least ten
// times a second.
type Paced interface {
	Sensor
	Every() time.Duration
}

// slowSensor is read on a goroutine of its own. Its energies form a curve of
// points.
type slowSensor struct {
	sensor  Sensor
	at      int // its first domain
	every   time.Duration
	domains []Domain
	base    []Energy // at the first sample
	stop    chan struct{}
	ended   chan struct{}

	mu     sync.Mutex
	raw    []Energy // last reading that succeeded
	rawAt  checkpoint.Instant
	since  []checkpoint.Instant // since when each counter shows raw
	points []energyPoint        // the newest last
	faults []Faults
	over   bool // given up: nothing is added any more
}

type energyPoint struct {
	at     checkpoint.Instant
	total  []Energy
	failed bool // nothing could be read: total repeats the one before
}

// answer says how a slow sensor knows its energies at an instant.
type answer uint8

const (
	told    answer = iota
	pending        // it was not read since
	broke          // a reading failed
)

func newSlowSensor(sensor Sensor, at int, interval time.Duration) *slowSensor {
	s := &slowSensor{sensor: sensor, at: at, domains: sensor.Domains(), stop: make(chan struct{}), ended: make(chan struct{})}
	if p, ok := sensor.(Paced); ok {
		s.every = p.Every()
	} else {
		s.every = min(interval, 100*time.Millisecond)
		for _, d := range s.domains {
			s.every = max(s.every, min(d.Period, 100*time.Millisecond))
		}
	}
	s.every = max(s.every, MinInterval)
	return s
}

// begin makes the first reading.
func (s *slowSensor) begin() error {
	n := len(s.domains)
	s.raw, s.faults, s.since = make([]Energy, n), make([]Faults, n), make([]checkpoint.Instant, n)
	if err := s.sensor.Read(s.raw); err != nil {
		return err
	}
	s.rawAt = checkpoint.Monotime()
	for i := range s.since {
		s.since[i] = s.rawAt
	}
	s.points = []energyPoint{{at: s.rawAt, total: make([]Energy, n)}}
	return nil
}

// start reads at absolute deadlines until finish.
func (s *slowSensor) start() {
	go func() {
		defer close(s.ended)
		begun := time.Now()
		timer := time.NewTimer(s.every)
		defer timer.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-timer.C:
			}
			s.read()
			gone := time.Since(begun)
			timer.Reset(gone.Truncate(s.every) + s.every - gone)
		}
	}()
}

// giveUp bounds how long the end of a run waits for a sensor.
const giveUp = 2 * time.Second

// finish makes a last reading, on which nothing waits for long.
func (s *slowSensor) finish() {
	close(s.stop)
	last := make(chan struct{})
	go func() {
		defer close(last)
		<-s.ended
		s.read()
	}()
	timer := time.NewTimer(giveUp)
	defer timer.Stop()
	select {
	case <-last:
	case <-timer.C:
		s.add(nil, errors.New("no answer"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if p := s.points[len(s.points)-1]; p.failed {
		for i := range s.faults {
			s.faults[i].Unknown += time.Duration(p.at - s.rawAt)
		}
	}
}

func (s *slowSensor) read() {
	raw := make([]Energy, len(s.domains))
	err := s.sensor.Read(raw)
	s.add(raw, err)
}

// add adds a point.
func (s *slowSensor) add(raw []Energy, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	last := s.points[len(s.points)-1]
	p := energyPoint{at: checkpoint.Monotime(), total: slices.Clone(last.total), failed: err != nil}
	elapsed := time.Duration(p.at - s.rawAt)
	for i, d := range s.domains {
		cur := unread
		if err == nil {
			cur = raw[i]
		}
		delta, v := unwrap(s.raw[i], cur, d.Wrap, elapsed+2*d.Period)
		s.faults[i].note(v, delta, elapsed)
		p.total[i] += delta
		p.failed = p.failed || !v.known()
		if v != stale {
			s.since[i] = p.at
		} else if d.InTotal && d.Period < stuck/20 {
			s.faults[i].Still = max(s.faults[i].Still, time.Duration(p.at-s.since[i]))
		}
	}
	if err == nil {
		s.raw, s.rawAt = raw, p.at
	}
	s.points = append(s.points, p)
}

// latest is when the newest point was read.
func (s *slowSensor) latest() checkpoint.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.points[len(s.points)-1].at
}

// trim forgets the points that nothing at t or later needs.
func (s *slowSensor) trim(t checkpoint.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points = slices.Delete(s.points, 0, needless(s.times(), t))
}

func (s *slowSensor) times() []checkpoint.Instant {
	times := make([]checkpoint.Instant, len(s.points))
	for i, p := range s.points {
		times[i] = p.at
	}
	return times
}

// value stores the energies at t and tells whether they are known. Behind a
// point that failed they are not before the next: what was used since the
// point before it cannot be placed in time.
func (s *slowSensor) value(t checkpoint.Instant, dst []Energy) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, part := locate(s.times(), t)
	a := s.points[i]
	if part == 0 {
		copy(dst, a.total)
		switch {
		case a.failed:
			return broke
		case a.at < t && !s.over:
			// A sensor that is overdue does not answer.
			if t-a.at > 3*checkpoint.Instant(s.every)+hold {
				return broke
			}
			return pending
		case a.at < t:
			return broke
		}
		return told
	}
	b := s.points[i+1]
	if a.failed || b.failed {
		copy(dst, a.total)
		return broke
	}
	for d := range a.total {
		dst[d] = between(a.total[d], b.total[d], part)
	}
	return told
}
