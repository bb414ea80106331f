package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/history"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/gate"
	"cg/launcher"
	"cg/report/format"
	"cg/report/trend"
	"cg/version"
)

func trendCommand() *cli.Command {
	return &cli.Command{
		Name:      "trend",
		Usage:     "show what a command cost over commits, and with which commits that changed",
		ArgsUsage: "FILE...",
		Description: `FILE is a history of cg gate --history, with a line for each check; - is standard
input, and note:NAME the git notes NAME of the current repository. Lines of one command, metric and counter on machines with the same processor
are a series. The order of the commits is that of their first lines.

A step is a place in a series from which on it costs another amount. It is found by
comparing all that is before with all that follows, and tested by shuffling: at most
1 % of series without a step are given one. Two steps, and the ends, are at least
three commits apart. cg says with which commit a step came, and after which.

Exit status: 0; 1 if a file cannot be read, or is no history; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "metric",
				Usage: "show only series of `WHICH`: " + strings.Join(gate.Metrics(), ", ") +
					", or energy/NAME and cpu-energy/NAME of a unit of work"},
			&cli.StringFlag{Name: "format", Aliases: []string{"f"},
				Usage: "write in `FORMAT`, " + format.Alternatives(format.Of((*trend.Trend)(nil))) +
					"; default: as the name of -o ends, else text"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write to `FILE` (- for standard output, the default)"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON on standard output"},
			&cli.BoolFlag{Name: "verbose", Usage: "show every commit"},
		},
		Action: runTrend,
	}
}

func runTrend(c *cli.Context) error {
	names := c.Args().Slice()
	if len(names) == 0 {
		return exit.Usage("no history: cg trend FILE, as cg gate --history FILE makes it")
	}
	metric, err := flags.Metric(c)
	if err != nil {
		return err
	}
	f, err := trendFormat(c)
	if err != nil {
		return exit.Usage("%w", err)
	}
	if err := differentFiles(names); err != nil {
		return err
	}
	if err := output.Keeps(c, names, "output"); err != nil {
		return err
	}
	out := &output.File{Flag: "-o", Name: c.String("output")}
	if err := out.Open(); err != nil {
		return err
	}
	defer out.Abandon()
	lines, err := historyLines(c.Context, names)
	if err != nil {
		return err
	}
	lines = slices.DeleteFunc(lines, func(l trend.Line) bool { return metric != "" && l.Metric != string(metric) })
	if len(lines) == 0 && metric != "" {
		return exit.Failure("--metric: no check is of %s", metric)
	}
	t, err := trend.New(lines, version.Cg)
	if err != nil {
		return exit.Failure("%s: %w", inputName(names[0]), err)
	}
	return putTrend(c, t, f, out)
}

// trendFormat is the format that was asked for.
func trendFormat(c *cli.Context) (format.Format, error) {
	var d *trend.Trend
	file := c.String("output")
	switch {
	case launcher.Closed(1) && (c.Bool("json") || file == "" || file == "-"):
		return format.Format{}, errors.New(
			"standard output is closed and the trend would be lost: save it with -o FILE")
	case c.Bool("json") && c.IsSet("format"):
		return format.Format{}, errors.New("--json and -f do not go together: -f is what -o is written in")
	case c.IsSet("format"):
		f, err := format.Named(c.String("format"), d)
		if err != nil {
			err = fmt.Errorf("-f: %w", err)
		}
		return f, err
	case file != "" && file != "-":
		return format.For(file, d)
	case c.Bool("json"):
		return format.Named("json", d)
	}
	return format.Named(format.Default, d)
}

// historyLines are those of all files, one after the other.
func historyLines(ctx context.Context, names []string) (all []trend.Line, err error) {
	for _, name := range names {
		if strings.HasPrefix(name, history.NotePrefix) {
			lines, err := history.NotedLines(ctx, name)
			if err != nil {
				return nil, exit.Failure("%s: %w", name, err)
			}
			all = append(all, lines...)
			continue
		}
		var in io.Reader = os.Stdin
		if name != "-" {
			f, err := os.Open(name)
			if err != nil {
				return nil, exit.Failure("%w", err)
			}
			defer f.Close()
			in = f
		}
		lines, cut, err := trend.Read(in)
		if err != nil {
			return nil, exit.Failure("%s: %w", inputName(name), err)
		}
		if cut {
			tell.Warnf("%s: its last line was cut off, and does not count", inputName(name))
		}
		all = append(all, lines...)
	}
	return all, nil
}

// putTrend writes a trend where it was asked for.
func putTrend(c *cli.Context, t *trend.Trend, f format.Format, out *output.File) error {
	var b bytes.Buffer
	o := format.Options{Terminal: output.Terminal(os.Stdout, c.Bool("verbose"))}
	if out.Part != nil {
		o.Color = false
	}
	if err := f.Write(&b, t, o); err != nil {
		return exit.Failure("%w", err)
	}
	if out.Part != nil {
		if err := out.Save(b.Bytes()); err != nil {
			return exit.Failure("-o: %w", err)
		}
		if !c.Bool("json") {
			return nil
		}
		return output.PutReport(t)
	}
	_, err := os.Stdout.Write(b.Bytes())
	return err
}
