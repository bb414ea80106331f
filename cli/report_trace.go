package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/recorder"
	"cg/recorder/analysis"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/track/energylog"
	"cg/version"
)

// fromTrace is what --from says for a trace of Recorder.
const fromTrace = "recorder"

// traceFlags are those of cg report that are for traces only.
func traceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "energy", Usage: "of traces: take energies from the log `FILE` of cg track or " +
			"WattAMeter, of the machine of some ranks from 0-31=FILE, or of all nodes from the run that cg merge " +
			"saved; may be given again"},
		&cli.StringFlag{Name: "ranks", Usage: "of traces: read rank `N`, or ranks A-B only"},
		&cli.StringFlag{Name: "records", Usage: "of traces in json, jsonl and parquet: write the first `N` records " +
			"of each rank, or all (default: json 1000, the others all)"},
	}
}

// reportTrace shows a trace of Recorder.
func reportTrace(c *cli.Context) error {
	names := c.Args().Slice()
	if len(names) != 1 {
		return exit.Usage("--from recorder: %d folders: name that of one trace", len(names))
	}
	for _, flag := range []string{"events", "with-source", "watch", "lsp", "advice"} {
		if c.IsSet(flag) {
			return exit.Usage("--%s is for runs, and a trace of Recorder has nothing for it", flag)
		}
	}
	f, err := traceFormat(c)
	if err != nil {
		return exit.Usage("%w", err)
	}
	most, err := recordsAsked(c, f)
	if err != nil {
		return err
	}
	d := &iotrace.Document{Name: names[0], Version: version.Cg, Most: most}
	if d.Trace, err = recorder.Open(names[0]); err != nil {
		return exit.Failure("%s: %w", names[0], err)
	}
	if d.From, d.To, err = ranksAsked(c.String("ranks"), d.Trace.Ranks); err != nil {
		return exit.Usage("--ranks: %w", err)
	}
	if d.Meters, err = metersAsked(c.StringSlice("energy"), d.Trace.Ranks); err != nil {
		return err
	}
	out, err := traceTo(c, f)
	if err != nil {
		return err
	}
	defer out.abandon()
	o := format.Options{Terminal: output.Terminal(os.Stdout, c.Bool("verbose")), Slices: c.Int("slices"),
		Chosen: map[string]string{"table": c.String("table")}}
	if err := writeTrace(c, d, out, func(w io.Writer) error {
		if out.folder != nil {
			return f.WriteFolder(out.folder.Create, d, o)
		}
		return f.Write(w, d, o)
	}); err != nil {
		return err
	}
	if c.Bool("open") {
		return browse(out.file.Name)
	}
	return nil
}

// traceTo opens what -o names, or a file for --open.
func traceTo(c *cli.Context, f format.Format) (*reportOutput, error) {
	out := &reportOutput{file: &output.File{Flag: "-o", Name: c.String("output")}}
	if f.IsFolder((*iotrace.Document)(nil)) {
		var err error
		out.folder, err = output.OpenFolder(f, out.file.Name)
		return out, err
	}
	if c.Bool("open") && out.file.Name == "" {
		dir, err := os.MkdirTemp("", "cg-report-")
		if err != nil {
			return nil, exit.Failure("--open: %w", err)
		}
		out.made = dir
		out.file.Name = filepath.Join(dir, "trace"+f.Endings[0])
	}
	return out, out.file.Open()
}

// writeTrace reads and writes a trace, record by record.
func writeTrace(c *cli.Context, d *iotrace.Document, out *reportOutput, write func(io.Writer) error) error {
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	progress := tell.NewProgress()
	defer progress.End()
	err := exit.Interruptible(ctx, func() (err error) {
		d.Analysis, err = analysis.Of(d.Trace, analysis.Options{From: d.From, To: d.To, Meters: d.Meters,
			Progress: func(done int) { progress.Say("read %d of %d ranks", done, d.To-d.From) }})
		return err
	})
	if err != nil {
		return traceError(d.Name, err)
	}
	if out.folder == nil && out.file.Part == nil {
		release() // a reader that waits is ended by what ends cg
		progress.End()
		w := bufio.NewWriter(os.Stdout)
		if err := write(w); err != nil {
			return traceError(d.Name, err)
		}
		return w.Flush()
	}
	err = exit.Interruptible(ctx, func() error {
		progress.Say("writing %s", out.file.Name)
		if out.folder != nil {
			return write(nil)
		}
		w := bufio.NewWriter(out.file.Part)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	})
	if err != nil {
		return traceError(d.Name, err)
	}
	if out.folder != nil {
		err = out.folder.Save()
	} else {
		err = out.file.Save(nil)
	}
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// traceError is an error with the name of the trace, unless it says more already.
func traceError(name string, err error) error {
	var f *exit.Error
	if errors.As(err, &f) {
		return err
	}
	return exit.Failure("%s: %w", name, err)
}

// traceFormat is the format that was asked for.
func traceFormat(c *cli.Context) (f format.Format, err error) {
	d := (*iotrace.Document)(nil)
	f, err = chosenFormat(c, d)
	switch {
	case err != nil:
		return f, err
	case c.Bool("open") && !f.Picture:
		return f, fmt.Errorf("--open is for pictures, and the format is %s", f.Name)
	case c.Bool("open") && c.String("output") == "-":
		return f, errors.New("--open needs a file, and -o - is standard output")
	case c.IsSet("table") && (!f.Table || f.IsFolder(d)):
		return f, fmt.Errorf("--table is for csv, and the format is %s", f.Name)
	case c.IsSet("slices") && (!f.Time || f.Picture):
		return f, fmt.Errorf("--slices is for perfetto, and the format is %s", f.Name)
	}
	return f, nil
}

// recordsAsked is how many records of each rank to write; -1 is all.
func recordsAsked(c *cli.Context, f format.Format) (int, error) {
	text := c.String("records")
	lists := slices.Contains([]string{"json", "jsonl", "parquet"}, f.Name)
	switch {
	case text == "" && f.Name == "json":
		return 1000, nil
	case text == "" || text == "all":
		if text != "" && !lists {
			return 0, exit.Usage("--records is for json, jsonl and parquet, and the format is %s", f.Name)
		}
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, exit.Usage("--records: %q is no number of records: use 0 or more, or all", text)
	}
	if !lists {
		return 0, exit.Usage("--records is for json, jsonl and parquet, and the format is %s", f.Name)
	}
	return n, nil
}

// ranksAsked are the first rank and the one behind the last of N or A-B; all for "".
func ranksAsked(text string, ranks int) (from, to int, err error) {
	if text == "" {
		return 0, ranks, nil
	}
	first, last, several := strings.Cut(text, "-")
	if !several {
		last = first
	}
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err1 != nil || err2 != nil || from < 0 || to < from {
		return 0, 0, fmt.Errorf("%q is no rank or range of ranks: use one such as 7 or 0-31", text)
	}
	if to >= ranks && ranks > 0 {
		return 0, 0, fmt.Errorf("%s: the trace has ranks 0 to %d", text, ranks-1)
	}
	return from, to + 1, nil
}

// metersAsked reads the logs, and the runs of many ranks, of --energy for a trace of so many ranks.
func metersAsked(all []string, ranks int) (out []*analysis.Meter, err error) {
	for _, text := range all {
		m := &analysis.Meter{Name: text}
		if ranks, file, several := strings.Cut(text, "="); several {
			if from, to, err := ranksAsked(ranks, 0); err == nil {
				m.From, m.To, m.Name = from, to, file
			}
		}
		if ofRanks(m.Name) {
			if m.To != 0 {
				return nil, exit.Usage("--energy: %s is a run of many ranks and says itself where each "+
					"rank was: leave %s out", m.Name, strings.TrimSuffix(text, m.Name))
			}
			nodes, err := metersOfRun(m.Name, ranks)
			if err != nil {
				return nil, err
			}
			out = append(out, nodes...)
			continue
		}
		f, err := os.Open(m.Name)
		if err != nil {
			return nil, exit.Failure("--energy: %s: %w", m.Name, tell.Reason(err))
		}
		log, err := energylog.Read(f)
		f.Close()
		if err != nil {
			return nil, exit.Failure("--energy: %s: %w", m.Name, err)
		}
		if log.Anew > 0 {
			tell.Warnf("--energy: %s: a counter began anew (%d in all): what it counted just before is in no energy",
				m.Name, log.Anew)
		}
		m.Unix, m.Joules, m.Kind = log.Unix, log.Joules, log.Kind
		out = append(out, m)
	}
	return out, nil
}

// metersOfRun are the nodes of a run of many ranks: its folder, or what cg merge saved.
func metersOfRun(name string, ranks int) ([]*analysis.Meter, error) {
	from, err := format.Reader("json")
	if err != nil {
		return nil, err
	}
	progress := tell.NewProgress()
	defer progress.End()
	d, err := readRanks(name, from, progress)
	if err != nil {
		return nil, err
	}
	run, is := d.(*cluster.Run)
	if !is {
		return nil, exit.Failure("--energy: %s: it is no run of many ranks", name)
	}
	nodes, err := iotrace.Meters(run, name, ranks)
	if err != nil {
		return nil, exit.Failure("--energy: %w", err)
	}
	return nodes, nil
}
