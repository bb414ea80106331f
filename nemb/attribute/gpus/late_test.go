package gpus

import (
	"fmt"
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// lateGPU draws 50 W, and 300 W more while somebody computes. Its counter moves each period by the mean of a window that
// ended some time ago, and the driver tells each 250 ms who computed.
func lateGPU(h nemb.Habits, end float64, users map[int][][2]float64) (used map[int]nemb.Energy, bounds map[int][3]float64,
	lag map[int]Lag, resting nemb.IdlePower) {
	const idle, busy = 50., 300.
	drawn := func(t float64) float64 { // J
		sum := idle * t
		for _, spans := range users {
			for _, s := range spans {
				sum += busy * (min(max(t, s[0]), s[1]) - s[0])
			}
		}
		return sum
	}
	s := Stream{Period: h.Period, Habits: h}
	used, bounds, lag = map[int]nemb.Energy{}, map[int][3]float64{}, map[int]Lag{}
	take := func(pieces []Piece) {
		for _, p := range pieces {
			for _, u := range p.Uses {
				used[u.PID] += u.Energy
				b, l := bounds[u.PID], lag[u.PID]
				l.Add(u.Lag)
				bounds[u.PID], lag[u.PID] = [3]float64{b[0] + u.Lo, b[1] + u.Hi, b[2] + u.Off*u.Off}, l
			}
		}
	}
	told, asked := 0.0, 0.0
	window, delay, period := h.Window.Seconds(), h.Delay.Seconds(), h.Period.Seconds()
	for t := 0.; t < end; t = math.Round((t+period)*1e3) / 1e3 {
		told += (drawn(t-delay) - drawn(t-delay-window)) / window * period
		at := checkpoint.Instant(t * 1e9)
		s.Counter(at, nemb.Energy(told*1e6))
		if t-asked < 0.25 {
			continue
		}
		o := nemb.Occupancy{At: at, From: checkpoint.Instant(asked * 1e9), To: at, KnowsUses: true, KnowsContexts: true, Quiet: true}
		for pid, spans := range users {
			for _, span := range spans {
				if ran := min(t, span[1]) - max(asked, span[0]); ran > 0 {
					o.Quiet = false
					part := ran / (t - asked)
					o.Uses = append(o.Uses, nemb.Use{PID: pid, Part: part, Lo: part, Hi: part})
				}
			}
		}
		s.Answer(o)
		asked = t
		take(s.Settle(false))
		if n := len(s.late.borders); n > 30 || float64(len(s.knots))*period > 10 {
			panic(fmt.Sprint(n, " borders and ", len(s.knots), " knots are kept"))
		}
	}
	take(s.Settle(true))
	return used, bounds, lag, s.idle()
}

// What a counter that is late tells of a process after it has ended is within the process's bounds: of one long run, of
// short ones, and of processes that take turns.
func TestLateCounters(t *testing.T) {
	const ms = time.Millisecond
	bursts := [][2]float64{}
	for at := 5.; at < 55; at += 5 {
		bursts = append(bursts, [2]float64{at, at + 0.5})
	}
	for _, h := range []nemb.Habits{{Period: 100 * ms, Window: time.Second}, {Period: 50 * ms, Window: 50 * ms, Delay: 400 * ms},
		{Period: 50 * ms, Window: 400 * ms, Delay: 150 * ms}} {
		for name, users := range map[string]map[int][][2]float64{
			"one run": {1: {{5, 30}}}, "bursts": {1: bursts},
			"turns": {1: {{5, 10}, {15, 20}}, 2: {{10, 15}, {20, 25}}}, "to the end": {1: {{5, 60}}},
		} {
			used, bounds, lag, _ := lateGPU(h, 60, users)
			for pid, spans := range users {
				truth := 0.0
				for _, s := range spans {
					truth += 300 * (s[1] - s[0])
				}
				b, got := bounds[pid], used[pid].Joules()
				late := lag[pid].With(0) * 1e-6
				off := lag[pid].With(b[2]) * 1e-6
				lo, hi := min(got, b[0]*1e-6-off), max(got, b[1]*1e-6+off)
				t.Logf("%v of %v, %v late: %s: %d: %.0f J of %.0f, %.0f to %.0f, late by %.0f J", h.Window, h.Period, h.Delay,
					name, pid, got, truth, lo, hi, late)
				if truth < lo || truth > hi {
					t.Errorf("%v of %v, %v late: %s: process %d: %.1f J of %.1f J is not in %.1f to %.1f", h.Window, h.Period, h.Delay,
						name, pid, got, truth, lo, hi)
				}
				if name == "one run" && late > 2*300*(h.Settled().Seconds()+0.25) {
					t.Errorf("%v of %v, %v late: a run's energy is late by %.1f J", h.Window, h.Period, h.Delay, late)
				}
			}
		}
	}
	if _, _, lag, _ := lateGPU(nemb.Habits{Period: 100 * ms, Window: 25 * ms}, 20, map[int][][2]float64{1: {{5, 10}}}); lag[1] != (Lag{}) {
		t.Errorf("a counter that is not late: %+v", lag[1])
	}
}

// What is known of bursts at the end of all is told, also where the driver has told of all that the counter has by then.
func TestLateCounterAtTheEnd(t *testing.T) {
	h := nemb.Habits{Period: 50 * time.Millisecond, Window: time.Second}
	for _, end := range []float64{5.51, 5.56} { // at 5.5 s both tell
		used, bounds, lag, _ := lateGPU(h, end, map[int][][2]float64{1: {{5, 5.5}}})
		off := lag[1].With(bounds[1][2]) * 1e-6
		lo, hi := min(used[1].Joules(), bounds[1][0]*1e-6-off), max(used[1].Joules(), bounds[1][1]*1e-6+off)
		t.Logf("up to %v s: %.1f J, %.1f to %.1f, %+v", end, used[1].Joules(), lo, hi, lag[1])
		if lo > 150 || hi < 150 || lag[1].Bursts == 0 {
			t.Errorf("up to %v s: %.1f J of 150 J, %.1f to %.1f, bursts %g uJ", end, used[1].Joules(), lo, hi, lag[1].Bursts)
		}
	}
}

// What a counter tells late of bursts is no idle power, be it later than a GPU's power takes to fall.
func TestIdlePowerOfLateCounters(t *testing.T) {
	bursts := [][2]float64{}
	for at := 6.; at < 55; at += 6 {
		bursts = append(bursts, [2]float64{at, at + 0.5})
	}
	for _, delay := range []time.Duration{400 * time.Millisecond, 2 * time.Second} {
		h := nemb.Habits{Period: 50 * time.Millisecond, Window: 50 * time.Millisecond, Delay: delay}
		_, _, _, resting := lateGPU(h, 60, map[int][][2]float64{1: bursts})
		if math.Abs(resting.Power-50) > 1 {
			t.Errorf("%v late: %.1f W at rest, want 50", delay, resting.Power)
		}
	}
}

// ofBursts is a run of 50 s with ten bursts of the program, half a second of 350 W each, beside which the GPU draws other
// watts, and what the driver tells is changed. Before it, 50 W were measured.
func ofBursts(h nemb.Habits, watts float64, change func(o *nemb.Occupancy)) (d Division, truth float64) {
	const ms = time.Millisecond
	bursts := [][2]float64{}
	for at := 5.; at < 45; at += 4 {
		bursts = append(bursts, [2]float64{at, at + 0.5})
	}
	drawn := func(at float64) float64 { // J
		sum := watts * at
		for _, b := range bursts {
			sum += (350 - watts) * (min(max(at, b[0]), b[1]) - b[0])
		}
		return sum
	}
	window, delay := max(h.Window.Seconds(), 0.05), h.Delay.Seconds()
	c := Curve{From: 0, To: 50 * second, Period: 50 * ms, Settled: h.Settled(), Habits: h}
	joules := 0.0
	for k := 0; k <= 1000; k++ {
		at := float64(k) * 0.05
		if k > 0 {
			joules += (drawn(at-delay) - drawn(at-delay-window)) / window * 0.05
		}
		c.Knots = append(c.Knots, nemb.Knot{At: at * 1e9, Joules: joules})
	}
	c.Total = nemb.Energy(joules * 1e6)
	var all []nemb.Occupancy
	for k := 1; k <= 200; k++ { // four a second
		o := told(1, nil)
		o.At = checkpoint.Instant(k) * second / 4
		o.From, o.To = o.At-second/4, o.At
		for _, b := range bursts {
			if at := float64(k) / 4; at > b[0] && at <= b[1] {
				o.Uses, o.Quiet = []nemb.Use{use(mine, 1)}, false
			}
		}
		if change != nil {
			change(&o)
		}
		all = append(all, o)
	}
	base := nemb.IdlePower{Power: 50, Lo: 49.9, Hi: 50.1, Method: nemb.IdleBaseline}
	return logOf(all...).Divide(c, base), (350 - watts) * 0.5 * float64(len(bursts)) * 1e6
}

// TestLateCounterOfARun: what a late counter tells after each of the program's uses is within the program's bounds, and
// these have no more than the run has above its idle power.
func TestLateCounterOfARun(t *testing.T) {
	const ms = time.Millisecond
	for _, h := range []nemb.Habits{{}, {Period: 100 * ms, Window: time.Second}, {Period: 50 * ms, Window: 50 * ms, Delay: 1500 * ms}} {
		d, truth := ofBursts(h, 50, nil)
		t.Logf("%+v: %.0f J, %.0f to %.0f, of %.0f", h, d.Program.Joules(), d.ProgramLo*1e-6, d.ProgramHi*1e-6, truth*1e-6)
		if truth < d.ProgramLo || truth > d.ProgramHi {
			t.Errorf("%+v: %.0f J are not in %.0f to %.0f J", h, truth*1e-6, d.ProgramLo*1e-6, d.ProgramHi*1e-6)
		}
		if d.ProgramHi > 1.02*truth || d.ProgramLo < 0.95*float64(d.Program) {
			t.Errorf("%+v: %.0f to %.0f J are wide for %.0f J", h, d.ProgramLo*1e-6, d.ProgramHi*1e-6, truth*1e-6)
		}
	}
}

// The run as a whole narrows bounds by its own idle power, where another one was measured before it, and says nothing
// of the least that the program used where others may have used the GPU, too.
func TestBoundsOfTheWholeRun(t *testing.T) {
	const ms = time.Millisecond
	means := nemb.Habits{Period: 100 * ms, Window: time.Second}
	for _, h := range []nemb.Habits{{}, means} {
		for _, watts := range []float64{45, 55} {
			d, truth := ofBursts(h, watts, nil)
			if truth < d.ProgramLo || truth > d.ProgramHi {
				t.Errorf("%+v: %v W at rest: %.0f J are not in %.0f to %.0f J", h, watts, truth*1e-6, d.ProgramLo*1e-6,
					d.ProgramHi*1e-6)
			}
		}
	}
	alone, _ := ofBursts(means, 50, nil)
	for name, change := range map[string]func(o *nemb.Occupancy){
		"another one computes": func(o *nemb.Occupancy) {
			if o.At == 2*second {
				o.Uses, o.Quiet = []nemb.Use{use(others, 0.1)}, false
			}
		},
		"another one holds a context": func(o *nemb.Occupancy) { o.Contexts = append(o.Contexts, nemb.Context{PID: others, Memory: 1 << 30}) },
		"contexts are not told":       func(o *nemb.Occupancy) { o.KnowsContexts = false },
		"a time is not told":          func(o *nemb.Occupancy) { o.KnowsUses = o.At < 20*second || o.At > 21*second },
	} {
		d, _ := ofBursts(means, 50, change)
		if alone.ProgramLo < 0.9*float64(alone.Program) || d.ProgramLo > 0.5*float64(d.Program) {
			t.Errorf("%s: %.0f J or more of %.0f J, %.0f J alone", name, d.ProgramLo*1e-6, d.Program.Joules(), alone.ProgramLo*1e-6)
		}
	}
}
