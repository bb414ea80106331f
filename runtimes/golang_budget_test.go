package runtimes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"cg/checkpoint"
)

// keepTo sets the budget, in thousandths.
func (f *goTrees) keepTo(budget uint32) { binary.NativeEndian.PutUint32(f.channel[336:], budget) }

// sampled runs a program while samples are taken and windows are read, each 10 ms.
func (f *goTrees) sampled(t testing.TB, args ...string) (goSums, time.Duration) {
	t.Helper()
	cmd := f.command(t, goKinds[0], args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	word := func(b []byte) *uint64 { return (*uint64)(unsafe.Pointer(&b[0])) }
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return f.sums(t, out.String()), cmd.ProcessState.UserTime()
		case <-time.After(10 * time.Millisecond):
			for i := range f.count {
				atomic.StoreUint64(word(f.tree(i)[192:]), atomic.LoadUint64(word(f.tree(i)[168:])))
			}
			atomic.StoreUint64(word(f.channel[256:]), uint64(checkpoint.SystemClock().Now()))
		}
	}
}

// TestGoBudgetDraws: what is timed of short calls is drawn without regard to what it is. So each node
// has the same share of its intervals drawn.
func TestGoBudgetDraws(t *testing.T) {
	f := newGoTrees(t, 1<<16, 16)
	f.keepTo(100)
	s := f.run(t, goKinds[0], nil, "fib", "27")
	if calls := s.calls(2); calls != 635_621 || s.events != 2*(calls+1) || s.lost != 0 {
		t.Errorf("%d calls, %d events, %d lost", calls, s.events, s.lost)
	}
	var counted, drawn float64
	for _, sum := range s.paths {
		counted += float64(sum.counted)
		drawn += float64(sum.drawn + sum.lasted)
	}
	share, nodes := drawn/(counted+drawn), 0
	for name, sum := range s.paths {
		n := float64(sum.counted + sum.drawn + sum.lasted)
		if n < 10_000 {
			continue
		}
		nodes++
		// A burst has some 64 events, of which neighbours lie in one node.
		if got := float64(sum.drawn+sum.lasted) / n; math.Abs(got-share) > 6*math.Sqrt(64*share/n) {
			t.Errorf("%d calls deep: %.3f drawn of %.0f, in all %.3f", strings.Count(name, "."), got, n, share)
		}
		if sum.drawnTicks > sum.ticks {
			t.Errorf("%s: %d ticks drawn of %d", name, sum.drawnTicks, sum.ticks)
		}
	}
	if nodes < 8 || share < .1 || share > .5 {
		t.Errorf("%d nodes have %.3f of their intervals drawn", nodes, share)
	}
}

// TestGoBudgetShares: the mean of what was drawn is what the calls take. Those of one function work three
// times as long as those of the other, besides what their checkpoints take.
func TestGoBudgetShares(t *testing.T) {
	var ratios []float64
	for range 5 {
		f := newGoTrees(t, 1<<12, 16)
		f.keepTo(100)
		s := f.run(t, goKinds[0], nil, "shares", "100000")
		mean := func(name string) float64 { return float64(s.paths[name].drawnTicks) / float64(s.paths[name].drawn) }
		if s.calls(6) != 100_000 || s.calls(7) != 100_000 || s.paths["1.6"].counted == 0 || s.paths["1.7"].drawn == 0 {
			t.Fatalf("%+v", s.paths)
		}
		ratios = append(ratios, mean("1.7")/mean("1.6"))
	}
	slices.Sort(ratios)
	if ratios[2] < 1.7 || ratios[2] > 4 {
		t.Errorf("the longer calls took %.2f times as long as the others", ratios)
	}
	t.Logf("%.2f", ratios)
}

// TestGoBudgetLong: a function whose calls are long is timed always, and leaves records.
func TestGoBudgetLong(t *testing.T) {
	f := newGoTrees(t, 1<<16, 16)
	f.keepTo(1)
	binary.NativeEndian.PutUint64(f.channel[328:], 1<<20)
	s := f.run(t, goKinds[0], nil, "long", "30")
	records := 0
	for _, l := range s.long {
		if l.site == 4 {
			records++
		}
	}
	if records == 0 || s.paths["1.4"].counted != 0 {
		t.Errorf("%d records, %+v", records, s.paths)
	}
}

// BenchmarkGoBudget gives how long fib(36) takes, in nanoseconds of processor time a call, without
// checkpoints, with all events timed, and with budgets.
func BenchmarkGoBudget(b *testing.B) {
	const calls = 48_315_633
	least := map[string]float64{}
	note := func(name string, took time.Duration) {
		if ns := float64(took) / calls; least[name] == 0 || ns < least[name] {
			least[name] = ns
		}
	}
	for range 3 * b.N {
		cmd := exec.Command(goBuild(b, goKinds[0]), "bare", "36")
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		note("bare", cmd.ProcessState.UserTime())
		for _, budget := range []uint32{0, 100, 300} {
			f := newGoTrees(b, 1<<20, 16)
			f.keepTo(budget)
			_, took := f.sampled(b, "fib", "36")
			note(fmt.Sprintf("budget-%d", budget), took)
		}
	}
	for name, ns := range least {
		b.ReportMetric(ns, name+"-ns")
	}
	b.ReportMetric(0, "ns/op")
}
