// Package reporttest has what the tests of formats and documents share: saved documents,
// golden files, and texts that are made to break out of where they are put.
//
// The saved documents are in testdata. The tests of the packages that make such documents
// write them (go test ./report -update), and all others read them, so that a format is
// tested with what it gets: a document that was saved.
package reporttest

import (
	"bytes"
	"embed"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/nemb"
	"cg/report"
	"cg/report/format"
)

//go:embed testdata
var documents embed.FS

var update = flag.Bool("update", false, "write the golden files")

// Golden compares a text with a golden file, or writes that with the flag -update.
func Golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (the flag -update writes it, read the difference):\n%s", file, got)
	}
}

// Saved is a saved document of testdata by its name.
func Saved[T any](t testing.TB, name string) *T {
	t.Helper()
	b, err := documents.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	d := new(T)
	if err := json.Unmarshal(b, d); err != nil {
		t.Fatal(err)
	}
	return d
}

// Example is a run of two functions on a machine of 20 W whose energies are of a kind:
// measured, estimated or unavailable.
func Example(t testing.TB, kind nemb.Method) *report.Run {
	t.Helper()
	return Saved[report.Run](t, "run-"+string(kind))
}

// Lines is a run whose dearest function has its lines told apart, one of them with signs of markup.
func Lines(t testing.TB) *report.Run {
	t.Helper()
	r := Example(t, nemb.Measured)
	r.Meta.Granularity = "line"
	f := &r.Functions[0]
	part := func(kind string, line int, count uint64, share float64, text string) {
		e := report.Joules(float64(*f.SelfEnergyJ) * share)
		f.Places = append(f.Places, report.Place{Kind: kind, Line: line, EndLine: line, Count: count,
			SelfTimeS: f.SelfTimeS * share, CPUTimeS: f.CPUTimeS * share, SelfEnergyJ: &e, Text: text})
	}
	part("line", f.Line+2, 1001, 0.25, "while a < b | c:")
	part("line", f.Line+3, 1000, 0.5, "a += 1")
	part("line", f.Line+4, 0, 0, "never()")
	part("rest", f.Line, 0, 0.25, "")
	return r
}

// Inner is a run whose dearest function called some without checkpoints, one of them with signs of markup.
func Inner(t testing.TB) *report.Run {
	t.Helper()
	r := Example(t, nemb.Measured)
	r.InnerSampling = &report.StackSampling{IntervalMs: 1, ReachedMs: 1.25, Samples: 1000, Waiting: 100, Outside: 50,
		Own:     12,
		OwnCPUS: 0.05, Processes: []report.SampledProcess{{PID: 7, Name: "python3", Reader: "CPython 3.11"}}}
	f := &r.Functions[0]
	f.InnerSamples = 400
	part := func(name string, samples, under int) {
		of := func(part float64) *report.Joules {
			e := report.Joules(float64(*f.SelfEnergyJ) * part)
			return &e
		}
		self, whole := float64(samples)/400, float64(under)/400
		f.Inner = append(f.Inner, report.InnerFunction{Name: name, File: "/opt/lib/fast.so", Language: "cpp",
			StackSamples: samples, StackSamplesInclusive: under,
			SelfEnergyJ: of(self), SelfEnergyLoJ: of(0.9 * self), SelfEnergyHiJ: of(1.1 * self),
			InclusiveEnergyJ: of(whole), InclusiveEnergyLoJ: of(0.9 * whole), InclusiveEnergyHiJ: of(1.1 * whole)})
	}
	part("fast::sum<int>", 300, 300)
	part("fast::average", 40, 340)
	part("entry", 0, 340)
	return r
}

// Suite is the run of a test runner: one test calls a function, the other does nothing.
// Its energies are measured or estimated.
func Suite(t testing.TB, kind nemb.Method) *report.Run {
	t.Helper()
	return Saved[report.Run](t, "suite-"+string(kind))
}

// Hostile is a run whose names are made to break out of where they are put.
func Hostile(t testing.TB) *report.Run {
	t.Helper()
	return Saved[report.Run](t, "hostile")
}

// Faster is the estimated Example after a change: it uses less, and has another function.
func Faster(t testing.TB) *report.Run {
	t.Helper()
	r := Example(t, nemb.Estimated)
	*r.Functions[0].SelfEnergyJ /= 2
	*r.Totals.ProgramEnergyJ = *r.Totals.ProgramEnergyJ * 3 / 4
	r.Functions[1].Name = "shop.stock.new"
	return r
}

// Kind is a run of a kind of programs and machines, such as one with a GPU.
func Kind(t testing.TB, name string) *report.Run {
	t.Helper()
	return Saved[report.Run](t, "kinds/"+name)
}

// GoldenKinds writes a run of each kind in a format and compares it with the golden file
// testdata/kinds/KIND.ENDING.
func GoldenKinds(t *testing.T, name, ending string, o format.Options) {
	t.Helper()
	all, err := documents.ReadDir("testdata/kinds")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		kind := strings.TrimSuffix(entry.Name(), ".json")
		Golden(t, filepath.Join("testdata", "kinds", kind+"."+ending), Write(t, name, Kind(t, kind), o))
	}
}

// Write is a document in a format, which has to be registered.
func Write(t testing.TB, name string, d format.Document, o format.Options) []byte {
	t.Helper()
	f, err := format.Named(name, d)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Documented holds the schema of a type of documents against docs/NAME.schema.json of the repository,
// whose root is two folders up, and gives it compiled. The flag -update writes the file.
func Documented(t *testing.T, name string, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	b, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "docs", name+".schema.json")
	Golden(t, file, append(b, '\n'))
	compiled, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
