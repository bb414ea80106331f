package locations

import (
	"bytes"
	"path/filepath"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

func TestGolden(t *testing.T) {
	for file, r := range map[string]*report.Run{
		"measured.locations": reporttest.Example(t, nemb.Measured), "estimated.locations": reporttest.Example(t, nemb.Estimated),
		"unknown.locations": reporttest.Example(t, nemb.Unavailable), "hostile.locations": reporttest.Hostile(t),
	} {
		reporttest.Golden(t, filepath.Join("testdata", file), reporttest.Write(t, "locations", r, format.Options{}))
	}
}

// A function of a file has one line, whatever its name is.
func TestLines(t *testing.T) {
	r := reporttest.Poisoned(reporttest.Example(t, nemb.Measured))
	want := 0
	for _, f := range r.Functions {
		if f.IsPlaced() {
			want++
		}
	}
	if got := bytes.Count(reporttest.Write(t, "locations", r, format.Options{}), []byte("\n")); got != want || want == 0 {
		t.Errorf("%d lines of %d functions", got, want)
	}
}
