// Package flags has what commands share of their flags: those that several have, how values are read, and whether
// a flag stands on the command line.
package flags

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// NameIn is the name of the flag in an argument.
func NameIn(a string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
	return name
}

// NameOf is the name of a flag, the first of its Names, which the library finds by a regular expression. All flags
// of all commands are asked when cg starts.
func NameOf(f cli.Flag) string {
	switch f := f.(type) {
	case *cli.StringFlag:
		return f.Name
	case *cli.BoolFlag:
		return f.Name
	case *cli.IntFlag:
		return f.Name
	case *cli.Float64Flag:
		return f.Name
	case *cli.StringSliceFlag:
		return f.Name
	case *cli.GenericFlag:
		return f.Name
	}
	return f.Names()[0]
}

// Has reports whether an argument is one of some flags, or asks for help. A name of one letter has one dash
// in front, a longer one two: -timeout is the program's.
func Has(flags []cli.Flag, a string) bool {
	name := NameIn(a)
	if dashes := a[:len(a)-len(strings.TrimLeft(a, "-"))]; name == "" || dashes+name != Dashed(name) {
		return false
	}
	if name == "help" || name == "h" {
		return true
	}
	return slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// Dashed is a flag as it is typed.
func Dashed(name string) string {
	if utf8.RuneCountInString(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// TakesValue reports whether the flag's value is the next argument.
func TakesValue(flags []cli.Flag, a string) bool {
	if strings.Contains(a, "=") {
		return false
	}
	name := NameIn(a)
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, is := f.(*cli.BoolFlag)
			return !is
		}
	}
	return false
}
