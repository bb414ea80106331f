// Package hespas writes runs as a CounterEventStream of HESPAS, and reads tasks and samples of one.
package hespas

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
	"unicode/utf16"

	"cg/nemb"
	"cg/pattern"
	"cg/report"
	"cg/report/format"
	"cg/report/stream"
	"cg/report/timeline"
)

func init() {
	format.Register(format.Format{
		Name: "hespas", JSON: true,
		Title: "a CounterEventStream of HESPAS: samples, and where tasks and, from an event log, calls begin and " +
			"end; --from reads it",
		Endings: []string{".hespas.json"}, Parts: true, Time: true,
		Writers: []format.Writer{format.Writes(write), format.Writes(spell)},
		Read: func(f io.ReadSeeker) (format.Document, error) {
			s, err := stream.Open(f)
			if err != nil {
				return nil, err
			}
			var m counterMetadata
			if s.Count > mostOwn || json.Unmarshal(s.Metadata, &m) != nil || m.Meta == nil || m.Totals == nil {
				return s, nil
			}
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return nil, err
			}
			b, err := io.ReadAll(f)
			if err != nil {
				return nil, err
			}
			return read(b)
		},
		Same:   func(f io.ReadSeeker) (format.Document, error) { return stream.Open(f) },
		Verify: verify,
	})
}

// spell writes a stream of events as it is.
func spell(w io.Writer, s *stream.Stream, _ format.Options) error { return s.Spell(w) }

// mostOwn is how many events a stream of cg's own may have to be read as the run that it tells of. A larger one is
// shown as a stream.
const mostOwn = 1_000_000

// counterStream is a CounterEventStream of HESPAS' event_counters, version
// 0.0.1. Its reader wants each of these fields and takes no other one, so
// everything of cg's is in metadata.
type counterStream struct {
	Version  *string         `json:"version"`
	Metadata json.RawMessage `json:"metadata"`
	Events   []counterEvent  `json:"events"`
}

// counterEvent has an integer of nanoseconds for its time: its reader makes a
// float of a string and loses digits.
type counterEvent struct {
	Name     *string         `json:"event_name"`
	Time     json.RawMessage `json:"timestamp"`
	Unit     *string         `json:"timeunit"`
	Metadata json.RawMessage `json:"metadata"`
}

// counterMetadata is what a stream of cg's tells beside its events.
type counterMetadata struct {
	Clock    string           `json:"clock"`
	Left     string           `json:"left_out"`
	Meta     *report.Meta     `json:"meta"`
	Totals   *report.Totals   `json:"totals"`
	Process  report.Process   `json:"process"`
	Warnings []report.Warning `json:"warnings"`
}

// Names of events. A task has its own behind enter and exit, as in a result
// block.
const (
	eventSample = "sample"
	eventEnter  = "enter:"
	eventExit   = "exit:"
	// A call of a function of the program on a thread; read back they are left out.
	eventCall   = "call:"
	eventReturn = "return:"
)

// write writes the events in the order of their times, in the spelling of
// Python's json: ASCII, with spaces behind commas and colons.
func write(w io.Writer, r *report.Run, o format.Options) error {
	calls, err := timeline.Of(r, o)
	if err != nil {
		return err
	}
	events, err := eventsOf(r, calls)
	if err != nil {
		return err
	}
	left := "functions, call paths and the ledger: they are sums and no events"
	if calls != nil {
		left = "call paths and the ledger: they are sums and no events; of the calls there are " + calls.Note
	}
	version := "0.0.1"
	f := counterStream{Version: &version, Events: events}
	f.Metadata, err = json.Marshal(counterMetadata{
		Clock: "CLOCK_MONOTONIC", Left: left,
		Meta: &r.Meta, Totals: &r.Totals, Process: r.Process, Warnings: r.Warnings,
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return err
	}
	_, err = w.Write(spelled(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
	return err
}

// eventsOf are the samples and where tasks and calls begin and end, in the
// order of their times.
func eventsOf(r *report.Run, calls *timeline.Timeline) ([]counterEvent, error) {
	type event struct {
		at    int64
		class int // breaks ties, so that tasks that follow each other do not overlap
		event counterEvent
	}
	var events []event
	add := func(name string, at int64, class int, metadata any) error {
		b, err := json.Marshal(metadata)
		unit := "ns"
		events = append(events, event{at, class, counterEvent{&name, strconv.AppendInt(nil, at, 10), &unit, b}})
		return err
	}
	for _, s := range r.Samples {
		m, err := fields(s, "t_ns")
		if err := cmp.Or(err, add(eventSample, s.TNs, 0, m)); err != nil {
			return nil, err
		}
	}
	for i, t := range r.Tasks {
		m, err := fields(t, "name", "started_at_mono_ns", "ended_at_mono_ns")
		if err != nil {
			return nil, err
		}
		m["task"] = json.RawMessage(strconv.Itoa(i))
		if err := add(eventEnter+t.Name, t.StartedAtMonoNs, 2, m); err != nil {
			return nil, err
		}
	}
	for i, t := range slices.Backward(r.Tasks) {
		class := 1
		if t.LastedNs() == 0 {
			class = 3
		}
		if err := add(eventExit+t.Name, t.StartedAtMonoNs+t.LastedNs(), class, map[string]int{"task": i}); err != nil {
			return nil, err
		}
	}
	if calls != nil {
		for i, s := range calls.Slices {
			name := calls.Name(s)
			m := map[string]any{"call": i, "pid": s.Thread.PID, "tid": s.Thread.TID}
			if err := add(eventCall+name, int64(s.From), 2, m); err != nil {
				return nil, err
			}
			class := 1
			if s.Lasted() == 0 {
				class = 3
			}
			if err := add(eventReturn+name, int64(s.To), class, map[string]int{"call": i}); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at),
			cmp.Compare(a.class, b.class))
	})
	out := []counterEvent{}
	for _, e := range events {
		out = append(out, e.event)
	}
	return out, nil
}

// fields are those of a struct's JSON but for some.
func fields(v any, without ...string) (map[string]json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	m := map[string]json.RawMessage{}
	err = json.Unmarshal(b, &m)
	for _, name := range without {
		delete(m, name)
	}
	return m, err
}

// spelled writes JSON without spaces as Python does.
func spelled(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/8)
	inside, escaped := false, false
	for _, c := range string(b) {
		switch {
		case c > 0xffff:
			hi, lo := utf16.EncodeRune(c)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		case c > '~':
			out = fmt.Appendf(out, `\u%04x`, c)
		case !inside && (c == ',' || c == ':'):
			out = append(out, byte(c), ' ')
		default:
			out = append(out, byte(c))
		}
		if c == '"' && !escaped {
			inside = !inside
		}
		escaped = inside && c == '\\' && !escaped
	}
	return out
}

var threeNumbers = pattern.Later(`^\d+\.\d+\.\d+$`)

// read reads tasks and samples of a stream, whoever wrote it. A task is
// what lies between enter:NAME and exit:NAME. Energies, and samples at all, are
// taken from metadata that cg wrote: others may mean something else by a name.
func read(b []byte) (*report.Run, error) {
	f, err := decodeStream(b)
	if err != nil {
		return nil, err
	}
	var m counterMetadata
	if err := json.Unmarshal(f.Metadata, &m); err != nil {
		// Others may use the same names for something else.
		m = counterMetadata{}
	}
	r := report.PartOf("hespas")
	r.Warnings, r.Process = m.Warnings, m.Process
	if *f.Version != "0.0.1" {
		r.Warn("hespas-version",
			fmt.Sprintf("the stream is of version %s and cg knows 0.0.1: look whether its tasks and samples are "+
				"what you expect", *f.Version))
	}

	events, err := f.inOrder()
	if err != nil {
		return nil, err
	}
	ours := m.Meta != nil && m.Totals != nil
	read := streamReader{run: r, ours: ours}
	for _, ev := range events {
		if err := read.event(ev, f.Events[ev.n]); err != nil {
			return nil, fmt.Errorf("events[%d].metadata: %w", ev.n, err)
		}
	}
	read.finish()
	if len(r.Tasks) == 0 && len(r.Samples) == 0 {
		return nil, fmt.Errorf("none of its %d events is a task (enter:NAME and exit:NAME) or a sample", len(events))
	}
	if left := read.left; left > 0 {
		r.Warn("hespas-events",
			fmt.Sprintf("%d of %d events are no samples and no tasks that begin and end, and are left out", left,
				len(events)))
	}
	if ours {
		r.Meta, r.Totals = *m.Meta, *m.Totals
		r.Renew()
		return r, nil
	}
	r.Totals = report.Totals{Domains: map[string]report.Joules{},
		DurationS: float64(events[len(events)-1].at-events[0].at) * 1e-9, NTasks: len(r.Tasks)}
	r.Totals.Kind = nemb.Unavailable
	for _, s := range r.Samples {
		for id, e := range s.DomainJ {
			r.Totals.Domains[id] = e
		}
	}
	return r, nil
}

// decodeStream decodes a stream and refuses what is none.
func decodeStream(b []byte) (*counterStream, error) {
	var f counterStream
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("not a CounterEventStream: it ends in the middle, after %d bytes", len(b))
	} else if err != nil {
		return nil, fmt.Errorf("not a CounterEventStream: %w", report.Located(b, err))
	}
	if d.More() {
		return nil, fmt.Errorf("not a CounterEventStream: something follows it, after %d bytes", d.InputOffset())
	}
	switch {
	case f.Version == nil:
		return nil, errors.New("not a CounterEventStream: it has no version")
	case !threeNumbers().MatchString(*f.Version):
		return nil, fmt.Errorf("not a CounterEventStream: version %q is not three numbers", *f.Version)
	case !object(f.Metadata):
		return nil, errors.New("not a CounterEventStream: it has no object metadata")
	case f.Events == nil:
		return nil, errors.New("not a CounterEventStream: it has no events")
	}
	return &f, nil
}

// timedEvent is the number of an event and when it was, in nanoseconds.
type timedEvent struct {
	at int64
	n  int
}

// inOrder are the events in the order of their times.
func (f *counterStream) inOrder() ([]timedEvent, error) {
	var events []timedEvent
	for n, e := range f.Events {
		switch {
		case e.Name == nil:
			return nil, fmt.Errorf("events[%d] has no event_name", n)
		case e.Unit == nil:
			return nil, fmt.Errorf("events[%d] has no timeunit", n)
		case !object(e.Metadata):
			return nil, fmt.Errorf("events[%d] has no object metadata", n)
		}
		at, err := nanoseconds(e.Time, *e.Unit)
		if err != nil {
			return nil, fmt.Errorf("events[%d].%w", n, err)
		}
		events = append(events, timedEvent{at, n})
	}
	slices.SortStableFunc(events, func(a, b timedEvent) int { return cmp.Compare(a.at, b.at) })
	return events, nil
}

// streamReader takes tasks and samples from the events of a stream.
type streamReader struct {
	run           *report.Run
	ours          bool // the stream is of cg
	tasks, inside []*openTask
	left          int // events that were left out
}

// openTask is a task that has begun.
type openTask struct {
	index *int // among the tasks of the stream's writer
	task  *report.Task
	enter int // its place in the order of enters
	over  bool
}

// eventTags are what events say of themselves in streams of cg.
type eventTags struct {
	Task    *int                       `json:"task"`
	Kind    *nemb.Method               `json:"energy_kind"`
	Domains map[string]json.RawMessage `json:"domain_j"`
}

// event takes in an event. An error is of its metadata.
func (s *streamReader) event(ev timedEvent, e counterEvent) error {
	var tags eventTags
	if json.Unmarshal(e.Metadata, &tags) != nil {
		tags = eventTags{}
	}
	name := *e.Name
	switch {
	case name == eventSample && tags.Domains != nil:
		sample := report.Sample{}
		if err := json.Unmarshal(e.Metadata, &sample); err != nil {
			return err
		}
		sample.TNs = ev.at
		s.run.Samples = append(s.run.Samples, sample)
	case strings.HasPrefix(name, eventEnter):
		return s.enter(strings.TrimPrefix(name, eventEnter), ev.at, tags, e.Metadata)
	case strings.HasPrefix(name, eventExit):
		s.exit(strings.TrimPrefix(name, eventExit), ev.at, tags)
	case s.ours && (strings.HasPrefix(name, eventCall) || strings.HasPrefix(name, eventReturn)):
	default:
		s.left++
	}
	return nil
}

// enter begins a task within those that have begun.
func (s *streamReader) enter(name string, at int64, tags eventTags, metadata []byte) error {
	t := &report.Task{Depth: len(s.inside)}
	if len(s.inside) > 0 {
		parent := s.inside[len(s.inside)-1].task.Name
		t.Parent = &parent
	}
	t.Kind = nemb.Unavailable
	if tags.Task != nil && tags.Kind != nil {
		if err := json.Unmarshal(metadata, t); err != nil {
			return err
		}
	}
	t.Name, t.StartedAtMonoNs = name, at
	o := &openTask{index: tags.Task, task: t, enter: len(s.tasks)}
	s.tasks, s.inside = append(s.tasks, o), append(s.inside, o)
	return nil
}

// exit ends the innermost task of the name; one that says which task it is ends that
// one.
func (s *streamReader) exit(name string, at int64, tags eventTags) {
	k := len(s.inside) - 1
	for ; k >= 0; k-- {
		o := s.inside[k]
		if o.task.Name == name && (tags.Task == nil || o.index == nil || *tags.Task == *o.index) {
			break
		}
	}
	if k < 0 {
		s.left++
		return
	}
	o := s.inside[k]
	s.inside = slices.Delete(s.inside, k, k+1)
	o.over, o.task.EndedAtMonoNs = true, at
	if o.task.DurationS == 0 {
		o.task.DurationS = float64(o.task.LastedNs()) * 1e-9
	}
}

// finish gives the run the tasks that have ended.
func (s *streamReader) finish() {
	slices.SortStableFunc(s.tasks, func(a, b *openTask) int {
		if a.index != nil && b.index != nil {
			return cmp.Compare(*a.index, *b.index)
		}
		return cmp.Compare(a.enter, b.enter)
	})
	for _, o := range s.tasks {
		if !o.over {
			s.left++
			continue
		}
		s.run.Tasks = append(s.run.Tasks, *o.task)
	}
}

func object(b []byte) bool { return len(b) > 0 && b[0] == '{' }

// nanoseconds reads a time as HESPAS does: a number, or a string that is one.
// Integers keep every digit.
func nanoseconds(raw []byte, unit string) (int64, error) {
	scale, ok := map[string]int64{"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
	if !ok {
		return 0, fmt.Errorf("timeunit: %q is none of ns, us, ms and s", unit)
	}
	text := string(raw)
	var s string
	if json.Unmarshal(raw, &s) == nil && text != "null" {
		text = strings.TrimSpace(s)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= math.MaxInt64/scale && n >= math.MinInt64/scale {
		return n * scale, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if v := f * float64(scale); err == nil && math.Abs(v) < math.MaxInt64 {
		return int64(math.Round(v)), nil
	}
	if text == "" {
		text = "nothing"
	}
	return 0, fmt.Errorf("timestamp: %s is not a time in %s", text, unit)
}
