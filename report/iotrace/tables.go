package iotrace

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"cg/recorder"
	"cg/recorder/analysis"
	"cg/report/format"
	"cg/shown"
)

// tables are those that CSV can hold.
var tables = format.Choice{Flag: "table", Usage: "`WHICH` table",
	Values: []string{"functions", "files", "ranks", "sizes", "activity", "accesses", "records"}}

// table writes rows of a CSV.
type table struct {
	c        *csv.Writer
	energies bool
}

func (t *table) row(cells ...any) {
	var out []string
	for _, c := range cells {
		switch c := c.(type) {
		case string:
			out = append(out, shown.Cell(c))
		case float64:
			out = append(out, strconv.FormatFloat(c, 'f', -1, 64))
		case *analysis.Energy:
			if t.energies {
				out = append(out, energyCells(c)...)
			}
		default:
			out = append(out, fmt.Sprint(c))
		}
	}
	t.c.Write(out)
}

// energyColumns are the names of an energy's columns.
var energyColumns = []string{"energy_j", "energy_lo_j", "energy_hi_j", "avg_power_w", "energy_kind"}

func energyCells(e *analysis.Energy) []string {
	if e == nil {
		return []string{"", "", "", "", ""}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 9, 64) }
	w := ""
	if e.W != nil {
		w = number(*e.W)
	}
	return []string{number(e.J), number(e.LoJ), number(e.HiJ), w, e.Kind}
}

// head writes the names of columns, with those of energies where "energy" stands.
func (t *table) head(names string) {
	var out []string
	for _, name := range strings.Fields(names) {
		if name != "energy" {
			out = append(out, name)
		} else if t.energies {
			out = append(out, energyColumns...)
		}
	}
	t.c.Write(out)
}

// WriteCSV writes a table (RFC 4180), its columns named like the fields of the JSON.
func WriteCSV(w io.Writer, d *Document, o format.Options) error {
	which, err := o.Choose(tables)
	if err != nil {
		return err
	}
	t := &table{csv.NewWriter(w), d.energies()}
	a := d.Analysis
	switch which {
	case "functions":
		t.head("name layer calls seconds energy")
		for _, f := range a.Functions {
			t.row(f.Name, f.Layer, f.Calls, f.Seconds, f.Energy)
		}
	case "files":
		t.head("name ranks reads bytes_read read_s read_mib_per_s writes bytes_written write_s write_mib_per_s " +
			"metadata_s " +
			"rar_same_rank raw_same_rank waw_same_rank war_same_rank rar_different_rank raw_different_rank " +
			"waw_different_rank war_different_rank energy")
		for _, f := range a.Files {
			v := make([]any, 8)
			for i := range v {
				v[i] = ""
			}
			if p := f.Overlaps; p != nil {
				v = []any{p.RARSame, p.RAWSame, p.WAWSame, p.WARSame, p.RAROther, p.RAWOther, p.WAWOther, p.WAROther}
			}
			t.row(append(append([]any{f.Name, f.Ranks, f.Reads, f.ReadBytes, f.ReadS, f.ReadMB, f.Writes,
				f.WrittenBytes,
				f.WriteS, f.WriteMB, f.MetaS}, v...), f.Energy)...)
		}
	case "ranks":
		t.head("rank total_records num_files files_accessed start_s end_s io_s bytes_read read_s bytes_written " +
			"write_s " +
			"metadata_s energy")
		for _, r := range a.Ranks {
			t.row(r.Rank, r.Records, r.NumFiles, r.Accessed, r.StartS, r.EndS, r.IOS, r.ReadBytes, r.ReadS,
				r.WrittenBytes,
				r.WriteS, r.MetaS, r.IOEnergy)
		}
	default:
		if err := d.moreTables(t, which); err != nil {
			return err
		}
	}
	t.c.Flush()
	return t.c.Error()
}

// moreTables are those of what is small and many.
func (d *Document) moreTables(t *table, which string) error {
	a := d.Analysis
	switch which {
	case "sizes":
		t.head("kind bytes count")
		for _, s := range a.ReadSizes {
			t.row("read", s.Bytes, s.Count)
		}
		for _, s := range a.WriteSizes {
			t.row("write", s.Bytes, s.Count)
		}
	case "activity":
		t.head("first_rank from_s read_s write_s")
		for row := range a.Activity.ReadS {
			for i, read := range a.Activity.ReadS[row] {
				if write := a.Activity.WriteS[row][i]; read > 0 || write > 0 {
					t.row(d.From+row*a.Activity.RanksPerRow, float64(i)*a.Activity.BinS, read, write)
				}
			}
		}
	case "accesses":
		t.head("file rank from_s to_s offset count read")
		for _, f := range a.Files {
			for _, p := range f.Points {
				t.row(f.Name, p.Rank, p.From, p.To, p.Offset, p.Count, p.Read)
			}
		}
	case "records":
		t.head("rank tstart tend level func_id function layer tid args")
		for rank := d.From; rank < d.To; rank++ {
			err := d.each(rank, func(r *recorder.Record) error {
				t.row(rank, d.Trace.Seconds(r.Start), d.Trace.Seconds(r.End), r.Call.Level, r.Call.Func, r.Call.Name,
					r.Call.Layer.String(), r.Call.Thread, r.Call.Line())
				return t.c.Error()
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteMarkdown writes the sections as tables; names cannot break out of them.
func WriteMarkdown(w io.Writer, d *Document, o format.Options) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### %s\n", escaped(d.Title()))
	for _, s := range d.sections(o.Rows) {
		if len(s.rows) == 0 || strings.HasPrefix(s.title, "3.1") {
			continue
		}
		fmt.Fprintf(&b, "\n#### %s\n\n|", escaped(s.title))
		for _, h := range s.head {
			fmt.Fprintf(&b, " %s |", escaped(h))
		}
		b.WriteString("\n|---|" + strings.Repeat("---:|", len(s.head)-1) + "\n")
		for _, row := range s.rows {
			b.WriteString("|")
			for _, cell := range row {
				fmt.Fprintf(&b, " %s |", escaped(cell))
			}
			b.WriteString("\n")
		}
		if s.more > 0 {
			fmt.Fprintf(&b, "\nand %d more\n", s.more)
		}
		if s.note != "" {
			fmt.Fprintf(&b, "\n%s\n", escaped(s.note))
		}
	}
	b.WriteString("\n")
	for _, note := range d.Analysis.Notes {
		fmt.Fprintf(&b, "- %s\n", escaped(note))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// escaped is a text in which nothing means anything to Markdown or HTML.
func escaped(s string) string {
	return markdown.Replace(shown.Line(s))
}

var markdown = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "`", "&#96;", "*",
	"&#42;", "_", "&#95;",
	"[", "&#91;", "]", "&#93;", "~", "&#126;", "#", "&#35;", "\\", "&#92;", "@", "&#64;", "!", "&#33;", ":", "&#58;")
