package cli

import (
	"bufio"
	"math"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/report"
	"cg/report/format"
	"cg/report/stream"
)

// readDocument reads what is to be shown, with the events that belong to it. done closes
// what is read while it is written.
func readDocument(c *cli.Context, f, reader format.Format, o *format.Options,
	progress *tell.Progress) (d format.Document, done func(), err error) {
	names := c.Args().Slice()
	if err := severalOfRanks(names); err != nil {
		return nil, func() {}, err
	}
	progress.Say("reading %s", names[0])
	if len(names) == 1 && ofRanks(names[0]) {
		d, err := readRanks(names[0], reader, progress)
		return d, func() {}, err
	}
	read := func(name string) (format.Document, func(), error) {
		return savedDocument(name, reader, f, c.String("table"))
	}
	d, done, err = read(names[0])
	if err != nil {
		return nil, func() {}, err
	}
	if s, is := d.(*stream.Stream); is {
		return d, done, streamOptions(c, s)
	}
	done()
	if c.IsSet("rate") {
		return nil, func() {}, exit.Usage("--rate is for streams of events, and %s is %s", names[0], d.Kind())
	}
	if _, is := d.(*report.Run); !is && len(names) == 1 {
		if c.IsSet("events") || c.IsSet("slices") {
			return nil, func() {}, exit.Usage("--events and --slices are for runs, and %s is %s", names[0],
				d.Kind())
		}
		return d, func() {}, nil
	}
	runs, err := savedRuns(names, d, progress, read)
	if err != nil {
		return nil, func() {}, err
	}
	progress.Say("reading events")
	if o.Events, done, err = eventsOf(c, f, runs); err != nil {
		return nil, done, err
	}
	o.Slices = c.Int("slices")
	return report.Together(runs), done, nil
}

// savedDocument reads what a file has in a format, to be written in another. The file stays
// open until done.
func savedDocument(name string, reader, writer format.Format, table string) (
	d format.Document, done func(), err error) {
	f, done, err := openSaved(name)
	if err != nil {
		return nil, nil, exit.Failure("%s: %w", inputName(name), err)
	}
	// A run that such a file tells of has no more than tasks and samples.
	parts := writer.Picture || writer.Parts && (!writer.Table || table == "tasks" || table == "samples")
	read := reader.Read
	_, cannot := writer.Writer((*stream.Stream)(nil))
	if reader.Same != nil && cannot == nil && (reader.Name == writer.Name || !parts) {
		read = reader.Same
	}
	if d, err = read(f); err != nil {
		done()
		return nil, nil, exit.Failure("%s: %w", inputName(name), err)
	}
	return d, done, nil
}

// savedRuns are the first run and those of the other files.
func savedRuns(names []string, first format.Document, progress *tell.Progress,
	read func(name string) (format.Document, func(), error)) ([]*report.Run, error) {
	var runs []*report.Run
	for i, name := range names {
		d := first
		if i > 0 {
			progress.Say("reading %s", name)
			var done func()
			var err error
			if d, done, err = read(name); err != nil {
				return nil, err
			}
			done()
		}
		r, is := d.(*report.Run)
		if !is {
			return nil, exit.Failure("%s: it is %s, which is shown one at a time", name, d.Kind())
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// streamOptions refuses what a stream cannot be shown with, and sets its rate.
func streamOptions(c *cli.Context, s *stream.Stream) error {
	if c.Args().Len() > 1 {
		return exit.Failure("%s: it is %s, which is shown one at a time", c.Args().First(), s.Kind())
	}
	if c.IsSet("events") || c.IsSet("slices") {
		return exit.Usage("--events and --slices are for runs, and %s is %s", c.Args().First(), s.Kind())
	}
	if rate := c.String("rate"); rate != "" {
		hz, err := strconv.ParseFloat(rate, 64)
		if err != nil || !(hz > 0) || math.IsInf(hz, 0) {
			return exit.Usage("--rate: %q is no number of cycles in a second: such as 2.4e9", rate)
		}
		s.Rate = hz
	}
	return nil
}

// streamed writes a stream of events to a file or to standard output while it is read.
func streamed(to *output.File, f format.Format, s *stream.Stream, o format.Options) error {
	w := bufio.NewWriterSize(os.Stdout, 1<<16)
	if to.Part != nil {
		w = bufio.NewWriterSize(to.Part, 1<<16)
	}
	if err := f.Write(w, s, o); err != nil {
		return err
	}
	return w.Flush()
}

// verifier is what verifies files of a format.
func verifier(from string) (func(name string) ([]string, error), error) {
	reader, err := format.Reader(from)
	if err != nil {
		return nil, exit.Usage("--from: %w", err)
	}
	if reader.Verify == nil {
		return verified, nil
	}
	return func(name string) ([]string, error) {
		f, done, err := openSaved(name)
		if err != nil {
			return nil, exit.Failure("%s: %w", inputName(name), err)
		}
		defer done()
		faults, err := reader.Verify(f)
		if err != nil {
			return nil, exit.Failure("%s: %w", inputName(name), err)
		}
		return faults, nil
	}, nil
}
