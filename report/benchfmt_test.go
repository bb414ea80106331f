package report

import (
	"strings"
	"testing"

	"cg/checkpoint"
	"cg/nemb"
	"cg/report/format"
)

// Only benchmarks have lines, each package a heading, and an unknown energy is
// left out.
func TestBenchfmt(t *testing.T) {
	count := func(n uint64) *uint64 { return &n }
	home := func(s string) *string { return &s }
	energy := Joules(4_000_000)
	measured := Provenance{Kind: nemb.Estimated}
	var r Run
	r.Meta.Platform, r.Meta.CPUModel = "linux", "A  processor"
	r.Tasks = []Task{
		{Name: "test ./...", EnergyJ: &energy},
		{Name: "TestA", EnergyJ: &energy, Package: home("m/a")},
		{Name: "BenchmarkA-8", EnergyJ: &energy, Package: home("m/a"), Iterations: count(1000), DurationS: 0.5,
			Provenance: measured},
		{Name: "BenchmarkB/x=1-8", Package: home("m/a"), Iterations: count(3), DurationS: 1, Provenance: measured},
		{Name: "BenchmarkA-8", EnergyJ: &energy, Package: home("m/b"), Iterations: count(8), DurationS: 2,
			Provenance: measured},
	}
	var b strings.Builder
	if err := writeIn("benchfmt", &b, &r, format.Options{}); err != nil {
		t.Fatal(err)
	}
	const want = `cpu: A processor
energy: estimated
Unit J/op better=lower
pkg: m/a
BenchmarkA-8	1000	500000 ns/op	0.004 J/op
BenchmarkB/x=1-8	3	333333333 ns/op
pkg: m/b
BenchmarkA-8	8	250000000 ns/op	0.5 J/op
`
	lines := strings.SplitN(b.String(), "\n", 3)
	if len(lines) != 3 || lines[0] != "goos: linux" || !strings.HasPrefix(lines[1], "goarch: ") || lines[2] != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	r.Tasks = r.Tasks[:2]
	if err := writeIn("benchfmt", &b, &r, format.Options{}); err != nil || b.Len() > 0 {
		t.Errorf("%v, %q", err, b.String())
	}
}

// Of a benchmark's runs the one that is reported is a task.
func TestBenchmarkTasks(t *testing.T) {
	for name, c := range map[string]struct {
		span Span
		want int
	}{
		"reported": {Span{Bench: true, Iterations: 10, Took: 200_000_000}, 3},
		"ramp":     {Span{Bench: true}, 2},
		"test":     {Span{Iterations: 1, Took: 200_000_000}, 3},
	} {
		r, tests := suiteWith(nemb.Measured, map[checkpoint.SiteID]Span{2: c.span})
		if len(r.Tasks) != c.want || r.Totals.NTasks != c.want {
			t.Errorf("%s: %d tasks, want %d", name, len(r.Tasks), c.want)
		}
		if c.want == 3 && (tests[0].DurationS != 0.2 || (tests[0].Iterations != nil) != c.span.Bench ||
			*tests[0].Package != "/home/u/test_shop.py") {
			t.Errorf("%s: %+v", name, tests[0])
		}
		if b, err := r.JSON(); err != nil {
			t.Error(err)
		} else {
			validate(t, b)
		}
	}
}
