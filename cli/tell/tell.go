// Package tell says on standard error what cg has to say of its own, from the level on that the user asked for,
// and puts on standard output what a command was asked for.
package tell

import (
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"cg/shown"
)

// loudness is the level from which on cg says something on standard error. What ends cg is said
// at every level, and so are questions. The command sets it before it begins.
var loudness = slog.LevelInfo

// From sets the level from which on cg says something.
func From(level slog.Level) { loudness = level }

// Say writes a message of cg's own to standard error. The lines of one that has
// several are indented, so that none looks like a message of its own.
func Say(message string) {
	laid := strings.ReplaceAll(shown.Lines(strings.TrimSpace(message)), "\n", "\n    ")
	shown.Fprintf(os.Stderr, "cg: %s\n", shown.Safe(laid))
}

// At says something of a level.
func At(level slog.Level, text string) {
	if level >= loudness {
		Say(text)
	}
}

// Notef says what is good to know, Warnf what may be wrong. Arguments have one line each.
func Notef(format string, args ...any) { At(slog.LevelInfo, shown.Sprintf(format, args...)) }
func Warnf(format string, args ...any) { At(slog.LevelWarn, shown.Sprintf(format, args...)) }

// Note and Warn do so for a text.
func Note(text string) { At(slog.LevelInfo, text) }
func Warn(text string) { At(slog.LevelWarn, text) }

// ShowsProgress reports whether somebody looks at standard error and wants to know how far cg is.
func ShowsProgress() bool { return loudness <= slog.LevelInfo && term.IsTerminal(int(os.Stderr.Fd())) }

// ReportsTo reports whether a report is shown on standard error, when the files of some names have it.
func ReportsTo(files ...string) bool {
	return loudness < slog.LevelError || !slices.ContainsFunc(files, func(name string) bool { return name != "" })
}

// Put writes what a command is asked for to standard output; arguments are
// escaped.
func Put(format string, args ...any) error {
	_, err := shown.Fprintf(os.Stdout, format, args...)
	return err
}

// PutJSON writes a value to standard output as JSON.
func PutJSON(v any) error {
	e := json.NewEncoder(shown.JSONWriter(os.Stdout))
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
