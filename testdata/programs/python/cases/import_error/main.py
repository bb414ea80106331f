# skipped: what is no Python
# A module that cannot be compiled is an error at the import of it, with the line
# that Python shows, and the import can be repeated once it is mended.
import os
import sys
import traceback

here = os.path.dirname(os.path.abspath(__file__))


def attempt(name):
    try:
        return __import__(name).f()
    except SyntaxError as e:
        print(type(e).__name__, e.msg, e.lineno, e.offset, e.text, os.path.basename(e.filename or ""), name in sys.modules)
    except Exception as e:
        print(type(e).__name__, [(f.name, f.lineno, f.line) for f in traceback.extract_tb(e.__traceback__)], name in sys.modules)


def written(name, text):
    with open(os.path.join(here, name + ".py"), "wb") as f:
        f.write(text)
    __import__("importlib").invalidate_caches()
    return attempt(name)


print(attempt("wrong"))
print(written("wrong", b"def f():\n    return 'mended'\n"))
print(written("halfway", b"def f():\n    return 1 / 0\nf()\n"), written("halfway", b"def f():\n    return 'now complete'\n"))
print(written("nulls", b"x = 1\0\ndef f(): return 1\n"), written("cookie", b"# coding: nonsense\ndef f(): return 1\n"))
print(written("bytes_", b"def f(): return '\xff'\n"), written("mixed", b"def f():\n\tif 1:\n        return 1\n"))
print(written("late", b"x = 1\nfrom __future__ import annotations\n"), written("out", b"def f(): return 1\nreturn 2\n"))
print(written("loops", b"def f(): return 1\nbreak\n"), written("names", b"def f(x, x): return 1\n"), written("nonlocals", b"def f():\n    nonlocal q\n"))
print(written("globals_", b"def f():\n    x = 1\n    global x\n    return x\n"), written("awaits", b"def f(): await x\n"), written("assigns", b"def f(): f() = 1\n"))
print(written("future", b"from __future__ import no_such\ndef f(): return 1\n"))
if sys.version_info >= (3, 9):  # 3.8 writes to stderr by itself
    print(written("deep_", b"def f(): return " + b"(" * 250 + b"1" + b")" * 250 + b"\n"))
print(written("exits", b"def f(): return 1\nraise SystemExit if False else KeyError('while importing')\n"))
import again_wrong
