package measure

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute"
)

// What is told of a run is the energy since its first sample, and the power since what was told before.
func TestLiveProgress(t *testing.T) {
	const ms = checkpoint.Instant(time.Millisecond)
	domains := []nemb.Domain{{ID: "package-0", InTotal: true, Method: nemb.Measured}, {ID: "core"}}
	var told []Progress
	l := &live{tell: func(p Progress) { told = append(told, p) }, domains: domains}
	a := attribute.New(domains, 1)
	sample := func(at checkpoint.Instant, e nemb.Energy, failed bool) {
		l.take(nemb.Sample{Time: at, Energy: []nemb.Energy{e, 1}, Failed: failed})
		l.show(at, a, nil)
	}
	sample(1000*ms, 7e6, false)
	sample(1100*ms, 8e6, false) // too early
	sample(1600*ms, 0, true)    // the reading before is what is known
	sample(2100*ms, 11e6, false)
	want := []Progress{{Method: nemb.Measured},
		{Elapsed: 600 * time.Millisecond, Energy: 1e6, Power: 10, Method: nemb.Measured},
		{Elapsed: 1100 * time.Millisecond, Energy: 4e6, Power: 3, Method: nemb.Measured}}
	if len(told) != len(want) {
		t.Fatalf("%+v", told)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("%d: %+v, not %+v", i, told[i], want[i])
		}
	}
	var none *live
	none.take(nemb.Sample{})
	none.show(0, a, nil)
}
