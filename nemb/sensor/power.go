package sensor

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/patience"
)

// Power is a sensor that makes energy of readings of power: the trapezoid between one
// reading and the next. Its domains are derived, as good as the power changes
// slowly against the time between readings, and with the error that the domain has of its
// own (Lo, Hi; none where both are 0).
//
// A reading that fails ends the chain: what was drawn between the reading
// before it and the next good one is not known and not made up. The energy then
// starts over at 0, as that of a counter that was reset. A domain that reads 0 W
// in all its meters is such a reading: drivers show 0 for what they do not know.
type Power struct {
	name    string
	domains []nemb.Domain
	meters  [][]Meter // per domain; their sum is its power
	notes   []nemb.Note
	every   time.Duration
	now     func() checkpoint.Instant

	mu     sync.Mutex
	at     checkpoint.Instant
	watts  []float64 // at the last reading; nil where the chain is broken
	total  []float64 // microjoules
	starts int       // of the chain
	desk   patience.Desk
}

// IntegralStart is where an integral of power starts for the n-th time, in
// microjoules: lower than at any time before, so that each is seen as a reset,
// also of one that had no time to grow.
func IntegralStart(n int) float64 { return float64(1<<20 - n) }

// ErrNoPower is what a power of 0 W is taken for.
var ErrNoPower = errors.New("it reads 0 W, and what is on draws more")

// Watts is the power of a domain now.
func (s *Power) Watts(domain int) (float64, error) { return sumOf(s.meters[domain]) }

// Silent tells whether the meters of a domain, all of which can be read, read 0 W.
func (s *Power) Silent(domain int) bool {
	w, err := s.Watts(domain)
	return err == nil && w == 0
}

// Note adds what was seen of the sensor.
func (s *Power) Note(n nemb.Note) { s.notes = append(s.notes, n) }

// sumOf reads meters.
func sumOf(meters []Meter) (watts float64, err error) {
	for _, m := range meters {
		w, err := m.Watts()
		if err != nil {
			return 0, err
		}
		watts += w
	}
	return watts, nil
}

// Meter is one reading of power.
type Meter interface {
	Watts() (float64, error)
	Close()
}

func NewPower(name string, every time.Duration) *Power {
	return &Power{name: name, every: every, now: checkpoint.Monotime}
}

// Add adds a domain, or a meter to one that is there.
func (s *Power) Add(d nemb.Domain, m Meter) {
	for i, o := range s.domains {
		if o.ID == d.ID {
			s.domains[i].Source += " + " + d.Source
			s.meters[i] = append(s.meters[i], m)
			return
		}
	}
	d.Method = nemb.Derived
	if d.Hi == 0 {
		d.Lo, d.Hi = 1, 1
	}
	d.Period = max(d.Period, s.every)
	s.domains, s.meters = append(s.domains, d), append(s.meters, []Meter{m})
}

// Drop takes a domain out, if it is there.
func (s *Power) Drop(id string) {
	i := slices.IndexFunc(s.domains, func(d nemb.Domain) bool { return d.ID == id })
	if i < 0 {
		return
	}
	for _, m := range s.meters[i] {
		m.Close()
	}
	s.domains, s.meters = slices.Delete(s.domains, i, i+1), slices.Delete(s.meters, i, i+1)
}

// Domains lists them.
func (s *Power) Domains() []nemb.Domain { return append([]nemb.Domain(nil), s.domains...) }

// Notes lists what was seen.
func (s *Power) Notes() []nemb.Note { return s.notes }

// Every is how often the power is read: it is not brought up to date faster.
func (s *Power) Every() time.Duration { return s.every }

// Adjust calls change for each domain.
func (s *Power) Adjust(change func(*nemb.Domain)) {
	for i := range s.domains {
		change(&s.domains[i])
	}
}

// Split keeps the domains for which keep is true and gives the others.
func (s *Power) Split(keep func(nemb.Domain) bool) (rest nemb.Sensor) {
	r := &Power{name: s.name, every: s.every, now: s.now}
	s.domains, s.meters, r.domains, r.meters = divide(s.domains, s.meters, keep)
	if len(r.domains) == 0 {
		return nil
	}
	return r
}

// Read stores the energy since the first Read, or since the last that failed.
func (s *Power) Read(dst []nemb.Energy) error { return patience.Read(&s.desk, s.name, dst, s.read) }

func (s *Power) read(dst []nemb.Energy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now()
	watts := make([]float64, len(s.domains))
	for i, meters := range s.meters {
		var err error
		if watts[i], err = sumOf(meters); err == nil && watts[i] == 0 {
			err = ErrNoPower
		}
		if err != nil {
			s.watts = nil
			return fmt.Errorf("%s: %s: %w", s.name, s.domains[i].ID, err)
		}
	}
	at := before + (s.now()-before)/2
	last, since := s.watts, at-s.at
	s.watts, s.at = watts, at
	if s.total == nil {
		s.total = make([]float64, len(s.domains))
	}
	if last == nil {
		s.starts++
	}
	for i := range s.total {
		if last != nil {
			s.total[i] += 1e6 * (last[i] + watts[i]) / 2 * time.Duration(since).Seconds()
		} else {
			s.total[i] = IntegralStart(s.starts)
		}
		dst[i] = nemb.Energy(s.total[i])
	}
	return nil
}

// Close closes the meters.
func (s *Power) Close() error {
	return s.desk.End(s.name, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, meters := range s.meters {
			for _, m := range meters {
				m.Close()
			}
		}
		s.meters = nil
		return nil
	})
}
