package runtimes

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
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
				atomic.StoreUint64(word(f.tree(i)[200:]), uint64(f.busy))
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

// TestGoBudgetAll: in windows in which all is timed nothing is drawn, neither ordinary intervals nor
// long ones, so that long ones are as rare among those that were drawn as they are. A short one in which
// its thread had no processor is long as well, so one of five tries has to show it.
func TestGoBudgetAll(t *testing.T) {
	var tries []string
	for range 5 {
		f := newGoTrees(t, 1<<12, 16)
		f.keepTo(1000)
		s, _ := f.sampled(t, "seldom", "300")
		sum := s.paths["1.6"]
		if sum.calls != 300*2001 || sum.drawn == 0 || sum.drawn+sum.lasted > sum.calls {
			t.Fatalf("%+v", sum)
		}
		if sum.lasted*300 <= sum.drawn {
			return
		}
		tries = append(tries, fmt.Sprintf("%d of %d", sum.lasted, sum.drawn))
	}
	t.Errorf("%v long intervals were drawn, of calls of which one in 2001 is long", tries)
}

// TestGoBudgetWaits: a thread that waits in the kernel, on its goroutine, earns nothing by it. Its
// calls are so short that pauses are of the longest.
func TestGoBudgetWaits(t *testing.T) {
	f := newGoTrees(t, 1<<12, 16)
	f.keepTo(100)
	f.busy = 1 + 65536/1000 // the thread has a processor for a thousandth of its time
	s, _ := f.sampled(t, "naps", "300")
	sum := s.paths["1.4.3"]
	if sum.calls != 300*1000 || s.lost != 0 {
		t.Fatalf("%+v", sum)
	}
	if part := float64(sum.counted) / float64(sum.calls); part < .8 {
		t.Errorf("%.3f of the calls are counted", part)
	}
}

// TestGoBudgetShare: what a pause is follows from the time for which a thread had a processor, whatever
// it was on goroutines.
func TestGoBudgetShare(t *testing.T) {
	dir := t.TempDir()
	share, err := os.ReadFile("golang/_runtime/share.go")
	if err != nil {
		t.Fatal(err)
	}
	outside := strings.NewReplacer("package runtime", "package main", "//go:nowritebarrierrec\n", "")
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.25\n",
		"share.go": outside.Replace(string(share)), "main.go": goShareMain} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	const want = `alone: 1000000 ticks, pauses of 93
other work on the machine: 1000000 ticks, pauses of 93
waits in the kernel: 1000000 ticks, pauses of 93
on goroutines for a tenth: 1000000 ticks, pauses of 93
does other things beside: 1000000 ticks, pauses of 93
the reader says nothing: 1000000 ticks, pauses of 93
hardly runs: 10000 ticks, pauses of 4032
runs long: 100000000 ticks, pauses of 0
`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// goShareMain prints what pauses are drawn for 10,000 events, of which a quarter was timed. An event that is
// timed takes 20 ticks, another one 2. A tick is 0.4 ns, and the budget 10 %.
const goShareMain = `package main

import "fmt"

const (
	codegreenBurst, codegreenRarest                 = 64, 63
	codegreenCost, codegreenCounted, codegreenBudget = 20 * 16, 2 * 16, 100
)

func main() {
	for _, c := range []struct {
		name      string
		on, ticks uint64
		busy      uint32
	}{
		{"alone", 1e6, 1e6, 65537},
		{"other work on the machine", 4e6, 4e6, 16385},
		{"waits in the kernel", 102_400_000, 102_400_000, 641},
		{"on goroutines for a tenth", 1e6, 8e6, 8193},
		{"does other things beside", 1e6, 10e6, 32769},
		{"the reader says nothing", 1e6, 1e6, 0},
		{"hardly runs", 1_024_000, 1_024_000, 641},
		{"runs long", 100e6, 100e6, 65537},
	} {
		ran := codegreenRan(c.on, c.ticks, c.busy)
		fmt.Printf("%s: %d ticks, pauses of %d\n", c.name, ran, codegreenMeanPause(ran, 10_000, 2_500))
	}
}
`

// TestGoBudgetKilled: what was counted is there, events too, when the program is killed.
func TestGoBudgetKilled(t *testing.T) {
	f := newGoTrees(t, 1<<12, 16)
	f.keepTo(1)
	cmd := f.command(t, goKinds[0], "ready", "100000")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	if line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	// Two calls are open: main and ready.
	if s := f.sums(t, ""); s.calls(3) != 100_000 || s.events != 2*(100_000+2)-2 || s.paths["1.4.3"].counted == 0 {
		t.Errorf("%d calls, %d events, %+v", s.calls(3), s.events, s.paths)
	}
}

// TestGoBudgetSlowCounter: calls are told to be short by a counter of 25 MHz, of which a unit of 256 ticks is
// many calls, as by a fast one; and calls of 30 us are not.
func TestGoBudgetSlowCounter(t *testing.T) {
	dir := t.TempDir()
	usual, err := os.ReadFile("golang/_runtime/usual.go")
	if err != nil {
		t.Fatal(err)
	}
	outside := strings.NewReplacer("package runtime", "package main", "//go:nowritebarrierrec\n", "")
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.25\n",
		"usual.go": outside.Replace(string(usual)), "main.go": goUsualMain} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	const want = `40 ns a tick, calls of 25 ns: short true, after a slow one too true
40 ns a tick, calls of 500 ns: short true, after a slow one too true
40 ns a tick, calls of 30000 ns: short false, after a slow one too false
18 ns a tick, calls of 25 ns: short true, after a slow one too true
18 ns a tick, calls of 500 ns: short true, after a slow one too true
18 ns a tick, calls of 30000 ns: short false, after a slow one too false
1 ns a tick, calls of 25 ns: short true, after a slow one too true
1 ns a tick, calls of 500 ns: short true, after a slow one too true
1 ns a tick, calls of 30000 ns: short false, after a slow one too false
`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// goUsualMain makes calls on a clock of its own, whose events take 20 ns each, and prints what nine in ten of
// the last are taken for.
const goUsualMain = `package main

import "fmt"

func main() {
	for _, tick := range []uint64{40, 18, 1} {
		sure := 64 * 2 * 20 / tick
		for _, took := range []uint64{25, 500, 30000} {
			now, mean, short := uint64(1000), uint32(0), 0
			for i := range 20000 {
				entered := now / tick >> 8
				now += took
				var is uint32
				mean, is = codegreenUsual(mean, now/tick>>8-entered, sure)
				if i >= 10000 {
					short += int(is)
				}
				now += 37
			}
			mean, _ = codegreenUsual(1, 0, sure)
			_, slow := codegreenUsual(mean, 1000000/tick>>8, sure)
			fmt.Printf("%d ns a tick, calls of %d ns: short %v, after a slow one too %v\n", tick, took, short > 9000,
				short > 9000 && slow == 1)
		}
	}
}
`

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
