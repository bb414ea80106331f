package report

import (
	"strings"
	"testing"
)

func TestDearest(t *testing.T) {
	j := func(n Joules) *Joules { return &n }
	functions := []Function{
		{Name: "small", File: "/a", SelfEnergyJ: j(5), CPUTimeS: 8, SelfTimeS: 1},
		{Name: "large", File: "/a", SelfEnergyJ: j(60), CPUTimeS: 1, SelfTimeS: 1},
		{Name: "nowhere", SelfEnergyJ: j(10), CPUTimeS: 0, SelfTimeS: 1},
		{Name: "middle", File: "/b", SelfEnergyJ: j(25), CPUTimeS: 1, SelfTimeS: 1},
	}
	names := func(part float64) (s string, share float64) {
		r := Run{Functions: functions}
		found, share := r.Dearest(part)
		for _, f := range found {
			s += f.Name + " "
		}
		return s, share
	}
	check := func(part float64, want string, share float64) {
		t.Helper()
		if got, has := names(part); got != want || has != share {
			t.Errorf("%v: %q with %v, want %q with %v", part, got, has, want, share)
		}
	}
	check(0.5, "large ", 0.6)
	check(0.85, "large middle ", 0.85)
	check(0.9, "large middle small ", 0.9) // what has no file has no lines
	check(1, "large middle small ", 0.9)
	for i := range functions {
		functions[i].SelfEnergyJ = nil
	}
	check(0.8, "small ", 0.8) // by processor time
	for i := range functions {
		functions[i].CPUTimeS = 0
	}
	check(0.5, "small large ", 0.5) // by time
	functions = nil
	check(0.5, "", 0)
}

// TestAffordable: what a run with lines took more than one without is divided by events, and the functions with most
// arrivals for their time lose their lines until the rest is within the limit.
func TestAffordable(t *testing.T) {
	const most = 2
	of := func(cpu float64, functions ...Function) *Run {
		return &Run{Process: Process{UserS: cpu * 0.75, SystemS: cpu * 0.25}, Functions: functions}
	}
	f := func(name string, cpu float64, calls, arrivals uint64) Function {
		return Function{Name: name, File: "/a", CPUTimeS: cpu, Calls: calls,
			Places: []Place{{Kind: "line", Count: arrivals}, {Kind: "rest"}}}
	}
	for _, c := range []struct {
		name        string
		fine, tried *Run
		want        string
		times       float64
		ok          bool
	}{
		{"within", of(1, f("loop", 1, 1, 0)), of(1.5, f("loop", 1, 1, 900)), "loop", 1.5, true},
		// 7 s more for 70 events: 10 are affordable, and "calm" with its 8 is.
		{"one is too dear", of(1, f("loop", 0.5, 1, 0), f("calm", 0.5, 0, 0)),
			of(8, f("loop", 0.5, 1, 60), f("calm", 0.5, 0, 8)), "calm", 8, true},
		{"all are", of(1, f("loop", 0.5, 0, 0), f("other", 0.5, 0, 0)),
			of(8, f("loop", 0.5, 0, 40), f("other", 0.5, 0, 30)), "", 8, false},
		// Of 7 s more the calls take 4.
		{"the calls alone are", of(1, f("short", 1, 0, 0)), of(8, f("short", 1, 20, 5), f("called", 0, 0, 25)), "", 8, false},
		// The one that arrives most seldom for its time comes first, though it arrives more often in all.
		{"by time", of(2, f("long", 1.9, 0, 0), f("brief", 0.1, 0, 0)),
			of(6, f("long", 1.9, 0, 20), f("brief", 0.1, 0, 20)), "long", 3, true},
		// Places are told of all functions of a name, or of none.
		{"of one name", of(1, f("lambda", 0.3, 0, 0), f("lambda", 0.4, 0, 0), f("loop", 0.3, 0, 0)),
			of(8, f("lambda", 0.3, 0, 3), f("lambda", 0.4, 0, 4), f("loop", 0.3, 0, 63)), "lambda lambda", 8, true},
		{"of one name, by time",
			of(1, f("lambda", 0.1, 0, 0), f("lambda", 0.1, 0, 0), f("calm", 0.15, 0, 0), f("loop", 0.65, 0, 0)),
			of(8, f("lambda", 0.1, 0, 4), f("lambda", 0.1, 0, 4), f("calm", 0.1, 0, 8), f("loop", 0.7, 0, 54)),
			"lambda lambda", 8, true},
		{"so short that it is noise", of(0.02, f("brief", 0.01, 1, 0)), of(0.11, f("brief", 0.1, 1, 900)), "brief", 5.5, true},
		{"no time is known", &Run{Functions: []Function{f("a", 0, 1, 0)}}, of(3, f("a", 0, 1, 9)), "a", 3e9, true},
	} {
		var all []*Function
		for i := range c.fine.Functions {
			all = append(all, &c.fine.Functions[i])
		}
		some, times, ok := c.fine.Affordable(all, c.tried, most)
		var names []string
		for _, f := range some {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.want || times/c.times < 0.999 || times/c.times > 1.001 || ok != c.ok {
			t.Errorf("%s: %q %g %v, want %q %g %v", c.name, got, times, ok, c.want, c.times, c.ok)
		}
	}
}

// TestAffordableOfEnded: where the run with lines was ended, functions all whose calls were over have theirs.
func TestAffordableOfEnded(t *testing.T) {
	f := func(name string, cpu float64, calls, arrivals uint64, cut uint64) Function {
		return Function{Name: name, File: "/a", CPUTimeS: cpu, Calls: calls, CallsCut: cut,
			Places: []Place{{Kind: "line", Count: arrivals}, {Kind: "rest"}}}
	}
	fine := &Run{Process: Process{UserS: 1}, Functions: []Function{
		f("calm", 0.5, 1, 0, 0), f("often", 0.2, 10, 0, 0), f("last", 0.3, 1, 0, 0)}}
	for _, c := range []struct {
		name  string
		cpu   float64
		tried []Function
		want  string
	}{
		// 9.5 s more for 100 arrivals and 4 edges of calls: 10 of them may be, of which the calls take 24.
		{"the calls alone are too dear", 10, []Function{f("calm", 0.5, 1, 5, 0), f("last", 9, 1, 95, 1)}, ""},
		// 9.5 s more for 1000: 105 may be.
		{"one is over", 10, []Function{f("calm", 0.5, 1, 50, 0), f("last", 9, 1, 946, 1)}, "calm"},
		{"one is over, and too dear", 10, []Function{f("calm", 0.5, 1, 500, 0), f("last", 9, 1, 496, 1)}, ""},
		{"half of the calls are missing", 10, []Function{f("calm", 0.5, 1, 50, 0), f("often", 9, 5, 946, 0)}, "calm"},
		{"one was not come to", 1, []Function{f("calm", 0.5, 1, 5, 0), f("often", 0.2, 10, 20, 0)}, "calm often"},
		{"it slept", 0.55, []Function{f("calm", 0.5, 1, 5000, 0), f("last", 0.01, 1, 1, 1)}, "calm"},
		{"all are over: why it is slow is not known", 10,
			[]Function{f("calm", 0.5, 1, 5, 0), f("often", 0.2, 10, 20, 0), f("last", 0.3, 1, 900, 0)}, ""},
		{"nothing was told", 0, nil, ""},
	} {
		var all []*Function
		for i := range fine.Functions {
			all = append(all, &fine.Functions[i])
		}
		var names []string
		for _, f := range fine.AffordableOfEnded(all, &Run{Process: Process{UserS: c.cpu}, Functions: c.tried}, 2) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTooDearIsSaid: which functions have no lines, why, and what tells them nevertheless, is a warning of the run.
func TestTooDearIsSaid(t *testing.T) {
	times, limit, fine := 9.04, 10.0, 0.42
	for _, c := range []struct {
		of   PlacesOf
		want string
	}{
		{PlacesOf{TooDear: []string{"a", "b.c", "c", "d"}, Times: &times},
			"a, b.c, c (and 1 more): with them the program took 9.0 times the processor time of -g fine; --lines a,b.c,c"},
		{PlacesOf{TooDear: []string{"main.<lambda>", "f(int, int)"}, Times: &times},
			"main.<lambda>, f(int, int): with them the program took 9.0 times the processor time of -g fine; " +
				"--lines 'main.<lambda>,f(int? int)'"},
		{PlacesOf{TooDear: []string{"a"}, EndedAfterS: &limit, FineS: &fine},
			"a: with them the program had not ended after 10.0 s, and -g fine took 0.4 s; --lines a"},
	} {
		r := &Run{}
		r.notePlaces(Facts{PlacesOf: &c.of})
		want := "--lines auto tells no lines or blocks of " + c.want + " tells those of them alone"
		if len(r.Warnings) != 1 || r.Warnings[0].Message != want {
			t.Errorf("%+v, want %s", r.Warnings, want)
		}
	}
}
