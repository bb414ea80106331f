"""Runs the script of "python script.py" woven. The interpreter reads and runs that
file in C, where no import hook is asked - except whether the path is a folder or
an archive with a __main__ in it. A path hook that says yes makes the interpreter
call runpy._run_module_as_main instead, and that name is ours for one call. A
script that cannot be woven is left to the interpreter.
"""
import _frozen_importlib_external as machinery
import os
import sys

from .recorder import recorder
from .run import CPYTHON
from .weaving import wanted, woven

Code = type((lambda: 0).__code__)
Loader = machinery.SourceFileLoader


def take_over_script():
    name = sys.argv[0] if getattr(sys, "argv", None) else ""
    if name in ("", "-", "-c", "-m") or not os.path.isfile(name) or not wanted(os.path.abspath(name)):
        return
    if name.endswith(".pyc") or is_archive(name):
        return
    path = name if name.startswith("/") or sys.version_info < (3, 9) else os.getcwd() + "/" + name
    code = woven(None, path, "__main__")
    if code is None:
        return
    real = sys.modules.get("runpy")
    main = [path, code]

    def claim(p):
        if p != path and not same_file(p, name):
            raise ImportError
        sys.path_hooks.remove(claim)
        main[:] = p, relabel(code, p) if p != path else code
        sys.modules["runpy"] = stand_in
        return Nothing()

    def prepare():
        path, code = main
        if real is None:
            sys.modules.pop("runpy", None)
        else:
            sys.modules["runpy"] = real
        sys.path_importer_cache[path] = None
        if sys.path and sys.path[0] == path:
            if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
                del sys.path[0]
            else:
                sys.path[0] = os.path.dirname(os.path.realpath(path))
        names = sys.modules["__main__"].__dict__
        if CPYTHON:
            names["__file__"] = path
            if sys.version_info < (3, 15):
                names["__cached__"] = None
            names["__loader__"] = Loader("__main__", path)
        else:  # which sets the names before it asks
            sys.path_importer_cache.pop(path, None)
            names["__loader__"] = Loader("__main__", name)
        return code, names

    stand_in = type(sys)("runpy")
    stand_in._run_module_as_main = \
        recorder.native.main(prepare) if recorder.native else plain_main(prepare)
    sys.path_hooks.insert(0, claim)
    sys.path_importer_cache.pop(path, None)


def is_archive(name):
    """Whether zipimport would take a file, which may begin with a line for the kernel: by the
    record at its end. A file that cannot be read is none of ours either."""
    try:
        with open(name, "rb") as f:
            size = f.seek(0, 2)
            f.seek(max(0, size - 65557))  # the record and the longest comment behind it
            return b"PK\5\6" in f.read()
    except OSError:
        return True


class Nothing:
    """The finder of a script's path, which an import asks where PYTHONPATH names
    the script: there are no modules in it."""
    def find_spec(self, name, target=None):
        return None

    def invalidate_caches(self):
        pass


def same_file(path, script):
    # A folder of PYTHONPATH may have the script's name.
    try:
        return os.path.samefile(path, script)
    except OSError:  # the working folder is gone
        return os.path.basename(path) == os.path.basename(script) and not os.path.isdir(path)


def relabel(code, path):
    consts = tuple(relabel(c, path) if type(c) is Code else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_filename=path)


def plain_main(prepare):
    """Without the native module the script has a frame of ours below it; the
    traceback of an exception leaves it out."""
    def main(*ignored):
        code, names, *leave = prepare()
        try:
            exec(code, names)
            if CPYTHON and leave != [False]:
                names.pop("__file__", None)  # as the interpreter does
                names.pop("__cached__", None)
            return
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as e:
            e.__traceback__ = e.__traceback__.tb_next
            error = e
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1)
    return main
