package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cg/long"
	"cg/nemb"
	"cg/report"
)

// largeRun is a run of n functions whose figures agree: a call path of each, a test
// for ten of them, and as many samples as a run keeps.
func largeRun(n int) *report.Run {
	r := &report.Run{Tasks: []report.Task{}, Skipped: []report.Skip{}, Warnings: []report.Warning{}}
	m := &r.Meta
	m.SchemaVersion, m.Tool, m.CgVersion, m.RunID, m.Hostname = report.SchemaVersion, "cg", "test", "large", "host"
	m.Language, m.Granularity, m.Argv, m.CgEnv = "java", "fine", []string{"cg", "measure"}, map[string]string{}
	m.DomainTopology = map[string]report.Topology{}
	ids := []string{"package-0", "dram"}
	for _, id := range ids {
		place := report.Topology{}
		place.TopLevel, place.Includes = true, []string{}
		m.DomainTopology[id] = place
	}
	joules := func(j report.Joules) *report.Joules { return &j }
	split := func(j report.Joules) map[string]report.Joules {
		return map[string]report.Joules{ids[0]: j - j/5, ids[1]: j / 5}
	}
	first := report.Path{Parent: -1, Calls: 1, SelfEnergyJ: joules(1000), SelfTimeS: 1e-3, Domains: split(1000)}
	r.Paths = append(r.Paths, first)
	for i := range n {
		j := report.Joules(1000 + i*31%7919)
		r.Paths = append(r.Paths, report.Path{Parent: max(0, (i-1)/4), Site: uint32(i + 1), Calls: uint64(i%97 + 1),
			SelfEnergyJ: joules(j), SelfTimeS: float64(j) * 1.1e-6, CPUTimeS: float64(j) * 1e-6, Domains: split(j)})
	}
	return largeParts(r, n, split)
}

// largeParts adds what follows from the call paths.
func largeParts(r *report.Run, n int, split func(report.Joules) map[string]report.Joules) *report.Run {
	under := make([]report.Joules, len(r.Paths))
	domains, inside := map[string]report.Joules{}, report.Joules(0)
	for i := len(r.Paths) - 1; i >= 0; i-- {
		p := r.Paths[i]
		under[i] += *p.SelfEnergyJ
		if i > 0 {
			under[p.Parent] += under[i]
			inside += *p.SelfEnergyJ
		}
		for id, e := range p.Domains {
			domains[id] += e
		}
	}
	total := under[0]
	for i := range n {
		p := r.Paths[i+1]
		name := fmt.Sprintf("com.example.package%d.Class%d.method%d", i%400, i%9000, i)
		file := fmt.Sprintf("/home/user/project/src/main/java/com/example/package%d/Class%d.java", i%400, i%9000)
		r.Sites = append(r.Sites, report.Site{ID: uint32(i + 1), Name: name, File: file, Line: i, EndLine: i + 9,
			Kind: "method", Language: "java", TextID: "0123456789abcdef", Calls: p.Calls})
		self, whole, share := *p.SelfEnergyJ, under[i+1], 100*p.SelfEnergyJ.Float()/total.Float()
		power := self.Float() / p.SelfTimeS
		r.Functions = append(r.Functions, report.Function{Name: name, File: file, Line: i, Language: "java", Kind: "method",
			Calls: p.Calls, SelfEnergyJ: &self, SelfEnergyLoJ: &self, SelfEnergyHiJ: &self, InclusiveEnergyJ: &whole,
			InclusiveEnergyLoJ: &whole, InclusiveEnergyHiJ: &whole, EnergyKind: nemb.Measured, EnergyMethod: "time-share",
			EnergySource: "powercap", SelfTimeS: p.SelfTimeS, InclusiveTimeS: p.SelfTimeS, CPUTimeS: p.CPUTimeS,
			AvgPowerW: &power, SharePercent: &share, Domains: p.Domains})
	}
	r.Process.PIDsLeft, r.Sampler.Counters = []int{}, []report.Counter{}
	t := &r.Totals
	t.EnergyJ, t.LoJ, t.HiJ, t.Kind, t.Method, t.Source = &total, &total, &total, nemb.Measured, "counter", "powercap"
	t.ProgramEnergyJ, t.ProgramEnergyLoJ, t.ProgramEnergyHiJ = &total, &total, &total
	t.DurationS, t.WallDurationS, t.Domains, t.DomainsPowerW = 4, 4, domains, map[string]float64{}
	program := report.Task{Name: "large", DurationS: 4, EndedAtMonoNs: 4e9}
	program.Domains, program.DomainsPowerW = map[string]report.Joules{}, map[string]float64{}
	program.Kind = nemb.Unavailable
	r.Tasks = append(r.Tasks, program)
	for i := range n / 10 {
		test := program
		test.Name, test.Depth, test.Parent = r.Functions[i].Name+"Test", 1, &r.Tasks[0].Name
		r.Tasks = append(r.Tasks, test)
	}
	t.NTasks, t.NTopLevelTasks, t.NoiseWarnings = len(r.Tasks), 1, []report.NoiseWarning{}
	functions, rest := split(inside), split(*r.Paths[0].SelfEnergyJ)
	for id := range functions {
		functions[id] = domains[id] - rest[id]
	}
	share := 100 * inside.Float() / total.Float()
	r.Ledger = []report.Line{
		{Name: report.LineFunctions, EnergyJ: inside, SharePercent: share, Domains: functions},
		{Name: report.LineUninstrumented, EnergyJ: total - inside, SharePercent: 100 - share, Domains: rest},
	}
	for i := range report.MaxSamples {
		part := func(j report.Joules) report.Joules { return j * report.Joules(i) / (report.MaxSamples - 1) }
		s := report.Sample{TNs: int64(i) * 4e9 / (report.MaxSamples - 1)}
		s.DomainJ, s.DomainW = map[string]report.Joules{}, map[string]float64{}
		sum := report.Joules(0)
		for id, e := range domains {
			s.DomainJ[id] = part(e)
			sum += part(e)
		}
		s.EnergyJ = &sum
		r.Samples = append(r.Samples, s)
	}
	return r
}

// makeLarge saves a run of about so many bytes, in a process of its own: the size
// of a process that starts another one counts as that one's until it runs.
func makeLarge(name, size string) int {
	want, err := strconv.Atoi(size)
	if err != nil {
		panic(err)
	}
	for n := 1000; ; {
		b, err := largeRun(n).JSON()
		if err != nil {
			panic(err)
		}
		if n > 1000 {
			if err := os.WriteFile(name, b, 0o666); err != nil {
				panic(err)
			}
			return 0
		}
		few, err := largeRun(n / 2).JSON()
		if err != nil {
			panic(err)
		}
		each := (len(b) - len(few)) / (n / 2)
		n = max(n+1, n+(want-len(b))/each)
	}
}

// makeLargeSession saves a session of about so many bytes, nearly all of them
// samples.
func makeLargeSession(name, size string) int {
	want, err := strconv.Atoi(size)
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	b.WriteString(`{"meta": {"schema_version": "1", "tool": "codegreen.Session"}, "tasks": [`)
	tasks, t := 0, int64(0)
	for ; b.Len() < want || tasks == 0; tasks++ {
		begin := t
		if tasks > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"name": "task %d", "depth": 0, "parent": null, "energy_j": null, "energy_kind": "unavailable", `+
			`"timeseries": [`, tasks)
		for i := range 1000 {
			if i > 0 {
				b.WriteString(",")
			}
			t += 1e6
			fmt.Fprintf(&b, `{"t_ns": %d, "energy_j": %d.25, "power_w": 20.5, "domain_j": {"package-0": %d.2, "dram": 0.05}, `+
				`"domain_w": {"package-0": 18.2, "dram": 2.3}}`, t, t/1e6, t/1e6)
		}
		fmt.Fprintf(&b, `], "duration_s": 1, "started_at_mono_ns": %d, "ended_at_mono_ns": %d, "noise": null}`, begin, t)
	}
	fmt.Fprintf(&b, `], "totals": {"energy_j": null, "energy_kind": "unavailable", "task_duration_s": %d, "duration_s": %d,
"wall_duration_s": %d, "gap_duration_s": 0, "n_tasks": %d, "n_top_level_tasks": %d, "noise_warnings": []},
"warnings": []}`,
		tasks, tasks, tasks, tasks, tasks)
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		panic(err)
	}
	return 0
}

// large saves a run or a session of about so many bytes.
func large(tb testing.TB, what string, size int) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	name := filepath.Join(tb.TempDir(), "large.json")
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CG_MAKE_LARGE="+what, "CG_MAKE_LARGE_FILE="+name,
		"CG_MAKE_LARGE_SIZE="+strconv.Itoa(size))
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return name
}

// used is what a run of cg takes: the most memory that it has at a time, and
// processor time.
func used(tb testing.TB, args ...string) (memory int64, processor time.Duration, out string) {
	tb.Helper()
	cmd := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), args...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("cg %s: %v\n%s", strings.Join(args, " "), err, text[:min(len(text), 2000)])
	}
	state := cmd.ProcessState
	return state.SysUsage().(*syscall.Rusage).Maxrss << 10, state.UserTime() + state.SystemTime(), string(text)
}

// What reading a saved run takes, as a multiple of its size.
//
//	go test ./e2e -run xxx -bench SavedRun -benchtime 1x
func BenchmarkSavedRun(b *testing.B) {
	const size = 250e6
	name := large(b, "run", size)
	info, err := os.Stat(name)
	if err != nil {
		b.Fatal(err)
	}
	for _, args := range [][]string{{"report", name}, {"verify", name}} {
		b.Run(args[0], func(b *testing.B) {
			var most int64
			var processor time.Duration
			for b.Loop() {
				memory, took, _ := used(b, args...)
				most, processor = max(most, memory), took
			}
			b.ReportMetric(processor.Seconds(), "CPU-s")
			b.ReportMetric(float64(info.Size())/1e6, "MB-file")
			b.ReportMetric(float64(most)/1e6, "MB-memory")
			b.ReportMetric(float64(most)/float64(info.Size()), "times")
		})
	}
}

// A saved run is read in less memory than twice its size, whatever else cg needs. What the program allocates while its
// garbage is collected depends on what else the machine does, so it stands still meanwhile. It collects as often as cg
// does for files that are larger.
func TestSavedRunMemory(t *testing.T) {
	t.Setenv("GODEBUG", "gcstoptheworld=1")
	t.Setenv("GOMAXPROCS", "1")
	t.Setenv("GOGC", "30")
	size := 1_000_000 * long.Rounds(t, 15, 40)
	for _, what := range []string{"run", "session"} {
		t.Run(what, func(t *testing.T) { savedMemory(t, large(t, what, size), large(t, what, 1)) })
	}
}

func savedMemory(t *testing.T, name, small string) {
	for _, command := range []string{"report", "verify"} {
		if command == "verify" && strings.Contains(t.Name(), "session") {
			continue // its figures are made up
		}
		least, _, _ := used(t, command, small)
		memory, _, out := used(t, command, name)
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.1f MB for a file of %.1f MB, %.1f MB for a small one",
			command, float64(memory)/1e6, float64(info.Size())/1e6, float64(least)/1e6)
		if memory-least > 2*info.Size() {
			t.Errorf("%s: %d bytes more than for a small file, which is over 2 times %d", command, memory-least, info.Size())
		}
		if want := map[string]string{"report": "and ", "verify": "everything agrees"}[command]; !strings.Contains(out, want) {
			t.Errorf("%s: no %q in %.2000s", command, want, out)
		}
	}
}
