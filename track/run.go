package track

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cg/nemb"
	"cg/nemb/patience"
)

// Config says what to record and where to.
type Config struct {
	Root     nemb.Root
	Trackers []Tracker
	Layout   *Layout
	Dir      string
	ID       string        // of the run, stands in every file
	Suffix   string        // of the files' names, "" for none
	Rows     int           // rows that are held back at most; 0 for any number
	Flush    time.Duration // and for how long; 0 for as long as it records
	Append   bool          // to files that are there
	Broker   *Broker       // gets rows as messages, too; nil for none
	// Log gets what a user may want to know: at slog.LevelError what cannot be read while it
	// records, at LevelWarn what is missing from the beginning, at LevelDebug where each
	// column comes from and what is written. It may be called from any goroutine.
	Log func(level slog.Level, text string)
}

// Session records until it is stopped.
type Session struct {
	config  Config
	tracks  []*running
	outputs []*output
	stop    chan struct{}
	failed  chan error // the first error of writing
	loops   sync.WaitGroup
	flushes sync.WaitGroup
	ended   chan struct{}
	courier *courier // nil without a broker
	pm      *counters
}

// running is a tracker at work.
type running struct {
	spec    Tracker
	streams []*stream
	pace    pace
}

// stream is what goes to one file.
type stream struct {
	readers []reader
	columns []column
	out     *output
	failed  map[int]int // rows without a value, by column
	reasons map[string]bool
	log     func(slog.Level, string)

	courier  *courier
	subjects []*subject
}

// ErrNothing is the error of Start when no metric of a tracker can be read.
var ErrNothing = errors.New("nothing can be read")

// Start opens every metric, makes the files and takes the first readings.
func Start(c Config) (*Session, error) {
	s := &Session{config: c, stop: make(chan struct{}), ended: make(chan struct{}), failed: make(chan error, 1)}
	if c.Broker != nil {
		s.courier = newCourier(c.Broker, c.ID)
	}
	pm, refused := openCounters(c.Root, c.Trackers)
	s.pm = pm
	for _, spec := range c.Trackers {
		r := &running{spec: spec, pace: pace{every: spec.Every}}
		s.tracks = append(s.tracks, r)
		readers, reasons := openTracker(c.Root, spec, pm, refused)
		for _, group := range c.Layout.group(readers) {
			st := &stream{readers: group, failed: map[int]int{}, reasons: map[string]bool{}, log: c.Log,
				courier: s.courier}
			for _, r := range group {
				st.columns = append(st.columns, r.columns...)
			}
			for _, column := range st.columns {
				c.Log(slog.LevelDebug, fmt.Sprintf("%s: %s: %s, %s", spec, column.name, column.source, column.method))
			}
			if c.Broker != nil {
				st.subjects = subjectsOf(c.Broker.Prefix, st.columns)
			}
			r.streams = append(r.streams, st)
		}
		if len(r.streams) == 0 {
			s.close()
			return nil, fmt.Errorf("%s: %w: %w", spec, ErrNothing, errors.Join(reasons...))
		}
		for _, err := range reasons {
			c.Log(slog.LevelWarn, fmt.Sprintf("%s goes without: %v", spec, err))
		}
	}
	if err := s.open(); err != nil {
		s.close()
		return nil, err
	}
	for _, r := range s.tracks {
		s.loops.Go(func() { r.run(s.stop) })
	}
	if s.courier != nil {
		s.flushes.Go(func() { s.courier.run(s.ended) })
	}
	for _, o := range s.outputs {
		s.flushes.Go(func() { o.flushLoop(c.Flush, s.ended, s.failed) })
	}
	return s, nil
}

// String writes a tracker as Parse reads it.
func (t Tracker) String() string {
	return strings.Join(append([]string{t.Every.String()}, t.Metrics...), ",")
}

// open makes the files. None is left behind when one cannot be made.
func (s *Session) open() error {
	c := s.config
	var taken []string
	for _, extra := range c.Layout.extra(c) {
		taken = append(taken, filepath.Join(c.Dir, extra))
		s.outputs = append(s.outputs, &output{path: filepath.Join(c.Dir, extra), log: c.Log,
			encoder: c.Layout.marker(c)})
	}
	for _, r := range s.tracks {
		for _, st := range r.streams {
			path := filepath.Join(c.Dir, c.Layout.name(c, r.spec, st, taken))
			taken = append(taken, path)
			st.out = &output{path: path, rows: c.Rows, log: c.Log, kick: make(chan struct{}, 1),
				encoder: c.Layout.encoder(c, r.spec, st)}
			s.outputs = append(s.outputs, st.out)
		}
	}
	for i, o := range s.outputs {
		if err := o.create(c.Append); err != nil {
			for _, made := range s.outputs[:i] {
				made.discard()
			}
			var there *fs.PathError
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s is there already: choose another --suffix or --output-dir, or add to it with "+
					"--append", o.path)
			} else if errors.As(err, &there) {
				return fmt.Errorf("%s cannot be written: %w", o.path, there.Err)
			}
			return err
		}
	}
	return nil
}

// Failed receives the first error of writing: what is read from then on may
// be lost.
func (s *Session) Failed() <-chan error { return s.failed }

// Stop takes a last reading of every tracker, writes everything and closes
// the files.
func (s *Session) Stop() ([]Summary, error) {
	close(s.stop)
	s.loops.Wait()
	close(s.ended)
	s.flushes.Wait()
	for _, r := range s.tracks {
		if s.courier != nil {
			s.courier.finish(r.streams)
		}
	}
	var errs []error
	for _, o := range s.outputs {
		errs = append(errs, o.finish())
	}
	errs = append(errs, s.close())
	var all []Summary
	for _, r := range s.tracks {
		all = append(all, r.summary())
	}
	return all, errors.Join(errs...)
}

func (s *Session) close() error {
	var errs []error
	s.pm.end()
	for _, r := range s.tracks {
		for _, st := range r.streams {
			for _, reader := range st.readers {
				if err := reader.close(); !errors.As(err, new(*patience.Hung)) { // which its readings reported
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}

// run reads on time until it is stopped, and then once more.
func (r *running) run(stop <-chan struct{}) {
	r.pace.run(stop, func() {
		for _, st := range r.streams {
			st.take()
		}
	})
}

func (st *stream) take() {
	values := make([]float64, len(st.columns))
	at := 0
	unix, mono := time.Now().UnixNano(), monotonic()
	for _, r := range st.readers {
		n := len(r.columns)
		if err := r.read(values[at : at+n]); err != nil {
			st.tell(err, at, values[at:at+n])
		}
		at += n
	}
	reading := monotonic() - mono
	r := row{unix + reading/2, mono + reading/2, time.Duration(reading), values}
	st.out.add(r)
	if st.courier != nil {
		st.courier.add(st, r)
	}
}

// tell counts what could not be read, and says why the first time.
func (st *stream) tell(err error, at int, values []float64) {
	for i, v := range values {
		if math.IsNaN(v) {
			st.failed[at+i]++
		}
	}
	if reason := err.Error(); !st.reasons[reason] && len(st.reasons) < 8 {
		st.reasons[reason] = true
		st.log(slog.LevelError, reason)
	}
}

// Summary tells how a tracker kept its time.
type Summary struct {
	Tracker Tracker
	Files   []string
	Rows    int           // of each file
	Missed  int           // deadlines that had passed when it was their turn
	Elapsed time.Duration // from the first deadline's reading to the last's
	// Drift is by how much the last reading that had a deadline was farther
	// from its deadline than the first.
	Drift        time.Duration
	Late, Late99 time.Duration // median and 99th percentile of how late readings began
	Reading      time.Duration // median duration of a reading
	Failed       []string      // columns with empty cells, and how many
	Realtime     bool
}

func (r *running) summary() Summary {
	p := &r.pace
	s := Summary{Tracker: r.spec, Rows: p.taken + 1, Missed: p.missed, Elapsed: time.Duration(p.last - p.first),
		Drift: p.drift, Realtime: p.realtime,
		Late: p.late.at(0.5), Late99: p.late.at(0.99), Reading: p.reading.at(0.5)}
	for _, st := range r.streams {
		s.Files = append(s.Files, st.out.path)
		for i, c := range st.columns {
			if n := st.failed[i]; n > 0 {
				s.Failed = append(s.Failed, fmt.Sprintf("%s: %d", c.name, n))
			}
		}
	}
	return s
}

// output is a file that rows are added to.
type output struct {
	path    string
	encoder encoder
	rows    int // after which it is written, 0 for never
	log     func(slog.Level, string)
	kick    chan struct{}
	file    *os.File
	made    bool

	mu      sync.Mutex
	pending []row
	err     error
}

func (o *output) create(add bool) error {
	header := o.encoder.header()
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	_, err := os.Stat(o.path)
	there := err == nil
	if there && add {
		old, err := os.ReadFile(o.path)
		if err != nil {
			return err
		}
		if header, err = o.encoder.again(old, header); err != nil {
			return fmt.Errorf("%s: %w", o.path, err)
		}
	} else {
		flags |= os.O_EXCL
	}
	if o.file, err = os.OpenFile(o.path, flags, 0o666); err != nil {
		return err
	}
	o.made = !there
	_, err = o.file.WriteString(header)
	return err
}

// discard takes back a file that was made for a run that did not begin.
func (o *output) discard() {
	if o.file != nil {
		o.file.Close()
	}
	if o.made {
		os.Remove(o.path)
	}
}

func (o *output) add(r row) {
	o.mu.Lock()
	o.pending = append(o.pending, r)
	full := o.rows > 0 && len(o.pending) >= o.rows
	o.mu.Unlock()
	if full {
		select {
		case o.kick <- struct{}{}:
		default: // it is being flushed
		}
	}
}

// flushLoop writes when enough rows wait, and at intervals.
func (o *output) flushLoop(every time.Duration, ended <-chan struct{}, failed chan<- error) {
	var tick <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-ended:
			return
		case <-o.kick:
		case <-tick:
		}
		if err := o.flush(false); err != nil {
			select {
			case failed <- err:
			default:
			}
			return
		}
	}
}

// flush writes the rows that wait in one piece.
func (o *output) flush(last bool) error {
	o.mu.Lock()
	rows := o.pending
	o.pending = nil
	o.mu.Unlock()
	text := o.encoder.rows(nil, rows, last)
	if len(text) == 0 || o.err != nil {
		return o.err
	}
	if _, o.err = o.file.Write(text); o.err == nil {
		o.log(slog.LevelDebug, fmt.Sprintf("%s: %d rows are written", o.path, len(rows)))
	}
	return o.err
}

func (o *output) finish() error {
	return errors.Join(o.flush(true), o.file.Close())
}

// String is one line, and one more for what failed.
func (s Summary) String() string {
	realtime := ""
	if !s.Realtime {
		realtime = ", not real-time"
	}
	text := fmt.Sprintf("%s: %d rows in %v, %d missed, drift %v, late by %v (99 %%: %v), a reading takes %v%s: %s",
		s.Tracker, s.Rows, s.Elapsed.Round(time.Millisecond), s.Missed, s.Drift.Round(time.Microsecond),
		s.Late.Round(time.Microsecond), s.Late99.Round(time.Microsecond), s.Reading.Round(time.Microsecond), realtime,
		strings.Join(s.Files, ", "))
	if len(s.Failed) > 0 {
		text += "\nrows without a value: " + strings.Join(s.Failed, ", ")
	}
	return text
}
