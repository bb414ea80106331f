package iotrace

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"cg/recorder/analysis"
	"cg/report/figures"
	"cg/report/format"
	"cg/shown"
)

// section is a part of the document: a title, and a table. The first column is text, and
// so are those that are in Left.
type section struct {
	title string
	head  []string
	rows  [][]string
	// more is how many rows were left out.
	more int
	note string
}

// bytesOf writes a number of bytes.
func bytesOf(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return figures.Digits(v) + " " + units[i]
}

// joules, interval and watts write an energy, "?" where it is not known.
func (d *Document) joules(e *analysis.Energy) string {
	if e == nil {
		return "?"
	}
	return d.mark() + figures.Joules(e.J)
}

func interval(e *analysis.Energy) string {
	if e == nil {
		return "?"
	}
	return "[" + figures.Joules(e.LoJ) + ", " + figures.Joules(e.HiJ) + "]"
}

func (d *Document) watts(e *analysis.Energy) string {
	if e == nil || e.W == nil {
		return "?"
	}
	return d.mark() + figures.Watts(e.W)
}

// energyHead are the columns of energies, if there are any.
func (d *Document) energyHead() []string {
	if !d.energies() {
		return nil
	}
	return []string{"energy", "interval", "power"}
}

func (d *Document) energyCells(e *analysis.Energy) []string {
	if !d.energies() {
		return nil
	}
	return []string{d.joules(e), interval(e), d.watts(e)}
}

func count(n uint64) string { return figures.Count(n) }

func bandwidth(v float64) string {
	if v == 0 {
		return "-"
	}
	return figures.Digits(v) + " MiB/s"
}

// performance is section 0.
func (d *Document) performance() section {
	p := d.Analysis.Performance
	s := section{title: "0 Performance", head: []string{"", ""}}
	row := func(name, value string) { s.rows = append(s.rows, []string{name, value}) }
	row("records", count(p.Records))
	row("from first to last", figures.Seconds(p.SpanS))
	share := ""
	if all := p.SpanS * float64(d.To-d.From); all > 0 {
		share = fmt.Sprintf(", %.1f %% of the ranks' time", 100*p.IOS/all)
	}
	row("in calls of I/O", figures.Seconds(p.IOS)+share)
	row("read", fmt.Sprintf("%s in %s, %s", bytesOf(p.ReadBytes), figures.Seconds(p.ReadS), bandwidth(p.ReadMBs())))
	row("written", fmt.Sprintf("%s in %s, %s", bytesOf(p.WrittenBytes), figures.Seconds(p.WriteS),
		bandwidth(p.WriteMBs())))
	row("metadata", figures.Seconds(p.MetaS))
	if d.energies() {
		row("energy", fmt.Sprintf("%s %s, %s", d.joules(p.Energy), interval(p.Energy), d.watts(p.Energy)))
		row("of which I/O", fmt.Sprintf("%s %s, %s", d.joules(p.IOEnergy), interval(p.IOEnergy), d.watts(p.IOEnergy)))
	}
	return s
}

// Sections are all tables, with so many rows of each as rows allows of n.
func (d *Document) sections(rows func(n int) int) []section {
	a := d.Analysis
	out := []section{d.performance()}
	s := section{title: "1 Ranks: records, files, I/O", head: append([]string{"rank", "records", "files", "in I/O",
		"read",
		"written"}, d.energyHead()...)}
	n := rows(len(a.Ranks))
	for _, r := range a.Ranks[:n] {
		s.rows = append(s.rows, append([]string{fmt.Sprint(r.Rank), count(r.Records), fmt.Sprint(r.Accessed),
			figures.Seconds(r.IOS), bytesOf(r.ReadBytes), bytesOf(r.WrittenBytes)}, d.energyCells(r.IOEnergy)...))
	}
	s.more = len(a.Ranks) - n
	out = append(out, s)

	s = section{title: "2.1 Layers", head: []string{"layer", "calls"}}
	for _, l := range a.Layers {
		s.rows = append(s.rows, []string{l.Name, count(l.Calls)})
	}
	out = append(out, s)

	s = section{title: "2.2 Patterns of accesses", head: []string{"of", "consecutive", "sequential", "random"}}
	if p := a.Patterns.Files; p != nil {
		s.rows = append(s.rows, []string{"each file", count(p.Consecutive), count(p.Sequential), count(p.Random)})
	} else {
		s.note = "there are too many accesses to put those of all ranks into one order"
	}
	p := a.Patterns.Ranks
	s.rows = append(s.rows, []string{"each rank in a file", count(p.Consecutive), count(p.Sequential), count(p.Random)})
	out = append(out, s)

	s = section{title: "2.3, 2.4 Functions: calls and seconds", head: append([]string{"function", "layer", "calls",
		"seconds"}, d.energyHead()...)}
	n = rows(len(a.Functions))
	for _, f := range a.Functions[:n] {
		s.rows = append(s.rows, append([]string{f.Name, f.Layer, count(f.Calls), figures.Seconds(f.Seconds)},
			d.energyCells(f.Energy)...))
	}
	s.more = len(a.Functions) - n
	out = append(out, s, d.activity())
	return append(out, d.fileSections(rows)...)
}

// activity is section 3.1 as far as text shows it: a line for each row.
func (d *Document) activity() section {
	act := d.Analysis.Activity
	s := section{title: "3.1 Activity over time (r reads, w writes, x both)", head: []string{"ranks", ""}}
	const width, most = 60, 16
	step := max(1, (len(act.ReadS)+most-1)/most)
	for from := 0; from < len(act.ReadS); from += step {
		to := min(from+step, len(act.ReadS))
		line := []byte(strings.Repeat(".", width))
		for row := from; row < to; row++ {
			for i := range act.ReadS[row] {
				at := i * width / len(act.ReadS[row])
				r, w := act.ReadS[row][i] > 0, act.WriteS[row][i] > 0
				switch c := line[at]; {
				case r && w, r && c == 'w', w && c == 'r':
					line[at] = 'x'
				case c == 'x':
				case r:
					line[at] = 'r'
				case w:
					line[at] = 'w'
				}
			}
		}
		first, last := d.From+from*act.RanksPerRow, min(d.From+to*act.RanksPerRow, d.To)-1
		name := fmt.Sprint(first)
		if last > first {
			name = fmt.Sprintf("%d-%d", first, last)
		}
		s.rows = append(s.rows, []string{name, string(line)})
	}
	if len(act.ReadS) > 0 {
		s.note = "from 0 to " + figures.Seconds(act.BinS*float64(len(act.ReadS[0])))
	}
	return s
}

// fileSections are those of files and sizes.
func (d *Document) fileSections(rows func(n int) int) (out []section) {
	a := d.Analysis
	n := rows(len(a.Files))
	s := section{title: "3.4 Overlapping accesses: same rank, different ranks", head: []string{"file", "RAR",
		"RAW", "WAW", "WAR",
		"RAR", "RAW", "WAW", "WAR"}}
	for _, f := range a.Files[:n] {
		o := f.Overlaps
		if o == nil {
			s.note = "there are too many accesses to compare them"
			break
		}
		s.rows = append(s.rows, []string{f.Name, count(o.RARSame), count(o.RAWSame), count(o.WAWSame), count(o.WARSame),
			count(o.RAROther), count(o.RAWOther), count(o.WAWOther), count(o.WAROther)})
	}
	if a.Patterns.OverlapsOf == "runs" {
		s.note = "counted of runs of consecutive accesses: there are too many to compare each"
	}
	s.more = len(a.Files) - n
	out = append(out, s)
	s = section{title: "4.1 Files: bytes, seconds, bandwidth", head: append([]string{"file", "ranks", "written",
		"in", "bandwidth",
		"read", "in", "bandwidth", "metadata"}, d.energyHead()...), more: len(a.Files) - n}
	for _, f := range a.Files[:n] {
		s.rows = append(s.rows, append([]string{f.Name, fmt.Sprint(f.Ranks), bytesOf(f.WrittenBytes),
			figures.Seconds(f.WriteS),
			bandwidth(f.WriteMB), bytesOf(f.ReadBytes), figures.Seconds(f.ReadS), bandwidth(f.ReadMB),
			figures.Seconds(f.MetaS)}, d.energyCells(f.Energy)...))
	}
	out = append(out, s)
	for _, sizes := range []struct {
		title string
		all   []analysis.Size
	}{{"4.2 Sizes of reads", a.ReadSizes}, {"4.2 Sizes of writes", a.WriteSizes}} {
		n := rows(len(sizes.all))
		s := section{title: sizes.title, head: []string{"bytes", "count"}, more: len(sizes.all) - n}
		for _, size := range sizes.all[:n] {
			s.rows = append(s.rows, []string{count(uint64(size.Bytes)), count(size.Count)})
		}
		out = append(out, s)
	}
	return out
}

// WriteText lays the sections out for a terminal.
func WriteText(w io.Writer, d *Document, o format.Options) error {
	var b bytes.Buffer
	shown.Fprintf(&b, "%s\n", d.Title())
	for _, s := range d.sections(o.Rows) {
		if len(s.rows) == 0 && s.note == "" {
			continue
		}
		title := shown.Sprintf("%s", s.title)
		if o.Color {
			title = "\x1b[1m" + title + "\x1b[0m"
		}
		b.WriteString("\n" + title + "\n")
		layTable(&b, s, max(o.Width, 80))
		if s.more > 0 {
			shown.Fprintf(&b, "  and %d more (--verbose)\n", s.more)
		}
		if s.note != "" {
			shown.Fprintf(&b, "  %s\n", s.note)
		}
	}
	if len(d.Analysis.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range d.Analysis.Notes {
		shown.Fprintf(&b, "note: %s\n", note)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// layTable writes a table, the first column on the left and as wide as is left.
func layTable(b *bytes.Buffer, s section, width int) {
	all := s.rows
	if strings.Join(s.head, "") != "" {
		all = append([][]string{s.head}, s.rows...)
	}
	widths := make([]int, len(s.head))
	safe := make([][]string, len(all))
	for i, row := range all {
		for k, cell := range row {
			text := shown.Line(cell)
			safe[i] = append(safe[i], text)
			widths[k] = max(widths[k], utf8.RuneCountInString(text))
		}
	}
	rest := width - 2
	for _, w := range widths[1:] {
		rest -= w + 2
	}
	widths[0] = min(widths[0], max(rest, 20))
	for _, row := range safe {
		line := "  "
		for k, text := range row {
			pad := widths[k] - utf8.RuneCountInString(text)
			if k == 0 {
				line += cutFront(text, widths[0]) + strings.Repeat(" ", max(0, pad))
				continue
			}
			if len(row) == 2 { // the second of two is text
				line += "  " + text
				continue
			}
			line += "  " + strings.Repeat(" ", max(0, pad)) + text
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// cutFront keeps the end of a path that is too long.
func cutFront(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return "…" + string(r[len(r)-width+1:])
}
