package iotrace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cg/recorder"
	"cg/recorder/analysis"
	"cg/report/format"
	"cg/shown"
)

// sheet is a table: the names of its columns, and its rows.
//
// A column is a name with its kind: s text, n a number, i a whole number, u one without a
// sign, b true or false, and ? if it may be unknown. The word energy stands for the five columns of an energy.
type sheet struct {
	name    string
	columns string
	rows    func(d *Document, put func(cells ...any) error) error
}

// energyColumns are the columns of an energy.
const energyColumns = "energy_j:n? energy_lo_j:n? energy_hi_j:n? avg_power_w:n? energy_kind:s?"

// sheets are the tables.
func sheets() []sheet {
	return []sheet{
		{"functions", "name:s layer:s calls:u seconds:n energy", functionRows},
		{"files", "name:s ranks:i reads:u bytes_read:i read_s:n read_mib_per_s:n writes:u bytes_written:i write_s:n " +
			"write_mib_per_s:n metadata_s:n rar_same_rank:u? raw_same_rank:u? waw_same_rank:u? war_same_rank:u? " +
			"rar_different_rank:u? raw_different_rank:u? waw_different_rank:u? war_different_rank:u? energy", fileRows},
		{"ranks", "rank:i total_records:u num_files:i files_accessed:i start_s:n end_s:n io_s:n bytes_read:i " +
			"read_s:n bytes_written:i write_s:n metadata_s:n energy", rankRows},
		{"trace", "version:s ranks:i start_ts:n time_resolution:n total_records:u span_s:n io_s:n bytes_read:i " +
			"read_s:n bytes_written:i write_s:n metadata_s:n energy", traceRows},
		{"layers", "name:s calls:u", layerRows},
		{"patterns", "of:s consecutive:u sequential:u random:u", patternRows},
		{"sizes", "kind:s bytes:i count:u", sizeRows},
		{"activity", "first_rank:i from_s:n read_s:n write_s:n", activityRows},
		{"accesses", "file:s rank:i from_s:n to_s:n offset:i count:i read:b", accessRows},
		{"records", "rank:i tstart:n tend:n level:i func_id:i function:s layer:s tid:u args:s", recordRows},
	}
}

// tableChoice is the choice of one of them.
func tableChoice() format.Choice {
	c := format.Choice{Flag: "table"}
	for _, s := range sheets() {
		c.Values = append(c.Values, s.name)
	}
	return c
}

func functionRows(d *Document, put func(...any) error) error {
	for _, f := range d.Analysis.Functions {
		if err := put(f.Name, f.Layer, f.Calls, f.Seconds, f.Energy); err != nil {
			return err
		}
	}
	return nil
}

func fileRows(d *Document, put func(...any) error) error {
	for _, f := range d.Analysis.Files {
		v := make([]any, 8)
		if p := f.Overlaps; p != nil {
			v = []any{p.RARSame, p.RAWSame, p.WAWSame, p.WARSame, p.RAROther, p.RAWOther, p.WAWOther, p.WAROther}
		}
		row := append([]any{f.Name, f.Ranks, f.Reads, f.ReadBytes, f.ReadS, f.ReadMB, f.Writes, f.WrittenBytes,
			f.WriteS, f.WriteMB, f.MetaS}, v...)
		if err := put(append(row, f.Energy)...); err != nil {
			return err
		}
	}
	return nil
}

func rankRows(d *Document, put func(...any) error) error {
	for _, r := range d.Analysis.Ranks {
		if err := put(r.Rank, r.Records, r.NumFiles, r.Accessed, r.StartS, r.EndS, r.IOS, r.ReadBytes, r.ReadS,
			r.WrittenBytes, r.WriteS, r.MetaS, r.IOEnergy); err != nil {
			return err
		}
	}
	return nil
}

func traceRows(d *Document, put func(...any) error) error {
	p := d.Analysis.Performance
	return put(d.Trace.Version, d.To-d.From, d.Trace.Start, d.Trace.Resolution, p.Records, p.SpanS, p.IOS, p.ReadBytes,
		p.ReadS, p.WrittenBytes, p.WriteS, p.MetaS, p.Energy)
}

func layerRows(d *Document, put func(...any) error) error {
	for _, l := range d.Analysis.Layers {
		if err := put(l.Name, l.Calls); err != nil {
			return err
		}
	}
	return nil
}

func patternRows(d *Document, put func(...any) error) error {
	p := d.Analysis.Patterns
	if f := p.Files; f != nil {
		if err := put("each file", f.Consecutive, f.Sequential, f.Random); err != nil {
			return err
		}
	}
	return put("each rank in a file", p.Ranks.Consecutive, p.Ranks.Sequential, p.Ranks.Random)
}

func sizeRows(d *Document, put func(...any) error) error {
	for i, all := range [][]analysis.Size{d.Analysis.ReadSizes, d.Analysis.WriteSizes} {
		for _, s := range all {
			if err := put([]string{"read", "write"}[i], s.Bytes, s.Count); err != nil {
				return err
			}
		}
	}
	return nil
}

func activityRows(d *Document, put func(...any) error) error {
	a := d.Analysis.Activity
	for row := range a.ReadS {
		for i, read := range a.ReadS[row] {
			write := a.WriteS[row][i]
			if read <= 0 && write <= 0 {
				continue
			}
			if err := put(d.From+row*a.RanksPerRow, float64(i)*a.BinS, read, write); err != nil {
				return err
			}
		}
	}
	return nil
}

func accessRows(d *Document, put func(...any) error) error {
	for _, f := range d.Analysis.Files {
		for _, p := range f.Points {
			if err := put(f.Name, p.Rank, p.From, p.To, p.Offset, p.Count, p.Read); err != nil {
				return err
			}
		}
	}
	return nil
}

func recordRows(d *Document, put func(...any) error) error {
	for rank := d.From; rank < d.To && d.Most != 0; rank++ {
		n := 0
		err := d.each(rank, func(r *recorder.Record) error {
			err := put(rank, d.Trace.Seconds(r.Start), d.Trace.Seconds(r.End), int(r.Call.Level), r.Call.Func,
				r.Call.Name, r.Call.Layer.String(), r.Call.Thread, r.Call.Line())
			if n++; err == nil && n == d.Most {
				err = errEnough
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes a table (RFC 4180), its columns named like the fields of the JSON. It
// has columns of energies if there are any.
func WriteCSV(w io.Writer, d *Document, o format.Options) error {
	which, err := o.Choose(tableChoice())
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	all := sheets()
	s := all[slices.IndexFunc(all, func(s sheet) bool { return s.name == which })]
	energies := ""
	if d.energies() {
		energies = energyColumns
	}
	var head []string
	for word := range strings.FieldsSeq(strings.Replace(s.columns, "energy", energies, 1)) {
		name, _, _ := strings.Cut(word, ":")
		head = append(head, name)
	}
	out.Write(head)
	err = s.rows(d, func(cells ...any) error {
		var row []string
		for _, c := range cells {
			switch c := c.(type) {
			case nil:
				row = append(row, "")
			case string:
				row = append(row, shown.Cell(c))
			case float64:
				row = append(row, strconv.FormatFloat(c, 'f', -1, 64))
			case *analysis.Energy:
				if d.energies() {
					row = append(row, energyCells(c)...)
				}
			default:
				row = append(row, fmt.Sprint(c))
			}
		}
		return out.Write(row)
	})
	out.Flush()
	return errors.Join(err, out.Error())
}

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
