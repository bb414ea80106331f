package recorder_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cg/recorder"
	"cg/recorder/recordertest"
)

// files are those of a small trace.
func files(layout recordertest.Layout, shared bool) map[string][]byte {
	w := recordertest.New("", recordertest.Trace{Layout: layout, Shared: shared, Packed: layout == recordertest.V31})
	w.Rank(sample(0))
	w.Rank(sample(1))
	return w.Files()
}

// put writes files into a folder.
func put(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func u32(values ...int64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func at(b []byte, offset int, with []byte) []byte {
	out := append([]byte{}, b...)
	copy(out[offset:], with)
	return out
}

// What a broken or hostile trace says is refused with the file and the reason, and takes
// no memory.
func TestHostile(t *testing.T) {
	big := int64(math.MaxInt32)
	cases := []struct {
		what   string
		layout recordertest.Layout
		shared bool
		file   string
		change func(b []byte) []byte
		want   string
	}{
		{"no version", recordertest.V25, false, "VERSION", func([]byte) []byte { return []byte("abc") }, "VERSION is"},
		{"an old version", recordertest.V25, false, "VERSION", func([]byte) []byte { return []byte("1.9.0") }, "recorder.mt: version 1.9.0 of Recorder: cg reads"},
		{"metadata cut off", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return b[:20] }, "recorder.mt: it ends after 20 bytes"},
		{"no ranks", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return at(b, 0, u32(0)) }, "0 ranks"},
		{"too many ranks", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return at(b, 0, u32(big)) }, "2147483647 ranks"},
		{"ranks without files", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return at(b, 0, u32(9)) }, "2.cst: no such file"},
		{"no time", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return at(b, 16, make([]byte, 8)) }, "a tick of 0 s"},
		{"a tick that is no number", recordertest.V25, false, "recorder.mt",
			func(b []byte) []byte { return at(b, 16, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}) }, "a tick of NaN s"},
		{"no names", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return b[:40] }, "no names"},
		{"2^31 names", recordertest.V31, false, "recorder.mt", func(b []byte) []byte { return at(b, 16, u32(big)) }, "2147483647 names"},
		{"another version", recordertest.V31, false, "recorder.mt", func(b []byte) []byte { return at(b, 0, u32(7)) }, "version 7.1.0 of Recorder"},
		{"an empty table", recordertest.V25, false, "0.cst", func([]byte) []byte { return nil }, "0.cst: a table of calls has 0 bytes"},
		{"2^31 calls", recordertest.V25, false, "0.cst", func(b []byte) []byte { return at(b, 0, u32(big)) }, "says that it has 2147483647 calls"},
		{"-1 calls", recordertest.V25, false, "0.cst", func(b []byte) []byte { return at(b, 0, u32(-1)) }, "says that it has -1 calls"},
		{"a table cut off", recordertest.V25, false, "0.cst", func(b []byte) []byte { return b[:len(b)-3] }, "0.cst: call "},
		{"a number twice", recordertest.V25, false, "0.cst", func(b []byte) []byte { return at(b, 4, u32(1)) }, "has the number 1, which is of another"},
		{"a key of 2^31 bytes", recordertest.V25, false, "0.cst", func(b []byte) []byte { return at(b, 12, u32(big)) }, "a key of 2147483647 bytes"},
		{"arguments that are not there", recordertest.V25, false, "0.cst", func(b []byte) []byte { return at(b, 20+10, []byte{200}) }, "200 arguments"},
		{"a key of no form", recordertest.V25, false, "0.cst", func(b []byte) []byte { return at(b, 20+11, u32(big)) }, "of an unknown form"},
		{"no rules", recordertest.V25, false, "0.cfg", func(b []byte) []byte { return at(b, 0, u32(0)) }, "0.cfg: a grammar says that it has 0 rules"},
		{"2^31 rules", recordertest.V25, false, "0.cfg", func(b []byte) []byte { return at(b, 0, u32(big)) }, "2147483647 rules"},
		{"2^31 symbols", recordertest.V25, false, "0.cfg", func(b []byte) []byte { return at(b, 8, u32(big)) }, "2147483647 symbols"},
		{"a rule that is not there", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -1, 1, -5, 1) }, "no rule -5"},
		{"no beginning", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -2, 1, 0, 1) }, "number -2"},
		{"two beginnings", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(2, -1, 1, 0, 1, -1, 1, 0, 1) }, "begins twice"},
		{"itself", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -1, 1, -1, 1) }, "contains itself"},
		{"a cycle", recordertest.V25, false, "0.cfg", func([]byte) []byte {
			return recordertest.Grammar(map[int32][]int32{-1: {-2, 1}, -2: {0, 1, -3, 2}, -3: {-2, 1}})
		}, "contains itself"},
		{"a call that is not there", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -1, 1, 77, 1) }, "has call 77"},
		{"no times", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -1, 1, 0, 0) }, "a symbol 0 times"},
		{"-1 times", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -1, 1, 0, -1) }, "a symbol -1 times"},
		{"2^31 times", recordertest.V25, false, "0.cfg", func([]byte) []byte { return u32(1, -1, 1, 0, big) }, "its grammar makes 2147483647"},
		{"2^31 times 2^31 times 2^31", recordertest.V25, false, "0.cfg", func([]byte) []byte {
			m := int32(math.MaxInt32)
			return recordertest.Grammar(map[int32][]int32{-1: {-2, m}, -2: {-3, m}, -3: {-4, m}, -4: {0, m}})
		}, "more calls than can be counted"},
		{"2^31 times nothing", recordertest.V25, false, "0.cfg", func([]byte) []byte {
			m := int32(math.MaxInt32)
			return recordertest.Grammar(map[int32][]int32{-1: {-2, m}, -2: {-3, m}, -3: {-4, m}, -4: {}})
		}, "its grammar makes 0"},
		{"times cut off", recordertest.V25, false, "0.ts", func(b []byte) []byte { return b[:len(b)-8] }, "0.ts: rank 0 has times of 100 calls, and its grammar makes 101"},
		{"times that nobody made", recordertest.V25, false, "1.ts", func(b []byte) []byte { return append(b, b...) }, "1.ts: rank 1 has times of 202 calls"},
		{"a grammar of no rank", recordertest.V25, true, "ug.mt", func(b []byte) []byte { return at(b, 0, u32(5)) }, "rank 0 has grammar 5"},
		{"too few grammars", recordertest.V25, true, "ug.mt", func(b []byte) []byte { return b[:4] }, "ug.mt: it has 4 bytes"},
		{"a block that is none", recordertest.V30, false, "0.cst", func(b []byte) []byte { return at(b, 16, []byte("nothing")) }, "0.cst: a block is no zlib"},
		{"a block that is longer than its file", recordertest.V30, false, "0.cfg", func(b []byte) []byte { return at(b, 0, u32(big, 0)) }, "a block has 2147483647 bytes"},
		{"a block that unpacks to 2^60 bytes", recordertest.V30, false, "0.cfg", func(b []byte) []byte { return at(b, 8, u32(0, 1<<28)) }, "unpacks to 1152921504606846976 bytes"},
		{"a block that unpacks to less", recordertest.V30, false, "0.cfg", func(b []byte) []byte { return at(b, 8, u32(999999, 0)) }, "does not unpack to its 999999 bytes"},
		{"grammars cut off", recordertest.V30, true, "ug.cfg", func(b []byte) []byte { return b[:20] }, "ug.cfg: grammar 0"},
		{"times of another rank", recordertest.V30, false, "recorder.ts", func(b []byte) []byte { return at(b, 0, u32(big, big)) }, "recorder.ts: rank 0 has 9223372034707292159 bytes"},
		{"packed times cut off", recordertest.V31, false, "recorder.ts", func(b []byte) []byte { return at(b, 16, u32(4, 0)) }, "recorder.ts: "},
		{"times without sizes", recordertest.V30, false, "recorder.ts", func(b []byte) []byte { return b[:5] }, "recorder.ts: it has 5 bytes"},
		{"a small block that unpacks to 100 MiB", recordertest.V30, false, "0.cst", func([]byte) []byte { return recordertest.Block(make([]byte, 100<<20)) }, "at most 2"},
		{"a million names", recordertest.V25, false, "recorder.mt", func(b []byte) []byte { return append(b, bytes.Repeat([]byte("\n"), 1_000_000)...) }, "names of functions, and at most 4096"},
		{"no magic", recordertest.Combined, false, "recorder.dat", func(b []byte) []byte { return at(b, 0, []byte("XX")) }, "recorder.dat: no Recorder trace"},
		{"2^32 sections", recordertest.Combined, false, "recorder.dat", func(b []byte) []byte { return at(b, 12, u32(-1)) }, "4294967295 sections"},
		{"a section elsewhere", recordertest.Combined, false, "recorder.dat", func(b []byte) []byte { return at(b, 24, u32(-1, big)) }, "recorder.dat: section 0"},
		{"no metadata", recordertest.Combined, false, "recorder.dat", func(b []byte) []byte { return at(b, 16, u32(99)) }, "no section of kind 0"},
	}
	for _, c := range cases {
		all := files(c.layout, c.shared)
		all[c.file] = c.change(all[c.file])
		runtime.GC()
		dir := filepath.Join(t.TempDir(), "trace")
		put(t, dir, all)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := lines(dir)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
			t.Errorf("%s: took %d bytes", c.what, took)
		}
	}
}

// What is no regular file is refused: a pipe that nobody writes would block, a device never end.
func TestNoRegularFile(t *testing.T) {
	for _, c := range []struct {
		layout recordertest.Layout
		shared bool
		names  string
	}{
		{recordertest.V25, false, "VERSION 0.cst 0.cfg 0.ts"}, {recordertest.V25, true, "ug.mt 0.cst 0.cfg 1.ts"},
		{recordertest.V30, false, "VERSION 0.cst 0.cfg recorder.ts"}, {recordertest.V30, true, "recorder.cst ug.cfg ug.mt"},
	} {
		for name := range strings.FieldsSeq(c.names) {
			for _, device := range []string{"", "/dev/zero"} {
				dir := filepath.Join(t.TempDir(), "trace")
				put(t, dir, files(c.layout, c.shared))
				path := filepath.Join(dir, name)
				err := os.Remove(path)
				if device == "" {
					err = errors.Join(err, unix.Mkfifo(path, 0o666))
				} else {
					err = errors.Join(err, os.Symlink(device, path))
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := lines(dir); err == nil || !strings.HasPrefix(err.Error(), name+": ") ||
					!strings.HasSuffix(err.Error(), ": it is no regular file") {
					t.Errorf("%s %s %s: %v", c.layout, name, device, err)
				}
			}
		}
	}
}

// A table keeps little more than its text: not a part for each of its arguments.
func TestTableIsBounded(t *testing.T) {
	args := make([]string, 255)
	var records []recordertest.Record
	for i := range 30_000 {
		args[0] = strconv.Itoa(i)
		records = append(records, recordertest.Record{Start: int64(i), End: int64(i), Func: "read", Args: slices.Clone(args)})
	}
	dir := filepath.Join(t.TempDir(), "trace")
	w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.V25})
	w.Rank(records)
	w.Close(t)
	info, err := os.Stat(filepath.Join(dir, "0.cst"))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := recorder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := trace.Rank(0)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*uint64(info.Size()) {
		t.Errorf("took %d bytes for a table of %d", took, info.Size())
	}
}

// A walk takes no longer than its calls, however deep the rules are and however many of them
// make nothing.
func TestRulesThatDoNothing(t *testing.T) {
	const deep = 100_000
	chain := map[int32][]int32{-1: {-2, deep}}
	for i := int32(2); i < deep; i++ {
		chain[-i] = []int32{-i - 1, 1}
	}
	chain[-deep] = []int32{0, 1}
	empty := []int32{}
	for range deep {
		empty = append(empty, -3, 1)
	}
	for what, rules := range map[string]map[int32][]int32{
		"a chain": chain, "nothing": {-1: {-2, deep}, -2: append(empty, 0, 1), -3: {}},
	} {
		dir := filepath.Join(t.TempDir(), "trace")
		w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.V25})
		w.Rank([]recordertest.Record{{Func: "read", Args: []string{"/f"}}})
		all := w.Files()
		all["0.cfg"], all["0.ts"] = recordertest.Grammar(rules), make([]byte, 8*deep)
		put(t, dir, all)
		trace, err := recorder.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := each(trace, 0, func(recorder.Record) { n++ }); err != nil || n != deep {
			t.Errorf("%s: %d records, %v", what, n, err)
		}
	}
}

// Whatever stands in the files, reading them ends, and with no more than the records that
// have times.
func FuzzTrace(f *testing.F) {
	names := []string{"recorder.mt", "VERSION", "0.cst", "0.cfg", "0.ts", "recorder.ts", "recorder.cst", "ug.cfg", "ug.mt",
		"recorder.dat"}
	for _, layout := range recordertest.Layouts {
		all := files(layout, layout == recordertest.V24 || layout == recordertest.V31)
		var parts [10][]byte
		for i, name := range names {
			parts[i] = all[name]
		}
		f.Add(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7], parts[8], parts[9])
	}
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g, h, i, j, k []byte) {
		dir := t.TempDir()
		for n, content := range [][]byte{a, b, c, d, e, g, h, i, j, k} {
			if len(content) > 0 {
				if err := os.WriteFile(filepath.Join(dir, names[n]), content, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		trace, err := recorder.Open(dir)
		if err != nil {
			return
		}
		for rank := range min(trace.Ranks, 3) {
			last := recorder.Record{}
			each(trace, rank, func(r recorder.Record) {
				if r.Start < 0 || r.End < r.Start {
					t.Fatalf("a record from %d to %d after one from %d", r.Start, r.End, last.Start)
				}
				last = r
			})
		}
	})
}
