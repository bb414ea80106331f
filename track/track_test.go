package track

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cg/nemb"
	_ "cg/nemb/sensor/all"
	"cg/nemb/simulate"
)

func TestParse(t *testing.T) {
	tests := []struct {
		spec, want, err string
	}{
		{"0.1,rapl", "100ms,rapl", ""},
		{"1,nvml-power,rapl,nvml-power", "1s,nvml-power,rapl", ""},
		{" 5ms , RAPL ", "5ms,rapl", ""},
		{"0.0001,estimate", "100µs,estimate", ""},
		{"60,hwmon", "1m0s,hwmon", ""},
		{"0.01,PM:sm__cycles_active.avg,pm:sm__cycles_active.avg", "10ms,pm:sm__cycles_active.avg", ""},
		{"0.001,PM:sm__cycles_active.avg", "", "an interval of 1ms is too short for counters of GPUs: use 10ms or more"},
		{"0.1,Pm:", "", "pm: needs the name of a counter"},
		{"0.00009,rapl", "", "an interval of 90µs cannot be kept: use 100µs to 1m0s"},
		{"61,rapl", "", "an interval of 1m1s cannot be kept"},
		{"-1,rapl", "", "an interval of -1s cannot be kept"},
		{"nan,rapl", "", `"nan" is no interval`},
		{"1e30,rapl", "", `"1e30" is no interval`},
		{"rapl", "", `"rapl" is no interval: begin with seconds`},
		{"", "", `"" is no interval`},
		{"0.1", "", "no metric behind the interval; known are amdsmi-clock, amdsmi-energy, "},
		{"0.1,smell", "", `no metric "smell"; known are amdsmi-clock, amdsmi-energy, amdsmi-memory, amdsmi-power, amdsmi-temp, amdsmi-util, cpu-clock, cpu-util, estimate, hwmon, ipmi, meter, nvml-clock, nvml-energy, nvml-memory, nvml-nvlink, nvml-pcie, nvml-power, nvml-temp, nvml-util, rapl, redfish`},
	}
	for _, test := range tests {
		got, err := Parse(test.spec)
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%q: %v, want %s", test.spec, err, test.err)
		case test.err == "" && (err != nil || got.String() != test.want):
			t.Errorf("%q: %v, %v, want %s", test.spec, got, err, test.want)
		}
	}
}

// What each format writes of the same rows: a counter that could not be read
// once, and a temperature.
func TestEncoders(t *testing.T) {
	zone, err := time.LoadLocation("UTC")
	if err != nil {
		t.Fatal(err)
	}
	defer func(before *time.Location) { time.Local = before }(time.Local)
	time.Local = zone
	columns := []column{
		{name: "package-0_j", unit: "J", energy: true, method: nemb.Measured, source: "energy_uj", id: "package-0", metric: "rapl"},
		{name: "machine_estimated_j", unit: "J", energy: true, method: nemb.Estimated, source: "estimate", id: "machine", metric: "estimate"},
		{name: "gpu0_temperature_c", unit: "C", method: nemb.Measured, source: "nvml-temp", id: "gpu0", metric: "nvml-temp"},
	}
	nan := math.NaN()
	second := int64(time.Second)
	at := time.Date(2026, 11, 21, 15, 0, 0, 1500, time.UTC).UnixNano()
	rows := []row{
		{at, 5 * second, 1000, []float64{1e6, 0, 40}},
		{at + second, 6 * second, 1001, []float64{3.5e6, 1, 41.5}},
		{at + 2*second, 7 * second, 1002, []float64{nan, 2, nan}},
		{at + 3*second, 8 * second, 1003, []float64{5e6, 3, 43}},
	}
	c, tracker, st := Config{ID: `job "1", a`}, Tracker{Every: time.Second}, &stream{columns: columns}
	for _, test := range []struct {
		name string
		e    func() encoder
		want string
	}{
		{"csv", func() encoder { return newCSV(c, tracker, st) }, `unix_ns,mono_ns,reading_ns,package-0_j,package-0_w,machine_estimated_j,machine_estimated_w,gpu0_temperature_c,run
1795273200000001500,5000000000,1000,1,,0,,40,"job ""1"", a"
1795273201000001500,6000000000,1001,3.5,2.5,0.000001,0.000001,41.5,"job ""1"", a"
1795273202000001500,7000000000,1002,,,0.000002,0.000001,,"job ""1"", a"
1795273203000001500,8000000000,1003,5,,0.000003,0.000001,43,"job ""1"", a"
`},
		{"jsonl", func() encoder { return newJSONLines(c, tracker, st) }, `{"columns":[{"name":"package-0_j","unit":"J","kind":"measured","source":"energy_uj"},{"name":"package-0_w","unit":"W","kind":"derived","source":"energy_uj"},{"name":"machine_estimated_j","unit":"J","kind":"estimated","source":"estimate"},{"name":"machine_estimated_w","unit":"W","kind":"estimated","source":"estimate"},{"name":"gpu0_temperature_c","unit":"C","kind":"measured","source":"nvml-temp"}],"interval_s":1,"run":"job \"1\", a"}
{"unix_ns":1795273200000001500,"mono_ns":5000000000,"reading_ns":1000,"package-0_j":1,"package-0_w":null,"machine_estimated_j":0,"machine_estimated_w":null,"gpu0_temperature_c":40}
{"unix_ns":1795273201000001500,"mono_ns":6000000000,"reading_ns":1001,"package-0_j":3.5,"package-0_w":2.5,"machine_estimated_j":0.000001,"machine_estimated_w":0.000001,"gpu0_temperature_c":41.5}
{"unix_ns":1795273202000001500,"mono_ns":7000000000,"reading_ns":1002,"package-0_j":null,"package-0_w":null,"machine_estimated_j":0.000002,"machine_estimated_w":0.000001,"gpu0_temperature_c":null}
{"unix_ns":1795273203000001500,"mono_ns":8000000000,"reading_ns":1003,"package-0_j":5,"package-0_w":null,"machine_estimated_j":0.000003,"machine_estimated_w":0.000001,"gpu0_temperature_c":43}
`},
		{"wattameter", func() encoder {
			return &wattameterLog{id: "job1", begun: time.Unix(0, at), columns: wattameterColumns(columns), data: true}
		}, `# 2026-11-21_15:00:00.000001 - WattAMeter run job1
# timestamp                  reading-time[ns] cpu-0[uJ] machine-estimated[uJ] gpu-0[C] cpu-0[W] machine-estimated[W]
  2026-11-21_15:00:00.000001 1000 1000000 0 40 2.5 0.000001
  2026-11-21_15:00:01.000001 1001 3500000 1 41.5 inf 0.000001
  2026-11-21_15:00:02.000001 1002 inf 2 inf inf 0.000001
  2026-11-21_15:00:03.000001 1003 5000000 3 43
`},
	} {
		e := test.e()
		whole := e.header() + string(e.rows(nil, rows, true))
		if whole != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.name, whole, test.want)
		}
		if python := os.Getenv("CG_WATTAMETER_PYTHON"); python != "" && test.name == "wattameter" {
			cmd := exec.Command(python, "-c", "import sys\nfrom wattameter.utils.postprocessing import file_to_df\n"+
				"df = file_to_df(sys.stdin, skip_lines=1)\nprint(len(df), df['gpu-0[C]'].tolist(), df['cpu-0[W]'].tolist())")
			cmd.Stdin = strings.NewReader(whole)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != "4 [40.0, 41.5, inf, 43.0] [2.5, inf, inf, nan]\n" {
				t.Errorf("%v: %s", err, out)
			}
		}
		// However the rows come in pieces, the file is the same.
		for cut := range len(rows) {
			e := test.e()
			text := e.header() + string(e.rows(nil, slices.Clone(rows[:cut]), false))
			text += string(e.rows(nil, nil, false)) + string(e.rows(nil, slices.Clone(rows[cut:]), false)) + string(e.rows(nil, nil, true))
			if text != whole {
				t.Errorf("%s: flushed after %d rows:\n%s", test.name, cut, text)
			}
		}
	}
}

// The names of WattAMeter's files, as its command line makes them.
func TestWattameterNames(t *testing.T) {
	rapl, nvml := reader{columns: []column{{metric: "rapl"}}}, reader{columns: []column{{metric: "nvml-power"}}}
	for _, test := range []struct {
		suffix string
		specs  []time.Duration
		want   string
	}{
		{"", []time.Duration{100 * time.Millisecond}, "wattameter.log nvml_01_wattameter.log rapl_01_wattameter.log"},
		{"n1", []time.Duration{time.Second}, "wattameter_n1.log nvml_10_wattameter_n1.log rapl_10_wattameter_n1.log"},
		{"", []time.Duration{time.Millisecond, time.Millisecond}, "wattameter.log nvml_0001_wattameter.log rapl_0001_wattameter.log nvml_0001_1_wattameter.log rapl_0001_1_wattameter.log"},
		{"", []time.Duration{2500 * time.Millisecond}, "wattameter.log nvml_25_wattameter.log rapl_25_wattameter.log"},
	} {
		c := Config{Suffix: test.suffix}
		taken := wattameterLayout.extra(c)
		for _, every := range test.specs {
			for _, group := range wattameterLayout.group([]reader{nvml, rapl, nvml}) {
				taken = append(taken, wattameterLayout.name(c, Tracker{Every: every}, &stream{readers: group}, taken))
			}
		}
		if got := strings.Join(taken, " "); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	// Only the file's own name counts, not the folder's, nor the suffix.
	taken := []string{"/home/u/rapl_01_runs/wattameter_rapl_01.log"}
	if got := wattameterLayout.name(Config{Suffix: "rapl_01"}, Tracker{Every: 100 * time.Millisecond}, &stream{readers: []reader{rapl}}, taken); got != "rapl_01_wattameter_rapl_01.log" {
		t.Error(got)
	}
}

// An energy that is no counter's says so in its column.
func TestWattameterKinds(t *testing.T) {
	var got []string
	for _, c := range wattameterColumns([]column{
		{id: "package-0", energy: true, method: nemb.Measured, metric: "rapl"}, {id: "dram-0", energy: true, method: nemb.Derived, metric: "hwmon"},
		{id: "machine", energy: true, method: nemb.Estimated, metric: "estimate"}, {id: "machine", energy: true, method: nemb.Estimated, metric: "estimate"},
	}) {
		got = append(got, c.tag, c.derived)
	}
	if want := "cpu-0[uJ] cpu-0[W] cpu-0-dram-derived[uJ] cpu-0-dram-derived[W] machine-estimated[uJ] machine-estimated[W] machine-r1-estimated[uJ] machine-r1-estimated[W]"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

// Domains have the names that WattAMeter gives them, with the package's number.
func TestWattameterDomains(t *testing.T) {
	var got []string
	for _, c := range wattameterColumns([]column{
		{id: "package-1", energy: true, metric: "rapl"}, {id: "core", energy: true, metric: "rapl"}, {id: "dram-0", energy: true, metric: "rapl"},
		{id: "gpu0", energy: true, metric: "nvml-energy"}, {id: "gpu12", name: "gpu12_temperature_c", metric: "nvml-temp"},
		{id: "gpu-amd-3", energy: true, method: nemb.Measured, metric: "amdsmi-energy"}, {id: "gpu-amd-3", name: "gpu-amd-3_power_w", metric: "amdsmi-power"},
		{id: "gpu-amd-3", name: "gpu-amd-3_temperature_c", metric: "amdsmi-temp"}, {id: "gpu-amd-3", name: "gpu-amd-3_gpu_percent", metric: "amdsmi-util"},
		{id: "gpu-amd-3", name: "gpu-amd-3_memory_percent", metric: "amdsmi-util"},
	}) {
		got = append(got, c.tag)
	}
	if want := "cpu-1[uJ] cpu-1-core[uJ] cpu-0-dram[uJ] gpu-0[mJ] gpu-12[C] gpu-3[uJ] gpu-3[W] gpu-3[C] gpu-3[%gpu] gpu-3[%mem]"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", strings.Join(got, " "), want)
	}
}

// record runs a session until more says no, and returns what was warned of.
func record(t *testing.T, c Config, more func() bool) ([]Summary, []string) {
	t.Helper()
	var mu sync.Mutex
	var warned []string
	c.Log = func(level slog.Level, text string) {
		mu.Lock()
		if level >= slog.LevelWarn {
			warned = append(warned, text)
		}
		mu.Unlock()
	}
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	for more() {
		time.Sleep(5 * time.Millisecond)
	}
	summaries, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return summaries, warned
}

func lines(path string) int {
	b, _ := os.ReadFile(path)
	return strings.Count(string(b), "\n")
}

func table(t *testing.T, path string) (names []string, rows [][]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all[0], all[1:]
}

// gpus compiles a driver of GPUs that do not exist. Without a C compiler the test
// is skipped, but in CI.
func gpus(t *testing.T, dir, conf string) (path string) {
	t.Helper()
	path, err := simulate.NVML(dir, conf)
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A GPU that is lost leaves empty cells, never a number; the other goes on; the
// rows keep coming, each interval has one or is counted as missed.
func TestLostGPU(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	path := gpus(t, filepath.Join(root.Dir, "lib"), "gpus 2\n")
	dir := t.TempDir()
	file := filepath.Join(dir, "cg_2ms.csv")
	var spec Tracker
	var err error
	if spec, err = Parse("0.002,nvml-energy,nvml-power"); err != nil {
		t.Fatal(err)
	}
	lost := false
	summaries, warned := record(t, Config{Root: root, Trackers: []Tracker{spec}, Layout: CSV, Dir: dir, Rows: 10, Flush: time.Second}, func() bool {
		n := lines(file)
		if n > 30 && !lost {
			lost = true
			if err := simulate.NVMLConf(path, "gpus 2\nfail 1 energy 15\nfail 1 instant 15\n"); err != nil {
				t.Fatal(err)
			}
		}
		return n < 100
	})
	names, rows := table(t, file)
	at := func(name string) int { return slices.Index(names, name) }
	gone, energy := at("gpu1_j"), at("gpu0_j")
	if gone < 0 || energy < 0 || at("gpu1_power_w") < 0 {
		t.Fatal(names)
	}
	empty := 0
	for i, r := range rows {
		if r[gone] == "" {
			empty++
		} else if empty > 0 || r[gone] == "0" {
			t.Errorf("row %d: a lost GPU reads %s J", i, r[gone])
		}
		if r[energy] == "" || r[energy] == "0" {
			t.Errorf("row %d: %q J", i, r[energy])
		}
	}
	s := summaries[0]
	told := slices.ContainsFunc(warned, func(w string) bool { return strings.Contains(w, "gpu1: total energy: the GPU is lost") })
	if empty == 0 || !told || len(s.Failed) < 2 {
		t.Errorf("%d empty, %q, %q", empty, warned, s.Failed)
	}
	if s.Rows != len(rows) {
		t.Errorf("%d rows, the summary says %d", len(rows), s.Rows)
	}
	// Deadlines are kept or missed, and all lie on one grid.
	if want := float64(s.Rows - 2 + s.Missed); math.Abs(float64(s.Elapsed-s.Drift)/float64(2*time.Millisecond)-want) > 0.01 {
		t.Errorf("%v less %v of drift are not %v intervals", s.Elapsed, s.Drift, want)
	}
}

// A simulated package of 50 W whose counter starts over after 10 J.
func TestWrap(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	tree, err := simulate.Mount(root.Dir, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: simulate.Counter{Power: simulate.Constant(50), Range: 262143328850, Start: 262143328850 - 10e6},
			Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "core", Counter: simulate.Counter{Power: simulate.Constant(20)}}}},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	dir := t.TempDir()
	spec := Tracker{Every: 10 * time.Millisecond, Metrics: []string{"rapl"}}
	file := filepath.Join(dir, "rapl_001_wattameter.log")
	record(t, Config{Root: root, Trackers: []Tracker{spec}, Layout: WattAMeter, Dir: dir, ID: "job1", Rows: 7, Flush: time.Second}, func() bool { return lines(file) < 80 })
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Split(strings.TrimSpace(string(b)), "\n")
	if !strings.HasSuffix(text[1], " reading-time[ns] cpu-0[uJ] cpu-0-core[uJ] cpu-0[W] cpu-0-core[W]") {
		t.Fatal(text[1])
	}
	var first, last []string
	for i, line := range text[2:] {
		last = strings.Fields(line)
		if first == nil {
			first = last
		}
		if want := 6; i < len(text)-3 && len(last) != want {
			t.Errorf("row %d has no power: %s", i, line)
		}
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	elapsed := func(s string) time.Time {
		at, err := time.Parse("2006-01-02_15:04:05.000000", s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	seconds := elapsed(last[0]).Sub(elapsed(first[0])).Seconds()
	for i, want := range []float64{50, 20} {
		got := (number(last[2+i]) - number(first[2+i])) * 1e-6 / seconds
		if math.Abs(got-want) > 0.05*want {
			t.Errorf("column %d: %.2f W, want %.0f W", i, got, want)
		}
	}
	data := text
	if python := os.Getenv("CG_WATTAMETER_PYTHON"); python != "" {
		readByWattAMeter(t, python, file, len(data)-2)
	}
}

// readByWattAMeter has WattAMeter's own reader read a log: an interpreter that
// has the packages wattameter, pandas and nvidia-ml-py is in CG_WATTAMETER_PYTHON.
func readByWattAMeter(t *testing.T, python, file string, rows int) {
	t.Helper()
	out, err := exec.Command(python, "-c", `
import json, sys
from wattameter.utils.postprocessing import file_to_df
df = file_to_df(open(sys.argv[1]), skip_lines=1)
print(json.dumps({"rows": len(df), "columns": list(df.columns), "power": float(df["cpu-0[W]"].iloc[:-1].median()),
    "unknown": int(df.iloc[:-1].isna().sum().sum())}))`, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Rows, Unknown int
		Columns       []string
		Power         float64
	}
	text := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(text[len(text)-1]), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"reading-time[ns]", "cpu-0[uJ]", "cpu-0-core[uJ]", "cpu-0[W]", "cpu-0-core[W]"}
	if got.Rows != rows || got.Unknown != 0 || !slices.Equal(got.Columns, want) || math.Abs(got.Power-50) > 10 {
		t.Errorf("%+v, want %d rows", got, rows)
	}
}

// WattAMeter itself, on the same GPUs: the same files, and the same line of
// names in each but for the space in those of NVLink.
func TestAgainstWattAMeter(t *testing.T) {
	python := os.Getenv("CG_WATTAMETER_PYTHON")
	if python == "" {
		t.Skip("CG_WATTAMETER_PYTHON names no interpreter with wattameter, pandas and nvidia-ml-py")
	}
	root := nemb.Root{Dir: t.TempDir()}
	lib := filepath.Join(root.Dir, "lib")
	gpus(t, lib, "gpus 2\n")
	theirs, ours := t.TempDir(), t.TempDir()
	specs := []string{"0.05,nvml-power,nvml-temp,nvml-energy", "0.05,nvml-util", "1,nvml-nvlink"}
	args := []string{"-c", "from wattameter.cli.main import main; main()", "-i", "job7", "-s", "n1", "-o", theirs}
	c := Config{Root: root, Layout: WattAMeter, Dir: ours, ID: "job7", Suffix: "n1", Rows: 10, Flush: time.Second}
	for _, spec := range specs {
		args = append(args, "--tracker", spec)
		parsed, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		c.Trackers = append(c.Trackers, parsed)
	}
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); lines(filepath.Join(theirs, "nvml_10_wattameter_n1.log")) < 2; {
		if time.Sleep(50 * time.Millisecond); time.Since(begin) > time.Minute {
			t.Fatal("WattAMeter wrote nothing")
		}
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	n := 3
	record(t, c, func() bool { n--; return n > 0 })
	names := func(dir string) (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Split(string(b), "\n")
			all = append(all, e.Name()+": "+text[0][len("# 2026-11-21_15:56:13.685739"):])
			if len(text) > 1 {
				all = append(all, strings.NewReplacer("TX KiB", "TXKiB", "RX KiB", "RXKiB").Replace(text[1]))
			}
		}
		return all
	}
	if got, want := names(ours), names(theirs); !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// Nothing to read, a file that is there, one with other columns.
func TestStartRefuses(t *testing.T) {
	empty := nemb.Root{Dir: t.TempDir()}
	dir := t.TempDir()
	c := Config{Root: empty, Layout: CSV, Dir: dir, Rows: 1, Flush: time.Second, Log: func(slog.Level, string) {}}
	start := func(spec string) error {
		parsed, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		c.Trackers = append([]Tracker{{Every: time.Second, Metrics: []string{"estimate"}}}, parsed)
		s, err := Start(c)
		if err == nil {
			_, err = s.Stop()
		}
		return err
	}
	if err := start("1,rapl,nvml-temp,hwmon"); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := start("1,estimate"); err != nil {
		t.Error(err)
	}
	if err := start("1,estimate"); err == nil || !strings.Contains(err.Error(), "cg_1s.csv is there already") {
		t.Error(err)
	}
	os.WriteFile(filepath.Join(dir, "cg_1s.csv"), []byte("a,b\n"), 0o644)
	c.Append = true
	if err := start("1,estimate"); err == nil || !strings.Contains(err.Error(), "cg_1s.csv: has other columns") {
		t.Error(err)
	}
	c.Dir = filepath.Join(dir, "nosuch")
	if err := start("1,estimate"); err == nil || !strings.Contains(err.Error(), "cannot be written: no such file or directory") {
		t.Error(err)
	}
}

// Temperatures and powers of chips, one of them below zero.
func TestHwmon(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	for name, text := range map[string]string{
		"hwmon0/name": "coretemp\n", "hwmon0/temp1_input": "45000\n", "hwmon0/temp2_input": "-1500\n", "hwmon0/temp1_label": "x\n",
		"hwmon1/name": "power_meter\n", "hwmon1/power1_average": "123000000\n", "hwmon2/name": "coretemp\n", "hwmon2/temp1_input": "50000\n",
		"hwmon3/name": "broken\n", "hwmon3/temp1_input": "hot\n",
	} {
		path := root.Sys("class/hwmon", name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := nemb.OpenMetric(root, "hwmon")
	if err == nil || !strings.Contains(err.Error(), `hwmon3/temp1_input: reads "hot\n"`) || g == nil {
		t.Fatal(g, err)
	}
	defer g.Close()
	values := make([]float64, len(g.Columns()))
	if err := g.Read(values); err != nil {
		t.Error(err)
	}
	var got []string
	for i, c := range g.Columns() {
		got = append(got, fmt.Sprintf("%s_%s %g %s", c.Scope, c.Name, values[i], c.Unit))
	}
	want := "coretemp-0_temp1_c 45 C, coretemp-0_temp2_c -1.5 C, power_meter-0_power1_average_w 123 W, coretemp-1_temp1_c 50 C"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	if h.at(0.5) != 0 {
		t.Error("of nothing")
	}
	for i := range int64(1000) {
		h.add(1000 * (i + 1))
	}
	h.add(-5)
	h.add(math.MaxInt64)
	for part, want := range map[float64]time.Duration{0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond} {
		if got := h.at(part); math.Abs(float64(got-want)) > 0.06*float64(want) {
			t.Errorf("%g: %v, want %v", part, got, want)
		}
	}
}

// The bounds of a median: the extremes of a few, order statistics of many.
func TestChange(t *testing.T) {
	for _, test := range []struct {
		n      int
		lo, hi float64
	}{{1, 0, 0}, {5, 0, 4}, {6, 0, 5}, {10, 1, 8}, {20, 5, 14}, {30, 9, 20}} {
		var values []float64
		for i := range test.n {
			values = append(values, float64(test.n-1-i))
		}
		if got := change(values); got.Lo != test.lo || got.Hi != test.hi || got.Median != float64(test.n-1)/2 {
			t.Errorf("%d: %+v", test.n, got)
		}
	}
}

func TestUpdates(t *testing.T) {
	root := nemb.Root{Dir: t.TempDir()}
	gpus(t, filepath.Join(root.Dir, "lib"), "")
	updates, err := Updates(root, []string{"nvml-energy", "nvml-temp", "rapl"}, 8, 400*time.Millisecond, func(string) {})
	if err != nil || len(updates) != 2 {
		t.Fatal(updates, err)
	}
	// The counter steps every 20 ms, the temperature never changes.
	if u := updates[0]; u.Seen < 3 || u.Median < 15*time.Millisecond || u.Median > 40*time.Millisecond && u.Min > 21*time.Millisecond {
		t.Errorf("%+v", u)
	}
	if u := updates[1]; u.Seen != 0 || u.Median != 0 || u.Reads < 10 {
		t.Errorf("%+v", u)
	}
	if _, err := Updates(nemb.Root{Dir: t.TempDir()}, []string{"rapl"}, 1, time.Second, func(string) {}); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	dir := t.TempDir()
	c := Config{Trackers: []Tracker{{Every: 10 * time.Millisecond, Metrics: []string{"estimate"}}}, Layout: JSONLines, Dir: dir, Rows: 100, Flush: time.Second, Append: true, Log: func(slog.Level, string) {}}
	s, err := Compare(c, []string{"true"}, 3)
	if err != nil || s.Pairs != 3 || s.Wall.Lo > s.Wall.Median || s.Wall.Median > s.Wall.Hi {
		t.Errorf("%+v, %v", s, err)
	}
	if n := lines(filepath.Join(dir, "cg_10ms.jsonl")); n < 6 { // a header and a row for each of three
		t.Errorf("%d lines", n)
	}
	if _, err := Compare(c, []string{"false"}, 1); err == nil || !strings.Contains(err.Error(), "false: exit status 1") {
		t.Error(err)
	}
}
