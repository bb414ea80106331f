"""Stands for the module codegreen_runtime where nobody has installed one (see
codegreen.py beside it)."""


def _load():
    import os
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec, spec_from_file_location
    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("codegreen_runtime", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec is None or spec.loader is None:
        spec = spec_from_file_location("codegreen_runtime", os.path.join(os.path.dirname(here), "codegreen_runtime.py"))
    module = sys.modules["codegreen_runtime"] = module_from_spec(spec)
    spec.loader.exec_module(module)


_load()
