// Package parquet writes runs as a folder of tables in Apache Parquet, for DuckDB, Polars,
// pandas, Spark and Dask.
package parquet

import (
	"bufio"
	"errors"
	"io"
	"math"

	"cg/report"
	"cg/report/format"
	"cg/report/iotrace"
	"cg/report/tables"
	"cg/shown"
)

func init() {
	format.Register(format.Format{
		Name: "parquet", Title: "a folder of tables for DuckDB, Polars, pandas, Spark", Endings: []string{".parquet"},
		Table: true, Parts: true,
		Writers: []format.Writer{
			format.WritesFolder(func(create format.Create, r *report.Run, o format.Options) error {
				return write(create, report.Several{r}, o)
			}),
			format.WritesFolder(write), format.WritesFolder(writeCluster), format.WritesFolder(iotrace.WriteParquet),
			format.WritesFolder(writeStream),
		},
	})
}

// write writes the tables of runs, a file for each.
func write(create format.Create, runs report.Several, o format.Options) (err error) {
	f := &folder{create: create, ending: ".parquet", open: map[string]*table{}}
	for _, name := range order {
		f.table(name)
	}
	for i, r := range runs {
		id := identity{run: r.Meta.RunID, node: r.Meta.Hostname}
		if i < len(o.Names) {
			id.run = o.Names[i]
		}
		f.run(id, r)
		f.node(id, r)
		f.rank(id, r)
		f.details(id, r)
		f.samples(id, r)
	}
	return f.close()
}

// identity is where the rows of a table come from.
type identity struct {
	run, node string
	rank      int64
}

// folder has the tables that are being written. The first error stays.
type folder struct {
	create format.Create
	ending string // of a table's name: the name of its file
	within bool   // the name of a node is in that of the file, and not in the rows
	open   map[string]*table
	err    error
}

// table is a table that is being written.
type table struct {
	*tables.Table
	columns []tables.Column
	buffer  *bufio.Writer
	file    io.Closer
	drop    int // column that the rows are written without, -1 for none
}

// table gives a table, which is made when it is asked for first.
func (f *folder) table(name string) *table {
	if t := f.open[name]; t != nil || f.err != nil {
		return t
	}
	w, err := f.create(name + f.ending)
	if err != nil {
		f.err = err
		return nil
	}
	t := &table{columns: columns()[name], buffer: bufio.NewWriterSize(w, 1<<16), file: w, drop: -1}
	kept := t.columns
	if f.within {
		t.drop = 1
		kept = append([]tables.Column{kept[0]}, kept[2:]...)
	}
	t.Table = tables.New(t.buffer, kept, [2]string{"cg.table", name})
	f.open[name] = t
	return t
}

// row adds a row to a table. Pointers that are nil are unknown values, and energies are
// joules.
func (f *folder) row(name string, id identity, values ...any) {
	t := f.table(name)
	if t == nil || f.err != nil {
		return
	}
	row := make([]any, 0, len(t.columns))
	row = append(row, shown.Line(id.run))
	if t.drop < 0 {
		row = append(row, shown.Line(id.node))
	}
	for _, v := range values {
		row = append(row, plain(v))
	}
	f.err = t.Row(row...)
}

// plain is a value as a table takes it.
func plain(v any) any {
	switch v := v.(type) {
	case string:
		return shown.Line(v)
	case int:
		return int64(v)
	case uint32:
		return int64(v)
	case report.Joules:
		return v.Float()
	case *report.Joules:
		if v == nil {
			return nil
		}
		return v.Float()
	case *float64:
		if v == nil || math.IsNaN(*v) {
			return nil
		}
		return *v
	case *int64:
		if v == nil {
			return nil
		}
		return *v
	}
	return v
}

// close completes the files.
func (f *folder) close() error {
	for _, t := range f.open {
		err := t.Close()
		f.err = errors.Join(f.err, err, t.buffer.Flush(), t.file.Close())
	}
	clear(f.open)
	return f.err
}
