package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"cg/checkpoint"
	"cg/nemb"
	"cg/nemb/simulate"
	"cg/report"
)

var update = flag.Bool("update", false, "write the golden files")

// TestMachines runs cg info on every machine of testdata/sys. A machine is an
// archive: a comment with instructions (lines with a "!"), its files, and the
// expected info.json.
//
//	!link NAME TARGET   a symbolic link
//	!mode MODE PATTERN  of files
//	!unprivileged       cg runs as nobody
//	!nvml CONF          NVIDIA's library, as simulate.NVMLConf sets it
//	!pmu                the power PMU stands on the msr PMU's cycle counter
//
// Sources of which cg says what it says of a machine without sensors are left out: a new
// sensor changes the machine empty-vm, which has them all, and those that have it.
func TestMachines(t *testing.T) {
	machines, err := filepath.Glob("testdata/sys/*.txtar")
	if err != nil || len(machines) < 12 {
		t.Fatal(machines, err)
	}
	nothing := captured{dir: t.TempDir(), program: filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")}.survey(t)
	for _, name := range machines {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			m := unpack(t, archive)
			survey := m.survey(t)
			if filepath.Base(name) != "empty-vm.txtar" {
				leaveOutAbsent(survey, nothing)
			}
			got := indented(t, survey)
			want := &archive.Files[len(archive.Files)-1]
			if want.Name != "info.json" {
				t.Fatal("info.json is not the last file")
			}
			if *update {
				want.Data = got
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if !bytes.Equal(got, want.Data) {
				t.Errorf("differs (go test ./e2e -run TestMachines -update writes it, read the difference):\n%s", got)
			}
		})
	}
}

// Every source has a section in docs/sensors.md and a place in its table.
func TestSensorsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("docs/sensors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range nemb.Sources() {
		if !strings.Contains(string(b), "\n## "+s.Name+"\n") || !strings.Contains(string(b), "\n| `"+s.Name+"` |") {
			t.Errorf("docs/sensors.md has no section, or no line in its table, for %s", s.Name)
		}
	}
}

// captured is a machine on disk.
type captured struct {
	dir     string
	program string
	nobody  bool
}

func unpack(t *testing.T, a *txtar.Archive) captured {
	t.Helper()
	m := captured{dir: t.TempDir(), program: filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")}
	for _, f := range a.Files {
		if f.Name == "info.json" {
			continue
		}
		at := filepath.Join(m.dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(string(a.Comment)) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "!") {
			continue
		}
		switch words[0] {
		case "!link":
			at := filepath.Join(m.dir, words[1])
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(words[2], at); err != nil {
				t.Fatal(err)
			}
		case "!mode":
			mode, err := strconv.ParseUint(words[1], 8, 32)
			if err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() != 0 {
				mode &^= 0o400 // who owns a file may read it
			}
			files, _ := filepath.Glob(filepath.Join(m.dir, words[2]))
			if len(files) == 0 {
				t.Fatalf("%s matches nothing", words[2])
			}
			for _, f := range files {
				if err := os.Chmod(f, os.FileMode(mode)); err != nil {
					t.Fatal(err)
				}
			}
		case "!unprivileged":
			m.nobody = os.Geteuid() == 0
			m.open(t)
		case "!nvml":
			need(t, "cc", "apt-get install gcc")
			conf := strings.TrimSpace(strings.TrimPrefix(line, "!nvml")) + "\n"
			if _, err := simulate.NVML(filepath.Join(m.dir, "lib"), conf); err != nil {
				t.Fatal(err)
			}
		case "!pmu":
			m.standIn(t)
		default:
			t.Fatalf("no instruction %s", words[0])
		}
	}
	return m
}

func (m captured) command(args ...string) *exec.Cmd {
	cmd := exec.Command(m.program, args...)
	cmd.Stderr = &bytes.Buffer{}
	cmd.Env = append(os.Environ(), "CG_BE_CG=1", "HOME="+m.dir, "XDG_CONFIG_HOME="+m.dir, "XDG_CACHE_HOME="+m.dir)
	if m.nobody {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
	}
	return cmd
}

// open lets nobody come to the machine, and to a program of its own: the test
// binary lies where only its owner comes.
func (m *captured) open(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m.program = filepath.Join(dir, "cg")
	if err := os.Link(self, m.program); err != nil {
		in, err := os.Open(self)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := os.OpenFile(m.program, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []string{m.dir, dir} {
		for ; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// standIn makes every event of the power PMU the cycle counter of this
// machine, so that it can be opened.
func (m captured) standIn(t *testing.T) {
	t.Helper()
	number, err := os.ReadFile("/sys/bus/event_source/devices/msr/type")
	if err != nil {
		t.Skipf("no msr PMU to stand in for RAPL: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("events of the whole machine take root")
	}
	if paranoid, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); m.nobody && !strings.ContainsAny(string(paranoid), "123456789") || strings.HasPrefix(string(paranoid), "-") && m.nobody {
		t.Skip("everybody may open events of the whole machine here")
	}
	events, _ := filepath.Glob(filepath.Join(m.dir, "sys/bus/event_source/devices/power/events/*"))
	for _, e := range events {
		if path.Ext(e) == "" {
			if err := os.WriteFile(e, []byte("event=0x00\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(m.dir, "sys/bus/event_source/devices/power/type"), number, 0o644); err != nil {
		t.Fatal(err)
	}
}

// survey is what cg info says, without what the machine that runs the test makes of it:
// its rights, its own clock, the folder of the test, and the words of the estimate.
func (m captured) survey(t *testing.T) map[string]any {
	t.Helper()
	cmd := m.command("--sysroot", m.dir, "info", "--json")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	var v map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(out, []byte(m.dir), nil), &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rights := v["permissions"].(map[string]any)
	delete(rights, "uid")
	delete(rights, "capabilities")
	delete(rights, "realtime")
	delete(v["clock"].(map[string]any), "channel")
	for _, d := range v["domains"].([]any) {
		d := d.(map[string]any)
		if text := fmt.Sprint(d["source"]); strings.HasPrefix(text, "estimate:") {
			d["source"] = "estimate"
		}
	}
	var names, want []string
	for _, s := range v["sensors"].([]any) {
		names = append(names, fmt.Sprint(s.(map[string]any)["name"]))
	}
	for _, s := range nemb.ByRank(nemb.Sources()) {
		want = append(want, s.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("cg info lists %q, want %q", names, want)
	}
	return v
}

// leaveOutAbsent takes those sources out of a survey that are absent, or not asked, and
// the same as in another.
func leaveOutAbsent(survey, other map[string]any) {
	survey["sensors"] = slices.DeleteFunc(survey["sensors"].([]any), func(s any) bool {
		state := s.(map[string]any)["state"]
		return (state == "absent" || state == "not_asked") && slices.ContainsFunc(other["sensors"].([]any), func(o any) bool {
			return reflect.DeepEqual(s, o)
		})
	})
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A program under perf_event counters of known power: skylake-sp, whose events
// stand on the cycle counter, scaled to 20 W and 3 W for each socket.
func TestKnownPowerOfPerf(t *testing.T) {
	python(t)
	archive, err := txtar.ParseFile("testdata/sys/skylake-sp.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m := unpack(t, archive)
	if checkpoint.SystemClock() != checkpoint.CycleCounter {
		t.Skip("this machine's cycle counter is no clock")
	}
	a, at := checkpoint.CycleCounter.Now(), checkpoint.Monotime()
	time.Sleep(100 * time.Millisecond)
	rate := float64(checkpoint.CycleCounter.Now()-a) / time.Duration(checkpoint.Monotime()-at).Seconds()
	for event, watts := range map[string]float64{"energy-pkg": 20, "energy-ram": 3} {
		name := filepath.Join(m.dir, "sys/bus/event_source/devices/power/events", event+".scale")
		if err := os.WriteFile(name, fmt.Appendf(nil, "%.20e\n", watts/rate), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, _, err := measured(t, "--sysroot", m.dir, "testdata/programs/python/warehouse/main.py", "60")
	if err != nil {
		t.Fatal(err)
	}
	want := 46 * r.Totals.DurationS
	got := r.Totals.EnergyJ.Float()
	if math.Abs(got-want) > 0.01*want || r.Totals.Kind != "measured" || r.Meta.DomainSupport != "full" {
		t.Errorf("%.3f J in %.3f s, want %.3f J; %s", got, r.Totals.DurationS, want, r.Totals.Kind)
	}
	// Powercap stands still in the archive, and is there to compare.
	found := false
	for _, w := range r.Warnings {
		found = found || w.Slug == "sensor-suspect" && strings.Contains(w.Message, "package-1: two sources disagree")
	}
	if !found {
		t.Errorf("no warning of the disagreement: %+v", r.Warnings)
	}
	t.Logf("%.3f J of %.3f J in %.3f s: %+.2f %%", got, want, r.Totals.DurationS, 100*(got/want-1))
}

// Powers that are integrated: a Grace whose socket draws 95 W, in which the
// meters of its parts and of the module around it do not count.
func TestKnownPowerOfMeters(t *testing.T) {
	python(t)
	archive, err := txtar.ParseFile("testdata/sys/hwmon-grace.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m := unpack(t, archive)
	r, _, err := measured(t, "--sysroot", m.dir, "testdata/programs/python/warehouse/main.py", "20")
	if err != nil {
		t.Fatal(err)
	}
	want := 95 * r.Totals.DurationS
	got := r.Totals.EnergyJ.Float()
	if math.Abs(got-want) > 0.01*want || r.Totals.Kind != "derived" {
		t.Errorf("%.3f J in %.3f s, want %.3f J; %s", got, r.Totals.DurationS, want, r.Totals.Kind)
	}
	if p := r.Meta.DomainTopology["package-0"]; !p.TopLevel || !slices.Equal(p.Includes, []string{"cores-0", "sysio-0"}) {
		t.Errorf("%+v", r.Meta.DomainTopology)
	}
}

// A meter that fails while a program runs leaves energy that nobody knows: the
// report has no upper bound, and says so.
func TestMeterFailsWhileMeasuring(t *testing.T) {
	python(t)
	archive, err := txtar.ParseFile("testdata/sys/hwmon-grace.txtar")
	if err != nil {
		t.Fatal(err)
	}
	m := unpack(t, archive)
	meter := filepath.Join(m.dir, "sys/class/hwmon/hwmon2/device/power1_average")
	dir := t.TempDir()
	script, running := filepath.Join(dir, "wait.py"), filepath.Join(dir, "running")
	text := "import os, sys, time\nopen(sys.argv[1], 'w').close()\nwhile os.path.exists(sys.argv[1]): time.sleep(0.005)\ntime.sleep(0.3)\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for range 5000 {
			if _, err := os.Stat(running); err == nil {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		err := os.WriteFile(meter, []byte("n/a\n"), 0o644)
		time.Sleep(300 * time.Millisecond)
		done <- errors.Join(err, os.WriteFile(meter, []byte("95000000\n"), 0o644), os.Remove(running))
	}()
	r, _, err := measured(t, "--sysroot", m.dir, script, running)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if got, most := r.Totals.EnergyJ.Float(), 95*r.Totals.DurationS; r.Totals.Kind != "derived" || r.Totals.HiJ != nil || got > 1.01*most {
		t.Errorf("%s, %g J of %g J, upper bound %v", r.Totals.Kind, got, most, r.Totals.HiJ)
	}
	if !slices.ContainsFunc(r.Warnings, func(w report.Warning) bool { return w.Slug == "counter-fault" }) {
		t.Errorf("%+v", r.Warnings)
	}
}
