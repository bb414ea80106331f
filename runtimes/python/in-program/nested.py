"""What is done in the further interpreters of a process. From 3.12 on they begin with the
path that the first one's script was found by, which is the script itself where cg runs
it (script.py), in place of its folder.
"""
import os
import sys

from .script import is_archive


def mend_path():
    """Puts the folder of the script in its place, as soon as the interpreter has put the
    script there: before the next code is run or imported."""
    before, done = sys.path[:1], []

    def hook(event, args):
        if done or sys.path[:1] == before:
            return
        done.append(True)
        try:
            path = sys.path[0]
            if os.path.isfile(path) and not is_archive(path):
                sys.path_importer_cache.pop(path, None)
                if getattr(sys.flags, "safe_path", False):
                    del sys.path[0]
                else:
                    sys.path[0] = os.path.dirname(os.path.realpath(path))
        except Exception:
            pass  # the audit hook of a program's event does not fail it

    if sys.version_info >= (3, 12):
        sys.addaudithook(hook)
