"""Weaves a source that the cache does not have, with the server's plan. It takes a
source.Source and returns the code and where its checkpoints belong, or None for a
source that is left as it is. What it returns is put into the cache, too. It is
loaded for the first such source only.
"""
import _imp
import marshal
import sys

from .cache import Entry, keep, number
from .caught_warnings import CaughtWarnings
from .decode import decode
from .events import MARK, TYPES
from .server import ask, tell
from .weave import weave

Code = type((lambda: 0).__code__)


def make(source):
    """Weaves a source and caches the outcome: (places, sites, code), or None."""
    path, module = source.path, source.module
    content = source.read()
    try:
        if source.text is None:
            source.text = decode(content)
    except (SyntaxError, UnicodeError, LookupError) as e:
        tell("skip", module, path, "not readable as source: %s" % e)
        return None
    plan = planned(source)
    if plan is None:
        return None
    try:
        sites, code, quiet = weave(source, plan)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        # Not ours to report: the interpreter says it when it compiles the
        # original.
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None
    sites = sites.encode("utf-8", "surrogateescape")
    places = []
    code = unmark(code, places)
    places = b"".join([number(n, 4) for n in places])
    # The warnings of a script come every time, those of a module when it is
    # compiled.
    if quiet or module != "__main__" and not sys.dont_write_bytecode:
        try:
            data = marshal.dumps(code)
        except ValueError:
            return places, sites, code
        if (3, 11) <= sys.version_info < (3, 14):
            data = shared(data)
        keep(source.where, path, source.seen, Entry(0, source.identity(), places, sites, data))
    return places, sites, code


def planned(source):
    """The server's plan for a source, None where it has none. For a text that
    cg's grammar cannot place, the plan is made from the interpreter's own tree."""
    about = source.module, source.path, source.mine
    answer = ask("plan", *about, source.text.encode("utf-8", "surrogatepass"))
    if answer[0] == b"unparsed":
        from .outline import outline
        try:
            with CaughtWarnings():
                plan = outline(source.text, source.path)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tell("skip", source.module, source.path, answer[1])
            return None
        answer = ask("outline", *about, plan)
    return answer[1].decode("utf-8", "surrogateescape") if answer[0] == b"ok" else None


def shared(data):
    from .share import share
    try:
        return share(data)
    except (ValueError, IndexError, RecursionError):
        return data


def unmark(code, places):
    """Code with None in the places of its marks, which are noted."""
    marks, inner, consts = [], [], []
    for i, c in enumerate(code.co_consts):
        if type(c) is Code:
            below = []
            c = unmark(c, below)
            if below:
                inner.append([i] + below)
        elif type(c) is str and c.startswith(MARK):
            kind, _, site = c[len(MARK):].partition(":")
            digits = site.rstrip("".join(TYPES))
            kind, up = int(kind) & 7, min(int(kind) >> 11, 15)
            marks += i, up << 28 | TYPES.index(site[len(digits):]) << 24 | kind << 21 | int(digits)
            c = None
        consts.append(c)
    if not marks and not inner:
        return code
    places += [len(marks) // 2] + marks + [len(inner)]
    for below in inner:
        places += below
    return code.replace(co_consts=tuple(consts))
