package measure

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
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

// virtual is a program whose clock is its own, and what it says of itself.
type virtual struct {
	result attribute.Result
	ticks  map[checkpoint.SiteID]float64 // by site, what its calls took themselves
	calls  map[checkpoint.SiteID]uint64
	events uint64
	span   float64 // of the whole run
	mark   uint64
	drawn  [2]uint64 // intervals that stand for others
	parts  []virtualPart
	times  map[checkpoint.SiteID][4]float64 // of calls: the least, the median, the 95th percentile, the most
}

// virtualPart is how many intervals were counted in a window that began at a tick.
type virtualPart struct {
	begin   checkpoint.Tick
	counted uint64
}

// runVirtual runs testdata/budget.c. A tick is a nanosecond, and all of the program
// uses 1 W.
func runVirtual(t testing.TB, path, name string, seed int, budget float64) virtual {
	t.Helper()
	c, err := checkpoint.New(checkpoint.SystemClock(), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetBudget(budget)
	a := attribute.New([]nemb.Domain{{ID: "x", Method: nemb.Estimated, InTotal: true, Lo: 1, Hi: 1}}, 1)
	begin := c.Clock().Now()
	sample := func(at checkpoint.Tick) nemb.Sample {
		since := at - begin
		return nemb.Sample{At: at, Time: checkpoint.Instant(since), Energy: []nemb.Energy{nemb.Energy(since / 1000)},
			Usage: account.Usage{Program: time.Duration(since)}}
	}
	v := virtual{ticks: map[checkpoint.SiteID]float64{}, calls: map[checkpoint.SiteID]uint64{},
		times: map[checkpoint.SiteID][4]float64{}}
	fold := func(until checkpoint.Tick) func(checkpoint.Run) int {
		return func(r checkpoint.Run) int {
			n := a.Fold(r, until, until)
			v.look(r.Tally.Windows[:n])
			return n
		}
	}
	a.Close(sample(begin))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, c.Path(), name, strconv.Itoa(seed))
	cmd.Env = append(os.Environ(), fmt.Sprintf("CG_BEGIN=%d", begin))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
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
				t.Fatal(err)
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
	end := v.read(t, &out)
	c.Finish(fold(end))
	a.Last(sample(end))
	v.result, v.span = a.Finish(), float64(end-begin)
	if c.Lost() > 0 || c.RefusedTrees() > 0 {
		t.Fatalf("%d lost, %d refused", c.Lost(), c.RefusedTrees())
	}
	return v
}

// look notes what windows have of intervals that were counted, and of those that were drawn.
func (v *virtual) look(windows []checkpoint.Window) {
	for _, w := range windows {
		of := virtualPart{begin: w.Begin}
		for _, p := range w.Parts {
			of.counted += p.Counted
			for k, d := range p.Drawn {
				v.drawn[k] += d.Intervals
			}
		}
		v.parts = append(v.parts, of)
	}
}

// read takes what the program printed, and gives the tick of its end.
func (v *virtual) read(t testing.TB, out *bytes.Buffer) (end checkpoint.Tick) {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var site, ticks, calls, zero uint64
		var q [4]float64
		if n, _ := fmt.Sscanf(lines.Text(), "times %d %g %g %g %g", &site, &q[0], &q[1], &q[2], &q[3]); n == 5 {
			v.times[checkpoint.SiteID(site)] = q
			continue
		}
		switch n, _ := fmt.Sscan(lines.Text(), &site, &ticks, &calls, &zero); n {
		case 3:
			if site > 0 && calls > 0 {
				v.ticks[checkpoint.SiteID(site)], v.calls[checkpoint.SiteID(site)] = float64(ticks), calls
			}
		case 4:
			v.events, end, v.mark = site, checkpoint.Tick(ticks), calls
		}
	}
	return end
}

var virtualPrograms = []string{"even", "uneven", "callers", "slower", "phases", "periodic", "recursive", "nested",
	"waiting", "tailed", "once", "many", "sparse_first", "hiccups", "crossing", "stopped", "generators", "coroutines",
	"threads_alike", "threads_unlike"}

// Of functions whose calls are counted and not timed, the times are within their intervals
// in 95 of 100, whatever they depend on: the caller, the moment, chance. Calls are exact.
// The program's clock is its own, and the bursts are drawn from the seed: each run is the
// same again.
func TestTimesOfCountedCalls(t *testing.T) {
	path := program(t, "budget")
	seeds := long.Rounds(t, 2, 9)
	// A figure that is off by less is of a function that used next to nothing: a part of
	// the run.
	const nothing = 0.002
	within, all := 0, 0
	for _, name := range virtualPrograms {
		withinBefore, allBefore := within, all
		for seed := range seeds {
			v := runVirtual(t, path, name, seed+1, 0.1)
			if v.result.Stats.Events != v.events {
				t.Errorf("%s: %d events, want %d", name, v.result.Stats.Events, v.events)
			}
			if v.result.Counted.Events*10 < v.events*6 {
				t.Errorf("%s: %d of %d events are counted", name, v.result.Counted.Events, v.events)
			}
			for _, c := range v.result.Costs {
				if c.Calls != v.calls[c.Site] {
					t.Errorf("%s: site %d has %d calls, want %d", name, c.Site, c.Calls, v.calls[c.Site])
				}
				want, power := v.ticks[c.Site], float64(c.Self.Energy)/math.Max(1, float64(c.SelfTime))
				all++
				if math.Abs(float64(c.SelfTime)-want) <= float64(c.SelfTimeDoubt)+nothing*v.span &&
					float64(c.Self.Lo) <= (want+nothing*v.span)*power && float64(c.Self.Hi) >= (want-nothing*v.span)*power {
					within++
				} else {
					t.Logf("%s, seed %d, site %d: %d ± %d, want %.0f", name, seed+1, c.Site, c.SelfTime, c.SelfTimeDoubt, want)
				}
			}
		}
		if in, of := within-withinBefore, all-allBefore; in*100 < 70*of {
			t.Errorf("%s: %d of %d times are within their intervals", name, in, of)
		}
	}
	if within*100 < 95*all {
		t.Errorf("%d of %d times are within their intervals", within, all)
	}
}

// What checkpoints take is known, and within the budget unless counting alone takes more.
// Without a budget each event is timed.
func TestOverheadIsWithinTheBudget(t *testing.T) {
	path := program(t, "budget")
	for _, c := range []struct {
		program string
		budget  float64
		over    bool // an event that is counted takes more
	}{
		{"nested", 0.1, false}, {"callers", 0.1, false}, {"waiting", 0.05, false}, {"slower", 0.1, false},
		{"hiccups", 0.1, false}, {"stopped", 0.1, false},
		{"recursive", 0.1, true}, {"periodic", 0.1, true}, {"nested", 0, false}, {"even", 0, false},
	} {
		v := runVirtual(t, path, c.program, 1, c.budget)
		plain := 0.0
		for _, ticks := range v.ticks {
			plain += ticks
		}
		if c.program == "stopped" {
			plain -= float64(v.mark) // the budget is of processor time
		}
		took := float64(v.result.Checkpoints) / plain
		if c.budget == 0 {
			if v.result.Counted.Events != 0 {
				t.Errorf("%s: %d events are counted without a budget", c.program, v.result.Counted.Events)
			}
			continue
		}
		counting := float64(v.events) * v.result.Counted.CountedNs / plain
		if c.over != (counting > c.budget) {
			t.Errorf("%s: counting takes %.3f", c.program, counting)
		}
		// the first burst, and what a share is decided by, are of the program's beginning
		if !c.over && took > c.budget*1.15 || c.over && took > 2*counting {
			t.Errorf("%s: checkpoints take %.3f of the time, the budget is %.3f, and counting takes %.3f",
				c.program, took, c.budget, counting)
		}
		if real := (v.span-float64(v.mark))/plain - 1; math.Abs(real-took) > 0.03 && real > took*1.2 {
			t.Errorf("%s: %.3f slower, and the checkpoints took %.3f", c.program, real, took)
		}
	}
}

// Where each event is timed, none stands for others.
func TestNothingIsDrawnWhereEachEventIsTimed(t *testing.T) {
	v := runVirtual(t, program(t, "budget"), "sparse", 1, 0.1)
	if v.result.Counted.Events != 0 || v.drawn != [2]uint64{} {
		t.Errorf("%d are counted, and %d short and %d long ones drawn", v.result.Counted.Events, v.drawn[0], v.drawn[1])
	}
}

// A pause that was drawn where many events were to come ends where few come.
func TestPausesEndWhereEachEventIsTimed(t *testing.T) {
	path := program(t, "budget")
	for seed := range 4 {
		v := runVirtual(t, path, "calming", seed+1, 0.02)
		late := uint64(0)
		for _, p := range v.parts {
			if uint64(p.begin) > v.mark {
				late += p.counted
			}
		}
		if late > 600 {
			t.Errorf("seed %d: %d intervals are counted later", seed+1, late)
		}
	}
}

// A call that called something is none that called nothing, whatever of it was counted.
func TestCallsThatCallAreKnown(t *testing.T) {
	v := runVirtual(t, program(t, "budget"), "crossing", 1, 0.1)
	if v.mark > 0 || v.result.Counted.Events == 0 {
		t.Errorf("%d calls passed for others, %d events are counted", v.mark, v.result.Counted.Events)
	}
}
