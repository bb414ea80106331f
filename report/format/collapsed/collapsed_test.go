package collapsed

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

func TestCollapsedGolden(t *testing.T) {
	value := func(v string) format.Options { return format.Options{Chosen: map[string]string{"value": v}} }
	for file, b := range map[string][]byte{
		"energy.collapsed":  reporttest.Write(t, "collapsed", reporttest.Example(t, nemb.Measured), format.Options{}),
		"time.collapsed":    reporttest.Write(t, "collapsed", reporttest.Example(t, nemb.Unavailable), value("time")),
		"calls.collapsed":   reporttest.Write(t, "collapsed", reporttest.Suite(t, nemb.Measured), value("calls")),
		"hostile.collapsed": reporttest.Write(t, "collapsed", reporttest.Hostile(t), format.Options{}),
	} {
		reporttest.Golden(t, filepath.Join("testdata", file), b)
	}
	reporttest.GoldenKinds(t, "collapsed", "folded", value("time"))
}

// Lines of collapsed stacks add up to the program's energy, whatever the names.
func TestCollapsedAddsUp(t *testing.T) {
	for _, r := range []*report.Run{reporttest.Example(t, nemb.Measured), reporttest.Suite(t, nemb.Measured), reporttest.Hostile(t)} {
		sum := report.Joules(0)
		for _, line := range strings.Split(strings.TrimSpace(string(reporttest.Write(t, "collapsed", r, format.Options{}))),
			"\n") {
			at := strings.LastIndexByte(line, ' ')
			n := report.Joules(0)
			if err := json.Unmarshal([]byte(line[at+1:]+"e-6"), &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			sum += n
		}
		if sum != *r.Totals.ProgramEnergyJ {
			t.Errorf("the lines add up to %d, the program used %d", sum, *r.Totals.ProgramEnergyJ)
		}
	}
	f, _ := format.Named("collapsed", (*report.Run)(nil))
	if err := f.Write(&bytes.Buffer{}, report.Together([]*report.Run{reporttest.Example(t, nemb.Unavailable)}), format.Options{}); err == nil {
		t.Error("energies that are not known are written")
	}
}
