"""The woven code of a source, from the cache or made anew. It takes a source, by
its path or its text, and returns a code object with live checkpoints, or None to
load the source as it is. What fails is reported to cg and not to the program.
"""
import gc
import os

from .events import ENTER, EXIT, OWN
from .recorder import recorder
from .run import run
from .server import tell

library = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
libraries = (library, os.path.dirname(os.__file__) + os.sep)


told = set()  # packages that cg knows to be left out


def installed(path):
    """The installed package, or module, to which a file belongs; "" for a file that is no part of one."""
    for folder in "/site-packages/", "/dist-packages/":
        at = path.rfind(folder)
        if at >= 0:
            return first_name(path[at + len(folder):])
    return ""


def first_name(path):
    """The package at the begin of a path below a folder of sys.path."""
    name = path.partition("/")[0]
    return name[:-3] if name.endswith(".py") else name


def own(path):
    """A part of the program: neither the standard library nor an installed package, unless
    that is what is run, nor cg's."""
    name = installed(path)
    if not name:
        for library in libraries:
            if path.startswith(library):
                name = first_name(path[len(library):])
                break
        else:
            return not path.startswith(run.here + os.sep)
    return ":" + name + ":" in run.program


def wanted(path):
    return own(path) or run.foreign != "" and path.startswith(tuple(run.foreign.split(":")))


def tell_left_out(path):
    """Tells cg of an installed package that is left out, once."""
    name = installed(path)
    if name and name not in told and len(told) < 1000:
        told.add(name)
        tell("left", name)


def role(path, module):
    """What a file's plan depends on beside its text and run.key."""
    kind = "main1" if module == "__main__" else "module1" if own(path) else "module0"
    key = run.keys.get(path, "")
    # A function that is named has its places in one module, and the file may be loaded as several.
    return (key + module + " " if key or run.named else "") + kind


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
    # A collection of garbage in between would end objects of the program earlier.
    collects = gc.isenabled()
    gc.disable()
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
        if collects:
            gc.enable()
        -recorder.checkpoint(EXIT << 21 | OWN)
