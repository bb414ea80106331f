package csv

import (
	"path/filepath"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
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
