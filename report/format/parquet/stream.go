package parquet

import (
	"bufio"
	"errors"
	"io"

	"cg/report/format"
	"cg/report/stream"
	"cg/report/tables"
	"cg/shown"
)

// streamColumns are those of the tables of a stream of events. Times are in nanoseconds where
// clock is "", else in steps of the clock.
func streamColumns(name string) []tables.Column {
	switch name {
	case "events":
		return joined(text("clock"), integer("at"), text("event_name", "timestamp", "timeunit", "metadata"))
	case "tasks":
		return joined(text("clock", "name"), integer("depth"), text("process", "thread"), integer("start", "end"),
			maybeNumber("energy_j"), text("metadata"), maybeText("end_metadata"))
	case "samples":
		return joined(text("clock"), integer("at"), text("counter"), number("value"))
	case "functions":
		return joined(text("clock", "name"), integer("calls", "total", "self"), maybeNumber("energy_j"),
			integer("tasks_with_energy"))
	}
	return joined(integer("path"), maybeInteger("parent"), text("clock", "name"), integer("calls", "self")) // paths
}

// streamTable is a table of a stream that is being written.
type streamTable struct {
	*tables.Table
	buffer *bufio.Writer
	file   io.Closer
}

// writeStream writes the tables of a stream of events, event by event.
func writeStream(create format.Create, s *stream.Stream, _ format.Options) (err error) {
	open := map[string]*streamTable{}
	defer func() {
		for _, t := range open {
			err = errors.Join(err, t.Close(), t.buffer.Flush(), t.file.Close())
		}
	}()
	for _, name := range []string{"events", "tasks", "samples", "functions", "paths"} {
		w, err := create(name + ".parquet")
		if err != nil {
			return err
		}
		b := bufio.NewWriterSize(w, 1<<16)
		open[name] = &streamTable{tables.New(b, streamColumns(name), [2]string{"cg.table", name}), b, w}
	}
	line := shown.Line
	err = s.Replay(stream.Handler{Event: func(e *stream.Event, f stream.Facts) error {
		for _, n := range f.Numbers {
			if err := open["samples"].Row(line(e.Clock), e.At, line(stream.CounterName(e, n)), n.Value); err != nil {
				return err
			}
		}
		return open["events"].Row(line(e.Clock), e.At, line(e.Name), line(string(e.Time)), line(e.Unit),
			line(string(e.Metadata)))
	}, Span: func(t *stream.Span) error {
		var energy, ended any
		if j, ok := t.Energy(); ok {
			energy = j
		}
		if t.Ended != nil {
			ended = line(string(t.Ended))
		}
		return open["tasks"].Row(line(t.Clock), line(t.Name), int64(t.Depth), line(t.Process), line(t.Thread.Thread),
			t.From, t.To, energy, line(string(t.Metadata)), ended)
	}})
	if err != nil {
		return err
	}
	return streamSums(open["functions"], open["paths"], s)
}

// streamSums writes what the tasks add up to.
func streamSums(functions, paths *streamTable, s *stream.Stream) error {
	sums, err := s.Sums()
	if err != nil {
		return err
	}
	for _, n := range sums.Names {
		var energy any
		if n.Energies > 0 {
			energy = n.EnergyJ
		}
		if err := functions.Row(shown.Line(n.Clock), shown.Line(n.Name), int64(n.Calls), n.Total, n.Self, energy,
			int64(n.Energies)); err != nil {
			return err
		}
	}
	for i, p := range sums.Paths {
		var parent any
		if p.Parent >= 0 {
			parent = int64(p.Parent)
		}
		if err := paths.Row(int64(i), parent, shown.Line(p.Clock), shown.Line(p.Name), int64(p.Calls),
			p.Self); err != nil {
			return err
		}
	}
	return nil
}
