package amdsmi

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/simulate"
)

// occupied opens the GPU of a stand-in.
func occupied(t *testing.T, conf string, define ...string) (*energy, string) {
	t.Helper()
	root, path := fake(t, conf, define...)
	sensors, err := nemb.OpenSource(root, name)
	if err != nil || len(sensors) != 1 {
		t.Fatal(sensors, err)
	}
	t.Cleanup(func() { sensors[0].Close() })
	s := sensors[0].(*energy)
	s.local = func(int) bool { return true }
	return s, path
}

// Who holds a GPU, and how long its graphics engine has worked for each, are read in the form of each version.
func TestProcesses(t *testing.T) {
	from := float64(checkpoint.Monotime())*1e-9 - 10
	held := fmt.Sprintf("process 0 41 30 0.5 0 %f %f\nquiet 0 42 %f %f\n", from, from+4, from, from+1e6) +
		fmt.Sprintf("process 0 43 12 0.25 0 %f %f\n", from, from+1e6)
	s, path := occupied(t, "")
	for _, test := range []struct {
		version string
		units   uint32
		refused nemb.Refusal
	}{
		{"23 4", 0, nemb.RefusedUnsupported}, {"24 6", 0, nemb.NotRefused}, {"25 4", 0, nemb.NotRefused}, {"26 1", 12, nemb.NotRefused},
	} {
		if err := simulate.NVMLConf(path, "version "+test.version+"\n"+held); err != nil {
			t.Fatal(err)
		}
		var version [2]uint32
		fmt.Sscan(test.version, &version[0], &version[1])
		s.gpu.lib.processes = listOf(version[0])
		all, err := s.gpu.processes()
		if test.refused != nemb.NotRefused {
			if err == nil || refusal(err) != test.refused {
				t.Errorf("%s: %v, %v", test.version, all, err)
			}
			continue
		}
		if err != nil || len(all) != 2 || all[0].pid != 42 || all[1].pid != 43 { // 41 is over
			t.Errorf("%s: %+v, %v", test.version, all, err)
			continue
		}
		if p := all[1]; p.units != test.units || p.memory != 1<<30 || p.busy < 2500e6 {
			t.Errorf("%s: %+v", test.version, p)
		}
	}
	s.gpu.lib.processes = listOf(24)
	if all, err := s.gpu.processes(); err == nil {
		t.Errorf("in another form: %+v", all)
	}
}

// The library may refuse, or lack the function.
func TestProcessesRefused(t *testing.T) {
	s, path := occupied(t, "")
	for code, want := range map[int]nemb.Refusal{2: nemb.RefusedUnsupported, noPermission: nemb.RefusedDenied, 7: nemb.RefusedFailed} {
		if err := simulate.NVMLConf(path, fmt.Sprintf("fail 0 processes %d\n", code)); err != nil {
			t.Fatal(err)
		}
		if o := s.Occupants(); o.Refused != want || o.KnowsUses || o.KnowsContexts || o.Err == nil {
			t.Errorf("%d: %+v", code, o)
		}
	}
}

func TestProcessesMissing(t *testing.T) {
	s, _ := occupied(t, "", "NO_PROCESSES")
	if o := s.Occupants(); o.Refused != nemb.RefusedUnsupported {
		t.Errorf("%+v", o)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// What each process used of a second, by two answers.
func TestUses(t *testing.T) {
	const second = checkpoint.Instant(1e9)
	none := math.NaN()
	for _, test := range []struct {
		name        string
		before, now map[uint32]process
		active      float64
		want        []nemb.Use
		refused     nemb.Refusal
	}{
		{"nobody", nil, nil, 0, nil, ""},
		{"an idle context", map[uint32]process{1: {}}, map[uint32]process{1: {}}, 0, nil, ""},
		{"one alone, whatever is told of it", nil, map[uint32]process{1: {}}, 0.6, []nemb.Use{{PID: 1, Part: 0.6, Lo: 0.6, Hi: 0.6}}, ""},
		{"graphics of two", map[uint32]process{1: {busy: 5e8}, 2: {}}, map[uint32]process{1: {busy: 8e8}, 2: {busy: 1e8}}, 0.4,
			[]nemb.Use{{PID: 1, Part: 0.3, Lo: 0.3, Hi: 0.3}, {PID: 2, Part: 0.1, Lo: 0.1, Hi: 0.1}}, ""},
		{"compute units of two", map[uint32]process{1: {units: 30}, 2: {units: 10}}, map[uint32]process{1: {units: 10}, 2: {units: 10}}, 0.8,
			[]nemb.Use{{PID: 1, Part: 0.5, Lo: 0.4, Hi: 0.6}, {PID: 2, Part: 0.3, Lo: 0.2, Hi: 0.4}}, ""},
		{"one that is over", map[uint32]process{1: {units: 30}, 2: {}}, map[uint32]process{2: {}}, 0.5,
			[]nemb.Use{{PID: 1, Part: 0.5, Lo: 0.5, Hi: 0.5}}, ""},
		{"graphics and units", map[uint32]process{1: {}, 2: {units: 4}}, map[uint32]process{1: {busy: 2e8}, 2: {units: 4}}, 1,
			[]nemb.Use{{PID: 1, Part: 0.2, Lo: 0.2, Hi: 0.2}, {PID: 2, Part: 0.8, Lo: 0.8, Hi: 0.8}}, ""},
		{"busy, and not told for whom", map[uint32]process{1: {}, 2: {}}, map[uint32]process{1: {}, 2: {}}, 0.5, nil, nemb.RefusedUnsupported},
		{"no activity is told", map[uint32]process{1: {units: 1}, 2: {}}, map[uint32]process{1: {units: 1}, 2: {}}, none,
			[]nemb.Use{{PID: 1, Part: 1, Lo: 1, Hi: 1}}, ""},
	} {
		w := occupants{before: test.before, local: func(int) bool { return true }, seesAll: true}
		o := nemb.Occupancy{From: second, To: 2 * second}
		w.uses(&o, test.now, test.active)
		close := len(o.Uses) == len(test.want)
		for i := 0; close && i < len(o.Uses); i++ {
			a, b := o.Uses[i], test.want[i]
			close = a.PID == b.PID && math.Abs(a.Part-b.Part) < 1e-9 && math.Abs(a.Lo-b.Lo) < 1e-9 && math.Abs(a.Hi-b.Hi) < 1e-9
		}
		if !close || o.Refused != test.refused || o.KnowsUses == (test.refused != "") {
			t.Errorf("%s: %+v, want %+v", test.name, o, test.want)
		}
	}
}

// Where other users' processes are not seen, what one process seems to have alone may be theirs.
func TestUsesOfOthersUnseen(t *testing.T) {
	w := occupants{local: func(int) bool { return true }}
	o := nemb.Occupancy{From: 1e9, To: 2e9}
	w.uses(&o, map[uint32]process{1: {busy: 2e8}}, 0.6)
	if u := o.Uses[0]; u.Part != 0.6 || u.Lo != 0.2 || u.Hi != 0.6 {
		t.Errorf("%+v", u)
	}
}

// The first answer has the contexts alone; from the second on there is the time between.
func TestOccupants(t *testing.T) {
	from := float64(checkpoint.Monotime())*1e-9 - 1
	s, _ := occupied(t, fmt.Sprintf("version 26 1\nprocess 0 41 30 0 100 %f %f\nquiet 0 42 %f %f\n", from, from+1e6, from, from+1e6))
	first := s.Occupants()
	if !first.KnowsUses || len(first.Uses) > 0 || len(first.Contexts) != 2 || first.Contexts[0].Memory != 1<<30 || first.To != first.From {
		t.Errorf("%+v", first)
	}
	next := s.Occupants()
	if next.From != first.At || next.To != next.At || len(next.Uses) != 1 || next.Uses[0].PID != 41 || next.Uses[0].Part != 1 || next.Quiet {
		t.Errorf("%+v", next)
	}
	s.local = func(int) bool { return false }
	if o := s.Occupants(); o.Contexts[0].PID != 0 || o.Uses[0].PID != 0 {
		t.Errorf("of another namespace: %+v", o)
	}
}
