package sampler

import (
	"errors"
	"slices"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/patience"
)

// slowSensor is read on a goroutine of its own. Its energies form a curve of
// points: linear between them, or, where a reading takes so long that samples
// cannot wait for it (steps), one that rises when a reading has come back.
type slowSensor struct {
	sensor   nemb.Sensor
	at       int // its first domain
	word     int // its first counter among the thread's, which read it before; -1 for none
	every    time.Duration
	domains  []nemb.Domain
	offset   []nemb.Energy // of the curve above what is reported; nil before the first sample
	reported []nemb.Energy // of the newest sample
	begun    bool          // the goroutine
	stop     chan struct{}
	ended    chan struct{}

	mu      sync.Mutex
	raw     []nemb.Energy // last reading that succeeded
	rawAt   []checkpoint.Instant
	since   []checkpoint.Instant // since when each counter shows raw
	points  []energyPoint        // the newest last
	origin  []energyPoint        // the first two that did not fail
	first   checkpoint.Instant   // the first sample, where it was reported in steps or before the second reading
	end     checkpoint.Instant   // the last one, once it is known
	faults  []Faults
	steps   bool
	waiting checkpoint.Instant // the reading that is under way, 0 for none
	over    bool               // given up: nothing is added any more
}

type energyPoint struct {
	at     checkpoint.Instant // the middle of the reading
	took   time.Duration      // the reading
	total  []nemb.Energy
	failed bool // nothing could be read: total repeats the one before
}

// done is when the reading had come back.
func (p energyPoint) done() checkpoint.Instant { return p.at + checkpoint.Instant(p.took/2) }

// answer says how a slow sensor knows its energies at an instant.
type answer uint8

const (
	known   answer = iota
	pending        // it was not read since
	broke          // a reading failed
)

func newSlowSensor(sensor nemb.Sensor, at int, interval time.Duration) *slowSensor {
	s := &slowSensor{sensor: sensor, at: at, word: -1, domains: sensor.Domains()}
	s.stop, s.ended = make(chan struct{}), make(chan struct{})
	if p, ok := sensor.(nemb.Paced); ok {
		s.every = p.Every()
	} else {
		s.every = min(interval, 100*time.Millisecond)
		for _, d := range s.domains {
			s.every = max(s.every, min(d.Period, 100*time.Millisecond))
		}
	}
	s.every = max(s.every, MinInterval)
	n := len(s.domains)
	s.raw, s.faults, s.reported = make([]nemb.Energy, n), make([]Faults, n), make([]nemb.Energy, n)
	s.rawAt, s.since = make([]checkpoint.Instant, n), make([]checkpoint.Instant, n)
	return s
}

// begin makes the first reading. One that hangs is none: the energy of the
// domains is then not known, up to a reading that answers.
func (s *slowSensor) begin() error {
	from := checkpoint.Monotime()
	err := s.sensor.Read(s.raw)
	if err != nil && !patience.Hangs(err) {
		return err
	}
	if err != nil {
		for i := range s.raw {
			s.raw[i] = counter.Unread
		}
	}
	p := s.point(from)
	p.total, p.failed = make([]nemb.Energy, len(s.domains)), err != nil
	s.set(p)
	return nil
}

// goOn begins with readings that others made at those instants.
func (s *slowSensor) goOn(raw []nemb.Energy, at []checkpoint.Instant) {
	s.raw = raw
	s.set(energyPoint{at: slices.Max(at), total: make([]nemb.Energy, len(raw))})
	copy(s.rawAt, at)
	copy(s.since, at)
}

func (s *slowSensor) set(first energyPoint) {
	s.points = []energyPoint{first}
	if !first.failed {
		s.origin = s.points[:1:1]
	}
	for i := range s.since {
		s.rawAt[i], s.since[i] = first.at, first.at
	}
	s.note(first)
}

// point is a point of a reading that began at an instant and has come back.
func (s *slowSensor) point(from checkpoint.Instant) energyPoint {
	took := checkpoint.Monotime() - from
	return energyPoint{at: from + took/2, took: time.Duration(took)}
}

// note remembers how long a reading took.
func (s *slowSensor) note(p energyPoint) {
	if s.steps = s.steps || p.took > time.Duration(hold); !s.steps || p.failed {
		return
	}
	for i := range s.faults {
		s.faults[i].Slowest = max(s.faults[i].Slowest, p.took)
	}
}

// start reads at absolute deadlines until finish, and then once more.
func (s *slowSensor) start() {
	if s.begun {
		return
	}
	s.begun = true
	go func() {
		defer close(s.ended)
		begun := time.Now()
		first := s.every
		if s.word >= 0 { // the thread waited for it in vain
			first = 0
		}
		timer := time.NewTimer(first)
		defer timer.Stop()
		for {
			select {
			case <-s.stop:
				s.read()
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

// finish makes a last reading, on which nothing waits for long: not at all where
// the one that is under way has not come back for long.
// end is the instant of the last sample.
func (s *slowSensor) finish(end checkpoint.Instant) {
	close(s.stop)
	s.mu.Lock()
	s.end = end
	left := giveUp
	for _, f := range s.faults {
		left = min(max(left, 5*f.Slowest/2), patience.Limit)
	}
	if s.waiting != 0 {
		left -= max(0, time.Duration(checkpoint.Monotime()-s.waiting)-s.faults[0].Slowest)
	}
	s.mu.Unlock()
	timer := time.NewTimer(max(0, left))
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		s.mu.Lock()
		from := s.waiting
		s.mu.Unlock()
		if from == 0 { // it is between two readings
			from = checkpoint.Monotime()
		}
		s.add(from, nil, &patience.Hung{After: time.Duration(checkpoint.Monotime() - from)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if p := s.points[len(s.points)-1]; p.failed {
		for i := range s.faults {
			s.faults[i].Unknown += time.Duration(p.done() - s.rawAt[i])
		}
	}
}

func (s *slowSensor) read() {
	raw := make([]nemb.Energy, len(s.domains))
	from := checkpoint.Monotime()
	s.mu.Lock()
	s.waiting = from
	s.mu.Unlock()
	err := s.sensor.Read(raw)
	s.add(from, raw, err)
}

// add adds the point of a reading that began at an instant.
func (s *slowSensor) add(from checkpoint.Instant, raw []nemb.Energy, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = 0
	if s.over {
		return
	}
	p := s.point(from)
	p.total, p.failed = slices.Clone(s.points[len(s.points)-1].total), err != nil
	var hung *patience.Hung
	errors.As(err, &hung)
	for i, d := range s.domains {
		cur := counter.Unread
		if err == nil {
			cur = raw[i]
		}
		elapsed := time.Duration(p.at - s.rawAt[i])
		delta, v := counter.Unwrap(s.raw[i], cur, d.Wrap, elapsed+p.took+2*d.Period)
		f := &s.faults[i]
		f.Hung = 0
		switch {
		case hung != nil:
			f.Hung = max(hung.After, time.Duration(p.done()-s.rawAt[i]))
		case s.raw[i] == counter.Unread && err == nil: // the first that answers
			f.Unknown += elapsed
		default:
			f.note(v, delta, elapsed)
		}
		p.total[i] += delta
		p.failed = p.failed || !v.Known()
		if v != counter.Stale {
			s.since[i] = p.at
		} else if d.InTotal && d.Period < stuck/20 {
			f.Still = max(f.Still, time.Duration(p.at-s.since[i]))
		}
		if err == nil {
			s.raw[i], s.rawAt[i] = cur, p.at
		}
	}
	s.steps = s.steps || hung != nil
	s.note(p)
	if len(s.origin) < 2 && !p.failed {
		s.origin = append(s.origin, p)
	}
	s.points = append(s.points, p)
}

// latest is until when nothing more will be reported.
func (s *slowSensor) latest() checkpoint.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps { // samples do not wait
		return checkpoint.Monotime()
	}
	return s.points[len(s.points)-1].at
}

// trim forgets the points that nothing at t or later needs.
func (s *slowSensor) trim(t checkpoint.Instant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.steps {
		s.points = slices.Delete(s.points, 0, needless(s.times(), t))
	} else if n := len(s.points) - 1; n > 2 && s.points[n-1].done() <= t {
		s.points = slices.Delete(s.points, 0, n-1)
	}
}

func (s *slowSensor) times() []checkpoint.Instant {
	times := make([]checkpoint.Instant, len(s.points))
	for i, p := range s.points {
		times[i] = p.at
	}
	return times
}

// fill stores the energies at a sample and tells whether they are known. here is
// false for samples of the time when the sampler's thread still read the counters.
func (s *slowSensor) fill(sample *nemb.Sample, dst []nemb.Energy, first, here bool) answer {
	if !here {
		return known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.domains)
	if s.offset == nil {
		s.offset = make([]nemb.Energy, n)
		if first {
			// In steps, or before the second reading, the curve does not know yet what was used up to here.
			if s.value(sample.Time, s.offset) == pending || s.steps {
				s.first = sample.Time
			}
		} else { // the curve goes on at what the thread's readings reported
			for i := range s.offset {
				s.offset[i] = -dst[i]
			}
		}
		copy(s.reported, dst[:n])
	}
	a := s.value(sample.Time, dst)
	for i := range s.offset {
		dst[i] -= s.offset[i]
		// A curve of steps lies below the line that was reported before.
		dst[i] = max(dst[i], s.reported[i])
		s.reported[i] = dst[i]
	}
	if s.steps {
		p := s.points[s.newest(sample.Time)]
		sample.Late = lateness(sample, len(sample.Energy))
		for i := range n {
			sample.Late[s.at+i] = max(p.took, min(time.Duration(sample.Time-p.at)+p.took/2, 2*p.took+s.every))
		}
	}
	return a
}

// newest is the last point that was there at an instant.
func (s *slowSensor) newest(t checkpoint.Instant) int {
	i := len(s.points) - 1
	for i > 0 && s.points[i].done() > t {
		i--
	}
	return i
}

// value stores the energies at t and tells whether they are known. Behind a
// point that failed they are not before the next: what was used since the
// point before it cannot be placed in time. In steps they are those of the last
// reading that had come back, and at the end of all, those of the line.
func (s *slowSensor) value(t checkpoint.Instant, dst []nemb.Energy) answer {
	if s.steps && (s.end == 0 || t < s.end) {
		copy(dst, s.points[s.newest(t)].total)
		return known
	}
	i, part := locate(s.times(), t)
	a := s.points[i]
	if part == 0 {
		copy(dst, a.total)
		s.correct(dst)
		switch {
		case s.steps:
			return known
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
		return known
	}
	b := s.points[i+1]
	if (a.failed || b.failed) && !s.steps {
		copy(dst, a.total)
		s.correct(dst)
		return broke
	}
	for d := range a.total {
		dst[d] = between(a.total[d], b.total[d], part)
	}
	s.correct(dst)
	return known
}

// correct takes off what was used between the middle of the first reading and the
// first sample, where that was not known when the first sample was reported.
func (s *slowSensor) correct(dst []nemb.Energy) {
	if len(s.origin) < 2 || s.first == 0 {
		return
	}
	a, b := s.origin[0], s.origin[1]
	if part := float64(s.first-a.at) / float64(b.at-a.at); part > 0 && part < 1 {
		for d := range dst[:len(a.total)] {
			dst[d] -= min(dst[d], between(a.total[d], b.total[d], part)-a.total[d])
		}
	}
}
