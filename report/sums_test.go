package report

import (
	"strings"
	"testing"

	"cg/measure"
)

// Sums that no writer writes are said to be left out.
func TestRefusedSums(t *testing.T) {
	for refused, want := range []string{"", "sums-refused"} {
		r := &Run{}
		r.warnings(Facts{Outcome: &measure.Outcome{Refused: refused}})
		var got []string
		for _, w := range r.Warnings {
			got = append(got, w.Slug)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d refused: %q", refused, s)
		}
	}
}
