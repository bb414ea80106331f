package report

import (
	"strings"
	"testing"
	"time"

	"cg/measure"
	"cg/nemb"
	"cg/nemb/attribute"
)

// A domain that drew more than it can, and what the sensors' reader doubts,
// are warnings.
func TestDoubtsAreWarnings(t *testing.T) {
	domains := []nemb.Domain{{ID: "package-0", Most: 300}, {ID: "dram-0", Most: 195, Source: "powercap"},
		{ID: "dram-1", Most: 195}, {ID: "gpu0"}}
	o := &measure.Outcome{Domains: domains}
	o.Attributed = attribute.Result{Wall: 10 * time.Second,
		Domains: []attribute.Ledger{{Total: 1903e6}, {Total: 2000e6}, {Total: 60e6}, {Total: 9e12}}}
	r := &Run{}
	r.warnings(Facts{Outcome: o, Doubts: []nemb.Note{{Doubt: true, Text: "package-0: two sources disagree"}}})
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Slug+": "+w.Message)
	}
	want := "sensor-suspect: package-0: two sources disagree; dram-0: 200 W is more than the 195 W that it could " +
		"draw at most: powercap counts in another unit than it says"
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("\n got %s\nwant %s", s, want)
	}
}
