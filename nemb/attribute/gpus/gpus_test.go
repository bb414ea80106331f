package gpus

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// second is in nanoseconds of CLOCK_MONOTONIC.
const second = checkpoint.Instant(time.Second)

// These processes are whose their numbers say.
const (
	mine    = 10
	others  = 20
	gone    = 30
	foreign = 0
)

func owner(pid int) Owner {
	return map[int]Owner{mine: Program, others: Other, gone: Gone}[pid]
}

// use is what a driver that rounds to whole percent says.
func use(pid int, part float64) nemb.Use {
	return nemb.Use{PID: pid, Part: part, Lo: max(0, part-0.01), Hi: min(1, part+0.01)}
}

// told is an answer of a driver that samples each second: of the second that ends at s.
func told(s int, contexts []int, uses ...nemb.Use) nemb.Occupancy {
	o := nemb.Occupancy{At: checkpoint.Instant(s) * second, From: checkpoint.Instant(s-1) * second,
		To: checkpoint.Instant(s) * second, Uses: uses, KnowsUses: true, Method: Utilization, KnowsContexts: true, Quiet: len(uses) == 0}
	for _, pid := range contexts {
		o.Contexts = append(o.Contexts, nemb.Context{PID: pid, Memory: 1 << 30})
	}
	return o
}

// quietMIG is an answer of a driver that tells contexts, and no use by processes.
func quietMIG(s int, contexts ...int) nemb.Occupancy {
	o := told(s, contexts)
	o.KnowsUses, o.Refused = false, nemb.RefusedPartitioned
	return o
}

// curve is that of a GPU with these powers, of a second each from 0 on.
func curve(watts ...float64) Curve {
	c := Curve{Knots: []nemb.Knot{{At: 0}}, To: checkpoint.Instant(len(watts)) * second, Period: 100 * time.Millisecond}
	sum := 0.0
	for i, w := range watts {
		sum += w
		c.Knots = append(c.Knots, nemb.Knot{At: float64(i+1) * 1e9, Joules: sum})
	}
	c.Total = nemb.Energy(sum * 1e6)
	return c
}

// logOf is what was told from 0 on.
func logOf(all ...nemb.Occupancy) *Log {
	l := &Log{}
	l.Add(nemb.Occupancy{KnowsUses: true, KnowsContexts: true, At: 1}, owner)
	for _, o := range all {
		l.Add(o, owner)
	}
	return l
}

// A GPU draws 50 W while nobody computes, and its powers while somebody does.
func TestDivide(t *testing.T) {
	both := []int{mine, others}
	tests := []struct {
		name                               string
		watts                              []float64
		told                               []nemb.Occupancy
		base                               nemb.IdlePower
		program, other, idle, unattributed float64 // J
		method                             string
		reason                             Reason
		unused                             bool
	}{
		{name: "the program alone, between quiet times", watts: []float64{50, 50, 50, 250, 250, 50, 50, 50},
			told: []nemb.Occupancy{told(1, nil), told(2, nil), told(3, nil), told(4, []int{mine}, use(mine, 1)),
				told(5, []int{mine}, use(mine, 1)), told(6, nil), told(7, nil), told(8, nil)},
			program: 400, idle: 400, method: Utilization},
		{name: "it shares the GPU", watts: []float64{50, 50, 50, 250, 250},
			told: []nemb.Occupancy{told(1, nil), told(2, nil), told(3, nil), told(4, both, use(mine, 0.6), use(others, 0.2)),
				told(5, both, use(mine, 0.2), use(others, 0.2))},
			program: 250, other: 150, idle: 250, method: Utilization},
		{name: "others alone: it has none", watts: []float64{50, 50, 250, 250},
			told: []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{others}, use(others, 1)),
				told(4, []int{others}, use(others, 1))},
			other: 400, idle: 200, method: Utilization, unused: true},
		{name: "never quiet: no idle power is made up", watts: []float64{250, 250},
			told:    []nemb.Occupancy{told(1, []int{mine}, use(mine, 1)), told(2, []int{mine}, use(mine, 1))},
			program: 500, method: Utilization},
		{name: "never quiet, with a baseline", watts: []float64{250, 250}, base: nemb.IdlePower{Power: 40, Lo: 39, Hi: 41, Method: nemb.IdleBaseline},
			told:    []nemb.Occupancy{told(1, []int{mine}, use(mine, 1)), told(2, []int{mine}, use(mine, 1))},
			program: 420, idle: 80, method: Utilization},
		{name: "a second without samples", watts: []float64{50, 50, 250, 250, 250},
			told: []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{mine}, use(mine, 1)),
				told(5, []int{mine}, use(mine, 1))},
			program: 400, idle: 250, unattributed: 200, method: Utilization, reason: Interrupted},
		{name: "a process that was over too soon", watts: []float64{50, 50, 250},
			told:    []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{mine}, use(mine, 0.5), use(gone, 0.5))},
			program: 100, idle: 150, unattributed: 100, method: Utilization, reason: Vanished},
		{name: "a number of another namespace", watts: []float64{50, 50, 250},
			told: []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{foreign}, use(foreign, 0.5))},
			idle: 150, unattributed: 200, method: Utilization, reason: Namespace},
		{name: "idle contexts, by their memory", watts: []float64{50, 50, 80, 80},
			told:    []nemb.Occupancy{told(1, nil), told(2, nil), told(3, both), told(4, both)},
			program: 30, other: 30, idle: 200, method: Utilization},
		{name: "its idle context alone", watts: []float64{50, 50, 80, 80},
			told:    []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{mine}), told(4, []int{mine})},
			program: 60, idle: 200, method: Utilization},
		{name: "idle contexts of another namespace alone", watts: []float64{50, 50, 80, 80},
			told: []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{foreign}), told(4, []int{foreign})},
			idle: 200, unattributed: 60, method: Utilization, reason: Namespace},
		{name: "idle contexts of three, by their memory", watts: []float64{50, 50, 80, 80},
			told:    []nemb.Occupancy{told(1, nil), told(2, nil), told(3, []int{mine, others, gone}), told(4, []int{mine, others, gone})},
			program: 20, other: 20, idle: 200, unattributed: 20, method: Utilization, reason: Vanished},
		{name: "the driver does not tell", watts: []float64{250, 250},
			told:         []nemb.Occupancy{{At: second, Refused: nemb.RefusedUnsupported}, {At: 2 * second, Refused: nemb.RefusedUnsupported}},
			unattributed: 500, method: Unattributed, reason: Reason(nemb.RefusedUnsupported)},
		{name: "MIG instances", watts: []float64{250, 250}, base: nemb.IdlePower{Power: 40, Lo: 39, Hi: 41, Method: nemb.IdleBaseline},
			told: []nemb.Occupancy{{At: second, Refused: nemb.RefusedPartitioned}}, idle: 80,
			unattributed: 420, method: Unattributed, reason: Reason(nemb.RefusedPartitioned)},
		{name: "MIG instances, with a context", watts: []float64{50, 50, 80, 250},
			told: []nemb.Occupancy{quietMIG(1), quietMIG(2), quietMIG(3, mine), {At: 4 * second, Refused: nemb.RefusedPartitioned}},
			idle: 200, unattributed: 230, method: Unattributed, reason: Reason(nemb.RefusedPartitioned)},
		{name: "nobody was asked", watts: []float64{250}, unattributed: 250, method: Unattributed, reason: NotAsked},
	}
	for _, test := range tests {
		l := &Log{}
		if len(test.told) > 0 {
			l = logOf(test.told...)
		}
		if test.method == Unattributed {
			l.knowsHeld = false
		}
		d := l.Divide(curve(test.watts...), test.base)
		for _, part := range []struct {
			name string
			got  nemb.Energy
			want float64
		}{{"program", d.Program, test.program}, {"other", d.Other, test.other}, {"idle", d.Idle, test.idle},
			{"unattributed", d.Unattributed, test.unattributed}} {
			if math.Abs(part.got.Joules()-part.want) > 1e-5 {
				t.Errorf("%s: %s has %v J, want %v", test.name, part.name, part.got.Joules(), part.want)
			}
		}
		if d.Method != test.method || d.Reason != test.reason || d.Unused != test.unused {
			t.Errorf("%s: %s %q %v", test.name, d.Method, d.Reason, d.Unused)
		}
		if e := float64(d.Program); d.ProgramLo > e || d.ProgramHi < e || d.ProgramLo < 0 {
			t.Errorf("%s: %v is not in [%v, %v]", test.name, e, d.ProgramLo, d.ProgramHi)
		}
		if test.unused && d.ProgramHi > 0 {
			t.Errorf("%s: it used nothing, or up to %v uJ", test.name, d.ProgramHi)
		}
	}
}

// Where the driver accounts for processes, the run is divided by how long their kernels ran.
func TestDivideByAccounting(t *testing.T) {
	life := func(pid int, busy float64) nemb.Lifetime {
		of := func(s float64) time.Duration { return time.Duration(s * 1e9) }
		return nemb.Lifetime{PID: pid, Busy: of(busy), Lo: of(busy - 0.05), Hi: of(busy + 0.05)}
	}
	l := &Log{}
	for s, lives := range [][]nemb.Lifetime{{life(others, 7)}, {life(others, 7)}, {life(others, 7)},
		{life(others, 7.5), life(mine, 0.5)}, {life(others, 8), life(mine, 3)}} {
		l.Add(nemb.Occupancy{At: 1 + checkpoint.Instant(s)*second, Refused: nemb.RefusedUnsupported, Quiet: s < 3,
			KnowsContexts: true, KnowsLifetimes: true, Lifetimes: lives}, owner)
	}
	d := l.Divide(curve(50, 50, 250, 250), nemb.IdlePower{})
	if d.Method != Accounting || d.IdlePower.Method != nemb.IdleRun || d.Reason != Resolved {
		t.Fatalf("%+v", d)
	}
	for _, part := range []struct{ got, want float64 }{{d.Program.Joules(), 300}, {d.Other.Joules(), 100}, {d.Idle.Joules(), 200}} {
		if math.Abs(part.got-part.want) > 1e-3 {
			t.Errorf("%v J, want %v: %+v", part.got, part.want, d)
		}
	}
	if d.ProgramLo > 290e6 || d.ProgramHi < 310e6 || d.ProgramLo < 100e6 {
		t.Errorf("[%v, %v] uJ", d.ProgramLo, d.ProgramHi)
	}
}

// A driver that only accounts is asked a little after the run has begun, and says that a GPU is quiet by its last sample.
// Kernels that begin behind that sample are not idle power, and the time before the first answer is as quiet as that behind.
func TestIdlePowerByAccounting(t *testing.T) {
	const begin, end = 1.6, 2.6 // of kernels
	l := &Log{}
	for at := 0.01; at < 3; at += nemb.AskEvery.Seconds() {
		o := nemb.Occupancy{At: checkpoint.Instant(at * 1e9), Refused: nemb.RefusedUnsupported, KnowsLifetimes: true, Quiet: at < 2 || at > end+0.5}
		if ran := min(at, end) - begin; ran > 0 {
			o.Lifetimes = []nemb.Lifetime{{PID: mine, Busy: time.Duration(ran * 1e9)}}
		}
		l.Add(o, owner)
	}
	c := Curve{To: 3 * second, Period: 100 * time.Millisecond}
	for i := range 31 {
		at := float64(i) / 10
		c.Knots = append(c.Knots, nemb.Knot{At: at * 1e9, Joules: 50*at + 200*max(0, min(at, end)-begin)})
	}
	c.Total = nemb.Energy(1e6 * c.Knots[30].Joules)
	if d := l.Divide(c, nemb.IdlePower{}); math.Abs(d.IdlePower.Power-50) > 1e-3 {
		t.Errorf("idle power %+v, want 50 W", d.IdlePower)
	}
}

// Kernels of several clients of MPS run side by side: the time in which one's ran does not
// tell what part of the GPU it had.
func TestDivideSideBySide(t *testing.T) {
	both := told(3, []int{mine, others}, use(mine, 0.9), use(others, 0.1))
	both.AtOnce = true
	alone := told(4, []int{mine}, use(mine, 1))
	alone.AtOnce = true
	d := logOf(told(1, nil), told(2, nil), both, alone).Divide(curve(50, 50, 250, 250), nemb.IdlePower{})
	if d.Program != 380e6 || !d.AtOnce || d.ProgramLo > 200e6 || d.ProgramHi < 400e6 {
		t.Errorf("%+v", d)
	}
}

// What the program used in a part of the run adds up to what it used in all of it.
func TestProgramBetween(t *testing.T) {
	d := logOf(told(1, nil), told(2, nil), told(3, []int{mine}, use(mine, 1)), told(4, nil), told(5, []int{mine}, use(mine, 1))).
		Divide(curve(50, 50, 250, 50, 150), nemb.IdlePower{})
	for _, test := range []struct {
		from, to checkpoint.Instant
		want     float64
	}{{0, 5 * second, 300e6}, {2 * second, 3 * second, 200e6}, {second, 2 * second, 0}, {2 * second, 2*second + second/2, 100e6},
		{9 * second, 10 * second, 0}} {
		e, lo, hi := d.ProgramBetween(test.from, test.to)
		if math.Abs(e-test.want) > 1 || lo > e || hi < e {
			t.Errorf("%v to %v: %v uJ in [%v, %v], want %v", test.from, test.to, e, lo, hi, test.want)
		}
	}
}

// A run of any length is kept in bounded memory, and loses no energy.
func TestLongRun(t *testing.T) {
	const n = 3*mostSpans + 7
	l, sum := &Log{}, 0.0
	for s := range n {
		l.Add(told(s+1, []int{mine}, use(mine, float64(s%2)), use(others, 1)), owner)
		sum += 100 * float64(s%2) / 2
	}
	if len(l.spans) >= mostSpans {
		t.Errorf("%d spans", len(l.spans))
	}
	c := Curve{Knots: []nemb.Knot{{}, {At: n * 1e9, Joules: n * 100}}, To: n * second, Total: n * 100e6}
	if d := l.Divide(c, nemb.IdlePower{}); math.Abs(d.Program.Joules()/(n*100.0/3)-1) > 0.01 || d.Total() != c.Total {
		t.Errorf("%v of %v J", d.Program.Joules(), sum)
	}
}

// simulated is a GPU of which the truth is known: 60 W idle, 200 W more while a kernel runs,
// with processes that come and go. Its counter moves each 100 ms, and its driver samples each
// fifth of a second, tells the mean of what is new in whole percent, and is asked at odd times.
func simulated(random *rand.Rand, seconds int) (l *Log, c Curve, truth float64) {
	const step = second / 100
	type process struct {
		pid      int
		from, to checkpoint.Instant
		part     float64
	}
	end := checkpoint.Instant(seconds) * second
	var all []process
	for range 2 + random.IntN(4) {
		from := 3*second + checkpoint.Instant(random.Int64N(int64(end-4*second)))
		all = append(all, process{[]int{mine, others}[random.IntN(2)], from,
			min(end-2*second, from+second+checkpoint.Instant(random.Int64N(int64(4*second)))), 0.05 + random.Float64()*0.15})
	}
	l, c = &Log{}, Curve{Knots: []nemb.Knot{{}}, To: end, Period: 100 * time.Millisecond}
	run := map[int]float64{} // ns of kernels, since the driver's last answer
	var from, asked checkpoint.Instant
	sum := 0.0
	for at := step; at <= end; at += step {
		watts, contexts := 60.0, []nemb.Context{}
		for _, p := range all {
			if at > p.from && at <= p.to {
				watts += 200 * p.part
				run[p.pid] += p.part * float64(step)
				contexts = append(contexts, nemb.Context{PID: p.pid})
				if p.pid == mine {
					truth += 200 * p.part * float64(step) * 1e-3
				}
			}
		}
		sum += watts * float64(step) * 1e-9
		if at%(second/10) == 0 {
			c.Knots = append(c.Knots, nemb.Knot{At: float64(at), Joules: sum})
		}
		if at%(second/5) != 0 || at < asked && at != end {
			continue
		}
		asked = at + checkpoint.Instant(random.Int64N(int64(second/3)))
		o := nemb.Occupancy{At: at, From: from, To: at, KnowsUses: true, Method: Utilization, KnowsContexts: true, Contexts: contexts}
		for _, pid := range []int{mine, others} {
			if part := math.Round(100*run[pid]/float64(at-from)) / 100; part > 0 {
				o.Uses = append(o.Uses, use(pid, part))
			}
		}
		from = at
		clear(run)
		l.Add(o, owner)
	}
	c.Total = nemb.Energy(math.Round(sum * 1e6))
	return l, c, truth
}

// The truth lies in the interval, which is narrow enough to tell something.
func TestTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	inside, n, width := 0, 400, 0.0
	for range n {
		l, c, truth := simulated(random, 20)
		d := l.Divide(c, nemb.IdlePower{})
		if d.ProgramLo <= truth+1 && truth <= d.ProgramHi+1 {
			inside++
		} else if testing.Verbose() {
			t.Logf("%v is not in [%v, %v]: %+v", truth, d.ProgramLo, d.ProgramHi, d.IdlePower)
		}
		if truth > 0 {
			width += (d.ProgramHi - d.ProgramLo) / truth / float64(n)
		}
		if d.Total() != c.Total {
			t.Fatalf("%v, want %v", d.Total(), c.Total)
		}
	}
	t.Logf("%d of %d inside; the intervals are %.0f %% wide", inside, n, 100*width)
	if inside < n*95/100 || width > 1.5 {
		t.Errorf("%d of %d are inside of their intervals, which are %.2f wide", inside, n, width)
	}
}

// Whatever a driver says: the parts are the whole, to the microjoule, and the program's lies in
// its interval.
func FuzzLaw(f *testing.F) {
	f.Add(uint64(1), []byte{1, 2, 3, 250, 4, 0, 255, 17, 9, 33})
	f.Add(uint64(7), []byte{})
	f.Fuzz(func(t *testing.T, seed uint64, says []byte) {
		random := rand.New(rand.NewPCG(seed, 3))
		pids := []int{mine, others, gone, foreign}
		l := &Log{}
		at := checkpoint.Instant(1)
		for _, b := range says {
			to := at + checkpoint.Instant(random.Int64N(int64(2*second)))
			o := nemb.Occupancy{At: to, From: at - checkpoint.Instant(b&1)*second/4, To: to - checkpoint.Instant(b&2)*second/8,
				KnowsUses: b&4 == 0, KnowsContexts: b&8 == 0, KnowsLifetimes: b&16 != 0, Quiet: b&32 != 0, AtOnce: b&64 != 0,
				Refused: []nemb.Refusal{nemb.RefusedFailed, nemb.NotRefused}[b>>7]}
			for _, pid := range pids[:b%5] {
				part := float64(random.IntN(101)) / 100
				o.Uses = append(o.Uses, use(pid, part))
				o.Contexts = append(o.Contexts, nemb.Context{PID: pid, Memory: uint64(random.IntN(3))})
				o.Lifetimes = append(o.Lifetimes, nemb.Lifetime{PID: pid, Busy: time.Duration(random.Int64N(1e9)), Hi: 2e9})
			}
			l.Add(o, owner)
			if b&3 == 3 {
				at = to
			}
		}
		c := curve(random.Float64()*300, random.Float64()*300, 0, random.Float64()*1e-6)
		c.Total += nemb.Energy(random.IntN(2))
		var base nemb.IdlePower
		if seed%2 == 0 {
			base = nemb.IdlePower{Power: 50, Lo: 40, Hi: 60, Method: nemb.IdleBaseline}
		}
		d := l.Divide(c, base)
		if d.Total() != c.Total {
			t.Fatalf("%+v is %v, want %v", d, d.Total(), c.Total)
		}
		e := float64(d.Program)
		if !(0 <= d.ProgramLo && d.ProgramLo <= e && e <= d.ProgramHi && d.ProgramHi <= float64(c.Total)) {
			t.Fatalf("%v is not in [%v, %v]", e, d.ProgramLo, d.ProgramHi)
		}
		if part, lo, hi := d.ProgramBetween(c.From, c.To); math.Abs(part-e) > 1 || lo > part || hi < part {
			t.Fatalf("the parts are %v in [%v, %v], the whole %v", part, lo, hi, e)
		}
	})
}
