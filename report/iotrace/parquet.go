package iotrace

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"cg/recorder/analysis"
	"cg/report/format"
	"cg/report/tables"
	"cg/shown"
)

// kinds are those of columns.
var kinds = map[byte]tables.Kind{'s': tables.Text, 'n': tables.Number, 'i': tables.Integer, 'u': tables.Count,
	'b': tables.Flag}

// WriteParquet writes all tables, a file each (Apache Parquet). The first column of each is the
// name of the trace, so that tables of several traces can be read as one. What is not known is NULL.
func WriteParquet(create format.Create, d *Document, _ format.Options) error {
	for _, s := range sheets() {
		f, err := create(s.name + ".parquet")
		if err != nil {
			return err
		}
		if err := errors.Join(d.parquet(f, s), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// parquet writes a table.
func (d *Document) parquet(w io.Writer, s sheet) error {
	columns := []tables.Column{{Name: "trace", Kind: tables.Text}}
	for word := range strings.FieldsSeq(strings.Replace(s.columns, "energy", energyColumns, 1)) {
		name, kind, _ := strings.Cut(word, ":")
		columns = append(columns, tables.Column{Name: name, Kind: kinds[kind[0]],
			Optional: strings.HasSuffix(kind, "?")})
	}
	b := bufio.NewWriterSize(w, 1<<16)
	t := tables.New(b, columns, [2]string{"cg.table", s.name})
	trace := shown.Line(d.Name)
	row := make([]any, 0, len(columns))
	err := s.rows(d, func(cells ...any) error {
		row = append(row[:0], trace)
		for _, c := range cells {
			switch c := c.(type) {
			case string:
				row = append(row, shown.Line(c))
			case int:
				row = append(row, int64(c))
			case *analysis.Energy:
				row = append(row, energyValues(c)...)
			default:
				row = append(row, c)
			}
		}
		return t.Row(row...)
	})
	return errors.Join(err, t.Close(), b.Flush())
}

func energyValues(e *analysis.Energy) []any {
	if e == nil {
		return make([]any, 5)
	}
	var w any
	if e.W != nil {
		w = *e.W
	}
	return []any{e.J, e.LoJ, e.HiJ, w, e.Kind}
}
