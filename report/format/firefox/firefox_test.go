package firefox

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
	"cg/report"
	"cg/report/format"
	"cg/report/reporttest"
)

// The rules of a processed profile of version 48: what has to be there, columns
// of one length, indices that point at something, times that do not go back.
func TestFirefoxRules(t *testing.T) {
	reporttest.GoldenKinds(t, "firefox", "firefox.json", format.Options{})
	for name, run := range map[string]*report.Run{
		"measured": reporttest.Example(t, nemb.Measured), "estimated": reporttest.Example(t, nemb.Estimated), "unknown": reporttest.Example(t, nemb.Unavailable),
		"tasks": reporttest.Suite(t, nemb.Measured), "hostile": reporttest.Hostile(t), "empty": {},
	} {
		for i := range run.Tasks {
			run.Tasks[i].StartedAt, run.Tasks[i].EndedAt = 1000, 1001
		}
		b := reporttest.Write(t, "firefox", run, format.Options{})
		if name != "empty" {
			reporttest.Golden(t, filepath.Join("testdata", name+".firefox.json"), b)
		}
		var f struct {
			Meta     map[string]any
			Libs     []any
			Threads  []map[string]any
			Counters []map[string]any
		}
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		wrong := func(format string, args ...any) {
			t.Helper()
			t.Errorf(name+": "+format, args...)
		}
		need := func(where string, m map[string]any, keys string) {
			t.Helper()
			for _, k := range strings.Fields(keys) {
				if _, ok := m[k]; !ok {
					wrong("%s has no %s", where, k)
				}
			}
		}
		need("meta", f.Meta, "interval startTime processType product stackwalk version preprocessedProfileVersion "+
			"markerSchema categories")
		if f.Meta["preprocessedProfileVersion"] != 48.0 || f.Meta["interval"].(float64) <= 0 || f.Libs == nil {
			wrong("version %v, interval %v, libs %v", f.Meta["preprocessedProfileVersion"], f.Meta["interval"], f.Libs)
		}
		categories := len(f.Meta["categories"].([]any))
		if c := f.Meta["categories"].([]any)[0].(map[string]any); c["color"] != "grey" ||
			c["subcategories"].([]any)[0] != "Other" {
			wrong("category 0 is %v", c)
		}
		schema := f.Meta["markerSchema"].([]any)[0].(map[string]any)
		fields := map[string]bool{"type": true}
		for _, d := range schema["data"].([]any) {
			fields[d.(map[string]any)["key"].(string)] = true
		}

		// table checks the columns of a table: those of indices against the length
		// of what they point at.
		table := func(where string, m map[string]any, plain string, indices map[string]int) map[string][]any {
			t.Helper()
			length, ok := m["length"].(float64)
			if !ok {
				wrong("%s has no length", where)
			}
			columns := map[string][]any{}
			for _, k := range append(strings.Fields(plain), slices.Collect(func(yield func(string) bool) {
				for k := range indices {
					if !yield(k) {
						return
					}
				}
			})...) {
				c, ok := m[k].([]any)
				if !ok || len(c) != int(length) {
					wrong("%s.%s is %T of %d, not %v", where, k, m[k], len(c), length)
				}
				columns[k] = c
				for i, v := range c {
					if n, ok := v.(float64); ok && indices[k] > 0 && (n < -1 || n >= float64(indices[k])) {
						wrong("%s.%s[%d] points at %v of %d", where, k, i, n, indices[k])
					}
				}
			}
			return columns
		}
		ascending := func(where string, times []any) {
			t.Helper()
			for i := range times {
				if i > 0 && times[i].(float64) < times[i-1].(float64) || times[i].(float64) < 0 {
					wrong("%s[%d] is %v", where, i, times[i])
				}
			}
		}
		mains := map[any]bool{} // each process has one
		for i, th := range f.Threads {
			need("thread", th, "processType processStartupTime processShutdownTime registerTime unregisterTime "+
				"pausedRanges name isMainThread pid tid")
			if _, ok := th["pid"].(string); !ok || th["isMainThread"] == true && mains[th["pid"]] || i == 0 &&
				th["isMainThread"] != true {
				wrong("thread %d has pid %v, main %v", i, th["pid"], th["isMainThread"])
			}
			mains[th["pid"]] = mains[th["pid"]] || th["isMainThread"] == true
			size := func(k string) int { return int(th[k].(map[string]any)["length"].(float64)) }
			at := func(k string) map[string]any { return th[k].(map[string]any) }
			texts := th["stringArray"].([]any)
			table("funcTable", at("funcTable"), "isJS relevantForJS resource lineNumber columnNumber",
				map[string]int{"name": len(texts), "fileName": len(texts)})
			table("frameTable", at("frameTable"),
				"address inlineDepth subcategory nativeSymbol innerWindowID implementation line column",
				map[string]int{"func": size("funcTable"), "category": categories})
			stacks := table("stackTable", at("stackTable"), "prefix subcategory",
				map[string]int{"frame": size("frameTable"), "category": categories})
			for k, p := range stacks["prefix"] {
				if n, ok := p.(float64); p != nil && (!ok || n < 0 || n >= float64(k)) {
					wrong("stack %d has the prefix %v", k, p)
				}
			}
			table("resourceTable", at("resourceTable"), "lib name host type", nil)
			table("nativeSymbols", at("nativeSymbols"), "libIndex address name functionSize", nil)
			samples := table("samples", at("samples"), "time weight", map[string]int{"stack": size("stackTable")})
			ascending("samples.time", samples["time"])
			sum := 0.0
			for _, v := range samples["weight"] {
				sum += v.(float64)
			}
			switch title := th["name"].(string); {
			case strings.HasPrefix(title, "energy in microjoules"):
				if run.Totals.EnergyJ == nil || sum != float64(*run.Totals.ProgramEnergyJ) ||
					at("samples")["weightType"] != "samples" {
					wrong("%s: %v %v", title, sum, at("samples")["weightType"])
				}
			case at("samples")["weightType"] != "tracing-ms":
				wrong("%s is weighed in %v", title, at("samples")["weightType"])
			}
			markers := table("markers", at("markers"), "data startTime endTime phase",
				map[string]int{"name": len(texts), "category": categories})
			ascending("markers.startTime", markers["startTime"])
			if i == 0 && len(markers["data"]) != len(run.Tasks) {
				wrong("%d markers of %d tasks", len(markers["data"]), len(run.Tasks))
			}
			for k, d := range markers["data"] {
				data := d.(map[string]any)
				if data["type"] != schema["name"] || markers["phase"][k] != 1.0 ||
					markers["endTime"][k].(float64) < markers["startTime"][k].(float64) {
					wrong("marker %d: %v", k, data)
				}
				for key := range data {
					if !fields[key] {
						wrong("marker %d: the schema has no %s", k, key)
					}
				}
			}
		}
		want := 3 // energy, processor time, time
		if run.Totals.EnergyJ == nil {
			want = 2
		}
		threads := map[uint32]bool{}
		for _, l := range run.LongCalls {
			threads[l.TID] = true
		}
		if len(f.Threads) != want+len(threads) {
			wrong("%d threads", len(f.Threads))
		}
		// A viewer makes of counts the watts of the run, and their sum is its energy.
		for _, c := range f.Counters {
			need("counter", c, "name category description pid mainThreadIndex samples")
			cols := table("counter", c["samples"].(map[string]any), "time count", nil)
			ascending("counter.time", cols["time"])
			sum := 0.0
			for i, n := range cols["count"] {
				sum += n.(float64)
				if i > 0 {
					span := cols["time"][i].(float64) - cols["time"][i-1].(float64)
					if watts := n.(float64) * 3.6e-9 / (span * 1e-3); math.Abs(watts-20) > 1e-3 {
						wrong("%v W at %d", watts, i)
					}
				}
			}
			id := strings.TrimPrefix(strings.Split(c["name"].(string), ",")[0], "power ")
			if want := run.Totals.Domains[id]; c["category"] != "power" || math.Abs(sum*3.6e-3-float64(want)) > 0.01 {
				wrong("%s counts %v pWh of %d uJ", id, sum, want)
			}
		}
		if len(f.Counters) != len(run.Totals.Domains) {
			wrong("%d counters of %d domains", len(f.Counters), len(run.Totals.Domains))
		}
	}
}

func TestFirefoxCalls(t *testing.T) {
	r := reporttest.Example(t, nemb.Measured)
	b := reporttest.Write(t, "firefox", r, format.Options{Events: reporttest.EventLog(t, r.Meta.RunID, 1000)})
	var f profileFile
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	base, _ := begun(r)
	got := map[string][]string{}
	for _, th := range f.Threads {
		if !strings.HasPrefix(th.Name, "thread ") {
			continue
		}
		for i := range th.Samples.Length {
			stack := ""
			for s := th.Samples.Stack[i]; s != nil; s = th.Stacks.Prefix[*s] {
				stack = " > " + th.Strings[th.Funcs.Name[th.Frames.Func[th.Stacks.Frame[*s]]]] + stack
			}
			at := th.Samples.Time[i]*1e3 + float64(base)/1e3
			got[th.Name] = append(got[th.Name], fmt.Sprintf("%.0f for %.0f%s", at, th.Samples.Weight[i]*1e3, stack))
		}
	}
	want := map[string][]string{
		"thread 7": {
			"100 for 100 > app.main</script>", "200 for 100 > app.main</script> > app.work",
			"300 for 100 > app.main</script>",
			"400 for 100 > app.main</script> > app.work", "500 for 400 > app.main</script>", "900 for 0",
		},
		"thread 8": {"300 for 100 > app.work", "400 for 0"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// The Firefox Profiler's own reader (npm: @firefox-devtools/profiler-cli) opens what
// is written for it and finds the functions with their energies, and the energy of
// each domain.
func TestFirefoxOpens(t *testing.T) {
	dir := reporttest.Viewers(t)
	for name, c := range reporttest.Viewed(t, "firefox") {
		t.Run(name, func(t *testing.T) { openedByFirefox(t, name, c.Run, firefox(t, dir, c.File)) })
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

func openedByFirefox(t *testing.T, name string, r *report.Run, cli func(v any, args ...string)) {
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
func viewedEnergies(t *testing.T, name string, r *report.Run, list func(any)) {
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
