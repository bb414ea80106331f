"""Imports the modules of this folder, where no program can see them: they are
not in sys.modules.

It takes the code of modules, and a function that gives the code of any other by
its name. It returns load, which gives names of a module: compiling.py puts a call
of it in the place of each import of a module of this folder.
"""
import marshal


def importer(compiled, others):
    """load(module, *names): the values of names in a module, which is executed
    once. Code may be as marshal writes it."""
    modules = {}

    def load(module, *names):
        scope = modules.get(module)
        if scope is None:
            if module not in compiled:
                compiled.update(others())
            code = compiled[module]
            if type(code) is bytes:
                code = marshal.loads(code)
            scope = {"__name__": __name__, "load_names": load}
            exec(code, scope)
            scope = modules.setdefault(module, scope)  # another thread's, or ours
        return tuple(map(scope.__getitem__, names))

    return load
