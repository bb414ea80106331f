package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cg/long"
	"cg/nemb/simulate"
	"cg/report"
	"cg/report/format"
	"cg/version"
)

var sessionSeconds = flag.Float64("session-seconds", 3, "length of the recorded task of the session tests")

// sessionPythons are the default Python of this machine, in CI the oldest and the
// newest, too, or those that CG_PYTHONS names.
func sessionPythons(t testing.TB) []string {
	t.Helper()
	if named := os.Getenv("CG_PYTHONS"); named != "" {
		return filepath.SplitList(named)
	}
	if os.Getenv("CI") != "true" && os.Getenv("CG_ALL_PYTHONS") == "" {
		return []string{python(t)}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for minor := 8; minor <= 13; minor++ {
		if minor != 8 && minor != 11 && minor != 13 && os.Getenv("CG_ALL_PYTHONS") == "" {
			continue
		}
		name := fmt.Sprintf("python3.%d", minor)
		candidates, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions", fmt.Sprintf("3.%d.*", minor), "bin", name))
		for _, c := range append(candidates, name) {
			if path, err := exec.LookPath(c); err == nil && exec.Command(path, "-c", "").Run() == nil {
				found = append(found, path)
				break
			}
		}
	}
	if len(found) == 0 {
		found = []string{python(t)}
	}
	return found
}

const sdkFolder = "runtimes/python/sdk"

// sessionMachine is a machine of known power, and the environment of a program
// that measures there.
func sessionMachine(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: counter(20), Zones: []simulate.Zone{
			{Dir: "intel-rapl:0:0", Name: "core", Counter: counter(8)}, {Dir: "intel-rapl:0:1", Name: "dram", Counter: counter(3)},
		}},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cg, sdk := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), filepath.Join(t.TempDir(), "sdk")
	if out, err := exec.Command(cg, "sdk", "python", sdk).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return append(os.Environ(), "CG_SYSROOT="+dir, "CODEGREEN_CG="+cg, "XDG_RUNTIME_DIR="+t.TempDir(),
		"PYTHONPATH="+sdk+":"+filepath.Join(root, "testdata/session"), "PYTHONDONTWRITEBYTECODE=1",
		fmt.Sprintf("CG_TEST_SECONDS=%g", *sessionSeconds))
}

// What is said of sessions holds under the oldest and the newest Python, with -short
// each module on one of them in turn: testdata/session.
func TestSessions(t *testing.T) {
	t.Parallel()
	env, pythons := sessionMachine(t), sessionPythons(t)
	turns := len(pythons) > 1 && long.Without(t, "each module on all Pythons: it runs on one")
	for i, python := range pythons {
		for k, module := range []string{"test_form", "test_rules", "test_ends", "test_faults", "test_power", "test_requests"} {
			if turns && k%len(pythons) != i {
				continue
			}
			t.Run(filepath.Base(python)+"/"+module, func(t *testing.T) {
				t.Parallel() // they wait
				cmd := exec.Command(python, "-m", "unittest", "-v", module)
				cmd.Dir = "testdata/session"
				cmd.Env = append(slices.Clone(env), "XDG_RUNTIME_DIR="+t.TempDir()) // sessions of others are told
				if i == 0 {
					cmd.Env = append(cmd.Env, "CG_TEST_MANY=1")
				}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				for _, line := range regexp.MustCompile(`(?m)^\d+ s: .*|^Ran .*`).FindAllString(string(out), -1) {
					t.Log(line)
				}
			})
		}
	}
}

// The package has cg's version, and cg reads what it writes.
func TestSessionReport(t *testing.T) {
	env := sessionMachine(t)
	file := filepath.Join(t.TempDir(), "s.json")
	cmd := exec.Command(python(t), "-c", `
import codegreen, sys, threading, time
with codegreen.Session("training", output_file=sys.argv[1], record_time_series=True) as s:
    with s.task("epoch"):
        with s.task("step"): time.sleep(0.1)
        with s.task("step"): time.sleep(0.1)
    def other():
        with s.task("beside"): time.sleep(0.1)
    t = threading.Thread(target=other)
    with s.task("main"):
        t.start(); t.join()
    s.start_task("left open")
`, file)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	f, err := format.Named(format.Default, r)
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	if err := f.Write(&shown, r, format.Options{Terminal: format.Terminal{Width: 100}}); err != nil {
		t.Fatal(err)
	}
	text := shown.String()
	for _, want := range []string{"Machine ", "measured", "Overlap", "\nepoch ", "\n  step ", "\nbeside ", "\nleft open ", "sampler: sidecar: ", "forgotten: "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var calls []uint64
	for _, p := range r.Paths {
		calls = append(calls, p.Calls)
	}
	if fmt.Sprint(calls) != "[1 1 2 1 1 1]" || r.Paths[2].Parent != 1 || r.Paths[2].Task != "step" {
		t.Errorf("%+v", r.Paths)
	}
	if r.Meta.CgVersion != version.Cg || !strings.Contains(string(b), `"codegreen_version": "`+version.Cg+`"`) {
		t.Errorf("cg %s, and the package has another version: %.300s", version.Cg, b)
	}
	// What it writes is as docs/session.schema.json says, wherever its samples come
	// from, and agrees with itself.
	nothing := t.TempDir()
	for name, more := range map[string][]string{
		"cg": nil, "powercap": {"CODEGREEN_CG=", "PATH=/usr/bin:/bin"}, "nothing": {"CODEGREEN_CG=", "PATH=/usr/bin:/bin", "CG_SYSROOT=" + nothing}, "estimate": {"CG_SYSROOT=" + nothing},
	} {
		for _, record := range []string{"True", "False"} {
			cmd := exec.Command(python(t), "-W", "ignore", "-c", `
import codegreen, sys, time
with codegreen.Session(output_file=sys.argv[1], record_time_series=`+record+`) as s:
    with s.task("\x7f\udc80\u20ac\"<"): time.sleep(0.05)
    with s.task("short"): pass
`, file)
			cmd.Env = append(slices.Clone(env), more...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			saved, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Validate(saved); err != nil {
				t.Errorf("%s: %v\n%s", name, err, saved)
			}
			if r, err := report.Read(saved); err != nil || len(r.Check()) > 0 || len(r.Tasks) != 3 {
				t.Errorf("%s: %v, %v", name, err, r)
			}
		}
	}
	// What does not agree is found.
	var v map[string]any
	for _, change := range []func(totals map[string]any){
		func(totals map[string]any) { totals["energy_j"] = 1e6 },
		func(totals map[string]any) { totals["n_tasks"] = 1 },
		func(totals map[string]any) { totals["gap_duration_s"] = 1e6 },
		func(totals map[string]any) { totals["avg_power_w"] = 1e6 },
	} {
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		change(v["totals"].(map[string]any))
		changed, _ := json.Marshal(v)
		r, err := report.Read(changed)
		if err != nil || len(r.Check()) == 0 {
			t.Errorf("%v: nothing is found in %v", err, v["totals"])
		}
	}
}

// BenchmarkSessionTask is what start_task and stop_task cost, beside two calls
// of a function that does nothing: go test ./e2e -run xxx -bench SessionTask -benchtime 1x -v
func BenchmarkSessionTask(b *testing.B) {
	for _, python := range sessionPythons(b) {
		b.Run(filepath.Base(python), func(b *testing.B) {
			for range b.N {
				cmd := exec.Command(python, "testdata/session/bench.py")
				cmd.Env = append(os.Environ(), "PYTHONPATH="+sdkFolder, "PYTHONDONTWRITEBYTECODE=1", "CODEGREEN_CG="+filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				for _, m := range regexp.MustCompile(`(?m)^(.+?)\s+([0-9.]+) us`).FindAllStringSubmatch(string(out), -1) {
					us, err := strconv.ParseFloat(m[2], 64)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(us*1e3, "ns/"+strings.ReplaceAll(strings.ReplaceAll(m[1], ", ", "+"), " ", "-"))
				}
			}
		})
	}
}
