package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"cg/cli/exit"
	"cg/cli/folders"
	"cg/cli/tell"
	"cg/laboratory"
	"cg/shown"
)

// laboratoryRow is a row of cg validate --program --json. What no run told is null.
type laboratoryRow struct {
	Program    string  `json:"program"`
	Language   string  `json:"language"`
	IntervalMs float64 `json:"interval_ms"`
	Runs       int     `json:"runs"`
	Values     int     `json:"values"`
	Held       int     `json:"held"`
	Untold     int     `json:"untold"`
	Unresolved int     `json:"unresolved"`
	// Reasons is how many values are not resolvable or have no interval, for each of cg's reasons; none where all are.
	Reasons map[string]int `json:"reasons,omitempty"`
	// Silent are the runs of which no function has an interval, by their number from 1 on; none as a rule.
	Silent    []silentRun `json:"silent_runs,omitempty"`
	Bias      float64     `json:"bias_percent"`
	Median    *float64    `json:"median_error_percent"`
	Worst     float64     `json:"worst_error_percent"`
	HalfWidth *float64    `json:"median_half_width_percent"`
	// Unknown is why the median half width may be more than 100 %, where it is.
	Unknown string `json:"not_known,omitempty"`
	Kept    *bool  `json:"kept"`
	Wide    bool   `json:"wide,omitempty"` // it holds more intervals than it needs to
	// Of the runs by counters: how many told the program's energy, how many of these intervals hold, and the mean of
	// the errors whatever their sign.
	Programs     int      `json:"programs"`
	ProgramsHeld int      `json:"programs_held"`
	ProgramError *float64 `json:"program_error_percent"`
	Left         string   `json:"left_out,omitempty"` // why it was not run
}

// silentRun is a run of a row of which cg told no function's interval, and why not.
type silentRun struct {
	Run int    `json:"run"`
	Why string `json:"why"`
}

// validatePrograms runs the cases of the laboratory, and prints a row as soon as its runs are over.
func validatePrograms(c *cli.Context) error {
	if c.Int("runs") < 1 {
		return exit.Usage("--runs: %d: use 1 or more", c.Int("runs"))
	}
	var cases []laboratory.Case
	var names []string
	for _, of := range laboratory.Cases() {
		name := of.Language + ": " + of.Name
		names = append(names, name)
		if strings.Contains(name, c.String("row")) {
			cases = append(cases, of)
		}
	}
	if len(cases) == 0 {
		return exit.Usage("--row: no row has %q in its name; there are %s", c.String("row"),
			strings.Join(names, "; "))
	}
	folder, err := folders.Run()
	if err != nil {
		return exit.Failure("no place for files: %w (set TMPDIR to a folder that can be written)", err)
	}
	defer folder.Remove()
	cg, err := os.Executable()
	if err != nil {
		return exit.Failure("--program: %w", err)
	}
	// What is mounted and started has to go before cg does.
	ctx, release := signal.NotifyContext(c.Context, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer release()
	rows, err := runRows(ctx, c, &laboratory.Lab{Cg: cg, Dir: folder.Path}, cases)
	if ctx.Err() != nil {
		err = exit.With(128+int(exit.Interrupted(ctx)), "--program: interrupted: the rows that were over are told")
	}
	if c.Bool("json") { // also what there was before an error
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(map[string]any{"programs": rows}); err != nil {
			return exit.Failure("standard output: %w", err)
		}
	}
	return err
}

// runRows runs the cases, and gives their rows. Without --json it prints each as soon as it is there.
func runRows(ctx context.Context, c *cli.Context, lab *laboratory.Lab,
	cases []laboratory.Case) (rows []laboratoryRow, err error) {
	rows = []laboratoryRow{}
	if !c.Bool("json") {
		err := tell.Put("| program | language | samples | values | mean error | median error " +
			"| worst | half interval | not told | intervals that hold | program |\n" +
			"|---|---|---|---|---|---|---|---|---|---|---|\n")
		if err != nil {
			return nil, exit.Failure("standard output: %w", err)
		}
	}
	progress := tell.NewProgress()
	defer progress.End()
	for i, of := range cases {
		row, err := runRow(ctx, lab, of, c.Int("runs"), func(run int) {
			progress.Say("row %d of %d, %s: %s, run %d of %d", i+1, len(cases), of.Language, of.Name, run,
				c.Int("runs"))
		})
		progress.End()
		if errors.Is(err, laboratory.ErrNotPermitted) {
			return rows, exit.Failure("--program: %w; run it as root", err)
		} else if err != nil {
			return rows, exit.Failure("--program: %s, %s: %w", of.Language, of.Name, err)
		}
		rows = append(rows, row)
		if !c.Bool("json") {
			if err := row.print(os.Stdout); err != nil {
				return rows, exit.Failure("standard output: %w", err)
			}
		}
	}
	return rows, nil
}

// runRow runs a case, and tells the number of each run before it, from 1 on.
func runRow(ctx context.Context, lab *laboratory.Lab, of laboratory.Case, runs int,
	next func(run int)) (laboratoryRow, error) {
	row := laboratoryRow{Program: of.Name, Language: of.Language, IntervalMs: ms(of.Every)}
	if _, err := exec.LookPath(of.Needs()); err != nil {
		row.Left = of.Needs() + " is not installed"
		return row, nil
	}
	r := laboratory.Row{Case: of}
	for seed := range runs {
		next(seed + 1)
		out, err := lab.Run(ctx, of, uint64(seed+1))
		if errors.Is(err, laboratory.ErrNoQuota) {
			row.Left = "no control group with a quota can be made here"
			return row, nil
		}
		if err != nil {
			return row, err
		}
		r.Add(out)
	}
	return row.with(&r), nil
}

// with is the row with what its runs showed.
func (row laboratoryRow) with(r *laboratory.Row) laboratoryRow {
	percent := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		v *= 100
		return &v
	}
	row.Runs, row.Values, row.Held, row.Untold, row.Unresolved = r.Runs, r.Values, r.Held, r.Untold, r.Unresolved
	row.Bias, row.Median, row.Worst, row.HalfWidth = 100*r.Bias, percent(r.Median), 100*r.Worst, percent(r.HalfWidth)
	if r.HalfWidth > 1 {
		row.Unknown = r.Case.Unknown
	}
	kept := r.IsKept()
	row.Kept, row.Wide = &kept, r.IsWide()
	row.Programs, row.ProgramsHeld = r.Programs, r.Whole
	if r.Programs > 0 {
		row.ProgramError = percent(r.WholeOff)
	}
	row.Reasons = r.Reasons
	for _, s := range r.Silent {
		row.Silent = append(row.Silent, silentRun{s.Run, s.Why})
	}
	return row
}

// untold is how many values are not resolvable or have no interval, and why: cg's reasons, the most frequent first, and
// the runs that tell nothing.
func (r laboratoryRow) untold() string {
	text := strconv.Itoa(r.Unresolved + r.Untold)
	var why []string
	for _, reason := range slices.SortedFunc(maps.Keys(r.Reasons), func(x, y string) int {
		return cmp.Or(cmp.Compare(r.Reasons[y], r.Reasons[x]), cmp.Compare(x, y))
	}) {
		why = append(why, fmt.Sprintf("%s %d", reason, r.Reasons[reason]))
	}
	for _, s := range r.Silent {
		why = append(why, fmt.Sprintf("nothing told in run %d: %s", s.Run, s.Why))
	}
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return inCell(text)
}

// inCell is a text as a cell of a Markdown table has it: in one line, and without the end of a cell.
func inCell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// whole says how far the energy of the whole program is off, and how many of its intervals hold.
func (r laboratoryRow) whole() string {
	if r.ProgramError == nil {
		return ""
	}
	return fmt.Sprintf("%.1f, %d of %d", *r.ProgramError, r.ProgramsHeld, r.Programs)
}

func (r laboratoryRow) print(w io.Writer) error {
	if r.Left != "" {
		_, err := shown.Fprintf(w, "| %s | %s | %g ms | left out: %s | | | | | | | |\n", r.Program, r.Language,
			r.IntervalMs, inCell(r.Left))
		return err
	}
	number := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return fmt.Sprintf("%.1f", *v)
	}
	width := number(r.HalfWidth)
	if r.Unknown != "" {
		width += ", not known: " + r.Unknown
	}
	says := ""
	switch {
	case !*r.Kept:
		says = ", too few"
	case r.Wide:
		says = ", wide"
	}
	_, err := shown.Fprintf(w, "| %s | %s | %g ms | %d | %+.1f | %s | %.1f | %s | %s | %.1f %%%s | %s |\n", r.Program,
		r.Language, r.IntervalMs, r.Values, r.Bias, number(r.Median), r.Worst, width,
		r.untold(),
		100*float64(r.Held)/math.Max(1, float64(r.Values)), says, r.whole())
	return err
}
