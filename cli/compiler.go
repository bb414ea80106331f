package cli

import (
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/languages"
)

// compilerCommand stands in the place of a compiler, in builds that cg measures.
func compilerCommand() *cli.Command {
	return &cli.Command{
		Name:      "compiler",
		Hidden:    true,
		Usage:     "compile as a compiler, with checkpoints",
		ArgsUsage: "-- LANG FILE COMPILER [ARGS...]",
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) == 0 || languages.Named(args[0]) == nil || languages.Named(args[0]).Wrap == nil {
				return exit.Usage("compiler: no language with compilers is named")
			}
			call, err := languages.Named(args[0]).Wrap(args[1:])
			if err != nil {
				return exit.Refused(err)
			}
			os.Stderr.Write(call.Stderr) // the compiler's own words
			if len(call.Exec) == 0 {
				return nil
			}
			return exit.Self("%s: %w", call.Exec[0], unix.Exec(call.Exec[0], call.Exec, os.Environ()))
		},
	}
}
