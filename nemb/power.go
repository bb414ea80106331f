package nemb

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/checkpoint"
	"cg/nemb/patience"
)

// powerSensor makes energy of readings of power: the trapezoid between one
// reading and the next. Its domains are derived, as good as the power changes
// slowly against the time between readings.
//
// A reading that fails ends the chain: what was drawn between the reading
// before it and the next good one is not known and not made up. The energy then
// starts over at 0, as that of a counter that was reset. A domain that reads 0 W
// in all its meters is such a reading: drivers show 0 for what they do not know.
type powerSensor struct {
	name    string
	domains []Domain
	meters  [][]meter // per domain; their sum is its power
	notes   []Note
	every   time.Duration
	now     func() checkpoint.Instant

	mu     sync.Mutex
	at     checkpoint.Instant
	watts  []float64 // at the last reading; nil where the chain is broken
	total  []float64 // microjoules
	starts int       // of the chain
	desk   patience.Desk
}

// integralStart is where an integral of power starts for the n-th time, in
// microjoules: lower than at any time before, so that each is seen as a reset,
// also of one that had no time to grow.
func integralStart(n int) float64 { return float64(1<<20 - n) }

// errNoPower is what a power of 0 W is taken for.
var errNoPower = errors.New("it reads 0 W, and what is on draws more")

// silent tells whether the meters of a domain, all of which can be read, read 0 W.
func (s *powerSensor) silent(domain int) bool {
	w, err := sumOf(s.meters[domain])
	return err == nil && w == 0
}

// sumOf reads meters.
func sumOf(meters []meter) (watts float64, err error) {
	for _, m := range meters {
		w, err := m.watts()
		if err != nil {
			return 0, err
		}
		watts += w
	}
	return watts, nil
}

// meter is one reading of power.
type meter interface {
	watts() (float64, error)
	close()
}

func newPowerSensor(name string, every time.Duration) *powerSensor {
	return &powerSensor{name: name, every: every, now: checkpoint.Monotime}
}

// add adds a domain, or a meter to one that is there.
func (s *powerSensor) add(d Domain, m meter) {
	for i, o := range s.domains {
		if o.ID == d.ID {
			s.domains[i].Source += " + " + d.Source
			s.meters[i] = append(s.meters[i], m)
			return
		}
	}
	d.Method, d.Lo, d.Hi = Derived, 1, 1
	d.Period = max(d.Period, s.every)
	s.domains, s.meters = append(s.domains, d), append(s.meters, []meter{m})
}

// drop takes a domain out, if it is there.
func (s *powerSensor) drop(id string) {
	i := slices.IndexFunc(s.domains, func(d Domain) bool { return d.ID == id })
	if i < 0 {
		return
	}
	for _, m := range s.meters[i] {
		m.close()
	}
	s.domains, s.meters = slices.Delete(s.domains, i, i+1), slices.Delete(s.meters, i, i+1)
}

func (s *powerSensor) Domains() []Domain { return append([]Domain(nil), s.domains...) }

func (s *powerSensor) Notes() []Note { return s.notes }

// Every is how often the power is read: it is not brought up to date faster.
func (s *powerSensor) Every() time.Duration { return s.every }

func (s *powerSensor) Adjust(change func(*Domain)) {
	for i := range s.domains {
		change(&s.domains[i])
	}
}

func (s *powerSensor) Split(keep func(Domain) bool) (rest Sensor) {
	r := &powerSensor{name: s.name, every: s.every, now: s.now}
	kept := 0
	for i, d := range s.domains {
		if keep(d) {
			s.domains[kept], s.meters[kept] = d, s.meters[i]
			kept++
			continue
		}
		r.domains, r.meters = append(r.domains, d), append(r.meters, s.meters[i])
	}
	s.domains, s.meters = s.domains[:kept], s.meters[:kept]
	if len(r.domains) == 0 {
		return nil
	}
	return r
}

// Read stores the energy since the first Read, or since the last that failed.
func (s *powerSensor) Read(dst []Energy) error { return patience.Read(&s.desk, s.name, dst, s.read) }

func (s *powerSensor) read(dst []Energy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now()
	watts := make([]float64, len(s.domains))
	for i, meters := range s.meters {
		var err error
		if watts[i], err = sumOf(meters); err == nil && watts[i] == 0 {
			err = errNoPower
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
			s.total[i] = integralStart(s.starts)
		}
		dst[i] = Energy(s.total[i])
	}
	return nil
}

func (s *powerSensor) Close() error {
	return s.desk.End(s.name, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, meters := range s.meters {
			for _, m := range meters {
				m.close()
			}
		}
		s.meters = nil
		return nil
	})
}

// gauge is a file that holds a decimal number of units.
type gauge struct {
	path string
	fd   int
	unit float64 // watts
}

// openGauge opens a file of a power and reads it once.
func openGauge(path string, unit float64) (*gauge, error) {
	g, err := openSigned(path)
	if err != nil {
		return nil, err
	}
	g.unit = unit
	if _, err := g.watts(); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// openSigned opens a file of a number and reads it once.
func openSigned(path string) (*gauge, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	g := &gauge{path: path, fd: fd}
	if _, err := g.number(); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *gauge) watts() (float64, error) {
	v, err := g.number()
	if err == nil && v < 0 {
		err = fmt.Errorf("%s: reads %d: want a power", g.path, v)
	}
	return float64(v) * g.unit, err
}

func (g *gauge) number() (int64, error) {
	var text [32]byte
	n, err := unix.Pread(g.fd, text[:], 0)
	if err != nil {
		return 0, &fs.PathError{Op: "read", Path: g.path, Err: err}
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(text[:n])), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%s: reads %q: want a decimal number", g.path, text[:n])
	}
	return v, nil
}

func (g *gauge) close() { unix.Close(g.fd) }
