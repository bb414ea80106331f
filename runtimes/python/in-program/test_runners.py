"""Reports every test of pytest and unittest as a task, and weaves the modules that
pytest rewrites. It takes a module of theirs that has just been imported, and is
loaded for the first one only. A test that cg gives no number is not reported.
"""
import _imp
import _thread
import marshal
import os
import sys

from .after_import import meet
from .events import ENTER, EXIT
from .recorder import recorder
from .run import run
from .server import ask, tell
from .weaving import wanted, woven

running = {}  # thread -> (what it runs, number of the task)


def begin(key, name, path, line):
    """A test begins in this thread; one inside another is part of that."""
    thread = _thread.get_ident()
    if thread in running:
        return
    try:
        answer = ask("task", name, path, str(line))
        number = int(answer[1]) if answer[0] == b"ok" else 0
    except (OSError, ValueError):
        number = 0
    running[thread] = key, number
    if number:
        -recorder.make(ENTER << 21 | number, "")


def end(key):
    thread = _thread.get_ident()
    if running.get(thread, (None,))[0] is key:
        number = running.pop(thread)[1]
        if number:
            -recorder.make(EXIT << 21 | number, "")


# unittest tells a result when a test starts and when it stops, whoever runs it
# (docs.python.org/3/library/unittest.html, TestResult.startTest).

def unittest_result(module):
    result = module.TestResult
    start, stop = result.startTest, result.stopTest

    def startTest(self, test):
        meet()
        value = start(self, test)
        describe(test)
        return value

    def stopTest(self, test):
        end(test)
        return stop(self, test)

    for new, old in (startTest, start), (stopTest, stop):
        new.__doc__, new.__module__, new.__qualname__ = old.__doc__, old.__module__, old.__qualname__
    result.startTest, result.stopTest = startTest, stopTest


def describe(test):
    try:
        name = test.id()
        method = getattr(type(test), getattr(test, "_testMethodName", ""), None)
        code = getattr(getattr(method, "__wrapped__", method), "__code__", None)
        path, line = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    except Exception:
        return
    begin(test, str(name), path, line)


# pytest runs the phases of a test in one function, which plugins that run a
# test again call, too (_pytest/runner.py, runtestprotocol).

def pytest_runner(module):
    original = module.runtestprotocol

    def before(item, *args, **kwargs):
        try:
            path, line, _ = item.location
            begin(item, item.nodeid, os.path.join(str(item.config.rootdir), path), (line or 0) + 1)
        except Exception:
            pass
        return item

    if recorder.native:
        module.runtestprotocol = recorder.native.around((before, original, end))
        return

    def runtestprotocol(item, *args, **kwargs):
        __tracebackhide__ = True
        before(item)
        try:
            return original(item, *args, **kwargs)
        finally:
            end(item)

    module.runtestprotocol = runtestprotocol


# Test modules are loaded by a hook of pytest's, which rewrites their assert
# statements and keeps the compiled code beside them. What it keeps stays its
# own: code is woven behind its cache.

def pytest_rewrite(module):
    if not run.imports:
        return
    read, rewrite, write = module._read_pyc, module._rewrite_test, module._write_pyc
    originals = {}  # woven code by identity -> itself, pytest's

    def swap(code, frame):
        meet()
        path = getattr(code, "co_filename", None)
        if path is None or not wanted(os.path.abspath(path)):
            return code
        try:
            config = frame.f_locals["self"].config
            name = frame.f_locals["module"].__name__
            with open(path, "rb") as f:
                source = f.read()

            def parse(text):
                tree = compile(source, path, "exec", 0x400, True)
                module.rewrite_asserts(tree, source, path, config)
                return tree

            new = woven(source, path, name, parse=parse, mute=True,
                        kind="-" + _imp.source_hash(0x6367, marshal.dumps(code)).hex())
        except Exception as e:
            tell("skip", path, path, "%s: %s" % (type(e).__name__, e))
            return code
        if new is None:
            return code
        originals[id(new)] = new, code
        return new

    def _read_pyc(*args, **kwargs):
        code = read(*args, **kwargs)
        return code if code is None else swap(code, sys._getframe(1))

    def _rewrite_test(*args, **kwargs):
        stat, code = rewrite(*args, **kwargs)
        return stat, swap(code, sys._getframe(1))

    def _write_pyc(state, code, *args, **kwargs):
        return write(state, originals.get(id(code), (code, code))[1], *args, **kwargs)

    module._read_pyc, module._rewrite_test, module._write_pyc = _read_pyc, _rewrite_test, _write_pyc


runners = {"unittest_result": unittest_result, "pytest_runner": pytest_runner, "pytest_rewrite": pytest_rewrite}
