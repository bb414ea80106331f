package flags

import (
	"strings"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/pattern"
)

// Sysroot says whose sensors are read.
func Sysroot() cli.Flag {
	return &cli.StringFlag{Name: "sysroot", Usage: "read sensors from `DIR`/sys instead of /sys",
		EnvVars: []string{"CG_SYSROOT"}}
}

// OfController say how the management controller of the machine is reached, and which other meters it has.
func OfController() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "bmc-url", Usage: "ask the machine's BMC at `URL` (https://HOST) for its power",
			EnvVars: []string{"CG_BMC_URL"}},
		&cli.StringFlag{Name: "bmc-token-file", Usage: "log in at the BMC with what `FILE` has: USER:PASSWORD, or a " +
			"token", EnvVars: []string{"CG_BMC_TOKEN_FILE"}},
		&cli.StringFlag{Name: "bmc-ca", Usage: "trust the certificate in `FILE` to have signed that of the BMC",
			EnvVars: []string{"CG_BMC_CA"}},
		Meter(),
	}
}

// UsageError is the library's error of a command line, with flags as they are typed.
func UsageError(_ *cli.Context, err error, _ bool) error {
	text := flagInError().ReplaceAllStringFunc(err.Error(),
		func(s string) string {
			before, name, _ := strings.Cut(s, " -")
			if before == "flag" { // the two dashes say that
				return Dashed(name)
			}
			return before + " " + Dashed(name)
		})
	return exit.Usage("%s (see --help)", text)
}

// flagInError is how the library writes a flag.
var flagInError = pattern.Later(`(flag|argument:) -[a-z-]+`)
