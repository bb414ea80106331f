# not alike: a file under two names tells the later one
# A module that is loaded again, changed in between, runs as it is now.
import importlib
import os
import sys

import mod

first = mod.f
print(mod.f(), first is mod.f)
importlib.reload(mod)
print(mod.f(), first is mod.f)
with open(mod.__file__, "a") as f:
    f.write("\n\ndef f():\n    return 'changed' + str(1 / 2)\n")
importlib.reload(mod)
print(mod.f(), first())
del sys.modules["mod"]
import mod as again
print(again is mod, again.f())
spec = importlib.util.spec_from_file_location("by_path", os.path.join(os.path.dirname(__file__), "mod.py"))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.__name__, module.f(), module.f.__module__)
