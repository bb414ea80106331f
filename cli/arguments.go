package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/languages"
	"cg/near"
	"cg/report/format"
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
	var language *languages.Language
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
		case strings.HasPrefix(a, "-") && interpreterFlag(language, a) != nil:
			more, is, _ := interpreterFlag(language, a).Argument(a)
			for more++; more > 0 && k < len(in); more-- {
				rest = append(rest, in[k])
				k++
			}
			k--
			target = is
		case strings.HasPrefix(a, "-") && a != "-":
			return nil, noFlag(command, strings.Join(append([]string{args[at]}, words...), " "), a)
		case language == nil && (languages.Named(a) != nil || takesLanguage(command) && named(a) != nil):
			language = named(a)
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

// languageNames are the names of the languages on the command line.
func languageNames() (names []string) {
	for _, l := range languages.All() {
		names = append(names, l.Name)
	}
	return names
}

// takesLanguage reports whether a command's first argument may be a language.
func takesLanguage(c *cli.Command) bool { return strings.HasPrefix(c.ArgsUsage, "[LANG]") }

// named is the language that a word stands for: its name, or a command that runs its
// scripts.
func named(word string) *languages.Language {
	if l := languages.Named(word); l != nil {
		return l
	}
	return languages.ForInterpreter(word)
}

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

// language splits the positional arguments of a command into the language and
// the target with the program's arguments.
func language(c *cli.Context) (*languages.Language, languages.Target, error) {
	return languageOf(c, c.Args().Slice())
}

// languageOf does so for arguments in place of the command's own.
func languageOf(c *cli.Context, args []string) (*languages.Language, languages.Target, error) {
	if l, rest, err := languageOfFlag(c, args); l != nil || err != nil {
		if err != nil {
			return nil, languages.Target{}, err
		}
		t, err := target(c, l, rest, "")
		return l, t, err
	}
	if len(args) == 0 {
		return nil, languages.Target{}, exit.Usage("no target: cg %s %s", c.Command.Name, c.Command.ArgsUsage)
	}
	l, chosen := named(args[0]), ""
	if l != nil {
		if languages.Named(args[0]) == nil {
			chosen = args[0]
		}
		args = args[1:]
	} else if l = languages.ForTarget(args[0]); l == nil {
		script, path, interpreter := languages.ForScript(args[0])
		if script == nil {
			say := "say which before it (" + languages.Names() + ")"
			if c.Command.Name == "measure" {
				say += "; cg run -- COMMAND measures any command"
			}
			if _, err := os.Stat(args[0]); err != nil {
				say = near.Or(args[0], languageNames(), say)
			}
			return nil, languages.Target{}, exit.Usage("%s: cannot tell its language; %s", args[0], say)
		}
		t, err := target(c, script, append([]string{path}, args[1:]...), interpreter)
		return script, t, err
	}
	// "python pytest": a command of that name where there is no such file.
	if len(args) > 0 && !strings.ContainsAny(args[0], "/") && !strings.HasPrefix(args[0], "-") {
		if _, err := os.Stat(args[0]); err != nil {
			if script, path, interpreter := languages.ForScript(args[0]); script == l {
				if chosen != "" {
					interpreter = chosen
				}
				t, err := target(c, l, append([]string{path}, args[1:]...), interpreter)
				return l, t, err
			}
		}
	}
	t, err := target(c, l, args, chosen)
	return l, t, err
}

// languageOfFlag is the language of a flag that names the target, which makes the arguments a
// command: the one that is named before it, else the one that has the flag, else, of several,
// the one whose project it is. nil if there is no such flag.
func languageOfFlag(c *cli.Context, args []string) (*languages.Language, []string, error) {
	var have []*languages.Language
	folder := ""
	for _, l := range languages.All() {
		for _, f := range l.Flags() {
			if f.Target && c.IsSet(f.Name) {
				have, folder = append(have, l), c.String(f.Name)
			}
		}
	}
	switch {
	case len(have) == 0:
		return nil, nil, nil
	case len(args) > 0 && languages.Named(args[0]) != nil:
		return languages.Named(args[0]), args[1:], nil
	case len(have) == 1:
		return have[0], args, nil
	}
	var names []string
	var owners []*languages.Language
	for _, l := range have {
		if l.OwnsProject != nil && l.OwnsProject(folder) {
			owners = append(owners, l)
		}
		names = append(names, l.Name)
	}
	if _, err := os.Stat(folder); len(owners) == 1 || err != nil { // who runs it says what is wrong
		return append(owners, have[0])[0], args, nil
	}
	return nil, nil, exit.Usage("%s: cannot tell its language; say which before it (%s)", folder,
		strings.Join(names, ", "))
}

// flagNames are the names of the flags that a language has.
func flagNames(l *languages.Language) []string {
	names := []string{l.InterpreterFlag()}
	for _, f := range slices.Concat(l.Flags(), l.Switches()) {
		names = append(names, f.Name)
	}
	return names
}

// onlyOwnFlags refuses a flag that only other languages have.
func onlyOwnFlags(c *cli.Context, l *languages.Language) error {
	own := flagNames(l)
	for _, other := range languages.All() {
		for _, name := range flagNames(other) {
			if slices.Contains(own, name) || !flags.Given(c, name) {
				continue
			}
			var of []string
			for _, k := range languages.All() {
				if slices.Contains(flagNames(k), name) {
					of = append(of, k.Title)
				}
			}
			return exit.Usage("--%s is for %s, and the target is %s", name, format.Listed(of, "and"), l.Title)
		}
	}
	return nil
}

// target is the one to run, by the interpreter that was asked for or else by
// the one that its first line names. A flag that only another language has is
// refused.
func target(c *cli.Context, l *languages.Language, args []string, interpreter string) (languages.Target, error) {
	if err := onlyOwnFlags(c, l); err != nil {
		return languages.Target{}, err
	}
	if chosen := c.String(l.InterpreterFlag()); chosen != "" {
		interpreter = chosen
	}
	t := languages.Target{Args: args, Interpreter: interpreter, Flags: map[string]string{}}
	for _, f := range l.Flags() {
		if c.IsSet(f.Name) {
			t.Flags[f.Name] = c.String(f.Name)
		}
	}
	for _, f := range l.Switches() {
		if c.Bool(f.Name) {
			t.Flags[f.Name] = "true"
		}
	}
	return t, nil
}
