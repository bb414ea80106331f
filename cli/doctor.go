package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/languages"
	"cg/manual"
	"cg/nemb"
	"cg/nemb/doctor"
	"cg/shown"
)

// watched is how long doctor watches the counters.
const watched = 500 * time.Millisecond

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "show what can be measured here, what prevents it, and the command that corrects it",
		Description: `Checks which sensors cannot be read and why, watches the counters for half a
second (and reports one that stands still, or shows an impossible power), and
looks at energy filtering, virtualisation, containers, rights, other sessions,
load and steal. Asks what runs or builds the programs of each language for its
version. The last line is the one command that improves measuring most.
--gpu looks at NVIDIA's GPUs alone. On those that no process holds it puts a load of
twelve seconds, to find how their readings follow their power, and keeps that in the cache.

Exit status: 0 something (--gpu: a GPU's driver) measures energy; 1 nothing does (cg still works, and
estimates); 2 usage.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print it as JSON"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "only these `SENSORS` (" +
				machine.SensorNames() + ")"},
			&cli.BoolFlag{Name: "gpu", Usage: "look at NVIDIA's GPUs alone: how often each counter moves, what the " +
				"driver tells of processes, kernels, and performance counters"},
			flags.Sysroot(),
		},
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("doctor takes no arguments: %q", c.Args().First())
	}
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	if c.Bool("gpu") {
		return runDoctorGPU(c, root)
	}
	d, err := doctor.Examine(root, c.StringSlice("sensors"), watched)
	if errors.Is(err, nemb.ErrUnknownSource) {
		return exit.Usage("-s: %w", err)
	} else if err != nil {
		return err
	}
	installed := languages.Here(c.Context)
	next, _ := d.Next()
	if c.Bool("json") {
		err = tell.PutJSON(struct {
			*doctor.Diagnosis
			Languages []languages.Installed `json:"languages"`
			Next      string                `json:"next"` // the command that improves most, "" for none
		}{d, installed, next.Fix})
	} else {
		err = putDiagnosis(d, installed, next)
	}
	if err != nil {
		return err
	}
	if !d.Measures {
		return exit.Of(exit.StatusFailure)
	}
	return nil
}

// putDiagnosis shows findings, then what runs the programs of each language, then what to do first.
func putDiagnosis(d *doctor.Diagnosis, installed []languages.Installed, next doctor.Finding) error {
	width := output.Terminal(os.Stdout, false).Width
	if width == output.NoWidth {
		width = math.MaxInt // a file has long lines, in which grep finds what it looks for
	}
	line := func(level, of, text string) {
		// Words of others stand in them, such as what a program in PATH says of its version.
		level, of, text = shown.Line(level), shown.Line(of), shown.Line(text)
		tell.Put("%s", shown.Safe(manual.Row(fmt.Sprintf("%-8s %-14s ", level, of), text, width)))
	}
	for _, f := range d.Findings {
		line(string(f.Level), f.Check, f.Text)
		if f.Fix != "" {
			tell.Put("%23s to fix it: %s\n", "", f.Fix)
		}
	}
	for _, i := range installed {
		if i.Missing != "" {
			line(string(doctor.Remark), i.Language,
				i.Title+" programs cannot be measured: there is no "+i.Missing+" in PATH")
			continue
		}
		line(string(doctor.Fine), i.Language, cmp.Or(i.Version, "it tells no version")+" ("+i.Path+")")
	}
	if next.Fix != "" {
		return tell.Put("\nfirst do:  %s\n", next.Fix)
	}
	return tell.Put("\nfirst do:  cg measure TARGET (nothing is to be corrected)\n")
}
