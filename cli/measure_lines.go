package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/gpu"
	"cg/cli/tell"
	"cg/instrument"
	"cg/launcher"
	"cg/report"
)

// hotPart is the part of the energy of functions that those have of which --lines auto and --lines FILE tell lines.
const hotPart = 0.9

// mostTimes is how many times the processor time of -g fine a run of --lines auto is to take. It is to be 2 at most,
// and two runs of a program differ by some percent.
const mostTimes = 1.9

// leastLimit and limitTimes are how long the second run of --lines auto may take, which tells what lines cost: that
// time, or that many times what -g fine took if this is more.
const (
	leastLimit = 10 * time.Second
	limitTimes = 10
)

// linesWish is of which functions lines or blocks are to be told, as --lines says.
type linesWish struct {
	auto bool // those that a run before shows
	// of are the functions, nil for all of them; chosen says how they were.
	of     []instrument.FunctionIn
	chosen *report.PlacesOf
}

// linesFlag is --lines.
func linesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "lines",
		Usage: "with -g line or block, tell lines or blocks of these functions (`WHICH`): all (the default); auto, " +
			"which runs the program three times: with -g fine, with lines to see what they cost (ended after 10 s, " +
			"or ten times the first; the output of both is thrown away), and for the report; standard input is " +
			"empty in all (--stdin FILE). It takes those that use 90 % of the energy, but for those whose lines " +
			"would cost too much; FILE.json, an earlier report, for the same there; or NAME,NAME, qualified " +
			"names with * and ?"}
}

// linesOf reads --lines. A file is one that ends in .json.
func linesOf(c *cli.Context, g instrument.Granularity) (w linesWish, err error) {
	words := c.StringSlice("lines")
	switch {
	case len(words) == 0:
		return w, nil
	case !g.HasPlaces():
		return w, exit.Usage("--lines goes with -g line or -g block, of which it says the functions: -g is %s",
			g)
	case len(words) == 1 && words[0] == "all":
		return w, nil
	case len(words) == 1 && words[0] == "auto":
		w.auto = true
		return w, nil
	case len(words) == 1 && strings.HasSuffix(words[0], ".json"):
		return linesFrom(words[0])
	}
	for _, name := range words {
		switch {
		case name == "all" || name == "auto" || strings.HasSuffix(name, ".json"):
			return w, exit.Usage("--lines: %s stands alone, and there are %d names", name, len(words))
		case name == "":
			return w, exit.Usage("--lines: a name is empty")
		case isPath(name):
			return w, exit.Usage("--lines: %q is a file, and no name of a function: use all, auto, names "+
				"such as work or Parser.*, or the .json of an earlier report", name)
		}
		w.of = append(w.of, instrument.FunctionIn{Name: name})
	}
	w.chosen = &report.PlacesOf{Chosen: "names"}
	return w, nil
}

// isPath reports whether a word with a slash, which operators of C++ have in their names, is a file or folder.
func isPath(word string) bool {
	_, err := os.Lstat(word)
	return err == nil && strings.Contains(word, "/")
}

// linesFrom takes the dearest functions of a saved run.
func linesFrom(name string) (w linesWish, err error) {
	f, done, err := openSaved(name)
	if err != nil {
		return w, exit.Usage("--lines: %s: %w", name, err)
	}
	defer done()
	r, err := report.ReadFrom(f)
	if err != nil {
		return w, exit.Usage("--lines: %s: %w (it takes a run that cg measure -g fine -o has written)", name,
			err)
	}
	if r.Meta.Granularity == string(instrument.Coarse) {
		return w, exit.Usage("--lines: %s is of a run with -g coarse, which tells no functions apart: make one "+
			"with -g fine", name)
	}
	if w.choose("report", r); w.of == nil {
		return w, exit.Usage("--lines: %s has no function that used anything", name)
	}
	return w, nil
}

// choose takes the functions of a run that used most. Where none used anything, nothing is chosen.
func (w *linesWish) choose(how string, r *report.Run) (functions []*report.Function) {
	if functions, _ = r.Dearest(hotPart); len(functions) > 0 {
		w.take(how, r, functions)
	}
	return functions
}

// take takes these functions of a run.
func (w *linesWish) take(how string, r *report.Run, functions []*report.Function) {
	w.of = nil
	for _, f := range functions {
		w.of = append(w.of, instrument.FunctionIn{File: f.File, Name: f.Name})
	}
	share := 100 * r.Share(functions)
	w.chosen = &report.PlacesOf{Chosen: how, Functions: len(functions), SharePercent: &share}
}

// chooseLines chooses the functions of --lines auto. All runs read the same: nothing, or --stdin.
func (p *program) chooseLines(c *cli.Context, s stage) (err error) {
	if s.rank != nil {
		return exit.Usage("--lines auto runs the program three times, and a rank runs once: use --lines with " +
			"the .json of a run with -g fine")
	}
	if err := p.findLines(s, c.String("stdin")); err != nil {
		return err
	}
	p.command.Stdin, err = reopened(c.String("stdin"))
	return err
}

// findLines makes the runs of --lines auto before the one that is measured: with -g fine, for the functions that use
// most, and with their lines, for those whose lines cost too much.
func (p *program) findLines(s stage, stdin string) error {
	empty := "; standard input is empty in all (--stdin FILE)"
	if stdin != "" {
		empty = ""
	}
	tell.Note("--lines auto: runs the program with -g fine first, and then with " + string(p.granularity) +
		"s; their output is not shown" + empty)
	before := *p
	before.instrument.Granularity, before.instrument.PlacesOf = instrument.Fine, nil
	before.overhead, _ = overhead(defaultOverhead)
	fine, err := before.unseen(s, beforeRun{"before", "first", false}, stdin)
	if err != nil {
		return err
	}
	functions := p.lines.choose("auto", fine)
	if len(functions) == 0 {
		tell.Note(p.lines.found(p.granularity))
		return nil
	}
	p.instrument.PlacesOf = p.lines.of
	took := time.Duration(fine.Totals.WallDurationS * float64(time.Second))
	trial := *p
	trial.command.Timeout = trialLimit(took, p.command.Timeout)
	limit := trial.command.Timeout.Seconds()
	tell.Note(fmt.Sprintf("--lines auto: -g fine took %.1f s; now the run with %ss, which is ended after %.1f s",
		took.Seconds(), p.granularity, limit))
	tried, err := trial.unseen(s, beforeRun{"tried", "second", true}, stdin)
	if err != nil {
		return err
	}
	asked := p.granularity
	if tried.Process.TimedOut {
		with := "-g fine"
		if some := fine.AffordableOfEnded(functions, tried, mostTimes); len(some) > 0 {
			p.lines.leaveOut(fine, functions, some)
			p.instrument.PlacesOf = p.lines.of
			with = fmt.Sprintf("%ss of %d of %d functions, which were over by then", asked, len(some), len(functions))
		} else {
			p.withoutPlaces(fine, functions, before.overhead)
		}
		tookS := took.Seconds()
		p.lines.chosen.EndedAfterS, p.lines.chosen.FineS = &limit, &tookS
		tell.Note(fmt.Sprintf("--lines auto: the run with %ss had not ended after %.1f s: now the run that is "+
			"measured, with %s", asked, limit, with))
		return nil
	}
	some, times, ok := fine.Affordable(functions, tried, mostTimes)
	switch {
	case !ok:
		p.withoutPlaces(fine, functions, before.overhead)
		tell.Note(fmt.Sprintf("--lines auto: %ss of the functions that use most cost too much (%.1f times -g fine): "+
			"now the run that is measured, with -g fine", asked, times))
	case len(some) < len(functions):
		p.lines.leaveOut(fine, functions, some)
		p.instrument.PlacesOf = p.lines.of
	}
	if len(some) < len(functions) {
		p.lines.chosen.Times = &times
	}
	if ok {
		tell.Note(p.lines.found(p.granularity))
	}
	return nil
}

// trialLimit is how long a run with lines may take to show what they cost, after one with -g fine took that long.
func trialLimit(fine, timeout time.Duration) time.Duration {
	limit := max(leastLimit, limitTimes*fine)
	if timeout > 0 {
		limit = min(limit, timeout)
	}
	return limit
}

// withoutPlaces makes it a run with -g fine, since no function can have lines. fine is the one that told those that use
// most.
func (p *program) withoutPlaces(fine *report.Run, functions []*report.Function, overhead float64) {
	p.granularity, p.instrument.Granularity = instrument.Fine, instrument.Fine
	p.lines.leaveOut(fine, functions, nil)
	p.instrument.PlacesOf, p.overhead = nil, overhead
}

// leaveOut takes some of the functions that use most.
func (w *linesWish) leaveOut(fine *report.Run, functions, some []*report.Function) {
	w.take("auto", fine, some)
	for _, f := range functions {
		if !slices.Contains(some, f) && !slices.Contains(w.chosen.TooDear, f.Name) {
			w.chosen.TooDear = append(w.chosen.TooDear, f.Name)
		}
	}
}

// beforeRun is a run of --lines auto before the one that is measured.
type beforeRun struct {
	dir     string // of its files
	which   string // of them it is
	limited bool   // one that its time limit ended is told as any other
}

// unseen makes a run that is not the one that is measured. What it prints is thrown away, and its standard input is
// empty, or the file of --stdin.
func (p program) unseen(s stage, of beforeRun, stdin string) (*report.Run, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, exit.Self("%w", err)
	}
	defer null.Close()
	dir := filepath.Join(s.dir, of.dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, exit.Self("%w", err)
	}
	p.live, p.gpu, p.inner = nil, gpu.Wishes{}, nil
	x := p.with(s.conditions, dir)
	x.Preparing, x.ToolOutput = nil, nil
	x.Command.Stdout, x.Command.Stderr, x.Command.Pty, x.Command.Line = null, null, launcher.Never, nil
	if x.Command.Stdin, err = reopened(stdin); err != nil {
		return nil, err
	}
	defer x.Command.Stdin.Close()
	if stdin == "" {
		x.Spool = onceOnly("lines auto")
	}
	r, err := x.Run(s.ctx)
	if err != nil {
		return nil, notStarted(s.ctx, err)
	}
	defer r.Close()
	if r.Outcome.Running {
		r.Outcome.Wait()
	}
	if err := s.ctx.Err(); err != nil {
		return nil, exit.By(exit.Interrupted(s.ctx), "interrupted in the %s run of --lines auto", of.which)
	}
	result := r.Outcome.Result
	if how := endedBadly(result); how != "" && !(of.limited && result.TimedOut) {
		tell.Warnf("the %s run of --lines auto %s: no other is made; cg measure -g fine shows what it does", of.which,
			how)
		return nil, exit.Like(result)
	}
	return r.Run, nil
}

// found says which functions the runs before have shown.
func (w linesWish) found(g instrument.Granularity) string {
	if w.of == nil {
		return "--lines auto: no function used anything: all of them have " + string(g) + "s"
	}
	functions := "1 function"
	if n := len(w.of); n > 1 {
		functions = fmt.Sprintf("%d functions", n)
	}
	without := ""
	if n := len(w.chosen.TooDear); n > 0 {
		without = fmt.Sprintf(", without %d that would cost too much", n)
	}
	return fmt.Sprintf("--lines auto: %ss of %s with %.0f %% of what all of them used%s; now the run that is measured",
		g, functions, *w.chosen.SharePercent, without)
}

// endedBadly says how a program ended that did not end by itself, "" for one that did.
func endedBadly(p launcher.Result) string {
	switch {
	case p.TimedOut:
		return "took longer than --timeout"
	case !p.Exited:
		return "was ended by " + unix.SignalName(p.Signal)
	}
	return ""
}

// reopened opens what a run reads that is not the only one: the file of --stdin from its begin, or nothing.
func reopened(stdin string) (*os.File, error) {
	in, err := os.Open(orNull(stdin))
	if err != nil {
		return nil, exit.Usage("--stdin: %w", err)
	}
	return in, nil
}

// onceOnly refuses a program that comes on standard input where it is run several times, as a flag says.
func onceOnly(flag string) func(*os.File) (*os.File, error) {
	return func(*os.File) (*os.File, error) {
		return nil, exit.Usage("--%s: a program that comes on standard input can be read once only: save it "+
			"to a file", flag)
	}
}
