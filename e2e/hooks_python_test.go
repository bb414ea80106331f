package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cg/long"
)

// hooksPython is an interpreter with what testdata/hooks/requirements.txt names. Modules are those that the test needs besides,
// of long-requirements.txt there.
func hooksPython(t *testing.T, modules ...string) string {
	t.Helper()
	path := os.Getenv("CG_HOOKS_PYTHON")
	if path == "" {
		t.Skip("CG_HOOKS_PYTHON names no interpreter (pip install -r testdata/hooks/long-requirements.txt in an environment of its own)")
	}
	for _, module := range modules {
		if out, err := exec.Command(path, "-c", "import "+module).CombinedOutput(); err != nil {
			lacks(t, "%s has no %s (%s -m pip install -r testdata/hooks/long-requirements.txt)\n%s", path, module, path, out)
		}
	}
	return path
}

// lacks ends a test for which a package of frameworks is not installed here: all are where CI is true.
func lacks(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// inPython runs a program in a folder of its own; what it says, and the folder.
func inPython(t *testing.T, interpreter string, args ...string) (said, dir string) {
	t.Helper()
	dir = t.TempDir()
	if len(args) == 1 { // the text of a program
		path := filepath.Join(dir, "program.py")
		if err := os.WriteFile(path, []byte(args[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		args = []string{path}
	}
	cmd := exec.Command(interpreter, args...)
	cmd.Dir, cmd.Env = dir, append(sessionMachine(t), "IPYTHONDIR="+dir, "JUPYTER_RUNTIME_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out), dir
}

const benchmarks = `
import time

def test_sleep(benchmark):
    benchmark(time.sleep, 0.02)

def test_rounds(benchmark):
    assert benchmark.pedantic(lambda: time.sleep(0.02), rounds=10, iterations=2, warmup_rounds=2) is None

def test_without():
    pass
`

// pytest --benchmark-energy puts joules of an iteration into pytest-benchmark's JSON.
func TestPytestBenchmark(t *testing.T) {
	long.Skip(t, "pytest-benchmark decides how long it takes")
	t.Parallel()
	interpreter := hooksPython(t, "pytest_benchmark")
	path := filepath.Join(t.TempDir(), "test_benchmarks.py")
	if err := os.WriteFile(path, []byte(benchmarks), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-m", "pytest", "-p", "no:cacheprovider", "-p", "codegreen.pytest_plugin", "--benchmark-warmup=on", "--benchmark-warmup-iterations=3",
		"--benchmark-max-time=0.3", "--benchmark-json", "benchmarks.json", path}
	said, dir := inPython(t, interpreter, append(args, "--benchmark-energy")...)
	says(t, said, "= energy of benchmarks =", "::test_sleep: ", "::test_rounds: ", " mJ [", " per iteration, measured")
	read := func(dir string) map[string]map[string]any {
		b, err := os.ReadFile(filepath.Join(dir, "benchmarks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Benchmarks []struct {
				Name  string
				Extra map[string]any `json:"extra_info"`
				Stats struct{ Mean float64 }
			}
		}
		if err := json.Unmarshal(b, &file); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		all := map[string]map[string]any{}
		for _, b := range file.Benchmarks {
			all[b.Name] = b.Extra
			b.Extra["mean_s"] = b.Stats.Mean
		}
		return all
	}
	for name, extra := range read(dir) {
		joules, lo, hi := extra["energy_j"].(float64), extra["energy_lo_j"].(float64), extra["energy_hi_j"].(float64)
		want := sdkWatts * extra["mean_s"].(float64) // sessionMachine's package and memory, as sdkMachine's
		if extra["energy_kind"] != "measured" || lo > joules || joules > hi || joules < 0.7*want || joules > 1.3*want {
			t.Errorf("%s: %v, want %v J", name, extra, want)
		}
	}
	said, dir = inPython(t, interpreter, args...) // without the flag
	if strings.Contains(said, "energy") || len(read(dir)) != 2 || read(dir)["test_sleep"]["energy_j"] != nil {
		t.Errorf("it measured without the flag:\n%s", said)
	}
}

const joulesOfStatements = `
import time

import codegreen

r = codegreen.jouleit("time.sleep(0.02)", "import time; time.sleep(0.1)", number=5, repeat=3)
assert 0.7 * 23 * r.seconds < r.energy_j < 1.3 * 23 * r.seconds and r.seconds < 0.06, r
assert r.energy_lo_j <= r.energy_j <= r.energy_hi_j and len(r.runs) == 3 and r.number == 5, r
assert r.energy_kind == "measured" and float(r) == r.energy_j, r
print(r)
calls = []
r = codegreen.jouleit(lambda: calls.append(time.sleep(0.05)), repeat=1)
assert 0.2 <= r.number * r.seconds and len(calls) >= r.number, r
with codegreen.Session("around", output_file="around.json") as s:
    codegreen.jouleit("n", globals={"n": 1}, number=1, repeat=2)
assert [t.name for t in s.tasks] == ["jouleit"] * 2 and not any(t.forgotten for t in s.tasks)
for wrong in ({"number": 0}, {"repeat": 1.5}, {"repeat": True}):
    try:
        codegreen.jouleit("pass", **wrong)
        print("taken", wrong)
    except ValueError as e:
        print("refused", e)
try:
    codegreen.jouleit("1 / 0", number=3)
except ZeroDivisionError:
    print("its error")
`

// jouleit measures a statement as timeit times it: without its setup, and with its errors.
func TestJouleit(t *testing.T) {
	t.Parallel()
	for _, interpreter := range sessionPythons(t) {
		said, _ := inPython(t, interpreter, joulesOfStatements)
		says(t, said, "J [", " per loop, measured (mean of 3 runs of 5 loops; ", "its error")
		if strings.Count(said, "refused jouleit: ") != 3 || strings.Contains(said, "taken") {
			t.Errorf("%s: %s", interpreter, said)
		}
	}
	said, _ := inPython(t, python(t), example(t, "hooks.md", "python"))
	says(t, said, " per loop, measured (mean of 5 runs of ")
}

const notebook = `
import sys
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

cells = ["%load_ext codegreen", "import time\nn = 3",
         "%%joules train\ntime.sleep(0.1)\nm = n + 1\nm",
         "%%joules --no-page\nimport codegreen\nassert m == 4\nlen([1]);",
         "import codegreen\ns = codegreen.Session('mine', save_to_file=False).start()",
         "%%joules inside\ntime.sleep(0.05)", "[t.name for t in s.tasks] + [s._running]", "x = s.stop()"]
nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
NotebookClient(nb, timeout=120, kernel_name="python3").execute()
train, bare, inside = (nb.cells[i].outputs for i in (2, 3, 5))
shown = [o for o in train if o.output_type == "display_data"]
assert len(shown) == 1 and [o.data["text/plain"] for o in train if o.output_type == "execute_result"] == ["4"], train
text, page = shown[0].data["text/plain"], shown[0].data["text/html"]
assert text.startswith("train: ") and " J [" in text and ", measured, in 0." in text, text
assert "<iframe" in page and "srcdoc=" in page and "&lt;html" in page and ">train: " in page, page[:400]
assert [o.output_type for o in bare] == ["display_data"] and "iframe" not in bare[0].data["text/html"], bare
assert [o.data["text/plain"].split(":")[0] for o in inside] == ["inside"] and "iframe" not in inside[0].data["text/html"], inside
assert nb.cells[6].outputs[0].data["text/plain"] == "['inside', True]", nb.cells[6].outputs
for cell, want in (("%%joules\n1 / 0", "ZeroDivisionError"), ("%%joules --pages\n1", "unknown option --pages"),
                   ("%%joules\nimport asyncio\nawait asyncio.sleep(0)", "SyntaxError")):
    bad = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (cells[0], cell)])
    try:
        NotebookClient(bad, timeout=120, kernel_name="python3").execute()
        print("no error", cell)
    except CellExecutionError as e:
        assert want in str(e), e
print("held")
`

// The magic %%joules shows what a cell of a real kernel takes, with cg's page.
func TestJupyter(t *testing.T) {
	long.Skip(t, "Jupyter's kernels start")
	t.Parallel()
	said, dir := inPython(t, hooksPython(t, "nbclient", "ipykernel"), notebook)
	says(t, said, "held")
	if left, _ := filepath.Glob(filepath.Join(dir, "codegreen_*")); len(left) > 0 || strings.Contains(said, "no error") {
		t.Error(left, said)
	}
}

const spansWithJoules = `
import threading, time
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from codegreen.opentelemetry import EnergySpanProcessor

exporter = InMemorySpanExporter()
provider = TracerProvider()
processor = EnergySpanProcessor(BatchSpanProcessor(exporter))
provider.add_span_processor(processor)
tracer = provider.get_tracer("test")
before = {"mine": 1}
with tracer.start_as_current_span("request", attributes=before) as span:
    span.add_event("begun")
    with tracer.start_as_current_span("query"):
        time.sleep(0.1)
    late = tracer.start_span("late")
    time.sleep(0.1)
time.sleep(0.1)
late.end()  # after its parent
assert provider.force_flush()
spans = {s.name: s for s in exporter.get_finished_spans()}
assert set(spans) == {"request", "query", "late"}, spans
watts = 23
for name, least in ("request", 0.2), ("query", 0.1), ("late", 0.2):
    s = spans[name]
    a, seconds = s.attributes, (s.end_time - s.start_time) / 1e9
    assert a["codegreen.energy_kind"] == "measured" and seconds >= least, (name, dict(a))
    assert a["codegreen.energy_lo_j"] <= a["codegreen.energy_j"] <= a["codegreen.energy_hi_j"], (name, dict(a))
    assert 0.7 * watts * seconds < a["codegreen.energy_j"] < 1.3 * watts * seconds, (name, seconds, dict(a))
r = spans["request"]
assert r.attributes["mine"] == 1 and [e.name for e in r.events] == ["begun"] and r.resource.attributes, r
assert spans["query"].parent.span_id == r.context.span_id and r.instrumentation_scope.name == "test"
assert not processor._session._all and not processor._session._pending and not processor._open

# Two traces at a time share.
exporter.clear()
def trace(name):
    with tracer.start_as_current_span(name):
        time.sleep(0.3)
threads = [threading.Thread(target=trace, args=(n,)) for n in ("left", "right")]
began = time.monotonic()
for t in threads:
    t.start()
for t in threads:
    t.join()
lasted = time.monotonic() - began
provider.force_flush()
both = [s.attributes["codegreen.energy_j"] for s in exporter.get_finished_spans()]
assert len(both) == 2 and sum(both) < 1.3 * watts * lasted, (both, lasted)
last = tracer.start_span("last")
last.end()
exporter.clear()
provider.shutdown()
print("held", len(exporter.get_finished_spans()))
`

// EnergySpanProcessor writes joules and bounds onto the spans of the real SDK of OpenTelemetry.
func TestSpansOfPythonHaveJoules(t *testing.T) {
	t.Parallel()
	said, _ := inPython(t, hooksPython(t), spansWithJoules)
	says(t, said, "held 1")
	said, _ = inPython(t, hooksPython(t), exampleBelow(t, "hooks.md", "## OpenTelemetry", "python"))
	says(t, said, `"name": "search"`, `"codegreen.energy_j": `, `"codegreen.energy_kind": "measured"`)
}

const spansReachTheNext = `
import os, time
from opentelemetry.sdk.trace import TracerProvider, SpanProcessor
from codegreen.opentelemetry import EnergySpanProcessor

class Next(SpanProcessor):
    def __init__(self):
        self.names, self.closed = [], 0
    def on_end(self, span):
        if span.name == "bad":
            raise ValueError("full")
        self.names.append(span.name)
    def shutdown(self):
        self.closed += 1
    def force_flush(self, timeout_millis=30000):
        return True

following = Next()
processor = EnergySpanProcessor(following)
provider = TracerProvider()
provider.add_span_processor(processor)
tracer = provider.get_tracer("test")
# The next processor fails once.
for name in "bad", "good":
    tracer.start_span(name).end()
assert provider.force_flush(5000) and following.names == ["good"], following.names
# A forked child, whose parent's other thread has the lock.
span = tracer.start_span("forked")
with processor._lock:
    child = os.fork()
    if child == 0:
        span.end()
        os._exit(0 if following.names == ["good", "forked"] else 1)
until = time.monotonic() + 20
while True:
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid or time.monotonic() > until:
        break
    time.sleep(0.01)
if not pid:
    os.kill(child, 9)
    os.waitpid(child, 0)
assert pid and status == 0, (pid, status)
span.end()
# Behind the worker's end: spans are handed on at once, and shutdown stops the session.
late = tracer.start_span("late")
processor._ended.put(None); processor._worker.join()
late.end()
assert following.names == ["good", "forked", "late"], following.names
processor.shutdown()
assert not processor._session._running and following.closed == 1
before = len(processor._session._all), len(processor._open)
tracer.start_span("behind").end()
assert following.names[-1] == "behind" and before == (len(processor._session._all), len(processor._open)), before
print("held", len(following.names))
`

// The processor behind EnergySpanProcessor gets each span: when it failed for another, in a forked child while a thread of
// the parent had the lock, and behind the end of the processor's thread.
func TestSpansReachTheNextProcessor(t *testing.T) {
	t.Parallel()
	said, _ := inPython(t, hooksPython(t), spansReachTheNext)
	says(t, said, "held 4")
}
