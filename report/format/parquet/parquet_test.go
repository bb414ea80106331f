package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"cg/nemb"
	"cg/report"
	"cg/report/cluster"
	"cg/report/format"
	"cg/report/reporttest"
)

// into makes the files of a folder on the disk.
func into(dir string) format.Create {
	return func(name string) (io.WriteCloser, error) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		return os.Create(path)
	}
}

// written writes a document as a folder of tables.
func written(t testing.TB, d format.Document, o format.Options) (dir string) {
	t.Helper()
	f, err := format.Named("parquet", d)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := f.WriteFolder(into(dir), d, o); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rowsOf reads a file by parquet-go: each row by the names of its columns.
func rowsOf(t testing.TB, file string) (rows []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	names := f.Schema().Columns()
	r := parquet.NewReader(f)
	all := make([]parquet.Row, f.NumRows())
	if n, err := r.ReadRows(all); n != len(all) || err != nil && err != io.EOF {
		t.Fatalf("%s: %d of %d rows: %v", file, n, len(all), err)
	}
	for _, row := range all {
		out := map[string]any{}
		for i, v := range row {
			name := names[i][0]
			switch {
			case v.IsNull():
				out[name] = nil
			case v.Kind() == parquet.ByteArray:
				out[name] = v.String()
			case v.Kind() == parquet.Double:
				out[name] = v.Double()
			default:
				out[name] = v.Int64()
			}
		}
		rows = append(rows, out)
	}
	return rows
}

// micro is what a column of joules adds up to, in microjoules.
func micro(rows []map[string]any, column string, of func(map[string]any) bool) (sum report.Joules) {
	for _, row := range rows {
		if j, known := row[column].(float64); known && of(row) {
			sum += report.Joules(math.Round(j * 1e6))
		}
	}
	return sum
}

func any1(map[string]any) bool { return true }

// Every kind of run has all tables, whose figures are those of the run to the microjoule.
func TestTablesOfRuns(t *testing.T) {
	kinds, err := filepath.Glob("../../reporttest/testdata/kinds/*.json")
	if err != nil || len(kinds) < 5 {
		t.Fatal(kinds, err)
	}
	for _, kind := range kinds {
		name := strings.TrimSuffix(filepath.Base(kind), ".json")
		r := reporttest.Kind(t, name)
		dir := written(t, r, format.Options{Names: []string{name}})
		table := map[string][]map[string]any{}
		for _, of := range order {
			table[of] = rowsOf(t, filepath.Join(dir, of+".parquet"))
		}
		for what, is := range map[string]bool{
			"runs":      len(table["runs"]) == 1 && table["runs"][0]["run"] == name,
			"ranks":     len(table["ranks"]) == 1 && table["ranks"][0]["rank"] == int64(0),
			"nodes":     len(table["nodes"]) == 1+len(r.Totals.Domains),
			"functions": len(table["functions"]) == len(r.Functions),
			"paths":     len(table["paths"]) == len(r.Paths),
			"calls":     len(table["calls"]) == len(r.LongCalls),
			"samples":   len(table["samples"]) == len(r.Samples)*(1+len(r.Totals.Domains)),
		} {
			if !is {
				t.Errorf("%s: %s: %d rows: %v", name, what, len(table[what]), table[what])
			}
		}
		var self report.Joules
		for _, f := range r.Functions {
			if f.SelfEnergyJ != nil {
				self += *f.SelfEnergyJ
			}
		}
		if got := micro(table["functions"], "self_energy_j", any1); got != self {
			t.Errorf("%s: functions have %d uJ, want %d", name, got, self)
		}
		if r.Totals.EnergyJ == nil {
			continue
		}
		whole := func(row map[string]any) bool { return row["domain"] == nil }
		var divided report.Joules
		for _, part := range []string{"ranks", "other", "idle", "cg", "unattributed"} {
			divided += micro(table["nodes"], part+"_energy_j", whole)
		}
		for what, got := range map[string]report.Joules{"nodes": micro(table["nodes"], "energy_j", whole),
			"their parts": divided, "runs": micro(table["runs"], "energy_j", any1)} {
			if got != *r.Totals.EnergyJ {
				t.Errorf("%s: %s have %d uJ, want %d", name, what, got, *r.Totals.EnergyJ)
			}
		}
	}
}

// The table of functions tells how long calls took, where that is known.
func TestDurations(t *testing.T) {
	r, hi := reporttest.Example(t, nemb.Measured), 1.4e-6
	r.Functions[0].CallsTime = &report.CallsTime{N: 40, MedianS: 1.2e-6, MedianLoS: 1e-6, MedianHiS: &hi,
		P95S: 8e-6, P95LoS: 6e-6, MaxS: 9e-6}
	rows := rowsOf(t, filepath.Join(written(t, r, format.Options{}), "functions.parquet"))
	for column, want := range map[string]any{"call_time_n": int64(40), "call_time_min_s": 0.0, "call_time_median_s": 1.2e-6,
		"call_time_median_lo_s": 1e-6, "call_time_median_hi_s": hi, "call_time_p95_s": 8e-6, "call_time_p95_lo_s": 6e-6,
		"call_time_p95_hi_s": nil, "call_time_max_s": 9e-6} {
		if got := rows[0][column]; got != want {
			t.Errorf("%s: %v, want %v", column, got, want)
		}
		if got := rows[1][column]; got != nil {
			t.Errorf("%s: %v of a function whose calls have no times", column, got)
		}
	}
}

// What is not known is NULL, and is not 0.
func TestUnknown(t *testing.T) {
	dir := written(t, reporttest.Example(t, nemb.Unavailable), format.Options{})
	for _, row := range rowsOf(t, filepath.Join(dir, "functions.parquet")) {
		if row["self_energy_j"] != nil || row["energy_kind"] != "unavailable" {
			t.Errorf("%v", row)
		}
	}
	if row := rowsOf(t, filepath.Join(dir, "nodes.parquet"))[0]; row["energy_j"] != nil || row["idle_energy_j"] != nil {
		t.Errorf("%v", row)
	}
}

// Several runs are in the same tables, told apart by the column run.
func TestSeveral(t *testing.T) {
	two := report.Together([]*report.Run{reporttest.Example(t, nemb.Measured), reporttest.Faster(t)})
	dir := written(t, two, format.Options{Names: []string{"before", "after"}})
	var names []string
	for _, row := range rowsOf(t, filepath.Join(dir, "runs.parquet")) {
		names = append(names, row["run"].(string))
	}
	if !slices.Equal(names, []string{"before", "after"}) {
		t.Errorf("%q", names)
	}
}

// No text of a run does anything to a terminal that shows a table.
func TestPoisoned(t *testing.T) {
	dir := written(t, reporttest.Poisoned(reporttest.Suite(t, nemb.Measured)),
		format.Options{Names: []string{reporttest.Evil}})
	for _, name := range order {
		for _, row := range rowsOf(t, filepath.Join(dir, name+".parquet")) {
			for column, v := range row {
				if text, is := v.(string); is {
					if found := reporttest.Harmless(text); found != "" {
						t.Errorf("%s.%s: %s", name, column, found)
					}
				}
			}
		}
	}
}

// columnsOf prints the columns of each table as DuckDB, pyarrow and Polars see them.
const columnsOf = `
import duckdb, glob, json, os, polars, pyarrow.parquet, sys
out = {}
for name in sorted(glob.glob(sys.argv[1] + "/*.parquet")):
    d = [c[0] for c in duckdb.sql(f"describe select * from '{name}'").fetchall()]
    a = pyarrow.parquet.read_table(name).column_names
    p = polars.read_parquet(name).columns
    n = duckdb.sql(f"select count(*) from '{name}'").fetchall()[0][0]
    assert n == pyarrow.parquet.read_table(name).num_rows == polars.read_parquet(name).height, name
    out[os.path.basename(name)] = [d, a, p]
print(json.dumps(out))
`

func TestOtherReaders(t *testing.T) {
	python := os.Getenv("CG_TABLES_PYTHON")
	if python == "" {
		t.Skip("CG_TABLES_PYTHON names no interpreter with duckdb, pyarrow and polars")
	}
	dir := written(t, reporttest.Kind(t, "small"), format.Options{})
	out, err := exec.Command(python, "-c", columnsOf, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got map[string][][]string
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range order {
		var want []string
		for _, c := range columns()[name] {
			want = append(want, c.Name)
		}
		for i, reader := range []string{"DuckDB", "pyarrow", "Polars"} {
			if tables := got[name+".parquet"]; len(tables) != 3 || fmt.Sprint(tables[i]) != fmt.Sprint(want) {
				t.Errorf("%s, %s: %q, want %q", name, reader, tables, want)
			}
		}
	}
}

// A run of many ranks has a file for each node in the tables of ranks. From its folder, and
// from what was saved, the energies are the same.
func TestCluster(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if err := reporttest.GenerateRanks(out, reporttest.Job{Ranks: 6, PerNode: 3, Functions: 4, Killed: 4, Absent: 5}); err != nil {
		t.Fatal(err)
	}
	merged, err := cluster.Merge(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, d := range map[string]*cluster.Run{"folder": merged, "saved": reporttest.Saved[cluster.Run](t, "cluster")} {
		dir := written(t, d, format.Options{Names: []string{"out"}})
		var energy, functions report.Joules
		ranks := 0
		for _, node := range []string{"n0", "n1"} {
			rows := rowsOf(t, filepath.Join(dir, "ranks", "node="+node, "part-0.parquet"))
			ranks += len(rows)
			energy += micro(rows, "energy_j", any1)
			functions += micro(rowsOf(t, filepath.Join(dir, "functions", "node="+node, "part-0.parquet")), "self_energy_j", any1)
			paths := rowsOf(t, filepath.Join(dir, "paths", "node="+node, "part-0.parquet"))
			if (len(paths) > 0) != (what == "folder") {
				t.Errorf("%s: %s has %d paths", what, node, len(paths))
			}
			if len(rowsOf(t, filepath.Join(dir, "samples", "node="+node, "part-0.parquet"))) != 30 {
				t.Errorf("%s: samples of %s", what, node)
			}
		}
		if ranks != 5 || energy != *d.Totals.RanksEnergyJ || functions != d.Ledger[0].EnergyJ {
			t.Errorf("%s: %d ranks with %d uJ, functions %d uJ", what, ranks, energy, functions)
		}
		whole := func(row map[string]any) bool { return row["domain"] == nil }
		if got := micro(rowsOf(t, filepath.Join(dir, "nodes.parquet")), "energy_j", whole); got != *d.Totals.EnergyJ {
			t.Errorf("%s: nodes have %d uJ", what, got)
		}
	}
}

// byNode sums the energies of ranks by node as DuckDB, pyarrow and Polars read the folder.
const byNode = `
import duckdb, polars, pyarrow.dataset as ds, json, sys
name = sys.argv[1] + "/ranks"
q = f"select node, sum(energy_j) from read_parquet('{name}/*/*.parquet', hive_partitioning=true) group by node order by node"
d = [list(r) for r in duckdb.sql(q).fetchall()]
a = ds.dataset(name, partitioning="hive").to_table().group_by("node").aggregate([("energy_j", "sum")]).to_pylist()
a = sorted([r["node"], r["energy_j_sum"]] for r in a)
p = polars.scan_parquet(name + "/**/*.parquet", hive_partitioning=True)
p = [list(r) for r in p.group_by("node").agg(polars.col("energy_j").sum()).sort("node").collect().rows()]
print(json.dumps([d, a, p]))
`

func TestClusterByOtherReaders(t *testing.T) {
	python := os.Getenv("CG_TABLES_PYTHON")
	if python == "" {
		t.Skip("CG_TABLES_PYTHON names no interpreter with duckdb, pyarrow and polars")
	}
	d := reporttest.Saved[cluster.Run](t, "cluster")
	out, err := exec.Command(python, "-c", byNode, written(t, d, format.Options{})).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := fmt.Sprintf(`[["n0", %v], ["n1", %v]]`, d.Nodes[0].RanksJ.Float(), d.Nodes[1].RanksJ.Float())
	if got := strings.TrimSpace(string(out)); got != fmt.Sprintf("[%s, %s, %s]", want, want, want) {
		t.Errorf("%s, want %s three times", got, want)
	}
}
