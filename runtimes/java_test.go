package runtimes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/long"
)

// javaDir keeps what is made for the tests of Java.
var javaDir string

// built is what all tests of Java share.
type built struct {
	dir, jar, library, programs, modules string
	err                                  error
}

var java = sync.OnceValue(func() (b built) {
	if _, b.err = exec.LookPath("javac"); b.err != nil {
		return b
	}
	b.dir = javaDir
	b.programs, b.modules = filepath.Join(b.dir, "programs"), filepath.Join(b.dir, "modules")
	if b.jar, b.err = Archive(context.Background(), "javac", Cache{Dir: b.dir}, b.dir); b.err != nil {
		return b
	}
	if b.library, _, b.err = Library(context.Background(), "java.c", Cache{Dir: b.dir}, b.dir); b.err != nil && !errors.Is(b.err, ErrNoCompiler) {
		return b
	}
	for _, args := range [][]string{
		{"-d", b.programs, "-cp", b.jar, "testdata/java/Programs.java", "testdata/java/Bench.java"},
		{"-d", filepath.Join(b.modules, "m"), "-cp", b.jar, "--add-reads", "m=ALL-UNNAMED", "testdata/module/module-info.java", "testdata/module/m/Main.java"},
	} {
		if out, err := exec.Command("javac", append([]string{"--release", "17"}, args...)...).CombinedOutput(); err != nil {
			b.err = fmt.Errorf("javac: %w: %s", err, out)
			return b
		}
	}
	return b
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cg-runtimes-test-")
	if err != nil {
		panic(err)
	}
	javaDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// javas lists the machines to test with: java, and those that CG_JAVAS names.
// CI must have a JDK.
func javas(t testing.TB) ([]string, built) {
	t.Helper()
	b := java()
	if errors.Is(b.err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip("no javac")
	}
	if b.err != nil {
		t.Fatal(b.err)
	}
	return append([]string{"java"}, filepath.SplitList(os.Getenv("CG_JAVAS"))...), b
}

// release is the number of a Java.
func release(t testing.TB, java string) int {
	t.Helper()
	out, err := exec.Command(java, "-version").CombinedOutput()
	m := regexp.MustCompile(`version "(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("%s: %v\n%s", java, err, out)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// each runs a test with every Java: with the native library, where threads add up
// and write single events besides, where they only add up, where they count in the library or in Java, and without
// the library.
func each(t *testing.T, test func(t *testing.T, j machine)) {
	eachOf(t, func(machine) bool { return true }, test)
}

// eachOf runs a test on those machines to which it applies; if there is none, on one
// below /usr/lib/jvm.
func eachOf(t *testing.T, applies func(machine) bool, test func(t *testing.T, j machine)) {
	all, b := javas(t)
	others, _ := filepath.Glob("/usr/lib/jvm/*/bin/java")
	ran := 0
	for i, java := range append(all, others...) {
		if i >= len(all) && ran > 0 {
			break
		}
		n := release(t, java)
		for _, mode := range []string{"native", "added", "counted", "bytecode", "pure"} {
			j := b.machine(java, n, mode)
			if !applies(j) {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%d/%s", n, mode), func(t *testing.T) {
				if mode != "pure" && b.library == "" {
					compiler(t)
				}
				if j.counts && !slices.Contains(countingTests, strings.Split(t.Name(), "/")[0]) {
					long.Skip(t, "counting is in few tests")
				}
				test(t, j)
			})
		}
	}
	if ran == 0 {
		t.Skip("it applies to no Java here")
	}
}

// countingTests run also where Java counts with -short. The others have it in .ci/release tests.
var countingTests = []string{"TestJavaCounts", "TestJavaCountsWhereNativesAreSlow", "TestJavaThreads",
	"TestJavaStackOverflowPlace"}

type machine struct {
	built
	java    string
	release int
	pure    bool
	adds    bool
	counts  bool // events of short calls are counted, not timed
	slow    bool // a call of the library takes long, so that Java counts
	chunks  int
	env     []string
	library string // in place of the built one
	broken  bool   // the channel is none
	closed  bool   // plain Java without the package that it asks for
	late    bool   // nothing is read before the program says read
}

// machine is one of a mode (see each).
func (b built) machine(java string, release int, mode string) machine {
	counts := mode == "counted" || mode == "bytecode"
	return machine{built: b, java: java, release: release, pure: mode == "pure", slow: mode == "bytecode",
		adds: mode == "added" || counts, counts: counts}
}

// flags are those of the launcher.
func (j machine) flags() []string {
	flags := append(JavaFlags(j.release, j.jar, !j.pure, !j.slow), "-XX:-UsePerfData") // what it says is compared
	if j.closed {
		flags = slices.DeleteFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--add-exports") })
	}
	return flags
}

// sums are what threads have added up, by the numbers of their trees.
type sums struct {
	trees map[uint64]*checkpoint.Tally // the latest of each, without windows
	calls map[uint64]map[uint32]uint64 // by node
	tops  map[uint64]uint32
	order []uint64
	away  map[checkpoint.SiteID]int    // frames that left, less those that came back
	goes  map[checkpoint.SiteID]uint64 // how often calls came to places
	left  map[checkpoint.SiteID]int64  // the others below, of a place or of a function outside its places
	// frames that ended with an outer one, and events that began or ended no call
	unwound, others int64
}

func (s *sums) fold(y *checkpoint.Tally) int {
	id := y.Paths
	if s.trees[id] == nil {
		if s.trees == nil {
			s.trees, s.calls, s.tops = map[uint64]*checkpoint.Tally{}, map[uint64]map[uint32]uint64{}, map[uint64]uint32{}
			s.away = map[checkpoint.SiteID]int{}
			s.goes, s.left = map[checkpoint.SiteID]uint64{}, map[checkpoint.SiteID]int64{}
		}
		s.calls[id] = map[uint32]uint64{}
		s.order = append(s.order, id)
	}
	s.unwound += int64(y.Unwound)
	for _, w := range y.Windows {
		for _, p := range w.Parts {
			s.calls[id][p.Node] += p.Calls
			s.others += p.Others
			s.away[y.Nodes[p.Node].Site] += int(p.Away)
			if place := y.Nodes[p.Node].Place(); place != 0 {
				s.goes[place] += p.Calls
				s.left[place] += p.Others
			} else {
				s.left[y.Nodes[p.Node].Site] += p.Others
			}
		}
		s.tops[id] = w.Top
	}
	n := len(y.Windows)
	y.Windows = nil
	s.trees[id] = y
	return n
}

// below is how many calls of a site were made by another.
func (s *sums) below(site, caller checkpoint.SiteID) (n int) {
	for id, calls := range s.calls {
		nodes := s.trees[id].Nodes
		for i, c := range calls {
			if nodes[i].Site == site && nodes[nodes[i].Parent].Site == caller {
				n += int(c)
			}
		}
	}
	return n
}

// bySite is how many calls of each site were added up.
func (s *sums) bySite() map[checkpoint.SiteID]int {
	all := map[checkpoint.SiteID]int{}
	for id, calls := range s.calls {
		for n, c := range calls {
			all[s.trees[id].Nodes[n].Site] += int(c)
		}
	}
	return all
}

// events gives each thread as many calls as it has added up, one behind the
// other, and those open that were open at its end.
func (s *sums) events() (threads [][]told) {
	for _, tree := range s.order {
		y, open := s.trees[tree], map[uint32]bool{}
		for n := s.tops[tree]; n >= checkpoint.FirstNode; n = y.Nodes[n].Parent {
			open[n] = true
		}
		var events []told
		for n, node := range y.Nodes {
			for k := range s.calls[tree][uint32(n)] {
				events = append(events, told{checkpoint.Enter, node.Site})
				if k > 0 || !open[uint32(n)] {
					events = append(events, told{checkpoint.Exit, node.Site})
				}
			}
		}
		threads = append(threads, events)
	}
	return threads
}

type told struct {
	kind checkpoint.Kind
	site checkpoint.SiteID
}

// outcome is what a program did and reported.
type outcome struct {
	stdout, stderr string
	status         int
	threads        [][]told // of each thread from its First on
	away           map[checkpoint.SiteID]int
	pids           map[uint32]bool
	lost           uint64
	added          *sums
	pure, off      string
	isPure, isOff  bool
}

// count says how often a kind of event of a site was reported.
func (o outcome) count(kind checkpoint.Kind, site checkpoint.SiteID) int {
	n := 0
	for _, t := range o.threads {
		for _, e := range t {
			if e == (told{kind, site}) {
				n++
			}
		}
	}
	return n
}

// nested fails unless each thread's events nest, but for frames open at the end.
func (o outcome) nested(t *testing.T) {
	t.Helper()
	for i, events := range o.threads {
		var stack []checkpoint.SiteID
		for k, e := range events {
			switch e.kind {
			case checkpoint.Enter, checkpoint.Resume:
				stack = append(stack, e.site)
				continue
			case checkpoint.Exit, checkpoint.Suspend:
			default:
				t.Fatalf("thread %d: kind %v", i, e.kind)
			}
			if len(stack) == 0 || stack[len(stack)-1] != e.site {
				t.Fatalf("thread %d, event %d: %v of %d on %v", i, k, e.kind, e.site, stack)
			}
			stack = stack[:len(stack)-1]
		}
	}
}

// exactly fails unless so many calls of a site began and ended.
func (o outcome) exactly(t *testing.T, site checkpoint.SiteID, calls int) {
	t.Helper()
	if in, out := o.count(checkpoint.Enter, site), o.count(checkpoint.Exit, site); in != calls || out != calls {
		t.Errorf("site %d: %d enters and %d exits, want %d", site, in, out, calls)
	}
}

// run runs a program; one that says ready is killed then.
func (j machine) run(t testing.TB, args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	channel, err := checkpoint.New(checkpoint.SystemClock(), j.chunks)
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	if !j.adds {
		channel.WriteWords()
	}
	if j.counts {
		channel.SetBudget(0.01)
	}
	server := &instrument.Server{Language: "java", Channel: channel}
	if err := server.Listen(filepath.Join(dir, "server")); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	library, reason, path := j.built.library, "", channel.Path()
	if j.library != "" {
		library = j.library
	}
	if j.pure {
		library, reason = "", "tested without"
	}
	if j.broken {
		path = filepath.Join(dir, "none")
	}
	run := filepath.Join(dir, "run")
	text := fmt.Sprintf("channel=%s\nserver=%s\nnative=%s\nreason=%s\n", path, filepath.Join(dir, "server"), library, reason)
	if err := os.WriteFile(run, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(j.java, append(j.flags(), args...)...)
	cmd.Env = append(append(os.Environ(), "CG_RUN="+run), j.env...)
	var o outcome
	o.pids = map[uint32]bool{}
	open := map[checkpoint.Thread]int{}
	last := map[checkpoint.Thread]checkpoint.Tick{}
	var added sums
	fold := func(r checkpoint.Run) int {
		o.pids[r.Thread.PID] = true
		if len(r.Words) > 0 && r.Cost <= 0 {
			t.Errorf("%v: it does not say what an event costs", r.Thread)
		}
		if r.Tally != nil {
			return added.fold(r.Tally)
		}
		if r.Added == (j.pure || j.library != "") || j.adds {
			t.Errorf("%v: single events, added up %v", r.Thread, r.Added)
		}
		i, there := open[r.Thread]
		if r.First || !there {
			i = len(o.threads)
			o.threads, open[r.Thread], last[r.Thread] = append(o.threads, nil), i, r.Start
		}
		for _, w := range r.Words {
			at := w.Tick(channel.Clock().Now() + 1<<16)
			if late := last[r.Thread] - at; at < last[r.Thread] && !(j.pure && late < 1000) { // nanoseconds become ticks by two stamps
				t.Errorf("%v: time runs backwards by %d", r.Thread, last[r.Thread]-at)
			}
			last[r.Thread] = at
			o.threads[i] = append(o.threads[i], told{w.Kind(), w.Site()})
		}
		return len(r.Words)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var stdout strings.Builder
	var reading atomic.Bool
	reading.Store(!j.late)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			fmt.Fprintln(&stdout, lines.Text())
			switch lines.Text() {
			case "ready":
				cmd.Process.Kill()
			case "read":
				reading.Store(true)
			}
		}
		done <- cmd.Wait()
	}()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(2 * time.Minute)
wait:
	for {
		select {
		case err = <-done:
			break wait
		case <-tick.C:
			channel.Stamp()
			atomic.StoreUint64(channel.Epoch(), uint64(channel.Clock().Now()))
			if reading.Load() {
				channel.Drain(fold)
			}
		case <-limit:
			cmd.Process.Kill()
			t.Fatal("the program does not end")
		}
	}
	channel.Finish(fold)
	o.take(t, j, &added)
	if n := channel.RefusedTrees(); n > 0 {
		t.Errorf("what %d threads added up is refused", n)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if o.status = exit.ExitCode(); o.status < 0 {
			o.status = 128 + int(exit.Sys().(syscall.WaitStatus).Signal())
		}
	} else if err != nil {
		t.Fatal(err)
	}
	o.stdout, o.stderr, o.lost = stdout.String(), errs.String(), channel.Lost()
	o.pure, o.isPure = server.PureRuntime()
	o.off, o.isOff = server.WithoutChannel()
	return o
}

// take takes in what threads have added up: in place of their events, or else it
// must be as many calls as the events are.
func (o *outcome) take(t testing.TB, j machine, added *sums) {
	t.Helper()
	o.away, o.added = added.away, added
	if j.adds {
		o.threads = added.events()
		return
	}
	for site, calls := range added.bySite() {
		if n := o.count(checkpoint.Enter, site); site > 0 && n != calls {
			t.Errorf("site %d: %d calls were added up, %d told", site, calls, n)
		}
	}
}

// quiet fails unless the program did what it does without cg and nothing was
// lost.
func (o outcome) quiet(t *testing.T, j machine, stdout string, status int) {
	t.Helper()
	if o.stdout != stdout || o.stderr != "" || o.status != status {
		t.Errorf("status %d, stdout %q, stderr %q; want %d, %q", o.status, o.stdout, o.stderr, status, stdout)
	}
	if o.lost != 0 || o.isOff || o.isPure != j.pure {
		t.Errorf("%d lost; pure %v (%s), off %v (%s)", o.lost, o.isPure, o.pure, o.isOff, o.off)
	}
}

func (j machine) program(args ...string) []string {
	return append([]string{"-cp", j.programs, "Programs"}, args...)
}

func TestJavaCounts(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, j.program("counts")...)
		o.quiet(t, j, "610\nraised Programs.raise(Programs.java:27)\n", 0)
		o.nested(t)
		for site, calls := range map[checkpoint.SiteID]int{1: 1, 2: 1973, 3: 1000, 4: 11} {
			o.exactly(t, site, calls)
		}
		if j.pure && o.pure != "tested without" {
			t.Errorf("pure because %q", o.pure)
		}
	})
}

// Java itself counts where a call of the library takes long, and nowhere else.
func TestJavaCountsWhereNativesAreSlow(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		slow := !slices.ContainsFunc(j.flags(), func(f string) bool {
			return f == "-XX:+CriticalJNINatives" || f == "-XX:+UseSystemMemoryBarrier"
		})
		o := j.run(t, j.program("counting")...)
		o.quiet(t, j, fmt.Sprintln(j.counts && slow), 0)
	})
}

func TestJavaThreads(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, j.program("threads", "8")...)
		o.quiet(t, j, "", 0)
		o.nested(t)
		o.exactly(t, 2, 8*21891)
		if len(o.threads) != 9 {
			t.Errorf("%d threads", len(o.threads))
		}
	})
}

// Threads one after the other leave room for the next: 512 chunks do. (Each may
// be a while in ending, after the program has seen it end.)
func TestJavaShortThreads(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		j.chunks = 512
		o := j.run(t, j.program("shorts", "2000")...)
		o.quiet(t, j, "", 0)
		o.nested(t)
		o.exactly(t, 2, 2000)
		if len(o.threads) != 2001 {
			t.Errorf("%d threads", len(o.threads))
		}
	})
}

func TestJavaEnds(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		for _, how := range []string{"exit", "halt"} {
			o := j.run(t, j.program(how)...)
			o.quiet(t, j, "leaving\n", 7)
			o.nested(t)
			if in, out := o.count(checkpoint.Enter, 6), o.count(checkpoint.Exit, 6); in != 1 || out != 0 {
				t.Errorf("%s: %d enters, %d exits", how, in, out)
			}
		}
		o := j.run(t, j.program("daemons")...)
		o.quiet(t, j, "", 0)
		o.nested(t)
		o.exactly(t, 1, 1)
	})
}

// Whatever was written before a SIGKILL is there.
func TestJavaKilled(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, j.program("wait", "50000")...)
		o.quiet(t, j, "ready\n", 137)
		o.nested(t)
		o.exactly(t, 2, 50000)
	})
}

// The end of the stack is the program's own affair, and no frame of cg's is at it.
func TestJavaStackOverflow(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		for _, flag := range []string{"-Xint", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation"} {
			args := append([]string{flag, "-Xss512k"}, j.program("overflow")...)
			o := j.run(t, args...)
			if o.stdout != strings.Repeat("overflow in Programs.dive\n", 5) || o.stderr != "" || o.status != 0 {
				t.Fatalf("%s: status %d, stdout %q, stderr %q", flag, o.status, o.stdout, o.stderr)
			}
			o.exactly(t, 1, 1)
			o.exactly(t, 2, 1)
			in, out := o.count(checkpoint.Enter, 5), o.count(checkpoint.Exit, 5)
			t.Logf("%s: %d enters, %d exits, %d lost", flag, in, out, o.lost)
			if in < 1000 || out > in || in-out > 100 {
				t.Errorf("%s: %d enters, %d exits", flag, in, out)
			}
		}
	})
}

// TestJavaStackOverflowPlace: at the end of the stack a checkpoint is there or is not, and each call that
// has begun ends: the calls after an overflow have the caller that they have.
func TestJavaStackOverflowPlace(t *testing.T) {
	adds := func(j machine) bool { return j.adds } // the paths are those that are added up
	eachOf(t, adds, func(t *testing.T, j machine) {
		for _, flag := range []string{"-Xint", "-XX:TieredStopAtLevel=1", "-XX:+TieredCompilation"} {
			const n = 500
			o := j.run(t, append([]string{flag, "-Xss256k"}, j.program("overflows", strconv.Itoa(n))...)...)
			if o.stdout != "" || o.stderr != "" || o.status != 0 || o.lost != 0 {
				t.Fatalf("%s: status %d, stdout %q, stderr %q", flag, o.status, o.stdout, o.stderr)
			}
			if got := o.added.below(3, 1); got != n || o.added.unwound != 0 || o.added.others != 0 {
				t.Errorf("%s: %d of %d calls in their place, %d unwound, %d others", flag, got, n, o.added.unwound, o.added.others)
			}
			t.Logf("%s: %d calls", flag, o.count(checkpoint.Enter, 5))
		}
	})
}

func TestJavaOutOfMemory(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, append([]string{"-Xmx24m"}, j.program("memory")...)...)
		o.quiet(t, j, strings.Repeat("out of memory\n", 3), 0)
		o.nested(t)
		if o.count(checkpoint.Enter, 2) == 0 || o.count(checkpoint.Enter, 2) != o.count(checkpoint.Exit, 2) {
			t.Error("events are missing")
		}
	})
}

func TestJavaSeveralMachines(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		command := append(append([]string{j.java}, j.flags()...), j.program("counts")...)
		o := j.run(t, j.program(append([]string{"jvms"}, command...)...)...)
		o.nested(t)
		o.exactly(t, 1, 4)
		o.exactly(t, 2, 3*1973)
		if len(o.pids) != 4 || o.stderr != "" || strings.Count(o.stdout, "raised") != 3 || strings.Count(o.stdout, "\n0\n") < 1 {
			t.Errorf("%d processes; %q, %q", len(o.pids), o.stdout, o.stderr)
		}
	})
}

func TestJavaNamedModule(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, "--add-reads", "m=ALL-UNNAMED", "-p", j.modules, "-m", "m/m.Main")
		o.quiet(t, j, "module m\n", 0)
		o.exactly(t, 1, 1)
	})
}

func TestJavaClassLoaders(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, j.program("loaders")...)
		o.quiet(t, j, "5\n5\n", 0)
		o.nested(t)
		o.exactly(t, 2, 30)
	})
}

// The user's own options stay: the machine tells of them as it does without cg.
func TestJavaToolOptions(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		j.env = []string{"JAVA_TOOL_OPTIONS=-Dmine=1"}
		o := j.run(t, j.program("counts")...)
		if o.stderr != "Picked up JAVA_TOOL_OPTIONS: -Dmine=1\n" || o.status != 0 {
			t.Errorf("status %d, %q", o.status, o.stderr)
		}
		o.exactly(t, 2, 1973)
		j.env = []string{"JDK_JAVA_OPTIONS=-Dmine=1"}
		o = j.run(t, j.program("counts")...)
		if o.stderr != "NOTE: Picked up JDK_JAVA_OPTIONS: -Dmine=1\n" || o.status != 0 {
			t.Errorf("status %d, %q", o.status, o.stderr)
		}
		o.exactly(t, 2, 1973)
	})
}

// Collections stop threads between their events and lose none; they do not wait
// for a thread that waits for the reader.
func TestJavaCollections(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		for _, flag := range []string{"-XX:+UseG1GC", "-XX:+UseSerialGC"} {
			o := j.run(t, append([]string{flag, "-Xmx64m"}, j.program("collections", "4")...)...)
			o.quiet(t, j, "", 0)
			o.nested(t)
			o.exactly(t, 2, 4*21891)
		}
		j.chunks, j.late = 2, true
		o := j.run(t, j.program("waiting")...)
		o.quiet(t, j, "collected true\nread\n", 0)
		o.nested(t)
		o.exactly(t, 2, 30000)
	})
}

// Two chunks are soon full: writers wait for the reader, and take nothing from
// the program when they do.
func TestJavaWaits(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		j.chunks = 2
		o := j.run(t, j.program("kept")...)
		o.quiet(t, j, "true\npermit\n", 0)
		o.nested(t)
		o.exactly(t, 2, 2*21891)
	})
}

func TestJavaVirtualThreads(t *testing.T) {
	eachOf(t, func(j machine) bool { return j.release >= 21 }, func(t *testing.T, j machine) {
		o := j.run(t, j.program("virtuals", "500")...)
		o.quiet(t, j, "", 0)
		o.nested(t)
		o.exactly(t, 2, 500*15)
		// A kernel thread that gets nothing more to do never tells that it was
		// left: that may be a few at the end. Its sums have these frames open, which
		// came back, and ended, on other threads.
		away, back, open := o.count(checkpoint.Suspend, 7), o.count(checkpoint.Resume, 7), 0
		if j.adds {
			away, back, open = 500, 500-o.away[7], -o.away[7]
		}
		if in, out := o.count(checkpoint.Enter, 7), o.count(checkpoint.Exit, 7); in != 500*15 || out+open != in {
			t.Errorf("%d enters, %d exits and %d open on threads that were left, want %d", in, out, open, 500*15)
		}
		if away > back || back-away > 6*len(o.threads) || away < 500 {
			t.Errorf("%d suspends, %d resumes", away, back)
		}
		if len(o.threads) > 50 {
			t.Errorf("%d threads", len(o.threads))
		}
	})
}

// TestJavaVirtualThreadsPlaces: a call that goes on on another kernel thread is in the place of its code in which it
// was, and has come there once.
func TestJavaVirtualThreadsPlaces(t *testing.T) {
	applies := func(j machine) bool { return j.release >= 21 && j.adds && !j.counts }
	eachOf(t, applies, func(t *testing.T, j machine) {
		const n = 40
		o := j.run(t, j.program("places", strconv.Itoa(n))...)
		o.quiet(t, j, "", 0)
		if in, out := o.added.goes[11], o.added.goes[12]; in != n || out != n {
			t.Errorf("calls came %d and %d times to their places, want %d", in, out, n)
		}
		if at, rest := o.added.left[11], o.added.left[10]; at < n || rest != 0 {
			t.Errorf("calls left their thread %d times in the place, and %d times in none", at, rest)
		}
	})
}

// A virtual thread that finds a lock of the library taken goes on on another kernel thread, from
// Java 24 on: the runtime takes none, so that it loses nothing, and tells threads apart.
func TestJavaLockedLibrary(t *testing.T) {
	eachOf(t, func(j machine) bool { return j.release >= 24 }, func(t *testing.T, j machine) {
		flags := []string{"--add-opens", "java.base/jdk.internal.ref=ALL-UNNAMED", "--add-opens",
			"java.base/java.lang.ref=ALL-UNNAMED", "-Djdk.virtualThreadScheduler.parallelism=1"}
		o := j.run(t, append(flags, j.program("locked")...)...)
		o.quiet(t, j, "", 0)
		o.nested(t)
		o.exactly(t, 2, 2*15)
	})
}

// Without a package of java.base the reader finds out which threads are gone,
// and only virtual threads are not reported.
func TestJavaClosed(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		j.closed = true
		o := j.run(t, j.program("shorts", "500")...)
		o.quiet(t, j, "", 0)
		o.nested(t)
		o.exactly(t, 2, 500)
		if !j.pure || j.release < 21 {
			return
		}
		o = j.run(t, j.program("virtuals", "100")...)
		if o.status != 0 || o.stderr != "" || o.lost != 100*60 {
			t.Errorf("status %d, %q, %d lost", o.status, o.stderr, o.lost)
		}
		o.exactly(t, 1, 1)
		o.exactly(t, 7, 0)
	})
}

// What the machine checks of natives, and what a security manager forbids the
// program, is as without cg.
func TestJavaChecked(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, append([]string{"-Xcheck:jni"}, j.program("counts")...)...)
		o.quiet(t, j, "610\nraised Programs.raise(Programs.java:27)\n", 0)
		if j.release < 24 {
			o = j.run(t, append([]string{"-Djava.security.manager=default"}, j.program("counts")...)...)
			if o.status != 0 || o.isOff || strings.Contains(o.stderr, "cg") || o.count(checkpoint.Exit, 2) != 1973 {
				t.Errorf("status %d, off %q, %q, %d exits", o.status, o.off, o.stderr, o.count(checkpoint.Exit, 2))
			}
		}
	})
}

// Where nothing works the program runs on, and cg hears why.
func TestJavaOff(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		j.broken = true
		o := j.run(t, j.program("counts")...)
		if o.status != 0 || o.stderr != "" || len(o.threads) != 0 || !o.isOff || !strings.Contains(o.off, "none: no such file") {
			t.Errorf("status %d, %q, %d threads, off %v: %q", o.status, o.stderr, len(o.threads), o.isOff, o.off)
		}
		j.env = []string{"CG_RUN=/nosuch"}
		if o := j.run(t, j.program("counts")...); o.status != 0 || o.stderr != "" || len(o.threads) != 0 {
			t.Errorf("status %d, %q, %d threads", o.status, o.stderr, len(o.threads))
		}
	})
}

// A library that cannot be loaded is done without.
func TestJavaBrokenLibrary(t *testing.T) {
	native := func(j machine) bool { return !j.pure && !j.adds } // there is none, or it is the same
	eachOf(t, native, func(t *testing.T, j machine) {
		j.library = filepath.Join(t.TempDir(), "broken.so")
		o := j.run(t, j.program("counts")...)
		j.pure = true
		o.quiet(t, j, "610\nraised Programs.raise(Programs.java:27)\n", 0)
		o.exactly(t, 2, 1973)
		if !strings.Contains(o.pure, "broken.so") {
			t.Errorf("pure because %q", o.pure)
		}
	})
}

// Where java.base keeps its packages to itself, the runtime is made without them.
func TestArchivePublic(t *testing.T) {
	javas(t)
	dir := t.TempDir()
	javac := filepath.Join(dir, "javac")
	script := "#!/bin/sh\ncase \"$*\" in *--add-exports*) exit 1; esac\nexec javac \"$@\"\n"
	if err := os.WriteFile(javac, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Archive(context.Background(), javac, Cache{}, dir); err != nil {
		t.Error(err)
	}
}

func TestArchive(t *testing.T) {
	javas(t)
	cache := t.TempDir()
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if jar, err := Archive(context.Background(), "javac", Cache{Dir: cache}, t.TempDir()); err != nil || filepath.Dir(jar) != cache {
				t.Errorf("%s, %v", jar, err)
			}
		})
	}
	wait.Wait()
	if names := entries(t, cache); len(names) != 1 {
		t.Errorf("left in the cache: %v", names)
	}
	// With the jar there, no compiler is needed.
	if _, err := Archive(context.Background(), "/nosuch/javac", Cache{Dir: cache}, t.TempDir()); err != nil {
		t.Error(err)
	}
	if jar, err := Archive(context.Background(), "javac", Cache{Dir: "/proc/nosuch"}, cache); err != nil || !slices.Contains(entries(t, cache), filepath.Base(jar)) {
		t.Errorf("%s, %v", jar, err)
	}
	scratch := t.TempDir()
	if _, err := Archive(context.Background(), "false", Cache{}, scratch); err == nil || !strings.Contains(err.Error(), "compiling the Java runtime with false") {
		t.Error(err)
	}
	if names := entries(t, scratch); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// What an event costs beside a reading of the clock, an empty call and an empty
// native, and a pair of events in fib for each of its calls: the least of 400
// bursts each. With CG_JAVAS it is measured with those machines, too.
func BenchmarkJava(b *testing.B) {
	all, shared := javas(b)
	var nop []string
	if shared.library != "" {
		nop = []string{filepath.Join(b.TempDir(), "nop.so")}
		if out, err := exec.Command("cc", "-O2", "-fPIC", "-shared", "-o", nop[0], "testdata/java/nop.c").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	for _, java := range all {
		n := release(b, java)
		for _, mode := range []string{"native", "added", "counted", "bytecode", "pure"} {
			b.Run(fmt.Sprintf("%d/%s", n, mode), func(b *testing.B) {
				j := shared.machine(java, n, mode)
				least := map[string]float64{}
				for range b.N {
					args := []string{"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Bench.empty", "-cp", j.programs, "Bench"}
					o := j.run(b, append(args, nop...)...)
					for _, line := range strings.Split(strings.TrimSpace(o.stdout), "\n") {
						name, value, _ := strings.Cut(line, " ")
						ns, err := strconv.ParseFloat(value, 64)
						if err != nil {
							b.Fatalf("%q, %q", o.stdout, o.stderr)
						}
						if was, there := least[name]; !there || ns < was {
							least[name] = ns
						}
					}
				}
				for name, ns := range least {
					b.ReportMetric(ns, name+"-ns")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// The flags that make natives quick stay away from what the user sets, and from
// releases that do not know them.
func TestJavaFlags(t *testing.T) {
	for _, name := range []string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"} {
		t.Setenv(name, "")
	}
	has := func(release int, native bool, flag string) bool {
		return slices.Contains(JavaFlags(release, "x.jar", native, true), flag)
	}
	const critical, barrier, access = "-XX:+CriticalJNINatives", "-XX:+UseSystemMemoryBarrier", "--enable-native-access=ALL-UNNAMED"
	for _, c := range []struct {
		release           int
		critical, barrier bool
	}{{17, true, false}, {18, false, false}, {20, false, false}, {21, false, true}, {25, false, true}} {
		if has(c.release, true, critical) != c.critical || has(c.release, true, barrier) != (c.barrier && hasMembarrier()) {
			t.Errorf("Java %d: %q", c.release, JavaFlags(c.release, "x.jar", true, true))
		}
		if has(c.release, false, critical) || has(c.release, false, barrier) {
			t.Errorf("Java %d without the library: %q", c.release, JavaFlags(c.release, "x.jar", false, true))
		}
		if has(c.release, true, access) != (c.release >= 22) {
			t.Errorf("Java %d: %q", c.release, JavaFlags(c.release, "x.jar", true, true))
		}
	}
	for _, release := range []int{17, 25} {
		if flags := strings.Join(JavaFlags(release, "x.jar", true, false), " "); strings.Contains(flags, "-XX:") {
			t.Errorf("Java %d with few checkpoints: %s", release, flags)
		}
	}
	t.Setenv("JDK_JAVA_OPTIONS", "-XX:+UnlockDiagnosticVMOptions -XX:+PrintInlining")
	if has(17, true, critical) {
		t.Error("the user's own flags for diagnosis are undone")
	}
}

// A flag of the user's that asks the machine for diagnosis is understood, before
// cg's own and behind them, and its warnings are printed.
func TestJavaDiagnosis(t *testing.T) {
	each(t, func(t *testing.T, j machine) {
		o := j.run(t, append([]string{"-XX:+UnlockDiagnosticVMOptions", "-XX:+AbortVMOnSafepointTimeout"}, j.program("counts")...)...)
		o.quiet(t, j, "610\nraised Programs.raise(Programs.java:27)\n", 0)
		o = j.run(t, append([]string{"-XX:MaxPermSize=1m"}, j.program("counts")...)...)
		if !strings.Contains(o.stdout+o.stderr, "MaxPermSize") {
			t.Errorf("no warning: %q, %q", o.stdout, o.stderr)
		}
	})
}

// What the virtual machine says of a file of performance data that another process
// has locked does not stand in the place of what javac says.
func TestJavaCompilerHasNoPerfData(t *testing.T) {
	javac := filepath.Join(t.TempDir(), "javac")
	text := "#!/bin/sh\ncase \" $* \" in *' -J-XX:-UsePerfData '*) ;; *) echo '[0.1s][warning][perf] locked';; esac\necho 'error: no space'\nexit 1\n"
	if err := os.WriteFile(javac, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Archive(context.Background(), javac, Cache{Dir: t.TempDir()}, t.TempDir())
	if err == nil || !strings.HasSuffix(err.Error(), ": error: no space") {
		t.Error(err)
	}
}
