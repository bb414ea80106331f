package usage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cg/report/figures"
	"cg/shown"
)

// Table is a part of a document for people. Its texts are not escaped. The first column is a
// name, the others are figures but for kind, source and cgroup.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
	More    int // rows that are left out
}

// titleLedger is the title of the ledger's table.
const titleLedger = "Ledger"

// Facts are what stands above the tables: names and values.
func (d *Document) Facts() [][2]string {
	facts := [][2]string{
		{"Machine", fmt.Sprintf("%s, %s, %s", figures.Energy(d.Totals.EnergyJ), figures.Watts(d.Totals.PowerW),
			string(d.Totals.EnergyKind))},
		{"Time", d.span()},
		{"From", time.Unix(0, d.BeginUnixNs).UTC().Format(time.RFC3339)},
		{"Host", shown.OrUnknown(d.Hostname) + ", " + shown.OrUnknown(d.CPUModel)},
	}
	if d.IgnoredAnnotations > 0 {
		facts = append(facts, [2]string{"Ignored", fmt.Sprintf("%d annotations of requests", d.IgnoredAnnotations)})
	}
	if len(d.Others) > 0 {
		facts = append(facts, [2]string{"Others", d.others()})
	}
	return facts
}

// others names who else measured.
func (d *Document) others() string {
	return strings.Join(d.Others, ", ") + ": what their programs used is in these figures, too"
}

// Tables are the document's, with so many routes, processes and control groups at most. Those
// without rows are left out.
func (d *Document) Tables(most int) (all []Table) {
	for _, t := range []Table{domainsTable(d.Totals, d.Domains), ledgerTable(d.Totals, d.Ledger),
		targetsTable(d.Targets), routesTable(d.Requests, most), processesTable(d.Processes, most),
		groupsTable(d.Cgroups, most)} {
		if len(t.Rows) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func domainsTable(t Total, domains []Domain) Table {
	table := Table{Title: "Machine", Columns: []string{"", "power", "energy", "kind", "source"}}
	table.Rows = append(table.Rows, []string{"machine", figures.Watts(t.PowerW), figures.Energy(t.EnergyJ),
		string(t.EnergyKind), ""})
	for i := range domains {
		d := &domains[i]
		name := d.Domain
		if !d.InTotal {
			name += " (in another)"
		}
		source := d.EnergySource
		if !d.Readable {
			source += ": the last reading failed"
		}
		if d.GPUReason != "" {
			source = "unattributed (" + d.GPUReason + "), " + source
		}
		table.Rows = append(table.Rows, []string{name, figures.Watts(d.PowerW), figures.Energy(d.EnergyJ),
			string(d.EnergyKind), source})
	}
	return table
}

func ledgerTable(t Total, ledger []Line) Table {
	table := Table{Title: titleLedger, Columns: []string{"line", "energy", "share"}}
	for _, l := range ledger {
		var part *float64
		if l.EnergyJ != nil && zero(t.EnergyJ) > 0 {
			part = new(100 * float64(*l.EnergyJ) / float64(*t.EnergyJ))
		}
		table.Rows = append(table.Rows, []string{l.Name, figures.Energy(l.EnergyJ), share(part)})
	}
	return table
}

func targetsTable(targets []Target) Table {
	table := Table{Title: "Targets",
		Columns: []string{"", "power", "energy", "interval", "share", "cpu time", "kind", "processes"}}
	for i := range targets {
		t := &targets[i]
		there := fmt.Sprint(t.Processes)
		if t.Ended {
			there = "ended"
		}
		table.Rows = append(table.Rows, []string{t.Kind + " " + t.Name, figures.Watts(t.PowerW),
			figures.Energy(t.EnergyJ), interval(&t.Value), share(t.SharePercent), figures.Seconds(t.CPUTimeS),
			string(t.EnergyKind), there})
	}
	gpuColumn(&table, func(i int) *Value { return &targets[i].Value })
	return table
}

// first is how many rows of n a table has with so many at most, and how many are left out.
func first(n, most int) (rows, more int) {
	rows = min(n, max(0, most))
	return rows, n - rows
}

func processesTable(processes []Process, most int) Table {
	table := Table{Title: "Processes",
		Columns: []string{"process", "power", "energy", "share", "cpu time", "kind", "pid", "cgroup"}}
	n, more := first(len(processes), most)
	table.More = more
	for i := range processes[:n] {
		p := &processes[i]
		name := p.Name
		if p.Ended {
			name += " (ended)"
		}
		table.Rows = append(table.Rows, append(columns(name, &p.Value), fmt.Sprint(p.PID), p.Cgroup))
	}
	gpuColumn(&table, func(i int) *Value { return &processes[i].Value })
	return table
}

// groupsTable lists control groups where there are several.
func groupsTable(groups []Group, most int) Table {
	table := Table{Title: "Control groups", Columns: []string{"cgroup", "power", "energy", "share", "cpu time", "kind"}}
	if len(groups) < 2 {
		return table
	}
	n, more := first(len(groups), most)
	table.More = more
	for i := range groups[:n] {
		name := groups[i].Path
		if groups[i].Ended {
			name += " (ended)"
		}
		table.Rows = append(table.Rows, columns(name, &groups[i].Value))
	}
	gpuColumn(&table, func(i int) *Value { return &groups[i].Value })
	return table
}

// gpuColumn adds what is GPUs' energy before the kind, where the drivers of GPUs are asked who uses them.
func gpuColumn(t *Table, of func(row int) *Value) {
	if len(t.Rows) == 0 || of(0).GPUEnergyJ == nil {
		return
	}
	kind := slices.Index(t.Columns, "kind")
	t.Columns = slices.Insert(t.Columns, kind, "gpu")
	for i := range t.Rows {
		t.Rows[i] = slices.Insert(t.Rows[i], kind, figures.Energy(of(i).GPUEnergyJ))
	}
}

// routesTable lists the dearest routes.
func routesTable(routes []Route, most int) Table {
	table := Table{Title: "Requests", Columns: []string{"request", "number", "energy", "interval", "each", "kind"}}
	n, more := first(len(routes), most)
	table.More = more
	for i := range routes[:n] {
		r := &routes[i]
		number := fmt.Sprint(r.Requests)
		if r.CutShort > 0 {
			number += fmt.Sprintf(" (%d cut short)", r.CutShort)
		}
		table.Rows = append(table.Rows, []string{r.Name, number, figures.Energy(r.EnergyJ),
			figures.Interval(r.EnergyLoJ, r.EnergyHiJ), figures.Energy(r.PerRequestJ), string(r.EnergyKind)})
	}
	return table
}

func columns(name string, v *Value) []string {
	return []string{name, figures.Watts(v.PowerW), figures.Energy(v.EnergyJ), share(v.SharePercent),
		figures.Seconds(v.CPUTimeS), string(v.EnergyKind)}
}

func interval(v *Value) string { return figures.Interval(v.EnergyLoJ, v.EnergyHiJ) }

// share writes a part of the machine's energy in percent.
func share(v *float64) string {
	if v == nil {
		return shown.OrUnknown("")
	}
	return fmt.Sprintf("%.1f %%", *v)
}
