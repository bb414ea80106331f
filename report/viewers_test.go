package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/report/format"
)

// viewers is the folder into which .ci/run has npm put the viewers' own readers.
func viewers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CG_VIEWERS")
	if dir == "" {
		t.Skip("the readers of the viewers are not installed: see .ci/run (CG_VIEWERS)")
	}
	return dir
}

// viewed are runs in a format, with the log of calls of one.
func viewed(t *testing.T, as string) map[string]struct {
	run  *Run
	file string
} {
	t.Helper()
	out := map[string]struct {
		run  *Run
		file string
	}{}
	for name, r := range map[string]*Run{
		"measured": example(nemb.Measured), "estimated": example(nemb.Estimated), "unknown": example(nemb.Unavailable),
		"suite": suite(nemb.Measured), "calls": example(nemb.Measured), "hostile": hostile(),
		"poisoned": poisonedCopy(example(nemb.Measured)),
	} {
		var o format.Options
		if name == "calls" {
			o.Events = eventLog(t, r.Meta.RunID, 1000)
		}
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, exported(t, as, o, r), 0o666); err != nil {
			t.Fatal(err)
		}
		out[name] = struct {
			run  *Run
			file string
		}{r, file}
	}
	return out
}

// The Firefox Profiler's own reader (npm: @firefox-devtools/profiler-cli) opens what
// is written for it and finds the functions with their energies, and the energy of
// each domain.
func TestFirefoxOpens(t *testing.T) {
	dir := viewers(t)
	for name, c := range viewed(t, "firefox") {
		t.Run(name, func(t *testing.T) { openedByFirefox(t, name, c.run, firefox(t, dir, c.file)) })
	}
}

// firefox starts the reader on a file, and gives the function that asks it.
func firefox(t *testing.T, dir, file string) func(v any, args ...string) {
	t.Helper()
	home, err := os.MkdirTemp("", "cg-") // of a short name: the path of a socket may not be longer
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) *exec.Cmd {
		script := filepath.Join(dir, "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
		cmd := exec.Command(filepath.Join(dir, "node_modules/.bin/node"), append([]string{script}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+home, "PROFILER_CLI_SESSION_DIR="+home, "PROFILER_CLI_NO_SYMBOLICATE=1")
		return cmd
	}
	server := run("--daemon", file, "--session", "test")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		server.Process.Kill()
		<-ended
		os.RemoveAll(home)
	})
	// One that asks before the reader has said where it is takes it for dead and
	// removes its files.
	for {
		if _, err := os.Stat(filepath.Join(home, "test.json")); err == nil {
			break
		}
		select {
		case end := <-ended:
			ended <- end
			t.Fatalf("the reader ended: %v", end)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func(v any, args ...string) {
		t.Helper()
		cmd := run(append(args, "--session", "test", "--json")...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, v)
		}
		if err != nil {
			t.Fatalf("%q: %v\n%s%s", args, err, out, said.Bytes())
		}
	}
}

func openedByFirefox(t *testing.T, name string, r *Run, cli func(v any, args ...string)) {
	var info struct {
		Processes []struct {
			Threads []struct{ ThreadHandle, Name string }
		}
	}
	cli(&info, "profile", "info", "--all")
	threads := map[string]string{}
	for _, p := range info.Processes {
		for _, th := range p.Threads {
			threads[th.Name] = th.ThreadHandle
		}
	}
	energy := ""
	for n := range threads {
		if strings.HasPrefix(n, "energy in microjoules") {
			energy = threads[n]
		}
	}
	if (energy != "") != (r.Totals.EnergyJ != nil) {
		t.Errorf("%s: threads %v", name, threads)
	}
	if energy != "" {
		viewedEnergies(t, name, r, func(v any) {
			cli(v, "thread", "functions", "--thread", energy, "--include-idle", "--limit", "0")
		})
	}
	if name == "calls" && (threads["thread 7"] == "" || threads["thread 8"] == "") {
		t.Errorf("calls over time are on the threads %v", threads)
	}
	var counters struct {
		Counters []struct {
			Name  string
			Unit  string
			Stats []struct{ Value float64 }
		}
	}
	cli(&counters, "counter", "list")
	for _, counter := range counters.Counters {
		id := strings.TrimSuffix(strings.TrimPrefix(counter.Name, "power "), ", estimated")
		if !strings.HasPrefix(counter.Name, "power ") {
			continue
		}
		last := r.Samples[len(r.Samples)-1]
		want := 0.0
		for domain, e := range last.DomainJ {
			if domain == id {
				want = e.Float() / 3600 * 1e12
			}
		}
		if counter.Unit != "pWh" || len(counter.Stats) == 0 || math.Abs(counter.Stats[0].Value-want) > 1e-6*want+10 {
			t.Errorf("%s: %s is %v %s, want %g pWh", name, counter.Name, counter.Stats, counter.Unit, want)
		}
	}
	if len(counters.Counters) == 0 && r.Totals.EnergyJ != nil && len(r.Samples) > 1 {
		t.Errorf("%s: no counter", name)
	}
}

// viewedEnergies holds the functions that a viewer shows against the call paths.
func viewedEnergies(t *testing.T, name string, r *Run, list func(any)) {
	t.Helper()
	var got struct {
		Functions []struct {
			Name        string
			SelfSamples float64
		}
	}
	list(&got)
	want := map[string]float64{}
	for i, f := range r.Frames() {
		if e := float64(*r.Paths[i].SelfEnergyJ); e > 0 {
			want[f.Name] += e
		}
	}
	found := map[string]float64{}
	for _, f := range got.Functions {
		if f.SelfSamples > 0 {
			found[f.Name] += f.SelfSamples
		}
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%s: the viewer shows %v, want %v", name, found, want)
	}
}

// The reader for which the trace format was made, that of chrome://tracing (npm:
// traceviewer), opens what is written for Perfetto without a warning and finds every
// task, every stretch of calls and the power.
func TestTraceOpens(t *testing.T) {
	dir := viewers(t)
	for name, c := range viewed(t, "perfetto") {
		cmd := exec.Command(filepath.Join(dir, "node_modules/.bin/node"), "testdata/viewers/trace.js", dir, c.file)
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
		for _, task := range c.run.Tasks {
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
		if (power > 0) != (c.run.Totals.EnergyJ != nil) {
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
