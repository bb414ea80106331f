package iotrace_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"cg/recorder/recordertest"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/report/reporttest"
)

// inMemory are the files of a folder.
type inMemory map[string]*bytes.Buffer

type closing struct{ *bytes.Buffer }

func (closing) Close() error { return nil }

func (m inMemory) create(name string) (io.WriteCloser, error) {
	m[name] = &bytes.Buffer{}
	return closing{m[name]}, nil
}

// rowsOf reads a file by parquet-go: names of columns, and the rows as text, "" where a value is not known.
func rowsOf(t testing.TB, b []byte) (names []string, rows [][]string) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Schema().Columns() {
		names = append(names, c[0])
	}
	all := make([]parquet.Row, f.NumRows())
	if n, err := parquet.NewReader(f).ReadRows(all); n != len(all) || err != nil && err != io.EOF {
		t.Fatalf("%d of %d rows: %v", n, len(all), err)
	}
	for _, row := range all {
		var out []string
		for _, v := range row {
			switch {
			case v.IsNull():
				out = append(out, "")
			case v.Kind() == parquet.Double:
				out = append(out, fmt.Sprintf("%.9g", v.Double()))
			default:
				out = append(out, v.String())
			}
		}
		rows = append(rows, out)
	}
	return names, rows
}

// The tables of a folder are those of CSV, value by value, with the name of the trace before.
func TestParquet(t *testing.T) {
	evil := filepath.Join(t.TempDir(), "trace")
	w := recordertest.New(evil, recordertest.Trace{Layout: recordertest.V30, Start: 1e9})
	w.Rank([]recordertest.Record{{Start: 1, End: 2, Func: "open", Args: []string{strings.ReplaceAll(reporttest.Evil, " ", "_"), "1025"}}})
	w.Close(t)
	for dir, energies := range map[string]bool{"../../recorder/testdata/user": true, "../../recorder/testdata/interprocess": false, evil: true} {
		d := document(t, dir, energies)
		d.Most = -1
		f, err := format.Named("parquet", d)
		if err != nil {
			t.Fatal(err)
		}
		files := inMemory{}
		if err := f.WriteFolder(files.create, d, format.Options{}); err != nil {
			t.Fatal(err)
		}
		if len(files) != 10 {
			t.Errorf("%d tables", len(files))
		}
		for name, b := range files {
			names, rows := rowsOf(t, b.Bytes())
			table := strings.TrimSuffix(name, ".parquet")
			text := reporttest.Write(t, "csv", d, format.Options{Chosen: map[string]string{"table": table}})
			want, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			if !energies {
				names = strings.Fields(strings.ReplaceAll(strings.Join(names, " "),
					" energy_j energy_lo_j energy_hi_j avg_power_w energy_kind", ""))
			}
			if got := strings.Join(names, " "); got != "trace "+strings.Join(want[0], " ") {
				t.Errorf("%s: columns %s, want trace and %s", name, got, want[0])
			}
			if len(rows) != len(want)-1 {
				t.Errorf("%s: %d rows, want %d", name, len(rows), len(want)-1)
				continue
			}
			for i, row := range rows {
				for k, cell := range want[i+1] {
					var number float64
					if n, _ := fmt.Sscanf(cell, "%g", &number); n == 1 && !strings.Contains(cell, " ") && !strings.Contains(cell, "/") {
						cell = fmt.Sprintf("%.9g", number)
					}
					got := row[k+1]
					if n, _ := fmt.Sscanf(got, "%g", &number); n == 1 && !strings.Contains(got, " ") && !strings.Contains(got, "/") {
						got = fmt.Sprintf("%.9g", number)
					}
					if got != cell && strings.TrimPrefix(cell, "'") != got && !strings.HasPrefix(names[k+1], "energy") && names[k+1] != "avg_power_w" {
						t.Errorf("%s: row %d, %s: %q, want %q", name, i, names[k+1], got, cell)
					}
				}
				if found := reporttest.Harmless(strings.Join(row, " ")); found != "" {
					t.Errorf("%s: %s", name, found)
				}
			}
		}
	}
}

// The energies are numbers of the analysis, and NULL where it knows none; records are as many as asked for.
func TestParquetEnergies(t *testing.T) {
	for _, energies := range []bool{false, true} {
		d := document(t, "../../recorder/testdata/ranks", energies)
		d.Most = 3
		files := inMemory{}
		if err := iotrace.WriteParquet(files.create, d, format.Options{}); err != nil {
			t.Fatal(err)
		}
		names, rows := rowsOf(t, files["functions.parquet"].Bytes())
		want := ""
		if energies {
			want = fmt.Sprintf("%.9g %.9g %.9g %.9g estimated", d.Analysis.Functions[0].Energy.J, d.Analysis.Functions[0].Energy.LoJ,
				d.Analysis.Functions[0].Energy.HiJ, *d.Analysis.Functions[0].Energy.W)
		}
		if got := strings.TrimSpace(strings.Join(rows[0][5:], " ")); got != want || strings.Join(names[5:], " ") != "energy_j energy_lo_j energy_hi_j avg_power_w energy_kind" {
			t.Errorf("%v: %q, want %q", names, got, want)
		}
		if _, records := rowsOf(t, files["records.parquet"].Bytes()); len(records) != 6 {
			t.Errorf("%d records", len(records))
		}
	}
}
