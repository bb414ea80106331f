# Modules find each other as before: relative, in a circle, in a package
# without an __init__, late and by name.
import importlib
import sys

import pkg
import pkg.a
from pkg.sub import deep
from space.inner import inside

print(pkg.order, pkg.a.use(), deep(), inside(), sys.path[0] == pkg.__path__[0].rsplit("/", 1)[0])
for name in sorted(sys.modules):
    if name.split(".")[0] in ("pkg", "space"):
        m = sys.modules[name]
        print(name, type(m.__loader__).__name__, getattr(m, "__file__", None), m.__package__, m.__spec__.name, m.__spec__.cached == getattr(m, "__cached__", None))
importlib.import_module(".lazy", "pkg")
print(importlib.util.find_spec("pkg.b").origin == pkg.b.__file__, importlib.import_module("pkg.lazy").loaded)
try:
    import pkg.missing
except ImportError as e:
    print(e, e.name)
import pkg.broken
