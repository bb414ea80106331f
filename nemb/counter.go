package nemb

// #include "sampler.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// fdSensor is a sensor whose domains are counters behind kept file
// descriptors: the sampler's thread reads them itself.
type fdSensor interface {
	Sensor
	counters() []counter // one per domain, in the order of Domains
}

// counter is one energy counter behind a file descriptor. What it shows,
// masked and times scale, is microjoules.
type counter struct {
	fd    int
	form  form
	at    uint64  // asWord: offset in the file; asGroup: index in the group
	mask  uint64  // of the binary forms
	scale float64 // of the binary forms
}

// form is what reading a counter gives.
type form int

const (
	asText  form = C.CG_TEXT  // a decimal number of microjoules (sysfs)
	asWord  form = C.CG_WORD  // a word of 64 bits at an offset (/dev/cpu/N/msr)
	asGroup form = C.CG_GROUP // perf events, their number first (PERF_FORMAT_GROUP)
	asNone  form = C.CG_NONE  // not read: somebody else does
)

// groupMost is the largest number of events in one group.
const groupMost = C.CG_GROUP_MOST

func native(counters []counter) []C.struct_cg_counter {
	var all []C.struct_cg_counter
	for _, c := range counters {
		all = append(all, C.struct_cg_counter{
			fd: C.int32_t(c.fd), form: C.int32_t(c.form), at: C.uint64_t(c.at), mask: C.uint64_t(c.mask), scale: C.double(c.scale),
		})
	}
	return all
}

// readCounters reads as the sampler's thread does, once. failed is the index
// of the first counter that could not be read, -1 for none. at tells meanwhile
// which one it is at.
func readCounters(counters []counter, dst []Energy, at *int32) (failed int) {
	list := native(counters)
	words := make([]C.uint64_t, len(list)+1)
	if len(list) > 0 {
		C.cg_read(&list[0], C.int(len(list)), &words[0], (*C.int32_t)(at))
	}
	for i := range list {
		if words[i] == C.CG_FAILED {
			return i
		}
		dst[i] = Energy(words[i])
	}
	return -1
}

// read reads the counter alone.
func (c counter) read() (Energy, error) {
	var e [1]Energy
	if readCounters([]counter{c}, e[:], new(int32)) < 0 {
		return e[0], nil
	}
	return 0, c.why()
}

// why tells why the counter cannot be read, by reading it once more.
func (c counter) why() error {
	var b [(1 + groupMost) * 8]byte
	var n int
	var err error
	switch c.form {
	case asGroup:
		n, err = unix.Read(c.fd, b[:])
	case asWord:
		n, err = unix.Pread(c.fd, b[:8], int64(c.at))
	default:
		n, err = unix.Pread(c.fd, b[:], 0)
	}
	switch {
	case err != nil:
		return err
	case c.form == asText:
		return fmt.Errorf("reads %q: want a decimal number of microjoules", b[:min(n, 40)])
	}
	return fmt.Errorf("reads %d bytes: want a counter of 64 bits", n)
}

// fileSensor is a sensor all of whose domains are counters.
type fileSensor struct {
	name    string // of its Source, for errors
	domains []Domain
	list    []counter
	open    []int // file descriptors, each once
	notes   []Note
	desk    desk
	slow    []*slowCounters // of some of list: those that once did not answer in time
}

func (s *fileSensor) Notes() []Note { return s.notes }

func (s *fileSensor) Adjust(change func(*Domain)) {
	for i := range s.domains {
		change(&s.domains[i])
	}
}

// split keeps the domains for which keep is true and gives the others as a
// sensor of their own, nil if there are none. Descriptors stay with the
// sensor that keeps any.
func (s *fileSensor) Split(keep func(Domain) bool) (rest Sensor) {
	r := &fileSensor{name: s.name}
	kept := 0
	for i, d := range s.domains {
		if keep(d) {
			s.domains[kept], s.list[kept] = d, s.list[i]
			kept++
			continue
		}
		r.domains, r.list = append(r.domains, d), append(r.list, s.list[i])
	}
	s.domains, s.list = s.domains[:kept], s.list[:kept]
	if len(r.domains) == 0 {
		return nil
	}
	return r
}

func (s *fileSensor) Domains() []Domain { return slices.Clone(s.domains) }

func (s *fileSensor) counters() []counter { return s.list }

// Read reads every counter, one after the other.
func (s *fileSensor) Read(dst []Energy) error {
	return readAtDesk(&s.desk, s.name, s.domains, s.list, dst)
}

// readAtDesk reads counters; the error names the one that failed, or hangs.
func readAtDesk(d *desk, name string, domains []Domain, list []counter, dst []Energy) error {
	at := new(int32)
	err := d.read(name, dst, func(dst []Energy) error {
		if i := readCounters(list, dst, at); i >= 0 {
			return fmt.Errorf("%s: %s: %w", name, domains[i].Source, list[i].why())
		}
		return nil
	})
	var hung *Hung
	if errors.As(err, &hung) && len(domains) > 0 {
		hung.What += ": " + domains[atomic.LoadInt32(at)].Source
	}
	return err
}

func (s *fileSensor) Close() error {
	for _, c := range s.slow {
		c.desk.end(s.name, nil)
	}
	if len(s.open) == 0 { // they are another's
		return s.desk.end(s.name, nil)
	}
	open := s.open
	s.open = nil
	return s.desk.end(s.name, func() error {
		var errs []error
		for _, fd := range open {
			if err := unix.Close(fd); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			}
		}
		return errors.Join(errs...)
	})
}

// slowCounters are counters behind one descriptor of a fileSensor that did not
// answer in time: they are read by themselves, and the others do not wait.
type slowCounters struct {
	name    string
	first   int // in the sensor's list
	domains []Domain
	list    []counter
	desk    desk
}

// apart gives the counters that share a descriptor with counter i as a sensor of
// their own. The fileSensor keeps it until it is closed: what hangs in one run
// hangs in the next.
func (s *fileSensor) apart(i int) *slowCounters {
	for _, c := range s.slow {
		if c.first <= i && i < c.first+len(c.list) {
			return c
		}
	}
	from, to := i, i+1
	for from > 0 && s.list[from-1].fd == s.list[i].fd {
		from--
	}
	for to < len(s.list) && s.list[to].fd == s.list[i].fd {
		to++
	}
	c := &slowCounters{name: s.name, first: from}
	c.domains, c.list = slices.Clone(s.domains[from:to]), slices.Clone(s.list[from:to])
	s.slow = append(s.slow, c)
	return c
}

func (c *slowCounters) Domains() []Domain { return slices.Clone(c.domains) }

// Every is how often they are read, where reading them takes no longer.
func (c *slowCounters) Every() time.Duration { return 100 * time.Millisecond }

func (c *slowCounters) Read(dst []Energy) error {
	return readAtDesk(&c.desk, c.name, c.domains, c.list, dst)
}

// Close does nothing: the descriptors are the fileSensor's.
func (c *slowCounters) Close() error { return nil }
