package flags

import (
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"
)

// LevelNames are the names of levels, WattAMeter's.
var LevelNames = []string{"debug", "info", "warning", "error", "critical"}

// ParseLevel reads the name of a level.
func ParseLevel(name string) (slog.Level, error) {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError, slog.LevelError + 4}
	for i, known := range LevelNames {
		if strings.EqualFold(name, known) {
			return levels[i], nil
		}
	}
	return 0, OneOf(LevelNames...)(name)
}

// OfLoudness are those that every command has. They may stand before it, too.
func OfLoudness() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "quiet", Usage: "say nothing but errors, as --log-level error does"},
		Level(),
	}
}

// Level says how much cg says.
func Level(aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: "log-level", Aliases: aliases, Value: "info", Usage: "say what is of `LEVEL` or " +
		"above: " + strings.Join(LevelNames, ", ") + "; from error on not the report that -o saves"}
}

// IsLoudness reports whether an argument is one of those flags.
func IsLoudness(a string) bool {
	return Has(OfLoudness(), a) && NameIn(a) != "help" && a != "-h"
}
