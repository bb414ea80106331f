# run: SCRIPT one --two=3
# What the interpreter tells the main module about itself.
import atexit
import os
import sys


def show(when):
    g = globals()
    print(when, [(k, g.get(k, "unset")) for k in ("__name__", "__file__", "__spec__", "__package__", "__cached__", "__doc__")])
    print(type(g.get("__loader__")).__name__, getattr(g.get("__loader__"), "path", None), getattr(g.get("__loader__"), "name", None))


show("running")
print(type(__builtins__).__name__, list(globals())[:8], sys.argv, sys.path, sys.modules["__main__"].__dict__ is globals())
print(sys.flags, [type(f).__name__ for f in sys.meta_path], [getattr(h, "__qualname__", h) for h in sys.path_hooks], sys.executable, getattr(sys, "orig_argv", None))
print(sorted(k for k in sys.path_importer_cache if "cg" in k or k.endswith(".py")), sys.gettrace(), sys.getprofile())
print(__loader__.get_source("__main__")[:20], __loader__.is_package("__main__"), __loader__.get_filename("__main__"))
print(__annotations__ if "__annotations__" in globals() else None, sys.getrecursionlimit(), sys.getswitchinterval(), sys.excepthook is sys.__excepthook__)
atexit.register(show, "atexit")
