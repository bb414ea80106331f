package usage_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"cg/monitor"
	"cg/nemb"
	"cg/report/format"
	_ "cg/report/format/all"
	"cg/report/reporttest"
	"cg/report/usage"
)

// What is saved is read back and agrees with itself. The tests of formats read it, too.
func TestSaved(t *testing.T) {
	for _, s := range []*monitor.Snapshot{snapshot(false, nemb.Measured), snapshot(true, nemb.Measured)} {
		b, err := usage.New(s, run).JSON()
		if err != nil {
			t.Fatal(err)
		}
		f := bytes.NewReader(b)
		if !usage.IsSaved(f) {
			t.Fatal("it is not known as what cg monitor saved")
		}
		d, err := usage.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.JSON(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("written again, it differs: %v", err)
		}
		f.Seek(0, 0)
		if faults, err := usage.Verify(f); err != nil || faults != nil {
			t.Errorf("%q, %v", faults, err)
		}
		if s.Known() {
			reporttest.Golden(t, "../reporttest/testdata/monitor.json", b)
		}
	}
}

// A file that is another document, is damaged or has other sums is told from one that is right.
func TestDamaged(t *testing.T) {
	b, err := usage.New(snapshot(true, nemb.Measured), run).JSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, to, want string }{
		{`"document": "monitor"`, `"document": "tide"`, "not a summary of cg monitor: the field document is \"tide\""},
		{`"schema_version": "2"`, `"schema_version": "9"`, "saved by cg 0 in schema version 9"},
		{`"totals": {`, `"totals": [`, "not a summary of cg monitor: "},
		{`"hostname": "h"`, `"hostname": 3`, "not a summary of cg monitor: "},
		{`"hostname": "h"`, `"host": "h"`, "host"},
		{`"energy_j": 72`, `"energy_j": 71`, "ledger: the lines are 199 J, the energy is 200 J"},
		{`"energy_j": 200`, `"energy_j": 201`, "totals: the domains are 200 J, the energy is 201 J"},
		{`"energy_lo_j": 32.4`, `"energy_lo_j": 37.4`, "the energy is not in its interval"},
	} {
		text := strings.Replace(string(b), test.from, test.to, 1)
		if text == string(b) {
			t.Fatalf("there is no %s", test.from)
		}
		faults, err := usage.Verify(strings.NewReader(text))
		if err != nil {
			faults = append(faults, err.Error())
		}
		if !strings.Contains(strings.Join(faults, "\n"), test.want) {
			t.Errorf("%s: %q, want %s", test.to, faults, test.want)
		}
	}
	for _, text := range []string{"", "x", "[]", "{}", `{"meta": {"tool": "cg"}}`, `{"schema_version": {}, "document": "monitor"}`} {
		if usage.IsSaved(strings.NewReader(text)) {
			t.Errorf("%s is known as what cg monitor saved", text)
		}
	}
}

func TestFormats(t *testing.T) {
	d := reporttest.Saved[usage.Document](t, "monitor")
	for _, f := range format.Of(d) {
		if f.JSON {
			continue // the saved text, which TestSaved writes again
		}
		reporttest.Golden(t, filepath.Join("testdata", "monitor"+f.Endings[0]), reporttest.Write(t, f.Name, d, format.Options{}))
	}
	for _, table := range []string{"processes", "cgroups", "targets", "domains", "ledger"} {
		reporttest.Golden(t, filepath.Join("testdata", table+".csv"),
			reporttest.Write(t, "csv", d, format.Options{Chosen: map[string]string{"table": table}}))
	}
	// Without requests the table is that of the processes.
	d.Requests = nil
	if !bytes.HasPrefix(reporttest.Write(t, "csv", d, format.Options{}), []byte("pid,")) {
		t.Error("the table is not that of the processes")
	}
}
