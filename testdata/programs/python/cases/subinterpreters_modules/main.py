# not saved: each interpreter reports
# not pure: each interpreter tells of the thread as if it were alone on it
# Interpreters of one process import the program's modules each for itself, one
# after the other, on threads, and within functions of the main one.
import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import shared

here = os.path.dirname(os.path.abspath(__file__))
SOURCE = "import sys; sys.path.insert(0, %r)\nimport shared\nprint(%%r, shared.work(3), shared.count(), shared.__name__, flush=True)\n" % here


def run(tag, more=""):
    i = interpreters.create()
    try:
        return interpreters.run_string(i, SOURCE % tag + more) is None
    except Exception as e:
        return type(e).__name__
    finally:
        interpreters.destroy(i)


def within():
    for x in shared.gen(2):
        run("within %d" % x)
    return shared.count()


print(shared.work(2), flush=True)
run("first")
run("again", "shared.count()\nlist(shared.gen(3))\ng = shared.gen(2)\nnext(g)\nimport gc\ndel g\ngc.collect()\n")
run("fails", "try:\n    shared.fails()\nexcept LookupError as e:\n    print(repr(e), flush=True)\n")
print(within(), flush=True)
ts = [threading.Thread(target=run, args=("thread",)) for _ in range(3)]
for t in ts:
    t.start()
    t.join()
kept = [interpreters.create() for _ in range(2)]
for n, i in enumerate(kept * 2):
    interpreters.run_string(i, (SOURCE if n < 2 else "print(%r, shared.count(), flush=True)") % ("kept %d" % n))
for i in kept:
    interpreters.destroy(i)
print(shared.count(), "main")
