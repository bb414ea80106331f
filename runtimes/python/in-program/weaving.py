"""The woven code of a source, from the cache or made anew. It takes a source, by
its path or its text, and returns a code object with live checkpoints, or None to
load the source as it is. What fails is reported to cg and not to the program.
"""
import os

from .events import ENTER, EXIT, OWN
from .recorder import recorder
from .run import run
from .server import tell

library = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
libraries = (library, os.path.dirname(os.__file__) + os.sep)


def own(path):
    """Neither the standard library nor an installed package, nor cg's."""
    return not (path.startswith(libraries) or path.startswith(run.here + os.sep) or
                "/site-packages/" in path or "/dist-packages/" in path)


def wanted(path):
    return run.foreign or own(path)


def role(path, module):
    """What a file's plan depends on beside its text and run.key."""
    return "main1" if module == "__main__" else "module1" if own(path) else "module0"


def woven(content, path, module, **how):
    """The code object with live checkpoints, None to load the module as it is.

    What this costs is cg's, not the importing function's: it is a site of its
    own, which the reader books so. content is None for a file that is read as it
    stands. how has attributes of Source: text, parse, kind, mute.
    """
    if content is None and recorder.native:
        code = recorder.native.load(module, path, role(path, module))
        if code is not None:
            return code
    -recorder.checkpoint(ENTER << 21 | OWN)
    try:
        from .source import Source, load_or_weave
        source = Source(content, path, module)
        for name in how:
            setattr(source, name, how[name])
        return load_or_weave(source)
    except OSError:  # the file is gone, or cg has ended
        return None
    except Exception as e:  # a fault of ours must not become the program's
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None
    finally:
        -recorder.checkpoint(EXIT << 21 | OWN)
