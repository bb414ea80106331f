package analysis_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"cg/recorder"
	"cg/recorder/analysis"
	"cg/recorder/recordertest"
)

// of analyses a trace of testdata.
func of(t testing.TB, dir string, o analysis.Options) *analysis.Analysis {
	t.Helper()
	trace, err := recorder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := analysis.Of(trace, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// made analyses a trace that is written first.
func made(t testing.TB, trace recordertest.Trace, o analysis.Options, ranks ...[]recordertest.Record) *analysis.Analysis {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trace")
	if trace.Layout == "" {
		trace.Layout = recordertest.V25
	}
	w := recordertest.New(dir, trace)
	for _, r := range ranks {
		w.Rank(r)
	}
	w.Close(t)
	return of(t, dir, o)
}

func file(a *analysis.Analysis, name string) *analysis.File {
	for i := range a.Files {
		if a.Files[i].Name == name {
			return &a.Files[i]
		}
	}
	return &analysis.File{}
}

func function(a *analysis.Analysis, name string) analysis.Function {
	for _, f := range a.Functions {
		if f.Name == name {
			return f
		}
	}
	return analysis.Function{}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// The figures of a real trace, each counted by hand from the text that Recorder's own
// recorder2text gives of it (../testdata/ranks.txt).
func TestRealTrace(t *testing.T) {
	a := of(t, "../testdata/ranks", analysis.Options{})
	if p := a.Performance; p.Records != 77 || p.ReadBytes != 2048 || p.WrittenBytes != 2*(10*4096+512)+5+40+2*4096 ||
		!near(p.SpanS, 0.0259870-0.0002429) {
		t.Errorf("%+v", p)
	}
	if r := a.Ranks; len(r) != 2 || r[0].Records != 40 || r[1].Records != 37 || r[0].NumFiles != 6 || r[1].NumFiles != 6 ||
		r[0].FunctionCount.Of(5) != 11 || r[0].StartS != 0.0003888 {
		t.Errorf("%+v", r)
	}
	want := []analysis.Layer{{Name: "posix", Calls: 67}, {Name: "mpi-io", Calls: 6}, {Name: "mpi", Calls: 4}}
	if !reflect.DeepEqual(a.Layers, want) {
		t.Errorf("%+v", a.Layers)
	}
	// In out.N: ten writes, a read of the beginning, a write in the middle.
	f := file(a, "/tmp/rec-run/out.0")
	if f.WrittenBytes != 41472 || f.Writes != 11 || f.Reads != 1 || f.ReadBytes != 1024 || f.Ranks != 1 ||
		*f.Overlaps != (analysis.Overlaps{RAWSame: 1, WAWSame: 1}) || !near(f.ReadS, 1e-6) ||
		!near(f.MetaS, 163e-7+0+9110e-7+31e-7) {
		t.Errorf("%+v %+v", f, f.Overlaps)
	}
	if f := file(a, "/tmp/rec-run/mpiio.dat"); f.Ranks != 2 || f.Writes != 2 || f.WrittenBytes != 8192 ||
		*f.Overlaps != (analysis.Overlaps{}) {
		t.Errorf("%+v", f)
	}
	// Each out.N: 9 consecutive, the read goes back, the write goes ahead; of mpiio.dat the
	// second rank's access goes back.
	if p := a.Patterns; p.Files == nil || *p.Files != (analysis.Pattern{Consecutive: 18, Sequential: 2, Random: 3}) ||
		p.Ranks != (analysis.Pattern{Consecutive: 18, Sequential: 2, Random: 2}) {
		t.Errorf("%+v %+v", p.Files, p)
	}
	if !reflect.DeepEqual(a.ReadSizes, []analysis.Size{{Bytes: 1024, Count: 2}}) ||
		!reflect.DeepEqual(a.WriteSizes, []analysis.Size{{Bytes: 5, Count: 1}, {Bytes: 40, Count: 1}, {Bytes: 512, Count: 2},
			{Bytes: 4096, Count: 22}}) {
		t.Errorf("%v %v", a.ReadSizes, a.WriteSizes)
	}
	if f := function(a, "write"); f.Calls != 21 || f.Layer != "posix" {
		t.Errorf("%+v", f)
	}
}

// The same calls under interprocess compression come to the same, and each rank has its times.
func TestInterprocess(t *testing.T) {
	a := of(t, "../testdata/interprocess", analysis.Options{})
	if p := a.Performance; p.Records != 78 || p.WrittenBytes != 2*(10*4096+512)+5+40+2*4096 {
		t.Errorf("%+v", p)
	}
	if a.Ranks[0].EndS != 0.2158065 || a.Ranks[1].EndS != 0.1911187 {
		t.Errorf("%g, %g", a.Ranks[0].EndS, a.Ranks[1].EndS)
	}
}

// Functions of the program are around others, and their times are repaired.
func TestUserFunctions(t *testing.T) {
	a := of(t, "../testdata/user", analysis.Options{})
	if f := function(a, "main"); f.Calls != 1 || f.Layer != "user" || !near(f.Seconds, 6.0110201-0.0001243) {
		t.Errorf("%+v", f)
	}
	if a.Repairs.Backward != 5 || !strings.Contains(strings.Join(a.Notes, "\n"), "times of 5 records were repaired") {
		t.Errorf("%+v %q", a.Repairs, a.Notes)
	}
}

// call is a record that lasts for a microsecond.
func call(at int64, function string, args ...string) recordertest.Record {
	return recordertest.Record{Start: at * 10, End: at*10 + 10, Func: function, Args: args}
}

// Positions follow opens, seeks and accesses; what appends begins at the end.
func TestPositions(t *testing.T) {
	a := made(t, recordertest.Trace{}, analysis.Options{}, []recordertest.Record{
		call(0, "open", "/f", "577", "420"), call(2, "write", "/f", "%p", "100"), call(4, "write", "/f", "%p", "100"),
		call(6, "close", "/f"), call(8, "open", "/f", "1025"), call(10, "write", "/f", "%p", "50"), // O_APPEND
		call(12, "lseek", "/f", "-50", "2"), call(14, "read", "/f", "%p", "50"), call(16, "lseek", "/f", "10", "0"),
		call(18, "lseek", "/f", "5", "1"), call(20, "read", "/f", "%p", "1"), call(22, "pread", "/f", "%p", "7", "100"),
		call(24, "readv", "/f", "9", "3"), call(26, "fopen", "/g", "a"), call(28, "fwrite", "%p", "8", "4", "/g"),
		call(30, "fseek", "/g", "0", "0"), call(32, "fread", "%p", "2", "16", "/g"), call(34, "write", "stdout", "%p", "9"),
		call(36, "write", "/proc/self/x", "%p", "9"), call(38, "read", "/f", "%p", "many"), call(40, "opendir", "/d"),
	})
	var got []string
	for _, p := range file(a, "/f").Points {
		got = append(got, fmt.Sprint(p.Offset, "+", p.Count))
	}
	if want := "0+100 100+100 200+50 200+50 15+1 100+7 16+9"; strings.ReplaceAll(strings.Join(got, " "), " + ", "+") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if f := file(a, "/g"); f.WrittenBytes != 32 || f.ReadBytes != 32 || *f.Overlaps != (analysis.Overlaps{RAWSame: 1}) {
		t.Errorf("%+v", f)
	}
	if len(a.Files) != 2 || a.Ranks[0].NumFiles != 2 || !reflect.DeepEqual(a.Ranks[0].Filemap, []string{"/f", "/g"}) {
		t.Errorf("%d files, %q", len(a.Files), a.Ranks[0].Filemap)
	}
	if !strings.Contains(strings.Join(a.Notes, "\n"), "arguments of 1 distinct calls") {
		t.Errorf("%q", a.Notes)
	}
}

// Ranks whose offsets are a line are told apart, and their accesses do not overlap.
func TestRanksTogether(t *testing.T) {
	rank := func(n int64) []recordertest.Record {
		return []recordertest.Record{call(n, "pwrite", "/f", "%p", "100", "100*r+7"), call(50+n, "pread", "/f", "%p", "100", "7")}
	}
	a := made(t, recordertest.Trace{Layout: recordertest.V30, Shared: true}, analysis.Options{}, rank(0), rank(1), rank(2))
	f := file(a, "/f")
	if f.Ranks != 3 || f.Points[2].Offset != 107 {
		t.Errorf("%+v", f)
	}
	// By offset: rank 0 writes 7, ranks 0 to 2 read 7, rank 1 writes 107, ...
	if *f.Overlaps != (analysis.Overlaps{RAWSame: 1, RAROther: 2}) {
		t.Errorf("%+v", *f.Overlaps)
	}
	if zoomed := made(t, recordertest.Trace{}, analysis.Options{From: 1, To: 2}, rank(0), rank(1), rank(2)); len(zoomed.Ranks) != 1 ||
		zoomed.Ranks[0].Rank != 1 || zoomed.Performance.Records != 2 {
		t.Errorf("%+v", zoomed.Ranks)
	}
}

// The seconds over time are those of the calls, in bins that grow with the trace.
func TestActivity(t *testing.T) {
	var records []recordertest.Record
	for i := range int64(1000) {
		records = append(records, call(i*1_000, "write", "/f", "%p", "1"), call(i*1_000+500, "read", "/f", "%p", "1"))
	}
	a := made(t, recordertest.Trace{}, analysis.Options{}, records, nil)
	sum := func(rows [][]float64) (s float64) {
		for _, row := range rows {
			for _, v := range row {
				s += v
			}
		}
		return s
	}
	if math.Abs(sum(a.Activity.ReadS)-1e-3) > 1e-9 || math.Abs(sum(a.Activity.WriteS)-1e-3) > 1e-9 || len(a.Activity.ReadS) != 2 {
		t.Errorf("%g and %g s in %d rows", sum(a.Activity.ReadS), sum(a.Activity.WriteS), len(a.Activity.ReadS))
	}
	if n := len(a.Activity.ReadS[0]); n > 512 || n < 200 || float64(n)*a.Activity.BinS < 0.9995 {
		t.Errorf("%d bins of %g s", n, a.Activity.BinS)
	}
}

// A machine of 10 W from 100 s on, read each 10 ms, with 20 W from 101 s on.
func meter(kind string) *analysis.Meter {
	m := &analysis.Meter{Name: "log", Kind: kind}
	j := 0.0
	for i := range 301 {
		m.Unix = append(m.Unix, 100+float64(i)*0.01)
		m.Joules = append(m.Joules, j)
		if i < 100 {
			j += 0.1
		} else {
			j += 0.2
		}
	}
	return m
}

// Joules are the machine's at the time, and the intervals hold whatever it did between two
// readings.
func TestEnergy(t *testing.T) {
	const second = 10_000_000
	long := []recordertest.Record{
		{Start: 0, End: second, Func: "write", Args: []string{"/f", "%p", "1"}},
		{Start: second + second/2, End: second + second/2 + 1000, Func: "read", Args: []string{"/f", "%p", "1"}},
		{Start: second + second/2 + 2000, End: second + second/2 + 3000, Func: "read", Args: []string{"/f", "%p", "1"}},
	}
	a := made(t, recordertest.Trace{Start: 100}, analysis.Options{Meters: []*analysis.Meter{meter("measured")}}, long)
	e := function(a, "write").Energy
	if e == nil || math.Abs(e.J-10) > 1e-6 || math.Abs(*e.W-10) > 1e-6 || e.LoJ < 9.8 || e.HiJ > 10.2 || e.Kind != "measured" {
		t.Errorf("%+v", e)
	}
	// Two reads of 0.1 ms at 20 W, both between two readings: 4 mJ, and at most what was read
	// then, once.
	if e := function(a, "read").Energy; e == nil || math.Abs(e.J-0.004) > 1e-6 || e.LoJ != 0 || math.Abs(e.HiJ-0.2) > 1e-6 {
		t.Errorf("%+v", e)
	}
	if e := file(a, "/f").Energy; e == nil || math.Abs(e.J-10.004) > 1e-6 {
		t.Errorf("%+v", e)
	}
	if e := a.Performance.Energy; e == nil || math.Abs(e.J-20.006) > 1e-3 || e.LoJ > e.J || e.HiJ < e.J {
		t.Errorf("%+v", e)
	}
	// Two ranks share a machine, and each has its own.
	a = made(t, recordertest.Trace{Start: 100}, analysis.Options{Meters: []*analysis.Meter{meter("estimated")}}, long, long)
	if e := function(a, "write").Energy; e == nil || math.Abs(e.J-10) > 1e-6 || e.Kind != "estimated" {
		t.Errorf("%+v", e)
	}
	first, second2 := meter("measured"), meter("derived")
	first.To, second2.From, second2.To = 1, 1, 2
	a = made(t, recordertest.Trace{Start: 100}, analysis.Options{Meters: []*analysis.Meter{first, second2}}, long, long)
	if e := a.Performance.IOEnergy; e == nil || math.Abs(e.J-20.008) > 1e-6 || e.Kind != "derived" {
		t.Errorf("%+v", e)
	}
	// What ran when there are no readings is not known.
	a = made(t, recordertest.Trace{Start: 102}, analysis.Options{Meters: []*analysis.Meter{meter("measured")}}, long)
	if function(a, "read").Energy != nil || function(a, "write").Energy == nil ||
		!strings.Contains(strings.Join(a.Notes, "\n"), "energies are not known") {
		t.Errorf("%q", a.Notes)
	}
}

func TestMetersOfRanks(t *testing.T) {
	trace, err := recorder.Open("../testdata/ranks")
	if err != nil {
		t.Fatal(err)
	}
	for want, m := range map[string]*analysis.Meter{
		"log: ranks 0 to 4: the trace has 0 to 1": {To: 5}, "rank 0 has no log": {From: 1, To: 2}, "fewer than two readings": nil,
	} {
		if m == nil {
			m = &analysis.Meter{Name: "log"}
		} else {
			all := meter("measured")
			all.From, all.To = m.From, m.To
			m = all
		}
		if _, err := analysis.Of(trace, analysis.Options{Meters: []*analysis.Meter{m}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := analysis.Of(trace, analysis.Options{From: 3, To: 4}); err == nil {
		t.Error("rank 3 is there")
	}
}

// heap is the memory in use after each of so many ranks, at most.
func heap(t testing.TB, dir string, every int) uint64 {
	t.Helper()
	most := uint64(0)
	of(t, dir, analysis.Options{Progress: func(done int) {
		if done%every == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}})
	return most
}

// Ten times the records take no more memory, and of many ranks as much as their figures.
func TestBoundedMemory(t *testing.T) {
	few, many := filepath.Join(t.TempDir(), "few"), filepath.Join(t.TempDir(), "many")
	recordertest.Large(t, few, 8, 1<<17)
	recordertest.Large(t, many, 8, 10<<17)
	little, much := heap(t, few, 2), heap(t, many, 2)
	// A million accesses are kept, and more are not.
	if much > little+(8<<20) {
		t.Errorf("%d bytes for a million records, %d for ten", little, much)
	}
}

// Ten thousand ranks of 100,000 records each: 10^9.
//
//	go test ./recorder/analysis -run xxx -bench Billion -benchtime 1x
func BenchmarkBillion(b *testing.B) {
	const ranks, each = 10_000, 100_000
	dir := filepath.Join(b.TempDir(), "trace")
	recordertest.Large(b, dir, ranks, each)
	var most uint64
	for b.Loop() {
		most = heap(b, dir, 1000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(ranks*each), "ns/record")
	b.ReportMetric(float64(most)/(1<<20), "MiB-in-use")
}

// A thousand ranks of 10,000 records each, beside reading the bytes of their files.
//
//	go test ./recorder/analysis -run xxx -bench Ranks -benchtime 3x
func BenchmarkRanks(b *testing.B) {
	const ranks, each = 1000, 10_000
	for _, shared := range []bool{false, true} {
		dir := filepath.Join(b.TempDir(), "trace")
		w := recordertest.New(dir, recordertest.Trace{Layout: recordertest.V30, Shared: shared})
		for rank := range ranks {
			var records []recordertest.Record
			name := fmt.Sprintf("/data/out.%d", rank%8)
			for i := range int64(each) {
				what := []string{"write", "read", "MPI_Barrier", "lseek"}[i%4]
				args := []string{name, "%p", "4096"}
				if what == "lseek" {
					args = []string{name, fmt.Sprint((i / 4 % 200) * 4096), "0"}
				}
				records = append(records, call(i*20+int64(rank), what, args...))
			}
			w.Rank(records)
		}
		w.Close(b)
		per := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(ranks*each), "ns/record")
		}
		b.Run(fmt.Sprintf("bytes/shared=%v", shared), func(b *testing.B) {
			for b.Loop() {
				names, err := os.ReadDir(dir)
				if err != nil {
					b.Fatal(err)
				}
				sum := byte(0)
				for _, name := range names {
					all, err := os.ReadFile(filepath.Join(dir, name.Name()))
					if err != nil {
						b.Fatal(err)
					}
					for _, c := range all {
						sum ^= c
					}
				}
				if sum == 1 && b.N < 0 {
					b.Log(sum)
				}
			}
			per(b)
		})
		b.Run(fmt.Sprintf("analysis/shared=%v", shared), func(b *testing.B) {
			for b.Loop() {
				if a := of(b, dir, analysis.Options{}); a.Performance.Records != ranks*each {
					b.Fatal(a.Performance.Records)
				}
			}
			per(b)
		})
	}
}

// Whatever the arguments of calls are, they are counted, and what the analysis says is in JSON.
func FuzzArguments(f *testing.F) {
	f.Add("/f 577 420", "/f %p 4096", "/f 9223372036854775807 1", "/f %p 100 100*r+7", uint8(3))
	f.Add("/g a", "%p 8 4 /g", "/g -1 2", "", uint8(1))
	f.Add("", "%p 9223372036854775807 9223372036854775807 /g", "/g -9223372036854775808 0", "/f -1 9223372036854775807", uint8(2))
	f.Fuzz(func(t *testing.T, open, data, seek, at string, ranks uint8) {
		var records []recordertest.Record
		add := func(args string, names ...string) {
			for _, name := range names {
				records = append(records, call(int64(len(records)), name, strings.Split(strings.ReplaceAll(args, "\x00", "0"), " ")...))
			}
		}
		add(open, "open", "fopen", "opendir")
		add(data, "read", "write", "fread", "fwrite", "readv")
		add(seek, "lseek", "fseek")
		add(at, "pread", "pwrite", "close")
		for _, r := range records {
			if len(r.Args) > 250 {
				t.Skip("a call has up to 255 arguments")
			}
		}
		var all [][]recordertest.Record
		for range ranks%4 + 1 {
			all = append(all, records)
		}
		a := made(t, recordertest.Trace{Layout: recordertest.V30, Shared: true}, analysis.Options{}, all...)
		if n := uint64(len(records) * len(all)); a.Performance.Records != n {
			t.Fatalf("%d records, want %d", a.Performance.Records, n)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
	})
}
