// Package recordertest writes traces of Recorder for tests: of each layout that the
// package recorder reads, of any size, with the records that are asked for.
package recordertest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Layout is a form of a trace.
type Layout string

// The layouts: by version, 3.x also in one file.
const (
	V23      Layout = "2.3.3"
	V24      Layout = "2.4.0"
	V25      Layout = "2.5.0"
	V30      Layout = "3.0.0"
	V31      Layout = "3.1.0" // without the file VERSION
	Combined Layout = "3.2.0" // recorder.dat
)

// Layouts are all of them.
var Layouts = []Layout{V23, V24, V25, V30, V31, Combined}

// Functions are the names that traces have, with one of each layer.
var Functions = []string{"open", "close", "read", "write", "pread", "pwrite", "lseek", "fopen", "fwrite", "fclose",
	"fsync", "readv", "fread", "fseek", "opendir", "MPI_File_write_at", "MPI_Barrier", "H5Dwrite", "ncmpi_open",
	"nc_close"}

// Record is a record to be written; times are ticks since the rank began.
type Record struct {
	Start, End int64
	Func       string // one of Functions, else one of the program's own
	Level      uint8
	Thread     uint64
	Args       []string
}

// Trace is what is written.
type Trace struct {
	Layout Layout
	// Shared has one table for all ranks; Packed compresses times (3.x).
	Shared, Packed bool
	Start          float64
	// Resolution is the length of a tick, 1e-7 s where it is 0.
	Resolution float64
}

// Writer writes a trace, rank by rank.
type Writer struct {
	Trace
	dir    string
	files  map[string][]byte
	tables []*table
	rules  [][]byte // of ranks
	times  [][]byte
	shared *table
}

// table numbers distinct calls.
type table struct {
	ids    map[string]int
	keys   [][]byte
	counts []uint32
}

func newTable() *table { return &table{ids: map[string]int{}} }

// New begins a trace in a folder, which is made.
func New(dir string, t Trace) *Writer {
	if t.Resolution == 0 {
		t.Resolution = 1e-7
	}
	w := &Writer{Trace: t, dir: dir, files: map[string][]byte{}, shared: newTable()}
	return w
}

func (w *Writer) three() bool { return strings.HasPrefix(string(w.Layout), "3") }

// Rank adds the next rank.
func (w *Writer) Rank(records []Record) {
	t := w.shared
	if !w.Shared {
		t = newTable()
	}
	ids := make([]int32, len(records))
	var times []byte
	before := int64(0)
	for i, r := range records {
		ids[i] = int32(t.id(w.key(r)))
		times = binary.LittleEndian.AppendUint32(times, uint32(r.Start-before))
		times = binary.LittleEndian.AppendUint32(times, uint32(r.End-before))
		before = r.Start
	}
	w.tables = append(w.tables, t)
	w.rules = append(w.rules, grammar(ids))
	w.times = append(w.times, times)
}

// key is a call as the table has it.
func (w *Writer) key(r Record) string {
	number := slices.Index(Functions, r.Func)
	args := r.Args
	if number < 0 {
		number = 255
		args = append([]string{"./program", r.Func}, args...)
	}
	b := binary.LittleEndian.AppendUint64(nil, r.Thread)
	if w.three() {
		b = binary.LittleEndian.AppendUint32(b, uint32(number))
	} else {
		b = append(b, byte(number))
	}
	b = append(b, r.Level, byte(len(args)))
	text := ""
	for _, a := range args {
		text += strings.ReplaceAll(a, " ", "_") + " "
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	return string(b) + text
}

func (t *table) id(key string) int {
	id, known := t.ids[key]
	if !known {
		id = len(t.keys)
		t.ids[key] = id
		t.keys, t.counts = append(t.keys, []byte(key)), append(t.counts, 0)
	}
	t.counts[id]++
	return id
}

func (t *table) text(layout Layout) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(t.keys)))
	for i, key := range t.keys {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
		if layout != V23 {
			b = binary.LittleEndian.AppendUint32(b, 0)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(len(key)))
		if layout != V23 {
			b = binary.LittleEndian.AppendUint32(b, t.counts[i])
		}
		b = append(b, key...)
	}
	return b
}

// grammar makes a sequence: as a rule that comes again and again, where it has a period,
// else as its runs.
func grammar(ids []int32) []byte {
	period := len(ids)
	for p := 1; p <= len(ids)/2; p++ {
		if len(ids)%p == 0 && slices.Equal(ids[p:], ids[:len(ids)-p]) {
			period = p
			break
		}
	}
	times := 1
	if period > 0 {
		times = len(ids) / period
	}
	body := runs(ids[:period])
	if times == 1 {
		return Grammar(map[int32][]int32{-1: body})
	}
	return Grammar(map[int32][]int32{-1: {-2, int32(times)}, -2: body})
}

func runs(ids []int32) (out []int32) {
	for i := 0; i < len(ids); {
		n := i
		for n < len(ids) && ids[n] == ids[i] {
			n++
		}
		out = append(out, ids[i], int32(n-i))
		i = n
	}
	return out
}

// Grammar is the text of a grammar: of each rule its symbols, a value and how often.
func Grammar(rules map[int32][]int32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(rules)))
	for id := int32(-1); len(rules) > 0 && id > -1_000_000; id-- {
		rule, known := rules[id]
		if !known {
			continue
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(rule)/2))
		for _, v := range rule {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		delete(rules, id)
	}
	return b
}

// Block is a block as Recorder 3 compresses it.
func Block(text []byte) []byte {
	var z bytes.Buffer
	c := zlib.NewWriter(&z)
	c.Write(text)
	c.Close()
	b := binary.LittleEndian.AppendUint64(nil, uint64(z.Len()))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	return append(b, z.Bytes()...)
}

// meta is the content of recorder.mt.
func (w *Writer) meta() []byte {
	n := uint32(len(w.times))
	u32 := binary.LittleEndian.AppendUint32
	f64 := func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) }
	flag := func(v bool) byte {
		if v {
			return 1
		}
		return 0
	}
	names := []byte(strings.Join(Functions, "\n") + "\n")
	var b []byte
	switch w.Layout {
	case V23, V24, V25:
		b = u32(u32(b, n), 0)
		b = u32(u32(f64(f64(b, w.Start), w.Resolution), 262144), 0)
		if w.Layout != V23 {
			b = u32(u32(b, uint32(flag(w.Shared))), 0)
		}
		return append(b, names...)
	case V30:
		b = append(u32(b, n), 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0)
	default:
		var major, minor, patch uint32
		fmt.Sscanf(string(w.Layout), "%d.%d.%d", &major, &minor, &patch)
		b = u32(u32(u32(u32(u32(b, major), minor), patch), n), uint32(len(Functions)))
		b = append(b, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0)
	}
	b = u32(f64(f64(b, w.Start), w.Resolution), 262144)
	b = append(b, flag(w.Packed), flag(w.Shared), 0, 0)
	if w.Layout == V30 {
		return append(append(b, make([]byte, 1024-len(b))...), names...)
	}
	for _, name := range Functions {
		b = append(b, append([]byte(name), make([]byte, 64-len(name))...)...)
	}
	return b
}

// Files are the files of the trace by their names.
func (w *Writer) Files() map[string][]byte {
	out := w.files
	pack := func(b []byte) []byte { return b }
	if w.three() {
		pack = Block
	}
	if w.Layout != V31 && w.Layout != Combined {
		out["VERSION"] = []byte(w.Layout)
	}
	out["recorder.mt"] = w.meta()
	if w.Shared {
		w.sharedFiles(pack)
	} else {
		for i := range w.times {
			out[fmt.Sprintf("%d.cst", i)] = pack(w.tables[i].text(w.Layout))
			out[fmt.Sprintf("%d.cfg", i)] = pack(w.rules[i])
		}
	}
	if !w.three() {
		for i, t := range w.times {
			out[fmt.Sprintf("%d.ts", i)] = t
		}
		return out
	}
	var sizes, all []byte
	for _, t := range w.times {
		if w.Packed { // in two blocks, as of a buffer that was full once
			half := len(t) / 16 * 8
			t = append(Block(t[:half]), Block(t[half:])...)
		}
		sizes = binary.LittleEndian.AppendUint64(sizes, uint64(len(t)))
		all = append(all, t...)
	}
	out["recorder.ts"] = append(sizes, all...)
	if w.Layout == Combined {
		return map[string][]byte{"recorder.dat": w.combine()}
	}
	return out
}

// sharedFiles are the table of all ranks and their distinct grammars.
func (w *Writer) sharedFiles(pack func([]byte) []byte) {
	var distinct [][]byte
	var ids []byte
	for _, g := range w.rules {
		at := slices.IndexFunc(distinct, func(other []byte) bool { return bytes.Equal(other, g) })
		if at < 0 {
			at = len(distinct)
			distinct = append(distinct, g)
		}
		ids = binary.LittleEndian.AppendUint32(ids, uint32(at))
	}
	w.files["ug.mt"] = binary.LittleEndian.AppendUint32(ids, uint32(len(distinct)))
	name := "0.cst"
	if w.three() {
		name = "recorder.cst"
	}
	w.files[name] = pack(w.shared.text(w.Layout))
	var all []byte
	for i, g := range distinct {
		if !w.three() {
			w.files[fmt.Sprintf("%d.cfg", i)] = g
		}
		all = append(all, pack(g)...)
	}
	if w.three() {
		w.files["ug.cfg"] = all
	}
}

// combine puts the files into one.
func (w *Writer) combine() []byte {
	type part struct {
		kind, rank int32
		name       string
	}
	parts := []part{{0, -1, "recorder.mt"}, {1, -1, "recorder.ts"}}
	if w.Shared {
		parts = append(parts, part{2, -1, "recorder.cst"}, part{3, -1, "ug.cfg"}, part{4, -1, "ug.mt"})
	} else {
		for i := range w.times {
			parts = append(parts, part{5, int32(i), fmt.Sprintf("%d.cst", i)},
				part{6, int32(i), fmt.Sprintf("%d.cfg", i)})
		}
	}
	b := append([]byte("RECORDER"), 1, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(parts)))
	offset := uint64(16 + 24*len(parts))
	var all []byte
	for _, p := range parts {
		content := w.files[p.name]
		b = binary.LittleEndian.AppendUint32(b, uint32(p.kind))
		b = binary.LittleEndian.AppendUint32(b, uint32(p.rank))
		b = binary.LittleEndian.AppendUint64(b, offset)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(content)))
		offset += uint64(len(content))
		all = append(all, content...)
	}
	return append(b, all...)
}

// Close writes the files.
func (w *Writer) Close(t testing.TB) {
	t.Helper()
	if err := os.MkdirAll(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, b := range w.Files() {
		if err := os.WriteFile(filepath.Join(w.dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Large writes a trace of many ranks of so many records each, a multiple of four, of Recorder 3.0 with
// all of its compression: a loop of a write, a read, a barrier and a seek. It is small, and written as fast.
func Large(t testing.TB, dir string, ranks, records int) {
	t.Helper()
	w := New(dir, Trace{Layout: V30, Shared: true, Packed: true, Start: 1e9})
	file := "/data/out"
	w.Rank([]Record{{Start: 10, End: 15, Func: "write", Args: []string{file, "%p", "4096"}},
		{Start: 20, End: 25, Func: "read", Args: []string{file, "%p", "4096"}}, {Start: 30, End: 35, Func: "MPI_Barrier"},
		{Start: 40, End: 45, Func: "lseek", Args: []string{file, "0", "0"}}})
	all := w.Files()
	u32, u64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	copy(all["recorder.mt"], u32(nil, uint32(ranks)))
	all["ug.mt"] = u32(make([]byte, 4*ranks), 1)
	all["ug.cfg"] = Block(Grammar(map[int32][]int32{-1: {-2, int32(records / 4)}, -2: {0, 1, 1, 1, 2, 1, 3, 1}}))
	var times []byte
	for range records {
		times = u32(u32(times, 10), 15)
	}
	const buffer = 1 << 20
	var packed []byte
	for part := range slices.Chunk(times, buffer) {
		packed = append(packed, Block(part)...)
	}
	var sizes []byte
	for range ranks {
		sizes = u64(sizes, uint64(len(packed)))
	}
	all["recorder.ts"] = append(sizes, bytes.Repeat(packed, ranks)...)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, b := range all {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
