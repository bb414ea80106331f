package openmetrics

import (
	"strings"
	"testing"

	"cg/report/format"
	"cg/report/repeated"
	"cg/report/reporttest"
	"cg/report/verdict"
)

// The figures of a check are text that GitLab and Prometheus read.
func TestGateMetrics(t *testing.T) {
	reporttest.Golden(t, "testdata/gate.metrics.txt", reporttest.Write(t, "openmetrics", reporttest.Saved[verdict.Check](t, "gate"), format.Options{}))
}

// A command that was given twice has two series, which differ by its place. The others have no such label.
func TestEqualCommands(t *testing.T) {
	r := reporttest.Saved[repeated.Result](t, "repeated-measured")
	first := r.All()[0]
	other := first
	other.Argv = []string{"other"}
	r.Commands = []repeated.Command{first, other, first}
	seen := map[string]bool{}
	numbers := map[string]int{}
	for line := range strings.Lines(string(reporttest.Write(t, "openmetrics", r, format.Options{}))) {
		series, _, ended := strings.Cut(line, "} ")
		if !ended {
			continue
		}
		if seen[series] {
			t.Errorf("twice: %s", series)
		}
		seen[series] = true
		_, number, _ := strings.Cut(series, `,number=`)
		number, _, _ = strings.Cut(number, ",")
		numbers[number]++
		if strings.Contains(series, `command="other"`) == (number != "") {
			t.Errorf("the place of a command: %s", series)
		}
	}
	if want := numbers[""]; len(numbers) != 3 || want == 0 || numbers[`"1"`] != want || numbers[`"3"`] != want {
		t.Errorf("series by number: %v", numbers)
	}
}
