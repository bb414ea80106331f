package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cg/nemb"
	"cg/ranks"
	"cg/report"
	"cg/report/compare"
	"cg/report/reporttest"
	"cg/report/saved"
)

// example is the folder of a job of six ranks on two nodes: rank 4 was killed, and rank 5
// never came.
func example(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if err := reporttest.GenerateRanks(dir, reporttest.Job{Ranks: 6, PerNode: 3, Functions: 4, Killed: 4, Absent: 5}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func merge(t testing.TB, dir string) *Run {
	t.Helper()
	d, err := Merge(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// What is merged is the same each time, keeps the law, fits its schema, and is read back as
// it was.
func TestMerge(t *testing.T) {
	dir := example(t)
	d := merge(t, dir)
	if faults := d.Check(); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	b, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(bytes.NewReader(b)); err != nil {
		t.Error(err)
	}
	reporttest.Golden(t, filepath.Join("..", "reporttest", "testdata", "cluster.json"), b)
	for range 3 {
		if again, err := merge(t, dir).JSON(); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("merged once more, it differs: %v", err)
		}
	}
	if !IsSaved(bytes.NewReader(b)) || IsSaved(strings.NewReader(`{"meta": {"tool": "cg"}}`)) || IsSaved(strings.NewReader("x")) {
		t.Error("what is saved is known by its tool")
	}
	saved, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if faults := saved.Check(); len(faults) > 0 {
		t.Errorf("saved: %q", faults)
	}
	if again, err := saved.JSON(); err != nil || !bytes.Equal(again, b) {
		t.Errorf("read and written, it differs: %v", err)
	}
	if _, err := report.Read(b); err == nil || !strings.Contains(err.Error(), "it is a run of many ranks") {
		t.Error(err)
	}
}

// The energies of the nodes, of the ranks and of the functions are those of the counters, to
// the microjoule.
func TestEnergies(t *testing.T) {
	dir := example(t)
	d := merge(t, dir)
	f, err := ranks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var counted, shared uint64
	for n, err := range f.Nodes() {
		if err != nil {
			t.Fatal(err)
		}
		counted += n.Domains[0].TotalUj
		shared += n.Domains[0].RanksUj
	}
	if uint64(*d.Totals.EnergyJ) != counted || uint64(*d.Totals.RanksEnergyJ) != shared {
		t.Errorf("%v and %v, want %v and %v", *d.Totals.EnergyJ, *d.Totals.RanksEnergyJ, counted, shared)
	}
	var self report.Joules
	for _, g := range d.Functions {
		self += *g.SelfEnergyJ
	}
	at := slices.IndexFunc(d.Ledger, func(l Line) bool { return l.Name == report.LineFunctions })
	if d.Ledger[at].EnergyJ != self {
		t.Errorf("functions have %d uJ, and the ledger %d", self, d.Ledger[at].EnergyJ)
	}
	if d.Totals.Reports != 4 || len(d.Ranks) != 5 || len(d.Nodes) != 2 || d.Meta.Size != 6 {
		t.Errorf("%d reports, %d ranks, %d nodes, size %d", d.Totals.Reports, len(d.Ranks), len(d.Nodes), d.Meta.Size)
	}
	if e := *d.Totals.MPIEnergyJ + *d.Totals.ComputingEnergyJ; e != *d.Totals.RanksEnergyJ {
		t.Errorf("MPI and computing are %d uJ", e)
	}
}

// Seen as one run, the energies of its program, machine and functions are those of the
// ranks, the nodes and the functions over ranks, and two such runs can be compared.
func TestFunctional(t *testing.T) {
	d := merge(t, example(t))
	r := d.Functional()
	if r.Totals.ProgramEnergyJ != d.Totals.RanksEnergyJ || r.Totals.EnergyJ != d.Totals.EnergyJ || !r.Whole() ||
		len(r.Functions) != len(d.Functions) || r.Totals.Domains["package-0"] != *d.Totals.EnergyJ {
		t.Errorf("%+v", r.Totals)
	}
	if lo, hi := *r.Totals.ProgramEnergyLoJ, *r.Totals.ProgramEnergyHiJ; lo >= *d.Totals.RanksEnergyJ ||
		hi <= *d.Totals.RanksEnergyJ {
		t.Errorf("bounds %d to %d of %d uJ", lo, hi, *d.Totals.RanksEnergyJ)
	}
	dir := filepath.Join(t.TempDir(), "more")
	if err := reporttest.GenerateRanks(dir, reporttest.Job{Ranks: 6, PerNode: 3, Functions: 8, Killed: 4, Absent: 5}); err != nil {
		t.Fatal(err)
	}
	head := merge(t, dir)
	head.Meta.RunID = "other"
	side := func(name string, d *Run) compare.Side {
		return compare.Side{Names: []string{name}, Saved: []saved.Document{{Run: d.Functional()}}}
	}
	c, err := compare.Compare(side("a", d), side("b", head), compare.Options{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	if c.Verdict != compare.Higher || *c.Totals[0].Change != 0.8 || len(c.Functions) != 4 || len(c.OnlyInHead) != 4 {
		t.Errorf("%s, %+v, %d functions, %d only in head", c.Verdict, c.Totals[0], len(c.Functions), len(c.OnlyInHead))
	}
}

// Clocks are bounded by exchanges with the reference, by what kernels know of UTC, or not at
// all; and the time that a run took does not have the difference of two clocks in it.
func TestClocks(t *testing.T) {
	const hour = int64(time.Hour)
	offset := func(reference, method string, lo, hi int64) []ranks.Offset {
		return []ranks.Offset{{Reference: reference, Method: method, LoNs: &lo, HiNs: &hi}}
	}
	utc := func(bound int64) []ranks.Offset { return offset("UTC", ranks.ByNTP, -bound, bound) }
	nobody := []ranks.Offset{{Reference: "UTC", Method: ranks.ByNobody}}
	for _, c := range []struct {
		what    string
		offsets [3][]ranks.Offset // of n0, the reference, to n2, whose clock is an hour behind where it is exchanged
		bound   int64             // -1: none
		seconds float64
	}{
		{"exchanged", [3][]ranks.Offset{nil, offset("n0", ranks.ByPing, -40, 60), offset("n0", ranks.ByPing, hour-100, hour+100)},
			hour + 100 + 100, 10},
		{"exchanged, and the reference is synchronised", [3][]ranks.Offset{utc(5), offset("n0", ranks.ByPing, -40, 60),
			offset("n0", ranks.ByPing, hour-100, hour+100)}, hour + 100 + 100, 10},
		{"one by its kernel, the reference, too", [3][]ranks.Offset{utc(500), utc(70), offset("n0", ranks.ByPing,
			hour-100, hour+100)}, hour + 100 + 570, 10},
		{"one by its kernel, the reference not", [3][]ranks.Offset{nil, utc(70), offset("n0", ranks.ByPing,
			hour-100, hour+100)}, -1, 10},
		{"all by their kernels", [3][]ranks.Offset{utc(500), utc(70), utc(60)}, 570, 3610},
		{"one is not known", [3][]ranks.Offset{utc(500), utc(70), nobody}, -1, 10},
		{"the reference is not known", [3][]ranks.Offset{nil, utc(70), utc(60)}, -1, 10},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		f, err := ranks.Create(dir, "0.1.0", ranks.Identity{Size: 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range c.offsets {
			n := ranks.Node{Format: ranks.Version, CgVersion: "0.1.0", Node: fmt.Sprintf("n%d", i), Record: fmt.Sprintf("n%d-1", i),
				StartedUnixNs: 10 * hour, UpdatedUnixNs: 10*hour + int64(10*time.Second), EndedUnixNs: 11 * hour, Offsets: o}
			if i == 2 {
				n.StartedUnixNs, n.UpdatedUnixNs = n.StartedUnixNs-hour, n.UpdatedUnixNs-hour
			}
			if err := f.PutNode(n); err != nil {
				t.Fatal(err)
			}
		}
		d := merge(t, dir)
		switch bound := d.Meta.ClockBoundNs; {
		case c.bound < 0 && bound != nil, c.bound >= 0 && (bound == nil || *bound != c.bound):
			t.Errorf("%s: the clocks are %v apart at most, want %d", c.what, bound, c.bound)
		}
		unbounded := slices.ContainsFunc(d.Warnings, func(w report.Warning) bool { return w.Slug == "clocks-unbounded" })
		if unbounded != (c.bound < 0) || math.Abs(d.Totals.DurationS-c.seconds) > 1e-6 {
			t.Errorf("%s: said %v, and it took %g s, want %g", c.what, unbounded, d.Totals.DurationS, c.seconds)
		}
	}
}

// Imbalance is max / mean - 1 over ranks.
func TestImbalance(t *testing.T) {
	d := merge(t, example(t))
	for _, s := range d.Imbalance {
		if s.Of != "duration_s" {
			continue
		}
		sum, most, n := 0.0, 0.0, 0
		for _, r := range d.Ranks {
			if r.DurationS != nil {
				sum, most, n = sum+*r.DurationS, max(most, *r.DurationS), n+1
			}
		}
		if want := most/(sum/float64(n)) - 1; *s.Imbalance != want || s.Ranks != n {
			t.Errorf("%v of %d, want %v of %d", *s.Imbalance, s.Ranks, want, n)
		}
		return
	}
	t.Error("there is no imbalance of duration_s")
}

// What is missing has a name, and leaves the rest as it is.
func TestHoles(t *testing.T) {
	dir := example(t)
	if err := os.WriteFile(filepath.Join(dir, ranks.RunFile(1)), []byte(`{"meta": {`), 0o644); err != nil {
		t.Fatal(err)
	}
	d := merge(t, dir)
	if faults := d.Check(); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	all := ""
	for _, h := range d.Holes {
		all += h.Text + "\n"
	}
	for _, want := range []string{"rank 4 on n1 was killed", "rank 5 never came", "rank 1 on n0: its report cannot be read"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is no hole:\n%s", want, all)
		}
	}
	if d.Totals.Reports != 3 || !strings.Contains(d.Warnings[0].Message, "3 parts of the run are not known") {
		t.Errorf("%d reports, %v", d.Totals.Reports, d.Warnings)
	}
}

// Counters that two measurers of a machine sampled count once, whether the nodes have one
// name or two, and whether one of them began later or ended earlier.
func TestSeveralMeasurers(t *testing.T) {
	const second = int64(time.Second)
	// record is what a measurer saw from one second to another of a counter that draws 10 W: 6 for
	// its own rank, 1 for cg in all, 2 for others and 1 of idle power.
	record := func(node, boot string, rank int, from, to int64, source string) ranks.Node {
		span := uint64(to - from)
		n := ranks.Node{Format: ranks.Version, CgVersion: "0.1.0", Node: node, Record: fmt.Sprintf("%s-%d", node, rank),
			BootID: boot, CPUs: 2, StartedUnixNs: 1 + from*second, EndedUnixNs: 1 + to*second, UpdatedUnixNs: 1 + to*second,
			Measurers: []ranks.Measurer{{PID: 1}}, Domains: []ranks.Domain{{ID: "package-0", Source: source,
				Method: string(nemb.Measured), InTotal: true, Lo: 1, Hi: 1, TotalUj: 10e6 * span, RanksUj: 3e6 * span,
				OtherUj: 5e6 * span, IdleUj: 1e6 * span, CgUj: 1e6 * span}},
			Ranks: []ranks.Share{{Rank: rank, State: ranks.Settled, CPUNs: 5, ShareUj: []uint64{3e6 * span}}}}
		for at := from; at <= to; at++ {
			n.Samples = append(n.Samples, ranks.Sample{UnixNs: 1 + at*second, EnergyUj: []uint64{10e6 * uint64(at-from)}})
		}
		return n
	}
	for _, c := range []struct {
		what  string
		b     ranks.Node
		nodes int
		want  uint64 // joules
		once  bool
	}{
		{"one name", record("a", "boot", 1, 0, 10, "/sys/energy"), 1, 100, true},
		{"containers", record("b", "boot", 1, 0, 10, "/sys/energy"), 1, 100, true},
		{"within", record("b", "boot", 1, 2, 5, "/sys/energy"), 1, 100, true},
		{"longer", record("b", "boot", 1, 4, 12, "/sys/energy"), 1, 120, true},
		{"afterwards", record("b", "boot", 1, 10, 20, "/sys/energy"), 2, 200, false},
		{"another machine", record("b", "other", 1, 0, 10, "/sys/energy"), 2, 200, false},
		{"nobody knows the machine", record("b", "", 1, 0, 10, "/sys/energy"), 2, 200, false},
		{"other counters", record("b", "boot", 1, 0, 10, "/n1/sys/energy"), 2, 200, false},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		f, err := ranks.Create(dir, "0.1.0", ranks.Identity{Size: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range []ranks.Node{record("a", "boot", 0, 0, 10, "/sys/energy"), c.b} {
			if err := f.PutNode(n); err != nil {
				t.Fatal(err)
			}
			if err := f.PutRank(ranks.Rank{Format: ranks.Version, CgVersion: "0.1.0", Identity: ranks.Identity{Rank: i,
				Node: n.Node}, State: ranks.Ended, Record: n.Record, CPUNs: 5}); err != nil {
				t.Fatal(err)
			}
		}
		d := merge(t, dir)
		if faults := d.Check(); len(faults) > 0 {
			t.Errorf("%s: %q", c.what, faults)
		}
		warned := slices.ContainsFunc(d.Warnings, func(w report.Warning) bool { return w.Slug == SeveralMeasurers })
		if len(d.Nodes) != c.nodes || uint64(*d.Totals.EnergyJ) != c.want*1e6 || warned != c.once {
			t.Errorf("%s: %d nodes, %d uJ, said %v; want %d, %d J, %v", c.what, len(d.Nodes), *d.Totals.EnergyJ, warned,
				c.nodes, c.want, c.once)
		}
		for _, r := range d.Ranks {
			if r.EnergyJ == nil || *r.EnergyJ == 0 || c.once && r.Node != "a" {
				t.Errorf("%s: rank %d on %s has %v", c.what, r.Rank, r.Node, r.EnergyJ)
			}
		}
		for _, n := range d.Nodes {
			for _, s := range n.Samples {
				if s.PowerW != 10 {
					t.Errorf("%s: %s draws %g W", c.what, n.Name, s.PowerW)
				}
			}
		}
	}
}

// A rank's file that names another file as its report does not bring it in.
func TestReportElsewhere(t *testing.T) {
	dir := example(t)
	name := filepath.Join(dir, ranks.RankFile(1))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(b), `"`+ranks.RunFile(1)+`"`, `"../../`+ranks.RunFile(1)+`"`, 1)
	if changed == string(b) {
		t.Fatalf("no report is named:\n%s", b)
	}
	if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	d := merge(t, dir)
	if !slices.ContainsFunc(d.Holes, func(h Hole) bool {
		return strings.Contains(h.Text, "is not the report of rank 1")
	}) {
		t.Errorf("%+v", d.Holes)
	}
}

// Two versions of cg are refused, with both named.
func TestVersions(t *testing.T) {
	dir := example(t)
	name := filepath.Join(dir, ranks.RankFile(2))
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"cg_version":"0.1.0"`), []byte(`"cg_version":"0.2.0"`), 1)
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(dir, nil); err == nil || !strings.Contains(err.Error(), "0.2.0") || !strings.Contains(err.Error(), "0.1.0") {
		t.Error(err)
	}
	if _, err := Merge(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "no folder of ranks") {
		t.Error(err)
	}
}

// Whatever figure of a saved document is changed, Check names it.
func TestCheckNamesTheField(t *testing.T) {
	dir := example(t)
	for field, change := range map[string]func(*Run){
		"totals.energy_j":         func(d *Run) { *d.Totals.EnergyJ++ },
		"totals.ranks_energy_j":   func(d *Run) { *d.Totals.RanksEnergyJ++ },
		"totals.mpi_energy_j":     func(d *Run) { *d.Totals.MPIEnergyJ++ },
		"nodes[0] (n0).energy_j":  func(d *Run) { *d.Nodes[0].EnergyJ++ },
		"nodes[1] (n1).domains.p": func(d *Run) { d.Nodes[1].Domains[0].IdleJ++ },
		"functions (":             func(d *Run) { *d.Functions[0].SelfEnergyJ++ },
		"sha256":                  func(d *Run) { d.Meta.Job = "other" },
	} {
		d := merge(t, dir)
		if _, err := d.JSON(); err != nil {
			t.Fatal(err)
		}
		change(d)
		if faults := d.Check(); !slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, field) }) {
			t.Errorf("%s is changed and not named: %q", field, faults)
		}
	}
}

func TestSchema(t *testing.T) {
	b, err := json.MarshalIndent(Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, filepath.Join("..", "..", "docs", "cluster.schema.json"), append(b, '\n'))
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil || len(m["properties"].(map[string]any)) != reflect.TypeFor[Run]().NumField()-2 {
		t.Error(err, m["properties"])
	}
}

// The merge of many ranks: go test ./report/cluster -run xxx -bench Merge -benchtime 1x
func BenchmarkMerge(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "out")
	if err := reporttest.GenerateRanks(dir, reporttest.Job{Ranks: 10_000, PerNode: 100, Functions: 60}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		d, err := Merge(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		text, err := d.JSON()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(text))/(1<<20), "MiB-of-JSON")
	}
	b.StopTimer()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	if kib, err := strconv.Atoi(strings.Fields(text)[0]); err == nil {
		b.ReportMetric(float64(kib)/1024, "MiB-at-most")
	}
}
