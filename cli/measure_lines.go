package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/instrument"
	"cg/launcher"
	"cg/report"
)

// hotPart is the part of the energy of functions that those have of which --lines auto and --lines FILE tell lines.
const hotPart = 0.9

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
			"which runs the program twice, first with -g fine, its output thrown away and standard " +
			"input empty in both (--stdin FILE), for those that use 90 % of " +
			"the energy; FILE.json, an earlier report, for the same there; or NAME,NAME, qualified names with * and ?"}
}

// linesOf reads --lines. A file is one that ends in .json.
func linesOf(c *cli.Context, g instrument.Granularity) (w linesWish, err error) {
	words := c.StringSlice("lines")
	switch {
	case len(words) == 0:
		return w, nil
	case !g.HasPlaces():
		return w, fail(statusUsage, "--lines goes with -g line or -g block, of which it says the functions: -g is %s",
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
			return w, fail(statusUsage, "--lines: %s stands alone, and there are %d names", name, len(words))
		case name == "":
			return w, fail(statusUsage, "--lines: a name is empty")
		case isPath(name):
			return w, fail(statusUsage, "--lines: %q is a file, and no name of a function: use all, auto, names "+
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
		return w, fail(statusUsage, "--lines: %s: %w", name, err)
	}
	defer done()
	r, err := report.ReadFrom(f)
	if err != nil {
		return w, fail(statusUsage, "--lines: %s: %w (it takes a run that cg measure -g fine -o has written)", name,
			err)
	}
	if r.Meta.Granularity == string(instrument.Coarse) {
		return w, fail(statusUsage, "--lines: %s is of a run with -g coarse, which tells no functions apart: make one "+
			"with -g fine", name)
	}
	if w.choose("report", r); w.of == nil {
		return w, fail(statusUsage, "--lines: %s has no function that used anything", name)
	}
	return w, nil
}

// choose takes the functions of a run that used most. Where none used anything, nothing is chosen.
func (w *linesWish) choose(how string, r *report.Run) {
	functions, share := r.Dearest(hotPart)
	if len(functions) == 0 {
		return
	}
	for _, f := range functions {
		w.of = append(w.of, instrument.FunctionIn{File: f.File, Name: f.Name})
	}
	share *= 100
	w.chosen = &report.PlacesOf{Chosen: how, Functions: len(functions), SharePercent: &share}
}

// chooseLines chooses the functions of --lines auto. Both runs read the same: nothing, or --stdin.
func (p *program) chooseLines(c *cli.Context, s stage) (err error) {
	if s.rank != nil {
		return fail(statusUsage, "--lines auto runs the program twice, and a rank runs once: use --lines with the "+
			".json of a run with -g fine")
	}
	if err := p.findLines(s, c.String("stdin")); err != nil {
		return err
	}
	p.command.Stdin, err = reopened(c.String("stdin"))
	return err
}

// findLines makes the run of --lines auto that shows which functions use most. What it prints is thrown away, and its
// standard input is empty, or the file of --stdin.
func (p *program) findLines(s stage, stdin string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(statusSelf, "%w", err)
	}
	defer null.Close()
	dir := filepath.Join(s.dir, "before")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fail(statusSelf, "%w", err)
	}
	before := *p
	before.instrument.Granularity, before.instrument.PlacesOf = instrument.Fine, nil
	before.overhead, _ = overhead(defaultOverhead)
	before.live, before.gpu, before.inner = nil, gpuWishes{}, nil
	x := before.with(s.conditions, dir)
	x.Preparing, x.ToolOutput = nil, nil
	x.Command.Stdout, x.Command.Stderr, x.Command.Pty, x.Command.Line = null, null, launcher.Never, nil
	if x.Command.Stdin, err = reopened(stdin); err != nil {
		return err
	}
	defer x.Command.Stdin.Close()
	if stdin == "" {
		x.Spool = onceOnly("lines auto")
	}
	empty := "; standard input is empty in both (--stdin FILE)"
	if stdin != "" {
		empty = ""
	}
	note("--lines auto: runs the program with -g fine first; its output is not shown" + empty)
	r, err := x.Run(s.ctx)
	if err != nil {
		return notStarted(s.ctx, err)
	}
	defer r.Close()
	if r.Outcome.Running {
		r.Outcome.Wait()
	}
	if err := s.ctx.Err(); err != nil {
		return &failure{128 + int(interrupted(s.ctx)), errors.New("interrupted in the first run of --lines auto"),
			interrupted(s.ctx)}
	}
	if how := endedBadly(r.Outcome.Result); how != "" {
		warnf("the first run of --lines auto %s: no other is made; cg measure -g fine shows what it does", how)
		return endedAs(r.Outcome.Result)
	}
	if p.lines.choose("auto", r.Run); p.lines.of != nil {
		p.instrument.PlacesOf = p.lines.of
	}
	note(p.lines.found(p.granularity))
	return nil
}

// found says which functions the first run has shown.
func (w linesWish) found(g instrument.Granularity) string {
	if w.of == nil {
		return "--lines auto: no function used anything: all of them have " + string(g) + "s"
	}
	functions := "1 function"
	if n := len(w.of); n > 1 {
		functions = fmt.Sprintf("%d functions", n)
	}
	return fmt.Sprintf("--lines auto: %ss of %s with %.0f %% of what all of them used; now the run that is measured", g,
		functions, *w.chosen.SharePercent)
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
		return nil, fail(statusUsage, "--stdin: %w", err)
	}
	return in, nil
}

// onceOnly refuses a program that comes on standard input where it is run several times, as a flag says.
func onceOnly(flag string) func(*os.File) (*os.File, error) {
	return func(*os.File) (*os.File, error) {
		return nil, fail(statusUsage, "--%s: a program that comes on standard input can be read once only: save it "+
			"to a file", flag)
	}
}
