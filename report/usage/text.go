package usage

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"cg/report/figures"
	"cg/shown"
)

// Text is the document as tables, with so many processes and control groups at most.
func (d *Document) Text(most int) shown.Safe {
	var b strings.Builder
	shown.Fprintf(&b, "%.1f s, %d readings, one each %s", d.DurationS, d.Readings, figures.Seconds(d.IntervalS))
	if d.Missed > 0 {
		shown.Fprintf(&b, ", %d missed", d.Missed)
	}
	b.WriteString("\n\n")
	body(&b, d.Totals, d.Ledger, d.Domains, d.Targets)
	tables(&b, d.Processes, d.Cgroups, most)
	requests(&b, d.Requests, most)
	return shown.Safe(b.String())
}

// Table is the row as tables, for a terminal of so many columns and lines, with so many
// processes and control groups at most.
func (r *Row) Table(most, width, height int) shown.Safe {
	var b strings.Builder
	shown.Fprintf(&b, "cg monitor  %s", time.Duration(r.ElapsedS*float64(time.Second)).Round(time.Second))
	if r.Missed > 0 {
		shown.Fprintf(&b, "  %d intervals missed", r.Missed)
	}
	b.WriteString("\n\n")
	body(&b, r.Total, r.Ledger, r.Domains, r.Targets)
	requests(&b, r.Requests, min(most, 3))
	left := max(0, height-strings.Count(b.String(), "\n")-4)
	tables(&b, r.Processes, r.Cgroups, min(most, left/2))
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

// body is what both have: the domains, the ledger and the targets.
func body(b *strings.Builder, t Total, ledger []Line, domains []Domain, targets []Target) {
	rows := [][]string{{"", "power", "energy", "kind", "source"}}
	rows = append(rows, []string{"machine", figures.Watts(t.PowerW), figures.Energy(t.EnergyJ),
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
		rows = append(rows, []string{name, figures.Watts(d.PowerW), figures.Energy(d.EnergyJ),
			string(d.EnergyKind), source})
	}
	lay(b, rows)
	b.WriteString("\n")
	rows = nil
	for _, l := range ledger {
		var part *float64
		if l.EnergyJ != nil && zero(t.EnergyJ) > 0 {
			part = new(100 * float64(*l.EnergyJ) / float64(*t.EnergyJ))
		}
		rows = append(rows, []string{l.Name, figures.Energy(l.EnergyJ), share(part)})
	}
	lay(b, rows)
	if len(targets) == 0 {
		return
	}
	b.WriteString("\n")
	rows = [][]string{{"", "power", "energy", "interval", "share", "cpu time", "kind", "processes"}}
	for i := range targets {
		t := &targets[i]
		there := fmt.Sprint(t.Processes)
		if t.Ended {
			there = "ended"
		}
		rows = append(rows, []string{t.Kind + " " + t.Name, figures.Watts(t.PowerW), figures.Energy(t.EnergyJ),
			interval(&t.Value),
			share(t.SharePercent), figures.Seconds(t.CPUTimeS), string(t.EnergyKind), there})
	}
	lay(b, rows)
}

// tables lists processes and control groups, so many of each at most.
func tables(b *strings.Builder, processes []Process, groups []Group, most int) {
	if len(processes) > 0 && most > 0 {
		b.WriteString("\n")
		rows := [][]string{{"process", "power", "energy", "share", "cpu time", "kind", "pid", "cgroup"}}
		for i := range processes[:min(most, len(processes))] {
			p := &processes[i]
			name := p.Name
			if p.Ended {
				name += " (ended)"
			}
			rows = append(rows, append(columns(name, &p.Value), fmt.Sprint(p.PID), p.Cgroup))
		}
		lay(b, rows)
	}
	if len(groups) > 1 && most > 0 {
		b.WriteString("\n")
		rows := [][]string{{"cgroup", "power", "energy", "share", "cpu time", "kind"}}
		for i := range groups[:min(most, len(groups))] {
			name := groups[i].Path
			if groups[i].Ended {
				name += " (ended)"
			}
			rows = append(rows, columns(name, &groups[i].Value))
		}
		lay(b, rows)
	}
}

// requests lists the dearest routes, so many at most.
func requests(b *strings.Builder, routes []Route, most int) {
	if len(routes) == 0 || most == 0 {
		return
	}
	b.WriteString("\n")
	rows := [][]string{{"request", "number", "energy", "interval", "each", "kind"}}
	for i := range routes[:min(most, len(routes))] {
		r := &routes[i]
		number := fmt.Sprint(r.Requests)
		if r.CutShort > 0 {
			number += fmt.Sprintf(" (%d cut short)", r.CutShort)
		}
		rows = append(rows, []string{r.Name, number, figures.Energy(r.EnergyJ),
			figures.Interval(r.EnergyLoJ, r.EnergyHiJ), figures.Energy(r.PerRequestJ), string(r.EnergyKind)})
	}
	lay(b, rows)
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

// widest is how wide a column may be: names of sources and groups are cut.
const widest = 44

// lay writes rows in columns. Figures stand right, the first and the last columns left.
func lay(b *strings.Builder, rows [][]string) {
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
			if i == 0 || i >= 5 || strings.HasPrefix(rows[0][i], "kind") || rows[0][i] == "source" {
				line += cell + pad + "  "
			} else {
				line += pad + cell + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
