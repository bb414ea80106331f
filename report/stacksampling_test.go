package report

import (
	"errors"
	"strings"
	"testing"

	"cg/attach"
)

func TestMissingSamples(t *testing.T) {
	for _, test := range []struct {
		stats attach.Stats
		want  string
	}{
		{attach.Stats{Looks: 1000}, ""},
		{attach.Stats{Looks: 1000, Lost: 20, Throttled: 20, Torn: 500}, ""},
		{attach.Stats{Looks: 1000, Lost: 1000}, "1000 samples had no room, of 2000"},
		{attach.Stats{Looks: 1000, Throttled: 21}, "21 times the kernel paused the samples of a thread, since they took " +
			"too long (kernel.perf_event_max_sample_rate, kernel.perf_cpu_time_max_percent)"},
		{attach.Stats{Looks: 10, Lost: 1, Late: 2}, "1 samples had no room, of 11; 2 threads ran before they were sampled"},
	} {
		if got := missingSamples(&test.stats); got != test.want {
			t.Errorf("%+v: %q, want %q", test.stats, got, test.want)
		}
	}
}

// What is in no sample is uninstrumented, or where functions have checkpoints theirs.
func TestWhatSamplesLack(t *testing.T) {
	s := &attach.Stats{Looks: 100, Unplaced: 50, Late: 3,
		Processes: []attach.ProcessStats{{Name: "x", Why: errors.New("gone")}}}
	for _, inner := range []bool{false, true} {
		r, told := &Run{}, &StackSampling{Samples: 100, Processes: []SampledProcess{{Name: "x", Why: "gone"}}}
		if inner {
			r.InnerSampling = told
		}
		r.warnOfStackSampling(told, s)
		if len(r.Warnings) != 3 {
			t.Fatalf("inner %t: %+v", inner, r.Warnings)
		}
		for _, w := range r.Warnings {
			if strings.Contains(w.Message, "uninstrumented") == inner ||
				strings.HasSuffix(w.Message, "for the functions with checkpoints") != inner {
				t.Errorf("inner %t: %s", inner, w.Message)
			}
		}
	}
}

// Where much of the program's energy is in no sample, a warning says how much.
func TestFewSamples(t *testing.T) {
	for _, test := range []struct {
		samples          int
		functions, other Joules
		want             string
	}{
		{100, 80e6, 20e6, ""},
		{100, 70e6, 30e6, "30 % of the program's energy is in no function"},
		{0, 70e6, 30e6, ""}, // stacks-unread says so
		{100, 0, 0, ""},
	} {
		r := &Run{StackSampling: &StackSampling{Samples: test.samples}, Ledger: []Line{
			{Name: LineFunctions, EnergyJ: test.functions}, {Name: LineUninstrumented, EnergyJ: test.other}}}
		r.warnOfFewSamples()
		got := ""
		for _, w := range r.Warnings {
			got += w.Message
		}
		if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

// Code without names is told where it is much, with what to do.
func TestUnnamedCode(t *testing.T) {
	for _, test := range []struct {
		name string
		of   []attach.ProcessStats
		want string
	}{
		{"little", []attach.ProcessStats{{PID: 7, Name: "node", Unnamed: 8}}, ""},
		{"node", []attach.ProcessStats{{PID: 6, Unnamed: 1}, {PID: 7, Name: "node", Unnamed: 8}},
			"9 of 90 stacks were in code of a just-in-time compiler that has no names (node): run it so that it writes " +
				"/tmp/perf-PID.map, as node --perf-basic-prof does"},
		{"java", []attach.ProcessStats{{PID: 7, Name: "java", Unnamed: 90, Java: true}},
			"90 of 90 stacks were in code of a just-in-time compiler that has no names (java): for Java 17 or later start " +
				"it with -XX:+PreserveFramePointer, and type jcmd 7 Compiler.perfmap once it has warmed up, before or " +
				"while cg measures"},
	} {
		r := &Run{}
		r.warnOfUnnamed(&attach.Stats{Looks: 100, Waiting: 10, Processes: test.of})
		got := ""
		if len(r.Warnings) == 1 && r.Warnings[0].Slug == "code-unnamed" {
			got = r.Warnings[0].Message
		}
		if got != test.want || len(r.Warnings) > 1 {
			t.Errorf("%s: %+v, want %q", test.name, r.Warnings, test.want)
		}
	}
}
