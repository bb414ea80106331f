"""Modules that load or run code in ways of their own are met once they have been
imported: at the next import, or when runpy looks for an importer. One that cannot
be met is reported to cg, and works as without it.
"""
import os
import sys

from .run import run
from .server import tell
from .weaving import wanted, woven


def meet():
    for name in list(later):
        module = sys.modules.get(name)
        if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue
        action = later.pop(name, None)
        try:
            if action:
                action(module)
        except Exception as e:
            tell("skip", name, getattr(module, "__file__", None) or name, "%s: %s" % (type(e).__name__, e))


def meet_runpy(module):
    """run_path reads and compiles a file without an import hook; so do workers
    of multiprocessing that are started anew."""
    original = module._get_code_from_file

    def _get_code_from_file(*args):  # (name, path) before 3.12, then (path)
        path = os.fsdecode(args[-1])
        name = args[0] if len(args) == 2 else sys._getframe(1).f_locals.get("run_name")
        if run.imports or name == "__mp_main__":
            try:
                with open(path, "rb") as f:
                    source = f.read()
            except OSError:
                source = b"\0"
            if b"\0" not in source and wanted(os.path.abspath(path)):
                code = woven(None, path, "__main__" if name == "__mp_main__" else name)
                if code is not None:
                    return (code, args[-1]) if len(args) == 2 else code
        return original(*args)

    module._get_code_from_file = _get_code_from_file


def meet_tests(function):
    """What meets a module of a test runner's: a function of test_runners.py."""
    def action(module):
        from .test_runners import runners
        runners[function](module)
    return action


later = {
    "runpy": meet_runpy,
    "unittest.result": meet_tests("unittest_result"),
    "_pytest.runner": meet_tests("pytest_runner"),
    "_pytest.assertion.rewrite": meet_tests("pytest_rewrite"),
}
