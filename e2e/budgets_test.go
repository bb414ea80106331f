package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/long"
)

const goBudgetTests = `package budgets

import (
	"context"
	"errors"
	"testing"
	"time"

	"codegreen"
)

func work() { time.Sleep(50 * time.Millisecond) }

func TestWithin(t *testing.T) {
	for range codegreen.Budget(t, "10 kWh") {
		work()
	}
}

func TestAbove(t *testing.T) {
	for range codegreen.Budget(t, "1 mJ", codegreen.Runs(1)) {
		work()
	}
}

func TestRepeated(t *testing.T) {
	last := 0
	for n := range codegreen.Budget(t, "1 mJ", codegreen.Runs(3)) {
		last = n
		work()
	}
	if last != 3 {
		t.Fatalf("%d runs", last)
	}
	t.Log("three runs")
}

func TestBreak(t *testing.T) {
	for range codegreen.Budget(t, "1 mJ") {
		work()
		break
	}
}

func TestFailsAnyway(t *testing.T) {
	for range codegreen.Budget(t, "1 mJ") {
		t.Fatal("mine")
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	runs := 0
	for range codegreen.Budget(t, "1 mJ", codegreen.Runs(1)) {
		runs++
	}
	if runs != 1 {
		t.Fatal(runs)
	}
}

func TestNotMeasured(t *testing.T) {
	codegreen.Budget(t, "2 J")
}

func TestWrong(t *testing.T) {
	for range codegreen.Budget(t, "2 W") {
		t.Log("it ran")
	}
}

func TestTooMany(t *testing.T) {
	for range codegreen.Budget(t, "2 J", codegreen.Runs(11)) {
		t.Log("it ran")
	}
}

func TestInASession(t *testing.T) {
	s, err := codegreen.Start("tests", codegreen.Output("tests.json"), codegreen.WithoutSignals())
	if err != nil {
		t.Fatal(err)
	}
	for range codegreen.Budget(t, "10 kWh") {
		work()
	}
	if _, err := codegreen.Start("another"); !errors.Is(err, codegreen.ErrActive) {
		t.Fatal("the budget closed the session", err)
	}
	s.Do(context.Background(), "after", func(context.Context) {})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
`

// A budget in a test of Go fails the test whose energy surely exceeds it, and go test -json has the figures.
func TestGoBudgets(t *testing.T) {
	t.Parallel()
	env, dir := sdkMachine(t), t.TempDir()
	cg := filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	if out, err := exec.Command(cg, "sdk", "go", filepath.Join(dir, "sdk")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const module = "module budgets\n\ngo 1.25\n\nrequire codegreen v0.0.0\n\nreplace codegreen => ./sdk\n"
	for name, text := range map[string]string{"go.mod": module, "budgets_test.go": goBudgetTests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-json", "-count=1", ".")
	cmd.Dir, cmd.Env = dir, append(env, "GOFLAGS=", "GOWORK=off")
	out, _ := cmd.Output()
	type outcome struct {
		action, said string
		attrs        map[string]string
	}
	got := map[string]*outcome{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var e struct{ Action, Test, Output, Key, Value string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got[e.Test] == nil {
			got[e.Test] = &outcome{attrs: map[string]string{}}
		}
		o := got[e.Test]
		o.said += e.Output
		switch e.Action {
		case "attr":
			o.attrs[e.Key] = e.Value
		case "pass", "fail":
			o.action = e.Action
		}
	}
	for test, want := range map[string][]string{
		"TestWithin":      {"pass", "energy budget: within: ", "measured, 1 run; the budget is 10 kWh"},
		"TestAbove":       {"fail", "the energy budget is exceeded: ", "measured, 1 run; the budget is 1 mJ"},
		"TestRepeated":    {"fail", "the energy budget is exceeded: ", "mean of 3 runs", "three runs"},
		"TestBreak":       {"pass", "energy budget: not told: ", "1 run; "},
		"TestFailsAnyway": {"fail", "mine"},
		"TestParallel":    {"pass", "energy budget: not known: it ran beside other tests"},
		"TestNotMeasured": {"fail", "nothing was measured: write for range"},
		"TestWrong":       {"fail", `"2 W": a budget is a number above 0 and mJ, J, kJ, MJ, mWh, Wh or kWh: "2 J", "500 mJ", "0.1 Wh"`},
		"TestTooMany":     {"fail", "11 runs: use 1 to 10"},
		"TestInASession":  {"pass", "energy budget: within: "},
	} {
		o := got[test]
		if o == nil || o.action != want[0] {
			t.Errorf("%s: %+v, want %s\n%s", test, o, want[0], out)
			continue
		}
		says(t, o.said, want[1:]...)
		if strings.Contains(o.said, "it ran\n") {
			t.Errorf("%s ran", test)
		}
	}
	if t.Failed() {
		return
	}
	if a := got["TestWithin"].attrs; a["energy_budget_j"] != "36000000" || a["energy_verdict"] != "within" || a["energy_kind"] != "measured" || a["energy_runs"] != "1" || a["energy_j"] == "" {
		t.Errorf("%v", a)
	}
	if a := got["TestRepeated"].attrs; a["energy_runs"] != "3" || a["energy_verdict"] != "exceeded" {
		t.Errorf("%v", a)
	}
	if len(got["TestFailsAnyway"].attrs) > 0 {
		t.Errorf("%v", got["TestFailsAnyway"].attrs)
	}
	f := readSession(t, filepath.Join(dir, "tests.json"), string(out))
	if f == nil || len(f.Tasks) != 2 || f.Tasks[0].Name != "TestInASession" {
		t.Errorf("%+v", f)
	}
}

const javaBudgetTests = `
import static org.junit.jupiter.api.Assertions.*;

import codegreen.EnergyBudget;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.*;

class BudgetsTest {
    static final AtomicInteger RUNS = new AtomicInteger(), OTHERS = new AtomicInteger(), AT_ONCE = new AtomicInteger();
    boolean fresh = true;

    @BeforeEach
    void isFresh() {
        assertTrue(fresh, "the fixture of the run before");
    }

    static void work() throws InterruptedException {
        if (OTHERS.get() > 0) AT_ONCE.incrementAndGet();
        Thread.sleep(50);
    }

    @EnergyBudget("10 kWh")
    void within() throws Exception {
        work();
    }

    @EnergyBudget(value = "1 mJ", runs = 1)
    void above() throws Exception {
        work();
    }

    @EnergyBudget(value = "1 mJ", runs = 3)
    void repeated() throws Exception {
        fresh = false;
        RUNS.incrementAndGet();
        work();
    }

    @EnergyBudget("1 mJ")
    void failsAnyway() {
        fail("mine");
    }

    @EnergyBudget("2 W")
    void wrong() {
        System.out.println("it ran");
    }

    @EnergyBudget(value = "2 J", runs = 11)
    void tooMany() {
        System.out.println("it ran");
    }

    @RepeatedTest(8)
    void besides() throws Exception {
        OTHERS.incrementAndGet();
        Thread.sleep(20);
        OTHERS.decrementAndGet();
    }

    @AfterAll
    static void counts() {
        System.out.println("runs " + RUNS + ", beside others " + AT_ONCE);
    }
}
`

// copyJars copies the jars of testdata/hooks/pom.xml.
const copyJars = "mvn -f testdata/hooks/pom.xml -P long dependency:copy-dependencies -DoutputDirectory=DIR"

// javaHooks are the jars of frameworks (testdata/hooks/pom.xml), and the package for Java with its parts for these.
func javaHooks(t *testing.T, parts ...string) (classpath string) {
	t.Helper()
	jars := os.Getenv("CG_JAVA_HOOKS")
	if jars == "" {
		t.Skipf("CG_JAVA_HOOKS names no folder with the jars of testdata/hooks/pom.xml (%s)", copyJars)
	}
	for _, part := range parts {
		jar := map[string]string{"junit": "junit-jupiter-api", "jmh": "jmh-core", "opentelemetry": "opentelemetry-sdk-trace"}[part]
		if found, err := filepath.Glob(filepath.Join(jars, jar+"-*.jar")); err != nil {
			t.Fatal(err)
		} else if len(found) == 0 {
			lacks(t, "%s has no %s (%s)", jars, jar, copyJars)
		}
	}
	dir := t.TempDir()
	if out, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", "java", filepath.Join(dir, "sdk")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	classes := filepath.Join(dir, "classes")
	if err := os.Mkdir(classes, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range append([]string{""}, parts...) {
		sources, err := filepath.Glob(filepath.Join(dir, "sdk", folder, "src/main/java/codegreen/*.java"))
		if err != nil || len(sources) == 0 {
			t.Fatal("no sources", folder, err)
		}
		path := classes
		if folder != "" { // the package itself needs nothing else
			path += string(os.PathListSeparator) + filepath.Join(jars, "*")
		}
		compile(t, append([]string{"--release", "17", "-Xlint:all,-try,-classfile,-processing", "-Werror", "-proc:none", "-cp", path, "-d", classes}, sources...)...)
	}
	return classes + string(os.PathListSeparator) + filepath.Join(jars, "*")
}

func compile(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		t.Fatalf("javac %q: %v\n%s", args, err, out)
	}
}

// A budget in a test of JUnit 5 fails the test whose energy surely exceeds it; the XML report has the figures, and no test
// runs beside it.
func TestJUnitBudgets(t *testing.T) {
	long.Skip(t, "an example of Java runs in TestBudgetExamples")
	t.Parallel()
	path, env, dir := javaHooks(t, "junit"), sdkMachine(t), t.TempDir()
	source := filepath.Join(dir, "BudgetsTest.java")
	if err := os.WriteFile(source, []byte(javaBudgetTests), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, "-proc:none", "-cp", path, "-d", dir, source)
	cmd := exec.Command("java", "-XX:-UsePerfData", "-cp", dir+":"+path, "org.junit.platform.console.ConsoleLauncher", "execute", "--select-class", "BudgetsTest",
		"--reports-dir", "reports", "--details", "tree", "--disable-banner", "--disable-ansi-colors",
		"--config", "junit.jupiter.execution.parallel.enabled=true", "--config", "junit.jupiter.execution.parallel.mode.default=concurrent")
	cmd.Dir, cmd.Env = dir, env
	b, _ := cmd.CombinedOutput()
	out := string(b)
	xml, err := os.ReadFile(filepath.Join(dir, "reports/TEST-junit-jupiter.xml"))
	if err != nil || cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v, %v\n%s", err, cmd.ProcessState, out)
	}
	says(t, out, "energy budget: within: BudgetsTest.within(): ", "measured, 1 run; the budget is 10 kWh",
		"energy budget: exceeded: BudgetsTest.above(): ", "the energy budget is exceeded: ", "mean of 3 runs; the budget is 1 mJ",
		"=> org.opentest4j.AssertionFailedError: mine", "runs 3, beside others 0\n", `@EnergyBudget: "2 W": a budget is a number above 0 and mJ, J,`,
		"@EnergyBudget: 11 runs: use 1 to 10", "[        11 tests successful      ]", "[         3 tests failed          ]")
	if strings.Contains(out, "it ran") || strings.Contains(out, "codegreen: ") {
		t.Errorf("a test with a wrong budget ran, or the session warned:\n%s", out)
	}
	says(t, string(xml), "- energy_budget_j: 36000000\n", "- energy_verdict: within\n", "- energy_verdict: exceeded\n", "- energy_kind: measured\n",
		"- energy_runs: 3\n", "- energy_lo_j: ", "- energy_hi_j: ", "- energy_j: ")
}

// example is the first block of a language in a page of docs.
func example(t *testing.T, page, lang string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(text), "\n```"+lang+"\n")
	program, _, ended := strings.Cut(program, "\n```\n")
	if !found || !ended {
		t.Fatalf("%s has no example of %s", page, lang)
	}
	return program + "\n"
}

// The examples of docs/budgets.md run as they are.
func TestBudgetExamples(t *testing.T) {
	t.Parallel()
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(t *testing.T, dir string, env []string, want string, argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", argv, err, out)
		}
		says(t, string(out), want)
	}
	t.Run("python", func(t *testing.T) {
		interpreter, env, dir := pytestPython(t), sessionMachine(t), t.TempDir()
		write(t, filepath.Join(dir, "test_sort.py"), example(t, "budgets.md", "python"))
		run(t, dir, env, "WITHIN test_sort.py::test_sort: ", interpreter, "-m", "pytest", "-p", "no:cacheprovider", "-p", "codegreen.pytest_plugin", "test_sort.py")
	})
	t.Run("java", func(t *testing.T) {
		path, env, dir := javaHooks(t, "junit"), sdkMachine(t), t.TempDir()
		source := filepath.Join(dir, "SortTest.java")
		write(t, source, example(t, "budgets.md", "java"))
		compile(t, "-proc:none", "-cp", path, "-d", dir, source)
		run(t, dir, env, "energy budget: within: SortTest.sort(): ", "java", "-cp", dir+":"+path,
			"org.junit.platform.console.ConsoleLauncher", "execute", "--select-class", "SortTest", "--disable-banner")
	})
	t.Run("go", func(t *testing.T) {
		env, dir := sdkMachine(t), t.TempDir()
		run(t, dir, env, "sdk\n", filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "sdk", "go", "sdk")
		write(t, filepath.Join(dir, "go.mod"), "module example\n\ngo 1.25\n\nrequire codegreen v0.0.0\n\nreplace codegreen => ./sdk\n")
		write(t, filepath.Join(dir, "sort_test.go"), example(t, "budgets.md", "go"))
		run(t, dir, append(env, "GOFLAGS=", "GOWORK=off"), "energy budget: within: ", "go", "test", "-v", ".")
	})
}
