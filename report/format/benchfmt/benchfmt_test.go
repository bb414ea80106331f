package benchfmt

import (
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
)

// Only benchmarks have lines, each package a heading, and an unknown energy is
// left out.
func TestBenchfmt(t *testing.T) {
	count := func(n uint64) *uint64 { return &n }
	home := func(s string) *string { return &s }
	energy := report.Joules(4_000_000)
	measured := report.Provenance{Kind: nemb.Estimated}
	var r report.Run
	r.Meta.Platform, r.Meta.CPUModel = "linux", "A  processor"
	r.Tasks = []report.Task{
		{Name: "test ./...", EnergyJ: &energy},
		{Name: "TestA", EnergyJ: &energy, Package: home("m/a")},
		{Name: "BenchmarkA-8", EnergyJ: &energy, Package: home("m/a"), Iterations: count(1000), DurationS: 0.5,
			Provenance: measured},
		{Name: "BenchmarkB/x=1-8", Package: home("m/a"), Iterations: count(3), DurationS: 1, Provenance: measured},
		{Name: "BenchmarkA-8", EnergyJ: &energy, Package: home("m/b"), Iterations: count(8), DurationS: 2,
			Provenance: measured},
	}
	var b strings.Builder
	if err := write(&b, &r, format.Options{}); err != nil {
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
	if err := write(&b, &r, format.Options{}); err != nil || b.Len() > 0 {
		t.Errorf("%v, %q", err, b.String())
	}
}
