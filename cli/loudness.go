package cli

import (
	"log/slog"
	"slices"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/tell"
)

// withLoudness gives a command, and those below it, the flags that it lacks, and has them apply.
func withLoudness(c *cli.Command) {
	for _, f := range flags.OfLoudness() {
		if !slices.ContainsFunc(c.Flags, func(o cli.Flag) bool { return flags.NameOf(o) == flags.NameOf(f) }) {
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
	level, err := flags.ParseLevel(c.String("log-level"))
	if err != nil {
		return exit.Usage("--log-level: %w", err)
	}
	if c.Bool("quiet") && flags.Given(c, "quiet") && flags.Given(c, "log-level") {
		return exit.Usage("--quiet and --log-level both say how much is said: leave one out")
	}
	if c.Bool("quiet") && !flags.Given(c, "log-level") {
		level = slog.LevelError
	}
	tell.From(level)
	return nil
}
