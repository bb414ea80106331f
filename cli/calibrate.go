package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/nemb/processor"
	"cg/nemb/sensor/estimate"
	"cg/report"
)

func calibrateCommand() *cli.Command {
	return &cli.Command{
		Name:  "calibrate",
		Usage: "give the estimate two measured powers of this machine",
		Description: `Where no energy counter can be read, cg estimates power from processor time and
tables. The true power is between 0.5 and 1.5 times the estimate. Two powers of
this machine, from any meter, replace the tables: with all processors idle, and
with all of them busy.

  cg calibrate --idle 38 --load 112
  cg calibrate --from idle.json --from busy.json

The reports of --from are made on this machine while its counters can be read:
cg benchmark -o idle.json idle and cg benchmark -o busy.json cpu_stress as root.

It is kept in cg/calibration.json in your configuration ($XDG_CONFIG_HOME, else
~/.config) for this kind and number of processors. Everything estimated stays
marked as such.

Exit status: 0; 1 if it cannot be kept, or a report says nothing of use; 2 usage.`,
		Flags: []cli.Flag{
			&cli.Float64Flag{Name: "idle", Usage: "power with idle processors in `WATTS`"},
			&cli.Float64Flag{Name: "load", Usage: "power with all processors busy in `WATTS`"},
			&cli.StringSliceFlag{Name: "from", Usage: "take them from two reports (`FILE`), given one after the other"},
			&cli.BoolFlag{Name: "show", Usage: "print what is calibrated"},
			&cli.BoolFlag{Name: "remove", Usage: "forget this machine's calibration"},
			flags.Sysroot(),
		},
		Action: runCalibrate,
	}
}

func runCalibrate(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("calibrate: %q: it takes only flags (cg calibrate --help)", c.Args().First())
	}
	ways := 0
	powers := c.IsSet("idle") || c.IsSet("load")
	for _, asked := range []bool{powers, c.IsSet("from"), c.Bool("show"), c.Bool("remove")} {
		if asked {
			ways++
		}
	}
	if ways != 1 || c.IsSet("idle") != c.IsSet("load") {
		return exit.Usage("calibrate: use --idle W and --load W, or --from REPORT twice, or --show, or --remove")
	}
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	cpu := root.CPU()
	if cpu.Processors == 0 {
		return exit.Failure("%s lists no processors", root.Proc("cpuinfo"))
	}
	path, err := estimate.CalibrationFile()
	if err != nil {
		return exit.Failure("no place for a calibration: %w", err)
	}
	all, err := estimate.ReadCalibrations(path)
	if err != nil {
		return exit.Failure("%w", err)
	}
	id := cpu.Identity()
	if c.Bool("show") {
		for _, known := range slices.Sorted(maps.Keys(all)) {
			k := all[known]
			tell.Put("%s: %g W idle, %g W busy, by %s, %s\n", known, k.Idle, k.Load, k.Meter,
				k.Made.Format(time.DateOnly))
		}
		if _, ok := all[id]; !ok {
			tell.Put("%s: not calibrated\n", id)
		}
		return nil
	}
	if c.Bool("remove") {
		if _, ok := all[id]; !ok {
			return exit.Failure("%s: not calibrated", id)
		}
		delete(all, id)
	} else {
		made, err := calibration(c, cpu)
		if err != nil {
			return err
		}
		made.Made = time.Now().UTC().Truncate(time.Second)
		all[id] = made
	}
	if err := estimate.WriteCalibrations(path, all); err != nil {
		return exit.Failure("calibrate: %w", err)
	}
	if k, ok := all[id]; ok {
		tell.Notef("%s: %.4g W idle, %.4g W busy, kept in %s", id, k.Idle, k.Load, path)
	} else {
		tell.Notef("%s: removed from %s", id, path)
	}
	return nil
}

func calibration(c *cli.Context, cpu processor.CPU) (estimate.Calibration, error) {
	if !c.IsSet("from") {
		k := estimate.Calibration{Idle: c.Float64("idle"), Load: c.Float64("load"), Meter: "--idle and --load"}
		if err := k.Check(); err != nil {
			return k, exit.Usage("calibrate: %w", err)
		}
		return k, nil
	}
	names := c.StringSlice("from")
	if len(names) != 2 {
		return estimate.Calibration{},
			exit.Usage("--from: %d reports: use one of the idle and one of the busy machine", len(names))
	}
	if cpu.Virtual {
		return estimate.Calibration{}, exit.Failure(
			"--from: this is a guest, and a counter tells the whole host's power: give the guest's share by --idle " +
				"and --load")
	}
	var share, watts [2]float64
	for i, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return estimate.Calibration{}, exit.Failure("--from: %w", err)
		}
		r, err := report.Read(b)
		if err == nil && r.Meta.CPUModel != cpu.Name {
			err = fmt.Errorf("it is of another processor, %q", r.Meta.CPUModel)
		}
		if err == nil {
			share[i], watts[i], err = r.Point(cpu.Processors)
		}
		if err != nil {
			return estimate.Calibration{}, exit.Failure("--from: %s: %w", name, err)
		}
	}
	k, err := estimate.LinearCalibration(share[0], watts[0], share[1], watts[1])
	if err != nil {
		return k, exit.Failure("--from: %w", err)
	}
	k.Meter = "the reports " + strings.Join(names, " and ")
	return k, nil
}
