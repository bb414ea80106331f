"""Weaves modules as they are imported: takes over SourceFileLoader.get_code. What
is not to be woven, or cannot be, goes to the interpreter's own.
"""
import _frozen_importlib_external as machinery
import sys

from .after_import import later, meet
from .pickling import revive
from .run import run
from .weaving import tell_left_out, wanted, woven

# revive is a name of get_code's module for pickles, which find it so.

Loader = machinery.SourceFileLoader
original_get_code = Loader.get_code


def take_over_imports():
    Loader.get_code = get_code


def get_code(self, fullname):
    for name in list(later):
        if name in sys.modules:
            meet()
            break
    if type(self) is Loader:
        path = self.get_filename(fullname)
        # The module of "python -m" is asked for by runpy, under its own name.
        main = fullname == "__main__" or \
            sys.argv[:1] == ["-m"] and sys._getframe(1).f_globals.get("__name__") == "runpy"
        if main or run.imports and wanted(path):
            code = woven(None, path, "__main__" if main else fullname)
            if code is not None:
                return code
        elif run.imports:
            tell_left_out(path)
    return original_get_code(self, fullname)
