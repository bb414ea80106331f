package report

import (
	"strings"
	"testing"

	"cg/measure"
)

// What came of adding up, asked for or not, is said where it is not what the
// user expects.
func TestAddersAreTold(t *testing.T) {
	for _, c := range []struct {
		asked           bool
		adders, refused int
		events          uint64
		want            string // slugs
	}{
		{events: 10},
		{asked: true, adders: 2, events: 10},
		{asked: true},
		{asked: true, events: 10, want: "every-event-told"},
		{adders: 2, events: 10, want: "added-up"},
		{asked: true, adders: 2, refused: 1, events: 10, want: "sums-refused"},
	} {
		o := &measure.Outcome{Adders: c.adders, Refused: c.refused}
		o.Attributed.Stats.Events = c.events
		r := &Run{}
		r.warnings(Facts{Outcome: o, LowOverhead: c.asked})
		var got []string
		for _, w := range r.Warnings {
			got = append(got, w.Slug)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v: %q", c, s)
		}
	}
}
