// Package stream reads streams of events, as HESPAS' event_counters writes them: a name, a time in a
// unit, and metadata for each event. It takes a file that can be read again and keeps no more of it in
// memory than an event, the names, and what is open. It refuses what is no such stream, and names the place.
//
// A pass over the events (Events) gives each with its moment on a clock. Replay finds the tasks in them.
// Sums and Run are what formats that show no single events need. Spell writes the text of a stream as
// Python's json does.
package stream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"cg/pattern"
)

// Version is that of the streams that cg knows.
const Version = "0.0.1"

// Limits of what a stream may make cg keep.
const (
	mostUnits  = 100
	mostSorted = 1_000_000 // events; more are taken in the order of the file
	mostNames  = 100_000   // distinct names and call paths; others are one
	mostFar    = 1 << 62   // steps of a clock from 0
	// Names that are longer count as others, and make no tasks.
	longestName = 1024
)

// Event is an event as it is written.
type Event struct {
	Name     string
	Time     json.RawMessage // a number, or a string that is one
	Unit     string
	Metadata json.RawMessage // an object

	Clock string // "" for time, else the unit: see Stream.clockOf
	At    int64  // in nanoseconds, or in the clock's own steps
}

// Stream is a file with a stream of events, whose form has been checked.
type Stream struct {
	Version  string
	Metadata json.RawMessage // an object
	Count    int             // of events
	// Rate is how many cycles there are in a second, 0 where nobody knows. Events in the unit
	// "cycles" then have a place in time.
	Rate float64

	f     io.ReadSeeker
	units map[string]*unit
	// Whether a time is before that of an event in front of it, and the last in a unit of time.
	unsorted bool
	last     int64

	begun map[string]bool // names that begin or end somewhere
	ended map[string]bool
}

// unit is what a stream has of events in a unit.
type unit struct {
	fraction bool // some times are no integers
	far      bool // some times are 146 years or more from 0: they are only in an order
	largest  float64
	last     float64
}

// Kind names a stream of events.
func (*Stream) Kind() string { return "a stream of events" }

var threeNumbers = pattern.Later(`^\d+\.\d+\.\d+$`)

// loose takes what Python's json writes: names twice, and lone surrogates.
var loose = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Open checks a stream and counts what is in it.
func Open(f io.ReadSeeker) (*Stream, error) {
	s := &Stream{f: f, last: math.MinInt64, units: map[string]*unit{}, begun: map[string]bool{},
		ended: map[string]bool{}}
	versions, metadata, events := 0, false, false
	err := s.walk(func(field string, d *jsontext.Decoder) error {
		switch field {
		case "version":
			versions++
			return text(d, "version", &s.Version)
		case "metadata":
			v, err := d.ReadValue()
			if err == nil && v.Kind() != '{' {
				return errors.New("it has no object metadata")
			}
			s.Metadata, metadata = bytes.Clone(v), true
			return err
		case "events":
			events = true
			return s.readEvents(d, s.note)
		}
		return fmt.Errorf("unknown field %q", field)
	})
	switch {
	case err != nil:
	case versions == 0:
		err = errors.New("it has no version")
	case !threeNumbers().MatchString(s.Version):
		err = fmt.Errorf("version %q is not three numbers", s.Version)
	case !metadata:
		err = errors.New("it has no object metadata")
	case !events:
		err = errors.New("it has no events")
	}
	if err != nil {
		return nil, fmt.Errorf("not a CounterEventStream: %w", err)
	}
	return s, nil
}

// walk reads the file from its begin and calls a function at each field of the whole.
func (s *Stream) walk(at func(field string, d *jsontext.Decoder) error) error {
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	d := jsontext.NewDecoder(s.f, loose...)
	whole := func() error {
		if t, err := d.ReadToken(); err != nil {
			return err
		} else if t.Kind() != '{' {
			return errors.New("it is no object")
		}
		for d.PeekKind() == '"' {
			t, err := d.ReadToken()
			if err != nil {
				return err
			}
			if err := at(t.String(), d); err != nil {
				return err
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
		if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
			return fmt.Errorf("something follows it, after %d bytes", d.InputOffset())
		}
		return nil
	}
	err := whole()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends in the middle, after %d bytes", d.InputOffset())
	}
	var wrong *jsontext.SyntacticError
	if errors.As(err, &wrong) {
		return fmt.Errorf("byte %d: no JSON: %w", wrong.ByteOffset, wrong.Err)
	}
	return err
}

// text reads a string.
func text(d *jsontext.Decoder, what string, to *string) error {
	kind := d.PeekKind()
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	if kind != '"' {
		return fmt.Errorf("%s is no text: %.40s", what, v)
	}
	return json.Unmarshal(v, to)
}

// readEvents reads the list of events.
func (s *Stream) readEvents(d *jsontext.Decoder, each func(n int, e *Event) error) error {
	if d.PeekKind() != '[' {
		if _, err := d.ReadValue(); err != nil {
			return err
		}
		return errors.New("events is no list")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for n := 0; d.PeekKind() != ']'; n++ {
		var e Event
		if err := e.read(d); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
				errors.As(err, new(*jsontext.SyntacticError)) {
				return err
			}
			return fmt.Errorf("events[%d]%w", n, err)
		}
		if err := each(n, &e); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// read reads an event: all four fields, and nothing else. An error continues "events[N]".
func (e *Event) read(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		if _, err := d.ReadValue(); err != nil {
			return err
		}
		return errors.New(" is no object")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	has := [4]bool{}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch field := t.String(); field {
		case "event_name":
			has[0], err = true, text(d, ".event_name", &e.Name)
		case "timestamp":
			var v jsontext.Value
			v, err = d.ReadValue()
			has[1], e.Time = true, bytes.Clone(v)
		case "timeunit":
			has[2], err = true, text(d, ".timeunit", &e.Unit)
		case "metadata":
			var v jsontext.Value
			v, err = d.ReadValue()
			has[3], e.Metadata = err == nil && v.Kind() == '{', bytes.Clone(v)
		default:
			return fmt.Errorf(": unknown field %q", field)
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for i, field := range [...]string{"event_name", "timestamp", "timeunit", "object metadata"} {
		if !has[i] {
			return errors.New(" has no " + field)
		}
	}
	return nil
}

// note notes of an event what later passes need to know before.
func (s *Stream) note(n int, e *Event) error {
	s.Count++
	u := s.units[e.Unit]
	if u == nil {
		if len(s.units) == mostUnits {
			return fmt.Errorf("events[%d].timeunit: %.40q is the %dth unit: cg shows %d", n, e.Unit, mostUnits+1,
				mostUnits)
		}
		u = &unit{last: math.Inf(-1)}
		s.units[e.Unit] = u
	}
	_, f, whole, err := value(e.Time)
	if err != nil {
		return fmt.Errorf("events[%d].timestamp: %w", n, err)
	}
	if scale := scales[e.Unit]; math.Abs(f)*float64(scale) >= mostFar {
		u.far, s.unsorted = true, true
	}
	if s.scale(e.Unit) > 0 {
		if err := s.place(e); err != nil {
			return fmt.Errorf("events[%d].%w", n, err)
		}
		s.unsorted = s.unsorted || e.At < s.last
		s.last = e.At
	} else {
		s.unsorted = s.unsorted || f < u.last || e.Unit == Cycles && len(s.units) > 1
		u.last = f
	}
	u.fraction, u.largest = u.fraction || !whole, max(u.largest, math.Abs(f))
	switch role, base := RoleOf(e.Name); {
	case len(base) > longestName:
	case role == Begins && len(s.begun) < mostNames:
		s.begun[base] = true
	case role == Ends && len(s.ended) < mostNames:
		s.ended[base] = true
	}
	return nil
}

// scales are the units of time, in nanoseconds.
var scales = map[string]int64{"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9,
	"min": 60e9, "h": 3600e9}

// Cycles is the unit that Stream.Rate turns into time.
const Cycles = "cycles"

// value reads a time as HESPAS does: a number, or a string that is one. Integers keep
// every digit.
func value(raw []byte) (n int64, f float64, whole bool, err error) {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, 0, false, err
		}
		text = strings.TrimSpace(s)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, float64(n), true, nil
	}
	f, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(text, "xX_") {
		return 0, 0, false, fmt.Errorf("%.40s is not a number", raw)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return int64(f), f, true, nil
	}
	return 0, f, false, nil
}

// Timed reports whether events in a unit have a place in time. Those in another unit are
// only in an order, each unit for itself.
func (s *Stream) Timed(unit string) bool { return s.scale(unit) > 0 || unit == Cycles && s.Rate > 0 }

// scale is how many nanoseconds a unit has, 0 for one that is only an order.
func (s *Stream) scale(unit string) int64 {
	if u := s.units[unit]; u == nil || u.far {
		return 0
	}
	return scales[unit]
}

// place gives an event its moment.
func (s *Stream) place(e *Event) error {
	n, f, whole, err := value(e.Time)
	if err != nil {
		return err
	}
	scale := s.scale(e.Unit)
	switch {
	case scale > 0 && whole && n <= math.MaxInt64/scale && n >= math.MinInt64/scale:
		e.At = n * scale
		return nil
	case scale > 0:
		f *= float64(scale)
	case s.Timed(e.Unit):
		f *= 1e9 / s.Rate
	default:
		e.Clock = cmp.Or(e.Unit, "timestamp")
		u := s.units[e.Unit]
		// Steps of a thousandth, as far as they fit. From one moment to another there are
		// fewer steps than 64 bits hold.
		switch {
		case u.largest >= mostFar:
			f = f / u.largest * (mostFar - 1<<10)
		case !u.fraction:
			e.At = n
			return nil
		case u.largest < mostFar/1000:
			f *= 1000
		}
	}
	if math.Abs(f) >= math.MaxInt64 {
		return fmt.Errorf("timestamp: %s %s is out of the range of 292 years", e.Time, e.Unit)
	}
	e.At = int64(math.Round(f))
	return nil
}

// Events calls a function with each event, in the order of their times; those of more than a
// million events, in the order of the file.
func (s *Stream) Events(each func(e *Event) error) error {
	if !s.unsorted || s.Count > mostSorted {
		return s.pass(each)
	}
	all := make([]Event, 0, s.Count)
	if err := s.pass(func(e *Event) error { all = append(all, *e); return nil }); err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Clock, b.Clock), cmp.Compare(a.At, b.At))
	})
	for i := range all {
		if err := each(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// pass calls a function with each event, in the order of the file.
func (s *Stream) pass(each func(e *Event) error) error {
	return s.walk(func(field string, d *jsontext.Decoder) error {
		if field != "events" {
			_, err := d.ReadValue()
			return err
		}
		return s.readEvents(d, func(n int, e *Event) error {
			if err := s.place(e); err != nil {
				return fmt.Errorf("events[%d].%w", n, err)
			}
			return each(e)
		})
	})
}
