package attribute

import (
	"testing"
	"time"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb"
)

// Of twenty runs of one program, each with other times of calls, other noise and another moment of the counter, any two
// tell energies of a function whose intervals overlap: in 95 of 100 pairs, also of functions that ran for a few
// milliseconds.
func TestRunsOverlap(t *testing.T) {
	runs := uint64(long.Rounds(t, 6, 20))
	for i, p := range []truth{
		{name: "five, 500 us, noise 10 %", functions: 5, mean: 500 * time.Microsecond, noise: 0.1},
		{name: "six, 200 us, call trees", functions: 6, nested: true, mean: 200 * time.Microsecond},
		{name: "fifty, 100 us, for 10 ms each", functions: 50, mean: 100 * time.Microsecond, length: 500 * time.Millisecond},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.threads = 1
			if p.length == 0 {
				p.length = 4 * time.Second
			}
			type interval struct{ lo, hi nemb.Energy }
			told := map[checkpoint.SiteID][]interval{}
			for seed := range runs {
				p.seed = 100 + seed
				for _, c := range p.play().result.Costs {
					told[c.Site] = append(told[c.Site], interval{c.Self.Lo, c.Self.Hi})
				}
			}
			pairs, overlap, wide := 0, 0, 0
			for _, all := range told {
				for i, a := range all {
					for _, b := range all[i+1:] {
						pairs++
						if a.lo <= b.hi && b.lo <= a.hi {
							overlap++
						}
					}
					if a.hi > 4*a.lo {
						wide++
					}
				}
			}
			t.Logf("%d functions, %d pairs, %.1f %% overlap; %d of %d intervals reach from a value to over four times it",
				len(told), pairs, 100*float64(overlap)/float64(pairs), wide, len(told)*int(runs))
			if i < 2 && wide > 0 {
				t.Error("intervals as wide as these overlap whatever the runs did")
			}
			if len(told) != p.functions || float64(overlap) < 0.95*float64(pairs) {
				t.Errorf("%d functions, and of %d pairs %d overlap", len(told), pairs, overlap)
			}
		})
	}
}
