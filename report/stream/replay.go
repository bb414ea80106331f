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
			if base, is := strings.CutPrefix(name, word+":"); is && base != "" {
				return Role(i + 1), base
			}
			for _, sep := range [...]string{":", "_", ".", "/"} {
				if base, is := strings.CutSuffix(name, sep+word); is && base != "" {
					return Role(i + 1), base
				}
			}
		}
	}
	return Happens, name
}

// Thread is where events happen one after the other: the clock, and what their metadata say.
type Thread struct{ Clock, Process, Thread string }

// Span is a task that has ended.
type Span struct {
	Thread
	Name     string
	Depth    int
	Parent   *Span
	From, To int64
	Path     int             // its call path, see Sums
	Metadata json.RawMessage // of the event that began it
	Ended    json.RawMessage // of the one that ended it, nil where none did
	inner    int64           // of From to To in spans below
	overlaps bool            // the one around it ended before
	id       string
}

// Overlaps reports whether the task around this one ended before.
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
	Span  func(s *Span) error           // each task, when it has ended
	// Left counts what began and did not end, or ended and did not begin.
	Left func(e *Event)
}

// Replay calls the functions of a handler, in the order of the events. A task ends with the
// next event that ends its name on its thread, and has its id if both have one. One that does not end lasts to
// the last event of its clock.
func (s *Stream) Replay(h Handler) error {
	open, last := map[Thread][]*Span{}, map[string]int64{}
	end := func(th Thread, k int, at int64, ended json.RawMessage) error {
		stack := open[th]
		span := stack[k]
		for _, inner := range stack[k+1:] {
			inner.overlaps = true
		}
		open[th] = slices.Delete(stack, k, k+1)
		if len(open[th]) == 0 {
			delete(open, th)
		}
		span.To, span.Ended = max(at, span.From), ended
		if span.Parent != nil {
			span.Parent.inner += span.To - span.From
		}
		if h.Span == nil {
			return nil
		}
		return h.Span(span)
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
			span := &Span{Thread: th, Name: base, Depth: len(open[th]), From: e.At, Metadata: e.Metadata, id: f.ID}
			if k := len(open[th]); k > 0 {
				span.Parent = open[th][k-1]
			}
			open[th] = append(open[th], span)
		case Ends:
			th, k := find(open, th, base, f.ID)
			if k >= 0 {
				return end(th, k, e.At, e.Metadata)
			}
			if h.Left != nil {
				h.Left(e)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for th, stack := range open {
		for k := len(stack) - 1; k >= 0; k-- {
			if h.Left != nil {
				h.Left(&Event{Name: stack[k].Name})
			}
			if err := end(th, k, last[th.Clock], nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// role is RoleOf for a name that begins somewhere in the stream and ends somewhere, too.
func (s *Stream) role(name string) (Role, string) {
	role, base := RoleOf(name)
	if role != Happens && (!s.begun[base] || !s.ended[base]) {
		return Happens, name
	}
	return role, base
}

// find finds the innermost open span that an event ends. An end that says nothing of its thread may
// end one of any thread of the clock.
func find(open map[Thread][]*Span, th Thread, name, id string) (Thread, int) {
	in := func(th Thread) int {
		stack := open[th]
		for k := len(stack) - 1; k >= 0; k-- {
			if stack[k].Name == name && (id == "" || stack[k].id == "" || stack[k].id == id) {
				return k
			}
		}
		return -1
	}
	if k := in(th); k >= 0 || th.Process != "" || th.Thread != "" {
		return th, k
	}
	for other := range open {
		if other.Clock == th.Clock && id != "" {
			if k := in(other); k >= 0 {
				return other, k
			}
		}
	}
	return th, -1
}
