package gpus

import (
	"fmt"
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
)

// used is an instance of a divided GPU: what it used of the GPU's seven slices, and who computes on it.
func used(part, lo, hi float64, pids ...int) nemb.Instance {
	in := nemb.Instance{Part: part / 7, Lo: lo / 7, Hi: hi / 7}
	for _, pid := range pids {
		in.Members = append(in.Members, nemb.Member{PID: pid, Weight: 1})
	}
	return in
}

// instances is an answer of a driver of a divided GPU for the second that ends at s.
func instances(s int, all ...nemb.Instance) nemb.Occupancy {
	o := told(s, nil)
	o.Instances, o.Method, o.Quiet = all, ByGPM, len(all) == 0
	for _, in := range all {
		for _, m := range in.Members {
			o.Contexts = append(o.Contexts, nemb.Context{PID: m.PID, Memory: 1 << 30})
		}
	}
	return o
}

// A divided GPU draws 50 W for two seconds, and then 250 W for one.
func TestDivideInstances(t *testing.T) {
	for _, test := range []struct {
		name                         string
		all                          []nemb.Instance
		program, other, unattributed float64    // J
		bounds                       [2]float64 // of the program, without edges
		reason                       Reason
	}{
		{name: "the program alone", all: []nemb.Instance{used(2, 2, 2, mine)}, program: 200, bounds: [2]float64{200, 200}},
		{name: "two processes of it on one", all: []nemb.Instance{used(2, 2, 2, mine, mine)}, program: 200, bounds: [2]float64{200, 200}},
		{name: "by activity", all: []nemb.Instance{used(1, 1, 1, mine), used(3, 2, 3, others)}, program: 50, other: 150,
			bounds: [2]float64{50, 200 / 3.0}},
		{name: "by slices alone", all: []nemb.Instance{used(1, 0, 1, mine), used(4, 0, 4, others)}, program: 40, other: 160,
			bounds: [2]float64{0, 200}},
		{name: "both on one instance", all: []nemb.Instance{used(2, 2, 2, mine, others)}, program: 100, other: 100,
			bounds: [2]float64{0, 200}},
		{name: "both on one, and one more", all: []nemb.Instance{used(1, 1, 1, mine, others), used(1, 1, 1, others)},
			program: 50, other: 150, bounds: [2]float64{0, 100}},
		{name: "an instance of which no process is told", all: []nemb.Instance{used(1, 1, 1, mine), used(1, 1, 1)},
			program: 100, unattributed: 100, bounds: [2]float64{100, 200}, reason: Namespace},
		{name: "one of which nothing is told", all: []nemb.Instance{used(1, 1, 1, mine), used(0, 0, 1)}, program: 200,
			bounds: [2]float64{100, 200}},
		{name: "others alone", all: []nemb.Instance{used(1, 1, 1, others)}, other: 200},
	} {
		l := logOf(instances(1), instances(2), instances(3, test.all...))
		c := curve(50, 50, 250)
		d := l.Divide(c, nemb.IdlePower{})
		if d.Method != ByGPM || d.Reason != test.reason || d.Total() != c.Total {
			t.Errorf("%s: %+v", test.name, d)
		}
		near := func(got nemb.Energy, want float64) bool { return math.Abs(got.Joules()-want) < 0.01 }
		if !near(d.Program, test.program) || !near(d.Other, test.other) || !near(d.Unattributed, test.unattributed) {
			t.Errorf("%s: program %v, others %v, unattributed %v J", test.name, d.Program.Joules(), d.Other.Joules(),
				d.Unattributed.Joules())
		}
		v := divider{curve: c, spans: filled(l.spans, c, span{}), mayHold: true}
		lo, hi := v.spans[len(v.spans)-1].bounds(false)
		if math.Abs(200*lo-test.bounds[0]) > 0.01 || math.Abs(200*hi-test.bounds[1]) > 0.01 {
			t.Errorf("%s: [%v, %v] J, want %v", test.name, 200*lo, 200*hi, test.bounds)
		}
	}
}

// The pieces of a stream have each process's part of the instances.
func TestStreamOfInstances(t *testing.T) {
	s := Stream{Period: 100 * time.Millisecond}
	energy := 0.0
	s.Counter(0, 0)
	watts := []float64{50, 50, 250, 250}
	s.Answer(nemb.Occupancy{KnowsUses: true, KnowsContexts: true, At: 1})
	for i, w := range watts {
		energy += w
		s.Counter(second*checkpoint.Instant(i+1), nemb.Energy(energy*1e6))
		o := instances(i + 1)
		if i > 1 {
			o = instances(i+1, used(1, 1, 1, mine, mine), used(3, 2, 3, others), used(1, 1, 1, mine))
		}
		s.Answer(o)
	}
	got := map[int]nemb.Energy{}
	for _, p := range s.Settle(true) {
		for _, u := range p.Uses {
			if got[u.PID] += u.Energy; u.Lo > float64(u.Energy) || u.Hi < float64(u.Energy) {
				t.Errorf("%+v", u)
			}
		}
	}
	if text := fmt.Sprint(got); text != "map[10:160000000 20:240000000]" {
		t.Error(text)
	}
}

// Instances of which it is not known how active they were bound what the others used. Where nothing is known of any,
// the time is not quiet: what the GPU draws then is not its idle power.
func TestLittleKnownInstances(t *testing.T) {
	hidden := used(0, 0, 2)
	unknown := used(0, 0, 1, mine)
	second3 := instances(3, used(1, 1, 1, mine), hidden)
	joined := second3 // as those that join processes before
	joined.Uses, joined.Instances = second3.Used(), nil
	for _, third := range []nemb.Occupancy{second3, joined} {
		s := Stream{Period: 100 * time.Millisecond}
		s.Counter(0, 0)
		s.Answer(nemb.Occupancy{KnowsUses: true, KnowsContexts: true, At: 1})
		answers := []nemb.Occupancy{instances(1), instances(2, unknown), third}
		answers[1].Quiet = false
		energy := 0.0
		for i, w := range []float64{50, 250, 250} {
			energy += w
			s.Counter(second*checkpoint.Instant(i+1), nemb.Energy(energy*1e6))
			s.Answer(answers[i])
		}
		pieces := s.Settle(true)
		if len(pieces) != 3 {
			t.Fatalf("%+v", pieces)
		}
		if p := pieces[1]; p.Unattributed != 200e6 || p.Reason != NoSamples || p.Idle != 50e6 {
			t.Errorf("nothing is known: %+v", p)
		}
		if p := pieces[2]; len(p.Uses) != 2 || p.Uses[0].Energy != 200e6 || p.Uses[0].Lo > 70e6 || p.Uses[1].Hi < 130e6 {
			t.Errorf("a hidden instance: %+v", p)
		}
	}
	answers := []nemb.Occupancy{instances(1), instances(2), instances(3, unknown)}
	answers[2].Quiet = false
	l := logOf(answers...)
	d := l.Divide(curve(50, 50, 250), nemb.IdlePower{})
	if math.Abs(d.Unattributed.Joules()-200) > 0.01 || d.IdlePower.Power != 50 || d.Program != 0 || d.ProgramHi < 199e6 {
		t.Errorf("%+v", d)
	}
	if s := join(span{state: unseen, to: 1}, span{state: quiet, from: 1, to: 2}); s.state != unseen {
		t.Errorf("%+v", s)
	}
}
