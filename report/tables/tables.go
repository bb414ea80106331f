// Package tables writes tables as files in Apache Parquet
// (github.com/apache/parquet-format), which DuckDB, Polars, Spark, Dask and pandas read.
//
// A Table takes rows and holds no more of them in memory than a row group of a few MiB.
// The file's metadata is encoded by parquet-go's packages format and thrift. The rest of
// parquet-go initializes 1 to 6 ms at each start of a program, so the pages, which are
// values one after the other, are written here: encoding PLAIN, codec GZIP.
package tables

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Kind is what the values of a column are.
type Kind int

// The kinds, and what readers call them.
const (
	Text    Kind = iota // VARCHAR, UTF-8
	Integer             // BIGINT
	Count               // UBIGINT
	Number              // DOUBLE
	Flag                // BOOLEAN
)

// Column is a column of a table. A value of an optional one may be unknown, which
// readers show as NULL.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// groupBytes is how many bytes of values a row group has at most, and one row more.
const groupBytes = 8 << 20

// magic begins and ends a file.
const magic = "PAR1"

// Table writes a table to a file.
type Table struct {
	w       io.Writer
	at      int64
	columns []*column
	rows    int64 // of the row group that is open
	held    int   // bytes of it
	meta    format.FileMetaData
	zip     *gzip.Writer
	err     error
}

// column are the values of a column in the row group that is open.
type column struct {
	Column
	values   []byte // PLAIN
	bits     int    // of the last byte of values that are used, of flags
	levels   []byte // runs of values that are there or not: RLE, bit width 1
	run      uint64 // length of the last run
	there    bool   // what it is of
	nulls    int64
	min, max []byte // of Integer and Count, PLAIN
}

// New begins a table. Notes are kept in the file's metadata, by their keys.
func New(w io.Writer, columns []Column, notes ...[2]string) *Table {
	t := &Table{w: w}
	t.zip, _ = gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	t.meta.Version = 1
	t.meta.CreatedBy = "cg"
	for _, n := range notes {
		t.meta.KeyValueMetadata = append(t.meta.KeyValueMetadata, format.KeyValue{Key: n[0], Value: n[1]})
	}
	root := format.SchemaElement{Name: "schema", NumChildren: thrift.New(int32(len(columns)))}
	t.meta.Schema = append(t.meta.Schema, root)
	for _, c := range columns {
		t.columns = append(t.columns, &column{Column: c})
		t.meta.Schema = append(t.meta.Schema, c.element())
		t.meta.ColumnOrders = append(t.meta.ColumnOrders, format.ColumnOrder{Value: &format.TypeDefinedOrder{}})
	}
	t.put([]byte(magic))
	return t
}

// element describes a column in the file's metadata.
func (c Column) element() format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, Type: thrift.New(c.physical()), RepetitionType: thrift.New(format.Required)}
	if c.Optional {
		e.RepetitionType = thrift.New(format.Optional)
	}
	switch c.Kind {
	case Text:
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType.Value = &format.StringType{}
	case Count:
		e.ConvertedType = thrift.New(deprecated.Uint64)
		e.LogicalType.Value = &format.IntType{BitWidth: 64}
	}
	return e
}

func (c Column) physical() format.Type {
	switch c.Kind {
	case Text:
		return format.ByteArray
	case Number:
		return format.Double
	case Flag:
		return format.Boolean
	}
	return format.Int64
}

// Row adds a row: a value for each column, of the type string, int64, uint64, float64 or
// bool by its kind, or nil where it is unknown. The error is that of the writer below,
// or names the column whose value does not belong there.
func (t *Table) Row(values ...any) error {
	if t.err == nil && len(values) != len(t.columns) {
		t.err = fmt.Errorf("tables: %d values for %d columns", len(values), len(t.columns))
	}
	if t.err != nil {
		return t.err
	}
	for i, v := range values {
		before := len(t.columns[i].values)
		if err := t.columns[i].add(v); err != nil {
			t.err = err
			return err
		}
		t.held += len(t.columns[i].values) - before
	}
	if t.rows++; t.held >= groupBytes || t.rows == math.MaxInt32 {
		t.flush()
	}
	return t.err
}

// add adds a value.
func (c *column) add(v any) error {
	is := v != nil
	if c.Optional {
		c.level(is)
	}
	if !is {
		if !c.Optional {
			return fmt.Errorf("tables: column %s: a value is missing", c.Name)
		}
		c.nulls++
		return nil
	}
	ok := false
	switch c.Kind {
	case Text:
		var s string
		if s, ok = v.(string); ok {
			c.values = binary.LittleEndian.AppendUint32(c.values, uint32(len(s)))
			c.values = append(c.values, s...)
		}
	case Integer:
		var n int64
		if n, ok = v.(int64); ok {
			c.whole(uint64(n), func(than []byte) bool { return n < int64(binary.LittleEndian.Uint64(than)) },
				func(than []byte) bool { return n > int64(binary.LittleEndian.Uint64(than)) })
		}
	case Count:
		var n uint64
		if n, ok = v.(uint64); ok {
			c.whole(n, func(than []byte) bool { return n < binary.LittleEndian.Uint64(than) },
				func(than []byte) bool { return n > binary.LittleEndian.Uint64(than) })
		}
	case Number:
		var n float64
		if n, ok = v.(float64); ok {
			c.values = binary.LittleEndian.AppendUint64(c.values, math.Float64bits(n))
		}
	case Flag:
		var b bool
		if b, ok = v.(bool); ok {
			c.flag(b)
		}
	}
	if !ok {
		return fmt.Errorf("tables: column %s: a value of the type %T", c.Name, v)
	}
	return nil
}

// whole adds a whole number, and keeps the smallest and the largest.
func (c *column) whole(n uint64, less, more func(than []byte) bool) {
	c.values = binary.LittleEndian.AppendUint64(c.values, n)
	if c.min == nil || less(c.min) {
		c.min = binary.LittleEndian.AppendUint64(nil, n)
	}
	if c.max == nil || more(c.max) {
		c.max = binary.LittleEndian.AppendUint64(nil, n)
	}
}

// flag adds a bit, the lowest of a byte first.
func (c *column) flag(b bool) {
	if c.bits %= 8; c.bits == 0 {
		c.values = append(c.values, 0)
	}
	if b {
		c.values[len(c.values)-1] |= 1 << c.bits
	}
	c.bits++
}

// level tells whether the next value is there.
func (c *column) level(is bool) {
	if c.run > 0 && c.there != is {
		c.endRun()
	}
	c.there = is
	c.run++
}

// endRun writes a run: its length, and what it is of.
func (c *column) endRun() {
	c.levels = binary.AppendUvarint(c.levels, c.run<<1)
	level := byte(0)
	if c.there {
		level = 1
	}
	c.levels = append(c.levels, level)
	c.run = 0
}

// flush writes the row group that is open: a page of each column.
func (t *Table) flush() {
	if t.rows == 0 || t.err != nil {
		return
	}
	group := format.RowGroup{NumRows: t.rows, FileOffset: t.at, Ordinal: int16(len(t.meta.RowGroups))}
	for _, c := range t.columns {
		chunk := t.page(c)
		group.Columns = append(group.Columns, chunk)
		group.TotalByteSize += chunk.MetaData.TotalUncompressedSize
		group.TotalCompressedSize += chunk.MetaData.TotalCompressedSize
		*c = column{Column: c.Column, values: c.values[:0], levels: c.levels[:0]}
	}
	t.meta.RowGroups = append(t.meta.RowGroups, group)
	t.meta.NumRows += t.rows
	t.rows, t.held = 0, 0
}

// page writes the values of a column.
func (t *Table) page(c *column) format.ColumnChunk {
	var plain, packed bytes.Buffer
	if c.Optional {
		c.endRun()
		binary.Write(&plain, binary.LittleEndian, uint32(len(c.levels)))
		plain.Write(c.levels)
	}
	plain.Write(c.values)
	t.zip.Reset(&packed)
	t.zip.Write(plain.Bytes())
	t.zip.Close()
	statistics := format.Statistics{NullCount: c.nulls, MinValue: c.min, MaxValue: c.max}
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(plain.Len()), CompressedPageSize: int32(packed.Len()),
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(t.rows), Encoding: format.Plain,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE, Statistics: statistics}),
	})
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("tables: column %s: %w", c.Name, err)
	}
	chunk := format.ColumnChunk{MetaData: format.ColumnMetaData{
		Type: c.physical(), Encoding: []format.Encoding{format.Plain, format.RLE}, PathInSchema: []string{c.Name},
		Codec: format.Gzip, NumValues: t.rows, TotalUncompressedSize: int64(len(header) + plain.Len()),
		TotalCompressedSize: int64(len(header) + packed.Len()), DataPageOffset: t.at, Statistics: statistics,
	}}
	t.put(header)
	t.put(packed.Bytes())
	return chunk
}

// put writes bytes.
func (t *Table) put(b []byte) {
	if t.err != nil {
		return
	}
	n, err := t.w.Write(b)
	t.at += int64(n)
	t.err = err
}

// Close ends the table and writes the file's metadata. It does not close the writer.
func (t *Table) Close() error {
	t.flush()
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), &t.meta)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("tables: %w", err)
	}
	t.put(footer)
	t.put(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	t.put([]byte(magic))
	return t.err
}
