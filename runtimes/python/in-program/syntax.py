"""The built-in module _ast, past sys.modules and the program's finders: the
program imports its own.
"""
import _frozen_importlib as bootstrap
import _imp
import sys

from .run import CPYTHON


def syntax():
    module = sys.modules.get("_ast")
    if module is None:
        if CPYTHON:
            module = _imp.create_builtin(bootstrap.ModuleSpec("_ast", bootstrap.BuiltinImporter, origin="built-in"))
            _imp.exec_builtin(module)
        else:
            import _ast as module
        sys.modules.pop("_ast", None)
    return module


ast = syntax()
