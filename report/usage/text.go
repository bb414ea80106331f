package usage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"cg/report/figures"
	"cg/shown"
)

// Text is the document as tables, with so many processes and control groups at most.
func (d *Document) Text(most int) shown.Safe {
	var b strings.Builder
	b.WriteString(d.span() + "\n")
	if len(d.Others) > 0 {
		shown.Fprintf(&b, "at the same time %s\n", d.others())
	}
	for _, t := range d.Tables(most) {
		b.WriteString("\n")
		lay(&b, &t)
		if t.More > 0 {
			fmt.Fprintf(&b, "and %d more\n", t.More)
		}
	}
	return shown.Safe(b.String())
}

// span is the time of the document.
func (d *Document) span() string {
	s := fmt.Sprintf("%.1f s, %d readings, one each %s", d.DurationS, d.Readings, figures.Seconds(d.IntervalS))
	if d.Missed > 0 {
		s += fmt.Sprintf(", %d missed", d.Missed)
	}
	return s
}

// Table is the row as tables, for a terminal of so many columns and lines, with so many
// processes and control groups at most.
func (r *Row) Table(most, width, height int) shown.Safe {
	var b strings.Builder
	shown.Fprintf(&b, "cg monitor  %s", time.Duration(r.ElapsedS*float64(time.Second)).Round(time.Second))
	if r.Missed > 0 {
		shown.Fprintf(&b, "  %d intervals missed", r.Missed)
	}
	b.WriteString("\n")
	add := func(all ...Table) {
		for _, t := range all {
			if len(t.Rows) > 0 {
				b.WriteString("\n")
				lay(&b, &t)
			}
		}
	}
	add(domainsTable(r.Total, r.Domains), ledgerTable(r.Total, r.Ledger), targetsTable(r.Targets),
		routesTable(r.Requests, min(most, 3)))
	left := min(most, max(0, height-strings.Count(b.String(), "\n")-4)/2)
	add(processesTable(r.Processes, left), groupsTable(r.Cgroups, left))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = runewidth.Truncate(lines[i], max(1, width), "")
	}
	return shown.Safe(strings.Join(lines[:min(len(lines), max(1, height))], "\n") + "\n")
}

// Line is the row in one line for each target, or for the machine where there is none.
func (r *Row) Line() shown.Safe {
	var b strings.Builder
	at := fmt.Sprintf("%9.1f s", r.ElapsedS)
	if len(r.Targets) == 0 {
		shown.Fprintf(&b, "%s  machine  %10s  %10s  %s\n", at, figures.Watts(r.Total.PowerW),
			figures.Energy(r.Total.EnergyJ),
			string(r.Total.EnergyKind))
	}
	for i := range r.Targets {
		t := &r.Targets[i]
		shown.Fprintf(&b, "%s  %s %s  %10s  %10s  %s  %6s  %s\n", at, t.Kind, t.Name, figures.Watts(t.PowerW),
			figures.Energy(t.EnergyJ), interval(&t.Value), share(t.SharePercent), string(t.EnergyKind))
	}
	return shown.Safe(b.String())
}

// widest is how wide a column may be: names of sources and groups are cut.
const widest = 44

// lay writes rows in columns. Figures stand right, the first and the last columns left.
func lay(b *strings.Builder, t *Table) {
	rows := slices.Concat([][]string{t.Columns}, t.Rows)
	if t.Title == titleLedger { // whose columns need no names
		rows = t.Rows
	}
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = runewidth.Truncate(shown.Line(row[i]), widest, "…")
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell))
			if i == 0 || i >= 5 || t.Columns[i] == "kind" || t.Columns[i] == "source" {
				line += cell + pad + "  "
			} else {
				line += pad + cell + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
