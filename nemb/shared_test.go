package nemb

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
)

var updateShared = flag.Bool("update", false, "write between.txt and lags.json in ../runtimes/sdk/spec/cases")

// sharedSeries makes a series of one domain: samples each 1 ms or so of a
// counter that is updated every period, from a power in W as a function of ms.
func sharedSeries(r *rand.Rand, period time.Duration, reported time.Duration, failing bool, watts func(ms float64) float64) Series {
	const unit = 61.03515625 // uJ
	s := Series{Domains: []Domain{{ID: "d", Period: reported}}}
	var joules, ticked float64
	var shown Energy
	at := 5 * time.Second
	next := at
	for i := range 300 {
		due := 5*time.Second + time.Duration(i)*time.Millisecond + time.Duration(r.IntN(200_000))
		for next <= due {
			shown = Energy(math.Floor(ticked/unit) * unit)
			next += period + time.Duration(r.IntN(20_000))
			joules += watts(float64(next-5*time.Second)/1e6) * (next - at).Seconds()
			at, ticked = next, joules*1e6
		}
		sample := Sample{Time: checkpoint.Instant(due), Energy: []Energy{shown}}
		if failing && r.IntN(10) == 0 && i > 0 {
			sample.Failed, sample.Energy[0] = true, s.Samples[i-1].Energy[0]
		}
		s.Samples = append(s.Samples, sample)
	}
	return s
}

// TestBetweenIsShared holds a fixture by which those who compute the energy of a
// part of a series in another language are held to Series.Between: lines
// "series PERIOD_NS", "s TIME_NS FLAGS MICROJOULES" (nemb/RING.md) and
// "b FROM_NS TO_NS JOULES SLACK_J METHOD", or "b FROM_NS TO_NS none".
func TestBetweenIsShared(t *testing.T) {
	const file = "../runtimes/sdk/spec/cases/between.txt"
	r := rand.New(rand.NewPCG(1, 2))
	level := func(w float64) func(float64) float64 { return func(float64) float64 { return w } }
	burst := func(ms float64) float64 {
		if ms > 120 && ms < 150 {
			return 60
		}
		return 20
	}
	step := func(ms float64) float64 {
		if ms > 150 {
			return 90
		}
		return 15
	}
	var b bytes.Buffer
	methods := map[string]int{}
	all := []Series{
		sharedSeries(r, time.Millisecond, time.Millisecond, false, level(20)),
		sharedSeries(r, time.Millisecond, time.Millisecond, false, burst),
		sharedSeries(r, time.Millisecond, 0, true, burst),
		sharedSeries(r, 4*time.Millisecond, 4*time.Millisecond, false, step),
		sharedSeries(r, 100*time.Millisecond, 100*time.Millisecond, false, level(40)),
		sharedSeries(r, time.Millisecond, time.Millisecond, true, level(0)),
	}
	// A machine that has been up for 231 days, with samples that are further apart.
	up := len(all)
	all = append(all, all[2])
	all[up].Samples = slices.Clone(all[2].Samples)
	for i := range all[up].Samples {
		all[up].Samples[i].Time += checkpoint.Instant(i / 50 * 10_000_003)
	}
	for n, c := range all {
		shift := checkpoint.Instant(0)
		if n == up {
			shift = 20_000_000_000_000_000
			for i := range c.Samples {
				c.Samples[i].Time += shift
			}
		}
		fmt.Fprintf(&b, "series %d\n", c.Domains[0].Period)
		for _, s := range c.Samples {
			flags := 0
			if s.Failed {
				flags = 2
			}
			fmt.Fprintf(&b, "s %d %d %d\n", s.Time, flags, s.Energy[0])
		}
		for range 60 {
			from := shift + checkpoint.Instant(5*time.Second) + checkpoint.Instant(r.Int64N(int64(310*time.Millisecond))) - checkpoint.Instant(5*time.Millisecond)
			long := []time.Duration{100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}[r.IntN(4)]
			to := from + checkpoint.Instant(r.Int64N(int64(long)))
			span, ok := c.Between(0, from, to)
			if !ok {
				methods["none"]++
				fmt.Fprintf(&b, "b %d %d none\n", from, to)
				continue
			}
			methods[span.Method]++
			fmt.Fprintf(&b, "b %d %d %.15g %.15g %s\n", from, to, span.Joules, span.Slack, span.Method)
		}
	}
	for _, method := range []string{Bracketed, Interpolated, "none"} {
		if methods[method] < 20 {
			t.Errorf("only %d of %s", methods[method], method)
		}
	}
	if *updateShared {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if now, was := strings.Split(b.String(), "\n"), strings.Split(string(saved), "\n"); b.String() != string(saved) {
		for i := range min(len(now), len(was)) {
			if now[i] != was[i] {
				t.Fatalf("%s:%d: %s, now %s (go test ./nemb -run Shared -update)", file, i+1, was[i], now[i])
			}
		}
		t.Fatalf("%s has %d lines, want %d", file, len(was), len(now))
	}
}
