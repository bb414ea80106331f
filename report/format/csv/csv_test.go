package csv

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/track/merge"
)

func TestGolden(t *testing.T) {
	names := format.Options{Names: []string{"before", "after"}}
	table := func(name string) format.Options { return format.Options{Chosen: map[string]string{"table": name}} }
	for file, b := range map[string][]byte{
		"functions.csv": reporttest.Write(t, "csv", reporttest.Example(t, nemb.Measured), format.Options{}),
		"several.csv":   reporttest.Write(t, "csv", report.Several{reporttest.Example(t, nemb.Measured), reporttest.Example(t, nemb.Unavailable)}, names),
		"tasks.csv":     reporttest.Write(t, "csv", reporttest.Suite(t, nemb.Measured), table("tasks")),
		"ledger.csv":    reporttest.Write(t, "csv", reporttest.Example(t, nemb.Estimated), table("ledger")),
		"paths.csv":     reporttest.Write(t, "csv", reporttest.Suite(t, nemb.Measured), table("paths")),
		"lines.csv":     reporttest.Write(t, "csv", reporttest.Lines(t), table("places")),
		"inner.csv":     reporttest.Write(t, "csv", reporttest.Inner(t), table("inner")),
		"samples.csv":   reporttest.Write(t, "csv", reporttest.Suite(t, nemb.Measured), table("samples")),
		"hostile.csv":   reporttest.Write(t, "csv", reporttest.Hostile(t), format.Options{}),
	} {
		reporttest.Golden(t, filepath.Join("testdata", file), b)
	}
	for _, name := range tables.Values {
		reporttest.GoldenKinds(t, "csv", name+".csv", table(name))
	}
	for _, name := range []string{"measured", "estimated", "unavailable"} {
		reporttest.Golden(t, filepath.Join("testdata", "repeated-"+name+".csv"), reporttest.Write(t, "csv", reporttest.Saved[repeated.Result](t, "repeated-"+name), format.Options{}))
	}
}

// TestTablesOfRepeatedRuns: means of functions and places over runs are tables of their own, and one that there is not
// is refused in a line.
func TestTablesOfRepeatedRuns(t *testing.T) {
	over := func(x float64) *repeated.Statistic {
		lo, hi := x-1, x+1
		return &repeated.Statistic{Mean: x, CI95Lower: &lo, CI95Upper: &hi}
	}
	r := &repeated.Result{Commands: []repeated.Command{{Functions: []repeated.Function{{Name: "f", File: "a.c", Line: 7,
		Language: "c", Kind: "function", Runs: 2, EnergyKind: nemb.Measured, Calls: over(3), SelfEnergyJ: over(2),
		SelfTimeS: over(1.5), Places: []repeated.Place{{Kind: "block", Line: 8, EndLine: 8, Ordinal: 1, Text: "=x;",
			OwnPowerRuns: 4, Count: over(9), SelfEnergyJ: over(2)}}}}}}}
	for table, want := range map[string]string{
		"functions": ",f,a.c,7,c,function,2,measured,3,2,4,2,1,3,,,,1.5,0.5,2.5",
		"places":    ",f,a.c,block,8,8,1,'=x;,9,8,10,2,1,3,,,,4",
	} {
		var b bytes.Buffer
		if err := writeRepeated(&b, r, format.Options{Chosen: map[string]string{"table": table}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if len(lines) != 2 || lines[1] != want || strings.Count(lines[0], ",") != strings.Count(want, ",") {
			t.Errorf("%s: %q, want %q", table, lines, want)
		}
	}
	for _, write := range []func() error{
		func() error {
			return writeRepeated(io.Discard, r, format.Options{Chosen: map[string]string{"table": "ledger"}})
		},
		func() error {
			return writeMerged(io.Discard, &merge.Logs{}, format.Options{Chosen: map[string]string{"table": "tasks"}})
		},
	} {
		if err := write(); err == nil || !strings.Contains(err.Error(), "--table") {
			t.Errorf("%v", err)
		}
	}
}
