package iotrace_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cg/recorder"
	"cg/recorder/analysis"
	"cg/recorder/recordertest"
	"cg/report/format"
	_ "cg/report/format/all"
	"cg/report/iotrace"
	"cg/report/reporttest"
)

// document opens a trace, with a machine of 10 W beside it if there shall be energies.
func document(t testing.TB, dir string, energies bool) *iotrace.Document {
	t.Helper()
	trace, err := recorder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &iotrace.Document{Trace: trace, Name: filepath.Base(dir), Version: "test", To: trace.Ranks, Most: 1000}
	if energies {
		m := &analysis.Meter{Name: "power.csv", Kind: "estimated"}
		for i := range 101 {
			m.Unix, m.Joules = append(m.Unix, trace.Start-1+float64(i)*0.125), append(m.Joules, float64(i)*1.25)
		}
		d.Meters = []*analysis.Meter{m}
	}
	if d.Analysis, err = analysis.Of(trace, analysis.Options{Meters: d.Meters}); err != nil {
		t.Fatal(err)
	}
	return d
}

// The real traces in the formats that people read, and what the JSON is made of.
func TestGolden(t *testing.T) {
	for _, name := range []string{"ranks", "interprocess", "user"} {
		d := document(t, "../../recorder/testdata/"+name, name == "user")
		o := format.Options{Terminal: format.Terminal{Width: 100, Verbose: true}}
		reporttest.Golden(t, "testdata/"+name+".txt", reporttest.Write(t, "text", d, o))
		reporttest.Golden(t, "testdata/"+name+".md", reporttest.Write(t, "markdown", d, o))
		for _, table := range []string{"functions", "files", "ranks", "sizes"} {
			o.Chosen = map[string]string{"table": table}
			reporttest.Golden(t, "testdata/"+name+"."+table+".csv", reporttest.Write(t, "csv", d, o))
		}
	}
}

// JSON has the sixteen fields of recorder-viz by its names, and as many records as asked for.
func TestJSON(t *testing.T) {
	for most, want := range map[int]int{-1: 77, 0: 0, 5: 10, 1000: 77} {
		d := document(t, "../../recorder/testdata/ranks", false)
		d.Most = most
		var got struct {
			GM      map[string]any
			LMs     []map[string]any
			Records [][]map[string]any `json:"records"`
		}
		b := reporttest.Write(t, "json", d, format.Options{})
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		n := 0
		for _, rank := range got.Records {
			n += len(rank)
		}
		if n != want || len(got.Records) != 2 {
			t.Errorf("%d records of %d ranks, want %d", n, len(got.Records), want)
		}
		has := func(m map[string]any, names string) {
			t.Helper()
			for _, name := range strings.Fields(names) {
				if _, is := m[name]; !is {
					t.Errorf("there is no %s", name)
				}
			}
		}
		has(got.GM, "total_ranks start_ts time_resolution ts_buffer_elements ts_compression_algo")
		has(got.LMs[0], "total_records num_files filemap function_count")
		if n > 0 {
			has(got.Records[0][0], "tstart tend level func_id tid arg_count args")
		}
	}
}

// JSON is as docs/recorder.schema.json says, for any trace and with and without energies.
func TestSchema(t *testing.T) {
	schema := reporttest.Documented(t, "recorder", iotrace.Schema())
	empty := filepath.Join(t.TempDir(), "trace")
	w := recordertest.New(empty, recordertest.Trace{Layout: recordertest.V25, Start: 1e9})
	w.Rank(nil)
	w.Close(t)
	for _, name := range []string{"../../recorder/testdata/ranks", "../../recorder/testdata/interprocess",
		"../../recorder/testdata/user", empty} {
		for _, energies := range []bool{false, true} {
			b := reporttest.Write(t, "json", document(t, name, energies), format.Options{})
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What a trace for Perfetto has are the longest calls.
func TestPerfetto(t *testing.T) {
	d := document(t, "../../recorder/testdata/ranks", true)
	slices := func(most int) (n int, shortest float64) {
		var got struct {
			TraceEvents []struct {
				Phase string  `json:"ph"`
				Long  float64 `json:"dur"`
			}
		}
		if err := json.Unmarshal(reporttest.Write(t, "perfetto", d, format.Options{Slices: most}), &got); err != nil {
			t.Fatal(err)
		}
		shortest = math.Inf(1)
		for _, e := range got.TraceEvents {
			if e.Phase == "X" {
				n++
				shortest = min(shortest, e.Long)
			}
		}
		return n, shortest
	}
	if n, _ := slices(1000); n != 77 {
		t.Errorf("%d of 77 calls", n)
	}
	if n, shortest := slices(10); n > 10 || n < 5 || shortest < 50 {
		t.Errorf("%d calls, the shortest of %g µs", n, shortest)
	}
}

// No format lets a name of a trace through that a terminal obeys, that fakes a row, that a
// spreadsheet runs or that is HTML.
func TestHostileNames(t *testing.T) {
	evil := strings.ReplaceAll(reporttest.Evil, " ", "_")
	dir := filepath.Join(t.TempDir(), "trace")
	w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.V30, Start: 1e9})
	for rank := range 2 {
		w.Rank([]recordertest.Record{
			{Start: 1, End: 2, Func: "open", Args: []string{evil, "1025"}},
			{Start: 3, End: 4, Func: "write", Args: []string{evil, "%p", fmt.Sprint(100 + rank)}},
			{Start: 5, End: 9, Func: evil}, {Start: 6, End: 7, Func: "read", Args: []string{"=1+1" + evil, "%p", "7"}},
		})
	}
	w.Close(t)
	d := document(t, dir, true)
	for _, f := range format.Of(d) {
		if f.IsFolder(d) {
			continue // see TestParquet
		}
		tables := []string{""}
		if f.Name == "csv" {
			tables = []string{"functions", "files", "ranks", "trace", "layers", "patterns", "sizes", "activity", "accesses", "records"}
		}
		for _, table := range tables {
			b := reporttest.Write(t, f.Name, d, format.Options{Terminal: format.Terminal{Width: 160, Color: true, Verbose: true},
				Chosen: map[string]string{"table": table}})
			if found := reporttest.Harmless(string(b)); found != "" {
				t.Errorf("%s %s: %s", f.Name, table, found)
			}
			if (f.Name == "markdown" || f.Name == "html") && bytes.Contains(b, []byte("</script><b>")) {
				t.Errorf("%s: HTML of the trace's", f.Name)
			}
			if f.Name != "csv" {
				continue
			}
			rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
			if err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			for _, row := range rows {
				if at := slices.IndexFunc(row, func(c string) bool { return strings.HasPrefix(c, "=") }); at >= 0 {
					t.Errorf("%s: a spreadsheet runs %q", table, row[at])
				}
			}
		}
	}
	if len(format.Of(d)) < 7 {
		t.Errorf("only %d formats", len(format.Of(d)))
	}
}

// The page that the environment names a place for, to be looked at: a trace of many ranks.
//
//	CG_PAGE=/tmp/page.html go test ./report/iotrace -run TestPage
func TestPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.Combined, Shared: true, Start: 1e9})
	for rank := range int64(600) {
		var records []recordertest.Record
		for i := range int64(60) {
			at := i*50_000 + rank*500
			what, long := "write", int64(9000)
			if i%3 == 0 {
				what, long = "read", 4000+rank*10
			}
			offset := fmt.Sprint((i*600 + rank) * 4096)
			records = append(records,
				recordertest.Record{Start: at, End: at + 60, Func: "lseek", Args: []string{"/data/shared", offset, "0"}},
				recordertest.Record{Start: at + 100, End: at + 100 + long, Func: what,
					Args: []string{"/data/shared", "%p", fmt.Sprint(4096 << (i % 4))}})
		}
		w.Rank(records)
	}
	w.Close(t)
	d := document(t, dir, true)
	b := reporttest.Write(t, "html", d, format.Options{})
	if len(b) < 100_000 || len(b) > 4<<20 || !bytes.Contains(b, []byte("a bar for 2 ranks")) {
		t.Errorf("a page of %d bytes", len(b))
	}
	if name := os.Getenv("CG_PAGE"); name != "" {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
