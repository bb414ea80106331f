package recorder_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cg/recorder"
	"cg/recorder/recordertest"
)

// lines are the records of a trace, one a line, as a decoder of 60 lines of Python prints
// them that agrees with Recorder's own recorder2text.
func lines(dir string) (string, error) {
	t, err := recorder.Open(dir)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for rank := range t.Ranks {
		err := each(t, rank, func(r recorder.Record) {
			args := r.Call.Line()
			if r.Call.Layer == recorder.User {
				args = ""
			}
			fmt.Fprintf(&out, "%d %.7f %.7f %s %d ( %s )\n", rank, t.Seconds(r.Start), t.Seconds(r.End), r.Call.Name,
				r.Call.Level, args)
		})
		if err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// each reads the records of a rank.
func each(t *recorder.Trace, rank int, f func(recorder.Record)) error {
	r, err := t.Rank(rank)
	if err != nil {
		return err
	}
	defer r.Close()
	n := uint64(0)
	for {
		var record recorder.Record
		if err := r.Next(&record); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		n++
		f(record)
	}
	if n != r.Total() {
		return fmt.Errorf("%d records, and Total is %d", n, r.Total())
	}
	return nil
}

// The records of real traces, which Recorder 2.5 wrote, are those that its recorder2text
// tells, with the times repaired and each rank's own.
func TestRealTraces(t *testing.T) {
	for _, name := range []string{"ranks", "interprocess", "user"} {
		want, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		got, err := lines("testdata/" + name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s", name, difference(got, string(want)))
		}
	}
	trace, err := recorder.Open("testdata/interprocess")
	if err != nil {
		t.Fatal(err)
	}
	if m := trace.Meta; m.Version != "2.5.0" || m.Ranks != 2 || m.Resolution != 1e-7 || !m.Shared || m.Buffer != 262144 ||
		m.Compression != 0 || int64(m.Start) != 1795218528 {
		t.Errorf("%+v", m)
	}
	if n := len(trace.Functions); n != 243 || trace.Functions[0] != "creat" {
		t.Errorf("%d functions", n)
	}
}

// difference is the first line in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// The records of real traces are those that Recorder's own recorder2text (2.5.0) prints, which the files
// NAME.recorder2text hold, each line with its rank before it:
//
//	gcc -shared -fPIC -fcommon -Iinclude tools/reader.c -o libreader.so    # in Recorder's source, and recorder2text with mpicc
//	recorder2text TRACE; sed 's/^/0 /' TRACE/_text/0.txt
//
// Those of 2.3.3 and 2.4.0 are of testdata/app.c on two ranks, by the tags v2.3.3 and v2.4.0 of Recorder, and are
// printed by their own recorder2text:
//
//	cmake -DCMAKE_PREFIX_PATH=/usr/lib/x86_64-linux-gnu/hdf5/openmpi && make      # with libhdf5-openmpi-dev
//	mpirun -n 2 -x LD_PRELOAD=bin/librecorder.so -x RECORDER_INTERPROCESS_COMPRESSION=1 app
//
// Its times are cg's but for the wraps of 2^32 ticks that cg repairs, and but for those of rank 1 under interprocess
// compression, for which it reads the file of rank 0.
func TestRecordersOwnText(t *testing.T) {
	const wrap = float64(1<<32) * 1e-7
	for name, repaired := range map[string]int{"ranks": 0, "interprocess": 0, "user": 39, "2.3.3": 0, "2.4.0": 0,
		"2.4.0-interprocess": 0} {
		b, err := os.ReadFile("testdata/" + name + ".recorder2text")
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(b)), "\n")
		trace, err := recorder.Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if version, _, _ := strings.Cut(name, "-"); strings.HasPrefix(name, "2") && trace.Version != version {
			t.Errorf("%s: version %s", name, trace.Version)
		}
		n, wraps := 0, 0
		for rank := range trace.Ranks {
			err := each(trace, rank, func(r recorder.Record) {
				line := want[n]
				n++
				var of, level, layer int
				var start, end float64
				var function string
				if _, err := fmt.Sscan(line, &of, &start, &end, &function, &level, &layer); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				args := ""
				if r.Call.Layer != recorder.User {
					args = r.Call.Line()
				}
				args = strings.TrimSpace(args) // of 2.4.0 the last one may be empty
				_, rest, _ := strings.Cut(line, " (")
				if of != rank || function != r.Call.Name || level != int(r.Call.Level) || layer != int(r.Call.Layer) ||
					strings.TrimSpace(strings.TrimSuffix(rest, ")")) != args {
					t.Errorf("%s: %s, want %+v", name, line, r.Call)
				}
				if strings.HasSuffix(name, "interprocess") && rank > 0 {
					return
				}
				for _, pair := range [][2]float64{{start, trace.Seconds(r.Start)}, {end, trace.Seconds(r.End)}} {
					k := math.Round((pair[0] - pair[1]) / wrap)
					if math.Abs(pair[0]-pair[1]-k*wrap) > 1e-7 {
						t.Errorf("%s: %s: %.7f, want %.7f", name, line, pair[1], pair[0])
					}
					if k != 0 {
						wraps++
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n != len(want) || wraps != repaired {
			t.Errorf("%s: %d of %d records, %d times repaired, want %d", name, n, len(want), wraps, repaired)
		}
	}
}

// sample are the records of a rank: a loop of calls, and one of a function of the program
// around all of them, which is written last.
func sample(rank int) (out []recordertest.Record) {
	at := int64(100 * rank)
	file := fmt.Sprintf("/data/out file.%d", rank)
	for i := range 50 {
		out = append(out,
			recordertest.Record{Start: at, End: at + 9, Func: "write", Level: 1, Args: []string{file, "%p", "4096"}},
			recordertest.Record{Start: at + 20, End: at + 25, Func: "MPI_Barrier", Level: 1, Thread: 7, Args: []string{"MPI_COMM_WORLD"}})
		at += 1000 + int64(i)*3
	}
	return append(out, recordertest.Record{Start: int64(50 * rank), End: at, Func: "main"})
}

// What is written is read back, in each layout.
func TestLayouts(t *testing.T) {
	for _, layout := range recordertest.Layouts {
		for _, shared := range []bool{false, true} {
			for _, packed := range []bool{false, true} {
				three := strings.HasPrefix(string(layout), "3")
				if packed && !three || shared && layout == recordertest.V23 {
					continue
				}
				dir := filepath.Join(t.TempDir(), "trace")
				w := recordertest.New(dir, recordertest.Trace{Layout: layout, Shared: shared, Packed: packed, Start: 1.7e9})
				for rank := range 3 {
					w.Rank(sample(rank))
				}
				w.Rank(nil)
				w.Close(t)
				trace, err := recorder.Open(dir)
				if err != nil {
					t.Fatalf("%s: %v", layout, err)
				}
				if trace.Ranks != 4 || trace.Version != string(layout) || trace.Shared != shared || trace.Start != 1.7e9 ||
					!slices.Equal(trace.Functions, recordertest.Functions) {
					t.Errorf("%s: %+v", layout, trace.Meta)
				}
				for rank := range 4 {
					var want []recordertest.Record
					if rank < 3 {
						want = sample(rank)
					}
					var got []recordertest.Record
					err := each(trace, rank, func(r recorder.Record) {
						one := recordertest.Record{Start: r.Start, End: r.End, Func: r.Call.Name, Level: r.Call.Level,
							Thread: r.Call.Thread, Args: r.Call.Args()}
						for i, arg := range one.Args {
							if arg != r.Call.Arg(i) {
								t.Errorf("argument %d of %q is %q", i, r.Call.Line(), r.Call.Arg(i))
							}
						}
						if r.Call.Layer == recorder.User {
							one.Args = nil
						} else {
							one.Args[0] = strings.ReplaceAll(one.Args[0], "out_file", "out file")
						}
						got = append(got, one)
					})
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%s shared %v packed %v rank %d: %v, %d records, want %d", layout, shared, packed, rank, err,
							len(got), len(want))
					}
				}
			}
		}
	}
}

func TestLayers(t *testing.T) {
	for name, want := range map[string]recorder.Layer{"open": recorder.POSIX, "pwrite": recorder.POSIX,
		"MPI_File_open": recorder.MPIIO, "PMPI_File_read": recorder.MPIIO, "MPI_Send": recorder.MPI, "PMPI_Wait": recorder.MPI,
		"H5Dread": recorder.HDF5, "ncmpi_put_att": recorder.PnetCDF, "nc_open": recorder.NetCDF, "opendir": recorder.POSIX} {
		if got := recorder.LayerOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Times are 32-bit numbers that may be below 0 or too large; what is read is what was
// written wherever that shows.
func TestRepairs(t *testing.T) {
	const minute = int64(600_000_000) // ticks of 100 ns
	type times [][2]int64
	cases := []struct {
		what    string
		written times
		want    times // nil: as written
		repairs recorder.Repairs
	}{
		{"in order", times{{5, 9}, {10, 12}, {10, 30}}, nil, recorder.Repairs{}},
		{"a function around others", times{{100, 200}, {300, 400}, {50, 500}, {600, 700}}, nil, recorder.Repairs{Backward: 1}},
		{"a thread that is late", times{{1000, 2000}, {500, 1500}, {100, 200}, {2100, 2200}}, nil,
			recorder.Repairs{Backward: 2, Unsure: 1}},
		{"a pause of five minutes", times{{5, 9}, {5 * minute, 5*minute + 3}, {11 * minute, 11*minute + 9}}, nil, recorder.Repairs{}},
		{"a call of five minutes", times{{5, 9 + 5*minute}, {5*minute + 20, 5*minute + 30}}, nil, recorder.Repairs{}},
		{"a call that ends one wrap later", times{{100, 1<<32 + 50}, {1<<32 + 60, 1<<32 + 70}}, nil, recorder.Repairs{Long: 1}},
		{"pauses of five minutes late in the run", times{{minute * 7, minute*7 + 1}, {12 * minute, 12*minute + 1}},
			times{{minute * 7, minute*7 + 1}, {12 * minute, 12*minute + 1}}, recorder.Repairs{}},
		{"both can be", times{{5 * minute, 5*minute + 1}, {9 * minute, 9*minute + 1}}, nil, recorder.Repairs{}},
	}
	for _, c := range cases {
		dir := filepath.Join(t.TempDir(), "trace")
		w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.V25})
		var records []recordertest.Record
		for _, r := range c.written {
			records = append(records, recordertest.Record{Start: r[0], End: r[1], Func: "read", Args: []string{"/f", "%p", "1"}})
		}
		w.Rank(records)
		w.Close(t)
		trace, err := recorder.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		r, err := trace.Rank(0)
		if err != nil {
			t.Fatal(err)
		}
		var got times
		var record recorder.Record
		for r.Next(&record) == nil {
			got = append(got, [2]int64{record.Start, record.End})
		}
		r.Close()
		want := c.want
		if want == nil {
			want = c.written
		}
		if !slices.Equal(got, want) || r.Repairs() != c.repairs {
			t.Errorf("%s: %v %+v, want %v %+v", c.what, got, r.Repairs(), want, c.repairs)
		}
	}
}

func TestNoTrace(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, b string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("empty/x", "")
	write("outer/inner/recorder.mt", "")
	write("old/0.itf", "")
	for of, want := range map[string]string{
		"none": "no such file", "empty": "no Recorder trace: it has no recorder.mt and no recorder.dat",
		"empty/x": "a trace is a folder", "outer": "but inner has: name that folder",
		"old": "a trace of Recorder 2.2 or older",
	} {
		if _, err := recorder.Open(filepath.Join(dir, of)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", of, err, want)
		}
	}
}
