package cli

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/output"
	"cg/cli/tell"
	"cg/launcher"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/saved"
	"cg/version"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "show what changed between saved runs",
		ArgsUsage: "BASE.json HEAD.json",
		Description: `Compares files that cg measure or cg run saved with -o: the program's energy, the
machine's, each domain, time, and the self energy of each function. With several
runs on a side (--base A.json --base B.json C.json D.json, or a file of cg run),
intervals and verdicts come from the variation between runs. With two single runs
they come from the bounds of the two values, and a verdict is weak (?).

Verdicts: higher, lower, within threshold (a change is shown, and it is smaller
than --threshold), no change shown, not comparable (a figure is not known, or 0).

Runs of many ranks (the folder of --ranks, or what cg merge saved) are compared as
wholes: the energy of the ranks stands where that of the program does, that of the
nodes where that of the machine does, and functions are over all ranks.

Lines and blocks (-g line, -g block) are compared, too, within functions that both
sides have. A line is found by its text, in the order of the source, so lines that
were put in or taken out do not move the others.

Runs of different machines, sensors, kinds of figures (measured, estimated),
granularities or exit statuses are refused. --allow-different compares them
anyway, and every output says so.

Two reports of BenchmarkDotNet (NAME-report-full.json) are compared by the times of
their benchmarks; they have no energy, and --fail-on-regression is refused.

cg report BASE.json HEAD.json -o page.html shows two runs of cg measure as a page,
with these verdicts and the call paths of both in one picture.

Exit status: 0; 1 if the sides cannot be compared, no energy (of BenchmarkDotNet: no
time) of them is known, or, with --fail-on-regression, an energy is higher, the
program's cannot be compared, or --lines auto chose other functions on the two sides;
2 usage.`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "base",
				Usage: "compare with the run in `FILE`; files without --base are then all of the head"},
			&cli.StringFlag{Name: "format", Aliases: []string{"f"},
				Usage: "write in `FORMAT`, " + format.Alternatives(format.Of((*compare.Result)(nil))) +
					"; default: as the name of -o ends, else text"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write to `FILE` (- for standard output, the default)"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON on standard output"},
			&cli.StringFlag{Name: "junit", Usage: "write JUnit XML to `FILE`, too: a test for each energy"},
			&cli.StringFlag{Name: "threshold", Value: "5", Usage: "the smallest change that matters, in `PERCENT`"},
			&cli.StringSliceFlag{Name: "functions",
				Usage: "compare only functions whose qualified name matches `GLOB`"},
			&cli.IntFlag{Name: "top", Value: 15,
				Usage: "show the `N` functions with the largest differences, 0 for all (text and markdown)"},
			&cli.IntFlag{Name: "command", Value: 1,
				Usage: "of what cg run saved of several commands, compare number `N`"},
			&cli.BoolFlag{Name: "allow-different",
				Usage: "compare runs of different machines, sensors and kinds of figures"},
			&cli.BoolFlag{Name: "fail-on-regression",
				Usage: "exit with 1 if an energy is higher, or the program's cannot be compared"},
		},
		Action: runCompare,
	}
}

func runCompare(c *cli.Context) error {
	f, err := compareFormat(c)
	if err != nil {
		return exit.Usage("%w", err)
	}
	o, err := compareOptions(c)
	if err != nil {
		return exit.Usage("%w", err)
	}
	sides, err := compareSides(c)
	if err != nil {
		return err
	}
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	outs := []*output.File{{Flag: "-o", Name: c.String("output")}, {Flag: "--junit", Name: c.String("junit")}}
	for _, out := range outs {
		if err := out.Open(); err != nil {
			outs[0].Abandon()
			return err
		}
		defer out.Abandon()
	}
	comparison, err := compareSaved(ctx, c, sides, o)
	if err != nil {
		return err
	}
	if c.IsSet("functions") && len(comparison.Functions)+len(comparison.OnlyInBase)+len(comparison.OnlyInHead) == 0 {
		return exit.Failure("--functions: no function of either side has such a name: %s",
			strings.Join(c.StringSlice("functions"), ", "))
	}
	if err := writeComparison(c, comparison, f, outs, release); err != nil {
		return exit.Failure("%w", err)
	}
	if why := comparison.Nothing(); why != "" {
		return exit.Failure("%s", why)
	}
	if why := comparison.Fault(); why != "" && c.Bool("fail-on-regression") {
		return exit.Failure("%s", why)
	}
	return nil
}

// compareSides is the files of the two sides, which are not read yet. It refuses
// what would compare a file with itself, or write over one.
func compareSides(c *cli.Context) (sides [2]compare.Side, err error) {
	base, head := c.StringSlice("base"), c.Args().Slice()
	switch {
	case len(base) == 0 && len(head) == 2:
		base, head = head[:1], head[1:]
	case len(base) == 0:
		return sides, exit.Usage(
			"name two runs: cg compare BASE.json HEAD.json, or those of the base with --base")
	case len(head) == 0:
		return sides, exit.Usage("no run of the head: cg compare --base BASE.json HEAD.json")
	}
	read := slices.Concat(base, head)
	if err := differentFiles(read); err != nil {
		return sides, err
	}
	if err := output.Different(c, "output", "junit"); err != nil {
		return sides, err
	}
	return [2]compare.Side{{Names: base}, {Names: head}}, output.Keeps(c, read, "output", "junit")
}

// compareSaved reads the files of both sides and compares what is in them.
func compareSaved(ctx context.Context, c *cli.Context, sides [2]compare.Side,
	o compare.Options) (*compare.Result, error) {
	progress := tell.NewProgress()
	defer progress.End()
	var comparison *compare.Result
	err := exit.Interruptible(ctx, func() error {
		for i := range sides {
			for _, name := range sides[i].Names {
				progress.Say("reading %s", name)
				saved, err := savedFile(name)
				if err != nil {
					return err
				}
				sides[i].Saved = append(sides[i].Saved, saved)
			}
		}
		if err := unused(c, sides); err != nil {
			return err
		}
		progress.Say("comparing")
		made, err := compare.Compare(sides[0], sides[1], o)
		comparison = made
		return err
	})
	if err != nil { // work may go on: comparison is not ours to read
		return nil, err
	}
	return comparison, nil
}

// compareFormat is the format that was asked for.
func compareFormat(c *cli.Context) (f format.Format, err error) {
	var d *compare.Result
	file := c.String("output")
	if launcher.Closed(1) && (c.Bool("json") || file == "" || file == "-") {
		return f, fmt.Errorf("standard output is closed and the comparison would be lost: save it with -o FILE")
	}
	switch {
	case c.Bool("json") && c.IsSet("format"):
		return f, fmt.Errorf("--json and -f do not go together: -f is what -o is written in")
	case c.IsSet("format"):
		if f, err = format.Named(c.String("format"), d); err != nil {
			err = fmt.Errorf("-f: %w", err)
		}
	case file != "" && file != "-":
		f, err = format.For(file, d)
	default:
		f, err = format.Named(format.Default, d)
	}
	if err == nil && c.IsSet("top") && (c.Bool("json") && file == "" || !f.Top) {
		top := slices.DeleteFunc(format.Of(d), func(f format.Format) bool { return !f.Top })
		err = fmt.Errorf("--top is for %s: the other formats have every function", format.Names(top, "and"))
	}
	return f, err
}

func compareOptions(c *cli.Context) (o compare.Options, err error) {
	text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(c.String("threshold")), "%"))
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(percent) || percent < 0 || percent > 1e6 {
		return o, fmt.Errorf("--threshold: %q is no percentage: use a number such as 5", c.String("threshold"))
	}
	globs := c.StringSlice("functions")
	for _, g := range globs {
		if _, err := filepath.Match(g, ""); err != nil {
			return o, fmt.Errorf("--functions: %q is no pattern: a [ wants its ]", g)
		}
	}
	if n := c.Int("top"); n < 0 {
		return o, fmt.Errorf("--top: %d is no number of functions: use 1 or more, or 0 for all", n)
	}
	o = compare.Options{Threshold: percent / 100, Allow: c.Bool("allow-different"), Command: c.Int("command") - 1,
		Version: version.Cg}
	if o.Command < 0 {
		return o, fmt.Errorf("--command: %d is no number of a command: they count from 1", o.Command+1)
	}
	if len(globs) > 0 {
		o.Function = func(name string) bool {
			return slices.ContainsFunc(globs, func(g string) bool {
				// A slash is a part of names like any other.
				ok, _ := filepath.Match(strings.ReplaceAll(g, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
				return ok
			})
		}
	}
	return o, nil
}

// unused refuses flags that the files have no use for.
func unused(c *cli.Context, sides [2]compare.Side) error {
	any := func(is func(saved.Document) bool) bool {
		return slices.ContainsFunc(sides[0].Saved, is) || slices.ContainsFunc(sides[1].Saved, is)
	}
	ofDotNet := !any(func(s saved.Document) bool { return s.Benchmarks == nil })
	switch {
	case ofDotNet && c.Bool("fail-on-regression"):
		return exit.Usage("--fail-on-regression is for energies, and reports of BenchmarkDotNet have times " +
			"only: cg gate --base REV -- dotnet run -c Release judges energies")
	case ofDotNet && c.IsSet("command"):
		return exit.Usage("--command is for what cg run saved, and these are reports of BenchmarkDotNet")
	case ofDotNet && c.IsSet("functions"):
		return exit.Usage("--functions is for runs of cg measure: reports of BenchmarkDotNet have benchmarks")
	case c.IsSet("command") && !any(func(s saved.Document) bool { return s.Repeated != nil }):
		return exit.Usage("--command is for what cg run saved, and these are runs of cg measure")
	case c.IsSet("functions") && !any(saved.Document.HasFunctions):
		return exit.Usage("--functions is for runs of cg measure: what cg run saved has none")
	}
	return nil
}

// differentFiles refuses a file that is named twice: a run does not differ from
// itself.
func differentFiles(names []string) error {
	var infos []os.FileInfo
	for i, name := range names {
		if name == "-" {
			if slices.Contains(names[:i], "-") {
				return exit.Usage("- is standard input, which can be one run only")
			}
			infos = append(infos, nil)
			continue
		}
		info, err := os.Stat(name)
		if err != nil { // reading it will tell
			info = nil
		}
		for k, other := range infos {
			if info != nil && other != nil && os.SameFile(info, other) {
				return exit.Usage("%s and %s are the same file: there is nothing to compare", names[k], name)
			}
		}
		infos = append(infos, info)
	}
	return nil
}

// savedFile reads what cg measure, cg run or cg merge saved, and folders of ranks.
func savedFile(name string) (saved.Document, error) {
	if ofRanks(name) {
		return savedRanks(name)
	}
	f, done, err := openSaved(name)
	if err != nil {
		return saved.Document{}, exit.Failure("%s: %w", name, err)
	}
	defer done()
	saved, err := saved.Read(f)
	if err != nil {
		return saved, exit.Failure("%s: %w", name, err)
	}
	return saved, nil
}

func writeComparison(c *cli.Context, comparison *compare.Result, f format.Format, outs []*output.File,
	release func()) error {
	var main bytes.Buffer
	o := format.Options{Terminal: output.Terminal(os.Stdout, false), Top: c.Int("top")}
	if outs[0].Part != nil {
		o.Terminal = format.Terminal{Width: 100}
	}
	if err := f.Write(&main, comparison, o); err != nil {
		return err
	}
	junit, err := output.Formatted(output.FormatOf["junit"], comparison, format.Options{})
	if err != nil {
		return err
	}
	toStdout := outs[0].Part == nil && !c.Bool("json")
	for i, b := range [][]byte{main.Bytes(), junit} {
		if err := outs[i].Save(b); err != nil {
			return fmt.Errorf("%s: %w", outs[i].Flag, err)
		}
	}
	text := main.Bytes()
	if c.Bool("json") {
		if text, err = output.Formatted(output.FormatOf["output"], comparison, format.Options{}); err != nil {
			return err
		}
	} else if !toStdout {
		return nil
	}
	release() // a reader that waits is ended by what ends cg
	if _, err := os.Stdout.Write(text); err != nil {
		return fmt.Errorf("writing the comparison to standard output: %w", err)
	}
	return nil
}
