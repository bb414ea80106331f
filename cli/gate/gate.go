// Package gate is the command cg gate, which checks whether a change makes a command cost more energy.
package gate

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
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
	"cg/cli/folders"
	"cg/cli/history"
	"cg/cli/language"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/gate"
	"cg/launcher"
	"cg/nemb"
	"cg/nemb/account"
	"cg/report"
	"cg/report/verdict"
	"cg/shown"
	"cg/work"
)

// Command is cg gate.
func Command(s flags.Settings) *cli.Command {
	all := ownFlags()
	return &cli.Command{
		Name:        "gate",
		Usage:       "check whether a change makes a command cost more energy",
		Subcommands: []*cli.Command{bisectCommand(s, all)}, HideHelpCommand: true,
		ArgsUsage: "CMD [ARGS...]",
		Description: `Checks out two revisions of the current git repository into temporary worktrees,
runs --build in each, and then CMD in the folder that corresponds to yours:
cg gate --base origin/main --build 'make' -- ./bench. Without --head, head is the
working tree as it is, with what is not committed. Your own files and your index
are not touched. Files that git ignores are not in the worktrees.

The sides are run in pairs, in random order, until it is clear that head costs
more by the threshold (regression) or that it does not (pass), or until
--max-pairs or --max-time (inconclusive). Without a change, at most 5 % of all
checks report a regression, whatever the machine's noise is like.

--base FILE.json compares with a file of --save. This is a weaker check, since the
machine may have changed in between. --functions judges each function, too; CMD is
then a target of cg measure (python bench.py, java Main, go ./cmd/app). Tables
[budget] and [threshold] in ` + flags.ProjectFile + ` limit the joules and the change,
in percent, of functions.

Exit status: 0 pass; 1 regression, or a budget is exceeded; 3 inconclusive (see
--inconclusive); 2 usage, a revision or a file that is not there; 124 CMD took
longer than --timeout; 125 no check could be made: a build or CMD failed; 126, 127
CMD cannot be run, or is not found; 128+n signal n ended cg.`,
		Flags:  all,
		Action: func(c *cli.Context) error { return run(c, s) },
	}
}

func ownFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "base", Usage: "compare with `REV`, or with a FILE.json of --save"},
		&cli.StringFlag{Name: "head", Usage: "the revision to check (`REV`); default: the working tree as it is"},
		&cli.StringFlag{Name: "build", Usage: "build each side: run `LINE` with sh in its folder"},
		&cli.StringFlag{Name: "save", Usage: "save the measurements of head to `FILE`, for --base"},
		&cli.StringFlag{Name: "history", Usage: "append what head costs to `FILE`, a line a check, for cg trend; " +
			"note:NAME is the git note NAME of the commit"},
		&cli.StringFlag{Name: "metric",
			Usage: "compare `WHICH`: energy (the machine's), cpu-energy (the command's share), cpu-time or " +
				"instructions; default: energy where there is a counter, else cpu-energy; energy/NAME or " +
				"cpu-energy/NAME for a unit of --per"},
		flags.Per(),
		&cli.StringFlag{Name: "threshold",
			Usage: "the smallest change that matters, in `PERCENT`; default: 5, of instructions 0.5"},
		&cli.IntFlag{Name: "max-pairs", Value: 30, Usage: "stop after `N` pairs"},
		&cli.StringFlag{Name: "max-time", Usage: "stop each check after `TIME` (seconds, or such as 10m)"},
		&cli.IntFlag{Name: "warmup", Aliases: []string{"w"}, Value: 3,
			Usage: "run each side `N` times before, to warm up and to see how they spread"},
		&cli.StringFlag{Name: "batch", Value: "1",
			Usage: "measure `N` runs at once, for a command that is too fast; auto chooses"},
		&cli.StringFlag{Name: "seed",
			Usage: "order the pairs by the number `N`, to repeat a check; default: another each time"},
		&cli.BoolFlag{Name: "functions", Usage: "give each function of CMD a verdict, too"},
		&cli.Float64Flag{Name: "budget",
			Usage: "fail if head takes more than `JOULES` (if the lower end of the mean's interval is above)"},
		&cli.StringFlag{Name: "inconclusive", Value: "warn",
			Usage: "how to end without a verdict: `fail` (status 1), warn (3) or pass (0)"},
		&cli.BoolFlag{Name: "allow-different", Usage: "compare with a FILE of another machine, sensor or command"},
		&cli.StringFlag{Name: "timeout", Aliases: []string{"t"},
			Usage: "end a run and its children after `TIME` (seconds, or such as 1m30s)"},
		&cli.StringFlag{Name: "output", Aliases: []string{"o"},
			Usage: "write the result as JSON to `FILE` (- for standard output)"},
		&cli.BoolFlag{Name: "json", Usage: "print the result as JSON on standard output"},
		&cli.StringFlag{Name: "export-markdown", Usage: "write a summary to `FILE`"},
		&cli.StringFlag{Name: "junit", Usage: "write the verdicts as JUnit XML to `FILE`"},
		&cli.StringFlag{Name: "export-metrics", Usage: "write the figures as OpenMetrics text to `FILE`"},
		&cli.StringFlag{Name: "precision", Aliases: []string{"p"}, Value: "medium",
			Usage: "sampling `INTERVAL`: low, medium or high (100, 10, 1 ms)"},
		&cli.StringSliceFlag{Name: "sensors", Aliases: []string{"s"}, Usage: "use only these `SENSORS` (" +
			machine.SensorNames() + "); default: all that measure, else the estimate"},
		flags.Sysroot(),
	}, language.AllFlags()...)
}

func run(c *cli.Context, s flags.Settings) error {
	k, err := checkOptions(c, s, c.String("base"), c.String("head"))
	if err != nil {
		return err
	}
	outs, err := k.openOutputs()
	if err != nil {
		return err
	}
	defer func() {
		if k.history != nil {
			k.history.Close()
		}
		for _, o := range outs {
			o.Abandon()
		}
	}()
	if err := k.openHistory(); err != nil {
		return err
	}
	return k.onMachine(c, "no verdict", func(ctx context.Context, home string) error {
		return k.judge(ctx, home, outs)
	})
}

// onMachine calls judge with the machine's sensors open and the sides in worktrees of their own (see inTrees). A signal
// that ends cg becomes the error that says so: interrupted, and what is missing for it. home is the working folder.
func (k *check) onMachine(c *cli.Context, missing string,
	judge func(ctx context.Context, home string) error) (err error) {
	// A hook's would lead the command and its build to the repository that it runs in.
	for _, name := range gate.GitVariables {
		os.Unsetenv(name)
	}
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	defer func() {
		if ctx.Err() != nil {
			err = exit.With(128+int(exit.Interrupted(ctx)), "interrupted: %s", missing)
		}
	}()
	account.Prepare()
	if k.machine, err = machine.Open(ctx, c); err != nil {
		return err
	}
	defer k.machine.Close()
	home, err := os.Getwd()
	if err != nil {
		return exit.Self("%w", err)
	}
	return k.inTrees(ctx, home, func() error { return judge(ctx, home) })
}

// inTrees calls judge while the sides stand in worktrees of their own, built, and
// removes these afterwards. It returns to home.
func (k *check) inTrees(ctx context.Context, home string, judge func() error) (err error) {
	folder, err := folders.Run()
	if err != nil {
		return exit.Self(
			"no place for the trees of the two revisions: %w (set TMPDIR to a folder that can be written)", err)
	}
	k.dir = folder.Path
	defer func() {
		if left := folder.Remove(); left != nil && err == nil {
			err = exit.Self("%w", left)
		}
	}()
	if err := k.instruments(); err != nil {
		return err
	}
	if err := k.sides(ctx, home); err != nil {
		return err
	}
	if k.unchecked {
		tell.Warn("the budgets and thresholds of functions are not checked: --functions does")
	}
	if k.repository != nil {
		k.repository.RemoveKilled()
		defer func() {
			if left := k.repository.Close(); left != nil && err == nil {
				err = exit.Self("tidying up: %w", left)
			}
		}()
	}
	if err := k.checkNote(ctx); err != nil {
		return err
	}
	defer os.Chdir(home)
	if k.functions {
		defer folders.Prune()
	}
	return judge()
}

// judge compares the sides and writes the verdict, whose status it returns.
func (k *check) judge(ctx context.Context, home string, outs map[string]*output.File) error {
	result, err := k.compare(ctx)
	if err != nil {
		return k.refused(err)
	}
	if err := os.Chdir(home); err != nil { // names of files are relative to it
		return exit.Self("%w", err)
	}
	g := k.report(result)
	if err := writeCheck(k.context, outs, g); err != nil {
		return exit.Self("%w", err)
	}
	if err := k.keep(g); err != nil {
		return exit.Self("--history: %w", err)
	}
	if g.ExitStatus == exit.StatusSelf {
		return exit.Self(
			"budget: the energy is not known, or too small for the counter, so nothing can be said of it (--batch " +
				"100 measures 100 runs at once)")
	}
	return exit.Of(g.ExitStatus)
}

// check is what cg gate does, said by its flags.
type check struct {
	command    []string
	base, head string
	build      string
	stored     *verdict.Check // of --base FILE
	saves      bool
	different  bool
	// differences are those of the baseline, known after the first run.
	differences  []string
	functions    bool
	searches     bool // cg gate bisect
	unchecked    bool // there are budgets or thresholds of functions, and no --functions
	context      *cli.Context
	plan         gate.Plan
	inconclusive string // what becomes of an inconclusive check
	timeout      time.Duration
	interval     time.Duration
	machine      *machine.Opened
	dir          string // of the trees, logs and counts
	repository   *gate.Repository
	history      *history.File // nil for none
	notes        string        // the git notes that are the history, "" for none
	parts        []string      // our own files, until they have their names
	trees        [2]tree
	per          []work.Pattern
	callgrind    *gate.Callgrind
	counter      *account.Instructions
	last         *report.Run          // of head
	state        *report.MachineState // around the first run
	warnings     []report.Warning
	progress     bool
}

// tree is where a side is run.
type tree struct {
	rev  *gate.Revision
	root string // "" where nothing was checked out
	dir  string
}

func checkOptions(c *cli.Context, s flags.Settings, base, head string) (*check, error) {
	k := &check{
		command: c.Args().Slice(), base: base, head: head, build: c.String("build"),
		saves:     c.String("save") != "",
		different: c.Bool("allow-different"), functions: c.Bool("functions"), context: c,
		inconclusive: c.String("inconclusive"),
		progress:     tell.ShowsProgress(),
	}
	var err error
	switch {
	case len(k.command) == 0:
		return nil, exit.Usage("no command: cg gate --base REV -- CMD [ARGS...]")
	case k.base == "" && !k.saves && c.String("history") == "":
		return nil, exit.Usage("nothing to compare with: name a revision with --base REV, or keep a baseline " +
			"with --save FILE, or a line with --history FILE")
	case strings.HasPrefix(k.base, "-") || strings.HasPrefix(k.head, "-"):
		return nil, exit.Usage("%q is no revision", k.base+k.head)
	case (k.inconclusive != "" || flags.Given(c, "inconclusive")) &&
		!slices.Contains([]string{"fail", "warn", "pass"}, k.inconclusive):
		return nil, exit.Usage("--inconclusive: %q is not known: use fail, warn or pass", k.inconclusive)
	}
	p := &k.plan
	p.Alpha, p.MaxPairs, p.Warmup, p.Functions = 0.05, c.Int("max-pairs"), c.Int("warmup"), k.functions
	if err := k.metricOf(c); err != nil {
		return nil, err
	}
	if p.Threshold, err = PerCent(c.String("threshold")); err != nil {
		return nil, exit.Usage("--threshold: %w", err)
	}
	if p.MaxPairs < gate.MinPairs || p.MaxPairs > 1000 {
		return nil,
			exit.Usage("--max-pairs: %d pairs cannot tell anything: use %d to 1000", p.MaxPairs, gate.MinPairs)
	}
	if p.MaxTime, err = flags.Duration(c.String("max-time")); err != nil {
		return nil, exit.Usage("--max-time: %w", err)
	}
	if p.Warmup < 0 {
		return nil, exit.Usage("-w: %d is no number of runs: use 0 or more", p.Warmup)
	}
	if p.Batch, err = Batch(c.String("batch")); err != nil {
		return nil, exit.Usage("--batch: %w", err)
	}
	p.Seed = rand.Uint64()
	if text := c.String("seed"); text != "" {
		if p.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, exit.Usage("--seed: %q is no whole number from 0 on", text)
		}
	}
	if k.timeout, err = flags.Duration(c.String("timeout")); err != nil {
		return nil, exit.Usage("--timeout: %w", err)
	}
	if k.interval, err = flags.Precision(c.String("precision")); err != nil {
		return nil, exit.Usage("-p: %w", err)
	}
	if err := k.limits(c, s); err != nil {
		return nil, err
	}
	if err := k.conflictingFlags(c); err != nil {
		return nil, err
	}
	if strings.HasSuffix(k.base, ".json") {
		b, err := os.ReadFile(k.base)
		if err != nil {
			return nil, exit.Usage("%s: %w", sideFlags(c)[gate.Base], err)
		}
		if k.stored, err = verdict.Read(b); err != nil {
			return nil, exit.Usage("%s: %s: %w", sideFlags(c)[gate.Base], k.base, err)
		}
	} else if k.different {
		return nil, exit.Usage("--allow-different is for --base FILE.json")
	}
	return k, nil
}

// instruments chooses the metric and opens what tells it.
func (k *check) instruments() error {
	p := &k.plan
	if k.stored != nil {
		if p.Metric != "" && string(p.Metric) != k.stored.Metric {
			return exit.Usage("--metric: %s has %s, which cannot be compared with %s", k.base, k.stored.Metric,
				p.Metric)
		}
		if p.Metric = gate.Metric(k.stored.Metric); strings.Contains(k.stored.Metric, "/") && len(k.per) == 0 {
			return exit.Usage("--base: %s has %s: give that with --metric, and --per", k.base, p.Metric)
		}
		if k.stored.Batch > 1 && k.functions {
			return exit.Usage("--functions: %s was measured in batches of %d: save it anew with --functions",
				k.base, k.stored.Batch)
		}
		if k.stored.Batch > 1 && p.Batch == 1 {
			p.Batch = k.stored.Batch
		}
	}
	counted, period := false, time.Duration(0)
	for _, s := range k.machine.Found.Sensors {
		for _, d := range s.Domains() {
			if d.InTotal {
				counted = counted || d.Method == nemb.Measured
				period = max(period, d.Period)
			}
		}
	}
	if p.Metric == "" {
		p.Metric = gate.CPUEnergy
		if counted {
			p.Metric = gate.Energy
		}
	}
	if p.Threshold == 0 {
		p.Threshold = p.Metric.Threshold()
	}
	switch {
	case p.Metric == gate.Instructions && k.functions:
		return exit.Usage("--functions: instructions are counted for the whole command: use another --metric")
	case p.Metric == gate.Instructions:
		if k.stored == nil || k.stored.Counter == perfCounter {
			if k.counter = account.NewInstructions(); k.counter != nil {
				return nil
			}
		}
		var err error
		if k.callgrind, err = gate.NewCallgrind(filepath.Join(k.dir, "callgrind")); err != nil {
			return exit.Self("--metric instructions: %w", err)
		}
	case p.Metric == gate.CPUTime: // its clock has no steps to speak of
	case counted || strings.HasPrefix(string(p.Metric), string(gate.Energy)):
		p.MinDuration = LeastPeriods * period
	default: // an estimate of the command's own processor time, which is known exactly
		p.MinDuration = 2 * period
	}
	return nil
}

// LeastPeriods is how many updates of a counter a measurement has to hold, so that
// one more or less is 5 % at most.
const LeastPeriods = 20

// The counters of instructions.
const (
	perfCounter      = "perf"
	callgrindCounter = "callgrind"
)

// sides brings the revisions to where they are run, and builds them.
func (k *check) sides(ctx context.Context, home string) error {
	both := k.base != "" && k.stored == nil
	repository, err := gate.FindRepository(ctx, home)
	switch {
	case err == nil:
	case both || k.head != "" || k.build != "" || !errors.Is(err, gate.ErrNoRepository):
		return exit.Usage("%w", err)
	default:
		k.trees[gate.Head] = tree{dir: home}
		return nil
	}
	var revs [2]gate.Revision
	if both {
		if revs[gate.Base], err = repository.Resolve(ctx, k.base); err != nil {
			return exit.Usage("%s: %w", sideFlags(k.context)[gate.Base], err)
		}
	}
	if k.head == "" {
		revs[gate.Head], err = repository.WorkingTree(ctx, k.dir, k.parts...)
	} else {
		revs[gate.Head], err = repository.Resolve(ctx, k.head)
	}
	if err != nil {
		return exit.Usage("%s: %w", sideFlags(k.context)[gate.Head], err)
	}
	k.repository = repository
	for _, side := range []gate.Side{gate.Base, gate.Head} {
		rev := &revs[side]
		if rev.Commit == "" {
			continue
		}
		// Names of the same length: they are part of what a program sees.
		t := tree{rev: rev, root: filepath.Join(k.dir, side.String())}
		t.dir = filepath.Join(t.root, repository.Prefix)
		k.trees[side] = t
		k.tell("checking out %s", rev.Name)
		if err := repository.CheckOut(ctx, *rev, t.root); err != nil {
			return k.untidy(exit.Self("%w", err))
		}
		if info, err := os.Stat(t.dir); err != nil || !info.IsDir() {
			return k.untidy(exit.Usage("%s (%s) has no folder %s", side, rev.Name, repository.Prefix))
		}
	}
	for side, t := range k.trees {
		if k.build == "" || t.rev == nil {
			continue
		}
		k.tell("building %s", t.rev.Name)
		b := gate.Build{Side: gate.Side(side), Rev: t.rev.Name, Line: k.build, Dir: t.dir,
			Log: filepath.Join(k.dir, "build")}
		if err := b.Run(ctx); err != nil {
			return k.untidy(exit.Self("%w", err))
		}
	}
	k.tell("")
	return nil
}

// untidy removes the trees before an error is reported.
func (k *check) untidy(err error) error {
	k.tell("")
	return errors.Join(err, k.repository.Close())
}

// tell shows progress on a terminal.
func (k *check) tell(format string, args ...any) {
	if k.progress {
		shown.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
	}
}

// compare runs the sides.
func (k *check) compare(ctx context.Context) (*gate.Result, error) {
	p := k.plan
	p.Progress = k.tell
	measure := k.once
	if k.plan.Metric == gate.Instructions {
		p.WarmUp = k.plain // which tells the joules
	}
	switch {
	case k.stored != nil:
		return gate.CompareStored(ctx, p, k.stored.Result.Head, measure)
	case k.base == "":
		return gate.MeasureHead(ctx, p, measure)
	}
	if k.trees[0].rev.Commit == k.trees[1].rev.Commit && len(k.trees[1].rev.Changed) == 0 {
		tell.Notef("base and head are the same: %s", k.trees[0].rev.Commit)
	}
	p.TooFewPairs = func(detectable float64, pairs int) {
		if k.searches {
			return // an inconclusive check is made again with more
		}
		k.tell("")
		if math.IsInf(detectable, 1) {
			tell.Warnf("so many functions share the 5 %% that a few pairs show nothing, however large a change is: "+
				"use --max-pairs %d or more", pairs)
			return
		}
		tell.Warnf("as the runs spread, %d pairs can find a change of some %.0f %%, and the threshold is %.3g %%: "+
			"this may well end inconclusive; some %d pairs would do (--max-pairs), or --metric instructions",
			p.MaxPairs, 100*detectable, 100*p.Threshold, pairs)
	}
	return gate.Compare(ctx, p, measure)
}

// about is the report of a check without its result.
func (k *check) about() *verdict.Check {
	p := k.plan
	g := &verdict.Check{
		Meta: k.last.Meta, Command: k.command, Build: k.build, Metric: string(p.Metric), Unit: p.Metric.Unit(),
		Head: k.trees[gate.Head].rev, Base: k.trees[gate.Base].rev,
		Alpha: p.Alpha, Seed: strconv.FormatUint(p.Seed, 10), Inconclusive: k.inconclusive,
		Warnings: []report.Warning{},
	}
	g.Meta.Argv = os.Args
	g.Backend = report.Backend{Name: k.last.Totals.Source, Kind: k.last.Totals.Kind,
		DomainsSeen: slices.Sorted(maps.Keys(k.last.Totals.Domains))}
	switch {
	case p.Metric == gate.CPUTime:
		g.Counter = "the kernel's account of the processes"
	case k.callgrind != nil:
		g.Counter = callgrindCounter
	case k.counter != nil:
		g.Counter = perfCounter
	default:
		g.Counter = g.Backend.Name
	}
	return g
}

// comparable refuses a baseline of something else, once it is known what is
// measured here.
func (k *check) comparable() error {
	k.differences = k.about().Differs(k.stored)
	if len(k.differences) > 0 && !k.different {
		return exit.Usage("--base: %s is of something else: %s (--allow-different compares all the same)",
			k.base, strings.Join(k.differences, "; "))
	}
	return nil
}

// report makes the report of a result.
func (k *check) report(r *gate.Result) *verdict.Check {
	g := k.about()
	g.Result = *r
	g.Warnings = append(g.Warnings, k.warnings...)
	if k.stored != nil {
		g.BaseFile = k.base
		if len(k.differences) > 0 {
			g.Different(k.differences)
		}
		g.NotInterleaved(k.stored)
	}
	g.Conclude()
	return g
}

// refused gives what stopped a check its status.
func (k *check) refused(err error) error {
	k.tell("")
	err = k.withoutBatch(err)
	var never *gate.NeverRan
	var f *exit.Error
	var l *launcher.Error
	switch {
	case errors.As(err, &f):
		return err
	case errors.As(err, &never):
		return exit.Self("%w", err)
	case errors.As(err, &l):
		return exit.With(l.Status, "%w", err)
	}
	return exit.Self("%w", err)
}
