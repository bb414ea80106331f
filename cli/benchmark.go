package cli

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/experiment"
	"cg/launcher"
	"cg/load"
	"cg/near"
	"cg/nemb/habits"
)

func benchmarkCommand() *cli.Command {
	return &cli.Command{
		Name:      "benchmark",
		Usage:     "measure the machine under a load of cg's own",
		ArgsUsage: "[KIND]",
		Description: `KIND is cpu_stress (the default: arithmetic in registers), memory_stress (copies
through 64 MiB in each thread), mixed (threads of both), idle, or gpu_compute
(arithmetic on the first NVIDIA GPU). The load runs in a process of its own and is
measured as any program is; the report is the same.

With --intensity 30 it works for 30 % of each 20 ms and rests for the others.

Exit status: 0; 1 if the load could not be done; 2 usage; 125 cg failed.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "duration", Value: "10s", Usage: "how long, in `TIME` (seconds, or such as 1m30s)"},
			&cli.IntFlag{Name: "intensity", Value: 100, Usage: "`PERCENT` of the time to work, 1 to 100"},
			&cli.IntFlag{Name: "threads", Usage: "work in `N` threads; default: one for each processor"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the report as JSON to `FILE` (- for standard output)"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON on standard output"},
			&cli.StringFlag{Name: "precision", Aliases: []string{"p"}, Value: "medium",
				Usage: "sampling `INTERVAL`: low, medium or high (100, 10, 1 ms)"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "use only these `SENSORS` (" +
				machine.SensorNames() + "); default: all that measure, else the estimate"},
			&cli.BoolFlag{Name: "verbose", Usage: "show every warning"},
			flags.Sysroot(),
		},
		Action: runBenchmark,
	}
}

func runBenchmark(c *cli.Context) error {
	kind := "cpu_stress"
	if c.Args().Present() {
		kind = c.Args().First()
	}
	if all := append(load.Kinds(), load.GPU); !slices.Contains(all, kind) || c.NArg() > 1 {
		return exit.Usage("benchmark: %q is no load: %s", strings.Join(c.Args().Slice(), " "),
			near.Or(kind, all, "use one of "+strings.Join(all, ", ")))
	}
	if percent := c.Int("intensity"); percent < 1 || percent > 100 {
		return exit.Usage("--intensity: %d %%: use 1 to 100", percent)
	}
	if c.Int("threads") < 0 || c.Int("threads") > 4096 {
		return exit.Usage("--threads: %d: use 1 to 4096, or 0 for one on each processor", c.Int("threads"))
	}
	if kind == load.GPU && c.Int("threads") > 0 {
		return exit.Usage("--threads: %s runs on the GPU, and has no threads to choose", kind)
	}
	if d, err := flags.Duration(c.String("duration")); err != nil || d == 0 {
		return exit.Usage("--duration: %q is not a time: use seconds, or such as 90s, 1m30s",
			c.String("duration"))
	}
	interval, err := flags.Precision(c.String("precision"))
	if err != nil {
		return exit.Usage("-p: %w", err)
	}
	if kind == load.GPU {
		if err := load.CheckGPU(); err != nil {
			return exit.Failure("%w", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return exit.Self("%w", err)
	}
	out, err := output.OpenReport(c)
	if err != nil {
		return err
	}
	defer out.Abandon()
	here, err := machine.Open(c.Context, c)
	if err != nil {
		return err
	}
	defer here.Close()
	// they end the load, and the report tells of what was done
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	command := launcher.Cmd{Pty: launcher.Never, Args: []string{self, "load",
		"--duration", c.String("duration"), "--intensity", strconv.Itoa(c.Int("intensity")), "--threads",
		strconv.Itoa(c.Int("threads")),
		"--parent", strconv.Itoa(os.Getpid()), kind}}
	if output.OnStdout(c) {
		command.Stdout, command.Stderr = os.Stderr, os.Stderr
	}
	conditions, done := here.Conditions(interval)
	defer done()
	conditions.Terminated = nil // it ends the load
	r, err := experiment.Plain{Conditions: conditions, Command: command, Name: "benchmark " + kind}.Run()
	if err != nil {
		return exit.Refused(err)
	}
	defer r.Close()
	if err := out.Write(r.Run, c.Bool("verbose")); err != nil {
		return exit.Self("%w; the load's own status was %d", err, r.Outcome.Result.Status)
	}
	return exit.Of(r.Outcome.Result.Status)
}

// loadCommand does a load in this process: what cg benchmark and cg track bench
// start.
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
			&cli.BoolFlag{Name: "square", Usage: "keep a GPU busy and idle by turns, and print when it " +
				"was busy, in ns of CLOCK_MONOTONIC"},
			flags.Sysroot(),
			&cli.IntFlag{Name: "parent", Usage: "end when `PID`, which started it, has ended"},
		},
		Action: func(c *cli.Context) error {
			d, err := flags.Duration(c.String("duration"))
			if err != nil {
				return exit.Usage("--duration: %w", err)
			}
			if parent := c.Int("parent"); parent > 0 {
				go endWithParent(parent)
			}
			if c.Bool("square") {
				return runSquare(c)
			}
			n, err := load.Run(load.Config{Kind: c.Args().First(), Threads: c.Int("threads"),
				Intensity: c.Int("intensity"), Duration: d, Rounds: c.Int("rounds")})
			if err != nil {
				return exit.Failure("%w", err)
			}
			tell.Put("%s: %d rounds\n", c.Args().First(), n)
			return nil
		},
	}
}

// runSquare is the load by which cg doctor --gpu finds how readings follow a GPU's power.
func runSquare(c *cli.Context) error {
	root, err := machine.Root(c)
	if err != nil {
		return err
	}
	library := ""
	if root.Dir != "" {
		library = filepath.Join(root.Dir, "lib", "libcuda.so.1")
	}
	tell := func(from, to int64) { tell.Put("%d %d\n", from, to) }
	err = load.Square(library, habits.Lengths(), tell)
	if errors.Is(err, load.ErrNoGPU) {
		return exit.Usage("%w", err)
	} else if err != nil {
		return exit.Failure("%w", err)
	}
	return nil
}

// endWithParent ends this process soon after its parent has died. The kernel's
// own signal for that (PR_SET_PDEATHSIG) comes when the parent's thread ends.
func endWithParent(parent int) {
	for os.Getppid() == parent {
		time.Sleep(200 * time.Millisecond)
	}
	os.Exit(exit.StatusSelf)
}
