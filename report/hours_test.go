package report

import (
	"testing"
	"time"

	"cg/launcher"
	"cg/nemb/condition"
)

func TestProcessors(t *testing.T) {
	half := 1.5
	for _, test := range []struct {
		state condition.State
		want  float64
	}{
		{condition.State{}, 0},
		{condition.State{CPUSet: "0-3,6"}, 5},
		{condition.State{CPUSet: "0-3,6", Cores: "2-3"}, 2},
		{condition.State{CPUSet: "0-3", Cores: "2-3", CPULimit: &half}, 1.5},
		{condition.State{Cores: "7"}, 1},
		{condition.State{CPUSet: "what is this"}, 0},
	} {
		r := &Run{MachineState: &MachineState{Before: test.state}}
		if got := r.Processors(); got != test.want {
			t.Errorf("%+v: %v, want %v", test.state, got, test.want)
		}
	}
	if got := new(Run).Processors(); got != 0 {
		t.Errorf("%v processors of a machine that told nothing", got)
	}
}

func TestHours(t *testing.T) {
	yes, no := true, false
	run := func(devices ...*bool) *Run {
		r := &Run{MachineState: &MachineState{Before: condition.State{CPUSet: "0-3"}}}
		r.Totals.WallDurationS, r.Process.UserS, r.Process.SystemS = 1800, 2700, 900
		if devices != nil {
			r.GPUs = &GPUs{}
			for _, used := range devices {
				r.GPUs.Devices = append(r.GPUs.Devices, GPU{UsedByProgram: used})
			}
		}
		r.hours(true)
		return r
	}
	is := func(got *float64, want float64) bool { return got != nil && *got == want }
	h := run().Totals.Hours
	if h.Core != 1 || !is(h.ReservedCore, 2) || !is(h.Processors, 4) || h.GPU != nil {
		t.Errorf("%+v", h)
	}
	if line := h.Line(); line != "1 core-hours of processor time, 2 core-hours of 4 reserved processors" {
		t.Error(line)
	}
	both := run(&yes, &no, &yes).Totals.Hours
	if !is(both.GPU, 1) || run(&yes, nil).Totals.Hours.GPU != nil || !is(run(&no).Totals.Hours.GPU, 0) {
		t.Errorf("%+v", both)
	}
	if sum := both.Plus(both); sum.Core != 2 || !is(sum.ReservedCore, 4) || !is(sum.Processors, 4) || !is(sum.GPU, 2) {
		t.Errorf("%+v", sum)
	} else if want := "2 core-hours of processor time, 4 core-hours of 4 reserved processors, 2 GPU-hours"; sum.Line() != want {
		t.Error(sum.Line())
	}
	if sum := h.Plus(both); sum.GPU != nil { // not known of one
		t.Errorf("%+v", sum)
	}
	if sum := (*Hours)(nil).Plus(h); *sum != *h || h.Plus(nil) != h {
		t.Errorf("%+v", sum)
	}
	r := run()
	r.hours(false) // it ran before cg
	if h := r.Totals.Hours; h.Core != 1 || h.ReservedCore != nil || h.Line() != "1 core-hours of processor time" {
		t.Errorf("%+v", h)
	}
	if short := (&Hours{Core: 0.001}); short.Line() != "" || (*Hours)(nil).Line() != "" {
		t.Error(short.Line())
	}
}

// A program that ran on when cg had stopped measuring used processor time of which the time of the run is no part.
func TestHoursOfRunning(t *testing.T) {
	r := &Run{MachineState: &MachineState{Before: condition.State{CPUSet: "0"}}}
	r.Totals.WallDurationS, r.Process.Running = 1, true
	if r.hours(true); r.Totals.Hours != nil {
		t.Errorf("running: %+v", r.Totals.Hours)
	}
	r.Ended(launcher.Result{User: time.Hour})
	if r.Process.UserS != 3600 || r.Totals.Hours != nil {
		t.Errorf("ended: %+v", r.Totals.Hours)
	}
}

func TestHoursOfMany(t *testing.T) {
	reserved, processors, gpu := 99.96, 16384.0, 12345.6
	h := &Hours{Core: 1536, ReservedCore: &reserved, Processors: &processors, GPU: &gpu}
	if got, want := h.Line(), "1536 core-hours of processor time, 100 core-hours of 16384 reserved processors, 12346 GPU-hours"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for v, want := range map[float64]string{0: "0", 1: "1", 1.5: "1.5", 0.0123: "0.0123", 1e-5: "0.00001", 12.34: "12.3", 123.6: "124"} {
		if got := inHours(v); got != want {
			t.Errorf("%v: %s, not %s", v, got, want)
		}
	}
}
