package runtimes

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"cg/checkpoint"
	"cg/long"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/attribute"
)

// goVirtualCost is what a reading of the clock takes in testdata/golang/virtual.
const goVirtualCost = 110

// goVirtualClock replaces the clock by a variable.
const goVirtualClock = `package runtime

import _ "unsafe"

//go:linkname codegreenVirtual
var codegreenVirtual uint64

//go:linkname codegreenStopped
var codegreenStopped uint64

var codegreenAsked, codegreenAskedStopped uint64

//go:nosplit
func codegreenBusy() uint32 {
	passed, without := codegreenVirtual-codegreenAsked, codegreenStopped-codegreenAskedStopped
	codegreenAsked, codegreenAskedStopped = codegreenVirtual, codegreenStopped
	return 1 + uint32(65536*float64(passed-min(without, passed))/float64(max(1, passed)))
}
`

const goVirtualBegin = `package ring

import (
	"syscall"
	_ "unsafe"
)

//go:linkname codegreenVirtual runtime.codegreenVirtual
var codegreenVirtual uint64

func codegreenSetVirtual() {
	begin, _ := syscall.Getenv("CG_BEGIN")
	for _, digit := range []byte(begin) {
		codegreenVirtual = codegreenVirtual*10 + uint64(digit-'0')
	}
}
`

// goVirtualBuild builds the program whose clock is its own.
func goVirtualBuild(t *testing.T) string {
	t.Helper()
	g, err := goTool()
	if err != nil {
		t.Fatal(err)
	}
	o, err := goScheduler(g)
	if err != nil {
		t.Fatal(err)
	}
	change := func(file, from, to string) {
		name := "src/" + file
		changed := regexp.MustCompile(from).ReplaceAll(o.Files[name], []byte(to))
		if bytes.Equal(changed, o.Files[name]) {
			t.Fatalf("%s has no %s", name, from)
		}
		o.Files[name] = changed
	}
	assembly := "runtime/zz_codegreen_" + g.Arch + ".s"
	cost := strconv.Itoa(goVirtualCost)
	if g.Arch == "amd64" {
		change(assembly, `RDTSC[ \\]*\n\s*SHLQ \$32, DX[ \\]*\n\s*ORQ  DX, AX`,
			"MOVQ runtime·codegreenVirtual(SB), AX; ADDQ $$"+cost+", runtime·codegreenVirtual(SB)")
	} else {
		change(assembly, `MRS +CNTVCT_EL0, (R\d+)`,
			"MOVD runtime·codegreenVirtual(SB), $1; ADD $$"+cost+", $1, R2; MOVD R2, runtime·codegreenVirtual(SB)")
	}
	change("runtime/zz_codegreen_budget.go", `atomic\.Load\(&t\.busy\)`, "codegreenBusy()")
	change("container/ring/zz_codegreen.go", `\n\tcodegreenBegin\(c\)`, "\n\tcodegreenSetVirtual()\n\tcodegreenBegin(c)")
	o.Files["src/runtime/zz_codegreen_virtual.go"] = []byte(goVirtualClock)
	o.Files["src/container/ring/zz_virtual.go"] = []byte(goVirtualBegin)
	dir := filepath.Join(javaDir, "golang-virtual")
	program := filepath.Join(dir, "program")
	cmd := exec.Command(g.Command, "build", "-overlay", goOverlay(t, g, o, dir), "-o", program, ".")
	cmd.Dir, cmd.Env = "testdata/golang/virtual", append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// goVirtual is what a program says of itself, and what was found. A tick is a nanosecond.
type goVirtual struct {
	calls  map[int]uint64
	times  map[int][4]float64 // the least, the median, the 95th percentile, the most
	found  map[int]attribute.Times
	called map[int]uint64
	placed map[int]float64         // ticks, by site
	places map[int]attribute.Place // those that were found
}

func goRunVirtual(t *testing.T, program, name string, seed int, budget float64) goVirtual {
	t.Helper()
	c, err := checkpoint.New(checkpoint.SystemClock(), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Number("m", "main.go", "lines", 16); err != nil {
		t.Fatal(err)
	}
	c.SetBudget(budget)
	a := attribute.New([]nemb.Domain{{ID: "x", Method: nemb.Estimated, InTotal: true, Lo: 1, Hi: 1}}, 1)
	begin := c.Clock().Now()
	sample := func(at checkpoint.Tick) nemb.Sample {
		since := at - begin
		return nemb.Sample{At: at, Time: checkpoint.Instant(since), Energy: []nemb.Energy{nemb.Energy(since / 1000)},
			Usage: account.Usage{Program: time.Duration(since)}}
	}
	fold := func(until checkpoint.Tick) func(checkpoint.Run) int {
		return func(r checkpoint.Run) int { return a.Fold(r, until, until) }
	}
	a.Close(sample(begin))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, name, strconv.Itoa(seed))
	cmd.Env = append(os.Environ(), fmt.Sprintf("CG_BEGIN=%d", begin), "CG_CHANNEL="+c.Path(), "GOMAXPROCS=1",
		fmt.Sprintf("KEY=%d", checkpoint.FileKey("m", "main.go", "lines")))
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	asked := (*uint64)(unsafe.Add(unsafe.Pointer(c.Epoch()), 8))
	for running := true; running; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, problems.Bytes())
			}
			running = false
		default:
			at := checkpoint.Tick(atomic.LoadUint64(asked))
			if at == 0 {
				time.Sleep(10 * time.Microsecond)
				continue
			}
			c.Drain(fold(at))
			a.Close(sample(at))
			atomic.StoreUint64(asked, 0)
		}
	}
	v := goVirtual{calls: map[int]uint64{}, times: map[int][4]float64{}, found: map[int]attribute.Times{},
		called: map[int]uint64{}, placed: map[int]float64{}, places: map[int]attribute.Place{}}
	end := v.read(t, out.String())
	c.Finish(fold(end))
	a.Last(sample(end))
	result := a.Finish()
	for _, p := range result.Places {
		v.places[int(p.Site)] = p
	}
	for _, cost := range result.Costs {
		v.called[int(cost.Site)], v.found[int(cost.Site)] = cost.Calls, cost.Times
	}
	if c.Lost() > 0 || c.RefusedTrees() > 0 {
		t.Fatalf("%d lost, %d refused", c.Lost(), c.RefusedTrees())
	}
	return v
}

func (v goVirtual) read(t *testing.T, out string) (end checkpoint.Tick) {
	for line := range strings.Lines(out) {
		var site int
		var n uint64
		var q [4]float64
		if _, err := fmt.Sscanf(line, "calls %d %d", &site, &n); err == nil {
			v.calls[site] = n
		} else if _, err := fmt.Sscanf(line, "times %d %g %g %g %g", &site, &q[0], &q[1], &q[2], &q[3]); err == nil {
			v.times[site] = q
		} else if _, err := fmt.Sscanf(line, "place %d %g", &site, &q[0]); err == nil {
			v.placed[site] = q[0]
		} else if _, err := fmt.Sscanf(line, "end %d", &end); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	return end
}

// TestGoTimesOfTimedCalls: where each call is timed, the shortest is exact, the others are within a bin, and
// none is missing but those in which the scheduler ran another goroutine. An event may read the clock twice.
func TestGoTimesOfTimedCalls(t *testing.T) {
	program := goVirtualBuild(t)
	for _, name := range []string{"uneven", "tailed", "many", "hiccups", "callers", "panics"} {
		v := goRunVirtual(t, program, name, 1, 0)
		for site, calls := range v.calls {
			if got := v.found[site]; got.N > calls || got.N+9 < calls || v.called[site] != calls || got.Of != float64(got.N) {
				t.Errorf("%s: site %d: %d of %d calls, %d timed, which stand for %g", name, site, v.called[site], calls, got.N,
					got.Of)
			}
		}
		for site, want := range v.times {
			got := v.found[site]
			if math.Abs(float64(got.Min)-want[0]) > 1 || math.Abs(float64(got.Max)-want[3]) > 3*goVirtualCost {
				t.Errorf("%s: site %d: %+v, want %v", name, site, got, want)
			}
			for i, q := range []attribute.Quantile{got.Median, got.P95} {
				if truth := want[1+i]; float64(q.Lo) > truth || float64(q.Hi) < truth ||
					q.Hi-q.Lo > q.Lo/4+goVirtualCost/4+1 {
					t.Errorf("%s: site %d: %+v, want %g", name, site, q, truth)
				}
			}
		}
	}
}

// TestGoTimesOfDrawnCalls: where calls are timed in bursts, the times of all are within their intervals in
// 95 of 100, and stand for as many calls as there were.
func TestGoTimesOfDrawnCalls(t *testing.T) {
	program := goVirtualBuild(t)
	seeds := long.Rounds(t, 2, 6)
	within, all, narrow := 0, 0, 0
	for _, name := range []string{"even", "uneven", "callers", "slower", "phases", "periodic", "tailed", "many",
		"hiccups", "panics", "stopped", "lagging"} {
		for seed := range seeds {
			v := goRunVirtual(t, program, name, seed+1, 0.1)
			for site, want := range v.times {
				got, calls := v.found[site], v.calls[site]
				if v.called[site] != calls || got.N == 0 || got.N > calls || float64(got.Min) < want[0]-1 ||
					float64(got.Max) > want[3]+4*goVirtualCost {
					t.Errorf("%s, seed %d: site %d: %d of %d calls, %+v, want %v", name, seed+1, site, v.called[site], calls, got,
						want)
				}
				if off := math.Abs(got.Of/float64(calls) - 1); calls > 50_000 && off > .5 {
					t.Errorf("%s, seed %d: site %d: the times are of %g calls of %d", name, seed+1, site, got.Of, calls)
				}
				for i, q := range []attribute.Quantile{got.Median, got.P95} {
					all++
					if truth := want[1+i]; float64(q.Lo) <= truth && (float64(q.Hi) >= truth || q.Hi < 0) {
						within++
					} else {
						t.Logf("%s, seed %d, site %d: %d, %d to %d, want %g of %d", name, seed+1, site, q.Value, q.Lo, q.Hi,
							truth, got.N)
					}
					if q.Hi >= 0 && float64(q.Hi) <= 1.5*float64(q.Lo)+goVirtualCost {
						narrow++
					}
				}
			}
		}
	}
	if within*100 < 95*all || narrow*2 < all {
		t.Errorf("%d of %d are within their intervals, %d are narrow", within, all, narrow)
	}
	t.Logf("%d of %d within, %d narrow", within, all, narrow)
}

// TestGoTimesOfSpanningCalls: a call has a time also where the burst ends within it, so those that are long
// are not left out.
func TestGoTimesOfSpanningCalls(t *testing.T) {
	v := goRunVirtual(t, goVirtualBuild(t), "spanning", 1, 0.1)
	got := v.found[2]
	if off := math.Abs(got.Of/float64(v.calls[2]) - 1); off > .25 || got.Max < 20*got.Min {
		t.Errorf("times of %g calls of %d: %+v", got.Of, v.calls[2], got)
	}
}

// goTimed is how many calls of each site the times in the trees are of, in 64ths.
func (f *goTrees) goTimed(t *testing.T) map[int]uint64 {
	t.Helper()
	order, timed := binary.NativeEndian, map[int]uint64{}
	for i := range f.count {
		tree := f.tree(i)
		if order.Uint32(f.trees[64+4*i:]) == 0 {
			continue
		}
		for k := range int(order.Uint32(tree[180:])) {
			c := tree[f.timesAt()+k*goTimesBytes:]
			sum := uint64(0)
			for bin := range checkpoint.TimeBins {
				sum += order.Uint64(c[64+8*bin:])
			}
			if order.Uint32(c) <= goBase || order.Uint64(c[16:]) == 0 && sum%64 != 0 ||
				order.Uint64(c[32:]) > order.Uint64(c[40:]) {
				t.Errorf("tree %d: function %d: site %d, %v", i, k, order.Uint32(c), c[:64])
			}
			timed[int(order.Uint32(c))-goBase] += sum
		}
	}
	return timed
}

// TestGoTimesOfProgram: where each call is timed, all of them are, by whatever they end, but those in which
// their thread ran another goroutine. The scheduler may do that in any of them, so of some runs one has all.
func TestGoTimesOfProgram(t *testing.T) {
	for _, c := range []struct {
		args  []string
		sites []int
		fewer bool // its goroutines take turns
	}{
		{args: []string{"counts"}, sites: []int{1, 2, 3}},
		{args: []string{"goexit"}, sites: []int{4}},
		{args: []string{"locked", "50"}, sites: []int{2, 4}},
		{args: []string{"range", "100"}, sites: []int{1, 2, 3, 4, 5}},
		{args: []string{"threads", "50"}, sites: []int{3}, fewer: true},
		{args: []string{"pull", "3000"}, sites: []int{2, 3}, fewer: true},
		{args: []string{"migrate", "4000"}, sites: []int{4, 5, 6, 7, 8, 9, 10, 11}, fewer: true},
	} {
		all := false
		for try := 0; try < 20 && !all; try++ {
			f := newGoTrees(t, 1<<16, 64)
			s := f.run(t, goKinds[0], nil, c.args...)
			timed := f.goTimed(t)
			all = true
			sum := uint64(0)
			for _, site := range c.sites {
				got, want := timed[site], s.calls(site)*64
				sum += got
				if all = all && (got == want || c.fewer); got > want {
					t.Errorf("%v: site %d: times of %d/64 calls, want %d/64", c.args, site, got, want)
				}
			}
			all = all && sum > 0
		}
		if !all {
			t.Errorf("%v: in none of 20 runs all calls are timed", c.args)
		}
	}
}

// TestGoTimesOfManyFunctions: functions beyond the room have no times, and all that is counted is the same.
func TestGoTimesOfManyFunctions(t *testing.T) {
	for _, room := range []uint32{0, 2, goFunctions} {
		f := newGoTrees(t, 1<<16, 64)
		binary.NativeEndian.PutUint32(f.trees[20:], room)
		s := f.run(t, goKinds[0], nil, "counts")
		timed := f.goTimed(t)
		if len(timed) > int(room) || room > 2 && timed[2]*timed[3] == 0 || s.calls(2) != 1973 || s.calls(3) != 1000 {
			t.Errorf("room for %d: %v, %d calls, %d calls", room, timed, s.calls(2), s.calls(3))
		}
		for site, n := range timed {
			if n == 0 || n > s.calls(site)*64 {
				t.Errorf("room for %d: site %d: times of %d/64 calls of %d", room, site, n, s.calls(site))
			}
		}
	}
}

// TestGoTimesBins: what assembly adds to is the bin of the time, as the longest and the shortest show that Go
// code noted.
func TestGoTimesBins(t *testing.T) {
	f := newGoTrees(t, 1<<16, 64)
	f.run(t, goKinds[0], nil, "counts")
	order := binary.NativeEndian
	for i := range f.count {
		tree := f.tree(i)
		for k := range int(order.Uint32(tree[180:])) {
			c := tree[f.timesAt()+k*goTimesBytes:]
			least, most := order.Uint64(c[32:]), order.Uint64(c[40:])
			for bin := range checkpoint.TimeBins {
				from, to := checkpoint.TimeBin(bin)
				has := order.Uint64(c[64+8*bin:]) != 0
				if has && (to <= least || from > most) || !has && (from <= least && least < to || from <= most && most < to) {
					t.Errorf("bin %d of %d to %d: %d to %d ticks", bin, from, to, least, most)
				}
			}
		}
	}
}
