package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/folders"
	"cg/cli/gate"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/experiment"
	"cg/languages"
	_ "cg/languages/all"
	"cg/launcher"
	"cg/measure"
	"cg/nemb/account"
	_ "cg/nemb/sensor/all"
	"cg/report"
	_ "cg/report/format/all"
	"cg/report/repeated"
	"cg/shown"
	"cg/version"
	"cg/work"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "energy of any command, run many times, with statistics",
		ArgsUsage: "CMD [ARGS...]",
		Description: `Runs CMD as it is, without checkpoints: cg run -n 20 -- make test. With -c LINE,
once or several times, it compares command lines: every round runs each of them
once, in an order that changes.

The first energy shown is the command's share of the machine's, by processor
time. The interval is that of the mean (bootstrap, 95 %). No measured run is left
out, but one that is cut short because cg is asked to end.

-L NAME 1,2,4 and -P NAME 1..10 run CMD with each value, or each combination of
several parameters' values, in place of {NAME}: cg run -P size 1..4096*4 -- ./sort
{size}. It tells how the energy grows: a power law with an interval of the
exponent, and which of n, n log n, n^2 and others the runs speak for.

--per PATTERN, once or several times, tells joules for a unit of work, such as a
token or a request, whose count stands in the command's output:
cg run --per 'tokens: (?P<token>\d+)' -- CMD. The interval is that of the quotient
of the means (delta method).

The command's output is not shown without --show-output. If it fails, the end of
its standard error is shown. Its standard input is empty (--stdin FILE).

Exit status: 0; the command's own if it fails, 128+n if signal n ended it, 124
after --timeout; 1 if --budget is exceeded, or the output has no count of --per; 125 cg failed; 126, 127 CMD cannot be
run, or is not found; 2 usage.`,
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "repeat", Aliases: []string{"n"}, Value: 10, Usage: "measure `N` runs"},
			&cli.IntFlag{Name: "warmup", Aliases: []string{"w"}, Value: 1, Usage: "run `N` times before, to warm up"},
			&cli.BoolFlag{Name: "include-warmup", Usage: "let the runs that warm up count, too"},
			&cli.GenericFlag{Name: "command", Aliases: []string{"c"}, Value: &flags.Texts{},
				Usage: "a command `LINE` in place of CMD; several are compared"},
			&cli.StringFlag{Name: "shell", Value: "sh",
				Usage: "how -c lines run: sh, or none to split them into words (`WHICH`)"},
			&cli.StringFlag{Name: "prepare", Usage: "run `LINE` with sh before each run, unmeasured"},
			&cli.StringFlag{Name: "validate",
				Usage: "run `LINE` with sh after each run, unmeasured: if it fails, the run has failed"},
			coresFlag(),
			&cli.StringFlag{Name: "cool-down", Usage: "wait between runs until the processors have `LIMIT` at most " +
				"(60C; 60C,10m: so long at most, default 5m), or for a time (30s)"},
			&cli.StringFlag{Name: "stdin", Usage: "give every run `FILE` as standard input"},
			&cli.StringFlag{Name: "timeout", Aliases: []string{"t"},
				Usage: "end a run and its children after `TIME` (seconds, or such as 1m30s)"},
			&cli.Float64Flag{Name: "budget",
				Usage: "fail if a run takes more than `JOULES` (if the lower end of the mean's interval is above; " +
					"of one run or two, which have no interval, if the mean is)"},
			flags.Per(),
			&cli.BoolFlag{Name: "ignore-failure", Usage: "go on when the command fails"},
			&cli.BoolFlag{Name: "show-output", Usage: "let the command's output through"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the figures as JSON to `FILE` (- for standard output)"},
			&cli.BoolFlag{Name: "json", Usage: "print the figures as JSON on standard output"},
			&cli.StringFlag{Name: "export-csv", Usage: "write every run to `FILE`"},
			&cli.StringFlag{Name: "export-markdown", Usage: "write a table to `FILE`"},
			&cli.StringFlag{Name: "export-metrics", Usage: "write the figures as OpenMetrics text to `FILE`"},
			&cli.StringFlag{Name: "export-plot",
				Usage: "draw every run into `FILE`: a page (.html) or a picture (.svg, .png)"},
			&cli.StringFlag{Name: "precision", Aliases: []string{"p"}, Value: "medium",
				Usage: "sampling `INTERVAL`: low, medium or high (100, 10, 1 ms)"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "use only these `SENSORS` (" +
				machine.SensorNames() + "); default: all that measure, else the estimate"},
			ranksFlag(),
			flags.Sysroot(),
		}, slices.Concat(parameterFlags(), noiseFlags(), footprintFlags())...),
		Action: func(c *cli.Context) error {
			if c.String("ranks") != "" {
				if _, err := footprintRates(c); err != nil {
					return err
				}
				return runRank(c)
			}
			return runRepeated(c)
		},
	}
}

// series is what cg run does, said by its flags.
type series struct {
	commands      []planned
	draw          *rand.Rand // orders the rounds
	repeat        int
	warmup        int
	cores         string
	coolDown      coolDown
	begun         bool // a run was measured before
	timeout       time.Duration
	budget        *float64
	ignoreFailure bool
	showOutput    bool
	includeWarmup bool
	interval      time.Duration
	machine       *machine.Opened
	log           string // standard error of the last run
	env           []string
	progress      bool
	per           []work.Pattern
	noise         *report.NoiseLimits
	baseline      time.Duration
	base          *measure.Baseline // what came of it
	unused        bool
	left          func() // waits for a program that went on when cg was asked to end
}

func runRepeated(c *cli.Context) error {
	failed := report.Start("", "", os.Args, version.Cg)
	written := false
	err := runOften(c, &written)
	if status, why := neverRan(err); why != "" && !written && output.OnStdout(c) && !launcher.Closed(1) {
		failed.Fail(status, why)
		return errors.Join(err, output.PutReport(repeated.NotStarted(failed, c.Args().Slice())))
	}
	return err
}

// runOften makes the runs of cg run. written tells that the figures were begun.
func runOften(c *cli.Context, written *bool) error {
	s, err := seriesOptions(c)
	if err != nil {
		return err
	}
	rates, err := footprintRates(c)
	if err != nil {
		return err
	}
	outs, err := openExports(c)
	if err != nil {
		return err
	}
	defer func() {
		for _, o := range outs {
			o.Abandon()
		}
	}()
	account.Prepare()
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	folder, err := folders.Run()
	if err != nil {
		return exit.Self("no place for the run's files: %w (set TMPDIR to a folder that can be written)", err)
	}
	defer folder.Remove()
	offered := offer(folder.Path)
	defer offered() // before the folder is removed
	if s.machine, err = machine.Open(ctx, c); err != nil {
		return err
	}
	defer s.machine.Close()
	if err := s.coolDown.check(s.machine.Root); err != nil {
		return err
	}
	s.log, s.env = filepath.Join(folder.Path, "stderr"), offered()

	if s.base, s.unused, err = s.machine.Idle(ctx, s.interval, s.baseline); err != nil {
		return err
	}
	result, stopped := s.run(ctx)
	if s.left != nil {
		defer s.left()
	}
	if result == nil {
		return stopped
	}
	*written = true
	result.Account(rates)
	if err := writeExports(c, outs, result); err != nil {
		return exit.Self("%w", err)
	}
	if stopped != nil {
		return stopped
	}
	commands := result.Commands
	if len(commands) == 0 {
		commands = []repeated.Command{result.Command}
	}
	for _, command := range commands {
		if e := command.BudgetExceeded; e != nil && *e {
			return exit.Failure("the budget is exceeded: %s took %.6g J on average, %s, and %.6g J were allowed",
				strings.Join(command.Argv, " "), command.ProgramEnergyJ.Mean, least(command.ProgramEnergyJ),
				*command.BudgetJ)
		} else if command.BudgetJ != nil && e == nil {
			return exit.Self("--budget: %s", s.unsaid(command))
		}
	}
	return nil
}

// offer prepares the environment of programs that measure parts of themselves, while the
// sensors are looked for. The function that it returns waits for it.
func offer(dir string) func() []string {
	env := make(chan []string, 1)
	go func() {
		cache, _ := folders.Cache()
		env <- languages.WithSDKs(nil, cache, dir)
	}()
	return sync.OnceValue(func() []string {
		offered := <-env
		cache, refused := folders.Cache()
		for _, text := range append(refused, cache.Refused()...) {
			tell.Warn(text)
		}
		return offered
	})
}

// unsaid tells why nothing can be said of a command's budget.
func (s *series) unsaid(c repeated.Command) string {
	if c.ProgramEnergyJ == nil {
		return "the energy is not known, so nothing can be said of the budget"
	}
	runs, period := c.Runs.Attempted, time.Duration(0)
	for _, sensor := range s.machine.Found.Sensors {
		for _, d := range sensor.Domains() {
			if d.InTotal {
				period = max(period, d.Period)
			}
		}
	}
	more := 10 * runs
	if took := c.DurationS.Mean; took > 0 {
		more = max(2*runs, int(math.Ceil(gate.LeastPeriods*period.Seconds()/took)))
	}
	return fmt.Sprintf("%s took %.6g J on average, which is too little for the counter, so nothing can be said of "+
		"the budget: more runs may do, such as -n %d",
		strings.Join(c.Argv, " "), c.ProgramEnergyJ.Mean, more)
}

// least tells the lower end of a mean's interval, by which a budget is judged where there is one.
func least(s *repeated.Statistic) string {
	if s.CI95Lower == nil {
		return fmt.Sprintf("with no interval of so few runs (-n %d has one)", repeated.FewestForInterval)
	}
	return fmt.Sprintf("at least %.6g J", *s.CI95Lower)
}

func seriesOptions(c *cli.Context) (*series, error) {
	s := &series{
		repeat: c.Int("repeat"), warmup: c.Int("warmup"), cores: c.String("cores"),
		ignoreFailure: c.Bool("ignore-failure"), showOutput: c.Bool("show-output"),
		includeWarmup: c.Bool("include-warmup"),
		progress:      tell.ShowsProgress(),
	}
	if err := s.plan(c); err != nil {
		return nil, err
	}
	if s.repeat < 1 {
		return nil, exit.Usage("-n: %d runs cannot be measured: use 1 or more", s.repeat)
	}
	if s.warmup < 0 {
		return nil, exit.Usage("-w: %d is no number of runs: use 0 or more", s.warmup)
	}
	var err error
	if s.per, err = work.ParseAll(flags.TextsOf(c, "per")); err != nil {
		return nil, exit.Usage("--per: %w", err)
	}
	if s.coolDown, err = coolDownOf(c.String("cool-down")); err != nil {
		return nil, exit.Usage("--cool-down: %w", err)
	}
	if s.baseline, err = baselineTime(c.String("baseline")); err != nil {
		return nil, exit.Usage("--baseline: %w", err)
	}
	if s.noise, err = noiseLimits(c); err != nil {
		return nil, err
	}
	if s.timeout, err = flags.Duration(c.String("timeout")); err != nil {
		return nil, exit.Usage("--timeout: %w", err)
	}
	if s.interval, err = flags.Precision(c.String("precision")); err != nil {
		return nil, exit.Usage("-p: %w", err)
	}
	if c.IsSet("budget") {
		b := c.Float64("budget")
		if !(b > 0) || math.IsInf(b, 1) {
			return nil, exit.Usage("--budget: %g J is no budget: use joules above 0", b)
		}
		s.budget = &b
	}
	if err := restrict(&launcher.Cmd{}, s.cores); err != nil {
		return nil, err
	}
	return s, s.inputIsThere()
}

// inputIsThere refuses an input that cannot be opened.
func (s *series) inputIsThere() error {
	for _, k := range s.commands {
		if k.stdin == "" {
			continue
		}
		f, err := os.Open(k.stdin)
		if err != nil {
			return exit.Usage("--stdin: %w", err)
		}
		f.Close()
	}
	return nil
}

// run runs every round. A run during which cg is asked to end is cut short: it is left out, but where
// there is no other. The result is nil if nothing was measured; an error is why it stopped before the end.
func (s *series) run(ctx context.Context) (*repeated.Result, error) {
	result := &repeated.Result{Commands: make([]repeated.Command, len(s.commands)), Warnings: []report.Warning{}}
	for i, k := range s.commands {
		result.Commands[i] = repeated.Command{Argv: k.argv, Template: k.template, Parameters: k.at, BudgetJ: s.budget,
			Measurements: []repeated.Measurement{},
			Units:        s.units()}
	}
	var stopped error
	measured := false
rounds:
	for round := range s.warmup + s.repeat {
		order := s.draw.Perm(len(s.commands))
		for k, i := range order {
			argv := s.commands[i].argv
			s.begun = measured
			s.say("round %d of %d, command %d of %d", round+1, s.warmup+s.repeat, k+1, len(order))
			run, err := s.once(ctx, s.commands[i])
			if err != nil {
				stopped = err
				break rounds
			}
			counts, err := s.counts(ctx, argv, run)
			if measured && ctx.Err() != nil {
				s.say("")
				tell.Warnf("the run of %s was cut short, and is not among the figures", strings.Join(argv, " "))
			} else if result.AddCounted(i, round, round < s.warmup, run, counts); err != nil {
				stopped, measured = err, true
				break rounds
			}
			measured = true
			if status := run.Process.ExitStatus; status != 0 && (!s.ignoreFailure || ctx.Err() != nil) {
				stopped = s.failed(argv, run)
				var f *exit.Error
				if ctx.Err() != nil && errors.As(stopped, &f) {
					f.Signal = exit.Interrupted(ctx)
				}
				break rounds
			}
			if ctx.Err() != nil {
				stopped = exit.By(exit.Interrupted(ctx), "interrupted after %d runs",
					len(result.Commands[i].Measurements))
				break rounds
			}
		}
	}
	s.say("")
	if !measured {
		return nil, stopped
	}
	for i := range result.Commands {
		result.Commands[i].Summarize(s.includeWarmup)
	}
	result.Meta.OutlierMethod = repeated.OutlierMethod
	result.Compare()
	return result, stopped
}

// say shows progress on a terminal.
func (s *series) say(format string, args ...any) {
	if !s.progress {
		return
	}
	text := shown.Sprintf(format, args...)
	if text != "" && s.showOutput {
		return // among the command's output there is no place for it
	}
	shown.Fprintf(os.Stderr, "\r\x1b[K%s", text)
}

// failed is the error of a run that failed: the end of what it said.
func (s *series) failed(argv []string, run *report.Run) error {
	p := run.Process
	what := fmt.Sprintf("status %d", p.ExitStatus)
	switch {
	case p.TimedOut:
		what = "it took longer than --timeout"
	case p.Signal != nil:
		what = "signal " + *p.Signal
	}
	tail := ""
	if b, err := os.ReadFile(s.log); err == nil && len(bytes.TrimSpace(b)) > 0 {
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		tail = "\n" + strings.Join(lines[max(0, len(lines)-5):], "\n")
	}
	return exit.With(p.ExitStatus, "%s failed: %s (--ignore-failure goes on)%s", strings.Join(argv, " "), what, tail)
}

// once measures one run of a command.
func (s *series) once(ctx context.Context, k planned) (*report.Run, error) {
	argv := k.argv
	if err := aside(ctx, "prepare", k.prepare); err != nil {
		return nil, err
	}
	if s.begun { // behind --prepare, which may heat the machine
		s.coolDown.wait(ctx, s.machine.Root, s.say)
	}
	if ctx.Err() != nil {
		return nil, exit.With(128+int(exit.Interrupted(ctx)), "interrupted")
	}
	command := launcher.Cmd{Args: argv, Pty: launcher.Never, Timeout: s.timeout, Env: s.env}
	if err := restrict(&command, s.cores); err != nil {
		return nil, err
	}
	in, err := os.Open(orNull(k.stdin))
	if err != nil {
		return nil, exit.Usage("--stdin: %w", err)
	}
	defer in.Close()
	command.Stdin = in
	if !s.showOutput {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return nil, exit.Self("%w", err)
		}
		defer null.Close()
		log, err := os.Create(s.log)
		if err != nil {
			return nil, exit.Self("%w", err)
		}
		defer log.Close()
		command.Stdout, command.Stderr = null, log
	} else {
		command.Stdout = os.Stderr // standard output may be the figures'
	}
	closed, err := s.keepOutput(&command)
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	defer closed()
	conditions, done := s.machine.Conditions(s.interval)
	defer done()
	conditions.Noise = s.noise
	r, err := experiment.Plain{Conditions: conditions, Command: command, Name: strings.Join(argv, " "),
		Baseline:       s.base,
		BaselineUnused: s.unused}.Run()
	if err != nil {
		return nil, exit.Refused(err)
	}
	if r.Outcome.Running {
		s.left = func() {
			r.Outcome.Wait()
			r.Close()
		}
		return nil, exit.With(128+int(exit.Interrupted(ctx)),
			"interrupted: %s went on for more than %v, and this run is not among the figures",
			strings.Join(argv, " "), measure.GracePeriod)
	}
	r.Close()
	if status := r.Run.Process.ExitStatus; status == 0 {
		if err := aside(ctx, "validate", k.validate); err != nil && (!s.ignoreFailure || ctx.Err() != nil) {
			return nil, err
		}
	}
	return r.Run, nil
}

// aside runs a line with sh, unmeasured: that of a flag, "" for none.
func aside(ctx context.Context, flag, line string) error {
	if line == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return exit.With(128+int(exit.Interrupted(ctx)), "interrupted")
	}
	return exit.Failure("--%s: %s: %w", flag, line, err)
}

func orNull(file string) string {
	if file == "" {
		return os.DevNull
	}
	return file
}
