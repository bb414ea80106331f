package report

import (
	"testing"

	"cg/attach"
)

func TestMissingSamples(t *testing.T) {
	for _, test := range []struct {
		stats attach.Stats
		want  string
	}{
		{attach.Stats{Looks: 1000}, ""},
		{attach.Stats{Looks: 1000, Lost: 20, Throttled: 20, Torn: 500}, ""},
		{attach.Stats{Looks: 1000, Lost: 1000}, "1000 samples had no room, of 2000"},
		{attach.Stats{Looks: 1000, Throttled: 21}, "21 times the kernel paused the samples of a thread, since they took " +
			"too long (kernel.perf_event_max_sample_rate, kernel.perf_cpu_time_max_percent)"},
		{attach.Stats{Looks: 10, Lost: 1, Late: 2}, "1 samples had no room, of 11; 2 threads ran before they were sampled"},
	} {
		if got := missingSamples(&test.stats); got != test.want {
			t.Errorf("%+v: %q, want %q", test.stats, got, test.want)
		}
	}
}
