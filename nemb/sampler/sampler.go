// Package sampler reads open sensors on time: a thread in C those whose counters are files,
// a goroutine each of the others. It takes sensors and an interval, and gives samples: the energy of
// each domain since the first sample, with the processor time meanwhile. It shows them to
// other processes, too, in a ring of shared memory (nemb/RING.md). It opens no sensor.
package sampler

// #cgo CFLAGS: -O2 -Wall
// #cgo LDFLAGS: -lpthread
// #include "sampler.h"
import "C"

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/counter"
)

// finest is the shortest time between two updates of a counter.
const finest = time.Millisecond

// Limits of Config.Interval.
const (
	MinInterval = 100 * time.Microsecond
	MaxInterval = time.Minute
)

// MaxSlots limits Config.Slots.
const MaxSlots = 1 << 20

// Config says how to sample.
type Config struct {
	Interval time.Duration    // MinInterval .. MaxInterval
	Clock    checkpoint.Clock // of the channel
	Program  *account.Account // may be nil: Usage then stays zero
	// Ordinary leaves the thread to the ordinary scheduler, with its shortest
	// slice, also where it might run under SCHED_FIFO.
	Ordinary bool
	// Slots is how many samples the ring of Share holds, 0 for 4096.
	Slots int
	// GPUReasons are why energy of a GPU is nobody's, as GPUUse and GPUState number them, from 1 on.
	GPUReasons []GPUReason
	// Epoch is where the tick of the newest sample is written, in memory that is
	// not Go's and outlives the sampler; nil for nowhere.
	Epoch *uint64
}

// Sampler takes samples at fixed instants, in a thread of its own outside the
// Go runtime: a Go thread that returns from a system call waits behind garbage
// collection and the scheduler for up to tens of milliseconds, this one does
// not. The thread reads the counters that are files. Other sensors are read on
// a goroutine each, at their own period (see Paced), and interpolated in time;
// models follow from the time and the account.
//
// The thread's ring of 4096 samples is drained into memory that grows, also
// when Poll is not called for a while. Should it overflow all the same, the
// samples that do not fit are left out, counted, and make the next one a gap.
// No energy is lost with them, as energies are cumulative.
//
// A counter that does not answer in time is read by itself from then on, and the
// thread goes on with the others (giveUp). Nothing waits for it for long, and
// where it never answers again its energy from then on is not known.
type Sampler struct {
	mu         sync.Mutex
	c          *C.struct_cg_sampler // the thread; nil while there is none
	stopped    bool
	final      Stats             // once it is stopped
	spent      Stats             // of threads that were given up
	reading    C.int64_t         // of the thread, when giveUp looked last
	counters   []counter.Counter // of the thread
	readers    []nemb.Counting   // whose each of them is
	places     []int             // and the place in its list
	config     Config
	domains    []nemb.Domain
	fast       []int // domain of each file, in the order of the thread's readings
	slow       []*slowSensor
	models     []modelDomain
	bounded    []boundedDomains
	stepped    []steppedDomains
	account    *account.Account // Config.Program, or a private one for the models
	private    bool
	usage      curve
	buf        []C.uint64_t
	waiting    []C.uint64_t       // samples taken out of the ring and not returned yet
	decided    checkpoint.Instant // until here the slow sensors' energies are decided
	used       checkpoint.Instant // the account was read for the samples up to here
	raw        []nemb.Energy      // per domain: last reading that succeeded
	rawAt      []checkpoint.Instant
	total      []nemb.Energy        // per domain: cumulative
	faults     []Faults             // per domain
	since      []checkpoint.Instant // per domain: since when the counter shows raw
	first      *nemb.Sample
	begun      account.Usage // at the first sample
	lastTime   checkpoint.Instant
	horizon    checkpoint.Tick
	gaps       int
	failed     int
	ages       []ages               // per domain, see Ages
	shownAt    []checkpoint.Instant // per domain: after this the counter moved last that samples read
	usageAges  ages
	kernelLate time.Duration
	ring       *ring         // of Share
	drained    chan struct{} // closed to end the drain
	drain      sync.WaitGroup
}

// steppedDomains are the domains of a sensor from one on, as boundedDomains are.
type steppedDomains struct {
	at     int
	sensor nemb.Stepped
}

// boundedDomains are the domains of a sensor from one on.
type boundedDomains struct {
	at     int
	sensor nemb.Bounded
}

type modelDomain struct {
	domain int
	model  nemb.Modelled
}

// Start starts sampling and takes the first sample before it returns. The
// sensors must stay open until Stop. It is an error when a reading of the
// first sample fails: energies would have no beginning. One that hangs is none:
// that counter's energy is not known.
func Start(sensors []nemb.Sensor, c Config) (*Sampler, error) {
	if c.Interval < MinInterval || c.Interval > MaxInterval {
		return nil, fmt.Errorf("sampler: interval %v: want %v to %v", c.Interval, MinInterval, MaxInterval)
	}
	if c.Clock != checkpoint.CycleCounter && c.Clock != checkpoint.Monotonic {
		return nil, fmt.Errorf("sampler: %v", c.Clock)
	}
	if c.Slots < 0 || c.Slots > MaxSlots {
		return nil, fmt.Errorf("sampler: a ring of %d samples: want 1 to %d, or 0", c.Slots, MaxSlots)
	}
	s := &Sampler{config: c, account: c.Program}
	for _, sensor := range sensors {
		s.add(sensor)
	}
	for i, d := range s.domains {
		for _, o := range s.domains[:i] {
			if o.ID == d.ID {
				return nil, fmt.Errorf("sampler: two domains are called %s: %s and %s", d.ID, o.Source, d.Source)
			}
		}
	}
	n := len(s.domains)
	s.raw, s.total, s.rawAt = make([]nemb.Energy, n), make([]nemb.Energy, n), make([]checkpoint.Instant, n)
	s.faults, s.since = make([]Faults, n), make([]checkpoint.Instant, n)
	s.ages, s.shownAt = make([]ages, n), make([]checkpoint.Instant, n)
	s.buf = make([]C.uint64_t, 256*s.stride())
	for _, slow := range s.slow {
		if err := slow.begin(); err != nil {
			return nil, fmt.Errorf("sampler: %w", err)
		}
	}
	if s.account == nil && len(s.models) > 0 {
		s.account, s.private = account.New(), true
	}
	s.readUsage()
	if err := s.startThread(); err != nil {
		s.closeAccount()
		return nil, err
	}
	C.cg_sampler_take(s.c, &s.buf[0], 1)
	words := s.buf[:s.stride()]
	s.first = &nemb.Sample{At: checkpoint.Tick(words[0]), Time: checkpoint.Instant(words[1]),
		Width: time.Duration(words[3])}
	s.lastTime, s.horizon = s.first.Time, s.first.At
	for i, d := range s.fast {
		switch words[C.CG_WORDS+i] {
		case C.CG_AWAY:
			continue
		case C.CG_FAILED:
			s.endThread()
			s.closeAccount()
			return nil, fmt.Errorf("sampler: %s: the first reading of %s failed", s.domains[d].Source, s.domains[d].ID)
		}
		s.raw[d], s.rawAt[d], s.since[d] = nemb.Energy(words[C.CG_WORDS+i]), s.first.Time, s.first.Time
		s.shownAt[d] = s.first.Time
	}
	for _, slow := range s.slow {
		if slow.points != nil {
			continue
		}
		if err := slow.begin(); err != nil { // of what held the thread up
			s.endThread()
			s.closeAccount()
			return nil, fmt.Errorf("sampler: %w", err)
		}
	}
	s.startSlow()
	s.drained = make(chan struct{})
	s.drain.Go(s.keepDraining)
	return s, nil
}

func (s *Sampler) closeAccount() {
	if s.private {
		s.account.Close()
	}
}

// add takes in a sensor. A counter that did not answer in time before is read by
// itself from the start.
func (s *Sampler) add(sensor nemb.Sensor) {
	at := len(s.domains)
	s.domains = append(s.domains, sensor.Domains()...)
	if b, is := sensor.(nemb.Bounded); is {
		s.bounded = append(s.bounded, boundedDomains{at, b})
	}
	if b, is := sensor.(nemb.Begun); is {
		b.Begin()
	}
	if of, is := sensor.(nemb.Stepped); is {
		s.stepped = append(s.stepped, steppedDomains{at, of})
	}
	switch sensor := sensor.(type) {
	case nemb.Counting:
		first := len(s.counters)
		s.counters = append(s.counters, sensor.Counters()...)
		for i := range sensor.Domains() {
			s.fast = append(s.fast, at+i)
			s.readers, s.places = append(s.readers, sensor), append(s.places, i)
		}
		for _, i := range sensor.SetAside() {
			s.leave(first, i)
		}
	case nemb.Modelled:
		s.models = append(s.models, modelDomain{at, sensor})
	default:
		s.slow = append(s.slow, newSlowSensor(sensor, at, s.config.Interval))
	}
}

// leave takes counter i of a sensor, whose counters begin with first, out of the
// thread's readings, with those behind the same descriptor: a sensor of their own
// reads them.
func (s *Sampler) leave(first, i int) (slow *slowSensor, from int) {
	aside, at := s.readers[first].Aside(i)
	from = first + at
	for k := range aside.Domains() {
		s.counters[from+k].Form = counter.Elsewhere
	}
	slow = newSlowSensor(aside, s.fast[from], s.config.Interval)
	slow.steps = true
	s.slow = append(s.slow, slow)
	return slow, from
}

// stride is the number of words of a sample.
func (s *Sampler) stride() int { return C.CG_WORDS + len(s.fast) }

// keepDraining empties the thread's ring eight times before it can be full,
// should nobody else, and sees that the thread goes on.
func (s *Sampler) keepDraining() {
	every := min(heldUp/2, C.CG_SLOTS/8*s.config.Interval)
	timer := time.NewTicker(every)
	defer timer.Stop()
	for {
		select {
		case <-s.drained:
			return
		case <-timer.C:
			s.mu.Lock()
			if !s.stopped {
				s.take()
				s.goOn()
			}
			s.mu.Unlock()
		}
	}
}

// Domains lists what Sample.Energy holds, in that order. The Method of a
// domain is no longer Measured once a reading of its counter failed, or its
// counter did what no counter does (see Faults). Its Period is that with which it
// is brought up to date here, where a reading takes longer than that. Where a
// counter is brought up to date more seldom than it is read, its Step is the
// largest that was seen.
func (s *Sampler) Domains() []nemb.Domain {
	domains := slices.Clone(s.domains)
	for _, of := range s.stepped {
		for i, step := range of.sensor.Steps() {
			domains[of.at+i].Step = step
		}
	}
	for i, f := range s.Faults() {
		d := &domains[i]
		if f.Any() && d.Method == nemb.Measured {
			d.Method = nemb.Derived
		}
		if d.Step > 0 && d.Period > seldom {
			d.Step = max(d.Step, f.Jump)
		}
		domains[i].Period = max(domains[i].Period, 2*f.Slowest)
	}
	for _, b := range s.bounded {
		for i, of := range b.sensor.Bounds() {
			domains[b.at+i].Lo, domains[b.at+i].Hi = of[0], of[1]
		}
	}
	return domains
}

// Faults tells what happened to the counter of each domain, in the order of
// Domains. What it says of the end is final after Stop.
func (s *Sampler) Faults() []Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.faults)
	for _, slow := range s.slow {
		slow.mu.Lock()
		for i, f := range slow.faults {
			all[slow.at+i].join(f)
		}
		slow.mu.Unlock()
	}
	for i := range all {
		all[i].Domain = s.domains[i].ID
	}
	return all
}

// Poll returns the samples taken since the last Poll, oldest first.
//
// The account is read once per Poll; the usage of a sample is interpolated in
// time between the readings around it, so it never decreases. Where a reading
// failed, the domain's energy repeats the previous value and Gap is set; the
// next reading that succeeds carries the whole difference. After a reset of a
// counter (see Unwrap) the energy since the last reading is not known: Gap is
// set and counting goes on from the new reading.
//
// Where there are sensors with a period of their own, a sample is held back
// until each of them was read after it, 250 ms at most.
func (s *Sampler) Poll() []nemb.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	return s.poll(false)
}

// Stop takes a last sample at once, ends the thread, reads the slow sensors
// once more and returns the samples that Poll had not. The sensors and
// Config.Program stay open. A slow sensor that does not answer for two seconds
// is given up, or for twice as long as its slowest reading took.
func (s *Sampler) Stop() []nemb.Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	close(s.drained)
	s.take()      // makes room for the last one
	s.readUsage() // the last one's lies between this and the next reading
	s.endThread()
	s.readUsage()
	end := s.first.Time
	if n := len(s.waiting); n > 0 {
		end = checkpoint.Instant(s.waiting[n-s.stride()+1])
	}
	var ending sync.WaitGroup
	for _, slow := range s.slow {
		ending.Go(func() { slow.finish(end) })
	}
	ending.Wait()
	samples := s.poll(true)
	for i, d := range s.fast {
		if last := s.lastTime; s.counters[i].Form != counter.Elsewhere && s.rawAt[d] < last {
			s.faults[d].Unknown += time.Duration(last - s.rawAt[d])
		}
	}
	if s.ring != nil {
		s.ring.end()
	}
	s.final, s.stopped = s.stats(), true
	s.closeAccount()
	return samples
}

// take moves what is in the ring behind what is waiting.
func (s *Sampler) take() {
	room := len(s.buf) / s.stride()
	for s.c != nil {
		n := int(C.cg_sampler_take(s.c, &s.buf[0], C.int(room)))
		s.waiting = append(s.waiting, s.buf[:n*s.stride()]...)
		if n < room {
			return
		}
	}
}

// hold bounds how long samples wait for a slow sensor: the channel must not
// fill meanwhile.
const hold = checkpoint.Instant(250 * time.Millisecond)

// decide finds up to which instant no slow sensor will report more.
func (s *Sampler) decide() {
	now := checkpoint.Monotime()
	until := now
	for _, slow := range s.slow {
		until = min(until, max(slow.latest(), now-hold))
	}
	s.decided = max(s.decided, until)
}

// poll returns what is decided, or everything. All that is in the ring is older
// than the reading of the account that it makes.
func (s *Sampler) poll(everything bool) []nemb.Sample {
	s.take()
	s.decide()
	starting := s.first.Energy == nil
	if n := len(s.waiting); n > 0 {
		if last := checkpoint.Instant(s.waiting[n-s.stride()+1]); last > s.used {
			s.readUsage()
			s.used = last
		}
	} else if starting {
		s.readUsage()
	}
	due := func(at checkpoint.Instant) bool { return everything || at <= s.decided }
	n := 0
	for n < len(s.waiting) && due(checkpoint.Instant(s.waiting[n+1])) {
		n += s.stride()
	}
	words, left := s.waiting[:n], s.waiting[n:]
	starting = starting && due(s.first.Time)
	n /= s.stride()
	if starting {
		n++
	}
	if n == 0 {
		return nil
	}
	samples := make([]nemb.Sample, 0, n)
	energies := make([]nemb.Energy, n*len(s.domains))
	next := func() []nemb.Energy {
		e := energies[:len(s.domains):len(s.domains)]
		energies = energies[len(s.domains):]
		return e
	}
	if starting {
		s.first.Energy = next()
		s.begun = s.usage.at(s.first.Time)
		s.fill(s.first, nil)
		samples = append(samples, *s.first)
	}
	for ; len(words) > 0; words = words[s.stride():] {
		sample := nemb.Sample{
			At:     checkpoint.Tick(words[0]),
			Time:   checkpoint.Instant(words[1]),
			Width:  time.Duration(words[3]),
			Energy: next(),
			Gap:    words[2] > 0,
		}
		s.fill(&sample, words[C.CG_WORDS:s.stride()])
		samples = append(samples, sample)
	}
	if len(left) == 0 && cap(s.waiting) > 1<<16 {
		s.waiting = nil // it was long: let it go
	} else {
		s.waiting = s.waiting[:copy(s.waiting, left)]
	}
	if s.ring != nil {
		for _, sample := range samples {
			s.ring.add(sample)
		}
	}
	s.usage.trim(s.lastTime)
	for _, slow := range s.slow {
		slow.trim(s.lastTime)
	}
	return samples
}

// fill completes a sample. raw is nil for the first.
func (s *Sampler) fill(sample *nemb.Sample, raw []C.uint64_t) {
	if sample.Time-s.lastTime > 2*checkpoint.Instant(s.config.Interval) {
		sample.Gap = true
	}
	bad := false
	for i := range raw {
		if raw[i] != C.CG_AWAY {
			bad = !s.count(s.fast[i], nemb.Energy(raw[i]), sample.Time) || bad
		}
	}
	for _, slow := range s.slow {
		switch slow.fill(sample, s.total[slow.at:], raw == nil, raw == nil || slow.word < 0 ||
			raw[slow.word] == C.CG_AWAY) {
		case broke:
			bad = true
		case pending:
			sample.Failed = true
		}
	}
	s.late(sample)
	usage := s.usage.at(sample.Time).Since(s.begun)
	for _, m := range s.models {
		busy := usage.Program + usage.Own + usage.Other
		s.total[m.domain] = m.model.Model(time.Duration(sample.Time-s.first.Time), busy)
	}
	copy(sample.Energy, s.total)
	if !s.private && s.account != nil {
		sample.Usage = usage
	}
	s.noteAges(sample, func(i int) bool { return i < len(raw) && raw[i] != C.CG_AWAY })
	if bad {
		sample.Failed, sample.Gap = true, true
		s.failed++
	}
	if sample.Gap {
		s.gaps++
	}
	s.lastTime = sample.Time
}

// late tells where the thread's readings took longer than the counters' periods.
func (s *Sampler) late(sample *nemb.Sample) {
	for _, d := range s.fast {
		if sample.Width > max(s.domains[d].Period, finest) {
			sample.Late = lateness(sample, len(s.domains))
			sample.Late[d] = max(sample.Late[d], sample.Width)
		}
	}
}

// lateness is a sample's Late for n domains, made where it is nil.
func lateness(s *nemb.Sample, n int) []time.Duration {
	if s.Late == nil {
		return make([]time.Duration, n)
	}
	return s.Late
}

// count takes in a reading of domain d and tells whether its energy is known.
func (s *Sampler) count(d int, cur nemb.Energy, at checkpoint.Instant) bool {
	// A counter may show two updates at once.
	elapsed := time.Duration(at-s.rawAt[d]) + 2*s.domains[d].Period
	delta, v := counter.Unwrap(s.raw[d], cur, s.domains[d].Wrap, elapsed)
	s.faults[d].note(v, delta, time.Duration(at-s.rawAt[d]))
	if v == counter.Failed {
		return false
	}
	s.total[d] += delta
	if v != counter.Stale {
		s.since[d], s.shownAt[d] = at, s.rawAt[d]
	} else if s.domains[d].InTotal {
		s.faults[d].Still = max(s.faults[d].Still, time.Duration(at-s.since[d]))
	}
	s.raw[d], s.rawAt[d] = cur, at
	return v.Known()
}

func (s *Sampler) readUsage() {
	if s.account != nil {
		s.usage.add(checkpoint.Monotime(), s.account.Read())
	}
}
