"""A source that is to be woven, and its code where the native module has not found
it: from the cache by its content, or made. It takes what weaving.woven is given
and returns a code object with live checkpoints, or None where cg leaves the source
as it is. Errors are the caller's.
"""
import _imp
import marshal
import os

from .cache import find, keep, name_of, settled, stamp
from .files import read_source
from .recorder import enliven
from .run import run
from .server import ask
from .weaving import role


class Source:
    """A source that is to be woven."""

    def __init__(self, content, path, module):
        self.content = content  # bytes, None while it need not be read
        self.path, self.module = path, module
        self.role = role(path, module)
        self.mine = self.role[-1:]  # "1" for a part of the program
        self.text = None     # of the content, where no cookie says what its bytes mean
        self.parse = None    # makes the syntax tree of a text in place of compile
        self.kind = ""       # names what parse does, for the cache
        self.mute = False    # warnings have been given already
        self.ahead = False   # woven for a program that has not met it yet
        self.seen = 0, 0     # stamp and time of change of the file
        self.where = ""      # the file of its entry in the cache

    def read(self):
        if self.content is None:
            self.content = read_source(self.path)
        return self.content

    def identity(self):
        """What tells contents apart."""
        content = self.read()
        return _imp.source_hash(0x6367, content), len(content)


def load_or_weave(source):
    is_file = source.content is None
    look_up(source)
    found = cached(source)
    if found is None and is_file and run.ahead and made_ahead(source):
        found = cached(source)
    if found is None:
        from .making import make
        found = make(source)
        if found is None:
            return None
    places, sites, code, base = found
    if base is None:
        answer = ask("load", source.module, source.path, source.mine, sites)
        if answer[0] != b"ok":
            return None
        base = int(answer[1])
    return enliven(code, base, iter(memoryview(places).cast("I"))) if places else code


def made_ahead(source):
    """Whether cg has put a file into the cache meanwhile. cg hears so what the program imports."""
    path = source.path
    if path[:1] != "/":  # abspath is a function of Python, which debuggers see
        path = os.getcwd() + "/" + path
    return ask("ahead", source.module, path) == [b"ok", b"1"]


def look_up(source):
    """Says where a source's entry of the cache is, and what its file is like now."""
    if source.content is None:
        status = os.stat(source.path)
        if source.path[:1] == "/":
            source.seen = stamp(status), status.st_ctime_ns
        else:  # a path in the working folder names many files
            source.read()
    words = source.path, source.role
    if source.content is not None:
        words += source.kind, source.identity()[0].hex()
    source.where = name_of(*words)


def cached(source):
    """(places, sites, code, None) from the cache, None where it has none that is up to
    date."""
    entry = find(source.where, source.path)
    if entry is None:
        return None
    if not entry.stamp or entry.stamp != source.seen[0]:
        # Touched, or woven too soon after it was written: the content tells.
        if entry.source != source.identity():
            return None
        if settled(source.seen):
            keep(source.where, source.path, source.seen, entry)
    try:
        return entry.places, entry.sites, marshal.loads(entry.code), None
    except (ValueError, EOFError, TypeError):
        return None
