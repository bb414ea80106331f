package cli

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"cg/nemb"
	"cg/nemb/doctor"
)

// watched is how long doctor watches the counters.
const watched = 500 * time.Millisecond

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "show what prevents measuring, and the command that corrects it",
		Description: `Checks which sensors cannot be read and why, watches the counters for half a
second (and reports one that stands still, or shows an impossible power), and
looks at energy filtering, virtualisation, containers, rights, other sessions,
load and steal.

Exit status: 0 something measures energy; 1 nothing does (cg still works, and
estimates); 2 usage.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print it as JSON"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "only these `SENSORS` (" +
				sensorNames() + ")"},
			sysrootFlag(),
		},
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if c.Args().Present() {
		return fail(statusUsage, "doctor takes no arguments: %q", c.Args().First())
	}
	root, err := sysroot(c)
	if err != nil {
		return err
	}
	d, err := doctor.Examine(root, c.StringSlice("sensors"), watched)
	if errors.Is(err, nemb.ErrUnknownSource) {
		return fail(statusUsage, "-s: %w", err)
	} else if err != nil {
		return err
	}
	if c.Bool("json") {
		if err := putJSON(d); err != nil {
			return err
		}
	} else {
		for _, f := range d.Findings {
			put("%-8s %-14s %s\n", f.Level, f.Check, f.Text)
			if f.Fix != "" {
				put("%23s to fix it: %s\n", "", f.Fix)
			}
		}
	}
	if !d.Measures {
		return ended(statusFailure)
	}
	return nil
}
