package windows

import (
	"math"
	"testing"

	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// What is off by chance in a measured idle power and in a function's energy adds up by squares, and what is not by chance as
// it is.
func TestPart(t *testing.T) {
	for name, tt := range map[string]struct {
		idle nemb.IdlePower
		want Bounds
	}{
		"by chance":      {nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.1, Method: nemb.IdleBaseline}, Bounds{950_000, 1_050_000}},
		"others ran":     {nemb.IdlePower{Power: 4, Lo: 3.7, Hi: 4.1, Method: nemb.IdleRun}, Bounds{950_000, 1_110_000}},
		"was never idle": {nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4, Method: nemb.IdleBefore}, Bounds{960_000, 1_070_000}},
		"another time":   {nemb.IdlePower{Power: 4, Lo: 3.9, Hi: 4.1, Method: nemb.IdleRemembered}, Bounds{930_000, 1_070_000}},
		"published":      {nemb.IdlePower{Power: 4, Hi: 5, Method: nemb.IdlePublished}, Bounds{660_000, 2_240_000}},
	} {
		w := New([]nemb.Domain{{ID: "package-0", Method: nemb.Measured, InTotal: true, Lo: 1, Hi: 1, Base: 4, BaseHi: 4}}, 2, paths.NewTree())
		w.Constant = true
		w.Begin(sample(0, 0, account.Usage{}))
		w.Domains[0].constant.power = tt.idle
		if got := w.Part(0, 1e6, 40_000, 300_000); math.Abs(got.Lo-tt.want.Lo) > 1e-3 || math.Abs(got.Hi-tt.want.Hi) > 1e-3 {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
