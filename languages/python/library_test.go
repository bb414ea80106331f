package python

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cg/checkpoint"
	"cg/instrument"
	"cg/long"
)

// compileWoven weaves files by their plans and compiles them, in one process
// under the interpreter they come with. It prints what it could not.
const compileWoven = `
import json, sys, types
runtime = sys.modules["runtime"] = types.ModuleType("runtime")
runtime.__path__ = [sys.argv[1]]
from runtime.recorder import recorder
recorder.native = True  # for the form of the marks
from runtime.decode import decode
from runtime.weave import weave
from runtime.source import Source
for line in open(sys.argv[2], encoding="utf-8"):
    name, plan = json.loads(line)
    with open(name, "rb") as f:
        source = f.read()
    try:
        decode(source)
        weave(Source(source, name, "woven"), plan)
    except Exception as e:
        print("%s: %s: %s" % (name, type(e).__name__, e))
`

// TestStandardLibrary plans every module of the default interpreter's standard
// library and lets the interpreter compile what is woven. Nothing is excepted; where it must not take long, one module
// of five stands for the others, of which CPython's own suites run some.
func TestStandardLibrary(t *testing.T) {
	python := byDefault(t)
	files := library(t, python)
	if long.Without(t, "four of five modules") {
		files = slices.DeleteFunc(files, func(name string) bool { return crc32.ChecksumIEEE([]byte(filepath.Base(name)))%5 != 0 })
	}
	var plans bytes.Buffer
	enc := json.NewEncoder(&plans)
	var size, functions int
	var spent time.Duration
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := decode(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		begin := time.Now()
		p, err := planModule(text, instrument.Options{Granularity: instrument.Fine})
		spent += time.Since(begin)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		size += len(text)
		for _, s := range p.Sites {
			if s.Kind != checkpoint.Module {
				functions++
			}
		}
		if err := enc.Encode([2]string{name, instrument.Encode(p)}); err != nil {
			t.Fatal(err)
		}
	}
	list := filepath.Join(t.TempDir(), "plans")
	if err := os.WriteFile(list, plans.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-W", "ignore", "-c", compileWoven, "../../runtimes/python/in-program", list)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("Python %s: %d files, %d functions, %.1f MB planned at %.1f MB/s", version(python), len(files), functions, float64(size)/1e6, float64(size)/1e6/spent.Seconds())
}
