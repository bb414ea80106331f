package all

import (
	"bytes"
	"path/filepath"
	"testing"

	"cg/report/cluster"
	"cg/report/format"
	"cg/report/reporttest"
)

// A run of many ranks in each format that shows one.
func TestCluster(t *testing.T) {
	d := reporttest.Saved[cluster.Run](t, "cluster")
	for _, f := range format.Of(d) {
		if f.IsFolder(d) || f.Name == "json" {
			continue // have tests of their own
		}
		o := format.Options{Terminal: format.Terminal{Width: 120}, Names: []string{"out"}}
		reporttest.Golden(t, filepath.Join("testdata", "cluster"+f.Endings[0]), reporttest.Write(t, f.Name, d, o))
	}
}

func TestClusterCSV(t *testing.T) {
	d := reporttest.Saved[cluster.Run](t, "cluster")
	for _, table := range []string{"functions", "ledger", "ranks"} {
		o := format.Options{Chosen: map[string]string{"table": table}, Names: []string{"out"}}
		reporttest.Golden(t, filepath.Join("testdata", "cluster."+table+".csv"), reporttest.Write(t, "csv", d, o))
	}
	f, err := format.Named("csv", d)
	if err != nil {
		t.Fatal(err)
	}
	want := "a run of many ranks has no table paths: use --table functions, ledger or ranks; -o FOLDER.parquet has the others"
	if err := f.Write(&bytes.Buffer{}, d, format.Options{Chosen: map[string]string{"table": "paths"}}); err == nil || err.Error() != want {
		t.Error(err)
	}
}

// The page of 10,000 ranks is small, and its map has no more rows than it has pixels.
func TestLargeClusterPage(t *testing.T) {
	d := reporttest.Saved[cluster.Run](t, "cluster")
	n := len(d.Ranks)
	for i := len(d.Ranks); i < 10_000; i++ {
		r := d.Ranks[i%n]
		r.Rank = i
		d.Ranks = append(d.Ranks, r)
		for k := range d.Heat {
			h := &d.Heat[k]
			h.EnergyUj, h.TimeUs = append(h.EnergyUj, h.EnergyUj[i%n]), append(h.TimeUs, h.TimeUs[i%n])
		}
	}
	page := reporttest.Write(t, "html", d, format.Options{})
	for _, want := range []string{"mean of the ranks of a row", "largest of the ranks of a row", "Each row is 25 ranks"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if len(page) > 1<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
}
