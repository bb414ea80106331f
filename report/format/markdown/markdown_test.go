package markdown

import (
	"path/filepath"
	"strings"
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
		"lines.md":    reporttest.Write(t, "markdown", reporttest.Lines(t), format.Options{}),
		"inner.md":    reporttest.Write(t, "markdown", reporttest.Inner(t), format.Options{}),
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

// With --verbose there is a table of how long calls took.
func TestDurations(t *testing.T) {
	r, hi := reporttest.Example(t, nemb.Measured), 1.4e-6
	r.Functions[0].CallsTime = &report.CallsTime{N: 40, MinS: 0.9e-6, MedianS: 1.2e-6, MedianLoS: 1e-6, MedianHiS: &hi,
		P95S: 8e-6, P95LoS: 6e-6, MaxS: 9e-6}
	want := "</code> | 40 | 900 ns | 1.20 µs | 1.00 µs to 1.40 µs | 8.00 µs | 6.00 µs to ? | 9.00 µs |\n"
	for _, verbose := range []bool{false, true} {
		got := reporttest.Write(t, "markdown", r, format.Options{Terminal: format.Terminal{Verbose: verbose}})
		if strings.Contains(string(got), want) != verbose {
			t.Errorf("verbose %v:\n%s", verbose, got)
		}
	}
}

// The hours of commands stand below their table, each with its command where there are several.
func TestHoursOfRepeated(t *testing.T) {
	r := reporttest.Repeated(t, nemb.Measured, 2)
	r.Commands[1].Hours = &report.Hours{Core: 1536}
	if b := string(reporttest.Write(t, "markdown", r, format.Options{})); !strings.Contains(b, "\nHours: ./bench 'a&#124;b': 1536 core-hours of processor time\n") {
		t.Error(b)
	}
}

// Whose the energy of GPUs was in the tasks of a session stands in a table; what is not known is "?".
func TestGPUsOfTasks(t *testing.T) {
	r := reporttest.Suite(t, nemb.Measured)
	j := func(v float64) *report.Joules { j := report.Joules(v * 1e6); return &j }
	r.Tasks[1].GPUs = []report.TaskGPU{
		{Domain: "gpu0", Method: "process", ProgramEnergyJ: j(180), ProgramEnergyLoJ: j(170), ProgramEnergyHiJ: j(195), OtherJ: *j(60), IdleJ: *j(85)},
		{Domain: "gpu1", Method: "unattributed", Reason: "mig", UnattributedJ: *j(30)},
	}
	got := string(reporttest.Write(t, "markdown", r, format.Options{}))
	for _, want := range []string{
		"| task, on GPUs | GPU | method | program | interval | others | idle | nobody's | reason |\n",
		"</code> | gpu0 | process | 180 J | [170 J, 195 J] | 60.0 J | 85.0 J | 0 J |  |\n",
		"</code> | gpu1 | unattributed | ? | ? | 0 J | 0 J | 30.0 J | mig |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
