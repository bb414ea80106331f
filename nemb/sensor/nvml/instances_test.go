package nvml

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/dcgm"
	"cg/nemb/simulate"
)

// askedTwice asks a GPU twice, one second of its clock apart, and gives the second answer.
func askedTwice(t *testing.T, g *gpuEnergy) nemb.Occupancy {
	t.Helper()
	at, us := checkpoint.Monotime(), uint64(1e15)
	g.who.clock = func() (checkpoint.Instant, uint64) { return at, us }
	g.Occupants()
	at, us = at+1e9, us+1e6
	return g.Occupants()
}

func describeInstances(all []nemb.Instance) string {
	var words []string
	for _, in := range all {
		word := fmt.Sprintf("%.2f [%.2f %.2f]", in.Part*7, in.Lo*7, in.Hi*7) // in slices
		for _, m := range in.Members {
			word += fmt.Sprintf(" %d:%.1f", m.PID, m.Weight)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// A GPU is divided into instances of 3, 2 and 1 of its seven slices: what each used is told as far as NVML knows.
func TestInstances(t *testing.T) {
	const divided = "idle 0 50\nmigmode 0\ninstance 0 1 3\ninstance 0 5 2\ninstance 0 9 1\n"
	process := func(pid, sm int) string { return fmt.Sprintf("process 0 %d %d 100 0 1e9\n", pid, sm) }
	two := process(41, 50) + "in 41 1\n" + process(42, 100) + "in 42 5 40\n"
	for _, test := range []struct {
		name, conf, method string
		define             []string
		instances          string // in slices
		without            string
		refused            nemb.Refusal
	}{
		{name: "by activity", conf: divided + two, method: nemb.GPMInstances,
			instances: "1.50 [1.47 1.53] 41:3.0, 2.00 [0.78 2.00] 42:2.0"},
		{name: "two on one instance", conf: divided + process(41, 50) + "in 41 1\n" + process(42, 10) + "in 42 1\n",
			method: nemb.GPMInstances, instances: "1.80 [1.77 1.83] 41:1.5 42:1.5"},
		{name: "idle", conf: divided, method: nemb.GPMInstances},
		{name: "no instances, nobody", conf: "migmode 0\n", method: nemb.GPMInstances},
		{name: "Ampere", conf: divided + two + "capability 0 8 0\n", method: nemb.SliceInstances,
			instances: "3.00 [0.00 3.00] 41:3.0, 2.00 [0.00 2.00] 42:2.0", without: "has no performance monitoring"},
		{name: "an old driver", conf: divided + two, define: []string{"NO_GPM"}, method: nemb.SliceInstances,
			instances: "3.00 [0.00 3.00] 41:3.0, 2.00 [0.00 2.00] 42:2.0", without: "this driver has no such function"},
		{name: "GPM fails", conf: divided + two + "fail 0 gpm 999\n", method: nemb.SliceInstances,
			instances: "3.00 [0.00 3.00] 41:3.0, 2.00 [0.00 2.00] 42:2.0", without: "unknown error"},
		{name: "one alone by slices", conf: divided + process(41, 50) + "in 41 1\ncapability 0 8 0\n",
			method: nemb.SliceInstances, instances: "3.00 [3.00 3.00] 41:3.0", without: "has no performance monitoring"},
		{name: "nobody by slices", conf: divided + "capability 0 8 0\n", method: nemb.SliceInstances,
			without: "has no performance monitoring"},
		{name: "others' processes are hidden", conf: divided + two + "instance 0 11 1 hidden\nfail 0 contexts 4\n",
			method: nemb.GPMInstances, instances: "1.50 [1.47 1.53] 41:3.0, 2.00 [0.78 2.00] 42:2.0, 0.00 [0.00 1.00]"},
		{name: "so are instances, by slices", conf: "migmode 0\ninstance 0 1 3\ninstance 0 5 2 hidden\n" + two +
			"fail 0 contexts 4\ncapability 0 8 0\n", method: nemb.SliceInstances,
			instances: "3.00 [0.00 3.00] 41:3.0, 0.00 [0.00 4.00]", without: "has no performance monitoring"},
		{name: "an instance that is hidden, with a process that is not", conf: "migmode 0\ninstance 0 1 3\n" +
			"instance 0 5 2 hidden\n" + two + "capability 0 8 0\n", method: nemb.SliceInstances,
			instances: "3.00 [0.00 3.00] 41:3.0, 1.00 [0.00 4.00] 42:1.0", without: "has no performance monitoring"},
		{name: "all processes are hidden, by slices", conf: "migmode 0\ninstance 0 1 3\ninstance 0 5 2 hidden\n" +
			process(42, 100) + "in 42 5\nfail 0 contexts 4\ncapability 0 8 0\n", method: nemb.SliceInstances,
			refused: nemb.RefusedDenied, without: "may not ask for the processes"},
		{name: "no instance is listed", conf: "migmode 0\n" + process(41, 50), method: nemb.NVMLUtilization,
			refused: nemb.RefusedPartitioned, without: "lists no instance"},
		{name: "the list fails", conf: divided + two + "fail 0 instances 999\n", method: nemb.NVMLUtilization,
			refused: nemb.RefusedPartitioned, without: "unknown error"},
	} {
		g, _ := occupiedGPU(t, test.conf, test.define...)
		o := askedTwice(t, g)
		if got := describeInstances(o.Instances); got != test.instances || o.Method != test.method ||
			o.Refused != test.refused || o.KnowsUses != (test.refused == nemb.NotRefused) {
			t.Errorf("%s: %s: %s, want %s; %+v", test.name, o.Method, got, test.instances, o)
		}
		if (o.Err == nil) != (test.without == "") || o.Err != nil && !strings.Contains(o.Err.Error(), test.without) {
			t.Errorf("%s: %v", test.name, o.Err)
		}
		if o.KnowsUses && o.To-o.From != 1e9 {
			t.Errorf("%s: from %v to %v", test.name, o.From, o.To)
		}
		if quiet := !strings.Contains(test.conf, "process"); o.Quiet != quiet {
			t.Errorf("%s: quiet: %v", test.name, o.Quiet)
		}
		sum := 0.0
		for _, u := range o.Used() {
			if u.Part > u.Hi || u.Part < u.Lo && u.PID != 0 {
				t.Errorf("%s: %+v", test.name, u)
			}
			sum += u.Part
		}
		for _, in := range o.Instances {
			sum -= in.Part
		}
		if math.Abs(sum) > 1e-9 {
			t.Errorf("%s: what processes used is not what instances did: %v", test.name, sum)
		}
		if err := g.Close(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// dcgmBeside makes a stand-in of DCGM beside that of NVML.
func dcgmBeside(t *testing.T, path, conf string) string {
	t.Helper()
	path, err := simulate.DCGM(filepath.Dir(path), conf)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sampled asks until there are samples of DCGM that are not of its begin.
func sampled(t *testing.T, g *gpuEnergy) (o nemb.Occupancy) {
	t.Helper()
	until := g.Occupants().At + 1e9
	for deadline := time.Now().Add(time.Minute); o.To <= o.From || o.To < until; time.Sleep(20 * time.Millisecond) {
		if o = g.Occupants(); time.Now().After(deadline) {
			t.Fatalf("no samples: %+v", o)
		}
	}
	return o
}

// DCGM comes first: it tells how active instances are on GPUs before Hopper, and of instances that this process may not
// see. Where it fails, GPM or slices are left.
func TestInstancesByDCGM(t *testing.T) {
	t.Setenv(dcgmVariable, "")
	const conf = "idle 0 50\nmigmode 0\ninstance 0 1 3\ninstance 0 5 2 hidden\nprocess 0 41 50 100 0 1e9\nin 41 1\n" +
		"process 0 42 100 100 0 1e9\nin 42 5 40\ncapability 0 8 0\n"
	for _, test := range []struct{ name, conf, dcgm, want string }{
		{"all", conf, "engine\n", "1.50 [1.47 1.53] 41:3.0, 2.00 [0.78 2.00] 42:1.0"},
		{"without SMs", conf, "engine\nnosm\n", "1.50 [0.00 1.53] 41:3.0, 2.00 [0.00 2.00] 42:1.0"},
		{"others' processes are hidden", conf + "fail 0 contexts 4\n", "engine\n", "1.50 [1.47 1.53] 41:3.0, 2.00 [0.78 2.00]"},
		{"DCGM does not know one that is used", conf, "engine\nunlisted 1\n", "2.00 [0.78 2.00] 42:1.0, 0.00 [0.00 3.00] 41:3.0"},
	} {
		g, path := occupiedGPU(t, test.conf)
		dcgmBeside(t, path, test.dcgm)
		o := sampled(t, g)
		if got := describeInstances(o.Instances); got != test.want || o.Method != nemb.DCGMInstances || o.Err != nil {
			t.Errorf("%s: %s: %s, want %s; %v", test.name, o.Method, got, test.want, o.Err)
		}
	}
	for _, test := range []struct{ conf, method, want string }{
		{conf, nemb.SliceInstances, "no engine answers"},
		{strings.Replace(conf, "capability 0 8 0\n", "", 1), nemb.GPMInstances, ""},
	} {
		g, path := occupiedGPU(t, test.conf)
		library := dcgmBeside(t, path, "engine\n")
		if o := g.Occupants(); o.Method != nemb.DCGMInstances {
			t.Errorf("%+v", o)
		}
		if err := simulate.NVMLConf(library, "engine\nfail since -21\n"); err != nil {
			t.Fatal(err)
		}
		if o := g.Occupants(); o.Method != test.method || (o.Err == nil) != (test.want == "") ||
			o.Err != nil && !strings.Contains(o.Err.Error(), test.want) {
			t.Errorf("%+v, want %s", o, test.method)
		}
	}
}

// While GPM tells in place of DCGM, which failed, DCGM is looked for again after a while, and what GPM told of the time
// before is not lost.
func TestDCGMComesBack(t *testing.T) {
	t.Setenv(dcgmVariable, "")
	g, path := occupiedGPU(t, "idle 0 50\nmigmode 0\ninstance 0 1 3\nprocess 0 41 50 100 0 1e9\nin 41 1\n")
	library := dcgmBeside(t, path, "engine\n")
	asked := func(conf string, due bool, want string) {
		t.Helper()
		if err := simulate.NVMLConf(library, conf); err != nil {
			t.Fatal(err)
		}
		if due {
			g.who.mig.again = 1
		}
		if o := g.Occupants(); o.Method != want || o.Err != nil {
			t.Errorf("%q, due: %v: %s, want %s; %v", conf, due, o.Method, want, o.Err)
		}
	}
	const works, fails = "engine\n", "engine\nfail since -21\n"
	asked(works, false, nemb.DCGMInstances)
	asked(fails, false, nemb.GPMInstances)
	asked(works, false, nemb.GPMInstances)
	asked(works, true, nemb.GPMInstances) // of the time before
	asked(works, false, nemb.DCGMInstances)
	asked(fails, false, nemb.GPMInstances)
	asked("engine\nunlisted 1\n", true, nemb.GPMInstances)
	asked("engine\nunlisted 1\n", false, nemb.GPMInstances)
}

// DCGM that knows no instance where NVML lists some tells nothing: the GPU is not idle. GPM or slices are left.
func TestUnknownToDCGM(t *testing.T) {
	t.Setenv(dcgmVariable, "")
	const conf = "idle 0 50\nmigmode 0\ninstance 0 1 3\nprocess 0 41 50 100 0 1e9\nin 41 1\n"
	for _, test := range []struct{ conf, method, want string }{
		{conf, nemb.GPMInstances, "1.50 [1.47 1.53] 41:3.0"},
		{conf + "capability 0 8 0\n", nemb.SliceInstances, "3.00 [3.00 3.00] 41:3.0"},
	} {
		for _, later := range []bool{false, true} {
			g, path := occupiedGPU(t, test.conf)
			library := dcgmBeside(t, path, "engine\n")
			if later {
				if o := g.Occupants(); o.Method != nemb.DCGMInstances {
					t.Errorf("%+v", o)
				}
			}
			if err := simulate.NVMLConf(library, "engine\nunlisted 1\n"); err != nil {
				t.Fatal(err)
			}
			o := askedTwice(t, g)
			if got := describeInstances(o.Instances); got != test.want || o.Method != test.method || o.Quiet {
				t.Errorf("%s, later: %v: %s: %s, want %s; %+v", test.method, later, o.Method, got, test.want, o)
			}
		}
	}
}

// GPM that fails for one instance tells of the others, and of that one again when it can. Where it fails for all, it is
// asked again later.
func TestGPMFails(t *testing.T) {
	const conf = "idle 0 50\nmigmode 0\ninstance 0 1 3\ninstance 0 5 2\nprocess 0 41 50 100 0 1e9\nin 41 1\n" +
		"process 0 42 100 100 0 1e9\nin 42 5\n"
	const both, one = "1.50 [1.47 1.53] 41:3.0, 2.00 [1.98 2.00] 42:2.0", "1.50 [1.47 1.53] 41:3.0, 0.00 [0.00 2.00] 42:2.0"
	const size = "3.00 [0.00 3.00] 41:3.0, 2.00 [0.00 2.00] 42:2.0"
	g, path := occupiedGPU(t, conf)
	at, us := checkpoint.Monotime(), uint64(1e15)
	g.who.clock = func() (checkpoint.Instant, uint64) { return at, us }
	for i, step := range []struct {
		seconds            uint64
		more, method, want string
	}{
		{1, "", nemb.GPMInstances, ""}, {1, "", nemb.GPMInstances, both},
		{1, "fail 0 gpm5 999\n", nemb.GPMInstances, one}, {1, "", nemb.GPMInstances, one}, {1, "", nemb.GPMInstances, both},
		{1, "fail 0 gpm 999\n", nemb.SliceInstances, size}, {1, "", nemb.SliceInstances, size},
		{15, "", nemb.SliceInstances, size}, {15, "", nemb.GPMInstances, ""}, {1, "", nemb.GPMInstances, both},
		{1, "fail 0 gpm 999\n", nemb.SliceInstances, size}, {30, "fail 0 gpm 999\n", nemb.SliceInstances, size},
		{30, "", nemb.GPMInstances, ""}, {1, "", nemb.GPMInstances, both},
	} {
		if err := simulate.NVMLConf(path, conf+step.more); err != nil {
			t.Fatal(err)
		}
		at, us = at+checkpoint.Instant(step.seconds*1e9), us+step.seconds*1e6
		o := g.Occupants()
		got := describeInstances(o.Instances)
		if o.From == o.To {
			got = ""
		}
		if got != step.want || o.Method != step.method || (o.Err == nil) != (step.method == nemb.GPMInstances) {
			t.Errorf("%d: %s: %s, want %s; %v", i, o.Method, got, step.want, o.Err)
		}
	}
}

// late is an activity whose answers are of the time up to one second ago.
type late struct{ until uint64 }

func (l *late) since(_ []int, micros uint64) (told []active, from, to uint64, err error) {
	from, to = l.until, micros-1e6
	if l.until == 0 {
		from = to
	}
	l.until = to
	return []active{{id: 5, slices: 2, engine: 1, sms: 1}}, from, to, nil
}
func (l *late) method() string { return nemb.DCGMInstances }
func (l *late) close()         {}

// The last kernels of a process are its own, however late they are told, and though a container hides the instance.
func TestInstancesAfterEnd(t *testing.T) {
	for _, hidden := range []string{"\n", " hidden\n"} {
		conf := "idle 0 50\nmigmode 0\ninstance 0 5 2" + hidden
		g, path := occupiedGPU(t, conf+"process 0 42 100 100 0 1e9\nin 42 5\n")
		g.who.mig.activity, g.who.mig.sought = &late{}, true
		at, us := checkpoint.Monotime(), uint64(1e15)
		g.who.clock = func() (checkpoint.Instant, uint64) { return at, us }
		for i, want := range []string{"", "42:1", "42:1", "42:1", "42:1", "42:1", ""} { // it ends after the second question
			if i == 2 {
				if err := simulate.NVMLConf(path, conf); err != nil {
					t.Fatal(err)
				}
			}
			step := uint64(400_000)
			at, us = at+checkpoint.Instant(step*1000), us+step
			o := g.Occupants()
			got := ""
			for _, in := range o.Instances {
				for _, m := range in.Members {
					got += fmt.Sprintf("%d:1", m.PID)
				}
			}
			if i > 0 && got != want {
				t.Errorf("%q: question %d: %q, want %q", hidden, i, got, want)
			}
		}
	}
}

// Samples are of the time since the one before, whatever others were told in between.
func TestMeans(t *testing.T) {
	all := []dcgm.Instance{{ID: 1, Slices: 3}, {ID: 5, Slices: 2}}
	last := map[int]uint64{}
	for _, step := range []struct {
		from    uint64
		to      uint64
		samples []dcgm.Sample
		want    string
	}{
		{100, 300, []dcgm.Sample{{ID: 1, At: 300, Value: 0.5}, {ID: 1, At: 200, Value: 1}, {ID: 1, At: 300, SMs: true, Value: 0.25},
			{ID: 5, At: 300, Value: 0}, {ID: 1, At: 50, Value: 9}}, "[{1 3 0.75 0.25} {5 2 0 NaN}]"},
		{300, 400, []dcgm.Sample{{ID: 5, At: 400, Value: 1}}, "[{1 3 NaN NaN} {5 2 1 NaN}]"},
		{400, 500, []dcgm.Sample{{ID: 1, At: 500, Value: 0.5}, {ID: 5, At: 500, Value: 1}}, "[{1 3 0.5 NaN} {5 2 1 NaN}]"},
		{500, 600, []dcgm.Sample{{ID: 1, At: 600, Value: 0}, {ID: 5, At: 550, Value: 0}, {ID: 5, At: 650, Value: 1}},
			"[{1 3 0 NaN} {5 2 0.5 NaN}]"},
		{600, 700, []dcgm.Sample{{ID: 5, At: 650, Value: 1}, {ID: 5, At: 700, Value: 0}, {ID: 1, At: 750, Value: 1}},
			"[{1 3 1 NaN} {5 2 0.5 NaN}]"},
	} {
		if got := fmt.Sprint(means(step.samples, all, step.from, step.to, last)); got != step.want {
			t.Errorf("from %d: %s, want %s", step.from, got, step.want)
		}
	}
}

// An answer ends where an instance has no samples yet, if that does not lag too far.
func TestReach(t *testing.T) {
	all := []dcgm.Instance{{ID: 1}, {ID: 5}}
	for _, test := range []struct {
		samples []dcgm.Sample
		want    uint64
	}{
		{nil, 100}, {[]dcgm.Sample{{ID: 1, At: 350}}, 100}, {[]dcgm.Sample{{ID: 1, At: 350}, {ID: 5, At: 340}}, 340},
		{[]dcgm.Sample{{ID: 5, At: 350}, {ID: 1, At: 90}}, 100}, {[]dcgm.Sample{{ID: 1, At: 100 + lag}}, 100 + lag},
	} {
		if got := reach(test.samples, all, 100); got != test.want {
			t.Errorf("%v: %d, want %d", test.samples, got, test.want)
		}
	}
}

// GPM that fails in the middle, and an instance that is made there, leave a coarser answer and no wrong one.
func TestInstancesChange(t *testing.T) {
	const conf = "idle 0 50\nmigmode 0\ninstance 0 1 3\nprocess 0 41 50 100 0 1e9\nin 41 1\n"
	g, path := occupiedGPU(t, conf)
	at, us := checkpoint.Monotime(), uint64(1e15)
	g.who.clock = func() (checkpoint.Instant, uint64) { at, us = at+1e9, us+1e6; return at, us }
	for _, step := range []struct{ more, want, method string }{
		{"", "", nemb.GPMInstances}, {"", "1.50 [1.47 1.53] 41:3.0", nemb.GPMInstances},
		{"instance 0 5 2\nprocess 0 42 100 100 0 1e9\nin 42 5\n", "1.50 [1.47 1.53] 41:3.0, 0.00 [0.00 2.00] 42:2.0", nemb.GPMInstances},
		{"instance 0 5 2\nprocess 0 42 100 100 0 1e9\nin 42 5\n", "1.50 [1.47 1.53] 41:3.0, 2.00 [1.98 2.00] 42:2.0", nemb.GPMInstances},
		{"fail 0 gpm 999\n", "3.00 [0.00 3.00] 41:3.0, 2.00 [0.00 2.00] 42:2.0", nemb.SliceInstances}, // 42 ran before
		{"", "3.00 [3.00 3.00] 41:3.0", nemb.SliceInstances},
	} {
		if err := simulate.NVMLConf(path, conf+step.more); err != nil {
			t.Fatal(err)
		}
		o := g.Occupants()
		got := describeInstances(o.Instances)
		if o.From == o.To { // the first
			got = ""
		}
		if got != step.want || o.Method != step.method {
			t.Errorf("%q: %s: %s, want %s; %v", step.more, o.Method, got, step.want, o.Err)
		}
	}
}
