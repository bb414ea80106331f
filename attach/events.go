package attach

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"cg/attach/native"
	"cg/attach/perf"
	"cg/attach/python"
)

// Prepared has the perf events of a program that is about to be started, so that its functions of machine
// code are known from its first instruction on. Start takes it over; without Start, Close releases it.
type Prepared struct {
	events *perf.Sampler
	err    error
}

// Prepare makes the program that the calling OS thread starts next, and what that starts, have samples. The
// thread must start nothing else. Where perf events are not permitted, Stats tells so later.
func Prepare(interval time.Duration) *Prepared {
	p := &Prepared{}
	if p.events, p.err = perf.Open(interval); p.err == nil {
		if p.err = p.events.Inherit(); p.err != nil {
			p.Close()
		}
	}
	return p
}

// Close ends the sampling. A nil Prepared has nothing to end.
func (p *Prepared) Close() {
	if p != nil && p.events != nil {
		p.events.Close()
		p.events = nil
	}
}

// mostListings is how often the threads of a process that runs already are listed, at most, until all of
// a listing have events.
const mostListings = 64

// openMachine begins to sample machine code.
func (s *Sampler) openMachine() {
	m := &s.machine
	m.begin(s)
	if p := s.config.Prepared; p != nil {
		if m.err = p.err; m.err == nil {
			m.reader = native.Open(p.events, s.sites.number)
		}
		return
	}
	events, err := perf.Open(s.config.Interval)
	if m.err = err; err != nil {
		return
	}
	events.UserOnly = s.config.UserOnly
	m.reader = native.Open(events, s.sites.number)
	// A thread that starts another one before it has all its events passes on those that it has.
	// It stands in the next listing, and gets its own.
	added, first := 0, error(nil)
	for range mostListings {
		n, err := m.addAll(family(s.config.PID))
		if added += n; first == nil {
			first = err
		}
		if n == 0 {
			break
		}
	}
	if added == 0 && first != nil {
		m.reader.Close()
		m.reader, m.err = nil, first
	}
}

// addAll samples the threads of processes that are not known, and counts them.
func (m *machine) addAll(processes []int) (added int, first error) {
	for _, pid := range processes {
		for _, tid := range python.Tasks(pid) {
			if m.known[tid] {
				continue
			}
			if err := m.add(pid, tid); err == nil {
				added++
			} else if first == nil && !errors.Is(err, unix.ESRCH) {
				first = err
			}
		}
	}
	return added, first
}

// add samples a thread.
func (m *machine) add(pid int, tid uint32) error {
	err := m.reader.Add(int(tid))
	if errors.Is(err, unix.ESRCH) { // it has ended
		return err
	}
	m.known[tid] = true // also where it is refused: it stays so
	if err != nil {
		m.refused[pid] = err
	}
	return err
}

// find looks for threads that have no events: nobody told of their start, and they stood in two listings.
// They began while the events of the thread that started them were opened, or the kernel had no room to
// tell.
func (m *machine) find(processes []*process) {
	if m.reader == nil {
		return
	}
	unknown := map[uint32]bool{}
	for _, p := range processes {
		if p.over {
			continue
		}
		for _, tid := range python.Tasks(p.pid) {
			switch {
			case m.known[tid]:
			case !m.unknown[tid]:
				unknown[tid] = true
			case m.add(p.pid, tid) == nil:
				m.late++
			}
		}
	}
	m.unknown = unknown
}
