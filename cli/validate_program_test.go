package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"cg/laboratory"
)

// A row says how many of its values are not told, for which of cg's reasons, and which runs tell nothing at all.
func TestRowSaysWhatIsNotTold(t *testing.T) {
	told := laboratory.Value{Truth: 10, Figure: 11, Lo: 9, Hi: 13, Told: true}
	noisy, silent := told, laboratory.Value{Truth: 10, Unresolved: "no sensor"}
	noisy.Unresolved = "collinear\r\n| now"
	r := laboratory.Row{}
	r.Add(laboratory.Outcome{Values: []laboratory.Value{told, told, noisy}, Program: told})
	r.Add(laboratory.Outcome{Values: []laboratory.Value{silent, silent}, Untold: "the counter stood | for 2 s\n\n"})
	row := laboratoryRow{Program: "five", Language: "c", IntervalMs: 1}.with(&r)
	var text strings.Builder
	if err := row.print(&text); err != nil {
		t.Fatal(err)
	}
	want := "| five | c | 1 ms | 3 | +10.0 | 10.0 | 10.0 | 20.0 | 3: no sensor 2; collinear \\| now 1; " +
		"nothing told in run 2: the counter stood \\| for 2 s | 100.0 %, wide | 10.0, 1 of 1 |\n"
	if text.String() != want {
		t.Errorf("%swant\n%s", text.String(), want)
	}
	b, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"untold":2,"unresolved":1,"reasons":{"collinear\r\n| now":1,"no sensor":2}`,
		`"silent_runs":[{"run":2,"why":"the counter stood | for 2 s\n\n"}]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s, want %s in it", b, want)
		}
	}
}

// A row whose intervals are wider than the energies says what is not known.
func TestRowSaysWhyItIsWide(t *testing.T) {
	for _, test := range []struct {
		hi   float64
		want string
	}{{29, "| 90.0 |"}, {32, "| 105.0, not known: the neighbour's power |"}} {
		r := laboratory.Row{Case: laboratory.Case{Unknown: "the neighbour's power"}}
		r.Add(laboratory.Outcome{Values: []laboratory.Value{{Truth: 10, Figure: 11, Lo: 11, Hi: test.hi, Told: true}}})
		var text strings.Builder
		if err := (laboratoryRow{}).with(&r).print(&text); err != nil || !strings.Contains(text.String(), test.want) {
			t.Errorf("%v, %q, want %q in it", err, text.String(), test.want)
		}
	}
}

// The number of each run of a row is told before it.
func TestRunsOfRowAreTold(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	of := laboratory.Case{Language: "c", Estimate: true, Waiting: true,
		Program: laboratory.Program{Functions: 1, Mean: 1, Length: 1}}
	lab := &laboratory.Lab{Cg: "/nonexistent/cg", Dir: t.TempDir()}
	var told []int
	next := func(run int) { told = append(told, run) }
	if row, err := runRow(context.Background(), lab, of, 3, next); err != nil || row.Left == "" || told != nil {
		t.Errorf("without a compiler: %+v, %v, told %v", row, err, told)
	}
	os.WriteFile(os.Getenv("PATH")+"/"+of.Needs(), []byte("#!/bin/sh\n"), 0o700)
	_, err := runRow(context.Background(), lab, of, 3, next)
	if !errors.Is(err, os.ErrNotExist) || !slices.Equal(told, []int{1}) {
		t.Errorf("without cg: %v, told %v", err, told)
	}
}
