"""Tests of runtimes/python, whose path is the first argument: the parts that
need no running cg."""
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

HERE = sys.argv.pop(1)
hook = {"__name__": "hook"}
with open(os.path.join(HERE, "hook.py")) as f:
    exec(f.read(), hook)
weave = {"__name__": "weave", "MARK": hook["MARK"], "Ear": hook["Ear"], "PURE": False, "ast": hook["syntax"]()}
with open(os.path.join(HERE, "weave.py")) as f:
    exec(f.read(), weave)


def runtime():
    """A codegreen_runtime of its own."""
    os.environ.pop("CODEGREEN_REPORTER", None)
    spec = importlib.util.spec_from_file_location("codegreen_runtime", os.path.join(HERE, "codegreen_runtime.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import atexit
    atexit.unregister(module._finish)
    return module


def block(module):
    out = io.StringIO()
    with redirect_stdout(out):
        module._finish()
    lines = out.getvalue().splitlines()
    return lines and [lines[0], json.loads(lines[1]), lines[2]]


class Decode(unittest.TestCase):
    def test_cookie(self):
        for line, want in [
            (b"# coding: latin-1", "latin-1"), (b"# -*- coding: utf_8 -*-", "utf_8"), (b"# vim: set fileencoding=cp1252 :", "cp1252"),
            (b"\t\f# coding=x.y", "x.y"), (b"x # coding: y", None), (b"# coding y", None), (b"# coding:", None),
            (b"# encoding of coding: z", "z"), (b"", None),
        ]:
            self.assertEqual(weave["cookie"](line), want, line)

    def test_decode(self):
        for source, want in [
            (b"a\r\nb\rc\n", "a\nb\nc\n"), (b"\xef\xbb\xbf\xc3\xa9", "\u00e9"), (b"# coding: latin-1\n\xe9", "# coding: latin-1\n\u00e9"),
            (b"#!x\n# coding: latin-1\n\xe9", "#!x\n# coding: latin-1\n\u00e9"), (b"\n# coding: latin-1\n\xe9", "\n# coding: latin-1\n\u00e9"),
        ]:
            self.assertEqual(weave["decode"](source), want)
        for source in b"\xe9", b"x\n# coding: latin-1\n\xe9", b"# coding: klingon\n":
            with self.assertRaises((UnicodeError, LookupError)):
                weave["decode"](source)


class Weave(unittest.TestCase):
    PLAN = "S\tmodule\t1\t0\t9\t0\t<module>\nS\tfunction\t1\t0\t2\t0\tf\nP\tmodule\t1\t0\t1\nP\tbody\t1\t0\t2\n"

    def marks(self, code):
        out = []
        for c in code.co_consts:
            if isinstance(c, str) and c.startswith(weave["MARK"]):
                out.append(c[len(weave["MARK"]):])
            elif isinstance(c, type(code)):
                out += self.marks(c)
        return sorted(out)

    def test_marks(self):
        text = "def f():\n    return 1\n"
        sites, code, quiet = weave["weave"](text, text.encode(), "f.py", self.PLAN)
        self.assertEqual((len(sites.split("\n")), quiet, code.co_filename), (2, True, "f.py"))
        self.assertEqual(self.marks(code), ["0:1", "0:2", "1:1", "1:2"])

    def test_a_plan_that_does_not_fit_does_nothing(self):
        text = "x = 1\n\n\ndef f(): pass\n"
        _, code, _ = weave["weave"](text, text.encode(), "f.py", self.PLAN.replace("module\t1", "module\t7"))
        self.assertEqual(self.marks(code), [])

    def test_warnings_are_heard_once_and_forgotten_by_nobody(self):
        import warnings
        text = "def f():\n    return f is 1\n"
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            before = list(warnings.filters)
            quiet = weave["weave"](text, text.encode(), "f.py", self.PLAN)[2]
            self.assertEqual(warnings.filters, before)
        self.assertEqual((quiet, [w.category for w in seen]), (False, [SyntaxWarning]))

    def test_exception_tables(self):
        for entries in [], [[0, 1, 2, 0, 0]], [[1, 70, 5000, 3, 1], [300000, 64, 63, 40, 0]]:
            self.assertEqual(weave["read_exceptions"](weave["write_exceptions"](entries)), entries)

    def test_own_exception_tables(self):
        if weave["NOWHERE"]:
            for f in runtime, block, Weave.test_marks, unittest.main.__init__, tempfile.mkstemp:
                table = f.__code__.co_exceptiontable
                self.assertEqual(weave["write_exceptions"](weave["read_exceptions"](table)), table)


class Share(unittest.TestCase):
    @unittest.skipUnless((3, 11) <= sys.version_info < (3, 14), "the format of 3.11 to 3.13")
    def test_library(self):
        import marshal
        names = [n for n in os.listdir(os.path.dirname(os.__file__)) if n.endswith(".py")]
        for name in sorted(names)[::3] + ["_pydecimal.py", "typing.py", "dataclasses.py"]:
            with open(os.path.join(os.path.dirname(os.__file__), name), "rb") as f:
                data = marshal.dumps(compile(f.read(), name, "exec", dont_inherit=True))
            shared = weave["share"](data)
            self.assertLessEqual(len(shared), len(data))
            a, b = marshal.loads(data), marshal.loads(shared)
            self.same(a, b, {})

    def same(self, want, got, constants):
        for name in dir(want):
            if name.startswith("co_") and name not in ("co_consts", "co_lnotab"):
                a, b = getattr(want, name), getattr(got, name)
                self.assertEqual(list(a()) if callable(a) else a, list(b()) if callable(b) else b, name)
        self.assertEqual([type(c) for c in want.co_consts], [type(c) for c in got.co_consts])
        # checkpoints are put into them: none is shared that was not
        self.assertIs(constants.setdefault(id(got.co_consts), want.co_consts), want.co_consts)
        for a, b in zip(want.co_consts, got.co_consts):
            if isinstance(a, type(want)):
                self.same(a, b, constants)
            else:
                self.assertEqual((a, type(a) is frozenset or repr(a)), (b, type(b) is frozenset or repr(b)))

    def test_not_known(self):
        for data in b"[\0\0\0\0", b"N0", b"", b"\x88":
            with self.assertRaises((ValueError, IndexError)):
                weave["share"](data)


class Runtime(unittest.TestCase):
    def test_block(self):
        r = runtime()
        r.sites("m", {1: "f", 2: 'g."\u00e9\U0001f600'})
        r.enter(1)
        self.assertEqual((r.leave(2, "value"), r.suspend(1, 3), r.resume(1, 4)), ("value", 3, 4))
        r.enter(2)
        begin, result, end = block(r)
        self.assertEqual((begin, end), ("--- CODEGREEN_RESULT_START ---", "--- CODEGREEN_RESULT_END ---"))
        ids = [m["checkpoint_id"] for m in result["measurements"]]
        self.assertEqual([i.split(":")[0] for i in ids], ["enter", "exit", "suspend", "resume", "enter", "exit", "exit"])
        self.assertTrue(ids[0].startswith("enter:m.f:1#inv_1_t"))
        self.assertTrue(ids[4].startswith('enter:m.g."\u00e9\U0001f600:2#inv_1_t'), ids[4])
        times = [m["timestamp"] for m in result["measurements"]]
        self.assertEqual(times, sorted(times))

    def test_limit(self):
        r = runtime()
        r.LIMIT = 3
        for _ in range(4):
            r.enter(1)
            r.exit(1)
        result = block(r)[1]
        self.assertEqual((len(result["measurements"]), result["dropped"]), (3, 5))

    def test_nothing_to_tell(self):
        self.assertFalse(block(runtime()))

    def test_child_is_quiet(self):
        r = runtime()
        r.enter(1)
        r._reporter = "1"
        self.assertFalse(block(r))

    def test_by_hand(self):
        r = runtime()
        r.checkpoint(7, "step", "enter")
        r.measure_checkpoint(7, "exit", "step", 3, "")
        self.assertEqual([m["checkpoint_id"].split("#")[0] for m in block(r)[1]["measurements"]], ["enter:step:7", "exit:step:7"])

    def test_by_hand_has_the_id_of_each_place(self):
        r = runtime()
        for end in "2", "3":
            r.checkpoint("1", "step", "enter")
            r.checkpoint(end, "step", "exit")
        self.assertEqual([m["checkpoint_id"].split("#")[0] for m in block(r)[1]["measurements"]], ["enter:step:1", "exit:step:2", "enter:step:1", "exit:step:3"])

    def test_by_hand_is_in_the_program_s_own_file(self):
        r = runtime()
        loaded, marks = [], []

        def load(*words):
            loaded.append((os.path.basename(words[2]), words[4].split("\t")[2]))
            return b"ok", str(len(loaded))
        r._cg = load, marks.append
        package = {"__name__": "codegreen", "r": r}
        exec(compile("def checkpoint(*a): r.checkpoint(*a)", "sdk.py", "exec"), package)
        for file, lines, what in ("a.py", 3, "enter"), ("a.py", 5, "exit"), ("b.py", 7, "enter"), ("c.py", 1, "exit"):
            exec(compile("\n" * (lines - 1) + "checkpoint(1, 'step', %r)" % what, file, "exec"), {"__name__": "program", "checkpoint": package["checkpoint"]})
        self.assertEqual(loaded, [("a.py", "3"), ("b.py", "7")])
        self.assertEqual(marks, [2, 1 << 21 | 2, 3, 1 << 21 | 3])

    def test_counters(self):
        r = runtime()
        with tempfile.TemporaryDirectory() as root:
            def zone(name, kind, energy, wrap):
                os.makedirs(os.path.join(root, name), exist_ok=True)
                for file, value in ("name", kind), ("energy_uj", energy), ("max_energy_range_uj", wrap):
                    with open(os.path.join(root, name, file), "w") as f:
                        f.write("%s\n" % value)
            zone("intel-rapl:0", "package-0", 900, 999)
            zone("intel-rapl:0:0", "core", 5, 999)
            zone("intel-rapl:1", "dram", 10, 999)
            c = r._Counters(root)
            self.assertEqual((len(c.zones), c.joules, c.watts), (2, 0.0, None))
            zone("intel-rapl:0", "package-0", 100, 999)  # wrapped
            zone("intel-rapl:1", "dram", 310, 999)
            joules, watts = c.read(c.read_at + 1000000)
            self.assertAlmostEqual(joules, 500e-6)
            self.assertAlmostEqual(watts, 0.5)
            for z in c.zones:
                os.close(z[0])
        self.assertEqual(r._Counters("/no/such/folder").read(5), (None, None))


if __name__ == "__main__":
    unittest.main()
