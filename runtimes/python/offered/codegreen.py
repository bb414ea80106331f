"""Stands for the package codegreen where nobody has installed one: cg run puts
this folder at the end of PYTHONPATH."""


def _load():
    import os
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec, spec_from_file_location
    here = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("codegreen", [p for p in sys.path if os.path.abspath(p or ".") != here])
    if spec is None or spec.loader is None:
        folder = os.path.join(os.path.dirname(here), "sdk", "codegreen")
        path = os.path.join(folder, "__init__.py")
        spec = spec_from_file_location("codegreen", path, submodule_search_locations=[folder])
    module = sys.modules["codegreen"] = module_from_spec(spec)
    spec.loader.exec_module(module)


_load()
