package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/flags"
	"cg/cli/folders"
	"cg/cli/tell"
	"cg/nemb/simulate"
	"cg/nemb/validate"
)

func validateCommand() *cli.Command {
	return &cli.Command{
		Name:  "validate",
		Usage: "check how exact measuring is, on counters of known power",
		Description: `Measures spans of 0.1 ms to 1 s of known power by each method, on virtual time.
The table is the same on every machine, and shows the methods at their best. A
cell has the mean error, and the bound below which 95 of 100 errors stay, in
percent of the true energy. --sampler and --live test this machine.

--program measures whole programs in Python, Java, Go, C and JavaScript whose
functions draw known power, and prints for each the errors in percent of the true
energy, the median half width of the intervals, how many values are not
resolvable or have no interval and why, with the runs of which nothing is told,
how many intervals have the truth, and the error of the whole program's energy
with how many of its intervals hold. A row that holds clearly less than 93 % says
"too few", one that holds more than 97 % "wide". A row takes --runs times 3 to 10
seconds. Where intervals are wider than the energies, the row says what is unknown.

--live --report FILE says nothing of simulated counters. It watches each source of
energy of this machine by itself, at rest and under load: what its counters claim
and how often they move, their noise, and whether those that measure the same
agree. The file has no names of machines, users, files or processes, no serial
numbers and no addresses (SECURITY.md). Exit status 1: nothing measures, or two
do not agree.

Exit status: 0; 1 when a bound that cg promises is not kept, a live second is
wrong by more than 1 %, or a program cannot be run.`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "tries", Value: 400,
				Usage: "measure each span `N` times (an eighth of that from 100 ms on)"},
			&cli.BoolFlag{Name: "sampler",
				Usage: "also show how well the sampler keeps 10, 1 and 0.1 ms here, beside a time.Ticker"},
			&cli.BoolFlag{Name: "live",
				Usage: "also measure three seconds of a simulated counter in real time (root, /dev/fuse)"},
			&cli.StringFlag{Name: "report",
				Usage: "with --live, watch this machine's own sensors in place of that, and write what they show to " +
					"`FILE`, to be sent to others"},
			&cli.StringFlag{Name: "phase", Value: "10s",
				Usage: "with --report, watch for `TIME` as the machine is, and for as long with all processors busy"},
			flags.Sysroot(),
			&cli.BoolFlag{Name: "program",
				Usage: "run programs in place of that, on simulated counters that show what " +
					"these programs say they use (root)"},
			&cli.IntFlag{Name: "runs", Value: 4, Usage: "with --program, run each program `N` times"},
			&cli.StringFlag{Name: "row", Usage: "with --program, only the rows with `TEXT` in \"language: program\""},
			&cli.BoolFlag{Name: "json", Usage: "print the tables as JSON on standard output"},
		},
		Action: runValidate,
	}
}

// measureLive measures three seconds in real time. A signal ends it, since what it has mounted has to go first.
func measureLive(c *cli.Context, dir string) ([]float64, error) {
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	live, err := validate.Live(ctx, dir, 3)
	switch {
	case ctx.Err() != nil:
		return nil, exit.With(128+int(exit.Interrupted(ctx)), "--live: interrupted")
	case errors.Is(err, simulate.ErrNoFUSE):
		return nil, exit.Failure("--live: %w; run it as root where /dev/fuse is", err)
	case err != nil:
		return nil, exit.Failure("--live: %w", err)
	}
	return live, nil
}

// validation is what cg validate --json prints.
type validation struct {
	Accuracy []accuracyCell `json:"accuracy"`
	Sampler  []timingRow    `json:"sampler,omitempty"`
	Live     []float64      `json:"live_error_percent,omitempty"`
	Kept     bool           `json:"bounds_kept"`
}

type accuracyCell struct {
	Power  string  `json:"power"`
	SpanMs float64 `json:"span_ms"`
	Method string  `json:"method"`
	Tries  int     `json:"tries"`
	Bias   float64 `json:"bias_percent"`
	P95    float64 `json:"p95_percent"`
}

type timingRow struct {
	Mechanism  string  `json:"mechanism"`
	IntervalMs float64 `json:"interval_ms"`
	P50Ms      float64 `json:"p50_ms"`
	P99Ms      float64 `json:"p99_ms"`
	LongestMs  float64 `json:"longest_ms"`
	Missed     float64 `json:"missed_percent"`
	CPU        float64 `json:"cpu_percent"`
}

func runValidate(c *cli.Context) error {
	if c.Args().Present() {
		return exit.Usage("%q: cg validate takes no arguments", c.Args().First())
	}
	if c.Bool("program") {
		for _, flag := range []string{"tries", "live", "sampler", "report", "phase"} {
			if c.IsSet(flag) {
				return exit.Usage("--%s is of spans, and --program measures none: leave it out", flag)
			}
		}
		return validatePrograms(c)
	}
	if c.IsSet("row") || c.IsSet("runs") {
		return exit.Usage("--row and --runs are of --program: add it")
	}
	if c.IsSet("report") {
		return reportHardware(c)
	}
	for _, flag := range []string{"phase", "sysroot"} {
		if c.IsSet(flag) {
			return exit.Usage("--%s is of --live --report FILE: add that", flag)
		}
	}
	if c.Int("tries") < 200 {
		return exit.Usage("--tries: %d are too few to tell 95 of 100: use 200 or more", c.Int("tries"))
	}
	folder, err := folders.Run()
	if err != nil {
		return exit.Failure("no place for files: %w (set TMPDIR to a folder that can be written)", err)
	}
	defer folder.Remove()
	dir := folder.Path
	var live []float64
	if c.Bool("live") {
		if live, err = measureLive(c, dir); err != nil {
			return err
		}
	}
	var timings []validate.Timing
	if c.Bool("sampler") {
		for _, interval := range []time.Duration{10 * time.Millisecond, time.Millisecond, 100 * time.Microsecond} {
			some, err := validate.Timings(dir, interval, time.Second, 3)
			if err != nil {
				return exit.Failure("--sampler: %w", err)
			}
			timings = append(timings, some...)
		}
	}
	progress := tell.NewProgress()
	cells := validate.Accuracy(c.Int("tries"), func(done, of int) {
		progress.Say("measuring power and span %d of %d", done+1, of)
	})
	progress.End()
	broken := validate.Broken(cells)
	if c.Bool("json") {
		err = printJSON(os.Stdout, cells, timings, live, len(broken) == 0)
	} else {
		err = printTables(os.Stdout, cells, timings, live)
	}
	if err != nil {
		return exit.Failure("standard output: %w", err)
	}
	for _, b := range broken {
		tell.Notef("not kept: %s, %v, %s: 95 of 100 errors below %g %%, their mean within %g %%", b.Power, b.Span,
			b.Method, b.P95, b.Bias)
	}
	for i, e := range live {
		if e > 1 || e < -1 {
			return exit.Failure("--live: second %d is wrong by %+.2f %%: the machine is too busy to measure",
				i+1, e)
		}
	}
	if len(broken) > 0 {
		return exit.Failure("%d bounds are not kept", len(broken))
	}
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func printJSON(w io.Writer, cells []validate.Cell, timings []validate.Timing, live []float64, kept bool) error {
	v := validation{Live: live, Kept: kept}
	for _, c := range cells {
		v.Accuracy = append(v.Accuracy, accuracyCell{c.Power, ms(c.Span), c.Method, c.N, c.Bias, c.P95})
	}
	for _, t := range timings {
		v.Sampler = append(v.Sampler,
			timingRow{t.Mechanism, ms(t.Interval), ms(t.P50), ms(t.P99), ms(t.Longest), t.Missed, t.CPU})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func printTables(w io.Writer, cells []validate.Cell, timings []validate.Timing, live []float64) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Errors in percent of the true energy: mean / 95 of 100 below\n")
	wide := 0
	for _, m := range validate.Methods {
		wide = max(wide, len(m))
	}
	per := len(validate.Methods)
	for i := 0; i+per <= len(cells); i += per {
		if i%(per*len(validate.Spans)) == 0 {
			fmt.Fprintf(&b, "\n%-12s", cells[i].Power)
			for _, m := range validate.Methods {
				fmt.Fprintf(&b, "  %*s", wide, m)
			}
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%12v", cells[i].Span)
		for _, c := range cells[i : i+per] {
			fmt.Fprintf(&b, "  %*s", wide, fmt.Sprintf("%+.2f / %.2f", c.Bias, c.P95))
		}
		b.WriteByte('\n')
	}
	if len(timings) > 0 {
		fmt.Fprintf(&b, "\n%-26s %10s %10s %10s %10s %8s %8s\n", "Sampler", "interval", "p50", "p99", "longest",
			"missed", "CPU")
		for _, t := range timings {
			fmt.Fprintf(&b, "%-26s %10v %7.3f ms %7.3f ms %7.3f ms %6.2f %% %6.2f %%\n", t.Mechanism, t.Interval,
				ms(t.P50), ms(t.P99), ms(t.Longest), t.Missed, t.CPU)
		}
	}
	for i, e := range live {
		if i == 0 {
			b.WriteString("\nLive seconds of 40 W:")
		}
		fmt.Fprintf(&b, " %+.3f %%", e)
		if i == len(live)-1 {
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
