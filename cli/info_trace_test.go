package cli

import "testing"

// The records of ranks are told with the least and the most of one.
func TestSpread(t *testing.T) {
	for want, ranks := range map[string][]traceRank{
		"":                                {{0, 7}},
		", 1 200 each":                    {{0, 1200}, {1, 1200}},
		", from 3 (rank 2) to 9 (rank 1)": {{0, 5}, {1, 9}, {2, 3}},
	} {
		if got := spread(ranks); got != want {
			t.Errorf("%v: %q, want %q", ranks, got, want)
		}
	}
}
