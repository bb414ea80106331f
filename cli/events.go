package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"cg/checkpoint"
	"cg/cli/exit"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/events"
	"cg/measure"
	"cg/report"
	"cg/report/format"
	"cg/version"
)

// eventLog is the file of --events. The place is tried before the program runs;
// it has its name from the moment at which the program starts, so that what is in
// it is there whatever happens to cg.
type eventLog struct {
	output.File
	writer *events.Writer
	fault  error // the log does not have its name
}

// openLog makes the file of --events; nothing without it.
func openLog(c *cli.Context) (*eventLog, error) {
	l := &eventLog{File: output.File{Flag: "--events", Name: c.String("events")}}
	if l.Name == "" {
		return l, nil
	}
	if c.Bool("instrumented") {
		return nil, exit.Usage(
			"--events: a program that has its own checkpoints writes none into a log: use its source without them")
	}
	return l, l.Open()
}

// begin begins the log of a run, anew where the program is run again; nil
// without --events.
func (l *eventLog) begin(r *report.Run, clock checkpoint.Clock) (*events.Writer, error) {
	if l.Part == nil {
		return nil, nil
	}
	if info, err := l.Part.Stat(); l.writer != nil && err == nil && info.Mode().IsRegular() {
		if err := errors.Join(l.Part.Truncate(0),
			func() error { _, err := l.Part.Seek(0, 0); return err }()); err != nil {
			return nil, exit.Self("--events: %w", err)
		}
	}
	l.writer = events.NewWriter(l.Part,
		events.Info{RunID: r.Meta.RunID, Tool: "cg " + version.Cg, Clock: clock.String(), PID: os.Getpid()})
	return l.writer, nil
}

// started gives the log its name, in the place of an older one: the program runs.
func (l *eventLog) started() {
	if l.Part != nil && l.Part.Name() != l.Name {
		// it has its name since the first start
		if err := os.Rename(l.Part.Name(), l.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.fault = err
		}
	}
}

// end notes in the run where its log is.
func (l *eventLog) end(r *report.Run, o *measure.Outcome) {
	if l.writer == nil {
		return
	}
	fault := errors.Join(o.EventFault, l.fault, l.Part.Close())
	l.Part = nil
	name, err := filepath.Abs(l.Name)
	if err != nil {
		name = l.Name
	}
	r.LogsEvents(report.EventLog{File: name, Events: l.writer.Events(), Bytes: l.writer.Bytes()}, fault)
}

// eventsOf opens the log that a format is to show calls from: the one that --events names,
// else the one that the run names, if it is still there and the run's. The file stays open
// until done.
func eventsOf(c *cli.Context, f format.Format, runs []*report.Run) (log *events.Log, done func(), err error) {
	name, asked := c.String("events"), c.IsSet("events")
	done = func() {}
	if !f.Time || len(runs) != 1 {
		if asked {
			return nil, done, exit.Usage("--events is for one run in a format that shows time: %s",
				format.Alternatives(formatsWith(func(f format.Format) bool { return f.Time })))
		}
		return nil, done, nil
	}
	if !asked {
		if runs[0].Events == nil {
			return nil, done, nil
		}
		name = runs[0].Events.File
	}
	log, done, err = output.OpenEvents(name, runs[0])
	switch {
	case err == nil:
		return log, done, nil
	case asked:
		return nil, done, exit.Failure("--events: %s: %w", name, err)
	}
	tell.Warnf("the run's event log %s is not used: %v; calls are not shown over time (--events names the log where "+
		"it is now)", name, err)
	return nil, done, nil
}
