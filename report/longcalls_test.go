package report

import (
	"strings"
	"testing"

	"cg/events"
	"cg/nemb"
)

func TestLogOfAnotherRun(t *testing.T) {
	r := example(nemb.Measured)
	if err := r.OfRun(&events.Log{Info: events.Info{RunID: r.Meta.RunID}}); err != nil {
		t.Error(err)
	}
	if err := r.OfRun(&events.Log{Info: events.Info{RunID: "other"}}); err == nil ||
		!strings.Contains(err.Error(), "the event log of run other, and the run is "+r.Meta.RunID) {
		t.Errorf("%v", err)
	}
}

// What is told of long calls agrees with the sites and with itself.
func TestCheckOfLongCalls(t *testing.T) {
	r := example(nemb.Measured)
	site := r.Sites[0]
	r.LongCalls = []LongCall{{7, 7, site.ID, 100e6, 900e6}, {7, 7, site.ID, 200e6, 230e6}}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	for want, spoil := range map[string]func(*Run){
		"long_calls[0].site: 99 is no site": func(r *Run) { r.LongCalls[0].Site = 99 },
		"long_calls[1].ended_at_mono_ns: 100 is before its start, " +
			"200000000": func(r *Run) { r.LongCalls[1].EndedAtMonoNs = 100 },
		"long_calls[1].started_at_mono_ns: 5 is before that of the one " +
			"before": func(r *Run) { r.LongCalls[1].StartedAtMonoNs = 5 },
	} {
		bad := *r
		bad.LongCalls = append([]LongCall{}, r.LongCalls...)
		spoil(&bad)
		if faults := strings.Join(bad.Check(), "\n"); !strings.Contains(faults, want) {
			t.Errorf("%q, want %q", faults, want)
		}
	}
}
