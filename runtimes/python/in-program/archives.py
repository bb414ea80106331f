"""Weaves code out of archives (PEP 273): zipimport compiles it in one function,
which is taken over. What cannot be woven stays what zipimport gave.
"""
import sys

from .after_import import meet
from .run import run
from .weaving import wanted, woven


def take_over_archives():
    module = sys.modules.get("zipimport")
    original = getattr(module, "_get_module_code", None)
    if original is None:
        return
    importer = module.zipimporter
    construct = importer.__init__

    def _get_module_code(self, fullname):
        code, package, path = original(self, fullname)
        main = fullname == "__main__"
        if path.endswith(".py") and (main or run.imports and wanted(path)):
            try:
                source = self.get_data(path)
            except OSError:
                return code, package, path
            new = woven(source.replace(b"\r\n", b"\n"), path, fullname, mute=True)
            if new is not None:
                return new, package, path
        return code, package, path

    def __init__(self, path):
        # runpy asks for an importer before it reads a file.
        meet()
        construct(self, path)

    module._get_module_code = _get_module_code
    importer.__init__ = __init__
