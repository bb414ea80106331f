package text

import (
	"fmt"
	"io"
	"strconv"

	"cg/report/figures"
	"cg/report/format"
	"cg/report/stream"
)

// writeStream lays out what the events of a stream add up to.
func writeStream(w io.Writer, s *stream.Stream, o format.Options) error {
	sums, err := s.Sums()
	if err != nil {
		return err
	}
	p := newPrinter(o.Terminal)
	p.line("Stream   %d events, version %s   Tasks  %d   Counters  %d", s.Count, s.Version, sums.Spans,
		len(sums.Counters))
	for _, c := range sums.Clocks {
		if c.Name == "" {
			p.line("Time     %s   %d events", figures.Seconds(float64(c.To-c.From)*1e-9), c.Events)
		} else {
			p.line("In order %d events by %s, from %s to %s", c.Events, c.Name, strconv.FormatInt(c.From, 10),
				strconv.FormatInt(c.To, 10))
		}
	}
	p.streamTasks(sums)
	p.streamEvents(sums)
	p.streamCounters(sums)
	p.line("")
	if sums.Left > 0 {
		p.note(yellow, "hespas-events", fmt.Sprintf("%d events begin or end a task of which the other half is missing",
			sums.Left))
	}
	if s.Version != stream.Version {
		p.note(yellow, "hespas-version", fmt.Sprintf("the stream is of version %s and cg knows %s: look whether its "+
			"tasks are what you expect", s.Version, stream.Version))
	}
	p.note(dim, "metadata", p.cut(string(s.Metadata), 400))
	return p.print(w)
}

// streamTasks is a table of the tasks' names.
func (p *printer) streamTasks(sums *stream.Sums) {
	if len(sums.Names) == 0 {
		return
	}
	p.line("")
	p.line("%-44s %8s %12s %12s %10s", "task", "calls", "time", "without inner", "energy_j")
	shown := p.Rows(len(sums.Names))
	for _, n := range sums.Names[:shown] {
		total, self := figures.Seconds(float64(n.Total)*1e-9), figures.Seconds(float64(n.Self)*1e-9)
		name := n.Name
		if n.Clock != "" {
			total, self, name = strconv.FormatInt(n.Total, 10), strconv.FormatInt(n.Self, 10), n.Name+" ["+n.Clock+"]"
		}
		energy := "?"
		if n.Energies == n.Calls {
			energy = strconv.FormatFloat(n.EnergyJ, 'g', 6, 64)
		}
		p.line("%-44s %8d %12s %12s %10s", p.cut(name, 44), n.Calls, total, self, energy)
	}
	p.furtherRows(len(sums.Names)-shown, "functions")
}

// streamEvents is a table of the events' names.
func (p *printer) streamEvents(sums *stream.Sums) {
	p.line("")
	p.line("%-44s %8s", "event", "events")
	shown := p.Rows(len(sums.Events))
	for _, e := range sums.Events[:shown] {
		p.line("%-44s %8d", p.cut(e.Name, 44), e.N)
	}
	p.furtherRows(len(sums.Events)-shown, "events")
}

// streamCounters is a table of the numbers in metadata.
func (p *printer) streamCounters(sums *stream.Sums) {
	if len(sums.Counters) == 0 {
		return
	}
	p.line("")
	p.line("%-44s %8s %12s %12s %12s %12s", "counter", "values", "least", "mean", "most", "last")
	shown := p.Rows(len(sums.Counters))
	g := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	for _, c := range sums.Counters[:shown] {
		p.line("%-44s %8d %12s %12s %12s %12s", p.cut(c.Name, 44), c.N, g(c.Min), g(c.Mean), g(c.Max), g(c.Last))
	}
	p.furtherRows(len(sums.Counters)-shown, "samples")
}

// furtherRows tells of rows that are not shown, and which table of csv has all.
func (p *printer) furtherRows(n int, table string) {
	if n > 0 {
		p.line("%s", p.paint(dim, fmt.Sprintf("and %d more (--verbose, or -f csv --table %s)", n, table)))
	}
}
