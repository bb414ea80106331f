package windows

import (
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// Counters that move seldom are divided by windows of their own, each as if it were the only one, where all call paths
// were known before the first window, too.
func TestSlowCountersShareNoTimes(t *testing.T) {
	for n := 1; n <= 3; n++ {
		tree := paths.NewTree()
		f, g := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
		domains := make([]nemb.Domain, n)
		for d := range domains {
			domains[d] = counter
			domains[d].Period = 50 * time.Millisecond
		}
		w := New(domains, 1, tree)
		w.Joins = true
		begin := sample(0, 0, account.Usage{})
		begin.Energy = make([]nemb.Energy, n)
		w.Begin(begin)
		for i := range int64(10) {
			ran, moves := f, (i+1)/5
			if i >= 5 {
				ran = g
			}
			s := sample((i+1)*10*ms, 0, account.Usage{Program: time.Duration(i+1) * 10 * ms})
			s.Energy = make([]nemb.Energy, n)
			for d := range s.Energy {
				s.Energy[d] = nemb.Energy(moves) * 500_000
			}
			w.Ends = i == 9
			w.Close(s, false, []Thread{{ID: id(1), Parts: []paths.Part{{Node: ran, Ticks: 10 * ms}}}})
		}
		for d := range w.Domains {
			of := w.Domains[d].Paths
			if !near(of[f], 500_000) || !near(of[g], 500_000) || of[paths.Root] != 0 {
				t.Errorf("counter %d of %d: %g uJ and %g uJ, want 500000 each; %g in none", d+1, n, of[f], of[g], of[paths.Root])
			}
		}
	}
}
