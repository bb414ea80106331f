package text

import (
	"fmt"

	"cg/report"
	"cg/report/figures"
)

// durations lists how long a call took of the functions that come first: median and 95th percentile with
// their bounds, and the shortest and the longest of those that were timed.
func (p *printer) durations(functions []report.Function) {
	if !p.Verbose {
		return
	}
	for _, f := range functions {
		t := f.CallsTime
		if t == nil {
			continue
		}
		p.note(dim, "duration of a call", fmt.Sprintf("%s: median %s, p95 %s; %s to %s, %s timed", f.Name,
			between(t.MedianS, t.MedianLoS, t.MedianHiS), between(t.P95S, t.P95LoS, t.P95HiS), figures.Seconds(t.MinS),
			figures.Seconds(t.MaxS), figures.Count(t.N)))
	}
}

// between is a time with its bounds.
func between(s, lo float64, hi *float64) string {
	upper := "?"
	if hi != nil {
		upper = figures.Seconds(*hi)
	}
	return fmt.Sprintf("%s (%s to %s)", figures.Seconds(s), figures.Seconds(lo), upper)
}
