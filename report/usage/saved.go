package usage

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"cg/report"
	"cg/report/schema"
	"cg/shown"
)

// documentName is what field "document" says of documents of cg monitor.
const documentName = "monitor"

// Kind is what people call the document.
func (*Document) Kind() string { return "a summary of cg monitor" }

// Title is what the document is about.
func (d *Document) Title() string { return "What ran on " + shown.OrUnknown(d.Hostname) }

// IsSaved reports whether a text is a document as cg monitor saves it. The text is then at its
// beginning.
func IsSaved(f io.ReadSeeker) bool {
	defer f.Seek(0, io.SeekStart)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	d := json.NewDecoder(f)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for range 2 { // schema_version, document
		key, err := d.Token()
		if err != nil {
			return false
		}
		value, err := d.Token()
		if err != nil {
			return false
		}
		if key == "document" {
			return value == documentName
		}
		if _, is := value.(string); !is {
			return false
		}
	}
	return false
}

// Read decodes a document, and refuses one of another schema.
func Read(f io.ReadSeeker) (*Document, error) {
	d := &Document{}
	if err := report.Decode(f, d); err != nil {
		return nil, fmt.Errorf("not a summary of cg monitor: %w", err)
	}
	if d.Document != documentName {
		return nil, fmt.Errorf("not a summary of cg monitor: the field document is %q", d.Document)
	}
	if d.SchemaVersion != report.SchemaVersion {
		return nil, fmt.Errorf("saved by cg %s in schema version %s, and this cg reads %s: use that cg, or a newer one",
			d.CgVersion, d.SchemaVersion, report.SchemaVersion)
	}
	return d, nil
}

var form = sync.OnceValues(func() (*schema.Schema, error) {
	b, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	return schema.Compile(b)
})

// Verify tells what is wrong in a file: its form, and its sums. The error is why it cannot be read.
func Verify(f io.ReadSeeker) (faults []string, err error) {
	d, err := Read(f)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var whole any
	if err := json.NewDecoder(f).Decode(&whole); err != nil {
		return nil, err
	}
	rules, err := form()
	if err != nil {
		return nil, err
	}
	if err := rules.Validate(whole); err != nil {
		faults = append(faults, err.Error())
	}
	return append(faults, d.Check()...), nil
}

// Check recomputes the sums of a document, and names each that is wrong: the lines of each ledger
// are the energy it divides, the domains of the total are the machine, the control groups are
// their line. Each energy lies in its interval.
func (d *Document) Check() (faults []string) {
	sum := func(what string, lines []Line, want *report.Joules) {
		got := report.Joules(0)
		for _, l := range lines {
			got += zero(l.EnergyJ)
		}
		if want != nil && got != *want {
			faults = append(faults, fmt.Sprintf("%s: the lines are %v J, the energy is %v J", what, got.Float(),
				want.Float()))
		}
	}
	sum("ledger", d.Ledger, d.Totals.EnergyJ)
	machine := report.Joules(0)
	for i := range d.Domains {
		domain := &d.Domains[i]
		sum("domains."+domain.Domain, domain.Ledger, domain.EnergyJ)
		if domain.InTotal {
			machine += zero(domain.EnergyJ)
		}
	}
	if e := d.Totals.EnergyJ; e != nil && machine != *e {
		faults = append(faults, fmt.Sprintf("totals: the domains are %v J, the energy is %v J", machine.Float(),
			e.Float()))
	}
	within := func(what string, lo, e, hi *report.Joules) {
		if e != nil && (lo == nil || hi == nil || *lo > *e || *hi < *e) {
			faults = append(faults, fmt.Sprintf("%s: the energy is not in its interval", what))
		}
	}
	groups := zero(d.EndedCgroups.EnergyJ)
	for i := range d.Cgroups {
		g := &d.Cgroups[i]
		groups += zero(g.EnergyJ)
		within("cgroups."+g.Path, g.EnergyLoJ, g.EnergyJ, g.EnergyHiJ)
	}
	if len(d.Ledger) > 0 && d.Ledger[0].EnergyJ != nil && groups != *d.Ledger[0].EnergyJ {
		faults = append(faults, fmt.Sprintf("cgroups: they are %v J, their line is %v J", groups.Float(),
			d.Ledger[0].EnergyJ.Float()))
	}
	for i := range d.Targets {
		t := &d.Targets[i]
		within("targets."+t.Kind+" "+t.Name, t.EnergyLoJ, t.EnergyJ, t.EnergyHiJ)
	}
	for i := range d.Processes {
		p := &d.Processes[i]
		within(fmt.Sprintf("processes.%d", p.PID), p.EnergyLoJ, p.EnergyJ, p.EnergyHiJ)
	}
	for i := range d.Requests {
		r := &d.Requests[i]
		within("requests."+r.Name, r.EnergyLoJ, r.EnergyJ, r.EnergyHiJ)
	}
	return faults
}
