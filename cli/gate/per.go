package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/gate"
	"cg/work"
)

// metricOf reads --metric and --per.
func (k *check) metricOf(c *cli.Context) error {
	patterns, err := work.ParseAll(flags.TextsOf(c, "per"))
	if err != nil {
		return exit.Usage("--per: %w", err)
	}
	metric, err := flags.Metric(c)
	if err != nil {
		return err
	}
	_, unit := metric.Of()
	switch {
	case unit == "" && len(patterns) > 0:
		return exit.Usage("--per is for --metric energy/NAME: name the unit there, such as energy/%s",
			patterns[0].Name)
	case unit != "" && c.String("batch") != "1":
		return exit.Usage("--batch: a unit of work is counted in the output of one run: leave it out")
	case unit != "" && k.functions:
		return exit.Usage("--functions: a unit of work is one of the whole command: use another --metric")
	}
	k.plan.Metric = metric
	for _, p := range patterns {
		if p.Name != unit {
			return exit.Usage("--per: %q counts %s, and --metric has %s", p.Text, p.Name, unit)
		}
		k.per = append(k.per, p)
	}
	if unit != "" && len(k.per) == 0 {
		return exit.Usage("--metric %s needs --per: a pattern with that name, such as --per '%ss: (?P<%s>\\d+)'",
			metric, unit, unit)
	}
	return nil
}

// printed is where a command writes to: nowhere, or the file in which work is counted.
func (k *check) printed() (*os.File, error) {
	if len(k.per) == 0 {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.Create(filepath.Join(k.dir, "stdout"))
}

// count is how many units of work the last run of a side did.
func (k *check) count(ctx context.Context, side gate.Side) (float64, error) {
	out, err := os.Open(filepath.Join(k.dir, "stdout"))
	if err != nil {
		return 0, exit.Self("%w", err)
	}
	defer out.Close()
	log, err := os.Open(k.log())
	if err != nil {
		return 0, exit.Self("%w", err)
	}
	defer log.Close()
	counts, err := work.Counts(ctx, k.per, out, log)
	var missing *work.MissingError
	if errors.As(err, &missing) {
		return 0, exit.Self("--per: %w (of %s in %s)", err, strings.Join(k.command, " "), k.named(side))
	} else if err != nil {
		return 0, exit.Self("%w", err)
	}
	return counts[k.per[0].Name], nil
}

// withoutBatch tells of a command that is too fast what helps where its work is counted, which is not a batch.
func (k *check) withoutBatch(err error) error {
	var fast *gate.TooFast
	if len(k.per) == 0 || !errors.As(err, &fast) {
		return err
	}
	return exit.Self("the command takes %v, and the counter needs %v to tell it: let a run do more work",
		fast.Took.Round(time.Millisecond), fast.Wanted.Round(time.Millisecond))
}
