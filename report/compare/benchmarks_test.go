package compare

import (
	"os"
	"strings"
	"testing"

	"cg/report/saved"
)

// benchmarksSide is a side of files that BenchmarkDotNet's JsonExporter.Full wrote, with a text replaced.
func benchmarksSide(t *testing.T, name string, replaced ...string) Side {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := saved.Read(strings.NewReader(strings.NewReplacer(replaced...).Replace(string(b))))
	if err != nil {
		t.Fatal(err)
	}
	return Side{Names: []string{name}, Saved: []saved.Document{d}}
}

func TestBenchmarksOfDotNet(t *testing.T) {
	base, head := benchmarksSide(t, "base-report-full.json"), benchmarksSide(t, "head-report-full.json")
	c, err := Compare(base, head, Options{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Change{}
	for _, change := range c.Totals[1:] {
		got[change.Name] = change
	}
	for name, want := range map[string]struct {
		verdict  Verdict
		from, to float64 // of the change
		base     float64 // s
	}{
		"Search.Linear (Size=1000)":   {NoneShown, -0.02, 0.02, 650e-9},
		"Search.Linear (Size=100000)": {Lower, -0.25, -0.15, 61e-6},
		"Search.Hashed (Size=1000)":   {Higher, 0.2, 0.28, 21e-9},
	} {
		change := got[name]
		if change.Verdict != want.verdict || change.Change == nil || *change.Change < want.from || *change.Change > want.to || change.Weak ||
			*change.Lo > *change.Change || *change.Hi < *change.Change || *change.Base.Value < 0.97*want.base || *change.Base.Value > 1.03*want.base {
			t.Errorf("%s: %+v, want %+v", name, change, want)
		}
	}
	if failed := got["Search.Hashed (Size=100000)"]; failed.Verdict != NotComparable || failed.Why != "it is not known of BASE" {
		t.Errorf("%+v", failed)
	}
	if len(c.Totals) != 5 || c.Totals[0].Verdict != NotComparable || !strings.HasPrefix(c.Totals[0].Why, "BenchmarkDotNet tells times, and no energy") {
		t.Errorf("%+v", c.Totals)
	}
	if c.Nothing() != "" || len(c.Worse) > 0 || !strings.Contains(c.Fault(), "the energy of the program cannot be compared: BenchmarkDotNet tells times") {
		t.Errorf("%q %q %q", c.Nothing(), c.Worse, c.Fault())
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"only in BASE: Search.Old", "only in HEAD: Search.New", "Search.Hashed (Size=100000) failed in BASE", "3 benchmarks are judged at once"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
	if c.Base.CPUModel != "AMD EPYC 7B13" || c.Base.Source != "BenchmarkDotNet 0.14.0" || c.Base.Command != "Shop.Benchmarks.Search-20261120-101500" {
		t.Errorf("%+v", c.Base)
	}

	other := benchmarksSide(t, "head-report-full.json", ".NET 8.0.11 (8.0.1124.51707)", ".NET 9.0.0")
	if _, err := Compare(base, other, Options{Threshold: 0.05}); err == nil || !strings.Contains(err.Error(), "runtimes: .NET 8.0.11 (8.0.1124.51707) and .NET 9.0.0") {
		t.Error(err)
	}
	if c, err := Compare(base, other, Options{Threshold: 0.05, Allow: true}); err != nil || len(c.Different) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	renamed := benchmarksSide(t, "head-report-full.json", `"Type": "Search"`, `"Type": "Found"`)
	if _, err := Compare(base, renamed, Options{}); err == nil || !strings.Contains(err.Error(), "have no benchmark in common") {
		t.Error(err)
	}
	if _, err := Compare(base, Side{Names: []string{"run.json"}, Saved: []saved.Document{{}}}, Options{}); err == nil ||
		err.Error() != "base-report-full.json is a report of BenchmarkDotNet, and run.json is not: compare two of a kind" {
		t.Error(err)
	}
}

func TestBenchmarksRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"Title": "x", "Benchmarks": []}`:                            "a report of BenchmarkDotNet without a benchmark",
		`{"Title": "x", "Benchmarks": [{"Method": "A"}]}`:             "in which none of 1 benchmarks has statistics",
		`{"Title": "x", "Benchmarks": [{"Statistics": {"OriginalV`:    "not a report of BenchmarkDotNet",
		`{"Title": "x", "HostEnvironmentInfo": {"ProcessorName": 3}}`: "not a report of BenchmarkDotNet",
		`{"Title": "x", "Benchmarks": [{"Statistics": "as a text"}]}`: "not a report of BenchmarkDotNet",
	} {
		if d, err := saved.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
	const old = `{"Title": "x", "HostEnvironmentInfo": {"ProcessorName": {"IsValueCreated": true, "Value": "i7"}},
		"Benchmarks": [{"FullName": "A.B", "DisplayInfo": "A.B: ShortRun", "Statistics": {"OriginalValues": [1, 2]}}]}`
	d, err := saved.Read(strings.NewReader(old))
	if err != nil || d.Benchmarks.Host.Processor != "i7" || d.Benchmarks.All[0].Name() != "A.B, ShortRun" || d.HasFunctions() {
		t.Errorf("%+v, %v", d.Benchmarks, err)
	}
}

// A report is not compared with a copy of itself, nor counted twice on a side.
func TestBenchmarksTwice(t *testing.T) {
	base, head := benchmarksSide(t, "base-report-full.json"), benchmarksSide(t, "head-report-full.json")
	twice := Side{Names: []string{"a", "b"}, Saved: []saved.Document{head.Saved[0], head.Saved[0]}}
	for want, sides := range map[string][2]Side{
		"base-report-full.json and base-report-full.json are the same run (Shop.Benchmarks.Search-20261120-101500)": {base, base},
		"a and b are the same run": {base, twice},
	} {
		if _, err := Compare(sides[0], sides[1], Options{Threshold: 0.05}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}
