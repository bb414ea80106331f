package text

import (
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// With --verbose the report tells how long calls took; an upper bound that is not known is no figure.
func TestDurations(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	hi := 1.4e-6
	r.Functions[0].CallsTime = &report.CallsTime{N: 40, MinS: 0.9e-6, MedianS: 1.2e-6, MedianLoS: 1e-6, MedianHiS: &hi,
		P95S: 8e-6, P95LoS: 6e-6, MaxS: 9e-6}
	const want = ": median 1.20 µs (1.00 µs to 1.40 µs), p95 8.00 µs (6.00 µs to ?); 900 ns to 9.00 µs, 40 timed"
	for _, verbose := range []bool{false, true} {
		got := string(reporttest.Write(t, "text", r, format.Options{Terminal: format.Terminal{Width: 400, Verbose: verbose}}))
		if strings.Contains(strings.Join(strings.Fields(got), " "), r.Functions[0].Name+want) != verbose {
			t.Errorf("verbose %v:\n%s", verbose, got)
		}
	}
}
