package kernels

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cg/kernels/simulate"
	"cg/runtimes"
)

// launcher does what its arguments say with CUDA's driver, whose functions it finds as FIND says.
const launcher = `
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern int cuInit(unsigned), cuLaunchKernel(), cuLaunchKernel_ptsz(), cuCtxSynchronize(), cuGetProcAddress(), cuStreamSynchronize();
static int (*init)(unsigned), (*launch)(), (*launch_own)(), (*launchEx)(), (*function)(), (*context)(), (*current)(), (*drop)(),
	(*stream)(), (*destroy)(), (*waitStream)(), (*waitAll)(), (*copy)(), (*back)(), (*fill)(), (*begin)(), (*end)(), (*graph)(),
	(*event)(), (*record)(), (*waitEvent)(), (*graphEvents)(),
	(*dropEvent)(), (*retain)(), (*release)(), (*reset)();
static void *(*unseen)(const char *);
static void *cuda;

static void find(const char *name, const char *base, void *at) {
	const char *how = getenv("FIND");
	void *found = NULL;
	if (!strcmp(how, "address")) {
		int (*get)(const char *, void **, int, uint64_t, int *) = dlsym(cuda, "cuGetProcAddress_v2");
		get(base, &found, 12000, 0, NULL);
	} else if (!strcmp(how, "both")) { // by dlsym, and the last one by the other
		int (*get)(const char *, void **, int, uint64_t, int *), (*first)(const char *, void **, int, uint64_t);
		first = dlsym(cuda, "cuGetProcAddress");
		first("cuGetProcAddress", (void **)&get, 12000, 0);
		dlsym(cuda, name);
		get(base, &found, 12000, 0, NULL);
	}
	if (!strcmp(how, "old") && (strstr(name, "Destroy") || strstr(name, "Primary") || strstr(name, "Begin")))
		found = dlsym(cuda, base); // the first version
	*(void **)at = found ? found : dlsym(cuda, name);
	if (!strcmp(how, "link")) {
		if (!strcmp(name, "cuLaunchKernel"))
			*(void **)at = cuLaunchKernel;
		if (!strcmp(name, "cuCtxSynchronize"))
			*(void **)at = cuCtxSynchronize;
	}
}

static void *streams[64];
static int run(void *f, void *s) { return launch(f, 1, 1, 1, 1, 1, 1, 0, s, (void *)7, (void *)8); }
static void *named(const char *n) { void *f; function(&f, NULL, n); return f; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

static void *many(void *c) {
	current(c);
	void *f = named("many");
	for (int i = 0; i < 200; i++)
		if (run(f, NULL) || launch_own(f, 1, 1, 1, 1, 1, 1, 0, NULL, (void *)7, (void *)8))
			exit(5);
	return NULL;
}

int main(int argc, char **argv) {
	void *c, *f, *g, *e;
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	find("cuInit", "cuInit", &init), find("cuLaunchKernel", "cuLaunchKernel", &launch);
	find("cuLaunchKernel_ptsz", "", &launch_own), find("cuLaunchKernelEx", "cuLaunchKernelEx", &launchEx);
	find("cuModuleGetFunction", "cuModuleGetFunction", &function), find("cuCtxCreate_v2", "cuCtxCreate", &context);
	find("cuCtxSetCurrent", "cuCtxSetCurrent", &current), find("cuCtxDestroy_v2", "cuCtxDestroy", &drop);
	find("cuStreamCreate", "cuStreamCreate", &stream), find("cuStreamDestroy_v2", "cuStreamDestroy", &destroy);
	find("cuStreamSynchronize", "cuStreamSynchronize", &waitStream), find("cuCtxSynchronize", "cuCtxSynchronize", &waitAll);
	find("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", &copy), find("cuMemcpyDtoH_v2", "cuMemcpyDtoH", &back);
	find("cuMemsetD8Async", "cuMemsetD8Async", &fill), find("cuStreamBeginCapture_v2", "cuStreamBeginCapture", &begin);
	find("cuStreamEndCapture", "cuStreamEndCapture", &end), find("cuGraphLaunch", "cuGraphLaunch", &graph);
	find("cuEventCreate", "cuEventCreate", &event), find("cuEventRecord", "cuEventRecord", &record);
	find("cuEventSynchronize", "cuEventSynchronize", &waitEvent), find("cuEventDestroy_v2", "cuEventDestroy", &dropEvent);
	find("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", &retain);
	find("cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease", &release), find("cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset", &reset);
	*(void **)&graphEvents = dlsym(cuda, "standin_graph_events"), *(void **)&unseen = dlsym(cuda, "standin_function");
	init(0);
	context(&c, 0, 0);
	for (int i = 1; i < argc; i++) {
		char *word = strtok(argv[i], ":"), *a = strtok(NULL, ":"), *b = strtok(NULL, ":");
		int n = a ? atoi(a) : 0;
		if (!strcmp(word, "stream") && stream(&streams[n], 0)) exit(2);
		if (!strcmp(word, "destroy") && destroy(streams[n])) exit(2);
		if (!strcmp(word, "run") && run(named(b), n ? streams[n] : NULL)) exit(2); // run:STREAM:NAME
		if (!strcmp(word, "ex")) {
			struct { unsigned d[7]; void *s, *x; unsigned n; } config = {{1, 1, 1, 1, 1, 1, 0}, n ? streams[n] : NULL, NULL, 0};
			if (launchEx(&config, named(b), NULL, NULL)) exit(2);
		}
		if (!strcmp(word, "unseen") && run(unseen(b), NULL)) exit(2);
		if (!strcmp(word, "bad") && !launch(named(b), 0, 1, 1, 1, 1, 1, 0, NULL, (void *)7, (void *)8)) exit(2);
		if (!strcmp(word, "wait") && waitStream(n ? streams[n] : NULL)) exit(2);
		if (!strcmp(word, "all") && waitAll()) exit(2);
		if (!strcmp(word, "copy") && copy(0, NULL, 1000, n ? streams[n] : NULL)) exit(2);
		if (!strcmp(word, "fill") && fill(0, 0, 500, n ? streams[n] : NULL)) exit(2);
		if (!strcmp(word, "back") && back(NULL, 0, 100)) exit(2);
		if (!strcmp(word, "sleep")) {
			struct timespec from, to;
			clock_gettime(CLOCK_MONOTONIC, &from), usleep(1000 * n), clock_gettime(CLOCK_MONOTONIC, &to);
			printf("%lld\n", (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec);
		}
		if (!strcmp(word, "event") && (event(&e, 0) || record(e, streams[n]))) exit(2);
		if (!strcmp(word, "waitevent") && waitEvent(e)) exit(2);
		if (!strcmp(word, "dropevent") && dropEvent(e)) exit(2);
		if (!strcmp(word, "primary") && (retain(&c, 0) || current(c))) exit(2);
		if (!strcmp(word, "release") && release(0)) exit(2);
		if (!strcmp(word, "reset") && reset(0)) exit(2);
		if (!strcmp(word, "each")) // each:N:keep, each:N:drop: a launch on each of N new streams
			for (int k = 0; k < n; k++) {
				void *s;
				if (stream(&s, 0) || run(named("each"), s) || (!strcmp(b, "drop") && destroy(s))) exit(2);
			}
		if (!strcmp(word, "context")) { drop(c); context(&c, 0, 0); }
		if (!strcmp(word, "threads")) {
			pthread_t all[8];
			for (int k = 0; k < 8; k++) pthread_create(&all[k], NULL, many, c);
			for (int k = 0; k < 8; k++) pthread_join(all[k], NULL);
		}
		if (!strcmp(word, "graph")) {
			void *f = named("inner");
			if (begin(streams[n], 0) || run(f, streams[n]) || run(f, streams[n]) || run(named("other"), NULL)) exit(3);
			if (end(streams[n], &g)) exit(4);
			if (graphEvents()) exit(6); // none of cg's
			if (graph(g, streams[n])) exit(2);
		}
		if (!strcmp(word, "fork")) {
			int status, child = fork();
			if (!child) exit(0);
			waitpid(child, &status, 0);
			if (status) exit(7);
		}
		if (!strcmp(word, "time")) {
			double t = now();
			f = named("timed");
			for (int k = 0; k < n; k++) run(f, NULL);
			printf("%.0f\n", (now() - t) / n * 1e9);
		}
	}
	return 0;
}`

// launching is the program with a stand-in of CUDA's driver, and cg's library, in a folder.
type launching struct{ dir, library string }

func newLaunching(t testing.TB) launching {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("no cc to build the stand-in of CUDA")
	}
	dir := t.TempDir()
	if err := simulate.Driver(dir, ""); err != nil {
		t.Fatal(err)
	}
	build(t, dir, launcher, "-w", "-std=gnu17", "-pthread", "-l:libcuda.so.1")
	library, _, err := runtimes.Library(context.Background(), "launches.c", cache, dir)
	if err != nil {
		t.Fatal(err)
	}
	return launching{dir, library}
}

// run gives what was gathered, and what the program printed. env is for the program; with PRELOAD=no it goes without
// cg's library.
func (of launching) run(t testing.TB, conf string, env []string, args ...string) (*Log, string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(of.dir, "cuda.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	g, err := Listen(nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(of.dir, "program"), args...)
	cmd.Env = append(append(os.Environ(), "LD_LIBRARY_PATH="+of.dir, "FIND=dlsym"), env...)
	if len(env) == 0 || env[0] != "PRELOAD=no" {
		preload, err := g.LaunchEnv(of.library, "", "")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, preload...)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v: %s", args, err, out)
	}
	l := g.End()
	if l.Odd > 0 {
		t.Errorf("%d datagrams are odd", l.Odd)
	}
	return l, string(out)
}

// byName are the activities of the only GPU, over all streams.
func byName(t *testing.T, l *Log) map[string]*Activity {
	t.Helper()
	if l.Told != 1 || len(l.Refused) > 0 || len(l.GPUs) != 1 || l.GPUs[0].UUID != simulate.UUID || !l.Guessed {
		t.Fatalf("%+v", l)
	}
	all := map[string]*Activity{}
	for _, a := range l.GPUs[0].Activities {
		all[a.Name] = a
	}
	return all
}

// Each launch is told once, with its name, however the program finds the driver's functions.
func TestLaunches(t *testing.T) {
	of := newLaunching(t)
	for _, find := range []string{"link", "dlsym", "address", "both"} {
		for _, conf := range []string{"", "twice\n", "nameless\n"} {
			l, _ := of.run(t, "kernel _Z3addPfi 2 0\n"+conf, []string{"FIND=" + find}, "stream:1", "run:1:_Z3addPfi", "run:1:_Z3addPfi", "ex:1:wide",
				"copy:1", "fill:0", "run:0:_Z3addPfi", "bad:0:none", "all", "back", "unseen:0:hidden", "wait:0")
			all := byName(t, l)
			want := map[string]uint64{"add(float*, int)": 3, "wide": 1, "copy from host to device": 1, "fill": 1, "copy from device to host": 1, "hidden": 1}
			if conf == "nameless\n" {
				delete(want, "hidden")
				want["?"] = 1
			}
			for name, count := range want {
				if all[name] == nil || all[name].Count != count {
					t.Errorf("%s %q: %s: %+v, want %d", find, conf, name, all[name], count)
				}
			}
			if all["none"] != nil && all["none"].Count > 0 {
				t.Errorf("what was not launched ran: %+v", all["none"])
			}
			if c := all["copy from host to device"]; c != nil && (c.Kind != Copy || c.Bytes != 1000) {
				t.Errorf("%+v", c)
			}
			if l.Lost > 0 {
				t.Errorf("%s: %d lost", find, l.Lost)
			}
		}
	}
}

// Events tell how long what was launched in a row took, and when it was over though the program asks much later. Times
// are told as parts of each other: a busy machine makes the first of a row longer.
func TestLaunchTimes(t *testing.T) {
	of := newLaunching(t)
	l, out := of.run(t, "kernel short 20 0\nkernel long 60 0\n", nil, "stream:1", "run:1:short", "run:1:long", "run:1:short", "run:1:long", "sleep:400", "all")
	all := byName(t, l)
	short, long := all["short"], all["long"]
	if short == nil || long == nil || short.Count != 2 || long.Count != 2 {
		t.Fatalf("%+v", l.GPUs[0].Activities)
	}
	if r := float64(long.Time) / float64(short.Time); r < 2 || r > 4 {
		t.Errorf("%v and %v", short.Time, long.Time)
	}
	var slept time.Duration // the program's own, by the program's clock
	fmt.Sscan(out, (*int64)(&slept))
	if sum := short.Time + long.Time; slept <= 0 || sum > slept*3/4 { // 160 ms; the program asked after 400
		t.Errorf("%v of kernels, %v of sleep", sum, slept)
	}
}

// Without events what was launched up to a synchronisation shares the time up to it.
func TestLaunchesWithoutEvents(t *testing.T) {
	of := newLaunching(t)
	for _, how := range []struct {
		conf string
		env  []string
		args []string // besides
	}{{"eventless\n", nil, []string{"wait:1"}}, {"", []string{"CG_KERNELS_EVENTS=no"}, []string{"event:1", "run:1:a", "waitevent"}}} {
		args := append([]string{"stream:1", "run:1:a", "run:1:b", "wait:1", "run:1:b"}, how.args...)
		l, _ := of.run(t, "kernel a 10 0\nkernel b 30 0\n"+how.conf, how.env, append(args, "all")...)
		all := byName(t, l)
		if a, b := all["a"], all["b"]; a == nil || b == nil || a.Count+b.Count != 3+uint64(len(how.args)/2) || b.Time < a.Time {
			t.Errorf("%v: %+v", how, l.GPUs[0].Activities)
		}
	}
}

// A capture into a graph is not disturbed, what is captured does not run, and the graph does.
func TestLaunchedGraph(t *testing.T) {
	of := newLaunching(t)
	l, _ := of.run(t, "", nil, "stream:1", "run:1:before", "graph:1", "run:1:after", "all")
	all := byName(t, l)
	for name, count := range map[string]uint64{"before": 1, "CUDA graph": 1, "after": 1, "other": 1} {
		if all[name] == nil || all[name].Count != count {
			t.Errorf("%s: %+v", name, all[name])
		}
	}
	if all["inner"] != nil {
		t.Errorf("%+v", all["inner"])
	}
}

// Streams and contexts that go, forks and many threads leave the program as it is without, and no launch is told twice.
func TestLaunchesOfAll(t *testing.T) {
	of := newLaunching(t)
	for _, test := range []struct {
		args []string
		want map[string]uint64
	}{
		{[]string{"stream:1", "run:1:a", "wait:1", "destroy:1", "stream:1", "run:1:b", "destroy:1", "stream:2", "run:2:c", "all"}, map[string]uint64{"a": 1, "b": 1, "c": 1}},
		{[]string{"run:0:a", "all", "context", "run:0:b", "all"}, map[string]uint64{"a": 1, "b": 1}},
		{[]string{"run:0:a", "fork", "run:0:b", "all"}, map[string]uint64{"a": 1, "b": 1}},
		{[]string{"threads", "all"}, map[string]uint64{"many": 3200}},
	} {
		l, _ := of.run(t, "", nil, test.args...)
		all := byName(t, l)
		for name, count := range test.want {
			if all[name] == nil || all[name].Count != count {
				t.Errorf("%v: %s: %+v, want %d; %d lost", test.args, name, all[name], count, l.Lost)
			}
		}
	}
}

// Handles that are given out again stand for what they stand for now: no launch is told twice, of another stream or
// never, and no event of a context that is gone is used. That holds for a program, too, that ends them by names without
// _v2.
func TestLaunchesOfReusedHandles(t *testing.T) {
	of := newLaunching(t)
	for _, test := range []struct{ args, want string }{
		{"run:0:a run:0:a all context run:0:b run:0:b all context run:0:a all", "a3 b2"},
		{"primary run:0:a run:0:a all reset run:0:b run:0:b all reset run:0:a all", "a3 b2"},
		{"primary run:0:a run:0:a all release primary run:0:b run:0:b all", "a2 b2"},
		{"primary primary run:0:a run:0:b all release run:0:a run:0:b all", "a2 b2"},
		{"stream:1 run:1:a run:1:b run:1:a run:1:b run:1:c event:1 wait:1 destroy:1 stream:1 run:1:z waitevent run:1:y wait:1", "a2 b2 c1 z1 y1"},
		{"stream:1 graph:1 run:1:a run:1:b wait:1", "a1 b1"},
		{"stream:1 run:1:a event:1 run:1:b dropevent stream:2 run:2:c event:2 waitevent all", "a1 b1 c1"},
	} {
		for _, find := range []string{"dlsym", "old"} {
			l, _ := of.run(t, "again\n", []string{"FIND=" + find}, strings.Fields(test.args)...)
			all := byName(t, l)
			for _, want := range strings.Fields(test.want) {
				if a := all[want[:1]]; a == nil || fmt.Sprint(a.Count) != want[1:] {
					t.Errorf("%s, %s: %+v, want %s; %d lost", find, test.args, a, want, l.Lost)
				}
			}
			if l.Lost > 0 {
				t.Errorf("%s, %s: %d lost", find, test.args, l.Lost)
			}
		}
	}
}

// What is launched on more streams than there is room for is counted; streams that are gone leave room for others.
func TestLaunchesOnManyStreams(t *testing.T) {
	of := newLaunching(t)
	const launched = 600
	for _, conf := range []string{"", "eventless\n"} {
		for _, how := range []string{"keep", "drop"} {
			l, _ := of.run(t, conf, nil, fmt.Sprintf("each:%d:%s", launched, how), "stream:1", "run:1:after")
			all := byName(t, l)
			told := uint64(0)
			for _, a := range all {
				told += a.Count
			}
			if told+l.Lost != launched+1 {
				t.Errorf("%q %s: %d told, %d lost of %d", conf, how, told, l.Lost, launched+1)
			}
			if after := all["after"]; how == "drop" && (after == nil || after.Count != 1) {
				t.Errorf("%q: a stream after others that are gone: %+v, %d lost", conf, after, l.Lost)
			}
		}
	}
}

// A library is loaded also where a space or a colon is in its path.
func TestLaunchesFromOddPath(t *testing.T) {
	of := newLaunching(t)
	odd := filepath.Join(t.TempDir(), "a b:c")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	plain := of.library
	of.library = filepath.Join(odd, "launches.so")
	if b, err := os.ReadFile(plain); err != nil || os.WriteFile(of.library, b, 0o755) != nil {
		t.Fatal(err)
	}
	l, _ := of.run(t, "", nil, "run:0:a", "all")
	if all := byName(t, l); all["a"] == nil || all["a"].Count != 1 {
		t.Errorf("%+v", all["a"])
	}
	t.Setenv("TMPDIR", odd)
	g, err := Listen(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.End()
	if env, err := g.LaunchEnv(of.library, "", ""); err == nil || !strings.Contains(err.Error(), odd) {
		t.Errorf("%v, %v", env, err)
	}
}

// asker asks the dynamic linker for names, and prints whose each is, or why there is none.
const asker = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static void tell(const char *how, const char *name, void *found) {
	Dl_info of;
	const char *why = dlerror(), *file = found && dladdr(found, &of) ? of.dli_fname : "-";
	printf("%s %s: %s %s %s\n", how, name, found ? "found" : "none", strrchr(file, '/') ? strrchr(file, '/') : file, why ? why : "");
}
int cuMine(void) { return 1; }
int main(void) {
	const char *names[] = {"printf", "cuMine", "cuLaunchKernel", "curl_none", "dlopen", "none"};
	void *math = dlopen("libm.so.6", RTLD_NOW);
	for (int i = 0; i < 6; i++) {
		if (strcmp(names[i], "cuLaunchKernel")) tell("default", names[i], dlsym(RTLD_DEFAULT, names[i]));
		if (strcmp(names[i], "cuLaunchKernel")) tell("next", names[i], dlsym(RTLD_NEXT, names[i]));
		tell("handle", names[i], dlsym(math, names[i]));
		tell("version", names[i], dlvsym(RTLD_DEFAULT, names[i], "GLIBC_0"));
	}
	tell("handle", "cos", dlsym(math, "cos"));
	return 0;
}`

// What does not use CUDA tells nothing, and works: dlsym gives what it gives without.
func TestPreloadedProgram(t *testing.T) {
	of := newLaunching(t)
	build(t, of.dir, asker, "-w", "-rdynamic")
	_, alone := of.run(t, "", []string{"PRELOAD=no"})
	if _, with := of.run(t, "", nil); with != alone || strings.Count(alone, "\n") < 20 {
		t.Errorf("with the library:\n%s\nwithout:\n%s", with, alone)
	}
	l, _ := of.run(t, "", nil)
	if len(l.GPUs) > 0 || l.Told > 0 {
		t.Errorf("%+v", l)
	}
}

// Launches that are no launch are counted and left out.
func TestOddLaunches(t *testing.T) {
	for _, test := range []struct {
		from, to, since, done uint64
		count                 uint32
		odd                   uint64
	}{{100, 200, 50, 300, 2, 0}, {100, 200, 100, 200, 1, 0}, {100, 200, 150, 300, 1, 1}, {100, 200, 50, 150, 1, 1}, {100, 200, 50, 300, 0, 1},
		{100, 200, 0, 300, 1, 1}, {100, 200, 50, math.MaxInt64, 1, 1}} {
		var s state
		s.take(datagram(1, record(recordDevice, uint32(0), strings.Repeat("\x10", 16)), record(recordName, uint32(1), "k"),
			record(recordLaunches, test.from, test.to, uint32(0), uint32(1), uint32(0), uint32(0), uint64(0), uint32(0), test.count, test.since, test.done)))
		if s.odd != test.odd {
			t.Errorf("%+v: %d odd", test, s.odd)
		}
		if l := s.log(); test.odd == 0 && l.GPUs[0].Activities[0].Count != uint64(test.count) {
			t.Errorf("%+v: %+v", test, l.GPUs[0].Activities[0])
		}
	}
}

// BenchmarkLaunch is what processor time a launch takes more with cg's library, beside the stand-in's own launch.
func BenchmarkLaunch(b *testing.B) {
	of := newLaunching(b)
	for range b.N {
		var ns [2]float64
		for i, env := range [][]string{{"PRELOAD=no"}, {"CG=1"}} {
			if _, out := of.run(b, "kernel timed 0.0001 0\n", env, "time:300000"); out != "" {
				fmt.Sscan(out, &ns[i])
			}
		}
		b.ReportMetric(ns[0], "alone-ns/launch")
		b.ReportMetric(ns[1]-ns[0], "added-ns/launch")
	}
}
