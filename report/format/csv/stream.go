package csv

import (
	"encoding/csv"
	"io"

	"cg/report/format"
	"cg/report/stream"
)

// streamTables are those of a stream.
var streamTables = format.Choice{Flag: "table", Values: []string{"functions", "tasks", "paths", "samples", "events"}}

// writeStream writes a table of a stream: functions (the names of its tasks), paths, tasks, samples (the numbers in
// metadata) or events. Times are in nanoseconds where clock is empty, else in steps of the clock.
func writeStream(w io.Writer, s *stream.Stream, o format.Options) error {
	table, err := o.Choose(streamTables)
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	row := func(fields ...any) {
		var out []string
		for _, f := range fields {
			out = append(out, cell(f))
		}
		c.Write(out)
	}
	switch table {
	case "functions", "paths":
		err = sumsOf(s, table, row)
	case "tasks":
		row("clock", "name", "depth", "process", "thread", "start", "end", "metadata", "end_metadata")
		err = s.Replay(stream.Handler{Span: func(t *stream.Span) error {
			row(t.Clock, t.Name, t.Depth, t.Process, t.Thread.Thread, t.From, t.To, string(t.Metadata), string(t.Ended))
			return nil
		}})
	case "samples":
		row("clock", "at", "counter", "value")
		err = s.Replay(stream.Handler{Event: func(e *stream.Event, f stream.Facts) error {
			for _, n := range f.Numbers {
				row(e.Clock, e.At, stream.CounterName(e, n), n.Value)
			}
			return nil
		}})
	case "events":
		row("clock", "at", "event_name", "timestamp", "timeunit", "metadata")
		err = s.Events(func(e *stream.Event) error {
			row(e.Clock, e.At, e.Name, string(e.Time), e.Unit, string(e.Metadata))
			return nil
		})
	}
	if err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

// sumsOf gives the rows of the tables of sums.
func sumsOf(s *stream.Stream, table string, row func(fields ...any)) error {
	sums, err := s.Sums()
	if err != nil {
		return err
	}
	if table == "paths" {
		row("path", "parent", "clock", "name", "calls", "self")
		for i, p := range sums.Paths {
			row(i, p.Parent, p.Clock, p.Name, p.Calls, p.Self)
		}
		return nil
	}
	row("clock", "name", "calls", "total", "self", "energy_j", "tasks_with_energy")
	for _, n := range sums.Names {
		row(n.Clock, n.Name, n.Calls, n.Total, n.Self, n.EnergyJ, n.Energies)
	}
	return nil
}
