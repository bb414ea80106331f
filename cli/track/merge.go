package track

import (
	"bytes"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/report/format"
	"cg/track/energylog"
	"cg/track/merge"
	"cg/version"
)

func mergeCommand() *cli.Command {
	return &cli.Command{
		Name:      "merge",
		Usage:     "add up logs of several nodes on one clock",
		ArgsUsage: "FILES...",
		Description: `Brings logs of cg track (csv, jsonl) and of WattAMeter onto one clock, by their wall
clocks: the time that all have in common, at the mean of their intervals. It prints
the energy of each log and of all, and the mean, minimum, median and maximum of
the power. No gap of more than two intervals is filled. Logs of one node must not
have the same part twice: it would count twice.

Exit status: 0; 1 if a log cannot be read, or they have no time in common; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "step", Usage: "moments are `TIME` apart (seconds, or such as 100ms)"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "save every column at every moment as CSV to `FILE`, - for standard output"},
			&cli.StringFlag{Name: "export-plot",
				Usage: "draw the power over time to `FILE` (.svg, .png; .html, a page with the figures)"},
		},
		OnUsageError: flags.UsageError,
		Action:       runMerge,
	}
}

func runMerge(c *cli.Context) error {
	if !c.Args().Present() {
		return exit.Usage("track merge: name the logs: cg track merge FILES...")
	}
	step, err := mergeStep(c)
	if err != nil {
		return err
	}
	table, picture := &output.File{Flag: "-o", Name: c.String("output")}, &output.File{Flag: "--export-plot"}
	var drawn format.Format
	if picture.Name = c.String("export-plot"); picture.Name != "" {
		if drawn, err = output.PictureFormat(picture.Name, (*merge.Logs)(nil)); err != nil {
			return exit.Usage("%w", err)
		}
	}
	if err := output.Different(c, "output", "export-plot"); err != nil {
		return err
	}
	var sources []merge.Source
	for _, name := range c.Args().Slice() {
		log, err := readLog(name)
		if err != nil {
			return exit.Failure("%s: %w", name, err)
		}
		sources = append(sources, merge.Source{Name: name, Log: log})
	}
	logs, err := merge.Align(sources, step)
	if err != nil {
		return exit.Failure("track merge: %w", err)
	}
	logs.CgVersion = version.Cg
	defer table.Abandon()
	defer picture.Abandon()
	if err := table.Open(); err != nil {
		return err
	}
	if err := picture.Open(); err != nil {
		return err
	}
	if picture.Name != "" {
		var b bytes.Buffer
		err := drawn.Write(&b, logs, format.Options{})
		if err == nil {
			err = picture.Save(b.Bytes())
		}
		if err != nil {
			return exit.Failure("--export-plot: %w", err)
		}
	}
	return putMerged(logs, table)
}

// mergeStep is the time of --step, 0 for none.
func mergeStep(c *cli.Context) (time.Duration, error) {
	if !c.IsSet("step") {
		return 0, nil
	}
	step, err := flags.Duration(c.String("step"))
	if err != nil || step < time.Microsecond {
		return 0, exit.Usage("--step: %q is no time between two moments: use seconds, or such as 100ms",
			c.String("step"))
	}
	return step, nil
}

func readLog(name string) (*energylog.Rows, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, tell.Reason(err)
	}
	defer f.Close()
	return energylog.ReadRows(f)
}

// putMerged prints the figures, or the table where it goes to standard output.
func putMerged(logs *merge.Logs, table *output.File) error {
	rows, err := output.Formatted("csv", logs, format.Options{})
	if err != nil {
		return exit.Failure("%w", err)
	}
	if table.Name == "-" {
		_, err = os.Stdout.Write(rows)
	} else if err = table.Save(rows); err == nil {
		laid, failed := output.Text(logs, os.Stdout, false)
		if err = failed; err == nil {
			err = tell.Put("%s", laid)
		}
	}
	if err != nil {
		return exit.Failure("writing: %w", err)
	}
	return nil
}
