package markdown

import (
	"path/filepath"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/compare"
	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/verdict"
)

func TestRuns(t *testing.T) {
	names := format.Options{Names: []string{"before", "after"}}
	for file, b := range map[string][]byte{
		"measured.md": reporttest.Write(t, "markdown", reporttest.Example(t, nemb.Measured), format.Options{}),
		"unknown.md":  reporttest.Write(t, "markdown", reporttest.Example(t, nemb.Unavailable), format.Options{}),
		"tests.md":    reporttest.Write(t, "markdown", reporttest.Suite(t, nemb.Estimated), format.Options{}),
		"hostile.md":  reporttest.Write(t, "markdown", reporttest.Hostile(t), format.Options{}),
		"several.md":  reporttest.Write(t, "markdown", report.Several{reporttest.Example(t, nemb.Estimated), reporttest.Faster(t)}, names),
	} {
		reporttest.Golden(t, filepath.Join("testdata", file), b)
	}
	reporttest.GoldenKinds(t, "markdown", "md", format.Options{})
}

func TestRepeated(t *testing.T) {
	for _, name := range []string{"measured", "estimated", "unavailable"} {
		reporttest.Golden(t, filepath.Join("testdata", "repeated-"+name+".md"), reporttest.Write(t, "markdown", reporttest.Saved[repeated.Result](t, "repeated-"+name), format.Options{}))
	}
}

func TestComparisons(t *testing.T) {
	for _, name := range []string{"several", "single", "different", "hostile", "zero", "unknown", "repeated"} {
		reporttest.Golden(t, filepath.Join("testdata", "compare-"+name+".md"), reporttest.Write(t, "markdown",
			reporttest.Saved[compare.Result](t, "compare-"+name), format.Options{Top: 15}))
	}
}

func TestGate(t *testing.T) {
	reporttest.Golden(t, "testdata/gate.md", reporttest.Write(t, "markdown", reporttest.Saved[verdict.Check](t, "gate"), format.Options{}))
}
