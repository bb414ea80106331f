package merge

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"cg/shown"
)

// Lead is what was merged, in a line.
func (l *Logs) Lead() string {
	from, to := time.Unix(0, l.Start), time.Unix(0, l.At(l.Steps-1))
	return fmt.Sprintf("%s on one clock: %s to %s, %d moments, %s apart", l.count(),
		from.Format("2006-01-02 15:04:05.000 -07:00"), to.Format("15:04:05.000"), l.Steps, l.Step.String())
}

// Figures are those of each log and of all, as texts: a row has its name and what else is to be known, then columns.
func (l *Logs) Figures() (head []string, rows [][]string) {
	head = []string{"log", "energy J", "mean W", "min W", "median W", "max W"}
	for _, s := range append(l.Parts[:len(l.Parts):len(l.Parts)], l.Total) {
		rows = append(rows, []string{s.Name + s.note(l.Steps), s.mark() + figure(s.EnergyJ), figure(s.Mean),
			figure(s.Min), figure(s.Median), figure(s.Max)})
	}
	return head, rows
}

// WriteText writes the figures of each log and of all for people.
func (l *Logs) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	shown.Fprintf(b, "%s\n\n", l.Lead())
	head, rows := l.Figures()
	for _, row := range append([][]string{head}, rows...) {
		shown.Fprintf(b, "%12s %10s %10s %10s %10s  %s\n", row[1], row[2], row[3], row[4], row[5], row[0])
	}
	return b.Flush()
}

// mark stands before an energy that was estimated.
func (s Sum) mark() string {
	if s.Kind == "estimated" && !math.IsNaN(s.EnergyJ) {
		return "~"
	}
	return ""
}

// note is what else is to be known of a sum.
func (s Sum) note(steps int) string {
	var all []string
	if s.Kind == "estimated" {
		all = append(all, "estimated, not measured")
	}
	if s.Gap > 0 {
		all = append(all, fmt.Sprintf("energy without %v of gaps", s.Gap.Round(time.Millisecond)))
	}
	if s.Known < steps {
		all = append(all, fmt.Sprintf("power not known at %d of %d moments", steps-s.Known, steps))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, "; ") + ")"
}

func figure(v float64) string {
	if math.IsNaN(v) {
		return "?"
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// WriteCSV writes every column at every moment, and then the power of each log and of all. A
// cell is empty where nothing is known.
func (l *Logs) WriteCSV(w io.Writer) error {
	b := bufio.NewWriter(w)
	names, values := []string{"unix_ns"}, l.Values
	names = append(names, l.Columns...)
	for i, s := range l.Parts {
		names, values = append(names, fmt.Sprintf("%d_power_w", i)), append(values, s.Power)
	}
	names, values = append(names, "power_w"), append(values, l.Total.Power)
	for i, name := range names {
		if name = shown.Cell(name); strings.ContainsAny(name, ",\"\n") {
			name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"` // RFC 4180
		}
		names[i] = name
	}
	b.WriteString(strings.Join(names, ",") + "\n")
	var row []byte
	for i := range l.Steps {
		row = strconv.AppendInt(row[:0], l.At(i), 10)
		for _, v := range values {
			if row = append(row, ','); !math.IsNaN(v[i]) {
				row = strconv.AppendFloat(row, v[i], 'f', -1, 64)
			}
		}
		if _, err := b.Write(append(row, '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}
