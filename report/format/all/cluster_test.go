package all

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"cg/report/cluster"
	"cg/report/format"
	"cg/report/reporttest"
)

// A run of many ranks in each format that shows one.
func TestCluster(t *testing.T) {
	d := reporttest.Saved[cluster.Run](t, "cluster")
	for _, f := range format.Of(d) {
		if f.IsFolder(d) || f.Name == "json" || f.Name == "pprof" {
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

// The call paths of ranks: each rank is a frame with its energy below it, from the folder and from what
// was saved, and together they are what the ranks used.
func TestClusterPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if err := reporttest.GenerateRanks(dir, reporttest.Job{Ranks: 6, PerNode: 3, Functions: 4, Killed: 4}); err != nil {
		t.Fatal(err)
	}
	folder, err := cluster.Merge(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for what, d := range map[string]*cluster.Run{"folder": folder, "saved": reporttest.Saved[cluster.Run](t, "cluster")} {
		ranks := map[string]int64{}
		for _, r := range d.Ranks {
			ranks[fmt.Sprintf("rank %d on %s", r.Rank, r.Node)] = int64(*r.EnergyJ)
		}
		p, err := profile.ParseData(reporttest.Write(t, "pprof", d, format.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		profiled := map[string]int64{}
		for _, s := range p.Sample {
			if n := len(s.Location); n > 1 {
				profiled[s.Location[n-2].Line[0].Function.Name] += s.Value[0]
			}
		}
		if !maps.Equal(profiled, ranks) {
			t.Errorf("%s: pprof has %v, and the ranks %v", what, profiled, ranks)
		}
		collapsed := map[string]int64{}
		for line := range strings.Lines(string(reporttest.Write(t, "collapsed", d, format.Options{}))) {
			at := strings.LastIndexByte(line, ' ')
			n, err := strconv.ParseInt(strings.TrimSpace(line[at:]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			collapsed[strings.Split(line[:at], ";")[1]] += n
		}
		if !maps.Equal(collapsed, ranks) {
			t.Errorf("%s: collapsed has %v, and the ranks %v", what, collapsed, ranks)
		}
		if b := reporttest.Write(t, "speedscope", d, format.Options{}); !bytes.Contains(b, []byte(`{"name":"rank 2 on n0"}`)) {
			t.Errorf("%s: speedscope has no frame of rank 2", what)
		}
	}
}

// Formats over time say why they do not show ranks.
func TestClusterOverTime(t *testing.T) {
	for _, name := range []string{"perfetto", "firefox", "hespas"} {
		_, err := format.Named(name, (*cluster.Run)(nil))
		if err == nil || !strings.Contains(err.Error(), "the clocks of nodes agree within bounds only; show one rank") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := format.Named("benchfmt", (*cluster.Run)(nil))
	if err == nil || !strings.Contains(err.Error(), "format benchfmt cannot show a run of many ranks: it shows a run; use ") {
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
