package cli

import (
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"cg/cli/exit"
	"cg/shown"
)

// loudness is the level from which on cg says something on standard error. What ends cg is said
// at every level, and so are questions. The command sets it before it begins.
var loudness = slog.LevelInfo

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
	loudness = level
	return nil
}

// tell says something of a level.
func tell(level slog.Level, text string) {
	if level >= loudness {
		say(text)
	}
}

// notef says what is good to know, warnf what may be wrong. Arguments have one line each.
func notef(format string, args ...any) { tell(slog.LevelInfo, shown.Sprintf(format, args...)) }
func warnf(format string, args ...any) { tell(slog.LevelWarn, shown.Sprintf(format, args...)) }

// note and warn do so for a text.
func note(text string) { tell(slog.LevelInfo, text) }
func warn(text string) { tell(slog.LevelWarn, text) }

// showsProgress reports whether somebody looks at standard error and wants to know how far cg is.
func showsProgress() bool { return loudness <= slog.LevelInfo && term.IsTerminal(int(os.Stderr.Fd())) }

// reportsTo reports whether a report is shown on standard error, when the files of some names have it.
func reportsTo(files ...string) bool {
	return loudness < slog.LevelError || !slices.ContainsFunc(files, func(name string) bool { return name != "" })
}
