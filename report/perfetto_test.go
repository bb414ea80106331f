package report

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report/format"
)

// The rules of the Trace Event Format for the phases that are written, as its
// document has them, and those of Perfetto's reader: slices of a thread nest,
// values of counters are numbers.
func TestPerfettoRules(t *testing.T) {
	beside := suite(nemb.Measured)
	beside.Tasks[2].StartedAtMonoNs = beside.Tasks[1].StartedAtMonoNs + 1
	beside.Tasks[2].EndedAtMonoNs = beside.Tasks[1].EndedAtMonoNs + 1
	for name, c := range map[string]struct {
		run   *Run
		lanes int
	}{
		"measured": {example(nemb.Measured), 1}, "estimated": {example(nemb.Estimated), 1},
		"unknown": {example(nemb.Unavailable), 1},
		"tasks":   {suite(nemb.Measured), 1}, "hostile": {hostile(), 1}, "beside": {beside, 2}, "empty": {&Run{}, 0},
	} {
		b := exported(t, "perfetto", format.Options{}, c.run)
		if name != "empty" && name != "beside" {
			golden(t, filepath.Join("testdata", name+".perfetto.json"), b)
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
