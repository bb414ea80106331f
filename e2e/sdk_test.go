package e2e

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cg/long"
	"cg/nemb/simulate"
	"cg/report"
	"cg/runtimes/sdk/spec"
	"cg/version"
)

// sdkProgram is the scenarios of testdata/session in a language, with the
// package that cg sdk writes.
type sdkProgram struct {
	lang string
	argv []string
}

// sdkFile is what a session wrote, as far as it is looked at.
type sdkFile struct {
	Meta struct {
		Language string
		Version  string `json:"codegreen_version"`
		Argv     []string
		Quality  string `json:"measurement_quality"`
		Topology map[string]struct {
			TopLevel bool `json:"top_level"`
		} `json:"domain_topology"`
		Sampler struct {
			Via        string
			IntervalMs *float64 `json:"interval_ms"`
			Lost       int
		}
		Gauges *struct {
			IntervalMs float64 `json:"interval_ms"`
			Columns    []struct{ Name, Unit, Metric string }
			Readings   int
		}
	}
	Tasks  []sdkTask
	Totals struct {
		sdkShare
		Energy  *float64 `json:"energy_j"`
		Lasted  float64  `json:"task_duration_s"`
		Overlap float64  `json:"concurrent_overlap_s"`
		Domains map[string]float64
		Method  string `json:"energy_method"`
		Units   []sdkUnit
	}
	Warnings []struct{ Slug, Message string }
	Gauges   []struct {
		At     int64 `json:"t_ns"`
		Values map[string]*float64
	}
}

type sdkTask struct {
	Name    string
	Depth   int
	Parent  *string
	Energy  *float64 `json:"energy_j"`
	Machine *float64 `json:"machine_energy_j"`
	sdkShare
	Lo        *float64 `json:"energy_lo_j"`
	Hi        *float64 `json:"energy_hi_j"`
	Seconds   float64  `json:"duration_s"`
	Method    string   `json:"energy_method"`
	Start     int64    `json:"started_at_mono_ns"`
	End       int64    `json:"ended_at_mono_ns"`
	Domains   map[string]float64
	Thread    int
	Forgotten bool
	Units     []sdkUnit
	Gauges    map[string]struct {
		Mean, Min, Max float64
		Readings       int
	}
	Series []struct {
		At     int64    `json:"t_ns"`
		Energy float64  `json:"energy_j"`
		Power  *float64 `json:"power_w"`
	} `json:"timeseries"`
	Noise *struct {
		Captured int      `json:"samples_captured"`
		Expected int      `json:"samples_expected"`
		Mean     *float64 `json:"power_mean_w"`
		Quality  *string
	}
}

func (f *sdkFile) warned(slug string) bool {
	return slices.ContainsFunc(f.Warnings, func(w struct{ Slug, Message string }) bool { return w.Slug == slug })
}

// sdkWatts is the power of the machine on which the scenarios run: package-0 and its memory.
const sdkWatts = 23.0

// sdkPrograms writes, compiles and returns the programs of all languages that
// this machine has.
func sdkPrograms(t testing.TB) []sdkProgram {
	t.Helper()
	sdkBuilt.Do(func() { sdkBuilt.programs, sdkBuilt.err = buildSDKPrograms() })
	if sdkBuilt.err != nil {
		t.Fatal(sdkBuilt.err)
	}
	all := slices.Clone(sdkBuilt.programs)
	if len(all) == 1 {
		if os.Getenv("CI") == "true" {
			t.Fatal("javac is not installed")
		}
		t.Log("javac is not installed")
		return all
	}
	if home := newestJDK(); releaseOf(home) >= 21 && !long.Without(t, "the newest JDK") {
		java := slices.Clip(slices.Clone(all[1].argv))
		java[0] = filepath.Join(home, "bin/java")
		all = append(all, sdkProgram{fmt.Sprint("java ", releaseOf(home)), java})
	}
	return all
}

// sdkBuilt are the programs of Go, and of Java where there is a javac, which the tests share.
var sdkBuilt struct {
	sync.Once
	programs []sdkProgram
	err      error
}

// buildSDKPrograms builds them in a folder that goes with the cache of the tests.
func buildSDKPrograms() ([]sdkProgram, error) {
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(os.Getenv("CG_TEST_CACHE"), "sdk-programs-")
	if err != nil {
		return nil, err
	}
	run := func(dir string, argv ...string) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, failed := cmd.CombinedOutput(); failed != nil && err == nil {
			err = fmt.Errorf("%q: %w\n%s", argv, failed, out)
		}
	}
	golang, java := filepath.Join(dir, "go"), filepath.Join(dir, "java")
	run(dir, cg, "sdk", "go", golang)
	run(dir, cg, "sdk", "java", java)
	if err == nil {
		err = os.CopyFS(filepath.Join(golang, "scenarios"), os.DirFS("testdata/session/scenarios"))
	}
	if err != nil {
		return nil, err
	}
	run(golang, "go", "build", "-ldflags=-w", "-o", "scenarios.bin", "./scenarios")
	all := []sdkProgram{{"go", []string{filepath.Join(golang, "scenarios.bin")}}}
	if _, lacks := exec.LookPath("javac"); lacks != nil {
		return all, err
	}
	sources, _ := filepath.Glob(filepath.Join(java, "src/main/java/codegreen/*.java"))
	classes := filepath.Join(java, "classes")
	run(java, append([]string{"javac", "--release", "17", "-Xlint:all,-try", "-Werror", "-d", classes, filepath.Join(root, "testdata/session/Scenarios.java")}, sources...)...)
	// They end within a second: the second compiler would take longer than it saves.
	return append(all, sdkProgram{"java", []string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", classes, "Scenarios"}}), err
}

// sdkMachine is the environment of a program on a machine of known power.
func sdkMachine(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: counter(20), Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "dram", Counter: counter(3)}}},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return append(os.Environ(), "CG_SYSROOT="+dir, "CODEGREEN_CG="+filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "XDG_RUNTIME_DIR="+t.TempDir(), "PATH="+sdkPath())
}

// sdkPath is PATH without folders that have a cg.
func sdkPath() string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "cg"))
		return err == nil
	}), string(os.PathListSeparator))
}

// scenario runs one in a folder of its own and returns its file, what it said,
// and its folder. change may alter the command; its status is then nobody's
// concern. act is called with the program's number once it is ready, and tells
// whether it shall go on.
func (p sdkProgram) scenario(t *testing.T, env []string, name string, change func(cmd *exec.Cmd), act ...func(pid int) bool) (file *sdkFile, said string, dir string) {
	t.Helper()
	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.argv[0], append(slices.Clone(p.argv[1:]), name)...)
	cmd.Dir = dir
	out := filepath.Join(dir, "session.json")
	cmd.Env = append(slices.Clone(env), "OUT="+out)
	var text output
	cmd.Stdout, cmd.Stderr = &text, &text
	if change != nil {
		change(cmd)
	}
	run := cmd.Run
	if act != nil {
		run = func() error { return runReady(t, cmd, act[0]) }
	}
	if err := run(); err != nil && change == nil && act == nil {
		t.Fatalf("%s: %v\n%s", name, err, text.text.String())
	}
	said = text.text.String()
	return readSession(t, out, said), said, dir
}

// says wants each of these in what a program said.
func says(t *testing.T, said string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("no %q in\n%s", w, said)
		}
	}
}

// endedBy tells whether a program ended by a signal, or with the status that a
// shell gives to that.
func endedBy(state *os.ProcessState, signal syscall.Signal) bool {
	status := state.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == signal || status.ExitStatus() == 128+int(signal)
}

// output takes in what several write.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// readSession reads a file that fits the schema; nil where there is none.
func readSession(t *testing.T, path, said string) *sdkFile {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	f := &sdkFile{}
	if err = report.ValidateFrom(bytes.NewReader(b)); err == nil {
		err = json.Unmarshal(b, f)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, b, said)
	}
	for _, task := range f.Tasks {
		if task.End < task.Start || math.Abs(task.Seconds-float64(task.End-task.Start)*1e-9) > 1e-6 {
			t.Errorf("%+v", task)
		}
		if task.Energy == nil {
			continue
		}
		sum := 0.0
		for id, joules := range task.Domains {
			if f.Meta.Topology[id].TopLevel {
				sum += joules
			}
		}
		if math.Abs(sum-*task.Energy) > 1e-6 || *task.Lo > *task.Energy || *task.Energy > *task.Hi || *task.Machine < *task.Energy-1e-6 {
			t.Errorf("%s: %v of %v, %v to %v, of %v", task.Name, *task.Energy, task.Domains, *task.Lo, *task.Hi, *task.Machine)
		}
	}
	return f
}

// near tells whether an energy is that of the machine over a time, but for the
// energy of an interval (s) and 30 %: a machine that is busy reads the simulated
// counters late. How exact the rule is, runtimes/sdk/spec/cases/between.txt holds.
func near(joules *float64, seconds, interval float64) bool {
	return joules != nil && math.Abs(*joules-sdkWatts*seconds) < 0.3*sdkWatts*seconds+sdkWatts*interval
}

// near tells whether the task's energy is about that of the machine, or its interval has
// it: a short task has few samples where processors stand still.
func (task sdkTask) near(interval float64) bool {
	want := sdkWatts * task.Seconds
	return near(task.Energy, task.Seconds, interval) || task.Lo != nil && task.Hi != nil && *task.Lo <= want && want <= *task.Hi
}

// sdkScenarios are what holds in each language.
var sdkScenarios = []struct {
	name string
	hold func(t *testing.T, p sdkProgram, env []string)
	one  bool // Go stands for the others where it must not take long: what matters is in the sidecar or in the rules of runtimes/sdk/spec
}{
	{"Nested", sdkNested, false},
	{"OverlappingTasksShare", sdkOverlap, true},
	{"ManyThreads", sdkMany, true},
	{"Forgotten", sdkForgotten, false},
	{"Mismatch", sdkMismatch, false},
	{"Signals", sdkSignals, false},
	{"SignalWhileItWrites", sdkSignalWhileItWrites, false},
	{"Interrupted", sdkInterrupted, false},
	{"PipesForSensors", sdkPipesForSensors, true},
	{"NamesAreEscaped", sdkNamesAreEscaped, false},
	{"SidecarKilled", sdkSidecarKilled, false},
	{"Series", func(t *testing.T, p sdkProgram, env []string) { sdkSeries(t, p, env, 5) }, true},
	{"Gauges", sdkGauges, true},
	{"Units", sdkUnits, false},
	{"Degrades", sdkDegrades, false},
	{"CSV", sdkCSV, false},
	{"formulas in CSV", sdkFormula, false},
	{"OneInAProcess", sdkSecond, false},
	{"UnderCg", sdkUnderCg, false},
}

// What is said of sessions holds in Java and Go.
func TestSessionsOfOtherLanguages(t *testing.T) {
	t.Parallel()
	env, programs := sdkMachine(t), sdkPrograms(t)
	short := long.Without(t, "scenarios of Java in which Go's stand for all")
	for _, p := range programs {
		t.Run(p.lang, func(t *testing.T) {
			for _, s := range sdkScenarios {
				if s.name == "Interrupted" && p.lang == "go" {
					continue // nobody interrupts a goroutine
				}
				if short && s.one && p.lang != "go" {
					continue
				}
				t.Run(s.name, func(t *testing.T) { s.hold(t, p, env) })
			}
			if !short || p.lang == "go" {
				t.Run("SideBySide", func(t *testing.T) { sdkSideBySide(t, p, programs, env) })
			}
		})
	}
}

func sdkNested(t *testing.T, p sdkProgram, env []string) {
	f, said, dir := p.scenario(t, env, "nested", nil)
	if f == nil || f.Meta.Quality != "ok" || f.Meta.Version != version.Cg || f.Meta.Sampler.Via != "sidecar" || f.Meta.Language != strings.Fields(p.lang)[0] || len(f.Meta.Argv) == 0 {
		t.Fatalf("%+v\n%s", f, said)
	}
	var got []string
	for _, task := range f.Tasks {
		parent := ""
		if task.Parent != nil {
			parent = *task.Parent
		}
		got = append(got, fmt.Sprint(task.Name, " ", task.Depth, " ", parent))
		if task.Thread == 0 || task.Forgotten {
			t.Errorf("%+v", task)
		}
	}
	if want := []string{"a 0 ", "b 1 a", "c 2 b", "d, \"quoted\" 1 a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	if out, err := exec.Command(cg, "verify", filepath.Join(dir, "session.json")).CombinedOutput(); err != nil {
		t.Errorf("cg verify: %v\n%s", err, out)
	}
	if a := f.Tasks[0]; !a.near(0.002) || f.Totals.Energy == nil || *f.Totals.Energy != *a.Energy {
		t.Errorf("%v J in %v s; %+v", *a.Energy, a.Seconds, f.Totals)
	}
	if !strings.Contains(said, "energy: true true true") || strings.Contains(said, "codegreen") {
		t.Error(said)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Error("it left behind", left)
	}
}

func sdkOverlap(t *testing.T, p sdkProgram, env []string) {
	f, said, _ := p.scenario(t, env, "overlap", nil)
	if f == nil || len(f.Tasks) != 6 || f.Meta.Quality != "ok" {
		t.Fatalf("%+v\n%s", f, said)
	}
	shared := 0
	for _, task := range f.Tasks {
		if task.Method == "shared" {
			shared++
		}
	}
	if shared == 0 || f.Totals.Overlap <= 0 || f.Totals.Method != "shared" {
		t.Errorf("%d of %d tasks shared, %v s", shared, len(f.Tasks), f.Totals.Overlap)
	}
	covered := f.Totals.Lasted - f.Totals.Overlap
	if !near(f.Totals.Energy, covered, 0.02) {
		t.Errorf("%v J in %v s", *f.Totals.Energy, covered)
	}
}

func sdkMany(t *testing.T, p sdkProgram, env []string) {
	f, said, _ := p.scenario(t, env, "many", nil)
	if f == nil || len(f.Tasks) != 2000 {
		t.Fatalf("%s", said)
	}
	inner := 0
	for _, task := range f.Tasks {
		if task.Forgotten || task.Name == "inner" && (task.Depth != 1 || *task.Parent != "outer") || task.Name == "outer" && task.Depth != 0 {
			t.Fatalf("%+v", task)
		}
		inner += task.Depth
	}
	if covered := f.Totals.Lasted - f.Totals.Overlap; inner != 1000 || !near(f.Totals.Energy, covered, 0.02) {
		t.Errorf("%d inner tasks, %v J in %v s", inner, *f.Totals.Energy, covered)
	}
}

func sdkForgotten(t *testing.T, p sdkProgram, env []string) {
	var ended *exec.Cmd
	f, said, _ := p.scenario(t, env, "forgotten", func(cmd *exec.Cmd) { ended = cmd })
	if ended.ProcessState.ExitCode() != 3 {
		t.Errorf("it ended with %v, want 3", ended.ProcessState)
	}
	if f == nil || len(f.Tasks) != 3 || f.Tasks[0].Forgotten || !f.Tasks[1].Forgotten || !f.Tasks[2].Forgotten || !f.warned("forgotten") {
		t.Fatalf("%+v\n%s", f, said)
	}
	if open := f.Tasks[1]; !open.near(0.002) || open.End != f.Tasks[2].End {
		t.Errorf("%+v", f.Tasks)
	}
}

func sdkMismatch(t *testing.T, p sdkProgram, env []string) {
	f, said, _ := p.scenario(t, env, "mismatch", nil)
	if f == nil || len(f.Tasks) != 2 || f.Tasks[0].Forgotten || f.Tasks[1].Forgotten || f.Tasks[0].End < f.Tasks[1].End {
		t.Fatalf("%+v\n%s", f, said)
	}
	want := []string{"codegreen: task \"inner\" is open inside \"outer\": end it first", "outer: <nil>"}
	if p.lang != "go" {
		want = []string{"outer: the innermost task is inner, not outer: stop it first", "by name: the innermost task is inner, not outer: stop it first",
			"elsewhere: no task is open in this thread, not inner either", "outer: fine", "nothing: no task is open in this thread, not outer either",
			"nobody: no task is open in this thread"}
	}
	if got := strings.Split(strings.TrimSpace(said), "\n"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	f, said, _ = p.scenario(t, env, "unwind", nil)
	if f == nil || len(f.Tasks) != 2 || f.Tasks[0].Forgotten || !f.Tasks[1].Forgotten || f.warned("forgotten") {
		t.Errorf("%+v\n%s", f, said)
	}
}

// runReady runs a program that says when it is ready and then waits for a line.
// Whatever happens, it is over afterwards.
func runReady(t *testing.T, cmd *exec.Cmd, act func(pid int) bool) error {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, all := make(chan struct{}), cmd.Stdout
	said := sync.OnceFunc(func() { close(ready) })
	cmd.Stdout = writer(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte("ready")) {
			said()
		}
		return all.Write(b)
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill()
	select {
	case <-ready:
		if act(cmd.Process.Pid) {
			fmt.Fprintln(in)
		}
		return <-ended
	case err := <-ended:
		return err
	case <-time.After(2 * time.Minute):
		return errors.New("it does not get ready")
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func sdkSignals(t *testing.T, p sdkProgram, env []string) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		var ended *exec.Cmd
		f, said, _ := p.scenario(t, env, "signal", func(cmd *exec.Cmd) { ended = cmd }, func(pid int) bool {
			syscall.Kill(pid, signal)
			return false
		})
		if !endedBy(ended.ProcessState, signal) {
			t.Errorf("%v: it ended with %v\n%s", signal, ended.ProcessState, said)
		}
		if f == nil || len(f.Tasks) != 1 || !f.Tasks[0].Forgotten || f.Tasks[0].Energy == nil || !f.warned("forgotten") {
			t.Errorf("%v: %+v\n%s", signal, f, said)
		}
	}
}

// A signal while the last file is written ends the program when the file is whole.
// It is a pipe that takes no more until the signal was sent.
func sdkSignalWhileItWrites(t *testing.T, p sdkProgram, env []string) {
	pipe := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(pipe, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	var text []byte
	ended, all := make(chan struct{}), make(chan struct{})
	take := func(pid int) {
		defer close(all)
		b := make([]byte, 1<<16)
		for over := false; ; {
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
			if n, err := syscall.Read(fd, b); n > 0 {
				if text == nil {
					syscall.Kill(pid, syscall.SIGTERM)
				}
				text = append(text, b[:n]...)
			} else if over {
				return
			} else if err != syscall.EAGAIN && err != syscall.EINTR {
				t.Error(err)
				return
			}
			select {
			case <-ended:
				over = true
			default:
			}
		}
	}
	var cmd *exec.Cmd
	_, said, _ := p.scenario(t, env, "closing", func(c *exec.Cmd) { cmd, c.Env = c, append(c.Env, "OUT="+pipe) }, func(pid int) bool {
		go take(pid)
		return true
	})
	close(ended)
	<-all
	if !endedBy(cmd.ProcessState, syscall.SIGTERM) {
		t.Errorf("it ended with %v\n%s", cmd.ProcessState, said)
	}
	var f sdkFile
	if err := json.Unmarshal(text, &f); err != nil || len(f.Tasks) != 3000 {
		t.Errorf("%v: %d bytes with %d tasks", err, len(text), len(f.Tasks))
	}
}

// A thread that is interrupted, which closes the channels that it uses in Java,
// measures and writes as others do.
func sdkInterrupted(t *testing.T, p sdkProgram, env []string) {
	for via, env := range map[string][]string{"sidecar": env, "powercap": without(env, "CODEGREEN_CG")} {
		f, said, _ := p.scenario(t, env, "interrupted", nil)
		if f == nil || f.Meta.Sampler.Via != via || f.Meta.Quality != "ok" || !f.Tasks[0].near(0.01) || said != "interrupted: true\n" {
			t.Errorf("%s: %+v\n%s", via, f, said)
		}
	}
}

// A pipe in the place of a sensor's file is not waited for.
func sdkPipesForSensors(t *testing.T, p sdkProgram, env []string) {
	root := t.TempDir()
	pipes := []string{"energy_uj", "name", "max_energy_range_uj", ""}
	for n, pipe := range pipes {
		zone := filepath.Join(root, "sys/class/powercap", fmt.Sprint("intel-rapl:", n))
		if err := os.MkdirAll(zone, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"name": fmt.Sprint("package-", n), "energy_uj": "5000000", "max_energy_range_uj": "262143328850"} {
			err := os.WriteFile(filepath.Join(zone, name), []byte(text+"\n"), 0o644)
			if name == pipe {
				err = errors.Join(err, os.Remove(filepath.Join(zone, name)), syscall.Mkfifo(filepath.Join(zone, name), 0o644))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	f, said, _ := p.scenario(t, append(without(env, "CODEGREEN_CG"), "CG_SYSROOT="+root, "CG_SAMPLES="+filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj")), "nested", nil)
	if f == nil || f.Meta.Sampler.Via != "powercap" || f.Meta.Quality != "energy_zero" || len(f.Meta.Topology) != 1 || !f.Meta.Topology["package-3"].TopLevel || !f.warned("sensor-failed") {
		t.Fatalf("%+v\n%s", f, said)
	}
	for n, pipe := range pipes[:3] {
		says(t, said, fmt.Sprintf("intel-rapl:%d/%s: not a regular file", n, pipe))
	}
}

// What a terminal would obey does not reach it from a name.
func sdkNamesAreEscaped(t *testing.T, p sdkProgram, env []string) {
	out := filepath.Join(t.TempDir(), "no\x1b[2J\nfake", "x.json")
	_, said, _ := p.scenario(t, env, "nested", func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "OUT="+out) })
	lines := strings.Split(said, "\n")
	warned := slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "codegreen: ") && strings.Contains(line, `no\x1b[2J\nfake/x.json cannot be written`)
	})
	if !warned || slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "codegreen: ") && strings.Contains(line, "\x1b")
	}) {
		t.Errorf("%q", said)
	}
}

// children are the processes that a process started.
func children(pid int) (all []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		b, _ := os.ReadFile(file)
		for _, text := range strings.Fields(string(b)) {
			var child int
			fmt.Sscan(text, &child)
			all = append(all, child)
		}
	}
	return all
}

func sdkSidecarKilled(t *testing.T, p sdkProgram, env []string) {
	f, said, _ := p.scenario(t, env, "sidecar", nil, func(pid int) bool {
		found := children(pid)
		if len(found) != 1 {
			t.Errorf("it has the children %v", found)
		}
		for _, child := range found {
			syscall.Kill(child, syscall.SIGKILL)
		}
		return true
	})
	if f == nil || len(f.Tasks) != 2 || f.Tasks[0].Energy == nil || f.Tasks[1].Energy != nil || f.Meta.Quality != "failed" || f.Totals.Energy != nil || !f.warned("sampler-ended") {
		t.Errorf("%+v\n%s", f, said)
	}
	says(t, said, "energy: true")
}

// sdkSeries tries again where the machine was too busy for most samples.
func sdkSeries(t *testing.T, p sdkProgram, env []string, tries int) {
	plot := filepath.Join(t.TempDir(), "power.svg")
	f, said, _ := p.scenario(t, append(slices.Clone(env), "PLOT="+plot), "series", nil)
	if f == nil || len(f.Tasks) != 3 || f.Meta.Sampler.IntervalMs == nil || *f.Meta.Sampler.IntervalMs != 2 {
		t.Fatalf("%+v\n%s", f, said)
	}
	long, inner, short := f.Tasks[0], f.Tasks[1], f.Tasks[2]
	if long.Series == nil || short.Series == nil || len(short.Series) > 1 || len(inner.Series) > len(long.Series) {
		t.Errorf("%d, %d and %d samples", len(long.Series), len(inner.Series), len(short.Series))
	}
	// The trapezoidal rule over powers gives the energy, but for the ends.
	area, last := 0.0, int64(0)
	for i, s := range long.Series {
		if s.At <= last || s.At < long.Start || s.At > long.End {
			t.Fatalf("sample %d of %d at %d, before it %d", i, len(long.Series), s.At, last)
		}
		if i > 0 && s.Power != nil && long.Series[i-1].Power != nil {
			area += (*s.Power + *long.Series[i-1].Power) / 2 * float64(s.At-last) * 1e-9
		}
		last = s.At
	}
	if n := len(long.Series); n < 20 {
		t.Errorf("only %d samples", n)
	} else if told := long.Series[n-1].Energy - long.Series[0].Energy; math.Abs(area-told) > 0.01*told+0.01*sdkWatts {
		t.Errorf("%v J by the trapezoidal rule, of %v J", area, told)
	}
	n := long.Noise
	switch {
	case n == nil || n.Captured != len(long.Series) || n.Expected == 0 || n.Quality == nil:
		t.Errorf("%+v", n)
	case n.Captured < n.Expected/2 && tries > 1: // the machine is busy
		sdkSeries(t, p, env, tries-1)
		return
	case n.Mean == nil || !near(n.Mean, 1, 0):
		t.Errorf("%+v", n)
	}
	says(t, said, "noise: true")
	if b, err := os.ReadFile(plot); err != nil || !bytes.Contains(b, []byte("<svg")) {
		t.Errorf("%v\n%s", err, said)
	}
}

// gaugesMachine adds gauges of known figures to the machine of an environment, below a root of its own: the
// energies are those of the estimate there.
func gaugesMachine(t *testing.T, env []string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"proc/stat": "cpu  1 1 1 1 1 1 1 1 1 1\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1000000\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "3000000\n",
		"sys/class/hwmon/hwmon0/name":                          "coretemp\n",
		"sys/class/hwmon/hwmon0/temp1_input":                   "45500\n",
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return append(slices.Clone(env), "CG_SYSROOT="+dir)
}

func sdkGauges(t *testing.T, p sdkProgram, env []string) {
	f, said, dir := p.scenario(t, gaugesMachine(t, env), "gauges", nil)
	if f == nil || f.Meta.Gauges == nil || len(f.Tasks) != 2 {
		t.Fatalf("%+v\n%s", f, said)
	}
	holdsGauges(t, f, filepath.Join(dir, "session.json"))
	says(t, said, "no name", "period", "use names of metrics of cg track")
	f, said, _ = p.scenario(t, append(without(env, "CODEGREEN_CG"), "CG_SYSROOT="+t.TempDir()), "gauges", nil)
	if f == nil || !f.warned("no-gauges") || len(f.Tasks[0].Gauges) != 0 {
		t.Errorf("no cg: %+v\n%s", f, said)
	}
}

// holdsGauges checks the gauges of a session on a machine of gaugesMachine: a task of 0.7 s and one that is short.
func holdsGauges(t *testing.T, f *sdkFile, path string) {
	t.Helper()
	var columns []string
	for _, c := range f.Meta.Gauges.Columns {
		columns = append(columns, c.Name+" "+c.Unit+" "+c.Metric)
	}
	want := []string{"cpu_busy_percent % cpu-util", "cpu_clock_mhz MHz cpu-clock", "cpu_highest_clock_mhz MHz cpu-clock",
		"coretemp-0_temp1_c C hwmon"}
	if !slices.Equal(columns, want) || f.Meta.Gauges.IntervalMs != 100 || f.Meta.Gauges.Readings != len(f.Gauges) {
		t.Errorf("%q, want %q: %+v", columns, want, f.Meta.Gauges)
	}
	long, inside := f.Tasks[0], 0
	for i, g := range f.Gauges {
		if i > 0 && g.At <= f.Gauges[i-1].At || g.Values["cpu_busy_percent"] != nil || *g.Values["coretemp-0_temp1_c"] != 45.5 {
			t.Errorf("reading %d: %+v", i, g)
		}
		if g.At >= long.Start && g.At <= long.End {
			inside++
		}
	}
	for name, value := range map[string]float64{"cpu_clock_mhz": 2000, "cpu_highest_clock_mhz": 3000, "coretemp-0_temp1_c": 45.5} {
		if g := long.Gauges[name]; g.Mean != value || g.Min != value || g.Max != value || g.Readings != inside || inside == 0 {
			t.Errorf("%s: %+v, want %v in %d readings", name, g, value, inside)
		}
	}
	if _, is := long.Gauges["cpu_busy_percent"]; is {
		t.Error("a gauge that was never read has a figure")
	}
	if len(f.Tasks[1].Gauges) > 0 && f.Tasks[1].Seconds < 0.01 && !slices.ContainsFunc(f.Gauges, func(g struct {
		At     int64 `json:"t_ns"`
		Values map[string]*float64
	}) bool {
		return g.At >= f.Tasks[1].Start && g.At <= f.Tasks[1].End
	}) {
		t.Errorf("a task without a reading has %+v", f.Tasks[1].Gauges)
	}
	if !f.warned("no-gauges") {
		t.Error("it does not say that there is no nvml-temp")
	}
	out, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "report", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "coretemp-0_temp1_c") {
		t.Errorf("cg report: %v\n%s", err, out)
	}
}

// Those of C and C++ have the same gauges.
func TestGaugesOfCSessions(t *testing.T) {
	t.Parallel()
	const program = `#include "codegreen.h"
int main(void)
{
	const struct timespec most = {0, 700000000};
	codegreen_options options = {"session.json", 0, 1, 0, 0, 0, "all", 99};
	codegreen_task task;
	if (codegreen_start("refused", &options) == 0)
		return 2;
	options.gauge_interval_ms = 100;
	options.gauges = "cpu-util,cpu-clock,hwmon,nvml-temp";
	codegreen_start("g", &options);
	task = codegreen_begin("long");
	nanosleep(&most, 0);
	codegreen_end(task);
	codegreen_end(codegreen_begin("short"));
	return codegreen_stop();
}`
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	for _, compiler := range []string{"cc -xc -std=c99", "c++ -xc++ -std=c++11"} {
		words := strings.Fields(compiler)
		if _, err := exec.LookPath(words[0]); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		dir := t.TempDir()
		env := gaugesMachine(t, append(os.Environ(), "CODEGREEN_CG="+cg, "XDG_RUNTIME_DIR="+t.TempDir()))
		for _, argv := range [][]string{
			{cg, "sdk", "c", "sdk"},
			append(words, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Isdk", "-pthread", "-o", "program", "-"),
			{"./program"},
		} {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(program)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%q: %v\n%s", argv, err, out)
			}
			if argv[0] == "./program" {
				says(t, string(out), "codegreen: gauge interval 99ms: use 100ms to 1m")
			}
		}
		path := filepath.Join(dir, "session.json")
		holdsGauges(t, readSession(t, path, ""), path)
	}
}

// Python's sessions have the same gauges.
func TestGaugesOfPythonSessions(t *testing.T) {
	t.Parallel()
	const program = `import sys, time
sys.path.insert(0, sys.argv[1])
import codegreen
with codegreen.Session("g", output_file="session.json", record_time_series=True, gauge_interval_ms=100,
                       gauges=["cpu-util", "cpu-clock", "hwmon", "nvml-temp"]) as s:
    with s.task("long"):
        time.sleep(0.7)
    with s.task("short"):
        pass
for wrong in ({"gauges": [""]}, {"gauges": [1]}, {"gauges": "all", "gauge_interval_ms": 99}):
    try:
        codegreen.Session("w", **wrong)
        print("taken", wrong)
    except ValueError as e:
        print("refused", e)
`
	for _, python := range sessionPythons(t) {
		cmd := exec.Command(python, "-c", program, mustAbs(t, sdkFolder))
		cmd.Dir = t.TempDir()
		cmd.Env = gaugesMachine(t, append(os.Environ(), "CODEGREEN_CG="+filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"),
			"XDG_RUNTIME_DIR="+t.TempDir()))
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), "refused gauge") != 3 {
			t.Fatalf("%s: %v\n%s", python, err, out)
		}
		path := filepath.Join(cmd.Dir, "session.json")
		holdsGauges(t, readSession(t, path, string(out)), path)
	}
}

// without leaves variables out of an environment.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

func sdkDegrades(t *testing.T, p sdkProgram, env []string) {
	bare := without(env, "CODEGREEN_CG")
	f, said, _ := p.scenario(t, bare, "nested", nil)
	if f == nil || f.Meta.Sampler.Via != "powercap" || f.Meta.Quality != "ok" || !f.Tasks[0].near(0.01) || f.Totals.Domains["dram"] == 0 {
		text, _ := json.Marshal(f)
		t.Errorf("powercap: %s\n%s", text, said)
	}
	f, said, _ = p.scenario(t, append(bare, "CG_SYSROOT="+t.TempDir()), "nested", nil)
	if f == nil || f.Meta.Quality != "no_backend" || f.Tasks[0].Energy != nil || f.Totals.Energy != nil || !f.warned("no-backend") {
		t.Errorf("nothing: %+v\n%s", f, said)
	}
	says(t, said, "codegreen: no energy can be measured here: cg is not in PATH, and CODEGREEN_CG does not name it; there are no powercap counters")
	// Something else has the name of cg.
	f, said, _ = p.scenario(t, append(bare, "CODEGREEN_CG=/bin/echo", "CG_SYSROOT="+t.TempDir()), "nested", nil)
	if f == nil || f.Meta.Quality != "no_backend" || !strings.Contains(said, "what answers is no cg sampler") && !strings.Contains(said, "cg sampler ended at once") {
		t.Errorf("no cg: %+v\n%s", f, said)
	}
	// No place for the file.
	for _, path := range []string{"/proc/session.json", filepath.Join(t.TempDir(), "not", "there.json")} {
		_, said, _ = p.scenario(t, env, "nested", func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "OUT="+path) })
		says(t, said, "energy: true", path+" cannot be written")
	}
	// A link stays one, and what it names is replaced.
	target := filepath.Join(t.TempDir(), "target.json")
	if err := os.WriteFile(target, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	p.scenario(t, env, "nested", func(cmd *exec.Cmd) {
		if err := os.Symlink(target, filepath.Join(cmd.Dir, "session.json")); err != nil {
			t.Fatal(err)
		}
	})
	if info, err := os.Stat(target); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
}

// rows runs a scenario whose file is CSV.
func (p sdkProgram) rows(t *testing.T, env []string, name string) [][]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.csv")
	_, said, _ := p.scenario(t, env, name, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "OUT="+path) })
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%v\n%s", err, b)
	}
	return rows
}

func sdkCSV(t *testing.T, p sdkProgram, env []string) {
	rows := p.rows(t, env, "nested")
	if len(rows) != 5 || rows[4][0] != "d, \"quoted\"" || rows[2][2] != "a" {
		t.Fatalf("%q", rows)
	}
	want := append(slices.Clone(spec.TaskColumns), "domain_package-0_j", "domain_package-0_w", "domain_dram_j", "domain_dram_w")
	if !slices.Equal(rows[0], want) {
		t.Errorf("got %q, want %q", rows[0], want)
	}
}

// sdkFormula wants a table whose texts no spreadsheet runs.
func sdkFormula(t *testing.T, p sdkProgram, env []string) {
	var names []string
	for _, row := range p.rows(t, env, "formula")[1:] {
		names = append(names, row[0])
	}
	if want := []string{"'=1+1", "-5", `a\x1b[2J\nb;'@x`, `'\t+1`}; !slices.Equal(names, want) {
		t.Errorf("the tasks are %q, want %q", names, want)
	}
}

func sdkSecond(t *testing.T, p sdkProgram, env []string) {
	_, said, dir := p.scenario(t, env, "second", func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "OUT=") })
	want := []string{"second: a session is active in this process already: scenario\n", "format: outputFormat xml: use auto, json, csv or none\n",
		"buffer: bufferSamples 3: use 16 to 1048576\n", "interval: sampleInterval PT0.000000001S: use 100 us to a minute\n", "after: fine\n"}
	if p.lang == "go" {
		want = []string{"true codegreen: a session is active in this process already: \"scenario\"\n", "codegreen: format \"xml\": use auto, json, csv or none <nil> <nil>\n",
			"codegreen: buffer of 3 samples: use 16 to 1048576 <nil> <nil>\n", "codegreen: sample interval 1ns: use 100us to 1m <nil> <nil>\n", "second: true\n"}
	}
	says(t, said, want...)
	// Each session has a file of its own where none is named.
	first, _ := filepath.Glob(filepath.Join(dir, "codegreen_[0-9]*.json"))
	second, _ := filepath.Glob(filepath.Join(dir, "codegreen_[0-9]*_2.json"))
	if len(first) != 2 || len(second) != 1 {
		t.Error(first, second)
	}
	for _, file := range first {
		if f := readSession(t, file, said); f.Meta.Quality != "no_tasks" {
			t.Errorf("%+v", f)
		}
	}
}

// Around the program, cg's samples are taken, and no sidecar is started.
func sdkUnderCg(t *testing.T, p sdkProgram, env []string) {
	wrapped := p
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	wrapped.argv = append([]string{cg, "run", "-n", "1", "--"}, p.argv...)
	f, said, _ := wrapped.scenario(t, env, "nested", nil)
	if f == nil || f.Meta.Sampler.Via != "run" || f.Meta.Quality != "ok" || *f.Tasks[0].Energy <= 0 {
		t.Errorf("%+v\n%s", f, said)
	}
}

// Counters are the machine's: who comes second is told, whatever language the
// first is written in.
func sdkSideBySide(t *testing.T, p sdkProgram, all []sdkProgram, env []string) {
	for _, other := range all {
		env := append(slices.Clone(env), "XDG_RUNTIME_DIR="+t.TempDir())
		other.scenario(t, env, "hold", nil, func(pid int) bool {
			f, said, _ := p.scenario(t, env, "nested", nil)
			if f == nil || !f.warned("concurrent") || !strings.Contains(said, fmt.Sprintf("(process %d)", pid)) {
				t.Errorf("beside %s: %s", other.lang, said)
			}
			return true
		})
		if f, said, _ := p.scenario(t, env, "nested", nil); f.warned("concurrent") {
			t.Errorf("after %s: %s", other.lang, said)
		}
		dir := env[len(env)-1][len("XDG_RUNTIME_DIR="):]
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Error("the last session left", left)
		}
	}
}

// Python, Java and Go list each other in one file, whatever lock a language has.
func TestPidsFileOfAllLanguages(t *testing.T) {
	t.Parallel()
	env, programs := sdkMachine(t), sdkPrograms(t)
	python, sdk := python(t), filepath.Join(t.TempDir(), "sdk")
	if out, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", "python", sdk).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env = append(env, "PYTHONPATH="+sdk, "PYTHONDONTWRITEBYTECODE=1")
	const hold = "import codegreen\nwith codegreen.Session(save_to_file=False):\n    print('ready', flush=True)\n    input()\n"
	all := append(slices.Clone(programs[:min(2, len(programs))]), sdkProgram{"python", []string{python, "-c", hold}})
	dir := t.TempDir()
	env = append(env, "XDG_RUNTIME_DIR="+dir)
	holding := func(p sdkProgram, in io.Reader) *exec.Cmd {
		cmd := exec.Command(p.argv[0], append(slices.Clone(p.argv[1:]), "hold")...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, in
		return cmd
	}
	// Six of each begin and end at a time.
	var wait sync.WaitGroup
	for _, p := range all {
		for range 6 {
			wait.Go(func() {
				if out, err := holding(p, strings.NewReader("\n")).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", p.lang, err, out)
				}
			})
		}
	}
	wait.Wait()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error("the last session left", left)
	}
	// Each sees the other two.
	for i, p := range all {
		cmd := holding(p, nil)
		var text output
		cmd.Stdout, cmd.Stderr = &text, &text
		err := runReady(t, cmd, func(pid int) bool {
			other := all[(i+1)%len(all)]
			out, err := holding(other, strings.NewReader("\n")).CombinedOutput()
			if err != nil || !strings.Contains(string(out), fmt.Sprintf("(process %d)", pid)) {
				t.Errorf("%s beside %s: %v\n%s", other.lang, p.lang, err, out)
			}
			return true
		})
		if err != nil {
			t.Errorf("%s: %v", p.lang, err)
		}
	}
}

// A task that does nothing, in ns, the least of 30 rounds.
func BenchmarkTask(b *testing.B) {
	for _, p := range sdkPrograms(b) {
		b.Run(p.lang, func(b *testing.B) {
			least := math.Inf(1)
			for b.Loop() {
				cmd := exec.Command(p.argv[0], append(slices.Clone(p.argv[1:]), "bench")...)
				cmd.Env = append(os.Environ(), "OUT=", "CODEGREEN_CG="+filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"))
				out, err := cmd.CombinedOutput()
				var ns float64
				if n, _ := fmt.Sscanf(string(out), "%g ns a pair", &ns); err != nil || n != 1 {
					b.Fatalf("%v\n%s", err, out)
				}
				least = min(least, ns)
			}
			b.ReportMetric(least, "ns/pair")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// The examples of docs/session.md run as they are.
func TestSessionExamples(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/session.md")
	if err != nil {
		t.Fatal(err)
	}
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	for _, c := range []struct{ lang, file, command, want string }{
		{"go", "main.go", "go mod init example && go mod edit -require codegreen@v0.0.0 -replace codegreen=./sdk && go run .", "all took "},
		{"java", "Main.java", "javac -d classes sdk/src/main/java/codegreen/*.java Main.java && java -cp classes Main", "report took "},
	} {
		t.Run(c.lang, func(t *testing.T) {
			if _, err := exec.LookPath("javac"); err != nil && c.lang == "java" && os.Getenv("CI") != "true" {
				t.Skip("no javac")
			}
			_, program, found := strings.Cut(string(text), "\n```"+c.lang+"\n")
			program, _, ended := strings.Cut(program, "\n```\n")
			if !found || !ended {
				t.Fatal("there is none")
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(program), 0o644); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", "cg sdk "+c.lang+" sdk && "+c.command)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(cg)+":"+os.Getenv("PATH"), "XDG_RUNTIME_DIR="+dir, "GOFLAGS=", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Fatalf("%v\n%s", err, out)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "codegreen_*.json"))
			if len(files) != 1 {
				t.Fatal(files)
			}
			if f := readSession(t, files[0], string(out)); f.Meta.Sampler.Via != "sidecar" || len(f.Tasks) < 3 || f.Totals.Energy == nil {
				t.Errorf("%+v\n%s", f, out)
			}
		})
	}
}
