package cli

import (
	"bytes"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
	"cg/report/format"
	"cg/track/energylog"
	"cg/track/merge"
	"cg/version"
)

func trackMergeCommand() *cli.Command {
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
		Action:       runTrackMerge,
	}
}

func runTrackMerge(c *cli.Context) error {
	if !c.Args().Present() {
		return exit.Usage("track merge: name the logs: cg track merge FILES...")
	}
	step, err := mergeStep(c)
	if err != nil {
		return err
	}
	table, picture := &output{flag: "-o", name: c.String("output")}, &output{flag: "--export-plot"}
	var drawn format.Format
	if picture.name = c.String("export-plot"); picture.name != "" {
		if drawn, err = pictureFormat(picture.name, (*merge.Logs)(nil)); err != nil {
			return exit.Usage("%w", err)
		}
	}
	if err := differentOutputs(c, "output", "export-plot"); err != nil {
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
	defer table.abandon()
	defer picture.abandon()
	if err := table.open(); err != nil {
		return err
	}
	if err := picture.open(); err != nil {
		return err
	}
	if picture.name != "" {
		var b bytes.Buffer
		err := drawn.Write(&b, logs, format.Options{})
		if err == nil {
			err = picture.save(b.Bytes())
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
		return nil, reason(err)
	}
	defer f.Close()
	return energylog.ReadRows(f)
}

// putMerged prints the figures, or the table where it goes to standard output.
func putMerged(logs *merge.Logs, table *output) error {
	rows, err := formatted("csv", logs, format.Options{})
	if err != nil {
		return exit.Failure("%w", err)
	}
	if table.name == "-" {
		_, err = os.Stdout.Write(rows)
	} else if err = table.save(rows); err == nil {
		laid, failed := text(logs, os.Stdout, false)
		if err = failed; err == nil {
			err = tell.Put("%s", laid)
		}
	}
	if err != nil {
		return exit.Failure("writing: %w", err)
	}
	return nil
}
