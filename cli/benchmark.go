package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"cg/load"
)

// loadCommand does a synthetic load in this process: what cg benchmark and cg
// track bench start.
func loadCommand() *cli.Command {
	return &cli.Command{
		Name:      "load",
		Hidden:    true,
		Usage:     "keep the machine busy",
		ArgsUsage: "KIND",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "duration", Value: "10s", Usage: "for `TIME`"},
			&cli.IntFlag{Name: "rounds", Usage: "do `N` rounds in each thread, instead"},
			&cli.IntFlag{Name: "intensity", Value: 100, Usage: "`PERCENT` of the time"},
			&cli.IntFlag{Name: "threads", Usage: "in `N` threads; default: one for each processor"},
		},
		Action: func(c *cli.Context) error {
			d, err := duration(c.String("duration"))
			if err != nil {
				return fail(statusUsage, "--duration: %w", err)
			}
			n, err := load.Run(load.Config{Kind: c.Args().First(), Threads: c.Int("threads"), Intensity: c.Int("intensity"), Duration: d, Rounds: c.Int("rounds")})
			switch {
			case errors.Is(err, load.ErrNoGPU):
				return fail(statusFailure, "%w: use %s", err, strings.Join(load.Kinds(), ", "))
			case err != nil:
				return fail(statusUsage, "%w", err)
			}
			fmt.Printf("%s: %d rounds\n", c.Args().First(), n)
			return nil
		},
	}
}
