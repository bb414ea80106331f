package language

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/languages"
)

// Flags are those of some languages. One that several have says what it is to each.
func Flags(some []*languages.Language) (flags []cli.Flag) {
	type meaning struct{ titles, usage string }
	meanings, switches := map[string][]meaning{}, map[string]bool{}
	var names []string
	add := func(l *languages.Language, name, usage string) {
		all := meanings[name]
		if all == nil {
			names = append(names, name)
		}
		if i := slices.IndexFunc(all, func(m meaning) bool { return m.usage == usage }); i >= 0 {
			all[i].titles += ", " + l.Title
			return
		}
		meanings[name] = append(all, meaning{l.Title, usage})
	}
	for _, l := range some {
		if name := l.InterpreterFlag(); name != "" {
			add(l, name, "use the "+name+" at `PATH`; default: the one your shell finds")
		}
		for _, f := range l.Flags() {
			add(l, f.Name, f.Usage)
		}
		for _, f := range l.Switches() {
			add(l, f.Name, f.Usage)
			switches[f.Name] = true
		}
	}
	for _, name := range names {
		var usages []string
		for _, m := range meanings[name] {
			usages = append(usages, m.titles+": "+m.usage)
		}
		usage := strings.Join(usages, "; ")
		if switches[name] {
			flags = append(flags, &cli.BoolFlag{Name: name, Usage: usage})
		} else {
			flags = append(flags, &cli.StringFlag{Name: name, Usage: usage})
		}
	}
	return flags
}
