package cgpm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cg/pmsampling"
	"cg/pmsampling/cupti"
)

var head = Head{CgVersion: "1", CUPTIVersion: 28, Chip: "GH100", GPU: "H100", StartedUnix: 5,
	Config: pmsampling.Config{Metrics: []string{"a.avg", "b.sum"}, Buffer: 1, Interval: 10, Trigger: 1}}

func batchOf(n int) *pmsampling.Batch {
	b := &pmsampling.Batch{CounterData: &pmsampling.CounterData{Image: bytes.Repeat([]byte{1, 2, 0}, 100*n), Chip: head.Chip,
		Metrics: head.Config.Metrics, Total: n + 3, Populated: n + 1, Completed: n, Reason: 2},
		Clock: pmsampling.Clock{Before: cupti.Pair{Mono: 1, GPU: 100, Uncertainty: 3}, After: cupti.Pair{Mono: 9, GPU: 108}}}
	for i := range n {
		b.Starts, b.Ends = append(b.Starts, int64(100+i)), append(b.Ends, int64(101+i))
		if i != 1 {
			b.Good = append(b.Good, i)
		}
	}
	return b
}

// written is a file with batches of two and three samples.
func written(t testing.TB) ([]byte, []*pmsampling.Batch, Tail) {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, head)
	if err != nil {
		t.Fatal(err)
	}
	batches := []*pmsampling.Batch{batchOf(2), batchOf(3)}
	for _, b := range batches {
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	tail := Tail{batches[0].Clock, pmsampling.Counts{Samples: 3, Empty: 2, Overflows: 1}}
	if err := w.End(tail); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), batches, tail
}

// all reads a file.
func all(file []byte) (*Reader, []*pmsampling.Batch, error) {
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, nil, err
	}
	var batches []*pmsampling.Batch
	for {
		b, err := r.Next()
		if err != nil {
			if _, again := r.Next(); again != err {
				return r, batches, errors.New("the error changes")
			}
			return r, batches, err
		}
		batches = append(batches, b)
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	file, want, tail := written(t)
	r, got, err := all(file)
	if err != io.EOF || !reflect.DeepEqual(r.Head, head) || !reflect.DeepEqual(*r.Tail, tail) || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v %+v\n%+v\nwant %+v", err, r.Head, r.Tail, got, want)
	}
}

var update = flag.Bool("update", false, "write the file of this version to testdata/saved")

// Files of each version of cg are read.
func TestSaved(t *testing.T) {
	const folder = "testdata/saved"
	file, want, tail := written(t)
	if *update {
		if err := os.WriteFile(filepath.Join(folder, "0.1.0", "samples.cgpm"), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := filepath.Glob(filepath.Join(folder, "*", "samples.cgpm"))
	if len(names) == 0 {
		t.Fatal("no saved file")
	}
	for _, name := range names {
		saved, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, got, err := all(saved)
		if err != io.EOF || !reflect.DeepEqual(r.Head, head) || !reflect.DeepEqual(*r.Tail, tail) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v: %+v", name, err, got)
		}
	}
}

// A file that ends anywhere gives the batches that are whole, and says that it has no end.
func TestCutAnywhere(t *testing.T) {
	file, want, _ := written(t)
	for n := range len(file) {
		r, got, err := all(file[:n])
		if r == nil {
			if len(got) > 0 || err == nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != ErrCut || r.Tail != nil || !reflect.DeepEqual(append([]*pmsampling.Batch{}, got...), append([]*pmsampling.Batch{}, want[:len(got)]...)) {
			t.Fatalf("%d bytes: %v, %d batches", n, err, len(got))
		}
	}
}

// A damaged byte is never read as data.
func TestDamagedAnywhere(t *testing.T) {
	file, _, _ := written(t)
	for n := range file {
		damaged := bytes.Clone(file)
		damaged[n] ^= 0x20
		if _, _, err := all(damaged); err == io.EOF || err == nil {
			t.Fatalf("byte %d (%q): nothing was noticed", n, file[n])
		}
	}
}

func block(kind, content string) string {
	b := binary.LittleEndian.AppendUint32([]byte(kind), crc32.Checksum([]byte(content), castagnoli()))
	return string(binary.LittleEndian.AppendUint64(b, uint64(len(content)))) + content
}

func TestRefused(t *testing.T) {
	const magic, first = "CGPM\x01\x00\x00\x00", `{"chip":"GH100","config":{"metrics":["a"]}}`
	text := func(json, rest string) string {
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(json)))) + json + rest
	}
	ok := magic + block("HEAD", first)
	for name, c := range map[string]struct{ file, want string }{
		"nothing":         {"", "does not begin with CGPM"},
		"another file":    {"PK\x03\x04aaaaaaaaa", "does not begin with CGPM"},
		"newer":           {"CGPM\x02\x00\x00\x00", "version 2 of its format; this cg reads 1 to 1"},
		"no head":         {magic + block("DATA", ""), `the first block is "DATA"`},
		"head without":    {magic + block("HEAD", "{}"), "names no chip"},
		"head not JSON":   {magic + block("HEAD", "x"), "HEAD: invalid"},
		"two heads":       {ok + block("HEAD", first), `kind "HEAD", where DATA or TAIL is to be`},
		"after the end":   {ok + block("TAIL", "{}") + "x", "something follows the end"},
		"long":            {ok + "DATA\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", "are the most"},
		"long head":       {magic + "HEAD\x00\x00\x00\x00\xff\xff\xff\x0f\x00\x00\x00\x00", "1048576 are the most"},
		"short data":      {ok + block("DATA", "ab"), "DATA has 2 bytes"},
		"JSON too long":   {ok + block("DATA", "\xff\x00\x00\x00{}"), "255 bytes of JSON in 2"},
		"more than total": {ok + block("DATA", text(`{"total":1,"populated":2}`, "")), "of 2 samples of 1"},
		"negative":        {ok + block("DATA", text(`{"completed":-1}`, "")), "-1 of 0 samples"},
		"no times":        {ok + block("DATA", text(`{"total":9,"populated":9,"completed":9}`, "")), "too few for the times of 9"},
		"times without end": {ok + block("DATA", text(`{"total":1152921504606846976,"populated":1152921504606846976,`+
			`"completed":1152921504606846976}`, "")), "too few for the times of 1152921504606846976"},
		"too large an image": {ok + block("DATA", text(`{"image_bytes":9999999999}`, "")),
			"an image of 9999999999 bytes"},
		"no image": {ok + block("DATA", text(`{}`, "")), "the image: EOF"},
		"another order": {ok + block("DATA", text(`{"total":1,"populated":1,"completed":1,"good":1}`,
			strings.Repeat("\x00", 16)+"\x01\x00\x00\x00\x00\x00\x00\x00")), "sample 1 counts after -1, of 1"},
	} {
		if _, _, err := all([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	file, _, _ := written(f)
	f.Add(file)
	f.Add(file[:len(file)-9])
	f.Add([]byte("CGPM\x01\x00\x00\x00" + block("HEAD", `{"chip":"x","config":{"metrics":["a"]}}`) + block("TAIL", "{}")))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, batches, err := all(file)
		if err == nil {
			t.Fatal("it ended without an error")
		}
		for _, b := range batches {
			if len(b.Starts) != b.Completed || len(b.Ends) != b.Completed || len(b.Good) > b.Completed {
				t.Fatalf("%+v", b.CounterData)
			}
		}
	})
}
