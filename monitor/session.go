package monitor

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/population"
	"cg/nemb/processor"
	"cg/nemb/sampler"
)

// Session reads a machine at an interval and keeps its book. It is used from one goroutine.
type Session struct {
	book     *Book
	host     *population.Host
	energies *sampler.Energies
	occupied map[int]nemb.Occupied // by domain: GPUs whose drivers tell who uses them
	reading  Reading
	missed   int
	warned   map[string]bool
	warn     func(string)
	// Annotations gives what programs said since it was called last; nil where nobody asks them.
	Annotations func() []Annotation
	// Spans gives the spans that programs told since it was called last; nil where nobody asks them.
	Spans func() []Span
	ends  bool // the next reading is the last
	// unasked is the longest time between two questions to the drivers of GPUs, where readings are further apart.
	unasked time.Duration
}

// NVML keeps samples of processes for some seconds: asked so often, a driver forgets none before it tells them.
const longestUnasked = time.Second

// mostWarnings is how many different failures of sensors are told.
const mostWarnings = 8

// tooManyOpen is told once.
var tooManyOpen = fmt.Sprintf("%d requests are open: those that begin now are left out until some end", mostRequests)

// Start takes the first reading. The sensors and the host stay the caller's to close. warn
// gets, once for each reason, why a counter cannot be read.
func Start(sensors []nemb.Sensor, host *population.Host, targets []Target, warn func(string)) (*Session, error) {
	s := &Session{host: host, energies: sampler.NewEnergies(sensors), warned: map[string]bool{}, warn: warn,
		occupied: map[int]nemb.Occupied{}, unasked: longestUnasked}
	domain := 0
	for _, sensor := range sensors {
		if gpu, is := sensor.(nemb.Occupied); is {
			s.occupied[domain] = gpu
		}
		domain += len(sensor.Domains())
	}
	s.book = New(s.energies.Domains(), processor.Online(), os.Getpid())
	for _, t := range targets {
		s.book.Watch(t)
	}
	return s, s.read()
}

// read takes a reading of everything. The counters come last: who used the processors up
// to a moment is read before what was used in it.
func (s *Session) read() error {
	r := &s.reading
	if err := s.host.Read(&r.Host); err != nil {
		return err
	}
	r.Annotations, r.Threads = nil, nil
	if s.Annotations != nil {
		r.Annotations = s.Annotations()
		r.Threads = s.threads(r.Annotations)
	}
	r.Spans, r.Last = nil, s.ends
	if s.Spans != nil {
		r.Spans = s.Spans()
	}
	if r.Energy == nil {
		r.Energy = make([]float64, len(s.energies.Domains()))
	}
	r.Failures = s.energies.Read(r.Energy)
	r.Lost = s.energies.Lost()
	s.occupants(r)
	r.At, r.Unix = checkpoint.Monotime(), time.Now().UnixNano()
	if r.Failures != nil {
		if text := r.Failures.Error(); !s.warned[text] && len(s.warned) < mostWarnings {
			s.warned[text] = true
			s.warn(text)
		}
	}
	s.book.Add(r)
	s.warnOfGPUs()
	if s.book.requests.full && !s.warned[tooManyOpen] {
		s.warned[tooManyOpen] = true
		s.warn(tooManyOpen)
	}
	return nil
}

// threads reads what those have used that work on requests, or have just begun to.
func (s *Session) threads(said []Annotation) map[Thread]time.Duration {
	all := map[Thread]time.Duration{}
	read := func(t Thread) {
		if _, has := all[t]; has || t.TID == 0 {
			return
		}
		if cpu, err := s.host.ThreadTime(t.PID, t.TID); err == nil {
			all[t] = cpu
		}
	}
	for _, t := range s.book.Threads() {
		read(t)
	}
	for i := range said {
		if said[i].Begin && len(all) < mostRequests {
			read(said[i].Thread)
		}
	}
	return all
}

// Retarget is that of Book.
func (s *Session) Retarget(all []Target) { s.book.Retarget(all) }

// RememberFor is that of Book, before the second reading.
func (s *Session) RememberFor(keep time.Duration) { s.book.RememberFor(keep) }

// Next takes a reading and gives what was counted so far.
func (s *Session) Next() (*Snapshot, error) {
	err := s.read()
	return s.Snapshot(), err
}

// Snapshot is what was counted up to the last reading.
func (s *Session) Snapshot() *Snapshot {
	snapshot := s.book.Snapshot()
	snapshot.Missed = s.missed
	return snapshot
}

// Run takes a reading at each interval and hands it on, until ctx ends or each says so. The
// instants lie on one grid: a reading that comes too late is left out and counted as
// missed. A last reading is taken and handed on when ctx ends. Drivers of GPUs are asked each second at least.
func (s *Session) Run(ctx context.Context, every time.Duration, each func(*Snapshot) bool) (*Snapshot, error) {
	start := time.Now()
	timer := time.NewTimer(every)
	defer timer.Stop()
	asking, stop := s.asking(every)
	defer stop()
	for k := time.Duration(1); ; k++ {
		for due := false; !due; {
			select {
			case <-ctx.Done():
				return s.last(each)
			case <-timer.C:
				due = true
			case <-asking:
				s.ask()
			}
		}
		if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
			return s.last(each) // of two readings at the end, one
		}
		if late := (time.Since(start) - k*every) / every; late > 0 {
			s.missed += int(late)
			k += late
		}
		snapshot, err := s.Next()
		if err != nil {
			return snapshot, err
		}
		if !each(snapshot) {
			s.book.divideSpans(&Reading{Last: true})
			s.finishGPUs()
			return s.Snapshot(), nil
		}
		timer.Reset(time.Until(start.Add((k + 1) * every)))
	}
}

// last takes the reading at the end and hands it on.
func (s *Session) last(each func(*Snapshot) bool) (*Snapshot, error) {
	s.ends = true
	err := s.read()
	s.finishGPUs()
	snapshot := s.Snapshot()
	if err == nil {
		each(snapshot)
	}
	return snapshot, err
}

// occupants asks the drivers of GPUs who uses them.
func (s *Session) occupants(r *Reading) {
	if len(s.occupied) == 0 {
		return
	}
	if r.Occupancies == nil {
		r.Occupancies = make([][]nemb.Occupancy, len(s.energies.Domains()))
	}
	for d, gpu := range s.occupied {
		r.Occupancies[d] = append(r.Occupancies[d][:0], gpu.Occupants())
	}
}

// asking tells when drivers of GPUs are asked between two readings: never, where these are as frequent.
func (s *Session) asking(every time.Duration) (due <-chan time.Time, stop func()) {
	if len(s.occupied) == 0 || every <= s.unasked {
		return nil, func() {}
	}
	ticker := time.NewTicker(s.unasked)
	return ticker.C, ticker.Stop
}

// ask asks the drivers of GPUs who used them since they were asked last.
func (s *Session) ask() {
	for d, gpu := range s.occupied {
		s.book.Occupants(d, gpu.Occupants())
	}
}

// finishGPUs divides all that the counters of GPUs showed, once their drivers have told who used them, or have not.
func (s *Session) finishGPUs() {
	if len(s.occupied) == 0 {
		return
	}
	nemb.AskLast(nemb.WallClock, slices.Collect(maps.Keys(s.occupied)),
		func(d int) bool { return s.book.AwaitsGPU(d, s.reading.At) },
		func(d int) { s.book.Occupants(d, s.occupied[d].Occupants()) })
	s.book.FinishGPUs()
}

// warnOfGPUs tells once of each reason for which a driver does not tell who uses a GPU.
func (s *Session) warnOfGPUs() {
	for d := range s.occupied {
		why, err := s.book.RefusedGPU(d)
		if why == gpus.Resolved {
			continue
		}
		text := fmt.Sprintf("%s: its energy is nobody's: %s", s.energies.Domains()[d].ID, why.Why())
		if why == gpus.Reason(nemb.RefusedFailed) && err != nil {
			text += ": " + err.Error()
		}
		if !s.warned[text] && len(s.warned) < mostWarnings {
			s.warned[text] = true
			s.warn(text)
		}
	}
}
