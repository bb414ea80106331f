package windows

import (
	"testing"
	"time"

	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute/paths"
)

// The account reports what a thread used a window late, when another process runs, which has
// not its energy. In each domain, the site's share of the window is that of its paths.
func TestArrears(t *testing.T) {
	tree := paths.NewTree()
	long, short := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
	estimated := counter
	estimated.Method = nemb.Estimated
	w := New([]nemb.Domain{estimated}, 2, tree)
	w.Begin(sample(0, 0, account.Usage{}))
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	step := func(at int64, e nemb.Energy, program int, tid uint32, cpu int, node int32) Window {
		u := account.Usage{Program: us(program), Threads: []account.ThreadUsage{{Thread: id(tid), CPU: us(cpu)}}}
		return w.Close(sample(at*ms, e, u), false, []Thread{
			{ID: id(tid), Parts: []paths.Part{{Node: node, Ticks: uint64(cpu) * 1000}}, Ended: true}})
	}
	step(10, 1000, 1000, 1, 5000, long)            // 5 ms, of which the account has 1
	out := step(20, 1000+4300, 5300, 2, 40, short) // 4.3 ms more: those, 40 us, and 260 us of neither
	for n, want := range map[int32]float64{long: 5000, short: 40, paths.Root: 260} {
		if got := w.Domains[0].Paths[n]; !near(got, want) {
			t.Errorf("path %d has %g uJ, want %g", n, got, want)
		}
	}
	if self, _ := w.Bounds(1, 0); !near(self.Lo, 5000) || !near(self.Hi, 5000) {
		t.Errorf("bounds of the first: %+v", self)
	}
	if self, _ := w.Bounds(2, 0); !near(self.Lo, 40) || !near(self.Hi, 40) {
		t.Errorf("bounds of the second: %+v", self)
	}
	// For the regression the window has what ran in it.
	if s := out.Sites; len(s) != 1 || !near(out.Weight, 300e3) || !near(s[2].Self, 40./300) {
		t.Errorf("%+v %g", s, out.Weight)
	}
	// All is paid: what the account reports now without a thread is nobody's.
	step(30, 1000+4300+700, 6000, 2, 0, short)
	if got := w.Domains[0].Paths[paths.Root]; !near(got, 260+700) {
		t.Errorf("the root has %g uJ", got)
	}
	// What is never reported is forgotten in the end.
	for i := range int64(2 * mostOwed) {
		step(40+10*i, 6000, 6001+int(i), 3, 1000, long) // it has a thousandth
	}
	if n := len(w.arrears.owed); n != mostOwed {
		t.Errorf("%d are owed", n)
	}
}

// Nothing is owed where nobody knows what the program used, or where the energy is a counter's, which is not late.
func TestNothingOwed(t *testing.T) {
	for _, c := range []struct {
		method   nemb.Method
		accounts [2]time.Duration // what the account has at the end of each window
		want     [2]float64
	}{
		{nemb.Estimated, [2]time.Duration{0, 5040 * time.Microsecond}, [2]float64{5000, 5040}},
		{nemb.Measured, [2]time.Duration{1000 * time.Microsecond, 5040 * time.Microsecond}, [2]float64{5000, 5040}},
	} {
		tree := paths.NewTree()
		first, second := tree.Path(paths.Root, 1, 0), tree.Path(paths.Root, 2, 0)
		d := counter
		d.Method = c.method
		w := New([]nemb.Domain{d}, 2, tree)
		w.Begin(sample(0, 0, account.Usage{}))
		energy := nemb.Energy(0)
		for i, node := range []int32{first, second} {
			energy += nemb.Energy(c.want[i])
			cpu := []time.Duration{5 * time.Millisecond, 40 * time.Microsecond}[i]
			u := account.Usage{Program: c.accounts[i], Threads: []account.ThreadUsage{{Thread: id(uint32(i + 1)), CPU: cpu}}}
			w.Close(sample(int64(i+1)*10*ms, energy, u), false, []Thread{
				{ID: id(uint32(i + 1)), Parts: []paths.Part{{Node: node, Ticks: uint64(cpu)}}, Ended: true}})
		}
		for i, node := range []int32{first, second} {
			if got := w.Domains[0].Paths[node]; !near(got, c.want[i]) {
				t.Errorf("%s: path %d has %g uJ, want %g", c.method, node, got, c.want[i])
			}
		}
	}
}
