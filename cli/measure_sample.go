package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"cg/attach"
	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/language"
	"cg/cli/machine"
	"cg/cli/tell"
	"cg/experiment"
	"cg/launcher"
	"cg/measure"
)

// sampleFlags are those of programs that are looked at from outside.
func sampleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "sample",
			Usage: "give the program no checkpoints: look at its stacks from outside (TARGET is a command line)"},
		&cli.IntFlag{Name: "pid",
			Usage: "measure the process `PID` that runs already, and what it starts, as --sample does, until Ctrl-C"},
		&cli.StringFlag{Name: "duration", Aliases: []string{"d"},
			Usage: "with --pid, end the measurement after `TIME` (seconds, or such as 1m30s); --timeout is for a " +
				"program that cg starts"},
		&cli.BoolFlag{Name: "inner",
			Usage: "also show which functions without checkpoints, such as those of extension modules, used the " +
				"energy of each function, by stack samples (" + titles(hasInner) + ")"},
		&cli.IntFlag{Name: "rate", Value: 1000,
			Usage: "with --sample, --pid or --inner, look `N` times a second, 1 to 1000"},
	}
}

// ofCheckpoints are the flags that go with checkpoints alone.
var ofCheckpoints = []string{"granularity", "lines", "events", "include", "exclude", "instrumented", "per", "benchfmt",
	"repeat", "warmup", "ranks", "no-cleanup", "timeseries", "inner", "gpu-kernels", "gpu-launches", "gpu-metrics",
	"gpu-interval"}

// ofStarted are the flags of a program that cg starts.
var ofStarted = []string{"stdin", "pty", "cores"}

// durationOfPid is why -d does not go with a program that cg starts.
const durationOfPid = "-d is for --pid: use --timeout for a program that cg starts"

// typedFlag is a flag as it is typed.
func typedFlag(name string) string {
	if name == "granularity" {
		return "-g (--granularity)"
	}
	return "--" + name
}

// refuseFlags refuses flags that a program without checkpoints, or one that runs already, has no use
// for.
func refuseFlags(c *cli.Context) error {
	names := slices.Clone(ofCheckpoints)
	for _, f := range language.AllFlags() {
		names = append(names, f.Names()[0])
	}
	for _, name := range names {
		if flags.Given(c, name) {
			return exit.Usage("%s is of programs with checkpoints: it does not go with --sample or --pid",
				typedFlag(name))
		}
	}
	if !flags.Given(c, "pid") {
		return nil
	}
	if flags.Given(c, "timeout") {
		return exit.Usage("--timeout is for a program that cg starts: use -d with --pid")
	}
	for _, name := range ofStarted {
		if flags.Given(c, name) {
			return exit.Usage("%s is for a program that cg starts: it does not go with --pid", typedFlag(name))
		}
	}
	return nil
}

// notACommand adds to the error of a command that is a file which cannot be run what is meant by one.
func notACommand(err error, args []string) error {
	var e *launcher.Error
	if len(args) == 0 || !errors.As(err, &e) {
		return err
	}
	if info, missing := os.Stat(args[0]); missing != nil || !info.Mode().IsRegular() {
		return err
	}
	return exit.With(e.Status, "%w: --sample takes a command line, such as cg measure --sample python3 x.py", err)
}

// isSampled tells whether the program is to be looked at from outside.
func isSampled(c *cli.Context) bool { return c.Bool("sample") || flags.Given(c, "pid") }

// looked is what cg measure looks at, and how, as its flags say.
func looked(c *cli.Context) (x experiment.Looked, o options, length time.Duration, err error) {
	if err := refuseFlags(c); err != nil {
		return x, o, 0, err
	}
	if o, err = measureOptions(c); err != nil {
		return x, o, 0, err
	}
	if x.Looking.Interval, err = lookInterval(c); err != nil {
		return x, o, 0, err
	}
	x.Looking.Budget = o.overhead
	x.MaxDepth, x.Source, x.Live = o.maxDepth, sourceFile, o.live.follow()
	args := c.Args().Slice()
	if flags.Given(c, "pid") {
		x.PID = c.Int("pid")
		if x.Name, err = processName(x.PID); err != nil {
			return x, o, 0, exit.Usage("--pid: %w", err)
		}
		if len(args) > 0 {
			return x, o, 0, exit.Usage("--pid and a program to start do not go together: leave out %s", args[0])
		}
		if err := attach.Check(x.PID); err != nil {
			return x, o, 0, exit.Self("--pid: %w", err)
		}
	} else if x.Command = o.command; len(args) == 0 {
		return x, o, 0, exit.Usage("no command: cg measure --sample CMD [ARGS...]")
	}
	x.Command.Args = args
	if x.PID == 0 {
		x.Name = strings.Join(args, " ")
	}
	if flags.Given(c, "duration") && x.PID == 0 {
		return x, o, 0, exit.Usage("%s", durationOfPid)
	}
	if length, err = flags.Duration(c.String("duration")); err != nil {
		return x, o, 0, exit.Usage("-d: %w", err)
	}
	return x, o, length, nil
}

// lookInterval is the mean time between two looks at a thread, as --rate says.
func lookInterval(c *cli.Context) (time.Duration, error) {
	rate := c.Int("rate")
	if rate < 1 || time.Duration(rate) > time.Second/attach.MinInterval {
		return 0, exit.Usage("--rate: %d times a second cannot be done: use 1 to %d", rate,
			time.Second/attach.MinInterval)
	}
	return time.Second / time.Duration(rate), nil
}

// innerLooks is how a program with checkpoints is looked at, nil without --inner. --overhead limits that, too.
func innerLooks(c *cli.Context) (*measure.Looking, error) {
	if !c.Bool("inner") {
		return nil, nil
	}
	if c.Int("max-depth") > 0 {
		return nil, exit.Usage("--inner and --max-depth do not go together: a function below that depth has no " +
			"energy that could be divided among what it called")
	}
	if c.Bool("instrumented") {
		return nil, exit.Usage("--inner: a program that has its own checkpoints does not tell where its " +
			"functions are, so that no sample can be theirs: use its source without them")
	}
	interval, err := lookInterval(c)
	if err != nil {
		return nil, err
	}
	budget, err := overhead(c.String("overhead"))
	return &measure.Looking{Interval: interval, Budget: budget, Inner: true}, err
}

// processName is the command line of a process.
func processName(pid int) (string, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if pid <= 0 || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no process %d (ps lists them)", pid)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")), nil
}

// measureLooked makes the run of a program that is looked at from outside.
func measureLooked(c *cli.Context, written *bool) error {
	x, o, length, err := looked(c)
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (*machine.Opened, func(), error) {
		m, err := machine.Open(ctx, c)
		return m, func() {}, err
	}
	return onStage(c, o, open, func(s stage) error {
		x.Conditions = s.conditions
		if o.baseline > 0 {
			if x.Baseline, x.BaselineUnused, err = s.machine.Idle(s.ctx, o.interval, o.baseline); err != nil {
				return err
			}
		}
		ctx := s.ctx
		if length > 0 { // of --pid
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, length)
			defer cancel()
		} else if x.PID > 0 {
			tell.Note("measuring process " + strconv.Itoa(x.PID) + " until Ctrl-C, or its end")
		}
		r, err := x.Run(ctx)
		if err != nil {
			return notStarted(c.Context, notACommand(err, x.Command.Args))
		}
		defer r.Close()
		s.finish(r)
		*written = true
		return s.files.write(r, c.Bool("verbose"))
	})
}
