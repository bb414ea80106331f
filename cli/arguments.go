package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/language"
	"cg/languages"
	"cg/near"
	"cg/sweep"
)

// arrange puts the flags of a command in front of its arguments, where the
// library looks for them. Flags of cg may stand anywhere before "--"; in a
// command that takes a program's arguments, the first argument behind TARGET
// that is no flag of cg's ends them, too, and the rest is the program's.
func arrange(app *cli.App, args []string) ([]string, error) {
	at := 1
	args = slices.Clone(args)
	var front []string                                       // of the command; some may stand before it
	for at < len(args) && strings.HasPrefix(args[at], "-") { // global flags
		if args[at] == "--" {
			return args, nil
		}
		if !flags.Has(globalFlags(app), args[at]) {
			return nil, exit.Usage("%q is no flag of cg%s (see cg --help)", args[at],
				hintOfFlag(globalFlags(app), args[at]))
		}
		n := 1
		if flags.TakesValue(app.Flags, args[at]) {
			n = min(2, len(args)-at)
		}
		if flags.IsLoudness(args[at]) {
			if n == 1 && flags.TakesValue(app.Flags, args[at]) {
				return nil, exit.Usage("%s needs a value (see cg --help)", args[at])
			}
			front = append(front, args[at:at+n]...)
			args = slices.Delete(args, at, at+n)
			continue
		}
		at += n
	}
	if at >= len(args) {
		return args, nil
	}
	i := slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.HasName(args[at]) })
	if i < 0 {
		return args, nil
	}
	command := app.Commands[i]
	var rest, words []string
	var lang *languages.Language
	target := false
	in := args[at+1:]
	for k := 0; k < len(in); k++ {
		a := in[k]
		switch {
		case a == "--":
			rest = append(rest, in[k+1:]...)
			k = len(in)
		case flags.Has(command.Flags, a):
			value, n, missing := valueOf(command.Flags, a, in[k+1:])
			if missing {
				return nil, exit.Usage("%s: %s needs a value (see cg %[1]s --help)",
					strings.Join(append([]string{args[at]}, words...), " "), a)
			}
			front, k = append(append(front, a), value...), k+n
		case len(words)+len(rest) == 0 && command.Command(a) != nil:
			words, command = append(words, a), command.Command(a)
		case target && strings.HasSuffix(command.ArgsUsage, "[ARGS...]"):
			rest = append(rest, in[k:]...)
			k = len(in)
		case strings.HasPrefix(a, "-") && interpreterFlag(lang, a) != nil:
			more, is, _ := interpreterFlag(lang, a).Argument(a)
			for more++; more > 0 && k < len(in); more-- {
				rest = append(rest, in[k])
				k++
			}
			k--
			target = is
		case strings.HasPrefix(a, "-") && a != "-":
			return nil, noFlag(command, strings.Join(append([]string{args[at]}, words...), " "), a)
		case lang == nil && (languages.Named(a) != nil || takesLanguage(command) && language.Named(a) != nil):
			lang = language.Named(a)
			rest = append(rest, a)
		default:
			target = true
			rest = append(rest, a)
		}
	}
	out := slices.Concat(args[:at+1], words, front)
	if slices.Contains(front, "--help") || slices.Contains(front, "-h") {
		return out, nil // the library takes what else stands there for a command
	}
	return append(append(out, "--"), rest...), nil
}

// takesLanguage reports whether a command's first argument may be a language.
func takesLanguage(c *cli.Command) bool { return strings.HasPrefix(c.ArgsUsage, "[LANG]") }

// interpreterFlag finds the interpreter that has a flag: that of the language that
// was named, else of the one whose targets it can stand for.
func interpreterFlag(l *languages.Language, a string) *languages.Interpreter {
	if l == nil {
		l = languages.ForFile(a)
	}
	if l == nil || l.Interpreter == nil {
		return nil
	}
	if _, _, ok := l.Interpreter.Argument(a); !ok {
		return nil
	}
	return l.Interpreter
}

// globalFlags are those that stand before a command.
func globalFlags(app *cli.App) []cli.Flag {
	if slices.Contains(app.Flags, cli.VersionFlag) { // which the library adds when it starts
		return app.Flags
	}
	return append(slices.Clone(app.Flags), cli.VersionFlag)
}

// noFlag is the error of a word with a dash that is no flag of a command.
func noFlag(c *cli.Command, name, word string) error {
	hint := hintOfFlag(c.Flags, word)
	if hint == "" && (strings.Contains(c.ArgsUsage, "ARGS") || strings.Contains(c.ArgsUsage, "CMD")) {
		hint = "; put -- before the program's own"
	}
	return exit.Usage("%s: %q is no flag of it%s (see cg %[1]s --help)", name, word, hint)
}

// hintOfFlag asks whether a flag was meant whose name is near, which has two dashes, or whose value stands
// behind a space.
func hintOfFlag(known []cli.Flag, word string) string {
	bare, value, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	var long []string
	meant := ""
	for _, f := range known {
		for _, name := range f.Names() {
			switch {
			case name == bare:
				meant = flags.Dashed(name)
			case utf8.RuneCountInString(name) > 1:
				long = append(long, name)
			case strings.HasPrefix(bare, name) && !strings.HasPrefix(word, "--") && meant == "" &&
				flags.TakesValue(known, "-"+name):
				meant = "-" + name + " " + bare[len(name):]
				if value != "" {
					meant += "=" + value
				}
			}
		}
	}
	if name := near.To(bare, long); name != "" && (meant == "" || strings.Contains(meant, " ")) {
		meant = flags.Dashed(name)
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", meant)
}

// pairSeparator stands between the two words of a flag that takes two.
const pairSeparator = " "

// valueOf is the value of a flag among the arguments behind it, none where it takes none, and of how many arguments.
func valueOf(known []cli.Flag, a string, behind []string) (value []string, n int, missing bool) {
	switch {
	case !flags.TakesValue(known, a):
		return nil, 0, false
	case len(behind) == 0:
		return nil, 0, true
	case len(behind) > 1 && behind[1] != "--" && takesPair(known, a) && sweep.IsName(behind[0]):
		return []string{behind[0] + pairSeparator + behind[1]}, 2, false
	}
	return behind[:1], 1, false
}

// takesPair reports whether the flag's value is the next two arguments.
func takesPair(known []cli.Flag, a string) bool {
	return slices.ContainsFunc(known, func(f cli.Flag) bool {
		g, is := f.(*cli.GenericFlag)
		if is {
			_, is = g.Value.(*pairs)
		}
		return is && slices.Contains(f.Names(), flags.NameIn(a))
	})
}
