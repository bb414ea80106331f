package nemb

// #cgo CFLAGS: -O2 -Wall
// #cgo LDFLAGS: -lpthread
// #include "sampler.h"
import "C"

import (
	"fmt"
	"sync"
	"syscall"
	"time"

	"cg/checkpoint"
)

// Limits of Config.Interval.
const (
	MinInterval = 100 * time.Microsecond
	MaxInterval = time.Minute
)

// Config says how to sample.
type Config struct {
	Interval time.Duration    // MinInterval .. MaxInterval
	Clock    checkpoint.Clock // of the channel
	Program  *Account         // may be nil: Usage then stays zero
}

// Sampler takes samples at fixed instants, in a thread of its own outside the
// Go runtime: a Go thread that returns from a system call waits behind garbage
// collection and the scheduler for up to tens of milliseconds, this one does
// not. The thread reads the counters that are files; models and other sensors
// are read by Poll and interpolated in time.
//
// Poll must be called often enough that the thread's ring of 4096 samples does
// not fill; samples that do not fit are left out, counted, and make the next
// one a gap. No energy is lost with them, as energies are cumulative.
type Sampler struct {
	mu       sync.Mutex
	c        *C.struct_cg_sampler // nil once stopped
	final    Stats
	config   Config
	domains  []Domain
	fast     []int // domain of each file, in the order of the thread's readings
	slow     []*slowSensor
	models   []modelDomain
	account  *Account // Config.Program, or a private one for the models
	private  bool
	usage    curve
	buf      []C.uint64_t
	raw      []Energy // per domain: last reading that succeeded
	rawAt    []checkpoint.Instant
	total    []Energy // per domain: cumulative
	first    *Sample
	base     Usage
	lastTime checkpoint.Instant
	horizon  checkpoint.Tick
	gaps     int
}

// model is a sensor whose energy follows from the time and the usage.
type model interface {
	Sensor
	// energy is what the model's one domain drew in elapsed while the
	// processors were busy for busy, together.
	energy(elapsed, busy time.Duration) Energy
}

type modelDomain struct {
	domain int
	model  model
}

// slowSensor is read by Poll. Its energies form a curve of points.
type slowSensor struct {
	sensor Sensor
	at     int // its first domain
	raw    []Energy
	rawAt  checkpoint.Instant
	points []energyPoint // the newest last
	base   []Energy      // at the first sample
}

type energyPoint struct {
	at     checkpoint.Instant
	total  []Energy
	failed bool // nothing could be read: total repeats the one before
}

// points that are kept: a sample may be older than the latest few Polls.
const points = 4

// Start starts sampling and takes the first sample before it returns. The
// sensors must stay open until Stop. It is an error when a reading of the
// first sample fails: energies would have no beginning.
func Start(sensors []Sensor, c Config) (*Sampler, error) {
	if c.Interval < MinInterval || c.Interval > MaxInterval {
		return nil, fmt.Errorf("sampler: interval %v: want %v to %v", c.Interval, MinInterval, MaxInterval)
	}
	if c.Clock != checkpoint.CycleCounter && c.Clock != checkpoint.Monotonic {
		return nil, fmt.Errorf("sampler: %v", c.Clock)
	}
	s := &Sampler{config: c, account: c.Program}
	var counters []C.struct_cg_counter
	for _, sensor := range sensors {
		at := len(s.domains)
		s.domains = append(s.domains, sensor.Domains()...)
		switch sensor := sensor.(type) {
		case fdSensor:
			counters = append(counters, native(sensor.counters())...)
			for i := range sensor.Domains() {
				s.fast = append(s.fast, at+i)
			}
		case model:
			s.models = append(s.models, modelDomain{at, sensor})
		default:
			s.slow = append(s.slow, &slowSensor{sensor: sensor, at: at})
		}
	}
	for i, d := range s.domains {
		for _, o := range s.domains[:i] {
			if o.ID == d.ID {
				return nil, fmt.Errorf("sampler: two domains are called %s: %s and %s", d.ID, o.Source, d.Source)
			}
		}
	}
	n := len(s.domains)
	s.raw, s.total, s.rawAt = make([]Energy, n), make([]Energy, n), make([]checkpoint.Instant, n)
	s.buf = make([]C.uint64_t, 256*(C.CG_WORDS+len(s.fast)))
	for _, slow := range s.slow {
		if err := slow.begin(); err != nil {
			return nil, fmt.Errorf("sampler: %w", err)
		}
	}
	if s.account == nil && len(s.models) > 0 {
		s.account, s.private = NewAccount(), true
	}
	s.readUsage()
	var list *C.struct_cg_counter
	if len(counters) > 0 {
		list = &counters[0]
	}
	if errno := C.cg_sampler_start(&s.c, list, C.int(len(counters)), C.int64_t(c.Interval), C.int(c.Clock)); errno != 0 {
		s.closeAccount()
		return nil, fmt.Errorf("sampler: start the thread: %w", syscall.Errno(errno))
	}
	C.cg_sampler_take(s.c, &s.buf[0], 1)
	words := s.buf[:C.CG_WORDS+len(s.fast)]
	s.first = &Sample{At: checkpoint.Tick(words[0]), Time: checkpoint.Instant(words[1])}
	s.lastTime, s.horizon = s.first.Time, s.first.At
	for i, d := range s.fast {
		if words[C.CG_WORDS+i] == C.CG_FAILED {
			C.cg_sampler_stop(s.c)
			C.cg_sampler_free(s.c)
			s.closeAccount()
			return nil, fmt.Errorf("sampler: %s: the first reading of %s failed", s.domains[d].Source, s.domains[d].ID)
		}
		s.raw[d], s.rawAt[d] = Energy(words[C.CG_WORDS+i]), s.first.Time
	}
	return s, nil
}

func (s *Sampler) closeAccount() {
	if s.private {
		s.account.Close()
	}
}

// Domains lists what Sample.Energy holds, in that order.
func (s *Sampler) Domains() []Domain { return s.domains }

// Poll returns the samples taken since the last Poll, oldest first.
//
// The account is read once per Poll; the usage of a sample is interpolated in
// time between the readings around it, so it never decreases. Where a reading
// failed, the domain's energy repeats the previous value and Gap is set; the
// next reading that succeeds carries the whole difference. After a reset of a
// counter (see unwrap) the energy since the last reading is not known: Gap is
// set and counting goes on from the new reading.
func (s *Sampler) Poll() []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	return s.poll()
}

// Horizon is a tick before which no sample will be stamped that is not in the
// ring yet. It makes this sequence exact:
//
//	h := s.Horizon()
//	samples := s.Poll()
//	// drain the channel's events that are earlier than h
//
// Whatever was in the ring when h was computed, Poll returns; whatever comes
// later is stamped at h or later. So an event earlier than h lies before a
// sample that this or an earlier Poll returned, or else in the one window that
// is open, after the last of them. In another order it would not be exact: a
// horizon taken after Poll may lie behind a sample that Poll did not see.
//
// The bound is the present, or the deadline of the next sample when that has
// passed and the sample is late: then it is converted to ticks along the line
// from the first sample to now, less a margin of 0.1 % of the distance and a
// microsecond. Horizon never decreases, and Stop keeps it: the last sample is
// stamped after Stop was called.
func (s *Sampler) Horizon() checkpoint.Tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return s.horizon
	}
	// The deadline first: the sample that it belongs to may be stamped
	// meanwhile, and then h lies before it.
	deadline := checkpoint.Instant(C.cg_sampler_deadline(s.c))
	tick := s.config.Clock.Now()
	now := checkpoint.Monotime()
	s.horizon = max(s.horizon, horizon(deadline, s.first.At, tick, s.first.Time, now))
	return s.horizon
}

// horizon converts a deadline, given the clocks at the start and now. The tick
// of now was read before its instant.
func horizon(deadline checkpoint.Instant, tick0, tick checkpoint.Tick, time0, now checkpoint.Instant) checkpoint.Tick {
	if now < deadline {
		return tick // tick was read earlier still
	}
	if now-time0 < checkpoint.Instant(time.Millisecond) || tick <= tick0 {
		return tick0
	}
	rate := float64(tick-tick0) / float64(now-time0)
	back := (float64(now-deadline)*1.001 + 1000) * rate
	if back >= float64(tick-tick0) {
		return tick0
	}
	return tick - checkpoint.Tick(back)
}

// Stop takes a last sample at once, ends the thread and returns the samples
// that Poll had not. The sensors and Config.Program stay open.
func (s *Sampler) Stop() []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	samples := s.poll() // makes room for the last one
	C.cg_sampler_stop(s.c)
	samples = append(samples, s.poll()...)
	s.final = s.stats()
	C.cg_sampler_free(s.c)
	s.c = nil
	s.closeAccount()
	return samples
}

// Stats tells how well the sampler kept its time.
type Stats struct {
	Samples   int           // taken
	Missed    int           // deadlines that had passed when it was their turn
	Gaps      int           // samples returned with Gap set
	Dropped   int           // samples that found the ring full
	SlowReads int           // samples whose reading took longer than 50 us
	OwnCPU    time.Duration // processor time of the sampler's thread
	Realtime  bool          // the thread runs under SCHED_FIFO
}

// Stats may be called at any time, also after Stop.
func (s *Sampler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return s.final
	}
	return s.stats()
}

func (s *Sampler) stats() Stats {
	var st C.struct_cg_stats
	C.cg_sampler_stats(s.c, &st)
	return Stats{
		Samples:   int(st.samples),
		Missed:    int(st.missed),
		Gaps:      s.gaps,
		Dropped:   int(st.dropped),
		SlowReads: int(st.slow),
		OwnCPU:    time.Duration(st.cpu),
		Realtime:  st.realtime != 0,
	}
}

// poll empties the ring. Everything in it is older than the readings that
// readUsage and the slow sensors make afterwards.
func (s *Sampler) poll() []Sample {
	stride := C.CG_WORDS + len(s.fast)
	room := len(s.buf) / stride
	var words []C.uint64_t
	for {
		n := int(C.cg_sampler_take(s.c, &s.buf[0], C.int(room)))
		words = append(words, s.buf[:n*stride]...)
		if n < room {
			break
		}
	}
	starting := s.first.Energy == nil
	n := len(words) / stride
	if starting {
		n++
	}
	if n == 0 {
		return nil
	}
	s.readUsage()
	for _, slow := range s.slow {
		slow.read()
	}
	samples := make([]Sample, 0, n)
	energies := make([]Energy, n*len(s.domains))
	next := func() []Energy {
		e := energies[:len(s.domains):len(s.domains)]
		energies = energies[len(s.domains):]
		return e
	}
	if starting {
		s.first.Energy = next()
		s.base = s.usage.at(s.first.Time)
		s.fill(s.first, nil)
		samples = append(samples, *s.first)
	}
	for ; len(words) > 0; words = words[stride:] {
		sample := Sample{
			At:     checkpoint.Tick(words[0]),
			Time:   checkpoint.Instant(words[1]),
			Energy: next(),
			Gap:    words[2] > 0,
		}
		s.fill(&sample, words[C.CG_WORDS:stride])
		samples = append(samples, sample)
	}
	return samples
}

// fill completes a sample. raw is nil for the first.
func (s *Sampler) fill(sample *Sample, raw []C.uint64_t) {
	if sample.Time-s.lastTime > 2*checkpoint.Instant(s.config.Interval) {
		sample.Gap = true
	}
	if raw != nil {
		for i, d := range s.fast {
			if raw[i] == C.CG_FAILED {
				sample.Failed = true
				continue
			}
			cur := Energy(raw[i])
			// A counter may show two updates at once.
			elapsed := time.Duration(sample.Time-s.rawAt[d]) + 2*s.domains[d].Period
			delta, ok := unwrap(s.raw[d], cur, s.domains[d].Wrap, elapsed)
			if !ok {
				sample.Failed = true
			}
			s.total[d] += delta
			s.raw[d], s.rawAt[d] = cur, sample.Time
		}
	}
	for _, slow := range s.slow {
		if raw == nil {
			slow.base = make([]Energy, len(slow.raw))
			slow.value(sample.Time, slow.base)
		}
		if !slow.value(sample.Time, s.total[slow.at:]) {
			sample.Failed = true
		}
		for i, e := range slow.base {
			s.total[slow.at+i] -= e
		}
	}
	usage := s.usage.at(sample.Time).since(s.base)
	for _, m := range s.models {
		busy := usage.Program + usage.Own + usage.Other
		s.total[m.domain] = m.model.energy(time.Duration(sample.Time-s.first.Time), busy)
	}
	copy(sample.Energy, s.total)
	if !s.private && s.account != nil {
		sample.Usage = usage
	}
	sample.Gap = sample.Gap || sample.Failed
	if sample.Gap {
		s.gaps++
	}
	s.lastTime = sample.Time
}

func (s *Sampler) readUsage() {
	if s.account != nil {
		s.usage.add(checkpoint.Monotime(), s.account.read())
	}
}

// curve is usage over time, linear between readings.
type curve struct {
	times []checkpoint.Instant
	usage []Usage
}

func (c *curve) add(at checkpoint.Instant, u Usage) {
	if len(c.times) == points {
		c.times = append(c.times[:0], c.times[1:]...)
		c.usage = append(c.usage[:0], c.usage[1:]...)
	}
	c.times = append(c.times, at)
	c.usage = append(c.usage, u)
}

// at returns the usage at an instant; before the first reading it is that of
// the first, after the last that of the last.
func (c *curve) at(t checkpoint.Instant) Usage {
	i, part := locate(c.times, t)
	if i < 0 {
		return Usage{}
	}
	if part == 0 {
		return c.usage[i]
	}
	a, b := c.usage[i], c.usage[i+1]
	elapsed := time.Duration(c.times[i+1] - c.times[i])
	u := Usage{
		Program: between(a.Program, b.Program, part),
		Own:     between(a.Own, b.Own, part),
		Other:   between(a.Other, b.Other, part),
		Threads: make([]ThreadUsage, len(b.Threads)),
	}
	j := 0
	for i, th := range b.Threads {
		for j < len(a.Threads) && compareThreads(a.Threads[j].Thread, th.Thread) < 0 {
			j++
		}
		// A thread that was not there before used no more than the time
		// that passed.
		before := max(0, th.CPU-elapsed)
		if j < len(a.Threads) && a.Threads[j].Thread == th.Thread {
			before = a.Threads[j].CPU
		}
		u.Threads[i] = ThreadUsage{th.Thread, between(before, th.CPU, part)}
	}
	return u
}

// locate finds t in ascending times: part of the way from i to i+1. i is -1
// when there are no times; part is 0 at and beyond the ends.
func locate(times []checkpoint.Instant, t checkpoint.Instant) (i int, part float64) {
	last := len(times) - 1
	switch {
	case last < 0 || t >= times[last]:
		return last, 0
	case t <= times[0]:
		return 0, 0
	}
	for i = last - 1; times[i] > t; i-- {
	}
	return i, float64(t-times[i]) / float64(times[i+1]-times[i])
}

func between[T ~int64 | ~uint64](a, b T, part float64) T { return a + T(float64(b-a)*part) }

// since is u less what had been used at the beginning. Threads keep their own.
func (u Usage) since(base Usage) Usage {
	u.Program -= base.Program
	u.Own -= base.Own
	u.Other -= base.Other
	return u
}

// begin makes the first reading.
func (s *slowSensor) begin() error {
	n := len(s.sensor.Domains())
	s.raw = make([]Energy, n)
	if err := s.sensor.Read(s.raw); err != nil {
		return err
	}
	s.rawAt = checkpoint.Monotime()
	s.points = []energyPoint{{at: s.rawAt, total: make([]Energy, n)}}
	return nil
}

// read adds a point.
func (s *slowSensor) read() {
	domains := s.sensor.Domains()
	raw := make([]Energy, len(domains))
	err := s.sensor.Read(raw)
	last := s.points[len(s.points)-1]
	p := energyPoint{at: checkpoint.Monotime(), total: append([]Energy(nil), last.total...), failed: err != nil}
	if err == nil {
		for i, d := range domains {
			delta, ok := unwrap(s.raw[i], raw[i], d.Wrap, time.Duration(p.at-s.rawAt)+2*d.Period)
			p.total[i] += delta
			p.failed = p.failed || !ok
		}
		s.raw, s.rawAt = raw, p.at
	}
	if len(s.points) == points {
		s.points = append(s.points[:0], s.points[1:]...)
	}
	s.points = append(s.points, p)
}

// value stores the energies at t and tells whether they are known.
func (s *slowSensor) value(t checkpoint.Instant, dst []Energy) bool {
	times := make([]checkpoint.Instant, len(s.points))
	for i, p := range s.points {
		times[i] = p.at
	}
	i, part := locate(times, t)
	if part == 0 {
		copy(dst, s.points[i].total)
		return !s.points[i].failed
	}
	a, b := s.points[i], s.points[i+1]
	for d := range a.total {
		dst[d] = between(a.total[d], b.total[d], part)
	}
	return !b.failed
}
