package windows

import (
	"fmt"
	"testing"
	"time"

	"cg/checkpoint"
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

// What a counter shows of windows that are joined may be that of any who ran in them, whether it is measured or made of
// powers. So it is for a process that was forked in them and is known later.
func TestBoundsOfJoinedWindows(t *testing.T) {
	for _, method := range []nemb.Method{nemb.Measured, nemb.Derived} {
		for _, forked := range []bool{false, true} {
			tree := paths.NewTree()
			f, g := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
			d := counter
			d.Method, d.Period = method, 50*time.Millisecond
			w := New([]nemb.Domain{d}, 1, tree)
			w.Joins = true
			w.Begin(sample(0, 0, account.Usage{}))
			for i := range int64(10) {
				s := sample((i+1)*10*ms, nemb.Energy((i+1)/5)*500_000, account.Usage{Program: time.Duration(i+1) * 10 * ms})
				thread := Thread{ID: id(1), Parts: []paths.Part{{Node: g, Ticks: 10 * ms}}}
				switch {
				case i < 2 && !forked:
					thread.Parts[0].Node = f
				case i < 6 && forked:
					thread.Parts[0].Node = paths.Root
				case i == 6 && forked: // f has run 20 ms outside the threads in the windows 2 to 6
					thread = Thread{ID: id(2), Parts: []paths.Part{{Node: f, Ticks: 60 * ms}},
						Forked: Forked{At: checkpoint.Tick(10 * ms), Used: 20 * ms}}
				}
				w.Close(s, false, []Thread{thread})
			}
			name := fmt.Sprintf("%s, forked %v", method, forked)
			self, inclusive := w.Bounds(1, 0)
			if most := 500_000.; self.Lo != 0 || self.Hi < most || inclusive != self {
				t.Errorf("%s: %+v, %+v, want up to %g", name, self, inclusive, most)
			}
			if of := w.Domains[0].Paths[f]; of <= 0 {
				t.Errorf("%s: %g uJ", name, of)
			}
		}
	}
}
