// Package sensor holds what sensors are made of: counters behind file descriptors (File),
// powers that are integrated over time (Power), files of one number (Number), and the
// kinds of errors. The sensors themselves are the folders below.
package sensor

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"cg/nemb"
	"cg/nemb/counter"
	"cg/nemb/patience"
)

// File is a sensor all of whose domains are counters behind file descriptors.
type File struct {
	name    string // of its Source, for errors
	domains []nemb.Domain
	list    []counter.Counter
	open    []int // file descriptors, each once
	notes   []nemb.Note
	desk    patience.Desk
	slow    []*slowCounters // of some of list: those that once did not answer in time
}

// NewFile returns a sensor without counters. name is that of its Source, for errors.
func NewFile(name string) *File { return &File{name: name} }

// Add adds a domain and its counter.
func (s *File) Add(d nemb.Domain, c counter.Counter) {
	s.domains, s.list = append(s.domains, d), append(s.list, c)
}

// Keep has Close close a descriptor, which the counters may share.
func (s *File) Keep(fd int) { s.open = append(s.open, fd) }

// Note adds what was seen of the sensor.
func (s *File) Note(n nemb.Note) { s.notes = append(s.notes, n) }

// Notes lists what was seen.
func (s *File) Notes() []nemb.Note { return s.notes }

// Adjust calls change for each domain.
func (s *File) Adjust(change func(*nemb.Domain)) {
	for i := range s.domains {
		change(&s.domains[i])
	}
}

// Split keeps the domains for which keep is true and gives the others as a
// sensor of their own, nil if there are none. Descriptors stay with the
// sensor that keeps any.
func (s *File) Split(keep func(nemb.Domain) bool) (rest nemb.Sensor) {
	r := &File{name: s.name}
	s.domains, s.list, r.domains, r.list = divide(s.domains, s.list, keep)
	if len(r.domains) == 0 {
		return nil
	}
	return r
}

// Domains lists them.
func (s *File) Domains() []nemb.Domain { return slices.Clone(s.domains) }

// Counters has one for each domain.
func (s *File) Counters() []counter.Counter { return s.list }

// Read reads every counter, one after the other.
func (s *File) Read(dst []nemb.Energy) error {
	return readAtDesk(&s.desk, s.name, s.domains, s.list, dst)
}

// readAtDesk reads counters; the error names the one that failed, or hangs.
func readAtDesk(d *patience.Desk, name string, domains []nemb.Domain, list []counter.Counter, dst []nemb.Energy) error {
	at := new(int32)
	err := patience.Read(d, name, dst, func(dst []nemb.Energy) error {
		if i := counter.ReadAll(list, dst, at); i >= 0 {
			return fmt.Errorf("%s: %s: %w", name, domains[i].Source, list[i].Why())
		}
		return nil
	})
	var hung *patience.Hung
	if errors.As(err, &hung) && len(domains) > 0 {
		hung.What += ": " + domains[atomic.LoadInt32(at)].Source
	}
	return err
}

// Close closes the descriptors that were kept.
func (s *File) Close() error {
	for _, c := range s.slow {
		c.desk.End(s.name, nil)
	}
	if len(s.open) == 0 { // they are another's
		return s.desk.End(s.name, nil)
	}
	open := s.open
	s.open = nil
	return s.desk.End(s.name, func() error {
		var errs []error
		for _, fd := range open {
			if err := unix.Close(fd); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		return errors.Join(errs...)
	})
}

// slowCounters are counters behind one descriptor of a File that did not
// answer in time: they are read by themselves, and the others do not wait.
type slowCounters struct {
	name    string
	first   int // in the sensor's list
	domains []nemb.Domain
	list    []counter.Counter
	desk    patience.Desk
}

// Aside gives the counters that share a descriptor with counter i as a sensor of
// their own, which is kept until the File is closed.
func (s *File) Aside(i int) (aside nemb.Sensor, first int) {
	for _, c := range s.slow {
		if c.first <= i && i < c.first+len(c.list) {
			return c, c.first
		}
	}
	from, to := i, i+1
	for from > 0 && s.list[from-1].FD == s.list[i].FD {
		from--
	}
	for to < len(s.list) && s.list[to].FD == s.list[i].FD {
		to++
	}
	c := &slowCounters{name: s.name, first: from}
	c.domains, c.list = slices.Clone(s.domains[from:to]), slices.Clone(s.list[from:to])
	s.slow = append(s.slow, c)
	return c, from
}

// SetAside lists the first counter of each sensor that Aside has given.
func (s *File) SetAside() []int {
	var firsts []int
	for _, c := range s.slow {
		firsts = append(firsts, c.first)
	}
	return firsts
}

func (c *slowCounters) Domains() []nemb.Domain { return slices.Clone(c.domains) }

// Every is how often they are read, where reading them takes no longer.
func (c *slowCounters) Every() time.Duration { return 100 * time.Millisecond }

func (c *slowCounters) Read(dst []nemb.Energy) error {
	return readAtDesk(&c.desk, c.name, c.domains, c.list, dst)
}

// Close does nothing: the descriptors are the File's.
func (c *slowCounters) Close() error { return nil }
