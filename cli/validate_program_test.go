package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"cg/laboratory"
)

// A row says how many of its values are not told, for which of cg's reasons, and which runs tell nothing at all.
func TestRowSaysWhatIsNotTold(t *testing.T) {
	told := laboratory.Value{Truth: 10, Figure: 11, Lo: 9, Hi: 13, Told: true}
	noisy, silent := told, laboratory.Value{Truth: 10, Unresolved: "no sensor"}
	noisy.Unresolved = "collinear"
	r := laboratory.Row{}
	r.Add(laboratory.Outcome{Values: []laboratory.Value{told, told, noisy}, Program: told})
	r.Add(laboratory.Outcome{Values: []laboratory.Value{silent, silent}, Untold: "the counter stood | for 2 s"})
	row := laboratoryRow{Program: "five", Language: "c", IntervalMs: 1}.with(&r)
	var text strings.Builder
	if err := row.print(&text); err != nil {
		t.Fatal(err)
	}
	want := "| five | c | 1 ms | 3 | +10.0 | 10.0 | 10.0 | 20.0 | 3: no sensor 2; collinear 1; " +
		"nothing told in run 2: the counter stood / for 2 s | 100.0 % | 10.0, 1 of 1 |\n"
	if text.String() != want {
		t.Errorf("%swant\n%s", text.String(), want)
	}
	b, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"untold":2,"unresolved":1,"reasons":{"collinear":1,"no sensor":2}`,
		`"silent_runs":[{"run":2,"why":"the counter stood | for 2 s"}]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s, want %s in it", b, want)
		}
	}
}
