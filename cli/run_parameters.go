package cli

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/google/shlex"
	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/sweep"
)

// pairs is a flag that may be given several times, each time with two words: -L threads 1,2,4. arrange puts a space
// between them.
type pairs struct{ flags.Texts }

func parameterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "parameter-list", Aliases: []string{"L"}, Value: &pairs{},
			Usage: "run CMD with each of some values, `NAME VALUES`, in place of {NAME}: -L threads 1,2,4"},
		&cli.GenericFlag{Name: "parameter-scan", Aliases: []string{"P"}, Value: &pairs{},
			Usage: "run CMD with each number of a range, `NAME RANGE`: -P size 1..10, 1..1000:100 (steps of 100), " +
				"1..1000*10 (each ten times the one before)"},
		&cli.IntFlag{Name: "draw", Usage: "run `N` combinations of all parameters' values, drawn at random"},
		&cli.StringFlag{Name: "seed",
			Usage: "the number `N` from which --draw and the order of rounds follow; default: another each time"},
	}
}

// planned is a command that cg run runs.
type planned struct {
	argv []string
	// template is the command with the names of its parameters in braces, at their values; none where it has none.
	template                 []string
	at                       sweep.Point
	prepare, validate, stdin string
}

// parametersOf are those of -L and -P.
func parametersOf(c *cli.Context) (all []sweep.Parameter, err error) {
	for _, flag := range []struct {
		name, short string
		read        func(name, text string) (sweep.Parameter, error)
	}{{"parameter-list", "-L", sweep.List}, {"parameter-scan", "-P", sweep.Range}} {
		for _, text := range c.Generic(flag.name).(*pairs).Texts {
			name, values, _ := strings.Cut(text, pairSeparator)
			if values == "" {
				return nil, exit.Usage("%s: %s has no values: -L threads 1,2,4 or -P size 1..10", flag.short,
					text)
			}
			p, err := flag.read(name, values)
			if err != nil {
				return nil, exit.Usage("%s: %w", flag.short, err)
			}
			all = append(all, p)
		}
	}
	if err := sweep.Check(all); err != nil {
		return nil, exit.Usage("-L, -P: %w", err)
	}
	return all, nil
}

// commandLines are the commands that CMD and -c name.
func commandLines(c *cli.Context) (argvs [][]string, err error) {
	lines := flags.TextsOf(c, "command")
	switch args := c.Args().Slice(); {
	case len(lines) > 0 && len(args) > 0:
		return nil, exit.Usage("-c LINE and CMD do not go together: name the command one way")
	case len(args) > 0:
		if flags.Given(c, "shell") {
			return nil, exit.Usage("--shell is for -c LINE; CMD runs as it stands")
		}
		return [][]string{args}, nil
	case len(lines) == 0:
		return nil, exit.Usage("no command: cg run -- CMD [ARGS...]")
	}
	for _, line := range lines {
		switch shell := c.String("shell"); shell {
		case "sh":
			argvs = append(argvs, []string{"sh", "-c", line})
		case "none":
			words, err := shlex.Split(line)
			if err != nil || len(words) == 0 {
				return nil,
					exit.Usage("-c %q: not a command line: quotes must be closed, and something named", line)
			}
			argvs = append(argvs, words)
		default:
			return nil, exit.Usage("--shell: %q is not known: use sh or none", shell)
		}
	}
	return argvs, nil
}

// plan makes the commands: each with each combination of the parameters' values.
func (s *series) plan(c *cli.Context) error {
	templates, err := commandLines(c)
	if err != nil {
		return err
	}
	parameters, err := parametersOf(c)
	if err != nil {
		return err
	}
	seed := rand.Uint64()
	if text := c.String("seed"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return exit.Usage("--seed: %q is no whole number from 0 on", text)
		}
	}
	s.draw = rand.New(rand.NewPCG(seed, 0))
	drawn := c.Int("draw")
	switch count := sweep.Count(parameters); {
	case c.IsSet("draw") && len(parameters) == 0:
		return exit.Usage("--draw is for -L and -P")
	case c.IsSet("draw") && (drawn < 1 || drawn > sweep.MostPoints):
		return exit.Usage("--draw: %d is no number of combinations: use 1 to %d", drawn, sweep.MostPoints)
	case drawn == 0 && count > sweep.MostPoints:
		return exit.Usage("-L, -P: there are %.0f combinations, and %d can be run: draw some with --draw N, "+
			"or use a range with steps, 1..1000:100 or 1..1000*10", count, sweep.MostPoints)
	}
	around := []string{c.String("prepare"), c.String("validate"), c.String("stdin")}
	for _, p := range parameters {
		in := slices.Concat(append(templates, around)...)
		if len((sweep.Point{p.Name: ""}).Of(in...)) == 0 {
			return exit.Usage("-L, -P: the command does not contain {%s} (nor do --prepare, --validate and "+
				"--stdin): put {%[1]s} where the value belongs", p.Name)
		}
	}
	points := sweep.Points(parameters, drawn, s.draw)
	for _, template := range templates {
		for _, at := range points {
			s.add(template, around, at)
		}
	}
	return nil
}

// add takes in a command with some values, once.
func (s *series) add(template, around []string, at sweep.Point) {
	k := planned{prepare: at.Fill(around[0]), validate: at.Fill(around[1]), stdin: at.Fill(around[2])}
	for _, word := range template {
		k.argv = append(k.argv, at.Fill(word))
	}
	if part := at.Of(slices.Concat(template, around)...); len(part) > 0 {
		k.template, k.at = template, part
		same := func(o planned) bool {
			return fmt.Sprint(o.at) == fmt.Sprint(part) && slices.Equal(o.template, template)
		}
		if slices.ContainsFunc(s.commands, same) {
			return
		}
	} else if len(at) > 0 && slices.ContainsFunc(s.commands, func(o planned) bool {
		return o.at == nil && slices.Equal(o.argv, k.argv) // the same line, which has none of the parameters
	}) {
		return
	}
	s.commands = append(s.commands, k)
}
