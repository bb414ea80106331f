package calls

import (
	"math"
	"math/rand/v2"
	"testing"

	"cg/nemb"
)

func near(a, b nemb.Energy, within float64) bool {
	return math.Abs(float64(a)-float64(b)) <= within*float64(b)+1
}

// However many calls there are, some are kept, and what they say holds for all.
func TestKeptCalls(t *testing.T) {
	var c perCall
	random := rand.New(rand.NewPCG(1, 9))
	for range 1_000_000 {
		c.add(one{joules: 3 + random.Float64(), machine: 0.5}, true)
	}
	got := c.summary(4) // 2 J of each are idle
	if len(c.kept) != keptCalls || got.N != 1_000_000 || !near(got.Median, 1_500_000, 0.08) ||
		!near(got.P95, 1_950_000, 0.03) || !near(got.Mean, 1_500_000, 0.001) ||
		got.Min > 1_000_100 || got.Max < 1_999_900 {
		t.Errorf("%d kept, %+v", len(c.kept), got)
	}
}
