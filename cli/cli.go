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
	"cg/cli/tell"
	"cg/languages"
	"cg/near"
	"cg/pattern"
	"cg/version"
)

// Version is the version of cg.
const Version = version.Cg

// commands lists the commands. A new command is a new file and a line here.
func commands() []*cli.Command {
	all := []*cli.Command{
		measureCommand(),
		analyzeCommand(),
		runCommand(),
		compareCommand(),
		gateCommand(),
		trendCommand(),
		reportCommand(),
		verifyCommand(),
		mergeCommand(),
		infoCommand(),
		doctorCommand(),
		initSensorsCommand(),
		validateCommand(),
		trackCommand(),
		monitorCommand(),
		gpuCommand(),
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
			return nameOf(f) == "sensors" || nameOf(f) == "tracker"
		}) {
			c.Flags = append(c.Flags, controllerFlags()...)
		}
	}
	for _, c := range all {
		if !c.Hidden {
			withLoudness(c)
		}
	}
	return all
}

// controllerFlags say how the management controller of the machine is reached, and which other meters it has.
func controllerFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "bmc-url", Usage: "ask the machine's BMC at `URL` (https://HOST) for its power",
			EnvVars: []string{"CG_BMC_URL"}},
		&cli.StringFlag{Name: "bmc-token-file", Usage: "log in at the BMC with what `FILE` has: USER:PASSWORD, or a " +
			"token", EnvVars: []string{"CG_BMC_TOKEN_FILE"}},
		&cli.StringFlag{Name: "bmc-ca", Usage: "trust the certificate in `FILE` to have signed that of the BMC",
			EnvVars: []string{"CG_BMC_CA"}},
		meterFlag(),
	}
}

// Main runs cg and returns its exit status.
func Main(args []string) int {
	// A write to a reader that is gone is an error to handle, not the end.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	cli.HelpPrinter = printHelp
	app := &cli.App{
		Name:                   "cg",
		Usage:                  "shows how much energy your code uses, in joules",
		Version:                Version,
		Commands:               commands(),
		Writer:                 os.Stdout,
		ErrWriter:              os.Stderr,
		HideHelpCommand:        true,
		UseShortOptionHandling: false,
		Flags:                  append(loudnessFlags(), sysrootFlag(), cli.HelpFlag),
		OnUsageError:           usageError,
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
		c.OnUsageError = usageError
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

// flagInError is how the library writes a flag.
var flagInError = pattern.Later(`(flag|argument:) -[a-z-]+`)

func usageError(_ *cli.Context, err error, _ bool) error {
	text := flagInError().ReplaceAllStringFunc(err.Error(),
		func(s string) string {
			before, name, _ := strings.Cut(s, " -")
			if before == "flag" { // the two dashes say that
				return dashed(name)
			}
			return before + " " + dashed(name)
		})
	return exit.Usage("%s (see --help)", text)
}

func sysrootFlag() cli.Flag {
	return &cli.StringFlag{Name: "sysroot", Usage: "read sensors from `DIR`/sys instead of /sys",
		EnvVars: []string{"CG_SYSROOT"}}
}
