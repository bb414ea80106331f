"""Weaves a source that the cache does not have. It takes a source.Source and returns
the code and where its checkpoints belong, or None for a source that is left as it is.
What it returns is put into the cache, too. It is loaded for the first such source
only.

Where cg knows the bytecode, the interpreter compiles the source as ever, and cg
inserts the checkpoints into the code. Elsewhere weave.py puts them into the
syntax tree, with cg's plan, before the interpreter compiles that.
"""
import marshal
import sys
from _frozen_importlib_external import MAGIC_NUMBER

from .cache import Entry, keep, number
from .caught_warnings import CaughtWarnings
from .decode import decode
from .events import MARK, TYPES
from .recorder import recorder
from .server import ask, ask_to_weave, tell

Code = type((lambda: 0).__code__)

# Where code has tables of positions that cg knows to change.
PLACED = (3, 11) <= sys.version_info < (3, 14) and sys.implementation.name == "cpython"
VERSION = str(int.from_bytes(MAGIC_NUMBER[:2], "little"))


def make(source):
    """Weaves a source and caches the outcome: (places, sites, code, number before the first
    site if it has one), or None."""
    path, module = source.path, source.module
    content = source.read()
    try:
        if source.text is None:
            source.text = decode(content)
    except (SyntaxError, UnicodeError, LookupError) as e:
        tell("skip", module, path, "not readable as source: %s" % e)
        return None
    try:
        found = in_code(source) if has_known_code(source) else in_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        # Not ours to report: the interpreter says it when it compiles the
        # original.
        tell("skip", module, path, "%s: %s" % (type(e).__name__, e))
        return None
    if found is None:
        return None
    places, sites, code, data, base, quiet = found
    # The warnings of a script come every time, those of a module when it is
    # compiled: by the program, which is to be the first to hear them.
    if data and (quiet or module != "__main__" and not source.ahead and not sys.dont_write_bytecode):
        keep(source.where, path, source.seen, Entry(0, source.identity(), places, sites, data))
    return places, sites, code, base


def has_known_code(source):
    """Whether cg can insert the checkpoints into what the interpreter compiles: not
    where Python code records events, which needs another form of them, and not in coroutines."""
    return PLACED and recorder.native and source.parse is None and not has_coroutine(source.text)


def has_coroutine(text):
    """Whether a line of a text begins with "async def"."""
    at = text.find("async def")
    while at >= 0:
        if not text[text.rfind("\n", 0, at) + 1:at].strip():
            return True
        at = text.find("async def", at + 1)
    return False


def about(source):
    return source.module, source.path, source.mine


def in_code(source):
    """What in_tree gives, of code that the interpreter compiles from the source itself while
    cg plans it. cg then inserts the checkpoints into the bytecode."""
    heard = False

    def compiled():
        nonlocal heard
        with CaughtWarnings() as caught:
            code = compile(source.content, source.path, "exec", 0, True)
        heard = caught.heard and not source.mute
        return marshal.dumps(code)

    text = source.text.encode("utf-8", "surrogatepass")
    kind, answer = ask_to_weave(about(source) + (VERSION, text), compiled)
    if kind != b"woven":
        return in_tree(source, [kind, answer])
    if heard:
        compile(source.content, source.path, "exec", 0, True)  # once more, to be heard
    base, n, m, answer = answer.split(b"\0", 3)
    n, m = int(n), int(m)
    data = answer[n + m:]
    return answer[n:n + m], answer[:n], marshal.loads(data), data, int(base), not heard


def in_tree(source, answer=None):
    """(places, sites, code, the code as marshal writes it, number before the first site,
    whether compiling gave no warning) of a source, whose syntax tree gets the checkpoints; None
    where cg wants none. answer is the server's, if it has been asked for a plan."""
    plan = planned(source, answer)
    if plan is None:
        return None
    from .weave import weave
    sites, code, quiet = weave(source, plan)
    places = []
    code = unmark(code, places)
    places = b"".join([number(n, 4) for n in places])
    try:
        data = marshal.dumps(code)
        if PLACED:
            data = shared(data)
    except ValueError:
        data = None
    return places, sites.encode("utf-8", "surrogateescape"), code, data, None, quiet


def planned(source, answer=None):
    """The server's plan for a source, None where it has none. For a text that
    cg's grammar cannot place, the plan is made from the interpreter's own tree."""
    if answer is None:
        answer = ask("plan", *about(source), source.text.encode("utf-8", "surrogatepass"))
    if answer[0] == b"unparsed":
        from .outline import outline
        try:
            with CaughtWarnings():
                plan = outline(source.text, source.path)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tell("skip", source.module, source.path, answer[1])
            return None
        answer = ask("outline", *about(source), plan)
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
