# not saved: a loader of the program reads the rendered text
# Programs that import in their own ways: finders that compile what they read,
# loaders that change it, modules without source, or loaded when they are needed.
import importlib.abc
import importlib.machinery
import importlib.util
import os
import py_compile
import sys
import types
import zipfile

here = os.path.dirname(os.path.abspath(__file__))


class Memory(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    sources = {"memory": "def f():\n    return __name__, [x for x in (1, 2)]\n\ndef fails():\n    return 1 / 0\n"}

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self, origin="memory") if name in self.sources else None

    def get_source(self, name): return self.sources[name]


class Compiling(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        return compile(self.get_data(self.path).replace(b"ORIGINAL", b"compiled"), self.path, "exec")


class Converting(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, **kw):
        return super().source_to_code(data.replace(b"ORIGINAL", b"converted"), path, **kw)


class Reading(importlib.machinery.SourceFileLoader):
    def get_data(self, path):
        data = super().get_data(path)
        return data.replace(b"ORIGINAL", b"read anew") if path.endswith(".py") else data


class Executing(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        module.before = True
        super().exec_module(module)
        module.after = module.f()


def load(name, loader):
    spec = importlib.util.spec_from_file_location(name, os.path.join(here, "plain_.py"), loader=loader(name, os.path.join(here, "plain_.py")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sys.meta_path.insert(0, Memory())
import memory
print(memory.f(), memory.__spec__.origin)
for kind in Compiling, Converting, Reading, Executing, importlib.machinery.SourceFileLoader:
    m = load(kind.__name__.lower(), kind)
    print(kind.__name__, m.f(), m.__name__, getattr(m, "before", None), getattr(m, "after", None), m.f.__code__.co_filename == m.__file__)
old = importlib.machinery.SourceFileLoader("plain_", os.path.join(here, "plain_.py")).load_module() if sys.version_info < (3, 12) else None
spec = importlib.util.find_spec("lazy_")
spec.loader = importlib.util.LazyLoader(spec.loader)
lazy = importlib.util.module_from_spec(spec)
sys.modules["lazy_"] = lazy
spec.loader.exec_module(lazy)
print("not yet loaded", type(lazy).__name__)
print(lazy.f(), type(lazy).__name__)
py_compile.compile(os.path.join(here, "plain_.py"), os.path.join(here, "compiled_.pyc"), dfile="compiled_.py")
import compiled_
print(compiled_.f(), type(compiled_.__loader__).__name__)
with zipfile.ZipFile(os.path.join(here, "archive.zip"), "w") as z:
    z.write(os.path.join(here, "plain_.py"), "zipped.py")
sys.path.append(os.path.join(here, "archive.zip"))
import zipped
print(zipped.f(), type(zipped.__loader__).__name__)
source_loader = importlib.machinery.SourceFileLoader("plain_", os.path.join(here, "plain_.py"))
code = source_loader.get_code("plain_")
print(type(code).__name__, code.co_filename == source_loader.path, source_loader.get_source("plain_")[:6], source_loader.is_package("plain_"))
made = types.ModuleType("made")
exec(code, made.__dict__)
print(made.f())
if sys.version_info >= (3, 11):
    print(sys.modules["os"].__spec__.origin, sys.modules["zipimport"].__spec__.origin)
hooked = []


class Watching:
    def find_spec(self, name, path=None, target=None): hooked.append(name)


sys.meta_path.insert(0, Watching())
import beside
print([n for n in hooked if n != "beside"], beside.f())


def path_hook(path):
    if path != "made-up:":
        raise ImportError
    return PathFinder()


class PathFinder:
    def find_spec(self, name, target=None):
        return importlib.util.spec_from_file_location(name, os.path.join(here, "plain_.py")) if name == "from_hook" else None


sys.path_hooks.append(path_hook)
sys.path.append("made-up:")
import from_hook
print(from_hook.f(), [type(f).__name__ if not isinstance(f, type) else f.__name__ for f in sys.meta_path])
original = importlib.machinery.SourceFileLoader.get_code
importlib.machinery.SourceFileLoader.get_code = lambda self, name: (print("asked for", name), original(self, name))[1]
import late_
print(late_.f())
importlib.machinery.SourceFileLoader.get_code = original
memory.fails()
