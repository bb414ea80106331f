# not saved: the text that tracebacks read is the rendered one
# Files that change while the program runs: what is loaded stays, tracebacks read
# what is there now, and what is imported anew is new.
import importlib
import linecache
import os
import sys
import traceback

import mod

here = os.path.dirname(os.path.abspath(__file__))


def rewrite(name, text):
    with open(os.path.join(here, name), "w") as f:
        f.write(text)
    os.utime(f.name, (1, 10 ** 9 + len(text)))
    importlib.invalidate_caches()


def shown(f):
    try:
        print(f())
    except Exception:
        linecache.checkcache()
        print(traceback.format_exc().replace(here, "HERE"))


shown(mod.fails)
rewrite("mod.py", "# moved\n\n\ndef fails():\n    return 'new' + 1\n")
shown(mod.fails)
importlib.reload(mod)
shown(mod.fails)
rewrite("mod.py", "def fails():\n    return [\n        'third' + 3]\n")
del sys.modules["mod"]
import mod
shown(mod.fails)
os.unlink(mod.__file__)
shown(mod.fails)
rewrite("late.py", "def f(): return 'first'\n")
import late
shown(late.f)
for text in "second", "sixth_":  # the same size, and another time
    rewrite("late.py", "def f(): return '%s'\n" % text)
    importlib.reload(late)
    shown(late.f)
try:
    import mod as gone
    importlib.reload(gone)
except ImportError as e:
    print(type(e).__name__)
rewrite("main.py", "nothing\n" * 60)
shown(lambda: 1 / 0)
os.chdir("/")
os.rename(here, here + "-moved")
try:
    import late2
except ImportError as e:
    print(e)
os.rename(here + "-moved", here)
undefined
