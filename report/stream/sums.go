package stream

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// Others is the name of everything beyond the names that are kept.
const Others = "(others)"

// Sums are what a stream adds up to.
type Sums struct {
	Clocks   []Clock
	Names    []Name    // of tasks, the one with the most time first
	Paths    []Path    // of tasks in tasks; a path stands behind its parent
	Counters []Counter // in the order of their names
	Events   []Count   // names of all events, the most frequent first
	Spans    int       // tasks
	Left     int       // events that begin or end a task of which the other half is missing
}

// Clock is a clock with its first and its last event.
type Clock struct {
	Name     string // "" for time
	From, To int64
	Events   int
}

// Name is what tasks of a name add up to on a clock.
type Name struct {
	Clock, Name string
	Calls       int
	Total, Self int64   // time in its tasks, a task within one of its name counted once; and without inner tasks
	EnergyJ     float64 // sum of "energy_j" in the metadata
	Energies    int     // of how many tasks
}

// Path is a task within others. Parent is -1 for one that is in no other.
type Path struct {
	Clock, Name string
	Parent      int
	Calls       int
	Self        int64
}

// Counter is a number in the metadata of events.
type Counter struct {
	Name           string
	N              int
	Min, Max, Last float64
	Mean           float64
}

// Count is how many events have a name.
type Count struct {
	Name string
	N    int
}

type nameKey struct{ clock, name string }

type pathKey struct {
	clock, name string
	parent      int
}

// adder adds up.
type adder struct {
	clocks   map[string]*Clock
	names    map[nameKey]*Name
	paths    map[pathKey]int
	list     []Path
	counters map[string]*Counter
	events   map[string]int
	spans    int
	left     int
}

// Sums adds up what is in the stream.
func (s *Stream) Sums() (*Sums, error) {
	a := adder{clocks: map[string]*Clock{}, names: map[nameKey]*Name{}, paths: map[pathKey]int{},
		counters: map[string]*Counter{}, events: map[string]int{}}
	err := s.Replay(Handler{Event: a.event, Begin: a.begin, Span: a.span, Left: func(*Event) { a.left++ }})
	if err != nil {
		return nil, err
	}
	return a.sums(), nil
}

// CounterName is what a number in the metadata of an event is called.
func CounterName(e *Event, n Number) string {
	_, base := RoleOf(e.Name)
	return base + "." + n.Name
}

func (a *adder) event(e *Event, f Facts) error {
	c := a.clocks[e.Clock]
	if c == nil {
		c = &Clock{Name: e.Clock, From: e.At, To: e.At}
		a.clocks[e.Clock] = c
	}
	c.From, c.To = min(c.From, e.At), max(c.To, e.At)
	c.Events++
	name := e.Name
	if _, known := a.events[name]; !known && (len(a.events) >= mostNames || len(name) > longestName) {
		name = Others
	}
	a.events[name]++
	for _, n := range f.Numbers {
		name := CounterName(e, n)
		c := a.counters[name]
		if c == nil {
			if len(a.counters) >= mostNames || len(name) > longestName {
				continue
			}
			c = &Counter{Name: name, Min: math.Inf(1), Max: math.Inf(-1)}
			a.counters[name] = c
		}
		c.N++
		c.Min, c.Max, c.Last = min(c.Min, n.Value), max(c.Max, n.Value), n.Value
		c.Mean += (n.Value - c.Mean) / float64(c.N)
	}
	return nil
}

// begin numbers the path of a task. Within one that has outlasted a task around it, a path begins
// with that one: tasks that overlap in a row do not make a path that only grows.
func (a *adder) begin(s *Span) {
	parent := -1
	if up := s.Parent; up != nil {
		if parent = up.Path; up.overlaps {
			parent = a.path(s.Clock, up.Name, -1)
		}
	}
	s.Path = a.path(s.Clock, s.Name, parent)
}

// path is the number of a path, new or known.
func (a *adder) path(clock, name string, parent int) int {
	key := pathKey{clock, name, parent}
	at, known := a.paths[key]
	if !known && len(a.list) >= mostNames {
		key = pathKey{clock, Others, -1}
		at, known = a.paths[key]
	}
	if !known {
		at = len(a.list)
		a.paths[key] = at
		a.list = append(a.list, Path{Clock: key.clock, Name: key.name, Parent: key.parent})
	}
	return at
}

func (a *adder) span(s *Span) error {
	a.spans++
	self := max(0, s.To-s.From-s.inner)
	p := &a.list[s.Path]
	p.Calls++
	p.Self += self
	key := nameKey{s.Clock, s.Name}
	n := a.names[key]
	if n == nil {
		if len(a.names) >= mostNames {
			key.name = Others
		}
		if n = a.names[key]; n == nil {
			n = &Name{Clock: key.clock, Name: key.name}
			a.names[key] = n
		}
	}
	n.Calls++
	n.Self += self
	n.Total += s.Whole
	if e, ok := s.Energy(); ok {
		n.EnergyJ += e
		n.Energies++
	}
	return nil
}

// Energy is "energy_j" in the metadata of the end, else of the begin.
func (s *Span) Energy() (joules float64, ok bool) {
	for _, metadata := range [][]byte{s.Ended, s.Metadata} {
		if !bytes.Contains(metadata, []byte("energy_j")) && !bytes.ContainsRune(metadata, '\\') {
			continue // it has no such name, however spelled
		}
		for _, n := range FactsOf(metadata).Numbers {
			if n.Name == "energy_j" && n.Value >= 0 {
				return n.Value, true
			}
		}
	}
	return 0, false
}

func (a *adder) sums() *Sums {
	out := &Sums{Paths: a.list, Spans: a.spans, Left: a.left}
	for _, c := range a.clocks {
		out.Clocks = append(out.Clocks, *c)
	}
	slices.SortFunc(out.Clocks, func(a, b Clock) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range a.names {
		out.Names = append(out.Names, *n)
	}
	slices.SortFunc(out.Names, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Clock, b.Clock), cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range a.counters {
		out.Counters = append(out.Counters, *c)
	}
	slices.SortFunc(out.Counters, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
	for name, n := range a.events {
		out.Events = append(out.Events, Count{name, n})
	}
	slices.SortFunc(out.Events, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return out
}
