package kernels

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/kernels/simulate"
	"cg/pmsampling/beside"
	"cg/runtimes"
)

// program launches what its arguments say: NAME:N by the driver, +NAME:N by the runtime, copy:N.
const program = `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern int cuInit(unsigned), cuCtxSynchronize(void), cudaLaunchKernel(const char *), cuMemcpyHtoD_v2(void *, const void *, size_t);
extern int cuModuleGetFunction(const char **, void *, const char *);
extern int cuLaunchKernel(const char *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

// send fails as FAIL says: the number of the call, and an errno.
ssize_t send(int fd, const void *b, size_t n, int flags) {
	static int calls, at, code;
	if (!calls++ && getenv("FAIL"))
		sscanf(getenv("FAIL"), "%d %d", &at, &code);
	if (calls == at) {
		errno = code;
		return -1;
	}
	return syscall(SYS_sendto, fd, b, n, flags, NULL, 0);
}

// late launches when the library has had its end, and leaves the time for a flush.
static void late(void) {
	cuLaunchKernel("late", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	usleep(600000);
}

// deaf reports whether all threads but this one block SIGTERM and SIGPROF.
static int deaf(void) {
	char name[300], line[200];
	unsigned long long mask;
	int others = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; (e = readdir(d));) {
		if (atoi(e->d_name) <= 0 || atoi(e->d_name) == getpid())
			continue;
		snprintf(name, sizeof name, "/proc/self/task/%s/status", e->d_name);
		FILE *f = fopen(name, "r");
		others++;
		while (f && fgets(line, sizeof line, f))
			if (sscanf(line, "SigBlk: %llx", &mask) == 1 && !(mask >> (SIGTERM - 1) & mask >> (SIGPROF - 1) & 1))
				return 0;
	}
	return others > 0;
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[argc - 1], "late"))
		atexit(late), argc--;
	cuInit(0);
	for (int i = 1; i < argc; i++) {
		char *n = strchr(argv[i], ':');
		const char *f;
		if (!strcmp(argv[i], "fork")) {
			int status, child = fork();
			if (!child)
				exit(0);
			waitpid(child, &status, 0);
			if (status)
				exit(1);
			continue;
		}
		if (!strcmp(argv[i], "deaf")) {
			if (!deaf())
				exit(1);
			continue;
		}
		if (!strcmp(argv[i], "flush")) {
			void *cupti = dlopen(getenv("CG_KERNELS_CUPTI"), RTLD_NOW);
			((int (*)(unsigned))dlsym(cupti, "cuptiActivityFlushAll"))(1);
			continue;
		}
		if (!strcmp(argv[i], "crash")) {
			cuCtxSynchronize();
			usleep(600000);
			kill(getpid(), 9);
		}
		*n = 0;
		cuModuleGetFunction(&f, NULL, argv[i]);
		for (int k = atoi(n + 1); k > 0; k--)
			if (argv[i][0] == '+')
				cudaLaunchKernel(f + 1);
			else if (!strcmp(f, "copy"))
				cuMemcpyHtoD_v2(NULL, NULL, 1000);
			else
				cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	}
	cuCtxSynchronize();
}`

// run runs the program with a stand-in of CUDA, and gives what was gathered. cupti is the name of CUPTI in its folder.
func run(t *testing.T, conf, cupti string, args ...string) *Log {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no cc to build the stand-in of CUDA")
	}
	dir := t.TempDir()
	if err := simulate.CUDA(dir, conf); err != nil {
		t.Fatal(err)
	}
	binary := build(t, dir, program, "-include", "signal.h", "-include", "sys/wait.h", "-include", "errno.h", "-include", "dirent.h",
		"-include", "sys/syscall.h", "-rdynamic", "-l:libcuda.so.1")
	library, _, err := runtimes.Library(context.Background(), "kernels.c", cache, dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Listen(nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(append(os.Environ(), "LD_LIBRARY_PATH="+dir), g.Env(library, filepath.Join(dir, cupti), "")...)
	if out, err := cmd.CombinedOutput(); err != nil && !slices.Contains(args, "crash") {
		t.Errorf("%v: %s", err, out)
	}
	l := g.End()
	if l.Odd > 0 {
		t.Errorf("%d datagrams are odd", l.Odd)
	}
	return l
}

// Each kernel and copy is told once, with its name, its time and its GPU, whichever way it was launched.
func TestKernels(t *testing.T) {
	for _, conf := range []string{"", "split\n"} {
		l := run(t, "kernel _Z3addPfi 2 100\nkernel copy 3 0\n"+conf, "libcupti.so.13", "_Z3addPfi:20", "+plain:5", "copy:4")
		if l.Told != 1 || len(l.Refused) > 0 || l.Lost > 0 || len(l.GPUs) != 1 || l.GPUs[0].UUID != simulate.UUID {
			t.Fatalf("%+v", l)
		}
		for i, want := range []struct {
			name  string
			kind  Kind
			count uint64
			time  time.Duration
			bytes uint64
		}{{"add(float*, int)", Kernel, 20, 40 * time.Millisecond, 0}, {"plain", Kernel, 5, 5 * time.Millisecond, 0},
			{"copy from host to device", Copy, 4, 12 * time.Millisecond, 4000}} {
			a := l.GPUs[0].Activities[i]
			off := math.Abs(float64(a.Time - want.time))
			if a.Name != want.name || a.Kind != want.kind || a.Count != want.count || off > 1e5 || a.Bytes != want.bytes || a.Path != nil {
				t.Errorf("%+v, want %+v", a, want)
			}
		}
	}
}

// Of many short kernels, and of more than a buffer takes, none is lost.
func TestManyKernels(t *testing.T) {
	const n = 20000
	l := run(t, "kernel short 0.0005 0\n", "libcupti.so.13", "short:20000")
	if len(l.GPUs) != 1 || l.GPUs[0].Activities[0].Count != n || l.Lost > 0 {
		t.Errorf("%+v", l)
	}
}

// What a program that is killed has run is known up to some moments before.
func TestKilled(t *testing.T) {
	l := run(t, "", "libcupti.so.13", "a:10", "crash")
	if len(l.GPUs) != 1 || l.GPUs[0].Activities[0].Count != 10 {
		t.Errorf("%+v", l)
	}
}

// A child of a fork ends as it does without cg, and what its parent runs afterwards is told.
func TestFork(t *testing.T) {
	l := run(t, "", "libcupti.so.13", "a:3", "fork", "a:4")
	if len(l.GPUs) != 1 || l.GPUs[0].Activities[0].Count != 7 {
		t.Errorf("%+v", l)
	}
}

// Where a datagram does not come, its activities are lost, and what it defined is defined again. A signal is no such
// failure.
func TestUnsent(t *testing.T) {
	for code, lost := range map[syscall.Errno]bool{syscall.EAGAIN: true, syscall.EINTR: false} {
		t.Setenv("FAIL", fmt.Sprintf("2 %d", int(code))) // the first says that there will be records
		l := run(t, "", "libcupti.so.13", "a:10", "flush", "a:10", "flush")
		if len(l.GPUs) != 1 || l.GPUs[0].UUID != simulate.UUID || len(l.GPUs[0].Activities) != 1 || (l.Lost > 0) != lost {
			t.Errorf("%v: %+v", code, l)
		} else if a := l.GPUs[0].Activities[0]; a.Name != "a" || a.Count == 0 || a.Count+l.Lost != 20 {
			t.Errorf("%v: %+v of %+v", code, a, l)
		}
	}
}

// The library's thread takes no signals, and asks for nothing after the program's end.
func TestThread(t *testing.T) {
	l := run(t, "", "libcupti.so.13", "deaf", "a:3", "late")
	if len(l.GPUs) != 1 || len(l.GPUs[0].Activities) != 1 || l.GPUs[0].Activities[0].Count != 3 {
		t.Errorf("%+v", l)
	}
}

// What cannot be known is said.
func TestUntold(t *testing.T) {
	for _, test := range []struct {
		conf, cupti, refused string
		told                 int
		lost                 uint64
	}{
		{"", "nowhere.so", "CUPTI cannot be used: ", 0, 0},
		{"", "libcuda.so.1", "CUPTI cannot be used: cuptiSubscribe", 0, 0},
		{"fail cuptiSubscribe 39\n", "libcupti.so.13", "another tool in the program uses CUPTI already (CUPTI 39)", 0, 0},
		{"fail cuptiActivityEnable 35\n", "libcupti.so.13", "CUPTI records no activities (CUPTI 35)", 0, 0},
		{"drop 5\n", "libcupti.so.13", "", 1, 2},
		{"forget 2\n", "libcupti.so.13", "", 1, 5},
	} {
		l := run(t, test.conf, test.cupti, "a:10")
		if l.Told != test.told || l.Lost != test.lost || (test.refused == "") != (len(l.Refused) == 0) ||
			test.refused != "" && !strings.HasPrefix(l.Refused[0], test.refused) {
			t.Errorf("%q: %+v", test.conf, l)
		}
	}
}

// record is one of the library's.
func record(kind uint32, parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case uint32:
			b = binary.NativeEndian.AppendUint32(b, v)
		case uint64:
			b = binary.NativeEndian.AppendUint64(b, v)
		case string:
			b = append(b, v...)
		}
	}
	head := binary.NativeEndian.AppendUint32(nil, kind)
	return append(binary.NativeEndian.AppendUint32(head, uint32(len(b))), b...)
}

func datagram(pid uint32, records ...[]byte) []byte {
	return slices.Concat(append([][]byte{binary.NativeEndian.AppendUint32([]byte(magic), pid)}, records...)...)
}

// The same path in two processes is one; what runs in cg's own code is its caller's.
func TestPaths(t *testing.T) {
	var s state
	for pid, number := range map[uint32]uint32{1: 7, 2: 9} {
		s.take(datagram(pid, record(recordDevice, uint32(0), strings.Repeat("\x10", 16)), record(recordName, uint32(3), "k"),
			record(recordPath, number, uint32(checkpoint.OwnSite), uint32(5), uint32(4)),
			record(recordActivity, uint64(100), uint64(200), number, uint32(3), uint32(0), uint32(0), uint64(0), uint64(0))))
	}
	l := s.log()
	if len(l.GPUs) != 1 || len(l.GPUs[0].Activities) != 1 || l.Odd > 0 {
		t.Fatalf("%+v", l)
	}
	if a := l.GPUs[0].Activities[0]; a.Count != 2 || !slices.Equal(a.Path, []checkpoint.SiteID{5, 4}) {
		t.Errorf("%+v", a)
	}
}

// launched is a record of an activity of 100 ns.
func launched(path, name, device uint32) []byte {
	return record(recordActivity, uint64(100), uint64(200), path, name, device, uint32(0), uint64(0), uint64(0))
}

// What was defined in a datagram that did not come is lost, and the rest of the datagram counts.
func TestUndefined(t *testing.T) {
	var s state
	device := record(recordDevice, uint32(0), strings.Repeat("\x10", 16))
	s.take(datagram(1, launched(0, 1, 0), device, launched(5, 1, 0), launched(0, 1, 3), launched(0, 1, 0)))
	if l := s.log(); l.Lost != 3 || l.Odd != 0 || len(l.GPUs) != 1 || l.GPUs[0].Activities[0].Count != 1 {
		t.Errorf("%+v", l)
	}
}

// counted are counters that are known up to a moment.
type counted struct{ reached checkpoint.Instant }

func (c *counted) Weight() int { return 0 }
func (c *counted) Within(uuid string, from, to checkpoint.Instant) ([]beside.Sum, bool) {
	if to > c.reached {
		return make([]beside.Sum, 2), false
	}
	return []beside.Sum{{Mean: float64(from), Min: float64(from), Max: float64(from), Over: time.Duration(to - from)}, {}}, true
}

// A run waits for its counters, in the order of the runs, and at the end goes without what is not known.
func TestCounting(t *testing.T) {
	c := &counted{}
	s := state{counting: c}
	run := func(from uint64, kind uint32) []byte {
		return record(recordActivity, from, from+10, uint32(0), uint32(1+kind), uint32(0), kind, uint64(0), uint64(0))
	}
	s.take(datagram(1, record(recordDevice, uint32(0), strings.Repeat("\x10", 16)), record(recordName, uint32(1), "k"),
		record(recordName, uint32(2), "copy"), run(100, 0), run(200, 1), run(300, 0), run(400, 0)))
	if len(s.waiting) != 4 {
		t.Fatalf("%d wait", len(s.waiting))
	}
	c.reached = 310
	s.take(datagram(1))
	if len(s.waiting) != 1 {
		t.Fatalf("%d wait", len(s.waiting))
	}
	g := s.log().GPUs[0]
	k, copies := g.Activities[0], g.Activities[1]
	if k.Counted[0] != (beside.Sum{Mean: 200, Min: 100, Max: 300, Over: 20}) || k.Counted[1].Over != 0 || k.Count != 3 {
		t.Errorf("%+v", k)
	}
	if copies.Counted[0].Mean != 200 || !g.Work.IsWeighed() {
		t.Errorf("%+v", copies)
	}
}

// Ranges of one name in one range are one, of all processes; of too many the times are not kept, and the sums are.
func TestRanges(t *testing.T) {
	var s state
	ranged := func(from, to uint64, number uint32) []byte { return record(recordRanged, from, to, number, uint32(1)) }
	for pid := range uint32(2) {
		s.take(datagram(pid, record(recordName, uint32(1), "step"), record(recordName, uint32(2), "forward"),
			record(recordRange, uint32(7), uint32(0), uint32(1)), record(recordRange, uint32(9), uint32(7), uint32(2)),
			ranged(10, 20, 9), ranged(5, 25, 7), ranged(1, 2, 8), ranged(30, 20, 7)))
	}
	l := s.log()
	if len(l.Ranges) != 2 || l.Lost != 2 || l.Odd != 2 {
		t.Fatalf("%+v", l)
	}
	step, forward := l.Ranges[0], l.Ranges[1]
	if step.Name != "step" || step.Around != nil || step.Count != 2 || step.Time != 40 || len(step.Spans) != 2 ||
		forward.Name != "forward" || forward.Around != step || forward.Time != 20 {
		t.Errorf("%+v, %+v", step, forward)
	}
	for range mostSpans {
		s.take(datagram(1, ranged(10, 20, 9)))
	}
	if forward.Spans != nil || forward.Count != mostSpans+2 || len(step.Spans) != 2 {
		t.Errorf("%d spans of %d, %d", len(forward.Spans), forward.Count, len(step.Spans))
	}
	for n := range uint32(mostRanges + 10) {
		s.take(datagram(2, record(recordName, n+1, fmt.Sprint(n)), record(recordRange, n+1, uint32(0), n+1)))
	}
	if len(s.ranges) != mostRanges || len(s.processes[2].ranges) > mostRanges {
		t.Errorf("%d ranges", len(s.ranges))
	}
}

// A range that has too many runs gives its places up: the ranges around it keep their times.
func TestOuterRange(t *testing.T) {
	var s state
	ranged := func(number uint32) []byte { return record(recordRanged, uint64(10), uint64(20), number, uint32(1)) }
	s.take(datagram(1, record(recordName, uint32(1), "epoch"), record(recordName, uint32(2), "step"),
		record(recordRange, uint32(1), uint32(0), uint32(1)), record(recordRange, uint32(2), uint32(1), uint32(2))))
	for range mostSpans + 4000 {
		s.take(datagram(1, ranged(2)))
	}
	s.take(datagram(1, ranged(1)))
	if epoch, step := s.ranges[0], s.ranges[1]; len(epoch.Spans) != 1 || step.Spans != nil || s.spans != 1 {
		t.Errorf("%d spans of epoch, %d of step, %d", len(epoch.Spans), len(step.Spans), s.spans)
	}
}

// Where there are many activities a new one goes without its range, and none is lost.
func TestManyActivities(t *testing.T) {
	var s state
	s.take(datagram(1, record(recordDevice, uint32(0), strings.Repeat("\x10", 16)), record(recordName, uint32(1), "k"),
		record(recordRange, uint32(1), uint32(0), uint32(1))))
	for n := range mostInRanges {
		s.keys[key{name: fmt.Sprint(n)}] = &Activity{}
	}
	in := record(recordActivity, uint64(100), uint64(200), uint32(0), uint32(1), uint32(0), uint32(0), uint64(0), uint32(1), uint32(0))
	s.take(datagram(1, in, in))
	if l := s.log(); l.Lost != 0 || l.Odd != 0 || len(l.GPUs[0].Activities) != 1 || l.GPUs[0].Activities[0].Range != nil ||
		l.GPUs[0].Activities[0].Count != 2 {
		t.Errorf("%+v", l)
	}
}

// What is counted of a run may be of more metrics than of the one before it.
func TestMoreCounted(t *testing.T) {
	r := ran{&GPU{}, &Activity{}, 10, 20}
	r.add(nil, 0)
	r.add([]beside.Sum{{Mean: 1, Min: 1, Max: 1, Over: 10}}, 0)
	r.add(nil, 0)
	if len(r.of.Counted) != 1 || r.of.Counted[0].Mean != 1 {
		t.Errorf("%+v", r.of.Counted)
	}
}

// What programs define has limits, and beyond them activities are lost.
func TestLimits(t *testing.T) {
	var s state
	for n := range uint32(mostNames + 10) {
		s.take(datagram(1, record(recordName, n, "k"), record(recordDevice, n, fmt.Sprintf("%016d", n))))
	}
	for n := range uint32(mostPaths + 10) {
		s.take(datagram(1, record(recordPath, n+1, n+1)))
	}
	for pid := range uint32(mostProcesses + 10) {
		s.take(datagram(pid, record(recordDevice, uint32(0), strings.Repeat("\x10", 16))))
	}
	p := s.processes[1]
	if len(s.processes) != mostProcesses || len(p.names) != mostNames || len(p.paths) != mostPaths ||
		len(p.devices) != mostDevices || len(s.gpus) != mostDevices {
		t.Errorf("%d processes, %d names, %d paths, %d devices, %d GPUs", len(s.processes), len(p.names), len(p.paths),
			len(p.devices), len(s.gpus))
	}
	s.take(datagram(1, launched(1, 1, 1), launched(mostPaths+5, 1, 1), launched(1, 1, mostDevices+5)))
	s.take(datagram(mostProcesses+5, launched(0, 0, 0)))
	if s.lost != 3 || s.odd != 0 {
		t.Errorf("%d lost, %d odd", s.lost, s.odd)
	}
	for n := range uint32(mostNames) {
		s.take(datagram(2, record(recordName, n, strings.Repeat("x", 8000))))
	}
	if s.bytes > mostBytes || len(s.processes[2].names) == mostNames {
		t.Errorf("%d bytes, %d names", s.bytes, len(s.processes[2].names))
	}
}

// A short name that stands for a long one is cut.
func TestLongName(t *testing.T) {
	mangled := "_Z1f1pIiiE"
	for n := range int64(22) { // each parameter has the one before twice
		of := strings.ToUpper(strconv.FormatInt(n, 36))
		mangled += fmt.Sprintf("S_IS%s_S%s_E", of, of)
	}
	if got := name(mangled); len(got) > 1<<longestName || !strings.HasPrefix(got, "f(p<int, int>, p<p<int, int>, p<int, int> >") {
		t.Errorf("%d bytes", len(got))
	}
}

// Whatever is sent: it is read or counted, and nothing else happens.
func FuzzTake(f *testing.F) {
	f.Add(datagram(1, record(recordText, "x"), record(recordLost, uint64(3)), record(recordPath, uint32(1), uint32(2))))
	f.Add(datagram(1, record(recordDevice, uint32(0), strings.Repeat("a", 16)),
		record(recordActivity, uint64(1), uint64(1<<62), uint32(0), uint32(0), uint32(0), uint32(0), uint64(0), uint64(0))))
	f.Fuzz(func(t *testing.T, d []byte) {
		var s state
		s.take(d)
		for _, g := range s.log().GPUs {
			for _, a := range g.Activities {
				if a.Time < 0 || a.Count == 0 {
					t.Fatalf("%+v", a)
				}
			}
		}
	})
}

// The longest of all that ran are kept with their times, in the order in which they began.
func TestLongest(t *testing.T) {
	var s state
	s.take(datagram(1, record(recordDevice, uint32(0), strings.Repeat("\x10", 16)), record(recordName, uint32(1), "k")))
	for i := range uint64(5 * MostStretches) {
		long := 10 + i*7919%(5*MostStretches) // each length once, in no order
		s.take(datagram(1, record(recordActivity, 100+1e6*i, 100+1e6*i+long, uint32(0), uint32(1), uint32(0), uint32(0), uint64(0), uint64(0))))
	}
	l := s.log()
	if len(l.Longest) != MostStretches || l.GPUs[0].Activities[0].Count != 5*MostStretches {
		t.Fatalf("%d spans", len(l.Longest))
	}
	for i, span := range l.Longest {
		if span.To-span.From < 10+4*MostStretches || span.GPU != l.GPUs[0] || span.Activity != l.GPUs[0].Activities[0] {
			t.Fatalf("%+v is not among the longest", span)
		}
		if i > 0 && span.From <= l.Longest[i-1].From {
			t.Fatalf("%+v is out of order", span)
		}
	}
}
