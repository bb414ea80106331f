"""Tests of runtimes/python, whose path is the first argument: the parts that
need no running cg."""
import _imp
import ast
import importlib
import importlib.util
import io
import json
import marshal
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import warnings
from contextlib import redirect_stdout
from importlib.util import MAGIC_NUMBER

HERE = sys.argv.pop(1)
INSIDE = os.path.join(HERE, "in-program")
inside = sys.modules["inside"] = types.ModuleType("inside")
inside.__path__ = [INSIDE]
from inside.recorder import recorder
recorder.native = True  # for the form of the marks
from inside import compiling, decode, importing, marks, outline, polish, share, weave
from inside.events import MARK
from inside.source import Source


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


class Importing(unittest.TestCase):
    """As the program has the modules: the importer gives the same as import."""

    def setUp(self):
        text = {}
        for file in os.listdir(INSIDE):
            if file.endswith(".py"):
                with open(os.path.join(INSIDE, file), "rb") as f:
                    text[file[:-3]] = f.read()
        self.first, self.rest = compiling.compile_all(text)
        self.asked = 0

    def others(self):
        self.asked += 1
        return self.rest

    def test_modules(self):
        before, every = set(sys.modules), set(self.first) | set(self.rest)
        load = importing.importer(self.first, self.others)
        self.assertIs(load("recorder", "recorder")[0], load("weaving", "recorder")[0])
        load("recorder", "recorder")[0].native = True
        for name in sorted(every - {"pure", "pausing"}):  # which begin to record
            module = importlib.import_module("inside." + name)
            names = [n for n in vars(module) if not n.startswith("__")]
            for n, value in zip(names, load(name, *names)):
                self.assertEqual(type(value).__name__, type(getattr(module, n)).__name__, (name, n))
        self.assertEqual(self.asked, 1)
        self.assertEqual({n for n in set(sys.modules) - before if not n.startswith("inside.")}, set())

    def test_a_start_asks_for_no_others(self):
        self.assertEqual(sorted(set(self.rest) & {"weave", "making", "outline", "pure"}), ["making", "outline", "pure", "weave"])
        load = importing.importer(self.first, self.others)
        for name in list(self.first):
            load(name)
        self.assertEqual(self.asked, 0)

    def test_every_import_has_the_form_that_is_known(self):
        for file in os.listdir(INSIDE):
            with open(os.path.join(INSIDE, file)) as f:
                tree = ast.parse(f.read())
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.level:
                    self.assertEqual((node.level, node.end_lineno), (1, node.lineno), file)
                    self.assertTrue(node.module and all(a.asname is None for a in node.names), file)
                    self.assertTrue(os.path.exists(os.path.join(INSIDE, node.module + ".py")), (file, node.module))

    def test_a_module_that_is_not_there_is_an_error_each_time(self):
        load = importing.importer({}, self.others)
        for _ in range(2):
            with self.assertRaises(KeyError):
                load("nosuch", "start")

    def test_frames_are_importlibs(self):
        digest, = importing.importer(self.first, self.others)("cache", "digest")
        self.assertEqual(digest.__code__.co_filename, "<frozen importlib._bootstrap_external>")

    def test_threads_that_load_at_once_have_one_module(self):
        found, asked, loaded = [], threading.Event(), threading.Event()

        def others():
            if not asked.is_set():  # the thread, which goes on when this one is done
                asked.set()
                loaded.wait()
            return self.rest

        load = importing.importer(self.first, others)
        thread = threading.Thread(target=lambda: found.append(load("outline", "outline")))
        thread.start()
        asked.wait()
        found.append(load("outline", "outline"))
        loaded.set()
        thread.join()
        self.assertIs(found[0][0], found[1][0])


class Compiled(unittest.TestCase):
    """The two files with the modules' code: made once, used only as cg has made
    them, by this user, for these sources and this interpreter."""

    def setUp(self):
        outer = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, outer)
        self.folder = os.path.join(outer, "python-0123456789abcdef")
        shutil.copytree(HERE, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        for name, _, _ in os.walk(self.folder):
            os.chmod(name, 0o700)
        self.run_file = os.path.join(outer, "run")
        with open(self.run_file, "w") as f:  # nobody answers, and there is no channel
            f.write("channel=%s\nserver=%s\nhere=%s\ncache=%s\nkey=k\n" % (outer, outer, self.folder, outer))
        self.hit = os.path.join(outer, "hit")
        self.start()
        self.good = self.content()
        self.modules = self.decoded()
        tag = "in-program." + sys.implementation.cache_tag
        self.assertEqual(sorted(self.good), [tag, tag + ".more"])

    def run_python(self, *flags):
        code = "import sys; print([n for n in sys.modules if n.startswith(('cg', 'codegreen'))], %r in sys.path)" % self.folder
        environment = dict(os.environ, PYTHONPATH=self.folder, CG_RUN=self.run_file, CG_DEBUG="1")
        return subprocess.run((sys.executable, "-B") + flags + ("-c", code), env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT).stdout.decode()

    def start(self, *flags):
        self.assertEqual(self.run_python(*flags), "[] False\n")

    def content(self):
        found = {}
        for name in os.listdir(self.folder):
            if name.startswith("in-program."):
                with open(os.path.join(self.folder, name), "rb") as f:
                    found[name] = f.read()
        return found

    def decoded(self):
        """The code in the files, which marshal does not always write alike."""
        about = MAGIC_NUMBER + os.path.basename(self.folder).encode()
        modules = {}
        for name, b in self.content().items():
            self.assertEqual(b[:8], _imp.source_hash(0x6367, b[8:] + about), name)
            for module, code in marshal.loads(b[8:]).items():
                modules[name, module] = marshal.loads(code) if isinstance(code, bytes) else code
        return modules

    def planted(self, about):
        """The files with code that makes a file, and the right digest."""
        hostile = compile("open(%r, 'w').close()" % self.hit, "hostile", "exec")
        for name, b in self.good.items():
            modules = {m: marshal.dumps(hostile) if isinstance(c, bytes) else hostile
                       for m, c in marshal.loads(b[8:]).items()}
            content = marshal.dumps(modules)
            yield os.path.join(self.folder, name), _imp.source_hash(0x6367, content + about) + content

    def spoil(self, path, b, mode=0o600, owner=None):
        os.unlink(path)
        with open(path, "wb") as f:
            f.write(b)
        os.chmod(path, mode)
        if owner:
            os.chown(path, owner, owner)

    def refused(self, *flags):
        self.start(*flags)
        self.assertFalse(os.path.exists(self.hit))
        self.assertEqual(self.decoded(), self.modules)

    def test_kept_for_every_level_of_optimisation(self):
        times = [os.stat(os.path.join(self.folder, n)).st_mtime_ns for n in sorted(self.good)]
        for flags in (), ("-O",), ("-OO",), ("-W", "error"), ("-X", "dev"):
            self.start(*flags)
        self.assertEqual([os.stat(os.path.join(self.folder, n)).st_mtime_ns for n in sorted(self.good)], times)

    def test_broken(self):
        for name, good in self.good.items():
            path = os.path.join(self.folder, name)
            for bad in b"", good[:7], good[:-1], good + b"x", b"x" + good[1:], good[:8]:
                self.spoil(path, bad)
                self.refused()
            os.unlink(path)
            self.refused()

    def test_right_ones_are_run(self):
        # Without this the next two tests would show nothing.
        about = MAGIC_NUMBER + os.path.basename(self.folder).encode()
        for path, b in list(self.planted(about)):
            self.spoil(path, b)
            self.run_python()
            self.assertTrue(os.path.exists(self.hit), path)
            os.unlink(self.hit)
            self.spoil(path, self.good[os.path.basename(path)])

    def test_of_other_sources_or_bytecode(self):
        name = os.path.basename(self.folder).encode()
        for about in MAGIC_NUMBER + b"python-fedcba9876543210", b"\0\0\r\n" + name, name, b"":
            for path, b in self.planted(about):
                self.spoil(path, b)
            self.refused()

    def test_of_somebody_else(self):
        about = MAGIC_NUMBER + os.path.basename(self.folder).encode()
        ways = [dict(mode=0o620), dict(mode=0o602), dict(mode=0o666)]
        if os.geteuid() == 0:
            ways.append(dict(owner=54321))
        for way in ways:
            for path, b in self.planted(about):
                self.spoil(path, b, **way)
            self.refused()

    def test_no_file_but_a_link_or_a_pipe(self):
        about = MAGIC_NUMBER + os.path.basename(self.folder).encode()
        for path, b in self.planted(about):
            other = os.path.join(os.path.dirname(self.folder), os.path.basename(path))
            with open(other, "wb") as f:
                f.write(b)
            os.unlink(path)
            os.symlink(other, path)
        self.refused()
        for name in self.good:
            os.unlink(os.path.join(self.folder, name))
            os.mkfifo(os.path.join(self.folder, name), 0o600)
        self.refused()

    def test_a_folder_of_others_keeps_nothing(self):
        for name in self.good:
            os.unlink(os.path.join(self.folder, name))
        os.chmod(self.folder, 0o777)
        self.start()
        self.assertEqual(self.content(), {})


class Decode(unittest.TestCase):
    def test_cookie(self):
        for line, want in [
            (b"# coding: latin-1", "latin-1"), (b"# -*- coding: utf_8 -*-", "utf_8"), (b"# vim: set fileencoding=cp1252 :", "cp1252"),
            (b"\t\f# coding=x.y", "x.y"), (b"x # coding: y", None), (b"# coding y", None), (b"# coding:", None),
            (b"# encoding of coding: z", "z"), (b"", None),
        ]:
            self.assertEqual(decode.cookie(line), want, line)

    def test_decode(self):
        for source, want in [
            (b"a\r\nb\rc\n", "a\nb\nc\n"), (b"\xef\xbb\xbf\xc3\xa9", "\u00e9"), (b"# coding: latin-1\n\xe9", "# coding: latin-1\n\u00e9"),
            (b"#!x\n# coding: latin-1\n\xe9", "#!x\n# coding: latin-1\n\u00e9"), (b"\n# coding: latin-1\n\xe9", "\n# coding: latin-1\n\u00e9"),
        ]:
            self.assertEqual(decode.decode(source), want)
        for source in b"\xe9", b"x\n# coding: latin-1\n\xe9", b"# coding: klingon\n":
            with self.assertRaises((UnicodeError, LookupError)):
                decode.decode(source)


class Weave(unittest.TestCase):
    PLAN = "S\tmodule\t1\t0\t9\t<module>\nS\tfunction\t1\t0\t2\tf\nP\tmodule\t1\t0\t1\nP\tbody\t1\t0\t2\n"

    def marks(self, code):
        out = []
        for c in code.co_consts:
            if isinstance(c, str) and c.startswith(MARK):
                out.append(c[len(MARK):])
            elif isinstance(c, type(code)):
                out += self.marks(c)
        return sorted(out)

    def test_marks(self):
        text = "def f():\n    return 1\n"
        sites, code, quiet = weave.weave(Source(text.encode(), "f.py", "f"), self.PLAN)
        self.assertEqual((len(sites.split("\n")), quiet, code.co_filename), (2, True, "f.py"))
        self.assertEqual(self.marks(code), ["0:1", "0:2", "1:1", "1:2"])

    def test_a_plan_that_does_not_fit_does_nothing(self):
        text = "x = 1\n\n\ndef f(): pass\n"
        _, code, _ = weave.weave(Source(text.encode(), "f.py", "f"), self.PLAN.replace("module\t1", "module\t7"))
        self.assertEqual(self.marks(code), [])

    MANY = b"""import os
@f0(lambda f: f)
def f(a, b=lambda: 1):
    x = (1,
         lambda: 2)
    y = f'''{a}
        {(lambda: 3)()} {b!r:>{(lambda: 4)()}}''' 'x' \\
        f'{(lambda: 5)()}'
    yield x; yield y
    x[lambda: 6]: (lambda: 7) = [i for i in [lambda: 8]]
    assert y, (
        lambda: 9)
    return (yield
            from x)
async def g(): return [await x async for x in g() if
                       await x]
class C(f(0)): v = 1; w = lambda: 10
"""

    def test_statements_without_points_change_nothing(self):
        # A tree that somebody else has made is walked whole.
        folder = os.path.dirname(os.__file__)
        texts = [self.MANY]
        for name in "asyncio/tasks.py", "contextlib.py", "typing.py", "functools.py", "test/test_fstring.py", "test/test_asyncgen.py":
            if os.path.exists(os.path.join(folder, name)):
                with open(os.path.join(folder, name), "rb") as f:
                    texts.append(f.read())
        for text in texts:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plan = outline.outline(decode.decode(text))
                one, two = Source(text, "f.py", "f"), Source(text, "f.py", "f")
                two.text, two.parse = decode.decode(text), lambda t: compile(t, "f.py", "exec", weave.ONLY_AST, True)
                one, two = weave.weave(one, plan), weave.weave(two, plan)
            self.assertEqual(one[:2], two[:2], text[:80])
            self.assertGreater(len(self.marks(one[1])), 4)

    def test_warnings_are_heard_once_and_forgotten_by_nobody(self):
        text = "def f():\n    return f is 1\n"
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            before = list(warnings.filters)
            quiet = weave.weave(Source(text.encode(), "f.py", "f"), self.PLAN)[2]
            self.assertEqual(warnings.filters, before)
        self.assertEqual((quiet, [w.category for w in seen]), (False, [SyntaxWarning]))

    def test_exception_tables(self):
        for entries in [], [[0, 1, 2, 0, 0]], [[1, 70, 5000, 3, 1], [300000, 64, 63, 40, 0]]:
            self.assertEqual(polish.read_exceptions(polish.write_exceptions(entries)), entries)

    def test_own_exception_tables(self):
        if marks.NOWHERE and sys.version_info >= (3, 11):
            for f in runtime, block, Weave.test_marks, unittest.main.__init__, tempfile.mkstemp:
                table = f.__code__.co_exceptiontable
                self.assertEqual(polish.write_exceptions(polish.read_exceptions(table)), table)


class Share(unittest.TestCase):
    @unittest.skipUnless((3, 11) <= sys.version_info < (3, 14), "the format of 3.11 to 3.13")
    def test_library(self):
        import marshal
        names = [n for n in os.listdir(os.path.dirname(os.__file__)) if n.endswith(".py")]
        for name in sorted(names)[::3] + ["_pydecimal.py", "typing.py", "dataclasses.py"]:
            with open(os.path.join(os.path.dirname(os.__file__), name), "rb") as f:
                data = marshal.dumps(compile(f.read(), name, "exec", dont_inherit=True))
            shared = share.share(data)
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
                share.share(data)


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
