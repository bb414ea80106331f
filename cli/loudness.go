package cli

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/tell"
)

// logLevelNames are WattAMeter's.
var logLevelNames = []string{"debug", "info", "warning", "error", "critical"}

func logLevel(name string) (slog.Level, error) {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, slog.LevelError + 4}
	for i, known := range logLevelNames {
		if strings.EqualFold(name, known) {
			return levels[i], nil
		}
	}
	return 0, oneOf(logLevelNames...)(name)
}

// loudnessFlags are those that every command has. They may stand before it, too.
func loudnessFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "quiet", Usage: "say nothing but errors, as --log-level error does"},
		levelFlag(),
	}
}

func levelFlag(aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: "log-level", Aliases: aliases, Value: "info", Usage: "say what is of `LEVEL` or " +
		"above: " + strings.Join(logLevelNames, ", ") + "; from error on not the report that -o saves"}
}

// isLoudness reports whether an argument is one of those flags.
func isLoudness(a string) bool {
	return isFlag(loudnessFlags(), a) && flagName(a) != "help" && a != "-h"
}

// withLoudness gives a command, and those below it, the flags that it lacks, and has them apply.
func withLoudness(c *cli.Command) {
	for _, f := range loudnessFlags() {
		if !slices.ContainsFunc(c.Flags, func(o cli.Flag) bool { return nameOf(o) == nameOf(f) }) {
			c.Flags = append(c.Flags, f)
		}
	}
	if action := c.Action; action != nil {
		c.Action = func(ctx *cli.Context) error {
			if err := setLoudness(ctx); err != nil {
				return err
			}
			return action(ctx)
		}
	}
	for _, sub := range c.Subcommands {
		withLoudness(sub)
	}
}

// setLoudness takes what the flags say. What stands on the command line is stronger than a setting.
func setLoudness(c *cli.Context) error {
	level, err := logLevel(c.String("log-level"))
	if err != nil {
		return exit.Usage("--log-level: %w", err)
	}
	if c.Bool("quiet") && given(c, "quiet") && given(c, "log-level") {
		return exit.Usage("--quiet and --log-level both say how much is said: leave one out")
	}
	if c.Bool("quiet") && !given(c, "log-level") {
		level = slog.LevelError
	}
	tell.From(level)
	return nil
}
