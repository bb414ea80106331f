package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/languages"
)

// arrange puts the flags of a command that launches something in front of its
// arguments, where the library looks for them. Flags of cg may stand before
// and after LANG and TARGET; behind TARGET the first argument that is no flag
// of cg's, or "--", ends them, and the rest is the program's.
func arrange(app *cli.App, args []string) ([]string, error) {
	at := 1
	for at < len(args) && strings.HasPrefix(args[at], "-") { // global flags
		if args[at] == "--" {
			return args, nil
		}
		if takesValue(app.Flags, args[at]) {
			at++
		}
		at++
	}
	if at >= len(args) {
		return args, nil
	}
	i := slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.HasName(args[at]) })
	if i < 0 {
		return args, nil
	}
	command := app.Commands[i]
	var flags, rest []string
	var language *languages.Language
	target := false
	in := args[at+1:]
	for k := 0; k < len(in); k++ {
		a := in[k]
		switch {
		case a == "--":
			rest = append(rest, in[k+1:]...)
			k = len(in)
		case isFlag(command, a):
			flags = append(flags, a)
			if takesValue(command.Flags, a) && k+1 < len(in) {
				k++
				flags = append(flags, in[k])
			}
		case target:
			rest = append(rest, in[k:]...)
			k = len(in)
		case language == nil && strings.HasPrefix(a, "-") && languages.ForFile(a) != nil,
			language != nil && slices.Contains(language.TargetFlags, a):
			rest = append(rest, a)
			if k+1 < len(in) {
				k++
				rest = append(rest, in[k])
			}
			target = true
		case strings.HasPrefix(a, "-") && a != "-":
			return nil, fail(statusUsage, "%s: %q is no flag of it; put -- before the program's own (see cg %[1]s --help)", command.Name, a)
		case language == nil && languages.Named(a) != nil:
			language = languages.Named(a)
			rest = append(rest, a)
		default:
			target = true
			rest = append(rest, a)
		}
	}
	out := append(slices.Clone(args[:at+1]), flags...)
	return append(append(out, "--"), rest...), nil
}

func flagName(a string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
	return name
}

func isFlag(c *cli.Command, a string) bool {
	if len(a) < 2 || a[0] != '-' {
		return false
	}
	name := flagName(a)
	if name == "help" || name == "h" {
		return true
	}
	return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// takesValue reports whether the flag's value is the next argument.
func takesValue(flags []cli.Flag, a string) bool {
	if strings.Contains(a, "=") {
		return false
	}
	name := flagName(a)
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, is := f.(*cli.BoolFlag)
			return !is
		}
	}
	return false
}

// language splits the positional arguments of a command into the language and
// the target with the program's arguments.
func language(c *cli.Context) (*languages.Language, []string, error) {
	args := c.Args().Slice()
	if len(args) == 0 {
		return nil, nil, fail(statusUsage, "no target: cg %s %s", c.Command.Name, c.Command.ArgsUsage)
	}
	if l := languages.Named(args[0]); l != nil {
		return l, args[1:], nil
	}
	if l := languages.ForFile(args[0]); l != nil {
		return l, args, nil
	}
	return nil, nil, fail(statusUsage, "%s: cannot tell its language; say which before it (%s)", args[0], languages.Names())
}
