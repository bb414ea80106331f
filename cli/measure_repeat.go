package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/folders"
	"cg/cli/machine"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/experiment"
	"cg/launcher"
	"cg/measure"
	"cg/nemb/account"
	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/shown"
)

// ofOneRun are flags of cg measure whose file or figures are those of one run.
var ofOneRun = []struct{ flag, why string }{
	{"per", "functions have their calls and energies of each run"},
	{"events", "a log keeps the calls of one run"},
	{"timeseries", "samples are those of one run, and the figures are over all"},
	{"keep-source", "the files are kept with one run"},
	{"inner", "samples are those of one run"},
	{"ranks", "each rank is one run"},
}

// refuseOfOneRun refuses what has no meaning for several runs.
func refuseOfOneRun(c *cli.Context) error {
	if n := c.Int("repeat"); n < 1 {
		return exit.Usage("--repeat: %d runs cannot be measured: use 1 or more", n)
	}
	if n := c.Int("warmup"); n < 0 || n > math.MaxInt-c.Int("repeat") {
		return exit.Usage("-w: %d is no number of runs: use 0 or more", n)
	}
	if words := c.StringSlice("lines"); len(words) == 1 && words[0] == "auto" {
		return exit.Usage("--lines auto and --%s do not go together: choose the functions by --lines with the "+
			".json of a run with -g fine", severalBy(c))
	}
	for _, f := range ofOneRun {
		if c.IsSet(f.flag) {
			return exit.Usage("--%s and --%s do not go together: %s", f.flag, severalBy(c), f.why)
		}
	}
	return nil
}

// severalBy is the flag that asks for several runs.
func severalBy(c *cli.Context) string {
	if c.Int("repeat") == 1 {
		return "warmup"
	}
	return "repeat"
}

// measuredSeries is what cg measure --repeat does.
type measuredSeries struct {
	program
	warmup     int    // runs before those that count
	runs       int    // all of them
	by         string // the flag that asks for several
	stdin      string
	dir        string
	keep       bool
	machine    *machine.Opened
	benchmarks []byte // lines of --benchfmt, of all runs
	bench      bool
	idle       func() (*measure.Baseline, bool, error)
	result     *repeated.Result
	left       func() // waits for a program that went on when cg was asked to end
}

// measureOften makes the runs of cg measure --repeat, one after the other. written tells
// that the report was begun.
func measureOften(c *cli.Context, written *bool) error {
	if err := refuseOfOneRun(c); err != nil {
		return err
	}
	p, err := programOf(c)
	if err != nil {
		return err
	}
	rates, err := footprintRates(c)
	if err != nil {
		return err
	}
	outs, err := output.OpenFiles(c, seriesFiles...)
	if err != nil {
		return err
	}
	defer func() {
		for _, o := range outs {
			o.Abandon()
		}
	}()
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	account.Prepare()
	folder, leave, err := folders.Files(c)
	if err != nil {
		return err
	}
	defer leave()
	s := &measuredSeries{program: p, warmup: c.Int("warmup"), runs: c.Int("warmup") + c.Int("repeat"),
		by: severalBy(c), stdin: c.String("stdin"), dir: folder.Path,
		keep: c.Bool("no-cleanup"), bench: c.String("benchfmt") != ""}
	if s.machine, err = machine.Open(ctx, c); err != nil {
		return err
	}
	defer s.machine.Close()
	defer folders.Prune()
	s.idle = s.idleOnce(ctx)
	ended := s.run(ctx)
	if s.left != nil {
		defer s.left()
	}
	if s.result == nil {
		return ended
	}
	s.result.Account(rates)
	*written = true
	if err := s.write(c, outs); err != nil {
		return exit.Self("%w", err)
	}
	return ended
}

// idleOnce measures the idle machine before the first run; nil where that is not asked for.
func (s *measuredSeries) idleOnce(ctx context.Context) func() (*measure.Baseline, bool, error) {
	if s.baseline <= 0 {
		return nil
	}
	var b *measure.Baseline
	none, done := false, false
	return func() (*measure.Baseline, bool, error) {
		var err error
		if !done {
			b, none, err = s.machine.Idle(ctx, s.interval, s.baseline)
			done = err == nil
		}
		return b, none, err
	}
}

// run makes the runs. One during which cg is asked to end is cut short: it is left out, but where there
// is no other. The error is what cg ends with: the program's status, if a run of it did not end with 0,
// or why a run was not made.
func (s *measuredSeries) run(ctx context.Context) error {
	result := &repeated.Result{Warnings: []report.Warning{}, Commands: []repeated.Command{{Argv: s.target.Args,
		Measurements: []repeated.Measurement{}}}}
	var stopped error
	for k := range s.runs {
		r, lines, err := s.once(ctx, k)
		if err != nil {
			stopped = err
			break
		}
		asked := ctx.Err() != nil
		if asked && k > 0 {
			tell.Warnf("run %d of %d was cut short, and is not among the figures", k+1, s.runs)
		} else {
			// A run that ends the series counts: there is no later one.
			warms := k < s.warmup && r.Outcome.Result.Status == 0 && !asked
			if result.Add(0, k, warms, r.Run); !warms {
				s.benchmarks = append(s.benchmarks, lines...)
			}
		}
		stopped = s.ended(k, r.Outcome.Result)
		if stopped == nil && asked {
			stopped = exit.By(exit.Interrupted(ctx), "interrupted after %d of %d runs",
				len(result.Commands[0].Measurements), s.runs)
		}
		if stopped != nil {
			break
		}
	}
	if len(result.Commands[0].Measurements) == 0 {
		return stopped
	}
	result.Commands[0].Summarize(false)
	result.Meta.OutlierMethod = repeated.OutlierMethod
	result.Compare()
	s.result = result
	return stopped
}

// ended is what cg ends with if a run of the program did not end well.
func (s *measuredSeries) ended(k int, p launcher.Result) error {
	if p.Status == 0 {
		return nil
	}
	how := cmp.Or(endedBadly(p), fmt.Sprintf("ended with status %d", p.Status))
	tell.Warnf("run %d of %d %s: no further run is made", k+1, s.runs, how)
	return exit.Like(p)
}

// once makes a run, with its files in a folder of its own, and writes its lines for --benchfmt.
func (s *measuredSeries) once(ctx context.Context, k int) (r *experiment.Result, lines []byte, err error) {
	dir := filepath.Join(s.dir, fmt.Sprintf("run-%d", k+1))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, nil, exit.Self("%w", err)
	}
	defer func() {
		if !s.keep && s.left == nil { // else it is in use
			os.RemoveAll(dir)
		}
	}()
	in, err := reopened(s.stdin)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	conditions, done := s.machine.Conditions(s.interval)
	defer done()
	conditions.Noise = s.noise
	x := s.with(conditions, dir)
	x.Command.Stdin, x.MeasureIdle = in, s.idle
	if s.stdin == "" {
		x.Spool = onceOnly(s.by)
	}
	r, err = x.Run(ctx)
	if err != nil {
		return nil, nil, notStarted(ctx, err)
	}
	if r.Outcome.Running {
		s.left = func() {
			r.Outcome.Wait()
			r.Close()
		}
		return nil, nil, exit.By(exit.Interrupted(ctx), "interrupted: run %d went on for more than %v, and is not "+
			"among the figures", k+1, measure.GracePeriod)
	}
	defer r.Close()
	if s.bench {
		if lines, err = output.Formatted("benchfmt", r.Run, format.Options{}); err != nil {
			return nil, nil, exit.Self("--benchfmt: %w", err)
		}
	}
	return r, lines, nil
}

// seriesFiles are the files that the figures of several runs go to, by their flags.
var seriesFiles = []string{"output", "export-plot", "benchfmt"}

// write writes the figures where the flags say. Without --json people read them on standard
// error, as the report of one run.
func (s *measuredSeries) write(c *cli.Context, outs map[string]*output.File) error {
	texts, err := output.Written(c, s.result, seriesFiles[:2])
	if err != nil {
		return err
	}
	texts["benchfmt"] = s.benchmarks
	var failed []error
	for _, flag := range seriesFiles {
		if err := outs[flag].Save(texts[flag]); err != nil {
			failed = append(failed, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	if output.OnStdout(c) {
		_, err = os.Stdout.Write(texts["output"])
	} else if tell.ReportsTo(c.String("output")) {
		var laid shown.Safe
		if laid, err = output.Text(s.result, os.Stderr, c.Bool("verbose")); err == nil {
			shown.Fprintf(os.Stderr, "\n%s", laid)
		}
	}
	return errors.Join(append(failed, err)...)
}
