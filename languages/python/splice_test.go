package python

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cg/instrument"
	"cg/languages/languagetest"
	"cg/long"
)

// compileFiles writes the code of the files that are listed, as marshal has it, below a folder, and
// prints the number of the interpreter's .pyc files.
const compileFiles = `
import importlib.util, marshal, sys, warnings
warnings.simplefilter("ignore")
print(int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little"))
for i, name in enumerate(open(sys.argv[1], encoding="utf-8").read().splitlines()):
    with open(name, "rb") as f:
        code = compile(f.read(), name, "exec", 0, True)
    with open("%s/%d" % (sys.argv[2], i), "wb") as f:
        f.write(marshal.dumps(code))
`

// compareCode says in what woven code differs from the code that it was made of: the instructions
// without those of checkpoints, their operands and positions, where jumps go, and what handles an
// exception at each.
const compareCode = `
import dis, marshal, os, sys

def read(name):
    with open(name, "rb") as f:
        return f.read()

def units(code, skip):
    """The instructions, and where each is found by its offset."""
    kept, at, found = [], {}, [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
    prefixed, marks = None, set()
    for n, i in enumerate(found):
        if i.opname == "LOAD_CONST" and i.arg in skip:
            look = found[n + 1].opname == "SWAP"
            for k in found[n:n + 3]:
                marks.add(k.offset)
            assert [k.opname for k in found[n + 1:n + 3]] == (["SWAP", "BINARY_SUBSCR"] if look else ["UNARY_NEGATIVE", "POP_TOP"])
    for i in dis.get_instructions(code):
        at[i.offset] = len(kept)
        if i.opname not in ("CACHE", "EXTENDED_ARG") and i.offset not in marks:
            kept.append(i)
    return kept, at

def handlers(code):
    found = {}
    for e in dis._parse_exception_table(code):
        for offset in range(e.start, e.end, 2):
            found[offset] = e
    return found

def compare(old, new, marks):
    places = {next(marks): next(marks) for _ in range(next(marks))}
    assert set(places) == set(range(len(old.co_consts), len(new.co_consts))), (places, old.co_consts)
    guard = any(m >> 21 & 7 == 1 for m in places.values()) and old.co_name != "<lambda>"
    for field in ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_names", "co_varnames",
                  "co_freevars", "co_cellvars", "co_filename", "co_name", "co_qualname", "co_firstlineno"):
        assert getattr(old, field) == getattr(new, field), field
    assert new.co_stacksize >= old.co_stacksize + bool(places)
    before, at_before = units(old, ())
    after, at_after = units(new, places)
    tail = 5 if guard else 0  # what the handler has beside its checkpoint
    assert len(before) + tail == len(after), (len(before), len(after))
    caught, handled = handlers(old), handlers(new)
    for a, b in zip(before, after):
        assert a.opname == b.opname, (a, b)
        assert a.positions == b.positions, (a, b)
        if a.opcode in dis.hasjrel:
            x, y = at_before[a.argval], at_after[b.argval]
            assert x == y, (a, b)
        elif a.opname in ("YIELD_VALUE", "RESUME") and guard:
            assert a.arg == b.arg or a.arg in (b.arg - 1, b.arg | 4), (a, b)
        else:
            assert a.arg == b.arg, (a, b)
        e, f = caught.get(a.offset), handled.get(b.offset)
        own = f is not None and at_after[f.target] >= len(before)
        if own:
            assert guard and (f.depth, f.lasti) == (0, True)
            assert e is None or before[at_before[e.target]].opname == "CALL_INTRINSIC_1", (a, e)
        else:
            assert (e is None) == (f is None), (a, e, f)
            if e:
                assert (at_before[e.target], e.depth, e.lasti) == (at_after[f.target], f.depth, f.lasti), (a, e, f)
    woven = set()
    for _ in range(next(marks)):
        i = next(marks)
        woven.add(i)
        compare(old.co_consts[i], new.co_consts[i], marks)
    for i, (x, y) in enumerate(zip(old.co_consts, new.co_consts)):
        if i not in woven:
            assert x == y or type(x) is type(y) and repr(x) == repr(y), (x, y)

for name in sorted(os.listdir(sys.argv[1])):
    if not name.isdigit() or not os.path.exists("%s/%s.woven" % (sys.argv[1], name)):
        continue
    here = sys.argv[1] + "/" + name
    old, new = marshal.loads(read(here)), marshal.loads(read(here + ".woven"))
    places = iter(memoryview(read(here + ".places")).cast("I"))
    try:
        compare(old, new, places)
        assert next(places, None) is None
    except Exception as e:
        import traceback
        print(old.co_filename, traceback.extract_tb(e.__traceback__)[-1].lineno, type(e).__name__, e)
`

// placed are the interpreters whose code is woven.
func placed(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(interpreters(t), func(python string) bool { return minor(python) < 11 || minor(python) > 13 })
}

// onePlaced is an interpreter whose code is woven: one of those that are tested, else one of this machine.
func onePlaced(t *testing.T) string {
	t.Helper()
	if all := placed(t); len(all) > 0 {
		return all[0]
	}
	for minor := 11; minor <= 13; minor++ {
		name := fmt.Sprintf("python3.%d", minor)
		if exec.Command(name, "-c", "").Run() == nil {
			return name
		}
	}
	languagetest.Missing(t, "no Python 3.11 to 3.13 found")
	return ""
}

// TestWovenCode weaves the code of an interpreter's standard library: in CI that of the
// default one as a whole, unless that takes too long, and of others an eighth. The sites are those of the plan of the text,
// and without the checkpoints the instructions are the interpreter's own.
func TestWovenCode(t *testing.T) {
	part := long.Without(t, "seven eighths of the default interpreter's library") || os.Getenv("CI") != "true"
	for _, python := range placed(t) {
		t.Run(version(python), func(t *testing.T) {
			files, dir := library(t, python), t.TempDir()
			if os.Getenv("CG_ALL_PYTHONS") == "" && (part || python != byDefault(t)) {
				files = slices.DeleteFunc(files, func(file string) bool { return len(file)%8 != 0 })
			}
			list := filepath.Join(dir, "list")
			if err := os.WriteFile(list, []byte(strings.Join(files, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(python, "-c", compileFiles, list, dir).Output()
			if err != nil {
				t.Fatal(err)
			}
			magic, woven := strings.TrimSpace(string(out)), 0
			for i, file := range files {
				name := filepath.Join(dir, fmt.Sprint(i))
				code, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if source, err = decode(source); err != nil {
					t.Fatal(err)
				}
				w, err := weave(source, code, magic, instrument.Options{Granularity: instrument.Fine})
				if errors.Is(err, errAsync) || errors.Is(err, errCompiler) {
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", file, err)
					continue
				}
				woven++
				sameSites(t, file, source, w.Plan, minor(python))
				os.WriteFile(name+".woven", w.Code, 0o600)
				os.WriteFile(name+".places", w.Places, 0o600)
			}
			if out, err := exec.Command(python, "-W", "ignore", "-c", compareCode, dir).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
			if woven < len(files)*9/10 {
				t.Errorf("%d of %d files were woven", woven, len(files))
			}
		})
	}
}

// sameSites compares the sites of woven code with those of the text's plan.
func sameSites(t *testing.T, file string, source []byte, got *instrument.Plan, minor int) {
	t.Helper()
	plan, err := planModule(source, instrument.Options{Granularity: instrument.Fine})
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	plan.LeftAlone = nil
	want, have := instrument.SiteLines(plan), instrument.SiteLines(got)
	if want == have {
		return
	}
	in := bracedAt(string(source))
	wanted := strings.Split(want, "\n")
	for line := range strings.SplitSeq(have, "\n") {
		if i := slices.Index(wanted, line); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			continue
		}
		var row, col int
		fmt.Sscanf(strings.ReplaceAll(line, "\t", " "), "S lambda %d %d", &row, &col)
		if minor > 11 || !in(row, col) {
			t.Errorf("%s: a site that is not in the plan of the text: %s", file, line)
		}
	}
	if len(wanted) > 0 {
		t.Logf("%s: the compiler leaves out %q", file, wanted)
	}
}

// TestWeaveRefuses: what is not as an interpreter writes it is an error, never a panic.
func TestWeaveRefuses(t *testing.T) {
	python := onePlaced(t)
	source := []byte("def f(a):\n    try:\n        yield a\n        yield from a\n    except ValueError: return lambda: a\nclass C: pass\n")
	code, magic := compiledCode(t, python, source)
	o := instrument.Options{Granularity: instrument.Fine}
	if _, err := weave(source, code, magic, o); err != nil {
		t.Fatal(err)
	}
	if _, err := weave(source, code, "3425", o); !errors.Is(err, errVersion) {
		t.Errorf("another version: %v", err)
	}
	async, _ := compiledCode(t, python, []byte("async def f(): pass\n"))
	if _, err := weave(source, async, magic, o); !errors.Is(err, errAsync) {
		t.Errorf("asynchronous: %v", err)
	}
	for _, text := range []string{"@numba.njit\ndef f(): pass", "  @ jax . jit\n", "@functools.partial(jax.jit)\n", "@(jit)\n", "@\\\njit\n"} {
		if _, err := weave([]byte(text), code, magic, o); !errors.Is(err, errCompiler) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"@property\n", "a = b @ jit\n", "# @numba.njit\n", "@@ -1 +1 @@\n", "@x.setter # jit\n"} {
		if decoratedByCompiler([]byte(text)) {
			t.Errorf("%q is taken for a decorator that translates", text)
		}
	}
	for i := range code {
		if _, err := weave(source, code[:i], magic, o); err == nil {
			t.Errorf("the first %d bytes were woven", i)
		}
		for _, b := range []byte{0, 1, code[i] + 1, code[i] ^ 128, 255} {
			changed := bytes.Clone(code)
			changed[i] = b
			_, _ = weave(source, changed, magic, o) // does not panic
		}
	}
}

// FuzzWeave: no bytes make the weaver panic.
func FuzzWeave(f *testing.F) {
	all := pythons(f)
	source := []byte("def f(a):\n    for i in a:\n        try: yield i\n        finally: print(lambda: i)\n")
	for _, python := range all {
		if minor(python) >= 11 && minor(python) <= 13 {
			code, magic := compiledCode(f, python, source)
			f.Add(code, magic)
		}
	}
	f.Fuzz(func(t *testing.T, code []byte, magic string) {
		_, _ = weave(source, code, magic, instrument.Options{Granularity: instrument.Fine})
	})
}

// compiledCode is the code of a source as marshal has it, and the number of the interpreter's .pyc
// files.
func compiledCode(t testing.TB, python string, source []byte) (code []byte, magic string) {
	t.Helper()
	cmd := exec.Command(python, "-c", `
import importlib.util, json, marshal, sys
code = marshal.dumps(compile(sys.stdin.read(), "x.py", "exec"))
print(json.dumps([list(code), str(int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little"))]))`)
	cmd.Stdin = bytes.NewReader(source)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var both []json.RawMessage
	var numbers []int
	if err := json.Unmarshal(out, &both); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(both[0], &numbers), json.Unmarshal(both[1], &magic)); err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		code = append(code, byte(n))
	}
	return code, magic
}
