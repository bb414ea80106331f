package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const budgetTests = `
import time
import pytest

runs = []

@pytest.fixture
def fresh():
    return []

@pytest.mark.energy_budget("10 kWh")
def test_within(fresh):
    time.sleep(0.05)

@pytest.mark.energy_budget("1 mJ", runs=1)
def test_above():
    time.sleep(0.05)

@pytest.mark.energy_budget("1 mJ", runs=3)
def test_repeated(fresh, record_property):
    assert not fresh, "the fixture of the run before"
    fresh.append(1)
    runs.append(1)
    record_property("mine", len(runs))
    time.sleep(0.05)

@pytest.mark.energy_budget("1 mJ")
def test_fails_anyway():
    assert False

def test_repeated_before():
    assert len(runs) == 3
`

func pytestPython(t *testing.T) string {
	t.Helper()
	python(t)
	interpreter := installedPython
	if out, err := exec.Command(interpreter, "-c", "import pytest").CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no pytest: %s", out)
		}
		t.Skip("no pytest (apt-get install python3-pytest)")
	}
	return interpreter
}

// A budget in a test of pytest fails the test whose energy surely exceeds it, as the plugin that pip installs and
// as one that is named; the report and the JUnit XML have the figures.
func TestPytestBudgets(t *testing.T) {
	t.Parallel()
	interpreter := pytestPython(t)
	env, dir, cg := sessionMachine(t), t.TempDir(), filepath.Join(os.Getenv("CG_TEST_BIN"), "cg")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pytest := func(args ...string) (string, int) {
		cmd := exec.Command(interpreter, append([]string{"-m", "pytest", "-p", "no:cacheprovider", "-p", "codegreen.pytest_plugin"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	write("test_budgets.py", budgetTests)
	out, status := pytest("--energy-report", "energy.json", "--junitxml", "junit.xml", "test_budgets.py")
	xml, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil || status != 1 {
		t.Fatalf("%v, status %d\n%s", err, status, out)
	}
	says(t, out, "WITHIN test_budgets.py::test_within: ", "measured, 1 run; the budget is 10 kWh",
		"EXCEEDED test_budgets.py::test_above: ", "the energy budget is exceeded: ", "mean of 3 runs; the budget is 1 mJ",
		"energy of each test: ")
	says(t, string(xml), `name="energy_budget_j" value="36000000.0"`, `name="energy_verdict" value="within"`,
		`name="energy_verdict" value="exceeded"`, `name="energy_kind" value="measured"`, `name="energy_runs" value="3"`,
		`name="mine" value="3"`, `failures="`)
	if n := strings.Count(string(xml), `name="mine"`); n != 1 {
		t.Errorf("%d properties of the test's own:\n%s", n, xml)
	}
	for _, passed := range []string{"test_within", "test_repeated_before"} {
		if strings.Contains(out, "FAILED test_budgets.py::"+passed+" ") {
			t.Errorf("%s failed:\n%s", passed, out)
		}
	}
	report, err := exec.Command(cg, "report", filepath.Join(dir, "energy.json")).CombinedOutput()
	if err != nil || strings.Count(string(report), "\ntest_budgets.py::test_repeated ") != 3 {
		t.Errorf("%v: the report has not each run:\n%s", err, report)
	}
	for mark, want := range map[string]string{
		`"2 W"`:           `'2 W': a budget is a number above 0 and mJ, J, kJ, MJ, mWh, Wh or kWh: "2 J", "500 mJ", "0.1 Wh"`,
		`"2 J", runs=11`:  "energy_budget: 11 runs: use 1 to 10",
		`"2 J", times=11`: "it takes a text and runs=N",
	} {
		write("test_bad.py", "import pytest\n@pytest.mark.energy_budget("+mark+")\ndef test_bad(): open('ran', 'w')\n")
		if out, status := pytest("test_bad.py"); status != 4 || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, want %q in\n%s", mark, status, want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a test with a wrong budget ran")
	}
}

// Under pytest-xdist a worker that is alone judges budgets and writes the report, and several say why they do not.
func TestPytestBudgetsOfWorkers(t *testing.T) {
	t.Parallel()
	interpreter, env, dir := hooksPython(t), sessionMachine(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test_budgets.py"), []byte(budgetTests), 0o600); err != nil {
		t.Fatal(err)
	}
	pytest := func(args ...string) (string, int) {
		cmd := exec.Command(interpreter, append([]string{"-m", "pytest", "-p", "no:cacheprovider", "-p", "codegreen.pytest_plugin", "test_budgets.py"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, status := pytest("-n", "1", "--energy-report", "energy.json", "--junitxml", "junit.xml")
	xml, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
	if err != nil || status != 1 {
		t.Fatalf("%v, status %d\n%s", err, status, out)
	}
	says(t, out, "WITHIN test_budgets.py::test_within: ", "EXCEEDED test_budgets.py::test_above: ", "mean of 3 runs; the budget is 1 mJ",
		"energy of each test: energy.json")
	says(t, string(xml), `name="energy_verdict" value="within"`, `name="energy_verdict" value="exceeded"`, `name="energy_runs" value="3"`)
	report, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "report", filepath.Join(dir, "energy.json")).CombinedOutput()
	if err != nil || strings.Count(string(report), "\ntest_budgets.py::test_repeated ") != 3 {
		t.Errorf("%v: the report has not each run:\n%s", err, report)
	}
	out, status = pytest("-n", "2", "-k", "within or above")
	says(t, out, "NOT KNOWN test_budgets.py::test_within: it ran beside other tests (pytest-xdist), whose energy would be in it",
		"NOT KNOWN test_budgets.py::test_above: ", "2 passed")
	if status != 0 {
		t.Errorf("status %d\n%s", status, out)
	}
	if out, status = pytest("-n", "2", "--energy-report", "other.json"); status != 4 || !strings.Contains(out,
		"--energy-report: 2 workers of pytest-xdist run tests beside each other, which would have each other's energy: use -n 1 or -n 0") {
		t.Errorf("status %d\n%s", status, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "other.json")); err == nil {
		t.Error("it wrote a report")
	}
}
