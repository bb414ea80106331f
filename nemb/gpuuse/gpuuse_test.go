package gpuuse

import (
	"errors"
	"math"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/attribute/gpus"
	"cg/nemb/sampler"
)

const second = checkpoint.Instant(time.Second)

// shown is a ring that keeps what it is told.
type shown struct {
	state  sampler.GPUState
	asked  checkpoint.Instant
	uses   []sampler.GPUUse
	resets int
}

func (s *shown) Domains() []nemb.Domain {
	return []nemb.Domain{{ID: "package-0", Kind: "cpu_package"}, {ID: "gpu0", Kind: nemb.KindGPU, Period: 20 * time.Millisecond}}
}
func (s *shown) Faults() []sampler.Faults                { return []sampler.Faults{{}, {Resets: s.resets}} }
func (s *shown) TellGPU(_ int, g sampler.GPUState)       { s.state = g }
func (s *shown) TellGPUsAsked(at checkpoint.Instant)     { s.asked = at }
func (s *shown) TellGPUUse(domain int, g sampler.GPUUse) { s.uses = append(s.uses, g) }

// sum is what is told in all.
func (s *shown) sum() (all sampler.GPUUse) {
	for _, u := range s.uses {
		all.Program, all.Other, all.Idle = all.Program+u.Program, all.Other+u.Other, all.Idle+u.Idle
		all.Unattributed += u.Unattributed
		all.Lo, all.Hi, all.Off = all.Lo+u.Lo, all.Hi+u.Hi, all.Off+u.Off
		if u.Reason != 0 {
			all.Reason = u.Reason
		}
	}
	return all
}

type processor struct{ nemb.Sensor }

func (processor) Domains() []nemb.Domain { return (&shown{}).Domains()[:1] }

// driver answers a question when the test takes it from questions.
type driver struct {
	nemb.Sensor
	questions chan struct{}
}

func (driver) Domains() []nemb.Domain { return (&shown{}).Domains()[1:] }
func (d driver) Occupants() nemb.Occupancy {
	at := checkpoint.Monotime()
	d.questions <- struct{}{}
	return nemb.Occupancy{At: at, From: at, To: at, KnowsUses: true, KnowsContexts: true}
}

// Processes 1 and 2 are the program's, 3 and 4 are not, 5 was over too soon.
func owner(pid int) gpus.Owner {
	switch pid {
	case 1, 2:
		return gpus.Program
	case 5:
		return gpus.Gone
	}
	return gpus.Other
}

// told is what is told of three seconds of 50, 50 and 150 W, in the last of which these used the GPU.
func told(t *testing.T, change func(o *nemb.Occupancy), uses ...nemb.Use) *shown {
	t.Helper()
	ring := &shown{}
	x := New(ring, []nemb.Sensor{processor{}, driver{}}, owner)
	joules := []float64{0, 50, 100, 250}
	for i := range joules {
		at := checkpoint.Instant(i+1) * second
		o := nemb.Occupancy{At: at, From: max(second, at-second), To: at, KnowsUses: true, KnowsContexts: true}
		if i == 3 {
			o.Uses = uses
			for _, u := range uses {
				o.Contexts = append(o.Contexts, nemb.Context{PID: u.PID, Memory: 1 << 20})
			}
		}
		if change != nil {
			change(&o)
		}
		x.Answer(1, o)
		x.Take([]nemb.Sample{{Time: at, Energy: []nemb.Energy{0, nemb.Energy(joules[i] * 1e6)}}})
	}
	return ring
}

func use(pid int, part float64) nemb.Use { return nemb.Use{PID: pid, Part: part, Lo: part, Hi: part} }

func TestUses(t *testing.T) {
	for _, tt := range []struct {
		name                               string
		uses                               []nemb.Use
		change                             func(o *nemb.Occupancy)
		program, other, idle, unattributed float64
		reason                             gpus.Reason
		state                              sampler.GPUState
	}{
		{"the program's two processes and another", []nemb.Use{use(1, 0.3), use(2, 0.3), use(3, 0.2)}, nil, 75, 25, 150, 0,
			gpus.Resolved, sampler.GPUState{Asked: true, Held: true, Awaited: true}},
		{"others alone", []nemb.Use{use(3, 0.3), use(4, 0.3)}, nil, 0, 100, 150, 0, gpus.Resolved,
			sampler.GPUState{Asked: true, Awaited: true}},
		{"one that was over too soon", []nemb.Use{use(1, 0.5), use(5, 0.5)}, nil, 50, 0, 150, 50, gpus.Vanished,
			sampler.GPUState{Asked: true, Held: true, Awaited: true}},
		{"one of another namespace", []nemb.Use{use(0, 0.5)}, nil, 0, 0, 150, 100, gpus.Namespace,
			sampler.GPUState{Asked: true, Held: true, Awaited: true}},
		{"the only process of an instance, and one of another instance", nil, func(o *nemb.Occupancy) {
			if o.At == 4*second {
				o.Instances = []nemb.Instance{{Part: 0.6, Lo: 0.6, Hi: 0.6, Members: []nemb.Member{{PID: 1, Weight: 1}}},
					{Part: 0.2, Lo: 0.2, Hi: 0.2, Members: []nemb.Member{{PID: 3, Weight: 1}}}}
			}
		}, 75, 25, 150, 0, gpus.Resolved, sampler.GPUState{Asked: true, Held: true, Awaited: true}},
		{"two of the program's processes on one instance", nil, func(o *nemb.Occupancy) {
			if o.At == 4*second {
				o.Instances = []nemb.Instance{{Part: 0.6, Lo: 0.6, Hi: 0.6, Members: []nemb.Member{{PID: 1, Weight: 1}, {PID: 2, Weight: 2}}},
					{Part: 0.2, Lo: 0.2, Hi: 0.2, Members: []nemb.Member{{PID: 3, Weight: 1}}}}
			}
		}, 75, 25, 150, 0, gpus.Resolved, sampler.GPUState{Asked: true, Held: true, Awaited: true}},
		{"an instance of which it is not known whose it is", nil, func(o *nemb.Occupancy) {
			if o.At == 4*second {
				o.Instances = []nemb.Instance{{Part: 0.6, Lo: 0.6, Hi: 0.6}}
			}
		}, 0, 0, 150, 100, gpus.Namespace, sampler.GPUState{Asked: true, Held: true, Awaited: true}},
		{"the driver refuses", nil, func(o *nemb.Occupancy) {
			o.KnowsUses, o.Refused, o.Err = false, nemb.RefusedPartitioned, errors.New("MIG")
		}, 0, 0, 0, 250, gpus.Reason(nemb.RefusedPartitioned), sampler.GPUState{Asked: true,
			Reason: numberOf(gpus.Reason(nemb.RefusedPartitioned))}},
		{"contexts are not told", nil, func(o *nemb.Occupancy) { o.KnowsContexts = false }, 0, 0, 250, 0, gpus.Resolved,
			sampler.GPUState{Asked: true, Held: true, Awaited: true}},
	} {
		ring := told(t, tt.change, tt.uses...)
		sum := ring.sum()
		got := [4]float64{sum.Program.Joules(), sum.Other.Joules(), sum.Idle.Joules(), sum.Unattributed.Joules()}
		if want := [4]float64{tt.program, tt.other, tt.idle, tt.unattributed}; got != want {
			t.Errorf("%s: program, others, idle, unattributed: %v J, want %v", tt.name, got, want)
		}
		if sum.Reason != numberOf(tt.reason) || ring.state != tt.state {
			t.Errorf("%s: reason %d, want %d; %+v, want %+v", tt.name, sum.Reason, numberOf(tt.reason), ring.state, tt.state)
		}
		if lo, hi := sum.Lo*1e-6, sum.Hi*1e-6; lo > tt.program || hi < tt.program || !tt.state.Held && hi > 0 ||
			tt.state.Held && hi < tt.program+tt.unattributed {
			t.Errorf("%s: %v J in [%v, %v]", tt.name, tt.program, lo, hi)
		}
	}
}

// All of an instance is the program's, whichever of its processes used it: the bounds are those of the instance.
func TestInstanceOfTheProgram(t *testing.T) {
	ring := told(t, func(o *nemb.Occupancy) {
		if o.At == 4*second {
			o.Instances = []nemb.Instance{{Part: 0.6, Lo: 0.5, Hi: 0.7, Members: []nemb.Member{{PID: 1, Weight: 1},
				{PID: 2, Weight: 1}}}, {Part: 0.2, Lo: 0.2, Hi: 0.2, Members: []nemb.Member{{PID: 3, Weight: 1}}}}
		}
	})
	if sum := ring.sum(); sum.Lo < 70e6 || sum.Hi > 80e6 || sum.Program != 75e6 {
		t.Errorf("%v J in [%v, %v]", sum.Program.Joules(), sum.Lo*1e-6, sum.Hi*1e-6)
	}
}

// What the driver told before it refuses is known, and readers are told so.
func TestRefusalAtTheEnd(t *testing.T) {
	ring := &shown{}
	x := New(ring, []nemb.Sensor{processor{}, driver{}}, owner)
	for i, joules := range []float64{0, 50, 150, 250} {
		at := checkpoint.Instant(i+1) * second
		o := nemb.Occupancy{At: at, From: max(second, at-second), To: at, KnowsUses: true, KnowsContexts: true}
		switch i {
		case 2:
			o.Uses, o.Contexts = []nemb.Use{use(1, 0.5)}, []nemb.Context{{PID: 1, Memory: 1}}
		case 3:
			o = nemb.Occupancy{At: at, Refused: nemb.RefusedFailed, Err: errors.New("lost")}
		}
		x.Answer(1, o)
		x.Take([]nemb.Sample{{Time: at, Energy: []nemb.Energy{0, nemb.Energy(joules * 1e6)}}})
	}
	want := sampler.GPUState{Asked: true, Held: true, Awaited: true, Reason: numberOf(gpus.Reason(nemb.RefusedFailed))}
	if sum := ring.sum(); ring.state != want || sum.Program != 50e6 || sum.Unattributed != 50e6 {
		t.Errorf("%+v, want %+v; %+v", ring.state, want, ring.uses)
	}
}

// What a counter lost when it was reset is in no use.
func TestReset(t *testing.T) {
	ring := &shown{}
	x := New(ring, []nemb.Sensor{processor{}, driver{}}, owner)
	x.Take([]nemb.Sample{{Time: second, Energy: []nemb.Energy{0, 0}}})
	x.Answer(1, nemb.Occupancy{At: 2 * second, From: second, To: 2 * second, KnowsUses: true, KnowsContexts: true})
	x.Take([]nemb.Sample{{Time: 2 * second, Energy: []nemb.Energy{0, 50e6}}})
	ring.resets++
	x.Take([]nemb.Sample{{Time: 3 * second, Energy: []nemb.Energy{0, 50e6}}})
	x.Take([]nemb.Sample{{Time: 4 * second, Energy: []nemb.Energy{0, 100e6}}})
	x.Answer(1, nemb.Occupancy{At: 4 * second, From: 2 * second, To: 4 * second, KnowsUses: true, KnowsContexts: true})
	if sum := ring.sum(); sum.Idle != 100e6 || sum.Unattributed != 0 {
		t.Errorf("%+v", ring.uses)
	}
	for _, u := range ring.uses {
		if u.From < 3*second && u.To > 2*second {
			t.Errorf("%+v is of the reset", u)
		}
	}
}

// Before the driver's first answer readers know to wait for it. Then they are told up to when nobody held the GPU, also
// at the end.
func TestAsked(t *testing.T) {
	ring, d := &shown{}, driver{questions: make(chan struct{})}
	x := New(ring, []nemb.Sensor{processor{}, d}, owner)
	x.Begin()
	if want := (sampler.GPUState{Asked: true, Held: true, Awaited: true}); ring.state != want || ring.asked != 0 {
		t.Errorf("before the first answer: %+v of %d, want %+v", ring.state, ring.asked, want)
	}
	<-d.questions
	ended := checkpoint.Monotime() // of a task
	go func() {
		for range d.questions {
		}
	}()
	x.Finish(ended)
	close(d.questions)
	if want := (sampler.GPUState{Asked: true, Awaited: true}); ring.state != want || ring.asked < ended {
		t.Errorf("%+v of %d, want %+v of %d or later", ring.state, ring.asked, want, ended)
	}
}

// Of several GPUs the moment is that of the one that was asked first.
func TestAskedOfSeveral(t *testing.T) {
	ring := &shown{}
	x := New(ring, []nemb.Sensor{driver{}, driver{}}, owner)
	for _, tt := range []struct {
		domain   int
		at, want checkpoint.Instant
	}{{0, 2 * second, 0}, {1, 3 * second, 2 * second}, {0, 4 * second, 3 * second}} {
		x.Answer(tt.domain, nemb.Occupancy{At: tt.at, KnowsContexts: true})
		if ring.asked != tt.want {
			t.Errorf("after %d: %d, want %d", tt.at, ring.asked, tt.want)
		}
	}
}

func TestWithoutGPUs(t *testing.T) {
	x := New(&shown{}, []nemb.Sensor{processor{}}, owner)
	if x != nil {
		t.Fatal("a machine without GPUs has a Teller")
	}
	x.Begin()
	x.Take([]nemb.Sample{{}})
	x.Answer(0, nemb.Occupancy{})
	x.Finish(0)
}

func TestReasonsHaveWords(t *testing.T) {
	for i, r := range Reasons() {
		if r.Why == "" || numberOf(gpus.Reason(r.Name)) != i+1 {
			t.Errorf("%d: %+v", i, r)
		}
	}
}

// sampling is a GPU whose counter samples a quarter of the time.
type sampling struct{ driver }

func (s sampling) Domains() []nemb.Domain {
	d := s.driver.Domains()
	d[0].Habits = nemb.Habits{Period: 500 * time.Millisecond, Window: 125 * time.Millisecond}
	return d
}

// habitual is a ring of it.
type habitual struct{ *shown }

func (h habitual) Domains() []nemb.Domain { return sampling{}.Domains() }

// Where the power changes, a counter that samples a part of the time hides some of it: in the piece of the kernels, and in
// the one after them, in which the counter still tells of them. A program that holds nothing has no such bound.
func TestHiddenByTheCounter(t *testing.T) {
	ring := &shown{}
	x := New(habitual{ring}, []nemb.Sensor{sampling{}}, owner)
	joules := 0.0
	for i := range 12 { // half a second each: 50 W, and 250 W from 2 s to 4 s
		at := checkpoint.Instant(i+1) * second / 2
		if i > 0 {
			joules += 25
		}
		if i > 3 && i <= 7 {
			joules += 100
		}
		x.Take([]nemb.Sample{{Time: at, Energy: []nemb.Energy{nemb.Energy(joules * 1e6)}}})
		o := nemb.Occupancy{At: at, From: at - second/2, To: at, KnowsUses: true, KnowsContexts: true}
		if i > 3 && i <= 7 {
			o.Uses, o.Contexts = []nemb.Use{use(1, 0.5)}, []nemb.Context{{PID: 1, Memory: 1}}
		}
		x.Answer(0, o)
	}
	var off []float64
	for _, u := range ring.uses {
		off = append(off, math.Round(u.Off*1e-6))
	}
	// A change by 100 J from one period to the next hides 2 * 3/4 of it; edges of the driver's samples are off besides.
	if len(off) < 10 || off[2] != 0 || off[3] < 150 || off[4] != 0 || off[7] != off[3] || off[8] != 0 {
		t.Errorf("off by %v", off)
	}
}
