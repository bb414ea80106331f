// Package cli reads the command line. A command turns its flags into values and calls
// the packages below; it computes nothing itself.
package cli

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/gate"
	"cg/cli/gpu"
	"cg/cli/monitor"
	"cg/cli/tell"
	"cg/cli/track"
	"cg/languages"
	"cg/near"
	"cg/version"
)

// commands lists the commands. A new command is a new file and a line here.
func commands() []*cli.Command {
	all := []*cli.Command{
		measureCommand(),
		analyzeCommand(),
		runCommand(),
		compareCommand(),
		gate.Command(settings{}),
		trendCommand(),
		reportCommand(),
		verifyCommand(),
		mergeCommand(),
		infoCommand(),
		doctorCommand(),
		initSensorsCommand(),
		validateCommand(),
		track.Command(settings{}),
		monitor.Command(settings{}),
		gpu.Command(),
		samplerCommand(),
		sessionCommand(),
		sdkCommand(),
		calibrateCommand(),
		benchmarkCommand(),
		configCommand(),
		helpCommand(),
		versionCommand(),
		completionCommand(),
		manCommand(),
		loadCommand(),
		measurerCommand(),
		compilerCommand(),
	}
	for _, c := range all {
		if slices.ContainsFunc(c.Flags, func(f cli.Flag) bool {
			return flags.NameOf(f) == "sensors" || flags.NameOf(f) == "tracker"
		}) {
			c.Flags = append(c.Flags, flags.OfController()...)
		}
	}
	for _, c := range all {
		if !c.Hidden {
			withLoudness(c)
		}
	}
	return all
}

// Main runs cg and returns its exit status.
func Main(args []string) int {
	// A write to a reader that is gone is an error to handle, not the end.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	cli.HelpPrinter = printHelp
	app := &cli.App{
		Name:                   "cg",
		Usage:                  "shows how much energy your code uses, in joules",
		Version:                version.Cg,
		Commands:               commands(),
		Writer:                 os.Stdout,
		ErrWriter:              os.Stderr,
		HideHelpCommand:        true,
		UseShortOptionHandling: false,
		Flags:                  append(flags.OfLoudness(), flags.Sysroot(), cli.HelpFlag),
		OnUsageError:           flags.UsageError,
		ExitErrHandler:         func(*cli.Context, error) {},
		CommandNotFound:        func(*cli.Context, string) {},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return noCommand(c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, c := range app.Commands {
		c.OnUsageError = flags.UsageError
		configure(c)
	}
	arranged, err := arrange(app, args)
	if err == nil {
		err = app.Run(arranged)
	}
	if err == nil {
		return 0
	}
	status := exit.StatusFailure
	var f *exit.Error
	if errors.As(err, &f) {
		status = f.Status
	}
	if message := err.Error(); message != "" {
		tell.Say(message)
	}
	if f != nil && f.Signal != 0 {
		exit.DieOf(f.Signal)
	}
	return status
}

// noCommand is the error of a first word that is no command. The one of a program is answered with the command
// that measures it.
func noCommand(word string) error {
	var names []string
	for _, c := range commands() {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if _, err := os.Stat(word); err == nil && languages.ForTarget(word) != nil {
		return exit.Usage("%q is no command of cg: did you mean \"cg measure %s\"? (cg --help)", word, word)
	}
	return exit.Usage("%q is no command of cg: %s (cg --help)", word,
		near.Or(word, names, "use "+strings.Join(names, ", ")))
}
