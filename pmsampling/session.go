package pmsampling

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"cg/checkpoint"
	"cg/pmsampling/cupti"
)

// Counts are what a session saw, and what it missed. All are samples but the overflows.
type Counts struct {
	Samples    int `json:"samples"`    // complete ones, that Batches have
	Missing    int `json:"missing"`    // between others, by the time that is not covered
	Incomplete int `json:"incomplete"` // begun and not complete when they were decoded
	Empty      int `json:"empty"`      // of no length, as CUPTI leaves after a stop; in no batch
	Stale      int `json:"stale"`      // whose time is of another clock; in no batch
	Overflows  int `json:"overflows"`  // of the hardware buffer: sampling began anew after each
	Full       int `json:"full"`       // decodings that found more than they had room for
}

// Flaws says what is missing, one thing a line; none where nothing is.
func (c Counts) Flaws() (lines []string) {
	say := func(n int, format string, args ...any) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	say(c.Overflows, "the hardware buffer overflowed %d times, and sampling began anew: use a longer interval, fewer "+
		"metrics or a larger buffer", c.Overflows)
	say(c.Full, "%d decodings had no room for all samples: what did not fit is lost", c.Full)
	say(c.Missing, "%d samples are missing between others", c.Missing)
	say(c.Incomplete, "%d samples were not complete and are left out", c.Incomplete)
	say(c.Stale, "%d samples had the time of another clock and are left out", c.Stale)
	say(c.Empty, "%d samples of no length are left out", c.Empty)
	return lines
}

// Batch is what one decoding gave: its data, and which of its samples count.
type Batch struct {
	*CounterData
	Clock Clock
	Good  []int // indices of samples that have a length and a time that can be
}

// Samples evaluates the good samples; their times are brought to CLOCK_MONOTONIC.
func (b *Batch) Samples() ([]Timed, error) {
	all, err := b.Range(0, b.Completed)
	if err != nil {
		return nil, err
	}
	timed := make([]Timed, 0, len(b.Good))
	for _, i := range b.Good {
		timed = append(timed, Timed{b.Clock.At(all[i].Start), b.Clock.At(all[i].End), all[i]})
	}
	return timed, nil
}

// Timed is a sample with its time on CLOCK_MONOTONIC.
type Timed struct {
	From, To checkpoint.Instant
	Sample
}

// Session samples one GPU for a time.
type Session struct {
	Config Config
	Counts Counts
	// Whole has the first and the last pair of clocks.
	Whole Clock

	c       *Collector
	l       *cupti.Library
	last    cupti.Pair
	reached int64 // when the last good sample ended
}

// slack is how far outside the pairs of a batch the time of a sample may lie.
const slack = int64(time.Second)

// Begin enables a GPU, configures it, and starts.
func Begin(l *cupti.Library, device int, config Config) (*Session, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	s := &Session{Config: config, c: New(l, device), l: l}
	if err := s.start(true); err != nil {
		return nil, errors.Join(err, s.c.Disable())
	}
	return s, nil
}

// span is the length of an interval. Cycles are taken to be of 2 GHz, more than any GPU's system clock has.
func (set Config) span() time.Duration {
	if set.Trigger == GPUSysclkInterval {
		return max(time.Duration(set.Interval/2), 1)
	}
	return time.Duration(set.Interval)
}

// Period is how often Drain should be called: each time some 4096 samples, and ten times a second at least. An image
// takes some 16 KiB for each.
func (s *Session) Period() time.Duration {
	return max(min(100*time.Millisecond, 4096*s.Config.span()), time.Millisecond)
}

// start begins; first also reads the clocks.
func (s *Session) start(first bool) error {
	if err := s.c.Enable(); err != nil {
		return err
	}
	if err := s.c.Configure(s.Config); err != nil {
		return err
	}
	pair, err := s.l.Clock()
	if err != nil {
		return err
	}
	if s.last = pair; first {
		s.Whole = Clock{pair, pair}
	}
	s.reached = 0
	return s.c.Start()
}

// Chip is the name of the GPU's chip.
func (s *Session) Chip() string { return s.c.Chip() }

// Drain decodes what was sampled since the last time. After an overflow it begins anew.
func (s *Session) Drain() (*Batch, error) {
	b, err := s.decode()
	if err != nil {
		return nil, err
	}
	if b.Overflow {
		s.Counts.Overflows++
		if err := errors.Join(s.c.end(), s.start(false)); err != nil {
			return b, fmt.Errorf("after an overflow of the hardware buffer: %w", err)
		}
	}
	return b, nil
}

// room is for how many samples the next decoding has room: a quarter more than should have come, of the period at
// least. What does not fit is lost.
func (s *Session) room() int {
	since := max(s.Period(), time.Duration(checkpoint.Monotime()-s.last.Mono))
	return int(min(5*since/(4*s.Config.span())+64, MostSamples))
}

// decode makes a batch.
func (s *Session) decode() (*Batch, error) {
	data, err := s.c.Decode(s.room())
	if err != nil {
		return nil, err
	}
	pair, err := s.l.Clock()
	if err != nil {
		return nil, err
	}
	b := &Batch{CounterData: data, Clock: Clock{s.last, pair}}
	s.last, s.Whole.After = pair, pair
	if data.Reason == StopCounterDataFull {
		s.Counts.Full++
	}
	s.Counts.Incomplete += max(data.Populated-data.Completed, 0)
	s.sift(b)
	return b, nil
}

// sift tells which samples of a batch count, and counts the others.
func (s *Session) sift(b *Batch) {
	from, to := b.Clock.Before.GPU-slack, b.Clock.After.GPU+slack
	interval := int64(s.Config.Interval)
	if s.Config.Trigger == GPUSysclkInterval {
		interval = median(b.Starts, b.Ends) // the clock's speed is not known before
	}
	for i := range b.Completed {
		start, end := b.Starts[i], b.Ends[i]
		switch {
		case start < from || end > to:
			s.Counts.Stale++
			continue
		case end <= start:
			s.Counts.Empty++
			continue
		}
		if gap := start - s.reached; s.reached != 0 && interval > 0 && gap > interval/2 {
			s.Counts.Missing += int((gap + interval/2) / interval)
		}
		s.reached = end
		s.Counts.Samples++
		b.Good = append(b.Good, i)
	}
}

// median is the usual length of samples, 0 without any.
func median(starts, ends []int64) int64 {
	var lengths []int64
	for i := range starts {
		if d := ends[i] - starts[i]; d > 0 {
			lengths = append(lengths, d)
		}
	}
	if len(lengths) == 0 {
		return 0
	}
	slices.Sort(lengths)
	return lengths[len(lengths)/2]
}

// End stops, decodes what is left, and gives the GPU back. The batch is nil where that failed.
func (s *Session) End() (b *Batch, err error) {
	if err = s.c.Stop(); err == nil {
		b, err = s.decode()
	}
	if b != nil && b.Overflow {
		s.Counts.Overflows++
	}
	if e := s.c.end(); e != nil { // values are computed still
		err = errors.Join(err, e)
	}
	return b, err
}

// Close gives back what End has left for evaluation. Without End it ends sampling, too.
func (s *Session) Close() error { return s.c.Disable() }

// Run drains until stop is closed, and ends. tick is told when; each batch goes to take, whose error ends it.
func (s *Session) Run(stop <-chan struct{}, tick <-chan time.Time, take func(*Batch) error) error {
	for {
		select {
		case <-stop:
			b, err := s.End()
			if b != nil {
				err = errors.Join(err, take(b))
			}
			return err
		case <-tick:
			b, err := s.Drain()
			if b != nil {
				err = errors.Join(err, take(b))
			}
			if err != nil {
				return err
			}
		}
	}
}
