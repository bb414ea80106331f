# Starts cg's checkpoints in a Python process. cg puts this folder in front of
# PYTHONPATH; here it leaves no trace: its own entries are taken back, and a
# sitecustomize of the user's is run as if this one did not exist. The modules
# of cg are in the folder in-program, which no import can name.
import sys

def _cg_start():
    import _imp
    import marshal
    import os
    from _frozen_importlib_external import MAGIC_NUMBER

    here = os.path.dirname(os.path.abspath(__file__))
    folder = here + "/in-program"
    # Two files have the code of the modules: what every start needs, and the
    # others. It is of these sources, whose digest is in the folder's name, for
    # an interpreter of this bytecode.
    cached = "%s/in-program.%s" % (here, sys.implementation.cache_tag)
    about = MAGIC_NUMBER + os.path.basename(here).encode()

    def read(name):
        # As read_private of files.py, which is not there yet.
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as f:
            s = os.fstat(fd)
            if s.st_uid != os.geteuid() or s.st_mode & 0o170022 != 0o100000:
                raise OSError(name + " is not this user's own")
            return f.read()

    def kept(name):
        try:
            b = read(name)
            if b[:8] == _imp.source_hash(0x6367, b[8:] + about):
                return marshal.loads(b[8:])
        except (OSError, ValueError, EOFError, TypeError):
            pass
        return None

    def make():
        # Both, made anew and kept.
        scope = {"__name__": "importlib._bootstrap_external"}
        exec(compile(read(folder + "/compiling.py"), "<frozen importlib._bootstrap_external>", "exec", 0, True), scope)
        return scope["make"](folder, read, cached, about)

    sys.path[:] = [p for p in sys.path if p != here]
    sys.path_importer_cache.pop(here, None)
    run = os.environ.get("CG_RUN")
    if run and sys.version_info >= (3, 8):
        before = set(sys.modules)
        try:
            compiled = kept(cached) or make()
            scope = {"__name__": "importlib._bootstrap_external"}
            exec(compiled["importing"], scope)
            start, = scope["importer"](compiled, lambda: kept(cached + ".more") or make())("start", "start")
            start(run)
        except Exception:
            if os.environ.get("CG_DEBUG"):
                raise
        finally:
            for name in set(sys.modules) - before:
                del sys.modules[name]  # the program imports its own
    return here

_cg_here = _cg_start()

def _cg_next(here):
    try:
        from _frozen_importlib_external import PathFinder
        return PathFinder.find_spec("sitecustomize", sys.path)
    except Exception:
        return None

_cg_spec = _cg_next(_cg_here)
if _cg_spec is None or _cg_spec.loader is None:
    # site.py takes this as "there is none"
    _cg_error = ImportError("No module named 'sitecustomize'")
    _cg_error.name = "sitecustomize"
    raise _cg_error
else:
    from _frozen_importlib import module_from_spec as _cg_make
    _cg_module = _cg_make(_cg_spec)
    sys.modules["sitecustomize"] = _cg_module
    _cg_spec.loader.exec_module(_cg_module)
