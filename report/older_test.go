package report_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"cg/nemb"
	"cg/report"
	"cg/report/saved"
)

// oldDocument is one as a cg of schema version 1 saved it.
func oldDocument(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/schema1/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A run of the schema before is read with the names of domains that it would have now,
// and is checked as it was written.
func TestReadsOldRun(t *testing.T) {
	text := oldDocument(t, "run.json")
	r, err := report.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	if err := report.Validate(text); err != nil {
		t.Error(err)
	}
	last := r.Samples[len(r.Samples)-1]
	for where, of := range map[string]map[string]report.Joules{
		"totals": r.Totals.Domains, "task": r.Tasks[0].Domains, "function": r.Functions[0].Domains, "ledger": r.Ledger[0].Domains, "sample": last.DomainJ,
	} {
		if _, new := of["gpu0"]; !new && where != "function" {
			t.Errorf("%s: no gpu0 in %v", where, of)
		}
		if _, old := of["gpu-0"]; old {
			t.Errorf("%s: %v", where, of)
		}
	}
	// The task had the program's energy, and has the machine's.
	if program := r.Tasks[0]; *program.EnergyJ != *r.Totals.EnergyJ || *program.EnergyJ <= *program.ProgramEnergyJ || *program.ProgramEnergyJ != *r.Totals.ProgramEnergyJ ||
		program.Domains["gpu0"] == 0 {
		t.Errorf("%+v", program)
	}
	if place, ok := r.Meta.DomainTopology["gpu0"]; !ok || !place.TopLevel || r.Meta.SchemaVersion != report.SchemaVersion {
		t.Errorf("%+v", r.Meta)
	}
	again, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if r, err := report.Read(again); err != nil || len(r.Check()) > 0 || bytes.Contains(again, []byte(`"gpu-0"`)) {
		t.Error(err, r.Check())
	}
	changed := bytes.Replace(text, []byte(`"hostname": "`), []byte(`"hostname": "x`), 1)
	if r, err := report.Read(changed); err != nil || len(r.Check()) != 1 || !strings.Contains(r.Check()[0], "the file is not as it was written") {
		t.Error(err, r.Check())
	}
}

// Tests had the program's energy. Of the machine's meanwhile nothing was saved.
func TestReadsOldTests(t *testing.T) {
	text := oldDocument(t, "suite.json")
	r, err := report.Read(text)
	if err != nil || len(r.Check()) > 0 || report.Validate(text) != nil {
		t.Fatal(err, r.Check(), report.Validate(text))
	}
	for _, test := range r.Tasks[1:] {
		if test.EnergyJ != nil || test.ProgramEnergyJ == nil || test.Kind != nemb.Unavailable || len(test.Domains) > 0 ||
			r.UsedKind(test) != r.Totals.Kind {
			t.Errorf("%+v", test)
		}
	}
	if e, lo, hi := r.Tasks[1].Used(); e.Float() != 8 || *lo != 0 || hi.Float() != 20 {
		t.Errorf("%v [%v, %v]", e, lo, hi)
	}
}

// The tasks of a session's stream had the machine's energy then, too.
func TestReadsOldStreamOfASession(t *testing.T) {
	e := new(report.Joules)
	r := report.Run{Meta: report.Meta{SchemaVersion: "1", Tool: "codegreen.Session"}, Tasks: []report.Task{{Depth: 1, EnergyJ: e}}}
	r.Renew()
	if task := r.Tasks[0]; task.EnergyJ != e || task.ProgramShare != nil {
		t.Errorf("%+v", task)
	}
}

// What lies in the only package has no number any more.
func TestReadsOldRepeated(t *testing.T) {
	d, err := saved.Read(bytes.NewReader(oldDocument(t, "repeated.json")))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Repeated.All() {
		if _, ok := c.Domains["dram"]; !ok || !slices.Contains(c.Backend.DomainsSeen, "dram") {
			t.Errorf("%v, %v", c.Domains, c.Backend.DomainsSeen)
		}
		for _, m := range c.Measurements {
			if _, ok := m.Domains["dram"]; !ok && m.EnergyJ != nil {
				t.Errorf("%v", m.Domains)
			}
		}
	}
}

func TestNewNamesOfDomains(t *testing.T) {
	for _, test := range []struct{ old, want string }{
		{"package-0 core-0 uncore-0 dram-0 gpu-0 gpu-1 psys", "package-0 core uncore dram gpu0 gpu1 psys"},
		{"package-0 core-0 package-1 core-1 dram-0 dram-1 gpu-0", "package-0 core-0 package-1 core-1 dram-0 dram-1 gpu0"},
		{"package-0-die-0 core-0-die-0 package-0-die-1 core-0-die-1", "package-0-die-0 core-0-die-0 package-0-die-1 core-0-die-1"},
		{"package-1 core-1 dram-0", "package-1 core dram-0"},
		{"dram-0 machine gpu-amd-0", "dram machine gpu-amd-0"},
	} {
		old := strings.Fields(test.old)
		topology := map[string]report.Topology{}
		for _, id := range old {
			topology[id] = report.Topology{Includes: old}
		}
		r := &report.Run{Meta: report.Meta{SchemaVersion: "1", DomainTopology: topology}}
		report.Renew(&r.Meta, r)
		for i, want := range strings.Fields(test.want) {
			if place, ok := r.Meta.DomainTopology[want]; !ok || place.Includes[i] != want {
				t.Errorf("%s: %v, no %s", test.old, r.Meta.DomainTopology, want)
			}
		}
	}
}
