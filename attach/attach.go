// Package attach looks at the call stacks of a running program from outside, some hundred to a
// thousand times a second.
//
// It takes the number of a process and gives looks: where each thread of it, and of the
// processes that it started, was at a moment, and whether the thread had work to do then. The
// program needs no preparation, is not stopped, and nothing is written into it. What reads the
// stacks is a package below: attach/python those of CPython, attach/native those of machine code.
// The package knows nothing of energy.
package attach

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cg/attach/python"
	"cg/checkpoint"
)

// Config says what to look at.
type Config struct {
	PID int
	// Interval is the mean time from one look to the next. Each is drawn at random from half
	// of it to one and a half, so that no program keeps step with it.
	Interval time.Duration
	Clock    checkpoint.Clock // of Look.At
	// Budget is the part of a processor that looking may take: where it is more, looks are
	// rarer. 0 for no limit.
	Budget float64
	// Prepared has the events of a process that was started for it; nil for one that runs already.
	Prepared *Prepared
	// UserOnly leaves out samples in the kernel, as it must be where these are not permitted.
	UserOnly bool
}

// The least and the largest interval.
const (
	MinInterval = time.Millisecond
	MaxInterval = time.Second
)

// Look is where a thread was at a moment.
type Look struct {
	Thread checkpoint.Thread
	At     checkpoint.Tick
	// Path is the functions that it was in, the outermost first; nil for none. It is not to
	// be changed: looks share it.
	Path []checkpoint.SiteID
	// Waiting tells that it was on no processor: it slept, or waited for a lock, a file,
	// another thread, or for a processor.
	Waiting bool

	open   bool // Waiting is not known yet
	placed bool // what Path is below is known, where that is found out later; see kernel
	inside bool // Path is the kernel's
	// leaf is where the bytecode of its innermost function lies, if what that called is to be found; see below.
	leaf python.Span
	when checkpoint.Instant // At
}

// Stats says how the looking went.
type Stats struct {
	Interval time.Duration // that was asked for
	Mean     time.Duration // that was reached
	Rounds   int
	Looks    int // of threads
	Waiting  int // of these, those of threads that waited
	Torn     int // stacks that changed while they were read: no looks
	Lost     int // samples of machine code for which there was no room: no looks
	// Throttled is how often the kernel paused the samples of a thread, since they took it too long
	// (kernel.perf_event_max_sample_rate and perf_cpu_time_max_percent).
	Throttled int
	// Late is the threads of machine code that ran before they were sampled.
	Late int
	// NoMachine is why functions of machine code are in no look; nil where they are.
	NoMachine error
	Unplaced  int           // stacks of threads of which it is not known which of the kernel's they are: no looks
	CPU       time.Duration // that looking took
	Processes []ProcessStats
}

// ProcessStats is what is known of one process.
type ProcessStats struct {
	PID    int
	Name   string // its program
	Reader string // what read its stacks, such as CPython 3.11; "" for nothing
	// Language and Version are those of an interpreter, such as 3.11; "" for none.
	Language, Version string
	Why               error // where nothing did
	// Unnamed counts the looks at code that the process made and no map names, and Java tells that it runs Java.
	Unnamed int
	Java    bool
}

// Sampler looks until it is stopped.
type Sampler struct {
	config Config
	sites  *sites

	mu    sync.Mutex // of what follows
	looks []*Look
	until checkpoint.Tick // of the last round
	stats Stats

	stop, done chan struct{}
	once       sync.Once

	processes []*process
	machine   machine
	below     below
	scanned   checkpoint.Instant
	interval  time.Duration // by the budget
}

// Start begins to look. A process that runs nothing that can be read yet is looked at again.
func Start(c Config) *Sampler {
	s := &Sampler{
		config: c, sites: newSites(), stop: make(chan struct{}), done: make(chan struct{}), interval: c.Interval,
		processes: []*process{newProcess(c.PID)},
	}
	s.stats.Interval = c.Interval
	go s.run()
	return s
}

// Stop ends the looking. Take and the rest can be called afterwards.
func (s *Sampler) Stop() {
	s.once.Do(func() { close(s.stop) })
	<-s.done
}

// Settled is the moment before which all looks are known.
func (s *Sampler) Settled() checkpoint.Tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.looks {
		if l.open || l.leaf.To != 0 || l.inside && !l.placed {
			return l.At
		}
	}
	return s.until
}

// Take gives the looks before a moment that were not taken yet, in their order. The moment must
// not be after Settled.
func (s *Sampler) Take(until checkpoint.Tick) (taken []Look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.looks) && s.looks[n].At < until {
		l := *s.looks[n]
		taken = append(taken, l)
		if s.stats.Looks++; l.Waiting {
			s.stats.Waiting++
		}
		n++
	}
	s.looks = slices.Delete(s.looks, 0, n)
	return taken
}

// Sites lists the functions that were met so far, by their numbers from 1.
func (s *Sampler) Sites() []checkpoint.Site { return s.sites.list() }

// Stats says how it went so far.
func (s *Sampler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// budgetRounds is after how many rounds the budget is looked at.
const budgetRounds = 64

// leastPart is the shortest time between two looks, as a part of the mean.
const leastPart = 0.5

// run looks on a thread of its own, whose time is measured.
func (s *Sampler) run() {
	defer close(s.done)
	lockThread()
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	begin, cpu := checkpoint.Monotime(), threadTime()
	s.openMachine()
	defer s.machine.close()
	next := begin
	for round := 1; ; round++ {
		select {
		case <-s.stop:
			s.lookMachine(checkpoint.Monotime(), s.config.Clock.Now())
			s.tell()
			s.settleAll()
			for _, p := range s.processes {
				p.close()
			}
			return
		default:
		}
		s.round()
		now := checkpoint.Monotime()
		s.mu.Lock()
		s.stats.Rounds = round
		s.stats.CPU = threadTime() - cpu + s.machine.cpu()
		s.stats.Mean = time.Duration(int64(now-begin) / int64(round))
		s.mu.Unlock()
		if round%budgetRounds == 0 {
			s.keepBudget(time.Duration(now-begin), s.stats.CPU)
		}
		pause := float64(s.interval) * (leastPart + random.Float64()*2*(1-leastPart))
		next = max(next+checkpoint.Instant(pause), now+checkpoint.Instant(float64(s.interval)*leastPart/2))
		sleepUntil(next)
	}
}

// keepBudget makes looks rarer where they take more than they may, and more frequent again.
func (s *Sampler) keepBudget(wall, cpu time.Duration) {
	if s.config.Budget <= 0 || wall <= 0 {
		return
	}
	part := cpu.Seconds() / wall.Seconds()
	switch {
	case part > s.config.Budget:
		s.interval = min(MaxInterval, s.interval*5/4)
	case part < s.config.Budget/2 && s.interval > s.config.Interval:
		s.interval = max(s.config.Interval, s.interval*4/5)
	}
}

// round looks at all threads once.
func (s *Sampler) round() {
	now := checkpoint.Monotime()
	if now-s.scanned >= checkpoint.Instant(scanEvery) {
		s.scanned = now
		s.scan()
	}
	torn, unplaced := 0, 0
	at := s.config.Clock.Now()
	s.lookMachine(checkpoint.Monotime(), at)
	if now == s.scanned {
		for _, p := range s.processes {
			p.renew(now, at, s)
		}
	}
	for _, p := range s.processes {
		p.guarded(s, func() { p.look(now, at, s) })
		torn, unplaced = torn+p.torn(), unplaced+p.nowhere()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below.settle(s.looks, now)
	s.until, s.stats.Torn, s.stats.Unplaced = at, torn, unplaced
	s.machine.count(&s.stats)
}

// add adds a look at a thread.
func (s *Sampler) add(t *thread, l *Look, ready bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ready {
		l.open = true
	}
	t.looked(l, ready, checkpoint.Monotime())
	l.open = l.open && len(t.open) > 0 && t.open[len(t.open)-1] == l
	s.looks = append(s.looks, l)
}

// settleAll settles what is open at the end: threads that were ready ran, as far as is known.
func (s *Sampler) settleAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.looks {
		l.open, l.placed = false, true
	}
	s.below.settle(s.looks, math.MaxInt64)
	s.until = ^checkpoint.Tick(0)
}

// tell keeps what is known of the processes for Stats.
func (s *Sampler) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Processes = make([]ProcessStats, 0, len(s.processes))
	s.stats.Torn = 0
	s.machine.count(&s.stats)
	for _, p := range s.processes {
		s.stats.Torn += p.torn()
		told := p.told()
		s.machine.tell(&told)
		s.stats.Processes = append(s.stats.Processes, told)
	}
}

// sleepUntil waits for a moment of CLOCK_MONOTONIC.
func sleepUntil(at checkpoint.Instant) {
	t := unix.NsecToTimespec(int64(at))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &t, nil) == unix.EINTR {
	}
}
