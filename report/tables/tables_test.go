package tables

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// all has a column of each kind, with and without unknown values.
var all = []Column{
	{"text", Text, false}, {"integer", Integer, false}, {"count", Count, false}, {"number", Number, false},
	{"flag", Flag, false}, {"some_text", Text, true}, {"some_integer", Integer, true}, {"some_count", Count, true},
	{"some_number", Number, true}, {"some_flag", Flag, true},
}

// rowOf is a row of all: what is optional is unknown in every third row.
func rowOf(i int) []any {
	row := []any{fmt.Sprintf("näme %d", i%7), int64(i - 3), math.MaxUint64 - uint64(i), float64(i) / 8, i%5 == 0}
	if i%3 == 0 {
		return append(row, nil, nil, nil, nil, nil)
	}
	return append(row, strings.Repeat("x", i%4), -int64(i), uint64(i), math.Inf(1), i%2 == 0)
}

func written(t testing.TB, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := New(&b, all, [2]string{"key", "value"})
	for i := range rows {
		if err := w.Row(rowOf(i)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// valueOf is a value as this package takes it.
func valueOf(c Column, v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	switch c.Kind {
	case Text:
		return v.String()
	case Integer:
		return v.Int64()
	case Count:
		return v.Uint64()
	case Number:
		return v.Double()
	}
	return v.Boolean()
}

// What was written is read by parquet-go: no row, few, and several row groups.
func TestRead(t *testing.T) {
	for _, rows := range []int{0, 1, 2, 1000, 400_000} {
		b := written(t, rows)
		f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%d rows: %v", rows, err)
		}
		if value, ok := f.Lookup("key"); !ok || value != "value" {
			t.Errorf("%d rows: the note is %q", rows, value)
		}
		if n := len(f.RowGroups()); rows == 400_000 && n < 2 {
			t.Errorf("%d rows: %d row groups", rows, n)
		}
		r := parquet.NewReader(f)
		got := make([]parquet.Row, 100)
		at := 0
		for {
			n, err := r.ReadRows(got)
			for _, row := range got[:n] {
				want := rowOf(at)
				for i, c := range all {
					if have := valueOf(c, row[i]); have != want[i] {
						t.Fatalf("row %d of %d, %s: %v, want %v", at, rows, c.Name, have, want[i])
					}
				}
				at++
			}
			if err != nil {
				break
			}
		}
		if at != rows {
			t.Errorf("%d rows, want %d", at, rows)
		}
	}
}

// The smallest and largest whole numbers are in the metadata, which readers skip row groups by.
func TestBounds(t *testing.T) {
	b := written(t, 10)
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int][2]string{1: {"-3", "6"}, 2: {"18446744073709551606", "18446744073709551615"},
		6: {"-8", "-1"}} {
		chunk := f.RowGroups()[0].ColumnChunks()[i].(*parquet.FileColumnChunk)
		lo, hi, ok := chunk.Bounds()
		show := func(v parquet.Value) string { return fmt.Sprint(valueOf(all[i], v)) }
		if !ok || show(lo) != want[0] || show(hi) != want[1] {
			t.Errorf("%s: %v to %v, %v, want %v", all[i].Name, show(lo), show(hi), ok, want)
		}
	}
}

func TestRowRefuses(t *testing.T) {
	for want, row := range map[string][]any{
		"tables: 1 values for 2 columns":                {"a"},
		"tables: column b: a value is missing":          {"a", nil},
		"tables: column b: a value of the type string":  {"a", "b"},
		"tables: column a: a value of the type float64": {1.5, int64(1)},
	} {
		w := New(&bytes.Buffer{}, []Column{{"a", Text, true}, {"b", Integer, false}})
		if err := w.Row(row...); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if err := w.Close(); err == nil || err.Error() != want {
			t.Errorf("closed: %v, want %s", err, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestWriterFails(t *testing.T) {
	w := New(full{}, all)
	if err := w.Row(rowOf(1)...); err == nil || err.Error() != "the disk is full" {
		t.Error(err)
	}
	if err := w.Close(); err == nil || err.Error() != "the disk is full" {
		t.Error(err)
	}
}

// read prints the sums of a file as DuckDB, pyarrow and Polars read it.
const read = `
import duckdb, json, polars, sys
import pyarrow.compute as pc, pyarrow.parquet
name = sys.argv[1]
numbers, flags = ("integer", "some_integer", "some_count", "number"), ("flag", "some_flag")
d = duckdb.sql("select count(*), count(some_text), min(text), max(count)::varchar, " +
    ", ".join([f"sum({c}::double)" for c in numbers] + [f"sum({c}::int)" for c in flags]) +
    f" from '{name}'").fetchall()[0]
a = pyarrow.parquet.read_table(name)
p = polars.read_parquet(name)
arrow = [a.num_rows, a.num_rows - a["some_text"].null_count, pc.min(a["text"]).as_py(),
    str(pc.max(a["count"]).as_py())] + [pc.sum(a[c]).as_py() for c in numbers + flags]
pol = [p.height, p["some_text"].count(), p["text"].min(), str(p["count"].max())]
pol += [p[c].sum() for c in numbers + flags]
print(json.dumps([[v if isinstance(v, str) else float(v) for v in row] for row in (d, arrow, pol)]))
`

// DuckDB, pyarrow and Polars read the same.
func TestOtherReaders(t *testing.T) {
	python := os.Getenv("CG_TABLES_PYTHON")
	if python == "" {
		t.Skip("CG_TABLES_PYTHON names no interpreter with duckdb, pyarrow and polars")
	}
	name := filepath.Join(t.TempDir(), "all.parquet")
	const rows = 400_000
	if err := os.WriteFile(name, written(t, rows), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "-c", read, name).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got [][]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := []any{float64(rows), 0.0, "näme 0", "18446744073709551615", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}
	for i := range rows {
		row := rowOf(i)
		add := func(at int, v float64) { want[at] = want[at].(float64) + v }
		flag := func(at int, v any) {
			if v == true {
				add(at, 1)
			}
		}
		add(4, float64(row[1].(int64)))
		add(7, row[3].(float64))
		flag(8, row[4])
		if row[5] != nil {
			add(1, 1)
			add(5, float64(row[6].(int64)))
			add(6, float64(row[7].(uint64)))
			flag(9, row[9])
		}
	}
	for i, reader := range []string{"DuckDB", "pyarrow", "Polars"} {
		if fmt.Sprint(got[i]) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", reader, got[i], want)
		}
	}
}

func BenchmarkRow(b *testing.B) {
	w := New(&bytes.Buffer{}, all)
	row := rowOf(1)
	for b.Loop() {
		w.Row(row...)
	}
	w.Close()
}
