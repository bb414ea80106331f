package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/folders"
	"cg/cli/gpu"
	"cg/cli/language"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/events"
	"cg/experiment"
	"cg/instrument"
	"cg/languages"
	"cg/launcher"
	"cg/measure"
	"cg/nemb/account"
	"cg/report"
	"cg/report/repeated"
	"cg/version"
)

// titles lists the languages that can do something.
func titles(can func(l *languages.Language) bool) string {
	var names []string
	for _, l := range languages.All() {
		if can(l) {
			names = append(names, l.Title)
		}
	}
	return strings.Join(names, ", ")
}

// hasPlaces reports whether lines and blocks of functions are told apart in a language.
func hasPlaces(l *languages.Language) bool { return l.Places }

// hasInner reports whether stack samples tell what functions with checkpoints called that has none.
func hasInner(l *languages.Language) bool { return l.Inner }

// targetsByLanguage lists what each language takes for a target, in lines of at most 80
// columns.
func targetsByLanguage() string {
	var b strings.Builder
	for _, l := range languages.All() {
		line := fmt.Sprintf("  %-10s", l.Name)
		for _, word := range strings.Fields(l.Targets) {
			if len(line)+1+len(word) > 80 {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", 12)
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func measureCommand() *cli.Command {
	return &cli.Command{
		Name:      "measure",
		Usage:     "run a program and show how much energy each function used",
		ArgsUsage: "[LANG] TARGET [ARGS...]",
		Description: `cg adds checkpoints to the program as it is loaded or built: code that tells when
a function begins and when it ends. Your files stay as they are. For a start:
cg measure -g fine main.py.

Flags of cg may stand before and after LANG and TARGET. The first argument after
TARGET that is not a flag of cg, or --, ends them: the rest is the program's. A
flag that cg knows is cg's unless it comes after --.

TARGET depends on LANG:

` + targetsByLanguage() + `
A command that is a script may stand for its file. Flags of the interpreter, or of
go build, may stand before TARGET (python -O script.py, go -race main.go). With
--project DIR the project is built in a copy of cg's own:
cg measure java --project DIR -- mvn -q test.

The program's output passes through unchanged and cg's report goes to standard
error. With --json, or -o -, the report goes to standard output and the
program's standard output to standard error.

Exit status: the program's own; if a signal ended it, cg dies of that signal after
its report (a shell shows 128+n); 124 after --timeout; 125 cg failed; 126 TARGET or
interpreter cannot be run; 127 not found.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "granularity", Aliases: []string{"g"}, Value: "coarse",
				Usage: "give checkpoints to `WHICH`: coarse (the program and its entry point), fine (every " +
					"function), and for " + titles(hasPlaces) + " block (also each loop and branch) or line"},
			linesFlag(),
			&cli.IntFlag{Name: "repeat", Value: 1,
				Usage: "run the program `N` times and show what each function used on average, with its spread. Its " +
					"standard input is then empty (--stdin FILE)"},
			&cli.IntFlag{Name: "warmup", Aliases: []string{"w"},
				Usage: "run the program `N` times before, to warm up: these runs are kept, and are in no mean. Its " +
					"standard input is then empty (--stdin FILE)"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write the report as JSON to `FILE` (- for standard output)"},
			&cli.StringFlag{Name: "benchfmt",
				Usage: "write the benchmarks of the run to `FILE` for benchstat: J/op beside ns/op"},
			&cli.StringFlag{Name: "events", Usage: "keep every checkpoint in the log `FILE` (" + events.Extension +
				"), some 3 to 8 bytes each: perfetto, firefox and hespas show calls over time from it"},
			&cli.BoolFlag{Name: "json", Usage: "print the report as JSON on standard output"},
			&cli.StringSliceFlag{Name: "per",
				Usage: "say what a call of `FUNCTION` takes, with what it called: joules for a call, calls for a " +
					"joule, and with --carbon its emissions. The function needs a checkpoint (-g fine)"},
			&cli.BoolFlag{Name: "timeseries",
				Usage: "give each task of the report, which is the program or one of its tests, the samples " +
					"of its time (tasks[].timeseries)"},
			&cli.BoolFlag{Name: "keep-source",
				Usage: "keep the files of the functions in the report, so that a page of it has their source " +
					"wherever it is made"},
			&cli.StringFlag{Name: "precision", Aliases: []string{"p"}, Value: "medium",
				Usage: "sampling `INTERVAL`: low, medium or high (100, 10, 1 ms), or a time from 100us to 1m"},
			&cli.StringFlag{Name: "export-plot",
				Usage: "draw the run into `FILE`: a page (.html) or a picture (.svg, .png); cg report makes the same " +
					"of a saved run"},
			&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "use only these `SENSORS` (" +
				machine.SensorNames() + "); default: all that measure, else the estimate"},
			&cli.StringFlag{Name: "timeout", Aliases: []string{"t"},
				Usage: "end the program and its children after `TIME` (seconds, or such as 1m30s): SIGTERM, 5 s " +
					"later SIGKILL; of --repeat, --warmup and --lines auto each run by itself"},
			coresFlag(),
			&cli.StringFlag{Name: "pty", Value: "auto",
				Usage: "give the program a terminal of its own: auto, always or never (`WHEN`)"},
			&cli.StringSliceFlag{Name: "include",
				Usage: "give checkpoints to files outside the program (`GLOB` with a /, or the name of an " +
					"installed package or of a module of the standard library), or only functions of that " +
					"qualified name"},
			&cli.StringSliceFlag{Name: "exclude", Usage: "leave out files or functions (`GLOB`)"},
			&cli.IntFlag{Name: "max-depth",
				Usage: "distinguish functions up to `N` calls deep; deeper ones count as their caller's (0: no limit)"},
			&cli.StringFlag{Name: "overhead", Value: defaultOverhead,
				Usage: "let checkpoints take up to `PART` of the program's processor time: where that is not " +
					"enough, calls that are short are timed at random and counted else; none: time each call"},
			&cli.StringFlag{Name: "stdin", Usage: "give the program `FILE` as standard input"},
			&cli.BoolFlag{Name: "instrumented",
				Usage: "TARGET has its own checkpoints (analyze --save-instrumented): run it as it is"},
			&cli.BoolFlag{Name: "no-cleanup", Usage: "keep the run's folder and say where it is"},
			&cli.BoolFlag{Name: "verbose", Usage: "show every function, skipped file and warning"},
			ranksFlag(),
			&cli.BoolFlag{Name: "live",
				Usage: "show on the terminal what has been used so far, in a line below the program's output that " +
					"goes when the report comes; nothing where standard error is no terminal"},
			flags.Sysroot(),
		}, slices.Concat(gpu.Flags(), sampleFlags(), noiseFlags(), footprintFlags(), language.AllFlags())...),
		Action: runMeasure,
	}
}

func runMeasure(c *cli.Context) error {
	run := report.Start(c.String("granularity"), "", os.Args, version.Cg)
	measureProgram := measureOnce
	often := c.Int("repeat") != 1 || c.Int("warmup") != 0
	if often {
		measureProgram = measureOften
	}
	if !isSampled(c) && flags.Given(c, "duration") {
		return exit.Usage("%s", durationOfPid)
	}
	if !isSampled(c) && !c.Bool("inner") && flags.Given(c, "rate") {
		return exit.Usage("--rate is for --sample, --pid and --inner")
	}
	if isSampled(c) {
		often, measureProgram = false, measureLooked
	}
	written := false
	err := measureProgram(c, &written)
	if status, why := neverRan(err); why != "" && !written && output.OnStdout(c) && !launcher.Closed(1) {
		run.Fail(status, why)
		if often {
			return errors.Join(err, output.PutReport(repeated.NotStarted(run, c.Args().Slice())))
		}
		return errors.Join(err, output.PutReport(run))
	}
	return err
}

// neverRan tells why a program was not started, "" for another end; the status is cg's.
func neverRan(err error) (status int, why string) {
	var f *exit.Error
	if errors.As(err, &f) && f.Err != nil && f.Status >= exit.StatusSelf && f.Status <= exit.StatusNotFound {
		return f.Status, f.Error()
	}
	return 0, ""
}

// program is what cg measure runs, and how, as its flags say.
type program struct {
	language *languages.Language
	target   languages.Target
	gpu      gpu.Wishes
	options
}

func programOf(c *cli.Context) (p program, err error) {
	if p.language, p.target, err = language.Of(c); err != nil {
		return p, err
	}
	if p.options, err = measureOptions(c); err != nil {
		return p, err
	}
	if p.granularity.HasPlaces() && !hasPlaces(p.language) {
		return p, exit.Usage("-g %s is for %s: use -g fine for a %s program", p.granularity, titles(hasPlaces),
			p.language.Title)
	}
	if p.inner != nil && !hasInner(p.language) {
		return p, exit.Usage("--inner is for %s: use --sample for a %s program", titles(hasInner),
			p.language.Title)
	}
	if p.instrumented && !p.language.RunsAlone() {
		return p, exit.Usage("--instrumented: no %s program has checkpoints of its own", p.language.Title)
	}
	if err := p.language.Check(p.target); err != nil {
		return p, exit.Refused(err)
	}
	p.gpu, err = gpu.WishesOf(c)
	return p, err
}

// with is a run of the program under some conditions, with its files in dir.
func (p program) with(conditions experiment.Conditions, dir string) experiment.Instrumented {
	cache, refused := folders.Cache()
	return experiment.Instrumented{
		Conditions: conditions, Language: p.language, Target: p.target, Options: p.options.instrument,
		PlacesOf: p.lines.chosen, Inner: p.inner,
		OwnCheckpoints: p.instrumented, MaxDepth: p.maxDepth, Overhead: p.overhead, Dir: dir, Cache: cache,
		CUPTI: p.gpu.Kernels, Launches: p.gpu.Launches, NoCUPTI: p.gpu.NoCUPTI,
		Counters: p.gpu.CountersOf(conditions.Share),
		Refused:  refused, Source: sourceFile, Command: p.command,
		Spool:      func(in *os.File) (*os.File, error) { return spool(in, dir) },
		ToolOutput: func(b []byte) { os.Stderr.Write(b) },
		Restarting: tell.Note,
		Waiting:    instrument.Waiting{Patience: tell.WaitPatience, Say: p.live.clearing(tell.NewFiles())},
		Live:       p.live.follow(),
	}
}

// stage is where the one run of cg measure is made.
type stage struct {
	ctx        context.Context
	files      *results
	machine    *machine.Opened
	conditions experiment.Conditions
	finish     func(r *experiment.Result) // completes the report before it is written
	dir        string                     // for the files of a program with checkpoints
	rank       *rankRun                   // nil for a program that is no rank of a job
}

// onStage opens what the one run of cg measure needs, calls run, and tidies up. open gives the machine, and what is to
// be done when it is closed.
func onStage(c *cli.Context, o options, open func(context.Context) (*machine.Opened, func(), error),
	run func(stage) error) error {
	rates, err := footprintRates(c)
	if err != nil {
		return err
	}
	files, err := openResults(c)
	if err != nil {
		return err
	}
	defer files.abandon()

	// From here on there is something to tidy up: signals that would end cg are
	// taken. While the program runs, the launcher passes them on to it.
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	account.Prepare()
	here, leave, err := open(ctx)
	defer leave()
	if err != nil {
		return err
	}
	defer here.Close()
	defer folders.Prune()
	conditions, done := here.Conditions(o.interval)
	defer done()
	conditions.Noise = o.noise
	finish := func(r *experiment.Result) {
		if c.Bool("keep-source") {
			r.Run.KeepSources(sourceFile)
		}
		r.Run.Account(rates)
	}
	return run(stage{ctx: ctx, files: files, machine: here, conditions: conditions, finish: finish})
}

// measureOnce makes the one run of cg measure. written tells that its report was begun.
func measureOnce(c *cli.Context, written *bool) error {
	o, err := programOf(c)
	if err != nil {
		return err
	}
	if c.String("ranks") != "" && (o.gpu.Kernels != "" || o.gpu.Launches) {
		return exit.Usage("--gpu-kernels and --gpu-launches: the energy of GPUs is divided among the ranks of " +
			"a node, and not among their kernels: leave them out, or measure one rank without --ranks")
	}
	var dir string
	var rank *rankRun
	open := func(ctx context.Context) (m *machine.Opened, leave func(), err error) {
		folder, remove, err := folders.Files(c)
		if err != nil {
			return nil, func() {}, err
		}
		dir = folder.Path
		if rank, err = joinRanks(ctx, c, o.interval, dir); err != nil {
			return nil, remove, err
		}
		m, err = rank.machine(ctx, c)
		return m, func() { rank.leave(); remove() }, err
	}
	return onStage(c, o.options, open, func(s stage) error {
		s.dir, s.rank, s.conditions.Share = dir, rank, rank.share()
		if o.lines.auto {
			if err := o.chooseLines(c, s); err != nil {
				return err
			}
		}
		return measureProgram(c, o, s, written)
	})
}

// measureProgram makes the run of a program with checkpoints, which may be a rank of a job.
func measureProgram(c *cli.Context, o program, s stage, written *bool) error {
	if s.rank != nil && o.inner != nil {
		return exit.Usage("--inner: the samples are of one run, and a rank's run becomes a part of the job's: " +
			"leave it out")
	}
	x := o.with(s.conditions, s.dir)
	x.Events, x.Started = s.files.log.begin, s.files.log.started
	progress := tell.NewProgress()
	x.Preparing = func() func() {
		progress.Say("preparing the program: checkpoints and build")
		return progress.End
	}
	if o.baseline > 0 && s.rank == nil { // else its node's measurer does
		x.MeasureIdle = func() (*measure.Baseline, bool, error) {
			progress.Say("measuring the idle machine for %v", o.baseline)
			defer progress.End()
			return s.machine.Idle(s.ctx, o.interval, o.baseline)
		}
	}
	r, err := x.Run(s.ctx)
	if err != nil {
		return notStarted(s.ctx, err)
	}
	defer r.Close()
	if c.Bool("timeseries") {
		r.Run.TaskSamples()
	}
	perCall := addPerCall(r.Run, c.StringSlice("per"))
	s.finish(r)
	*written = true
	write := func() error { return s.files.write(r, c.Bool("verbose")) }
	if s.rank != nil {
		write = func() error { return s.rank.write(s.ctx, r) }
	}
	if err := write(); err != nil || perCall == nil {
		if perCall != nil {
			tell.Warnf("%v; the report is without it", perCall)
		}
		return err
	}
	return exit.Self("%w; the report is without it", perCall)
}

// addPerCall says what calls of functions take. An error is of the last that the run does not tell.
func addPerCall(r *report.Run, names []string) (err error) {
	for _, name := range names {
		if missing := r.AddPerCall(name); missing != nil {
			err = fmt.Errorf("--per: %w", missing)
		}
	}
	return err
}

// notStarted is the error of a program that was not started.
func notStarted(ctx context.Context, err error) error {
	var f *exit.Error
	switch {
	case errors.As(err, &f):
		return err
	case ctx.Err() != nil:
		return exit.By(exit.Interrupted(ctx), "interrupted before the program was started")
	}
	return exit.Refused(err)
}

// spool gives standard input as a file that can be read again from its start.
func spool(in *os.File, dir string) (*os.File, error) {
	if in == nil {
		in = os.Stdin
	}
	if term.IsTerminal(int(in.Fd())) {
		return nil, exit.Usage("a program that is typed in cannot be instrumented: save it to a file")
	}
	if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
		if at, err := in.Seek(0, io.SeekCurrent); err == nil && at == 0 {
			return in, nil
		}
	}
	f, err := os.Create(filepath.Join(dir, "stdin"))
	if err == nil {
		_, err = io.Copy(f, in)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, exit.Self("reading the program from standard input: %w", err)
	}
	return f, nil
}

type options struct {
	granularity  instrument.Granularity
	interval     time.Duration
	instrument   instrument.Options
	instrumented bool
	maxDepth     int
	overhead     float64
	command      launcher.Cmd
	noise        *report.NoiseLimits
	baseline     time.Duration
	live         *liveLine // nil for none
	lines        linesWish
	inner        *measure.Looking // nil without --inner
}

func measureOptions(c *cli.Context) (o options, err error) {
	if o.granularity, err = instrument.ParseGranularity(c.String("granularity")); err != nil {
		return o, exit.Usage("-g: %w", err)
	}
	if o.interval, err = flags.Precision(c.String("precision")); err != nil {
		return o, exit.Usage("-p: %w", err)
	}
	modes := map[string]launcher.PtyMode{"auto": launcher.Auto, "always": launcher.Always, "never": launcher.Never}
	var ok bool
	if o.command.Pty, ok = modes[c.String("pty")]; !ok {
		return o, exit.Usage("--pty: %q is not known: use auto, always or never", c.String("pty"))
	}
	if c.Bool("live") {
		o.live = newLiveLine()
		o.command.Line = o.live.on()
	}
	if o.baseline, err = baselineTime(c.String("baseline")); err != nil {
		return o, exit.Usage("--baseline: %w", err)
	}
	if o.noise, err = noiseLimits(c); err != nil {
		return o, err
	}
	if o.command.Timeout, err = flags.Duration(c.String("timeout")); err != nil {
		return o, exit.Usage("--timeout: %w", err)
	}
	if name := c.String("stdin"); name != "" {
		f, err := os.Open(name)
		if err != nil {
			return o, exit.Usage("--stdin: %w", err)
		}
		o.command.Stdin = f
	}
	if output.OnStdout(c) {
		o.command.Stdout, o.command.Stderr = os.Stderr, os.Stderr
	}
	if err := restrict(&o.command, c.String("cores")); err != nil {
		return o, err
	}
	o.instrumented = c.Bool("instrumented")
	if o.maxDepth = c.Int("max-depth"); o.maxDepth < 0 {
		return o,
			exit.Usage("--max-depth: %d is no number of calls: use 1 or more, or 0 for no limit", o.maxDepth)
	}
	if o.overhead, err = overhead(c.String("overhead")); err != nil {
		return o, exit.Usage("--overhead: %w", err)
	}
	if o.granularity.HasPlaces() {
		if o.overhead > 0 && flags.Given(c, "overhead") {
			return o, exit.Usage("--overhead: with -g %s each event is timed: leave it out", o.granularity)
		}
		o.overhead = 0
	}
	o.instrument = instrument.Options{Granularity: o.granularity, Include: c.StringSlice("include"),
		Exclude: c.StringSlice("exclude")}
	if o.lines, err = linesOf(c, o.granularity); err != nil {
		return o, err
	}
	o.instrument.PlacesOf = o.lines.of
	o.inner, err = innerLooks(c)
	return o, err
}

// defaultOverhead is --overhead where it is not given.
const defaultOverhead = "10%"

// overhead reads the part of its time that a program's checkpoints may take, 0 for no
// limit.
func overhead(s string) (float64, error) {
	if s == "none" {
		return 0, nil
	}
	text, isPercent := strings.CutSuffix(s, "%")
	part, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !isPercent || !(part >= 0.1 && part <= 100) {
		return 0, fmt.Errorf("%q is no part of the time: use a percentage from 0.1%% to 100%%, or none", s)
	}
	return part / 100, nil
}
