package report

import (
	"testing"
	"time"

	"cg/measure"
	"cg/nemb/sampler"
)

// A run tells how old the readings of each source were.
func TestAgesOfReadings(t *testing.T) {
	r := &Run{}
	r.sampler(Facts{Outcome: &measure.Outcome{Ages: []sampler.Age{
		{Median: time.Millisecond, P95: 2 * time.Millisecond, Max: 9 * time.Millisecond, Kernel: 4 * time.Millisecond},
		{Of: "package-0", Median: 500 * time.Microsecond, P95: time.Millisecond, Max: 3 * time.Millisecond},
	}}})
	want := []Age{{AgeOfTimes, 1, 2, 9, 4}, {"package-0", 0.5, 1, 3, 0}}
	if len(r.Sampler.Ages) != 2 || r.Sampler.Ages[0] != want[0] || r.Sampler.Ages[1] != want[1] {
		t.Errorf("%+v, want %+v", r.Sampler.Ages, want)
	}
}
