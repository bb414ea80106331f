package cli

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/measure"
	"cg/nemb"
)

func TestLiveText(t *testing.T) {
	for want, p := range map[string]measure.Progress{
		"cg: 2.00 s": {Elapsed: 2 * time.Second, Method: nemb.Unavailable},
		"cg: Machine ~3.00 J  Time 1.00 s": {Elapsed: time.Second, Energy: 3e6,
			Method: nemb.Estimated},
		"cg: Machine 3.00 J  Power 4.50 W  Time 1.00 s  most in a.b": {Elapsed: time.Second, Energy: 3e6, Power: 4.5,
			Method: nemb.Measured, Most: checkpoint.Site{ID: 1, Func: "a.b"}},
	} {
		if got := liveText(p, 80); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	p := measure.Progress{Elapsed: time.Second, Energy: 3e6, Power: 4.5, Method: nemb.Measured, Most: checkpoint.Site{ID: 1, Func: "shop.Router.distances"}}
	for columns, want := range map[int]string{
		80: "cg: Machine 3.00 J  Power 4.50 W  Time 1.00 s  most in shop.Router.distances",
		68: "cg: Machine 3.00 J  Power 4.50 W  Time 1.00 s  most in …er.distances",
		61: "cg: Machine 3.00 J  Power 4.50 W  Time 1.00 s  most in …ances",
		60: "cg: Machine 3.00 J  Power 4.50 W  Time 1.00 s",
	} {
		if got := liveText(p, columns); got != want {
			t.Errorf("%d columns: %q, not %q", columns, got, want)
		}
	}
}
