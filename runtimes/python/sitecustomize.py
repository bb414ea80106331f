# Starts cg's checkpoints in a Python process. cg puts this folder in front of
# PYTHONPATH; here it leaves no trace: its own entries are taken back, and a
# sitecustomize of the user's is run as if this one did not exist.
import sys

def _cg_start():
    import _imp
    import marshal
    import os

    def read(name):
        # As private of hook.py, which is not there yet.
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as f:
            s = os.fstat(fd)
            if s.st_uid != os.geteuid() or s.st_mode & 0o170022 != 0o100000:
                raise OSError(name + " is not this user's own")
            return f.read()

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if p != here]
    sys.path_importer_cache.pop(here, None)
    run = os.environ.get("CG_RUN")
    if run and sys.version_info >= (3, 8):
        name = os.path.join(here, "hook.py")
        # The file name and the module's name are importlib's own: tracebacks
        # leave out its frames, and debuggers that skip the import system skip
        # it, as every other import hook of the interpreter.
        scope = {"__name__": "importlib._bootstrap_external", "__file__": name}
        try:
            source = read(name)
            cached = os.path.join(here, "hook." + sys.implementation.cache_tag + "." + str(sys.flags.optimize))
            code = None
            try:
                b = read(cached)
                if b[:8] == _imp.source_hash(0x6367, b[8:] + source):
                    code = marshal.loads(b[8:])
            except (OSError, ValueError, EOFError, TypeError):
                pass
            made = code is None
            if made:
                code = compile(source, "<frozen importlib._bootstrap_external>", "exec", 0, True)
            exec(code, scope)
            if made:
                b = marshal.dumps(code)
                scope["put"](cached, [_imp.source_hash(0x6367, b + source), b])
            scope["start"](run)
        except Exception:
            if os.environ.get("CG_DEBUG"):
                raise
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
