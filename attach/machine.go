package attach

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"cg/attach/native"
	"cg/attach/python"
	"cg/checkpoint"
)

// machine has the functions of machine code. Their looks are of threads that run, after each
// interval of a thread's processor time.
type machine struct {
	reader *native.Reader // nil for none
	err    error          // why there is none
	ran    map[checkpoint.Thread]*lastRun
	seen   map[int]bool // processes
	// known are threads that have events, their own or inherited ones, unknown those that had none when they
	// were listed last, and refused why processes cannot be sampled; see find.
	known, unknown map[uint32]bool
	refused        map[int]error
	// foreign has in which round a thread that may be none of an interpreter's was seen first.
	foreign map[checkpoint.Thread]int
	began   int // starts of threads and programs that were told
	late    int // threads that got their events after they had run
	// start is a moment of both clocks.
	start checkpoint.Instant
	tick  checkpoint.Tick
}

// lastRun is when a thread was seen to run last.
type lastRun struct {
	at      checkpoint.Instant
	path    []checkpoint.SiteID
	waiting bool    // it was told that it does not run any more
	kernel  *kernel // nil where the kernel's own time has samples, or that was not asked so far
}

// begin makes the machine of a sampler, which has no reader so far.
func (m *machine) begin(s *Sampler) {
	m.ran, m.seen = map[checkpoint.Thread]*lastRun{}, map[int]bool{}
	m.foreign = map[checkpoint.Thread]int{}
	m.known, m.unknown, m.refused = map[uint32]bool{}, map[uint32]bool{}, map[int]error{}
	m.start, m.tick = checkpoint.Monotime(), s.config.Clock.Now()
}

// pauseIntervals is after how many intervals without a look a thread is taken not to run.
const pauseIntervals = 2

// lookMachine adds the looks since the last round, which are between it and this one.
func (s *Sampler) lookMachine(now checkpoint.Instant, at checkpoint.Tick) {
	m := &s.machine
	if m.reader == nil {
		return
	}
	running, pythons := s.pythons()
	m.reader.Python = running
	m.reader.Thin = max(1, int(s.interval/s.config.Interval))
	looks := m.reader.Read(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	tick := func(t checkpoint.Instant) checkpoint.Tick {
		rate := 1.0
		if now > m.start {
			rate = float64(at-m.tick) / float64(now-m.start)
		}
		return min(at, max(s.until, at-checkpoint.Tick(float64(max(0, now-t))*rate)))
	}
	pause := checkpoint.Instant(pauseIntervals * s.interval)
	var round []*Look // not yet in the order of time, as threads differ in when they resumed
	for _, l := range looks {
		if l.Python && l.Interpreted {
			s.below.add(l)
		}
		if !m.meet(l) || l.Python && !m.isForeign(l, pythons[l.Thread.PID]) {
			continue
		}
		if l.Else != nil {
			l.Path = l.Else()
		}
		before := m.ran[l.Thread]
		switch {
		case l.Ended:
			round = append(round, &Look{Thread: l.Thread, At: tick(l.At)})
			m.forget(l.Thread)
			continue
		case before == nil:
			before = &lastRun{}
			m.ran[l.Thread] = before
			m.seen[int(l.Thread.PID)] = true
		case before.kernel.resume(now, before.path, l.Path): // it ran in the kernel until now
		case l.At-before.at > pause: // it ran for an interval of that
			resumed := l.At - checkpoint.Instant(s.interval)
			round = append(round, &Look{Thread: l.Thread, At: tick(resumed), Path: before.path, Waiting: true})
		}
		*before = lastRun{at: l.At, path: l.Path, kernel: before.kernel}
		round = append(round, &Look{Thread: l.Thread, At: tick(l.At), Path: l.Path})
	}
	for thread, l := range m.ran {
		if p := pythons[thread.PID]; p != nil && p.threads[thread.TID] != nil {
			m.forget(thread)
			continue
		}
		if m.reader.UserOnly() && now-l.at > pause {
			if look := s.askKernel(thread, l, now, at); look != nil {
				round = append(round, look)
			}
			continue
		}
		if !l.waiting && now-l.at > pause {
			l.waiting = true
			round = append(round, &Look{Thread: thread, At: at, Path: l.path, Waiting: true})
		}
	}
	slices.SortStableFunc(round, func(a, b *Look) int { return cmp.Compare(a.At, b.At) })
	s.looks = append(s.looks, round...)
}

// forget ends what is known of a thread.
func (m *machine) forget(thread checkpoint.Thread) {
	if l := m.ran[thread]; l != nil {
		l.kernel.close()
	}
	delete(m.ran, thread)
}

// meet notes the start and the end of a thread, and tells whether a look is one to add.
func (m *machine) meet(l native.Look) bool {
	switch {
	case l.Began:
		m.known[l.Thread.TID] = true
		m.began++
		return false
	case l.Ended:
		delete(m.known, l.Thread.TID)
		delete(m.foreign, l.Thread)
		return m.ran[l.Thread] != nil
	}
	return true
}

// foreignRounds is in how many rounds a thread of a process that runs CPython must have been no thread of the
// interpreter's before it counts as one that knows no Python.
const foreignRounds = 2

// isForeign tells whether a look at a process that runs CPython is at a thread that the interpreter does not
// know, such as one that a library of linear algebra keeps.
func (m *machine) isForeign(l native.Look, p *process) bool {
	if p == nil || l.Interpreted || p.threads[l.Thread.TID] != nil {
		delete(m.foreign, l.Thread)
		return false
	}
	since, ok := m.foreign[l.Thread]
	if !ok {
		since = p.round
		m.foreign[l.Thread] = since
	}
	return p.round-since >= foreignRounds
}

// tell adds to what is known of a process.
func (m *machine) tell(p *ProcessStats) {
	none := errors.Is(p.Why, python.ErrNoPython)
	if m.reader != nil {
		p.Unnamed, p.Java = m.reader.Unnamed[uint32(p.PID)], m.reader.IsJava(uint32(p.PID))
	}
	switch {
	case p.Reader != "":
	case m.refused[p.PID] != nil && none && !m.seen[p.PID]:
		p.Why = fmt.Errorf("%w; %w", p.Why, m.refused[p.PID])
	case m.reader != nil && (none || m.seen[p.PID]):
		p.Reader, p.Why = m.reader.Name(), nil
	case m.err != nil && none:
		p.Why = fmt.Errorf("%w; %w", p.Why, m.err)
	}
}

// count tells what the samples of machine code lack, and what fetching them took.
func (m *machine) count(to *Stats) {
	to.NoMachine = m.err
	if m.reader == nil {
		return
	}
	to.Lost, to.Throttled, to.Late = m.reader.Lost, m.reader.Throttled, m.late
}

// cpu is the processor time that machine code takes beside the looking thread.
func (m *machine) cpu() time.Duration {
	if m.reader == nil {
		return 0
	}
	return m.reader.CPU()
}

func (m *machine) close() {
	for _, l := range m.ran {
		l.kernel.release()
	}
	if m.reader != nil {
		m.reader.Close()
	}
}
