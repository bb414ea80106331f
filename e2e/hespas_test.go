package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// ofItsOwn holds codegreen.event_counters against HESPAS' own: signatures, text, and files in both
// directions. Arguments: the folder src of HESPAS, that of the SDK, a folder for files, and streams
// that cg wrote. HESPAS itself needs much that its event_counters does not: that alone is imported.
const ofItsOwn = `import inspect, os, sys, types
src, sdk, out, streams = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
for name in ("hespas", "hespas.utils"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [os.path.join(src, *name.split("."))]
sys.path.insert(0, sdk)
from hespas.event_counters import CounterEvent as TheirEvent, CounterEventStream as Theirs
from codegreen.event_counters import CounterEvent, CounterEventStream as Ours
methods = "__init__ to_dict from_dict to_json from_json to_json_str from_json_str".split()
for theirs, ours in (TheirEvent, CounterEvent), (Theirs, Ours):
    for name in methods:
        want, got = (list(inspect.signature(getattr(c, name)).parameters) for c in (theirs, ours))
        assert want == got, (name, want, got)
ours = Ours(metadata={"tool": "mine", "é": None})
ours.add_event(event_name="enter:a", timestamp=1, timeunit="ns", metadata={"joules": 1.5, "of": ["x", {}]})
ours.add_event(CounterEvent("tick", "2.5"))
ours.add_event(event_name="exit:a", timestamp=3.0, timeunit="ns")
ours.to_json(out + "/ours.json")
theirs = Theirs.from_json(out + "/ours.json")
assert len(theirs.events) == 3 and theirs.version == ours.version and theirs.metadata == ours.metadata
for name in streams:
    assert Theirs.from_json(name).version == "0.0.1", name
Theirs.__dataclass_fields__.pop("class_version")  # with which to_json raises KeyError
theirs.to_json(out + "/theirs.json")
assert theirs.to_json_str() == ours.to_json_str()
assert Ours.from_json(out + "/theirs.json") == ours
`

// TestHespasOwnPackage needs HESPAS' own package, which is in no package registry:
// git clone https://github.com/imec-int/hespas (c45bb55), and CG_HESPAS=.../hespas/src.
func TestHespasOwnPackage(t *testing.T) {
	src := os.Getenv("CG_HESPAS")
	if src == "" {
		t.Skip("CG_HESPAS names no folder src of HESPAS, which no package registry has")
	}
	dir := t.TempDir()
	streams, err := filepath.Glob("report/format/hespas/testdata/*.hespas.json")
	if err != nil || len(streams) == 0 {
		t.Fatal(streams, err)
	}
	sdk, err := filepath.Abs("runtimes/python/sdk")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-c", ofItsOwn, src, sdk, dir}, streams...)
	if out, err := exec.Command(python(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want, err := os.ReadFile(filepath.Join(dir, "theirs.json"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command(filepath.Join(os.Getenv("CG_TEST_BIN"), "cg"), "report", "--from", "hespas",
		filepath.Join(dir, "theirs.json"), "-f", "hespas").Output()
	if err != nil || string(got) != string(want) {
		t.Errorf("%v: cg writes HESPAS' own file as\n%s\nwant\n%s", err, got, want)
	}
}
