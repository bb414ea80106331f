package cli

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/nemb/access"
	"cg/shown"
)

func initSensorsCommand() *cli.Command {
	return &cli.Command{
		Name:  "init-sensors",
		Usage: "let a group, or cg itself, read the energy counters (as root; --undo reverts it)",
		Description: `Shows what it will do and asks. Nothing becomes readable for everybody.

group    makes the group ` + access.DefaultGroup + `, adds you to it, and lets it read energy_uj of
         every powercap zone, now and (by a udev rule) after each start.
setcap   gives cg the capability cap_perfmon, with which it opens the counters
         of perf_event. Whoever may run that file may then read them.

Without --method it is group where there is powercap, else setcap.

Exit status: 0 done, or nothing to do; 1 failed, or not confirmed; 2 usage.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "method", Usage: "`HOW`: group or setcap"},
			&cli.StringFlag{Name: "group", Value: access.DefaultGroup, Usage: "`NAME` of the group"},
			&cli.StringFlag{Name: "user", Usage: "the user to add to the group (`NAME`); default: who called sudo"},
			&cli.StringFlag{Name: "program", Usage: "the `FILE` that setcap marks; default: this cg"},
			&cli.BoolFlag{Name: "undo", Usage: "revert what it did"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show what it would do and do nothing"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
			flags.Sysroot(),
		},
		Action: runInitSensors,
	}
}

func runInitSensors(c *cli.Context) error {
	plan, err := planSensors(c)
	if errors.Is(err, access.ErrNothing) {
		tell.Note(err.Error())
		return nil
	} else if err != nil {
		return err
	}
	for _, s := range plan.Steps {
		tell.Put("%s\n", shown.Safe(shown.Lines(s.Text)))
	}
	if c.Bool("dry-run") {
		return nil
	}
	if os.Geteuid() != 0 {
		return exit.Failure("init-sensors: that takes root, and nothing was done: sudo cg init-sensors")
	}
	if err := plan.Check(); err != nil {
		return exit.Failure("init-sensors: %w", err)
	}
	if !c.Bool("yes") {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return exit.Failure("init-sensors: nothing was done: there is no terminal to ask on (say --yes)")
		}
		shown.Fprintf(os.Stderr, "Do this? [y/N] ")
		answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return exit.Failure("init-sensors: nothing was done")
		}
	}
	if err := plan.Run(func(access.Step) {}); err != nil {
		return exit.Failure(
			"init-sensors: %w; what came before it is done (cg init-sensors --undo takes it back)", err)
	}
	if plan.After != "" {
		tell.Note(plan.After)
	}
	return nil
}

// planSensors checks the flags and plans what they say.
func planSensors(c *cli.Context) (*access.Plan, error) {
	if c.Args().Present() {
		return nil, exit.Usage("init-sensors takes no arguments: %q", c.Args().First())
	}
	method := c.String("method")
	if method != "" && method != "group" && method != "setcap" {
		return nil, exit.Usage("--method: %q is not known: use group or setcap", method)
	}
	undo := c.Bool("undo")
	for _, flag := range []string{"method", "group", "user"} {
		if undo && c.IsSet(flag) {
			return nil, exit.Usage("--undo takes back what was done, whatever it was: leave out --%s", flag)
		}
	}
	root, err := machine.Root(c)
	if err != nil {
		return nil, err
	}
	if !undo {
		for _, text := range access.LeftAlone(root) {
			tell.Warn(text)
		}
		if method == "" {
			if method, err = access.DefaultMethod(root); err != nil {
				return nil, exit.Failure("init-sensors: %w", err)
			}
		}
	}
	without := map[string][]string{"setcap": {"group", "user"}, "group": {"program"}}
	for _, flag := range without[method] {
		if flags.Given(c, flag) {
			return nil, exit.Usage(
				"--%s has no effect on %s, which is how it is done here: leave it out, or choose another --method",
				flag, method)
		}
	}
	program := c.String("program")
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	user := c.String("user")
	if user == "" && os.Getenv("SUDO_USER") != "root" {
		user = os.Getenv("SUDO_USER")
	}
	var plan *access.Plan
	if undo {
		plan, err = access.Revoke(root, program)
	} else {
		plan, err = access.Grant(root,
			access.Request{Method: method, Group: c.String("group"), User: user, Program: program})
	}
	if err != nil && !errors.Is(err, access.ErrNothing) {
		return nil, exit.Failure("init-sensors: %w", err)
	}
	return plan, err
}
