// Package language tells from a command's arguments and flags which language a program is in, and has the flags that
// languages bring along.
package language

import (
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/languages"
	"cg/near"
	"cg/report/format"
)

// Named is the language that a word stands for: its name, or a command that runs its
// scripts.
func Named(word string) *languages.Language {
	if l := languages.Named(word); l != nil {
		return l
	}
	return languages.ForInterpreter(word)
}

// Names are the names of the languages on the command line.
func Names() (names []string) {
	for _, l := range languages.All() {
		names = append(names, l.Name)
	}
	return names
}

// Of splits the positional arguments of a command into the language and
// the target with the program's arguments.
func Of(c *cli.Context) (*languages.Language, languages.Target, error) {
	return OfArguments(c, c.Args().Slice())
}

// OfArguments does so for arguments in place of the command's own.
func OfArguments(c *cli.Context, args []string) (*languages.Language, languages.Target, error) {
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
	l, chosen := Named(args[0]), ""
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
				say = near.Or(args[0], Names(), say)
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

// AllFlags are those that languages bring along, each once.
func AllFlags() []cli.Flag { return Flags(languages.All()) }
