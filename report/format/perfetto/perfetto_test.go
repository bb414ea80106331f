package perfetto

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// The rules of the Trace Event Format for the phases that are written, as its
// document has them, and those of Perfetto's reader: slices of a thread nest,
// values of counters are numbers.
func TestPerfettoRules(t *testing.T) {
	beside := reporttest.Suite(t, nemb.Measured)
	beside.Tasks[2].StartedAtMonoNs = beside.Tasks[1].StartedAtMonoNs + 1
	beside.Tasks[2].EndedAtMonoNs = beside.Tasks[1].EndedAtMonoNs + 1
	reporttest.GoldenKinds(t, "perfetto", "perfetto.json", format.Options{})
	for name, c := range map[string]struct {
		run   *report.Run
		lanes int
	}{
		"measured": {reporttest.Example(t, nemb.Measured), 1}, "estimated": {reporttest.Example(t, nemb.Estimated), 1},
		"unknown": {reporttest.Example(t, nemb.Unavailable), 1},
		"tasks":   {reporttest.Suite(t, nemb.Measured), 1}, "hostile": {reporttest.Hostile(t), 1}, "beside": {beside, 2}, "empty": {&report.Run{}, 0},
	} {
		b := reporttest.Write(t, "perfetto", c.run, format.Options{})
		if name != "empty" && name != "beside" {
			reporttest.Golden(t, filepath.Join("testdata", name+".perfetto.json"), b)
		}
		var f struct {
			Unit   string           `json:"displayTimeUnit"`
			Events []map[string]any `json:"traceEvents"`
		}
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		if f.Unit != "ms" && f.Unit != "ns" {
			t.Errorf("%s: displayTimeUnit %q", name, f.Unit)
		}
		type span struct{ from, to float64 }
		slices, named, joules, last := map[float64][]span{}, map[float64]bool{}, 0.0, map[string]span{}
		for i, e := range f.Events {
			if n, _ := e["name"].(string); n == "" {
				t.Errorf("%s: event %d has no name", name, i)
			}
			if pid, ok := e["pid"].(float64); !ok || pid < 1 || pid != math.Trunc(pid) {
				t.Errorf("%s: event %d: pid %v", name, i, e["pid"])
			}
			args, ok := e["args"].(map[string]any)
			if !ok {
				t.Fatalf("%s: event %d has no args", name, i)
			}
			tid, _ := e["tid"].(float64)
			at, timed := e["ts"].(float64)
			if timed == (e["ph"] == "M") {
				t.Errorf("%s: event %d is of phase %v and has the time %v", name, i, e["ph"], e["ts"])
			}
			switch e["ph"] {
			case "M":
				key := map[any]string{"process_name": "name", "process_labels": "labels", "thread_name": "name",
					"thread_sort_index": "sort_index"}[e["name"]]
				if _, ok := args[key]; !ok || len(args) != 1 {
					t.Errorf("%s: event %d: %v has %v", name, i, e["name"], args)
				}
				named[tid] = named[tid] || e["name"] == "thread_name"
			case "C":
				for k, v := range args {
					if n, ok := v.(float64); !ok || n < 0 {
						t.Errorf("%s: event %d: %s is %v", name, i, k, v)
					}
				}
				n := e["name"].(string)
				if was, ok := last[n]; ok && at <= was.from {
					t.Errorf("%s: event %d: %s goes back to %f", name, i, n, at)
				} else if ok && strings.HasPrefix(n, "power ") {
					joules += was.to * (at - was.from) * 1e-6
				}
				watts, _ := args["watts"].(float64)
				last[n] = span{at, watts}
			case "X":
				long, ok := e["dur"].(float64)
				if !ok || long < 0 || !named[tid] {
					t.Errorf("%s: event %d: a slice of %v on thread %v", name, i, e["dur"], tid)
				}
				s := span{at, at + long}
				for _, o := range slices[tid] {
					if s.from < o.to && s.to > o.to || s.from < o.from {
						t.Errorf("%s: event %d overlaps another on its thread", name, i)
					}
				}
				slices[tid] = append(slices[tid], s)
			default:
				t.Errorf("%s: event %d: phase %v", name, i, e["ph"])
			}
		}
		n := 0
		for _, s := range slices {
			n += len(s)
		}
		threads := map[uint32]bool{}
		for _, l := range c.run.LongCalls {
			threads[l.TID] = true
		}
		if n != len(c.run.Tasks)+len(c.run.LongCalls) || len(slices) != c.lanes+len(threads) {
			t.Errorf("%s: %d slices on %d threads of %d tasks and %d long calls", name, n, len(slices),
				len(c.run.Tasks), len(c.run.LongCalls))
		}
		// What lies below the lines of power is the energy, to the milliwatt.
		for n, was := range last {
			if strings.HasPrefix(n, "power ") {
				end := float64(c.run.Samples[len(c.run.Samples)-1].TNs) / 1e3
				joules += was.to * (end - was.from) * 1e-6
			}
		}
		if e := c.run.Samples; len(e) > 0 && e[len(e)-1].EnergyJ != nil {
			if want := e[len(e)-1].EnergyJ.Float(); math.Abs(joules-want) > 2e-3 {
				t.Errorf("%s: the area below power is %f J, the energy %f J", name, joules, want)
			}
		} else if joules != 0 || strings.Contains(string(b), `"power `) {
			t.Errorf("%s: the energy is not known, and there is a power", name)
		}
	}
}

// slicesOf lists the slices of a Chrome trace but those of tasks.
func slicesOf(t *testing.T, b []byte) (out []string) {
	t.Helper()
	var f struct {
		Events []struct {
			Name  string         `json:"name"`
			Phase string         `json:"ph"`
			TID   int            `json:"tid"`
			At    float64        `json:"ts"`
			Long  float64        `json:"dur"`
			Args  map[string]any `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Events {
		if _, task := e.Args["energy_kind"]; e.Phase == "X" && !task {
			extra := ""
			for k, v := range e.Args {
				extra += fmt.Sprintf(" %s=%v", k, v)
			}
			out = append(out, fmt.Sprintf("%d: %s %.0f-%.0f%s", e.TID, e.Name, e.At, e.At+e.Long, extra))
		}
	}
	return out
}

func TestPerfettoCalls(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	r.Meta.PID = 7
	b := reporttest.Write(t, "perfetto", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1000)})
	free := fmt.Sprint(9 + len(r.Tasks))
	want := []string{
		free + ": running 0-500 processor=1", free + ": running partly 500-1000 processor=0.2",
		"10: waiting 0-1000 processor=0.02",
		"7: app.main</script> 100-900 source=/src/app.py:3",
		"7: app.work 200-300 source=/src/app.py:12", "7: app.work 400-500 source=/src/app.py:12",
		"8: app.work 300-400 source=/src/app.py:12",
	}
	want[2] = fmt.Sprintf("%d: waiting 0-1000 processor=0.02", 10+len(r.Tasks))
	if got := strings.Join(slicesOf(t, b), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if !strings.Contains(string(b), `"functions":"all 4 stretches of calls"`) {
		t.Errorf("it does not say what it tells: %.600s", b)
	}
	// With a log of another order of length the longest are told, and that it is so.
	b = reporttest.Write(t, "perfetto", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1000), Slices: 1})
	if got := slicesOf(t, b); len(got) != 4 || !strings.Contains(string(b),
		"the longest 1 of 4 stretches of calls: all of at least ") {
		t.Errorf("got %q in %.600s", got, b)
	}
}

// Without a log the long calls are shown, and that there are no others.
func TestLongCallsOverTime(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	r.Meta.PID = 7
	site := r.Sites[0]
	r.LongCalls = []report.LongCall{
		{PID: 7, TID: 7, Site: site.ID, StartedAtMonoNs: 100e6, EndedAtMonoNs: 900e6},
		{PID: 7, TID: 7, Site: site.ID, StartedAtMonoNs: 200e6, EndedAtMonoNs: 230e6},
	}
	b := reporttest.Write(t, "perfetto", r, format.Options{})
	place := fmt.Sprintf(" source=%s:%d", site.File, site.Line)
	want := []string{"7: " + site.Name + " 100000-900000" + place, "7: " + site.Name + " 200000-230000" + place}
	if got := slicesOf(t, b); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(string(b), "calls of 30.0 ms and more only: no log of calls is kept") {
		t.Errorf("it does not say what it tells: %.600s", b)
	}
	if got := slicesOf(t, reporttest.Write(t, "perfetto", r, format.Options{Slices: 1})); len(got) != 1 {
		t.Errorf("one was asked for: %q", got)
	}
}

// The reader for which the trace format was made, that of chrome://tracing (npm:
// traceviewer), opens what is written for Perfetto without a warning and finds every
// task, every stretch of calls and the power.
func TestTraceOpens(t *testing.T) {
	dir := reporttest.Viewers(t)
	for name, c := range reporttest.Viewed(t, "perfetto") {
		cmd := exec.Command(filepath.Join(dir, "node_modules/.bin/node"), "testdata/viewers/trace.js", dir, c.File)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		var got struct {
			Warnings []string
			Slices   []struct {
				Thread, Name string
				DurationMs   float64 `json:"duration_ms"`
			}
			Counters []struct {
				Name, Series string
				Values       []float64
			}
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if len(got.Warnings) > 0 {
			t.Errorf("%s: %q", name, got.Warnings)
		}
		for _, task := range c.Run.Tasks {
			if !slices.ContainsFunc(got.Slices, func(s struct {
				Thread, Name string
				DurationMs   float64 `json:"duration_ms"`
			}) bool {
				return s.Thread == "tasks" && s.Name == task.Name &&
					math.Abs(s.DurationMs-float64(task.LastedNs())*1e-6) < 1e-3
			}) {
				t.Errorf("%s: no task %q of %d ns among %v", name, task.Name, task.LastedNs(), got.Slices)
			}
		}
		power := 0
		for _, counter := range got.Counters {
			if !strings.HasPrefix(counter.Name, "power ") {
				continue
			}
			power++
			if counter.Series != "watts" || !slices.Contains(counter.Values, 20) {
				t.Errorf("%s: %s: %s %v", name, counter.Name, counter.Series, counter.Values)
			}
		}
		if (power > 0) != (c.Run.Totals.EnergyJ != nil) {
			t.Errorf("%s: %d counters of power", name, power)
		}
		if name == "calls" {
			work := 0
			for _, s := range got.Slices {
				if s.Name == "app.work" && math.Abs(s.DurationMs-0.1) < 1e-6 {
					work++
				}
			}
			if work != 3 {
				t.Errorf("%d slices of app.work, want 3: %v", work, got.Slices)
			}
		}
	}
}

// A file whose samples of counters were cut is shown as far as it goes.
func TestCutCounters(t *testing.T) {
	v, r := 7.0, reporttest.Example(t, nemb.Measured)
	r.GPUMetrics = &report.GPUMetrics{Devices: []report.GPUMetricsOfGPU{{Name: "GPU", Metrics: []report.GPUMetric{{Name: "a"}, {Name: "b"}},
		Samples: []report.GPUMetricSample{{FromNs: 1, ToNs: 2, Values: []*float64{&v}}, {FromNs: 2, ToNs: 3}}}}}
	if b := reporttest.Write(t, "perfetto", r, format.Options{}); strings.Count(string(b), `{"value":7}`) != 1 {
		t.Errorf("%s", b)
	}
}

// Threads that have names are shown by them.
func TestNamedThreads(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	r.Meta.PID = 7
	r.Threads = []report.Thread{{PID: 7, TID: 7, Comm: "app"}, {PID: 7, TID: 8, Comm: "pool-1-thread-1"}}
	b := string(reporttest.Write(t, "perfetto", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1000)}))
	for _, want := range []string{`"tid":7,"args":{"name":"app"}`, `"tid":8,"args":{"name":"pool-1-thread-1"}`,
		`{"name":"app, state by its processor time"}`} {
		if !strings.Contains(b, want) {
			t.Errorf("no %s in %.3000s", want, b)
		}
	}
}
