package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cg/report"
	"cg/report/compare"
	savedruns "cg/report/saved"
)

// A run of many ranks that a cg of schema version 1 merged is read with the names of domains
// that it would have now, and is checked as it was written. So it is with its folder.
func TestReadsOld(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "schema1", "merged.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(bytes.NewReader(text)); err != nil {
		t.Error(err)
	}
	saved, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := Merge(filepath.Join("testdata", "schema1", "folder"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := [][2]string{{"package-0", ""}, {"core", "package-0"}, {"dram", ""}}
	for what, d := range map[string]*Run{"saved": saved, "folder": merged} {
		if faults := d.Check(); len(faults) > 0 || d.Meta.SchemaVersion != report.SchemaVersion || len(d.Nodes) != 2 {
			t.Errorf("%s: schema %s, %d nodes, %q", what, d.Meta.SchemaVersion, len(d.Nodes), faults)
		}
		for _, n := range d.Nodes {
			var got [][2]string
			for _, domain := range n.Domains {
				got = append(got, [2]string{domain.ID, domain.Parent})
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: node %s has %q, want %q", what, n.Name, got, want)
			}
		}
	}
	again, err := saved.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Read(bytes.NewReader(again)); err != nil || len(d.Check()) > 0 ||
		bytes.Contains(again, []byte(`"core-0"`)) {
		t.Errorf("saved again: %v, %q", err, d.Check())
	}
	head, err := Read(bytes.NewReader(bytes.Replace(again, []byte(saved.Meta.RunID), []byte("another"), 1)))
	if err != nil {
		t.Fatal(err)
	}
	side := func(name string, d *Run) compare.Side {
		return compare.Side{Names: []string{name}, Saved: []savedruns.Document{{Run: d.Functional()}}}
	}
	if _, err := compare.Compare(side("old", saved), side("new", head), compare.Options{Threshold: 0.05}); err != nil {
		t.Errorf("compared with one of now: %v", err)
	}
	changed := bytes.Replace(text, []byte(`"hostname":"`), []byte(`"hostname":"x`), 1)
	if d, err := Read(bytes.NewReader(changed)); err != nil || len(d.Check()) != 1 {
		t.Errorf("a file that was changed: %v, %q", err, d.Check())
	}
}
