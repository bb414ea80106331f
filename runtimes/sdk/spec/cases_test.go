package spec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cg/report"
)

// tables are the files of cases, with what each package says of one: "NAME: N cases".
func tables(t *testing.T) (said []string) {
	t.Helper()
	files, err := os.ReadDir("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("cases", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(b, []byte("\nb ")) // a question of between.txt
		if filepath.Ext(f.Name()) == ".json" {
			var all []json.RawMessage
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatalf("%s: %v", f.Name(), err)
			}
			n = len(all)
		}
		said = append(said, fmt.Sprintf("%s: %d cases", f.Name(), n))
	}
	if len(said) < 2 {
		t.Fatalf("only %q", said)
	}
	return said
}

// holds checks what a package said of all tables.
func holds(t *testing.T, out []byte, err error) {
	t.Helper()
	lines := strings.Split(string(out), "\n")
	for _, want := range tables(t) {
		if !slices.Contains(lines, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if err != nil || t.Failed() {
		t.Errorf("%v\n%.8000s", err, out)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("cases")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// environment is that of a package under test, with more. OTHER is a process that
// goes on, ZOMBIE one that is over and was not waited for.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	other := exec.Command("cat")
	until, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		until.Close()
		other.Wait()
	})
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zombie.Wait() })
	if err := unix.Waitid(unix.P_PID, zombie.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	own := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "CG_") || strings.HasPrefix(kv, "CODEGREEN_")
	})
	processes := []string{fmt.Sprint("OTHER=", other.Process.Pid), fmt.Sprint("ZOMBIE=", zombie.Process.Pid)}
	return slices.Concat(own, processes, []string{"CODEGREEN_SPEC=1", "TZ=UTC"}, more)
}

// The package for Go agrees with cg, keeps its own laws, and compiles elsewhere.
func TestGo(t *testing.T) {
	dir := t.TempDir()
	for _, from := range []string{"../../golang/_sdk", "testdata/golang"} {
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, module := range []string{"", "opentelemetry"} { // which needs OpenTelemetry: e2e has its test
		if err := os.Rename(filepath.Join(dir, module, "module.txt"), filepath.Join(dir, module, "go.mod")); err != nil {
			t.Fatal(err)
		}
	}
	run := func(more []string, args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(environment(t, "CASES="+folder(t), "GOFLAGS=", "GOWORK=off"), more...)
		return cmd.CombinedOutput()
	}
	written := t.TempDir()
	if out, err := run(nil, "vet", "./..."); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	if out, err := run([]string{"GOOS=windows", "GOARCH=amd64"}, "build", "."); err != nil {
		t.Errorf("go build for Windows: %v\n%s", err, out)
	}
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v\n%s", err, out)
	}
	out, err := run([]string{"FILES=" + written}, "test", "-v", ".")
	holds(t, out, err)
	readByCg(t, written)
}

// The package for Java agrees with cg, and keeps its own laws.
func TestJava(t *testing.T) {
	if _, err := exec.LookPath("javac"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no javac")
	}
	dir := t.TempDir()
	var sources []string
	for _, pattern := range []string{"../../java/sdk/src/main/java/codegreen/*.java", "testdata/java/*.java"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no sources", err)
		}
		sources = append(sources, files...)
	}
	flags := []string{"--release", "17", "-encoding", "UTF-8", "-Xlint:all,-try", "-Werror", "-d", dir}
	if out, err := exec.Command("javac", append(flags, sources...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command("java", "-XX:-UsePerfData", "-ea", "-cp", dir, "codegreen.Held", folder(t))
	written := t.TempDir()
	cmd.Env = environment(t, "FILES="+written)
	out, err := cmd.CombinedOutput()
	holds(t, out, err)
	readByCg(t, written)
}

// The package for Python agrees with cg, under all interpreters of CG_PYTHONS.
func TestPython(t *testing.T) {
	pythons := filepath.SplitList(os.Getenv("CG_PYTHONS"))
	if len(pythons) == 0 {
		pythons = []string{"python3"}
	}
	for _, python := range pythons {
		cmd := exec.Command(python, "testdata/python/cases.py", folder(t))
		written := t.TempDir()
		cmd.Env = environment(t, "PYTHONPATH=../../python/sdk", "PYTHONDONTWRITEBYTECODE=1", "FILES="+written)
		out, err := cmd.CombinedOutput()
		holds(t, out, err)
		readByCg(t, written)
	}
}

// readByCg checks that the files that a package wrote of the cases of files.json
// fit the schema, and that cg, which reads them as runs, finds no fault in them
// and the totals that the cases want.
func readByCg(t *testing.T, written string) {
	t.Helper()
	b, err := os.ReadFile("cases/files.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name string
		Want struct {
			Totals struct {
				Energy *float64 `json:"energy_j"`
				Gap    float64  `json:"gap_duration_s"`
				Tasks  int      `json:"n_tasks"`
			}
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, of := range cases {
		text, err := os.ReadFile(filepath.Join(written, strings.ReplaceAll(of.Name, " ", "-")+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		if err := report.Validate(text); err != nil {
			t.Errorf("%s: %v", of.Name, err)
		}
		r, err := report.Read(text)
		if err != nil {
			t.Errorf("%s: %v", of.Name, err)
			continue
		}
		if faults := r.Check(); faults != nil {
			t.Errorf("%s: %q", of.Name, faults)
		}
		want, got := of.Want.Totals, r.Totals
		known := want.Energy != nil
		if (got.EnergyJ != nil) != known || known && math.Abs(got.EnergyJ.Float()-*want.Energy) > 1e-9 {
			t.Errorf("%s: cg reads %v J, want %v", of.Name, got.EnergyJ, want.Energy)
		}
		if math.Abs(got.GapDurationS-want.Gap) > 1e-9 || got.NTasks != want.Tasks {
			t.Errorf("%s: cg reads %d tasks and %v s without, want %+v", of.Name, got.NTasks, got.GapDurationS, want)
		}
	}
}

// The package for Node, whose sessions cg measures itself, has the rule of budgets, and says what the others say of
// requests.
func TestNode(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no node: apt-get install nodejs")
		}
		t.Skip("no node")
	}
	for _, table := range []string{"budgets", "requests"} {
		cmd := exec.Command("node", "testdata/node/"+table+".cjs", folderOf(t, "../../node/sdk"), folderOf(t, "cases"))
		out, err := cmd.CombinedOutput()
		want := slices.DeleteFunc(tables(t), func(s string) bool { return !strings.HasPrefix(s, table+".json: ") })
		if err != nil || !slices.Equal(strings.Split(strings.TrimSpace(string(out)), "\n"), want) {
			t.Errorf("%v\n%s, want %q", err, out, want)
		}
	}
}

// The headers for C and C++ say the same of requests. A name of theirs ends at a zero byte.
func TestC(t *testing.T) {
	b, err := os.ReadFile("cases/requests.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name  string
		ID    int
		Route *string
		AtUs  int64 `json:"at_us"`
		TID   int
		CPUNs int64 `json:"cpu_ns"`
		Want  map[string]any
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	args := []string{"lines"}
	for _, c := range cases {
		kind, route := "end", ""
		if c.Route != nil {
			kind = "begin"
			route, _, _ = strings.Cut(*c.Route, "\x00")
			want, _, _ := strings.Cut(c.Want["name"].(string), "\x00")
			c.Want["name"] = want
		}
		args = append(args, fmt.Sprint(c.ID), kind, route, fmt.Sprint(c.AtUs), fmt.Sprint(c.TID), fmt.Sprint(c.CPUNs))
	}
	for _, compiler := range [][]string{{"cc", "-xc", "-std=c99"}, {"c++", "-xc++", "-std=c++11"}} {
		if _, err := exec.LookPath(compiler[0]); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		bin := filepath.Join(t.TempDir(), "program")
		build := append(compiler, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I../../c/sdk", "-pthread", "-o", bin, "../../../testdata/session/requests.c")
		if out, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := exec.Command(bin, args...).Output()
		lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
		if err != nil || len(lines) != len(cases) {
			t.Fatalf("%v: %d lines of %d\n%s", err, len(lines), len(cases), out)
		}
		for i, c := range cases {
			var got map[string]any
			if err := json.Unmarshal(lines[i], &got); err != nil || !reflect.DeepEqual(got, c.Want) {
				t.Errorf("%s: %v: %s, want %v", c.Name, err, lines[i], c.Want)
			}
		}
	}
}

func folderOf(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}
