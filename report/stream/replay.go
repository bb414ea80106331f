package stream

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Role is what an event is for a task.
type Role int

// Roles. An event that neither begins nor ends a task happens at once.
const (
	Happens Role = iota
	Begins
	Ends
)

// pairs are the words by which names of events begin a task, with those that end it: in front
// of the task's name, or behind it. cg itself writes enter and exit, and call and return.
var pairs = [...][2]string{{"enter", "exit"}, {"begin", "end"}, {"start", "stop"}, {"call", "return"},
	{"start", "end"}}

// RoleOf tells from the name of an event whether it begins or ends a task, and which.
func RoleOf(name string) (Role, string) {
	for _, p := range pairs {
		for i, word := range p {
			n := len(word)
			if len(name) > n+1 && name[n] == ':' && name[:n] == word {
				return Role(i + 1), name[n+1:]
			}
			if at := len(name) - n - 1; at > 0 && name[at+1:] == word && strings.IndexByte(":_./", name[at]) >= 0 {
				return Role(i + 1), name[:at]
			}
		}
	}
	return Happens, name
}

// Thread is where events happen one after the other: the clock, and what their metadata say.
type Thread struct{ Clock, Process, Thread string }

// Span is a task. A function that is given one does not keep it.
type Span struct {
	Thread
	Name     string
	Depth    int   // how many tasks of its thread were open when it began
	Parent   *Span // the last of these; its own Parent is nil once it has ended
	From, To int64
	// Whole is how long tasks of its name were open on its thread, if it is the one that ends
	// last of those that overlap; else 0. Sums of it count each moment once.
	Whole    int64
	Path     int             // its call path, see Sums
	Metadata json.RawMessage // of the event that began it
	Ended    json.RawMessage // of the one that ended it, nil where none did
	inner    int64           // of From to To in spans below
	overlaps bool            // one that was open when it began ended before it
	open     place
}

// Overlaps reports whether a task that was open when this one began ended before it.
func (s *Span) Overlaps() bool { return s.overlaps }

// Facts are what the metadata of an event say.
type Facts struct {
	Process, Thread, ID string
	Numbers             []Number
}

// Number is a number in the metadata, by its place: "domain_j.cpu".
type Number struct {
	Name  string
	Value float64
}

// identities are fields that say which, and not how much.
var identities = map[string]bool{"task": true, "call": true, "id": true, "invocation": true, "pid": true,
	"process": true, "rank": true, "tid": true, "thread": true, "checkpoint_id": true, "node": true, "host": true}

// FactsOf reads the metadata of an event.
func FactsOf(metadata json.RawMessage) (f Facts) {
	if len(metadata) <= len("{}") {
		return f
	}
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(metadata)))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return f
	}
	names := func(keys ...string) string {
		var all []string
		for _, key := range keys {
			switch v := m[key].(type) {
			case json.Number:
				all = append(all, key+" "+v.String())
			case string:
				all = append(all, key+" "+v)
			}
		}
		return strings.Join(all, ", ")
	}
	f.Process, f.Thread = names("host", "node", "rank", "pid", "process"), names("tid", "thread")
	f.ID = names("task", "call", "id", "invocation", "checkpoint_id")
	f.Numbers = numbers(m, "", 0, nil)
	slices.SortFunc(f.Numbers, func(a, b Number) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// numbers are those of an object and of the objects in it.
func numbers(m map[string]any, within string, depth int, out []Number) []Number {
	for key, v := range m {
		switch v := v.(type) {
		case json.Number:
			if depth == 0 && identities[key] {
				continue
			}
			if f, err := strconv.ParseFloat(v.String(), 64); err == nil {
				out = append(out, Number{within + key, f})
			}
		case map[string]any:
			if depth < 4 {
				out = numbers(v, within+key+".", depth+1, out)
			}
		}
	}
	return out
}

// Handler is told what is in a stream. A nil function is not called.
type Handler struct {
	Event func(e *Event, f Facts) error // each event
	Begin func(s *Span)                 // each task, when it has begun
	Span  func(s *Span) error           // each task, when it has ended
	// Left counts what began and did not end, or ended and did not begin.
	Left func(e *Event)
}

// Replay calls the functions of a handler, in the order of the events. A task ends with the
// next event that ends its name on its thread, and has its id if both have one. One that does not end lasts to
// the last event of its clock. An event that begins a task while as many are open as cg keeps
// (262,144, or 256 MiB of their names and metadata) is one whose other half is missing.
func (s *Stream) Replay(h Handler) error {
	open, last := newOpened(), map[string]int64{}
	end := func(span *Span, at int64, ended json.RawMessage) error {
		span.To, span.Ended = max(at, span.From), ended
		open.end(span)
		if span.Parent != nil {
			span.Parent.inner += span.To - span.From
		}
		var err error
		if h.Span != nil {
			err = h.Span(span)
		}
		span.Parent, span.Metadata, span.Ended = nil, nil, nil
		return err
	}
	left := func(e *Event) {
		if h.Left != nil {
			h.Left(e)
		}
	}
	err := s.Events(func(e *Event) error {
		f := FactsOf(e.Metadata)
		last[e.Clock] = max(last[e.Clock], e.At)
		if h.Event != nil {
			if err := h.Event(e, f); err != nil {
				return err
			}
		}
		role, base := s.role(e.Name)
		th := Thread{e.Clock, f.Process, f.Thread}
		switch role {
		case Begins:
			span := &Span{Thread: th, Name: base, From: e.At, Metadata: e.Metadata}
			if !open.begin(span, f.ID) {
				left(e)
			} else if h.Begin != nil {
				h.Begin(span)
			}
		case Ends:
			if span := open.find(th, base, f.ID); span != nil {
				return end(span, e.At, e.Metadata)
			}
			left(e)
		}
		return nil
	})
	for err == nil {
		span := open.last()
		if span == nil {
			break
		}
		left(&Event{Name: span.Name})
		err = end(span, last[span.Clock], nil)
	}
	return err
}

// role is RoleOf for a name that begins somewhere in the stream and ends somewhere, too.
func (s *Stream) role(name string) (Role, string) {
	role, base := RoleOf(name)
	if role != Happens && (len(base) > longestName || !s.begun[base] || !s.ended[base]) {
		return Happens, name
	}
	return role, base
}
