package nemb

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
)

// TestLagIsShared holds the table by which the packages for sessions tell by how much an energy may be off since a
// counter is late: the period of its updates, its habits, samples as [ns, uJ], and spans as [ns, ns, J, J]: the second is
// what a counter hides that samples a part of the time alone. Of such a one, parts are those of tasks as [[ns, ns], ...],
// and what it hides of each task: a change that is hidden is in one part of it only.
func TestLagIsShared(t *testing.T) {
	const file = "../runtimes/sdk/spec/cases/lags.json"
	ms := time.Millisecond
	steps := func(s float64) float64 { return 100 + 200*math.Mod(math.Floor(s), 2) }
	waves := func(s float64) float64 { return 150 + 60*math.Sin(40*s) }
	var b bytes.Buffer
	for _, c := range []struct {
		name   string
		period time.Duration
		habits Habits
		watts  func(s float64) float64
	}{
		{"it is 50 ms late", 20 * ms, Habits{Period: 20 * ms, Window: 20 * ms, Delay: 50 * ms}, steps},
		{"each update is the mean of a second", 100 * ms, Habits{Period: 100 * ms, Window: time.Second}, steps},
		{"means of 400 ms, late, of a power that is never steady", 50 * ms,
			Habits{Period: 50 * ms, Window: 400 * ms, Delay: 10 * ms}, waves},
		{"it samples a part of the time, and is not late", 100 * ms, Habits{Period: 100 * ms, Window: 25 * ms}, steps},
	} {
		s := Series{Domains: []Domain{{Period: c.period}}}
		samples, joules := [][2]int64{}, 0.0
		for at := time.Duration(0); at <= 4*time.Second; at += c.period {
			now := Energy(joules * 1e6)
			joules += c.watts(at.Seconds()) * c.period.Seconds()
			s.Samples = append(s.Samples, Sample{Time: checkpoint.Instant(at), Energy: []Energy{now}})
			samples = append(samples, [2]int64{int64(at), int64(now)})
		}
		k, spans, most := knots(s.Samples, 0, c.period), [][4]float64{}, 0.0
		for _, span := range [][2]time.Duration{{500 * ms, 1500 * ms}, {1100 * ms, 1130 * ms}, {0, 4 * time.Second},
			{1990 * ms, 3990 * ms}, {3 * time.Second, 5 * time.Second}, {2 * time.Second, 2 * time.Second}} {
			lag := c.habits.Lag(k, float64(span[0]), float64(span[1]))
			hidden := hiddenBetween(c.habits, k, [][2]int64{{int64(span[0]), int64(span[1])}})
			spans = append(spans, [4]float64{float64(span[0]), float64(span[1]), lag, hidden})
			most = max(most, lag)
		}
		if late := c.habits.Delay > 0 || c.habits.Window > c.habits.Period; late != (most > 1) {
			t.Errorf("%s: up to %v J", c.name, most)
		}
		of := map[string]any{"name": c.name, "period_ns": int64(c.period), "samples": samples,
			"spans": spans, "habits": map[string]int64{"period_ns": int64(c.habits.Period),
				"window_ns": int64(c.habits.Window), "delay_ns": int64(c.habits.Delay)}}
		if c.habits.Window < c.habits.Period {
			of["parts"] = hiddenParts(c.habits, k)
		}
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString([]string{"[", ",\n"}[min(b.Len(), 1)])
		b.Write(text)
	}
	b.WriteString("]\n")
	if *updateShared {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := os.ReadFile(file); err != nil || !bytes.Equal(saved, b.Bytes()) {
		t.Errorf("%s is not the table of this test (%v): go test ./nemb -run LagIsShared -update", file, err)
	}
}

// hiddenParts are tasks of several parts, and what the counter hides of each.
func hiddenParts(h Habits, k []Knot) (all [][2]any) {
	ms := time.Millisecond.Nanoseconds()
	every := func(from, long, step, end int64) (parts [][2]int64) {
		for at := from; at < end; at += step {
			parts = append(parts, [2]int64{at * ms, (at + long) * ms})
		}
		return parts
	}
	for _, parts := range [][][2]int64{
		every(500, 1000, 1000, 501), every(1000, 10, 10, 1100), every(1000, 1, 20, 1100), every(600, 100, 900, 1501),
		append(every(1000, 10, 20, 1100), every(2000, 10, 20, 2100)...), {},
	} {
		all = append(all, [2]any{parts, hiddenBetween(h, k, parts)})
	}
	return all
}

// hiddenBetween is what a counter that samples a part of the time may hide of a task's parts, by Changes.
func hiddenBetween(h Habits, k []Knot, parts [][2]int64) float64 {
	c, sum := Changes{Habits: h}, 0.0
	for _, knot := range k {
		c.Add(knot)
		square := c.Until(knot.At)
		if slices.ContainsFunc(parts, func(p [2]int64) bool {
			return knot.At > float64(p[0]) && knot.At < float64(p[1])+float64(h.Period)
		}) {
			sum += square
		}
	}
	return math.Sqrt(sum)
}
