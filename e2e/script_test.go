package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"cg/cli"
	_ "cg/crash" // as main.go has it
	cuda "cg/kernels/simulate"
	"cg/long"
	"cg/nemb"
	"cg/nemb/account"
	"cg/nemb/simulate"
	gpus "cg/pmsampling/simulate"
	"cg/report"
)

// goFolders are where go keeps what it has compiled and fetched.
var goFolders = []string{"GOCACHE", "GOPATH", "GOMODCACHE"}

func TestMain(m *testing.M) {
	// cg starts itself for its own loads and on the nodes of a job, and sessions start the cg that measures them.
	if os.Getenv("CG_BE_CG") == "1" || len(os.Args) > 1 && slices.Contains([]string{"load", "sampler", "report", "measurer", "track", "compiler", "gpu"}, os.Args[1]) {
		os.Unsetenv("CG_BE_CG")
		os.Exit(cli.Main(os.Args))
	}
	if os.Getenv("CG_MOVE_PARENT") == "1" && len(os.Args) == 1 {
		if err := moveParent(); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	switch name, size := os.Getenv("CG_MAKE_LARGE_FILE"), os.Getenv("CG_MAKE_LARGE_SIZE"); os.Getenv("CG_MAKE_LARGE") {
	case "run":
		os.Exit(makeLarge(name, size))
	case "session":
		os.Exit(makeLargeSession(name, size))
	}
	for _, name := range launchersVariables(os.Environ()) { // the tests may be a rank themselves
		os.Unsetenv(name)
	}
	// Under nohup(1), and in a shell's background; what the tests start would ignore them, too.
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	// Paths in these tests begin at the top.
	if err := os.Chdir(".."); err != nil {
		panic(err)
	}
	for _, name := range goFolders { // before other folders take their place
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			panic(err)
		}
		os.Setenv(name, strings.TrimSpace(string(value)))
	}
	cache, err := os.MkdirTemp("", "cg-script-cache-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", cache)
	os.Setenv("CG_TEST_CACHE", cache)
	code := m2(m)
	os.RemoveAll(cache)
	os.Exit(code)
}

// m2 runs the tests with cg on the path of the scripts.
func m2(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cg-script-bin-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	wrapper := fmt.Sprintf("#!/bin/sh\nCG_BE_CG=1 exec %s \"$@\"\n", self)
	if err := os.WriteFile(filepath.Join(dir, "cg"), []byte(wrapper), 0o755); err != nil {
		panic(err)
	}
	os.Setenv("CG_TEST_BIN", dir)
	installedPython = barePython(filepath.Join(dir, "python"))
	flag.Parse() // for package long
	if javac, err := exec.LookPath("javac"); err == nil {
		if javac, err = filepath.EvalSymlinks(javac); err == nil {
			home := quietJDK(filepath.Dir(filepath.Dir(javac)))
			os.Setenv("PATH", filepath.Join(home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
	}
	return m.Run()
}

// installedPython is the python3 of this machine with its packages, "" for none. Tests have that of barePython.
var installedPython string

// barePython puts a python3 on the PATH, in an environment of its own in a folder, without the packages of this
// machine's python3: what some of them do at the start of each interpreter takes several times as long as the start, and
// so does a script of pyenv's that looks for the interpreter. It returns the path of that, "" for none.
func barePython(folder string) (installed string) {
	installed, err := exec.LookPath("python3")
	if err != nil {
		return ""
	}
	out, err := exec.Command(installed, "-c", "import os, sys; print(os.path.realpath(sys.executable))").Output()
	if err != nil {
		return ""
	}
	real, bin := strings.TrimSpace(string(out)), filepath.Join(folder, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		panic(err)
	}
	config := "home = " + filepath.Dir(real) + "\ninclude-system-site-packages = false\n"
	if err := os.WriteFile(filepath.Join(folder, "pyvenv.cfg"), []byte(config), 0o644); err != nil {
		panic(err)
	}
	if err := os.Symlink(real, filepath.Join(bin, "python3")); err != nil {
		panic(err)
	}
	os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return installed
}

// quietJDK is a folder that is as a JDK, but for its commands, which print nothing of
// their own where another process has a lock on /tmp/hsperfdata_USER/PID. Its compiler
// and archiver, which run for less than a second here, take two thirds of the processor
// time with the first compiler of the virtual machine alone. So do programs, which have the
// second where tests may take long.
func quietJDK(home string) string {
	const tool = "-J-XX:-UsePerfData -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC"
	flags := map[string]string{"java": "-XX:-UsePerfData", "javac": tool, "jar": tool}
	if !long.Runs() {
		flags["java"] += " -XX:TieredStopAtLevel=1"
	}
	quiet := filepath.Join(os.Getenv("CG_TEST_BIN"), "jdk", strings.ReplaceAll(home, "/", "-"))
	for from, to := range map[string]string{home: quiet, filepath.Join(home, "bin"): filepath.Join(quiet, "bin")} {
		entries, err := os.ReadDir(from)
		if err == nil {
			err = os.MkdirAll(to, 0o755)
		}
		for _, e := range entries {
			path, name := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
			switch {
			case err != nil || from == home && e.Name() == "bin":
			case from != home && flags[e.Name()] != "":
				err = os.WriteFile(name, fmt.Appendf(nil, "#!/bin/sh\nexec %s %s \"$@\"\n", path, flags[e.Name()]), 0o755)
			default:
				err = os.Symlink(path, name)
			}
		}
		if err != nil {
			panic(err)
		}
	}
	return quiet
}

func python(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("python3 is not installed")
		}
		t.Skip("python3 is not installed")
	}
	return path
}

// TestScripts runs cg as a program: testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	python(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			// The folder of all scripts stays, empty, where -run leaves some of them out.
			t.Cleanup(func() { os.Remove(filepath.Dir(e.WorkDir)) })
			stop := endOverdue("WORK="+e.WorkDir, scriptLimit, 10*time.Second)
			e.Defer(func() {
				if ended := stop(); len(ended) > 0 {
					e.T().Fatal(fmt.Sprintf("takes longer than %s; ended:\n%s", scriptLimit, strings.Join(ended, "\n")))
				}
			})
			e.Setenv("PATH", os.Getenv("CG_TEST_BIN")+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("CG_TEST_BIN", os.Getenv("CG_TEST_BIN"))
			e.Setenv("XDG_CACHE_HOME", os.Getenv("CG_TEST_CACHE"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("CG_DCGM", "off") // that of the machine
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			// Shims of pyenv look here.
			if home, err := os.UserHomeDir(); err == nil && os.Getenv("PYENV_ROOT") == "" {
				e.Setenv("PYENV_ROOT", filepath.Join(home, ".pyenv"))
			}
			if home := newestJDK(); home != "" {
				e.Setenv("NEW_JDK", home)
			}
			for _, name := range goFolders {
				e.Setenv(name, os.Getenv(name))
			}
			root, err := os.Getwd()
			e.Setenv("ROOT", root)
			return err
		},
		// [long]: tests that take long run, too: without -short.
		// [java22]: there is a JDK of that release or a later one, at $NEW_JDK.
		// [perf]: the processor counts instructions.
		// [others]: files can be given to other users, which takes root.
		Condition: func(c string) (bool, error) {
			switch c {
			case "perf":
				return account.NewInstructions() != nil, nil
			case "nested": // in a PID namespace, where drivers' numbers of processes are others than ours
				return account.Nested(), nil
			case "long":
				return long.Runs(), nil
			case "others":
				name := filepath.Join(t.TempDir(), "file")
				err := os.WriteFile(name, nil, 0o600)
				return err == nil && os.Chown(name, 54321, -1) == nil, err
			}
			release, is := strings.CutPrefix(c, "java")
			want, err := strconv.Atoi(release)
			if !is || err != nil {
				return false, fmt.Errorf("condition %q is not known", c)
			}
			return releaseOf(newestJDK()) >= want, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"report": checkReport,
			"more":   checkMore,
			"empty":  checkEmpty,
			"status": checkStatus,
			"nvml":   makeNVML,
			"dcgm":   makeDCGM,
			"amdsmi": makeAMDSMI,
			"cupti":  makeCUPTI,
			"busy":   makeBusy,
			"cuda":   makeCUDA,
			"driver": makeDriver,
		},
	})
}

// jdks are the homes of JDKs that are as those below /usr/lib/jvm, the oldest release
// first, one of each.
var jdks = sync.OnceValue(func() (homes []string) {
	all, _ := filepath.Glob("/usr/lib/jvm/*")
	for _, home := range all {
		if _, err := os.Stat(filepath.Join(home, "bin/javac")); err == nil && releaseOf(home) > 0 {
			homes = append(homes, home)
		}
	}
	slices.SortStableFunc(homes, func(a, b string) int { return releaseOf(a) - releaseOf(b) })
	homes = slices.CompactFunc(homes, func(a, b string) bool { return releaseOf(a) == releaseOf(b) })
	for i, home := range homes {
		homes[i] = quietJDK(home)
	}
	return homes
})

// newestJDK is the home of the newest of them, "" for none.
func newestJDK() string {
	if all := jdks(); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// releaseOf is the feature release of a JDK, 0 where it does not tell.
func releaseOf(home string) int {
	text, _ := os.ReadFile(filepath.Join(home, "release"))
	_, version, _ := strings.Cut(string(text), "JAVA_VERSION=\"")
	n, _ := strconv.Atoi(version[:max(0, strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' }))])
	return n
}

// checkReport reads a saved run, checks its sums, and compares what a path in
// it says: report FILE [PATH VALUE]...
func checkReport(ts *testscript.TestScript, neg bool, args []string) {
	b := []byte(ts.ReadFile(args[0]))
	r, err := report.Read(b)
	ts.Check(err)
	if faults := r.Check(); len(faults) > 0 {
		ts.Fatalf("%v", faults)
	}
	var v any
	ts.Check(json.Unmarshal(b, &v))
	for i := 1; i+1 < len(args); i += 2 {
		if got := fmt.Sprint(lookUp(v, args[i])); (got == args[i+1]) == neg {
			ts.Fatalf("%s is %s, want %s", args[i], got, args[i+1])
		}
	}
}

// checkMore compares numbers in a saved run: more FILE PATH FACTOR PATH fails
// unless the first is more than so many times the second.
func checkMore(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	a, isA := lookUp(v, args[1]).(float64)
	b, isB := lookUp(v, args[3]).(float64)
	factor, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	if !isA || !isB || (a > factor*b) == neg {
		ts.Fatalf("%s is %v, %s is %v", args[1], lookUp(v, args[1]), args[3], lookUp(v, args[3]))
	}
}

// lookUp follows a path of names with dots between them.
func lookUp(at any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := at.(type) {
		case map[string]any:
			at = x[key]
		case []any:
			if at = find(x, key); key == "length" {
				at = len(x)
			}
		}
	}
	return at
}

// shellStatus is a status as a shell has it: 128 and the signal of a process that died of one.
func shellStatus(state *os.ProcessState) int {
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return state.ExitCode()
}

// checkStatus runs a program and compares its exit status: status N PROGRAM ARGS...
func checkStatus(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = strconv.Itoa(exit.ExitCode())
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			got = unix.SignalName(w.Signal())
		}
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if (got == args[0]) == neg {
		ts.Fatalf("status %s, want %s\n%s%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// makeNVML makes a driver's library of GPUs that do not exist, or says anew what
// they are: nvml DIR CONF [DEFINE]...
func makeNVML(ts *testscript.TestScript, neg bool, args []string) {
	dir, conf := ts.MkAbs(args[0]), ts.ReadFile(args[1])
	if path := filepath.Join(dir, "libnvidia-ml.so.1"); len(args) == 2 {
		if _, err := os.Stat(path); err == nil {
			ts.Check(simulate.NVMLConf(path, conf))
			return
		}
	}
	_, err := simulate.NVML(dir, conf, args[2:]...)
	ts.Check(err)
}

// makeDCGM makes DCGM's library for the GPUs of that of NVML, which lies in the same folder: dcgm DIR CONF.
func makeDCGM(ts *testscript.TestScript, neg bool, args []string) {
	_, err := simulate.DCGM(ts.MkAbs(args[0]), ts.ReadFile(args[1]))
	ts.Check(err)
}

// makeAMDSMI makes AMD SMI's library of GPUs that do not exist: amdsmi DIR CONF [DEFINE]...
func makeAMDSMI(ts *testscript.TestScript, neg bool, args []string) {
	_, err := simulate.AMDSMI(ts.MkAbs(args[0]), ts.ReadFile(args[1]), args[2:]...)
	ts.Check(err)
}

// makeBusy lets what the stand-in of the CUDA driver runs draw power from that of NVML: busy CUPTI.CONF NVML.CONF.
func makeBusy(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	conf, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, append(conf, "\nbusy 320 "+ts.MkAbs(args[1])+"\n"...), 0o644))
}

// makeCUPTI makes CUPTI and the CUDA driver of GPUs that do not exist: cupti DIR CONF [DEFINE]...; without a
// definition it changes what those say that are there.
func makeCUPTI(ts *testscript.TestScript, neg bool, args []string) {
	dir, conf := ts.MkAbs(args[0]), ts.ReadFile(args[1])
	if _, err := os.Stat(filepath.Join(dir, "libcuda.so.1")); err == nil && len(args) == 2 {
		ts.Check(gpus.Conf(dir, conf))
		return
	}
	ts.Check(gpus.CUPTI(dir, conf, args[2:]...))
}

// makeDriver makes the CUDA driver of a GPU that does not exist, without CUPTI: driver DIR CONF.
func makeDriver(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(cuda.Driver(ts.MkAbs(args[0]), ts.ReadFile(args[1])))
}

// makeCUDA makes the CUDA driver and CUPTI of a GPU that does not exist, with kernels: cuda DIR CONF.
func makeCUDA(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(cuda.CUDA(ts.MkAbs(args[0]), ts.ReadFile(args[1])))
}

// find takes the element with that name, slug, file or index.
func find(list []any, key string) any {
	for i, x := range list {
		m, _ := x.(map[string]any)
		file, _ := m["file"].(string)
		if m["name"] == key || m["slug"] == key || file != "" && filepath.Base(file) == key || fmt.Sprint(i) == key {
			return x
		}
		if name, _ := m["name"].(string); strings.ReplaceAll(name, ".", "/") == key {
			return x
		}
	}
	return nil
}

// checkEmpty fails if a directory has entries that match a pattern.
func checkEmpty(ts *testscript.TestScript, neg bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(found) == 0) == neg {
		ts.Fatalf("%v", found)
	}
}

// measured runs cg measure and reads the report.
func measured(t *testing.T, args ...string) (*report.Run, *exec.Cmd, error) {
	t.Helper()
	return measuredUntil(t.Context(), t, args...)
}

// measuredUntil is the same, and ends cg and its program with a context. Then cg has a minute to end by SIGTERM.
func measuredUntil(ctx context.Context, t *testing.T, args ...string) (*report.Run, *exec.Cmd, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run.json")
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), append([]string{"measure", "-o", out}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	b, readErr := os.ReadFile(out)
	if readErr != nil {
		t.Fatalf("%v: %v\n%s", err, readErr, text)
	}
	r, readErr := report.Read(b)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if faults := r.Check(); len(faults) > 0 {
		t.Error(faults)
	}
	return r, cmd, err
}

// counter is a RAPL counter that updates about every millisecond.
func counter(watts float64) simulate.Counter {
	return simulate.Counter{Power: simulate.Constant(watts), Unit: simulate.UnitIntel, Period: time.Millisecond, Jitter: 20 * time.Microsecond, Range: 262143328850, Seed: 1}
}

func function(r *report.Run, name string) report.Function {
	for _, f := range r.Functions {
		if f.Name == name {
			return f
		}
	}
	return report.Function{}
}

// On a machine of known power the total is right within 1 %: the example of
// the README, under a simulated powercap tree of 20 W and 3 W for its memory.
func TestKnownPower(t *testing.T) {
	python(t)
	dir := t.TempDir()
	tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{
		{Dir: "intel-rapl:0", Name: "package-0", Counter: counter(20), Zones: []simulate.Zone{{Dir: "intel-rapl:0:0", Name: "dram", Counter: counter(3)}}},
	}})
	if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	r, _, err := measured(t, "--sysroot", dir, "-g", "fine", "testdata/programs/python/warehouse/main.py", strconv.Itoa(long.Rounds(t, 100, 300)))
	if err != nil {
		t.Fatal(err)
	}
	want := 23 * r.Totals.DurationS
	got := r.Totals.EnergyJ.Float()
	if math.Abs(got-want) > 0.01*want || r.Totals.Kind != "measured" || r.Meta.MeasurementQuality != "ok" {
		t.Errorf("%.3f J in %.3f s, want %.3f J; %s", got, r.Totals.DurationS, want, r.Totals.Kind)
	}
	// Without the native module the checkpoints take most of the time.
	if f := function(r, "shop.routes.Router.distances"); f.EnergyKind != "measured" || f.SelfEnergyJ == nil || f.SharePercent == nil ||
		r.Channel.Native && *f.SharePercent < 20 {
		t.Errorf("%+v", f)
	}
	t.Logf("%.3f J of %.3f J in %.3f s: %+.2f %%", got, want, r.Totals.DurationS, 100*(got/want-1))
}

// Whatever goes wrong with a counter while a program runs, no figure of the
// report is then measured, and nothing is made up.
func TestFaultsWhileMeasuring(t *testing.T) {
	python(t)
	script := filepath.Join(t.TempDir(), "wait.py")
	text := "import os, sys, time\nopen(sys.argv[1], 'w').close()\nwhile os.path.exists(sys.argv[1]): time.sleep(0.005)\ntime.sleep(0.1)\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const zone = "intel-rapl:0"
	const wrap = 5 * time.Second // after the tree is there: the program has begun by then
	lasting := func(fault simulate.Fault) func(*simulate.Tree) {
		return func(tree *simulate.Tree) {
			tree.Fault(zone, fault)
			time.Sleep(time.Second)
		}
	}
	passing := func(fault simulate.Fault, after time.Duration) func(*simulate.Tree) {
		return func(tree *simulate.Tree) {
			tree.Fault(zone, fault)
			time.Sleep(after)
			tree.Fault(zone, simulate.Fault{})
		}
	}
	tests := []struct {
		name    string
		script  func(tree *simulate.Tree)
		kind    nemb.Method
		bounded bool
		quality string // "" where it depends on how long the program took
	}{
		{"none", func(*simulate.Tree) {}, nemb.Measured, true, "ok"},
		{"wrap", func(tree *simulate.Tree) { time.Sleep(time.Until(tree.Epoch.Add(wrap + 200*time.Millisecond))) }, nemb.Measured, true, "ok"},
		{"read error that passes", passing(simulate.Fault{Read: syscall.EIO}, 100*time.Millisecond), nemb.Derived, true, ""},
		{"read error for most of the time", passing(simulate.Fault{Read: syscall.EIO}, 3*time.Second), nemb.Derived, true, "failed"},
		{"nonsense that passes", passing(simulate.Fault{Text: "-7\n"}, 100*time.Millisecond), nemb.Derived, true, ""},
		{"nonsense from then on", lasting(simulate.Fault{Text: "odd\n"}), nemb.Derived, false, "failed"},
		{"not permitted any more", lasting(simulate.Fault{Read: syscall.EACCES}), nemb.Derived, false, "failed"},
		{"device gone", lasting(simulate.Fault{Read: syscall.ENODEV}), nemb.Derived, false, "failed"},
		{"unplugged", func(tree *simulate.Tree) { tree.Unplug(zone) }, nemb.Derived, false, ""},
		{"reset", func(tree *simulate.Tree) { tree.Reset(zone) }, nemb.Derived, false, ""},
		{"stuck", func(tree *simulate.Tree) {
			tree.Fault(zone, simulate.Fault{Stuck: true})
			time.Sleep(1200 * time.Millisecond)
		}, nemb.Derived, false, "failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // they wait
			dir := t.TempDir()
			c := counter(20)
			c.Start = 5e9
			if test.name == "wrap" {
				c.Start = c.Range - uint64(20e6*wrap.Seconds())
			}
			tree, err := simulate.Mount(dir, simulate.Machine{Zones: []simulate.Zone{{Dir: zone, Name: "package-0", Counter: c}}})
			if errors.Is(err, simulate.ErrNoFUSE) && os.Getenv("CI") != "true" {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			running := filepath.Join(t.TempDir(), "running")
			done := make(chan struct{})
			go func() {
				defer close(done)
				for range 5000 {
					if _, err := os.Stat(running); err == nil {
						break
					}
					time.Sleep(2 * time.Millisecond)
				}
				test.script(tree)
				os.Remove(running)
			}()
			r, _, err := measured(t, "--sysroot", dir, script, running)
			<-done
			if err != nil {
				t.Fatal(err)
			}
			if r.Totals.Kind != test.kind || (r.Totals.HiJ != nil) != test.bounded {
				t.Errorf("%s, upper bound %v; %+v", r.Totals.Kind, r.Totals.HiJ, r.Sampler.Counters)
			}
			for _, task := range r.Tasks {
				if task.Kind != test.kind {
					t.Errorf("%s is %s", task.Name, task.Kind)
				}
			}
			warned := false
			for _, w := range r.Warnings {
				warned = warned || w.Slug == "counter-fault"
			}
			if warned != (test.kind != nemb.Measured) {
				t.Errorf("warnings %+v", r.Warnings)
			}
			if test.quality != "" && r.Meta.MeasurementQuality != test.quality {
				t.Errorf("quality %s, want %s: %+v", r.Meta.MeasurementQuality, test.quality, r.Sampler.Counters)
			}
			// Nothing is made up, and what is whole is all there.
			want := 20 * r.Totals.DurationS
			got := r.Totals.EnergyJ.Float()
			if got > 1.05*want+0.1 || test.bounded && got < 0.95*want-0.1 {
				t.Errorf("%g J in %g s of 20 W", got, r.Totals.DurationS)
			}
			if test.name == "wrap" && r.Sampler.Counters[0].Wraps != 1 {
				t.Errorf("%+v", r.Sampler.Counters)
			}
		})
	}
}

// Linked with -z now, the default of some distributions, cg starts where there
// is no NVIDIA driver. .ci/run links the cg that it runs so.
func TestStartsWithImmediateBinding(t *testing.T) {
	long.Skip(t, "it links cg")
	cg := filepath.Join(t.TempDir(), "cg")
	need(t, "cc", "apt-get install gcc")
	build := []string{"build", "-o", cg, "-ldflags", "-s -w -extldflags=-Wl,-z,now"}
	if info, is := debug.ReadBuildInfo(); is && slices.Contains(info.Settings, debug.BuildSetting{Key: "-trimpath", Value: "true"}) {
		build = append(build, "-trimpath") // as these tests, with which it shares what is compiled
	}
	if out, err := exec.Command("go", append(build, ".")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(cg, "--version").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A program that counts its calls in shared memory and is killed at a random
// moment: cg has every call that began, twenty times.
func TestKilledProgram(t *testing.T) {
	python(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "count.py")
	err := os.WriteFile(script, []byte(`
import mmap, os, random, signal, sys, threading
f = open(sys.argv[1], "r+b")
memory = memoryview(mmap.mmap(f.fileno(), 8)).cast("Q")
def call(): pass
def loop(memory=memory):
    n = 0
    while True:
        call()
        n += 1
        memory[0] = n
threading.Timer(random.uniform(0.005, 0.1), os.kill, (os.getpid(), signal.SIGKILL)).start()
loop()
`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		count := filepath.Join(dir, "count")
		if err := os.WriteFile(count, make([]byte, 8), 0o644); err != nil {
			t.Fatal(err)
		}
		r, cmd, _ := measured(t, "-g", "fine", script, count)
		if status := shellStatus(cmd.ProcessState); status != 137 {
			t.Fatalf("status %d, want 137", status)
		}
		b, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		var n uint64
		for i := range b {
			n |= uint64(b[i]) << (8 * i)
		}
		if got := function(r, "__main__.call").Calls; got != n && got != n+1 {
			t.Errorf("%d calls reported, the program counted %d", got, n)
		}
		if r.Channel.OpenAtEnd == 0 || r.Channel.Lost != 0 {
			t.Errorf("%+v", r.Channel)
		}
	}
}

// 10^8 calls: every one is counted, and cg's memory is that of a run of 10^5 and 16 MiB at most. How much of cg's own
// file counts as its memory differs by 15 MiB with how the kernel keeps the file.
func TestMemoryStaysBounded(t *testing.T) {
	python(t)
	need(t, "cc", "apt-get install gcc")
	script := filepath.Join(t.TempDir(), "calls.py")
	if err := os.WriteFile(script, []byte("import sys\ndef f(): pass\ndef main():\n    for _ in range(int(sys.argv[1])): f()\nmain()\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	peak := func(calls string) (*report.Run, int64) {
		r, cmd, err := measured(t, "-g", "fine", script, calls)
		if err != nil {
			t.Fatal(err)
		}
		return r, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	_, short := peak("100000")
	million := long.Rounds(t, 20, 100)
	r, rss := peak(strconv.Itoa(million * 1_000_000))
	if calls := function(r, "__main__.f").Calls; calls != uint64(million)*1_000_000 || r.Channel.Lost != 0 {
		t.Errorf("%d calls, %d lost", calls, r.Channel.Lost)
	}
	if rss > short+16<<20 {
		t.Errorf("%d MiB, and %d of a short run", rss>>20, short>>20)
	}
	t.Logf("%d MiB, %d waits, %.1f s", rss>>20, r.Channel.Waits, r.Totals.DurationS)
}
